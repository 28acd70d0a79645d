/* clean.c - reading UTF-8 that may be none. */
#include "report/report_internal.h"

#include <stddef.h>
#include <stdint.h>

/* Characters that are valid and still not shown: C1 controls, marks and overrides of direction,
 * line and paragraph separators, interlinear marks, the byte order mark, half pairs, no characters.
 */
static const struct {
    uint32_t first, last;
} text_hidden[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E},
    {0x2066, 0x2069}, {0xD800, 0xDFFF}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xFFFE, 0xFFFF},
};

/* The code of the UTF-8 sequence at p and its bytes; 0 bytes if it is invalid. */
static int text_decode(uint32_t *code, const unsigned char *p)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;

    if (n == 0 || p[0] > 0xF4) return 0;
    *code = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xC0u) != 0x80u) return 0;
        *code = *code << 6 | (p[i] & 0x3Fu);
    }
    return *code < least[n] || *code > 0x10FFFF ? 0 : n;
}

int report_text_step(bool *clean, const char *p)
{
    uint32_t code;
    int n = text_decode(&code, (const unsigned char *)p);

    *clean = n > 0;
    for (size_t i = 0; n && i < sizeof text_hidden / sizeof *text_hidden; i++)
        if (code >= text_hidden[i].first && code <= text_hidden[i].last) *clean = false;
    return n ? n : 1;
}

const char *report_clean_text(struct arena *a, const char *text)
{
    struct strbuf b;
    bool clean = true;

    if (!text) return "";
    for (const char *p = text; *p && clean;) p += report_text_step(&clean, p);
    if (clean) return text;
    strbuf_init(&b, a);
    for (const char *p = text; *p;) {
        int n = report_text_step(&clean, p);
        if (clean) strbuf_add_n(&b, p, (size_t)n);
        for (int i = 0; i < n && !clean; i++) strbuf_addf(&b, "\\x%02x", (unsigned char)p[i]);
        p += n;
    }
    return b.text;
}
