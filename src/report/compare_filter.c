/* compare_filter.c - reading filters, asking results.db for what they choose. */
#include "report/compare_filter.h"

#include <string.h>

#include "base/str.h"
#include "spec/spec.h"

const struct compare_coordinate compare_table[COMPARE_N] = {
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

static int32_t compare_find(const char *name)
{
    for (int32_t i = 0; i < COMPARE_N; i++)
        if (strcmp(compare_table[i].name, name) == 0) return i;
    return -1;
}

/* The settings that a column stands for: a key, or the beginning of several. */
static const struct {
    const char *column, *key;
} column_keys[] = {{"model", "model."},    {"position", "model.position"},
                   {"L_train", "train.L"}, {"seed", "train.seed"},
                   {"corpus", "data."},    {"dataset", "data."},
                   {"scale", "data."}};

bool compare_is_free(const struct compare_side *side, const char *key)
{
    if (side->run && strncmp(key, "data.", 5) != 0) return true;
    for (int32_t i = 0; i < side->settings_n; i++)
        if (strcmp(side->setting[i].key, key) == 0) return true;
    for (size_t i = 0; i < sizeof column_keys / sizeof *column_keys; i++) {
        size_t n = strlen(column_keys[i].key);
        bool is_prefix = column_keys[i].key[n - 1] == '.';
        if (side->free[compare_find(column_keys[i].column)] &&
            strncmp(key, column_keys[i].key, n) == 0 && (is_prefix || !key[n]))
            return true;
    }
    return false;
}

/* train.lr=3e-4 as the spec writes it: train.lr=0.0003. */
static int filter_setting(struct compare_side *side, struct arena *a, const struct spec_key *key,
                          const char *value, const char *filter, struct err *e)
{
    struct spec probe;

    if (side->settings_n == COMPARE_SETTINGS_MAX)
        return ERR(e, ERR_USAGE, "filter \"%s\": more than %d settings", filter,
                   COMPARE_SETTINGS_MAX);
    spec_init(&probe);
    int rc = spec_set(&probe, key, value, e);
    if (rc < 0) {
        err_ctx(e, "filter \"%s\"", filter);
        if (e) e->code = ERR_USAGE;
        return ERR_USAGE;
    }
    side->setting[side->settings_n++] =
        (struct compare_setting){key->name, spec_get(&probe, key, a)};
    return 0;
}

static bool is_id(const char *text)
{
    size_t n = strspn(text, "0123456789abcdef");
    return n >= 4 && n <= 16 && text[n] == '\0';
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t", text[n - 1])) text[--n] = '\0';
    return text;
}

static int no_column(const char *name, const char *filter, struct err *e)
{
    const char *names[COMPARE_N + 1];

    for (int32_t i = 0; i < COMPARE_N; i++) names[i] = compare_table[i].name;
    names[COMPARE_N] = "run";
    const char *near = str_nearest(name, names, COMPARE_N + 1);
    return ERR(e, ERR_USAGE, "filter \"%s\": unknown column %s%s%s", filter, name,
               near ? "; the nearest is " : "; alibi compare --help shows how a filter is written",
               near ? near : "");
}

static int filter_part(struct compare_side *side, struct arena *a, char *part, const char *filter,
                       struct err *e)
{
    char *equals = strchr(part, '=');

    part = trimmed(part);
    if (!equals && is_id(part)) {
        side->run = part;
        return 0;
    }
    char *value = equals ? trimmed(equals + 1) : part;
    if (!equals || !*value)
        return ERR(e, ERR_USAGE,
                   "filter \"%s\": \"%s\" is neither column=value nor a run id (4 to 16 hex "
                   "digits)",
                   filter, part);
    *equals = '\0';
    part = trimmed(part);
    if (strcmp(part, "run") == 0) {
        if (!is_id(value))
            return ERR(e, ERR_USAGE, "filter \"%s\": \"%s\" is not a run id (4 to 16 hex digits)",
                       filter, value);
        side->run = value;
        return 0;
    }
    int32_t at = compare_find(part);
    const struct spec_key *key = at < 0 && strchr(part, '.') ? spec_key_find(part) : NULL;
    if (key) return filter_setting(side, a, key, value, filter, e);
    if (at < 0) return no_column(part, filter, e);
    if (side->value[at]) return ERR(e, ERR_USAGE, "filter \"%s\": %s is given twice", filter, part);
    side->value[at] = value;
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
        TRY(filter_part(side, a, part, filter, e));
    }
    return 0;
}

/* Why nothing matches: a value that no evaluation has, with those there are; else the combination.
 */
static int side_empty(const struct compare_side *side, struct arena *a, struct store *s,
                      const char *filter, struct err *e)
{
    for (int32_t i = 0; i < COMPARE_N; i++) {
        struct report_rows known;
        struct strbuf list;
        bool there = false;
        if (!side->value[i]) continue;
        const char *sql =
            arena_printf(a,
                         "SELECT DISTINCT CAST(%s AS TEXT) FROM evaluations WHERE %s NOT NULL"
                         " ORDER BY %s LIMIT 12",
                         compare_table[i].column, compare_table[i].column, compare_table[i].column);
        TRY(report_rows_query(&known, a, s, "compare", sql, NULL, 0, COMPARE_LIMIT_S, e));
        strbuf_init(&list, a);
        for (int32_t k = 0; k < known.rows_n; k++) {
            const char *value = report_rows_text(&known, k, 0);
            there |= strcmp(value, side->value[i]) == 0;
            strbuf_addf(&list, "%s%s", k ? ", " : "", value);
        }
        if (!there && known.rows_n > 0)
            return ERR(e, ERR_NOINPUT, "filter \"%s\": no evaluation has %s %s; there are %s%s",
                       filter, compare_table[i].name, side->value[i], list.text,
                       known.rows_n == 12 ? ", …" : "");
    }
    return ERR(e, ERR_NOINPUT,
               "no evaluation in results.db matches \"%s\"; `alibi query \"SELECT * FROM "
               "evaluations\"` lists them",
               filter);
}

/* The evaluations of a side, with the coordinates as columns in the order of the table. */
static int side_query(struct compare_side *side, struct arena *a, struct store *s,
                      const char *filter, struct err *e)
{
    struct store_param params[COMPARE_N + COMPARE_SETTINGS_MAX + 1];
    int32_t params_n = 0;
    struct strbuf sql;

    strbuf_init(&sql, a);
    strbuf_add(&sql, "SELECT ");
    for (int32_t i = 0; i < COMPARE_N; i++) strbuf_addf(&sql, "%s, ", compare_table[i].column);
    strbuf_add(&sql,
               "perplexity, e.run_id, train_run_id, spec FROM evaluations e JOIN (SELECT run_id"
               " AS id, spec FROM run_list) ON id = train_run_id WHERE 1");
    for (int32_t i = 0; i < COMPARE_N; i++) {
        if (!side->value[i]) continue;
        strbuf_addf(&sql, " AND %s = :%s", compare_table[i].column, compare_table[i].name);
        params[params_n++] = (struct store_param){compare_table[i].name, side->value[i]};
    }
    for (int32_t i = 0; i < side->settings_n; i++) {
        const char *name = arena_printf(a, "setting_%d", i);
        strbuf_addf(&sql, " AND instr(char(10)||spec||char(10), :%s) > 0", name);
        params[params_n++] = (struct store_param){
            name, arena_printf(a, "\n%s=%s\n", side->setting[i].key, side->setting[i].value)};
    }
    if (side->run) {
        strbuf_add(&sql, " AND (instr(run_id, :run) = 1 OR instr(train_run_id, :run) = 1)");
        params[params_n++] = (struct store_param){"run", side->run};
    }
    strbuf_add(&sql, " ORDER BY scale, dataset, split, protocol, position, L_train_nominal,"
                     " L_valid_nominal, seed, run_id");
    TRY(report_rows_query(&side->rows, a, s, "compare", sql.text, params, params_n, COMPARE_LIMIT_S,
                          e));
    if (side->rows.rows_n == 0) return side_empty(side, a, s, filter, e);
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

int compare_side_read(struct compare_side *side, struct arena *a, struct store *s,
                      const char *filter, struct err *e)
{
    TRY(filter_read(side, a, filter, e));
    TRY(side_query(side, a, s, filter, e));
    side_free(side);
    return 0;
}
