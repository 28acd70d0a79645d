/* parent.c - starts a training from the checkpoint of its parent. */
#include "worker/parent.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "interchange/interchange.h"
#include "model/model.h"
#include "shape/shape.h"
#include "source/source.h"
#include "worker/checkpoints.h"
#include "worker/state.h"
#include "worker/train.h"
#include "worker/weights.h"

/* The parent's files. */
struct parent {
    struct spec spec;
    struct safetensors *weights, *state;
    struct source_found found;
    const char *state_file;          /* absolute */
    struct record_checkpoint record; /* of the checkpoint with state; path NULL: none */
    struct arena *arena;
};

/* Finds the record of the state that belongs to the weights. */
static int find_state(void *context, const struct event *ev, struct err *e)
{
    struct parent *p = context;
    struct err wrong;
    struct record read, r;

    (void)e;
    if (ev->type != EVENT_CHECKPOINT || record_read(&read, ev, &wrong) < 0) return 0;
    const struct record_checkpoint *c = &read.checkpoint;
    if (!c->state_path || !c->state_sha256 || strchr(c->state_path, '/')) return 0;
    if (strcmp(c->sha256, p->found.sha256) != 0) return 0;
    record_copy(&r, &read, p->arena);
    p->record = r.checkpoint;
    return 0;
}

static int open_state(struct parent *p, const char *run_id, struct err *e)
{
    char *dir = arena_strdup(p->arena, p->found.path);

    *strrchr(dir, '/') = '\0';
    TRY(run_folder_each(dir, find_state, p, e));
    p->state_file =
        p->record.path ? arena_printf(p->arena, "%s/%s", dir, p->record.state_path) : NULL;
    if (!p->state_file || !file_exists(p->state_file))
        return ERR(
            e, ERR_NOINPUT,
            "%s: the optimiser state that train.continues: all needs was not kept; train the "
            "parent again (--redo) with train.keep_state: true, or set train.continues: "
            "weights",
            p->found.path);
    TRY(checkpoint_open(&p->state, NULL, p->state_file, p->record.state_sha256, run_id, e));
    const char *of = safetensors_metadata(p->state, "weights_sha256");
    if (of && strcmp(of, p->found.sha256) == 0) return 0;
    return ERR(e, ERR_DATA, "%s: belongs to weights with SHA-256 %.12s…, expected %.12s…",
               p->state_file, of ? of : "(none)", p->found.sha256);
}

static int take_over(struct parent *p, struct worker *a, struct model *m, int32_t slots_n,
                     struct shape_inheritance *h, struct err *e)
{
    struct spec child = a->spec[0];
    struct shape_params params;

    TRY(source_find(&p->found, a->project, p->arena, child.train.from, child.train.from_checkpoint,
                    e));
    TRY(checkpoint_open(&p->weights, &p->spec, p->found.path, p->found.sha256, child.train.from,
                        e));
    TRY(spec_continue(&child, &p->spec, e));
    shape_params(&params, p->arena, &p->spec);
    TRY(shape_inherit(h, p->arena, model_params(m), &params, e));
    TRY(weights_inherit(m, 0, h, &params, p->weights, p->found.path, e));
    if (child.train.continues == SPEC_CONTINUES_WEIGHTS) return 0;
    TRY(open_state(p, child.train.from, e));
    return weights_inherit(m, slots_n, h, &params, p->state, p->state_file, e);
}

static int record_start(const struct parent *p, struct worker *a, int64_t update,
                        const struct shape_inheritance *h, struct err *e)
{
    const struct spec_train *s = &a->spec[0].train;
    const char *root = arena_printf(p->arena, "%s/", a->project->root);
    size_t root_n = strlen(root);
    bool inside = strncmp(p->found.path, root, root_n) == 0;
    const struct record r = {.type = EVENT_CONTINUED,
                             .continued = {.parent = s->from,
                                           .update = update,
                                           .path = p->found.path + (inside ? root_n : 0),
                                           .sha256 = p->found.sha256,
                                           .state_sha256 = p->state ? p->record.state_sha256 : NULL,
                                           .fresh = h->fresh,
                                           .dropped = h->dropped}};

    log_info("continuing run %s: %s of %s; fresh tensors: %s; dropped: %s", s->from,
             p->state ? "weights, optimiser state and update number" : "weights", r.continued.path,
             *h->fresh ? h->fresh : "none", *h->dropped ? h->dropped : "none");
    return record_write(a->events, &r, e);
}

int parent_start(struct worker *a, struct model *m, int32_t slots_n, struct checkpoint_point *now,
                 double *rate, struct err *e)
{
    struct parent p = {.arena = &a->arena};
    struct shape_inheritance h;
    int rc = take_over(&p, a, m, slots_n, &h, e);

    if (rc == 0) {
        int32_t first = spec_first_update(&a->spec[0], &p.spec);
        now->update = now->validated = first;
        if (first > 0) *rate = schedule_rate(&p.spec.train, first - 1);
        rc = record_start(&p, a, first, &h, e);
    } else {
        err_ctx(e, "train.from");
    }
    safetensors_close(p.weights);
    safetensors_close(p.state);
    return rc;
}
