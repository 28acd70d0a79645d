/* str.c - see str.h. */
#include "base/str.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STR_NEAR_BYTES = 64, STR_ESCAPE_BYTES = 4 };

void strbuf_init(struct strbuf *b, struct arena *a)
{
    *b = (struct strbuf){.arena = a, .capacity = 128, .text = arena_alloc(a, 128)};
}

/* Grows the buffer for n more bytes. */
static void strbuf_reserve(struct strbuf *b, size_t n)
{
    if (b->n + n < b->capacity) return;
    while (b->n + n >= b->capacity) b->capacity *= 2;
    char *text = arena_alloc(b->arena, b->capacity);
    b->text = memcpy(text, b->text, b->n);
}

void strbuf_add_n(struct strbuf *b, const char *bytes, size_t n)
{
    strbuf_reserve(b, n);
    memcpy(b->text + b->n, bytes, n);
    b->n += n;
    b->text[b->n] = '\0';
}

void strbuf_add(struct strbuf *b, const char *text)
{
    strbuf_add_n(b, text, strlen(text));
}

void strbuf_addf(struct strbuf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(b->text + b->n, b->capacity - b->n, format, args);
    assert(n >= 0);
    if ((size_t)n >= b->capacity - b->n) {
        strbuf_reserve(b, (size_t)n);
        vsnprintf(b->text + b->n, (size_t)n + 1, format, again);
    }
    b->n += (size_t)n;
    va_end(again);
    va_end(args);
}

bool str_to_int(int64_t *out, const char *text)
{
    const char *p = text;
    char *end;

    if (*p == '-' || *p == '+') p++;
    if (*p < '0' || *p > '9') return false;
    if (p[0] == '0' && p[1] != '\0') return false; /* reject 010: some readers expect octal */
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end) return false;
    *out = value;
    return true;
}

bool str_to_double(double *out, const char *text)
{
    char *end;

    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text)) return false;
    if (!strpbrk(text, "0123456789")) return false;
    errno = 0;
    double value = strtod(text, &end);
    if (*end || !isfinite(value)) return false;
    *out = value;
    return true;
}

void str_from_double(char out[STR_DOUBLE_BYTES], double value)
{
    if (fabs(value) < 1e15 && value == floor(value)) { /* 270000, not 2.7e+05 */
        snprintf(out, STR_DOUBLE_BYTES, "%.0f", value == 0 ? 0 : value);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, STR_DOUBLE_BYTES, "%.*g", digits, value);
        if (strtod(out, NULL) == value) return;
    }
}

/* True if two letters are the same, case aside. */
static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Edit distance of a and of b up to "=": characters inserted, deleted or changed, and neighbours
 * swapped. Among equals the fewest changes win: a slip of the finger drops a character more often
 * than it hits the next one, so figur11 is figure11, not figure1. */
enum { EDIT = 64, CHANGE = EDIT + 1 };
static size_t str_distance(const char *a, const char *b)
{
    size_t rows[3][STR_NEAR_BYTES + 1] = {{0}};
    size_t n = strcspn(b, "=");

    if (n > STR_NEAR_BYTES) return SIZE_MAX;
    for (size_t j = 0; j <= n; j++) rows[0][j] = EDIT * j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = EDIT * i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = above[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : CHANGE);
            if (above[j] + EDIT < best) best = above[j] + EDIT;
            if (row[j - 1] + EDIT < best) best = row[j - 1] + EDIT;
            bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
            if (swapped && two_above[j - 2] + EDIT < best) best = two_above[j - 2] + EDIT;
            row[j] = best;
        }
    }
    return rows[strlen(a) % 3][n];
}

const char *str_nearest(const char *text, const char *const *names, size_t n)
{
    const char *nearest = NULL;
    size_t length = strlen(text), best = CHANGE * (length / 3 + 1);

    for (size_t i = 0; i < n; i++) {
        size_t distance = str_distance(text, names[i]);
        if (distance > best || (nearest && distance == best)) continue;
        best = distance;
        nearest = names[i];
    }
    for (size_t i = 0; i < n && !nearest; i++) {
        const char *dot = strrchr(names[i], '.');
        if (dot && strcmp(dot + 1, text) == 0) nearest = names[i];
    }
    for (size_t i = 0; i < n && !nearest && length >= 3; i++)
        if (strncmp(names[i], text, length) == 0) nearest = names[i];
    const char *equals = nearest ? strchr(nearest, '=') : NULL;
    return equals ? equals + 1 : nearest;
}

struct str_hint str_hint(const char *text, const char *const *names, size_t n)
{
    struct str_hint hint = {""};
    const char *near = str_nearest(text, names, n);

    if (near) snprintf(hint.text, sizeof hint.text, "; did you mean '%s'?", near);
    return hint;
}

static const char *quoted(struct arena *a, const char *text, char quote, const char *inside)
{
    struct strbuf b;

    strbuf_init(&b, a);
    strbuf_add_n(&b, &quote, 1);
    for (; *text; text++)
        strbuf_add_n(&b, *text == quote ? inside : text, *text == quote ? strlen(inside) : 1);
    strbuf_add_n(&b, &quote, 1);
    return b.text;
}

const char *str_quote(struct arena *a, const char *text, char quote)
{
    return quoted(a, text, quote, quote == '"' ? "\"\"" : "''");
}

const char *str_shell_word(struct arena *a, const char *text)
{
    bool plain = *text && !text[strcspn(text, " \t\n\"'\\$&|;<>()`*?[]#~!{}")];
    return plain ? text : quoted(a, text, '\'', "'\\''");
}

char *str_trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r", text[n - 1])) text[--n] = '\0';
    return text;
}

bool str_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Returns the bytes that a name at the beginning of text has; 0: there is none. */
static size_t name_bytes(const char *text)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = strspn(text, allowed);
    return n <= 64 && text[0] != '.' && text[0] != '-' ? n : 0;
}

bool str_is_name(const char *text)
{
    size_t n = name_bytes(text);
    return n > 0 && !text[n];
}

bool str_is_name_path(const char *text)
{
    size_t n = name_bytes(text);
    while (n > 0 && text[n] == '/') {
        text += n + 1;
        n = name_bytes(text);
    }
    return n > 0 && !text[n];
}

char *str_last_line(char *text)
{
    size_t n = strlen(text);

    while (n > 0 && (unsigned char)text[n - 1] <= ' ') n--;
    text[n] = '\0';
    char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    return line;
}

char *str_thousands(struct arena *a, int64_t n)
{
    char digits[32], *out = arena_alloc(a, 48);
    int length = snprintf(digits, sizeof digits, "%lld", (long long)n), k = 0;

    for (int i = 0; i < length; i++) {
        out[k++] = digits[i];
        int left = length - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-') out[k++] = ',';
    }
    return out;
}

char *str_bytes(struct arena *a, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t u = 0;
    while (bytes >= 999.5 && u + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        u++;
    }
    return arena_printf(a, u && bytes < 9.95 ? "%.1f %s" : "%.0f %s", bytes, units[u]);
}

int str_decode_utf8(const char *text, const char *end, uint32_t *character)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)text;
    int n = 0;

    *character = p[0];
    if (p[0] < 0x80) return 1;
    if (p[0] >= 0xC2 && p[0] < 0xE0) n = 2;
    if (p[0] >= 0xE0 && p[0] < 0xF0) n = 3;
    if (p[0] >= 0xF0 && p[0] < 0xF5) n = 4;
    if (n == 0 || end - text < n) return 0;
    uint32_t value = p[0] & (0x7Fu >> n);
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
        value = value << 6 | (p[i] & 0x3Fu);
    }
    if (value < lowest[n] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return 0;
    *character = value;
    return n;
}

/* Characters that are valid UTF-8 and still not printed: C0 and C1 controls, marks and overrides of
 * direction, line and paragraph separators, the byte order mark, interlinear marks, noncharacters.
 */
static const struct {
    uint32_t first, last;
} hidden_characters[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E},
    {0x2066, 0x2069}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xFFFE, 0xFFFF},
};

int str_clean_step(bool *clean, const char *p, const char *end)
{
    uint32_t code;
    int n = str_decode_utf8(p, end, &code);

    *clean = n > 0;
    for (size_t i = 0; n && i < sizeof hidden_characters / sizeof *hidden_characters; i++)
        if (code >= hidden_characters[i].first && code <= hidden_characters[i].last) *clean = false;
    return n ? n : 1;
}

size_t str_clean_n(char *out, size_t capacity, const char *text, size_t n, const char *kept)
{
    const char *end = text + n;
    size_t length = 0;

    for (const char *p = text; p < end;) {
        bool clean;
        size_t bytes = (size_t)str_clean_step(&clean, p, end);
        if (*p && strchr(kept, *p)) clean = true;
        if (length + (clean ? bytes : STR_ESCAPE_BYTES * bytes) >= capacity) break;
        for (size_t i = 0; i < bytes; i++) {
            if (clean)
                out[length++] = p[i];
            else
                length += (size_t)snprintf(out + length, capacity - length, "\\x%02x",
                                           (unsigned char)p[i]);
        }
        p += bytes;
    }
    out[length] = '\0';
    return length;
}

const char *str_clean(struct arena *a, const char *text, const char *kept)
{
    bool clean = true;

    if (!text) return "";
    size_t n = strlen(text);
    for (const char *p = text; p < text + n && clean;) p += str_clean_step(&clean, p, text + n);
    if (clean) return text;
    size_t capacity = STR_ESCAPE_BYTES * n + 1;
    char *out = arena_alloc(a, capacity);
    str_clean_n(out, capacity, text, n, kept);
    return out;
}
