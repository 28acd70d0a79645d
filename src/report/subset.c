/* subset.c - choosing, naming and averaging rows. */
#include "report/subset.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static const char *subset_text(const struct report_subset *s, int32_t i, int32_t column)
{
    return report_rows_text(s->rows, s->row[i], column);
}

static void subset_init(struct report_subset *out, struct arena *a, const struct report_rows *rows,
                        int32_t room)
{
    *out = (struct report_subset){.arena = a, .rows = rows};
    out->row = arena_array(a, (size_t)room + 1, sizeof *out->row);
}

void report_subset_all(struct report_subset *out, struct arena *a, const struct report_rows *rows)
{
    subset_init(out, a, rows, rows->rows_n);
    while (out->n < rows->rows_n) {
        out->row[out->n] = out->n;
        out->n++;
    }
}

static bool rows_agree(const struct report_rows *r, const int32_t *columns, int32_t columns_n,
                       int32_t a, int32_t b)
{
    for (int32_t c = 0; c < columns_n; c++)
        if (!same_text(report_rows_text(r, a, columns[c]), report_rows_text(r, b, columns[c])))
            return false;
    return true;
}

void report_subset_like(struct report_subset *out, const struct report_subset *from,
                        const int32_t *columns, int32_t columns_n, int32_t like)
{
    struct report_subset s;
    subset_init(&s, from->arena, from->rows, from->n);
    for (int32_t i = 0; i < from->n; i++)
        if (rows_agree(from->rows, columns, columns_n, from->row[i], like))
            s.row[s.n++] = from->row[i];
    *out = s;
}

void report_subset_heads(struct report_subset *out, const struct report_subset *from,
                         const int32_t *columns, int32_t columns_n)
{
    struct report_subset s;
    subset_init(&s, from->arena, from->rows, from->n);
    for (int32_t i = 0; i < from->n; i++) {
        bool known = false;
        for (int32_t k = 0; k < s.n && !known; k++)
            known = rows_agree(from->rows, columns, columns_n, from->row[i], s.row[k]);
        if (!known) s.row[s.n++] = from->row[i];
    }
    *out = s;
}

void report_subset_sort(struct report_subset *s, int32_t column)
{
    double *key = arena_array(s->arena, (size_t)s->n + 1, sizeof *key);

    for (int32_t i = 0; i < s->n; i++)
        if (!report_rows_number(&key[i], s->rows, s->row[i], column)) return;
    for (int32_t i = 1; i < s->n; i++) { /* insertion: equal keys keep their order */
        double k = key[i];
        int32_t row = s->row[i], j = i;
        for (; j > 0 && key[j - 1] > k; j--) {
            key[j] = key[j - 1];
            s->row[j] = s->row[j - 1];
        }
        key[j] = k;
        s->row[j] = row;
    }
}

const char *report_subset_distinct(const struct report_subset *s, int32_t column)
{
    struct report_subset heads;
    struct strbuf b;

    report_subset_heads(&heads, s, &column, 1);
    report_subset_sort(&heads, column);
    strbuf_init(&b, s->arena);
    for (int32_t i = 0; i < heads.n; i++) {
        const char *text = subset_text(&heads, i, column);
        if (!text) continue;
        if (b.n) strbuf_add(&b, ", ");
        strbuf_add(&b, text);
    }
    return b.n ? b.text : NULL;
}

/* The companion column NAME_nominal, or -1. */
static int32_t subset_nominal(const struct report_subset *s, int32_t column)
{
    if (column < 0) return -1;
    return report_rows_column(s->rows, arena_printf(s->arena, "%s_nominal", s->rows->name[column]));
}

const char *report_subset_label(const struct report_subset *s, int32_t row, int32_t column)
{
    const char *text = report_rows_text(s->rows, row, column);
    int32_t nominal = subset_nominal(s, column);
    double low = INFINITY, high = -INFINITY, value;

    if (nominal < 0 || !text) return text;
    for (int32_t i = 0; i < s->n; i++) {
        if (!same_text(subset_text(s, i, column), text)) continue;
        if (!report_rows_number(&value, s->rows, s->row[i], nominal)) continue;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    if (low > high ||
        (report_rows_number(&value, s->rows, row, column) && low == value && high == value))
        return text;
    if (low == high) return arena_printf(s->arena, "%s (%.0f)", text, low);
    return arena_printf(s->arena, "%s (%.0f–%.0f)", text, low, high);
}

bool report_subset_scaled(const struct report_subset *s, int32_t column)
{
    int32_t nominal = subset_nominal(s, column);
    for (int32_t i = 0; i < s->n && nominal >= 0; i++) {
        const char *paper = subset_text(s, i, nominal);
        if (paper && !same_text(paper, subset_text(s, i, column))) return true;
    }
    return false;
}

int report_subset_mean(struct report_number *out, const struct report_subset *s, int32_t value,
                       int32_t id, int32_t same, struct err *e)
{
    struct report_subset with, runs, unlike;
    double number, sum = 0, squares = 0;

    *out = (struct report_number){0};
    subset_init(&with, s->arena, s->rows, s->n);
    for (int32_t i = 0; i < s->n; i++)
        if (report_rows_number(&number, s->rows, s->row[i], value)) with.row[with.n++] = s->row[i];
    if (with.n == 0) return 0;
    report_subset_heads(&unlike, &with, &same, 1);
    if (unlike.n > 1)
        return ERR(e, ERR_DATA,
                   "%d configurations (%s %s) fall into one cell; name the column that tells them "
                   "apart in rows: or group: of table.txt",
                   unlike.n, s->rows->name[same], report_subset_distinct(&unlike, same));
    runs = with;
    if (id >= 0) report_subset_heads(&runs, &with, &id, 1);
    for (int32_t i = 0; i < runs.n; i++) {
        report_rows_number(&number, s->rows, runs.row[i], value);
        sum += number;
    }
    out->n = runs.n;
    out->mean = sum / runs.n;
    for (int32_t i = 0; i < runs.n; i++) {
        report_rows_number(&number, s->rows, runs.row[i], value);
        squares += (number - out->mean) * (number - out->mean);
    }
    if (runs.n > 1) out->std = sqrt(squares / (runs.n - 1));
    return 0;
}
