/* yaml.c - builds a tree from libyaml events.
 *
 * The bytes are checked first (size, NUL, UTF-8), so that later positions are reliable. Then events
 * are read one by one and the depth is checked before each node: libyaml has no limit and needs
 * quadratic time for deep nesting. */
#include "plan/plan_internal.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <yaml.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/str.h"
#include "plan/plan.h"

/* The state of reading one file. */
struct yaml_reader {
    struct arena *arena;
    const char *file;
    const char *bytes; /* without a byte order mark */
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
};

int yaml_error(const struct yaml_node *at, struct err *e, const char *format, ...)
{
    char text[sizeof e->text];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ERR(e, ERR_DATA, "%s:%d:%d: %s", at->file, at->line, at->column, text);
}

int yaml_place(const struct yaml_node *at, int rc, struct err *e)
{
    if (rc < 0) err_ctx(e, "%s:%d:%d", at->file, at->line, at->column);
    return rc;
}

/* --- bytes ---------------------------------------------------------------------------------- */

/* Line and column of byte `offset`, counted like libyaml. */
static struct yaml_node node_at_byte(const struct yaml_reader *r, size_t offset)
{
    struct yaml_node at = {.file = r->file, .line = 1, .column = 1};

    for (size_t i = 0; i < offset; i++) {
        if (r->bytes[i] == '\n' || (r->bytes[i] == '\r' && r->bytes[i + 1] != '\n')) {
            at.line++;
            at.column = 1;
        } else if (((unsigned char)r->bytes[i] & 0xC0) != 0x80) {
            at.column++;
        }
    }
    return at;
}

static int check_bytes(const struct yaml_reader *r, size_t n, struct err *e)
{
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)r->bytes[i];
        uint32_t character;
        size_t length = (size_t)str_decode_utf8(r->bytes + i, r->bytes + n, &character);
        if (length > 0 && (c >= ' ' || c == '\t' || c == '\n' || c == '\r') && c != 0x7F) {
            i += length;
            continue;
        }
        struct yaml_node at = node_at_byte(r, i);
        if (length == 0)
            return yaml_error(&at, e, "byte 0x%02x is not UTF-8; save the file as UTF-8 text", c);
        return yaml_error(&at, e, "control character 0x%02x; remove it", c);
    }
    return 0;
}

/* --- events --------------------------------------------------------------------------------- */

static struct yaml_node node_at_mark(const struct yaml_reader *r, yaml_mark_t mark)
{
    return (struct yaml_node){.file = r->file,
                              .line = mark.line < INT_MAX ? (int32_t)mark.line + 1 : INT_MAX,
                              .column = mark.column < INT_MAX ? (int32_t)mark.column + 1 : INT_MAX};
}

/* Replaces the reader's event by the next one. */
static int next_event(struct yaml_reader *r, struct err *e)
{
    yaml_event_delete(&r->event);
    if (yaml_parser_parse(&r->parser, &r->event)) return 0;
    struct yaml_node at = node_at_mark(r, r->parser.problem_mark);
    const char *problem = r->parser.problem ? r->parser.problem : "not YAML";
    if (r->parser.error == YAML_READER_ERROR) at = node_at_byte(r, r->parser.problem_offset);
    if (r->parser.error == YAML_MEMORY_ERROR)
        return ERR(e, ERR_NOMEM, "out of memory while reading %s", r->file);
    if (strstr(problem, "cannot start any token"))
        problem = "this character cannot start a value (a tab? indent with spaces)";
    if (strstr(problem, "mapping values are not allowed"))
        return yaml_error(&at, e,
                          "a second ': ' in one line; quote the text, such as title: \"a: b\"");
    return yaml_error(&at, e, "%s%s%s", problem, r->parser.context ? " " : "",
                      r->parser.context ? r->parser.context : "");
}

/* Rejects an event that is an alias or has an anchor or a tag. */
static int check_plain(const struct yaml_reader *r, const struct yaml_node *at, struct err *e)
{
    /* The events of scalars, lists and mappings begin with these two members. */
    const char *anchor = (const char *)r->event.data.scalar.anchor;
    const char *tag = (const char *)r->event.data.scalar.tag;

    if (r->event.type == YAML_ALIAS_EVENT)
        return yaml_error(at, e, "alias *%.60s is not supported; write the value out",
                          (const char *)r->event.data.alias.anchor);
    if (anchor) return yaml_error(at, e, "anchor &%.60s is not supported; remove it", anchor);
    if (tag)
        return yaml_error(
            at, e, "tag %.60s is not supported; remove it: the key determines the type", tag);
    return 0;
}

struct node_list {
    const struct yaml_node **item;
    int32_t n, capacity;
};

/* Reports the first key in the file that is repeated in its mapping. */
static int check_duplicates(const struct yaml_reader *r, const struct node_list *keys,
                            struct err *e)
{
    struct map seen;
    bool added;

    if (keys->n < 2) return 0;
    map_init(&seen, r->arena);
    for (int32_t i = 0; i < keys->n; i++) {
        const struct yaml_node *key = keys->item[i];
        int32_t *at = map_put(&seen, key->text, strlen(key->text), &added);
        if (!added)
            return yaml_error(key, e, "'%.60s' is already given at line %d, column %d", key->text,
                              keys->item[*at]->line, keys->item[*at]->column);
        *at = i;
    }
    return 0;
}

/* Reads the node that the reader's event begins, up to its last event. */
static int read_node(struct yaml_reader *r, const struct yaml_node **out, int depth, struct err *e)
{
    struct node_list keys = {0}, values = {0};
    struct yaml_node *node = arena_alloc(r->arena, sizeof *node);
    bool is_map = r->event.type == YAML_MAPPING_START_EVENT;

    *node = node_at_mark(r, r->event.start_mark);
    *out = node;
    TRY(check_plain(r, node, e));
    if (r->event.type == YAML_SCALAR_EVENT) {
        node->text = arena_strdup(r->arena, (const char *)r->event.data.scalar.value);
        return strlen(node->text) == r->event.data.scalar.length
                   ? 0
                   : yaml_error(node, e, "text contains a NUL character");
    }
    if (depth == PLAN_MAX_DEPTH)
        return yaml_error(node, e, "nested deeper than %d levels", PLAN_MAX_DEPTH);
    node->kind = is_map ? YAML_MAP : YAML_LIST;
    for (;;) {
        const struct yaml_node *child;
        TRY(next_event(r, e));
        if (r->event.type == YAML_MAPPING_END_EVENT || r->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        TRY(read_node(r, &child, depth + 1, e));
        bool is_key = is_map && keys.n == values.n;
        if (is_key && child->kind != YAML_SCALAR)
            return yaml_error(child, e, "a key must be a name, not a list or a mapping");
        *vec_push(r->arena, is_key ? &keys : &values) = child;
    }
    node->item = values.item;
    node->key = keys.item;
    node->n = values.n;
    return check_duplicates(r, &keys, e);
}

/* Reads the only document of the stream. */
static int read_document(struct yaml_reader *r, const struct yaml_node **out, struct err *e)
{
    static const yaml_event_type_t start[] = {YAML_STREAM_START_EVENT, YAML_DOCUMENT_START_EVENT};

    for (int i = 0; i < 2; i++) {
        TRY(next_event(r, e));
        if (r->event.type != start[i])
            return ERR(e, ERR_DATA, "%s:1:1: the file is empty", r->file);
    }
    TRY(next_event(r, e));
    TRY(read_node(r, out, 0, e));
    TRY(next_event(r, e)); /* the end of the document */
    TRY(next_event(r, e));
    if (r->event.type == YAML_STREAM_END_EVENT) return yaml_want(*out, YAML_MAP, "the file", e);
    struct yaml_node at = node_at_mark(r, r->event.start_mark);
    return yaml_error(&at, e, "a second document begins here; a file must contain one");
}

int yaml_parse(const struct yaml_node **out, struct arena *a, const char *file, const char *bytes,
               size_t n, struct err *e)
{
    struct yaml_reader r = {.arena = a, .file = arena_strdup(a, file), .bytes = bytes};

    if (n > PLAN_MAX_YAML_BYTES)
        return ERR(e, ERR_DATA, "%s:1:1: file has %zu bytes, more than the limit of %d", file, n,
                   PLAN_MAX_YAML_BYTES);
    if (n >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) { /* skip a byte order mark */
        r.bytes += 3;
        n -= 3;
    }
    TRY(check_bytes(&r, n, e));
    if (!yaml_parser_initialize(&r.parser))
        return ERR(e, ERR_NOMEM, "out of memory while reading %s", file);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)r.bytes, n);
    int rc = read_document(&r, out, e);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    return rc;
}

int yaml_read(const struct yaml_node **out, struct arena *a, const char *path, struct err *e)
{
    char *bytes;
    size_t n;
    int fd = file_open_read(path, e); /* these errors have no line */

    if (fd < 0) return fd;
    close(fd);
    int rc = file_read(a, &bytes, &n, path, PLAN_MAX_YAML_BYTES, e);
    if (rc == ERR_DATA)
        return ERR(e, ERR_DATA, "%s:1:1: file is larger than %d bytes", path, PLAN_MAX_YAML_BYTES);
    return rc < 0 ? rc : yaml_parse(out, a, path, bytes, n, e);
}

/* --- looking at a tree ---------------------------------------------------------------------- */

int32_t yaml_find(const struct yaml_node *map, const char *key)
{
    int32_t i = map->n - 1;

    while (i >= 0 && strcmp(map->key[i]->text, key) != 0) i--;
    return i;
}

int yaml_want(const struct yaml_node *node, enum yaml_kind kind, const char *what, struct err *e)
{
    static const char *const names[] = {"one value", "a list", "a mapping of keys to values"};

    if (kind == YAML_ANY || node->kind == kind) return 0;
    return yaml_error(node, e, "%s must be %s, not %s", what, names[kind], names[node->kind]);
}

static enum yaml_kind node_kind(const struct yaml_field *f)
{
    if (f->type == YAML_NODE) return f->kind;
    if (f->type == YAML_TEXTS) return YAML_LIST;
    return f->type == YAML_URLS ? YAML_ANY : YAML_SCALAR;
}

int yaml_fields(const struct yaml_node *map, struct yaml_field *field, size_t n, struct err *e)
{
    const char *names[YAML_FIELDS_MAX];

    for (size_t k = 0; k < n; k++) {
        names[k] = field[k].name;
        field[k].at = NULL;
    }
    for (int32_t i = 0; i < map->n; i++) {
        const char *key = map->key[i]->text;
        size_t k = 0;
        while (k < n && strcmp(names[k], key) != 0) k++;
        if (k == n)
            return yaml_error(map->key[i], e, "unknown key '%.60s'%s", key,
                              str_hint(key, names, n).text);
        field[k].at = map->item[i];
    }
    for (size_t k = 0; k < n; k++) {
        if (field[k].value) *field[k].value = field[k].at;
        if (field[k].at) TRY(yaml_want(field[k].at, node_kind(&field[k]), names[k], e));
    }
    return 0;
}

const char *yaml_missing(const struct yaml_field *field, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!field[k].at) return field[k].name;
    return NULL;
}

/* Returns what the text is not but must be, or NULL. */
static const char *unmet(const struct yaml_field *f, const char *text)
{
    bool web = strncmp(text, "https://", 8) == 0 || strncmp(text, "http://", 7) == 0;

    if (f->type == YAML_NAME && !str_is_name(text)) return "letters, digits, . _ -";
    if (f->type == YAML_PATH && text[0] != '/') return "an absolute path";
    if (f->type == YAML_SHA256 && !hash_is_sha256(text)) return "64 lower-case hex digits";
    if (f->type == YAML_URLS && *text && !web) return "https:// or http://";
    if (f->type == YAML_URL_FOLDER && (!web || text[strlen(text) - 1] != '/'))
        return "https:// or http:// and a slash at the end";
    if (f->type != YAML_NUMBER) return NULL;
    bool counts = str_to_int(f->number, text) && *f->number >= 1;
    return counts && (f->most == 0 || *f->number <= f->most) ? NULL : "a number from 1";
}

static int read_value(const struct yaml_field *f, const char **text, const struct yaml_node *at,
                      struct err *e)
{
    const char *what = f->what ? f->what : f->name;

    TRY(yaml_want(at, YAML_SCALAR, what, e));
    const char *expected = unmet(f, at->text);
    if (!*at->text && !expected) return yaml_error(at, e, "%s is empty", what);
    if (text) *text = at->text;
    if (!expected) return 0;
    char most[32] = "";
    if (f->type == YAML_NUMBER && f->most > 0)
        snprintf(most, sizeof most, " to %lld", (long long)f->most);
    return yaml_error(at, e, "%s: expected %s%s, found '%.200s'", what, expected, most, at->text);
}

int yaml_values(const struct yaml_field *field, size_t n, struct err *e)
{
    for (const struct yaml_field *f = field; f < field + n; f++) {
        int32_t items_n;
        if (!f->at || f->type == YAML_NODE) continue;
        const struct yaml_node *const *item = yaml_each(&f->at, &items_n);
        bool several = f->type == YAML_TEXTS || f->type == YAML_URLS;
        if (several && (items_n < f->least || items_n > f->most))
            return yaml_error(f->at, e, "%s: expected %lld to %lld texts, found %d", f->name,
                              (long long)f->least, (long long)f->most, items_n);
        for (int32_t i = 0; i < items_n; i++)
            TRY(read_value(f, f->text ? f->text + i : NULL, item[i], e));
    }
    return 0;
}

const struct yaml_node *const *yaml_each(const struct yaml_node *const *node, int32_t *n)
{
    bool list = (*node)->kind == YAML_LIST;

    *n = list ? (*node)->n : 1;
    return list ? (*node)->item : node;
}
