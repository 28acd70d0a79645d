/* layout.c - the reader of table.txt. */
#include "report/layout.h"

#include <stddef.h>
#include <string.h>

#include "base/str.h"

struct layout_line {
    struct report_layout *layout;
    struct arena *arena;
    const char *path;
    int number;
};

#define LINE_ERR(e, line, ...) layout_err((e), (line), arena_printf((line)->arena, __VA_ARGS__))

static int layout_err(struct err *e, const struct layout_line *line, const char *what)
{
    return ERR(e, ERR_DATA, "%s:%d: %s", line->path, line->number, what);
}

static char *layout_trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r", text[n - 1])) text[--n] = '\0';
    return text;
}

static int layout_column(const char **out, const struct layout_line *line, const char *text,
                         struct err *e)
{
    if (!str_is_name(text))
        return LINE_ERR(e, line, "\"%s\" is no column name; write letters, digits and _", text);
    *out = text;
    return 0;
}

static int layout_names(struct report_names *out, const struct layout_line *line, char *text,
                        struct err *e)
{
    out->n = 0;
    for (char *name = text; name;) {
        char *comma = strchr(name, ',');
        if (comma) *comma = '\0';
        if (out->n == REPORT_MAX_NAMES)
            return LINE_ERR(e, line, "more than %d columns", REPORT_MAX_NAMES);
        TRY(layout_column(&out->name[out->n++], line, layout_trim(name), e));
        name = comma ? comma + 1 : NULL;
    }
    return 0;
}

static int layout_decimals(int32_t *out, const struct layout_line *line, const char *text,
                           struct err *e)
{
    if (strlen(text) != 4 || strncmp(text, "%.", 2) != 0 || text[2] < '0' || text[2] > '6' ||
        text[3] != 'f')
        return LINE_ERR(e, line, "\"%s\" is no format; write %%.Nf with N from 0 to 6", text);
    *out = text[2] - '0';
    return 0;
}

/* %.Nf, or metric | %.Nf. */
static int layout_format(const struct layout_line *line, char *text, struct err *e)
{
    struct report_layout *l = line->layout;
    char *bar = strchr(text, '|');

    l->formatted = true;
    if (!bar) return layout_decimals(&l->decimals, line, text, e);
    *bar = '\0';
    if (l->metrics_n == REPORT_MAX_NAMES)
        return LINE_ERR(e, line, "formats of more than %d metrics", REPORT_MAX_NAMES);
    struct report_decimals *m = &l->metric[l->metrics_n++];
    TRY(layout_column(&m->metric, line, layout_trim(text), e));
    return layout_decimals(&m->decimals, line, layout_trim(bar + 1), e);
}

/* Cuts a text at its bars into at most `room` trimmed parts; how many there are. */
static int layout_parts(const char **part, int room, char *text)
{
    int n = 0;

    for (char *next = text; next; n++) {
        char *bar = strchr(next, '|');
        if (bar) *bar = '\0';
        if (n < room) part[n] = layout_trim(next);
        next = bar ? bar + 1 : NULL;
    }
    return n;
}

static int layout_extra(const struct layout_line *line, char *text, struct err *e)
{
    struct report_layout *l = line->layout;
    const char *part[4];
    int n = layout_parts(part, 4, text);

    if (n != 4)
        return LINE_ERR(e, line, "%d parts; write extra: column | heading | %%.Nf | factor", n);
    if (l->extras_n == REPORT_MAX_EXTRAS)
        return LINE_ERR(e, line, "more than %d lines of extra:", REPORT_MAX_EXTRAS);
    struct report_extra *x = &l->extra[l->extras_n++];
    TRY(layout_column(&x->column, line, part[0], e));
    x->heading = part[1];
    TRY(layout_decimals(&x->decimals, line, part[2], e));
    if (!str_to_double(&x->factor, part[3]))
        return LINE_ERR(e, line, "\"%s\" is no factor; write a number such as 1e-6", part[3]);
    return 0;
}

/* "1.3 %" as a share. */
static int layout_share(double *out, const struct layout_line *line, const char *text,
                        struct err *e)
{
    char *number = arena_strdup(line->arena, text);
    size_t n = strlen(number);
    bool percent = n > 0 && number[n - 1] == '%';

    if (percent) number[n - 1] = '\0';
    if (!percent || !str_to_double(out, layout_trim(number)) || *out <= 0 || *out > 100)
        return LINE_ERR(e, line, "\"%s\" is no share; write one above 0 such as 1.3 %%", text);
    *out /= 100;
    return 0;
}

static int layout_verdict(const struct layout_line *line, char *text, struct err *e)
{
    struct report_layout *l = line->layout;
    const char *part[4];
    int n = layout_parts(part, 4, text);

    if (n < 3 || n > 4)
        return LINE_ERR(e, line,
                        "%d parts; write verdict: metric | near | far, and | device where "
                        "only that device's numbers are judged",
                        n);
    if (report_layout_rule(l, part[0]))
        return LINE_ERR(e, line, "a second verdict: for %s", part[0]);
    if (l->rules_n == REPORT_MAX_NAMES)
        return LINE_ERR(e, line, "more than %d lines of verdict:", REPORT_MAX_NAMES);
    struct report_rule *rule = &l->rule[l->rules_n];
    TRY(layout_column(&rule->metric, line, part[0], e));
    TRY(layout_share(&rule->near, line, part[1], e));
    TRY(layout_share(&rule->far, line, part[2], e));
    if (rule->far < rule->near)
        return LINE_ERR(e, line, "far (%s) is less than near (%s)", part[2], part[1]);
    rule->device = n == 4 ? part[3] : NULL;
    if (n == 4 && !*part[3]) return LINE_ERR(e, line, "the device has no name");
    l->rules_n++;
    return 0;
}

static const char *const layout_files[] = {"query.sql", "table.txt", "plot.gp", "claim.sql"};
enum { LAYOUT_FILES_N = sizeof layout_files / sizeof *layout_files };

/* FOLDER/FILE; each file once. */
static int layout_use(const struct layout_line *line, char *text, struct err *e)
{
    struct report_layout *l = line->layout;
    const char *whole = arena_strdup(line->arena, text);
    char *slash = strchr(text, '/');
    int known = 0;

    if (slash) *slash = '\0';
    if (!slash || !str_is_name(text))
        return LINE_ERR(e, line,
                        "use: \"%s\" is no file of another artefact; write it as "
                        "table2/query.sql",
                        whole);
    while (known < LAYOUT_FILES_N && strcmp(slash + 1, layout_files[known]) != 0) known++;
    if (known == LAYOUT_FILES_N) {
        const char *near = str_nearest(slash + 1, layout_files, LAYOUT_FILES_N);
        return LINE_ERR(e, line,
                        "use: \"%s\" is none of query.sql, table.txt, plot.gp, claim.sql%s%s",
                        whole, near ? "; did you mean " : "", near ? near : "");
    }
    if (report_layout_used(l, layout_files[known]))
        return LINE_ERR(e, line, "use: a second %s", layout_files[known]);
    l->use[l->uses_n++] = (struct report_use){text, layout_files[known], line->number};
    return 0;
}

/* Keys whose value is one text or one column name. */
static const struct {
    const char *key;
    size_t offset;
    bool column;
} layout_texts[] = {
    {"title", offsetof(struct report_layout, title), false},
    {"columns", offsetof(struct report_layout, columns), true},
    {"value", offsetof(struct report_layout, value), true},
    {"panel", offsetof(struct report_layout, panel), true},
    {"series", offsetof(struct report_layout, series), true},
    {"style", offsetof(struct report_layout, style), true},
    {"x", offsetof(struct report_layout, x), true},
    {"y", offsetof(struct report_layout, y), true},
};

static const char *const layout_keys[] = {"use",    "title", "group", "rows", "columns", "value",
                                          "format", "extra", "paper", "note", "panel",   "verdict",
                                          "series", "style", "x",     "y"};

static int layout_set(const struct layout_line *line, const char *key, char *value, struct err *e)
{
    struct report_layout *l = line->layout;

    for (size_t i = 0; i < sizeof layout_texts / sizeof *layout_texts; i++) {
        if (strcmp(key, layout_texts[i].key) != 0) continue;
        const char **field = (const char **)((char *)l + layout_texts[i].offset);
        if (*field) return LINE_ERR(e, line, "%s: is there twice", key);
        if (layout_texts[i].column) return layout_column(field, line, value, e);
        *field = value;
        return 0;
    }
    if (strcmp(key, "use") == 0) return layout_use(line, value, e);
    if (strcmp(key, "group") == 0) return layout_names(&l->group, line, value, e);
    if (strcmp(key, "rows") == 0) return layout_names(&l->rows, line, value, e);
    if (strcmp(key, "paper") == 0) return layout_names(&l->paper, line, value, e);
    if (strcmp(key, "format") == 0) return layout_format(line, value, e);
    if (strcmp(key, "extra") == 0) return layout_extra(line, value, e);
    if (strcmp(key, "verdict") == 0) return layout_verdict(line, value, e);
    if (strcmp(key, "note") == 0) {
        if (l->notes_n == REPORT_MAX_NOTES)
            return LINE_ERR(e, line, "more than %d lines of note:", REPORT_MAX_NOTES);
        l->note[l->notes_n++] = value;
        return 0;
    }
    const char *near = str_nearest(key, layout_keys, sizeof layout_keys / sizeof *layout_keys);
    if (near) return LINE_ERR(e, line, "unknown key \"%s\"; did you mean %s", key, near);
    return LINE_ERR(e, line, "unknown key \"%s\"; src/report/layout.h lists them", key);
}

static int layout_check(const struct report_layout *l, const char *path, struct err *e)
{
    const char *lacking = !l->title     ? "title"
                          : !l->rows.n  ? "rows"
                          : !l->columns ? "columns"
                          : !l->value   ? "value"
                                        : NULL;
    if (lacking) return ERR(e, ERR_DATA, "%s: the key %s: must be there", path, lacking);
    if ((l->x || l->y || l->series || l->style) && !(l->x && l->y && l->series && l->style))
        return ERR(e, ERR_DATA, "%s: a figure needs all of series:, style:, x: and y:", path);
    return 0;
}

const struct report_use *report_layout_used(const struct report_layout *l, const char *file)
{
    for (int32_t i = 0; i < l->uses_n; i++)
        if (strcmp(l->use[i].file, file) == 0) return &l->use[i];
    return NULL;
}

int report_layout_inherit(struct report_layout *l, const struct report_layout *from,
                          const char *path, struct err *e)
{
    for (size_t i = 0; i < sizeof layout_texts / sizeof *layout_texts; i++) {
        const char **field = (const char **)((char *)l + layout_texts[i].offset);
        if (!*field) *field = *(const char *const *)((const char *)from + layout_texts[i].offset);
    }
    if (!l->group.n) l->group = from->group;
    if (!l->rows.n) l->rows = from->rows;
    if (!l->paper.n) l->paper = from->paper;
    if (!l->formatted) {
        l->decimals = from->decimals;
        l->metrics_n = from->metrics_n;
        memcpy(l->metric, from->metric, sizeof l->metric);
    }
    if (!l->rules_n) {
        l->rules_n = from->rules_n;
        memcpy(l->rule, from->rule, sizeof l->rule);
    }
    if (!l->extras_n) {
        l->extras_n = from->extras_n;
        memcpy(l->extra, from->extra, sizeof l->extra);
    }
    if (!l->notes_n) {
        l->notes_n = from->notes_n;
        memcpy(l->note, from->note, sizeof l->note);
    }
    return layout_check(l, path, e);
}

const struct report_rule *report_layout_rule(const struct report_layout *l, const char *metric)
{
    for (int32_t i = 0; i < l->rules_n && metric; i++)
        if (strcmp(l->rule[i].metric, metric) == 0) return &l->rule[i];
    return NULL;
}

int32_t report_layout_decimals(const struct report_layout *l, const char *metric)
{
    for (int32_t i = 0; i < l->metrics_n && metric; i++)
        if (strcmp(l->metric[i].metric, metric) == 0) return l->metric[i].decimals;
    return l->decimals;
}

int report_layout_read(struct report_layout *l, struct arena *a, const char *path, const char *text,
                       struct err *e)
{
    struct layout_line line = {.layout = l, .arena = a, .path = path};

    *l = (struct report_layout){.decimals = 2};
    for (char *p = arena_strdup(a, text); *p;) {
        char *end = p + strcspn(p, "\n");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        line.number++;
        p = layout_trim(p);
        if (*p && *p != '#') {
            char *colon = strchr(p, ':');
            if (!colon) return LINE_ERR(e, &line, "\"%s\" has no colon; write key: value", p);
            *colon = '\0';
            TRY(layout_set(&line, layout_trim(p), layout_trim(colon + 1), e));
        }
        p = next;
    }
    return report_layout_used(l, "table.txt") ? 0 : layout_check(l, path, e);
}
