/* command_reference.c - alibi settings and list: the spec keys, and the artefacts. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/cli.h"

/* --- settings ------------------------------------------------------------------------------- */

/* The range of a key: "1 to 65536", "fp32, bf16", "true, false" or "text". */
static const char *range_text(const struct spec_key *key, struct arena *a)
{
    char low[STR_DOUBLE_BYTES], high[STR_DOUBLE_BYTES];
    struct strbuf b;

    strbuf_init(&b, a);
    for (const char *const *name = key->names; name && *name; name++)
        strbuf_addf(&b, "%s%s", b.n ? ", " : "", *name);
    if (key->names) return b.text;
    switch (key->type) {
    case SPEC_T_BOOL:
        return "true, false";
    case SPEC_T_TEXT:
        return "text";
    default:
        str_from_double(low, key->low);
        str_from_double(high, key->high);
        return arena_printf(a, "%s%s to %s", spec_key_is_list(key) ? "numbers from " : "", low,
                            high);
    }
}

static bool is_option(const struct spec_key *key, int32_t method)
{
    const struct position_option *o = position_methods[method].functions->options;

    while (o && o->name && strcmp(o->name, key->name) != 0) o++;
    return o && o->name;
}

/* The position methods that have the key among their options: "rotary, xpos", or NULL. */
static const char *methods_of(const struct spec_key *key, struct arena *a)
{
    struct strbuf b;

    strbuf_init(&b, a);
    for (int32_t m = 0; m < POSITION_METHODS_N; m++)
        if (is_option(key, m)) strbuf_addf(&b, "%s%s", b.n ? ", " : "", position_methods[m].name);
    return b.n ? b.text : NULL;
}

/* How text selects a key: as its name or short name, as a position method that has it among its
 * options, as the beginning of its name, or as a word of it. The first of these that selects a key
 * counts. */
enum selects { SELECTS_EXACTLY, SELECTS_METHOD, SELECTS_BEGINNING, SELECTS_WORD, SELECTS_N };

static bool is_selected(const struct spec_key *key, const char *text, enum selects how)
{
    const struct spec_key *exact = NULL;

    for (int32_t m = 0; m < POSITION_METHODS_N && how == SELECTS_METHOD; m++)
        if (strcmp(position_methods[m].name, text) == 0) return is_option(key, m);
    if (how == SELECTS_METHOD) return false;
    if (how == SELECTS_WORD) return settings_mentions(key, text);
    if (how == SELECTS_BEGINNING) return strncmp(key->name, text, strlen(text)) == 0;
    (void)settings_key(&exact, text, NULL);
    return exact == key;
}

/* Returns "cannot be set: REASON" for a key that the plan determines, else NULL. */
static const char *refusal_text(const struct spec_key *key, struct arena *a)
{
    const struct spec_key *found;
    struct err why = {0};

    if (settings_key(&found, key->name, &why) == 0) return NULL;
    return arena_strdup(a, why.text + strlen(key->name) + 1);
}

static void print_line(const struct spec_key *key, struct arena *a)
{
    const char *value = settings_default(key), *refusal = refusal_text(key, a);
    const char *state = refusal  ? refusal
                        : !value ? "required"
                        : *value ? arena_printf(a, "default %s", value)
                                 : "empty";

    const char *methods = methods_of(key, a);
    cli_print("%-26s %s (%s; %s%s%s)\n", key->name, key->help, range_text(key, a), state,
              methods ? "; of " : "", methods ? methods : "");
}

static void print_key(const struct spec_key *key, struct arena *a)
{
    const char *short_name = settings_short(key), *methods = methods_of(key, a);
    const char *value = settings_default(key), *refusal = refusal_text(key, a);

    cli_print("%s\n  %s\n  values   %s\n", key->name, key->help, range_text(key, a));
    if (refusal)
        cli_print("  %s\n", refusal);
    else if (value)
        cli_print("  default  %s\n", *value ? value : "empty");
    else
        cli_print("  required: set it in a piece of base, a grid or --set\n");
    if (methods) cli_print("  method   %s\n", methods);
    if (strcmp(short_name, key->name) != 0) cli_print("  short    %s\n", short_name);
    if (!key->hashed)
        cli_print("  %s, not part of a run's identity\n",
                  key->type == SPEC_T_TEXT ? "a label" : "changes no number");
    if (*key->source) cli_print("  source   %s\n", key->source);
}

/* Names the other keys that contain the word, such as the attention windows beside eval.window. */
static void print_others(const char *word)
{
    const struct spec_key *shown = NULL;
    size_t n, printed = 0;
    const struct spec_key *keys = spec_keys(&n);

    (void)settings_key(&shown, word, NULL);
    for (size_t i = 0; i < n; i++)
        if (&keys[i] != shown && settings_mentions(&keys[i], word))
            cli_print("%s%s", printed++ ? ", " : "\nsee also ", keys[i].name);
    if (printed) cli_print("\n");
}

CLI_COMMAND(settings)
{
    const struct spec_key *key;
    size_t n, found = 0;
    const struct spec_key *keys = spec_keys(&n);

    TRY(cli_begin(c, NULL, e));
    const char *asked = c->rest.n ? c->rest.item[0] : NULL;
    if (asked && strchr(asked, '='))
        return ERR(e, ERR_USAGE,
                   "'%s' has a value; `alibi settings %.*s` describes the key, and --set of `alibi "
                   "plan` and `alibi run` sets it",
                   asked, (int)strcspn(asked, "="), asked);
    for (size_t i = 0; i < n && !asked; i++) print_line(&keys[i], &c->arena);
    if (!asked) return 0;
    for (int how = 0; how < SELECTS_N && found == 0; how++)
        for (size_t i = 0; i < n; i++) {
            if (!is_selected(&keys[i], asked, (enum selects)how)) continue;
            if (found++) cli_print("\n");
            print_key(&keys[i], &c->arena);
        }
    if (found == 1) print_others(asked);
    for (int32_t m = 0; m < POSITION_METHODS_N && found == 0; m++)
        if (strcmp(position_methods[m].name, asked) == 0) {
            cli_print("position method %s has no keys of its own\n", asked);
            found++;
        }
    if (found > 0) return 0;
    if (strchr(asked, '/'))
        return ERR(e, ERR_USAGE,
                   "%s is a path, expected a key such as model.dim; `alibi plan %s` lists the runs "
                   "of a grid",
                   asked, asked);
    int rc = settings_key(&key, asked, e);
    if (e) e->code = ERR_USAGE;
    return rc < 0 ? ERR_USAGE : 0;
}

/* --- list ----------------------------------------------------------------------------------- */

enum { LIST_NAME_WIDTH = 10 };

static void print_artefact(struct cli *c, const char *name, const char *scale, int width)
{
    const struct plan_options o = {.scale = scale};
    struct planning p;
    char time[CLOCK_TEXT_BYTES] = "-";
    struct err why = {0};

    if (planning_open(&p, &c->project, &name, 1, &o, NULL, c->store, &why) < 0) {
        cli_print("%-*s cannot be planned: %s\n", width, name, why.text);
        return;
    }
    if (p.done_n < p.runs_n) clock_duration(time, p.seconds_left);
    cli_print("%-*s %4d of %4d  %8s  %s\n", width, name, p.done_n, p.runs_n, time,
              p.plan.artefact[0].title);
    plan_close(&p.plan);
}

/* The artefacts of collections, each under a heading. */
static void print_collections(struct cli *c, const char *scale, char **name, int32_t n)
{
    int width = LIST_NAME_WIDTH;

    for (int32_t i = 0; i < n; i++)
        if ((int)strlen(name[i]) > width) width = (int)strlen(name[i]);
    for (int32_t i = 0; i < n; i++) {
        const char *collection =
            arena_strndup(&c->arena, name[i], project_collection_bytes(name[i]));
        if (i == 0 || strncmp(name[i - 1], name[i], strlen(collection) + 1) != 0)
            cli_print("\n%s (`alibi run %s` runs them; they are not the paper's)\n", collection,
                      collection);
        print_artefact(c, name[i], scale, width);
    }
}

static bool is_listed(char **name, int32_t n, const char *wanted)
{
    int32_t k = 0;

    while (k < n && strcmp(name[k], wanted) != 0) k++;
    return k < n;
}

/* The user's own grids: results.db has their points, but not where their folders are. */
static int print_own(struct cli *c, const char *scale, char **shipped, int32_t shipped_n,
                     char **inner, int32_t inner_n, struct err *e)
{
    static const char sql[] =
        "SELECT artefact, scale, count(DISTINCT run_id),"
        " count(DISTINCT CASE WHEN state = 'done' THEN run_id END)"
        " FROM artefact_points JOIN run_list USING (run_id, scale)"
        " WHERE instr(artefact, ' ') = 0" /* neither a variant nor an earlier grid */
        " AND scale = coalesce(nullif(:scale, ''), scale)"
        " GROUP BY artefact, scale ORDER BY artefact, scale";
    const struct store_param param = {"scale", scale ? scale : "", STORE_TEXT};
    struct rows rows;
    bool any = false;

    if (!c->store) return 0;
    TRY(rows_read(&rows, &c->arena, c->store, sql, &param, 1, e));
    for (int32_t i = 0; i < rows.rows_n; i++) {
        const struct store_cell *row = rows.row[i];
        if (is_listed(shipped, shipped_n, store_text(&row[0])) ||
            is_listed(inner, inner_n, store_text(&row[0])))
            continue;
        if (!any)
            cli_print("\nother grids in results.db (`alibi plan PATH` has their time left)\n");
        any = true;
        cli_print("%-10s %4s of %4s  scale %s\n", store_text(&row[0]), store_text(&row[3]),
                  store_text(&row[2]), store_text(&row[1]));
    }
    return 0;
}

CLI_COMMAND(list)
{
    const char *scale = NULL;
    char **name, **inner;
    int32_t n, inner_n;
    const struct cli_option options[] = {{"scale", 's', CLI_SCALE, &scale, "NAME",
                                          "scale of the runs (default: the grid's, else mini)"},
                                         {0}};

    TRY(cli_begin(c, options, e));
    TRY(plan_list(&name, &n, &c->project, &c->arena, e));
    cli_print("artefact   runs done    time left  title\n");
    for (int32_t i = 0; i < n; i++) print_artefact(c, name[i], scale, LIST_NAME_WIDTH);
    TRY(plan_list_collections(&inner, &inner_n, &c->project, &c->arena, e));
    print_collections(c, scale, inner, inner_n);
    return print_own(c, scale, name, n, inner, inner_n, e);
}
