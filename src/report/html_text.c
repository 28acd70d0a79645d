/* html_text.c - a README as part of a page.
 *
 * What is understood is what the READMEs of artefacts are written in: blocks between empty lines,
 * **bold** and `code` in them, # headings. A block that begins like a list, a table, a quotation or
 * code keeps its lines. Anything else is text: nothing of it can become markup. */
#include <string.h>

#include "report/html.h"

static void text_put(FILE *out, struct arena *a, const char *text, size_t n)
{
    report_html_put(out, arena_strndup(a, text, n));
}

/* One piece between marks, such as `code`; the position behind it, or NULL when the mark at p opens
 * nothing. */
static const char *text_marked(FILE *out, struct arena *a, const char *p, const char *mark,
                               const char *element)
{
    size_t n = strlen(mark);
    const char *end;

    if (strncmp(p, mark, n) != 0) return NULL;
    end = strstr(p + n, mark);
    if (!end || end == p + n) return NULL;
    fprintf(out, "<%s>", element);
    text_put(out, a, p + n, (size_t)(end - p) - n);
    fprintf(out, "</%s>", element);
    return end + n;
}

void report_html_inline(FILE *out, struct arena *a, const char *p)
{
    while (*p) {
        const char *next = text_marked(out, a, p, "**", "strong");
        size_t n = strcspn(p + 1, "*`") + 1;
        if (!next) next = text_marked(out, a, p, "`", "code");
        if (!next) {
            text_put(out, a, p, n);
            next = p + n;
        }
        p = next;
    }
}

static void text_lines(FILE *out, struct arena *a, char *block)
{
    fputs("<pre>", out);
    for (char *line = block, *end; line; line = end) {
        end = strchr(line, '\n');
        text_put(out, a, line, end ? (size_t)(end - line) : strlen(line));
        if (end) fputc('\n', out), end++;
    }
    fputs("</pre>\n", out);
}

static void text_block(FILE *out, struct arena *a, char *block)
{
    if (*block == '#') {
        fputs("<h4>", out);
        report_html_inline(out, a, block + strspn(block, "# "));
        fputs("</h4>\n", out);
        return;
    }
    bool in_columns = strchr("|->+0123456789", *block) || strncmp(block, "* ", 2) == 0 ||
                      strncmp(block, "```", 3) == 0 || strncmp(block, "    ", 4) == 0;
    if (in_columns) {
        text_lines(out, a, block);
        return;
    }
    for (char *p = block; *p; p++)
        if (*p == '\n') *p = ' ';
    fputs("<p>", out);
    report_html_inline(out, a, block);
    fputs("</p>\n", out);
}

/* Takes the carriage returns and tabs out of a text, so that blocks are found by empty lines. */
static void text_plain(char *text)
{
    char *to = text;

    for (const char *p = text; *p; p++) {
        if (*p == '\r') continue;
        *to++ = *p == '\t' ? ' ' : *p;
    }
    *to = '\0';
}

void report_html_text(FILE *out, struct arena *a, const char *text, const char *more)
{
    char *own = arena_strdup(a, text), *block = own, *next;
    int shown = 0;

    text_plain(own);
    for (; block; block = next) {
        block += strspn(block, "\n");
        next = strstr(block, "\n\n");
        if (next) *next = '\0', next += 2;
        if (!*block) continue;
        if (shown == 0 && *block == '#') continue; /* the page has its own heading */
        if (shown == 1) {
            fputs("<details class=\"readme\"><summary>", out);
            report_html_put(out, more);
            fputs("</summary>\n", out);
        }
        size_t n = strlen(block);
        while (n > 0 && block[n - 1] == '\n') block[--n] = '\0';
        text_block(out, a, block);
        shown++;
    }
    if (shown > 1) fputs("</details>\n", out);
}
