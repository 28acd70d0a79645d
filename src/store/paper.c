/* paper.c - reads paper.tsv, the paper's numbers of an artefact, into rows.
 *
 * The file has a header line and a cell a line, separated by tabs; nothing is quoted. Errors are
 * reported as file:line:column; the column counts bytes from 1. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "position/position.h"
#include "store/statements.h"

enum {
    PAPER_MAX_BYTES = 4 << 20,
    PAPER_SERIES = 2, /* indices in the column table */
    PAPER_METHOD = 3,
    PAPER_METRIC = 12,
    PAPER_POSITION = 17,
    PAPER_COLUMNS = 18
};

static const char *const split_names[] = {"train", "valid", "test", NULL};
static const char *const protocol_names[] = {"nonoverlapping", "sliding", NULL};
#define POSITION_NAME(NAME, name, display, place, style, bounded) #name,
static const char *const position_names[] = {POSITION_METHODS(POSITION_NAME) NULL};

/* In the order of the insert statement. */
static const struct {
    const char *name;
    char type;                /* t text, i whole number, r number */
    const char *const *among; /* allowed texts, or NULL */
} columns[PAPER_COLUMNS] = {
    {"dataset", 't', NULL}, {"panel", 't', NULL},        {"series", 't', NULL},
    {"method", 't', NULL},  {"params", 't', NULL},       {"L_train", 'i', NULL},
    {"L_valid", 'i', NULL}, {"split", 't', split_names}, {"protocol", 't', protocol_names},
    {"stride", 'i', NULL},  {"x_name", 't', NULL},       {"x", 'r', NULL},
    {"metric", 't', NULL},  {"value", 'r', NULL},        {"unit", 't', NULL},
    {"note", 't', NULL},    {"source", 't', NULL},       {"position", 't', position_names},
};

/* The reader's place in the file, and the column of each field. */
struct paper_reader {
    const char *path, *artefact;
    int line, column;
    int field_of[PAPER_COLUMNS]; /* index of the field in a line; -1: not in the file */
    int fields_n;
};

static int refuse_line(const struct paper_reader *r, struct err *e, const char *what,
                       const char *value, const char *remedy)
{
    return ERR(e, ERR_DATA, "%s:%d:%d: %s '%.60s'%s", r->path, r->line, r->column, what, value,
               remedy);
}

static int read_header(struct paper_reader *r, char *line, struct err *e)
{
    const char *names[PAPER_COLUMNS], *start = line;
    char *field;
    int column;

    for (int i = 0; i < PAPER_COLUMNS; i++) {
        names[i] = columns[i].name;
        r->field_of[i] = -1;
    }
    while ((field = strsep(&line, "\t"))) {
        r->column = (int)(field - start) + 1;
        for (column = 0; column < PAPER_COLUMNS; column++)
            if (strcmp(names[column], field) == 0) break;
        if (column == PAPER_COLUMNS)
            return refuse_line(r, e, "unknown column", field,
                               str_hint(field, names, PAPER_COLUMNS).text);
        if (r->field_of[column] >= 0) return refuse_line(r, e, "second column", field, "");
        r->field_of[column] = r->fields_n++;
    }
    r->column = 1;
    for (int i = 0; i < PAPER_COLUMNS; i++)
        if (r->field_of[i] < 0 && i != PAPER_POSITION)
            return refuse_line(r, e, "the header lacks the column", names[i], "");
    return 0;
}

static int read_cell(const struct paper_reader *r, int column, const char *text,
                     struct record_value *out, struct err *e)
{
    const char *const *among = columns[column].among;
    int64_t integer;
    double real;

    *out = DATABASE_TEXT(text);
    if (!*text) {
        *out = DATABASE_NULL;
        if (column == PAPER_METRIC) return refuse_line(r, e, "a row needs a metric, not", text, "");
    } else if (columns[column].type == 'i') {
        if (!str_to_int(&integer, text) || integer < 1)
            return refuse_line(r, e, columns[column].name, text, " is not a positive integer");
        *out = DATABASE_INT(integer);
    } else if (columns[column].type == 'r') {
        if (!str_to_double(&real, text))
            return refuse_line(r, e, columns[column].name, text, " is not a number");
        *out = DATABASE_REAL(real);
    } else if (among) {
        size_t n = 0;
        while (among[n] && strcmp(among[n], text) != 0) n++;
        if (!among[n])
            return refuse_line(r, e, columns[column].name, text, " is not a name of this column");
    }
    return 0;
}

/* The position method that a free text names, such as "T5 Bias" or "ALiBi L=512"; or NULL. */
static const char *position_of(const char *text)
{
    const char *length = text ? strstr(text, " L=") : NULL;
    size_t n = text ? strlen(text) : 0;

    if (length && length[3] && strspn(length + 3, "0123456789") == strlen(length + 3))
        n = (size_t)(length - text);
    for (int32_t p = 0; text && p < POSITION_METHODS_N; p++) {
        const char *name = position_methods[p].name, *display = position_methods[p].display;
        if ((strncasecmp(text, name, n) == 0 && !name[n]) ||
            (strncasecmp(text, display, n) == 0 && !display[n]))
            return name;
    }
    return NULL;
}

static int read_row(struct store *s, struct paper_reader *r, char *line, struct err *e)
{
    char *field[PAPER_COLUMNS + 1], *rest = line;
    struct record_value value[PAPER_COLUMNS + 2];
    struct record_value *cell = value + 2;
    int n = 0;

    while (n <= PAPER_COLUMNS && (field[n] = strsep(&rest, "\t"))) n++;
    if (n != r->fields_n) {
        r->column = (int)(field[n - 1] - line) + 1;
        return ERR(e, ERR_DATA, "%s:%d:%d: %d cells, the header has %d", r->path, r->line,
                   r->column, n, r->fields_n);
    }
    value[0] = DATABASE_TEXT(r->artefact);
    value[1] = DATABASE_INT(r->line);
    for (int i = 0; i < PAPER_COLUMNS; i++) {
        cell[i] = DATABASE_NULL;
        if (r->field_of[i] < 0) continue;
        r->column = (int)(field[r->field_of[i]] - line) + 1;
        TRY(read_cell(r, i, field[r->field_of[i]], &cell[i], e));
    }
    const char *position = position_of(cell[PAPER_METHOD].text);
    if (!position) position = position_of(cell[PAPER_SERIES].text);
    if (!cell[PAPER_POSITION].known) cell[PAPER_POSITION] = DATABASE_TEXT(position);
    return database_run(s,
                        "INSERT INTO paper_cells(artefact,line,dataset,panel,series,method,params,"
                        "L_train,L_valid,split,protocol,stride,x_name,x,metric,value,unit,note,"
                        "source,position) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,"
                        "?15,?16,?17,?18,?19,?20)",
                        value, PAPER_COLUMNS + 2, e);
}

/* Replaces the rows of an artefact, inside a transaction. */
static int replace_rows(struct store *s, struct paper_reader *r, const char *sha256, char *text,
                        struct err *e)
{
    TRY(DATABASE_RUN(s, e, "DELETE FROM paper_files WHERE artefact=?1",
                     DATABASE_TEXT(r->artefact)));
    TRY(DATABASE_RUN(s, e, "INSERT INTO paper_files VALUES(?1,?2," DATABASE_NOW ")",
                     DATABASE_TEXT(r->artefact), DATABASE_TEXT(sha256)));
    while (text && *text) {
        char *line = strsep(&text, "\n");
        size_t n = strlen(line);
        if (n > 0 && line[n - 1] == '\r') line[n - 1] = '\0';
        r->line++;
        TRY(r->line == 1 ? read_header(r, line, e) : read_row(s, r, line, e));
    }
    r->column = 1;
    return r->line > 0 ? 0 : refuse_line(r, e, "no header line in", r->path, "");
}

int store_set_paper(struct store *s, const char *artefact, const char *tsv_path, struct err *e)
{
    struct arena a;
    struct paper_reader r = {.path = tsv_path, .artefact = artefact};
    char sha256[HASH_HEX_BYTES];
    char *text;
    size_t n;
    int rc = 0;

    arena_init(&a);
    TRY_OUT(rc, file_read(&a, &text, &n, tsv_path, PAPER_MAX_BYTES, e));
    if (strlen(text) != n) {
        rc = ERR(e, ERR_DATA, "%s: holds a zero byte; it must be text", tsv_path);
        goto out;
    }
    hash_sha256_hex(sha256, text, n);
    TRY_OUT(rc, DATABASE_EXISTS(s, e, "SELECT 1 FROM paper_files WHERE artefact=?1 AND sha256=?2",
                                DATABASE_TEXT(artefact), DATABASE_TEXT(sha256)));
    if (rc > 0) goto out;
    TRY_OUT(rc, store_begin(s, e));
    rc = store_finish(s, replace_rows(s, &r, sha256, text, e), e);
out:
    arena_fini(&a);
    return rc < 0 ? rc : 0;
}
