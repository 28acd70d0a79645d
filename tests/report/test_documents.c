/* test_documents.c - the documents are true: every SQL statement in them answers with rows,
 * by `alibi query` and by plain SQLite; the columns they list are the views'; ARTIFACT.md names
 * every artefact and every claim, in the words of the claim. */
#include "harness/test.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/file.h"
#include "base/map.h"
#include "base/subprocess.h"
#include "plan/plan.h"
#include "report/paper_plant.h"
#include "report/report_internal.h"

enum { DOCUMENT_MAX_BYTES = 1 << 20, STATEMENTS_MAX = 32 };

static const char views_of[] = "experiments/README.md", claims_of[] = "experiments/ARTIFACT.md";

static char *read_document(struct arena *a, const char *path)
{
    char *text;
    struct err e = {0};

    if (file_read(a, &text, NULL, path, DOCUMENT_MAX_BYTES, &e) < 0) fail_msg("%s", e.text);
    return text;
}

/* The statements of a document, into sql: blocks of sql, and in blocks of sh what is in quotes
 * after `alibi query`. */
static int list_statements(char *sql[STATEMENTS_MAX], struct arena *a, const char *text)
{
    static const char call[] = "alibi query \"", fence[] = "\n```";
    int n = 0;

    for (const char *p = text, *end; (p = strstr(p, fence)); p = end + sizeof fence - 1) {
        const char *language = p + sizeof fence - 1, *from = language + strcspn(language, "\n");
        end = strstr(from, fence);
        assert_non_null(end);
        assert_true(n < STATEMENTS_MAX);
        if (strncmp(language, "sql\n", 4) == 0)
            sql[n++] = arena_strndup(a, from, (size_t)(end - from));
        if (strncmp(language, "sh\n", 3) != 0) continue;
        for (const char *q = from; (q = strstr(q, call)) && q < end;) {
            q += sizeof call - 1;
            assert_true(n < STATEMENTS_MAX);
            sql[n++] = arena_strndup(a, q, strcspn(q, "\""));
        }
    }
    return n;
}

/* Every artefact at scale mini as if it had been run with the paper's numbers, judged; and a run of
 * a grid of the user's own. */
static void plant_everything(struct report_fixture *f)
{
    const struct report_plant own[] = {{"none", SPEC_ALIBI, 64, 128, 64, 128, 0, 1, 44, false}};

    paper_plant_all(f, "mini");
    report_fixture_plant(f, "mygrid", own, 1);
    for (int32_t i = 0; i < f->artefacts_n; i++) {
        const char *dir = arena_printf(&f->arena, "experiments/%s", f->artefact[i]);
        assert_works(f->base, report_judge(f->base->store, &f->project, f->artefact[i], dir, "mini",
                                           &f->base->e));
    }
}

/* Rows that SQLite itself answers with. */
static int count_plainly(const char *path, const char *sql)
{
    sqlite3 *plain = NULL;
    sqlite3_stmt *row = NULL;
    int n = 0;

    assert_int_equal(sqlite3_open_v2(path, &plain, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(plain, sql, -1, &row, NULL) != SQLITE_OK)
        fail_msg("sqlite: %s in:\n%s", sqlite3_errmsg(plain), sql);
    while (sqlite3_step(row) == SQLITE_ROW) n++;
    sqlite3_finalize(row);
    sqlite3_close(plain);
    return n;
}

/* Rows that `alibi query` answers with: the alibi beside the folder of the tests. */
static int count_by_command(struct report_fixture *f, struct arena *a, const char *sql)
{
    char self[PATH_MAX] = "";
    int rows = 0;

    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    *strrchr(self, '/') = '\0';
    const char *const argv[] = {arena_printf(a, "%s/../../alibi", self),
                                "query",
                                sql,
                                "--format",
                                "json",
                                "--project",
                                f->base->dir,
                                NULL};
    const struct subprocess query = {.argv = argv};
    struct subprocess_end end;
    if (subprocess_run(&end, a, &query, &f->base->e) < 0 ||
        subprocess_check(&end, &query, ERR_DATA, &f->base->e) < 0)
        fail_msg("%s in:\n%s", f->base->e.text, sql);
    for (const char *p = end.output; (p = strstr(p, "{\"")); p++) rows++;
    return rows;
}

/* The row of a table of a document whose first cell is this, up to its end. */
static const char *row_of(struct report_fixture *f, const char *text, const char *first)
{
    const char *line = strstr(text, arena_printf(&f->arena, "\n| %s | ", first));
    if (!line) fail_msg("there is no row for %s", first);
    return arena_strndup(&f->arena, line + 1, strcspn(line + 1, "\n"));
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, every_statement_in_the_documents_answers_with_rows)
{
    static const char *const documents[] = {"README.md", views_of, claims_of};
    char *sql[STATEMENTS_MAX];
    int statements = 0;

    plant_everything(f);
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        int n = list_statements(sql, &f->arena, read_document(&f->arena, documents[i]));
        for (int k = 0; k < n; k++) {
            int plainly = count_plainly(f->base->path, sql[k]);
            if (plainly == 0) fail_msg("%s: no rows from:\n%s", documents[i], sql[k]);
            assert_int_equal(count_by_command(f, &f->arena, sql[k]), plainly);
        }
        statements += n;
    }
    assert_in_range(statements, 12, 99); /* ten questions, and those of the other documents */
}

TEST_WITH(struct report_fixture *f, every_view_is_described_with_its_columns)
{
    const char *text = read_document(&f->arena, views_of), **name;
    struct err *const err = &f->base->e;
    struct report_rows views;
    int32_t n;
    size_t bytes;

    assert_works(f->base, report_rows_query(&views, &f->arena, f->base->store, NULL,
                                            "SELECT name FROM sqlite_schema WHERE type='view'",
                                            NULL, 0, REPORT_QUERY_LIMIT_S, err));
    assert_in_range(views.rows_n, 9, 99);
    for (int32_t i = 0; i < views.rows_n; i++) {
        const char *view = views.row[i][0].text;
        struct strbuf columns;
        assert_works(f->base, store_columns(f->base->store, &f->arena,
                                            arena_printf(&f->arena, "SELECT * FROM %s", view),
                                            &name, &n, &bytes, err));
        strbuf_init(&columns, &f->arena);
        for (int32_t c = 0; c < n; c++) strbuf_addf(&columns, "%s%s", c ? ", " : " | `", name[c]);
        strbuf_add(&columns, "` |");
        const char *row = row_of(f, text, arena_printf(&f->arena, "`%s`", view));
        if (!strstr(row, columns.text))
            fail_msg("%s: columns of %s are %s", views_of, view, columns.text);
    }
}

TEST_WITH(struct report_fixture *f, every_artefact_and_claim_is_in_ARTIFACT_md_in_its_own_words)
{
    int32_t rows_n = 0, seen = 0;
    struct map claims_seen;

    map_init(&claims_seen, &f->arena);
    const char *text = read_document(&f->arena, claims_of);
    paper_plant_list(f);
    for (int32_t i = 0; i < f->artefacts_n; i++) {
        struct report_folder folder;
        struct report_claims claims;
        row_of(f, text, arena_printf(&f->arena, "`make reproduce-%s`", f->artefact[i]));
        report_fixture_open(f, &folder, f->artefact[i]);
        assert_works(f->base, report_claims_judge(&claims, &f->arena, f->base->store, &folder,
                                                  "paper", &f->base->e));
        for (int32_t k = 0; k < claims.rows.rows_n; k++) {
            const char *claim = report_rows_get(&claims.rows, k, "claim");
            const char *statement = report_rows_get(&claims.rows, k, "statement");
            const char *row = row_of(f, text, claim);
            bool added;
            if (!strstr(row, arena_printf(&f->arena, "`%s`", f->artefact[i])))
                fail_msg("%s: claim %s is in %s too", claims_of, claim, f->artefact[i]);
            if (!strstr(row, arena_printf(&f->arena, "| %s |", statement)))
                fail_msg("%s: the statement of claim %s is: %s", claims_of, claim, statement);
            if (strcmp(report_rows_get(&claims.rows, k, "counted"), "1") == 0 &&
                !strstr(row, arena_printf(&f->arena, "reproduce-%s", f->artefact[i])))
                fail_msg("%s: claim %s needs reproduce-%s", claims_of, claim, f->artefact[i]);
            map_put(&claims_seen, claim, strlen(claim), &added);
            seen += added;
        }
    }
    for (const char *p = text; (p = strstr(p, "\n| ")); p++) /* and no other claim */
        rows_n += strchr("CPX", p[3]) && p[4] >= '0' && p[4] <= '9';
    assert_int_equal(rows_n, seen);
}

/* The cost of an artefact as ARTIFACT.md writes it, such as "6.7e20". */
static const char *flops_of(const struct plan *p, struct arena *a)
{
    double flops = 0;
    char text[32];

    for (int32_t i = 0; i < p->runs_n; i++) flops += p->run[i].cost.flops;
    snprintf(text, sizeof text, "%.1e", flops);
    return arena_printf(a, "%.3se%s", text, strchr(text, '+') + 1);
}

TEST_WITH(struct report_fixture *f, the_costs_in_ARTIFACT_md_are_those_of_the_plan)
{
    static const char *const scales[] = {"small", "paper"};
    const struct project project = {.root = f->base->dir, .share = ".", .program = "alibi"};
    const char *text = read_document(&f->arena, claims_of);
    paper_plant_list(f);
    for (int32_t i = 0; i < f->artefacts_n; i++) {
        const char *row =
            row_of(f, text, arena_printf(&f->arena, "`make reproduce-%s`", f->artefact[i]));
        for (int s = 0; s < 2; s++) {
            const struct plan_options o = {.scale = scales[s]};
            const char *const artefact[] = {f->artefact[i]};
            struct plan p;
            int32_t kinds[3] = {0};
            assert_works(f->base, plan_open(&p, &project, artefact, 1, &o, &f->base->e));
            for (int32_t k = 0; k < p.runs_n; k++) kinds[p.run[k].spec.kind]++;
            const char *flops = arena_printf(&f->arena, " | %s, ", flops_of(&p, &f->arena));
            const char *runs = arena_printf(&f->arena, " | %d + %d + %d | ", kinds[SPEC_TRAIN],
                                            kinds[SPEC_EVAL], kinds[SPEC_BENCH]);
            if (!strstr(row, flops))
                fail_msg("%s: %s at %s:%s", claims_of, f->artefact[i], scales[s], flops);
            if (s == 1 && !strstr(row, runs))
                fail_msg("%s: %s:%s", claims_of, f->artefact[i], runs);
            plan_close(&p);
        }
    }
}
