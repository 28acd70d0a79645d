/* gnuplot.c - starting gnuplot, in a sandbox or without, and keeping its message. */
#include "report/report_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/subprocess.h"

enum { GNUPLOT_MESSAGE_MAX = 500, GNUPLOT_WORDS_MAX = 96 };

void report_gnuplot_quote(struct strbuf *b, const char *text)
{
    const char *end = text + strlen(text);
    struct strbuf line;
    bool clean;

    strbuf_init(&line, b->arena);
    strbuf_add(&line, "");
    for (const char *p = text; p < end;) {
        int n = str_clean_step(&clean, p, end);
        strbuf_add_n(&line, clean ? p : " ", clean ? (size_t)n : 1);
        p += n;
    }
    strbuf_add(b, str_quote(b->arena, line.text, '\''));
}

/* The environment for gnuplot: PATH and, outside the sandbox, the places of fonts; numbers have
 * points whatever the user's language. */
static const char *const *gnuplot_environment(struct arena *a, bool sandboxed)
{
    static const char *const kept[] = {"PATH", "HOME", "TMPDIR", "FONTCONFIG_PATH",
                                       "FONTCONFIG_FILE"};
    enum { KEPT_N = sizeof kept / sizeof *kept };
    const char **environment = arena_array(a, KEPT_N + 2, sizeof *environment);
    int n = 0;

    environment[n++] = "LC_ALL=C.UTF-8";
    for (int i = 0; i < (sandboxed ? 1 : KEPT_N); i++) {
        const char *value = getenv(kept[i]);
        if (value) environment[n++] = arena_printf(a, "%s=%s", kept[i], value);
    }
    return environment;
}

/* A command: its words, and after them NULL. */
struct gnuplot_words {
    const char *word[GNUPLOT_WORDS_MAX + 1];
    int n;
    bool sandboxed;
};

static void words_add(struct gnuplot_words *c, int n, const char *const *words)
{
    assert(c->n + n <= GNUPLOT_WORDS_MAX);
    for (int i = 0; i < n; i++) c->word[c->n++] = words[i];
}

#define ADD(c, ...)                                                                                \
    words_add((c), sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                         \
              (const char *[]){__VA_ARGS__})

/* The sandbox's part of a command. */
static void words_enter(struct gnuplot_words *c)
{
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
    ADD(c, "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/plots", "--chdir", "/plots");
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        ADD(c, "--ro-bind-try", programs[i], programs[i]);
}

/* Runs the command in folder. *message: the beginning of its output if it failed, else NULL.
 * Errors: ERR_UNAVAILABLE it cannot be started. */
static int gnuplot_run(const char **message, struct arena *a, const char *folder,
                       const struct gnuplot_words *c, struct err *e)
{
    const struct subprocess program = {.argv = c->word,
                                       .environment = gnuplot_environment(a, c->sandboxed),
                                       .folder = folder,
                                       .dies_with_parent = true};
    struct subprocess_end end;

    *message = NULL;
    if (!subprocess_find(c->word[0]))
        return ERR(e, ERR_UNAVAILABLE, "%s is not in PATH", c->word[0]);
    TRY(subprocess_run(&end, a, &program, e));
    if (end.exit_code == 0) return 0;
    char *text = *end.errors ? end.errors : end.output;
    text += strspn(text, " \n\r\t");
    if (strlen(text) > GNUPLOT_MESSAGE_MAX) text[GNUPLOT_MESSAGE_MAX] = '\0';
    *message = *text ? text : "no message";
    return 0;
}

int report_gnuplot_check_sandbox(struct arena *a, const char *script, struct err *e)
{
    struct gnuplot_words c = {0};
    struct err fault;
    const char *message;

    words_enter(&c);
    ADD(&c, "true");
    if (gnuplot_run(&message, a, "/", &c, &fault) < 0) message = fault.text;
    if (!message) return 0;
    return ERR(e, ERR_UNAVAILABLE,
               "%s is not a shipped file, could run any command, and there is no sandbox for it "
               "(%.*s); install bubblewrap, or pass --trust",
               script, (int)strcspn(message, "\n"), message);
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
    ADD(c, "gnuplot", "-d", "-e", settings.text, arena_printf(a, "%s.gp", name));
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
    for (int i = 0; i < 2; i++) ADD(c, "--ro-bind", read[i], arena_printf(a, "/plots/%s", read[i]));
    ADD(c, "--bind", picture, arena_printf(a, "/plots/%s", picture));
    return 0;
}

static int draw(struct arena *a, const char *folder, const char *name, const char *format,
                bool sandboxed, struct err *e)
{
    int rc = 0;
    const char *message;
    struct gnuplot_words c = {0};
    struct stat st;
    const char *path = arena_printf(a, "%s/%s.%s", folder, name, format);
    const char *temporary = arena_printf(a, "%s.%s.tmp-%ld", name, format, (long)getpid());
    const char *temporary_path = arena_printf(a, "%s/%s", folder, temporary);

    if (!subprocess_find("gnuplot"))
        return ERR(e, ERR_UNAVAILABLE,
                   "gnuplot is not in PATH; install the package gnuplot-nox (make deps)");
    if (sandboxed) TRY(words_enter_folder(&c, a, folder, name, temporary, e));
    words_draw(&c, a, name, format, temporary);
    rc = gnuplot_run(&message, a, folder, &c, e);
    if (rc == 0 && message)
        rc = ERR(e, ERR_INTERNAL, "gnuplot could not draw %s.gp: %s", name, message);
    else if (rc == 0 && (stat(temporary_path, &st) < 0 || st.st_size == 0))
        rc = ERR(e, ERR_INTERNAL, "gnuplot drew nothing from %s.gp", name);
    else if (rc == 0 && rename(temporary_path, path) < 0)
        rc = ERR(e, ERR_CREATE, "%s: rename: %s", path, strerror(errno));
    if (rc < 0) unlink(temporary_path);
    return rc;
}

int report_gnuplot_draw(struct arena *a, const struct report_gnuplot *g, struct err *e)
{
    const char *path = arena_printf(a, "%s/%s", g->folder, g->name);

    TRY(file_make_dirs(g->folder, e));
    TRY(file_write_atomic(arena_printf(a, "%s.dat", path), g->data->text, g->data->n, e));
    TRY(file_write_atomic(arena_printf(a, "%s.gp", path), g->script->text, g->script->n, e));
    for (int i = 0; g->format[i]; i++)
        TRY(draw(a, g->folder, g->name, g->format[i], g->sandboxed, e));
    return 0;
}
