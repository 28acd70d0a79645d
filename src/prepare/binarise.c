/* binarise.c - looks up every word; a first pass sizes what the second one fills, and finds what is
 * wrong with the text. */
#include "prepare/binarise.h"

#include <stdlib.h>
#include <string.h>

#include "data/tokens.h"
#include "prepare/parts.h"

enum { BINARISE_BUFFER_N = 1 << 15, BINARISE_PART_BYTES = 8 << 20 };

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

/* What the parts of a text measure. */
struct binarise_measure {
    struct parts parts;
    const char *place;
    int64_t words_n[PARTS_MAX], lines_n[PARTS_MAX];
};

static int binarise_measure_part(void *context, int32_t i, struct err *e)
{
    struct binarise_measure *m = context;
    const char *first = m->parts.bound[i];

    return text_measure(&m->words_n[i], &m->lines_n[i], first,
                        (size_t)(m->parts.bound[i + 1] - first), m->place, e);
}

/* Words and lines. A fault is looked for again from the start, where its line has its number. */
static int binarise_measure(int64_t *words_n, int64_t *lines_n, const char *text, size_t n,
                            const char *place, const struct text_progress *progress, struct err *e)
{
    struct binarise_measure m = {.place = place};

    parts_cut(&m.parts, parts_threads(n, progress), text, n);
    if (m.parts.n == 1 || parts_run(m.parts.n, binarise_measure_part, &m, NULL) < 0)
        return text_measure(words_n, lines_n, text, n, place, e);
    *words_n = *lines_n = 0;
    for (int32_t i = 0; i < m.parts.n; i++) {
        *words_n += m.words_n[i];
        *lines_n += m.lines_n[i];
    }
    return 0;
}

/* The ids of the parts of a stretch of text, made side by side. */
struct binarise_stretch {
    const struct dictionary *dictionary;
    const char *place;
    struct parts parts;
    int32_t *ids_own[PARTS_MAX]; /* room for BINARISE_PART_BYTES each: no id without a byte */
    int64_t ids_n[PARTS_MAX], unknown_n[PARTS_MAX];
};

static int binarise_part(void *context, int32_t i, struct err *e)
{
    struct binarise_stretch *x = context;
    const char *first = x->parts.bound[i];
    struct text_scan scan;
    int32_t *id = x->ids_own[i];
    int item;

    x->unknown_n[i] = 0;
    text_scan_init(&scan, first, (size_t)(x->parts.bound[i + 1] - first), x->place, NULL);
    while ((item = binarise_next(id, x->dictionary, &scan, e)) != TEXT_END) {
        TRY(item);
        x->unknown_n[i] += *id++ == DICTIONARY_UNKNOWN;
    }
    x->ids_n[i] = id - x->ids_own[i];
    return 0;
}

/* Cuts a stretch from the text at hand; false: a line is too long for a part. */
static bool binarise_cut(struct binarise_stretch *x, int32_t threads, const char *text, size_t n,
                         size_t *stretch_n)
{
    size_t most = (size_t)threads * (BINARISE_PART_BYTES / 2);

    *stretch_n = n;
    if (n > most) {
        const char *line_end = memchr(text + most, '\n', n - most);
        if (line_end) *stretch_n = (size_t)(line_end + 1 - text);
    }
    parts_cut(&x->parts, threads, text, *stretch_n);
    for (int32_t i = 0; i < x->parts.n; i++)
        if (x->parts.bound[i + 1] - x->parts.bound[i] > BINARISE_PART_BYTES) return false;
    return true;
}

/* The whole text, stretch by stretch. 1: done; 0: a line is too long, the rest is for
 * binarise_fill, from *at on. */
static int binarise_fill_parts(struct binarise_counts *counts, struct tokens_writer *file,
                               struct binarise_stretch *x, int32_t threads, const char *text,
                               size_t n, size_t *at, const struct text_progress *progress,
                               struct err *e)
{
    size_t stretch_n;

    for (; *at < n; *at += stretch_n) {
        if (!binarise_cut(x, threads, text + *at, n - *at, &stretch_n)) return 0;
        TRY(parts_run(x->parts.n, binarise_part, x, e));
        for (int32_t i = 0; i < x->parts.n; i++) {
            counts->ids_n += x->ids_n[i];
            counts->unknown_n += x->unknown_n[i];
            TRY(tokens_writer_add(file, x->ids_own[i], x->ids_n[i], e));
        }
        if (progress && progress->call)
            progress->call(progress->context, progress->what,
                           (double)(*at + stretch_n) / (double)n);
    }
    return 1;
}

/* With threads where the text is worth it, then what is left for one. */
static int binarise_write(struct binarise_counts *counts, struct tokens_writer *file,
                          const struct dictionary *d, const char *text, size_t n, const char *place,
                          const struct text_progress *progress, struct err *e)
{
    struct binarise_stretch x = {.dictionary = d, .place = place};
    int32_t threads = parts_threads(n, progress);
    int32_t *buffer = calloc(BINARISE_BUFFER_N, sizeof *buffer);
    struct text_scan scan;
    size_t at = 0;
    int rc = 0;

    for (int32_t i = 0; i < threads && threads > 1; i++) {
        x.ids_own[i] = malloc(BINARISE_PART_BYTES * sizeof *x.ids_own[i]);
        if (!x.ids_own[i]) rc = ERR_NOMEM;
    }
    if (rc < 0 || !buffer) {
        rc = ERR(e, ERR_NOMEM, "%s: no memory to binarise it", place);
        goto out;
    }
    if (threads > 1) rc = binarise_fill_parts(counts, file, &x, threads, text, n, &at, progress, e);
    if (rc == 0) {
        text_scan_init(&scan, text + at, n - at, place, progress);
        rc = binarise_fill(counts, file, d, &scan, buffer, e);
    }
out:
    for (int32_t i = 0; i < threads; i++) free(x.ids_own[i]);
    free(buffer);
    return rc < 0 ? rc : 0;
}

int binarise_to_file(struct binarise_counts *out, const char *path, const struct dictionary *d,
                     const char *dictionary_sha256, const char *text, size_t n, const char *place,
                     const struct text_progress *progress, struct err *e)
{
    struct tokens_writer *file = NULL;
    int64_t words_n, lines_n;
    int rc = 0;

    *out = (struct binarise_counts){0};
    TRY(binarise_measure(&words_n, &lines_n, text, n, place, progress, e));
    if (lines_n == 0) return ERR(e, ERR_DATA, "%s: the file is empty", place);
    TRY_OUT(rc, tokens_writer_open(&file, path, words_n + lines_n, dictionary_size(d),
                                   dictionary_sha256, e));
    TRY_OUT(rc, binarise_write(out, file, d, text, n, place, progress, e));
    struct tokens_writer *whole = file;
    file = NULL;
    rc = tokens_writer_commit(whole, e);
out:
    tokens_writer_abandon(file);
    return rc;
}
