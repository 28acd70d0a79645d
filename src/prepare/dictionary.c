/* dictionary.c - a hash table from words to indices of an array of entries.
 *
 * During counting, entries are in order of first occurrence. Then they are sorted and cut to the
 * limit, and the table is updated, so that an entry's index is its id. */
#include "prepare/dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "data/tokens.h"

enum { DICTIONARY_LIMIT_LOWEST = 8, DICTIONARY_ENTRIES_MAX = 1 << 28 };

static void dictionary_append(struct dictionary *d, int32_t *id, size_t n, int64_t count)
{
    *id = d->entries.n;
    *vec_push(d->arena, &d->entries) =
        (struct dictionary_entry){.word = map_key(id), .n = n, .count = count};
}

/* Adds count to a word's count. Returns 1 if the word is new, 0 if not, or an error. */
static int dictionary_add(struct dictionary *d, const char *word, size_t n, int64_t count,
                          struct err *e)
{
    bool fresh;
    int32_t *id = map_put(&d->ids, word, n, &fresh);

    if (!fresh)
        d->entries.item[*id].count += count;
    else if (d->entries.n < DICTIONARY_ENTRIES_MAX)
        dictionary_append(d, id, n, count);
    else
        return ERR(e, ERR_DATA, "more than %d different words; check that the file is text",
                   d->entries.n);
    return fresh;
}

/* Begins a dictionary with the four special symbols. */
static void dictionary_init(struct dictionary *d, struct arena *a)
{
    static const char *const specials[TOKEN_SPECIALS_N] = {"<s>", "<pad>", "</s>", "<unk>"};

    *d = (struct dictionary){.arena = a};
    map_init(&d->ids, a);
    for (int i = 0; i < TOKEN_SPECIALS_N; i++)
        (void)dictionary_add(d, specials[i], strlen(specials[i]), 1, NULL);
}

/* Orders by falling count, then by bytes: in UTF-8, byte order is code point order. */
static int compare_entries(const void *left, const void *right)
{
    const struct dictionary_entry *a = left, *b = right;

    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return strcmp(a->word, b->word);
}

/* Sorts, cuts to the limit and adds fillers; afterwards indices are ids. */
static void dictionary_finish(struct dictionary *d, int32_t limit)
{
    int32_t n = d->entries.n;

    qsort(d->entries.item + TOKEN_SPECIALS_N, (size_t)(n - TOKEN_SPECIALS_N),
          sizeof *d->entries.item, compare_entries);
    if (limit > 0 && n > limit) d->entries.n = limit;
    for (int32_t i = TOKEN_SPECIALS_N; i < n; i++) {
        const struct dictionary_entry *entry = &d->entries.item[i];
        *map_put(&d->ids, entry->word, entry->n, NULL) = i < d->entries.n ? i : TOKEN_UNKNOWN;
    }
    for (int i = 0; d->entries.n % DICTIONARY_MULTIPLE != 0; i++) {
        const char *filler = arena_printf(d->arena, "madeupword%04d", i);
        bool fresh;
        int32_t *id = map_put(&d->ids, filler, strlen(filler), &fresh);
        if (fresh || *id == TOKEN_UNKNOWN) dictionary_append(d, id, strlen(filler), 0);
    }
}

int dictionary_build(struct dictionary *d, struct arena *a, const struct text *t, int32_t limit,
                     struct err *e)
{
    struct text_scan scan;
    int item;

    dictionary_init(d, a);
    if (limit != 0 && limit < DICTIONARY_LIMIT_LOWEST)
        return ERR(e, ERR_USAGE, "vocabulary limit %d must be 0 (all words) or at least %d", limit,
                   DICTIONARY_LIMIT_LOWEST);
    text_scan_init(&scan, t);
    while ((item = text_next(&scan, e)) > TEXT_END)
        if (item == TEXT_WORD) TRY(dictionary_add(d, scan.word, scan.word_n, 1, e));
    TRY(item);
    dictionary_finish(d, limit);
    return 0;
}

/* Parses a line of dict.txt: the word, a space, the count. */
static int dictionary_parse_line(struct dictionary *d, const char *line, size_t n, struct err *e)
{
    const char *space = memrchr(line, ' ', n);
    size_t word_n = space ? (size_t)(space - line) : 0;
    int64_t count;

    if (word_n == 0 || !str_to_int(&count, arena_strndup(d->arena, space + 1, n - word_n - 1)) ||
        count < 0)
        return ERR(e, ERR_DATA, "expected a word, a space and its count, found '%.*s'",
                   (int)(n < 80 ? n : 80), line);
    int added = dictionary_add(d, line, word_n, count, e);
    if (added != 0) return added;
    return ERR(e, ERR_DATA, "'%.*s' occurs twice", (int)(word_n < 80 ? word_n : 80), line);
}

int dictionary_load(struct dictionary *d, struct arena *a, const char *path, struct err *e)
{
    struct text t;
    const char *line;
    size_t n;
    int rc = 0, number = 0;

    dictionary_init(d, a);
    TRY(text_open(&t, path, (struct text_progress){0}, e));
    for (const char *at = t.bytes; rc >= 0 && text_line(&at, t.bytes + t.n, false, &line, &n);) {
        number++;
        rc = dictionary_parse_line(d, line, n, e);
    }
    if (rc < 0) err_ctx(e, "%s:%d", path, number);
    text_close(&t);
    return rc < 0 ? rc : 0;
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

int32_t dictionary_find(const struct dictionary *d, const char *word, size_t n)
{
    int32_t id;

    return map_get(&d->ids, word, n, &id) ? id : TOKEN_UNKNOWN;
}

int binarise_to_file(struct binarise_counts *out, const char *path, const struct dictionary *d,
                     const char *dictionary_sha256, const struct text *t, struct err *e)
{
    struct tokens_writer file;
    struct text_scan scan;
    int rc = 0;

    *out = (struct binarise_counts){0};
    if (t->n == 0) return ERR(e, ERR_DATA, "%s: the file is empty", t->name);
    TRY(tokens_writer_open(&file, path, d->entries.n, dictionary_sha256, e));
    text_scan_init(&scan, t);
    for (int item; rc == 0 && (item = text_next(&scan, e)) != TEXT_END;) {
        int32_t id = TOKEN_LINE_END;
        if (item == TEXT_WORD) id = dictionary_find(d, scan.word, scan.word_n);
        out->ids_n++;
        out->unknown_n += id == TOKEN_UNKNOWN;
        rc = item < 0 ? item : tokens_writer_add(&file, id, e);
    }
    return tokens_writer_close(&file, rc, e);
}
