/* plot.c - curves out of rows; the data file and the script. */
#include "report/report_internal.h"

#include <math.h>
#include <string.h>

enum { PLOT_CURVES_MAX = 64, PLOT_PANELS_MAX = 8, PLOT_OF_PAPER = 10 };

/* A row of report_cells_curves in the figure. */
struct plot_curve {
    const struct report_rows *rows;
    int32_t row;
    bool of_paper;
    const char *title;
};

struct plot_draft {
    struct arena *arena;
    const struct report_plot *plot;
    struct report_rows ours, paper;
    struct plot_curve curve[PLOT_CURVES_MAX];
    int32_t curves_n;
    const char *panel_title[PLOT_PANELS_MAX];
    int32_t panel_first[PLOT_PANELS_MAX], panel_last[PLOT_PANELS_MAX]; /* curves, from 1 */
    int32_t panels_n;
    double x_low, x_high, y_low, y_high, seeds;
    int32_t points_n;
};

static int read_curves(struct report_rows *out, const struct plot_draft *d,
                       const struct report_answer *of, const char *y, struct err *e)
{
    const struct report_layout *l = &d->plot->artefact->layout;
    const struct report_keys keys = {.answer = of,
                                     .group = {{l->panel}, l->panel != NULL},
                                     .line = {{l->series}, 1},
                                     .column = l->x,
                                     .value = y,
                                     .style = l->style,
                                     .artefact = d->plot->artefact->points,
                                     .scale = d->plot->scale};

    return report_cells_curves(out, d->arena, d->plot->store, &keys, e);
}

static double real(const struct plot_curve *c, const char *column)
{
    return report_rows_real(c->rows, c->row, column, 0);
}

static int plot_add_curve(struct plot_draft *d, const struct report_rows *rows, int32_t row,
                          struct err *e)
{
    const char *title = report_rows_get(rows, row, "title");
    struct plot_curve *c = &d->curve[d->curves_n];

    if (d->curves_n++ == PLOT_CURVES_MAX)
        return ERR(e, ERR_DATA, "a figure of more than %d curves", PLOT_CURVES_MAX);
    *c = (struct plot_curve){rows, row, rows == &d->paper, title};
    if (c->of_paper) c->title = arena_printf(d->arena, "%s (paper)", title);
    if (!report_rows_get(rows, row, "points")) return 0;
    d->points_n += (int32_t)real(c, "points_n");
    d->seeds = fmax(d->seeds, real(c, "seeds"));
    d->x_low = fmin(d->x_low, real(c, "x_low"));
    d->x_high = fmax(d->x_high, real(c, "x_high"));
    d->y_low = fmin(d->y_low, real(c, "y_low"));
    d->y_high = fmax(d->y_high, real(c, "y_high"));
    return 0;
}

/* A panel for each group of ours, with the paper's curves of the same one. */
static int plot_add_panels(struct plot_draft *d, struct err *e)
{
    const char *panel = d->plot->artefact->layout.panel;
    int32_t group = report_rows_column(&d->ours, "group");

    for (int32_t i = 0, n; i < d->ours.rows_n; i += n) {
        const char *label = panel ? report_rows_get(&d->ours, i, "panel") : NULL;
        n = report_rows_alike(&d->ours, i, group);
        if (d->panels_n == PLOT_PANELS_MAX)
            return ERR(e, ERR_DATA, "a figure of more than %d panels", PLOT_PANELS_MAX);
        int32_t p = d->panels_n++;
        d->panel_title[p] = label ? arena_printf(d->arena, "%s = %s", panel, label) : "";
        d->panel_first[p] = d->curves_n + 1;
        for (int32_t k = 0; k < n; k++) TRY(plot_add_curve(d, &d->ours, i + k, e));
        for (int32_t k = 0; k < d->paper.rows_n; k++)
            if (!panel || str_same(report_rows_get(&d->paper, k, "panel"), label))
                TRY(plot_add_curve(d, &d->paper, k, e));
        d->panel_last[p] = d->curves_n;
    }
    return 0;
}

/* --- the data file -------------------------------------------------------------------------- */

/* Texts in a comment of the data file: one line, no control characters. */
static void data_comment(struct strbuf *b, const char *key, const char *text)
{
    strbuf_addf(b, "# %s: ", key);
    for (const char *p = text; *p; p++) strbuf_add_n(b, (unsigned char)*p < 0x20 ? " " : p, 1);
    strbuf_add(b, "\n");
}

/* A block; without a number its point is none, which keeps the numbering of the blocks. */
static void data_curve(struct plot_draft *d, struct strbuf *b, struct plot_curve *c)
{
    const char *points = report_rows_get(c->rows, c->row, "points");

    data_comment(b, "curve", c->title);
    strbuf_addf(b, "%s\n\n\n", points ? points : "NaN NaN 0 0 0");
    if (!points) c->title = arena_printf(d->arena, "%s (no result)", c->title);
}

static void plot_data(struct plot_draft *d, struct strbuf *b)
{
    data_comment(b, "title", d->plot->title);
    data_comment(b, "facts", d->plot->facts);
    data_comment(b, "columns",
                 "x, y (mean of the runs), standard deviation, runs, x of the paper # run ids");
    for (int32_t i = 0; i < d->curves_n; i++) data_curve(d, b, &d->curve[i]);
}

/* --- the script ----------------------------------------------------------------------------- */

static void script_text(struct strbuf *b, const char *name, const char *text)
{
    strbuf_addf(b, "%s = ", name);
    report_gnuplot_quote(b, text);
    strbuf_add(b, "\n");
}

/* A text as gnuplot's enhanced text shows it as it is, but for L_word, which gets its subscript. */
static const char *script_shown(struct arena *a, const char *text)
{
    struct strbuf b;

    strbuf_init(&b, a);
    for (const char *p = text; *p;) {
        size_t word = report_subscript(text, p);
        if (word) {
            strbuf_addf(&b, "L_{%.*s}", (int)word, p + 2);
            p += 2 + word;
            continue;
        }
        if (strchr("\\{}^_@&~", *p)) strbuf_add(&b, "\\");
        strbuf_add_n(&b, p++, 1);
    }
    return b.text ? b.text : "";
}

static void script_arrays(struct strbuf *b, const struct plot_draft *d)
{
    strbuf_add(b, "array PANEL_TITLE[PANELS]\narray PANEL_FIRST[PANELS]\n"
                  "array PANEL_LAST[PANELS]\n");
    for (int32_t p = 0; p < d->panels_n; p++) {
        script_text(b, arena_printf(d->arena, "PANEL_TITLE[%d]", p + 1),
                    script_shown(d->arena, d->panel_title[p]));
        strbuf_addf(b, "PANEL_FIRST[%d] = %d\nPANEL_LAST[%d] = %d\n", p + 1, d->panel_first[p],
                    p + 1, d->panel_last[p]);
    }
    strbuf_addf(b,
                "CURVES = %d\narray CURVE_TITLE[CURVES]\narray CURVE_STYLE[CURVES]\n"
                "array CURVE_SHADE[CURVES]\n",
                d->curves_n);
    for (int32_t i = 0; i < d->curves_n; i++) {
        const struct plot_curve *c = &d->curve[i];
        script_text(b, arena_printf(d->arena, "CURVE_TITLE[%d]", i + 1),
                    script_shown(d->arena, c->title));
        strbuf_addf(b, "CURVE_STYLE[%d] = %.0f\nCURVE_SHADE[%d] = %.4f\n", i + 1,
                    real(c, "style") + (c->of_paper ? PLOT_OF_PAPER : 0), i + 1, real(c, "shade"));
    }
}

static void plot_script(const struct plot_draft *d, struct strbuf *b)
{
    const struct report_plot *plot = d->plot;

    strbuf_addf(b,
                "# gnuplot %s.gp draws the figure again.\n"
                "folder(s) = s eq '' || s[strlen(s):*] eq '/' ? s : folder(s[1:strlen(s) - 1])\n"
                "if (exists('ARG0') && strstrt(ARG0, '/')) { cd folder(ARG0) }\n"
                "if (!exists('FORMAT')) FORMAT = 'png'\n"
                "if (!exists('OUTPUT')) OUTPUT = '%s.'.FORMAT\n"
                "PANELS = %d\n",
                plot->name, plot->name, d->panels_n);
    script_text(b, "DATA", arena_printf(d->arena, "%s.dat", plot->name));
    script_text(b, "SCALE", plot->scale);
    script_text(b, "TITLE", script_shown(d->arena, plot->title));
    script_text(b, "FACTS", script_shown(d->arena, plot->facts));
    strbuf_addf(b, "PAPER = %d\nSCALED = %d\nSEEDS = %.0f\nFLOOR = %.10g\n",
                strcmp(plot->scale, "paper") == 0, plot->scaled, d->seeds, plot->floor);
    strbuf_addf(b, "X_MIN = %.10g\nX_MAX = %.10g\nY_MIN = %.10g\nY_MAX = %.10g\n", d->x_low,
                d->x_high, d->y_low, d->y_high);
    script_arrays(b, d);
    strbuf_add(b, plot->preamble);
    strbuf_add(b, plot->artefact->plot);
    strbuf_add(b, "\nunset output\n");
}

int report_plot_draw(int32_t *points, struct arena *a, const struct report_plot *plot,
                     struct err *e)
{
    struct plot_draft *d = arena_alloc(a, sizeof *d);
    const struct report_layout *l = &plot->artefact->layout;
    const char *untrusted = plot->artefact->plot_untrusted;
    static const char *const formats[] = {"narrow.svg", "svg", "png", "pdf", NULL};
    struct strbuf data, script;

    *d = (struct plot_draft){.arena = a,
                             .plot = plot,
                             .x_low = INFINITY,
                             .x_high = -INFINITY,
                             .y_low = INFINITY,
                             .y_high = -INFINITY};
    *points = 0;
    TRY(read_curves(&d->ours, d, plot->ours, l->y, e));
    if (plot->paper && (!l->panel || report_answer_has(plot->paper, l->panel)))
        TRY(read_curves(&d->paper, d, plot->paper, "value", e));
    TRY(plot_add_panels(d, e));
    strbuf_init(&data, a);
    plot_data(d, &data);
    *points = d->points_n;
    if (d->points_n == 0) return 0;
    if (untrusted)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s is not a shipped file and can run any command; read it, then pass --trust, "
                   "which trusts it until it changes",
                   untrusted);
    strbuf_init(&script, a);
    plot_script(d, &script);
    const struct report_gnuplot g = {
        plot->folder, plot->name, &data, &script, formats + !plot->narrow, REPORT_GNUPLOT_LIMIT_S};
    return report_gnuplot_draw(a, &g, e);
}
