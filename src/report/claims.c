/* claims.c - judging claims. */
#include "report/cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/claims.inc"

static const char *const case_columns[] = {"claim", "statement", "wanted", "seed", "holds", "said"};
static const char *const verdict_columns[] = {"claim", "statement", "verdict", "evidence"};

static const char *const claim_verdicts[] = {"supported", "contradicted", "mixed", "not run",
                                             "not judged"};
enum { CLAIM_VERDICTS_N = sizeof claim_verdicts / sizeof *claim_verdicts };

/* These columns may follow. A claim.sql that lacks one says `otherwise`. */
static const struct {
    const char *name, *otherwise, *inside; /* inside: its name in claims.sql */
} claim_options[] = {{"counted", "1", "is_counted"},      {"unjudged", "NULL", "why_not"},
                     {"effect", "NULL", "effect_of"},     {"threshold", "NULL", "threshold_of"},
                     {"method", "NULL", "method_of"},     {"realised", "NULL", "realised_of"},
                     {"item", "NULL", "item_of"},         {"split", "NULL", "split_of"},
                     {"run", "NULL", "run_of"},           {"other", "NULL", "other_of"},
                     {"measured", "NULL", "measured_of"}, {"error", "NULL", "error_of"},
                     {"bound", "NULL", "bound_of"},       {"direction", "NULL", "direction_of"},
                     {"runs", "NULL", "runs_of"},         {"part", "NULL", "part_of"}};
enum { CLAIM_OPTIONS_N = sizeof claim_options / sizeof *claim_options };

/* True if the answer has these columns and then only those that may follow. */
static bool has_columns(const struct report_answer *r, const char *const *names, int32_t n)
{
    for (int32_t c = 0; c < r->rows.columns_n; c++) {
        bool known = c < n && strcmp(r->rows.name[c], names[c]) == 0;
        for (int i = 0; c >= n && i < CLAIM_OPTIONS_N; i++)
            known |= strcmp(r->rows.name[c], claim_options[i].name) == 0;
        if (!known) return false;
    }
    return r->rows.columns_n >= n;
}

static int check_claim(const struct rows *r, int32_t row, const char *path, struct err *e)
{
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
    if (strcmp(report_rows_get(r, row, "half_denied"), "1") == 0)
        return ERR(e, ERR_DATA, "%s: claim %s has only one of effect and threshold; give both",
                   path, claim);
    for (int i = 0; i < CLAIM_VERDICTS_N; i++)
        if (verdict && strcmp(verdict, claim_verdicts[i]) == 0) return 0;
    return ERR(
        e, ERR_DATA,
        "%s: the verdict of claim %s is \"%s\"; it must be supported, contradicted, mixed or "
        "not run",
        path, claim, verdict ? verdict : "NULL");
}

static int check_case(const struct rows *r, int32_t row, const char *path, struct err *e)
{
    static const char *const directions[] = {"at most", "below", "at least", "above"};
    const char *direction = report_rows_get(r, row, "direction");

    if (!report_rows_get(r, row, "case_bound")) return 0;
    for (int i = 0; i < 4; i++)
        if (direction && strcmp(direction, directions[i]) == 0) return 0;
    return ERR(
        e, ERR_DATA,
        "%s: the direction of claim %s is \"%s\"; it must be at most, below, at least or above",
        path, report_rows_get(r, row, "claim"), direction ? direction : "NULL");
}

bool report_claims_begins(const struct rows *cases, int32_t row)
{
    return strcmp(report_rows_get(cases, row, "first"), "1") == 0;
}

/* Reduces the cases to the rows at which a claim begins. */
static void find_claims(struct report_claims *c)
{
    struct rows first = c->cases;

    for (int32_t i = 0; i < c->cases.rows_n; i++) {
        first.row = &c->cases.row[i];
        first.rows_n = 1;
        if (report_claims_begins(&c->cases, i)) report_rows_append(&c->rows, &first);
    }
}

/* Judges the rows of a claim.sql, which are of `answer`. They are a table by then: a statement that
 * held claim.sql itself would hold it once for each step. */
static int judge_rows(struct report_claims *out, struct arena *a, struct store *s,
                      const struct report_folder *f, const char *scale,
                      const struct report_answer *answer, bool cases, struct err *e)
{
    struct report_answer measured;
    struct strbuf sql;

    strbuf_init(&sql, a);
    report_answer_rows(&measured, f->effects_path, &f->effects);
    const struct store_param params[] = {{"artefact", f->artefact, STORE_TEXT},
                                         {"scale", scale, STORE_TEXT},
                                         REPORT_GIVEN(answer),
                                         {"report_effects", &f->effects, STORE_ROWS}};
    report_answer_begin(&sql, answer);
    report_answer_add(&sql, ",\nreport_measured", "report_effects", &measured);
    strbuf_add(&sql, ",\nreport_claim AS (SELECT *");
    for (int i = 0; i < CLAIM_OPTIONS_N; i++)
        strbuf_addf(&sql, ", %s AS %s",
                    report_answer_has(answer, claim_options[i].name) ? claim_options[i].name
                                                                     : claim_options[i].otherwise,
                    claim_options[i].inside);
    strbuf_addf(&sql, " FROM report_numbered),\n%s%s", cases ? cases_sql : verdicts_sql,
                judged_sql);
    return report_rows_query(&out->cases, a, s, f->claims_path, sql.text, params, 4,
                             REPORT_QUERY_LIMIT_S, e);
}

int report_claims_judge(struct report_claims *out, struct arena *a, struct store *s,
                        const struct report_folder *f, const char *scale, struct err *e)
{
    const struct store_param params[] = {{"artefact", f->artefact, STORE_TEXT},
                                         {"scale", scale, STORE_TEXT}};
    const struct report_asked asked = {f->claims_path, f->claims, params, 2, REPORT_QUERY_LIMIT_S};
    struct report_answer answer;

    *out = (struct report_claims){.rows = {.arena = a}, .cases = {.arena = a}};
    if (!f->claims) return 0;
    TRY(report_answer_query(&answer, a, s, &asked, e));
    bool cases = has_columns(&answer, case_columns, 6);
    if (!cases && !has_columns(&answer, verdict_columns, 4))
        return ERR(
            e, ERR_DATA,
            "%s: its columns must be claim, statement, verdict, evidence, or those of cases: "
            "claim, statement, wanted, seed, holds, said; then counted, unjudged and others that "
            "experiments/README.md lists",
            f->claims_path);
    if (answer.rows.rows_n == 0)
        return ERR(e, ERR_DATA, "%s: gives no row; a claim that cannot be judged is \"not run\"",
                   f->claims_path);
    TRY(judge_rows(out, a, s, f, scale, &answer, cases, e));
    find_claims(out);
    for (int32_t i = 0; i < out->rows.rows_n; i++)
        TRY(check_claim(&out->rows, i, f->claims_path, e));
    for (int32_t i = 0; i < out->cases.rows_n; i++)
        TRY(check_case(&out->cases, i, f->claims_path, e));
    return 0;
}

int report_claims_of(struct report_claims *all, struct report_judged **judged, struct arena *a,
                     struct store *s, const struct project *p, const struct report_item *items,
                     int32_t n, struct err *e)
{
    *all = (struct report_claims){.rows = {.arena = a}, .cases = {.arena = a}};
    *judged = arena_array(a, (size_t)n + 1, sizeof **judged);
    for (int32_t i = 0; i < n; i++) {
        struct report_judged *k = &(*judged)[i];
        TRY(report_folder_open(&k->folder, a, p, items[i].artefact, items[i].dir, e));
        TRY(report_claims_judge(&k->claims, a, s, &k->folder, items[i].scale, e));
        if (items[i].title && !k->folder.laid_out) k->folder.layout.title = items[i].title;
        if (k->folder.claims) report_rows_append(&all->cases, &k->claims.cases);
    }
    find_claims(all);
    return 0;
}

/* --- text and tables ------------------------------------------------------------------------ */

static const char *verdict_color(const char *verdict)
{
    if (strcmp(verdict, "supported") == 0) return "\033[32m";
    if (strcmp(verdict, "contradicted") == 0) return "\033[31m";
    return "\033[33m";
}

static void write_line(FILE *out, const struct rows *r, int32_t row, const char *column)
{
    const char *line = report_rows_get(r, row, column);
    if (line) fprintf(out, "      %s\n", str_clean(r->arena, line, ""));
}

/* Writes a claim and its cases, a line each. If there are several folders, the artefact precedes.
 */
static void write_text(FILE *out, const struct rows *cases, bool placed, bool color)
{
    for (int32_t i = 0; i < cases->rows_n; i++) {
        const char *verdict = report_rows_get(cases, i, "verdict");
        if (report_claims_begins(cases, i)) {
            fprintf(out, "  %s%s%s: %s%s%s\n", placed ? report_rows_get(cases, i, "artefact") : "",
                    placed ? " " : "",
                    str_clean(cases->arena, report_rows_get(cases, i, "claim"), ""),
                    color ? verdict_color(verdict) : "", verdict, color ? "\033[0m" : "");
            fprintf(out, "    %s\n",
                    str_clean(cases->arena, report_rows_get(cases, i, "statement"), ""));
            write_line(out, cases, i, "note");
        }
        write_line(out, cases, i, "line");
    }
}

/* --- claims as data ------------------------------------------------------------------------- */

/* Returns the cases of the claim that begins at a row, as a JSON array. */
static int list_cases(char **out, const struct rows *cases, int32_t row, struct err *e)
{
    static const char *const names[][2] = {{"item", "item"},           {"split", "case_split"},
                                           {"seed", "seed"},           {"holds", "holds"},
                                           {"opposite", "opposite"},   {"effect", "case_measured"},
                                           {"error", "case_error"},    {"threshold", "case_bound"},
                                           {"direction", "direction"}, {"said", "said"}};
    enum { NAMES_N = sizeof names / sizeof *names };
    struct rows r;
    char *text = NULL;
    size_t size;
    int rc = 0;

    report_rows_init(&r, cases->arena, NAMES_N, 0);
    for (int c = 0; c < NAMES_N; c++) r.name[c] = names[c][0];
    for (int32_t i = row; i < cases->rows_n && (i == row || !report_claims_begins(cases, i)); i++) {
        if (!report_rows_get(cases, i, "said")) continue;
        struct store_cell *cell = report_rows_add(&r);
        for (int c = 0; c < NAMES_N; c++)
            cell[c] = cases->row[i][report_rows_column(cases, names[c][1])];
    }
    FILE *f = open_memstream(&text, &size);
    if (!f) return ERR(e, ERR_NOMEM, "out of memory");
    rc = report_rows_write(f, &r, REPORT_JSON, e);
    if (fclose(f) != 0 && rc == 0) rc = ERR(e, ERR_NOMEM, "out of memory");
    *out = arena_strdup(cases->arena, rc < 0 ? "" : text);
    free(text);
    for (char *p = *out; (p = strchr(p, '\n'));) memmove(p, p + 1, strlen(p)); /* one line */
    return rc;
}

/* The columns of a claim as data, and what JSON makes of them. */
static const struct {
    const char *name;
    char type; /* of struct store_cell; 0: as it is */
} data_columns[] = {{"artefact", 0}, {"scale", 0},    {"claim", 0},     {"statement", 0},
                    {"verdict", 0},  {"evidence", 0}, {"threshold", 0}, {"possible", 0},
                    {"effect", 0},   {"error", 0},    {"low", 0},       {"high", 0},
                    {"seeds", 0},    {"split", 0},    {"runs", 'w'},    {"codes", 'w'},
                    {"cases", 'j'}};
enum { DATA_COLUMNS_N = sizeof data_columns / sizeof *data_columns };

/* Makes a row for each claim, with its cases and the runs that it reads. */
static int list_claims(struct rows *out, const struct rows *cases, struct err *e)
{
    report_rows_init(out, cases->arena, DATA_COLUMNS_N, 0);
    for (int c = 0; c < DATA_COLUMNS_N; c++) out->name[c] = data_columns[c].name;
    for (int32_t i = 0; i < cases->rows_n; i++) {
        if (!report_claims_begins(cases, i)) continue;
        struct store_cell *cell = report_rows_add(out);
        for (int c = 0; c < DATA_COLUMNS_N; c++) {
            int32_t from = report_rows_column(cases, data_columns[c].name);
            if (from >= 0) cell[c] = cases->row[i][from];
            if (data_columns[c].type) cell[c].type = data_columns[c].type;
        }
        char *list = NULL;
        TRY(list_cases(&list, cases, i, e));
        cell[DATA_COLUMNS_N - 1].text = list;
    }
    return 0;
}

/* Selects of n claims from a row on what a document shows: a line each, without the evidence. */
static void list_lines(struct rows *out, const struct rows *claims, int32_t row, int32_t n)
{
    static const char *const names[] = {"claim", "statement", "verdict", "cases that hold",
                                        "seeds"};
    enum { NAMES_N = sizeof names / sizeof *names };

    report_rows_init(out, claims->arena, NAMES_N, 0);
    for (int c = 0; c < NAMES_N; c++) out->name[c] = names[c];
    for (int32_t i = row; i < row + n; i++) {
        struct store_cell *cell = report_rows_add(out);
        for (int c = 0; c < NAMES_N; c++)
            cell[c] = claims->row[i][report_rows_column(claims, names[c])];
    }
}

/* Writes a table for each artefact, under its name if there are several. The names
 * of artefacts of one collection lack its own, so that their links work in its folder. */
static int write_lines(FILE *out, const struct rows *claims, enum report_format format,
                       struct err *e)
{
    int32_t artefact = report_rows_column(claims, "artefact");
    int32_t last = claims->rows_n - 1;
    struct rows r;

    size_t skip = last < 0 ? 0 : project_collection_bytes(claims->row[0][artefact].text);
    if (skip > 0) skip++; /* the slash */
    for (int32_t i = 0; i <= last; i++)
        if (strncmp(claims->row[i][artefact].text, claims->row[0][artefact].text, skip) != 0)
            skip = 0;
    for (int32_t i = 0, n; i <= last; i += n) {
        n = report_rows_alike(claims, i, artefact);
        if (n <= last) report_write_folder(out, claims->row[i][artefact].text + skip, format);
        list_lines(&r, claims, i, n);
        TRY(report_rows_write(out, &r, format, e));
        if (i + n <= last) fputc('\n', out);
    }
    return 0;
}

int report_claims_write(FILE *out, const struct report_claims *claims, bool placed,
                        const struct report_options *o, struct err *e)
{
    struct rows r;

    if (o->format == REPORT_HTML) report_html_claims(out, &claims->cases);
    if (o->format == REPORT_TEXT)
        write_text(out, &claims->cases, placed, o->color && !getenv("NO_COLOR"));
    if (o->format == REPORT_HTML || o->format == REPORT_TEXT) return file_check_output(out, e);
    if (o->format == REPORT_JSON) {
        TRY(list_claims(&r, &claims->cases, e));
        return report_rows_write(out, &r, o->format, e);
    }
    if (o->format != REPORT_CSV) return write_lines(out, &claims->rows, o->format, e);
    int32_t first = placed ? 0 : report_rows_column(&claims->rows, "claim");
    int32_t end = report_rows_column(&claims->rows, "possible") + 1;
    report_rows_slice(&r, &claims->rows, first, end - first, 0, claims->rows.rows_n);
    return report_rows_write(out, &r, o->format, e);
}

const char *report_claims_heading(struct arena *a, const struct report_item *items, int32_t n,
                                  const char *scale)
{
    bool paper = report_is_paper(scale);
    int32_t beyond_n = 0;

    for (int32_t i = 0; i < n; i++) beyond_n += project_collection_bytes(items[i].artefact) > 0;
    const char *whose = beyond_n == 0  ? "Claims of the paper"
                        : beyond_n < n ? "Claims of the paper and beyond it"
                                       : "Claims beyond the paper";
    return arena_printf(a, "%s%s, judged at scale %s%s", whose,
                        paper || beyond_n ? "" : " about the shape of the curves", scale,
                        paper ? "" : " (lengths are the paper's)");
}

/* --- counted -------------------------------------------------------------------------------- */

int report_claims_ask(struct rows *out, struct store *s, const struct report_claims *claims,
                      const char *scale, const char *sql, struct err *e)
{
    struct arena *a = claims->rows.arena;
    struct report_answer answer;
    struct strbuf b;

    *out = (struct rows){.arena = a};
    if (claims->rows.rows_n == 0) return 0;
    report_answer_rows(&answer, "claims", &claims->rows);
    const struct store_param params[] = {{"scale", scale, STORE_TEXT}, REPORT_GIVEN(&answer)};
    strbuf_init(&b, a);
    report_answer_begin(&b, &answer);
    strbuf_add(&b, shared_sql);
    strbuf_add(&b, sql);
    return report_rows_query(out, a, s, "claims", b.text, params, 2, REPORT_QUERY_LIMIT_S, e);
}

int report_claims_count(struct rows *out, struct store *s, const struct report_claims *claims,
                        const char *scale, struct err *e)
{
    return report_claims_ask(out, s, claims, scale, count_sql, e);
}

/* --- several folders ------------------------------------------------------------------------ */

int report_claims(FILE *out, struct store *s, const struct project *p,
                  const struct report_item *items, int32_t n, const struct report_options *o,
                  int32_t *contradicted, struct err *e)
{
    struct arena a;
    struct report_claims all;
    struct report_judged *judged;
    struct rows counts;
    int rc = 0;

    arena_init(&a);
    TRY_OUT(rc, report_claims_of(&all, &judged, &a, s, p, items, n, e));
    TRY_OUT(rc, report_claims_count(&counts, s, &all, o->scale, e));
    *contradicted = 0;
    for (int32_t i = 0; i < all.rows.rows_n; i++)
        *contradicted += strcmp(report_rows_get(&all.rows, i, "verdict"), "contradicted") == 0;
    if (o->format == REPORT_TEXT)
        report_write_heading(out, report_claims_heading(&a, items, n, o->scale), o->format, 1);
    if (o->format == REPORT_TEXT && n == 1 && all.rows.rows_n == 0)
        report_write_paragraph(
            out, arena_printf(&a, "%s has no claim.sql, nothing to judge.", items[0].artefact),
            o->format);
    TRY_OUT(rc, report_claims_write(out, &all, true, o, e));
    if (counts.rows_n && o->format != REPORT_CSV && o->format != REPORT_JSON) {
        fputc('\n', out);
        report_write_paragraph(out, report_rows_get(&counts, 0, "sum"), o->format);
    }
    rc = file_check_output(out, e);
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
    struct rows r;
    int rc = 0;

    arena_init(&a);
    TRY_OUT(rc, report_folder_open(&f, &a, p, artefact, dir, e));
    if (!f.claims) goto out;
    TRY_OUT(rc, report_claims_judge(&judged, &a, s, &f, scale, e));
    TRY_OUT(rc, list_claims(&r, &judged.cases, e));
    struct store_claim *claims = arena_array(&a, (size_t)r.rows_n, sizeof *claims);
    for (int32_t i = 0; i < r.rows_n; i++)
        claims[i] = (struct store_claim){.claim = report_rows_get(&r, i, "claim"),
                                         .statement = report_rows_get(&r, i, "statement"),
                                         .verdict = report_rows_get(&r, i, "verdict"),
                                         .evidence = report_rows_get(&r, i, "evidence"),
                                         .threshold = report_rows_get(&r, i, "threshold"),
                                         .effect = report_rows_get(&r, i, "effect"),
                                         .error = report_rows_get(&r, i, "error"),
                                         .low = report_rows_get(&r, i, "low"),
                                         .high = report_rows_get(&r, i, "high"),
                                         .seeds = report_rows_get(&r, i, "seeds"),
                                         .split = report_rows_get(&r, i, "split"),
                                         .runs = report_rows_get(&r, i, "runs"),
                                         .codes = report_rows_get(&r, i, "codes"),
                                         .cases = report_rows_get(&r, i, "cases")};
    rc = store_set_claims(s, artefact, scale, claims, r.rows_n, e);
out:
    arena_fini(&a);
    return rc;
}
