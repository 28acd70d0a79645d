/* bpe.c - cuts a line into words and joins the bytes of each. */
#include "prepare/bpe.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prepare/bpe_vocab.h"
#include "prepare/spellings.h"
#include "prepare/text.h"
#include "prepare/unicode.h"

enum {
    BPE_WORD_BYTES_MAX = 1 << 16,
    BPE_KNOWN_WORD_BYTES = 64, /* longer words are not remembered */
    BPE_KNOWN_MAX = 1 << 20
};

struct bpe {
    struct bpe_vocab vocab;
    int32_t symbol[BPE_WORD_BYTES_MAX];
    /* Words met before, and their units: word w has known_text[known_at[w] .. known_at[w + 1]). */
    struct spellings known;
    struct encoded known_text;
    size_t *known_at_own;
    int32_t known_n;
};

int bpe_open(struct bpe **out, const char *vocab_path, const char *merges_path, struct err *e)
{
    struct bpe *b = calloc(1, sizeof *b);
    int rc = 0;

    *out = NULL;
    if (!b) return ERR(e, ERR_NOMEM, "%s: no memory to read it", vocab_path);
    b->known_at_own = calloc(BPE_KNOWN_MAX + 1, sizeof *b->known_at_own);
    if (!b->known_at_own) {
        rc = ERR(e, ERR_NOMEM, "%s: no memory to read it", vocab_path);
        goto out;
    }
    TRY_OUT(rc, spellings_open(&b->known, e));
    TRY_OUT(rc, bpe_vocab_read(&b->vocab, vocab_path, merges_path, e));
    *out = b;
    b = NULL;
out:
    bpe_close(b);
    return rc;
}

void bpe_close(struct bpe *b)
{
    if (!b) return;
    bpe_vocab_free(&b->vocab);
    spellings_close(&b->known);
    free(b->known_text.text_own);
    free(b->known_at_own);
    free(b);
}

/* --- joining --- */

/* Joins every pair of the lowest rank, until no pair is left that may be joined. Returns how many
 * symbols there are then. */
static int32_t bpe_join(struct bpe *b, int32_t n)
{
    for (;;) {
        const struct bpe_merge *best = NULL;
        for (int32_t i = 0; i + 1 < n; i++) {
            const struct bpe_merge *m = bpe_vocab_find(&b->vocab, b->symbol[i], b->symbol[i + 1]);
            if (m && (!best || m->rank < best->rank)) best = m;
        }
        if (!best) return n;
        int32_t left = best->left, right = best->right, put = 0;
        for (int32_t i = 0; i < n; i++) {
            bool pair = i + 1 < n && b->symbol[i] == left && b->symbol[i + 1] == right;
            b->symbol[put++] = pair ? best->merged : b->symbol[i];
            i += pair;
        }
        n = put;
    }
}

static void bpe_spell(struct bpe *b, struct encoded *out, const unsigned char *word, size_t n)
{
    char number[16];

    for (size_t i = 0; i < n; i++) b->symbol[i] = b->vocab.of_byte[word[i]];
    int32_t symbols_n = bpe_join(b, (int32_t)n);
    for (int32_t i = 0; i < symbols_n; i++) {
        int digits = snprintf(number, sizeof number, "%" PRId32, b->symbol[i]);
        encoded_add(out, "", 0, number, (size_t)digits);
    }
}

/* A word that was met before costs one look; text repeats itself. */
static int bpe_word(struct bpe *b, struct encoded *out, const unsigned char *word, size_t n,
                    struct err *e)
{
    if (n > BPE_WORD_BYTES_MAX)
        return ERR(e, ERR_DATA, "a word of %zu bytes, more than the limit of %d", n,
                   BPE_WORD_BYTES_MAX);
    if (n > BPE_KNOWN_WORD_BYTES) {
        bpe_spell(b, out, word, n);
        return 0;
    }
    int32_t at = spellings_find(&b->known, (const char *)word, n);
    if (at < 0) {
        if (b->known_n == BPE_KNOWN_MAX) {
            bpe_spell(b, out, word, n);
            return 0;
        }
        at = b->known_n;
        bpe_spell(b, &b->known_text, word, n);
        if (b->known_text.out_of_memory) return ERR(e, ERR_NOMEM, "no memory for its units");
        TRY(spellings_add(&b->known, (const char *)word, n, at, e));
        b->known_at_own[++b->known_n] = b->known_text.n;
    }
    size_t first = b->known_at_own[at], end = b->known_at_own[at + 1];
    if (b->known_text.text_own[first] == ' ') first++;
    encoded_add(out, "", 0, b->known_text.text_own + first, end - first);
    return 0;
}

/* --- cutting --- */

enum bpe_class { BPE_END, BPE_SPACE, BPE_LETTER, BPE_NUMBER, BPE_OTHER };

/* The class of the character at p, which is valid, and its length; BPE_END at the end. */
static enum bpe_class bpe_class(const unsigned char *p, const unsigned char *end, int *bytes)
{
    uint32_t c;

    if (p == end) return BPE_END;
    c = *p;
    *bytes = 1;
    if (c >= 0x80) *bytes = text_decode(p, end, &c);
    if (c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x80 && text_is_long_space(c)))
        return BPE_SPACE;
    return unicode_is_letter(c) ? BPE_LETTER : unicode_is_number(c) ? BPE_NUMBER : BPE_OTHER;
}

/* The end of the run of characters of one class that begins at p. */
static const unsigned char *bpe_run(const unsigned char *p, const unsigned char *end,
                                    enum bpe_class class)
{
    int bytes = 0;

    while (bpe_class(p, end, &bytes) == class) p += bytes;
    return p;
}

/* Bytes of a contraction at p, such as 's; 0 when there is none. */
static size_t bpe_contraction(const unsigned char *p, const unsigned char *end)
{
    static const char *const all[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t n = strlen(all[i]);
        if ((size_t)(end - p) >= n && memcmp(p, all[i], n) == 0) return n;
    }
    return 0;
}

/* The end of the word that begins at p < end. White space before a word leaves it the last one. */
static const unsigned char *bpe_next(const unsigned char *p, const unsigned char *end)
{
    int bytes = 0;
    size_t contraction = bpe_contraction(p, end);
    enum bpe_class class = bpe_class(p, end, &bytes);

    if (contraction > 0) return p + contraction;
    if (class != BPE_SPACE) return bpe_run(p, end, class);
    enum bpe_class next = bpe_class(p + bytes, end, &bytes);
    if (*p == ' ' && next != BPE_SPACE && next != BPE_END) return bpe_run(p + 1, end, next);
    const unsigned char *after = bpe_run(p, end, BPE_SPACE), *last = after - 1;
    if (after == end) return after;
    while ((*last & 0xC0) == 0x80) last--;
    return last > p ? last : after;
}

static bool bpe_is_utf8(const unsigned char *p, const unsigned char *end, const unsigned char **bad)
{
    uint32_t c;

    while (p < end) {
        int bytes = *p < 0x80 ? 1 : text_decode(p, end, &c);
        *bad = p;
        if (bytes == 0) return false;
        p += bytes;
    }
    return true;
}

int bpe_line(struct bpe *b, struct encoded *out, const char *line, size_t n, struct err *e)
{
    const unsigned char *p = (const unsigned char *)line, *end = p + n, *bad = p;
    int bytes = 0;

    if (!bpe_is_utf8(p, end, &bad))
        return ERR(e, ERR_DATA, "byte 0x%02x (byte %lld of the line) is not UTF-8", *bad,
                   (long long)(bad - p) + 1);
    p = bpe_run(p, end, BPE_SPACE);
    for (const unsigned char *q = p, *after; q < end; q = after) {
        enum bpe_class class = bpe_class(q, end, &bytes);
        after = bpe_run(q, end, class);
        if (class == BPE_SPACE && after == end) end = q;
    }
    while (p < end) {
        const unsigned char *after = bpe_next(p, end);
        TRY(bpe_word(b, out, p, (size_t)(after - p), e));
        p = after;
    }
    return 0;
}
