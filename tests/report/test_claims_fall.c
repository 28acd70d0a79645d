/* test_claims_fall.c - every claim of every shipped folder can be judged either way: on the paper's
 * own numbers it is supported, without numbers it is not run, and some bending of the numbers
 * contradicts it. Folders and claims are those that are there; none is named here. What is not
 * judged at a smaller scale is skipped there; at scale paper every claim is judged.
 *
 * A bend multiplies one quantity of one position method, at some lengths, by a factor; the factors
 * go from large to small. It is undone by taking the transaction back. Claims about the paper's own
 * numbers, X1 and so on, fall by bending these, the others by bending ours. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/cells.h"
#include "report/paper_plant.h"
#include "store/statements.h"

enum { CLAIMS_MAX = 16 };

/* A folder with a claim.sql, its claims as first judged, and which of them fell. */
struct judged {
    struct report_folder folder;
    struct rows claims;
    bool fell[CLAIMS_MAX];
    int32_t open_n[2]; /* of ours, of the paper's: those that have not fallen */
};

struct bending {
    struct report_fixture *f;
    struct arena arena;
    const char *scale;
    struct judged *folder;
    int32_t folders_n, open_n;
};

static bool is(const struct rows *claims, int32_t row, const char *verdict)
{
    return strcmp(report_rows_get(claims, row, "verdict"), verdict) == 0;
}

static bool is_of_paper(const struct rows *claims, int32_t row)
{
    return *report_rows_get(claims, row, "claim") == 'X';
}

static void complain(struct strbuf *list, const struct judged *k, int32_t row)
{
    strbuf_addf(list, " %s %s (%s)", k->folder.artefact, report_rows_get(&k->claims, row, "claim"),
                report_rows_get(&k->claims, row, "verdict"));
}

static void judge(struct rows *claims, struct arena *a, const struct bending *b,
                  const struct report_folder *folder)
{
    struct report_claims judged;

    assert_works(b->f->base, report_claims_judge(&judged, a, b->f->base->store, folder, b->scale,
                                                 &b->f->base->e));
    *claims = judged.rows;
}

/* All folders with claims, judged by what the store holds. */
static void open_folders(struct bending *b, struct report_fixture *f, const char *scale)
{

    *b = (struct bending){.f = f, .scale = scale};
    arena_init(&b->arena);
    paper_plant_list(f);
    b->folder = arena_array(&b->arena, (size_t)f->artefacts_n, sizeof *b->folder);
    for (int32_t i = 0; i < f->artefacts_n; i++) {
        struct judged *k = &b->folder[b->folders_n];
        report_fixture_open(f, &k->folder, f->artefact[i]);
        if (!k->folder.claims) continue;
        judge(&k->claims, &b->arena, b, &k->folder);
        assert_in_range(k->claims.rows_n, 1, CLAIMS_MAX);
        for (int32_t c = 0; c < k->claims.rows_n; c++) {
            k->fell[c] = is(&k->claims, c, "not judged");
            k->open_n[is_of_paper(&k->claims, c)] += !k->fell[c];
        }
        b->open_n += k->open_n[0] + k->open_n[1];
        b->folders_n++;
    }
    assert_true(b->folders_n > 0);
}

/* Fails with the claims whose verdict is another than this. */
static void expect(const struct bending *b, const char *wanted, const char *wanted_of_x)
{
    struct strbuf list;

    strbuf_init(&list, &b->f->arena);
    for (int32_t i = 0; i < b->folders_n; i++) {
        const struct rows *claims = &b->folder[i].claims;
        for (int32_t k = 0; k < claims->rows_n; k++) {
            if (strcmp(b->scale, "paper") != 0 && is(claims, k, "not judged")) continue;
            if (!is(claims, k, is_of_paper(claims, k) ? wanted_of_x : wanted))
                complain(&list, &b->folder[i], k);
        }
    }
    if (list.n) fail_msg("scale %s:%s", b->scale, list.text);
}

/* Notes which claims of a folder are contradicted for the first time. */
static void note(struct bending *b, struct judged *k, bool of_paper, struct arena *a)
{
    struct rows now;

    if (k->open_n[of_paper] == 0) return;
    judge(&now, a, b, &k->folder);
    for (int32_t c = 0; c < now.rows_n; c++) {
        if (k->fell[c] || !is(&now, c, "contradicted")) continue;
        k->fell[c] = true;
        k->open_n[is_of_paper(&now, c)]--;
        b->open_n--;
    }
}

/* Applies a bend of the paper's numbers, judges that folder, or of ours, for NULL, and judges all,
 * and takes the bend back. */
static void bend(struct bending *b, struct judged *one, const char *sql)
{
    struct store *s = b->f->base->store;
    struct arena a;

    arena_init(&a);
    assert_works(b->f->base, store_begin(s, &b->f->base->e));
    if (database_script(s, sql, &b->f->base->e) < 0) fail_msg("%s: %s", sql, b->f->base->e.text);
    for (int32_t i = 0; i < b->folders_n; i++)
        if (!one || one == &b->folder[i]) note(b, &b->folder[i], one != NULL, &a);
    arena_fini(&a);
    store_rollback(s);
}

static const char *const positions[] = {"alibi", "sinusoidal", "rotary", "t5", "%"}; /* LIKE */
static const double factors[] = {0.02, 3, 0.7, 1.4, 0.95, 1.05};
enum {
    POSITIONS_N = sizeof positions / sizeof *positions,
    FACTORS_N = sizeof factors / sizeof *factors
};

/* Our numbers: what is multiplied, and of which runs. */
static void bend_ours(struct bending *b, const char *position, double factor)
{
    static const struct {
        const char *update, *runs;
    } ours[] = {
        {"UPDATE results SET perplexity=perplexity*%g", "kind='eval' AND L_valid>L_train"},
        {"UPDATE results SET perplexity=perplexity*%g", "kind='eval' AND L_valid=L_train"},
        {"UPDATE results SET perplexity=perplexity*%g", "kind='eval' AND protocol='sliding'"},
        {"UPDATE results SET perplexity=perplexity*%g",
         "kind='eval' AND L_valid=(SELECT max(L_valid) FROM runs)"},
        /* the losses of the first and of the fourth range of positions */
        {"UPDATE position_losses AS b SET nll=nll*%g FROM results v",
         "kind='eval') AND(v.result_id=b.result_id AND b.first=1"},
        {"UPDATE position_losses AS b SET nll=nll*%g FROM results v",
         "kind='eval') AND(v.result_id=b.result_id"
         " AND b.first>(SELECT r.L_train FROM runs r WHERE r.run_id=v.run_id)"},
        /* one of several seeds; trainings of our own */
        {"UPDATE results SET perplexity=perplexity*%g", "kind='eval' AND seed=1"},
        {"UPDATE results SET perplexity=perplexity*%g",
         "kind='eval' AND train_run_id NOT IN(SELECT r.train_run_id FROM runs r"
         " JOIN points USING(run_id) WHERE artefact='table5' AND r.train_run_id IS NOT NULL)"},
        /* validations during a training */
        {"UPDATE curve_points AS c SET perplexity=perplexity*%g FROM run_attempts v",
         "kind='train') AND(v.attempt_id=c.attempt_id"},
        {"UPDATE results SET wps=wps*%g", "kind='bench'"},
        {"UPDATE results SET peak_memory_bytes=CAST(peak_memory_bytes*%g AS INTEGER)",
         "kind='bench'"},
        {"UPDATE results SET train_wps=train_wps*%g", "kind='train'"},
    };

    for (size_t i = 0; i < sizeof ours / sizeof *ours && b->open_n; i++) {
        const char *update = arena_printf(&b->arena, ours[i].update, factor);
        bend(b, NULL,
             arena_printf(&b->arena,
                          "%s WHERE run_id IN(SELECT run_id FROM runs WHERE position LIKE '%s'"
                          " AND %s)",
                          update, position, ours[i].runs));
    }
}

/* The paper's numbers of the folders with claims that were not contradicted yet. */
static void bend_papers(struct bending *b, const char *position, double factor)
{
    static const char *const lengths[] = {"1", "L_valid>L_train", "L_valid=2*L_train"};

    for (int32_t i = 0; i < b->folders_n; i++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            if (b->folder[i].open_n[true] == 0) break;
            bend(b, &b->folder[i],
                 arena_printf(&b->arena,
                              "UPDATE paper_cells SET value=value*%g, params='1M'"
                              " WHERE artefact='%s' AND position LIKE '%s' AND %s",
                              factor, b->folder[i].folder.artefact, position, lengths[k]));
        }
}

static void claims_stand_and_fall(struct report_fixture *f, const char *scale)
{
    struct bending b;
    struct strbuf list;

    open_folders(&b, f, scale);
    expect(&b, "not run", "not run");
    arena_fini(&b.arena);
    paper_plant_numbers(f);
    open_folders(&b, f, scale);
    expect(&b, "not run", "supported");
    arena_fini(&b.arena);
    paper_plant_runs(f, scale, (const char *const *)f->artefact, f->artefacts_n);
    open_folders(&b, f, scale);
    expect(&b, "supported", "supported");
    for (int k = 0; k < FACTORS_N && b.open_n; k++)
        for (int p = 0; p < POSITIONS_N && b.open_n; p++) {
            bend_ours(&b, positions[p], factors[k]);
            bend_papers(&b, positions[p], factors[k]);
        }
    strbuf_init(&list, &f->arena);
    for (int32_t i = 0; i < b.folders_n; i++)
        for (int32_t c = 0; c < b.folder[i].claims.rows_n; c++)
            if (!b.folder[i].fell[c]) complain(&list, &b.folder[i], c);
    if (list.n) fail_msg("scale %s: no bend contradicts%s", scale, list.text);
    arena_fini(&b.arena);
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, every_claim_can_be_judged_either_way_at_scale_paper)
{
    claims_stand_and_fall(f, "paper");
}

/* The rules are those of scale paper, but for some thresholds. */
TEST_WITH(struct report_fixture *f, every_claim_can_be_judged_either_way_at_scale_mini)
{
    if (!getenv("LONG")) skip();
    claims_stand_and_fall(f, "mini");
}
