/* gnuplot.c - starting gnuplot and keeping its message. */
#include "report/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/subprocess.h"

enum { GNUPLOT_MESSAGE_MAX = 500 };

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

/* The environment for gnuplot: PATH and the places of fonts; numbers have points whatever the
 * user's language. */
static const char *const *gnuplot_environment(struct arena *a)
{
    static const char *const kept[] = {"PATH", "HOME", "TMPDIR", "FONTCONFIG_PATH",
                                       "FONTCONFIG_FILE"};
    enum { KEPT_N = sizeof kept / sizeof *kept };
    const char **environment = arena_array(a, KEPT_N + 2, sizeof *environment);
    int n = 0;

    environment[n++] = "LC_ALL=C.UTF-8";
    for (int i = 0; i < KEPT_N; i++) {
        const char *value = getenv(kept[i]);
        if (value) environment[n++] = arena_printf(a, "%s=%s", kept[i], value);
    }
    return environment;
}

/* Runs NAME.gp. *message: the beginning of gnuplot's output if it failed, else NULL. Errors:
 * ERR_UNAVAILABLE it cannot be started; ERR_INTERNAL it does not end. */
static int run_gnuplot(const char **message, struct arena *a, const struct report_gnuplot *g,
                       const char *format, const char *picture, struct err *e)
{
    const char *script = arena_printf(a, "%s.gp", g->name);
    struct subprocess_end end;
    struct strbuf settings;

    strbuf_init(&settings, a);
    strbuf_add(&settings, "FORMAT = ");
    report_gnuplot_quote(&settings, format);
    strbuf_add(&settings, "; OUTPUT = ");
    report_gnuplot_quote(&settings, picture);
    const char *const argv[] = {"gnuplot", "-d", "-e", settings.text, script, NULL};
    const struct subprocess gnuplot = {.argv = argv,
                                       .environment = gnuplot_environment(a),
                                       .folder = g->folder,
                                       .timeout_s = g->limit_s,
                                       .dies_with_parent = true};
    TRY(subprocess_run(&end, a, &gnuplot, e));
    if (end.timed_out)
        return ERR(e, ERR_INTERNAL, "gnuplot did not draw %s within %g s and was stopped", script,
                   g->limit_s);
    *message = NULL;
    if (end.exit_code == 0) return 0;
    char *text = *end.errors ? end.errors : end.output;
    text += strspn(text, " \n\r\t");
    if (strlen(text) > GNUPLOT_MESSAGE_MAX) text[GNUPLOT_MESSAGE_MAX] = '\0';
    *message = *text ? text : "no message";
    return 0;
}

/* Blanks the date of a PDF, so that equal figures are equal bytes. */
static int remove_date(struct arena *a, const char *path, struct err *e)
{
    enum { BYTES_MAX = 64 << 20 };
    static const char key[] = "/CreationDate (";
    char *pdf;
    size_t n;

    TRY(file_read(a, &pdf, &n, path, BYTES_MAX, e));
    char *date = memmem(pdf, n, key, sizeof key - 1);
    char *end = date ? memchr(date, ')', n - (size_t)(date - pdf)) : NULL;
    if (!end) return 0;
    memset(date, ' ', (size_t)(end - date) + 1);
    return file_write_atomic(path, pdf, n, e);
}

static int draw_format(struct arena *a, const struct report_gnuplot *g, const char *format,
                       struct err *e)
{
    const char *message;
    struct stat st;
    const char *path = arena_printf(a, "%s/%s.%s", g->folder, g->name, format);
    const char *temporary = arena_printf(a, "%s.%s.tmp-%ld", g->name, format, (long)getpid());
    const char *temporary_path = arena_printf(a, "%s/%s", g->folder, temporary);

    if (!subprocess_find("gnuplot"))
        return ERR(e, ERR_UNAVAILABLE,
                   "gnuplot is not in PATH; install the package gnuplot-nox (make deps)");
    int rc = run_gnuplot(&message, a, g, format, temporary, e);
    if (rc == 0 && message)
        rc = ERR(e, ERR_INTERNAL, "gnuplot could not draw %s.gp: %s", g->name, message);
    else if (rc == 0 && (stat(temporary_path, &st) < 0 || st.st_size == 0))
        rc = ERR(e, ERR_INTERNAL, "gnuplot drew nothing from %s.gp", g->name);
    if (rc == 0 && strcmp(format, "pdf") == 0) rc = remove_date(a, temporary_path, e);
    if (rc == 0 && rename(temporary_path, path) < 0)
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
    for (int i = 0; g->format[i]; i++) TRY(draw_format(a, g, g->format[i], e));
    return 0;
}
