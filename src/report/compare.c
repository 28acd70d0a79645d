/* compare.c - alibi compare: reads the filters, which compare.sql joins, and writes the answer. The
 * view `comparison` with the paper is in store/views.sql. */
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "report/cells.h"
#include "report/compare.inc"
#include "spec/spec.h"

enum {
    ROWS_MAX = 100 * 1000,
    LIMIT_S = 30,
    TABLE_MAX = 120, /* bytes of a line, for people */
    NOTE_MAX = 104,  /* of a line below the table */
    ID_BYTES = 8     /* of a run id, for people; every command takes it */
};

struct compare {
    struct arena *arena;
    struct store *store;
    const char *filter[2];
    bool all;                                     /* also the evaluations without a partner */
    struct rows coordinates, asked, keys, chosen; /* of compare.sql */
    int32_t side;                                 /* index of the filter that is read */
    int32_t tables_n;                             /* written as LaTeX */
};

static int run_question(struct rows *out, struct compare *c, bool for_people, const char *sql,
                        struct err *e)
{
    const struct store_param params[] = {
        {"report_asked", &c->asked, STORE_ROWS},
        {"report_keys", &c->keys, STORE_ROWS},
        {"report_chosen", c->chosen.rows_n ? &c->chosen : NULL, STORE_ROWS},
        {"side", c->side ? "b" : "a", STORE_TEXT},
        {"for_people", for_people ? "1" : "0", STORE_INTEGER}};

    return report_rows_query(out, c->arena, c->store, "compare",
                             arena_printf(c->arena, "%s%s", coordinates_sql, sql), params,
                             sizeof params / sizeof *params, LIMIT_S, e);
}

/* --- filters -------------------------------------------------------------------------------- */

#define FILTER_ERR(e, c, format, ...)                                                              \
    ERR((e), ERR_USAGE, "filter \"%s\": " format, (c)->filter[(c)->side], __VA_ARGS__)

static int32_t find_coordinate(const struct compare *c, const char *name)
{
    for (int32_t i = 0; i < c->coordinates.rows_n; i++)
        if (strcmp(report_rows_get(&c->coordinates, i, "name"), name) == 0) return i;
    return -1;
}

static bool is_id(const char *text)
{
    size_t n = strspn(text, "0123456789abcdef");
    return n >= 4 && n <= 16 && text[n] == '\0';
}

static bool is_named(const struct compare *c, const char *name)
{
    for (int32_t i = 0; i < c->asked.rows_n; i++)
        if (*c->asked.row[i][0].text == "ab"[c->side] && strcmp(c->asked.row[i][2].text, name) == 0)
            return true;
    return false;
}

/* Adds a part of the filter. Coordinates come before settings in messages; `at` is their order. */
static void add_part(struct compare *c, int32_t at, const char *name, const char *value, char type)
{
    struct store_cell *cell = report_rows_add(&c->asked);

    cell[0] = (struct store_cell){.text = c->side ? "b" : "a", .type = 't'};
    cell[1] = (struct store_cell){.text = arena_printf(c->arena, "%d", at), .type = 'i'};
    cell[2] = (struct store_cell){.text = name, .type = 't'};
    cell[3] = (struct store_cell){.text = value, .type = type};
}

/* Adds a setting as the spec writes it: train.lr=3e-4 as train.lr=0.0003. */
static int add_setting(struct compare *c, const struct spec_key *key, const char *value,
                       struct err *e)
{
    struct spec probe;

    spec_init(&probe);
    if (spec_set(&probe, key, value, e) < 0) {
        err_ctx(e, "filter \"%s\"", c->filter[c->side]);
        if (e) e->code = ERR_USAGE;
        return ERR_USAGE;
    }
    add_part(c, c->coordinates.rows_n + c->asked.rows_n, key->name, spec_get(&probe, key, c->arena),
             't');
    return 0;
}

static int unknown_column(const struct compare *c, const char *name, struct err *e)
{
    int32_t n = c->coordinates.rows_n;
    const char **names = arena_array(c->arena, (size_t)n + 1, sizeof *names);

    for (int32_t i = 0; i < n; i++) names[i] = report_rows_get(&c->coordinates, i, "name");
    names[n] = "run";
    struct str_hint near = {""};
    if (!strchr(name, '.')) near = str_hint(name, names, (size_t)n + 1);
    if (!*near.text) near = spec_key_hint(name);
    return FILTER_ERR(e, c, "unknown column %s (see `alibi compare --help`)%s", name, near.text);
}

static int read_part(struct compare *c, char *part, struct err *e)
{
    char *equals = strchr(part, '=');

    part = str_trim(part);
    if (!equals && is_id(part)) {
        add_part(c, 0, "run", part, 't');
        return 0;
    }
    char *value = equals ? str_trim(equals + 1) : part;
    if (!equals || !*value)
        return FILTER_ERR(e, c, "\"%s\" is neither column=value nor a run id (4 to 16 hex digits)",
                          part);
    *equals = '\0';
    part = str_trim(part);
    bool run = strcmp(part, "run") == 0;
    int32_t at = find_coordinate(c, part);
    const struct spec_key *key = at < 0 && strchr(part, '.') ? spec_key_find(part) : NULL;
    if (key) return add_setting(c, key, value, e);
    if (at < 0 && !run) return unknown_column(c, part, e);
    if (run && !is_id(value))
        return FILTER_ERR(e, c, "\"%s\" is not a run id (4 to 16 hex digits)", value);
    if (!run && is_named(c, part)) return FILTER_ERR(e, c, "%s is given twice", part);
    add_part(c, at, part, value, run ? 't' : *report_rows_get(&c->coordinates, at, "type"));
    return 0;
}

static int read_filter(struct compare *c, struct err *e)
{
    char *part = arena_strdup(c->arena, c->filter[c->side]);

    for (char *comma; part; part = comma) {
        comma = strchr(part, ',');
        if (comma) *comma++ = '\0';
        TRY(read_part(c, part, e));
    }
    return 0;
}

/* True if every evaluation has a value of this key: the neutral one if its spec is older. */
static bool is_universal(const struct spec_key *key)
{
    struct spec s;

    spec_init(&s);
    s.kind = SPEC_EVAL;
    return key->applies(&s);
}

static void list_keys(struct compare *c)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    for (size_t i = 0; i < n; i++) {
        if (strncmp(keys[i].name, "eval.", 5) != 0 || !keys[i].neutral) continue;
        struct store_cell *cell = report_rows_add(&c->keys);
        cell[0] = (struct store_cell){.text = keys[i].name, .type = 't'};
        cell[1] = (struct store_cell){.text = keys[i].neutral, .type = 't'};
        cell[2] = (struct store_cell){.text = is_universal(&keys[i]) ? "1" : "0", .type = 'i'};
    }
}

/* Reports why nothing matches the filter: a value that no evaluation has, with the values there
 * are, or else the combination. */
static int report_empty(struct compare *c, struct err *e)
{
    struct rows unmet;
    const char *filter = c->filter[c->side];

    TRY(run_question(&unmet, c, false, arena_printf(c->arena, "%s%s", asked_sql, unmet_sql), e));
    if (unmet.rows_n == 0)
        return ERR(e, ERR_NOINPUT,
                   "no evaluation in results.db matches \"%s\"; `alibi query \"SELECT * FROM "
                   "evaluations\"` lists them",
                   filter);
    const char *name = report_rows_get(&unmet, 0, "name"),
               *value = report_rows_get(&unmet, 0, "wanted"),
               *known = report_rows_get(&unmet, 0, "known");
    int32_t at = find_coordinate(c, name);
    if (at < 0)
        return ERR(e, ERR_NOINPUT,
                   "filter \"%s\": no evaluation has %s=%s; values in results.db: %s", filter, name,
                   value, known);
    const char *frees = report_rows_get(&c->coordinates, at, "frees");
    const struct spec_key *key = frees ? spec_key_find(frees) : NULL;
    return ERR(e, ERR_NOINPUT, "filter \"%s\": no evaluation has %s %s; there are %s%s", filter,
               name, value, known, key && key->names ? spec_value_hint(key, value).text : "");
}

/* --- the answer ----------------------------------------------------------------------------- */

/* Reads the evaluations that the filters choose. */
static int read_chosen(struct compare *c, struct err *e)
{
    struct rows chosen;
    bool has[2] = {false, false};

    TRY(run_question(&chosen, c, false, arena_printf(c->arena, "%s%s", asked_sql, chosen_sql), e));
    for (int32_t i = 0; i < chosen.rows_n; i++)
        has[*report_rows_get(&chosen, i, "side") == 'b'] = true;
    for (c->side = 0; c->side < 2; c->side++)
        if (!has[c->side]) return report_empty(c, e);
    c->chosen = chosen;
    return 0;
}

/* Returns the evaluation of this number, from 1; NULL: none. */
static const struct store_cell *chosen_at(const struct compare *c, const char *nth)
{
    int64_t at;
    return nth && str_to_int(&at, nth) ? c->chosen.row[at - 1] : NULL;
}

/* Pairs the evaluations. A row has their coordinates, "A | B" where they differ, the settings that
 * differ, the numbers, the note and last `alike`. */
static int read_pairs(struct rows *out, struct compare *c, bool for_people, struct err *e)
{
    struct rows pairs;
    int32_t n = c->coordinates.rows_n;
    enum { SIDES_N = 2 }; /* the first columns of pairs number the evaluations of A and B */

    TRY(run_question(&pairs, c, for_people, arena_printf(c->arena, "%s%s", asked_sql, pairs_sql),
                     e));
    if (pairs.rows_n > ROWS_MAX)
        return ERR(e, ERR_USAGE, "more than %d rows: name more columns in the filters", ROWS_MAX);
    int32_t rest_n = pairs.columns_n - SIDES_N;
    report_rows_init(out, c->arena, n + rest_n, pairs.rows_n);
    memcpy(out->name, c->chosen.name, (size_t)n * sizeof *out->name);
    memcpy(out->name + n, pairs.name + SIDES_N, (size_t)rest_n * sizeof *out->name);
    for (int32_t i = 0; i < pairs.rows_n; i++) {
        const struct store_cell *a = chosen_at(c, pairs.row[i][0].text),
                                *b = chosen_at(c, pairs.row[i][1].text);
        struct store_cell *row = out->row[i];
        for (int32_t k = 0; k < n; k++) {
            row[k] = (struct store_cell){.text = a ? a[k].text : b[k].text, .type = 't'};
            if (a && b && !str_same(a[k].text, b[k].text))
                row[k].text = arena_printf(c->arena, "%s | %s", a[k].text ? a[k].text : "–",
                                           b[k].text ? b[k].text : "–");
        }
        memcpy(row + n, pairs.row[i] + SIDES_N, (size_t)rest_n * sizeof *row);
    }
    return 0;
}

static bool is_constant(const struct rows *r, int32_t column)
{
    const char *first = report_rows_text(r, 0, column);

    if (first && strstr(first, " | ")) return false;
    for (int32_t i = 1; i < r->rows_n; i++)
        if (!str_same(report_rows_text(r, i, column), first)) return false;
    return true;
}

/* Leaves out the coordinates that need not be shown and are the same in every row, and settings
 * where there is none. */
static void drop_columns(struct rows *r, const struct rows *coordinates)
{
    int32_t n = coordinates->rows_n;

    for (int32_t c = n; c >= 0; c--)
        if (is_constant(r, c) && (c < n ? report_rows_real(coordinates, c, "is_shown", 0) == 0
                                        : !report_rows_text(r, 0, c)))
            report_rows_drop(r, c);
}

/* --- for people: at most 120 columns -------------------------------------------------------- */

/* Rounds numbers to four decimals and cuts ids to their first digits. */
static void shorten_cells(struct rows *r)
{
    double number;

    for (int32_t i = 0; i < r->rows_n; i++)
        for (int32_t c = 0; c < r->columns_n; c++) {
            struct store_cell *cell = &r->row[i][c];
            if (cell->text && strncmp(r->name[c], "run ", 4) == 0)
                cell->text = arena_strndup(r->arena, cell->text, ID_BYTES);
            else if (cell->text && cell->type != 't' && str_to_double(&number, cell->text))
                cell->text = arena_printf(r->arena, "%.4f", number);
        }
}

/* Moves the coordinates that all rows share out of the table into b, and leaves out empty columns.
 */
static void gather_common(struct strbuf *b, const struct compare *k, struct rows *r)
{
    for (int32_t c = 0; c < r->columns_n;) {
        const char *first = report_rows_text(r, 0, c);
        bool common = is_constant(r, c) && (!first || find_coordinate(k, r->name[c]) >= 0);
        if (common && first && *first)
            strbuf_addf(b, "%s%s %s", b->n ? ", " : "", r->name[c], first);
        if (common) report_rows_drop(r, c);
        c += !common;
    }
}

struct notes {
    const char **item;
    int32_t n, capacity;
    struct map number; /* from 1, of each text */
};

static size_t table_width(const struct rows *r)
{
    size_t total = 0;

    for (int32_t c = 0; c < r->columns_n; c++) {
        size_t width = strlen(r->name[c]);
        for (int32_t i = 0; i < r->rows_n; i++) {
            const char *text = report_rows_text(r, i, c);
            if (text && strlen(text) > width) width = strlen(text);
        }
        total += width + 2;
    }
    return total;
}

/* Replaces the texts of a column by [1], [2], … if the table is too wide. */
static void move_to_notes(struct notes *notes, struct rows *r, const char *name)
{
    int32_t column = report_rows_column(r, name);
    bool added;

    if (table_width(r) <= TABLE_MAX + 2) return;
    for (int32_t i = 0; i < r->rows_n; i++) {
        const char *text = report_rows_text(r, i, column);
        if (!text) continue;
        int32_t *number = map_put(&notes->number, text, strlen(text), &added);
        if (added) *vec_push(r->arena, notes) = text;
        if (added) *number = notes->n;
        r->row[i][column].text = arena_printf(r->arena, "[%d]", *number);
    }
}

/* Writes a text after its mark. As plain text it is broken at spaces into lines of about NOTE_MAX
 * bytes. */
static void write_note(FILE *out, struct arena *a, const char *mark, const char *text,
                       enum report_format format)
{
    for (size_t n; *text; text += n + (text[n] == ' '), mark = "    ") {
        n = strlen(text);
        if (format == REPORT_TEXT && n > NOTE_MAX) {
            for (n = NOTE_MAX; n > 0 && text[n] != ' ';) n--;
            if (n == 0) n = strcspn(text, " ");
        }
        report_write_paragraph(out, arena_printf(a, "%s%.*s", mark, (int)n, text), format);
    }
}

static int write_table(FILE *out, struct compare *c, struct notes *notes, struct rows *r,
                       enum report_format format, struct err *e)
{
    struct strbuf common;

    strbuf_init(&common, r->arena);
    gather_common(&common, c, r);
    move_to_notes(notes, r, "settings");
    move_to_notes(notes, r, "note");
    if (format == REPORT_LATEX) { /* text and CSV have the ids */
        report_rows_drop(r, report_rows_column(r, "run A"));
        report_rows_drop(r, report_rows_column(r, "run B"));
        const char *both =
            arena_printf(r->arena, "A: %s. B: %s. Lengths are the paper's.%s%s", c->filter[0],
                         c->filter[1], common.n ? " In every row: " : "", common.text);
        report_latex_open(out, both, arena_printf(r->arena, "compare-%d", ++c->tables_n));
        fputs("\\setlength{\\tabcolsep}{3pt}\n", out); /* up to nine columns in one line */
        TRY(report_rows_write(out, r, format, e));
        report_latex_close(out);
        return 0;
    }
    fputc('\n', out);
    if (common.n) write_note(out, r->arena, "In every row: ", common.text, format);
    return report_rows_write(out, r, format, e);
}

int report_compare_mean(struct rows *out, struct arena *a, struct store *s,
                        const struct rows *pairs, struct err *e)
{
    const struct store_param param = {"report_pairs", pairs, STORE_ROWS};

    return report_rows_query(out, a, s, "compare",
                             arena_printf(a, "%s%s", coordinates_sql, mean_sql), &param, 1, LIMIT_S,
                             e);
}

/* The mean over the pairs with its errors, as a sentence; NULL without a pair. */
static int find_mean(const char **sentence, struct compare *c, const struct rows *r, struct err *e)
{
    struct rows pairs, mean;
    int32_t a = report_rows_column(r, "run A"), b = report_rows_column(r, "run B");

    *sentence = NULL;
    report_rows_init(&pairs, c->arena, 2, 0);
    for (int32_t i = 0; i < r->rows_n; i++) {
        if (!r->row[i][a].text || !r->row[i][b].text) continue;
        struct store_cell *pair = report_rows_add(&pairs);
        pair[0] = r->row[i][a], pair[1] = r->row[i][b];
    }
    if (pairs.rows_n == 0) return 0;
    TRY(report_compare_mean(&mean, c->arena, c->store, &pairs, e));
    *sentence = report_rows_get(&mean, 0, "sentence");
    return 0;
}

/* Leaves out the evaluations without a partner, unless there is no pair, and returns a sentence
 * that counts them; NULL: none were left out. */
static const char *drop_unpaired(const struct compare *c, struct rows *r)
{
    static const char *const columns[] = {"run A", "run B"};
    int32_t kept = 0, left[2] = {0, 0};

    for (int32_t i = 0; i < r->rows_n; i++)
        for (int side = 0; side < 2; side++)
            left[side] += !report_rows_get(r, i, columns[1 - side]);
    int32_t unpaired = left[0] + left[1];
    if (c->all || unpaired == 0 || unpaired == r->rows_n) return NULL;
    for (int32_t i = 0; i < r->rows_n; i++)
        if (report_rows_get(r, i, columns[0]) && report_rows_get(r, i, columns[1]))
            r->row[kept++] = r->row[i];
    r->rows_n = kept;
    return arena_printf(c->arena,
                        "Evaluations without a partner: %d of A, %d of B; --all lists them with "
                        "the reason.",
                        left[0], left[1]);
}

static int write_for_people(FILE *out, struct compare *c, struct rows *r, enum report_format format,
                            struct err *e)
{
    int32_t alike;
    const char *mean;
    struct notes notes = {0};
    struct rows table;

    map_init(&notes.number, c->arena);
    TRY(find_mean(&mean, c, r, e));
    const char *unpaired = drop_unpaired(c, r);
    drop_columns(r, &c->coordinates);
    alike = report_rows_column(r, "alike");
    shorten_cells(r);
    if (format != REPORT_LATEX)
        report_write_paragraph(out,
                               arena_printf(c->arena, "A: %s. B: %s. Lengths are the paper's.",
                                            c->filter[0], c->filter[1]),
                               format);
    for (int32_t i = 0, n; i < r->rows_n; i += n) {
        n = report_rows_alike(r, i, alike);
        report_rows_slice(&table, r, 0, alike, i, n);
        TRY(write_table(out, c, &notes, &table, format, e));
    }
    bool ragged = notes.n && format == REPORT_LATEX; /* names of settings have no hyphens */
    if (notes.n) fputs(ragged ? "\n{\\raggedright\n" : "\n", out);
    for (int32_t i = 0; i < notes.n; i++)
        write_note(out, c->arena, arena_printf(c->arena, "[%d] ", i + 1), notes.item[i], format);
    if (ragged) fputs("}\n", out);
    if (mean || unpaired) fputc('\n', out);
    if (mean) report_write_paragraph(out, mean, format);
    if (unpaired) report_write_paragraph(out, unpaired, format);
    return file_check_output(out, e);
}

static int compare_write(FILE *out, struct compare *c, enum report_format format, struct err *e)
{
    struct rows rows;
    bool for_people = format != REPORT_CSV && format != REPORT_JSON;

    report_rows_init(&c->asked, c->arena, 4, 0);
    report_rows_init(&c->keys, c->arena, 3, 0);
    list_keys(c);
    TRY(run_question(&c->coordinates, c, false, "SELECT * FROM coordinate ORDER BY at", e));
    for (c->side = 0; c->side < 2; c->side++) TRY(read_filter(c, e));
    TRY(read_chosen(c, e));
    TRY(read_pairs(&rows, c, for_people, e));
    if (for_people) return write_for_people(out, c, &rows, format, e);
    drop_columns(&rows, &c->coordinates);
    rows.columns_n--; /* alike */
    return report_rows_write(out, &rows, format, e);
}

int report_compare(FILE *out, struct store *s, const char *a_filter, const char *b_filter, bool all,
                   enum report_format format, struct err *e)
{
    struct arena a;
    struct compare c = {.arena = &a, .store = s, .filter = {a_filter, b_filter}, .all = all};

    arena_init(&a);
    int rc = compare_write(out, &c, format, e);
    arena_fini(&a);
    return rc;
}
