/* page_check.c - see page_check.h. */
#include "report/page_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"

enum { CHECK_DEPTH_MAX = 64, CHECK_NAME_BYTES = 32, CHECK_ATTRIBUTES_MAX = 24 };

struct check {
    struct arena arena;
    const char *page, *at;
    const char *open[CHECK_DEPTH_MAX];
    int depth;
    bool policy, title;
    struct map ids;
    struct {
        const char **item;
        int32_t n, capacity;
    } references; /* to ids */
    struct err *e;
};

#define WRONG(c, ...) check_wrong((c), arena_printf(&(c)->arena, __VA_ARGS__))

static int check_wrong(struct check *c, const char *what)
{
    int line = 1;
    for (const char *p = c->page; p < c->at; p++) line += *p == '\n';
    return ERR(c->e, ERR_DATA, "line %d: %s, before \"%.60s\"", line, what, c->at);
}

static int check_entity(struct check *c)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&apos;"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(c->at, known[i], strlen(known[i])) == 0) return 0;
    return WRONG(c, "an & that begins no entity");
}

/* Characters beyond ASCII that must not be there, by their bytes: C1 controls, marks of direction,
 * separators of lines, the byte order mark. */
static const char *const check_hidden[] = {
    "\xc2\x80",     "\xc2\x85",     "\xc2\x9b",     "\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f",
    "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad",
    "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9", "\xef\xbb\xbf", "\xef\xbf\xbe", "\xef\xbf\xbf"};

/* One byte of text or of an attribute's value. */
static int check_character(struct check *c)
{
    unsigned char byte = (unsigned char)*c->at;

    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f)
        return WRONG(c, "the control character %02x", byte);
    for (size_t i = 0; byte >= 0x80 && i < sizeof check_hidden / sizeof *check_hidden; i++)
        if (strncmp(c->at, check_hidden[i], strlen(check_hidden[i])) == 0)
            return WRONG(c, "a character that cannot be seen");
    if (byte == '&') TRY(check_entity(c));
    c->at++;
    return 0;
}

/* What an attribute may not be or say. */
static int check_attribute(struct check *c, const char *name, const char *value)
{
    static const char *const banned[] = {"srcset", "action", "formaction", "srcdoc", "ping"};
    bool link = strcmp(name, "href") == 0 || strcmp(name, "xlink:href") == 0;

    if (strncmp(name, "on", 2) == 0) return WRONG(c, "the event attribute %s", name);
    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++)
        if (strcmp(name, banned[i]) == 0) return WRONG(c, "the attribute %s", name);
    if (link && value[0] != '#' && strcmp(value, "data:,") != 0)
        return WRONG(c, "a link to \"%.40s\"", value);
    if (strcmp(name, "src") == 0 && strncmp(value, "data:image/svg+xml;base64,", 26) != 0)
        return WRONG(c, "an image that is not in the page: %.40s", value);
    bool text = strcmp(name, "title") == 0 || strcmp(name, "alt") == 0 || strcmp(name, "id") == 0;
    bool loads = !link && !text;
    for (const char *url = value; loads && (url = strstr(url, "url(")); url++)
        if (url[4] != '#') return WRONG(c, "a url from outside the page: %.40s", url);
    bool added = true;
    if (strcmp(name, "id") == 0) map_put(&c->ids, value, strlen(value), &added);
    if (!added) return WRONG(c, "two ids %s", value);
    if (link && value[0] == '#') *vec_push(&c->arena, &c->references) = value + 1;
    if (strcmp(value, "Content-Security-Policy") == 0) c->policy = true;
    return 0;
}

/* A name at the place; its end. */
static size_t name_length(const char *p)
{
    return strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-");
}

/* The attributes of a tag, up to > or />. */
static int check_attributes(struct check *c)
{
    const char *seen[CHECK_ATTRIBUTES_MAX];
    int n = 0;

    for (;;) {
        size_t gap = strspn(c->at, " \n\t");
        c->at += gap;
        if (*c->at == '>' || strncmp(c->at, "/>", 2) == 0) return 0;
        size_t length = name_length(c->at);
        if (gap == 0 || length == 0) return WRONG(c, "no attribute");
        const char *name = arena_strndup(&c->arena, c->at, length);
        c->at += length;
        c->at += strspn(c->at, " ");
        if (*c->at != '=') return WRONG(c, "the attribute %s without a value", name);
        c->at++;
        c->at += strspn(c->at, " ");
        char quote = *c->at;
        if (quote != '"' && quote != '\'') return WRONG(c, "%s is not quoted", name);
        const char *value = ++c->at;
        while (*c->at && *c->at != quote) {
            if (*c->at == '<') return WRONG(c, "a < in the value of %s", name);
            TRY(check_character(c));
        }
        if (!*c->at) return WRONG(c, "the value of %s does not end", name);
        value = arena_strndup(&c->arena, value, (size_t)(c->at++ - value));
        for (int i = 0; i < n; i++)
            if (strcmp(seen[i], name) == 0) return WRONG(c, "%s is there twice", name);
        if (n == CHECK_ATTRIBUTES_MAX) return WRONG(c, "too many attributes");
        seen[n++] = name;
        TRY(check_attribute(c, name, value));
    }
}

static int check_tag(struct check *c)
{
    static const char *const banned[] = {"script", "iframe", "object",       "embed",
                                         "form",   "base",   "foreignObject"};
    bool end = c->at[1] == '/';
    const char *name = c->at + 1 + end;
    size_t n = name_length(name);

    if (n == 0 || n >= CHECK_NAME_BYTES) return WRONG(c, "a < that opens no element");
    name = arena_strndup(&c->arena, name, n);
    if (end) {
        if (c->depth == 0 || strcmp(c->open[c->depth - 1], name) != 0)
            return WRONG(c, "</%s> ends <%s>", name, c->depth ? c->open[c->depth - 1] : "");
        c->depth--;
        c->at += 2 + n;
        if (*c->at != '>') return WRONG(c, "</%s does not end", name);
        c->at++;
        return 0;
    }
    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++)
        if (strcmp(name, banned[i]) == 0) return WRONG(c, "the element %s", name);
    c->title |= strcmp(name, "title") == 0;
    c->at += 1 + n;
    TRY(check_attributes(c));
    if (*c->at == '/') {
        c->at += 2;
        return 0;
    }
    c->at++;
    if (c->depth == CHECK_DEPTH_MAX) return WRONG(c, "elements nest too deep");
    c->open[c->depth++] = name;
    return 0;
}

static int check_all(struct check *c, bool whole)
{
    static const char doctype[] = "<!DOCTYPE html>\n";

    json_t *text = json_string(c->page); /* refuses what is not UTF-8 */
    json_decref(text);
    if (!text) return WRONG(c, "bytes that are not UTF-8");
    if (whole) {
        if (strncmp(c->at, doctype, strlen(doctype)) != 0) return WRONG(c, "no doctype");
        c->at += strlen(doctype);
    }
    while (*c->at) TRY(*c->at == '<' ? check_tag(c) : check_character(c));
    if (c->depth) return WRONG(c, "<%s> does not end", c->open[c->depth - 1]);
    if (whole && (!c->policy || !c->title)) return WRONG(c, "no policy or no title");
    int32_t known;
    for (int32_t i = 0; i < c->references.n && whole; i++) {
        const char *id = c->references.item[i];
        if (!map_get(&c->ids, id, strlen(id), &known)) return WRONG(c, "nothing has the id %s", id);
    }
    return 0;
}

int page_check(const char *page, bool whole, struct err *e)
{
    struct check c = {.page = page, .at = page, .e = e};

    arena_init(&c.arena);
    map_init(&c.ids, &c.arena);
    int rc = check_all(&c, whole);
    arena_fini(&c.arena);
    return rc;
}

const char *page_skeleton(struct arena *a, const char *page)
{
    struct strbuf b;

    strbuf_init(&b, a);
    for (const char *p = strchr(page, '<'); p; p = strchr(p, '<')) {
        char quote = 0;
        for (; *p && (quote || *p != '>'); p++) {
            bool name = !quote && *p != '"' && *p != '\'' && *p != '\n';
            if (name) strbuf_add_n(&b, p, 1);
            if (quote ? *p == quote : *p == '"' || *p == '\'') quote = quote ? 0 : *p;
        }
        strbuf_add(&b, "\n");
    }
    return b.text;
}

bool page_has_tags(struct arena *a, const char *whole, const char *part)
{
    const char *lines = arena_printf(a, "\n%s", whole);

    for (const char *end; (end = strchr(part, '\n')); part = end + 1)
        if (!strstr(lines, arena_printf(a, "\n%.*s\n", (int)(end - part), part))) return false;
    return true;
}

const char *const page_hostile[PAGE_HOSTILE_N] = {
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "a & b &amp; &#0; &unknown;",
    "]]> <!-- --> <?xml?> </title></svg></style>",
    "\x01\x02\x1b[31m\x7f\r\n\t",
    "\xff\xfe \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82",
    "\xe2\x80\xae reversed \xe2\x81\xa6 \xe2\x80\x8f \xef\xbb\xbf \xc2\x85",
    "javascript:alert(1) url(http://example.org/x) fill=\"black\" id=\"x\" href=\"#y\"",
    "`touch HACK` $(touch HACK) '; system('touch HACK'); @TRACE %n %s \\input{x}",
    "=1+1",
    "<em>whole markup</em>",
};

void assert_page(const char *page, bool whole)
{
    struct err e = {0};
    if (page_check(page, whole, &e) < 0) fail_msg("%s", e.text);
}
