/* trained.c - the weights of a training that evaluations run on: those in its checkpoint, or those
 * of the folder in Hugging Face format that the checkpoint names. */
#include "worker/worker_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interchange/interchange.h"
#include "pretrained/pretrained.h"

/* Hashing a large folder takes minutes, in which a stop may be requested. */
static int tick(void *context, double share, struct err *e)
{
    struct worker *a = context;

    if (worker_stop_requested(a))
        return ERR(e, ERR_INTERRUPTED, "stopped while opening the model; rerun the command");
    (void)share;
    return worker_progress(a, 0, 1, (double)NAN, (double)NAN, e);
}

/* Refuses a folder that this version of the program describes in another way than the one that
 * imported it. */
static int check_description(const struct trained *t, struct err *e)
{
    static const char *const but[] = {"scale",
                                      "model.name",
                                      "model.files",
                                      "data.dataset",
                                      "data.corpus",
                                      "data.fingerprint",
                                      "data.train_tokens",
                                      "data.valid_tokens",
                                      "data.test_tokens",
                                      NULL};
    const struct pretrained_facts *facts = pretrained_facts(t->folder);

    if (spec_alike(&t->spec, &facts->spec, but)) return 0;
    return ERR(e, ERR_DATA,
               "%s: this version describes the model in another way than the one that imported it; "
               "import it again with `alibi import %s`",
               t->place.folder, t->place.folder);
}

static int open_folder(struct trained *t, struct worker *a, struct err *e)
{
    if (!pretrained_is_registered(t->file)) return 0;
    TRY(pretrained_place_read(&t->place, &a->arena, t->path, e));
    TRY(pretrained_registered_open(&t->files, t->place.folder, t->file, &t->spec, tick, a, e));
    TRY(pretrained_open(&t->folder, t->place.folder, e));
    return check_description(t, e);
}

int trained_open(struct trained *t, struct worker *a, const char *run_id,
                 enum spec_checkpoint which, struct err *e)
{
    *t = (struct trained){0};
    TRY(checkpoint_find(&t->path, t->sha256, a->project, &a->arena, run_id, which, e));
    int rc = checkpoint_open(&t->file, &t->spec, t->path, t->sha256, run_id, e);
    if (rc == 0) rc = open_folder(t, a, e);
    if (rc < 0) trained_close(t);
    return rc;
}

bool trained_is_streamed(const struct trained *t, const struct worker *a)
{
    return t->folder && !a->backend->ops->graph_begin; /* graphs need weights that stay */
}

/* Reads tensor i of a streamed model, when a pass needs it. */
static int read_tensor(void *context, int32_t i, float *out, struct err *e)
{
    return pretrained_read(context, i, out, e);
}

/* Writes all tensors of a model that holds them. */
static int load_folder(const struct trained *t, struct model *m, struct err *e)
{
    const struct shape_params *p = model_params(m);
    int rc = 0;

    float *values = malloc((size_t)p->largest_n * sizeof *values);
    if (!values)
        return ERR(e, ERR_NOMEM, "out of memory for a tensor of %lld elements",
                   (long long)p->largest_n);
    for (int32_t i = 0; rc == 0 && i < p->tensors_n; i++) {
        rc = pretrained_read(t->folder, i, values, e);
        if (rc == 0) rc = model_write(m, MODEL_VALUES, i, values, e);
    }
    free(values);
    return rc;
}

int trained_load(const struct trained *t, const struct worker *a, struct model *m, struct err *e)
{
    if (!t->folder) return weights_load(m, 0, t->file, t->path, e);
    if (!trained_is_streamed(t, a)) return load_folder(t, m, e);
    return model_stream(m, read_tensor, t->folder, e);
}

int trained_check(const struct trained *t, struct err *e)
{
    return t->files ? pretrained_registered_check(t->files, e) : 0;
}

int trained_check_corpus(const struct trained *t, const struct corpus *c, struct err *e)
{
    if (!t->folder) return 0; /* the fingerprint of its text is part of its spec */
    if (strcmp(t->place.tokenizer, c->tokenizer_sha256) == 0) return 0;
    return ERR(e, ERR_DATA,
               "data/%s has not the ids of the model's tokenizer (%.12s…); prepare the text with "
               "`alibi data prepare NAME --tokenizer %s --text DIR`",
               c->name, t->place.tokenizer, t->place.folder);
}

void trained_close(struct trained *t)
{
    pretrained_close(t->folder);
    pretrained_registered_close(t->files);
    safetensors_close(t->file);
    *t = (struct trained){0};
}
