/* compare.c - alibi compare: the filters, and the one statement that joins what they choose. The
 * view `comparison` with the paper is in store/views.sql.
 *
 *   a, b      the evaluations of each side; c0.. are their coordinates in the order of the table
 *   subjects  one training for each configuration, one evaluation for each value of `settings`
 *   kept      their settings that are not coordinates
 *   varying   those in which they differ: the column settings of the answer
 *   apart     the first setting that two trainings, or two evaluations, both have, in which they
 *             differ and which no filter frees
 *   near      the pairs that agree in all joined coordinates, and what else keeps them apart
 *   shown     the pairs that nothing keeps apart, then the rest of a and of b, with the reason
 *   listed    one row a row of the answer; kind: the first row of the same protocol */
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "report/rows.h"
#include "spec/spec.h"

enum {
    SETTINGS_MAX = 16,
    ROWS_MAX = 100 * 1000,
    KNOWN_MAX = 12,
    LIMIT_S = 30,
    TABLE_MAX = 120, /* bytes of a line, for people */
    NOTE_MAX = 104,  /* of a line below the table */
    ID_BYTES = 8     /* of a run id, for people; every command takes it */
};

static const struct coordinate {
    const char *name, *column; /* in a filter; of the view evaluations */
    bool is_protected;         /* part of the protocol: must agree, named or not */
    bool of_training;          /* fixed by the id of a training */
    bool shown;                /* always a column; the others where rows differ in them */
    const char *frees;         /* naming it lets runs differ in these settings; may be NULL. A key
                                  by its whole name is this coordinate and no setting beside it */
    enum store_type type;
} coordinates[] = {
    {"scale", "scale", true, false, true, "data.*", STORE_TEXT},
    {"dataset", "dataset", true, false, true, "data.*", STORE_TEXT},
    {"corpus", "corpus", true, false, false, "data.*", STORE_TEXT},
    {"model", "model", false, true, true, "model.*", STORE_TEXT},
    {"position", "position", false, true, true, "model.position", STORE_TEXT},
    {"L_train", "L_train_nominal", false, true, true, "train.L", STORE_INTEGER},
    {"L_valid", "L_valid_nominal", false, false, true, "eval.L", STORE_INTEGER},
    {"split", "split", true, false, true, "eval.split", STORE_TEXT},
    {"protocol", "protocol", true, false, true, "eval.window", STORE_TEXT},
    {"stride", "stride", true, false, true, "eval.stride", STORE_INTEGER},
    {"first_window", "first_window", true, false, false, NULL, STORE_TEXT},
    {"precision", "precision", true, false, false, "eval.precision", STORE_TEXT},
    {"checkpoint", "checkpoint", true, false, false, "eval.checkpoint", STORE_TEXT},
    {"targets", "targets", true, false, false, "eval.targets", STORE_INTEGER},
    {"seed", "seed", false, true, true, "train.seed", STORE_INTEGER},
    {"modified", "modified", false, true, false, NULL, STORE_INTEGER},
    {"origin", "origin", false, true, false, NULL, STORE_TEXT},
};
enum {
    COORDINATES_N = sizeof coordinates / sizeof *coordinates,
    PARAMS_MAX = 2 * (COORDINATES_N + SETTINGS_MAX + 1) /* of both filters, with a run id */
};

struct side {
    char name; /* a or b */
    const char *filter;
    const char *value[COORDINATES_N]; /* NULL: not named */
    struct {
        const struct spec_key *key;
        const char *value;
    } setting[SETTINGS_MAX]; /* of the evaluation or its training, such as train.lr=3 */
    int32_t settings_n;
    const char *run; /* the beginning of an id, or NULL */
    bool of_evaluation;
};

struct compare {
    struct arena *arena;
    struct store *store;
    struct side side[2];
    struct store_param params[PARAMS_MAX];
    int32_t params_n;
};

/* --- filters -------------------------------------------------------------------------------- */

#define FILTER_ERR(e, s, format, ...)                                                              \
    ERR((e), ERR_USAGE, "filter \"%s\": " format, (s)->filter, __VA_ARGS__)

static int32_t find_coordinate(const char *name)
{
    for (int32_t i = 0; i < COORDINATES_N; i++)
        if (strcmp(coordinates[i].name, name) == 0) return i;
    return -1;
}

static bool is_coordinate(const char *key)
{
    for (int32_t i = 0; i < COORDINATES_N; i++)
        if (coordinates[i].frees && strcmp(coordinates[i].frees, key) == 0) return true;
    return false;
}

static bool is_id(const char *text)
{
    size_t n = strspn(text, "0123456789abcdef");
    return n >= 4 && n <= 16 && text[n] == '\0';
}

static bool is_of_evaluation(const struct spec_key *key)
{
    return strncmp(key->name, "eval.", 5) == 0;
}

/* Rewrites a setting as the spec writes it: train.lr=3e-4 as train.lr=0.0003. */
static int read_setting(struct side *s, struct arena *a, const struct spec_key *key,
                        const char *value, struct err *e)
{
    struct spec probe;

    if (s->settings_n == SETTINGS_MAX)
        return FILTER_ERR(e, s, "more than %d settings", SETTINGS_MAX);
    spec_init(&probe);
    if (spec_set(&probe, key, value, e) < 0) {
        err_ctx(e, "filter \"%s\"", s->filter);
        if (e) e->code = ERR_USAGE;
        return ERR_USAGE;
    }
    s->setting[s->settings_n].key = key;
    s->setting[s->settings_n++].value = spec_get(&probe, key, a);
    return 0;
}

static int unknown_column(const struct side *s, const char *name, struct err *e)
{
    const char *names[COORDINATES_N + 1];

    for (int32_t i = 0; i < COORDINATES_N; i++) names[i] = coordinates[i].name;
    names[COORDINATES_N] = "run";
    struct str_hint near = {""};
    if (!strchr(name, '.')) near = str_hint(name, names, COORDINATES_N + 1);
    if (!*near.text) near = spec_key_hint(name);
    return FILTER_ERR(e, s, "unknown column %s (see `alibi compare --help`)%s", name, near.text);
}

static int read_part(struct side *s, struct arena *a, char *part, struct err *e)
{
    char *equals = strchr(part, '=');

    part = str_trim(part);
    if (!equals && is_id(part)) {
        s->run = part;
        return 0;
    }
    char *value = equals ? str_trim(equals + 1) : part;
    if (!equals || !*value)
        return FILTER_ERR(e, s, "\"%s\" is neither column=value nor a run id (4 to 16 hex digits)",
                          part);
    *equals = '\0';
    part = str_trim(part);
    if (strcmp(part, "run") == 0) {
        if (!is_id(value))
            return FILTER_ERR(e, s, "\"%s\" is not a run id (4 to 16 hex digits)", value);
        s->run = value;
        return 0;
    }
    int32_t at = find_coordinate(part);
    const struct spec_key *key = at < 0 && strchr(part, '.') ? spec_key_find(part) : NULL;
    if (key) return read_setting(s, a, key, value, e);
    if (at < 0) return unknown_column(s, part, e);
    if (s->value[at]) return FILTER_ERR(e, s, "%s is given twice", part);
    s->value[at] = value;
    return 0;
}

static int read_filter(struct side *s, struct arena *a, struct err *e)
{
    char *part = arena_strdup(a, s->filter);

    for (char *comma; part; part = comma) {
        comma = strchr(part, ',');
        if (comma) *comma++ = '\0';
        TRY(read_part(s, a, part, e));
    }
    return 0;
}

/* True if the sides may differ in a coordinate: a filter names it, or an id fixes it. The id of a
 * training fixes its settings; the id of an evaluation also fixes L_valid. A setting makes a run
 * modified, so that a filter that names one frees `modified`. */
static bool is_free(const struct side *s, int32_t i)
{
    if (s->settings_n > 0 && i == find_coordinate("modified")) return true;
    return s->value[i] || (s->run && (coordinates[i].of_training ||
                                      (s->of_evaluation && i == find_coordinate("L_valid"))));
}

/* --- the evaluations of a side -------------------------------------------------------------- */

/* Binds a value of a side and returns its name in SQL. */
static const char *bind(struct compare *c, const struct side *s, const char *value,
                        enum store_type type)
{
    const char *name = arena_printf(c->arena, "%c%d", s->name, c->params_n);

    c->params[c->params_n++] = (struct store_param){name, value, type};
    return arena_printf(c->arena, ":%s", name);
}

static const char *bind_coordinate(struct compare *c, const struct side *s, int32_t i)
{
    return bind(c, s, s->value[i], coordinates[i].type);
}

/* True if every evaluation has a value of this key: the neutral one if its spec is older. */
static bool is_universal(const struct spec_key *key)
{
    struct spec s;

    spec_init(&s);
    s.kind = SPEC_EVAL;
    return is_of_evaluation(key) && key->neutral && key->applies(&s);
}

/* Returns the SQL condition that the evaluation e, or its training, has a setting of the filter. */
static const char *has_setting(struct compare *c, const struct side *s, int32_t i)
{
    const struct spec_key *key = s->setting[i].key;
    const char *value = s->setting[i].value;
    const char *here = bind(c, s, value, STORE_TEXT);
    const char *setting = arena_printf(
        c->arena, "(SELECT l.value FROM run_settings l WHERE l.run_id = e.%s AND l.key = '%s')",
        is_of_evaluation(key) ? "run_id" : "train_run_id", key->name);

    if (!is_universal(key)) return arena_printf(c->arena, "%s = %s", setting, here);
    return arena_printf(c->arena, "coalesce(%s, '%s') = %s", setting, key->neutral, here);
}

/* Returns " FROM evaluations e WHERE …" with the conditions of the filter. */
static const char *chosen(struct compare *c, const struct side *s)
{
    struct strbuf b;

    strbuf_init(&b, c->arena);
    strbuf_add(&b, " FROM evaluations e WHERE 1");
    for (int32_t i = 0; i < COORDINATES_N; i++)
        if (s->value[i])
            strbuf_addf(&b, " AND %s = %s", coordinates[i].column, bind_coordinate(c, s, i));
    for (int32_t i = 0; i < s->settings_n; i++) strbuf_addf(&b, " AND %s", has_setting(c, s, i));
    if (s->run) {
        const char *run = bind(c, s, s->run, STORE_TEXT);
        strbuf_addf(&b, " AND (instr(run_id, %s) = 1 OR instr(train_run_id, %s) = 1)", run, run);
    }
    return b.text;
}

static int ask(struct rows *out, struct compare *c, const char *sql, struct err *e)
{
    return report_rows_query(out, c->arena, c->store, "compare", sql, c->params, c->params_n,
                             LIMIT_S, e);
}

/* Reports why nothing matches: a value that no evaluation has, with the values there are, or else
 * the combination. */
static int report_empty(struct compare *c, const struct side *s, struct err *e)
{
    struct rows known;

    for (int32_t i = 0; i < COORDINATES_N; i++) {
        const char *column = coordinates[i].column;
        if (!s->value[i]) continue;
        c->params_n = 0;
        TRY(ask(&known, c,
                arena_printf(
                    c->arena,
                    "SELECT group_concat(v, ', ') || CASE count(*) WHEN %d THEN ', …' ELSE '' END\n"
                    "FROM (SELECT DISTINCT CAST(%s AS TEXT) AS v FROM evaluations\n"
                    " WHERE %s NOT NULL ORDER BY %s LIMIT %d)\n"
                    "WHERE NOT EXISTS (SELECT 1 FROM evaluations WHERE %s = %s)",
                    KNOWN_MAX, column, column, column, KNOWN_MAX, column, bind_coordinate(c, s, i)),
                e));
        const char *list = report_rows_text(&known, 0, 0), *frees = coordinates[i].frees;
        const struct spec_key *key = frees ? spec_key_find(frees) : NULL;
        if (list)
            return ERR(e, ERR_NOINPUT, "filter \"%s\": no evaluation has %s %s; there are %s%s",
                       s->filter, coordinates[i].name, s->value[i], list,
                       key && key->names ? spec_value_hint(key, s->value[i]).text : "");
    }
    for (int32_t i = 0; i < s->settings_n; i++) {
        const char *key = s->setting[i].key->name;
        c->params_n = 0;
        TRY(ask(&known, c,
                arena_printf(
                    c->arena,
                    "SELECT group_concat(value, ', ') || CASE count(*) WHEN %d THEN ', …' ELSE ''"
                    " END\n"
                    "FROM (SELECT DISTINCT value FROM settings JOIN evaluations USING (run_id)\n"
                    " WHERE key = '%s' ORDER BY value LIMIT %d)\n"
                    "WHERE NOT EXISTS (SELECT 1 FROM evaluations e WHERE %s)",
                    KNOWN_MAX, key, KNOWN_MAX, has_setting(c, s, i)),
                e));
        const char *list = report_rows_text(&known, 0, 0);
        if (list)
            return ERR(e, ERR_NOINPUT,
                       "filter \"%s\": no evaluation has %s=%s; values in results.db: %s",
                       s->filter, key, s->setting[i].value, list);
    }
    return ERR(e, ERR_NOINPUT,
               "no evaluation in results.db matches \"%s\"; `alibi query \"SELECT * FROM "
               "evaluations\"` lists them",
               s->filter);
}

static int read_side(struct compare *c, struct side *s, struct err *e)
{
    struct rows rows;

    TRY(read_filter(s, c->arena, e));
    c->params_n = 0;
    TRY(ask(&rows, c, arena_printf(c->arena, "SELECT run_id%s LIMIT 1", chosen(c, s)), e));
    if (rows.rows_n == 0) return report_empty(c, s, e);
    s->of_evaluation =
        s->run && strncmp(report_rows_text(&rows, 0, 0), s->run, strlen(s->run)) == 0;
    return 0;
}

/* --- the statement -------------------------------------------------------------------------- */

/* One training represents those of a configuration and a number of keys, because they differ in the
 * seed alone; an older program's lack the keys that are newer. One evaluation represents those that
 * evaluate in the same way, whose column `settings` is the same. An evaluation whose spec is older
 * than a key has its neutral value. */
static const char subjects_sql[] =
    "subjects(id, run_id, of_evaluation) AS MATERIALIZED (\n"
    " SELECT trained, min(train_run_id), 0 FROM (\n"
    "  SELECT trained, train_run_id FROM a UNION ALL SELECT trained, train_run_id FROM b) GROUP BY "
    "trained\n"
    " UNION ALL SELECT way, min(run_id), 1 FROM (\n"
    "  SELECT way, run_id FROM a UNION ALL SELECT way, run_id FROM b) GROUP BY way),\n"
    "kept(id, key, value) AS MATERIALIZED (\n"
    " SELECT o.id, s.key, s.value FROM subjects o JOIN run_settings s USING (run_id)\n"
    "  WHERE o.of_evaluation = (s.key GLOB 'eval.*') AND s.key NOT IN ('kind', 'scale', "
    "'meaning',\n"
    "   'model.name', 'data.dataset', 'data.corpus', 'eval.train_run'";

static const char varying_sql[] =
    ")\n"
    " UNION ALL SELECT o.id, n.key, n.value FROM subjects o JOIN neutral n ON n.universal\n"
    "  WHERE o.of_evaluation AND NOT EXISTS (SELECT 1 FROM run_settings s\n"
    "   WHERE s.run_id = o.run_id AND s.key = n.key)),\n"
    "varying AS MATERIALIZED (SELECT key, key GLOB 'eval.*' AS of_evaluation FROM kept\n"
    " GROUP BY key HAVING count(DISTINCT value) > 1 ORDER BY key),\n"
    "apart AS MATERIALIZED (SELECT x.id AS x, y.id AS y, min(x.key) AS key,\n"
    "  x.value AS of_a, y.value AS of_b\n"
    " FROM kept x JOIN kept y ON y.key = x.key AND y.value <> x.value WHERE NOT ";

static void put_side(struct strbuf *b, struct compare *c, const struct side *s)
{
    strbuf_addf(b, "%c AS MATERIALIZED (SELECT ", s->name);
    for (int32_t i = 0; i < COORDINATES_N; i++)
        strbuf_addf(b, "%s AS c%d, ", coordinates[i].column, i);
    strbuf_addf(
        b,
        "\n perplexity, run_id, train_run_id, (SELECT t.config_id || ' ' || (SELECT count(*)"
        " FROM run_settings s\n  WHERE s.run_id = t.run_id) FROM runs t WHERE t.run_id ="
        " e.train_run_id) AS trained,\n settings AS way, row_number() OVER (ORDER BY"
        " scale, dataset,\n  split, protocol, position, L_train_nominal, L_valid_nominal,"
        " settings, seed, run_id) AS place%s),\n",
        chosen(c, s));
}

/* Writes the condition that selects settings in which the filters let runs differ. The id of a
 * training frees the training's settings; the id of an evaluation also frees its own. */
static void put_freed(struct strbuf *b, struct compare *c)
{
    strbuf_add(b, "(0");
    for (int k = 0; k < 2; k++) {
        const struct side *s = &c->side[k];
        if (s->run)
            strbuf_addf(b, " OR (x.key NOT GLOB 'data.*'%s)",
                        s->of_evaluation ? "" : " AND x.key NOT GLOB 'eval.*'");
        for (int32_t i = 0; i < s->settings_n; i++)
            strbuf_addf(b, " OR x.key = '%s'", s->setting[i].key->name);
        for (int32_t i = 0; i < COORDINATES_N; i++)
            if (coordinates[i].frees && is_free(s, i))
                strbuf_addf(b, " OR x.key GLOB '%s'", coordinates[i].frees);
    }
    strbuf_add(b, ")");
}

/* Writes the table `near`: pairs, and the first protected coordinate or setting that keeps them
 * apart. */
static void put_near(struct strbuf *b, struct compare *c)
{
    static const char *const parts[] = {"'%s' ", "a.c%d ", "b.c%d "};
    static const char *const names[] = {"name", "of_a", "of_b"}, *const kept[] = {"key", "of_a",
                                                                                  "of_b"};

    strbuf_add(b, "near AS MATERIALIZED (SELECT a.place AS a, b.place AS b");
    for (int k = 0; k < 3; k++) {
        strbuf_add(b, ",\n CASE");
        for (int32_t i = 0; i < COORDINATES_N; i++) {
            if (!coordinates[i].is_protected) continue;
            strbuf_addf(b, " WHEN a.c%d IS NOT b.c%d THEN ", i, i);
            if (k == 0) strbuf_addf(b, parts[k], coordinates[i].name);
            if (k > 0) strbuf_addf(b, parts[k], i);
        }
        strbuf_addf(b, "ELSE coalesce(t.%s, w.%s) END AS %s", kept[k], kept[k], names[k]);
    }
    strbuf_add(b, ",\n CASE");
    for (int32_t i = 0; i < COORDINATES_N; i++)
        if (coordinates[i].is_protected)
            strbuf_addf(b, " WHEN a.c%d IS NOT b.c%d THEN %d", i, i, i);
    strbuf_addf(b, " ELSE %d END AS agree_n\n FROM a JOIN b ON 1", COORDINATES_N);
    for (int32_t i = 0; i < COORDINATES_N; i++)
        if (!coordinates[i].is_protected && !is_free(&c->side[0], i) && !is_free(&c->side[1], i))
            strbuf_addf(b, " AND a.c%d IS b.c%d", i, i);
    strbuf_add(b, "\n LEFT JOIN apart t ON t.x = a.trained AND t.y = b.trained\n"
                  " LEFT JOIN apart w ON w.x = a.way AND w.y = b.way),\n");
}

static void put_kept(struct strbuf *b)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    strbuf_add(b, "neutral(key, value, universal) AS (SELECT NULL, NULL, NULL WHERE 0");
    for (size_t i = 0; i < n; i++)
        if (is_of_evaluation(&keys[i]) && keys[i].neutral && !is_coordinate(keys[i].name))
            strbuf_addf(b, "\n UNION ALL SELECT '%s', '%s', %d", keys[i].name, keys[i].neutral,
                        is_universal(&keys[i]));
    strbuf_addf(b, "),\n%s", subjects_sql);
    for (int32_t i = 0; i < COORDINATES_N; i++)
        if (coordinates[i].frees && !strchr(coordinates[i].frees, '*'))
            strbuf_addf(b, ", '%s'", coordinates[i].frees);
    strbuf_add(b, varying_sql);
}

static const char shown_sql[] =
    "shown AS (\n"
    " SELECT 0 AS part, a, b, NULL AS note FROM near WHERE name IS NULL\n"
    " UNION ALL SELECT 1, a.place, NULL, coalesce((SELECT 'not compared: B has ' || name || ' '\n"
    "   || coalesce(of_b, 'none') || ', this one ' || coalesce(of_a, 'none') FROM near\n"
    "   WHERE a = a.place ORDER BY agree_n DESC, b LIMIT 1), 'B has no such evaluation') FROM a\n"
    "  WHERE place NOT IN (SELECT a FROM near WHERE name IS NULL)\n"
    " UNION ALL SELECT 2, NULL, b.place, coalesce((SELECT 'not compared: A has ' || name || ' '\n"
    "   || coalesce(of_a, 'none') || ', this one ' || coalesce(of_b, 'none') FROM near\n"
    "   WHERE b = b.place ORDER BY agree_n DESC, a LIMIT 1), 'A has no such evaluation') FROM b\n"
    "  WHERE place NOT IN (SELECT b FROM near WHERE name IS NULL)),\n"
    "listed AS (SELECT ";

/* "train.lr=0.25|0.5 model.heads=4": A and B, or one value where they agree; without keys that have
 * their neutral value in both. */
static const char numbers_sql[] =
    "(SELECT group_concat(v.key || '=' || coalesce(x.value || CASE WHEN x.value <> y.value THEN "
    "'|' || y.value ELSE '' END, y.value), ' ')\n"
    "  FROM varying v\n"
    "  LEFT JOIN kept x ON x.key = v.key\n"
    "   AND x.id = CASE WHEN v.of_evaluation THEN a.way ELSE a.trained END\n"
    "  LEFT JOIN kept y ON y.key = v.key\n"
    "   AND y.id = CASE WHEN v.of_evaluation THEN b.way ELSE b.trained END\n"
    "  LEFT JOIN neutral n ON n.key = v.key\n"
    "  WHERE coalesce(x.value, n.value) IS NOT n.value OR coalesce(y.value, n.value) IS NOT "
    "n.value)\n"
    "  AS settings,\n"
    " a.perplexity AS A, b.perplexity AS B, a.perplexity - b.perplexity AS \"A - B\",\n"
    " a.perplexity / b.perplexity AS \"A / B\", a.run_id AS \"run A\", b.run_id AS \"run B\",\n"
    " coalesce(note, CASE WHEN a.perplexity - b.perplexity IS NULL\n"
    "  THEN 'a perplexity that is not finite' END) AS note,\n"
    " row_number() OVER (ORDER BY part, s.a, s.b) AS place\n"
    " FROM shown s LEFT JOIN a ON a.place = s.a LEFT JOIN b ON b.place = s.b)\n"
    "SELECT *, min(place) OVER (PARTITION BY NULL";
enum { HIDDEN_N = 2 }; /* the last columns: place and kind */

/* Returns the whole statement; by_kind: it orders rows by the kind of their number. */
static const char *statement(struct compare *c, bool by_kind)
{
    struct strbuf b;

    c->params_n = 0;
    strbuf_init(&b, c->arena);
    strbuf_add(&b, "WITH ");
    for (int k = 0; k < 2; k++) put_side(&b, c, &c->side[k]);
    put_kept(&b);
    put_freed(&b, c);
    strbuf_add(&b, "\n GROUP BY 1, 2),\n");
    put_near(&b, c);
    strbuf_add(&b, shown_sql);
    for (int32_t i = 0; i < COORDINATES_N; i++)
        strbuf_addf(&b,
                    "CAST(CASE WHEN s.a IS NULL THEN b.c%d WHEN s.b IS NULL OR a.c%d IS b.c%d THEN"
                    " a.c%d\n ELSE coalesce(a.c%d, '–') || ' | ' || coalesce(b.c%d, '–') END AS"
                    " TEXT) AS %s,\n ",
                    i, i, i, i, i, i, coordinates[i].name);
    strbuf_add(&b, numbers_sql);
    for (int32_t i = 0; i < COORDINATES_N; i++)
        if (coordinates[i].is_protected) strbuf_addf(&b, ", %s", coordinates[i].name);
    strbuf_addf(&b, ") AS kind FROM listed ORDER BY %splace LIMIT %d", by_kind ? "kind, " : "",
                ROWS_MAX + 1);
    return b.text;
}

/* --- the table ------------------------------------------------------------------------------ */

static bool is_constant(const struct rows *r, int32_t column)
{
    const char *first = report_rows_text(r, 0, column);

    if (first && strstr(first, " | ")) return false;
    for (int32_t i = 1; i < r->rows_n; i++)
        if (!str_same(report_rows_text(r, i, column), first)) return false;
    return true;
}

static void drop_column(struct rows *r, int32_t column)
{
    int32_t after = --r->columns_n - column;

    memmove(&r->name[column], &r->name[column + 1], (size_t)after * sizeof *r->name);
    for (int32_t i = 0; i < r->rows_n; i++)
        memmove(&r->row[i][column], &r->row[i][column + 1], (size_t)after * sizeof **r->row);
}

/* Leaves out the coordinates that need not be shown and are the same in every row, and settings
 * where there is none. */
static void drop_columns(struct rows *r)
{
    for (int32_t c = COORDINATES_N; c >= 0; c--)
        if (is_constant(r, c) &&
            (c < COORDINATES_N ? !coordinates[c].shown : !report_rows_text(r, 0, c)))
            drop_column(r, c);
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
static void gather_common(struct strbuf *b, struct rows *r)
{
    for (int32_t c = 0; c < r->columns_n;) {
        const char *first = report_rows_text(r, 0, c);
        bool common = is_constant(r, c) && (!first || find_coordinate(r->name[c]) >= 0);
        if (common && first && *first)
            strbuf_addf(b, "%s%s %s", b->n ? ", " : "", r->name[c], first);
        if (common) drop_column(r, c);
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

static int write_table(FILE *out, struct notes *notes, struct rows *r, enum report_format format,
                       struct err *e)
{
    struct strbuf common;

    strbuf_init(&common, r->arena);
    gather_common(&common, r);
    move_to_notes(notes, r, "settings");
    move_to_notes(notes, r, "note");
    fputc('\n', out);
    if (common.n) write_note(out, r->arena, "In every row: ", common.text, format);
    return report_rows_write(out, r, format, e);
}

static int write_for_people(FILE *out, struct compare *c, struct rows *r, enum report_format format,
                            struct err *e)
{
    int32_t kind = report_rows_column(r, "kind");
    struct notes notes = {0};
    struct rows table;

    map_init(&notes.number, c->arena);
    shorten_cells(r);
    report_write_paragraph(out,
                           arena_printf(c->arena, "A: %s. B: %s. Lengths are the paper's.",
                                        c->side[0].filter, c->side[1].filter),
                           format);
    for (int32_t i = 0, n; i < r->rows_n; i += n) {
        n = report_rows_alike(r, i, kind);
        report_rows_slice(&table, r, 0, kind + 1 - HIDDEN_N, i, n);
        TRY(write_table(out, &notes, &table, format, e));
    }
    if (notes.n) fputc('\n', out);
    for (int32_t i = 0; i < notes.n; i++)
        write_note(out, c->arena, arena_printf(c->arena, "[%d] ", i + 1), notes.item[i], format);
    return file_check_output(out, e);
}

static int compare_write(FILE *out, struct compare *c, enum report_format format, struct err *e)
{
    struct rows rows;

    for (int k = 0; k < 2; k++) TRY(read_side(c, &c->side[k], e));
    bool for_people = format != REPORT_CSV && format != REPORT_JSON;
    TRY(ask(&rows, c, statement(c, for_people), e));
    if (rows.rows_n > ROWS_MAX)
        return ERR(e, ERR_USAGE, "more than %d rows: name more columns in the filters", ROWS_MAX);
    drop_columns(&rows);
    if (for_people) return write_for_people(out, c, &rows, format, e);
    rows.columns_n -= HIDDEN_N;
    return report_rows_write(out, &rows, format, e);
}

int report_compare(FILE *out, struct store *s, const char *a_filter, const char *b_filter,
                   enum report_format format, struct err *e)
{
    struct arena a;
    struct compare c = {
        .arena = &a,
        .store = s,
        .side = {{.name = 'a', .filter = a_filter}, {.name = 'b', .filter = b_filter}}};

    arena_init(&a);
    int rc = compare_write(out, &c, format, e);
    arena_fini(&a);
    return rc;
}
