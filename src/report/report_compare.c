/* report_compare.c - filters, the join, the table. */
#include "report/report_compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "report/report_grid.h"
#include "report/report_html.h"
#include "report/report_rows.h"

/* How a coordinate takes part in the join. */
enum compare_role {
    COMPARE_JOINED,   /* agrees unless a filter names it */
    COMPARE_PROTECTED /* agrees always: what a number may be called */
};

static const struct compare_coordinate {
    const char *name, *column; /* in a filter; of the view evaluations */
    enum compare_role role;
    bool of_training; /* fixed by the id of a training */
    bool shown;       /* a column of the table, when it varies or both sides agree */
} compare_table[] = {
    {"scale", "scale", COMPARE_PROTECTED, false, true},
    {"dataset", "dataset", COMPARE_PROTECTED, false, true},
    {"corpus", "corpus", COMPARE_PROTECTED, false, false},
    {"model", "model", COMPARE_JOINED, true, true},
    {"position", "position", COMPARE_JOINED, true, true},
    {"L_train", "L_train_nominal", COMPARE_JOINED, true, true},
    {"L_valid", "L_valid_nominal", COMPARE_JOINED, false, true},
    {"split", "split", COMPARE_PROTECTED, false, true},
    {"protocol", "protocol", COMPARE_PROTECTED, false, true},
    {"stride", "stride", COMPARE_PROTECTED, false, true},
    {"first_window", "first_window", COMPARE_PROTECTED, false, false},
    {"precision", "precision", COMPARE_PROTECTED, false, false},
    {"checkpoint", "checkpoint", COMPARE_PROTECTED, false, false},
    {"targets", "targets", COMPARE_PROTECTED, false, false},
    {"seed", "seed", COMPARE_JOINED, true, true},
    {"modified", "modified", COMPARE_JOINED, true, false},
    {"origin", "origin", COMPARE_JOINED, true, false},
};

enum {
    COMPARE_N = sizeof compare_table / sizeof *compare_table,
    /* Columns of the query after the coordinates. */
    COMPARE_PERPLEXITY = COMPARE_N,
    COMPARE_RUN,
    COMPARE_TRAINING,
    COMPARE_FIXED_N = 7, /* columns of the table after the coordinates */
    COMPARE_ROWS_MAX = 100 * 1000,
    COMPARE_LIMIT_S = 30
};

struct compare_side {
    const char *value[COMPARE_N]; /* NULL: not named */
    const char *run;              /* the beginning of an id, or NULL */
    bool free[COMPARE_N];         /* named, or fixed by the id */
    struct report_rows rows;
    bool *used;
};

struct compare {
    struct arena arena;
    struct compare_side side[2];
    struct report_rows table;
    bool exact;                            /* numbers in full, for programs */
    int32_t columns[COMPARE_N], columns_n; /* coordinates shown */
};

static int32_t compare_find(const char *name)
{
    for (int32_t i = 0; i < COMPARE_N; i++)
        if (strcmp(compare_table[i].name, name) == 0) return i;
    return -1;
}

/* --- filters -------------------------------------------------------------------------------- */

static bool is_id(const char *text)
{
    size_t n = strspn(text, "0123456789abcdef");
    return n >= 4 && n <= 16 && text[n] == '\0';
}

static int filter_part(struct compare_side *side, char *part, const char *filter, struct err *e)
{
    const char *names[COMPARE_N + 1];
    char *equals = strchr(part, '=');

    if (!equals && is_id(part)) {
        side->run = part;
        return 0;
    }
    if (!equals || equals[1] == '\0')
        return ERR(e, ERR_USAGE,
                   "filter \"%s\": \"%s\" is neither column=value nor a run id of 4 to 16 hex "
                   "digits",
                   filter, part);
    *equals = '\0';
    if (strcmp(part, "run") == 0) {
        if (!is_id(equals + 1))
            return ERR(e, ERR_USAGE, "filter \"%s\": \"%s\" is no run id of 4 to 16 hex digits",
                       filter, equals + 1);
        side->run = equals + 1;
        return 0;
    }
    int32_t at = compare_find(part);
    if (at < 0) {
        for (int32_t i = 0; i < COMPARE_N; i++) names[i] = compare_table[i].name;
        names[COMPARE_N] = "run";
        const char *near = str_nearest(part, names, COMPARE_N + 1);
        return ERR(e, ERR_USAGE, "filter \"%s\": there is no column %s%s%s", filter, part,
                   near ? "; the nearest is " : "", near ? near : "");
    }
    if (side->value[at]) return ERR(e, ERR_USAGE, "filter \"%s\": %s is given twice", filter, part);
    side->value[at] = equals + 1;
    side->free[at] = true;
    return 0;
}

static int filter_read(struct compare_side *side, struct arena *a, const char *filter,
                       struct err *e)
{
    char *part = arena_strdup(a, filter);

    for (char *comma; part; part = comma) {
        comma = strchr(part, ',');
        if (comma) *comma++ = '\0';
        TRY(filter_part(side, part, filter, e));
    }
    return 0;
}

/* The evaluations of a side, with the coordinates as columns in the order of the table. */
static int side_query(struct compare_side *side, struct arena *a, struct store *s,
                      const char *filter, struct err *e)
{
    struct store_param params[COMPARE_N + 1];
    int32_t params_n = 0;
    struct strbuf sql;

    strbuf_init(&sql, a);
    strbuf_add(&sql, "SELECT ");
    for (int32_t i = 0; i < COMPARE_N; i++) strbuf_addf(&sql, "%s, ", compare_table[i].column);
    strbuf_add(&sql, "perplexity, run_id, train_run_id FROM evaluations WHERE 1");
    for (int32_t i = 0; i < COMPARE_N; i++) {
        if (!side->value[i]) continue;
        strbuf_addf(&sql, " AND %s = :%s", compare_table[i].column, compare_table[i].name);
        params[params_n++] = (struct store_param){compare_table[i].name, side->value[i]};
    }
    if (side->run) {
        strbuf_add(&sql, " AND (instr(run_id, :run) = 1 OR instr(train_run_id, :run) = 1)");
        params[params_n++] = (struct store_param){"run", side->run};
    }
    strbuf_add(&sql, " ORDER BY scale, dataset, split, protocol, position, L_train_nominal,"
                     " L_valid_nominal, seed, run_id");
    TRY(report_rows_query(&side->rows, a, s, "compare", sql.text, params, params_n, COMPARE_LIMIT_S,
                          e));
    if (side->rows.rows_n == 0)
        return ERR(e, ERR_NOINPUT,
                   "no evaluation in results.db matches \"%s\"; `alibi query \"SELECT * FROM "
                   "evaluations\"` lists them",
                   filter);
    side->used = arena_array(a, (size_t)side->rows.rows_n, sizeof *side->used);
    return 0;
}

/* An id frees what its run fixes: those of a training its settings, of an evaluation also L_valid.
 */
static void side_free(struct compare_side *side)
{
    if (!side->run) return;
    const char *run = report_rows_text(&side->rows, 0, COMPARE_RUN);
    bool evaluation = strncmp(run, side->run, strlen(side->run)) == 0;
    for (int32_t i = 0; i < COMPARE_N; i++)
        side->free[i] |= compare_table[i].of_training ||
                         (evaluation && strcmp(compare_table[i].name, "L_valid") == 0);
}

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
    TRY_OUT(rc, filter_read(&c->side[0], &c->arena, a_filter, e));
    TRY_OUT(rc, filter_read(&c->side[1], &c->arena, b_filter, e));
    TRY_OUT(rc, side_query(&c->side[0], &c->arena, s, a_filter, e));
    TRY_OUT(rc, side_query(&c->side[1], &c->arena, s, b_filter, e));
    side_free(&c->side[0]);
    side_free(&c->side[1]);
    c->exact = format == REPORT_CSV || format == REPORT_JSON;
    TRY_OUT(rc, make_table(c, e));
    if (format == REPORT_HTML) report_html_open(out, "Two sets of evaluations side by side");
    rc = report_rows_write(out, &c->arena, &c->table, format, e);
    if (format == REPORT_HTML) report_html_close(out);
out:
    arena_fini(&c->arena);
    free(c);
    return rc;
}
