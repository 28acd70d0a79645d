/* scoreboard.c - all artefacts in one table: how many cells and claims came out how. */
#include <string.h>

#include "base/file.h"
#include "report/claims.h"
#include "report/html.h"
#include "report/page.h"
#include "report/verdict.h"
#include "report/writer.h"

/* Columns of the table. */
enum { SUMMARY_ARTEFACT, SUMMARY_SCALE, SUMMARY_TITLE, SUMMARY_CLAIMS_N = 4 };

/* Which columns there are: those of cells are left out when nothing is at scale paper. */
struct scoreboard {
    bool titled, cells;
    int32_t first_cell;
};

static const char *const cell_heads[REPORT_VERDICTS_N] = {
    "reproduced", "within", "not reproduced", "cells not run", "other device", "noisy"};
static const char *const claim_heads[SUMMARY_CLAIMS_N] = {"claims supported", "contradicted",
                                                          "not run", "not judged"};

static const char *count(struct arena *a, int32_t n)
{
    return n ? arena_printf(a, "%d", n) : NULL;
}

/* The row of an artefact. titled: its title is there too, and leads to its section of a page. */
static int summarise(struct report_grid *g, int32_t row, struct store *s,
                     const struct report_item *item, const struct report_folder *f,
                     const struct report_claims *claims, const struct scoreboard *b, struct err *e)
{
    struct arena *a = g->arena;
    struct report_verdicts v;
    struct report_claims_tally t;
    int32_t at = b->first_cell;

    report_claims_tally(&t, a, claims);
    report_grid_set(g, row, SUMMARY_ARTEFACT, item->artefact);
    report_grid_set(g, row, SUMMARY_SCALE, item->scale);
    if (b->titled) {
        report_grid_set(g, row, SUMMARY_TITLE, f->layout.title);
        g->link[row * g->columns_n + SUMMARY_TITLE] = arena_printf(a, "a-%s", item->artefact);
    }
    if (b->cells) {
        TRY(report_verdicts_find(&v, a, s, f, item->scale, e));
        for (int32_t k = 0; k < REPORT_VERDICTS_N; k++)
            report_grid_set(g, row, at++,
                            count(a, report_verdicts_count(&v, report_verdict_names[k])));
    }
    if (t.n[REPORT_NOT_JUDGED]) report_grid_set(g, row, at + 3, t.names[REPORT_NOT_JUDGED]);
    if (t.all_n == 0) return 0;
    report_grid_set(g, row, at, arena_printf(a, "%d of %d", t.n[REPORT_SUPPORTED], t.all_n));
    report_grid_set(g, row, at + 1, t.names[REPORT_CONTRADICTED]);
    report_grid_set(g, row, at + 2, t.names[REPORT_NOT_RUN]);
    return 0;
}

static void start(struct report_grid *g, struct scoreboard *b, struct arena *a,
                  const struct report_item *items, int32_t n)
{
    for (int32_t i = 0; i < n; i++) b->cells |= strcmp(items[i].scale, "paper") == 0;
    b->first_cell = SUMMARY_TITLE + b->titled;
    int32_t first_claim = b->first_cell + (b->cells ? REPORT_VERDICTS_N : 0);
    report_grid_init(g, a, first_claim + SUMMARY_CLAIMS_N, n);
    g->head[SUMMARY_ARTEFACT] = "artefact";
    g->head[SUMMARY_SCALE] = "scale";
    if (b->titled) g->head[SUMMARY_TITLE] = "title";
    for (int32_t c = b->first_cell; c < first_claim; c++) {
        g->head[c] = cell_heads[c - b->first_cell];
        g->right[c] = true;
    }
    for (int32_t c = 0; c < SUMMARY_CLAIMS_N; c++) g->head[first_claim + c] = claim_heads[c];
}

int report_scoreboard(struct report_page *p, const struct report_claims *claims, struct err *e)
{
    struct scoreboard b = {.titled = true};
    struct report_grid g;

    start(&g, &b, &p->arena, p->item, p->items_n);
    for (int32_t i = 0; i < p->items_n; i++)
        TRY(summarise(&g, i, p->store, &p->item[i], &p->folder[i], &claims[i], &b, e));
    report_html_grid(p->out, &g);
    return 0;
}

int report_summary(FILE *out, struct store *s, const struct project *p,
                   const struct report_item *items, int32_t n, const struct report_options *o,
                   struct err *e)
{
    struct arena a;
    struct report_grid g;
    struct report_folder f;
    struct report_claims claims;
    struct scoreboard b = {0};
    int rc = 0;

    if (o->format == REPORT_CSV || o->format == REPORT_JSON) return 0;
    arena_init(&a);
    start(&g, &b, &a, items, n);
    for (int32_t i = 0; i < n; i++) {
        TRY_OUT(rc, report_folder_open(&f, &a, p, items[i].artefact, items[i].dir, e));
        TRY_OUT(rc, report_claims_judge(&claims, &a, s, &f, items[i].scale, e));
        TRY_OUT(rc, summarise(&g, i, s, &items[i], &f, &claims, &b, e));
    }
    if (o->format == REPORT_TEXT) fputc('\n', out);
    report_write_heading(out, "Summary", o->format, 1);
    if (o->format == REPORT_TEXT) fputc('\n', out);
    report_grid_write(out, &g, o->format);
    rc = file_check_output(out, e);
out:
    arena_fini(&a);
    return rc;
}
