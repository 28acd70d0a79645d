/* wordpiece.c - normalises a word character by character, then matches pieces greedily. */
#include <string.h>

#include "base/file.h"
#include "prepare/subword.h"
#include "prepare/text.h"

enum {
    WORDPIECE_FILE_BYTES_MAX = 64 << 20,
    WORDPIECE_WORD_MAX = 100, /* characters */
    WORDPIECE_WORD_BYTES = 4 * WORDPIECE_WORD_MAX
};

struct wordpiece {
    const struct unicode *unicode;
    struct map first, next; /* pieces that begin a word; pieces that continue one, without "##" */
    bool cased;
    size_t longest; /* bytes */
    char word[WORDPIECE_WORD_BYTES];
    size_t word_n; /* bytes */
    int32_t characters_n;
};

int wordpiece_open(struct wordpiece **out, struct arena *a, const char *path, bool cased,
                   struct err *e)
{
    struct wordpiece *w = arena_alloc(a, sizeof *w);
    char *text;
    const char *at, *line;
    size_t text_n, n;
    int32_t unknown;

    *out = w;
    w->unicode = unicode_make(a);
    w->cased = cased;
    map_init(&w->first, a);
    map_init(&w->next, a);
    TRY(file_read(a, &text, &text_n, path, WORDPIECE_FILE_BYTES_MAX, e));
    at = text;
    for (int32_t number = 0; text_line(&at, text + text_n, true, &line, &n); number++) {
        bool next = n > 2 && line[0] == '#' && line[1] == '#', fresh;
        if (n > w->longest) w->longest = n;
        if (next)
            *map_put(&w->next, line + 2, n - 2, &fresh) = number;
        else
            *map_put(&w->first, line, n, &fresh) = number;
        if (!fresh)
            return ERR(e, ERR_DATA, "%s:%d: '%.*s' occurs twice", path, number + 1,
                       (int)(n < 40 ? n : 40), line);
    }
    if (map_get(&w->first, "[UNK]", 5, &unknown)) return 0;
    return ERR(e, ERR_DATA, "%s: no line [UNK]; expected a BERT vocabulary with one piece per line",
               path);
}

/* Bytes of the longest piece that begins the rest of the word; 0: none. */
static size_t wordpiece_longest(const struct map *m, const char *rest, size_t n, size_t most)
{
    int32_t number;

    for (size_t k = n < most ? n : most; k > 0; k--) {
        bool whole = k == n || ((unsigned char)rest[k] & 0xC0) != 0x80; /* only whole characters */
        if (whole && map_get(m, rest, k, &number)) return k;
    }
    return 0;
}

/* Adds the units of the current word, or <unk>. */
static void wordpiece_flush(struct wordpiece *w, struct strbuf *out)
{
    size_t before = out->n;
    bool spelled = w->characters_n <= WORDPIECE_WORD_MAX;

    for (size_t at = 0; spelled && at < w->word_n;) {
        size_t k =
            wordpiece_longest(at ? &w->next : &w->first, w->word + at, w->word_n - at, w->longest);
        spelled = k > 0;
        if (spelled) unit_add(out, at ? "##" : "", w->word + at, k);
        at += k;
    }
    if (!spelled) {
        out->n = before;
        unit_add(out, "", "<unk>", 5);
    }
    w->word_n = 0;
    w->characters_n = 0;
}

static void wordpiece_gather(struct wordpiece *w, uint32_t c)
{
    if (++w->characters_n > WORDPIECE_WORD_MAX) return;
    w->word_n += (size_t)text_encode(w->word + w->word_n, c);
}

static bool is_dropped(uint32_t c)
{
    return c == 0xFFFD || c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xAD ||
           (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x2064) || c == 0xFEFF;
}

static bool is_chinese(uint32_t c)
{
    return c >= 0x3400 && ((c >= 0x4E00 && c <= 0x9FFF) || c <= 0x4DBF ||
                           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x2A6DF) ||
                           (c >= 0x2A700 && c <= 0x2CEAF) || (c >= 0x2F800 && c <= 0x2FA1F));
}

static void wordpiece_take(struct wordpiece *w, struct strbuf *out, uint32_t c)
{
    if (c == ' ' || (c >= '\t' && c <= '\r' && c != '\v' && c != '\f') ||
        (c >= 0x80 && text_is_long_space(c) && c != 0x85 && c != 0x2028 && c != 0x2029)) {
        wordpiece_flush(w, out);
        return;
    }
    if (is_dropped(c)) return;
    if (!w->cased && c < UNICODE_SIMPLE_N) c = w->unicode->simple[c];
    if (!w->cased && w->unicode->class[c] == UNICODE_MARK) return;
    bool alone = w->unicode->class[c] == UNICODE_PUNCTUATION || is_chinese(c);
    if (alone) wordpiece_flush(w, out);
    wordpiece_gather(w, c);
    if (alone) wordpiece_flush(w, out);
}

int wordpiece_line(struct wordpiece *w, struct strbuf *out, const char *line, size_t n,
                   struct err *e)
{
    const char *end = line + n;
    uint32_t c;
    int bytes;

    w->word_n = 0;
    w->characters_n = 0;
    for (const char *at = line; at < end; at += bytes) {
        bytes = text_decode(at, end, &c);
        if (bytes == 0) return text_not_utf8(line, at, e);
        wordpiece_take(w, out, c);
    }
    wordpiece_flush(w, out);
    return 0;
}
