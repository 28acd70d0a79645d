/* wide.c - alibi query --wide and --views: rows with their settings as columns; the columns of the
 * views. */
#include <string.h>

#include "base/file.h"
#include "report/cells.h"
#include "spec/spec.h"

enum { LINE_MAX_BYTES = 100, MEANING_AT = 27 };

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
    const struct store_param given = REPORT_GIVEN(r);
    struct rows keys;
    struct strbuf b;

    if (!report_answer_has(r, "run_id"))
        return ERR(e, ERR_USAGE,
                   "query --wide: the rows have no column run_id, which their settings belong to");
    strbuf_init(&b, a);
    report_answer_add(&b, "WITH report_answer", given.name, r);
    strbuf_addf(&b, "\n%s", differing_sql);
    TRY(report_rows_query(&keys, a, s, NULL, b.text, &given, 1, limit_s, e));
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
    const struct report_asked asked = {"query", sql, NULL, 0, limit_s};
    struct report_answer answer;
    struct report_regrouping g = {.settings_n = 0};

    TRY(report_answer_query(&answer, a, s, &asked, e));
    TRY(find_settings(&g, &answer, a, s, limit_s, e));
    TRY(report_answer_regroup(&answer, a, s, &g, limit_s, e));
    return report_rows_write(out, &answer.rows, format, e);
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

/* Writes text from the indented column on, where further lines begin, too. */
static void write_wrapped(FILE *out, size_t indent, const char *text)
{
    size_t used = indent;

    for (const char *word = text; *word; word += strspn(word, " ")) {
        size_t n = strcspn(word, " ");
        bool breaks = used > indent && used + 1 + n > LINE_MAX_BYTES;
        if (breaks) fprintf(out, "\n%*s", (int)indent, "");
        if (breaks) used = indent;
        used += (size_t)fprintf(out, "%s%.*s", used > indent ? " " : "", (int)n, word);
        word += n;
    }
    fputc('\n', out);
}

/* Writes each view with its columns, or also with their meanings. */
static void write_views(FILE *out, struct arena *a, const struct rows *views, bool meanings)
{
    int32_t view = report_rows_column(views, "view");

    for (int32_t i = 0, n; i < views->rows_n; i += n) {
        n = report_rows_alike(views, i, view);
        fprintf(out, "%s%s: %s\n", i ? "\n" : "", report_rows_get(views, i, "view"),
                report_rows_get(views, i, "row"));
        struct strbuf list;
        strbuf_init(&list, a);
        for (int32_t k = i; k < i + n; k++) {
            const char *column = report_rows_get(views, k, "column");
            strbuf_addf(&list, "%s%s", k > i ? ", " : "", column);
            if (!meanings) continue;
            fprintf(out, "  %-24s ", column);
            write_wrapped(out, MEANING_AT, report_rows_get(views, k, "meaning"));
        }
        if (meanings) continue;
        fputs("  ", out);
        write_wrapped(out, 2, list.text);
    }
}

/* Writes a column's meaning, and the views that have it. */
static void write_column(FILE *out, struct arena *a, const struct rows *views)
{
    struct strbuf list;

    strbuf_init(&list, a);
    for (int32_t i = 0; i < views->rows_n; i++)
        strbuf_addf(&list, "%s%s", i ? ", " : "in ", report_rows_get(views, i, "view"));
    fprintf(out, "%s\n  ", report_rows_get(views, 0, "column"));
    write_wrapped(out, 2, report_rows_get(views, 0, "meaning"));
    fputs("  ", out);
    write_wrapped(out, 2, list.text);
}

/* Keeps the rows of this view or, if there is none, of this column. */
static void keep_named(struct rows *views, const char *name)
{
    static const char *const keys[] = {"view", "column"};
    int32_t n = 0;

    for (int k = 0; k < 2 && n == 0; k++)
        for (int32_t i = 0; i < views->rows_n; i++)
            if (strcmp(report_rows_get(views, i, keys[k]), name) == 0)
                views->row[n++] = views->row[i];
    views->rows_n = n;
}

int report_views(FILE *out, struct store *s, const char *name, enum report_format format,
                 struct err *e)
{
    struct arena a;
    struct rows views;

    arena_init(&a);
    int rc = store_views(s, &views, &a, e);
    if (rc == 0 && name) keep_named(&views, name);
    if (rc == 0 && views.rows_n == 0)
        rc = ERR(e, ERR_USAGE, "no view and no column is named '%.60s'; see `alibi query --views`",
                 name);
    if (rc == 0 && format != REPORT_TEXT) rc = report_rows_write(out, &views, format, e);
    if (rc == 0 && format == REPORT_TEXT) {
        if (name && strcmp(report_rows_get(&views, 0, "view"), name) != 0)
            write_column(out, &a, &views);
        else
            write_views(out, &a, &views, name != NULL);
        rc = file_check_output(out, e);
    }
    arena_fini(&a);
    return rc;
}
