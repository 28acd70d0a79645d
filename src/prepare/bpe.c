/* bpe.c - splits a line into words, whose symbols tokenizer/merges.h merges. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "prepare/subword.h"
#include "prepare/text.h"
#include "tokenizer/merges.h"

enum { BPE_PART = 64 }; /* bytes of a word that become characters at a time */

struct bpe {
    const struct unicode *unicode;
    struct merges merges;
    struct strbuf word; /* its bytes as printable characters */
};

int bpe_open(struct bpe **out, struct arena *a, const char *vocab_path, const char *merges_path,
             struct err *e)
{
    struct bpe *b = *out = arena_alloc(a, sizeof *b);
    char *text;
    size_t n;
    json_t *vocab;

    b->unicode = unicode_make(a);
    merges_init(&b->merges, a, 0);
    strbuf_init(&b->word, a);
    TRY(file_read(a, &text, &n, vocab_path, MERGES_FILE_BYTES_MAX, e));
    int rc = json_parse_object(&vocab, text, n, MERGES_VALUES_MAX, 0, vocab_path, e);
    if (rc == 0) {
        rc = merges_add_vocab(&b->merges, vocab, e);
        if (rc == 0) rc = merges_finish(&b->merges, e);
        for (unsigned byte = 0; rc == 0 && byte < 256; byte++)
            if (merges_lacks(&b->merges, (unsigned char)byte))
                rc = ERR(e, ERR_DATA, "the vocabulary has no symbol for byte 0x%02x", byte);
        if (rc < 0) err_ctx(e, "%s", vocab_path);
    }
    json_decref(vocab);
    TRY(rc);
    TRY(file_read(a, &text, &n, merges_path, MERGES_FILE_BYTES_MAX, e));
    return merges_add_lines(&b->merges, text, n, merges_path, e);
}

/* --- splitting into words --- */

enum bpe_class { BPE_END, BPE_SPACE, BPE_LETTER, BPE_NUMBER, BPE_OTHER };

/* Class and length of the character at p, 0 if it is not UTF-8; BPE_END at the end. */
static enum bpe_class bpe_class(const struct bpe *b, const char *p, const char *end, int *bytes)
{
    uint32_t c;

    if (p == end) return BPE_END;
    *bytes = text_decode(p, end, &c);
    if (c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x80 && text_is_long_space(c)))
        return BPE_SPACE;
    char class = b->unicode->class[c];
    return class == UNICODE_LETTER ? BPE_LETTER : class == UNICODE_NUMBER ? BPE_NUMBER : BPE_OTHER;
}

/* The end of the run of characters of the class that begins at p. */
static const char *bpe_run(const struct bpe *b, const char *p, const char *end,
                           enum bpe_class class)
{
    int bytes = 0;

    while (bpe_class(b, p, end, &bytes) == class) p += bytes;
    return p;
}

/* Bytes of a contraction at p, such as 's; 0: none. */
static size_t bpe_contraction(const char *p, const char *end)
{
    static const char *const all[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t n = strlen(all[i]);
        if ((size_t)(end - p) >= n && memcmp(p, all[i], n) == 0) return n;
    }
    return 0;
}

/* The end of the word that begins at p < end. The last white space before a word belongs to the
 * word. */
static const char *bpe_next(const struct bpe *b, const char *p, const char *end)
{
    int bytes = 0;
    size_t contraction = bpe_contraction(p, end);
    enum bpe_class class = bpe_class(b, p, end, &bytes);

    if (contraction > 0) return p + contraction;
    if (class != BPE_SPACE) return bpe_run(b, p, end, class);
    enum bpe_class next = bpe_class(b, p + bytes, end, &bytes);
    if (*p == ' ' && next != BPE_SPACE && next != BPE_END) return bpe_run(b, p + 1, end, next);
    const char *after = bpe_run(b, p, end, BPE_SPACE), *last = after - 1;
    if (after == end) return after;
    while ((*last & 0xC0) == 0x80) last--;
    return last > p ? last : after;
}

int bpe_line(struct bpe *b, struct strbuf *out, const char *line, size_t n, struct err *e)
{
    const char *first = line, *end = line; /* without white space around them */
    int bytes;

    for (const char *p = line; p < line + n; p += bytes) {
        bool space = bpe_class(b, p, line + n, &bytes) == BPE_SPACE;
        if (bytes == 0) return text_not_utf8(line, p, e);
        if (!space)
            end = p + bytes;
        else if (p == first)
            first += bytes;
    }
    struct ids ids = {0};
    int rc = 0;
    for (const char *p = first, *after; rc == 0 && p < end; p = after) {
        after = bpe_next(b, p, end);
        b->word.n = 0;
        size_t part_n;
        for (const char *at = p; at < after; at += part_n) {
            char part[2 * BPE_PART];
            part_n = (size_t)(after - at) < BPE_PART ? (size_t)(after - at) : BPE_PART;
            strbuf_add_n(&b->word, part, byte_level(part, at, part_n));
        }
        rc = merges_spell(&b->merges, &ids, b->word.text, b->word.n, e);
    }
    for (int64_t i = 0; rc == 0 && i < ids.n; i++) unit_add_number(out, (uint32_t)ids.item_own[i]);
    free(ids.item_own);
    return rc;
}
