/* bpe_vocab.c - reads vocab.json (strictly, and only what it can hold) and merges.txt. */
#include "prepare/bpe_vocab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "prepare/spellings.h"

enum {
    BPE_FILE_BYTES_MAX = 64 << 20,
    BPE_SYMBOL_BYTES_MAX = 1024,
    BPE_NUMBER_MAX = 1 << 24,
    BPE_MERGES_MAX = 1 << 22
};

/* --- vocab.json --- */

struct bpe_json {
    const char *first, *at;
    const char *place;
};

static int bpe_json_fail(const struct bpe_json *j, const char *what, struct err *e)
{
    return ERR(e, ERR_DATA, "%s: byte %lld: %s", j->place, (long long)(j->at - j->first), what);
}

static void bpe_json_space(struct bpe_json *j)
{
    j->at += strspn(j->at, " \t\r\n");
}

static int bpe_json_want(struct bpe_json *j, char c, struct err *e)
{
    bpe_json_space(j);
    if (*j->at == c) {
        j->at++;
        return 0;
    }
    return bpe_json_fail(j, "expected { \"symbol\": number, … }", e);
}

static size_t bpe_put_utf8(char *out, uint32_t c)
{
    size_t n = 0;

    if (c < 0x80) {
        out[n++] = (char)c;
        return n;
    }
    if (c < 0x800) {
        out[n++] = (char)(0xC0 | c >> 6);
    } else if (c < 0x10000) {
        out[n++] = (char)(0xE0 | c >> 12);
        out[n++] = (char)(0x80 | (c >> 6 & 0x3F));
    } else {
        out[n++] = (char)(0xF0 | c >> 18);
        out[n++] = (char)(0x80 | (c >> 12 & 0x3F));
        out[n++] = (char)(0x80 | (c >> 6 & 0x3F));
    }
    out[n++] = (char)(0x80 | (c & 0x3F));
    return n;
}

/* Four hex digits after \u. */
static bool bpe_json_hex(struct bpe_json *j, uint32_t *out)
{
    char digits[5] = "";
    char *end;

    if (strspn(j->at, "0123456789abcdefABCDEF") < 4) return false;
    memcpy(digits, j->at, 4);
    *out = (uint32_t)strtoul(digits, &end, 16);
    j->at += 4;
    return true;
}

/* What follows a backslash. */
static int bpe_json_escape(struct bpe_json *j, char *out, size_t *n, struct err *e)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    uint32_t c, low;
    const char *name = *j->at ? strchr(names, *j->at) : NULL;

    if (name) {
        out[(*n)++] = values[name - names];
        j->at++;
        return 0;
    }
    if (*j->at++ != 'u' || !bpe_json_hex(j, &c)) return bpe_json_fail(j, "no such escape", e);
    if (c >= 0xD800 && c < 0xDC00) {
        if (strncmp(j->at, "\\u", 2) != 0) return bpe_json_fail(j, "half a character", e);
        j->at += 2;
        if (!bpe_json_hex(j, &low) || low < 0xDC00 || low > 0xDFFF)
            return bpe_json_fail(j, "half a character", e);
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    *n += bpe_put_utf8(out + *n, c);
    return 0;
}

static int bpe_json_symbol(struct bpe_json *j, char out[BPE_SYMBOL_BYTES_MAX + 8], size_t *n,
                           struct err *e)
{
    *n = 0;
    TRY(bpe_json_want(j, '"', e));
    while (*j->at != '"') {
        if (*j->at == '\0' || *n > BPE_SYMBOL_BYTES_MAX)
            return bpe_json_fail(j, "a symbol that does not end", e);
        if (*j->at != '\\') {
            out[(*n)++] = *j->at++;
            continue;
        }
        j->at++;
        TRY(bpe_json_escape(j, out, n, e));
    }
    j->at++;
    return 0;
}

static int bpe_read_symbols(struct spellings *out, char *text, const char *place, struct err *e)
{
    struct bpe_json j = {.first = text, .at = text, .place = place};
    char symbol[BPE_SYMBOL_BYTES_MAX + 8];
    size_t n;

    TRY(bpe_json_want(&j, '{', e));
    for (;;) {
        int64_t number = 0;
        TRY(bpe_json_symbol(&j, symbol, &n, e));
        TRY(bpe_json_want(&j, ':', e));
        bpe_json_space(&j);
        size_t digits = strspn(j.at, "0123456789");
        if (digits == 0 || digits > 8) return bpe_json_fail(&j, "a symbol without a number", e);
        for (size_t i = 0; i < digits; i++) number = 10 * number + (*j.at++ - '0');
        if (number > BPE_NUMBER_MAX) return bpe_json_fail(&j, "a number that is too large", e);
        int rc = spellings_add(out, symbol, n, (int32_t)number, e);
        if (rc < 0) {
            err_ctx(e, "%s", place);
            return rc;
        }
        bpe_json_space(&j);
        if (*j.at == '}') return 0;
        TRY(bpe_json_want(&j, ',', e));
    }
}

/* The printable character that stands for a byte: itself, or one from U+0100 on, in order. */
static int bpe_map_bytes(struct bpe_vocab *v, const struct spellings *symbols, const char *place,
                         struct err *e)
{
    uint32_t others = 0;
    char text[8];

    for (uint32_t b = 0; b < 256; b++) {
        bool printable = (b > 32 && b < 127) || (b > 160 && b != 173);
        size_t n = bpe_put_utf8(text, printable ? b : 256 + others++);
        v->of_byte[b] = spellings_find(symbols, text, n);
        if (v->of_byte[b] < 0)
            return ERR(e, ERR_DATA, "%s: no symbol for the byte 0x%02x; is it GPT-2's?", place, b);
    }
    return 0;
}

/* --- merges.txt --- */

static uint32_t bpe_pair_hash(int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

static struct bpe_merge *bpe_slot(const struct bpe_vocab *v, int32_t left, int32_t right)
{
    for (uint32_t i = bpe_pair_hash(left, right);; i++) {
        struct bpe_merge *m = &v->slot_own[i & (v->slots_n - 1)];
        if (m->left < 0 || (m->left == left && m->right == right)) return m;
    }
}

const struct bpe_merge *bpe_vocab_find(const struct bpe_vocab *v, int32_t left, int32_t right)
{
    const struct bpe_merge *m = bpe_slot(v, left, right);
    return m->left < 0 ? NULL : m;
}

static int bpe_make_slots(struct bpe_vocab *v, const char *text, const char *place, struct err *e)
{
    uint32_t lines_n = 0;

    for (const char *p = text; *p; p++) lines_n += *p == '\n';
    if (lines_n > BPE_MERGES_MAX) return ERR(e, ERR_DATA, "%s: %u lines, too many", place, lines_n);
    for (v->slots_n = 1024; v->slots_n < 2 * (lines_n + 1);) v->slots_n *= 2;
    v->slot_own = malloc(v->slots_n * sizeof *v->slot_own);
    if (!v->slot_own) return ERR(e, ERR_NOMEM, "%s: no memory for %u merges", place, lines_n);
    for (uint32_t i = 0; i < v->slots_n; i++) v->slot_own[i].left = -1;
    return 0;
}

static int bpe_read_merges(struct bpe_vocab *v, const struct spellings *symbols, char *text,
                           const char *place, struct err *e)
{
    char joined[2 * BPE_SYMBOL_BYTES_MAX];
    int32_t rank = 0;

    TRY(bpe_make_slots(v, text, place, e));
    for (int32_t line = 1; *text; line++) {
        size_t n = strcspn(text, "\n"), end = n > 0 && text[n - 1] == '\r' ? n - 1 : n;
        const char *space = memchr(text, ' ', end);
        bool skip = end == 0 || (line == 1 && strncmp(text, "#version", 8) == 0);
        if (!skip && (!space || end >= sizeof joined))
            return ERR(e, ERR_DATA, "%s:%d: no pair of symbols", place, line);
        if (!skip) {
            size_t left_n = (size_t)(space - text), right_n = end - left_n - 1;
            memcpy(joined, text, left_n);
            memcpy(joined + left_n, space + 1, right_n);
            int32_t left = spellings_find(symbols, text, left_n);
            int32_t right = spellings_find(symbols, space + 1, right_n);
            int32_t merged = spellings_find(symbols, joined, left_n + right_n);
            if (left < 0 || right < 0 || merged < 0)
                return ERR(e, ERR_DATA, "%s:%d: symbols that the vocabulary has not", place, line);
            struct bpe_merge *m = bpe_slot(v, left, right);
            if (m->left < 0) *m = (struct bpe_merge){left, right, rank, merged};
            rank++;
        }
        text += n + (text[n] == '\n');
    }
    return 0;
}

int bpe_vocab_read(struct bpe_vocab *v, const char *vocab_path, const char *merges_path,
                   struct err *e)
{
    struct spellings symbols = {0};
    struct arena arena;
    char *text;
    int rc = 0;

    *v = (struct bpe_vocab){0};
    arena_init(&arena);
    TRY_OUT(rc, spellings_open(&symbols, e));
    TRY_OUT(rc, file_read(&arena, &text, NULL, vocab_path, BPE_FILE_BYTES_MAX, e));
    TRY_OUT(rc, bpe_read_symbols(&symbols, text, vocab_path, e));
    TRY_OUT(rc, bpe_map_bytes(v, &symbols, vocab_path, e));
    TRY_OUT(rc, file_read(&arena, &text, NULL, merges_path, BPE_FILE_BYTES_MAX, e));
    rc = bpe_read_merges(v, &symbols, text, merges_path, e);
out:
    spellings_close(&symbols);
    arena_fini(&arena);
    return rc;
}

void bpe_vocab_free(struct bpe_vocab *v)
{
    free(v->slot_own);
    *v = (struct bpe_vocab){0};
}
