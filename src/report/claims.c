/* claims.c - judging claims, and the two small commands: claims and query. */
#include "report/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "report/html.h"
#include "report/report.h"
#include "report/writer.h"

static const char *const case_columns[] = {"claim", "statement", "wanted", "seed", "holds", "said"};
static const char *const verdict_columns[] = {"claim", "statement", "verdict", "evidence"};

static bool has_columns(const struct report_answer *r, const char *const *names, int32_t n)
{
    if (r->columns_n != n && !(r->columns_n == n + 1 && strcmp(r->name[n], "counted") == 0))
        return false;
    for (int32_t c = 0; c < n; c++)
        if (strcmp(r->name[c], names[c]) != 0) return false;
    return true;
}

/* One row a case, each with what its claim comes to; %s: counted. head is the row at which the
 * claim begins, note what its evidence lacks, line what the case says. */
static const char cases_sql[] =
    ",\nreport_case AS (\n"
    " SELECT \"#row\", claim, seed, coalesce(holds, 0) <> 0 AS holds,\n"
    "  CASE WHEN seed IS NULL THEN '' ELSE 'seed ' || seed || ', ' END || said AS line,\n"
    "  first_value(statement) OVER of_claim AS statement,\n"
    "  first_value(wanted) OVER of_claim AS wanted, first_value(%s) OVER of_claim AS counted,\n"
    "  first_value(\"#row\") OVER of_claim AS head, count(said) OVER of_claim AS cases_n,\n"
    "  min(said IS NULL OR coalesce(holds, 0) <> 0) OVER of_claim AS all_hold\n"
    " FROM report_numbered WINDOW of_claim AS (PARTITION BY claim ORDER BY \"#row\"\n"
    "  ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)),\n"
    "report_judged AS (\n"
    " SELECT \"#row\", claim, seed, holds, CASE WHEN wanted <> 0 THEN line END AS line, "
    "statement,\n"
    "  wanted, counted, head,\n"
    "  CASE WHEN wanted = 0 OR cases_n < wanted THEN 'not run' WHEN all_hold THEN 'supported'\n"
    "   ELSE 'contradicted' END AS verdict,\n"
    "  CASE WHEN wanted = 0 THEN 'nothing was run' WHEN cases_n < wanted\n"
    "   THEN printf('%%d of %%d cases have their numbers', cases_n, wanted) END AS note\n"
    " FROM report_case)\n";

/* The same of verdicts: the evidence is the one line. */
static const char verdicts_sql[] =
    ",\nreport_judged AS (\n"
    " SELECT \"#row\", claim, NULL AS seed, NULL AS holds, evidence AS line, statement, 0 AS "
    "wanted,\n"
    "  %s AS counted, \"#row\" AS head, verdict, NULL AS note FROM report_numbered)\n";

static const char judged_sql[] =
    "SELECT claim, statement, verdict, coalesce(note || coalesce('; ' || lines, ''), lines)\n"
    " AS evidence, counted, wanted, head, note, seed, holds, line\n"
    "FROM (SELECT *, group_concat(line, '; ') OVER (PARTITION BY head ORDER BY \"#row\"\n"
    "  ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS lines FROM report_judged)\n"
    "ORDER BY head, \"#row\"";

static int check_claim(const struct report_rows *r, int32_t row, const char *path, struct err *e)
{
    static const char *const verdicts[] = {"supported", "contradicted", "not run"};
    const char *claim = report_rows_get(r, row, "claim");
    const char *wanted = report_rows_get(r, row, "wanted");
    const char *verdict = report_rows_get(r, row, "verdict");
    int64_t cases;

    if (!claim || !report_rows_get(r, row, "statement"))
        return ERR(e, ERR_DATA, "%s: row %s has no claim or no statement", path,
                   report_rows_get(r, row, "head"));
    if (!wanted || !str_to_int(&cases, wanted) || cases < 0)
        return ERR(e, ERR_DATA, "%s: claim %s wants \"%s\" cases; give a whole number from 0 on",
                   path, claim, wanted ? wanted : "NULL");
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        if (verdict && strcmp(verdict, verdicts[i]) == 0) return 0;
    return ERR(
        e, ERR_DATA,
        "%s: the verdict of claim %s is \"%s\"; it must be supported, contradicted or not run",
        path, claim, verdict ? verdict : "NULL");
}

/* The rows at which a claim begins; *contradicted_n counts. */
static int take_claims(struct report_claims *out, struct arena *a, const char *path, struct err *e)
{
    const struct report_rows *cases = &out->cases;
    const char *before = NULL;

    out->rows = *cases;
    out->rows.row = arena_array(a, (size_t)cases->rows_n + 1, sizeof *out->rows.row);
    out->rows.rows_n = 0;
    for (int32_t i = 0; i < cases->rows_n; i++) {
        const char *head = report_rows_get(cases, i, "head");
        if (before && strcmp(before, head) == 0) continue;
        before = head;
        TRY(check_claim(cases, i, path, e));
        out->contradicted_n += strcmp(report_rows_get(cases, i, "verdict"), "contradicted") == 0;
        out->rows.row[out->rows.rows_n++] = cases->row[i];
    }
    return 0;
}

int report_claims_judge(struct report_claims *out, struct arena *a, struct store *s,
                        const struct report_folder *f, const char *scale, struct err *e)
{
    const struct store_param params[] = {{"artefact", f->artefact}, {"scale", scale}};
    struct report_answer answer;
    struct strbuf sql;

    *out = (struct report_claims){.rows = {.arena = a}, .cases = {.arena = a}};
    if (!f->claims) return 0;
    TRY(report_answer_query(&answer, a, s, f->claims_path, f->claims, e));
    bool cases = has_columns(&answer, case_columns, 6);
    if (!cases && !has_columns(&answer, verdict_columns, 4))
        return ERR(
            e, ERR_DATA,
            "%s: its columns must be claim, statement, verdict, evidence, or those of cases: "
            "claim, statement, wanted, seed, holds, said; counted may follow",
            f->claims_path);
    strbuf_init(&sql, a);
    report_answer_begin(&sql, &answer);
    strbuf_addf(&sql, cases ? cases_sql : verdicts_sql,
                report_answer_has(&answer, "counted") ? "counted" : "1");
    strbuf_add(&sql, judged_sql);
    TRY(report_rows_query(&out->cases, a, s, f->claims_path, sql.text, params, 2,
                          REPORT_QUERY_LIMIT_S, e));
    if (out->cases.rows_n == 0)
        return ERR(e, ERR_DATA, "%s: gives no row; a claim that cannot be judged is \"not run\"",
                   f->claims_path);
    return take_claims(out, a, f->claims_path, e);
}

static const char *verdict_color(const char *verdict)
{
    if (strcmp(verdict, "supported") == 0) return "\033[32m";
    if (strcmp(verdict, "contradicted") == 0) return "\033[31m";
    return "\033[33m";
}

static void write_line(FILE *out, const struct report_rows *r, int32_t row, const char *column)
{
    const char *line = report_rows_get(r, row, column);
    if (line) fprintf(out, "      %s\n", report_clean_text(r->arena, line));
}

/* A claim of a folder, or of several with the artefact in front, and its cases a line each. */
static void write_claim(FILE *out, const struct report_claims *claims, int32_t row, bool color)
{
    const struct report_rows *r = &claims->cases;
    const char *where = report_rows_get(r, row, "artefact");
    const char *verdict = report_rows_get(r, row, "verdict");

    fprintf(out, "  %s%s%s: %s%s%s\n", where ? where : "", where ? " " : "",
            report_clean_text(r->arena, report_rows_get(r, row, "claim")),
            color ? verdict_color(verdict) : "", verdict, color ? "\033[0m" : "");
    fprintf(out, "    %s\n", report_clean_text(r->arena, report_rows_get(r, row, "statement")));
    write_line(out, r, row, "note");
}

static void write_text(FILE *out, const struct report_claims *claims, bool color)
{
    const struct report_rows *r = &claims->cases;
    int32_t claim = 0;

    for (int32_t i = 0; i < r->rows_n; i++) {
        if (claim < claims->rows.rows_n && r->row[i] == claims->rows.row[claim]) {
            write_claim(out, claims, i, color);
            claim++;
        }
        write_line(out, r, i, "line");
    }
}

/* The columns of a table of claims: those up to the evidence, which is their order in a row. */
static struct report_rows up_to_evidence(const struct report_claims *claims)
{
    struct report_rows r = claims->rows;
    r.columns_n = report_rows_column(&r, "evidence") + 1;
    return r;
}

int report_claims_write(FILE *out, const struct report_claims *claims,
                        const struct report_options *o, struct err *e)
{
    if (o->format == REPORT_HTML) {
        report_html_claims(out, &claims->cases);
    } else if (o->format == REPORT_TEXT) {
        write_text(out, claims, o->color && !getenv("NO_COLOR"));
    } else {
        const struct report_rows r = up_to_evidence(claims);
        return report_rows_write(out, r.arena, &r, o->format, e);
    }
    return file_check_output(out, e);
}

const char *report_claims_heading(struct arena *a, const char *scale)
{
    bool paper = strcmp(scale, "paper") == 0;
    return arena_printf(a, "Claims of the paper%s, judged at scale %s%s",
                        paper ? "" : " about the shape of the curves", scale,
                        paper ? "" : " (lengths are the paper's)");
}

/* The names of the counted claims with a verdict. */
static int32_t claims_named(const char **names, struct arena *a, const struct report_rows *claims,
                            const char *verdict)
{
    struct strbuf b;
    int32_t n = 0;

    strbuf_init(&b, a);
    for (int32_t i = 0; i < claims->rows_n; i++) {
        if (strcmp(report_rows_get(claims, i, "counted"), "0") == 0 ||
            strcmp(report_rows_get(claims, i, "verdict"), verdict) != 0)
            continue;
        strbuf_addf(&b, "%s%s", n++ ? ", " : "", report_rows_get(claims, i, "claim"));
    }
    *names = b.text;
    return n;
}

void report_claims_tally(struct report_claims_tally *t, struct arena *a,
                         const struct report_claims *claims)
{
    t->supported_n = claims_named(&t->supported, a, &claims->rows, "supported");
    t->contradicted_n = claims_named(&t->contradicted, a, &claims->rows, "contradicted");
    t->open_n = claims_named(&t->open, a, &claims->rows, "not run");
    t->all_n = t->supported_n + t->contradicted_n + t->open_n;
}

const char *report_claims_sentence(struct arena *a, const struct report_claims *claims,
                                   const char *scale)
{
    struct report_claims_tally t;
    struct strbuf b;

    report_claims_tally(&t, a, claims);
    if (t.all_n == 0) return NULL;
    strbuf_init(&b, a);
    strbuf_addf(&b, "%s: %d of %d claim%s supported",
                strcmp(scale, "paper") == 0 ? "Claims" : "Shape", t.supported_n, t.all_n,
                t.all_n == 1 ? "" : "s");
    if (t.supported_n) strbuf_addf(&b, " (%s)", t.supported);
    if (t.contradicted_n) strbuf_addf(&b, "; contradicted: %s", t.contradicted);
    if (t.open_n) strbuf_addf(&b, "; not run: %s", t.open);
    strbuf_add(&b, ".");
    return b.text;
}

static const char *folder_name(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    return slash ? slash + 1 : dir;
}

/* Adds rows with the artefact and the scale in front; rows that two tables share stay shared. */
static void append(struct report_rows *all, const struct report_rows *rows, const char *artefact,
                   const char *scale)
{
    struct store_cell **grown =
        arena_array(all->arena, (size_t)(all->rows_n + rows->rows_n) + 1, sizeof *grown);

    if (all->rows_n) memcpy(grown, all->row, (size_t)all->rows_n * sizeof *grown);
    all->row = grown;
    if (!all->name) {
        all->columns_n = rows->columns_n + 2;
        all->name = arena_array(all->arena, (size_t)all->columns_n, sizeof *all->name);
        all->name[0] = "artefact";
        all->name[1] = "scale";
        memcpy(all->name + 2, rows->name, (size_t)rows->columns_n * sizeof *rows->name);
    }
    for (int32_t i = 0; i < rows->rows_n; i++) {
        struct store_cell *cells = arena_array(all->arena, (size_t)all->columns_n, sizeof *cells);
        cells[0] = (struct store_cell){artefact, 't'};
        cells[1] = (struct store_cell){scale, 't'};
        memcpy(cells + 2, rows->row[i], (size_t)rows->columns_n * sizeof *cells);
        all->row[all->rows_n++] = cells;
    }
}

/* Judges the folders; all->cases has the cases of all of them, all->rows their first ones. */
static int judge_folders(struct report_claims *all, struct arena *a, struct store *s,
                         const struct project *p, const char *const *dirs, int32_t n,
                         const char *scale, struct err *e)
{
    for (int32_t i = 0; i < n; i++) {
        struct report_folder f;
        struct report_claims one;
        TRY(report_folder_open(&f, a, p, folder_name(dirs[i]), dirs[i], e));
        TRY(report_claims_judge(&one, a, s, &f, scale, e));
        if (one.cases.rows_n == 0) continue;
        int32_t first = all->cases.rows_n, claim = 0;
        append(&all->cases, &one.cases, f.artefact, scale);
        append(&all->rows, &one.rows, f.artefact, scale);
        for (int32_t k = 0; k < one.cases.rows_n; k++)
            if (claim < one.rows.rows_n && one.cases.row[k] == one.rows.row[claim])
                all->rows.row[all->rows.rows_n - one.rows.rows_n + claim++] =
                    all->cases.row[first + k];
        all->contradicted_n += one.contradicted_n;
    }
    return 0;
}

int report_claims(FILE *out, struct store *s, const struct project *p, const char *const *dirs,
                  int32_t n, const struct report_options *o, int32_t *contradicted, struct err *e)
{
    struct arena a;
    int rc = 0;

    arena_init(&a);
    struct report_claims all = {.rows = {.arena = &a}, .cases = {.arena = &a}};
    TRY_OUT(rc, judge_folders(&all, &a, s, p, dirs, n, o->scale, e));
    *contradicted = all.contradicted_n;
    if (o->format == REPORT_HTML) report_html_open(out, report_claims_heading(&a, o->scale));
    if (o->format == REPORT_TEXT || o->format == REPORT_HTML)
        report_write_heading(out, report_claims_heading(&a, o->scale), o->format, 1);
    rc = report_claims_write(out, &all, o, e);
    if (o->format == REPORT_HTML) report_html_close(out);
out:
    arena_fini(&a);
    return rc;
}

int report_judge(struct store *s, const struct project *p, const char *artefact, const char *dir,
                 const char *scale, struct err *e)
{
    struct arena a;
    struct report_folder f;
    struct report_claims judged;
    int rc = 0;

    arena_init(&a);
    TRY_OUT(rc, report_folder_open(&f, &a, p, artefact, dir, e));
    if (!f.claims) goto out;
    TRY_OUT(rc, report_claims_judge(&judged, &a, s, &f, scale, e));
    const struct report_rows *r = &judged.rows;
    struct store_claim *claims = arena_array(&a, (size_t)r->rows_n, sizeof *claims);
    for (int32_t i = 0; i < r->rows_n; i++)
        claims[i] = (struct store_claim){.claim = report_rows_get(r, i, "claim"),
                                         .statement = report_rows_get(r, i, "statement"),
                                         .verdict = report_rows_get(r, i, "verdict"),
                                         .evidence = report_rows_get(r, i, "evidence")};
    rc = store_set_claims(s, artefact, scale, claims, r->rows_n, e);
out:
    arena_fini(&a);
    return rc;
}

int report_query(FILE *out, struct store *s, const char *sql, double limit_s,
                 enum report_format format, struct err *e)
{
    struct arena a;
    struct report_rows rows;

    arena_init(&a);
    int rc = report_rows_query(&rows, &a, s, NULL, sql, NULL, 0, limit_s, e);
    if (rc == 0 && format == REPORT_HTML) report_html_open(out, "alibi query");
    if (rc == 0) rc = report_rows_write(out, &a, &rows, format, e);
    if (rc == 0 && format == REPORT_HTML) report_html_close(out);
    arena_fini(&a);
    return rc;
}

static const struct {
    const char *name;
    enum report_format format;
} format_table[] = {
    {"text", REPORT_TEXT}, {"markdown", REPORT_MARKDOWN}, {"csv", REPORT_CSV},
    {"json", REPORT_JSON}, {"latex", REPORT_LATEX},       {"html", REPORT_HTML},
};

int report_format_find(enum report_format *out, const char *name, struct err *e)
{
    for (size_t i = 0; i < sizeof format_table / sizeof *format_table; i++) {
        if (strcmp(name, format_table[i].name) != 0) continue;
        *out = format_table[i].format;
        return 0;
    }
    return ERR(e, ERR_USAGE,
               "unknown format \"%s\"; the formats are text, markdown, csv, json, latex and html",
               name);
}
