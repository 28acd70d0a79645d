/* command_completion.c - alibi completion SHELL, and alibi complete WORD…, which its script calls.
 *
 * The script passes the words after `alibi`, the last of which is incomplete, and gets one
 * candidate per line. Options and their values come from the command's table. bash splits words at
 * "=" and passes it as a word. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const char script_bash[] =
    "_alibi() {\n"
    "    local line\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do COMPREPLY+=(\"$line\"); done \\\n"
    "        < <(alibi complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "    [[ ${#COMPREPLY[@]} -gt 0 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
    "    return 0\n"
    "}\n"
    "complete -o bashdefault -o default -F _alibi alibi\n";
static const char script_zsh[] =
    "#compdef alibi\n"
    "_alibi() {\n"
    "    local -a found\n"
    "    found=(${(f)\"$(alibi complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
    "    if (( ! $#found )); then _files; return; fi\n"
    "    if [[ $found[1] == *= ]]; then compadd -S '' -- $found; else compadd -- $found; fi\n"
    "}\n"
    "if [[ $funcstack[1] == _alibi ]]; then _alibi \"$@\"; else compdef _alibi alibi; fi\n";
static const char script_fish[] =
    "complete -c alibi -a '(alibi complete (commandline -opc)[2..-1] (commandline -ct) "
    "2>/dev/null)'\n";

CLI_COMMAND(completion)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = {{"bash", script_bash}, {"zsh", script_zsh}, {"fish", script_fish}};

    TRY(cli_begin(c, NULL, e));
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        if (strcmp(scripts[i].shell, c->rest.item[0]) != 0) continue;
        fputs(scripts[i].script, stdout);
        return 0;
    }
    return ERR(e, ERR_USAGE, "unknown shell '%s' (expected bash, zsh or fish)", c->rest.item[0]);
}

/* The incomplete word. */
struct typed {
    struct cli *cli;
    const char *word;
    size_t kept_n;  /* length of its prefix that precedes every candidate */
    size_t shell_n; /* of these, bytes that the shell treats as separate words */
};

static void offer_word(const struct typed *t, const char *candidate, const char *end)
{
    const char *part = t->word + t->kept_n;

    if (strncmp(candidate, part, strlen(part)) != 0) return;
    cli_print("%.*s%s%s\n", (int)(t->kept_n - t->shell_n), t->word + t->shell_n, candidate, end);
}

/* Offers the words of "one|two|three", which a space ends. */
static void offer_words(const struct typed *t, const char *words)
{
    for (const char *end; *words; words = *end == '|' ? end + 1 : "") {
        end = words + strcspn(words, "| ");
        offer_word(t, arena_strndup(&t->cli->arena, words, (size_t)(end - words)), "");
    }
}

/* Offers key=value of the spec keys; is_short: of the short names of axes. */
static void offer_setting(struct typed *t, bool is_short)
{
    static const char *const axes[] = {"position", "L_train", "L_valid", "dataset"};
    const char *part = t->word + t->kept_n, *equals = strchr(part, '=');
    const struct spec_key *key = NULL;
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    if (equals) {
        const char *name = arena_strndup(&t->cli->arena, part, (size_t)(equals - part));
        t->kept_n += (size_t)(equals - part) + 1;
        if (settings_key(&key, name, NULL) < 0) return;
        for (const char *const *v = key->names; v && *v; v++) offer_word(t, *v, "");
    } else if (is_short) {
        for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) offer_word(t, axes[i], "=");
    } else {
        for (size_t i = 0; i < n; i++)
            if (strchr(keys[i].name, '.')) offer_word(t, keys[i].name, "=");
    }
}

static int offer_devices(const struct typed *t, enum cli_type type, struct err *e)
{
    bool of_one = type == CLI_DEVICE;
    struct device list[PLANNING_DEVICES_MAX];
    int32_t n;

    TRY(device_list(list, PLANNING_DEVICES_MAX, &n, e));
    offer_word(t, "auto", "");
    for (int32_t i = 0; i < n; i++)
        if (!list[i].unusable[0] && !list[i].is_test && !(of_one && list[i].is_cluster))
            offer_word(t, list[i].name, "");
    for (int32_t i = 0; type == CLI_HARDWARE && planning_gpu_word(i, &t->cli->arena); i++)
        offer_word(t, planning_gpu_word(i, &t->cli->arena), "");
    return 0;
}

static int offer_scales(const struct typed *t, struct err *e)
{
    struct cli *c = t->cli;
    char **name;
    int32_t n;

    TRY(cli_open(c, e));
    TRY(plan_scales(&name, &n, &c->project, &c->arena, e));
    for (int32_t i = 0; i < n; i++) offer_word(t, name[i], "");
    return 0;
}

/* Offers the values of an option's argument. If they are not known, the shell offers files. */
static int offer_values(struct typed *t, enum cli_type type, struct err *e)
{
    static const char *const words[CLI_LIST_SETTINGS + 1] = {
        [CLI_FORMAT] = "text|markdown|csv|json|latex",
        [CLI_FORMAT_PAGE] = "text|markdown|csv|json|latex|html",
        [CLI_WHICH] = "best|last"};
    bool is_axes = type == CLI_AXES || type == CLI_LIST_AXES;

    if (type == CLI_SCALE) return offer_scales(t, e);
    if (words[type]) offer_words(t, words[type]);
    if (type >= CLI_DEVICE && type <= CLI_HARDWARE) return offer_devices(t, type, e);
    const char *comma = is_axes ? strrchr(t->word + t->kept_n, ',') : NULL;
    if (comma) t->kept_n = (size_t)(comma + 1 - t->word);
    if (is_axes || type == CLI_LIST_SETTINGS) offer_setting(t, is_axes);
    return 0;
}

/* Offers positional arguments: artefacts, runs, or the words listed in the usage. */
static int offer_argument(const struct typed *t, struct err *e)
{
    struct cli *c = t->cli;
    struct rows runs;
    const char *usage = c->self->arguments;
    char **name, **inner;
    int32_t n, inner_n;

    if (strchr(usage, '|') && usage[0] >= 'a' && usage[0] <= 'z') {
        offer_words(t, usage);
        return 0;
    }
    TRY(cli_open(c, e));
    if (strstr(usage, "ARTEFACT")) {
        TRY(plan_list(&name, &n, &c->project, &c->arena, e));
        if (!strstr(usage, "RUN")) offer_word(t, "all", "");
        for (int32_t i = 0; i < n; i++) offer_word(t, name[i], "");
        TRY(plan_list_collections(&inner, &inner_n, &c->project, &c->arena, e));
        for (int32_t i = 0; i < inner_n; i++) {
            const char *collection =
                arena_strndup(&c->arena, inner[i], project_collection_bytes(inner[i]));
            if (i == 0 || strncmp(inner[i - 1], collection, strlen(collection) + 1) != '/')
                offer_word(t, collection, "");
            offer_word(t, inner[i], "");
        }
    }
    if (!strstr(usage, "RUN")) return 0;
    TRY(store_open(&c->store, c->results, STORE_READ, e));
    TRY(rows_read(&runs, &c->arena, c->store, "SELECT run_id FROM run_list ORDER BY 1", NULL, 0,
                  e));
    for (int32_t i = 0; i < runs.rows_n; i++) offer_word(t, store_text(&runs.row[i][0]), "");
    return 0;
}

/* Joins the last word with the words that bash split off at "="; returns the number of words before
 * it. */
static int typed_join(struct typed *t, int argc, char **argv)
{
    int first = argc - 1;
    bool ends_broken = strcmp(argv[first], "=") == 0;

    t->word = argv[first];
    while (first > 1 && (strcmp(argv[first], "=") == 0 || strcmp(argv[first - 1], "=") == 0))
        first--;
    if (first == argc - 1) return first;
    const char *whole = "";
    for (int i = first; i < argc; i++) whole = arena_printf(&t->cli->arena, "%s%s", whole, argv[i]);
    t->shell_n = strlen(whole) - (ends_broken ? 0 : strlen(t->word));
    t->word = whole;
    return first;
}

int cli_complete_word(struct cli *c, const struct cli_option *all, struct err *e)
{
    struct typed t = {.cli = c};
    enum cli_type type = CLI_FLAG; /* of the option whose argument is incomplete; a flag: none */
    const char *option = c->argv[typed_join(&t, c->argc, c->argv) - 1];
    const char *equals = strncmp(t.word, "--", 2) == 0 ? strchr(t.word, '=') : NULL;
    bool is_option = t.word[0] == '-' && !equals;

    if (equals) {
        option = arena_strndup(&c->arena, t.word, (size_t)(equals - t.word));
        t.kept_n = (size_t)(equals + 1 - t.word);
    }
    for (const struct cli_option *o = all; o->name; o++) {
        const char *name = arena_printf(&c->arena, "--%s", o->name);
        const char letter[] = {'-', o->letter, '\0'};
        if (is_option) offer_word(&t, name, "");
        if (strcmp(option, name) == 0 || (o->letter && strcmp(option, letter) == 0)) type = o->type;
    }
    if (is_option) return 0;
    return equals || type != CLI_FLAG ? offer_values(&t, type, e) : offer_argument(&t, e);
}

CLI_COMMAND(complete)
{
    size_t n;
    const struct cli_command *commands = cli_commands(&n);

    if (c->argc < 1) return 0;
    for (size_t i = 0; i < n; i++) {
        if (commands[i].hidden) continue;
        if (c->argc == 1)
            offer_word(&(struct typed){.cli = c, .word = c->argv[0]}, commands[i].name, "");
        if (c->argc == 1 || strcmp(commands[i].name, c->argv[0]) != 0) continue;
        c->self = &commands[i];
        c->completes = true;
        return c->self->run(c, e);
    }
    return 0;
}
