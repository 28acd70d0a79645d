/* gnuplot.c - starting gnuplot, in a sandbox or without, and keeping what it said. */
#include "report/gnuplot.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "report/clean.h"

enum { GNUPLOT_SAID_BYTES = 500, GNUPLOT_WORDS_MAX = 96 };

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

/* The environment for gnuplot: PATH and, outside the sandbox, the places of fonts; numbers have
 * points whatever the user's language. */
static char **gnuplot_environment(struct arena *a, bool sandboxed)
{
    static const char *const kept[] = {"PATH", "HOME", "TMPDIR", "FONTCONFIG_PATH",
                                       "FONTCONFIG_FILE"};
    enum { KEPT_N = sizeof kept / sizeof *kept };
    char **environment = arena_array(a, KEPT_N + 2, sizeof *environment);
    int n = 0;

    environment[n++] = arena_strdup(a, "LC_ALL=C.UTF-8");
    for (int i = 0; i < (sandboxed ? 1 : KEPT_N); i++) {
        const char *value = getenv(kept[i]);
        if (value) environment[n++] = arena_printf(a, "%s=%s", kept[i], value);
    }
    return environment;
}

/* A command: its words, ended by NULL. */
struct gnuplot_words {
    const char *word[GNUPLOT_WORDS_MAX + 1];
    int n;
    bool sandboxed;
};

static void words_add(struct gnuplot_words *c, const char *word)
{
    assert(c->n < GNUPLOT_WORDS_MAX);
    c->word[c->n++] = word;
}

/* A file or folder of this machine, as the sandbox sees it. */
static void words_bind(struct gnuplot_words *c, const char *how, const char *path, const char *seen)
{
    words_add(c, how);
    words_add(c, path);
    words_add(c, seen);
}

/* The sandbox's part of a command. */
static void words_enter(struct gnuplot_words *c)
{
    static const char *const options[] = {
        "bwrap",   "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        "--dev",   "/dev",          "--tmpfs",           "/tmp",          "--dir",      "/plots",
        "--chdir", "/plots"};
    static const char *const programs[] = {"/usr",
                                           "/bin",
                                           "/sbin",
                                           "/lib",
                                           "/lib64",
                                           "/opt",
                                           "/nix",
                                           "/etc/alternatives",
                                           "/etc/fonts",
                                           "/etc/ld.so.cache",
                                           "/var/cache/fontconfig"};

    c->sandboxed = true;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) words_add(c, options[i]);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        words_bind(c, "--ro-bind-try", programs[i], programs[i]);
}

/* Runs it in folder. *status: as waitpid has it; *said: the beginning of what it printed. An errno
 * when it cannot be run. */
static int gnuplot_run(int *status, const char **said, struct arena *a, const char *folder,
                       const struct gnuplot_words *c)
{
    char text[GNUPLOT_SAID_BYTES];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    int said_fd = memfd_create("said", MFD_CLOEXEC);
    int code = said_fd < 0 ? errno : posix_spawn_file_actions_init(&actions);

    if (said_fd < 0) return code;
    /* What alibi was started with is open in it, and would be in the sandbox. */
    syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
    if (code == 0) code = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, said_fd, 1);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, said_fd, 2);
    if (code == 0) code = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (code == 0)
        code = posix_spawnp(&pid, c->word[0], &actions, NULL, (char **)(uintptr_t)c->word,
                            gnuplot_environment(a, c->sandboxed));
    posix_spawn_file_actions_destroy(&actions);
    while (code == 0 && waitpid(pid, status, 0) < 0)
        if (errno != EINTR) code = errno;
    ssize_t n = code == 0 ? pread(said_fd, text, sizeof text - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    *said = arena_strdup(a, text + strspn(text, " \n\r\t"));
    close(said_fd);
    return code;
}

int report_gnuplot_check_sandbox(struct arena *a, const char *script, struct err *e)
{
    struct gnuplot_words c = {0};
    const char *said = "";
    int status = 0;

    words_enter(&c);
    words_add(&c, "true");
    int code = gnuplot_run(&status, &said, a, "/", &c);
    if (code == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (code) said = code == ENOENT ? "bwrap is not in PATH" : strerror(code);
    return ERR(e, ERR_UNAVAILABLE,
               "%s is not a shipped file, could run any command, and there is no sandbox for it "
               "(%.*s); install bubblewrap, or pass --trust",
               script, (int)strcspn(said, "\n"), said);
}

/* gnuplot with NAME.gp and what it is to draw. */
static void words_draw(struct gnuplot_words *c, struct arena *a, const char *name,
                       const char *format, const char *picture)
{
    struct strbuf settings;

    strbuf_init(&settings, a);
    strbuf_add(&settings, "FORMAT = ");
    report_gnuplot_quote(&settings, format);
    strbuf_add(&settings, "; OUTPUT = ");
    report_gnuplot_quote(&settings, picture);
    words_add(c, "gnuplot");
    words_add(c, "-d");
    words_add(c, "-e");
    words_add(c, settings.text);
    words_add(c, arena_printf(a, "%s.gp", name));
}

/* What it needs of folder, which is its current folder outside the sandbox. */
static int words_enter_folder(struct gnuplot_words *c, struct arena *a, const char *folder,
                              const char *name, const char *picture, struct err *e)
{
    const char *const read[] = {arena_printf(a, "%s.gp", name), arena_printf(a, "%s.dat", name)};
    const char *path = arena_printf(a, "%s/%s", folder, picture);
    unlink(path); /* of a process of this number that was killed */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0) return ERR(e, ERR_CREATE, "%s: %s", path, strerror(errno));
    close(fd);
    words_enter(c);
    for (int i = 0; i < 2; i++)
        words_bind(c, "--ro-bind", read[i], arena_printf(a, "/plots/%s", read[i]));
    words_bind(c, "--bind", picture, arena_printf(a, "/plots/%s", picture));
    return 0;
}

int report_gnuplot_draw(struct arena *a, const char *folder, const char *name, const char *format,
                        bool sandboxed, struct err *e)
{
    int rc = 0, status = 0;
    const char *said;
    struct gnuplot_words c = {0};
    struct stat st;
    const char *path = arena_printf(a, "%s/%s.%s", folder, name, format);
    const char *temporary = arena_printf(a, "%s.%s.tmp-%ld", name, format, (long)getpid());
    const char *temporary_path = arena_printf(a, "%s/%s", folder, temporary);

    if (sandboxed) TRY(words_enter_folder(&c, a, folder, name, temporary, e));
    words_draw(&c, a, name, format, temporary);
    int code = gnuplot_run(&status, &said, a, folder, &c);
    if (code == ENOENT || code == EACCES)
        rc = ERR(e, ERR_UNAVAILABLE,
                 "gnuplot is not in PATH; install the package gnuplot-nox (make deps)");
    else if (code)
        rc = ERR(e, ERR_UNAVAILABLE, "gnuplot cannot be started: %s", strerror(code));
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        rc = ERR(e, ERR_INTERNAL, "gnuplot could not draw %s.gp: %s", name,
                 *said ? said : "no message");
    else if (stat(temporary_path, &st) < 0 || st.st_size == 0)
        rc = ERR(e, ERR_INTERNAL, "gnuplot drew nothing from %s.gp", name);
    else if (rename(temporary_path, path) < 0)
        rc = ERR(e, ERR_CREATE, "%s: rename: %s", path, strerror(errno));
    if (rc < 0) unlink(temporary_path);
    return rc;
}
