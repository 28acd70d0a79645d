/* synthetic.c - generates a synthetic text from random choices with known probabilities, by a
 * grammar of documents, sections, paragraphs and sentences.
 *
 * The grammar is an unambiguous automaton: the next symbol reveals each structural choice (happens,
 * choose). If a symbol can be reached in several ways, its probability is the sum. `pending` is the
 * probability of the choices made since the last symbol; emit multiplies it by the symbol's own and
 * resets it to 1. */
#include "synthetic/synthetic_internal.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/str.h"

/* --- choices --- */

/* Draws a word with SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t draw_bits(struct generator *g)
{
    uint64_t z = g->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint32_t synthetic_below(struct generator *g, uint64_t n)
{
    return (uint32_t)((draw_bits(g) >> 32) * n >> 32);
}

/* Draws an index in proportion to the weights, whose sum is total. */
static int32_t drawn(struct generator *g, const uint32_t *weight, uint64_t total)
{
    uint64_t left = synthetic_below(g, total);
    int32_t i = 0;

    while (left >= weight[i]) left -= weight[i++];
    return i;
}

/* True with the given share in permille, for mixtures. Does not change `pending`. */
static bool chance(struct generator *g, int32_t permille)
{
    return synthetic_below(g, 1000) < (uint32_t)permille;
}

static void zipf_init(struct zipf *z, int32_t first, int32_t n, int32_t offset)
{
    *z = (struct zipf){.first = first, .n = n};
    for (int32_t i = 0; i < n; i++) {
        z->weight[i] = (1u << 20) / (uint32_t)(i + offset);
        z->total += z->weight[i];
    }
}

static int32_t zipf_draw(struct generator *g, const struct zipf *z)
{
    return drawn(g, z->weight, z->total);
}

static double zipf_p(const struct zipf *z, int32_t i)
{
    return (double)z->weight[i] / (double)z->total;
}

/* A choice among several alternatives that the next symbol reveals; the shares add up to 1000. */
static int32_t choose_option(struct generator *g, const uint32_t *permille)
{
    int32_t i = drawn(g, permille, 1000);

    g->pending *= permille[i] / 1000.0;
    return i;
}

/* A choice that the next symbol reveals; true with the given share. */
static bool happens(struct generator *g, uint32_t permille)
{
    return choose_option(g, (const uint32_t[]){permille, 1000 - permille}) == 0;
}

void synthetic_emit(struct generator *g, int32_t symbol, double p, int32_t class)
{
    bool ends_line = symbol == SYMBOL_LINE_END || symbol == SYMBOL_DOCUMENT_END;
    const char byte = (char)class;

    if (g->line_begun && !ends_line) strbuf_add(&g->text, " ");
    strbuf_add(&g->text, ends_line ? "\n" : g->spelling[symbol]);
    g->line_begun = !ends_line;
    if (g->settings->classes) strbuf_add_n(&g->classes, &byte, 1);
    g->bits -= log2(g->pending * p);
    g->tokens_n++;
    g->pending = 1;
}

/* Writes a symbol of a document; p is its probability after the pending choices. */
static void emit_symbol(struct generator *g, int32_t symbol, double p)
{
    synthetic_emit(g, symbol, p, 0);
}

/* Draws a symbol of a class and writes it; returns its rank. */
static int32_t emit_drawn(struct generator *g, const struct zipf *z)
{
    int32_t i = zipf_draw(g, z);

    emit_symbol(g, z->first + i, zipf_p(z, i));
    return i;
}

/* The constants of the language: Zipf classes, successors of clusters, prepositions of verbs. */
static void init_language(struct generator *g, struct arena *a)
{
    const struct synthetic_settings *s = g->settings;
    size_t clusters_n = (size_t)s->clusters_n;

    g->successor = arena_array(a, clusters_n, sizeof *g->successor);
    g->verb_preposition = arena_array(a, clusters_n, sizeof *g->verb_preposition);
    g->spelling = arena_array(a, (size_t)synthetic_words_n(s), sizeof *g->spelling);
    g->word_count = arena_array(a, clusters_n, sizeof *g->word_count);
    g->kind_count = arena_array(a, clusters_n, sizeof *g->kind_count);
    zipf_init(&g->kind[KIND_NOUN], 0, NOUNS_N, 6);
    zipf_init(&g->kind[KIND_VERB], NOUNS_N, VERBS_N, 4);
    zipf_init(&g->kind[KIND_ADJECTIVE], NOUNS_N + VERBS_N, ADJECTIVES_N, 4);
    zipf_init(&g->determiner, SYMBOL_DETERMINER, DETERMINERS_N, 1);
    zipf_init(&g->preposition, SYMBOL_PREPOSITION, PREPOSITIONS_N, 1);
    zipf_init(&g->connective, SYMBOL_CONNECTIVE, CONNECTIVES_N, 1);
    zipf_init(&g->adverb, SYMBOL_ADVERB, ADVERBS_N, 1);
    zipf_init(&g->role, SYMBOL_ROLE, ROLES_N, 6);
    zipf_init(&g->year, SYMBOL_YEAR, s->years_n, 16);
    zipf_init(&g->entity, symbol_first_entity(s), s->entities_n, 16);
    zipf_init(&g->cluster, 0, s->clusters_n, 8);
    g->random = s->language_seed;
    for (int32_t i = 0; i < s->clusters_n; i++) g->successor[i] = i;
    for (int32_t i = s->clusters_n - 1; i > 0; i--) {
        uint32_t j = synthetic_below(g, (uint64_t)i + 1);
        int32_t kept = g->successor[i];
        g->successor[i] = g->successor[j];
        g->successor[j] = kept;
    }
    for (int32_t i = 0; i < s->clusters_n; i++)
        for (int32_t verb = 0; verb < VERBS_N; verb++)
            g->verb_preposition[i][verb] = (int32_t)synthetic_below(g, PREPOSITIONS_N);
    for (int32_t i = 0; i < synthetic_words_n(s); i++) synthetic_word(g->spelling[i], s, i);
}

/* --- the grammar --- */

/* Shares in permille. */
enum {
    RECALL = 950,           /* share of repeated roles and years that are the introduced one */
    PREFERRED = 800,        /* share of prepositions that are the verb's preferred one */
    CONNECTED_ENTITY = 400, /* share of entities after a connective or a quotation mark */
    OBJECT_ENTITY = 300     /* share of objects that are entities */
};

static void count_word(struct generator *g, int32_t cluster, enum synthetic_kind kind, int32_t word)
{
    g->word_count[cluster][word]++;
    g->kind_count[cluster][kind]++;
    g->last_cluster = cluster;
}

/* Probability of a cluster in the mixture of `content`. */
static double content_cluster_p(const struct generator *g, int32_t cluster)
{
    const struct synthetic_settings *s = g->settings;
    uint32_t any = 1000 - s->from_section - s->from_document - s->from_successor;
    double permille = any * zipf_p(&g->cluster, cluster);

    if (cluster == g->section_cluster) permille += s->from_section;
    for (int i = 0; i < TITLE_N; i++)
        if (g->document_cluster[i] == cluster) permille += (double)s->from_document / TITLE_N;
    if (cluster == g->successor[g->last_cluster]) permille += s->from_successor;
    return permille / 1000.0;
}

static int32_t content_cluster(struct generator *g)
{
    const struct synthetic_settings *s = g->settings;
    const uint32_t share[] = {s->from_section, s->from_document, s->from_successor, 1000};
    int32_t from = drawn(g, share, 1000);

    if (from == 0) return g->section_cluster;
    if (from == 1) return g->document_cluster[synthetic_below(g, TITLE_N)];
    if (from == 2) return g->successor[g->last_cluster];
    return zipf_draw(g, &g->cluster);
}

/* Writes a content word: a mixture over clusters, then over the words of that cluster and kind,
 * either used before in the document (in proportion) or any (Zipf). Returns cluster * CLUSTER_N +
 * word. */
static int32_t content(struct generator *g, enum synthetic_kind kind)
{
    int32_t cluster = content_cluster(g);
    double cluster_p = content_cluster_p(g, cluster);
    const struct zipf *z = &g->kind[kind];
    const uint32_t *counts = &g->word_count[cluster][z->first];
    uint32_t total = g->kind_count[cluster][kind];
    double reuse = total > 0 ? g->settings->reuse / 1000.0 : 0;
    bool used = total > 0 && chance(g, g->settings->reuse);
    int32_t word = used ? drawn(g, counts, total) : zipf_draw(g, z);
    double word_p = (1 - reuse) * zipf_p(z, word);
    if (total > 0) word_p += reuse * counts[word] / total;
    count_word(g, cluster, kind, z->first + word);
    int32_t number = cluster * CLUSTER_N + z->first + word;
    emit_symbol(g, symbol_first_cluster(g->settings) + number, cluster_p * word_p);
    return number;
}

static int32_t entity_slot(const struct generator *g, int32_t number)
{
    for (int32_t i = 0; i < g->entities_n; i++)
        if (g->entities[i].number == number) return i;
    return -1;
}

/* E ( role , year ) */
static void introduce(struct generator *g, int32_t number)
{
    struct entity *entity = &g->entities[g->entities_n];

    g->mentions[g->entities_n++] = 1;
    entity->number = number;
    emit_symbol(g, SYMBOL_OPEN, 1);
    entity->role = emit_drawn(g, &g->role);
    emit_symbol(g, SYMBOL_COMMA, 1);
    entity->year = emit_drawn(g, &g->year);
    emit_symbol(g, SYMBOL_CLOSE, 1);
}

/* Writes an entity: any (Zipf), or one mentioned before (in proportion). Returns the index of an
 * entity mentioned before. Otherwise introduces it and returns -1. */
static int32_t mention(struct generator *g)
{
    const struct synthetic_settings *s = g->settings;
    uint32_t total = 0, newness = 1000;

    for (int32_t i = 0; i < g->entities_n; i++) total += g->mentions[i];
    if (g->entities_n >= s->entities_most) {
        newness = 0;
    } else if (g->entities_n > 0) {
        newness = 1000u * (uint32_t)s->newness / ((uint32_t)s->newness + total);
        if (newness < (uint32_t)s->newness_least) newness = (uint32_t)s->newness_least;
    }
    bool any = chance(g, (int32_t)newness);
    int32_t number =
        any ? zipf_draw(g, &g->entity) : g->entities[drawn(g, g->mentions, total)].number;
    int32_t slot = entity_slot(g, number);
    double p = newness / 1000.0 * zipf_p(&g->entity, number);
    if (slot >= 0) p += (1 - newness / 1000.0) * g->mentions[slot] / total;
    emit_symbol(g, g->entity.first + number, p);
    if (slot < 0)
        introduce(g, number);
    else
        g->mentions[slot]++;
    return slot;
}

/* determiner [adjective] noun */
static void noun_phrase(struct generator *g)
{
    emit_drawn(g, &g->determiner);
    if (happens(g, 350)) content(g, KIND_ADJECTIVE);
    content(g, KIND_NOUN);
}

/* Returns the result of mention; -1 for a noun phrase. */
static int32_t phrase_or_entity(struct generator *g, uint32_t entity_permille)
{
    if (happens(g, entity_permille)) return mention(g);
    noun_phrase(g);
    return -1;
}

/* Repeats a role or year, or draws one of n (possibly the same). */
static void recall_entity(struct generator *g, int32_t first_symbol, int32_t introduced, int32_t n)
{
    int32_t value = chance(g, RECALL) ? introduced : (int32_t)synthetic_below(g, (uint64_t)n);
    double by_chance = (1000 - RECALL) / 1000.0 / n;

    emit_symbol(g, first_symbol + value, (value == introduced ? RECALL / 1000.0 : 0) + by_chance);
}

/* The subject of a sentence; *quoted: whether it opens a quotation. */
static void subject(struct generator *g, bool *quoted)
{
    static const uint32_t after_mention[] = {150, 150, 700}; /* role, ( year ), verb */
    int32_t slot = -1;
    int32_t opening = choose_option(g, g->settings->opening);

    *quoted = opening == 3;
    if (opening == 0) noun_phrase(g);
    if (opening == 1) slot = mention(g);
    if (opening == 2) {
        emit_drawn(g, &g->connective);
        emit_symbol(g, SYMBOL_COMMA, 1);
    }
    if (opening == 3) emit_symbol(g, SYMBOL_QUOTE, 1);
    if (opening >= 2) slot = phrase_or_entity(g, CONNECTED_ENTITY);
    if (slot < 0) return;
    int32_t way = choose_option(g, after_mention);
    if (way == 0) recall_entity(g, SYMBOL_ROLE, g->entities[slot].role, ROLES_N);
    if (way != 1) return;
    emit_symbol(g, SYMBOL_OPEN, 1);
    recall_entity(g, SYMBOL_YEAR, g->entities[slot].year, g->settings->years_n);
    emit_symbol(g, SYMBOL_CLOSE, 1);
}

/* preposition object; the preposition is usually the verb's preferred one. */
static void preposition_phrase(struct generator *g, int32_t verb)
{
    int32_t own = g->verb_preposition[verb / CLUSTER_N][verb % CLUSTER_N - NOUNS_N];
    int32_t drawn = chance(g, PREFERRED) ? own : zipf_draw(g, &g->preposition);
    double by_chance = (1000 - PREFERRED) / 1000.0 * zipf_p(&g->preposition, drawn);

    emit_symbol(g, SYMBOL_PREPOSITION + drawn, (drawn == own ? PREFERRED / 1000.0 : 0) + by_chance);
    phrase_or_entity(g, OBJECT_ENTITY);
}

/* verb [adverb] object [preposition phrase]; returns whether a comma and another clause follow. */
static bool clause(struct generator *g, bool first)
{
    /* preposition phrase, another clause, end */
    static const uint32_t after_first[] = {480, 150, 370}, after_other[] = {480, 0, 520};
    int32_t verb = content(g, KIND_VERB);
    bool more;

    if (happens(g, 150)) emit_drawn(g, &g->adverb);
    phrase_or_entity(g, OBJECT_ENTITY);
    int32_t way = choose_option(g, first ? after_first : after_other);
    if (way == 0) {
        preposition_phrase(g, verb);
        more = first && !happens(g, 800);
    } else {
        more = way == 1;
    }
    if (more) emit_symbol(g, SYMBOL_COMMA, 1);
    return more;
}

static void sentence(struct generator *g)
{
    bool quoted, first = true;

    subject(g, &quoted);
    while (clause(g, first)) first = false;
    if (quoted) emit_symbol(g, SYMBOL_QUOTE, 1);
    emit_symbol(g, SYMBOL_PERIOD, 1);
}

/* Writes a noun of a title or heading. */
static void heading_noun(struct generator *g, int32_t cluster, double cluster_p, int32_t noun)
{
    count_word(g, cluster, KIND_NOUN, noun);
    emit_symbol(g, symbol_first_cluster(g->settings) + cluster * CLUSTER_N + noun,
                cluster_p * zipf_p(&g->kind[KIND_NOUN], noun));
}

/* = noun noun noun noun = */
static void title(struct generator *g)
{
    emit_symbol(g, SYMBOL_HEADING, 1);
    for (int i = 0; i < TITLE_N; i++) {
        int32_t cluster = zipf_draw(g, &g->cluster);
        int32_t noun = zipf_draw(g, &g->kind[KIND_NOUN]);
        g->document_cluster[i] = cluster;
        heading_noun(g, cluster, zipf_p(&g->cluster, cluster), noun);
    }
    emit_symbol(g, SYMBOL_HEADING, 1);
    emit_symbol(g, SYMBOL_LINE_END, 1);
}

/* = = noun = = */
static void section_heading(struct generator *g)
{
    emit_symbol(g, SYMBOL_HEADING, 1);
    emit_symbol(g, SYMBOL_HEADING, 1);
    int32_t cluster = g->document_cluster[synthetic_below(g, TITLE_N)];
    double p = 0;
    for (int i = 0; i < TITLE_N; i++) p += g->document_cluster[i] == cluster ? 1.0 / TITLE_N : 0;
    g->section_cluster = cluster;
    heading_noun(g, cluster, p, zipf_draw(g, &g->kind[KIND_NOUN]));
    emit_symbol(g, SYMBOL_HEADING, 1);
    emit_symbol(g, SYMBOL_HEADING, 1);
    emit_symbol(g, SYMBOL_LINE_END, 1);
}

/* Writes paragraphs until the section ends, which the next symbol reveals. */
static void section(struct generator *g)
{
    section_heading(g);
    do {
        do sentence(g);
        while (!happens(g, g->settings->paragraph_end));
        emit_symbol(g, SYMBOL_LINE_END, 1);
    } while (!happens(g, g->settings->section_end));
}

static void document(struct generator *g)
{
    size_t clusters_n = (size_t)g->settings->clusters_n;
    int32_t sections_n = 0;

    memset(g->word_count, 0, clusters_n * sizeof *g->word_count);
    memset(g->kind_count, 0, clusters_n * sizeof *g->kind_count);
    g->entities_n = 0;
    title(g);
    do {
        section(g);
        sections_n++;
    } while (sections_n < g->settings->sections_least || !happens(g, g->settings->document_end));
    emit_symbol(g, SYMBOL_DOCUMENT_END, 1);
}

void synthetic_make(struct synthetic_text *out, struct arena *a, const struct synthetic_settings *s,
                    uint64_t seed, int64_t tokens_n)
{
    struct generator *g = arena_alloc(a, sizeof *g);

    static void (*const documents[])(struct generator * g) = {document, synthetic_recall_document};

    assert(s->entities_most <= ENTITIES_MOST && s->entities_n <= ZIPF_MOST);
    g->settings = s;
    init_language(g, a);
    strbuf_init(&g->text, a);
    strbuf_init(&g->classes, a);
    g->random = seed * 0x2545F4914F6CDD1Du + 1;
    g->pending = 1;
    for (; g->tokens_n < tokens_n; g->documents_n++) documents[s->task](g);
    *out = (struct synthetic_text){.text = g->text.text,
                                   .n = g->text.n,
                                   .tokens_n = g->tokens_n,
                                   .documents_n = g->documents_n,
                                   .bits = g->bits,
                                   .classes = s->classes ? g->classes.text : NULL};
}

double synthetic_floor(const struct synthetic_text *t)
{
    return exp2(t->bits / (double)t->tokens_n);
}
