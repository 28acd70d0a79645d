/* generator.h - state, choices and output of a synthetic text.
 *
 * `pending` is the probability of the choices made since the last symbol; generator_emit multiplies
 * it by the symbol's own and resets it to 1. This is exact because the next symbol reveals each of
 * these choices; if a symbol can be reached in several ways, the caller passes the sum. */
#ifndef SYNTHETIC_GENERATOR_H
#define SYNTHETIC_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "synthetic/synthetic.h"
#include "synthetic/synthetic_words.h"

enum { ZIPF_MOST = 512, ENTITIES_MOST = 64, TITLE_N = 4 /* clusters a title names */ };

/* Integer Zipf weights 2^20 / (rank + offset). */
struct zipf {
    int32_t n;
    uint32_t weight[ZIPF_MOST];
    uint64_t total;
};

struct entity {
    int32_t number, mentions, role, year;
};

struct generator {
    const struct synthetic_settings *settings;
    uint64_t random;
    /* The language. */
    struct zipf kind[KINDS_N], determiner, preposition, connective, adverb, role, year, entity,
        cluster;
    int32_t *successor_own;              /* (clusters) */
    int32_t (*preposition_own)[VERBS_N]; /* (clusters): the one a verb prefers */
    char (*spelling_own)[SYNTHETIC_WORD_BYTES];
    /* The document so far. */
    int32_t document_cluster[TITLE_N], section_cluster, last_cluster;
    int32_t entities_n;
    struct entity entities[ENTITIES_MOST];
    uint32_t (*word_count_own)[CLUSTER_N]; /* (clusters) */
    uint32_t (*kind_count_own)[KINDS_N];   /* (clusters) */
    /* The text. */
    double pending;
    bool line_begun, out_of_memory;
    struct synthetic_text text;
    size_t room;
};

/* generator_open - allocates the state of a language with an empty text of the seed. Errors:
 * ERR_NOMEM. */
int generator_open(struct generator **out, const struct synthetic_settings *s, uint64_t seed,
                   struct err *e);
void generator_close(struct generator *g); /* takes NULL */

/* generator_below - uniform in 0 .. n-1, n < 2^32, from integers only. */
uint32_t generator_below(struct generator *g, uint64_t n);
/* generator_chance - true with a share in permille; for mixtures: does not change `pending`. */
bool generator_chance(struct generator *g, int32_t permille);
int32_t generator_zipf(struct generator *g, const struct zipf *z);
double generator_zipf_p(const struct zipf *z, int32_t i);

/* generator_happens - a choice that the next symbol reveals: true with the given share. */
bool generator_happens(struct generator *g, int32_t permille);
/* generator_choose - the same among several ways; the shares add up to 1000. */
int generator_choose(struct generator *g, const int32_t *permille);

/* generator_emit - writes a symbol; p is its probability after the pending choices. */
void generator_emit(struct generator *g, int32_t symbol, double p);
/* generator_emit_drawn - draws one of a class of symbols and writes it. */
void generator_emit_drawn(struct generator *g, int32_t first_symbol, const struct zipf *z);

#endif
