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

    switch (key->type) {
    case SPEC_T_ENUM:
        strbuf_init(&b, a);
        for (const char *const *name = key->names; *name; name++)
            strbuf_addf(&b, "%s%s", b.n ? ", " : "", *name);
        return b.text;
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

/* Whether text selects a key: its name, its short name, or a prefix of its name. */
static bool is_selected(const struct spec_key *key, const char *text)
{
    const struct spec_key *exact;

    if (!text) return true;
    if (settings_key(&exact, text, NULL) == 0) return exact == key;
    return strncmp(key->name, text, strlen(text)) == 0;
}

static void print_key(const struct spec_key *key, bool in_full, struct arena *a)
{
    const char *short_name = settings_short(key);
    const char *neutral = !key->neutral    ? "must be set"
                          : !*key->neutral ? "empty"
                                           : arena_printf(a, "default %s", key->neutral);

    if (!in_full) {
        cli_print("%-26s %s (%s; %s)\n", key->name, key->help, range_text(key, a), neutral);
        return;
    }
    cli_print("%s\n  %s\n  values   %s\n  default  %s\n", key->name, key->help, range_text(key, a),
              key->neutral ? key->neutral : "none: set it in a piece of base, a grid or --set");
    if (strcmp(short_name, key->name) != 0) cli_print("  short    %s\n", short_name);
    if (!key->hashed) cli_print("  a label, not part of a run's identity\n");
    if (*key->source) cli_print("  source   %s\n", key->source);
}

int cli_settings(struct cli *c, struct err *e)
{
    const struct spec_key *key;
    size_t n, found = 0;
    const struct spec_key *keys = spec_keys(&n);

    TRY(cli_begin(c, NULL, e));
    const char *asked = c->rest.n ? c->rest.item[0] : NULL;
    for (size_t i = 0; i < n; i++) {
        if (!is_selected(&keys[i], asked)) continue;
        if (asked && found) cli_print("\n");
        print_key(&keys[i], asked != NULL, &c->arena);
        found++;
    }
    if (found > 0) return 0;
    int rc = settings_key(&key, asked, e);
    if (e) e->code = ERR_USAGE;
    return rc < 0 ? ERR_USAGE : 0;
}

/* --- list ----------------------------------------------------------------------------------- */

static void print_artefact(struct cli *c, const char *name, const char *scale)
{
    const struct plan_options o = {.scale = scale};
    struct planning p;
    char time[CLOCK_TEXT_BYTES] = "-";
    struct err why = {0};

    if (planning_open(&p, &c->project, &name, 1, &o, NULL, c->store, &why) < 0) {
        cli_print("%-10s cannot be planned: %s\n", name, why.text);
        return;
    }
    if (p.done_n < p.plan.runs_n) clock_duration(time, p.seconds_left);
    cli_print("%-10s %4d of %4d  %8s  %s\n", name, p.done_n, p.plan.runs_n, time,
              p.plan.artefact[0].title);
    plan_close(&p.plan);
}

int cli_artefacts(struct cli *c, struct err *e)
{
    const char *scale = NULL;
    char **name;
    int32_t n;
    const struct cli_option options[] = {{"scale", 's', CLI_SCALE, &scale, "NAME",
                                          "scale of the runs (default: the grid's, else mini)"},
                                         {0}};

    TRY(cli_begin(c, options, e));
    TRY(plan_list(&name, &n, &c->project, &c->arena, e));
    cli_print("artefact   runs done    time left  title\n");
    for (int32_t i = 0; i < n; i++) print_artefact(c, name[i], scale);
    return 0;
}
