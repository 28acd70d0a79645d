/* checkpoint.c - finds and opens checkpoints: hash and run of a file must match the records. */
#include "interchange/interchange.h"

#include <stdio.h>
#include <string.h>

#include "record/run_folder.h"

static int check_run(struct spec *trained, const struct safetensors *s, const char *path,
                     const char *run_id, struct err *e)
{
    char parsed[SPEC_ID_BYTES];
    const char *found = safetensors_metadata(s, "run_id");

    if (trained) {
        const char *text = safetensors_metadata(s, "spec");
        if (!text) return ERR(e, ERR_DATA, "%s: contains no spec", path);
        TRY(spec_parse(trained, text, e));
        spec_run_id(trained, parsed);
        found = parsed;
    }
    if (found && strcmp(found, run_id) == 0) return 0;
    return ERR(e, ERR_DATA, "%s: belongs to run %.16s, expected %s", path, found ? found : "(none)",
               run_id);
}

int checkpoint_open(struct safetensors **out, struct spec *trained, const char *path,
                    const char *sha256, const char *run_id, struct err *e)
{
    *out = NULL;
    TRY(hash_check(path, sha256, "the file is damaged; `alibi run --redo` replaces it", e));
    TRY(safetensors_open(out, path, e));
    int rc = check_run(trained, *out, path, run_id, e);
    if (rc < 0) {
        safetensors_close(*out);
        *out = NULL;
    }
    return rc;
}

int checkpoint_find(const char **path, char sha256[HASH_HEX_BYTES], const struct project *p,
                    struct arena *a, const char *run_id, enum spec_checkpoint which, struct err *e)
{
    const char *run_dir = arena_printf(a, "%s/" RUN_FOLDERS "/%s", p->root, run_id);
    int32_t *attempt, n;

    *path = NULL;
    int rc = run_folder_attempts(&attempt, &n, a, run_dir, e);
    if (rc == ERR_NOINPUT)
        return ERR(e, rc, "%s not found: the training was not run in this project", run_dir);
    TRY(rc);
    for (int32_t i = n - 1; i >= 0; i--) {
        struct run_outcome o;
        const char *dir = arena_printf(a, "%s/%d", run_dir, attempt[i]);
        TRY(run_folder_outcome(&o, a, dir, run_id, e));
        const struct record_trained *t = &o.result.trained;
        if (o.result.type != EVENT_TRAINED || (!o.done && (o.ended.type || *path))) continue;
        const char *name = which == SPEC_BEST ? t->best_checkpoint : t->last_checkpoint;
        const char *hash = which == SPEC_BEST ? t->best_sha256 : t->last_sha256;
        if (!name || strchr(name, '/') || !hash) continue;
        *path = arena_printf(a, "%s/%s", dir, name);
        snprintf(sha256, HASH_HEX_BYTES, "%s", hash);
        if (o.done) return 0;
    }
    if (*path) return 0;
    return ERR(e, ERR_NOINPUT, "%s: no finished attempt of training %s", run_dir, run_id);
}
