/* text.c - splits UTF-8 text into words and lines in one forward pass. */
#include "prepare/text.h"

#include <string.h>

#include "base/file.h"

enum { TEXT_PROGRESS_BYTES = 4 << 20 };

/* --- characters --- */

int text_encode(char out[4], uint32_t c)
{
    int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (int i = n - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(n == 1 ? c : 0xF00u >> n | c);
    return n;
}

int text_not_utf8(const char *line, const char *p, struct err *e)
{
    return ERR(e, ERR_DATA,
               "byte 0x%02x (byte %lld of the line) is not UTF-8; convert the file to UTF-8, for "
               "instance with iconv",
               (unsigned char)*p, (long long)(p - line) + 1);
}

bool text_is_long_space(uint32_t c)
{
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool text_is_space(uint32_t c)
{
    if (c > ' ') return c >= 0x80 && text_is_long_space(c);
    return c == ' ' || (c >= '\t' && c <= '\r') || c >= 0x1C;
}

/* --- files and lines --- */

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

int text_open(struct text *t, const char *path, struct text_progress progress, struct err *e)
{
    struct file_map map;

    TRY(file_map_open(&map, path, e));
    *t = (struct text){
        .bytes = map.n > 0 ? map.data : "", .n = map.n, .name = path, .progress = progress};
    return 0;
}

void text_close(struct text *t)
{
    struct file_map map = {.data = t->n > 0 ? t->bytes : NULL, .n = t->n};

    file_map_close(&map);
}

void text_report(const struct text *t, const char **reported, const char *at)
{
    const char *end = t->bytes + t->n;
    bool due = at - *reported >= TEXT_PROGRESS_BYTES;
    bool last = at == end && *reported > t->bytes && *reported < end;

    if (!t->progress.call || (!due && !last)) return;
    *reported = at;
    t->progress.call(t->progress.context, t->progress.what, (double)(at - t->bytes) / (double)t->n);
}

/* --- the scanner --- */

void text_scan_init(struct text_scan *s, const struct text *t)
{
    *s = (struct text_scan){
        .text = t, .at = t->bytes, .line_first = t->bytes, .line = 1, .reported = t->bytes};
}

static int text_error(const struct text_scan *s, const char *p, struct err *e)
{
    int rc = *p != '\0' ? text_not_utf8(s->line_first, p, e)
                        : ERR(e, ERR_DATA,
                              "zero byte (byte %lld of the line); convert the file to UTF-8 text",
                              (long long)(p - s->line_first) + 1);

    err_ctx(e, "%s:%lld", s->text->name, (long long)s->line);
    return rc;
}

static int text_end_line(struct text_scan *s, const char *next)
{
    s->at = s->line_first = next;
    s->line++;
    text_report(s->text, &s->reported, next);
    return TEXT_LINE;
}

int text_next(struct text_scan *s, struct err *e)
{
    const char *p = s->at, *end = s->text->bytes + s->text->n;
    uint32_t c;

    s->word = NULL;
    for (int bytes; p < end; p += bytes) {
        bytes = text_decode(p, end, &c);
        if (bytes == 0 || c == '\0') return text_error(s, p, e);
        if (!text_is_space(c)) {
            if (!s->word) s->word = p;
            continue;
        }
        if (s->word) break;
        if (c == '\n' || c == '\r')
            return text_end_line(s, p + (c == '\r' && end - p > 1 && p[1] == '\n' ? 2 : 1));
    }
    s->at = p;
    if (s->word) {
        s->word_n = (size_t)(p - s->word);
        return TEXT_WORD;
    }
    return s->line_first < end ? text_end_line(s, end) : TEXT_END;
}
