/* synthetic_recall.c - a stream of needles and queries, for what a model finds in its context.
 * synthetic.h describes it. */
#include <assert.h>
#include <stdio.h>

#include "synthetic/synthetic_internal.h"

enum {
    VALUES_N = SYNTHETIC_KEYS_N,
    FILLERS_N = 32,
    RECALL_NEEDLE = 2,
    RECALL_QUERY = RECALL_NEEDLE + SYNTHETIC_KEYS_N * VALUES_N,
    RECALL_ANSWER = RECALL_QUERY + SYNTHETIC_KEYS_N,
    RECALL_FILLER = RECALL_ANSWER + VALUES_N,
    RECALL_WORDS = RECALL_FILLER + FILLERS_N,
    RECALL_LINE = 4096,
    /* 3 of 48 steps are needles and, if some key is fresh, 2 are queries. */
    STEPS = 48,
    NEEDLES = 3,
    QUERIES = 2
};

enum { RECALL_IS_FILLER, RECALL_IS_NEEDLE, RECALL_IS_QUERY, RECALL_FROM_1 };

/* The class of an answer whose needle is so many tokens before the query. */
static int32_t answer_class(int64_t distance)
{
    static const int64_t from[] = {16, 32, 48, 64, 96, 128, 192, 256, 384};
    int32_t class = RECALL_FROM_1;

    for (size_t i = 0; i < sizeof from / sizeof *from; i++) class += distance >= from[i];
    return class;
}

static void emit_question(struct generator *g, int32_t fresh_n, double p)
{
    int32_t nth = (int32_t)synthetic_below(g, (uint64_t)fresh_n), key = 0;

    for (; nth > 0 || !g->fresh[key]; key++) nth -= g->fresh[key];
    int64_t distance = g->tokens_n - g->needle[key];
    g->fresh[key] = false;
    synthetic_emit(g, RECALL_QUERY + key, p / fresh_n, RECALL_IS_QUERY);
    synthetic_emit(g, RECALL_ANSWER + g->value[key], 1, answer_class(distance));
}

static void emit_recall(struct generator *g)
{
    int32_t fresh_n = 0, drawn = (int32_t)synthetic_below(g, STEPS);

    for (int32_t key = 0; key < SYNTHETIC_KEYS_N; key++) fresh_n += g->fresh[key];
    double queries = fresh_n > 0 ? QUERIES / (double)STEPS : 0, needles = NEEDLES / (double)STEPS;
    if (drawn < NEEDLES) {
        int32_t needle = (int32_t)synthetic_below(g, SYNTHETIC_KEYS_N * VALUES_N);
        int32_t key = needle / VALUES_N;
        g->value[key] = needle % VALUES_N;
        g->needle[key] = g->tokens_n;
        g->fresh[key] = true;
        synthetic_emit(g, RECALL_NEEDLE + needle, needles / (SYNTHETIC_KEYS_N * VALUES_N),
                       RECALL_IS_NEEDLE);
    } else if (drawn < NEEDLES + QUERIES && fresh_n > 0) {
        emit_question(g, fresh_n, queries);
    } else {
        int32_t filler = (int32_t)synthetic_below(g, FILLERS_N);
        synthetic_emit(g, RECALL_FILLER + filler, (1 - needles - queries) / FILLERS_N,
                       RECALL_IS_FILLER);
    }
}

/* The line ends before a step that might not fit. */
void synthetic_recall_document(struct generator *g)
{
    int64_t end = g->tokens_n + RECALL_LINE - 2;

    while (g->tokens_n < end - 1) emit_recall(g);
    synthetic_emit(g, SYMBOL_LINE_END, 1, RECALL_IS_FILLER);
    synthetic_emit(g, SYMBOL_DOCUMENT_END, 1, RECALL_IS_FILLER);
}

/* --- words --- */

int32_t synthetic_recall_words_n(void)
{
    return RECALL_WORDS;
}

void synthetic_recall_word(char out[SYNTHETIC_WORD_BYTES], int32_t symbol)
{
    int32_t needle = symbol - RECALL_NEEDLE;

    assert(symbol >= 0 && symbol < RECALL_WORDS);
    if (symbol < RECALL_NEEDLE)
        out[0] = '\0';
    else if (symbol < RECALL_QUERY)
        snprintf(out, SYNTHETIC_WORD_BYTES, "n%d%d", needle / VALUES_N, needle % VALUES_N);
    else if (symbol < RECALL_ANSWER)
        snprintf(out, SYNTHETIC_WORD_BYTES, "q%d", symbol - RECALL_QUERY);
    else if (symbol < RECALL_FILLER)
        snprintf(out, SYNTHETIC_WORD_BYTES, "a%d", symbol - RECALL_ANSWER);
    else
        snprintf(out, SYNTHETIC_WORD_BYTES, "f%d", symbol - RECALL_FILLER);
}
