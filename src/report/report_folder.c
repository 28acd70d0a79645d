/* report_folder.c - reading the files of an artefact. */
#include "report/report_folder.h"

#include <string.h>

#include "base/file.h"
#include "base/str.h"

/* The evaluations that the grid asks for, with or without a result. */
static const char folder_query[] =
    "SELECT p.artefact, r.scale, r.dataset, r.corpus, r.model, r.position,"
    " CASE r.position WHEN 'sinusoidal' THEN 'Sinusoidal' WHEN 'rotary' THEN 'Rotary'"
    "  WHEN 't5' THEN 'T5 Bias' WHEN 'alibi' THEN 'ALiBi' ELSE r.position END AS method,"
    " r.position||' L='||r.L_train||CASE WHEN r.L_train<>p.L_train_nominal"
    "  THEN ' ('||p.L_train_nominal||')' ELSE '' END AS series,"
    " r.L_train, coalesce(p.L_train_nominal, r.L_train) AS L_train_nominal, r.L_valid,"
    " coalesce(p.L_valid_nominal, r.L_valid) AS L_valid_nominal,"
    " r.split, r.protocol, r.stride, r.first_window, r.precision, r.seed, e.perplexity, "
    "e.loss_nats,"
    " e.tokens, e.nonfinite, e.eval_wps, r.run_id, r.train_run_id, r.config_id, e.code_id,"
    " coalesce(e.modified, r.modified) AS modified"
    " FROM points p JOIN runs r ON r.run_id=p.run_id AND r.kind='eval'"
    " LEFT JOIN evaluations e ON e.run_id=r.run_id"
    " WHERE p.artefact=:artefact AND p.scale=:scale ORDER BY p.point";

static const char folder_layout[] =
    "title: Perplexity\nrows: method, L_train\ncolumns: L_valid\nvalue: perplexity\n"
    "panel: protocol\nseries: series\nstyle: position\nx: L_valid\ny: perplexity\n";

static const char folder_plot[] =
    "set multiplot layout 1,PANELS title TITLE margins 0.07,0.98,0.3,0.86 spacing 0.08,0\n"
    "set label 1 FACTS at screen 0.5,0.02 center font ',9' textcolor rgb '#555555'\n"
    "set key at screen 0.5,0.12 center center horizontal samplen 5\n"
    "set yrange [0.97 * Y_MIN:(Y_MAX > 2.5 * Y_MIN ? 2.5 * Y_MIN : 1.03 * Y_MAX)]\n"
    "set xlabel 'L_valid: tokens at inference'\nset ylabel 'perplexity'\n"
    "do for [p = 1:PANELS] {\n"
    "    set title PANEL_TITLE[p]\n"
    "    plot for [i = PANEL_FIRST[p]:PANEL_LAST[p]] DATA index (i - 1) using 1:2 with linespoints "
    "linestyle CURVE_STYLE[i] dashtype 1 + int(3 * CURVE_SHADE[i]) title CURVE_TITLE[i]\n"
    "    unset label 1\n    unset key\n"
    "}\nunset multiplot\n";

/* The file's text, or instead when it is not there (*path is then NULL). */
static int folder_read(const char **text, const char **path, struct arena *a, const char *dir,
                       const char *name, const char *instead, struct err *e)
{
    char *read;

    *text = instead;
    *path = arena_printf(a, "%s/%s", dir, name);
    if (!file_exists(*path)) {
        *path = NULL;
        return 0;
    }
    TRY(file_read(a, &read, NULL, *path, REPORT_MAX_FILE_BYTES, e));
    *text = read;
    return 0;
}

static bool folder_shows(const struct report_layout *l, const char *metric)
{
    for (int32_t i = 0; i < l->paper.n && metric; i++)
        if (strcmp(l->paper.name[i], metric) == 0) return true;
    return false;
}

/* Keeps the rows of paper.tsv that give one of the layout's metrics. */
static int folder_paper(struct report_folder *f, struct arena *a, struct err *e)
{
    const char *path = arena_printf(a, "%s/paper.tsv", f->dir);
    int32_t kept = 0;

    if (!file_exists(path)) return 0;
    f->paper_path = path;
    TRY(report_rows_tsv(&f->paper, a, path, e));
    int32_t metric = report_rows_column(&f->paper, "metric");
    if (metric < 0 || report_rows_column(&f->paper, "value") < 0)
        return ERR(e, ERR_DATA, "%s:1: the header line has no metric or no value", path);
    for (int32_t i = 0; i < f->paper.rows_n; i++)
        if (folder_shows(&f->layout, report_rows_text(&f->paper, i, metric)))
            f->paper.row[kept++] = f->paper.row[i];
    f->paper.rows_n = kept;
    return 0;
}

int report_folder_open(struct report_folder *f, struct arena *a, const char *artefact,
                       const char *dir, struct err *e)
{
    const char *text, *path, *plot_path;

    *f = (struct report_folder){.artefact = artefact, .dir = dir};
    if (!str_is_name(artefact))
        return ERR(e, ERR_USAGE, "\"%s\" is no artefact: a name has letters, digits, . _ and -",
                   artefact);
    if (!file_exists(dir))
        return ERR(e, ERR_NOINPUT, "%s: there is no such folder of the artefact %s", dir, artefact);
    const char *shipped = arena_printf(a, "experiments/%s", artefact);
    size_t n = strlen(dir), tail = strlen(shipped);
    f->command = n >= tail && strcmp(dir + n - tail, shipped) == 0 ? artefact : dir;
    TRY(folder_read(&f->query, &f->query_path, a, dir, "query.sql", folder_query, e));
    if (!f->query_path) f->query_path = arena_printf(a, "%s (its rows)", dir);
    TRY(folder_read(&text, &path, a, dir, "table.txt", folder_layout, e));
    TRY(report_layout_read(&f->layout, a, path ? path : "table.txt", text, e));
    if (!path) f->layout.title = arena_printf(a, "%s: perplexity", artefact);
    TRY(folder_read(&f->claims, &f->claims_path, a, dir, "claim.sql", NULL, e));
    TRY(folder_read(&f->plot, &plot_path, a, dir, "plot.gp", path ? NULL : folder_plot, e));
    return folder_paper(f, a, e);
}

int report_folder_floor(double *out, struct arena *a, const char *root, const char *corpus,
                        const char *split, struct err *e)
{
    char *text;

    *out = 0;
    if (!corpus || !str_is_name(corpus) || !split) return 0;
    const char *key = strcmp(split, "valid") == 0  ? "floor_perplexity:"
                      : strcmp(split, "test") == 0 ? "floor_perplexity_test:"
                                                   : NULL;
    const char *path = arena_printf(a, "%s/data/%s/manifest.yaml", root, corpus);
    if (!key || !file_exists(path)) return 0;
    TRY(file_read(a, &text, NULL, path, REPORT_MAX_FILE_BYTES, e));
    for (char *line = text; line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, key, strlen(key)) != 0) continue;
        char *value = line + strlen(key);
        value += strspn(value, " ");
        value[strcspn(value, " #\r\n")] = '\0';
        if (str_to_double(out, value) && *out > 0) return 0;
        return ERR(e, ERR_DATA, "%s: %s \"%s\" is no number above 0", path, key, value);
    }
    return 0;
}
