/* test_artefacts.c - every shipped folder: the paper's numbers are all there under their pages,
 * each is reported and drawn, and on the paper's own numbers nothing differs from them. That the
 * claims follow the numbers is checked by test_claims_fall.c. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "report/paper_plant.h"

static const struct {
    const char *name;
    int32_t cells, missing; /* cells of the paper; those where it ran out of memory */
    int32_t page;
} artefact_table[] = {
    {"table1", 36, 0, 15},  {"table2", 277, 3, 16}, {"table3", 276, 4, 17}, {"table4", 261, 3, 18},
    {"table5", 50, 0, 19},  {"table6", 20, 0, 20},  {"table7", 21, 0, 20},  {"table8", 9, 0, 21},
    {"table9", 6, 0, 21},   {"table10", 13, 0, 22}, {"table11", 16, 0, 22}, {"table12", 30, 0, 22},
    {"table13", 10, 0, 25}, {"table14", 10, 0, 25}, {"table15", 10, 0, 25}, {"figure1", 222, 0, 2},
    {"figure2", 36, 0, 3},  {"figure4", 21, 0, 6},  {"figure5", 135, 0, 8}, {"figure6", 71, 0, 8},
    {"figure7", 16, 0, 15}, {"figure8", 6, 0, 19},  {"figure9", 9, 0, 21},  {"figure11", 13, 0, 24},
};
enum { ARTEFACTS_N = sizeof artefact_table / sizeof *artefact_table };

static char *judge_table5(struct report_fixture *f, int32_t *contradicted)
{
    const struct report_item item = {"table5", "experiments/table5", "paper", NULL};
    const struct report_options o = {.scale = "paper", .format = REPORT_CSV};

    return report_text(f, report_claims(out, f->base->store, &f->project, &item, 1, &o,
                                        contradicted, &f->base->e));
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, every_folder_holds_every_number_of_the_paper)
{
    char sql[512], expected[32];

    assert_int_equal(paper_plant_numbers(f), ARTEFACTS_N);
    for (int i = 0; i < ARTEFACTS_N; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT count(*)||' '||sum(value IS NULL)||' '||sum(metric IS NULL OR unit IS "
                 "NULL) FROM paper_values WHERE artefact='%s' AND source LIKE "
                 "'arXiv:2108.12409v2 p.%d%%'",
                 artefact_table[i].name, artefact_table[i].page);
        snprintf(expected, sizeof expected, "%d %d 0", artefact_table[i].cells,
                 artefact_table[i].missing);
        assert_cell(f->base, sql, expected);
    }
    assert_cell(f->base,
                "SELECT count(*) FROM paper_values WHERE value IS NULL AND note NOT LIKE 'OOM%'",
                "0");
}

TEST_WITH(struct report_fixture *f, some_of_the_papers_numbers_are_read_right)
{
    static const struct {
        const char *where, *value; /* its page is in the table above */
    } cells[] = {
        {"artefact='table1' AND metric='eval_wps' AND position='rotary' AND L_train=3072", "29500"},
        {"artefact='table2' AND metric='perplexity' AND position='alibi' AND L_valid=12512",
         "18.31"},
        {"artefact='table3' AND metric='perplexity' AND position='sinusoidal' AND L_valid=1074",
         "19.19"},
        {"artefact='table4' AND metric='perplexity' AND position='t5' AND L_valid=6072", "17.68"},
        {"artefact='table5' AND position='alibi' AND L_train=512 AND L_valid=3072", "18.4"},
        {"artefact='figure1' AND position='sinusoidal' AND L_train=1024 AND L_valid=2024", "51.09"},
        {"artefact='figure11' AND position='alibi' AND L_train=3072 AND stride=1", "16.96"},
        {"artefact='table6' AND split='test' AND position='alibi' AND L_train=512", "19.08"},
        {"artefact='table7' AND split='test' AND method LIKE 'Routing Transformer%'", "15.8"},
        {"artefact='table7' AND split='valid' AND method LIKE 'kNN-LM%'", "15.81"},
        {"artefact='table8' AND position='alibi' AND L_train=512 AND L_valid=3072", "13.55"},
        {"artefact='table9' AND split='test' AND position='sinusoidal'", "11.67"},
        {"artefact='table10' AND split='test' AND method LIKE 'Staged Training%'", "10.48"},
        {"artefact='table11' AND metric='train_updates' AND position='sinusoidal' AND L_train=2048",
         "44200"},
        {"artefact='table12' AND metric='perplexity' AND position='sinusoidal' AND L_train=512 AND "
         "L_valid=2048",
         "105.42"},
        {"artefact='table13' AND L_train=1024 AND L_valid=2048", "302.6"},
        {"artefact='table14' AND L_train=512 AND L_valid=3072", "30.77"},
        {"artefact='table15' AND L_train=3072", "16.96"},
        {"artefact='figure2' AND metric='train_wps' AND position='alibi' AND x=512", "28298"},
        {"artefact='figure4' AND metric='perplexity_std'", "0.24"},
        {"artefact='figure5' AND panel LIKE 'right%' AND position='alibi' AND x=5973", "8.92"},
        {"artefact='figure6' AND L_train=1024 AND position='alibi' AND x=10024", "9.52"},
        {"artefact='figure7' AND position='alibi' AND x=1536", "22269"},
        {"artefact='figure8' AND x=15376", "18.67"},
        {"artefact='figure9' AND position='sinusoidal' AND x=1024", "14.73"},
    };
    char sql[512];

    paper_plant_numbers(f);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT CASE count(*) WHEN 1 THEN printf('%%.10g', max(value)) END FROM "
                 "paper_values WHERE %s",
                 cells[i].where);
        assert_cell(f->base, sql, cells[i].value);
    }
}

TEST_WITH(struct report_fixture *f, published_models_are_cited_without_a_position_method)
{
    paper_plant_numbers(f);
    assert_cell(f->base,
                "SELECT count(*)||' '||count(position)||' '||count(DISTINCT method) FROM "
                "paper_values WHERE artefact IN ('table7','table10') AND series='cited'",
                "18 0 9");
}

TEST_WITH(struct report_fixture *f, every_folder_is_reported_when_nothing_was_run)
{
    const struct report_options o = {.scale = "mini", .draw = true};

    for (int i = 0; i < ARTEFACTS_N; i++) {
        const char *text = report_fixture_report(f, artefact_table[i].name, &o);
        assert_contains(text, "There are no results of");
        assert_contains(text, "The paper's numbers (not comparable with scale mini)");
        assert_lacks(text, ": supported");
        assert_lacks(text, ": contradicted");
        assert_true(file_exists(
            arena_printf(&f->arena, "experiments/%s/README.md", artefact_table[i].name)));
    }
}

TEST_WITH(struct report_fixture *f, on_the_papers_own_numbers_nothing_differs)
{

    paper_plant_all(f, "paper");
    assert_cell(f->base,
                "SELECT count(*)||' '||sum(abs(delta)>1e-9) FROM comparison WHERE paper IS NOT "
                "NULL AND metric='perplexity'",
                "880 0");
    /* The paper's tables give speeds to three digits, its figures to five. The planted speeds of
     * one window at a time are Table 4's, which Table 6 has otherwise (X5). */
    assert_cell(f->base,
                "SELECT count(*)||' '||sum(abs(delta)>0.006*paper) FROM comparison WHERE paper IS "
                "NOT NULL AND metric<>'perplexity'",
                "138 4");
    assert_cell(f->base,
                "SELECT group_concat(said) FROM (SELECT artefact||' '||position||' '||ours||' '||"
                "paper AS said FROM comparison WHERE metric<>'perplexity' AND "
                "abs(delta)>0.006*paper ORDER BY position)",
                "table6 alibi 13866.0 13600.0,table6 rotary 12548.0 12200.0,"
                "table6 sinusoidal 13380.0 13600.0,table6 t5 8828.0 7300.0");
    assert_cell(f->base,
                "SELECT group_concat(said) FROM (SELECT artefact||' '||count(*) AS said FROM "
                "comparison WHERE paper IS NOT NULL AND metric<>'perplexity' GROUP BY artefact)",
                "figure2 36,figure7 16,figure8 6,table1 36,table11 4,table12 6,table2 8,table3 8,"
                "table4 8,table6 10");
}

TEST_WITH(struct report_fixture *f, a_contradiction_of_the_paper_is_judged_by_its_own_numbers)
{
    int32_t contradicted;

    paper_plant_numbers(f);
    char *text = judge_table5(f, &contradicted);
    assert_contains(text, "table5,paper,X2,");
    assert_contains(text, ",supported,\"L=64: ALiBi 28.46, Sinusoidal 28.03; ");
    assert_int_equal(contradicted, 0);
    /* If ALiBi had 18.46 at L=64, section 4.1 would be right about it. */
    assert_works(f->base, file_read(&f->arena, &text, NULL, "experiments/table5/paper.tsv", 1 << 20,
                                    &f->base->e));
    memcpy(strstr(text, "\t28.46\t"), "\t18.46\t", 7);
    report_fixture_write(f, "paper.tsv", text);
    const char *path = arena_printf(&f->arena, "%s/paper.tsv", f->artefact_dir);
    assert_works(f->base, store_set_paper(f->base->store, "table5", path, &f->base->e));
    assert_contains(judge_table5(f, &contradicted), ",mixed,\"2 of 3 cases hold, 1 fail; ");
    assert_int_equal(contradicted, 0);
}

/* Draws the figures named in `only` (NULL: all) from the paper's own numbers; the pictures hold
 * `part`. */
static void draw_figures(struct report_fixture *f, const char *scale, const char *only,
                         const char *part)
{
    const struct report_options o = {.scale = scale, .draw = true};

    f->project.share = "."; /* so that plot.gp is a shipped file */
    paper_plant_numbers(f);
    for (int i = 0; i < ARTEFACTS_N; i++) {
        const char *name = artefact_table[i].name;
        if (!file_exists(arena_printf(&f->arena, "experiments/%s/plot.gp", name))) continue;
        if (only && !strstr(only, arena_printf(&f->arena, " %s ", name))) continue;
        paper_plant_runs(f, scale, &name, 1);
        const char *picture = arena_printf(&f->arena, "plots/%s-%s", name, scale);
        assert_contains(report_fixture_report(f, name, &o),
                        arena_printf(&f->arena, "\nFigure: %s.svg", picture));
        assert_non_null(report_fixture_read(f, arena_printf(&f->arena, "%s.png", picture)));
        assert_contains(report_fixture_read(f, arena_printf(&f->arena, "%s.svg", picture)), part);
        report_fixture_check_svg(f, arena_printf(&f->arena, "%s.svg", picture));
        if (strcmp(scale, "mini") != 0) continue;
        report_fixture_report(
            f, name, &(struct report_options){.scale = scale, .draw = true, .format = REPORT_HTML});
        report_fixture_check_svg(f, arena_printf(&f->arena, "%s.narrow.svg", picture));
    }
}

TEST_WITH(struct report_fixture *f, every_figure_is_drawn_at_scale_paper_with_the_papers_points)
{
    draw_figures(f, "paper", NULL, "paper");
}

TEST_WITH(struct report_fixture *f, some_figures_are_drawn_at_scale_mini)
{
    draw_figures(f, "mini", " figure1 ", "svg");
}

TEST_WITH(struct report_fixture *f, the_legend_explains_shades)
{
    draw_figures(f, "mini", " table5 figure4 figure11 ", "darker: longer L");
}
