/* synthetic_internal.h - the generator of an embedded corpus, shared by documents and the task. */
#ifndef SYNTHETIC_SYNTHETIC_INTERNAL_H
#define SYNTHETIC_SYNTHETIC_INTERNAL_H

#include <stdbool.h>

#include "base/str.h"
#include "synthetic/synthetic.h"

enum { SYNTHETIC_KEYS_N = 8 };
enum { ZIPF_MOST = 512, ENTITIES_MOST = 64, TITLE_N = 4 /* clusters in a title */ };

/* A class of symbols from `first` on with integer Zipf weights 2^20 / (rank + offset). */
struct zipf {
    int32_t first, n;
    uint32_t weight[ZIPF_MOST];
    uint64_t total;
};

struct entity {
    int32_t number, role, year;
};

struct generator {
    const struct synthetic_settings *settings;
    uint64_t random;
    /* The language. */
    struct zipf kind[KINDS_N], determiner, preposition, connective, adverb, role, year, entity,
        cluster;
    int32_t *successor;                   /* (clusters) */
    int32_t (*verb_preposition)[VERBS_N]; /* (clusters): preferred preposition of each verb */
    char (*spelling)[SYNTHETIC_WORD_BYTES];
    /* The document so far. */
    int32_t document_cluster[TITLE_N], section_cluster, last_cluster;
    int32_t entities_n;
    struct entity entities[ENTITIES_MOST];
    uint32_t mentions[ENTITIES_MOST];
    uint32_t (*word_count)[CLUSTER_N]; /* (clusters) */
    uint32_t (*kind_count)[KINDS_N];   /* (clusters) */
    /* The task so far. */
    int32_t value[SYNTHETIC_KEYS_N];  /* of the latest needle of each key */
    int64_t needle[SYNTHETIC_KEYS_N]; /* the token of that needle */
    bool fresh[SYNTHETIC_KEYS_N];
    /* The text. */
    double pending;
    bool line_begun;
    struct strbuf text, classes;
    int64_t tokens_n, documents_n;
    double bits;
};

/* synthetic_below - a uniform number in 0 .. n-1, n < 2^32, with integer arithmetic. */
uint32_t synthetic_below(struct generator *g, uint64_t n);
/* synthetic_emit - writes a target of a class; p is its probability after the pending choices. */
void synthetic_emit(struct generator *g, int32_t symbol, double p, int32_t class);

/* --- synthetic_recall.c: the documents of the task, and its words --- */
void synthetic_recall_document(struct generator *g);
int32_t synthetic_recall_words_n(void);
void synthetic_recall_word(char out[SYNTHETIC_WORD_BYTES], int32_t symbol);

#endif
