/* report_gnuplot.c - starting gnuplot and keeping what it said. */
#include "report/report_gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "report/report_text.h"

enum { GNUPLOT_SAID_BYTES = 500 };

void report_gnuplot_quote(struct strbuf *b, const char *text)
{
    bool clean;

    strbuf_add(b, "'");
    for (const char *p = text; *p;) {
        int n = report_text_step(&clean, p);
        if (*p == '\'')
            strbuf_add(b, "''");
        else
            strbuf_add_n(b, clean ? p : " ", clean ? (size_t)n : 1);
        p += n;
    }
    strbuf_add(b, "'");
}

/* The environment for gnuplot: PATH and the places of fonts; numbers have points whatever the
 * user's language. */
static char **gnuplot_environment(struct arena *a)
{
    static const char *const kept[] = {"PATH", "HOME", "TMPDIR", "FONTCONFIG_PATH",
                                       "FONTCONFIG_FILE"};
    enum { KEPT_N = sizeof kept / sizeof *kept };
    char **environment = arena_array(a, KEPT_N + 2, sizeof *environment);
    int n = 0;

    environment[n++] = arena_strdup(a, "LC_ALL=C.UTF-8");
    for (int i = 0; i < KEPT_N; i++) {
        const char *value = getenv(kept[i]);
        if (value) environment[n++] = arena_printf(a, "%s=%s", kept[i], value);
    }
    return environment;
}

/* Starts gnuplot with what it says going to said_fd. */
static int gnuplot_start(pid_t *pid, struct arena *a, const char *folder, char *const *arguments,
                         int said_fd, struct err *e)
{
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);

    if (code == 0) code = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, said_fd, 1);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, said_fd, 2);
    if (code == 0) code = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (code == 0)
        code = posix_spawnp(pid, "gnuplot", &actions, NULL, arguments, gnuplot_environment(a));
    posix_spawn_file_actions_destroy(&actions);
    if (code == ENOENT || code == EACCES)
        return ERR(e, ERR_UNAVAILABLE,
                   "gnuplot is not in PATH; install the package gnuplot-nox (make deps)");
    if (code) return ERR(e, ERR_UNAVAILABLE, "gnuplot cannot be started: %s", strerror(code));
    return 0;
}

static int gnuplot_wait(pid_t pid, int said_fd, const char *script, struct err *e)
{
    char said[GNUPLOT_SAID_BYTES];
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return ERR(e, ERR_INTERNAL, "waiting for gnuplot: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    ssize_t n = pread(said_fd, said, sizeof said - 1, 0);
    said[n > 0 ? n : 0] = '\0';
    char *text = said + strspn(said, " \n\r\t");
    return ERR(e, ERR_INTERNAL, "gnuplot could not draw %s: %s", script,
               *text ? text : "it said nothing");
}

int report_gnuplot_draw(struct arena *a, const char *folder, const char *script, const char *format,
                        const char *picture, struct err *e)
{
    int rc = 0;
    pid_t pid;
    struct strbuf settings;
    const char *path = arena_printf(a, "%s/%s", folder, picture);
    const char *temporary = arena_printf(a, "%s.tmp-%ld", picture, (long)getpid());
    const char *temporary_path = arena_printf(a, "%s/%s", folder, temporary);
    int said_fd = memfd_create("gnuplot", MFD_CLOEXEC);

    if (said_fd < 0) return ERR(e, ERR_INTERNAL, "memfd_create: %s", strerror(errno));
    strbuf_init(&settings, a);
    strbuf_add(&settings, "FORMAT = ");
    report_gnuplot_quote(&settings, format);
    strbuf_add(&settings, "; OUTPUT = ");
    report_gnuplot_quote(&settings, temporary);
    char *const arguments[] = {arena_strdup(a, "gnuplot"), arena_strdup(a, "-d"),
                               arena_strdup(a, "-e"),      settings.text,
                               arena_strdup(a, script),    NULL};
    TRY_OUT(rc, gnuplot_start(&pid, a, folder, arguments, said_fd, e));
    TRY_OUT(rc, gnuplot_wait(pid, said_fd, script, e));
    if (!file_exists(temporary_path)) {
        rc = ERR(e, ERR_INTERNAL, "gnuplot drew nothing from %s", script);
        goto out;
    }
    if (rename(temporary_path, path) < 0)
        rc = ERR(e, ERR_CREATE, "%s: rename: %s", path, strerror(errno));
out:
    if (rc < 0) unlink(temporary_path);
    close(said_fd);
    return rc;
}
