/* compare.c - the join and the table. */
#include "report/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/vec.h"
#include "report/answer.h"
#include "report/compare_filter.h"
#include "report/html.h"
#include "report/writer.h"

enum {
    COMPARE_FIXED_N = 7, /* columns of the table after the coordinates */
    COMPARE_ROWS_MAX = 100 * 1000
};

struct compare {
    struct arena arena;
    struct compare_side side[2];
    struct report_rows table;
    bool exact;                            /* numbers in full, for programs */
    int32_t columns[COMPARE_N], columns_n; /* coordinates shown */
    struct {
        const char **item;
        int32_t n, capacity;
    } varying; /* settings in which trainings differ: shown in a column of their own */
};

/* --- the join ------------------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static const char *coordinate(const struct compare *c, int side, int32_t row, int32_t i)
{
    return report_rows_text(&c->side[side].rows, row, i);
}

/* Settings that columns of the table hold, or that every training has of its own. */
static bool is_coordinate(const char *key)
{
    static const char *const keys[] = {"kind",           "scale",       "model.name",
                                       "model.position", "train.L",     "train.seed",
                                       "data.dataset",   "data.corpus", "meaning"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0) return true;
    return false;
}

static bool rows_join(const struct compare *c, int32_t a, int32_t b)
{
    for (int32_t i = 0; i < COMPARE_N; i++) {
        if (compare_table[i].role == COMPARE_PROTECTED) continue;
        if (c->side[0].free[i] || c->side[1].free[i]) continue;
        if (!same(coordinate(c, 0, a, i), coordinate(c, 1, b, i))) return false;
    }
    return true;
}

/* What keeps two rows apart, with the value of each side; name NULL: nothing. */
struct difference {
    const char *name, *value[2];
};

/* The value of a line "key=…" of a spec, up to *n bytes; NULL where there is none. */
static const char *spec_value(const char *spec, const char *key, size_t key_n, size_t *n)
{
    for (const char *line = spec; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, key_n) != 0 || line[key_n] != '=') continue;
        *n = strcspn(line + key_n + 1, "\n");
        return line + key_n + 1;
    }
    return NULL;
}

/* The first setting, from *line on, that both trainings have and in which they differ; 1 found, 0
 * none. Moves *line behind it. Settings that one training lacks are of another method or optimiser,
 * which is a setting itself. */
static int next_difference(struct difference *d, struct arena *a, const char **line,
                           const char *other)
{
    while (**line) {
        size_t theirs_n, length = strcspn(*line, "\n"), key_n = strcspn(*line, "=\n");
        const char *key = *line, *mine = key + key_n + 1;
        *line += length + (key[length] == '\n');
        if (key[key_n] != '=') continue;
        size_t mine_n = length - key_n - 1;
        const char *theirs = spec_value(other, key, key_n, &theirs_n);
        if (!theirs || (mine_n == theirs_n && memcmp(mine, theirs, mine_n) == 0)) continue;
        const char *name = arena_strndup(a, key, key_n);
        if (is_coordinate(name)) continue;
        *d = (struct difference){
            name, {arena_strndup(a, mine, mine_n), arena_strndup(a, theirs, theirs_n)}};
        return 1;
    }
    return 0;
}

static struct difference rows_differ(struct compare *c, int32_t a, int32_t b)
{
    struct difference d = {0};

    for (int32_t i = 0; i < COMPARE_N; i++) {
        const char *left = coordinate(c, 0, a, i), *right = coordinate(c, 1, b, i);
        if (compare_table[i].role == COMPARE_PROTECTED && !same(left, right))
            return (struct difference){compare_table[i].name, {left, right}};
    }
    const char *line = coordinate(c, 0, a, COMPARE_SPEC);
    while (next_difference(&d, &c->arena, &line, coordinate(c, 1, b, COMPARE_SPEC)))
        if (!compare_is_free(&c->side[0], d.name) && !compare_is_free(&c->side[1], d.name))
            return d;
    d.name = NULL;
    return d;
}

/* --- the table ------------------------------------------------------------------------------ */

static const char *shown_text(struct compare *c, int32_t i, int32_t a, int32_t b)
{
    const char *left = a < 0 ? NULL : coordinate(c, 0, a, i);
    const char *right = b < 0 ? NULL : coordinate(c, 1, b, i);

    if (a < 0) return right;
    if (b < 0 || same(left, right)) return left;
    return arena_printf(&c->arena, "%s | %s", left ? left : "–", right ? right : "–");
}

/* "train.lr=0.25|0.5 model.heads=4": A and B, or one value where they agree. */
static const char *settings_text(struct compare *c, int32_t a, int32_t b)
{
    struct strbuf t;

    strbuf_init(&t, &c->arena);
    for (int32_t i = 0; i < c->varying.n; i++) {
        const char *key = c->varying.item[i], *value[2] = {NULL, NULL};
        size_t n[2] = {0, 0};
        for (int side = 0; side < 2; side++)
            if ((side ? b : a) >= 0)
                value[side] = spec_value(coordinate(c, side, side ? b : a, COMPARE_SPEC), key,
                                         strlen(key), &n[side]);
        int first = value[0] ? 0 : 1;
        if (!value[first]) continue;
        strbuf_addf(&t, "%s%s=%.*s", t.n ? " " : "", key, (int)n[first], value[first]);
        if (first == 0 && value[1] && (n[0] != n[1] || memcmp(value[0], value[1], n[0]) != 0))
            strbuf_addf(&t, "|%.*s", (int)n[1], value[1]);
    }
    return t.text;
}

static void set_number(struct compare *c, struct store_cell *cell, double number)
{
    char exact[STR_DOUBLE_BYTES];

    str_from_double(exact, number);
    cell->type = 'f';
    cell->text =
        c->exact ? arena_strdup(&c->arena, exact) : arena_printf(&c->arena, "%.4f", number);
}

static void add_row(struct compare *c, int32_t a, int32_t b, const char *why)
{
    int32_t at = c->columns_n + (c->varying.n > 0);
    struct store_cell *cell = arena_array(&c->arena, (size_t)c->table.columns_n, sizeof *cell);
    double x = 0, y = 0;
    bool has_x = a >= 0 && report_rows_number(&x, &c->side[0].rows, a, COMPARE_PERPLEXITY);
    bool has_y = b >= 0 && report_rows_number(&y, &c->side[1].rows, b, COMPARE_PERPLEXITY);

    for (int32_t i = 0; i < c->table.columns_n; i++) cell[i].type = 't';
    for (int32_t i = 0; i < c->columns_n; i++) cell[i].text = shown_text(c, c->columns[i], a, b);
    if (c->varying.n > 0) cell[c->columns_n].text = settings_text(c, a, b);
    if (has_x) set_number(c, &cell[at], x);
    if (has_y) set_number(c, &cell[at + 1], y);
    if (has_x && has_y) {
        set_number(c, &cell[at + 2], x - y);
        set_number(c, &cell[at + 3], x / y);
    } else if (!why) {
        why = "a perplexity that is not finite";
    }
    if (a >= 0) cell[at + 4].text = coordinate(c, 0, a, COMPARE_RUN);
    if (b >= 0) cell[at + 5].text = coordinate(c, 1, b, COMPARE_RUN);
    cell[at + 6].text = why;
    for (int32_t i = 0; i < c->table.columns_n; i++)
        if (!cell[i].text) cell[i].type = 'n';
    c->table.row[c->table.rows_n++] = cell;
}

/* Why row `row` of `side` stands alone: what the nearest of the other side differs in. */
static const char *why_alone(struct compare *c, int side, int32_t row)
{
    const char *other = side ? "A" : "B";

    for (int32_t k = 0; k < c->side[!side].rows.rows_n; k++) {
        int32_t a = side ? k : row, b = side ? row : k;
        if (!rows_join(c, a, b)) continue;
        struct difference d = rows_differ(c, a, b);
        if (!d.name) continue;
        const char *theirs = d.value[!side], *ours = d.value[side];
        return arena_printf(&c->arena, "not compared: %s has %s %s, this one %s", other, d.name,
                            theirs ? theirs : "none", ours ? ours : "none");
    }
    return arena_printf(&c->arena, "%s has no such evaluation", other);
}

/* Adds the rows to the table when `write`, else counts them. */
static int64_t join(struct compare *c, bool write)
{
    int64_t n = 0;

    for (int32_t a = 0; a < c->side[0].rows.rows_n; a++) {
        for (int32_t b = 0; b < c->side[1].rows.rows_n; b++) {
            if (!rows_join(c, a, b) || rows_differ(c, a, b).name) continue;
            c->side[0].used[a] = c->side[1].used[b] = true;
            if (write) add_row(c, a, b, NULL);
            n++;
        }
    }
    for (int side = 0; side < 2; side++) {
        for (int32_t i = 0; i < c->side[side].rows.rows_n; i++) {
            if (c->side[side].used[i]) continue;
            if (write) add_row(c, side ? -1 : i, side ? i : -1, why_alone(c, side, i));
            n++;
        }
    }
    return n;
}

/* Coordinates shown: those marked so, and any other in which rows differ. */
static void choose_columns(struct compare *c)
{
    for (int32_t i = 0; i < COMPARE_N; i++) {
        bool varies = false;
        const char *first = coordinate(c, 0, 0, i);
        for (int side = 0; side < 2; side++)
            for (int32_t k = 0; k < c->side[side].rows.rows_n; k++)
                varies |= !same(first, coordinate(c, side, k, i));
        if (compare_table[i].shown || varies) c->columns[c->columns_n++] = i;
    }
}

/* The settings in which any training differs from the first. */
static void choose_settings(struct compare *c)
{
    const char *first = coordinate(c, 0, 0, COMPARE_SPEC);
    struct difference d;

    for (int side = 0; side < 2; side++) {
        for (int32_t k = 0; k < c->side[side].rows.rows_n; k++) {
            const char *line = coordinate(c, side, k, COMPARE_SPEC);
            while (next_difference(&d, &c->arena, &line, first)) {
                int32_t i = 0;
                while (i < c->varying.n && strcmp(c->varying.item[i], d.name) != 0) i++;
                if (i == c->varying.n) *vec_push(&c->arena, &c->varying) = d.name;
            }
        }
    }
}

static int make_table(struct compare *c, struct err *e)
{
    static const char *const heads[] = {"A", "B", "A - B", "A / B", "run A", "run B", "note"};
    struct report_rows *r = &c->table;
    int64_t rows_n = join(c, false);

    if (rows_n > COMPARE_ROWS_MAX)
        return ERR(e, ERR_USAGE, "%lld rows, more than %d: name more columns in the filters",
                   (long long)rows_n, COMPARE_ROWS_MAX);
    choose_columns(c);
    choose_settings(c);
    int32_t fixed = c->columns_n + (c->varying.n > 0);
    *r = (struct report_rows){.arena = &c->arena, .columns_n = fixed + COMPARE_FIXED_N};
    r->name = arena_array(&c->arena, (size_t)r->columns_n, sizeof *r->name);
    r->row = arena_array(&c->arena, (size_t)rows_n, sizeof *r->row);
    for (int32_t i = 0; i < c->columns_n; i++) r->name[i] = compare_table[c->columns[i]].name;
    if (c->varying.n > 0) r->name[c->columns_n] = "settings";
    for (int32_t i = 0; i < COMPARE_FIXED_N; i++) r->name[fixed + i] = heads[i];
    join(c, true);
    return 0;
}

int report_compare(FILE *out, struct store *s, const char *a_filter, const char *b_filter,
                   enum report_format format, struct err *e)
{
    struct compare *c = calloc(1, sizeof *c);
    int rc = 0;

    if (!c) return ERR(e, ERR_NOMEM, "out of memory");
    arena_init(&c->arena);
    TRY_OUT(rc, compare_side_read(&c->side[0], &c->arena, s, a_filter, e));
    TRY_OUT(rc, compare_side_read(&c->side[1], &c->arena, s, b_filter, e));
    c->exact = format == REPORT_CSV || format == REPORT_JSON;
    TRY_OUT(rc, make_table(c, e));
    if (format == REPORT_HTML) report_html_open(out, "Two sets of evaluations side by side");
    if (!c->exact)
        report_write_paragraph(
            out,
            arena_printf(&c->arena, "A: %s. B: %s. Lengths are the paper's.", a_filter, b_filter),
            format);
    rc = report_rows_write(out, &c->arena, &c->table, format, e);
    if (format == REPORT_HTML) report_html_close(out);
out:
    arena_fini(&c->arena);
    free(c);
    return rc;
}
