/* command_export.c - alibi export: a training's weights for users of PyTorch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "cli/cli.h"
#include "interchange/export.h"
#include "store/store.h"

enum { EXPORT_DICTIONARY_BYTES_MAX = 256 << 20 };

struct export_found {
    char run_id[SPEC_ID_BYTES], corpus[SPEC_TEXT_BYTES];
    int32_t n;
};

static int take_training(void *context, int columns_n, const char *const *names,
                         const struct store_cell *cells, struct err *e)
{
    struct export_found *f = context;

    (void)columns_n;
    (void)names;
    (void)e;
    snprintf(f->run_id, sizeof f->run_id, "%s", cells[0].text);
    snprintf(f->corpus, sizeof f->corpus, "%s", cells[1].text ? cells[1].text : "");
    f->n++;
    return 0;
}

/* The training that is meant by the beginning of its id, or of an evaluation's. */
static int find_training(struct store *store, const char *given, struct export_found *f,
                         struct err *e)
{
    static const char sql[] =
        "SELECT run_id, corpus FROM trainings WHERE run_id IN (SELECT coalesce(train_run_id,"
        " run_id) FROM run_list WHERE substr(run_id, 1, length(CAST(:prefix AS TEXT))) ="
        " CAST(:prefix AS TEXT))";
    const struct store_param prefix = {"prefix", given};

    *f = (struct export_found){0};
    if (strspn(given, "0123456789abcdef") != strlen(given) || strlen(given) > 16 ||
        strlen(given) < 4)
        return ERR(e, ERR_USAGE,
                   "%.40s: a run id is 4 to 16 hex digits; alibi query \"SELECT run_id, position, "
                   "L_train FROM trainings\" lists them",
                   given);
    TRY(store_query(store, sql, &prefix, 1, 30, take_training, f, e));
    if (f->n == 0)
        return ERR(e, ERR_NOINPUT, "%s: no finished training of results.db is meant by it", given);
    if (f->n > 1)
        return ERR(e, ERR_USAGE, "%s: %d trainings begin so; give more digits", given, f->n);
    return 0;
}

static int take_result(void *context, int columns_n, const char *const *names,
                       const struct store_cell *cells, struct err *e)
{
    json_t *row = json_object();

    for (int i = 0; i < columns_n; i++) {
        const char *text = cells[i].text;
        json_t *value = !text                  ? json_null()
                        : cells[i].type == 't' ? json_string(text)
                        : cells[i].type == 'i' ? json_integer(strtoll(text, NULL, 10))
                                               : json_real(strtod(text, NULL));
        json_object_set_new(row, names[i], value);
    }
    if (json_array_append_new(context, row) == 0) return 0;
    return ERR(e, ERR_NOMEM, "no memory for the results of the run");
}

/* dict.txt of the corpus, so that ids can be read as words; absent when the corpus is. */
static int copy_dictionary(struct cli *c, const char *corpus, const char *dir, bool *there,
                           struct err *e)
{
    const char *from = arena_printf(&c->arena, "%s/data/%s/dict.txt", c->project.root, corpus);
    char *text;
    size_t n;

    *there = file_exists(from);
    if (!*there) return 0;
    TRY(file_read(&c->arena, &text, &n, from, EXPORT_DICTIONARY_BYTES_MAX, e));
    return file_write_named(arena_printf(&c->arena, "%s/dict.txt", dir), text, n, e);
}

static int export_training(struct cli *c, struct store *store, const char *given, const char *out,
                           enum spec_checkpoint which, struct err *e)
{
    static const char sql[] = "SELECT split, protocol, L_valid, stride, precision, tokens, "
                              "perplexity, loss_nats FROM evaluations WHERE train_run_id = :run "
                              "AND checkpoint = :which ORDER BY split, protocol, L_valid";
    struct export_found f;
    char path[256], sha256[HASH_HEX_BYTES];
    bool dictionary;
    json_t *results = json_array();
    int rc = 0;

    TRY_OUT(rc, find_training(store, given, &f, e));
    TRY_OUT(rc, store_checkpoint(store, f.run_id, which, path, sha256, e));
    const struct store_param params[] = {{"run", f.run_id},
                                         {"which", which == SPEC_BEST ? "best" : "last"}};
    TRY_OUT(rc, store_query(store, sql, params, 2, 30, take_result, results, e));
    const char *dir =
        out ? out : arena_printf(&c->arena, "%s/exports/%s", c->project.root, f.run_id);
    const struct export_options o = {.checkpoint = project_path(&c->project, &c->arena, path),
                                     .sha256 = sha256,
                                     .run_id = f.run_id,
                                     .dir = dir,
                                     .results = results};
    TRY_OUT(rc, export_write(&o, e));
    TRY_OUT(rc, copy_dictionary(c, f.corpus, dir, &dictionary, e));
    printf("exported run %s to %s: model.safetensors, config.json%s\n", f.run_id, dir,
           dictionary ? ", dict.txt" : "; the corpus is not here, so there is no dict.txt");
out:
    json_decref(results);
    return rc;
}

int cli_export(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    const char *out = NULL, *which = "best";
    struct cli_list rest;
    struct store *store = NULL;
    const struct cli_option options[] = {
        {"out", 'o', CLI_TEXT, &out, "DIR", "where to (default exports/RUN)"},
        {"checkpoint", 0, CLI_TEXT, &which, "WHICH", "best (on valid, the default) or last"},
        {0}};
    int rc = cli_parse(c, self, options, argc, argv, &rest, 1, 1, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    if (strcmp(which, "best") != 0 && strcmp(which, "last") != 0)
        return ERR(e, ERR_USAGE, "--checkpoint %.40s: best or last", which);
    TRY(cli_open(c, e));
    TRY(store_open(&store, cli_results(c), STORE_READ, e));
    rc = export_training(c, store, rest.item[0], out,
                         strcmp(which, "best") == 0 ? SPEC_BEST : SPEC_LAST, e);
    store_close(store);
    return rc;
}
