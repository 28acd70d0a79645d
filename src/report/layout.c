/* layout.c - the reader of table.txt. */
#include "report/layout.h"

#include <stddef.h>
#include <string.h>

#include "base/str.h"

/* A line of table.txt that is read: its place, for messages, and the destination of its value. */
struct layout_line {
    struct report_layout *layout;
    const char *key;
    void *field; /* the first of the key */
    struct arena *arena;
    const char *path;
    int number;
};

#define LINE_ERR(e, line, ...) layout_err((e), (line), arena_printf((line)->arena, __VA_ARGS__))

static int layout_err(struct err *e, const struct layout_line *line, const char *what)
{
    return ERR(e, ERR_DATA, "%s:%d: %s", line->path, line->number, what);
}

static int layout_more(const struct layout_line *line, int32_t n, int32_t max, struct err *e)
{
    return n < max ? 0 : LINE_ERR(e, line, "more than %d lines of %s:", max, line->key);
}

/* --- values --------------------------------------------------------------------------------- */

static int read_text(const struct layout_line *line, char *value, struct err *e)
{
    (void)e;
    *(const char **)line->field = value;
    return 0;
}

static int take_column(const char **out, const struct layout_line *line, const char *text,
                       struct err *e)
{
    if (!str_is_name(text))
        return LINE_ERR(e, line, "\"%s\" is not a column name; write letters, digits and _", text);
    *out = text;
    return 0;
}

static int read_column(const struct layout_line *line, char *value, struct err *e)
{
    return take_column(line->field, line, value, e);
}

/* Cuts a text at a character into at most `room` trimmed parts; returns their number. */
static int cut(char **part, int room, char *text, char at)
{
    int n = 0;

    for (char *next = text; next; n++) {
        char *end = strchr(next, at);
        if (end) *end = '\0';
        if (n < room) part[n] = str_trim(next);
        next = end ? end + 1 : NULL;
    }
    return n;
}

static int read_names(const struct layout_line *line, char *value, struct err *e)
{
    struct report_names *out = line->field;
    char *part[REPORT_MAX_NAMES];

    out->n = cut(part, REPORT_MAX_NAMES, value, ',');
    if (out->n > REPORT_MAX_NAMES) return LINE_ERR(e, line, "more than %d names", REPORT_MAX_NAMES);
    for (int32_t i = 0; i < out->n; i++) TRY(take_column(&out->name[i], line, part[i], e));
    return 0;
}

static int read_decimals(const struct layout_line *line, int32_t *out, const char *text,
                         struct err *e)
{
    if (strlen(text) != 4 || strncmp(text, "%.", 2) != 0 || text[2] < '0' || text[2] > '6' ||
        text[3] != 'f')
        return LINE_ERR(e, line, "\"%s\" is not a format; write %%.Nf with N from 0 to 6", text);
    *out = text[2] - '0';
    return 0;
}

/* Reads "%.Nf" or "metric | %.Nf". */
static int read_format(const struct layout_line *line, char *value, struct err *e)
{
    struct report_layout *l = line->layout;
    char *part[2];

    if (cut(part, 2, value, '|') == 1) return read_decimals(line, &l->decimals, part[0], e);
    TRY(layout_more(line, l->metrics_n, REPORT_MAX_NAMES, e));
    struct report_decimals *m = &l->metric[l->metrics_n++];
    TRY(take_column(&m->metric, line, part[0], e));
    return read_decimals(line, &m->decimals, part[1], e);
}

static int read_extra(const struct layout_line *line, char *value, struct err *e)
{
    struct report_layout *l = line->layout;
    char *part[4];
    int n = cut(part, 4, value, '|');

    if (n != 4)
        return LINE_ERR(e, line, "%d parts; write extra: column | heading | %%.Nf | factor", n);
    TRY(layout_more(line, l->extras_n, REPORT_MAX_EXTRAS, e));
    struct report_extra *x = &l->extra[l->extras_n++];
    TRY(take_column(&x->column, line, part[0], e));
    x->heading = part[1];
    TRY(read_decimals(line, &x->decimals, part[2], e));
    if (!str_to_double(&x->factor, part[3]))
        return LINE_ERR(e, line, "\"%s\" is not a factor; write a number such as 1e-6", part[3]);
    return 0;
}

/* Reads "1.3 %" as a share. */
static int read_share(const struct layout_line *line, double *out, const char *text, struct err *e)
{
    size_t n = strlen(text);
    bool percent = n > 0 && text[n - 1] == '%';
    char *number = str_trim(arena_strndup(line->arena, text, n - percent));

    if (!percent || !str_to_double(out, number) || *out <= 0 || *out > 100)
        return LINE_ERR(e, line, "\"%s\" is not a share; write one above 0 such as 1.3 %%", text);
    *out /= 100;
    return 0;
}

static int read_verdict(const struct layout_line *line, char *value, struct err *e)
{
    struct report_layout *l = line->layout;
    char *part[4];
    int n = cut(part, 4, value, '|');

    if (n < 3 || n > 4)
        return LINE_ERR(e, line,
                        "%d parts; write verdict: metric | near | far, and | device where "
                        "only that device's numbers are judged",
                        n);
    if (report_layout_rule(l, part[0]))
        return LINE_ERR(e, line, "a second verdict: for %s", part[0]);
    TRY(layout_more(line, l->rules_n, REPORT_MAX_NAMES, e));
    struct report_rule *rule = &l->rule[l->rules_n];
    TRY(take_column(&rule->metric, line, part[0], e));
    TRY(read_share(line, &rule->near, part[1], e));
    TRY(read_share(line, &rule->far, part[2], e));
    if (rule->far < rule->near)
        return LINE_ERR(e, line, "far (%s) is less than near (%s)", part[2], part[1]);
    rule->device = n == 4 ? part[3] : NULL;
    if (n == 4 && !*part[3]) return LINE_ERR(e, line, "the device has no name");
    l->rules_n++;
    return 0;
}

static int read_note(const struct layout_line *line, char *value, struct err *e)
{
    struct report_layout *l = line->layout;

    TRY(layout_more(line, l->notes_n, REPORT_MAX_NOTES, e));
    l->note[l->notes_n++] = value;
    return 0;
}

static int read_xscale(const struct layout_line *line, char *value, struct err *e)
{
    static const char *const scales[] = {
        [REPORT_LINEAR] = "linear", [REPORT_LOG2] = "log2", [REPORT_LOG10] = "log10"};

    for (enum report_xscale i = REPORT_LINEAR; i <= REPORT_LOG10; i++) {
        if (strcmp(value, scales[i]) != 0) continue;
        line->layout->xscale = i;
        return 0;
    }
    return LINE_ERR(e, line, "xscale: expected linear, log2 or log10, found \"%s\"", value);
}

/* Reads "key=value | words" or "key | words". */
static int read_label(const struct layout_line *line, char *value, struct err *e)
{
    struct report_layout *l = line->layout;
    char *part[2];
    int n = cut(part, 2, value, '|');

    if (n != 2)
        return LINE_ERR(e, line,
                        "%d part%s; write label: SETTING=VALUE | words or label: SETTING | words",
                        n, n == 1 ? "" : "s");
    char *sign = strchr(part[0], '=');
    if (sign) *sign = '\0';
    struct report_label label = {.value = sign ? str_trim(sign + 1) : NULL,
                                 .words = part[1],
                                 .path = line->path,
                                 .line = line->number};
    TRY(take_column(&label.key, line, str_trim(part[0]), e));
    for (int32_t i = 0; i < l->labels_n; i++)
        if (strcmp(l->label[i].key, label.key) == 0 && str_same(l->label[i].value, label.value))
            return LINE_ERR(e, line, "a second label: for %s%s%s", label.key, sign ? "=" : "",
                            sign ? label.value : "");
    TRY(layout_more(line, l->labels_n, REPORT_MAX_LABELS, e));
    l->label[l->labels_n++] = label;
    return 0;
}

/* Reads FOLDER/FILE; each file may be given once. */
static int read_use(const struct layout_line *line, char *value, struct err *e)
{
    static const char *const files[] = {"query.sql", "table.txt", "plot.gp", "claim.sql"};
    enum { FILES_N = sizeof files / sizeof *files };
    struct report_layout *l = line->layout;
    const char *whole = arena_strdup(line->arena, value);
    char *slash = strrchr(value, '/');
    int known = 0;

    if (slash) *slash = '\0';
    if (!slash || !str_is_name_path(value))
        return LINE_ERR(e, line,
                        "use: \"%s\" is not a file of another artefact; write it as "
                        "table2/query.sql",
                        whole);
    while (known < FILES_N && strcmp(slash + 1, files[known]) != 0) known++;
    if (known == FILES_N)
        return LINE_ERR(e, line,
                        "use: expected query.sql, table.txt, plot.gp or claim.sql, found \"%s\"%s",
                        whole, str_hint(slash + 1, files, FILES_N).text);
    if (report_layout_used(l, files[known]))
        return LINE_ERR(e, line, "use: a second %s", files[known]);
    l->use[l->uses_n++] = (struct report_use){value, files[known], line->number};
    return 0;
}

/* --- keys ----------------------------------------------------------------------------------- */

/* The fields of a key, from the first to the last. */
#define FIELDS(first, last)                                                                        \
    offsetof(struct report_layout, first),                                                         \
        offsetof(struct report_layout, last) + sizeof((struct report_layout *)0)->last

static const struct {
    const char *name;
    int (*read)(const struct layout_line *line, char *value, struct err *e);
    bool repeated;
    size_t first, end;
} layout_keys[] = {
    {"use", read_use, true, 0, 0}, /* not inherited */
    {"title", read_text, false, FIELDS(title, title)},
    {"group", read_names, false, FIELDS(group, group)},
    {"rows", read_names, false, FIELDS(rows, rows)},
    {"columns", read_column, false, FIELDS(columns, columns)},
    {"value", read_column, false, FIELDS(value, value)},
    {"format", read_format, true, FIELDS(decimals, metrics_n)},
    {"extra", read_extra, true, FIELDS(extra, extras_n)},
    {"paper", read_names, false, FIELDS(paper, paper)},
    {"verdict", read_verdict, true, FIELDS(rule, rules_n)},
    {"note", read_note, true, FIELDS(note, notes_n)},
    {"panel", read_column, false, FIELDS(panel, panel)},
    {"series", read_column, false, FIELDS(series, series)},
    {"style", read_column, false, FIELDS(style, style)},
    {"x", read_column, false, FIELDS(x, x)},
    {"y", read_column, false, FIELDS(y, y)},
    {"xlabel", read_text, false, FIELDS(xlabel, xlabel)},
    {"ylabel", read_text, false, FIELDS(ylabel, ylabel)},
    {"xscale", read_xscale, false, FIELDS(xscale, xscale)},
    {"label", read_label, true, FIELDS(label, labels_n)},
};
enum { LAYOUT_KEYS_N = sizeof layout_keys / sizeof *layout_keys };

static int layout_set(struct layout_line *line, const char *key, char *value, struct err *e)
{
    struct report_layout *l = line->layout;
    const char *names[LAYOUT_KEYS_N];

    for (int i = 0; i < LAYOUT_KEYS_N; i++) {
        names[i] = layout_keys[i].name;
        if (strcmp(key, names[i]) != 0) continue;
        if (l->given >> i & 1 && !layout_keys[i].repeated)
            return LINE_ERR(e, line, "%s: is given twice", key);
        l->given |= 1u << i;
        line->key = key;
        line->field = (char *)l + layout_keys[i].first;
        return layout_keys[i].read(line, value, e);
    }
    return LINE_ERR(e, line, "unknown key \"%s\" (src/report/layout.h lists them)%s", key,
                    str_hint(key, names, LAYOUT_KEYS_N).text);
}

static int layout_check(const struct report_layout *l, const char *path, struct err *e)
{
    const char *lacking = !l->title     ? "title"
                          : !l->rows.n  ? "rows"
                          : !l->columns ? "columns"
                          : !l->value   ? "value"
                                        : NULL;
    if (lacking) return ERR(e, ERR_DATA, "%s: the key %s: is missing", path, lacking);
    if ((l->x || l->y || l->series || l->style) && !(l->x && l->y && l->series && l->style))
        return ERR(e, ERR_DATA, "%s: a figure needs all of series:, style:, x: and y:", path);
    return 0;
}

int report_layout_inherit(struct report_layout *l, const struct report_layout *from,
                          const char *path, struct err *e)
{
    for (int i = 0; i < LAYOUT_KEYS_N; i++)
        if (!(l->given >> i & 1))
            memcpy((char *)l + layout_keys[i].first, (const char *)from + layout_keys[i].first,
                   layout_keys[i].end - layout_keys[i].first);
    return layout_check(l, path, e);
}

const struct report_use *report_layout_used(const struct report_layout *l, const char *file)
{
    for (int32_t i = 0; i < l->uses_n; i++)
        if (strcmp(l->use[i].file, file) == 0) return &l->use[i];
    return NULL;
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
        p = str_trim(p);
        if (*p && *p != '#') {
            char *colon = strchr(p, ':');
            if (!colon) return LINE_ERR(e, &line, "\"%s\" has no colon; write key: value", p);
            *colon = '\0';
            TRY(layout_set(&line, str_trim(p), str_trim(colon + 1), e));
        }
        p = next;
    }
    return report_layout_used(l, "table.txt") ? 0 : layout_check(l, path, e);
}
