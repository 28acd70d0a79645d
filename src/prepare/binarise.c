/* binarise.c - looks up every word of a text and writes the ids. */
#include "prepare/dictionary.h"

#include <stdlib.h>

#include "data/tokens.h"

enum { BINARISE_PART_BYTES = 4 << 20 };

/* The ids of the parts of a section of text, computed by threads. */
struct binarise {
    const struct dictionary *dictionary;
    struct text part[PARALLEL_MAX];
    int32_t *ids_own[PARALLEL_MAX];
    size_t capacity[PARALLEL_MAX];
    struct binarise_counts counts[PARALLEL_MAX];
};

static int binarise_part(void *context, int32_t i, struct err *e)
{
    struct binarise *b = context;
    const struct text *t = &b->part[i];
    struct text_scan scan;
    const char *word;
    size_t word_bytes;
    int item;

    if (b->capacity[i] <= t->n) { /* at most one id per byte, plus the end of a last line */
        free(b->ids_own[i]);
        b->capacity[i] = t->n + 1;
        b->ids_own[i] = malloc(b->capacity[i] * sizeof *b->ids_own[i]);
        if (!b->ids_own[i]) return ERR(e, ERR_NOMEM, "out of memory while binarising %s", t->place);
    }
    int32_t *id = b->ids_own[i];
    b->counts[i].unknown_n = 0;
    text_scan_init(&scan, t);
    while ((item = text_next(&scan, &word, &word_bytes, e)) > TEXT_END) {
        *id = item == TEXT_LINE ? TOKEN_LINE_END : dictionary_find(b->dictionary, word, word_bytes);
        b->counts[i].unknown_n += *id++ == TOKEN_UNKNOWN;
    }
    b->counts[i].ids_n = id - b->ids_own[i];
    return item;
}

/* Binarises the whole text, section by section. */
static int binarise_write(struct binarise_counts *out, struct tokens_writer *file,
                          struct binarise *b, const struct text *t, struct err *e)
{
    const char *reported = t->bytes;
    int32_t threads = text_threads(t), n;
    size_t part_bytes = t->n / (size_t)threads + 1;

    if (part_bytes > BINARISE_PART_BYTES) part_bytes = BINARISE_PART_BYTES;
    for (size_t at = 0; at < t->n;) {
        for (n = 0; n < threads && text_take(&b->part[n], t, &at, part_bytes); n++)
            b->part[n].progress = NULL;
        TRY(parallel_run(n, binarise_part, b, e));
        for (int32_t i = 0; i < n; i++) {
            out->ids_n += b->counts[i].ids_n;
            out->unknown_n += b->counts[i].unknown_n;
            TRY(tokens_writer_add(file, b->ids_own[i], b->counts[i].ids_n, e));
        }
        text_report(t, &reported, t->bytes + at);
    }
    return 0;
}

/* Finds the error of a text by scanning it from its start, to count lines in the whole text. */
static int binarise_fault(const struct text *t, struct err *e)
{
    struct text_scan scan;
    const char *word;
    size_t word_bytes;
    int item;

    text_scan_init(&scan, t);
    while ((item = text_next(&scan, &word, &word_bytes, e)) > TEXT_END) continue;
    return item;
}

int binarise_to_file(struct binarise_counts *out, const char *path, const struct dictionary *d,
                     const char *dictionary_sha256, const struct text *t, struct err *e)
{
    struct binarise b = {.dictionary = d};
    struct tokens_writer *file;

    *out = (struct binarise_counts){0};
    if (t->n == 0) return ERR(e, ERR_DATA, "%s: the file is empty", t->place);
    TRY(tokens_writer_open(&file, path, dictionary_size(d), dictionary_sha256, e));
    int rc = binarise_write(out, file, &b, t, e);
    if (rc == 0)
        rc = tokens_writer_commit(file, e);
    else
        tokens_writer_abandon(file);
    for (int i = 0; i < PARALLEL_MAX; i++) free(b.ids_own[i]);
    int fault = rc == ERR_DATA ? binarise_fault(t, e) : 0;
    return fault < 0 ? fault : rc;
}
