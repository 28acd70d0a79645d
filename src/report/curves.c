/* curves.c - draws the view `curves` with gnuplot, as text and as SVG. */
#include "report/report_internal.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { CURVES_NAMED_MAX = 4, CURVES_TEXT_BYTES_MAX = 1 << 20 };

struct curves {
    struct arena arena;
    struct strbuf data, plots; /* blocks of points; elements of the plot command */
    int32_t blocks_n;
};

/* One row a split: its label, its gnuplot style and its points, one a line. */
static const char curves_sql[] =
    "SELECT printf('%.8s %s L=%d seed %d, %s', :run, position, L_train, seed,\n"
    "  CASE split WHEN 'train' THEN 'training' ELSE 'validation' END) AS label,\n"
    " CASE split WHEN 'train' THEN 'lines linetype' ELSE 'points pointtype' END AS style,\n"
    " group_concat(step || ' ' || loss_nats, char(10)) AS points\n"
    "FROM (SELECT * FROM curves WHERE loss_nats NOT NULL AND run_id =\n"
    "  (SELECT coalesce(train_run_id, run_id) FROM run_list WHERE run_id = :run)\n"
    "  ORDER BY split, step)\n"
    "GROUP BY split ORDER BY split";

/* run: its number in the picture, from 1. */
static int read_run(struct curves *c, struct store *s, const char *run_id, int32_t run,
                    struct err *e)
{
    const struct store_param param = {"run", run_id, STORE_TEXT};
    struct report_rows rows;

    TRY(report_rows_query(&rows, &c->arena, s, NULL, curves_sql, &param, 1, REPORT_QUERY_LIMIT_S,
                          e));
    if (rows.rows_n == 0)
        return ERR(e, ERR_NOINPUT, "run %s has no losses yet (only trainings have)", run_id);
    for (int32_t i = 0; i < rows.rows_n; i++) {
        strbuf_addf(&c->data, "%s%s\n", c->blocks_n ? "\n\n" : "",
                    report_rows_get(&rows, i, "points"));
        strbuf_addf(&c->plots, "%sDATA index %d using 1:2 with %s %d title ",
                    c->blocks_n ? ", \\\n    " : "", c->blocks_n,
                    report_rows_get(&rows, i, "style"), run);
        report_gnuplot_quote(&c->plots, report_rows_get(&rows, i, "label"));
        c->blocks_n++;
    }
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
    for (int32_t i = 0; i < args->runs_n; i++)
        TRY_OUT(rc, read_run(&c, s, args->run_id[i], i + 1, e));
    rc = draw(out, &c, project_path(p, &c.arena, "plots"), args, e);
out:
    arena_fini(&c.arena);
    return rc;
}
