/* answer.c - collecting rows, arranging their columns, and putting them into statements. */
#include "report/cells.h"

#include <stddef.h>
#include <string.h>

#include "base/file.h"

const struct cell_marks *report_marks(const struct store_cell *cell)
{
    static const struct cell_marks none;
    return cell->marks ? cell->marks : &none;
}

struct cell_marks *report_marks_of(struct arena *a, struct store_cell *cell)
{
    if (!cell->marks) cell->marks = arena_array(a, 1, sizeof *cell->marks);
    return cell->marks;
}

static void rows_push(struct rows *r, struct store_cell *cells)
{
    vec_grow(r->arena, &r->row, r->rows_n, &r->room, sizeof *r->row);
    r->row[r->rows_n++] = cells;
}

struct store_cell *report_rows_add(struct rows *r)
{
    struct store_cell *cells = arena_array(r->arena, (size_t)r->columns_n + 1, sizeof *cells);

    for (int32_t c = 0; c < r->columns_n; c++) cells[c].type = 'n';
    rows_push(r, cells);
    return cells;
}

void report_rows_append(struct rows *to, const struct rows *from)
{
    if (!to->name)
        *to = (struct rows){.arena = from->arena, .name = from->name, .columns_n = from->columns_n};
    for (int32_t i = 0; i < from->rows_n; i++) rows_push(to, from->row[i]);
}

void report_rows_init(struct rows *r, struct arena *a, int32_t columns_n, int32_t rows_n)
{
    *r = (struct rows){.arena = a, .columns_n = columns_n};
    r->name = arena_array(a, (size_t)columns_n + 1, sizeof *r->name);
    while (r->rows_n < rows_n) report_rows_add(r);
}

void report_rows_join(struct rows *to, const struct rows *from)
{
    struct rows all;
    int32_t *column = arena_array(to->arena, (size_t)from->columns_n + 1, sizeof *column);

    report_rows_init(&all, to->arena, to->columns_n + from->columns_n, to->rows_n + from->rows_n);
    all.columns_n = to->columns_n;
    for (int32_t c = 0; c < to->columns_n; c++) all.name[c] = to->name[c];
    for (int32_t c = 0; c < from->columns_n; c++) {
        column[c] = report_rows_column(&all, from->name[c]);
        if (column[c] >= 0) continue;
        column[c] = all.columns_n;
        all.name[all.columns_n++] = arena_strdup(to->arena, from->name[c]);
    }
    for (int32_t i = 0; i < to->rows_n; i++)
        for (int32_t c = 0; c < to->columns_n; c++) all.row[i][c] = to->row[i][c];
    for (int32_t i = 0; i < from->rows_n; i++)
        for (int32_t c = 0; c < from->columns_n; c++) {
            const struct store_cell *cell = &from->row[i][c];
            all.row[to->rows_n + i][column[c]] =
                (struct store_cell){.text = cell->text ? arena_strdup(to->arena, cell->text) : NULL,
                                    .type = cell->type};
        }
    *to = all;
}

void report_rows_slice(struct rows *out, const struct rows *of, int32_t column, int32_t columns_n,
                       int32_t row, int32_t rows_n)
{
    *out = (struct rows){.arena = of->arena, .columns_n = columns_n, .rows_n = rows_n};
    out->name = arena_array(of->arena, (size_t)columns_n + 1, sizeof *out->name);
    out->row = arena_array(of->arena, (size_t)rows_n + 1, sizeof *out->row);
    for (int32_t c = 0; c < columns_n; c++) out->name[c] = of->name[column + c];
    for (int32_t i = 0; i < rows_n; i++) out->row[i] = of->row[row + i] + column;
}

int32_t report_rows_alike(const struct rows *r, int32_t row, int32_t column)
{
    int32_t n = 1;
    while (row + n < r->rows_n &&
           strcmp(report_rows_text(r, row + n, column), report_rows_text(r, row, column)) == 0)
        n++;
    return n;
}

int report_rows_query(struct rows *r, struct arena *a, struct store *s, const char *where,
                      const char *sql, const struct store_param *params, int32_t params_n,
                      double limit_s, struct err *e)
{
    int rc = store_query(s, r, a, sql, params, params_n, limit_s, e);
    if (rc < 0 && where) err_ctx(e, "%s", where);
    return rc;
}

/* Cuts a line at its tabs into n cells. */
static const char **cut_line(int32_t *n, struct arena *a, char *line)
{
    const char **cell = arena_array(a, strlen(line) + 1, sizeof *cell);

    *n = 0;
    for (char *rest = line; rest;) cell[(*n)++] = strsep(&rest, "\t");
    return cell;
}

int report_rows_tsv(struct rows *r, struct arena *a, const char *path, struct err *e)
{
    char *text;
    double number;
    int32_t n;

    *r = (struct rows){.arena = a};
    TRY(file_read(a, &text, NULL, path, REPORT_MAX_FILE_BYTES, e));
    for (int line_no = 1; text && *text; line_no++) {
        char *line = strsep(&text, "\n");
        if (r->name && !*line) continue;
        const char **cell = cut_line(&n, a, line);
        if (!r->name) {
            r->name = cell;
            r->columns_n = n;
            continue;
        }
        if (n != r->columns_n)
            return ERR(e, ERR_DATA, "%s:%d: %d cells, the header line has %d", path, line_no, n,
                       r->columns_n);
        struct store_cell *own = report_rows_add(r);
        for (int32_t c = 0; c < n; c++)
            if (*cell[c])
                own[c] = (struct store_cell){.text = cell[c],
                                             .type = str_to_double(&number, cell[c]) ? 'f' : 't'};
    }
    return 0;
}

void report_rows_drop(struct rows *r, int32_t column)
{
    int32_t after = --r->columns_n - column;

    memmove(&r->name[column], &r->name[column + 1], (size_t)after * sizeof *r->name);
    for (int32_t i = 0; i < r->rows_n; i++)
        memmove(&r->row[i][column], &r->row[i][column + 1], (size_t)after * sizeof **r->row);
}

int32_t report_rows_column(const struct rows *r, const char *name)
{
    for (int32_t c = 0; c < r->columns_n; c++)
        if (strcmp(r->name[c], name) == 0) return c;
    return -1;
}

const char *report_rows_text(const struct rows *r, int32_t row, int32_t column)
{
    return column < 0 || row >= r->rows_n ? NULL : r->row[row][column].text;
}

const char *report_rows_get(const struct rows *r, int32_t row, const char *name)
{
    return report_rows_text(r, row, report_rows_column(r, name));
}

double report_rows_real(const struct rows *r, int32_t row, const char *name, double otherwise)
{
    const char *text = report_rows_get(r, row, name);
    double value;
    return text && str_to_double(&value, text) ? value : otherwise;
}

const bool *report_rows_right(const struct rows *r)
{
    bool *right = arena_array(r->arena, (size_t)r->columns_n + 1, sizeof *right);

    for (int32_t c = 0; c < r->columns_n; c++) {
        right[c] = r->rows_n > 0;
        for (int32_t i = 0; i < r->rows_n; i++) right[c] &= r->row[i][c].type != 't';
    }
    return right;
}

/* --- marks ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t at;
} rows_fields[] = {
    {"#verdict", offsetof(struct cell_marks, verdict)},
    {"#link", offsetof(struct cell_marks, link)},
    {"#hint", offsetof(struct cell_marks, hint)},
    {"#id", offsetof(struct cell_marks, id)},
    {"#more", offsetof(struct cell_marks, more)},
    {"#wide", offsetof(struct cell_marks, wide)},
    {"#markup", offsetof(struct cell_marks, markup)},
};

/* Applies the mark of column c: it becomes column `to`, or a field of column `owner`. Returns
 * whether a column was added. */
static bool rows_apply_mark(struct rows *r, int32_t c, int32_t to, int32_t owner)
{
    const char *name = r->name[c];
    const char *value = NULL; /* the first there is */
    bool alike = true;

    for (size_t k = 0; k < sizeof rows_fields / sizeof *rows_fields; k++) {
        if (strcmp(name, rows_fields[k].name) != 0) continue;
        for (int32_t i = 0; i < r->rows_n; i++)
            *(const char **)((char *)report_marks_of(r->arena, &r->row[i][owner]) +
                             rows_fields[k].at) = r->row[i][c].text;
        return false;
    }
    for (int32_t i = 0; i < r->rows_n; i++) {
        const char *text = r->row[i][c].text;
        if (!value) value = text;
        alike &= !text || strcmp(value, text) == 0;
        if (*name == '>' || *name == '<') r->row[i][c].type = *name == '<' ? 't' : 'n';
        r->row[i][to] = r->row[i][c];
    }
    r->name[to] = name + (*name && strchr("<>?~", *name));
    return *name == '?' ? !alike : *name == '~' ? value != NULL : true;
}

void report_rows_arrange(struct rows *r)
{
    int32_t to = 0, owner = 0; /* owner: the column before a field, beyond the
                                    kept ones if it was left out */

    for (int32_t c = 0; c < r->columns_n; c++) {
        bool field = *r->name[c] == '#', kept = rows_apply_mark(r, c, to, owner);
        if (!field) owner = to;
        to += kept;
    }
    r->columns_n = to;
}

/* --- as a part of a statement --------------------------------------------------------------- */

const char *report_unique_name(struct arena *a, const char *const *name, int32_t column)
{
    int same = 1;

    for (int32_t c = 0; c < column; c++) same += strcmp(name[c], name[column]) == 0;
    return same == 1 ? name[column] : arena_printf(a, "%s_%d", name[column], same);
}

void report_answer_rows(struct report_answer *out, const char *where, const struct rows *rows)
{
    *out = (struct report_answer){.where = where, .rows = *rows};
    out->rows.name = arena_array(rows->arena, (size_t)rows->columns_n + 1, sizeof *rows->name);
    for (int32_t c = 0; c < rows->columns_n; c++)
        out->rows.name[c] = report_unique_name(rows->arena, rows->name, c);
}

int report_answer_query(struct report_answer *out, struct arena *a, struct store *s,
                        const struct report_asked *q, struct err *e)
{
    struct rows rows;

    int rc = store_query(s, &rows, a, q->sql, q->params, q->params_n, q->limit_s, e);
    if (rc == 0 && rows.rows_n == 0)
        rc = store_columns(s, &rows, a, q->sql, q->params, q->params_n, e);
    if (rc < 0)
        err_ctx(e, "%s", q->where);
    else
        report_answer_rows(out, q->where, &rows);
    return rc;
}

/* Writes a label in SQL without the words key=value of the settings and of the column along x. */
static const char *label_sql(struct arena *a, const char *name, const struct report_regrouping *g)
{
    const char *own = arena_printf(a, "a.%s", str_quote(a, name, '"'));
    const char *sql = arena_printf(a, "%s || ' '", own);

    for (int32_t i = 0; i < g->settings_n; i++)
        sql =
            arena_printf(a, "replace(%s, coalesce(' ' || %s || '=' || c%d.value || ' ', ''), ' ')",
                         sql, str_quote(a, g->setting[i], '\''), i);
    if (g->omit) sql = arena_printf(a, "replace(%s, ' ' || a.%s || ' ', ' ')", sql, g->omit);
    sql = arena_printf(a, "rtrim(%s)", sql);
    if (g->lengthened && strcmp(name, g->lengthened) == 0)
        sql = arena_printf(a,
                           "%s || ' L_valid=' || a.L_valid || CASE WHEN a.L_valid_nominal <> "
                           "a.L_valid\n  THEN printf(' (%%d)', a.L_valid_nominal) ELSE '' END",
                           sql);
    return arena_printf(a, "CASE typeof(%s) WHEN 'text' THEN %s ELSE %s END", own, sql, own);
}

static bool has_name(const struct report_names *names, const char *name)
{
    for (int32_t i = 0; i < names->n; i++)
        if (strcmp(names->name[i], name) == 0) return true;
    return false;
}

int report_answer_regroup(struct report_answer *r, struct arena *a, struct store *s,
                          const struct report_regrouping *g, double limit_s, struct err *e)
{
    const struct store_param given = REPORT_GIVEN(r);
    struct strbuf b;
    int32_t n = g->settings_n;

    strbuf_init(&b, a);
    report_answer_add(&b, "WITH report_answer", given.name, r);
    strbuf_add(&b, ",\nchosen AS MATERIALIZED (\n SELECT run_id, key, value FROM settings\n"
                   " WHERE key IN (");
    for (int32_t i = 0; i < n; i++)
        strbuf_addf(&b, "%s%s", i ? ", " : "", str_quote(a, g->setting[i], '\''));
    strbuf_add(&b, "))\nSELECT ");
    for (int32_t c = 0; c < r->rows.columns_n; c++) {
        const char *quoted = str_quote(a, r->rows.name[c], '"');
        strbuf_addf(&b, "%s%s AS %s", c ? ", " : "",
                    has_name(&g->labels, r->rows.name[c]) ? label_sql(a, r->rows.name[c], g)
                                                          : arena_printf(a, "a.%s", quoted),
                    quoted);
    }
    for (int32_t i = 0; i < n; i++)
        strbuf_addf(
            &b,
            ",\n CASE WHEN c%d.value GLOB '*[0-9]*' AND c%d.value NOT GLOB '*[^0-9eE.+-]*'\n"
            "  THEN c%d.value + 0 ELSE c%d.value END AS %s",
            i, i, i, i, str_quote(a, g->setting[i], '"'));
    strbuf_add(&b, "\nFROM (SELECT row_number() OVER () AS \"#at\", * FROM report_answer) a");
    for (int32_t i = 0; i < n; i++)
        strbuf_addf(&b, "\nLEFT JOIN chosen c%d ON c%d.run_id = a.run_id AND c%d.key = %s", i, i, i,
                    str_quote(a, g->setting[i], '\''));
    strbuf_add(&b, "\nORDER BY a.\"#at\"");
    const struct report_asked asked = {r->where, b.text, &given, 1, limit_s};
    return report_answer_query(r, a, s, &asked, e);
}

bool report_answer_has(const struct report_answer *r, const char *name)
{
    return name && report_rows_column(&r->rows, name) >= 0;
}

void report_answer_add(struct strbuf *b, const char *name, const char *table,
                       const struct report_answer *r)
{
    strbuf_addf(b, "%s(", name);
    for (int32_t c = 0; c < r->rows.columns_n; c++)
        strbuf_addf(b, "%s%s", c ? "," : "", str_quote(b->arena, r->rows.name[c], '"'));
    strbuf_addf(b, ") AS MATERIALIZED (SELECT * FROM %s)", table);
}

void report_answer_begin(struct strbuf *b, const struct report_answer *r)
{
    report_answer_add(b, "WITH report_answer", "report_given", r);
    strbuf_add(b, ",\nreport_numbered AS MATERIALIZED (\n"
                  " SELECT row_number() OVER () AS \"#row\", * FROM report_answer)");
}
