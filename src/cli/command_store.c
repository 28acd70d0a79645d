/* command_store.c - alibi merge, gc, delete, verify, import and export. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/str.h"
#include "cli/cli.h"

static void print_merge(struct cli *c, const struct merge_result *m, const char *path)
{
    if (*m->runs) {
        cli_print("ingested %d attempts from %d folders of %s; %d were already known",
                  m->attempts_n, m->folders_n, m->runs, m->known_n);
        if (m->skipped.n)
            cli_print("; %d folders left out (the first: %s)", m->skipped.n, m->skipped.why);
        cli_print(
            "\nnext: alibi run ARTEFACT, which registers what the artefact needs and runs only "
            "what is missing\n");
    } else {
        cli_print("ingested %d results from %s\n", m->results_n, path);
    }
    if (m->copied_n)
        cli_print("copied %d run folders to runs/, %s\n", m->copied_n,
                  str_bytes(&c->arena, m->bytes));
    if (m->unreadable.n)
        cli_print("%d run folders cannot be read (the first: %s): their results are ingested, but "
                  "their checkpoints are missing; the next merge tries again\n",
                  m->unreadable.n, m->unreadable.why);
}

/* The names of a list in a line, the first ones if it is long. */
static const char *some_names(struct arena *a, const struct merged_names *names)
{
    enum { SHOWN_N = 8 };
    struct strbuf b;

    strbuf_init(&b, a);
    for (int32_t i = 0; i < names->n && i < SHOWN_N; i++)
        strbuf_addf(&b, "%s%s", i ? ", " : "", names->item[i]);
    if (names->n > SHOWN_N) strbuf_addf(&b, " and %d more", names->n - SHOWN_N);
    return b.text;
}

static void print_grids(struct cli *c, const struct merged_grids *g, const char *path)
{
    struct arena *a = &c->arena;

    if (g->copied.n)
        cli_print("copied %d file%s of its grids: %s\n", g->copied.n, cli_plural(g->copied.n),
                  some_names(a, &g->copied));
    if (g->different.n)
        cli_print("kept %d file%s of this project that differ%s in %s: %s\n", g->different.n,
                  cli_plural(g->different.n), g->different.n == 1 ? "s" : "", path,
                  some_names(a, &g->different));
    for (int32_t i = 0; i < g->missing.n; i++)
        cli_print("the results of %s; copy the folder here, `alibi report` needs it\n",
                  g->missing.item[i]);
}

CLI_COMMAND(merge)
{
    struct merge_result m;
    struct merged_grids grids;

    TRY(cli_begin(c, NULL, e));
    const char *path = c->rest.item[0];
    if (!file_exists(path)) return ERR(e, ERR_NOINPUT, "%s not found", path);
    if (!file_exists(c->results)) TRY(store_merge_check(path, e));
    TRY(store_open(&c->store, c->results, STORE_WRITE, e));
    TRY(store_merge(c->store, &m, &c->project, path, e));
    print_merge(c, &m, path);
    TRY(workflow_merge_grids(&grids, &c->project, &c->arena, path, e));
    print_grids(c, &grids, path);
    int32_t n = m.skipped.n + m.unreadable.n;
    if (n)
        return ERR(e, ERR_DATA, "%d run folder%s left out; the first: %s", n, cli_plural(n),
                   m.skipped.n ? m.skipped.why : m.unreadable.why);
    return 0;
}

CLI_COMMAND(gc)
{
    struct gc_result r;

    TRY(cli_begin(c, NULL, e));
    if (!file_exists(c->results))
        return ERR(e, ERR_NOINPUT, "%s not found; nothing to delete", c->results);
    /* Opening for writing ensures that no scheduler is running. */
    TRY(store_open(&c->store, c->results, STORE_WRITE, e));
    TRY(workflow_gc(&r, &c->project, &c->arena, c->store, e));
    cli_print("%d attempts removed, %s freed\n", r.folders_n, str_bytes(&c->arena, r.bytes));
    return 0;
}

/* --- delete --------------------------------------------------------------------------------- */

/* No artefact has this name: names the nearest that has runs. */
static int unknown_artefact(struct cli *c, const char *word, const char *scale, struct err *e)
{
    static const char sql[] = "SELECT DISTINCT artefact FROM artefact_points ORDER BY 1";
    struct rows rows;

    TRY(rows_read(&rows, &c->arena, c->store, sql, NULL, 0, e));
    const char **names = arena_array(&c->arena, (size_t)rows.rows_n + 1, sizeof *names);
    for (int32_t i = 0; i < rows.rows_n; i++) names[i] = store_text(&rows.row[i][0]);
    const char *name = strncmp(word, "./", 2) == 0 ? word + 2 : word;
    name = arena_strndup(&c->arena, name, strcspn(name, "/"));
    return ERR(e, ERR_NOINPUT, "%s has no runs of '%s'%s%s; `alibi list` shows the artefacts%s",
               c->results, word, scale ? " at scale " : "", scale ? scale : "",
               scale ? "" : str_hint(name, names, (size_t)rows.rows_n).text);
}

/* An artefact by its name or the path of its folder, which need not exist any more, or a run. */
static int choose_runs(struct cli *c, const char *word, const char *scale, struct err *e)
{
    char run_id[SPEC_ID_BYTES];
    bool found;
    const char *name = arena_strdup(&c->arena, word);

    for (size_t n = strlen(name); n > 1 && name[n - 1] == '/'; n = strlen(name))
        name = arena_printf(&c->arena, "%.*s", (int)n - 1, name);
    TRY(store_choose_artefact(c->store, name, scale, &found, e));
    const char *last = strrchr(name, '/');
    if (!found && last) TRY(store_choose_artefact(c->store, last + 1, scale, &found, e));
    if (found) return 0;
    if (strlen(name) < 4 || name[strspn(name, "0123456789abcdef")] || scale)
        return unknown_artefact(c, word, scale, e);
    TRY(store_find_run(c->store, run_id, name, e));
    return store_choose_run(c->store, run_id, e);
}

static void print_doomed(const struct store_doomed *d)
{
    cli_print("%d training%s, %d evaluation%s and %d benchmark%s go, with %d result%s and %d run "
              "folder%s\n",
              d->trainings_n, cli_plural(d->trainings_n), d->evaluations_n,
              cli_plural(d->evaluations_n), d->benchmarks_n, cli_plural(d->benchmarks_n),
              d->results_n, cli_plural(d->results_n), d->folders_n, cli_plural(d->folders_n));
    if (d->kept_n)
        cli_print("%d result%s stay%s, because other artefacts need %s\n", d->kept_n,
                  cli_plural(d->kept_n), d->kept_n == 1 ? "s" : "", d->kept_n == 1 ? "it" : "them");
    if (d->needed_by)
        cli_print("%s need%s some of what goes; `alibi run` computes it again\n", d->needed_by,
                  strchr(d->needed_by, ',') ? "" : "s");
    fflush(stdout);
}

static int confirm_deletion(bool yes, struct err *e)
{
    if (yes) return 0;
    if (!cli_can_ask())
        return ERR(e, ERR_USAGE, "nothing deleted; pass --yes to delete without confirmation");
    if (cli_ask("Delete?")) return 0;
    return ERR(e, ERR_INTERRUPTED, "nothing deleted");
}

CLI_COMMAND(delete)
{
    struct store_doomed doomed;
    struct gc_result r;
    const char *scale = NULL;
    bool yes = false;
    const struct cli_option options[] = {
        {"scale", 's', CLI_SCALE, &scale, "NAME", "delete an artefact's runs of this scale only"},
        {"yes", 'y', CLI_FLAG, &yes, NULL, "delete without confirmation"},
        {0}};

    TRY(cli_begin(c, options, e));
    if (!file_exists(c->results))
        return ERR(e, ERR_NOINPUT, "%s not found; nothing to delete", c->results);
    /* Opening for writing ensures that no scheduler is running. */
    TRY(store_open(&c->store, c->results, STORE_WRITE, e));
    TRY(store_choose_none(c->store, e));
    for (int32_t i = 0; i < c->rest.n; i++) TRY(choose_runs(c, c->rest.item[i], scale, e));
    TRY(store_doom(&doomed, &c->arena, c->store, e));
    print_doomed(&doomed);
    TRY(confirm_deletion(yes, e));
    TRY(workflow_delete(&r, &c->project, &doomed, c->store, e));
    cli_print("deleted; %s freed\n", str_bytes(&c->arena, r.bytes));
    return 0;
}

/* --- verify --------------------------------------------------------------------------------- */

static void print_finding(void *context, enum verify_verdict verdict, const char *what,
                          const char *detail)
{
    static const char *const labels[] = {[VERIFY_OK] = "ok",
                                         [VERIFY_WRONG] = "WRONG",
                                         [VERIFY_MISSING] = "gone",
                                         [VERIFY_DIFFERENT] = "other",
                                         [VERIFY_SKIPPED] = ""};
    (void)context;
    cli_print("%-5s %s\n", labels[verdict], what);
    if (detail && *detail) cli_print("      %s\n", detail);
}

CLI_COMMAND(verify)
{
    enum { UPDATES_DEFAULT = 5, UPDATES_UNSET = -1 };
    struct verify_options o = {.report = print_finding};
    struct verify_summary v;
    int32_t updates = UPDATES_UNSET;
    const struct cli_option options[] = {
        {"updates", 'u', CLI_NUMBER, &updates, "K",
         "updates of a training to reproduce; 0: none (default 5 with RUN, else 0)"},
        {0}};

    TRY(cli_begin(c, options, e));
    o.run_id = c->rest.n ? c->rest.item[0] : NULL;
    o.updates = updates != UPDATES_UNSET ? updates : c->rest.n ? UPDATES_DEFAULT : 0;
    TRY(workflow_verify(&v, &c->project, &c->arena, c->store, &o, e));
    cli_print(
        "results.db is intact; %d checkpoints hashed, %d results compared with their records, "
        "%d runs reproduced, %d wrong\n",
        v.checkpoints_n, v.results_n, v.reproduced_n, v.wrong_n);
    if (v.wrong_n)
        return ERR(
            e, ERR_DATA,
            "%d files or results differ from their records; `alibi run --redo` replaces them",
            v.wrong_n);
    return 0;
}

/* --- import, export ------------------------------------------------------------------------- */

static void print_import(struct cli *c, const struct import_options *o,
                         const struct import_result *r)
{
    const char *position = spec_position_name(r->spec.model.position);

    cli_print("imported %s L_train=%d (%s) as run %s: %s parameters%s\n", position, r->spec.train.L,
              r->spec.scale, r->run_id, str_thousands(&c->arena, r->parameters_n),
              r->was_fp16 ? ", fp16 converted to fp32" : "");
    if (!r->heads_recorded)
        cli_print(
            "the file does not record the number of heads: using the %d of the specification\n",
            r->spec.model.heads);
    cli_print("weights  %s/imported.safetensors\n", r->dir);
    cli_print("next     alibi run %s%s%s --only position=%s,L_train=%d\n", o->artefact,
              o->scale ? " --scale " : "", o->scale ? o->scale : "", position, r->L_train_nominal);
}

static void print_model(struct cli *c, const struct model_result *m)
{
    struct arena *a = &c->arena;

    cli_print("imported %s: %s, %s, trained on rows of %s tokens\n", m->name, m->family,
              position_methods[m->spec.model.position].display, str_thousands(a, m->spec.train.L));
    cli_print("weights    %s parameters, %s of %s in %s\n", str_thousands(a, m->parameters_n),
              str_bytes(a, (double)m->bytes), m->dtype, m->folder);
    cli_print("tokenizer  %s ids of %s in the model; ", str_thousands(a, m->ids_n),
              str_thousands(a, m->spec.data.vocab));
    if (m->prefix >= 0)
        cli_print("a text begins after id %d\n", m->prefix);
    else
        cli_print("it has neither bos_token nor eos_token\n");
    if (m->tokenizer_note) cli_print("note       %s\n", m->tokenizer_note);
    if (m->note) cli_print("note       %s\n", m->note);
    cli_print("wrote      %s\n", m->piece);
    cli_print("next       alibi data prepare NAME --tokenizer %s --text DIR, then a grid with\n"
              "           base: [%s, data/NAME.yaml]\n",
              str_shell_word(a, m->tokenizer == m->folder ? c->rest.item[0] : m->tokenizer),
              m->piece);
}

static int import_model(struct cli *c, const char *as, const char *tokenizer, bool force,
                        struct err *e)
{
    const struct model_options o = {
        .as = as, .tokenizer = tokenizer, .force = force, .progress = cli_show_progress};
    struct model_result m;

    TRY(workflow_import_model(&m, &c->project, &c->arena, c->rest.item[0], &o, e));
    print_model(c, &m);
    return 0;
}

CLI_COMMAND(import)
{
    struct import_options o = {0};
    struct import_result r;
    const char *tokenizer = NULL;
    const struct cli_option options[] = {
        {"as", 0, CLI_AXES, &o.as, "K=V,…|NAME",
         "select the training, such as position=alibi,L_train=512; of a folder: its name (default "
         "the folder's)"},
        {"tokenizer", 0, CLI_TEXT, &tokenizer, "DIR",
         "the folder's tokenizer, if it is not in the folder"},
        {"dict", 0, CLI_TEXT, &o.dict, "FILE",
         "compare this dict.txt with the corpus word by word"},
        {"for", 0, CLI_TEXT, &o.artefact, "ARTEFACT", "artefact searched (default table5)"},
        {"scale", 's', CLI_SCALE, &o.scale, "NAME",
         "scale of the plan (default paper; of a folder: its own)"},
        {"loss", 0, CLI_REAL, &o.loss_nats, "NATS",
         "training loss in nats per token, if the file has none"},
        {"force", 0, CLI_FLAG, &o.force, NULL, "replace an existing result"},
        {0}};

    TRY(cli_begin(c, options, e));
    if (file_is_folder(c->rest.item[0])) {
        if (o.dict || o.artefact || o.scale || o.loss_nats > 0)
            return ERR(e, ERR_USAGE,
                       "%s is a folder: only --as, --tokenizer and --force can be given with one",
                       c->rest.item[0]);
        return import_model(c, o.as, tokenizer, o.force, e);
    }
    if (tokenizer)
        return ERR(e, ERR_USAGE, "--tokenizer: %s is not a folder in Hugging Face format",
                   c->rest.item[0]);
    if (!o.artefact) o.artefact = "table5";
    if (!o.scale && !strchr(o.artefact, '/')) o.scale = "paper";
    TRY(workflow_import(&r, &c->project, &c->arena, c->rest.item[0], &o, e));
    print_import(c, &o, &r);
    return 0;
}

static int export_losses(struct cli *c, const char *path, struct err *e)
{
    struct reproduce_report r;
    const char *run_id = c->rest.item[0];

    TRY(workflow_export_losses(&r, &c->project, &c->arena, c->store, run_id, path, e));
    if (r.differ_n && r.same_maker)
        return ERR(e, ERR_DATA, "%s is not what run %s recorded: %s", path, run_id, r.why);
    cli_print("wrote %s: the loss of each target of run %s; their sum %s\n", path, run_id,
              r.differ_n ? "differs from the record" : "is the recorded one");
    if (r.differ_n) cli_print("%s; %s\n", r.why, r.maker);
    return 0;
}

static int export_results(struct cli *c, const char *path, struct err *e)
{
    struct stat st;

    TRY(store_publish(c->store, path, NULL, e));
    if (stat(path, &st) < 0) return ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    cli_print("wrote %s, %s: the current results; `alibi report ARTEFACT --db %s` reads it\n", path,
              str_bytes(&c->arena, (double)st.st_size), str_shell_word(&c->arena, path));
    return 0;
}

CLI_COMMAND(export)
{
    const char *dir = NULL, *losses = NULL, *results = NULL;
    enum spec_checkpoint which = SPEC_BEST;
    struct export_result r;
    const struct cli_option options[] = {
        {"out", 'o', CLI_TEXT, &dir, "DIR", "write to DIR (default exports/RUN)"},
        {"checkpoint", 0, CLI_WHICH, &which, "WHICH", "best (on valid, the default) or last"},
        {"losses", 0, CLI_OUTPUT, &losses, "FILE", "of an evaluation: write its losses to FILE"},
        {"results", 0, CLI_OUTPUT, &results, "FILE", "write all results to FILE, to publish them"},
        {0}};

    TRY(cli_begin(c, options, e));
    if ((losses || results) && (dir || which != SPEC_BEST || (losses && results)))
        return ERR(e, ERR_USAGE, "--%s cannot be combined with %s", losses ? "losses" : "results",
                   losses && results ? "--results" : "--out or --checkpoint");
    if (results && c->rest.n)
        return ERR(e, ERR_USAGE, "--results writes the results of all runs; leave RUN out");
    if (results) return export_results(c, results, e);
    if (c->rest.n == 0) return ERR(e, ERR_USAGE, "export: expected RUN or --results");
    if (losses) return export_losses(c, losses, e);
    TRY(workflow_export(&r, &c->project, &c->arena, c->store, c->rest.item[0], dir, which, e));
    cli_print("exported run %s to %s: model.safetensors, config.json%s\n", r.run_id, r.dir,
              r.has_dictionary ? ", dict.txt"
                               : "; no dict.txt, because the corpus is not on this machine");
    return 0;
}
