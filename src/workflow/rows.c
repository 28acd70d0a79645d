/* rows.c - reads the whole answer of a query. */
#include "base/arena.h"
#include "workflow/workflow.h"

struct reading {
    struct rows *rows;
    struct arena *arena;
    int32_t capacity;
};

static const char *copy_text(struct arena *a, const char *text)
{
    return text ? arena_strdup(a, text) : NULL;
}

static int take_row(void *context, int columns_n, const char *const *names,
                    const struct store_cell *cells, struct err *e)
{
    struct reading *x = context;
    struct rows *rows = x->rows;

    (void)e;
    if (rows->n == 0) {
        const char **name = arena_array(x->arena, (size_t)columns_n, sizeof *name);
        for (int i = 0; i < columns_n; i++) name[i] = arena_strdup(x->arena, names[i]);
        rows->name = name;
        rows->columns_n = columns_n;
    }
    struct store_cell *row = arena_array(x->arena, (size_t)columns_n, sizeof *row);
    for (int i = 0; i < columns_n; i++)
        row[i] = (struct store_cell){copy_text(x->arena, cells[i].text), cells[i].type};
    vec_grow(x->arena, &rows->row, rows->n, &x->capacity, sizeof *rows->row);
    rows->row[rows->n++] = row;
    return 0;
}

int rows_read(struct rows *out, struct arena *a, struct store *store, const char *sql,
              const struct store_param *params, int32_t params_n, struct err *e)
{
    struct reading x = {.rows = out, .arena = a};

    *out = (struct rows){0};
    return store_query(store, sql, params, params_n, ROWS_LIMIT_S, take_row, &x, e);
}
