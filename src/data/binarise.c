/* binarise.c - looks up every word; a first pass sizes what the second one fills. */
#include "data/binarise.h"

#include <stdlib.h>

#include "data/tokens.h"

enum { BINARISE_BUFFER_N = 1 << 15 };

/* The id of the next word or line end; TEXT_END and errors as text_next. */
static int binarise_next(int32_t *id, const struct dictionary *d, struct text_scan *scan,
                         struct err *e)
{
    const char *word;
    size_t word_bytes;
    int item = text_next(scan, &word, &word_bytes, e);

    if (item == TEXT_WORD) *id = dictionary_find(d, word, word_bytes);
    if (item == TEXT_LINE) *id = DICTIONARY_LINE_END;
    return item;
}

int binarise_text(struct binarised *out, const struct dictionary *d, const char *text, size_t n,
                  const char *place, struct err *e)
{
    struct text_scan scan;
    int64_t words_n, lines_n, line_first = 0;
    int rc = 0;

    *out = (struct binarised){0};
    TRY(text_measure(&words_n, &lines_n, text, n, place, e));
    out->ids = calloc((size_t)(words_n + lines_n) + 1, sizeof *out->ids);
    out->line_lengths = calloc((size_t)lines_n + 1, sizeof *out->line_lengths);
    if (!out->ids || !out->line_lengths) {
        rc = ERR(e, ERR_NOMEM, "%s: no memory for its %lld ids", place,
                 (long long)(words_n + lines_n));
        goto out;
    }
    text_scan_init(&scan, text, n, place, NULL);
    for (;;) {
        int item = binarise_next(&out->ids[out->ids_n], d, &scan, e);
        TRY_OUT(rc, item);
        rc = 0;
        if (item == TEXT_END) break;
        out->ids_n++;
        if (item != TEXT_LINE) continue;
        out->line_lengths[out->lines_n++] = (int32_t)(out->ids_n - line_first);
        line_first = out->ids_n;
    }
out:
    if (rc < 0) binarised_free(out);
    return rc;
}

void binarised_free(struct binarised *b)
{
    if (!b) return;
    free(b->ids);
    free(b->line_lengths);
    *b = (struct binarised){0};
}

/* Fills the opened file through a buffer of ids. */
static int binarise_fill(struct binarise_counts *counts, struct tokens_writer *file,
                         const struct dictionary *d, struct text_scan *scan, int32_t *buffer,
                         struct err *e)
{
    for (int32_t filled = 0;;) {
        int item = binarise_next(&buffer[filled], d, scan, e);
        if (item < 0) return item;
        if (item != TEXT_END) {
            counts->ids_n++;
            counts->unknown_n += buffer[filled] == DICTIONARY_UNKNOWN;
            filled++;
        }
        if (item != TEXT_END && filled < BINARISE_BUFFER_N) continue;
        TRY(tokens_writer_add(file, buffer, filled, e));
        if (item == TEXT_END) return 0;
        filled = 0;
    }
}

int binarise_to_file(struct binarise_counts *out, const char *path, const struct dictionary *d,
                     const char *dictionary_sha256, const char *text, size_t n, const char *place,
                     const struct text_progress *progress, struct err *e)
{
    struct tokens_writer *file = NULL;
    struct text_scan scan;
    int64_t words_n, lines_n;
    int32_t *buffer = NULL;
    int rc = 0;

    *out = (struct binarise_counts){0};
    TRY(text_measure(&words_n, &lines_n, text, n, place, e));
    if (lines_n == 0) return ERR(e, ERR_DATA, "%s: the file is empty", place);
    buffer = calloc(BINARISE_BUFFER_N, sizeof *buffer);
    if (!buffer) return ERR(e, ERR_NOMEM, "%s: no memory to binarise it", place);
    TRY_OUT(rc, tokens_writer_open(&file, path, words_n + lines_n, dictionary_size(d),
                                   dictionary_sha256, e));
    text_scan_init(&scan, text, n, place, progress);
    TRY_OUT(rc, binarise_fill(out, file, d, &scan, buffer, e));
    struct tokens_writer *whole = file;
    file = NULL;
    rc = tokens_writer_commit(whole, e);
out:
    tokens_writer_abandon(file);
    free(buffer);
    return rc;
}
