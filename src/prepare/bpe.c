/* bpe.c - reads the vocabulary, splits a line into words and merges the bytes of each. */
#include <jansson.h>
#include <string.h>

#include "base/file.h"
#include "prepare/subword.h"
#include "prepare/text.h"

enum {
    BPE_FILE_BYTES_MAX = 64 << 20,
    BPE_SYMBOL_BYTES_MAX = 1024,
    BPE_NUMBER_MAX = 1 << 24,
    BPE_WORD_BYTES_MAX = 1 << 16,
    BPE_KNOWN_WORD_BYTES = 64, /* longer words are not cached */
    BPE_KNOWN_MAX = 1 << 20
};

struct bpe {
    struct arena *arena;
    const struct unicode *unicode;
    int32_t of_byte[256];
    struct map ranks; /* of pairs of symbols; lower ranks merge first */
    struct {
        int32_t *item, n, capacity; /* by rank: merged symbol of the pair */
    } merged;
    int32_t symbol[BPE_WORD_BYTES_MAX];
    struct map known;         /* cache of words: offsets of their units in known_text */
    struct strbuf known_text; /* zero-terminated units */
};

/* --- vocab.json and merges.txt --- */

static int bpe_read_symbols(struct map *out, const char *text, size_t n, const char *place,
                            struct err *e)
{
    json_error_t why;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why), *number;
    const char *symbol;
    int rc = 0;

    if (!root) return ERR(e, ERR_DATA, "%s:%d:%d: %s", place, why.line, why.column, why.text);
    if (!json_is_object(root))
        rc = ERR(e, ERR_DATA, "%s: expected { \"symbol\": number, … }", place);
    json_object_foreach(root, symbol, number)
    {
        json_int_t value = json_integer_value(number);
        size_t symbol_n = strlen(symbol);
        if (!json_is_integer(number) || value < 0 || value > BPE_NUMBER_MAX)
            rc = ERR(e, ERR_DATA, "%s: the number of '%.40s' is not an integer from 0 to %d", place,
                     symbol, BPE_NUMBER_MAX);
        else if (symbol_n > BPE_SYMBOL_BYTES_MAX)
            rc = ERR(e, ERR_DATA, "%s: '%.40s…' has more than %d bytes", place, symbol,
                     BPE_SYMBOL_BYTES_MAX);
        if (rc < 0) break;
        *map_put(out, symbol, symbol_n, NULL) = (int32_t)value;
    }
    json_decref(root);
    return rc;
}

/* Maps each byte to its printable character: itself, or the next one from U+0100 on. */
static int bpe_map_bytes(struct bpe *b, const struct map *symbols, const char *place, struct err *e)
{
    uint32_t others = 0;
    char text[4];

    for (uint32_t byte = 0; byte < 256; byte++) {
        bool printable = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
        int n = text_encode(text, printable ? byte : 256 + others++);
        if (!map_get(symbols, text, (size_t)n, &b->of_byte[byte]))
            return ERR(e, ERR_DATA, "%s: no symbol for byte 0x%02x; use the vocab.json of GPT-2",
                       place, byte);
    }
    return 0;
}

static int bpe_add_merge(struct bpe *b, const struct map *symbols, const char *line, size_t n,
                         struct err *e)
{
    char joined[2 * BPE_SYMBOL_BYTES_MAX];
    const char *space = memchr(line, ' ', n);
    int32_t pair[2], merged;
    bool fresh;

    if (!space || n >= sizeof joined) return ERR(e, ERR_DATA, "expected a pair of symbols");
    size_t left_n = (size_t)(space - line), right_n = n - left_n - 1;
    memcpy(joined, line, left_n);
    memcpy(joined + left_n, space + 1, right_n);
    if (!map_get(symbols, line, left_n, &pair[0]) ||
        !map_get(symbols, space + 1, right_n, &pair[1]) ||
        !map_get(symbols, joined, left_n + right_n, &merged))
        return ERR(e, ERR_DATA, "symbols not in the vocabulary: '%.*s'", (int)(n < 80 ? n : 80),
                   line);
    int32_t *rank = map_put(&b->ranks, pair, sizeof pair, &fresh);
    if (!fresh) return 0;
    *rank = b->merged.n;
    *vec_push(b->arena, &b->merged) = merged;
    return 0;
}

static int bpe_read_merges(struct bpe *b, const struct map *symbols, const char *text, size_t n,
                           const char *place, struct err *e)
{
    const char *at = text, *line;
    size_t line_n;

    for (int32_t number = 1; text_line(&at, text + n, true, &line, &line_n); number++) {
        if (line_n == 0 || (number == 1 && strncmp(line, "#version", 8) == 0)) continue;
        int rc = bpe_add_merge(b, symbols, line, line_n, e);
        if (rc < 0) {
            err_ctx(e, "%s:%d", place, number);
            return rc;
        }
    }
    return 0;
}

int bpe_open(struct bpe **out, struct arena *a, const char *vocab_path, const char *merges_path,
             struct err *e)
{
    struct bpe *b = arena_alloc(a, sizeof *b);
    struct map symbols;
    char *text;
    size_t n;

    *out = b;
    b->arena = a;
    b->unicode = unicode_make(a);
    map_init(&symbols, a);
    map_init(&b->ranks, a);
    map_init(&b->known, a);
    strbuf_init(&b->known_text, a);
    TRY(file_read(a, &text, &n, vocab_path, BPE_FILE_BYTES_MAX, e));
    TRY(bpe_read_symbols(&symbols, text, n, vocab_path, e));
    TRY(bpe_map_bytes(b, &symbols, vocab_path, e));
    TRY(file_read(a, &text, &n, merges_path, BPE_FILE_BYTES_MAX, e));
    return bpe_read_merges(b, &symbols, text, n, merges_path, e);
}

/* --- merging --- */

/* Merges all pairs of the lowest rank until none is left. Returns the number of symbols left. */
static int32_t bpe_join(struct bpe *b, int32_t n)
{
    for (;;) {
        int32_t best = INT32_MAX, rank, put = 0, pair[2];
        for (int32_t i = 0; i + 1 < n; i++)
            if (map_get(&b->ranks, &b->symbol[i], sizeof pair, &rank) && rank < best) {
                best = rank;
                memcpy(pair, &b->symbol[i], sizeof pair);
            }
        if (best == INT32_MAX) return n;
        for (int32_t i = 0; i < n; i++) {
            bool joins = i + 1 < n && memcmp(&b->symbol[i], pair, sizeof pair) == 0;
            b->symbol[put++] = joins ? b->merged.item[best] : b->symbol[i];
            i += joins;
        }
        n = put;
    }
}

static void bpe_spell(struct bpe *b, struct strbuf *out, const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++) b->symbol[i] = b->of_byte[(unsigned char)word[i]];
    int32_t symbols_n = bpe_join(b, (int32_t)n);
    for (int32_t i = 0; i < symbols_n; i++) unit_add_number(out, (uint32_t)b->symbol[i]);
}

/* Adds the units of a word. Words are cached, because texts repeat them. */
static int bpe_word(struct bpe *b, struct strbuf *out, const char *word, size_t n, struct err *e)
{
    size_t from = out->n + (out->n > 0);
    int32_t at;

    if (n > BPE_WORD_BYTES_MAX)
        return ERR(e, ERR_DATA, "a word of %zu bytes, more than the limit of %d", n,
                   BPE_WORD_BYTES_MAX);
    if (n <= BPE_KNOWN_WORD_BYTES && map_get(&b->known, word, n, &at)) {
        const char *units = b->known_text.text + at;
        unit_add(out, "", units, strlen(units));
        return 0;
    }
    bpe_spell(b, out, word, n);
    if (n > BPE_KNOWN_WORD_BYTES || b->known.n >= BPE_KNOWN_MAX) return 0;
    *map_put(&b->known, word, n, NULL) = (int32_t)b->known_text.n;
    strbuf_add_n(&b->known_text, out->text + from, out->n - from + 1);
    return 0;
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
    for (const char *p = first, *after; p < end; p = after) {
        after = bpe_next(b, p, end);
        TRY(bpe_word(b, out, p, (size_t)(after - p), e));
    }
    return 0;
}
