/* synthetic.c - the grammar of the synthetic texts: documents, sections, paragraphs, sentences.
 *
 * It is an unambiguous automaton: the next symbol reveals each structural choice
 * (generator_happens, generator_choose). If a symbol can be reached in several ways, its
 * probability is the sum. */
#include "synthetic/synthetic.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "synthetic/generator.h"

/* Shares in permille. */
enum {
    RECALL = 950,           /* a repeated role or year is the introduced one */
    PREFERRED = 800,        /* the preposition is the verb's own */
    CONNECTED_ENTITY = 400, /* an entity after a connective or a quotation mark */
    OBJECT_ENTITY = 300     /* an object is an entity */
};

static const int32_t kind_first[KINDS_N] = {0, NOUNS_N, NOUNS_N + VERBS_N};

static void count_word(struct generator *g, int32_t cluster, enum synthetic_kind kind, int32_t word)
{
    g->word_count_own[cluster][word]++;
    g->kind_count_own[cluster][kind]++;
    g->last_cluster = cluster;
}

/* Share of the mixture in content_cluster that falls to a cluster. */
static double content_cluster_p(const struct generator *g, int32_t cluster)
{
    const struct synthetic_settings *s = g->settings;
    int32_t any = 1000 - s->from_section - s->from_document - s->from_successor;
    double permille = any * generator_zipf_p(&g->cluster, cluster);

    if (cluster == g->section_cluster) permille += s->from_section;
    for (int i = 0; i < TITLE_N; i++)
        if (g->document_cluster[i] == cluster) permille += (double)s->from_document / TITLE_N;
    if (cluster == g->successor_own[g->last_cluster]) permille += s->from_successor;
    return permille / 1000.0;
}

static int32_t content_cluster(struct generator *g)
{
    const struct synthetic_settings *s = g->settings;
    int32_t u = (int32_t)generator_below(g, 1000);

    if (u < s->from_section) return g->section_cluster;
    u -= s->from_section;
    if (u < s->from_document) return g->document_cluster[generator_below(g, TITLE_N)];
    u -= s->from_document;
    if (u < s->from_successor) return g->successor_own[g->last_cluster];
    return generator_zipf(g, &g->cluster);
}

/* A content word: a mixture over clusters, then over the words of that cluster and kind, which are
 * those used before in the document (in proportion) or any (Zipf). Returns cluster * CLUSTER_N +
 * word. */
static int32_t content(struct generator *g, enum synthetic_kind kind)
{
    int32_t cluster = content_cluster(g);
    double cluster_p = content_cluster_p(g, cluster);
    const struct zipf *z = &g->kind[kind];
    const uint32_t *counts = &g->word_count_own[cluster][kind_first[kind]];
    uint32_t total = g->kind_count_own[cluster][kind];
    double reuse = total > 0 ? g->settings->reuse / 1000.0 : 0;
    int32_t word = 0;

    if (total > 0 && generator_chance(g, g->settings->reuse)) {
        uint32_t left = generator_below(g, total);
        while (left >= counts[word]) left -= counts[word++];
    } else {
        word = generator_zipf(g, z);
    }
    double word_p = (1 - reuse) * generator_zipf_p(z, word);
    if (total > 0) word_p += reuse * counts[word] / total;
    count_word(g, cluster, kind, kind_first[kind] + word);
    int32_t number = cluster * CLUSTER_N + kind_first[kind] + word;
    generator_emit(g, symbol_first_cluster(g->settings) + number, cluster_p * word_p);
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
    struct entity *entity = &g->entities[g->entities_n++];

    *entity = (struct entity){.number = number, .mentions = 1};
    generator_emit(g, SYMBOL_OPEN, 1);
    entity->role = generator_zipf(g, &g->role);
    generator_emit(g, SYMBOL_ROLE + entity->role, generator_zipf_p(&g->role, entity->role));
    generator_emit(g, SYMBOL_COMMA, 1);
    entity->year = generator_zipf(g, &g->year);
    generator_emit(g, SYMBOL_YEAR + entity->year, generator_zipf_p(&g->year, entity->year));
    generator_emit(g, SYMBOL_CLOSE, 1);
}

/* An entity: any (Zipf), or one mentioned before (in proportion). Returns its slot if it was
 * mentioned before; otherwise it is introduced and -1 returned. */
static int32_t mention(struct generator *g)
{
    const struct synthetic_settings *s = g->settings;
    uint32_t total = 0, newness = 1000;
    int32_t number;

    for (int32_t i = 0; i < g->entities_n; i++) total += (uint32_t)g->entities[i].mentions;
    if (g->entities_n >= s->entities_most) {
        newness = 0;
    } else if (g->entities_n > 0) {
        newness = 1000u * (uint32_t)s->newness / ((uint32_t)s->newness + total);
        if (newness < (uint32_t)s->newness_least) newness = (uint32_t)s->newness_least;
    }
    if (generator_below(g, 1000) < newness) {
        number = generator_zipf(g, &g->entity);
    } else {
        int32_t left = (int32_t)generator_below(g, total), i = 0;
        while (left >= g->entities[i].mentions) left -= g->entities[i++].mentions;
        number = g->entities[i].number;
    }
    int32_t slot = entity_slot(g, number);
    double p = newness / 1000.0 * generator_zipf_p(&g->entity, number);
    if (slot >= 0) p += (1 - newness / 1000.0) * g->entities[slot].mentions / total;
    generator_emit(g, symbol_first_entity(s) + number, p);
    if (slot < 0)
        introduce(g, number);
    else
        g->entities[slot].mentions++;
    return slot;
}

/* determiner [adjective] noun */
static void noun_phrase(struct generator *g)
{
    generator_emit_drawn(g, SYMBOL_DETERMINER, &g->determiner);
    if (generator_happens(g, 350)) content(g, KIND_ADJECTIVE);
    content(g, KIND_NOUN);
}

/* Returns as mention; -1 for a noun phrase. */
static int32_t phrase_or_entity(struct generator *g, int32_t entity_permille)
{
    if (generator_happens(g, entity_permille)) return mention(g);
    noun_phrase(g);
    return -1;
}

/* Repeats a role or year, or draws one of all n (possibly the same). */
static void recall(struct generator *g, int32_t first_symbol, int32_t introduced, int32_t n)
{
    int32_t value =
        generator_chance(g, RECALL) ? introduced : (int32_t)generator_below(g, (uint64_t)n);
    double by_chance = (1000 - RECALL) / 1000.0 / n;

    generator_emit(g, first_symbol + value,
                   (value == introduced ? RECALL / 1000.0 : 0) + by_chance);
}

/* The subject of a sentence; *quoted: whether it opens a quotation. */
static void subject(struct generator *g, bool *quoted)
{
    static const int32_t after_mention[] = {150, 150, 700}; /* role, ( year ), verb */
    int32_t slot = -1;
    int opening = generator_choose(g, g->settings->opening);

    *quoted = opening == 3;
    if (opening == 0) noun_phrase(g);
    if (opening == 1) slot = mention(g);
    if (opening == 2) {
        generator_emit_drawn(g, SYMBOL_CONNECTIVE, &g->connective);
        generator_emit(g, SYMBOL_COMMA, 1);
    }
    if (opening == 3) generator_emit(g, SYMBOL_QUOTE, 1);
    if (opening >= 2) slot = phrase_or_entity(g, CONNECTED_ENTITY);
    if (slot < 0) return;
    int way = generator_choose(g, after_mention);
    if (way == 0) recall(g, SYMBOL_ROLE, g->entities[slot].role, ROLES_N);
    if (way != 1) return;
    generator_emit(g, SYMBOL_OPEN, 1);
    recall(g, SYMBOL_YEAR, g->entities[slot].year, g->settings->years_n);
    generator_emit(g, SYMBOL_CLOSE, 1);
}

/* preposition object; the preposition is usually the one that the verb prefers. */
static void preposition_phrase(struct generator *g, int32_t verb)
{
    int32_t own = g->preposition_own[verb / CLUSTER_N][verb % CLUSTER_N - NOUNS_N];
    int32_t drawn = generator_chance(g, PREFERRED) ? own : generator_zipf(g, &g->preposition);
    double by_chance = (1000 - PREFERRED) / 1000.0 * generator_zipf_p(&g->preposition, drawn);

    generator_emit(g, SYMBOL_PREPOSITION + drawn,
                   (drawn == own ? PREFERRED / 1000.0 : 0) + by_chance);
    phrase_or_entity(g, OBJECT_ENTITY);
}

/* verb [adverb] object [preposition phrase]; returns whether a comma follows and another clause. */
static bool clause(struct generator *g, bool first)
{
    /* preposition phrase, another clause, end */
    static const int32_t after_first[] = {480, 150, 370}, after_other[] = {480, 0, 520};
    int32_t verb = content(g, KIND_VERB);
    bool more;

    if (generator_happens(g, 150)) generator_emit_drawn(g, SYMBOL_ADVERB, &g->adverb);
    phrase_or_entity(g, OBJECT_ENTITY);
    int way = generator_choose(g, first ? after_first : after_other);
    if (way == 0) {
        preposition_phrase(g, verb);
        more = first && !generator_happens(g, 800);
    } else {
        more = way == 1;
    }
    if (more) generator_emit(g, SYMBOL_COMMA, 1);
    return more;
}

static void sentence(struct generator *g)
{
    bool quoted, first = true;

    subject(g, &quoted);
    while (clause(g, first)) first = false;
    if (quoted) generator_emit(g, SYMBOL_QUOTE, 1);
    generator_emit(g, SYMBOL_PERIOD, 1);
}

/* A noun of a title or heading. */
static void heading_noun(struct generator *g, int32_t cluster, double cluster_p, int32_t noun)
{
    count_word(g, cluster, KIND_NOUN, noun);
    generator_emit(g, symbol_first_cluster(g->settings) + cluster * CLUSTER_N + noun,
                   cluster_p * generator_zipf_p(&g->kind[KIND_NOUN], noun));
}

/* = noun noun noun noun = */
static void title(struct generator *g)
{
    generator_emit(g, SYMBOL_HEADING, 1);
    for (int i = 0; i < TITLE_N; i++) {
        int32_t cluster = generator_zipf(g, &g->cluster);
        int32_t noun = generator_zipf(g, &g->kind[KIND_NOUN]);
        g->document_cluster[i] = cluster;
        heading_noun(g, cluster, generator_zipf_p(&g->cluster, cluster), noun);
    }
    generator_emit(g, SYMBOL_HEADING, 1);
    generator_emit(g, SYMBOL_LINE_END, 1);
}

/* = = noun = = */
static void section_heading(struct generator *g)
{
    generator_emit(g, SYMBOL_HEADING, 1);
    generator_emit(g, SYMBOL_HEADING, 1);
    int32_t cluster = g->document_cluster[generator_below(g, TITLE_N)];
    double p = 0;
    for (int i = 0; i < TITLE_N; i++) p += g->document_cluster[i] == cluster ? 1.0 / TITLE_N : 0;
    g->section_cluster = cluster;
    heading_noun(g, cluster, p, generator_zipf(g, &g->kind[KIND_NOUN]));
    generator_emit(g, SYMBOL_HEADING, 1);
    generator_emit(g, SYMBOL_HEADING, 1);
    generator_emit(g, SYMBOL_LINE_END, 1);
}

/* Paragraphs until the section ends, which the next symbol reveals. */
static void section(struct generator *g)
{
    section_heading(g);
    do {
        do sentence(g);
        while (!generator_happens(g, g->settings->paragraph_end));
        generator_emit(g, SYMBOL_LINE_END, 1);
    } while (!generator_happens(g, g->settings->section_end));
}

static void document(struct generator *g)
{
    size_t clusters_n = (size_t)g->settings->clusters_n;
    int32_t sections_n = 0;

    memset(g->word_count_own, 0, clusters_n * sizeof *g->word_count_own);
    memset(g->kind_count_own, 0, clusters_n * sizeof *g->kind_count_own);
    g->entities_n = 0;
    title(g);
    do {
        section(g);
        sections_n++;
    } while (sections_n < g->settings->sections_least ||
             !generator_happens(g, g->settings->document_end));
    generator_emit(g, SYMBOL_DOCUMENT_END, 1);
    g->text.documents_n++;
}

int synthetic_make(struct synthetic_text *out, const struct synthetic_settings *s, uint64_t seed,
                   int64_t tokens_n, struct err *e)
{
    struct generator *g = NULL;

    assert(s->entities_most <= ENTITIES_MOST && s->entities_n <= ZIPF_MOST);
    *out = (struct synthetic_text){0};
    TRY(generator_open(&g, s, seed, e));
    while (g->text.tokens_n < tokens_n && !g->out_of_memory) document(g);
    int rc = g->out_of_memory
                 ? ERR(e, ERR_NOMEM, "%s: out of memory while generating its text", s->name)
                 : 0;
    if (rc == 0) {
        *out = g->text;
        g->text = (struct synthetic_text){0};
    }
    generator_close(g);
    return rc;
}

void synthetic_free(struct synthetic_text *t)
{
    if (!t) return;
    free(t->text);
    *t = (struct synthetic_text){0};
}

double synthetic_floor(const struct synthetic_text *t)
{
    return exp2(t->bits / (double)t->tokens_n);
}

int synthetic_write(const struct synthetic_settings *s, const char *folder,
                    double floor_perplexity[CORPUS_SPLITS_N], struct err *e)
{
    struct synthetic_text text = {0};
    struct arena arena;
    int rc = 0;

    arena_init(&arena);
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        const char *path = arena_printf(&arena, "%s/%s.txt", folder, corpus_split_name(i));
        TRY_OUT(rc, synthetic_make(&text, s, (uint64_t)i + 1, s->tokens_n[i], e));
        floor_perplexity[i] = synthetic_floor(&text);
        TRY_OUT(rc, file_write_atomic(path, text.text, text.n, e));
        synthetic_free(&text);
    }
out:
    synthetic_free(&text);
    arena_fini(&arena);
    return rc;
}
