/* test_documents.c - the documents are true: every SQL statement in them answers with rows,
 * by `alibi query` and by plain SQLite; `alibi query --views` explains every column; ARTIFACT.md
 * names every artefact and every claim, in the words of the claim. */
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
#include "report/cells.h"
#include "report/paper_plant.h"

enum { DOCUMENT_MAX_BYTES = 1 << 20, STATEMENTS_MAX = 32 };

static const char views_of[] = "experiments/README.md", claims_of[] = "experiments/ARTIFACT.md";

static char *read_document(struct arena *a, const char *path)
{
    char *text;
    struct err e = {0};

    if (file_read(a, &text, NULL, path, DOCUMENT_MAX_BYTES, &e) < 0) fail_msg("%s", e.text);
    return text;
}

/* The texts around a statement in the blocks of a language. */
static const struct {
    const char *language, *begins, *ends;
} embedded[] = {{"sql", "\n", "```"},
                {"sh", "alibi query \"", "\""},
                {"python", "\"\"\"", "\"\"\""},
                {"r", "dbGetQuery(db, \"", "\""}};

/* The statements of a document, into sql. */
static int list_statements(char *sql[STATEMENTS_MAX], struct arena *a, const char *text)
{
    static const char fence[] = "\n```";
    int n = 0;

    for (const char *p = text, *end; (p = strstr(p, fence)); p = end + sizeof fence - 1) {
        const char *language = p + sizeof fence - 1, *from = language + strcspn(language, "\n");
        end = strstr(from, fence);
        assert_non_null(end);
        for (size_t i = 0; i < sizeof embedded / sizeof *embedded; i++) {
            const char *begins = embedded[i].begins, *ends = embedded[i].ends;
            size_t length = strlen(embedded[i].language);
            if (length != (size_t)(from - language) ||
                strncmp(language, embedded[i].language, length) != 0)
                continue;
            for (const char *q = from; (q = strstr(q, begins)) && q < end;) {
                q += strlen(begins);
                assert_true(n < STATEMENTS_MAX);
                sql[n] = arena_strndup(a, q, (size_t)(strstr(q, ends) - q));
                q += strlen(sql[n++]) + strlen(ends);
            }
        }
    }
    return n;
}

/* Every artefact at scale mini as if it had been run with the paper's numbers, judged; and a run of
 * a grid of the user's own. */
static void plant_everything(struct report_fixture *f)
{
    const struct report_plant own[] = {{"none", SPEC_ALIBI, 64, 128, 64, 128, 0, 1, 44, false},
                                       {"none", SPEC_ALIBI, 64, 256, 64, 256, 0, 1, 45, false},
                                       {"none", SPEC_ROTARY, 64, 128, 64, 128, 0, 1, 46, false}};

    paper_plant_all(f, "mini");
    report_fixture_plant(f, "mygrid", own, 3);
    for (int32_t i = 0; i < f->artefacts_n; i++) {
        const char *dir = arena_printf(&f->arena, "experiments/%s", f->artefact[i]);
        assert_works(f->base, report_judge(f->base->store, &f->project, f->artefact[i], dir, "mini",
                                           &f->base->e));
    }
}

/* The first number of SQLite's own answer. */
static int ask_plainly(const char *path, const char *sql)
{
    sqlite3 *plain = NULL;
    sqlite3_stmt *row = NULL;

    assert_int_equal(sqlite3_open_v2(path, &plain, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(plain, sql, -1, &row, NULL) != SQLITE_OK)
        fail_msg("sqlite: %s in:\n%s", sqlite3_errmsg(plain), sql);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    int n = sqlite3_column_int(row, 0);
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

/* The promises of the sentences above the statements, as conditions on the answers, in the order of
 * the document. */
static const char *const readme_promises[] = {
    "count(*) = 3 AND count(*) = count(DISTINCT position || all_settings || L_valid)",
};
static const char *const artefacts_promises[] = {
    "sum(wanted) = (SELECT count(*) FROM wanted_evaluations) AND min(done) > 0"
    " AND count(DISTINCT artefact) > 10",
    "count(DISTINCT position) = 4 AND count(*) = 8 AND min(read_up_to) > 1"
    " AND sum(position = 'sinusoidal' AND breaks_at < 2) = 2"
    " AND sum(position = 'alibi' AND breaks_at IS NULL) = 2",
    "count(*) = 8 AND count(DISTINCT L) = 8 AND min(at_L) > 0 AND min(at_3072) > 0"
    " AND max(percent) <= 0",
    "min(L_valid > alibi_L) = 1 AND count(*) = count(DISTINCT alibi_L || ' ' || L_valid)"
    " AND min(seeds) > 0 AND count(DISTINCT L_valid) = 7",
    "count(DISTINCT position) > 1 AND min(scored) > 0 AND min(scored_sliding) > 0"
    " AND count(*) = count(DISTINCT position || ' ' || L_train || ' ' || L_valid)",
    "count(DISTINCT mode) = 2 AND min(times_sinusoidal) > 0 AND min(more_mb) IS NOT NULL",
    "count(DISTINCT position) = 2 AND min(perplexity) < max(perplexity)"
    " AND count(*) >= 2 * count(DISTINCT position || ' ' || L_train || ' ' || seed)",
    "count(*) = 1 AND min(log_path) IS NOT NULL AND min(train_run_id <> run_id) = 1",
    "count(*) = (SELECT count(*) FROM claims WHERE scale = 'mini') AND min(evidence) IS NOT NULL",
    "count(*) > 1 AND min(value <> other_value) = 1 AND sum('figure5' IN (artefact, other)) = 0",
    "count(DISTINCT position) = 4 AND min(our_rank) = 1 AND max(our_rank) = 4",
    "count(*) = (SELECT count(DISTINCT config_id) FROM evaluations WHERE scale = 'mini'"
    "  AND split = 'valid' AND protocol = 'nonoverlapping') AND min(all_settings IS NOT NULL) = 1",
    "count(DISTINCT position) >= 3 AND min(blocks) = 2 AND max(blocks) = 2"
    " AND max(difference) > 0 AND max(standard_error) < 0.001",
    "count(*) = count(DISTINCT config_id) AND min(ranks) = 1 AND min(wps_a_device = wps) = 1"
    " AND max(trainings) > 1",
    "count(*) = 3 AND count(*) = count(DISTINCT position || all_settings || L_train || L_valid)",
    "count(*) = 3 AND count(*) = count(DISTINCT model || ' ' || L_valid)",
};

TEST_WITH(struct report_fixture *f, every_statement_in_the_documents_keeps_its_promise)
{
    enum { README_N = sizeof readme_promises / sizeof *readme_promises };
    enum { ARTEFACTS_N = sizeof artefacts_promises / sizeof *artefacts_promises };
    static const struct {
        const char *path;
        const char *const *promise;
        int n;
    } documents[] = {{"README.md", readme_promises, README_N},
                     {views_of, artefacts_promises, ARTEFACTS_N},
                     {claims_of, NULL, 0}};
    char *sql[STATEMENTS_MAX];

    plant_everything(f);
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        int n = list_statements(sql, &f->arena, read_document(&f->arena, documents[i].path));
        if (documents[i].promise) assert_int_equal(n, documents[i].n);
        for (int k = 0; k < n; k++) {
            const char *answer =
                arena_strndup(&f->arena, sql[k], strcspn(sql[k], ";")); /* without it a subquery */
            int rows = ask_plainly(f->base->path,
                                   arena_printf(&f->arena, "SELECT count(*) FROM (%s)", answer));
            if (rows == 0) fail_msg("%s: no rows from:\n%s", documents[i].path, sql[k]);
            assert_int_equal(count_by_command(f, &f->arena, sql[k]), rows);
            if (documents[i].promise &&
                ask_plainly(f->base->path, arena_printf(&f->arena, "SELECT %s FROM (%s) a",
                                                        documents[i].promise[k], answer)) != 1)
                fail_msg("%s: not so: %s in:\n%s", documents[i].path, documents[i].promise[k],
                         sql[k]);
        }
    }
}

/* The answer of `alibi query --views`, against SQLite's own tables of columns. */
TEST_WITH(struct report_fixture *f, the_views_are_listed_with_their_columns)
{
    static const char plain_sql[] =
        "SELECT count(*), count(DISTINCT v.name), sum(c.name = 'all_settings')"
        " FROM sqlite_schema v, pragma_table_info(v.name) c WHERE v.type = 'view'";
    struct rows views;
    int all_n = 0;

    assert_works(f->base, store_views(f->base->store, &views, &f->arena, &f->base->e));
    assert_int_equal(ask_plainly(f->base->path, plain_sql), views.rows_n);
    for (int32_t i = 0; i < views.rows_n; i++)
        all_n += strcmp(report_rows_get(&views, i, "column"), "all_settings") == 0;
    assert_int_equal(all_n, 2);
    char *text = report_text(f, report_views(out, f->base->store, NULL, REPORT_TEXT, &f->base->e));
    assert_contains(text,
                    "\nevaluations: an evaluation\n  scale, dataset, model, position, L_train,");
    assert_contains(text, ",\n  L_valid_nominal, ");
    assert_contains(text,
                    "\n\nartefact_points: a point of a grid, and its run\n  artefact, scale,");
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        assert_true(end - line <= 100);
}

/* Every view and every column has an explanation, and nothing else has one. */
TEST_WITH(struct report_fixture *f, views_and_columns_are_explained)
{
    const char *source = read_document(&f->arena, "src/store/columns.c");
    struct rows views;
    int seen = 0;

    assert_works(f->base, store_views(f->base->store, &views, &f->arena, &f->base->e));
    for (int32_t i = 0; i < views.rows_n; i++)
        if (!report_rows_get(&views, i, "meaning") || !report_rows_get(&views, i, "row"))
            fail_msg("src/store/columns.c explains neither %s nor its column %s",
                     report_rows_get(&views, i, "view"), report_rows_get(&views, i, "column"));
    for (const char *p = source; (p = strstr(p, "\n    {\"")); p++) {
        const char *names = arena_strndup(&f->arena, p + 7, strcspn(p + 7, "\""));
        for (size_t n; *names; names += n + strspn(names + n, " ")) {
            bool found = false;
            n = strcspn(names, " ");
            const char *name = arena_strndup(&f->arena, names, n);
            for (int32_t i = 0; i < views.rows_n && !found; i++)
                found = strcmp(report_rows_get(&views, i, "column"), name) == 0 ||
                        strcmp(report_rows_get(&views, i, "view"), name) == 0;
            if (!found) fail_msg("src/store/columns.c explains %s, which no view has", name);
            seen++;
        }
    }
    assert_in_range(seen, 150, 300);
}

TEST_WITH(struct report_fixture *f, a_view_or_a_column_is_explained_by_its_name)
{
    struct store *s = f->base->store;
    char *view = report_text(f, report_views(out, s, "trainings", REPORT_TEXT, &f->base->e));
    char *column = report_text(f, report_views(out, s, "slope", REPORT_TEXT, &f->base->e));

    assert_contains(view, "trainings: a training");
    assert_contains(view, "\n  final_loss_nats ");
    assert_contains(column, "slope\n  m of a bias");
    assert_contains(column, "\n  in attention\n");
    FILE *out = tmpfile();
    assert_non_null(out);
    assert_fails(ERR_USAGE, "no view and no column is named 'slop'",
                 report_views(out, s, "slop", REPORT_TEXT, &e));
    fclose(out);
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
