/* export_run.c - writes a training's weights for PyTorch, or the losses of an evaluation. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "interchange/interchange.h"
#include "source/source.h"
#include "workflow/workflow.h"

enum { EXPORT_DICTIONARY_BYTES_MAX = 256 << 20 };

/* Returns the results of a training as JSON. */
static json_t *results_json(const struct rows *rows)
{
    json_t *results = json_array();

    for (int32_t r = 0; r < rows->rows_n; r++) {
        json_t *row = json_object();
        for (int i = 0; i < rows->columns_n; i++) {
            const struct store_cell *cell = &rows->row[r][i];
            json_t *value = !cell->text         ? json_null()
                            : cell->type == 't' ? json_string(cell->text)
                            : cell->type == 'i' ? json_integer(strtoll(cell->text, NULL, 10))
                                                : json_real(strtod(cell->text, NULL));
            json_object_set_new(row, rows->name[i], value);
        }
        json_array_append_new(results, row);
    }
    return results;
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
    static const char training_sql[] =
        "SELECT run_id, corpus, kind, model FROM trainings"
        " LEFT JOIN sources ON id = run_id AND current"
        " WHERE run_id = (SELECT coalesce(train_run_id, run_id) FROM run_list WHERE run_id = :run)";
    static const char results_sql[] =
        "SELECT split, protocol, L_valid, stride, precision, tokens, perplexity, loss_nats,"
        " settings"
        " FROM evaluations WHERE train_run_id = :run AND checkpoint = :which"
        " ORDER BY split, protocol, L_valid, stride, settings";
    struct store_param params[] = {{"run", run_id, STORE_TEXT},
                                   {"which", which == SPEC_BEST ? "best" : "last", STORE_TEXT}};
    struct rows training, results;
    struct err why = {0};
    bool gone;
    char path[256], sha256[HASH_HEX_BYTES];

    TRY(rows_read(&training, a, store, training_sql, params, 1, e));
    if (training.rows_n == 0)
        return ERR(e, ERR_NOINPUT, "run %s is not a finished training, nor an evaluation of one",
                   run_id);
    if (source_is_folder(training.row[0][2].text))
        return ERR(e, ERR_USAGE,
                   "run %s is the model %s, whose weights stay in their folder "
                   "(data/models/%s.yaml): there is nothing to export",
                   store_text(&training.row[0][0]), store_text(&training.row[0][3]),
                   store_text(&training.row[0][3]));
    const char *id = params[0].value = store_text(&training.row[0][0]),
               *corpus = training.row[0][1].text;
    TRY(scheduler_find_checkpoint(store, project, id, which, &gone, &why, e));
    if (gone) return ERR(e, ERR_NOINPUT, "%s", why.text);
    TRY(store_checkpoint(store, id, which, path, sha256, e));
    TRY(rows_read(&results, a, store, results_sql, params, 2, e));
    *out = (struct export_result){
        .run_id = id, .dir = dir ? dir : arena_printf(a, "%s/exports/%s", project->root, id)};
    const struct export_options o = {.checkpoint = project_path(project, a, path),
                                     .sha256 = sha256,
                                     .run_id = id,
                                     .dir = out->dir,
                                     .results = results_json(&results)};
    int rc = export_write(&o, e);
    json_decref(o.results);
    return rc < 0 ? rc
                  : copy_dictionary(&out->has_dictionary, project, a, corpus ? corpus : "",
                                    out->dir, e);
}

int workflow_export_losses(struct reproduce_report *out, const struct project *project,
                           struct arena *a, struct store *store, const char *run_id,
                           const char *path, struct err *e)
{
    static const char sql[] = "SELECT a.dir FROM results v JOIN run_attempts a USING(attempt_id)"
                              " WHERE v.current = 1 AND v.kind = 'eval' AND v.run_id = :run";
    const struct store_param run = {"run", run_id, STORE_TEXT};
    struct rows rows;

    TRY(rows_read(&rows, a, store, sql, &run, 1, e));
    if (rows.rows_n == 0)
        return ERR(e, ERR_NOINPUT, "run %s is not a finished evaluation: it has no losses", run_id);
    const struct reproduce_options o = {.dir =
                                            project_path(project, a, store_text(&rows.row[0][0])),
                                        .run_id = run_id,
                                        .losses = path};
    TRY(reproduce_run(out, project, &o, e));
    if (!out->ran)
        return ERR(e, ERR_UNAVAILABLE, "run %s cannot be evaluated here: %s", run_id, out->why);
    return 0;
}
