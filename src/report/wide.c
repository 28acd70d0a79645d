/* wide.c - alibi query --wide and --views: rows with their settings as columns; the columns of the
 * views. */
#include <string.h>

#include "base/file.h"
#include "report/cells.h"
#include "spec/spec.h"

enum { LINE_MAX_BYTES = 100 };

/* --- --wide --------------------------------------------------------------------------------- */

/* The settings in which the rows differ. */
static const char differing_sql[] =
    "SELECT key FROM settings WHERE run_id IN (SELECT run_id FROM report_answer)\n"
    "AND key <> 'eval.train_run'\n" /* an id and no setting */
    "GROUP BY key HAVING count(DISTINCT value) > 1 ORDER BY key";

/* True if a column of the rows shows the setting. */
static bool is_shown(const struct report_answer *r, const char *key)
{
    static const struct {
        const char *key, *column;
    } others[] = {{"eval.L", "L_valid"}, {"eval.precision", "precision"}};
    const struct spec_key *own = spec_key_find(key);

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].key, key) == 0) return report_answer_has(r, others[i].column);
    return own && own->column && report_answer_has(r, own->column);
}

static int find_settings(struct report_regrouping *g, const struct report_answer *r,
                         struct arena *a, struct store *s, double limit_s, struct err *e)
{
    struct rows keys;
    struct strbuf b;

    if (!report_answer_has(r, "run_id"))
        return ERR(e, ERR_USAGE,
                   "query --wide: the rows have no column run_id, which their settings belong to");
    strbuf_init(&b, a);
    report_answer_add(&b, "WITH report_answer", r);
    strbuf_addf(&b, "\n%s", differing_sql);
    TRY(report_rows_query(&keys, a, s, NULL, b.text, NULL, 0, limit_s, e));
    for (int32_t i = 0; i < keys.rows_n; i++) {
        const char *key = report_rows_text(&keys, i, 0);
        if (is_shown(r, key)) continue;
        if (g->settings_n == REPORT_MAX_SETTINGS)
            return ERR(e, ERR_USAGE,
                       "query --wide: the rows differ in more than %d settings; select fewer rows",
                       REPORT_MAX_SETTINGS);
        g->setting[g->settings_n++] = key;
    }
    return 0;
}

static int write_wide(FILE *out, struct arena *a, struct store *s, const char *sql, double limit_s,
                      enum report_format format, struct err *e)
{
    struct report_answer answer;
    struct report_regrouping g = {.settings_n = 0};
    struct rows rows;

    TRY(report_answer_query(&answer, a, s, "query", sql, e));
    TRY(find_settings(&g, &answer, a, s, limit_s, e));
    report_answer_regroup(&answer, a, &g);
    TRY(report_rows_query(&rows, a, s, NULL, answer.sql, NULL, 0, limit_s, e));
    return report_rows_write(out, &rows, format, e);
}

int report_wide(FILE *out, struct store *s, const char *sql, double limit_s,
                enum report_format format, struct err *e)
{
    struct arena a;

    arena_init(&a);
    int rc = write_wide(out, &a, s, sql ? sql : "SELECT * FROM evaluations", limit_s, format, e);
    arena_fini(&a);
    return rc;
}

/* --- --views -------------------------------------------------------------------------------- */

static void write_views(FILE *out, const struct rows *views)
{
    size_t used = 0;

    for (int32_t i = 0; i < views->rows_n; i++) {
        const char *view = report_rows_get(views, i, "view"),
                   *column = report_rows_get(views, i, "column");
        bool first = strcmp(report_rows_get(views, i, "number"), "1") == 0;
        bool last =
            i + 1 == views->rows_n || strcmp(report_rows_get(views, i + 1, "number"), "1") == 0;
        if (first) fprintf(out, "%s%s\n", i ? "\n" : "", view);
        bool breaks = first || used + strlen(column) + 2 > LINE_MAX_BYTES;
        if (breaks) used = 2;
        fprintf(out, "%s%s%s", breaks ? (first ? "  " : "\n  ") : " ", column, last ? "\n" : ",");
        used += strlen(column) + 2;
    }
}

int report_views(FILE *out, struct store *s, enum report_format format, struct err *e)
{
    struct arena a;
    struct rows views;

    arena_init(&a);
    int rc = store_views(s, &views, &a, e);
    if (rc == 0 && format == REPORT_TEXT) write_views(out, &views);
    if (rc == 0)
        rc = format == REPORT_TEXT ? file_check_output(out, e)
                                   : report_rows_write(out, &views, format, e);
    arena_fini(&a);
    return rc;
}
