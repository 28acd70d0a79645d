/* claims.c - judging claims, and the two small commands: claims and query. */
#include "report/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "report/cases.h"
#include "report/html.h"
#include "report/report.h"
#include "report/writer.h"

static const char *const claim_columns[] = {"claim", "statement", "verdict", "evidence"};
enum { CLAIM_COLUMNS_N = 4, CLAIM_NAME = 0, CLAIM_VERDICT = 2 };

static bool is_verdict(const char *text)
{
    return text && (strcmp(text, "supported") == 0 || strcmp(text, "contradicted") == 0 ||
                    strcmp(text, "not run") == 0);
}

int report_claims_judge(struct report_rows *out, int32_t *contradicted, struct arena *a,
                        struct store *s, const struct report_folder *f, const char *scale,
                        struct err *e)
{
    const struct store_param params[] = {{"artefact", f->artefact}, {"scale", scale}};

    *out = (struct report_rows){.arena = a};
    *contradicted = 0;
    if (!f->claims) return 0;
    TRY(report_rows_query(out, a, s, f->claims_path, f->claims, params, 2, REPORT_QUERY_LIMIT_S,
                          e));
    if (out->rows_n == 0)
        return ERR(e, ERR_DATA, "%s: gives no row; a claim that cannot be judged is \"not run\"",
                   f->claims_path);
    if (report_cases_are(out)) {
        const struct report_rows cases = *out;
        TRY(report_cases_judge(out, a, &cases, f->claims_path, e));
    }
    for (int32_t c = 0; c < CLAIM_COLUMNS_N; c++)
        if (out->columns_n != CLAIM_COLUMNS_N || strcmp(out->name[c], claim_columns[c]) != 0)
            return ERR(
                e, ERR_DATA,
                "%s: its columns must be claim, statement, verdict, evidence, or those of cases: "
                "claim, statement, wanted, seed, holds, said",
                f->claims_path);
    for (int32_t i = 0; i < out->rows_n; i++) {
        const char *verdict = report_rows_text(out, i, CLAIM_VERDICT);
        if (!out->row[i][CLAIM_NAME].text || !out->row[i][1].text)
            return ERR(e, ERR_DATA, "%s: row %d has no claim or no statement", f->claims_path,
                       i + 1);
        if (!is_verdict(verdict))
            return ERR(e, ERR_DATA,
                       "%s: the verdict of claim %s is \"%s\"; it must be supported, contradicted "
                       "or not run",
                       f->claims_path, out->row[i][0].text, verdict ? verdict : "NULL");
        *contradicted += strcmp(verdict, "contradicted") == 0;
    }
    return 0;
}

static const char *verdict_color(const char *verdict)
{
    if (strcmp(verdict, "supported") == 0) return "\033[32m";
    if (strcmp(verdict, "contradicted") == 0) return "\033[31m";
    return "\033[33m";
}

/* The cases of the evidence, which claim.sql joins with "; ", a line each. */
static void write_cases(FILE *out, struct arena *a, const char *evidence)
{
    char *text = arena_strdup(a, report_clean_text(a, evidence));
    for (char *end; text; text = end) {
        end = strstr(text, "; ");
        if (end) {
            *end = '\0';
            end += 2;
        }
        fprintf(out, "      %s\n", text);
    }
}

int report_claims_write(FILE *out, const struct report_rows *claims, const struct report_options *o,
                        struct err *e)
{
    bool color = o->color && !getenv("NO_COLOR");
    int32_t artefact = report_rows_column(claims, "artefact");
    int32_t first = report_rows_column(claims, "claim");

    if (o->format == REPORT_HTML)
        report_html_claims(out, claims);
    else if (o->format != REPORT_TEXT)
        return report_rows_write(out, claims->arena, claims, o->format, e);
    for (int32_t i = 0; i < claims->rows_n && o->format == REPORT_TEXT; i++) {
        const struct store_cell *claim = claims->row[i] + first;
        const char *where = report_rows_text(claims, i, artefact);
        const char *verdict = claim[CLAIM_VERDICT].text;
        fprintf(out, "  %s%s%s: %s%s%s\n", where ? where : "", where ? " " : "",
                report_clean_text(claims->arena, claim[0].text),
                color ? verdict_color(verdict) : "", verdict, color ? "\033[0m" : "");
        fprintf(out, "    %s\n", report_clean_text(claims->arena, claim[1].text));
        if (claim[3].text) write_cases(out, claims->arena, claim[3].text);
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
        const struct store_cell *claim = claims->row[i];
        if (*claim[CLAIM_NAME].text == 'X' || strcmp(claim[CLAIM_VERDICT].text, verdict) != 0)
            continue;
        strbuf_addf(&b, "%s%s", n++ ? ", " : "", claim[CLAIM_NAME].text);
    }
    *names = b.text;
    return n;
}

void report_claims_tally(struct report_claims_tally *t, struct arena *a,
                         const struct report_rows *claims)
{
    t->supported_n = claims_named(&t->supported, a, claims, "supported");
    t->contradicted_n = claims_named(&t->contradicted, a, claims, "contradicted");
    t->open_n = claims_named(&t->open, a, claims, "not run");
    t->all_n = t->supported_n + t->contradicted_n + t->open_n;
}

const char *report_claims_sentence(struct arena *a, const struct report_rows *claims,
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

/* Rows of several folders under one header, with the artefact and the scale in front. */
static void claims_append(struct report_rows *all, const struct report_rows *rows,
                          const char *artefact, const char *scale)
{
    struct store_cell **grown =
        arena_array(all->arena, (size_t)(all->rows_n + rows->rows_n) + 1, sizeof *grown);

    if (all->rows_n) memcpy(grown, all->row, (size_t)all->rows_n * sizeof *grown);
    all->row = grown;
    for (int32_t i = 0; i < rows->rows_n; i++) {
        struct store_cell *cells = arena_array(all->arena, CLAIM_COLUMNS_N + 2, sizeof *cells);
        cells[0] = (struct store_cell){artefact, 't'};
        cells[1] = (struct store_cell){scale, 't'};
        memcpy(cells + 2, rows->row[i], CLAIM_COLUMNS_N * sizeof *cells);
        all->row[all->rows_n++] = cells;
    }
}

int report_claims(FILE *out, struct store *s, const struct project *p, const char *const *dirs,
                  int32_t n, const struct report_options *o, int32_t *contradicted, struct err *e)
{
    static const char *names[] = {"artefact", "scale", "claim", "statement", "verdict", "evidence"};
    struct arena a;
    int rc = 0;

    arena_init(&a);
    struct report_rows all = {.arena = &a, .name = names, .columns_n = CLAIM_COLUMNS_N + 2};
    *contradicted = 0;
    for (int32_t i = 0; i < n; i++) {
        struct report_folder f;
        struct report_rows rows;
        int32_t count;
        TRY_OUT(rc, report_folder_open(&f, &a, p, folder_name(dirs[i]), dirs[i], e));
        TRY_OUT(rc, report_claims_judge(&rows, &count, &a, s, &f, o->scale, e));
        claims_append(&all, &rows, f.artefact, o->scale);
        *contradicted += count;
    }
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
    struct report_rows rows;
    int32_t contradicted;
    int rc = 0;

    arena_init(&a);
    TRY_OUT(rc, report_folder_open(&f, &a, p, artefact, dir, e));
    if (!f.claims) goto out;
    TRY_OUT(rc, report_claims_judge(&rows, &contradicted, &a, s, &f, scale, e));
    struct store_claim *claims = arena_array(&a, (size_t)rows.rows_n, sizeof *claims);
    for (int32_t i = 0; i < rows.rows_n; i++)
        claims[i] = (struct store_claim){.claim = rows.row[i][0].text,
                                         .statement = rows.row[i][1].text,
                                         .verdict = rows.row[i][2].text,
                                         .evidence = rows.row[i][3].text};
    rc = store_set_claims(s, artefact, scale, claims, rows.rows_n, e);
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
