/* merges.c - reads symbols and pairs, and merges the symbols of a word. */
#include "tokenizer/merges.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum {
    FAN = 16, /* priorities below one of the next level */
    LEVELS_MAX = 16,
    SHORT_N = 1024, /* symbols of a word whose priorities need no allocation */
    KNOWN_WORD_BYTES = 64,
    KNOWN_MAX = 1 << 18,     /* words in the cache */
    KNOWN_IDS_MAX = 1 << 20, /* ids in the cache */
    TICK_MERGES = 1 << 20,
    PRIORITY_NONE = INT32_MAX
};

int ids_reserve(struct ids *ids, int64_t more, struct err *e)
{
    if (ids->capacity - ids->n >= more) return 0;
    int64_t capacity =
        ids->n + more > ids->capacity * 3 / 2 ? ids->n + more : ids->capacity * 3 / 2;
    int32_t *grown = (uint64_t)capacity < SIZE_MAX / sizeof *grown
                         ? realloc(ids->item_own, (size_t)capacity * sizeof *grown)
                         : NULL;
    if (!grown) return ERR(e, ERR_NOMEM, "out of memory for %lld ids", (long long)capacity);
    ids->item_own = grown;
    ids->capacity = capacity;
    return 0;
}

/* --- the vocabulary --- */

void merges_init(struct merges *m, struct arena *a, int32_t ids_limit)
{
    *m = (struct merges){.arena = a, .unknown = -1};
    m->ids_limit = ids_limit > 0 && ids_limit < MERGES_IDS_MAX ? ids_limit : MERGES_IDS_MAX;
    map_init(&m->symbols, a);
    map_init(&m->priorities, a);
    map_init(&m->known, a);
    strbuf_init(&m->joined, a);
}

int merges_add_id(struct merges *m, int32_t *out, const char *symbol, const json_t *id,
                  struct err *e)
{
    json_int_t value = json_integer_value(id);

    if (!json_is_integer(id))
        return ERR(e, ERR_DATA, "the id of '%.40s' is not an integer", symbol);
    if (value < 0 || value >= m->ids_limit)
        return ERR(e, ERR_DATA, "the id of '%.40s' is %lld, expected 0 to %d", symbol,
                   (long long)value, m->ids_limit - 1);
    if (value >= m->used_n) { /* at least doubled */
        int64_t n = 2 * value + 4096;
        uint8_t *grown = arena_try(m->arena, (size_t)n / 8 + 1);
        if (!grown)
            return ERR(e, ERR_NOMEM, "out of memory for a vocabulary with id %lld",
                       (long long)value);
        if (m->used_n > 0) memcpy(grown, m->used, (size_t)m->used_n / 8 + 1);
        m->used = grown;
        m->used_n = n;
    }
    uint8_t bit = (uint8_t)(1 << value % 8);
    if (m->used[value / 8] & bit)
        return ERR(e, ERR_DATA, "the id of '%.40s' is %lld, which another symbol has", symbol,
                   (long long)value);
    m->used[value / 8] |= bit;
    if (value >= m->ids_n) m->ids_n = (int32_t)value + 1;
    *out = (int32_t)value;
    return 0;
}

int merges_add_vocab(struct merges *m, json_t *vocab, struct err *e)
{
    const char *symbol;
    json_t *value;
    int32_t id;

    json_object_foreach(vocab, symbol, value)
    {
        TRY(merges_add_id(m, &id, symbol, value, e));
        *map_put(&m->symbols, symbol, strlen(symbol), NULL) = id;
    }
    return 0;
}

static int merges_find(const struct merges *m, int32_t *id, const char *symbol, size_t n,
                       struct err *e)
{
    if (map_get(&m->symbols, symbol, n, id)) return 0;
    return ERR(e, ERR_DATA, "'%.*s' is not in the vocabulary", (int)(n < 80 ? n : 80), symbol);
}

int merges_add_pair(struct merges *m, const char *left, size_t left_n, const char *right,
                    size_t right_n, struct err *e)
{
    int32_t pair[2], merged;

    TRY(merges_find(m, &pair[0], left, left_n, e));
    TRY(merges_find(m, &pair[1], right, right_n, e));
    m->joined.n = 0;
    strbuf_add_n(&m->joined, left, left_n);
    strbuf_add_n(&m->joined, right, right_n);
    TRY(merges_find(m, &merged, m->joined.text, m->joined.n, e));
    *map_put(&m->priorities, pair, sizeof pair, NULL) = m->merged.n;
    *vec_push(m->arena, &m->merged) = merged;
    return 0;
}

int merges_add_line(struct merges *m, const char *line, size_t n, struct err *e)
{
    const char *space = memchr(line, ' ', n), *right = space ? space + 1 : line;
    size_t right_n = n - (size_t)(right - line);

    if (!space || space == line || right_n == 0 || memchr(right, ' ', right_n))
        return ERR(e, ERR_DATA, "'%.*s': expected two symbols with one space between them",
                   (int)(n < 80 ? n : 80), line);
    return merges_add_pair(m, line, (size_t)(space - line), right, right_n, e);
}

int merges_add_lines(struct merges *m, const char *text, size_t n, const char *path, struct err *e)
{
    const char *end = text + n, *line = text, *next;

    for (int32_t number = 1; line < end; number++, line = next) {
        const char *feed = memchr(line, '\n', (size_t)(end - line));
        size_t line_n = (size_t)((feed ? feed : end) - line);
        next = feed ? feed + 1 : end;
        if (line_n > 0 && line[line_n - 1] == '\r') line_n--;
        if (line_n == 0 || (number == 1 && strncmp(line, "#version", 8) == 0)) continue;
        int rc = merges_add_line(m, line, line_n, e);
        if (rc < 0) {
            err_ctx(e, "%s:%d", path, number);
            return rc;
        }
    }
    return 0;
}

/* --- characters --- */

static uint32_t byte_level_char(unsigned byte)
{
    if (byte <= 32) return 0x100 + byte;
    if (byte >= 127 && byte <= 160) return 0x100 + 33 + byte - 127;
    return byte == 173 ? 0x100 + 33 + 34 : byte;
}

size_t byte_level(char *out, const char *bytes, size_t n)
{
    char *p = out;

    for (size_t i = 0; i < n; i++)
        p += utf8proc_encode_char((utf8proc_int32_t)byte_level_char((unsigned char)bytes[i]),
                                  (utf8proc_uint8_t *)p);
    return (size_t)(p - out);
}

int merges_finish(struct merges *m, struct err *e)
{
    char text[MERGES_BYTE_NAME];

    for (uint32_t c = 0; c < MERGES_CHARS; c++) {
        size_t n = (size_t)utf8proc_encode_char((utf8proc_int32_t)c, (utf8proc_uint8_t *)text);
        if (!map_get(&m->symbols, text, n, &m->of_char[c])) m->of_char[c] = -1;
    }
    for (unsigned byte = 0; byte < 256; byte++) {
        snprintf(text, sizeof text, "<0x%02X>", byte);
        if (!map_get(&m->symbols, text, strlen(text), &m->of_byte[byte]) && m->bytes)
            return ERR(e, ERR_DATA, "byte_fallback = true, but the vocabulary has no %s", text);
    }
    return 0;
}

bool merges_lacks(const struct merges *m, unsigned char byte)
{
    return m->of_char[byte_level_char(byte)] < 0;
}

/* --- merging --- */

/* The priorities of the pairs of a word, by the index of the first symbol. Level 0 holds them; a
 * number of a further level is the least of FAN below it. Levels are padded with PRIORITY_NONE. */
struct priorities {
    int32_t *level[LEVELS_MAX];
    int32_t levels_n;
};

static int64_t padded(int64_t n)
{
    return (n + FAN - 1) / FAN * FAN;
}

/* Returns the numbers of all levels. */
static int64_t priorities_count(int64_t n)
{
    int64_t sum = padded(n);

    while (n > FAN) sum += padded(n = padded(n) / FAN);
    return sum;
}

static int32_t priorities_least_of(const int32_t *numbers)
{
    int32_t least = numbers[0];

    for (int i = 1; i < FAN; i++) least = numbers[i] < least ? numbers[i] : least;
    return least;
}

static int32_t pair_priority(const struct merges *m, int32_t left, int32_t right)
{
    int32_t pair[2] = {left, right}, priority;

    return map_get(&m->priorities, pair, sizeof pair, &priority) ? priority : PRIORITY_NONE;
}

/* numbers: priorities_count(n) of them. */
static void priorities_init(struct priorities *r, int32_t *numbers, const struct merges *m,
                            const int32_t *id, int64_t n)
{
    r->levels_n = 1;
    r->level[0] = numbers;
    for (int64_t i = 0; i < padded(n); i++)
        numbers[i] = i + 1 < n ? pair_priority(m, id[i], id[i + 1]) : PRIORITY_NONE;
    while (n > FAN) {
        const int32_t *below = r->level[r->levels_n - 1];
        numbers += padded(n);
        n = padded(n) / FAN;
        assert(r->levels_n < LEVELS_MAX);
        r->level[r->levels_n++] = numbers;
        for (int64_t i = 0; i < padded(n); i++)
            numbers[i] = i < n ? priorities_least_of(below + i * FAN) : PRIORITY_NONE;
    }
}

static void priorities_set(struct priorities *r, int64_t at, int32_t priority)
{
    r->level[0][at] = priority;
    for (int32_t k = 1; k < r->levels_n; k++) {
        at /= FAN;
        int32_t least = priorities_least_of(r->level[k - 1] + at * FAN);
        if (r->level[k][at] == least) return;
        r->level[k][at] = least;
    }
}

/* Returns the first index with the lowest priority. */
static int64_t priorities_first(const struct priorities *r)
{
    int64_t at = 0;

    for (int32_t k = r->levels_n - 1; k >= 0; k--) {
        const int32_t *numbers = r->level[k] + at * FAN;
        int32_t least = priorities_least_of(numbers), i = 0;
        while (numbers[i] != least) i++;
        at = at * FAN + i;
    }
    return at;
}

/* A symbol of n > 1 characters has its id at the index of the first one; the indices of the second
 * and of the last one have ~n. Ids are not negative: so the neighbours of each symbol are found
 * without further memory. */
static int64_t symbol_after(const int32_t *id, int64_t n, int64_t at)
{
    return at + 1 < n && id[at + 1] < 0 ? at + ~id[at + 1] : at + 1;
}

static int64_t symbol_before(const int32_t *id, int64_t at)
{
    return id[at - 1] < 0 ? at - ~id[at - 1] : at - 1;
}

/* Merges the n symbols at id, and sets *n to the number of those left. */
static int merges_join(const struct merges *m, int32_t *id, int64_t *n, struct priorities *r,
                       struct err *e)
{
    int64_t kept = 0;

    for (int64_t merged_n = 1;; merged_n++) {
        int64_t at = priorities_first(r);
        int32_t priority = r->level[0][at];
        if (priority == PRIORITY_NONE) break;
        int64_t second = symbol_after(id, *n, at), after = symbol_after(id, *n, second);
        id[at] = m->merged.item[priority];
        id[at + 1] = id[after - 1] = ~(int32_t)(after - at);
        priorities_set(r, second, PRIORITY_NONE);
        priorities_set(r, at, after < *n ? pair_priority(m, id[at], id[after]) : PRIORITY_NONE);
        if (at > 0) {
            int64_t before = symbol_before(id, at);
            priorities_set(r, before, pair_priority(m, id[before], id[at]));
        }
        if (merged_n % TICK_MERGES == 0 && m->tick) TRY(m->tick(m->tick_context, e));
    }
    for (int64_t at = 0, next; at < *n; at = next) {
        next = symbol_after(id, *n, at);
        id[kept++] = id[at];
    }
    *n = kept;
    return 0;
}

/* Appends the symbols of the characters of a word; out has the capacity. */
static int merges_start(struct merges *m, struct ids *out, const char *word, size_t n,
                        struct err *e)
{
    const char *end = word + n;
    bool unknown = false;
    int bytes;

    for (const char *p = word; p < end; p += bytes) {
        uint32_t c;
        bytes = str_decode_utf8(p, end, &c);
        int32_t id = c < MERGES_CHARS ? m->of_char[c] : -1;
        if (c >= MERGES_CHARS && !map_get(&m->symbols, p, (size_t)bytes, &id)) id = -1;
        bool fused = id < 0 && !m->bytes && unknown && m->fuse_unknown;
        unknown = id < 0 && !m->bytes;
        if (unknown && m->unknown < 0 && m->byte_level) {
            m->dropped_n++;
            continue;
        }
        if (unknown && m->unknown < 0)
            return ERR(e, ERR_DATA, "the tokenizer has no token for U+%04X and no unk_token", c);
        if (id < 0 && m->bytes)
            for (int i = 0; i < bytes; i++)
                out->item_own[out->n++] = m->of_byte[(unsigned char)p[i]];
        else if (!fused)
            out->item_own[out->n++] = id < 0 ? m->unknown : id;
    }
    return 0;
}

/* Appends the ids of a word that is not in the cache. */
static int merges_work(struct merges *m, struct ids *out, const char *word, size_t n, struct err *e)
{
    int32_t few[2 * SHORT_N], *numbers = few, id;
    int64_t before = out->n;
    struct priorities priorities;

    TRY(ids_reserve(out, (int64_t)n, e)); /* a symbol has at least a byte */
    if (m->whole && map_get(&m->symbols, word, n, &id)) {
        out->item_own[out->n++] = id;
        return 0;
    }
    TRY(merges_start(m, out, word, n, e));
    int64_t symbols_n = out->n - before;
    if (symbols_n < 2) return 0;
    if (symbols_n > SHORT_N)
        numbers = malloc((size_t)priorities_count(symbols_n) * sizeof *numbers);
    if (!numbers)
        return ERR(e, ERR_NOMEM, "out of memory for a word of %lld characters",
                   (long long)symbols_n);
    priorities_init(&priorities, numbers, m, out->item_own + before, symbols_n);
    int rc = merges_join(m, out->item_own + before, &symbols_n, &priorities, e);
    out->n = before + symbols_n;
    if (numbers != few) free(numbers);
    return rc;
}

int merges_spell(struct merges *m, struct ids *out, const char *word, size_t n, struct err *e)
{
    const int64_t before = out->n, dropped_n = m->dropped_n;
    int32_t at;

    if (n <= KNOWN_WORD_BYTES && map_get(&m->known, word, n, &at)) {
        const int32_t *ids = m->known_ids.item + at;
        TRY(ids_reserve(out, ids[0], e));
        memcpy(out->item_own + out->n, ids + 1, (size_t)ids[0] * sizeof *ids);
        out->n += ids[0];
        return 0;
    }
    TRY(merges_work(m, out, word, n, e));
    if (n > KNOWN_WORD_BYTES || m->known.n >= KNOWN_MAX || m->known_ids.n >= KNOWN_IDS_MAX ||
        m->dropped_n > dropped_n) /* is counted again each time */
        return 0;
    *map_put(&m->known, word, n, NULL) = m->known_ids.n;
    *vec_push(m->arena, &m->known_ids) = (int32_t)(out->n - before);
    for (int64_t i = before; i < out->n; i++) *vec_push(m->arena, &m->known_ids) = out->item_own[i];
    return 0;
}
