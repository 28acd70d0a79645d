/* answer.c - collecting rows, putting them into statements, and writing them as CSV and JSON. */
#include "report/answer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"

static void rows_begin(struct report_rows *r, struct arena *a)
{
    *r = (struct report_rows){.arena = a};
}

static void rows_set_names(struct report_rows *r, int32_t columns_n, const char *const *names)
{
    r->columns_n = columns_n;
    r->name = arena_array(r->arena, (size_t)columns_n + 1, sizeof *r->name);
    for (int32_t c = 0; c < columns_n; c++) r->name[c] = arena_strdup(r->arena, names[c]);
}

static struct store_cell *rows_add(struct report_rows *r)
{
    if (r->rows_n == r->room) {
        int32_t room = r->room ? 2 * r->room : 64;
        struct store_cell **grown = arena_array(r->arena, (size_t)room, sizeof *grown);
        if (r->rows_n) memcpy(grown, r->row, (size_t)r->rows_n * sizeof *grown);
        r->row = grown;
        r->room = room;
    }
    struct store_cell *cells = arena_array(r->arena, (size_t)r->columns_n, sizeof *cells);
    for (int32_t c = 0; c < r->columns_n; c++) cells[c].type = 'n';
    r->row[r->rows_n++] = cells;
    return cells;
}

static int rows_take(void *context, int columns_n, const char *const *names,
                     const struct store_cell *cells, struct err *e)
{
    struct report_rows *r = context;

    if (!r->name) rows_set_names(r, columns_n, names);
    if (!cells) return 0;
    if ((int64_t)(r->rows_n + 1) * columns_n > REPORT_MAX_CELLS)
        return ERR(e, ERR_DATA, "the answer has more than %d cells; narrow it with WHERE or LIMIT",
                   REPORT_MAX_CELLS);
    struct store_cell *own = rows_add(r);
    for (int32_t c = 0; c < r->columns_n; c++) {
        own[c].type = cells[c].type;
        own[c].text = cells[c].text ? arena_strdup(r->arena, cells[c].text) : NULL;
    }
    return 0;
}

int report_rows_query(struct report_rows *r, struct arena *a, struct store *s, const char *where,
                      const char *sql, const struct store_param *params, int32_t params_n,
                      double limit_s, struct err *e)
{
    rows_begin(r, a);
    int rc = store_query(s, sql, params, params_n, limit_s, rows_take, r, e);
    if (rc < 0 && where) err_ctx(e, "%s", where);
    return rc;
}

/* One line of a TSV, cut in place at its tabs into cells of r; line_no counts from 1. */
static int rows_take_line(struct report_rows *r, char *line, const char *path, int line_no,
                          struct err *e)
{
    struct store_cell *cells = rows_add(r);
    int32_t c = 0;

    for (char *cell = line; cell; c++) {
        char *tab = strchr(cell, '\t');
        double number;
        if (tab) *tab = '\0';
        if (c < r->columns_n && *cell)
            cells[c] = (struct store_cell){cell, str_to_double(&number, cell) ? 'f' : 't'};
        cell = tab ? tab + 1 : NULL;
    }
    if (c != r->columns_n)
        return ERR(e, ERR_DATA, "%s:%d: %d cells, the header line has %d", path, line_no, c,
                   r->columns_n);
    return 0;
}

static void rows_take_header(struct report_rows *r, char *line)
{
    int32_t n = 1;
    for (const char *p = line; *p; p++) n += *p == '\t';
    const char **names = arena_array(r->arena, (size_t)n, sizeof *names);
    n = 0;
    for (char *cell = line; cell;) {
        char *tab = strchr(cell, '\t');
        if (tab) *tab = '\0';
        names[n++] = cell;
        cell = tab ? tab + 1 : NULL;
    }
    rows_set_names(r, n, names);
}

int report_rows_tsv(struct report_rows *r, struct arena *a, const char *path, struct err *e)
{
    char *text;
    int line_no = 0;

    rows_begin(r, a);
    TRY(file_read(a, &text, NULL, path, REPORT_MAX_FILE_BYTES, e));
    while (*text) {
        char *end = text + strcspn(text, "\n");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        line_no++;
        if (!r->name)
            rows_take_header(r, text);
        else if (*text)
            TRY(rows_take_line(r, text, path, line_no, e));
        text = next;
    }
    return 0;
}

int32_t report_rows_column(const struct report_rows *r, const char *name)
{
    for (int32_t c = 0; c < r->columns_n; c++)
        if (strcmp(r->name[c], name) == 0) return c;
    return -1;
}

const char *report_rows_text(const struct report_rows *r, int32_t row, int32_t column)
{
    return column < 0 ? NULL : r->row[row][column].text;
}

bool report_rows_number(double *out, const struct report_rows *r, int32_t row, int32_t column)
{
    const char *text = report_rows_text(r, row, column);
    return text && str_to_double(out, text);
}

const char *report_rows_get(const struct report_rows *r, int32_t row, const char *name)
{
    return report_rows_text(r, row, report_rows_column(r, name));
}

bool report_rows_real(double *out, const struct report_rows *r, int32_t row, const char *name)
{
    return report_rows_number(out, r, row, report_rows_column(r, name));
}

/* --- as a part of a statement --------------------------------------------------------------- */

static void unique_names(struct report_answer *out, struct arena *a, const char *const *names,
                         int32_t n)
{
    out->columns_n = n;
    out->name = arena_array(a, (size_t)n + 1, sizeof *out->name);
    for (int32_t c = 0; c < n; c++) {
        int same = 1;
        for (int32_t k = 0; k < c; k++) same += strcmp(names[k], names[c]) == 0;
        out->name[c] = same == 1 ? names[c] : arena_printf(a, "%s_%d", names[c], same);
    }
}

int report_answer_query(struct report_answer *out, struct arena *a, struct store *s,
                        const char *where, const char *sql, struct err *e)
{
    const char **names;
    int32_t n;
    size_t bytes;

    *out = (struct report_answer){.where = where};
    int rc = store_columns(s, a, sql, &names, &n, &bytes, e);
    if (rc < 0) {
        err_ctx(e, "%s", where);
        return rc;
    }
    unique_names(out, a, names, n);
    out->sql = arena_strndup(a, sql, bytes);
    return 0;
}

bool report_answer_has(const struct report_answer *r, const char *name)
{
    for (int32_t c = 0; name && c < r->columns_n; c++)
        if (strcmp(r->name[c], name) == 0) return true;
    return false;
}

const char *report_quoted(struct arena *a, const char *name, char quote)
{
    struct strbuf b;

    strbuf_init(&b, a);
    strbuf_add_n(&b, &quote, 1);
    for (const char *p = name; *p; p++)
        strbuf_add_n(&b, *p == quote ? p : "", *p == quote), strbuf_add_n(&b, p, 1);
    strbuf_add_n(&b, &quote, 1);
    return b.text;
}

void report_answer_begin(struct strbuf *b, const struct report_answer *r)
{
    strbuf_add(b, "WITH report_answer(");
    for (int32_t c = 0; c < r->columns_n; c++)
        strbuf_addf(b, "%s%s", c ? "," : "", report_quoted(b->arena, r->name[c], '"'));
    strbuf_add(b, ") AS MATERIALIZED (");
    strbuf_add(b, r->sql);
    strbuf_add(b, "\n),\nreport_numbered AS MATERIALIZED (\n"
                  " SELECT row_number() OVER () AS \"#row\", * FROM report_answer)");
}

static void put_literal(struct strbuf *b, const char *text)
{
    double number;

    if (!text) {
        strbuf_add(b, "NULL");
    } else if (str_to_double(&number, text)) {
        strbuf_add(b, text);
    } else {
        strbuf_add(b, report_quoted(b->arena, text, '\''));
    }
}

void report_answer_rows(struct report_answer *out, struct arena *a, const char *where,
                        const struct report_rows *rows)
{
    struct strbuf b;

    *out = (struct report_answer){.where = where};
    unique_names(out, a, rows->name, rows->columns_n);
    strbuf_init(&b, a);
    for (int32_t i = 0; i < rows->rows_n; i++) {
        strbuf_add(&b, i ? ",\n(" : "VALUES (");
        for (int32_t c = 0; c < rows->columns_n; c++) {
            if (c) strbuf_add(&b, ",");
            put_literal(&b, rows->row[i][c].text);
        }
        strbuf_add(&b, ")");
    }
    out->sql = b.text;
}

/* --- CSV and JSON --------------------------------------------------------------------------- */

/* A text is quoted where RFC 4180 requires it. One that a spreadsheet would run as a formula begins
 * with an apostrophe, which it shows as text; numbers stay as they are. */
static void csv_cell(FILE *out, const char *text)
{
    double number;

    if (!text) return;
    bool formula = *text && strchr("=+-@\t\r", *text) && !str_to_double(&number, text);
    if (!formula && !strpbrk(text, ",\"\r\n") && *text) {
        fputs(text, out);
        return;
    }
    fputs(formula ? "\"'" : "\"", out);
    for (const char *p = text; *p; p++) {
        if (*p == '"') fputc('"', out);
        fputc(*p, out);
    }
    fputc('"', out);
}

int report_rows_csv(FILE *out, const struct report_rows *r, struct err *e)
{
    for (int32_t c = 0; c < r->columns_n; c++) {
        if (c) fputc(',', out);
        csv_cell(out, r->name[c]);
    }
    if (r->columns_n) fputs("\n", out);
    for (int32_t i = 0; i < r->rows_n; i++) {
        for (int32_t c = 0; c < r->columns_n; c++) {
            if (c) fputc(',', out);
            csv_cell(out, r->row[i][c].text);
        }
        fputs("\n", out);
    }
    return file_check_output(out, e);
}

/* A text as a JSON string; jansson escapes what must be escaped and refuses what is not UTF-8. */
static int json_text(FILE *out, const char *text, struct err *e)
{
    json_t *string = json_string(text);
    int rc = 0;

    if (!string)
        rc = ERR(e, ERR_DATA, "a cell that begins with \"%.40s\" is not valid UTF-8", text);
    else if (json_dumpf(string, out, JSON_ENCODE_ANY) < 0 && (rc = file_check_output(out, e)) == 0)
        rc = ERR(e, ERR_NOMEM, "no memory to print a cell");
    json_decref(string);
    return rc;
}

/* Numbers are written as they are: the store gives the shortest form that reads back the same. */
static int json_cell(FILE *out, const struct store_cell *cell, struct err *e)
{
    double number;

    if (!cell->text) {
        fputs("null", out);
        return 0;
    }
    if (cell->type != 't' && str_to_double(&number, cell->text)) {
        fputs(cell->text, out);
        return 0;
    }
    return json_text(out, cell->text, e);
}

/* A column's name as a key; the second column of a name gets "_2" and so on, so that none is lost.
 */
static const char *json_key(const struct report_rows *r, int32_t column)
{
    int same = 1;
    for (int32_t c = 0; c < column; c++) same += strcmp(r->name[c], r->name[column]) == 0;
    if (same == 1) return r->name[column];
    return arena_printf(r->arena, "%s_%d", r->name[column], same);
}

int report_rows_json(FILE *out, const struct report_rows *r, struct err *e)
{
    const char **key = arena_array(r->arena, (size_t)r->columns_n + 1, sizeof *key);

    for (int32_t c = 0; c < r->columns_n; c++) key[c] = json_key(r, c);
    fputs("[", out);
    for (int32_t i = 0; i < r->rows_n; i++) {
        fputs(i ? ",\n {" : "\n {", out);
        for (int32_t c = 0; c < r->columns_n; c++) {
            if (c) fputs(", ", out);
            TRY(json_text(out, key[c], e));
            fputs(": ", out);
            TRY(json_cell(out, &r->row[i][c], e));
        }
        fputs("}", out);
    }
    fputs(r->rows_n ? "\n]\n" : "]\n", out);
    return file_check_output(out, e);
}
