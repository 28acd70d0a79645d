/* page.c - the page of all artefacts: what was reproduced in a sentence, the first artefact with
 * results, the scoreboard, which is the contents too, claims and provenance (folded), a section for
 * each other artefact, those without results folded together, a chapter for each collection, the
 * list of runs. And the scoreboard alone. A collection's artefacts and claims count only in its
 * chapter.
 *
 * Ids: g-<collection> a chapter, a-<artefact> a section, f-<artefact> its picture, c-<config id> a
 * configuration, r-<run id> a run, m-<number> a machine. */
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "report/cells.h"
#include "report/page.inc"
#include "spec/code_id.h"

struct report_page {
    FILE *out;
    struct arena arena;
    struct store *store;
    const struct project *project;
    const struct report_options *options;
    const char *wanted; /* "|table5 mini|figure1 mini|" for the queries about all artefacts */
    /* Those without a collection, or those of one: */
    const struct report_item *item;
    int32_t items_n;
    struct report_judged *judged; /* items_n */
    struct report_claims claims;
    bool *has_results;  /* items_n */
    const char *suffix; /* of ids: "", or "-" and the collection */
    bool of_paper;      /* an artefact has numbers or claims of the paper */
};

/* Returns the name of an artefact's points in results.db. */
static const char *point_name(struct report_page *p, const char *artefact)
{
    const char *variant = p->options->variant;
    return arena_printf(&p->arena, "%s%s", artefact, variant ? variant : "");
}

/* --- the scoreboard ------------------------------------------------------------------------- */

/* Makes a row for each artefact: its claims by verdict, and its cells by verdict if any is at scale
 * paper. titled: also its title, which links to its section of the page. */
static int scoreboard(struct rows *r, struct report_page *p, bool titled, struct err *e)
{
    static const struct {
        const char *head, *cells, *claims; /* a column of the one or of the other */
    } columns[] = {{"<artefact", NULL, NULL},
                   {"<scale", NULL, NULL},
                   {"<title", NULL, NULL},
                   {">reproduced", "reproduced_n", NULL},
                   {">within", "within_n", NULL},
                   {">not reproduced", "not_reproduced_n", NULL},
                   {">cells not run", "not_run_n", NULL},
                   {">other device", "other_device_n", NULL},
                   {">noisy", "noisy_n", NULL},
                   {"~claims supported", NULL, "share"},
                   {"~mixed", NULL, "mixed"},
                   {"~contradicted", NULL, "contradicted"},
                   {"~not run", NULL, "not_run"},
                   {"~not judged", NULL, "not_judged"}};
    enum { COLUMNS_N = sizeof columns / sizeof *columns };
    bool judged = false;

    for (int32_t i = 0; i < p->items_n; i++) judged |= report_is_paper(p->item[i].scale);
    report_rows_init(r, &p->arena, COLUMNS_N, p->items_n);
    r->columns_n = 0;
    for (int32_t i = 0; i < p->items_n; i++) {
        const struct report_judged *k = &p->judged[i];
        const char *scale = p->item[i].scale, *title = k->folder.layout.title;
        const char *const names[] = {p->item[i].artefact, scale, title};
        struct rows v = {0};
        struct rows counts;
        TRY(report_claims_count(&counts, p->store, &k->claims, scale, e));
        if (judged) TRY(report_cells_judged(&v, &p->arena, p->store, &k->folder, scale, e));
        r->columns_n = 0;
        for (int c = 0; c < COLUMNS_N; c++) {
            struct store_cell *cell = &r->row[i][r->columns_n];
            if ((c == 2 && !titled) || (columns[c].cells && !judged)) continue;
            r->name[r->columns_n++] = columns[c].head;
            cell->text = columns[c].cells    ? report_rows_get(&v, 0, columns[c].cells)
                         : columns[c].claims ? report_rows_get(&counts, 0, columns[c].claims)
                                             : names[c];
            if (columns[c].claims) cell->type = 't';
            if (c == 2)
                report_marks_of(&p->arena, cell)->link = arena_printf(&p->arena, "a-%s", names[0]);
        }
    }
    report_rows_arrange(r);
    return 0;
}

int report_summary(FILE *out, struct store *s, const struct project *p,
                   const struct report_item *items, int32_t n, const struct report_options *o,
                   struct err *e)
{
    struct report_page page = {.out = out, .store = s, .item = items, .items_n = n};
    struct rows rows;
    int rc = 0;

    arena_init(&page.arena);
    TRY_OUT(rc, report_claims_of(&page.claims, &page.judged, &page.arena, s, p, items, n, e));
    TRY_OUT(rc, scoreboard(&rows, &page, false, e));
    if (o->format == REPORT_TEXT) fputc('\n', out);
    report_write_heading(out, "Summary", o->format, 1);
    if (o->format == REPORT_TEXT) fputc('\n', out);
    rc = report_rows_write(out, &rows, o->format, e);
out:
    arena_fini(&page.arena);
    return rc;
}

/* --- claims --------------------------------------------------------------------------------- */

/* Runs a query over the claims of all items. */
static int page_claims(struct rows *rows, struct report_page *p, const char *sql, struct err *e)
{
    return report_claims_ask(rows, p->store, &p->claims, NULL, sql, e);
}

static int write_claims(struct report_page *p, const char *heading, const char *sentence,
                        struct err *e)
{
    struct rows rows;

    TRY(page_claims(&rows, p, claims_sql, e));
    report_rows_arrange(&rows);
    report_html(p->out, "<details class=\"claims\" id=\"claims%-s\"><summary>%s</summary>\n",
                p->suffix, heading);
    TRY(report_rows_write(p->out, &rows, REPORT_HTML, e));
    report_html(p->out,
                "<p>%s The numbers that each rests on are in its artefact's section. Away from "
                "scale paper a verdict is about the shape of the curves, not about the numbers."
                "</p>\n</details>\n",
                sentence);
    return 0;
}

/* --- provenance ----------------------------------------------------------------------------- */

/* Runs a query over the runs of the items. what names it in messages. */
static int page_query(struct rows *rows, struct report_page *p, const char *what, const char *sql,
                      struct err *e)
{
    const struct store_param params[] = {{"items", p->wanted, STORE_TEXT}};
    return report_rows_query(rows, &p->arena, p->store, what,
                             arena_printf(&p->arena, "%s%s", runs_sql, sql), params, 1,
                             REPORT_QUERY_LIMIT_S, e);
}

/* Says how many runs of which models on which texts are done. */
static int page_subject(const char **out, struct report_page *p, struct err *e)
{
    struct rows rows, texts;
    struct strbuf b;

    *out = "no run yet";
    TRY(page_query(&rows, p, "what was run", subject_sql, e));
    TRY(page_query(&texts, p, "what was run", texts_sql, e));
    strbuf_init(&b, &p->arena);
    for (int32_t i = 0; i < texts.rows_n; i++)
        strbuf_addf(&b, "%s%s", i ? ", " : " on ",
                    report_dataset_title(p->options, report_rows_get(&texts, i, "text")));
    const char *n = report_rows_get(&rows, 0, "n");
    const char *size = report_table_size(&p->arena, report_rows_get(&rows, 0, "low"),
                                         report_rows_get(&rows, 0, "high"));
    if (strcmp(n, "0") == 0) return 0;
    *out = arena_printf(&p->arena, "%s run%s at scale %s: %s%s%s", n, strcmp(n, "1") ? "s" : "",
                        report_rows_get(&rows, 0, "scales"), size ? "models of " : "models",
                        size ? size : "", b.text);
    return 0;
}

/* Writes the provenance: how much ran on which devices with which code, and the machines, to which
 * the links of runs lead. */
static int page_made(struct report_page *p, struct err *e)
{
    struct rows counts, machines;

    TRY(page_query(&counts, p, "what was run", made_sql, e));
    TRY(page_query(&machines, p, "the machines", machines_sql, e));
    if (counts.rows_n == 0) {
        fputs("<p>Nothing was run yet.</p>\n", p->out);
        return 0;
    }
    TRY(report_rows_write(p->out, &counts, REPORT_HTML, e));
    report_rows_arrange(&machines);
    return machines.rows_n ? report_rows_write(p->out, &machines, REPORT_HTML, e) : 0;
}

/* --- the list of runs ----------------------------------------------------------------------- */

enum { RUN_TITLE, RUN_HEADING, RUN_FIRST, RUN_RESULT = 8 };

static int page_runs(struct report_page *p, struct err *e)
{
    struct rows all, table;

    TRY(page_query(&all, p, "the list of runs", list_sql, e));
    fputs("<section id=\"runs\">\n<h2>Every run</h2>\n<p>A run's id is the hash of its "
          "specification, which opens under its configuration (that of the first seed): "
          "<code>alibi show RUN</code> says the same. Its log is "
          "<code>runs/RUN/ATTEMPT/log</code>.</p>\n",
          p->out);
    for (int32_t i = 0, n; i < all.rows_n; i += n) {
        n = report_rows_alike(&all, i, RUN_TITLE);
        report_rows_slice(&table, &all, RUN_FIRST, all.columns_n - RUN_FIRST, i, n);
        table.name[RUN_RESULT - RUN_FIRST] = all.row[i][RUN_HEADING].text;
        report_rows_arrange(&table);
        report_html(p->out, "<h3>%s</h3>\n", all.row[i][RUN_TITLE].text);
        TRY(report_rows_write(p->out, &table, REPORT_HTML, e));
    }
    fputs("</section>\n", p->out);
    return 0;
}

/* --- the whole ------------------------------------------------------------------------------ */

/* Reads the README.md of the collection that an artefact is in; text may be NULL. Returns its
 * heading, or the collection's name. */
static int collection_readme(const char **heading, char **text, struct report_page *p,
                             const struct report_item *item, struct err *e)
{
    const char *path = arena_printf(&p->arena, "%s/../README.md", item->dir);

    *text = NULL;
    *heading = arena_strndup(&p->arena, item->artefact, project_collection_bytes(item->artefact));
    if (!file_exists(path)) return 0;
    TRY(report_folder_read(text, &p->arena, path, e));
    if (strncmp(*text, "# ", 2) == 0)
        *heading = arena_strndup(&p->arena, *text + 2, strcspn(*text, "\r\n") - 2);
    return 0;
}

/* Returns the paper's title, or the titles of grids that are not the paper's. */
static const char *page_title(struct report_page *p)
{
    struct strbuf b;

    if (p->of_paper) return "Train Short, Test Long: what was reproduced";
    strbuf_init(&b, &p->arena);
    for (int32_t i = 0; i < p->items_n; i++)
        strbuf_addf(&b, "%s%s", i ? "; " : "", p->judged[i].folder.layout.title);
    return b.n ? b.text : "alibi";
}

/* Writes the sentence that the page opens with from the row of counts_sql. first: the first
 * artefact of all, or NULL. */
static int page_open(struct report_page *p, const struct rows *counts,
                     const struct report_item *first, struct err *e)
{
    const char *subject, *title = page_title(p), *claims_n = report_rows_get(counts, 0, "claims_n");
    char *text;

    TRY(page_subject(&subject, p, e));
    bool some = claims_n && strcmp(claims_n, "0") != 0;
    if (p->items_n == 0 && first) TRY(collection_readme(&title, &text, p, first, e));
    report_html_open(p->out, title);
    if (p->items_n) report_html(p->out, "<h1>%s</h1>\n", title); /* a chapter has its own */
    fputs("<p class=\"lead\">", p->out);
    if (!p->of_paper) {
        report_html(p->out, "%s.</p>\n", subject);
        return 0;
    }
    if (some)
        report_html(p->out, "%s of %s claims of ", report_rows_get(counts, 0, "supported"),
                    claims_n);
    report_html(p->out,
                "<em>Attention with Linear Biases Enables Input Length Extrapolation</em> (Press, "
                "Smith, Lewis; ICLR 2022)%s%s%s%s.</p>\n",
                some ? " hold in " : ": ", subject, some ? "; " : "",
                some ? report_rows_get(counts, 0, "rest") : "");
    return 0;
}

static int page_section(struct report_page *p, int32_t i, struct err *e)
{
    report_html(p->out, "<section class=\"artefact\" id=\"a-%-s\">\n", p->item[i].artefact);
    TRY(report_section(p->out, p->store, p->project, &p->item[i], &p->judged[i].claims, p->options,
                       e));
    fputs("</section>\n", p->out);
    return 0;
}

static int page_board(struct report_page *p, struct err *e)
{
    struct rows board;

    TRY(scoreboard(&board, p, true, e));
    report_html(p->out, "<div class=\"board\" id=\"board%-s\">\n", p->suffix);
    TRY(report_rows_write(p->out, &board, REPORT_HTML, e));
    fputs("</div>\n", p->out);
    return 0;
}

/* Writes the scoreboard, the claims and the provenance. */
static int page_contents(struct report_page *p, const char *sentence, struct err *e)
{
    fputs("<section id=\"contents\">\n", p->out);
    if (p->items_n) fputs("<h2>Tables and figures</h2>\n", p->out);
    if (p->items_n) TRY(page_board(p, e));
    if (sentence) TRY(write_claims(p, "The claims of the paper, judged", sentence, e));
    report_html(p->out,
                "<details id=\"made\"><summary>Provenance</summary>\n"
                "<p>Written by <code>alibi report</code>, version <code>%s</code>.</p>\n",
                code_id());
    TRY(page_made(p, e));
    fputs("</details>\n<p><a href=\"#runs\">Every run</a></p>\n</section>\n", p->out);
    return 0;
}

static int page_find_results(struct report_page *p, struct err *e)
{
    struct rows rows;

    p->has_results = arena_array(&p->arena, (size_t)p->items_n + 1, sizeof *p->has_results);
    TRY(page_query(&rows, p, "what has results", results_sql, e));
    for (int32_t i = 0; i < p->items_n; i++) {
        const char *name = point_name(p, p->item[i].artefact);
        for (int32_t k = 0; k < rows.rows_n && !p->has_results[i]; k++)
            p->has_results[i] = strcmp(report_rows_get(&rows, k, "artefact"), name) == 0 &&
                                strcmp(report_rows_get(&rows, k, "scale"), p->item[i].scale) == 0;
    }
    return 0;
}

/* Writes the sections of the artefacts that have results, or of those that have none, except the
 * one that the page begins with. */
static int page_sections(struct report_page *p, bool with, int32_t but, struct err *e)
{
    for (int32_t i = 0; i < p->items_n; i++)
        if (i != but && p->has_results[i] == with) TRY(page_section(p, i, e));
    return 0;
}

/* Writes the sections of the artefacts except the one that the page begins with; those without
 * results are folded. */
static int page_all_sections(struct report_page *p, int32_t but, struct err *e)
{
    int32_t empty_n = 0;

    TRY(page_sections(p, true, but, e));
    for (int32_t i = 0; i < p->items_n; i++) empty_n += i != but && !p->has_results[i];
    if (empty_n == 0) return 0;
    report_html(p->out,
                "<details id=\"empty%-s\"><summary>%d artefact%s without results</summary>\n",
                p->suffix, empty_n, empty_n == 1 ? "" : "s");
    TRY(page_sections(p, false, but, e));
    fputs("</details>\n", p->out);
    return 0;
}

/* Turns to the artefacts of a collection, or of none: ""; n is their number. */
static int page_turn(struct report_page *p, const char *collection, const struct report_item *all,
                     int32_t all_n, struct err *e)
{
    struct report_item *item = arena_array(&p->arena, (size_t)all_n + 1, sizeof *item);
    size_t n = strlen(collection);

    p->items_n = 0;
    for (int32_t i = 0; i < all_n; i++)
        if (project_collection_bytes(all[i].artefact) == n &&
            strncmp(all[i].artefact, collection, n) == 0)
            item[p->items_n++] = all[i];
    p->item = item;
    p->suffix = n ? arena_printf(&p->arena, "-%s", collection) : "";
    TRY(report_claims_of(&p->claims, &p->judged, &p->arena, p->store, p->project, p->item,
                         p->items_n, e));
    p->of_paper = false;
    for (int32_t i = 0; i < p->items_n && n == 0; i++)
        p->of_paper |= p->judged[i].folder.paper_path || p->judged[i].folder.claims;
    return page_find_results(p, e);
}

/* Writes the heading of a chapter: that of the collection's README.md, whose text follows. */
static int chapter_open(struct report_page *p, const char *collection, struct err *e)
{
    const char *heading;
    char *text;

    TRY(collection_readme(&heading, &text, p, &p->item[0], e));
    report_html(p->out, "<section class=\"chapter\" id=\"g-%-s\">\n<h1>%s</h1>\n", collection,
                heading);
    if (text) report_html_text(p->out, &p->arena, text, "More");
    return 0;
}

static int page_chapter(struct report_page *p, const char *collection, struct err *e)
{
    struct rows counts;

    TRY(chapter_open(p, collection, e));
    TRY(page_board(p, e));
    TRY(page_claims(&counts, p, counts_sql, e));
    const char *sentence = report_rows_get(&counts, 0, "sentence");
    if (sentence) TRY(write_claims(p, "The claims of this chapter, judged", sentence, e));
    fputs("</section>\n", p->out);
    return page_all_sections(p, -1, e);
}

/* Writes a chapter for each collection, in the order of their first artefacts. */
static int page_chapters(struct report_page *p, const struct report_item *all, int32_t n,
                         struct err *e)
{
    struct map seen;
    bool added;

    map_init(&seen, &p->arena);
    for (int32_t i = 0; i < n; i++) {
        size_t collection_n = project_collection_bytes(all[i].artefact);
        map_put(&seen, all[i].artefact, collection_n, &added);
        if (collection_n == 0 || !added) continue;
        const char *collection = arena_strndup(&p->arena, all[i].artefact, collection_n);
        TRY(page_turn(p, collection, all, n, e));
        TRY(page_chapter(p, collection, e));
    }
    return 0;
}

static int page_write(struct report_page *p, const struct report_item *all, int32_t n,
                      struct err *e)
{
    struct rows counts;
    int32_t first = 0;

    TRY(page_turn(p, "", all, n, e));
    TRY(page_claims(&counts, p, counts_sql, e));
    const char *sentence = report_rows_get(&counts, 0, "sentence");
    TRY(page_open(p, &counts, n ? all : NULL, e));
    while (first < p->items_n && !p->has_results[first]) first++;
    if (first == p->items_n) first = 0;
    if (p->items_n) TRY(page_section(p, first, e));
    TRY(page_contents(p, sentence, e));
    TRY(page_all_sections(p, first, e));
    TRY(page_chapters(p, all, n, e));
    TRY(page_runs(p, e));
    report_html_close(p->out);
    return file_check_output(p->out, e);
}

int report_page(FILE *out, struct store *s, const struct project *p,
                const struct report_item *items, int32_t n, const struct report_options *o,
                struct err *e)
{
    struct report_page page = {.out = out, .store = s, .project = p, .options = o};
    struct strbuf wanted;

    arena_init(&page.arena);
    strbuf_init(&wanted, &page.arena);
    strbuf_add(&wanted, "|");
    for (int32_t i = 0; i < n; i++)
        strbuf_addf(&wanted, "%s %s|", point_name(&page, items[i].artefact), items[i].scale);
    page.wanted = wanted.text;
    int rc = page_write(&page, items, n, e);
    arena_fini(&page.arena);
    return rc;
}
