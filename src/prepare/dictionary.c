/* dictionary.c - a hash table over entries kept in an array.
 *
 * While a text is counted the entries stand in order of first appearance; then they are sorted, cut
 * to the limit, filled up, and the table is made again, so that an entry's place is its id. */
#include "prepare/dictionary.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "prepare/parts.h"

enum {
    DICTIONARY_FIRST_SLOTS = 1 << 12,
    DICTIONARY_LIMIT_LOWEST = 8,
    DICTIONARY_ENTRIES_MAX = 1 << 28
};

struct entry {
    const char *word; /* in the dictionary's arena */
    size_t n;         /* bytes */
    int64_t count;
};

struct slot {
    uint32_t hash;
    int32_t place; /* of the entry, from 1; 0: the slot is free */
};

struct dictionary {
    struct arena words;
    struct entry *entries_own;
    int32_t entries_n, entries_room;
    struct slot *slots_own;
    uint32_t slots_n; /* a power of two, at least twice the entries */
};

static uint32_t word_hash(const char *word, size_t n)
{
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a */

    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)word[i]) * 0x100000001B3u;
    return (uint32_t)(h ^ h >> 32);
}

/* The slot that holds the word, or the free slot where it belongs. */
static struct slot *dictionary_slot(const struct dictionary *d, uint32_t hash, const char *word,
                                    size_t n)
{
    for (uint32_t i = hash;; i++) {
        struct slot *s = &d->slots_own[i & (d->slots_n - 1)];
        if (s->place == 0) return s;
        if (s->hash != hash) continue;
        const struct entry *entry = &d->entries_own[s->place - 1];
        if (entry->n == n && memcmp(entry->word, word, n) == 0) return s;
    }
}

/* Makes the table again with slots_n slots for the entries as they stand. */
static int dictionary_index(struct dictionary *d, uint32_t slots_n, struct err *e)
{
    struct slot *slots = calloc(slots_n, sizeof *slots);

    if (!slots) return ERR(e, ERR_NOMEM, "no memory for a dictionary of %d words", d->entries_n);
    free(d->slots_own);
    d->slots_own = slots;
    d->slots_n = slots_n;
    for (int32_t i = 0; i < d->entries_n; i++) {
        uint32_t hash = word_hash(d->entries_own[i].word, d->entries_own[i].n);
        struct slot *s = dictionary_slot(d, hash, d->entries_own[i].word, d->entries_own[i].n);
        *s = (struct slot){.hash = hash, .place = i + 1};
    }
    return 0;
}

/* Adds count to a word's count, with a new entry when it is not there yet. *fresh (may be NULL)
 * tells whether it was not. */
static int dictionary_add(struct dictionary *d, const char *word, size_t n, int64_t count,
                          bool *fresh, struct err *e)
{
    uint32_t hash = word_hash(word, n);
    struct slot *s = dictionary_slot(d, hash, word, n);

    if (fresh) *fresh = s->place == 0;
    if (s->place > 0) {
        d->entries_own[s->place - 1].count += count;
        return 0;
    }
    if (d->entries_n == d->entries_room) {
        if (d->entries_room >= DICTIONARY_ENTRIES_MAX)
            return ERR(e, ERR_DATA, "more than %d different words; is it text?", d->entries_room);
        int32_t room = d->entries_room > 0 ? d->entries_room * 2 : DICTIONARY_FIRST_SLOTS / 2;
        struct entry *grown = realloc(d->entries_own, (size_t)room * sizeof *grown);
        if (!grown) return ERR(e, ERR_NOMEM, "no memory for a dictionary of %d words", room);
        d->entries_own = grown;
        d->entries_room = room;
    }
    d->entries_own[d->entries_n++] =
        (struct entry){.word = arena_strndup(&d->words, word, n), .n = n, .count = count};
    *s = (struct slot){.hash = hash, .place = d->entries_n};
    if ((uint32_t)d->entries_n <= d->slots_n / 2) return 0;
    return dictionary_index(d, d->slots_n * 2, e);
}

/* A dictionary of the four specials. */
static int dictionary_open(struct dictionary **out, struct err *e)
{
    static const char *const specials[] = {"<s>", "<pad>", "</s>", "<unk>"};
    struct dictionary *d = calloc(1, sizeof *d);
    int rc = 0;

    *out = NULL;
    if (!d) return ERR(e, ERR_NOMEM, "no memory for a dictionary");
    arena_init(&d->words);
    TRY_OUT(rc, dictionary_index(d, DICTIONARY_FIRST_SLOTS, e));
    for (int i = 0; i < DICTIONARY_SPECIALS_N; i++)
        TRY_OUT(rc, dictionary_add(d, specials[i], strlen(specials[i]), 1, NULL, e));
    *out = d;
    d = NULL;
out:
    dictionary_close(d);
    return rc;
}

void dictionary_close(struct dictionary *d)
{
    if (!d) return;
    arena_fini(&d->words);
    free(d->entries_own);
    free(d->slots_own);
    free(d);
}

/* UTF-8 keeps code point order under byte comparison. */
static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    int order = memcmp(a->word, b->word, a->n < b->n ? a->n : b->n);
    if (order != 0) return order;
    return (a->n > b->n) - (a->n < b->n);
}

/* Sorts, cuts to the limit and fills up: afterwards places are ids. */
static int dictionary_finish(struct dictionary *d, int32_t limit, struct err *e)
{
    for (int i = 0; i < DICTIONARY_SPECIALS_N; i++) d->entries_own[i].count = 1;
    qsort(d->entries_own + DICTIONARY_SPECIALS_N, (size_t)(d->entries_n - DICTIONARY_SPECIALS_N),
          sizeof *d->entries_own, compare_entries);
    if (limit > 0 && d->entries_n > limit) d->entries_n = limit;
    TRY(dictionary_index(d, d->slots_n, e));
    for (int i = 0; d->entries_n % DICTIONARY_MULTIPLE != 0; i++) {
        char *filler = arena_printf(&d->words, "madeupword%04d", i);
        TRY(dictionary_add(d, filler, strlen(filler), 0, NULL, e));
    }
    return 0;
}

/* Adds the words of a text. */
static int dictionary_count_words(struct dictionary *d, const char *text, size_t n,
                                  const char *place, const struct text_progress *progress,
                                  struct err *e)
{
    struct text_scan scan;

    text_scan_init(&scan, text, n, place, progress);
    for (;;) {
        const char *word;
        size_t word_bytes;
        int item = text_next(&scan, &word, &word_bytes, e);
        TRY(item);
        if (item == TEXT_END) return 0;
        if (item == TEXT_WORD) TRY(dictionary_add(d, word, word_bytes, 1, NULL, e));
    }
}

/* A dictionary for each part of a text while threads count them. */
struct counting {
    struct parts parts;
    struct dictionary *own[PARTS_MAX];
    const char *place;
    const struct text_progress *progress;
};

static int dictionary_count_part(void *context, int32_t i, struct err *e)
{
    struct counting *c = context;
    const char *first = c->parts.bound[i];

    TRY(dictionary_open(&c->own[i], e));
    /* The parts are of a size: the first one's share is that of all. */
    return dictionary_count_words(c->own[i], first, (size_t)(c->parts.bound[i + 1] - first),
                                  c->place, i == 0 ? c->progress : NULL, e);
}

/* Counts the parts side by side and adds them up: sorting follows, so their order is of no account.
 * A fault is looked for again from the start, where its line has its number. */
static int dictionary_count_parts(struct dictionary *d, struct counting *c, struct err *e)
{
    int rc = parts_run(c->parts.n, dictionary_count_part, c, e);

    for (int32_t i = 0; i < c->parts.n; i++) {
        const struct dictionary *part = c->own[i];
        for (int32_t k = 0; rc == 0 && k < part->entries_n; k++)
            rc = dictionary_add(d, part->entries_own[k].word, part->entries_own[k].n,
                                part->entries_own[k].count, NULL, e);
        dictionary_close(c->own[i]);
    }
    return rc;
}

int dictionary_build(struct dictionary **out, const char *text, size_t n, const char *place,
                     int32_t limit, const struct text_progress *progress, struct err *e)
{
    struct counting counting = {.place = place, .progress = progress};
    struct dictionary *d = NULL;
    int rc = 0;

    *out = NULL;
    if (limit != 0 && limit < DICTIONARY_LIMIT_LOWEST)
        return ERR(e, ERR_USAGE,
                   "a vocabulary limit of %d: it must be 0 (all words) or at least %d", limit,
                   DICTIONARY_LIMIT_LOWEST);
    TRY_OUT(rc, dictionary_open(&d, e));
    parts_cut(&counting.parts, parts_threads(n, progress), text, n);
    if (counting.parts.n == 1 || dictionary_count_parts(d, &counting, NULL) < 0) {
        dictionary_close(d);
        d = NULL;
        TRY_OUT(rc, dictionary_open(&d, e));
        TRY_OUT(rc, dictionary_count_words(d, text, n, place, progress, e));
    }
    TRY_OUT(rc, dictionary_finish(d, limit, e));
    *out = d;
    d = NULL;
out:
    dictionary_close(d);
    return rc;
}

/* One line of dict.txt, without its end: the word, a space, the count. */
static int dictionary_parse_line(struct dictionary *d, const char *line, size_t n,
                                 const char *place, int64_t line_number, struct err *e)
{
    char digits[24];
    size_t word_bytes = n;
    int64_t count;
    bool fresh = false;

    while (word_bytes > 0 && line[word_bytes - 1] != ' ') word_bytes--;
    size_t digits_n = n - word_bytes;
    bool whole = word_bytes > 1 && digits_n < sizeof digits;
    if (whole) {
        memcpy(digits, line + word_bytes, digits_n);
        digits[digits_n] = '\0';
        whole = str_to_int(&count, digits) && count >= 0;
    }
    if (!whole)
        return ERR(e, ERR_DATA, "%s:%lld: '%.*s' is not a word, a space and its count", place,
                   (long long)line_number, (int)(n < 80 ? n : 80), line);
    word_bytes--;
    TRY(dictionary_add(d, line, word_bytes, count, &fresh, e));
    if (!fresh)
        return ERR(e, ERR_DATA, "%s:%lld: '%.*s' is there twice", place, (long long)line_number,
                   (int)(word_bytes < 80 ? word_bytes : 80), line);
    return 0;
}

int dictionary_parse(struct dictionary **out, const char *text, size_t n, const char *place,
                     struct err *e)
{
    struct dictionary *d = NULL;
    int rc = 0;
    size_t at = 0;

    *out = NULL;
    TRY_OUT(rc, dictionary_open(&d, e));
    for (int64_t line = 1; at < n; line++) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t bytes = end ? (size_t)(end - text) - at : n - at;
        TRY_OUT(rc, dictionary_parse_line(d, text + at, bytes, place, line, e));
        at += bytes + 1;
    }
    *out = d;
    d = NULL;
out:
    dictionary_close(d);
    return rc;
}

int dictionary_load(struct dictionary **out, const char *path, struct err *e)
{
    struct file_map map;

    *out = NULL;
    TRY(file_map_open(&map, path, e));
    int rc = dictionary_parse(out, map.data, map.n, path, e);
    file_map_close(&map);
    return rc;
}

char *dictionary_text(const struct dictionary *d, struct arena *a, size_t *n)
{
    struct strbuf text;

    strbuf_init(&text, a);
    for (int32_t i = DICTIONARY_SPECIALS_N; i < d->entries_n; i++) {
        strbuf_add_n(&text, d->entries_own[i].word, d->entries_own[i].n);
        strbuf_addf(&text, " %lld\n", (long long)d->entries_own[i].count);
    }
    if (n) *n = text.n;
    return text.text;
}

int dictionary_save(const struct dictionary *d, const char *path, struct err *e)
{
    struct arena arena;
    size_t n;

    arena_init(&arena);
    const char *text = dictionary_text(d, &arena, &n);
    int rc = file_write_atomic(path, text, n, e);
    arena_fini(&arena);
    return rc;
}

int32_t dictionary_size(const struct dictionary *d)
{
    return d->entries_n;
}

int32_t dictionary_find(const struct dictionary *d, const char *word, size_t n)
{
    const struct slot *s = dictionary_slot(d, word_hash(word, n), word, n);
    return s->place > 0 ? s->place - 1 : DICTIONARY_UNKNOWN;
}

const char *dictionary_word(const struct dictionary *d, int32_t id)
{
    assert(id >= 0 && id < d->entries_n);
    return d->entries_own[id].word;
}

int64_t dictionary_count(const struct dictionary *d, int32_t id)
{
    assert(id >= 0 && id < d->entries_n);
    return d->entries_own[id].count;
}
