/* plot.c - curves out of rows; the data file and the script. */
#include "report/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLOT_CURVES_MAX = 64,
    PLOT_PANELS_MAX = 8,
    PLOT_OF_PAPER = 100,
    PLOT_TICS_MAX = 9,
    PLOT_LOG_SPAN =
        8 /* from which ratio of its values an axis that is not a length is logarithmic */
};

/* A row of report_cells_curves in the figure. */
struct plot_curve {
    const struct rows *rows;
    int32_t row, panel;
    bool of_paper;
    const char *title, *settings; /* settings: the words key=value of the title, except L_train */
    int32_t dash;                 /* number of its settings, from 1 */
    int32_t same;                 /* the earlier curve with the same points, from 1; 0: none */
    const char *also; /* names of names_n later curves with the same points: " (= A, B)"; or "" */
    int32_t names_n;
    double shade;
};

struct plot_draft {
    struct arena *arena;
    const struct report_plot *plot;
    struct rows ours, paper;
    struct plot_curve curve[PLOT_CURVES_MAX];
    int32_t curves_n;
    const char *panel_title[PLOT_PANELS_MAX];
    int32_t panel_first[PLOT_PANELS_MAX], panel_last[PLOT_PANELS_MAX]; /* curves, from 1 */
    int32_t panels_n;
    double panel_x_high[PLOT_PANELS_MAX];
    double x_low, x_high, y_low, y_high, seeds;
    int32_t points_n;
    double tic[PLOT_TICS_MAX + 1]; /* the distinct x, sorted; PLOT_TICS_MAX + 1: too many */
    int32_t tics_n;
    const char *shared; /* words that were in all titles */
};

static int read_curves(struct rows *out, const struct plot_draft *d, const struct report_answer *of,
                       const char *y, struct err *e)
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

static double column_real(const struct plot_curve *c, const char *column)
{
    return report_rows_real(c->rows, c->row, column, 0);
}

static void plot_add_tic(struct plot_draft *d, double x)
{
    int32_t at = 0;

    while (at < d->tics_n && d->tic[at] < x) at++;
    if (d->tics_n > PLOT_TICS_MAX || (at < d->tics_n && d->tic[at] == x)) return;
    for (int32_t i = d->tics_n++; i > at; i--) d->tic[i] = d->tic[i - 1];
    d->tic[at] = x;
}

/* Adds the numbers that begin the lines of points to the ticks. */
static void plot_add_tics(struct plot_draft *d, const char *points)
{
    for (const char *line = points; line; line = strchr(line, '\n')) {
        char *end;
        line += strspn(line, "\n");
        double x = strtod(line, &end);
        if (end != line) plot_add_tic(d, x);
    }
}

static int plot_add_curve(struct plot_draft *d, const struct rows *rows, int32_t row, struct err *e)
{
    const char *title = report_rows_get(rows, row, "title");
    struct plot_curve *c = &d->curve[d->curves_n];
    int32_t p = d->panels_n - 1;

    if (d->curves_n++ == PLOT_CURVES_MAX)
        return ERR(e, ERR_DATA, "a figure of more than %d curves", PLOT_CURVES_MAX);
    *c = (struct plot_curve){
        .rows = rows, .row = row, .panel = p, .of_paper = rows == &d->paper, .title = title};
    c->shade = column_real(c, "shade");
    const char *points = report_rows_get(rows, row, "points");
    if (!points) return 0;
    plot_add_tics(d, points);
    d->panel_x_high[p] = fmax(d->panel_x_high[p], column_real(c, "x_high"));
    d->points_n += (int32_t)column_real(c, "points_n");
    d->seeds = fmax(d->seeds, column_real(c, "seeds"));
    d->x_low = fmin(d->x_low, column_real(c, "x_low"));
    d->x_high = fmax(d->x_high, column_real(c, "x_high"));
    d->y_low = fmin(d->y_low, column_real(c, "y_low"));
    d->y_high = fmax(d->y_high, column_real(c, "y_high"));
    return 0;
}

/* Adds a panel for each group of ours, with the paper's curves of that group. */
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
        d->panel_x_high[p] = -INFINITY;
        bool is_text = report_rows_real(&d->ours, i, "panel_is_number", 0) == 0;
        d->panel_title[p] = label ? report_words_title(d->plot->words, panel, label, is_text) : "";
        d->panel_first[p] = d->curves_n + 1;
        for (int32_t k = 0; k < n; k++) TRY(plot_add_curve(d, &d->ours, i + k, e));
        for (int32_t k = 0; k < d->paper.rows_n; k++)
            if (!panel || str_same(report_rows_get(&d->paper, k, "panel"), label))
                TRY(plot_add_curve(d, &d->paper, k, e));
        d->panel_last[p] = d->curves_n;
    }
    return 0;
}

/* --- titles --------------------------------------------------------------------------------- */

/* True for the length of training, which shades tell apart. */
static bool word_is_length(const char *word)
{
    return strncmp(word, "L=", 2) == 0 || strncmp(word, "L_train=", 8) == 0;
}

static bool title_has(const char *title, const char *word, size_t n)
{
    for (const char *p = title; *p;) {
        p += strspn(p, " ");
        size_t length = report_word_length(p);
        if (length == n && memcmp(p, word, n) == 0) return true;
        p += length;
    }
    return false;
}

static bool titles_share(const struct plot_draft *d, const char *word, size_t n)
{
    for (int32_t i = 0; i < d->curves_n; i++)
        if (!title_has(d->curve[i].title, word, n)) return false;
    return d->curves_n > 1;
}

static void add_word(struct strbuf *b, const char *word, size_t n)
{
    if (b->n) strbuf_add(b, " ");
    strbuf_add_n(b, word, n);
}

/* Splits a title into the words that distinguish it, its settings, and the words that all titles
 * share. */
static void title_split(const struct plot_draft *d, const char *title, struct strbuf *own,
                        struct strbuf *settings, struct strbuf *shared)
{
    struct strbuf *const all[] = {own, settings, shared};

    for (int i = 0; i < 3; i++) {
        strbuf_init(all[i], d->arena);
        strbuf_add(all[i], "");
    }
    for (const char *p = title; *p;) {
        p += strspn(p, " ");
        size_t n = report_word_length(p);
        bool is_setting = report_word_is_setting(p, n);
        add_word(is_setting && titles_share(d, p, n) ? shared : own, p, n);
        if (is_setting && !word_is_length(p) && !titles_share(d, p, n)) add_word(settings, p, n);
        p += n;
    }
}

/* True if curves of this style differ in their settings. */
static bool style_varies(const struct plot_draft *d, const struct plot_curve *c)
{
    for (int32_t i = 0; i < d->curves_n; i++)
        if (column_real(&d->curve[i], "style") == column_real(c, "style") &&
            strcmp(d->curve[i].settings, c->settings) != 0)
            return true;
    return false;
}

/* Returns the shade of curve i among those of its panel, style and settings, which differ in length
 * alone: 1 for the last. The lightest still shows its dashes. */
static double shade_among_alike(const struct plot_draft *d, int32_t i)
{
    const struct plot_curve *c = &d->curve[i];
    int32_t p = 0, before_n = 0, alike_n = 0;

    while (d->panel_last[p] < i + 1) p++;
    for (int32_t k = d->panel_first[p] - 1; k < d->panel_last[p]; k++) {
        const struct plot_curve *other = &d->curve[k];
        if (column_real(other, "style") != column_real(c, "style") || other->dash != c->dash ||
            other->of_paper != c->of_paper)
            continue;
        before_n += k < i;
        alike_n++;
    }
    return alike_n == 1 ? 1 : 0.3 + 0.7 * before_n / (alike_n - 1);
}

/* Numbers the settings among the curves of a style, which differ in dash; shades tell their lengths
 * apart. */
static void title_dashes(struct plot_draft *d)
{
    for (int32_t i = 0; i < d->curves_n; i++) {
        struct plot_curve *c = &d->curve[i];
        int32_t dashes_n = 0;
        for (int32_t k = 0; k < i && !c->dash; k++) {
            const struct plot_curve *other = &d->curve[k];
            if (column_real(other, "style") != column_real(c, "style")) continue;
            if (other->dash > dashes_n) dashes_n = other->dash;
            if (strcmp(other->settings, c->settings) == 0) c->dash = other->dash;
        }
        if (!c->dash) c->dash = dashes_n + 1;
    }
    for (int32_t i = 0; i < d->curves_n; i++) {
        struct plot_curve *c = &d->curve[i];
        if (style_varies(d, c)) c->shade = shade_among_alike(d, i);
    }
}

/* Omits from the titles the settings and lengths that all share, and numbers the others. */
static void plot_titles(struct plot_draft *d)
{
    struct strbuf own[PLOT_CURVES_MAX], settings, shared;

    for (int32_t i = 0; i < d->curves_n; i++) {
        title_split(d, d->curve[i].title, &own[i], &settings, &shared);
        d->curve[i].settings = settings.text;
        d->shared = shared.text;
    }
    for (int32_t i = 0; i < d->curves_n; i++) {
        struct plot_curve *c = &d->curve[i];
        c->title = c->of_paper ? arena_printf(d->arena, "%s (paper)", own[i].text) : own[i].text;
    }
    title_dashes(d);
}

/* --- curves that coincide ------------------------------------------------------------------- */

/* True if the points have the same x and y, whatever runs they are of. */
static bool points_same(const char *a, const char *b)
{
    while (a && b) {
        const char *x = a, *y = b;
        for (int i = 0; i < 2; i++) {
            size_t n = strcspn(x, " \n"), m = strcspn(y, " \n");
            if (n != m || memcmp(x, y, n) != 0) return false;
            x += n + (x[n] == ' ');
            y += m + (y[m] == ' ');
        }
        a = strchr(a, '\n') ? strchr(a, '\n') + 1 : NULL;
        b = strchr(b, '\n') ? strchr(b, '\n') + 1 : NULL;
    }
    return !a && !b;
}

/* Returns the words of a title that the other lacks; all if it lacks none. */
static const char *title_beyond(struct plot_draft *d, const char *title, const char *other)
{
    struct strbuf b;

    strbuf_init(&b, d->arena);
    for (const char *p = title; *p;) {
        p += strspn(p, " ");
        size_t n = report_word_length(p);
        if (!title_has(other, p, n)) add_word(&b, p, n);
        p += n;
    }
    return b.n ? b.text : title;
}

static const char *in_words(const struct plot_draft *d, const char *title)
{
    return report_words_text(d->plot->words, d->plot->artefact->layout.series, title);
}

/* Adds the name of a later curve: " (= A, B, …)". */
static void add_name(struct plot_draft *d, struct plot_curve *first, const char *name)
{
    enum { NAMES_MAX = 2 };

    if (first->names_n++ > NAMES_MAX) return;
    size_t n = strlen(first->also);
    first->also = arena_printf(d->arena, "%.*s%s%s)", n ? (int)n - 1 : 0, first->also,
                               n ? ", " : " (= ", first->names_n > NAMES_MAX ? "…" : name);
}

/* Finds the curves of ours that would hide an earlier one of their panel. */
static void plot_coincide(struct plot_draft *d)
{
    for (int32_t i = 0; i < d->curves_n; i++) {
        struct plot_curve *c = &d->curve[i];
        const char *points = report_rows_get(c->rows, c->row, "points");
        c->also = "";
        for (int32_t k = 0; k < i && !c->same && points && !c->of_paper; k++) {
            struct plot_curve *first = &d->curve[k];
            const char *theirs = report_rows_get(first->rows, first->row, "points");
            if (first->same || first->of_paper || first->panel != c->panel || !theirs ||
                !points_same(points, theirs))
                continue;
            c->same = k + 1;
            add_name(d, first, in_words(d, title_beyond(d, c->title, first->title)));
        }
    }
}

/* Puts the titles into words, after they were compared word by word. */
static void plot_words(struct plot_draft *d)
{
    for (int32_t i = 0; i < d->curves_n; i++) d->curve[i].title = in_words(d, d->curve[i].title);
    d->shared = in_words(d, d->shared);
}

/* --- the data file -------------------------------------------------------------------------- */

/* Writes a text as a comment of the data file: one line without control characters. */
static void data_comment(struct strbuf *b, const char *key, const char *text)
{
    strbuf_addf(b, "# %s: ", key);
    for (const char *p = text; *p; p++) strbuf_add_n(b, (unsigned char)*p < 0x20 ? " " : p, 1);
    strbuf_add(b, "\n");
}

/* Writes one data block. An empty block gets a dummy point so that block numbers do not shift. */
static void data_curve(struct plot_draft *d, struct strbuf *b, struct plot_curve *c)
{
    const char *points = report_rows_get(c->rows, c->row, "points");

    data_comment(b, "curve", c->title);
    strbuf_addf(b, "%s\n\n\n", points ? points : "NaN NaN 0 0 0");
    if (!points) c->title = arena_printf(d->arena, "%s (no result)", c->title);
}

static const char *plot_facts(const struct plot_draft *d)
{
    if (!*d->shared) return d->plot->facts;
    return arena_printf(d->arena, "%s, all %s", d->plot->facts, d->shared);
}

static void plot_data(struct plot_draft *d, struct strbuf *b)
{
    data_comment(b, "title", d->plot->title);
    data_comment(b, "facts", plot_facts(d));
    data_comment(b, "columns",
                 "x, y (mean of the runs), standard deviation, runs, x of the paper # run ids");
    for (int32_t i = 0; i < d->curves_n; i++) data_curve(d, b, &d->curve[i]);
}

/* --- the script ----------------------------------------------------------------------------- */

/* Escapes a text for gnuplot's enhanced mode; only L_word gets its subscript. */
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

void report_script_text(struct strbuf *b, const char *name, const char *text)
{
    strbuf_addf(b, "%s = ", name);
    report_gnuplot_quote(b, script_shown(b->arena, text));
    strbuf_add(b, "\n");
}

void report_script_begin(struct strbuf *b, const char *name)
{
    strbuf_addf(b,
                "# gnuplot %s.gp draws the figure again.\n"
                "folder(s) = s eq '' || s[strlen(s):*] eq '/' ? s : folder(s[1:strlen(s) - 1])\n"
                "if (exists('ARG0') && strstrt(ARG0, '/')) { cd folder(ARG0) }\n"
                "if (!exists('FORMAT')) FORMAT = 'png'\n"
                "if (!exists('OUTPUT')) OUTPUT = '%s.'.FORMAT\n"
                "DATA = '%s.dat'\n",
                name, name, name);
}

static void script_arrays(struct strbuf *b, const struct plot_draft *d)
{
    double x_high = -INFINITY;

    strbuf_add(b, "array PANEL_TITLE[PANELS]\narray PANEL_FIRST[PANELS]\n"
                  "array PANEL_LAST[PANELS]\narray PANEL_X_MAX[PANELS]\n");
    for (int32_t p = 0; p < d->panels_n; p++) x_high = fmax(x_high, d->panel_x_high[p]);
    for (int32_t p = 0; p < d->panels_n; p++) {
        report_script_text(b, arena_printf(d->arena, "PANEL_TITLE[%d]", p + 1), d->panel_title[p]);
        strbuf_addf(b, "PANEL_FIRST[%d] = %d\nPANEL_LAST[%d] = %d\n", p + 1, d->panel_first[p],
                    p + 1, d->panel_last[p]);
        double own = d->panel_x_high[p]; /* a panel without a number is as wide as the widest */
        strbuf_addf(b, "PANEL_X_MAX[%d] = %.10g\n", p + 1, isfinite(own) ? own : x_high);
    }
    strbuf_addf(b,
                "CURVES = %d\narray CURVE_TITLE[CURVES]\narray CURVE_STYLE[CURVES]\n"
                "array CURVE_SHADE[CURVES]\narray CURVE_DASH[CURVES]\n"
                "array CURVE_Y_MAX[CURVES]\narray CURVE_SAME[CURVES]\narray CURVE_ALSO[CURVES]\n",
                d->curves_n);
    for (int32_t i = 0; i < d->curves_n; i++) {
        const struct plot_curve *c = &d->curve[i];
        report_script_text(b, arena_printf(d->arena, "CURVE_TITLE[%d]", i + 1), c->title);
        report_script_text(b, arena_printf(d->arena, "CURVE_ALSO[%d]", i + 1), c->also);
        strbuf_addf(b,
                    "CURVE_STYLE[%d] = %.0f\nCURVE_SHADE[%d] = %.4f\nCURVE_DASH[%d] = %d\n"
                    "CURVE_Y_MAX[%d] = %.10g\nCURVE_SAME[%d] = %d\n",
                    i + 1, column_real(c, "style") + (c->of_paper ? PLOT_OF_PAPER : 0), i + 1,
                    c->shade, i + 1, c->dash, i + 1, column_real(c, "y_high"), i + 1, c->same);
    }
}

/* The label of an axis, by its column if the layout gives none. */
static const char *axis_label(const struct plot_draft *d, const char *given, const char *column)
{
    static const struct {
        const char *column, *label;
    } labels[] = {{"L_valid", "L_valid: tokens at inference"},
                  {"L_train", "L_train: tokens in training"},
                  {"perplexity", "perplexity (lower is better)"},
                  {"loss_nats", "loss, nats per token (lower is better)"}};

    for (size_t i = 0; i < sizeof labels / sizeof *labels && !given; i++)
        if (strcmp(labels[i].column, column) == 0) given = labels[i].label;
    return given ? given : report_words_key(d->plot->words, column);
}

/* The base of a logarithmic x axis; 0: linear. A column of lengths begins with L_. */
static int axis_base(const struct plot_draft *d)
{
    const struct report_layout *l = &d->plot->artefact->layout;
    static const int bases[] = {[REPORT_LINEAR] = 0, [REPORT_LOG2] = 2, [REPORT_LOG10] = 10};

    if (d->x_low <= 0) return 0;
    if (l->xscale != REPORT_XSCALE_AUTO) return bases[l->xscale];
    if (strncmp(l->x, "L_", 2) == 0) return 2;
    return d->x_high >= PLOT_LOG_SPAN * d->x_low ? 10 : 0;
}

static void script_axes(struct strbuf *b, const struct plot_draft *d)
{
    const struct report_layout *l = &d->plot->artefact->layout;

    report_script_text(b, "X_LABEL", axis_label(d, l->xlabel, l->x));
    report_script_text(b, "Y_LABEL", axis_label(d, l->ylabel, l->y));
    strbuf_addf(b, "X_BASE = %d\nX_TICS = '", axis_base(d));
    for (int32_t i = 0; i < d->tics_n && d->tics_n <= PLOT_TICS_MAX; i++)
        strbuf_addf(b, "%s%.10g", i ? " " : "", d->tic[i]);
    strbuf_addf(b,
                "'\nX_MIN = %.10g\nX_MAX = %.10g\nY_MIN = %.10g\nY_MAX = %.10g\n"
                "WIDTH_IN = %.10g\n",
                d->x_low, d->x_high, d->y_low, d->y_high, d->plot->width_in);
}

static void plot_script(const struct plot_draft *d, struct strbuf *b)
{
    const struct report_plot *plot = d->plot;

    report_script_begin(b, plot->name);
    report_script_text(b, "SCALE", plot->scale);
    report_script_text(b, "TITLE", plot->title);
    report_script_text(b, "FACTS", plot_facts(d));
    strbuf_addf(b, "PANELS = %d\nPAPER = %d\nSCALED = %d\nSEEDS = %.0f\nFLOOR = %.10g\n",
                d->panels_n, report_is_paper(plot->scale), plot->scaled, d->seeds, plot->floor);
    script_axes(b, d);
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
                             .y_high = -INFINITY,
                             .shared = ""};
    *points = 0;
    TRY(read_curves(&d->ours, d, plot->ours, l->y, e));
    if (plot->paper && (!l->panel || report_answer_has(plot->paper, l->panel)))
        TRY(read_curves(&d->paper, d, plot->paper, "value", e));
    TRY(plot_add_panels(d, e));
    plot_titles(d);
    plot_coincide(d);
    plot_words(d);
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
