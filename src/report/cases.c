/* cases.c - see cases.h, whose rules are cited here by number. */
#include "report/cases.h"

#include <string.h>

#include "base/str.h"

static const char *const case_columns[] = {"claim", "statement", "wanted", "seed", "holds", "said"};
enum { CASE_CLAIM, CASE_STATEMENT, CASE_WANTED, CASE_SEED, CASE_HOLDS, CASE_SAID, CASE_COLUMNS_N };

bool report_cases_are(const struct report_rows *rows)
{
    if (rows->columns_n != CASE_COLUMNS_N) return false;
    for (int32_t c = 0; c < CASE_COLUMNS_N; c++)
        if (strcmp(rows->name[c], case_columns[c]) != 0) return false;
    return true;
}

/* One claim, from its row `first` and those of the same name after it. */
static int judge_claim(struct store_cell verdict[4], struct arena *a,
                       const struct report_rows *cases, int32_t first, const char *where,
                       struct err *e)
{
    const struct store_cell *head = cases->row[first];
    int64_t wanted, cases_n = 0;
    bool holds = true;
    struct strbuf said;

    if (!head[CASE_CLAIM].text || !head[CASE_STATEMENT].text)
        return ERR(e, ERR_DATA, "%s: row %d has no claim or no statement", where, first + 1);
    if (!head[CASE_WANTED].text || !str_to_int(&wanted, head[CASE_WANTED].text) || wanted < 0)
        return ERR(e, ERR_DATA, "%s: claim %s wants \"%s\" cases; give a whole number from 0 on",
                   where, head[CASE_CLAIM].text,
                   head[CASE_WANTED].text ? head[CASE_WANTED].text : "NULL");
    strbuf_init(&said, a);
    for (int32_t i = first; i < cases->rows_n; i++) {
        const struct store_cell *one = cases->row[i];
        if (!one[CASE_CLAIM].text || strcmp(one[CASE_CLAIM].text, head[CASE_CLAIM].text) != 0 ||
            !one[CASE_SAID].text)
            continue;
        strbuf_add(&said, cases_n ? "; " : "");
        if (one[CASE_SEED].text) strbuf_addf(&said, "seed %s, ", one[CASE_SEED].text);
        strbuf_add(&said, one[CASE_SAID].text);
        holds = holds && one[CASE_HOLDS].text && strcmp(one[CASE_HOLDS].text, "0") != 0;
        cases_n++;
    }
    bool run = wanted > 0 && cases_n >= wanted; /* 1. */
    const char *evidence = said.text;
    if (wanted == 0)
        evidence = "nothing was run";
    else if (!run)
        evidence = arena_printf(a, "%lld of %lld cases have their numbers%s%s", (long long)cases_n,
                                (long long)wanted, cases_n ? "; " : "", cases_n ? said.text : "");
    verdict[0] = head[CASE_CLAIM];
    verdict[1] = head[CASE_STATEMENT];
    verdict[2] = (struct store_cell){!run ? "not run" : holds ? "supported" : "contradicted", 't'};
    verdict[3] = (struct store_cell){evidence, 't'};
    return 0;
}

int report_cases_judge(struct report_rows *out, struct arena *a, const struct report_rows *cases,
                       const char *where, struct err *e)
{
    static const char *names[] = {"claim", "statement", "verdict", "evidence"};

    *out = (struct report_rows){.arena = a, .name = names, .columns_n = 4};
    out->row = arena_array(a, (size_t)cases->rows_n + 1, sizeof *out->row);
    for (int32_t i = 0; i < cases->rows_n; i++) {
        const char *claim = report_rows_text(cases, i, CASE_CLAIM);
        int32_t k = 0;
        while (k < out->rows_n && claim && strcmp(out->row[k][0].text, claim) != 0) k++;
        if (k < out->rows_n) continue;
        out->row[k] = arena_array(a, 4, sizeof **out->row);
        TRY(judge_claim(out->row[k], a, cases, i, where, e));
        out->rows_n++;
    }
    return 0;
}
