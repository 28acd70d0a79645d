/* export.c - writes a training's weights for PyTorch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "interchange/export.h"
#include "workflow/workflow.h"

enum { EXPORT_DICTIONARY_BYTES_MAX = 256 << 20 };

struct export_training {
    char run_id[SPEC_ID_BYTES], corpus[SPEC_TEXT_BYTES];
    bool found;
};

static int take_training(void *context, int columns_n, const char *const *names,
                         const struct store_cell *cells, struct err *e)
{
    struct export_training *t = context;

    (void)columns_n, (void)names, (void)e;
    snprintf(t->run_id, sizeof t->run_id, "%s", cells[0].text);
    snprintf(t->corpus, sizeof t->corpus, "%s", cells[1].text ? cells[1].text : "");
    t->found = true;
    return 0;
}

/* The training of a run: the run itself, or the training of an evaluation. */
static int find_training(struct export_training *out, struct store *store, const char *run_id,
                         struct err *e)
{
    static const char sql[] =
        "SELECT run_id, corpus FROM trainings WHERE run_id = (SELECT coalesce(train_run_id,"
        " run_id) FROM run_list WHERE run_id = CAST(:run AS TEXT))";
    const struct store_param run = {"run", run_id};

    *out = (struct export_training){0};
    TRY(store_query(store, sql, &run, 1, 30, take_training, out, e));
    if (out->found) return 0;
    return ERR(e, ERR_NOINPUT, "run %s is not a finished training, nor an evaluation of one",
               run_id);
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
    return ERR(e, ERR_NOMEM, "out of memory for the results of the run");
}

/* Copies dict.txt of the corpus, if the corpus is on this machine. */
static int copy_dictionary(bool *copied, const struct project *project, struct arena *a,
                           const char *corpus, const char *dir, struct err *e)
{
    const char *from = arena_printf(a, "%s/data/%s/dict.txt", project->root, corpus);
    char *text;
    size_t n;

    *copied = file_exists(from);
    if (!*copied) return 0;
    TRY(file_read(a, &text, &n, from, EXPORT_DICTIONARY_BYTES_MAX, e));
    return file_write_named(arena_printf(a, "%s/dict.txt", dir), text, n, e);
}

int workflow_export(struct export_result *out, const struct project *project, struct arena *a,
                    struct store *store, const char *run_id, const char *dir,
                    enum spec_checkpoint which, struct err *e)
{
    static const char sql[] = "SELECT split, protocol, L_valid, stride, precision, tokens, "
                              "perplexity, loss_nats FROM evaluations WHERE train_run_id = :run "
                              "AND checkpoint = :which ORDER BY split, protocol, L_valid";
    struct export_training t;
    char path[256], sha256[HASH_HEX_BYTES];
    json_t *results = json_array();
    int rc = 0;

    TRY_OUT(rc, find_training(&t, store, run_id, e));
    TRY_OUT(rc, store_checkpoint(store, t.run_id, which, path, sha256, e));
    const struct store_param params[] = {{"run", t.run_id},
                                         {"which", which == SPEC_BEST ? "best" : "last"}};
    TRY_OUT(rc, store_query(store, sql, params, 2, 30, take_result, results, e));
    *out = (struct export_result){
        .dir = dir ? dir : arena_printf(a, "%s/exports/%s", project->root, t.run_id)};
    memcpy(out->run_id, t.run_id, sizeof out->run_id);
    const struct export_options o = {.checkpoint = project_path(project, a, path),
                                     .sha256 = sha256,
                                     .run_id = t.run_id,
                                     .dir = out->dir,
                                     .results = results};
    TRY_OUT(rc, export_write(&o, e));
    rc = copy_dictionary(&out->has_dictionary, project, a, t.corpus, out->dir, e);
out:
    json_decref(results);
    return rc;
}
