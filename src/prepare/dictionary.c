/* dictionary.c - a hash table from words to indices of an array of entries.
 *
 * During counting, entries are in order of first occurrence. Then they are sorted and cut to the
 * limit, and the table is updated, so that an entry's index is its id. */
#include "prepare/dictionary.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "data/tokens.h"

enum { DICTIONARY_LIMIT_LOWEST = 8, DICTIONARY_ENTRIES_MAX = 1 << 28 };

struct entry {
    const char *word; /* owned by the table */
    size_t n;         /* bytes */
    int64_t count;
};

struct dictionary {
    struct arena arena;
    struct map ids; /* of each word; TOKEN_UNKNOWN for words beyond the limit */
    struct {
        struct entry *item;
        int32_t n, capacity;
    } entries;
};

static void dictionary_append(struct dictionary *d, int32_t *id, size_t n, int64_t count)
{
    *id = d->entries.n;
    *vec_push(&d->arena, &d->entries) = (struct entry){.word = map_key(id), .n = n, .count = count};
}

/* Adds count to a word's count. A new word gets an entry and sets *added (may be NULL) to true. */
static int dictionary_add(struct dictionary *d, const char *word, size_t n, int64_t count,
                          bool *added, struct err *e)
{
    bool fresh;
    int32_t *id = map_put(&d->ids, word, n, &fresh);

    if (added) *added = fresh;
    if (!fresh) {
        d->entries.item[*id].count += count;
        return 0;
    }
    if (d->entries.n >= DICTIONARY_ENTRIES_MAX)
        return ERR(e, ERR_DATA, "more than %d different words; check that the file is text",
                   d->entries.n);
    dictionary_append(d, id, n, count);
    return 0;
}

/* A dictionary of the four special symbols. Their count is 1, as in fairseq. */
static struct dictionary *dictionary_open(void)
{
    static const char *const specials[TOKEN_SPECIALS_N] = {"<s>", "<pad>", "</s>", "<unk>"};
    struct arena arena;

    arena_init(&arena);
    struct dictionary *d = arena_alloc(&arena, sizeof *d);
    d->arena = arena;
    map_init(&d->ids, &d->arena);
    for (int i = 0; i < TOKEN_SPECIALS_N; i++)
        (void)dictionary_add(d, specials[i], strlen(specials[i]), 1, NULL, NULL);
    return d;
}

void dictionary_close(struct dictionary *d)
{
    if (!d) return;
    struct arena arena = d->arena; /* d is in this arena */
    arena_fini(&arena);
}

/* In UTF-8, byte order is code point order. */
static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    int order = memcmp(a->word, b->word, a->n < b->n ? a->n : b->n);
    if (order != 0) return order;
    return (a->n > b->n) - (a->n < b->n);
}

/* Sorts, cuts to the limit and adds fillers; afterwards indices are ids. */
static void dictionary_finish(struct dictionary *d, int32_t limit)
{
    int32_t n = d->entries.n;

    qsort(d->entries.item + TOKEN_SPECIALS_N, (size_t)(n - TOKEN_SPECIALS_N),
          sizeof *d->entries.item, compare_entries);
    if (limit > 0 && n > limit) d->entries.n = limit;
    for (int32_t i = TOKEN_SPECIALS_N; i < n; i++) {
        const struct entry *entry = &d->entries.item[i];
        *map_put(&d->ids, entry->word, entry->n, NULL) = i < d->entries.n ? i : TOKEN_UNKNOWN;
    }
    for (int i = 0; d->entries.n % DICTIONARY_MULTIPLE != 0; i++) {
        const char *filler = arena_printf(&d->arena, "madeupword%04d", i);
        bool fresh;
        int32_t *id = map_put(&d->ids, filler, strlen(filler), &fresh);
        if (fresh || *id == TOKEN_UNKNOWN) dictionary_append(d, id, strlen(filler), 0);
    }
}

/* Adds the words of a text. */
static int dictionary_count_words(struct dictionary *d, const struct text *t, struct err *e)
{
    struct text_scan scan;
    const char *word;
    size_t word_bytes;
    int item;

    text_scan_init(&scan, t);
    while ((item = text_next(&scan, &word, &word_bytes, e)) > TEXT_END)
        if (item == TEXT_WORD) TRY(dictionary_add(d, word, word_bytes, 1, NULL, e));
    return item;
}

/* The dictionaries of the parts of a text that threads count. */
struct counting {
    struct text part[PARALLEL_MAX];
    struct dictionary *own[PARALLEL_MAX];
};

static int dictionary_count_part(void *context, int32_t i, struct err *e)
{
    struct counting *c = context;

    c->own[i] = dictionary_open();
    return dictionary_count_words(c->own[i], &c->part[i], e);
}

/* Counts the parts in parallel and adds them to the first one. The order does not matter, because
 * entries are sorted later. */
static int dictionary_count(struct dictionary **out, const struct text *t, struct err *e)
{
    struct counting c = {0};
    int32_t parts_n = text_cut(c.part, text_threads(t), t);
    int rc = parallel_run(parts_n, dictionary_count_part, &c, e);

    *out = c.own[0];
    for (int32_t i = 1; i < parts_n; i++) {
        const struct dictionary *part = c.own[i];
        for (int32_t k = 0; rc == 0 && k < part->entries.n; k++) {
            const struct entry *entry = &part->entries.item[k];
            rc = dictionary_add(*out, entry->word, entry->n, entry->count, NULL, e);
        }
        dictionary_close(c.own[i]);
    }
    return rc;
}

int dictionary_build(struct dictionary **out, const struct text *t, int32_t limit, struct err *e)
{
    struct dictionary *d = NULL;
    int rc = 0;

    *out = NULL;
    if (limit != 0 && limit < DICTIONARY_LIMIT_LOWEST)
        return ERR(e, ERR_USAGE, "vocabulary limit %d must be 0 (all words) or at least %d", limit,
                   DICTIONARY_LIMIT_LOWEST);
    if (dictionary_count(&d, t, NULL) <
        0) { /* again from the start, so that the message counts lines in the whole text */
        dictionary_close(d);
        d = dictionary_open();
        TRY_OUT(rc, dictionary_count_words(d, t, e));
    }
    for (int i = 0; i < TOKEN_SPECIALS_N; i++) d->entries.item[i].count = 1;
    dictionary_finish(d, limit);
    *out = d;
    d = NULL;
out:
    dictionary_close(d);
    return rc;
}

/* Parses a line of dict.txt: the word, a space, the count. */
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
        return ERR(e, ERR_DATA, "%s:%lld: expected a word, a space and its count, found '%.*s'",
                   place, (long long)line_number, (int)(n < 80 ? n : 80), line);
    word_bytes--;
    TRY(dictionary_add(d, line, word_bytes, count, &fresh, e));
    if (!fresh)
        return ERR(e, ERR_DATA, "%s:%lld: '%.*s' occurs twice", place, (long long)line_number,
                   (int)(word_bytes < 80 ? word_bytes : 80), line);
    return 0;
}

int dictionary_parse(struct dictionary **out, const struct text *t, struct err *e)
{
    const char *at = t->bytes, *end = t->n > 0 ? at + t->n : at, *line;
    size_t n;
    int rc = 0;

    *out = dictionary_open();
    for (int64_t number = 1; rc == 0 && text_line(&at, end, false, &line, &n); number++)
        rc = dictionary_parse_line(*out, line, n, t->place, number, e);
    if (rc == 0) return 0;
    dictionary_close(*out);
    *out = NULL;
    return rc;
}

int dictionary_load(struct dictionary **out, const char *path, struct err *e)
{
    struct text text;

    *out = NULL;
    TRY(text_open(&text, path, NULL, e));
    int rc = dictionary_parse(out, &text, e);
    text_close(&text);
    return rc;
}

char *dictionary_text(const struct dictionary *d, struct arena *a, size_t *n)
{
    struct strbuf text;

    strbuf_init(&text, a);
    for (int32_t i = TOKEN_SPECIALS_N; i < d->entries.n; i++) {
        strbuf_add_n(&text, d->entries.item[i].word, d->entries.item[i].n);
        strbuf_addf(&text, " %lld\n", (long long)d->entries.item[i].count);
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
    return d->entries.n;
}

int32_t dictionary_find(const struct dictionary *d, const char *word, size_t n)
{
    int32_t id;

    return map_get(&d->ids, word, n, &id) ? id : TOKEN_UNKNOWN;
}

const char *dictionary_word(const struct dictionary *d, int32_t id)
{
    assert(id >= 0 && id < d->entries.n);
    return d->entries.item[id].word;
}
