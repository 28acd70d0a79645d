/* html_figure.c - a picture as part of a page: the file's bytes as a data URL. */
#include "base/file.h"
#include "report/html.h"

enum { FIGURE_MAX_BYTES = 16 * 1024 * 1024 };

/* RFC 4648: three bytes are four digits, and = fills the last four. */
static void put_base64(FILE *out, const char *text, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < n ? (unsigned char)text[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            fputc(i + k <= n ? digit[bits >> (18 - 6 * k) & 63] : '=', out);
    }
}

int report_html_figure(FILE *out, struct arena *a, const char *path, const char *id,
                       const char *title, struct err *e)
{
    char *text;
    size_t n;

    TRY(file_read(a, &text, &n, path, FIGURE_MAX_BYTES, e));
    fputs("<div class=\"figure\" tabindex=\"0\"><img id=\"", out);
    report_html_put(out, id);
    fputs("\" alt=\"", out);
    report_html_put(out, title);
    fputs("\" src=\"data:image/svg+xml;base64,", out);
    put_base64(out, text, n);
    fputs("\"/></div>\n", out);
    return 0;
}
