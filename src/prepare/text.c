/* text.c - splits UTF-8 text into words and lines in one forward pass. */
#include "prepare/text.h"

enum { TEXT_PROGRESS_BYTES = 4 << 20 };

/* What a byte begins. Bytes of 128 and above begin a longer character. */
enum byte_class { BYTE_ORDINARY, BYTE_SPACE, BYTE_NEWLINE, BYTE_ZERO, BYTE_LONG };

static inline enum byte_class byte_class(unsigned char c)
{
    if (c > ' ') return c < 0x80 ? BYTE_ORDINARY : BYTE_LONG;
    if (c == '\n' || c == '\r') return BYTE_NEWLINE;
    if (c == '\0') return BYTE_ZERO;
    return c == ' ' || c == '\t' || c == 0x0B || c == 0x0C || c >= 0x1C ? BYTE_SPACE
                                                                        : BYTE_ORDINARY;
}

int text_decode(const unsigned char *p, const unsigned char *end, uint32_t *character)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = 0;

    if (p[0] >= 0xC2 && p[0] < 0xE0) n = 2;
    if (p[0] >= 0xE0 && p[0] < 0xF0) n = 3;
    if (p[0] >= 0xF0 && p[0] < 0xF5) n = 4;
    if (n == 0 || end - p < n) return 0;
    uint32_t value = p[0] & (0x7Fu >> n);
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
        value = value << 6 | (p[i] & 0x3Fu);
    }
    if (value < lowest[n] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return 0;
    *character = value;
    return n;
}

bool text_is_long_space(uint32_t c)
{
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

void text_scan_init(struct text_scan *s, const char *text, size_t n, const char *place,
                    const struct text_progress *progress)
{
    const unsigned char *first = (const unsigned char *)text;

    *s = (struct text_scan){.at = first,
                            .first = first,
                            .end = n > 0 ? first + n : first,
                            .line_first = first,
                            .reported = first,
                            .place = place,
                            .progress = progress && progress->call ? progress : NULL,
                            .line = 1};
}

/* Tells the share done, at most once for so many bytes; a pass that told any ends by telling 1. */
static void text_report(struct text_scan *s)
{
    bool due = s->at - s->reported >= TEXT_PROGRESS_BYTES;
    bool last = s->at == s->end && s->reported > s->first && s->reported < s->end;

    if (!s->progress || (!due && !last)) return;
    s->reported = s->at;
    s->progress->call(s->progress->context, s->progress->what,
                      (double)(s->at - s->first) / (double)(s->end - s->first));
}

static int text_error(const struct text_scan *s, const unsigned char *p, struct err *e)
{
    long long column = p - s->line_first + 1;

    if (*p == '\0')
        return ERR(e, ERR_DATA,
                   "%s:%lld: a zero byte (byte %lld of the line); the file must be UTF-8 text",
                   s->place, (long long)s->line, column);
    return ERR(e, ERR_DATA,
               "%s:%lld: byte 0x%02x (byte %lld of the line) is not UTF-8; convert the file to "
               "UTF-8, for instance with iconv",
               s->place, (long long)s->line, *p, column);
}

static int text_end_line(struct text_scan *s, const unsigned char *next)
{
    s->at = next;
    s->line_first = next;
    s->line++;
    text_report(s);
    return TEXT_LINE;
}

/* Reads the word that begins at p. */
static int text_word(struct text_scan *s, const unsigned char *p, const char **word, size_t *n,
                     struct err *e)
{
    const unsigned char *first = p;

    while (p < s->end) {
        enum byte_class class = byte_class(*p);
        if (class == BYTE_ORDINARY) {
            p++;
            continue;
        }
        if (class == BYTE_ZERO) return text_error(s, p, e);
        if (class != BYTE_LONG) break;
        uint32_t character;
        int bytes = text_decode(p, s->end, &character);
        if (bytes == 0) return text_error(s, p, e);
        if (text_is_long_space(character)) break;
        p += bytes;
    }
    s->at = p;
    *word = (const char *)first;
    *n = (size_t)(p - first);
    return TEXT_WORD;
}

int text_next(struct text_scan *s, const char **word, size_t *word_bytes, struct err *e)
{
    const unsigned char *p = s->at;

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
            bytes = text_decode(p, s->end, &character);
            if (bytes == 0) return text_error(s, p, e);
            if (!text_is_long_space(character)) return text_word(s, p, word, word_bytes, e);
        }
        p += bytes;
    }
    s->at = p;
    return s->line_first < s->end ? text_end_line(s, s->end) : TEXT_END;
}

int text_measure(int64_t *words_n, int64_t *lines_n, const char *text, size_t n, const char *place,
                 struct err *e)
{
    struct text_scan scan;
    const char *word;
    size_t word_bytes;

    *words_n = 0;
    *lines_n = 0;
    text_scan_init(&scan, text, n, place, NULL);
    for (;;) {
        int item = text_next(&scan, &word, &word_bytes, e);
        if (item < 0) return item;
        if (item == TEXT_END) return 0;
        *words_n += item == TEXT_WORD;
        *lines_n += item == TEXT_LINE;
    }
}
