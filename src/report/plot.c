/* plot.c - curves out of rows; the data file and the script. */
#include "report/plot.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "report/gnuplot.h"
#include "report/subset.h"
#include "report/table.h"

enum { PLOT_CURVES_MAX = 64, PLOT_PANELS_MAX = 8, PLOT_OF_PAPER = 10 };

/* One curve: its rows, and how it is drawn. */
struct plot_curve {
    struct report_subset s;
    const char *title;
    int32_t style;
    double shade;
    bool of_paper;
};

struct plot_draft {
    struct arena *arena;
    const struct report_plot *plot;
    struct plot_curve curve[PLOT_CURVES_MAX];
    int32_t curves_n;
    const char *panel_title[PLOT_PANELS_MAX];
    int32_t panel_first[PLOT_PANELS_MAX], panel_last[PLOT_PANELS_MAX]; /* curves, from 1 */
    int32_t panels_n;
    double x_low, x_high, y_low, y_high;
    int32_t points_n;
    bool scaled;
};

static int32_t plot_style(const char *position)
{
    static const char *const names[] = {"sinusoidal", "rotary", "t5", "alibi"};
    for (int32_t i = 0; i < 4; i++)
        if (position && strcmp(position, names[i]) == 0) return i + 1;
    return 5;
}

/* Adds one curve a distinct series of the subset. */
static int plot_add_curves(struct plot_draft *d, const struct report_subset *s, bool of_paper,
                           struct err *e)
{
    const struct report_layout *l = d->plot->layout;
    struct report_subset heads;
    int32_t series, style, first = d->curves_n;

    TRY(report_table_column(&series, s->rows, l->series, e));
    TRY(report_table_column(&style, s->rows, l->style, e));
    report_subset_heads(&heads, s, &series, 1);
    for (int32_t i = 0; i < heads.n; i++) {
        if (d->curves_n == PLOT_CURVES_MAX)
            return ERR(e, ERR_DATA, "a figure of more than %d curves", PLOT_CURVES_MAX);
        struct plot_curve *c = &d->curve[d->curves_n++];
        const char *title = report_rows_text(s->rows, heads.row[i], series);
        report_subset_like(&c->s, s, &series, 1, heads.row[i]);
        c->title = title ? title : "";
        if (of_paper) c->title = arena_printf(d->arena, "%s (paper)", c->title);
        c->style = plot_style(report_rows_text(s->rows, heads.row[i], style)) +
                   (of_paper ? PLOT_OF_PAPER : 0);
        c->of_paper = of_paper;
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

/* The rows of the paper that belong to the panel of row `like` of ours. */
static int plot_add_paper(struct plot_draft *d, const char *panel_text, struct err *e)
{
    struct report_subset all, of_panel;
    const char *panel = d->plot->layout->panel;
    int32_t column = panel ? report_rows_column(d->plot->paper, panel) : -1;

    report_subset_all(&all, d->arena, d->plot->paper);
    of_panel = all;
    for (int32_t i = 0; i < all.n && panel; i++) {
        const char *text = report_rows_text(all.rows, all.row[i], column);
        if (!text || !panel_text || strcmp(text, panel_text) != 0) continue;
        report_subset_like(&of_panel, &all, &column, 1, all.row[i]);
        return plot_add_curves(d, &of_panel, true, e);
    }
    return panel ? 0 : plot_add_curves(d, &of_panel, true, e);
}

static int plot_add_panels(struct plot_draft *d, struct err *e)
{
    const struct report_layout *l = d->plot->layout;
    struct report_subset all, heads, of_panel;
    int32_t column = -1, x;

    if (l->panel) TRY(report_table_column(&column, d->plot->rows, l->panel, e));
    TRY(report_table_column(&x, d->plot->rows, l->x, e));
    report_subset_all(&all, d->arena, d->plot->rows);
    d->scaled = report_subset_scaled(&all, x);
    report_subset_heads(&heads, &all, &column, 1);
    for (int32_t i = 0; i < heads.n; i++) {
        if (d->panels_n == PLOT_PANELS_MAX)
            return ERR(e, ERR_DATA, "a figure of more than %d panels", PLOT_PANELS_MAX);
        int32_t p = d->panels_n++;
        report_subset_like(&of_panel, &all, &column, 1, heads.row[i]);
        const char *label = report_subset_label(&of_panel, heads.row[i], column);
        d->panel_title[p] = label ? arena_printf(d->arena, "%s = %s", l->panel, label) : "";
        d->panel_first[p] = d->curves_n + 1;
        TRY(plot_add_curves(d, &of_panel, false, e));
        if (d->plot->paper)
            TRY(plot_add_paper(d, report_rows_text(all.rows, heads.row[i], column), e));
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

static void data_point(struct plot_draft *d, struct strbuf *b, const struct report_subset *at,
                       double x, const struct report_number *y)
{
    double nominal = x;
    int32_t run = report_rows_column(at->rows, "run_id");
    const char *ids = report_subset_distinct(at, run);
    int32_t column =
        report_rows_column(at->rows, arena_printf(d->arena, "%s_nominal", d->plot->layout->x));

    report_rows_number(&nominal, at->rows, at->row[0], column);
    strbuf_addf(b, "%.10g %.10g %.10g %d %.10g # %s\n", x, y->mean, y->std, y->n, nominal,
                ids ? ids : "paper");
    d->points_n++;
    d->x_low = fmin(d->x_low, x);
    d->x_high = fmax(d->x_high, x);
    d->y_low = fmin(d->y_low, y->mean);
    d->y_high = fmax(d->y_high, y->mean);
}

static int data_curve(struct plot_draft *d, struct strbuf *b, struct plot_curve *c, struct err *e)
{
    const struct report_layout *l = d->plot->layout;
    const struct report_rows *r = c->s.rows;
    int32_t x, y, points = 0;
    struct report_subset xs;
    bool gap = true; /* two empty lines would end the block: never write one after another */

    TRY(report_table_column(&x, r, l->x, e));
    TRY(report_table_column(&y, r, c->of_paper ? "value" : l->y, e));
    report_subset_heads(&xs, &c->s, &x, 1);
    report_subset_sort(&xs, x);
    data_comment(b, "curve", c->title);
    for (int32_t i = 0; i < xs.n; i++) {
        struct report_subset at;
        struct report_number number;
        double at_x;
        report_subset_like(&at, &c->s, &x, 1, xs.row[i]);
        TRY(report_subset_mean(&number, &at, y, report_rows_column(r, "run_id"),
                               report_rows_column(r, "config_id"), e));
        if (number.n && report_rows_number(&at_x, r, xs.row[i], x)) {
            data_point(d, b, &at, at_x, &number);
            points++;
            gap = false;
        } else if (!gap) {
            strbuf_add(b, "\n");
            gap = true;
        }
    }
    if (points == 0) {
        strbuf_add(b, "NaN NaN 0 0 0\n"); /* keeps the numbering of the blocks */
        c->title = arena_printf(d->arena, "%s (no result)", c->title);
        gap = false;
    }
    strbuf_add(b, gap ? "\n" : "\n\n");
    return 0;
}

static int plot_data(struct plot_draft *d, struct strbuf *b, struct err *e)
{
    data_comment(b, "title", d->plot->title);
    data_comment(b, "facts", d->plot->facts);
    data_comment(b, "columns",
                 "x, y (mean of the runs), standard deviation, runs, x of the paper # run ids");
    for (int32_t i = 0; i < d->curves_n; i++) TRY(data_curve(d, b, &d->curve[i], e));
    return 0;
}

/* --- the script ----------------------------------------------------------------------------- */

static void script_text(struct strbuf *b, const char *name, const char *text)
{
    strbuf_addf(b, "%s = ", name);
    report_gnuplot_quote(b, text);
    strbuf_add(b, "\n");
}

/* What the pictures have in common; the colours are Okabe and Ito's, told apart by the
 * colour-blind, and each method has a mark of its own besides. */
static const char script_common[] = "set encoding utf8\n"
                                    "set datafile missing 'NaN'\n"
                                    "set border 3 lc rgb '#444444'\n"
                                    "set tics nomirror out\n"
                                    "set grid lc rgb '#dddddd' lt 1 lw 0.5\n"
                                    "set key noenhanced\n"
                                    "set style line 1 lc rgb '#D55E00' lw 2 pt 5 ps 0.7\n"
                                    "set style line 2 lc rgb '#009E73' lw 2 pt 9 ps 0.9\n"
                                    "set style line 3 lc rgb '#AA4499' lw 2 pt 13 ps 0.9\n"
                                    "set style line 4 lc rgb '#0072B2' lw 2 pt 7 ps 0.7\n"
                                    "set style line 5 lc rgb '#444444' lw 2 pt 2 ps 0.8\n"
                                    "set style line 11 lc rgb '#D55E00' lw 1 dt 2 pt 4 ps 0.9\n"
                                    "set style line 12 lc rgb '#009E73' lw 1 dt 2 pt 8 ps 1.1\n"
                                    "set style line 13 lc rgb '#AA4499' lw 1 dt 2 pt 12 ps 1.1\n"
                                    "set style line 14 lc rgb '#0072B2' lw 1 dt 2 pt 6 ps 0.9\n"
                                    "set style line 15 lc rgb '#444444' lw 1 dt 2 pt 1 ps 0.9\n";

/* What a plot.gp may use: see plot.h. */
static const char script_helpers[] =
    "blue(s) = int(140 - 140 * s) * 65536 + int(196 - 138 * s) * 256 + int(232 - 102 * s)\n"
    "orange(s) = int(245 - 65 * s) * 65536 + int(176 - 116 * s) * 256 + int(120 - 120 * s)\n"
    "shade(style, s) = style > 10 ? 0x999999 : style == 4 ? blue(s) : orange(s)\n"
    "name(style, s, text) = style < 10 ? text : style == 14 && s == 1 ? 'the paper' : ''\n"
    "FRAME = \"set tmargin 3.5; set bmargin 5.5; set key outside right center vertical; "
    "set label 2 TITLE at screen 0.5,0.965 center font ',11'; "
    "set label 1 FACTS at screen 0.5,0.02 center font ',9' textcolor rgb '#555555'\"\n"
    "FLOOR_LINE = \"if (FLOOR > y_low && FLOOR < y_top) { "
    "set arrow 1 from graph 0, first FLOOR to graph 1, first FLOOR nohead dt 3 lc rgb '#555555'; "
    "set label 3 gprintf('floor of the text: %.2f', FLOOR) at graph 0.99, first FLOOR right "
    "offset 0,-0.7 font ',9' textcolor rgb '#555555' }\"\n";

static void script_terminal(struct strbuf *b, const struct plot_draft *d)
{
    int width = d->panels_n > 1 ? 1180 : 960;
    int height = 560;

    strbuf_addf(b, "# gnuplot %s.gp draws the figure again.%s\n", d->plot->name,
                d->plot->untrusted ? " It can run any command; alibi ran it in a sandbox." : "");
    strbuf_add(b, "if (!exists('FORMAT')) FORMAT = 'png'\n");
    strbuf_addf(b, "if (!exists('OUTPUT')) OUTPUT = '%s.'.FORMAT\n", d->plot->name);
    strbuf_addf(b,
                "if (FORMAT eq 'svg') set terminal svg size %d,%d font 'DejaVu Sans,12' fontscale "
                "1.15 noenhanced "
                "background rgb 'white'\n",
                width, height);
    strbuf_addf(b,
                "if (FORMAT eq 'png') set terminal pngcairo size %d,%d font 'DejaVu Sans,10' "
                "fontscale 1.5 linewidth 1.5 pointscale 1.5 noenhanced background rgb 'white'\n",
                width * 3 / 2, height * 3 / 2);
    strbuf_add(b, "set output OUTPUT\n");
}

static void script_arrays(struct strbuf *b, const struct plot_draft *d)
{
    strbuf_addf(b,
                "PANELS = %d\narray PANEL_TITLE[PANELS]\narray PANEL_FIRST[PANELS]\n"
                "array PANEL_LAST[PANELS]\n",
                d->panels_n);
    for (int32_t p = 0; p < d->panels_n; p++) {
        script_text(b, arena_printf(d->arena, "PANEL_TITLE[%d]", p + 1), d->panel_title[p]);
        strbuf_addf(b, "PANEL_FIRST[%d] = %d\nPANEL_LAST[%d] = %d\n", p + 1, d->panel_first[p],
                    p + 1, d->panel_last[p]);
    }
    strbuf_addf(b,
                "CURVES = %d\narray CURVE_TITLE[CURVES]\narray CURVE_STYLE[CURVES]\n"
                "array CURVE_SHADE[CURVES]\n",
                d->curves_n);
    for (int32_t i = 0; i < d->curves_n; i++) {
        const struct plot_curve *c = &d->curve[i];
        script_text(b, arena_printf(d->arena, "CURVE_TITLE[%d]", i + 1), c->title);
        strbuf_addf(b, "CURVE_STYLE[%d] = %d\nCURVE_SHADE[%d] = %.4f\n", i + 1, c->style, i + 1,
                    c->shade);
    }
}

static void plot_script(const struct plot_draft *d, struct strbuf *b)
{
    const struct report_plot *plot = d->plot;

    script_terminal(b, d);
    script_text(b, "DATA", arena_printf(d->arena, "%s.dat", plot->name));
    script_text(b, "SCALE", plot->scale);
    script_text(b, "TITLE", plot->title);
    script_text(b, "FACTS", plot->facts);
    strbuf_addf(b, "PAPER = %d\nSCALED = %d\nFLOOR = %.10g\n", strcmp(plot->scale, "paper") == 0,
                d->scaled, plot->floor);
    strbuf_addf(b, "X_MIN = %.10g\nX_MAX = %.10g\nY_MIN = %.10g\nY_MAX = %.10g\n", d->x_low,
                d->x_high, d->y_low, d->y_high);
    script_arrays(b, d);
    strbuf_add(b, script_common);
    strbuf_add(b, script_helpers);
    strbuf_add(b, plot->script);
    strbuf_add(b, "\nunset output\n");
}

int report_plot_draw(int32_t *points, struct arena *a, const struct report_plot *plot,
                     struct err *e)
{
    struct plot_draft *d = arena_alloc(a, sizeof *d);
    struct strbuf data, script;

    *d = (struct plot_draft){.arena = a,
                             .plot = plot,
                             .x_low = INFINITY,
                             .x_high = -INFINITY,
                             .y_low = INFINITY,
                             .y_high = -INFINITY};
    *points = 0;
    TRY(plot_add_panels(d, e));
    strbuf_init(&data, a);
    TRY(plot_data(d, &data, e));
    *points = d->points_n;
    if (d->points_n == 0) return 0;
    if (plot->untrusted) TRY(report_gnuplot_check_sandbox(a, plot->untrusted, e));
    strbuf_init(&script, a);
    plot_script(d, &script);
    TRY(file_make_dirs(plot->folder, e));
    const char *path = arena_printf(a, "%s/%s", plot->folder, plot->name);
    TRY(file_write_atomic(arena_printf(a, "%s.dat", path), data.text, data.n, e));
    TRY(file_write_atomic(arena_printf(a, "%s.gp", path), script.text, script.n, e));
    TRY(report_gnuplot_draw(a, plot->folder, plot->name, "svg", plot->untrusted, e));
    return report_gnuplot_draw(a, plot->folder, plot->name, "png", plot->untrusted, e);
}
