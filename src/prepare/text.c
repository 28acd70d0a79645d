/* text.c - splits UTF-8 text into words and lines in one forward pass. */
#include "prepare/text.h"

#include <string.h>

#include "base/file.h"

enum {
    TEXT_PROGRESS_BYTES = 4 << 20,
    TEXT_THREAD_BYTES = 4 << 20 /* less text is scanned before a thread has started */
};

/* --- characters --- */

int text_encode(char out[4], uint32_t c)
{
    int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (int i = n - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(n == 1 ? c : 0xF00u >> n | c);
    return n;
}

int text_check_utf8(const char *line, size_t n, struct err *e)
{
    uint32_t c;
    int bytes;

    for (size_t at = 0; at < n; at += (size_t)bytes) {
        bytes = text_decode(line + at, line + n, &c);
        if (bytes == 0)
            return ERR(e, ERR_DATA, "byte 0x%02x (byte %zu of the line) is not UTF-8",
                       (unsigned char)line[at], at + 1);
    }
    return 0;
}

void text_add_unit(struct strbuf *line, const char *first, const char *rest, size_t rest_n)
{
    if (line->n > 0) strbuf_add_n(line, " ", 1);
    if (*first) strbuf_add(line, first);
    strbuf_add_n(line, rest, rest_n);
}

bool text_is_long_space(uint32_t c)
{
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/* --- lines and parts --- */

bool text_line(const char **at, const char *end, bool trim_cr, const char **line, size_t *n)
{
    if (*at == end) return false;
    const char *line_end = memchr(*at, '\n', (size_t)(end - *at));
    *line = *at;
    *n = (size_t)((line_end ? line_end : end) - *at);
    *at += *n + (line_end != NULL);
    if (trim_cr && *n > 0 && (*line)[*n - 1] == '\r') --*n;
    return true;
}

int text_open(struct text *t, const char *path, const struct text_progress *progress, struct err *e)
{
    struct file_map map;

    TRY(file_map_open(&map, path, e));
    *t = (struct text){.bytes = map.data, .n = map.n, .place = path, .progress = progress};
    return 0;
}

void text_close(struct text *t)
{
    struct file_map map = {.data = t->bytes, .n = t->n};

    file_map_close(&map);
}

int32_t text_threads(const struct text *t)
{
    size_t worth = t->n / TEXT_THREAD_BYTES;
    int32_t threads = parallel_cores();

    if (t->progress && t->progress->threads > 0)
        return t->progress->threads < PARALLEL_MAX ? t->progress->threads : PARALLEL_MAX;
    if ((size_t)threads > worth) threads = (int32_t)worth;
    return threads > 1 ? threads : 1;
}

bool text_take(struct text *out, const struct text *t, size_t *at, size_t bytes)
{
    size_t end = t->n - *at > bytes ? *at + bytes : t->n;

    if (*at == t->n) return false;
    while (end < t->n && t->bytes[end - 1] != '\n' && t->bytes[end - 1] != ' ') end++;
    *out = *t;
    out->bytes += *at;
    out->n = end - *at;
    if (*at > 0) out->progress = NULL;
    if (end < t->n) out->goes_on = true;
    *at = end;
    return true;
}

int32_t text_cut(struct text out[PARALLEL_MAX], int32_t wanted, const struct text *t)
{
    size_t bytes = (t->n - 1) / (size_t)wanted + 1, at = 0;
    int32_t n = 0;

    while (text_take(&out[n], t, &at, bytes)) n++;
    if (n == 0) out[n++] = *t;
    return n;
}

void text_report(const struct text *t, const char **reported, const char *at)
{
    const char *end = t->n > 0 ? t->bytes + t->n : t->bytes;
    bool due = at - *reported >= TEXT_PROGRESS_BYTES;
    bool last = at == end && *reported > t->bytes && *reported < end;

    if (!t->progress || !t->progress->call || (!due && !last)) return;
    *reported = at;
    t->progress->call(t->progress->context, t->progress->what,
                      (double)(at - t->bytes) / (double)t->n);
}

/* --- the scanner --- */

/* Class of a byte. Bytes of 128 and above begin a multi-byte character. */
enum byte_class { BYTE_ORDINARY, BYTE_SPACE, BYTE_NEWLINE, BYTE_ZERO, BYTE_LONG };

static enum byte_class byte_class(char byte)
{
    unsigned char c = (unsigned char)byte;

    if (c > ' ') return c < 0x80 ? BYTE_ORDINARY : BYTE_LONG;
    if (c == '\n' || c == '\r') return BYTE_NEWLINE;
    if (c == '\0') return BYTE_ZERO;
    return c == ' ' || c == '\t' || c == 0x0B || c == 0x0C || c >= 0x1C ? BYTE_SPACE
                                                                        : BYTE_ORDINARY;
}

void text_scan_init(struct text_scan *s, const struct text *t)
{
    *s = (struct text_scan){.text = t,
                            .at = t->bytes,
                            .end = t->n > 0 ? t->bytes + t->n : t->bytes,
                            .line_first = t->bytes,
                            .reported = t->bytes,
                            .line = 1};
}

static int text_error(const struct text_scan *s, const char *p, struct err *e)
{
    long long column = p - s->line_first + 1;

    if (*p == '\0')
        return ERR(e, ERR_DATA,
                   "%s:%lld: zero byte (byte %lld of the line); convert the file to UTF-8 text",
                   s->text->place, (long long)s->line, column);
    return ERR(e, ERR_DATA,
               "%s:%lld: byte 0x%02x (byte %lld of the line) is not UTF-8; convert the file to "
               "UTF-8, for instance with iconv",
               s->text->place, (long long)s->line, (unsigned char)*p, column);
}

static int text_end_line(struct text_scan *s, const char *next)
{
    s->at = next;
    s->line_first = next;
    s->line++;
    text_report(s->text, &s->reported, next);
    return TEXT_LINE;
}

/* Reads the word that begins at p. */
static int text_word(struct text_scan *s, const char *p, const char **word, size_t *n,
                     struct err *e)
{
    const char *end = s->end;

    *word = p;
    for (;;) {
        while (p < end && (unsigned char)(*p - '!') < 0x80 - '!') p++; /* most of ASCII */
        enum byte_class class = p < end ? byte_class(*p) : BYTE_SPACE;
        if (class == BYTE_ZERO) return text_error(s, p, e);
        if (class == BYTE_SPACE || class == BYTE_NEWLINE) break;
        uint32_t character;
        int bytes = text_decode(p, end, &character);
        if (bytes == 0) return text_error(s, p, e);
        if (class == BYTE_LONG && text_is_long_space(character)) break;
        p += bytes;
    }
    s->at = p;
    *n = (size_t)(p - *word);
    return TEXT_WORD;
}

int text_next(struct text_scan *s, const char **word, size_t *word_bytes, struct err *e)
{
    const char *p = s->at;

    while (p < s->end) {
        enum byte_class class = byte_class(*p);
        uint32_t character;
        int bytes = 1;
        if (class == BYTE_NEWLINE) {
            bool pair = *p == '\r' && s->end - p > 1 && p[1] == '\n';
            return text_end_line(s, p + (pair ? 2 : 1));
        }
        if (class == BYTE_ZERO) return text_error(s, p, e);
        if (class == BYTE_ORDINARY) return text_word(s, p, word, word_bytes, e);
        if (class == BYTE_LONG) {
            bytes = str_decode_utf8(p, s->end, &character);
            if (bytes == 0) return text_error(s, p, e);
            if (!text_is_long_space(character)) return text_word(s, p, word, word_bytes, e);
        }
        p += bytes;
    }
    s->at = p;
    if (s->line_first < s->end && !s->text->goes_on) return text_end_line(s, s->end);
    text_report(s->text, &s->reported, p);
    return TEXT_END;
}
