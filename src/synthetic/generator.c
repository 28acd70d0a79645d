/* generator.c - draws, choices and output of a synthetic text; the constants of its language. */
#include "synthetic/generator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(struct generator *g)
{
    uint64_t z = g->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint32_t generator_below(struct generator *g, uint64_t n)
{
    return (uint32_t)((draw(g) >> 32) * n >> 32);
}

bool generator_chance(struct generator *g, int32_t permille)
{
    return generator_below(g, 1000) < (uint32_t)permille;
}

static void zipf_init(struct zipf *z, int32_t n, int32_t offset)
{
    *z = (struct zipf){.n = n};
    for (int32_t i = 0; i < n; i++) {
        z->weight[i] = (1u << 20) / (uint32_t)(i + offset);
        z->total += z->weight[i];
    }
}

int32_t generator_zipf(struct generator *g, const struct zipf *z)
{
    uint64_t left = generator_below(g, z->total);
    int32_t i = 0;

    while (left >= z->weight[i]) left -= z->weight[i++];
    return i;
}

double generator_zipf_p(const struct zipf *z, int32_t i)
{
    return (double)z->weight[i] / (double)z->total;
}

bool generator_happens(struct generator *g, int32_t permille)
{
    bool yes = generator_chance(g, permille);

    g->pending *= (yes ? permille : 1000 - permille) / 1000.0;
    return yes;
}

int generator_choose(struct generator *g, const int32_t *permille)
{
    int32_t left = (int32_t)generator_below(g, 1000);
    int i = 0;

    while (left >= permille[i]) left -= permille[i++];
    g->pending *= permille[i] / 1000.0;
    return i;
}

static void add_bytes(struct generator *g, const char *bytes, size_t n)
{
    if (g->text.n + n > g->room && !g->out_of_memory) {
        size_t room = (g->text.n + n) * 2;
        char *grown = realloc(g->text.text, room);
        if (grown) {
            g->text.text = grown;
            g->room = room;
        }
        g->out_of_memory = !grown;
    }
    if (g->out_of_memory) return;
    memcpy(g->text.text + g->text.n, bytes, n);
    g->text.n += n;
}

void generator_emit(struct generator *g, int32_t symbol, double p)
{
    bool ends_line = symbol == SYMBOL_LINE_END || symbol == SYMBOL_DOCUMENT_END;

    if (g->line_begun && !ends_line) add_bytes(g, " ", 1);
    if (ends_line)
        add_bytes(g, "\n", 1);
    else
        add_bytes(g, g->spelling_own[symbol], strlen(g->spelling_own[symbol]));
    g->line_begun = !ends_line;
    g->text.bits -= log2(g->pending * p);
    g->text.tokens_n++;
    g->pending = 1;
}

void generator_emit_drawn(struct generator *g, int32_t first_symbol, const struct zipf *z)
{
    int32_t i = generator_zipf(g, z);
    generator_emit(g, first_symbol + i, generator_zipf_p(z, i));
}

/* The constants of the language: Zipf classes, successors of clusters, prepositions of verbs. */
static void generator_init_language(struct generator *g)
{
    const struct synthetic_settings *s = g->settings;

    zipf_init(&g->kind[KIND_NOUN], NOUNS_N, 6);
    zipf_init(&g->kind[KIND_VERB], VERBS_N, 4);
    zipf_init(&g->kind[KIND_ADJECTIVE], ADJECTIVES_N, 4);
    zipf_init(&g->determiner, DETERMINERS_N, 1);
    zipf_init(&g->preposition, PREPOSITIONS_N, 1);
    zipf_init(&g->connective, CONNECTIVES_N, 1);
    zipf_init(&g->adverb, ADVERBS_N, 1);
    zipf_init(&g->role, ROLES_N, 6);
    zipf_init(&g->year, s->years_n, 16);
    zipf_init(&g->entity, s->entities_n, 16);
    zipf_init(&g->cluster, s->clusters_n, 8);
    g->random = s->language_seed;
    for (int32_t i = 0; i < s->clusters_n; i++) g->successor_own[i] = i;
    for (int32_t i = s->clusters_n - 1; i > 0; i--) {
        uint32_t j = generator_below(g, (uint64_t)i + 1);
        int32_t kept = g->successor_own[i];
        g->successor_own[i] = g->successor_own[j];
        g->successor_own[j] = kept;
    }
    for (int32_t i = 0; i < s->clusters_n; i++)
        for (int32_t verb = 0; verb < VERBS_N; verb++)
            g->preposition_own[i][verb] = (int32_t)generator_below(g, PREPOSITIONS_N);
    for (int32_t i = 0; i < synthetic_words_n(s); i++) synthetic_word(g->spelling_own[i], s, i);
}

int generator_open(struct generator **out, const struct synthetic_settings *s, uint64_t seed,
                   struct err *e)
{
    struct generator *g = calloc(1, sizeof *g);
    size_t clusters_n = (size_t)s->clusters_n;

    *out = NULL;
    if (!g) return ERR(e, ERR_NOMEM, "%s: out of memory while generating its text", s->name);
    g->settings = s;
    g->successor_own = calloc(clusters_n, sizeof *g->successor_own);
    g->preposition_own = calloc(clusters_n, sizeof *g->preposition_own);
    g->spelling_own = calloc((size_t)synthetic_words_n(s), sizeof *g->spelling_own);
    g->word_count_own = calloc(clusters_n, sizeof *g->word_count_own);
    g->kind_count_own = calloc(clusters_n, sizeof *g->kind_count_own);
    if (!g->successor_own || !g->preposition_own || !g->spelling_own || !g->word_count_own ||
        !g->kind_count_own) {
        generator_close(g);
        return ERR(e, ERR_NOMEM, "%s: out of memory while generating its text", s->name);
    }
    generator_init_language(g);
    g->random = seed * 0x2545F4914F6CDD1Du + 1;
    g->pending = 1;
    *out = g;
    return 0;
}

void generator_close(struct generator *g)
{
    if (!g) return;
    free(g->successor_own);
    free(g->preposition_own);
    free(g->spelling_own);
    free(g->word_count_own);
    free(g->kind_count_own);
    synthetic_free(&g->text);
    free(g);
}
