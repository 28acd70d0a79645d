/* test_claims.c - verdicts: of planted claims, and of the shipped ones on planted curves of
 * the paper's shape and of others. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_fixture.h"

enum { PLANTS_MAX = 64 };

static char *judge(struct report_fixture *f, const char *const *dirs, int32_t n, const char *scale,
                   enum report_format format, int32_t *contradicted, int *rc)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    const struct report_options o = {.scale = scale, .format = format};

    assert_non_null(out);
    f->base->e = (struct err){0};
    *rc = report_claims(out, f->base->store, &f->project, dirs, n, &o, contradicted, &f->base->e);
    fclose(out);
    return text;
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, verdicts_are_printed_and_contradictions_counted)
{
    const char *dirs[] = {f->artefact_dir};
    int32_t contradicted;
    int rc;

    report_fixture_write(
        f, "claim.sql",
        "SELECT 'C1' AS claim, 'One.' AS statement, 'supported' AS verdict, "
        "'a; b at ' || :scale AS evidence UNION ALL SELECT 'C2', 'Two.', "
        "'contradicted', NULL UNION ALL SELECT 'C3', 'Three.', 'not run', :artefact");
    char *text = judge(f, dirs, 1, "mini", REPORT_TEXT, &contradicted, &rc);
    assert_int_equal(rc, 0);
    assert_int_equal(contradicted, 1);
    assert_string_equal(text,
                        "Claims of the paper about the shape of the curves, judged at scale mini "
                        "(lengths are the paper's)\n"
                        "  tiny C1: supported\n    One.\n      a; b at mini\n"
                        "  tiny C2: contradicted\n    Two.\n"
                        "  tiny C3: not run\n    Three.\n      tiny\n");
    free(text);
    text = judge(f, dirs, 1, "paper", REPORT_CSV, &contradicted, &rc);
    assert_contains(text, "artefact,scale,claim,statement,verdict,evidence\n"
                          "tiny,paper,C1,One.,supported,a; b at paper\n");
    free(text);
}

TEST_WITH(struct report_fixture *f, a_verdict_of_other_words_names_the_file)
{
    const char *dirs[] = {f->artefact_dir};
    int32_t contradicted;
    int rc;

    report_fixture_write(f, "claim.sql",
                         "SELECT 'C1' AS claim, 'One.' AS statement,"
                         " 'probably' AS verdict, NULL AS evidence");
    free(judge(f, dirs, 1, "mini", REPORT_TEXT, &contradicted, &rc));
    assert_int_equal(rc, ERR_DATA);
    assert_contains(f->base->e.text, "tiny/claim.sql");
    assert_contains(f->base->e.text, "\"probably\"");
    report_fixture_write(f, "claim.sql", "SELECT 1 AS claim, 'supported' AS verdict");
    free(judge(f, dirs, 1, "mini", REPORT_TEXT, &contradicted, &rc));
    assert_int_equal(rc, ERR_DATA);
    assert_contains(f->base->e.text, "columns must be claim, statement, verdict, evidence");
    report_fixture_write(f, "claim.sql",
                         "SELECT 1 AS claim, 2 AS statement, 3 AS verdict,"
                         " 4 AS evidence WHERE 0");
    free(judge(f, dirs, 1, "mini", REPORT_TEXT, &contradicted, &rc));
    assert_int_equal(rc, ERR_DATA);
    assert_contains(f->base->e.text, "gives no row");
}

TEST_WITH(struct report_fixture *f, cases_become_verdicts)
{
    const char *dirs[] = {f->artefact_dir};
    int32_t contradicted;
    int rc;

    report_fixture_write(
        f, "claim.sql",
        "SELECT * FROM (SELECT 'A' AS claim, 'One.' AS statement, 2 AS wanted, 1 AS seed, 1 AS "
        "holds,"
        " '3 < 4' AS said UNION ALL SELECT 'A', 'One.', 2, 2, 1, '3 < 5' UNION ALL SELECT 'B', "
        "'Two.',"
        " 2, NULL, 1, 'x' UNION ALL SELECT 'B', 'Two.', 2, NULL, 0, 'y' UNION ALL SELECT 'C',"
        " 'Three.', 2, 1, 1, 'z' UNION ALL SELECT 'D', 'Four.', 0, NULL, NULL, NULL UNION ALL "
        "SELECT"
        " 'E', 'Five.', 1, NULL, NULL, NULL UNION ALL SELECT 'F', 'Six.', 1, 1, NULL, 'unknown')");
    char *text = judge(f, dirs, 1, "paper", REPORT_TEXT, &contradicted, &rc);
    if (rc < 0) fail_msg("%s", f->base->e.text);
    assert_contains(text,
                    "  tiny A: supported\n    One.\n      seed 1, 3 < 4\n      seed 2, 3 < 5\n");
    assert_contains(text, "      1 of 2 cases have their numbers\n      seed 1, z\n");
    free(text);
    text = judge(f, dirs, 1, "paper", REPORT_CSV, &contradicted, &rc);
    assert_int_equal(contradicted, 2);
    assert_contains(text, "A,One.,supported,\"seed 1, 3 < 4; seed 2, 3 < 5\"\n");
    assert_contains(text, "B,Two.,contradicted,x; y\n");
    assert_contains(text, "C,Three.,not run,\"1 of 2 cases have their numbers; seed 1, z\"\n");
    assert_contains(text, "D,Four.,not run,nothing was run\n");
    assert_contains(text, "E,Five.,not run,0 of 1 cases have their numbers\n");
    assert_contains(text, "F,Six.,contradicted,\"seed 1, unknown\"\n");
    free(text);
    report_fixture_write(f, "claim.sql",
                         "SELECT 'A' AS claim, 'One.' AS statement, 'many' AS wanted, 1 AS seed, 1 "
                         "AS holds, 'x' AS said");
    free(judge(f, dirs, 1, "paper", REPORT_CSV, &contradicted, &rc));
    assert_int_equal(rc, ERR_DATA);
    assert_contains(f->base->e.text, "tiny/claim.sql: claim A wants \"many\" cases");
}

TEST_WITH(struct report_fixture *f, judged_claims_are_kept_in_the_view)
{
    report_fixture_write(f, "claim.sql",
                         "SELECT 'C1' AS claim, 'One.' AS statement,"
                         " 'not run' AS verdict, NULL AS evidence");
    if (report_judge(f->base->store, &f->project, "tiny", f->artefact_dir, "mini", &f->base->e) < 0)
        fail_msg("%s", f->base->e.text);
    assert_cell(f->base, "SELECT artefact||' '||scale||' '||claim||' '||verdict FROM claims",
                "tiny mini C1 not run");
}

/* --- the shipped claims --------------------------------------------------------------------- */

/* Multiples of the perplexity at L of a shape like the paper's, at k times L. */
static double shape(enum spec_position position, double k, bool sliding)
{
    switch (position) {
    case SPEC_SINUSOIDAL:
        return sliding && k > 1 ? 2.0 : 1 + 0.4 * (k - 1);
    case SPEC_ROTARY:
        return k < 3 ? 0.99 : 1 + 0.08 * (k - 2);
    case SPEC_T5:
        return k < 5 ? 1 - 0.01 * (k - 1) / 4 : 1 + 0.01 * (k - 5);
    default:
        return sliding ? 1 + 0.002 * (k - 1) : 1 - 0.01 * (1 - 1 / k);
    }
}

struct planter {
    struct report_plant plant[PLANTS_MAX];
    int32_t n;
    int64_t seed;
};

/* At scale mini, lengths an eighth of the nominal ones; at L sinusoidal is worse than the others.
 */
static void plant(struct planter *p, enum spec_position position, int32_t L, int32_t V,
                  bool sliding)
{
    double at_L = (position == SPEC_SINUSOIDAL ? 50 : 42) - L / 1024.0;
    assert_true(p->n < PLANTS_MAX);
    p->plant[p->n++] = (struct report_plant){"mini",
                                             position,
                                             L / 8,
                                             V / 8,
                                             L,
                                             V,
                                             sliding ? 1 : 0,
                                             p->seed,
                                             at_L * shape(position, (double)V / L, sliding),
                                             false};
}

static void plant_figure1(struct planter *p)
{
    static const int32_t multiple[] = {1, 2, 4, 16};
    for (int32_t L = 512; L <= 1024; L *= 2)
        for (int32_t position = SPEC_SINUSOIDAL; position <= SPEC_ALIBI; position++)
            for (int32_t k = 0; k < 4; k++)
                plant(p, (enum spec_position)position, L, L * multiple[k], false);
}

static void plant_table5(struct planter *p)
{
    static const int32_t lengths[] = {64, 128, 256, 512, 1024, 1536, 2048, 3072};
    for (int32_t i = 0; i < 8; i++) {
        plant(p, SPEC_SINUSOIDAL, lengths[i], lengths[i], false);
        for (int32_t j = i; j < 8; j++) plant(p, SPEC_ALIBI, lengths[i], lengths[j], false);
    }
}

static void plant_figure11(struct planter *p)
{
    static const int32_t lengths[] = {512, 1024, 1536, 2048, 3072};
    for (int32_t i = 0; i < 2; i++)
        for (int32_t j = i; j < 5; j++) {
            plant(p, SPEC_ALIBI, lengths[i], lengths[j], true);
            plant(p, SPEC_SINUSOIDAL, lengths[i], lengths[j], true);
        }
}

static void expect(struct report_fixture *f, const char *artefact, const char *const *lines,
                   int32_t expected)
{
    char dir[64];
    const char *dirs[] = {dir};
    int32_t contradicted;
    int rc;

    snprintf(dir, sizeof dir, "experiments/%s", artefact);
    char *text = judge(f, dirs, 1, "mini", REPORT_TEXT, &contradicted, &rc);
    if (rc < 0) fail_msg("%s", f->base->e.text);
    for (; *lines; lines++) assert_contains(text, *lines);
    assert_int_equal(contradicted, expected);
    free(text);
}

/* The number of one planted evaluation. */
static struct report_plant *planted(struct planter *p, enum spec_position position, int32_t L,
                                    int32_t V)
{
    for (int32_t i = 0; i < p->n; i++)
        if (p->plant[i].position == position && p->plant[i].L_train_nominal == L &&
            p->plant[i].L_valid_nominal == V)
            return &p->plant[i];
    fail_msg("nothing planted at L=%d V=%d", L, V);
    return NULL;
}

TEST_WITH(void *fixture_of_case, claims_of_figure1_hold_on_curves_of_the_papers_shape)
{
    void **state = &fixture_of_case;
    struct planter p = {.seed = 1};
    plant_figure1(&p);
    report_fixture_plant(*state, "figure1", p.plant, p.n);
    expect(*state, "figure1",
           (const char *const[]){"P1: supported", "P2: supported", "P3: supported", "P4: supported",
                                 NULL},
           0);
}

TEST_WITH(void *fixture_of_case, a_sinusoidal_curve_that_stays_flat_contradicts_p1)
{
    void **state = &fixture_of_case;
    struct planter p = {.seed = 1};
    plant_figure1(&p);
    for (int32_t i = 0; i < p.n; i++)
        if (p.plant[i].position == SPEC_SINUSOIDAL) p.plant[i].perplexity = 50;
    report_fixture_plant(*state, "figure1", p.plant, p.n);
    expect(*state, "figure1",
           (const char *const[]){"P1: contradicted", "P2: contradicted",
                                 "sinusoidal breaks at no "
                                 "length",
                                 "P3: supported", "P4: supported", NULL},
           2);
}

TEST_WITH(struct report_fixture *f,
          claims_of_table5_wait_for_numbers_hold_and_fall_with_one_of_them)
{
    struct planter p = {.seed = 1};

    plant_table5(&p);
    double number = planted(&p, SPEC_ALIBI, 512, 3072)->perplexity;
    planted(&p, SPEC_ALIBI, 512, 3072)->perplexity = 0;
    report_fixture_plant(f, "table5", p.plant, p.n);
    expect(f, "table5",
           (const char *const[]){"P5: not run", "4 of 5 cases have their numbers", "P7: not run",
                                 "5 of 6 cases", NULL},
           0);
    planted(&p, SPEC_ALIBI, 512, 3072)->perplexity = number;
    report_fixture_plant(f, "table5", p.plant, p.n);
    expect(f, "table5", (const char *const[]){"P5: supported", "P7: supported", NULL}, 0);
    /* Another seed, in which one ALiBi model turns up at the longest length. */
    struct planter q = {.seed = 2};
    plant_table5(&q);
    planted(&q, SPEC_ALIBI, 2048, 3072)->perplexity *= 1.05;
    report_fixture_plant(f, "table5", q.plant, q.n);
    expect(f, "table5", (const char *const[]){"P5: supported", "P7: contradicted", NULL}, 1);
}

TEST_WITH(struct report_fixture *f, claims_of_figure11_need_table5_for_one_of_them)
{
    struct planter p = {.seed = 1};

    plant_figure11(&p);
    report_fixture_plant(f, "figure11", p.plant, p.n);
    expect(f, "figure11",
           (const char *const[]){"P6a: supported", "P6b: supported", "P6c: not run", NULL}, 0);
    struct planter q = {.seed = 1};
    plant_table5(&q);
    report_fixture_plant(f, "table5", q.plant, q.n);
    expect(f, "figure11", (const char *const[]){"P6c: supported", NULL}, 0);
}

TEST_WITH(void *fixture_of_case, shipped_claims_are_not_run_on_an_empty_database)
{
    void **state = &fixture_of_case;
    expect(*state, "figure1",
           (const char *const[]){"P1: not run", "P2: not run", "P3: not run", "P4: not run",
                                 "nothing was run", NULL},
           0);
    expect(*state, "table5", (const char *const[]){"P5: not run", "P7: not run", NULL}, 0);
    expect(*state, "figure11",
           (const char *const[]){"P6a: not run", "P6b: not run", "P6c: not run", NULL}, 0);
}
