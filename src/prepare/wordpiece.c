/* wordpiece.c - normalises a word character by character, then takes pieces greedily. */
#include "prepare/wordpiece.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "prepare/spellings.h"
#include "prepare/text.h"
#include "prepare/unicode.h"

enum {
    WORDPIECE_FILE_BYTES_MAX = 64 << 20,
    WORDPIECE_WORD_MAX = 100, /* characters */
    WORDPIECE_WORD_BYTES = 4 * WORDPIECE_WORD_MAX
};

struct wordpiece {
    struct spellings first, next; /* pieces that begin a word; those that go on, without "##" */
    bool cased;
    size_t longest; /* bytes */
    char word[WORDPIECE_WORD_BYTES];
    size_t word_n; /* bytes */
    int32_t characters_n;
};

int wordpiece_open(struct wordpiece **out, const char *path, bool cased, struct err *e)
{
    struct wordpiece *w = calloc(1, sizeof *w);
    struct arena arena;
    char *text;
    int32_t line = 0;
    int rc = 0;

    *out = NULL;
    if (!w) return ERR(e, ERR_NOMEM, "%s: no memory to read it", path);
    w->cased = cased;
    arena_init(&arena);
    TRY_OUT(rc, file_read(&arena, &text, NULL, path, WORDPIECE_FILE_BYTES_MAX, e));
    TRY_OUT(rc, spellings_open(&w->first, e));
    TRY_OUT(rc, spellings_open(&w->next, e));
    for (char *at = text; *at; line++) {
        size_t n = strcspn(at, "\n"), piece_n = n > 0 && at[n - 1] == '\r' ? n - 1 : n;
        bool next = piece_n > 2 && at[0] == '#' && at[1] == '#';
        if (piece_n > w->longest) w->longest = piece_n;
        rc = next ? spellings_add(&w->next, at + 2, piece_n - 2, line, e)
                  : spellings_add(&w->first, at, piece_n, line, e);
        if (rc < 0) {
            err_ctx(e, "%s:%d", path, line + 1);
            goto out;
        }
        at += n + (at[n] == '\n');
    }
    if (spellings_find(&w->first, "[UNK]", 5) < 0) {
        rc = ERR(e, ERR_DATA, "%s: no line [UNK]; a vocabulary of BERT has one piece a line", path);
        goto out;
    }
    *out = w;
    w = NULL;
out:
    wordpiece_close(w);
    arena_fini(&arena);
    return rc;
}

void wordpiece_close(struct wordpiece *w)
{
    if (!w) return;
    spellings_close(&w->first);
    spellings_close(&w->next);
    free(w);
}

/* Bytes of the longest piece that the rest of the word begins with; 0 when there is none. */
static size_t wordpiece_longest(const struct spellings *s, const char *rest, size_t n, size_t most)
{
    for (size_t k = n < most ? n : most; k > 0; k--) {
        bool whole = k == n || ((unsigned char)rest[k] & 0xC0) != 0x80; /* no half characters */
        if (whole && spellings_find(s, rest, k) >= 0) return k;
    }
    return 0;
}

/* Gives out the word that has been gathered, as a whole or as unknown. */
static void wordpiece_flush(struct wordpiece *w, struct encoded *out)
{
    size_t before = out->n;
    bool spelled = w->characters_n <= WORDPIECE_WORD_MAX;

    for (size_t at = 0; spelled && at < w->word_n;) {
        size_t k =
            wordpiece_longest(at ? &w->next : &w->first, w->word + at, w->word_n - at, w->longest);
        spelled = k > 0;
        if (spelled) encoded_add(out, "##", at ? 2 : 0, w->word + at, k);
        at += k;
    }
    if (!spelled) {
        out->n = before;
        encoded_add(out, "", 0, "<unk>", 5);
    }
    w->word_n = 0;
    w->characters_n = 0;
}

static void wordpiece_gather(struct wordpiece *w, uint32_t c)
{
    if (++w->characters_n > WORDPIECE_WORD_MAX) return;
    char *p = w->word + w->word_n;
    if (c < 0x80) {
        *p++ = (char)c;
    } else if (c < 0x800) {
        *p++ = (char)(0xC0 | c >> 6);
    } else if (c < 0x10000) {
        *p++ = (char)(0xE0 | c >> 12);
        *p++ = (char)(0x80 | (c >> 6 & 0x3F));
    } else {
        *p++ = (char)(0xF0 | c >> 18);
        *p++ = (char)(0x80 | (c >> 12 & 0x3F));
        *p++ = (char)(0x80 | (c >> 6 & 0x3F));
    }
    if (c >= 0x80) *p++ = (char)(0x80 | (c & 0x3F));
    w->word_n = (size_t)(p - w->word);
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

static void wordpiece_take(struct wordpiece *w, struct encoded *out, uint32_t c)
{
    if (c == ' ' || (c >= '\t' && c <= '\r' && c != '\v' && c != '\f') ||
        (c >= 0x80 && text_is_long_space(c) && c != 0x85 && c != 0x2028 && c != 0x2029)) {
        wordpiece_flush(w, out);
        return;
    }
    if (is_dropped(c)) return;
    if (!w->cased) c = unicode_simple(c);
    if (!w->cased && unicode_is_mark(c)) return;
    bool alone = unicode_is_punctuation(c) || is_chinese(c);
    if (alone) wordpiece_flush(w, out);
    wordpiece_gather(w, c);
    if (alone) wordpiece_flush(w, out);
}

int wordpiece_line(struct wordpiece *w, struct encoded *out, const char *line, size_t n,
                   struct err *e)
{
    const unsigned char *at = (const unsigned char *)line, *end = at + n;

    w->word_n = 0;
    w->characters_n = 0;
    while (at < end) {
        uint32_t c = *at;
        int bytes = 1;
        if (c >= 0x80) bytes = text_decode(at, end, &c);
        if (bytes == 0)
            return ERR(e, ERR_DATA, "byte 0x%02x (byte %lld of the line) is not UTF-8", *at,
                       (long long)(at - (const unsigned char *)line) + 1);
        wordpiece_take(w, out, c);
        at += bytes;
    }
    wordpiece_flush(w, out);
    return 0;
}
