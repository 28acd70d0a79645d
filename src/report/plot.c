/* plot.c - curves out of rows; the data file and the script. */
#include "report/report_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/report_internal.h"

enum { PLOT_CURVES_MAX = 64, PLOT_PANELS_MAX = 8, PLOT_OF_PAPER = 10 };

/* The groups and cells of ours or of the paper. */
struct plot_side {
    struct report_rows groups, cells;
};

/* One curve: a line of a side, and how it is drawn. */
struct plot_curve {
    const struct plot_side *side;
    const char *group, *line; /* its place, as in report_cells */
    const char *title;
    int32_t style;
    double shade;
};

struct plot_draft {
    struct arena *arena;
    const struct report_plot *plot;
    struct plot_side ours, paper;
    struct plot_curve curve[PLOT_CURVES_MAX];
    int32_t curves_n;
    const char *panel_title[PLOT_PANELS_MAX];
    int32_t panel_first[PLOT_PANELS_MAX], panel_last[PLOT_PANELS_MAX]; /* curves, from 1 */
    int32_t panels_n;
    double x_low, x_high, y_low, y_high, seeds;
    int32_t points_n;
};

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static int read_side(struct plot_side *side, struct plot_draft *d, const struct report_answer *of,
                     const char *y, struct err *e)
{
    const struct report_layout *l = d->plot->layout;
    const struct report_keys keys = {.answer = of,
                                     .group = {l->panel},
                                     .group_n = l->panel != NULL,
                                     .line = {l->series},
                                     .lines_n = 1,
                                     .column = l->x,
                                     .value = y,
                                     .style = l->style,
                                     .artefact = d->plot->artefact,
                                     .scale = d->plot->scale};

    TRY(report_cells_groups(&side->groups, d->arena, d->plot->store, &keys, false, e));
    return report_cells(&side->cells, d->arena, d->plot->store, &keys, e);
}

static bool is_of(const struct plot_curve *c, const struct report_rows *cells, int32_t cell)
{
    return same(report_rows_get(cells, cell, "group"), c->group) &&
           same(report_rows_get(cells, cell, "line_n"), c->line);
}

/* Adds a curve for each line of a group. */
static int plot_add_curves(struct plot_draft *d, const struct plot_side *side, int32_t group,
                           bool of_paper, struct err *e)
{
    const struct report_rows *cells = &side->cells;
    int32_t first = d->curves_n;

    for (int32_t line = 0, i = 0; i < cells->rows_n; line++) {
        const struct plot_curve c = {.side = side,
                                     .group = report_rows_get(&side->groups, group, "group"),
                                     .line = arena_printf(d->arena, "%d", line)};
        for (i = 0; i < cells->rows_n && !is_of(&c, cells, i); i++) continue;
        if (i == cells->rows_n) break;
        const char *title = report_rows_get(cells, i, "label0");
        const char *style = report_rows_get(cells, i, "style");
        if (d->curves_n == PLOT_CURVES_MAX)
            return ERR(e, ERR_DATA, "a figure of more than %d curves", PLOT_CURVES_MAX);
        if (!title) title = "";
        struct plot_curve *own = &d->curve[d->curves_n++];
        *own = c;
        own->title = of_paper ? arena_printf(d->arena, "%s (paper)", title) : title;
        own->style = (int32_t)strtol(style, NULL, 10) + (of_paper ? PLOT_OF_PAPER : 0);
    }
    for (int32_t i = first; i < d->curves_n; i++) {
        int32_t before = 0, all = 0;
        for (int32_t j = first; j < d->curves_n; j++) {
            all += d->curve[j].style == d->curve[i].style;
            before += j < i && d->curve[j].style == d->curve[i].style;
        }
        d->curve[i].shade = all > 1 ? (double)before / (all - 1) : 1.0;
    }
    return 0;
}

/* A panel for each group of ours, with the paper's curves of the same one. */
static int plot_add_panels(struct plot_draft *d, struct err *e)
{
    const char *panel = d->plot->layout->panel;

    for (int32_t i = 0; i < d->ours.groups.rows_n; i++) {
        const char *label = panel ? report_rows_get(&d->ours.groups, i, "label0") : NULL;
        if (d->panels_n == PLOT_PANELS_MAX)
            return ERR(e, ERR_DATA, "a figure of more than %d panels", PLOT_PANELS_MAX);
        int32_t p = d->panels_n++;
        d->panel_title[p] = label ? arena_printf(d->arena, "%s = %s", panel, label) : "";
        d->panel_first[p] = d->curves_n + 1;
        TRY(plot_add_curves(d, &d->ours, i, false, e));
        for (int32_t k = 0; k < d->paper.groups.rows_n; k++)
            if (!panel || same(report_rows_get(&d->paper.groups, k, "label0"), label))
                TRY(plot_add_curves(d, &d->paper, k, true, e));
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

/* Writes a cell as a point of a curve; false where it has no number. */
static bool data_point(struct plot_draft *d, struct strbuf *b, const struct report_rows *cells,
                       int32_t cell)
{
    double x, nominal, n = 0, mean = 0, std = 0;
    const char *runs = report_rows_get(cells, cell, "runs");

    report_rows_real(&n, cells, cell, "n");
    if (n == 0 || !report_rows_real(&x, cells, cell, "x")) return false;
    report_rows_real(&mean, cells, cell, "mean");
    report_rows_real(&std, cells, cell, "std");
    if (!report_rows_real(&nominal, cells, cell, "x_nominal")) nominal = x;
    strbuf_addf(b, "%.10g %.10g %.10g %.0f %.10g # %s\n", x, mean, std, n, nominal,
                runs ? runs : "paper");
    d->points_n++;
    d->seeds = fmax(d->seeds, n);
    d->x_low = fmin(d->x_low, x);
    d->x_high = fmax(d->x_high, x);
    d->y_low = fmin(d->y_low, mean);
    d->y_high = fmax(d->y_high, mean);
    return true;
}

static void data_curve(struct plot_draft *d, struct strbuf *b, struct plot_curve *c)
{
    const struct report_rows *cells = &c->side->cells;
    int32_t before = d->points_n;
    bool gap = true; /* two empty lines would end the block: never write one after another */

    data_comment(b, "curve", c->title);
    for (int32_t i = 0; i < cells->rows_n; i++) {
        if (!is_of(c, cells, i)) continue;
        bool point = data_point(d, b, cells, i);
        if (!point && !gap) strbuf_add(b, "\n");
        gap = !point;
    }
    if (d->points_n == before) {
        strbuf_add(b, "NaN NaN 0 0 0\n"); /* keeps the numbering of the blocks */
        c->title = arena_printf(d->arena, "%s (no result)", c->title);
        gap = false;
    }
    strbuf_add(b, gap ? "\n" : "\n\n");
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
        strbuf_addf(b, "CURVE_STYLE[%d] = %d\nCURVE_SHADE[%d] = %.4f\n", i + 1, c->style, i + 1,
                    c->shade);
    }
}

static void plot_script(const struct plot_draft *d, struct strbuf *b)
{
    const struct report_plot *plot = d->plot;

    strbuf_addf(b,
                "# gnuplot %s.gp draws the figure again.%s\n"
                "folder(s) = s eq '' || s[strlen(s):*] eq '/' ? s : folder(s[1:strlen(s) - 1])\n"
                "if (exists('ARG0') && strstrt(ARG0, '/')) { cd folder(ARG0) }\n"
                "if (!exists('FORMAT')) FORMAT = 'png'\n"
                "if (!exists('OUTPUT')) OUTPUT = '%s.'.FORMAT\n"
                "PANELS = %d\n",
                plot->name,
                plot->untrusted ? " It can run any command; alibi ran it in a sandbox." : "",
                plot->name, d->panels_n);
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
    strbuf_add(b, plot->script);
    strbuf_add(b, "\nunset output\n");
}

int report_plot_draw(int32_t *points, struct arena *a, const struct report_plot *plot,
                     struct err *e)
{
    struct plot_draft *d = arena_alloc(a, sizeof *d);
    static const char *const formats[] = {"narrow.svg", "svg", "png", "pdf", NULL};
    struct strbuf data, script;

    *d = (struct plot_draft){.arena = a,
                             .plot = plot,
                             .x_low = INFINITY,
                             .x_high = -INFINITY,
                             .y_low = INFINITY,
                             .y_high = -INFINITY};
    *points = 0;
    TRY(read_side(&d->ours, d, plot->ours, plot->layout->y, e));
    if (plot->paper &&
        (!plot->layout->panel || report_answer_has(plot->paper, plot->layout->panel)))
        TRY(read_side(&d->paper, d, plot->paper, "value", e));
    TRY(plot_add_panels(d, e));
    strbuf_init(&data, a);
    plot_data(d, &data);
    *points = d->points_n;
    if (d->points_n == 0) return 0;
    if (plot->untrusted) TRY(report_gnuplot_check_sandbox(a, plot->untrusted, e));
    strbuf_init(&script, a);
    plot_script(d, &script);
    const struct report_gnuplot g = {
        plot->folder, plot->name, &data, &script, formats + !plot->narrow, plot->untrusted != NULL};
    return report_gnuplot_draw(a, &g, e);
}
