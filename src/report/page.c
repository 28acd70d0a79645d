/* page.c - the page of all artefacts: what was reproduced in a sentence, the first artefact, the
 * scoreboard, which is the contents too, claims and provenance (folded), a section for each other
 * artefact, the list of runs (page_runs.c).
 *
 * Ids: a-<artefact> a section, f-<artefact> its picture, c-<config id> a configuration,
 * r-<run id> a run, m-<number> a machine. */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "report/claims.h"
#include "report/html.h"
#include "spec/code_id.h"

static const char page_title[] = "Train Short, Test Long: what was reproduced";

/* Reads the folders: their titles and, where they have claims, the verdicts. */
static int page_judge(struct report_page *p, struct report_claims *claims, struct err *e)
{
    for (int32_t i = 0; i < p->items_n; i++) {
        const struct report_item *item = &p->item[i];
        struct report_folder *f = &p->folder[i];
        TRY(report_folder_open(f, &p->arena, p->project, item->artefact, item->dir, e));
        TRY(report_claims_judge(&claims[i], &p->arena, p->store, f, item->scale, e));
        if (item->title && !f->laid_out) f->layout.title = item->title;
    }
    return 0;
}

/* A claim as one folder has it. */
struct page_claim {
    const struct report_item *item;
    const struct store_cell *cells; /* claim, statement, verdict */
    bool of_paper;                  /* about the paper's own numbers alone */
    bool said;                      /* with an earlier folder's */
};

enum {
    PAGE_CONTRADICTED,
    PAGE_NOT_RUN,
    PAGE_NOT_JUDGED,
    PAGE_SUPPORTED,
    PAGE_VERDICTS_N = REPORT_CLAIM_VERDICTS_N
};
/* The worst first: where folders that share a claim differ, it counts as the worst. */
static const char *const page_verdicts[PAGE_VERDICTS_N] = {"contradicted", "not run", "not judged",
                                                           "supported"};

/* The same claim of the same scale in several folders is one. */
static bool page_shared(const struct page_claim *a, const struct page_claim *b)
{
    return strcmp(a->cells[0].text, b->cells[0].text) == 0 &&
           strcmp(a->cells[1].text, b->cells[1].text) == 0 &&
           strcmp(a->item->scale, b->item->scale) == 0;
}

/* Links to the folders of a claim (with a verdict, or NULL: all); how many. */
static int32_t page_folders(struct report_page *p, const struct page_claim *c, int32_t n,
                            const char *verdict, bool print)
{
    int32_t found = 0;

    for (int32_t i = 0; i < n; i++) {
        if (!page_shared(&c[0], &c[i]) || (verdict && strcmp(c[i].cells[2].text, verdict) != 0))
            continue;
        if (print)
            fprintf(p->out, "%s<a href=\"#a-%s\">%s</a>", found ? " " : "", c[i].item->artefact,
                    c[i].item->artefact);
        found++;
    }
    return found;
}

/* One row for claim c[0] and those after it that it is shared with; the place of its verdict among
 * page_verdicts. */
static int32_t page_claim(struct report_page *p, struct page_claim *c, int32_t n)
{
    int32_t all = page_folders(p, c, n, NULL, false), worst = -1;

    fputs("<tr><td>", p->out);
    (void)page_folders(p, c, n, NULL, true);
    fputs("</td><td>", p->out);
    report_html_put(p->out, c->cells[0].text);
    fputs("</td><td>", p->out);
    report_html_put(p->out, c->item->scale);
    fputs("</td><td>", p->out);
    for (int32_t v = 0; v < PAGE_VERDICTS_N; v++) {
        int32_t some = page_folders(p, c, n, page_verdicts[v], false);
        if (some == 0) continue;
        if (worst >= 0) fputs(" ", p->out);
        report_html_badge(p->out, page_verdicts[v]);
        if (some < all) fputs(" ", p->out);
        if (some < all) (void)page_folders(p, c, n, page_verdicts[v], true);
        if (worst < 0) worst = v;
    }
    fputs("</td><td class=\"w\">", p->out);
    report_html_put(p->out, c->cells[1].text);
    fputs("</td></tr>\n", p->out);
    for (int32_t i = 0; i < n; i++) c[i].said |= page_shared(&c[0], &c[i]);
    return worst;
}

/* counts: of the claims about runs and of those about the paper alone, by verdict. */
static void page_claims(struct report_page *p, const struct report_claims *claims,
                        int32_t counts[2][PAGE_VERDICTS_N])
{
    int32_t n = 0, room = 1;

    for (int32_t i = 0; i < p->items_n; i++) room += claims[i].rows.rows_n;
    struct page_claim *claim = arena_array(&p->arena, (size_t)room, sizeof *claim);
    for (int32_t i = 0; i < p->items_n; i++)
        for (int32_t k = 0; k < claims[i].rows.rows_n; k++)
            claim[n++] = (struct page_claim){
                &p->item[i], claims[i].rows.row[k],
                strcmp(report_rows_get(&claims[i].rows, k, "counted"), "0") == 0, false};
    fputs("<details id=\"claims\"><summary>The claims of the paper, judged</summary>\n"
          "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th>artefact</th><th>claim</th>"
          "<th>scale</th><th>verdict</th><th>statement</th></tr></thead>\n<tbody>\n",
          p->out);
    for (int32_t i = 0; i < n; i++)
        if (!claim[i].said) counts[claim[i].of_paper][page_claim(p, &claim[i], n - i)]++;
    fprintf(p->out,
            "</tbody>\n</table></div>\n<p>%d supported, %d contradicted, %d not run, %d not judged "
            "at their scale; and %d of %d about the paper's own numbers alone supported. The "
            "numbers that each rests on are in its artefact's section. Away from scale paper a "
            "verdict is about the shape of the curves, not about the numbers.</p>\n</details>\n",
            counts[0][PAGE_SUPPORTED], counts[0][PAGE_CONTRADICTED], counts[0][PAGE_NOT_RUN],
            counts[0][PAGE_NOT_JUDGED], counts[1][PAGE_SUPPORTED],
            counts[1][0] + counts[1][1] + counts[1][2] + counts[1][3]);
}

/* The sentence that the page opens with. */
static int page_open(struct report_page *p, const int32_t counts[PAGE_VERDICTS_N], struct err *e)
{
    const char *subject;
    int32_t judged_n = counts[PAGE_SUPPORTED] + counts[PAGE_CONTRADICTED];

    TRY(report_page_subject(&subject, p, e));
    fprintf(p->out, "<h1>%s</h1>\n<p class=\"lead\">", page_title);
    if (judged_n) fprintf(p->out, "%d of %d claims of ", counts[PAGE_SUPPORTED], judged_n);
    fputs("<em>Attention with Linear Biases Enables Input Length Extrapolation</em> (Press, Smith, "
          "Lewis; ICLR 2022)",
          p->out);
    fputs(judged_n ? " hold in " : ": ", p->out);
    report_html_put(p->out, subject);
    fputs(".</p>\n", p->out);
    return 0;
}

static void page_written(struct report_page *p)
{
    char now[CLOCK_TEXT_BYTES];

    clock_utc(now);
    fputs("<details id=\"made\"><summary>What was run, where, by which code</summary>\n"
          "<p>Written by <code>alibi report</code>, version <code>",
          p->out);
    report_html_put(p->out, code_id());
    fputs("</code>, on ", p->out);
    report_html_put(p->out, now);
    fputs(" from <code>results.db</code>.</p>\n", p->out);
}

static int page_section(struct report_page *p, int32_t i, struct err *e)
{
    const struct report_item *item = &p->item[i];
    struct report_options o = *p->options;

    o.scale = item->scale;
    o.title = item->title;
    o.format = REPORT_HTML;
    fprintf(p->out, "<section class=\"artefact\" id=\"a-%s\">\n", item->artefact);
    TRY(report_artefact(p->out, p->store, p->project, item->artefact, item->dir, &o, e));
    fputs("</section>\n", p->out);
    return 0;
}

/* The claims as text: the page's first sentence counts them. */
static int page_claims_text(char **text, struct report_page *p, const struct report_claims *claims,
                            int32_t counts[2][PAGE_VERDICTS_N], struct err *e)
{
    size_t n;
    FILE *out = p->out;

    p->out = open_memstream(text, &n);
    if (!p->out) return ERR(e, ERR_NOMEM, "out of memory");
    page_claims(p, claims, counts);
    fclose(p->out);
    p->out = out;
    return 0;
}

static int page_write(struct report_page *p, struct err *e)
{
    struct report_claims *claims = arena_array(&p->arena, (size_t)p->items_n + 1, sizeof *claims);
    int32_t counts[2][PAGE_VERDICTS_N] = {{0}};
    char *judged;

    p->folder = arena_array(&p->arena, (size_t)p->items_n + 1, sizeof *p->folder);
    TRY(page_judge(p, claims, e));
    TRY(page_claims_text(&judged, p, claims, counts, e));
    report_html_open(p->out, page_title);
    int rc = page_open(p, counts[0], e);
    if (rc == 0 && p->items_n) rc = page_section(p, 0, e);
    fputs("<section id=\"contents\">\n<h2>Tables and figures</h2>\n", p->out);
    fputs("<div id=\"board\">\n", p->out);
    if (rc == 0) rc = report_scoreboard(p, claims, e);
    fputs("</div>\n", p->out);
    fputs(judged, p->out);
    free(judged);
    if (rc < 0) return rc;
    page_written(p);
    TRY(report_page_made(p, e));
    fputs("</details>\n<p><a href=\"#runs\">Every run</a></p>\n</section>\n", p->out);
    for (int32_t i = 1; i < p->items_n; i++) TRY(page_section(p, i, e));
    TRY(report_page_runs(p, e));
    report_html_close(p->out);
    return file_check_output(p->out, e);
}

int report_page(FILE *out, struct store *s, const struct project *p,
                const struct report_item *items, int32_t n, const struct report_options *o,
                struct err *e)
{
    struct report_page page = {
        .out = out, .store = s, .project = p, .options = o, .item = items, .items_n = n};
    struct strbuf wanted;

    arena_init(&page.arena);
    strbuf_init(&wanted, &page.arena);
    strbuf_add(&wanted, "|");
    for (int32_t i = 0; i < n; i++)
        strbuf_addf(&wanted, "%s%s %s|", items[i].artefact, o->variant ? o->variant : "",
                    items[i].scale);
    page.wanted = wanted.text;
    int rc = page_write(&page, e);
    arena_fini(&page.arena);
    return rc;
}
