/* curves.c - the data of the view `curves` and a gnuplot script, which draws both pictures. */
#include "report/report_internal.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { CURVES_NAMED_MAX = 4, CURVES_TEXT_BYTES_MAX = 1 << 20 };

struct curves {
    struct arena arena;
    struct strbuf data, plots; /* blocks of points; elements of the plot command */
    const char *split;         /* of the block that is being written; NULL: none */
    const char *run_id;
    int32_t blocks_n, run;
};

static int take_point(void *context, int columns_n, const char *const *names,
                      const struct store_cell *cells, struct err *e)
{
    struct curves *c = context;
    const char *split = cells[0].text;
    bool is_train = strcmp(split, "train") == 0;

    (void)columns_n, (void)names, (void)e;
    if (!c->split || strcmp(c->split, split) != 0) {
        c->split = is_train ? "train" : "valid";
        const char *label =
            arena_printf(&c->arena, "%.8s %s L=%s seed %s, %s", c->run_id, cells[3].text,
                         cells[4].text, cells[5].text, is_train ? "training" : "validation");
        strbuf_addf(&c->data, "%s", c->blocks_n ? "\n\n" : "");
        strbuf_addf(&c->plots, "%sDATA index %d using 1:2 with %s %d title ",
                    c->blocks_n ? ", \\\n    " : "", c->blocks_n,
                    is_train ? "lines linetype" : "points pointtype", c->run + 1);
        report_gnuplot_quote(&c->plots, label);
        c->blocks_n++;
    }
    strbuf_addf(&c->data, "%s %s\n", cells[1].text, cells[2].text);
    return 0;
}

static int read_run(struct curves *c, struct store *s, const char *run_id, struct err *e)
{
    static const char sql[] =
        "SELECT split, step, loss_nats, position, L_train, seed FROM curves WHERE run_id ="
        " (SELECT coalesce(train_run_id, run_id) FROM run_list WHERE run_id = CAST(:run AS TEXT))"
        " AND loss_nats NOT NULL ORDER BY split, step";
    const struct store_param run = {"run", run_id};
    int32_t before = c->blocks_n;

    c->split = NULL;
    c->run_id = run_id;
    TRY(store_query(s, sql, &run, 1, 30, take_point, c, e));
    if (c->blocks_n == before)
        return ERR(e, ERR_NOINPUT, "run %s has no losses yet (only trainings have)", run_id);
    return 0;
}

/* "curves-4a69595c-762c78c0" for up to CURVES_NAMED_MAX runs, then their number. */
static const char *picture_name(struct curves *c, const struct report_curves_args *args)
{
    struct strbuf b;

    strbuf_init(&b, &c->arena);
    strbuf_add(&b, "curves");
    for (int32_t i = 0; i < args->runs_n && i < CURVES_NAMED_MAX; i++)
        strbuf_addf(&b, "-%.8s", args->run_id[i]);
    if (args->runs_n > CURVES_NAMED_MAX)
        strbuf_addf(&b, "-%d-more", args->runs_n - CURVES_NAMED_MAX);
    return b.text;
}

static int draw(FILE *out, struct curves *c, const char *folder,
                const struct report_curves_args *args, struct err *e)
{
    static const char *const formats[] = {"txt", "svg", NULL}, *const terminal[] = {"txt", NULL};
    struct strbuf script;
    const struct report_gnuplot g = {.folder = folder,
                                     .name = picture_name(c, args),
                                     .data = &c->data,
                                     .script = &script,
                                     .format = args->svg ? formats : terminal};
    const char *picture = arena_printf(&c->arena, "%s/%s.txt", folder, g.name);
    char *text;
    size_t n;

    strbuf_init(&script, &c->arena);
    strbuf_addf(&script,
                "DATA = '%s.dat'\n"
                "if (FORMAT eq 'txt') set terminal dumb %d,%d; else set terminal svg size "
                "900,500 font ',12'\n"
                "set output OUTPUT\n"
                "set xlabel 'update'\n"
                "set ylabel 'loss, nats per token'\n"
                "set key top right\n"
                "set style line 1 linewidth 1.5\n"
                "plot %s\n",
                g.name, args->columns, args->lines, c->plots.text);
    TRY(report_gnuplot_draw(&c->arena, &g, e));
    TRY(file_read(&c->arena, &text, &n, picture, CURVES_TEXT_BYTES_MAX, e));
    unlink(picture);
    fwrite(text, 1, n, out);
    if (args->svg) fprintf(out, "plots/%s.svg\n", g.name);
    return file_check_output(out, e);
}

int report_curves(FILE *out, struct store *s, const struct project *p,
                  const struct report_curves_args *args, struct err *e)
{
    struct curves c = {0};
    int rc = 0;

    arena_init(&c.arena);
    strbuf_init(&c.data, &c.arena);
    strbuf_init(&c.plots, &c.arena);
    for (c.run = 0; c.run < args->runs_n; c.run++)
        TRY_OUT(rc, read_run(&c, s, args->run_id[c.run], e));
    rc = draw(out, &c, project_path(p, &c.arena, "plots"), args, e);
out:
    arena_fini(&c.arena);
    return rc;
}
