/* compare.c - the join and the table. */
#include "report/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
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

static bool rows_join(const struct compare *c, int32_t a, int32_t b)
{
    for (int32_t i = 0; i < COMPARE_N; i++) {
        if (compare_table[i].role == COMPARE_PROTECTED) continue;
        if (c->side[0].free[i] || c->side[1].free[i]) continue;
        if (!same(coordinate(c, 0, a, i), coordinate(c, 1, b, i))) return false;
    }
    return true;
}

/* The first protected coordinate in which the rows differ, or -1. */
static int32_t rows_differ(const struct compare *c, int32_t a, int32_t b)
{
    for (int32_t i = 0; i < COMPARE_N; i++)
        if (compare_table[i].role == COMPARE_PROTECTED &&
            !same(coordinate(c, 0, a, i), coordinate(c, 1, b, i)))
            return i;
    return -1;
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
    int32_t at = c->columns_n;
    struct store_cell *cell = arena_array(&c->arena, (size_t)c->table.columns_n, sizeof *cell);
    double x = 0, y = 0;
    bool has_x = a >= 0 && report_rows_number(&x, &c->side[0].rows, a, COMPARE_PERPLEXITY);
    bool has_y = b >= 0 && report_rows_number(&y, &c->side[1].rows, b, COMPARE_PERPLEXITY);

    for (int32_t i = 0; i < c->table.columns_n; i++) cell[i].type = 't';
    for (int32_t i = 0; i < at; i++) cell[i].text = shown_text(c, c->columns[i], a, b);
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
        int32_t i = rows_differ(c, a, b);
        if (i < 0) continue;
        const char *theirs = coordinate(c, !side, k, i), *ours = coordinate(c, side, row, i);
        return arena_printf(&c->arena, "not compared: %s has %s %s, this one %s", other,
                            compare_table[i].name, theirs ? theirs : "none", ours ? ours : "none");
    }
    return arena_printf(&c->arena, "%s has no such evaluation", other);
}

/* Adds the rows to the table when `write`, else counts them. */
static int64_t join(struct compare *c, bool write)
{
    int64_t n = 0;

    for (int32_t a = 0; a < c->side[0].rows.rows_n; a++) {
        for (int32_t b = 0; b < c->side[1].rows.rows_n; b++) {
            if (!rows_join(c, a, b) || rows_differ(c, a, b) >= 0) continue;
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

static int make_table(struct compare *c, struct err *e)
{
    static const char *const heads[] = {"A", "B", "A - B", "A / B", "run A", "run B", "note"};
    struct report_rows *r = &c->table;
    int64_t rows_n = join(c, false);

    if (rows_n > COMPARE_ROWS_MAX)
        return ERR(e, ERR_USAGE, "%lld rows, more than %d: name more columns in the filters",
                   (long long)rows_n, COMPARE_ROWS_MAX);
    choose_columns(c);
    *r = (struct report_rows){.arena = &c->arena, .columns_n = c->columns_n + COMPARE_FIXED_N};
    r->name = arena_array(&c->arena, (size_t)r->columns_n, sizeof *r->name);
    r->row = arena_array(&c->arena, (size_t)rows_n, sizeof *r->row);
    for (int32_t i = 0; i < c->columns_n; i++) r->name[i] = compare_table[c->columns[i]].name;
    for (int32_t i = 0; i < COMPARE_FIXED_N; i++) r->name[c->columns_n + i] = heads[i];
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
