/* plan_fixture.c - temporary projects for tests of src/plan. */
#include "plan/plan_fixture.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/test.h"

const char plan_fixture_tiny[] =
    "model: {name: tiny, layers: 1, dim: 16, heads: 2, ffn: 32, softmax: plain}\n"
    "data: {dataset: tinytext, corpus: tinytext, vocab: 64, train_tokens: 1000,\n"
    "  valid_tokens: 100, test_tokens: 100}\n"
    "train: {shards: 1, shard_tokens: 4096, updates: 10, lr: 0.1, period: 10}\n";

struct plan_fixture_plan {
    struct plan plan;
    struct plan_fixture_plan *next;
};

int plan_fixture_setup(void **state)
{
    struct plan_fixture *f = calloc(1, sizeof *f);
    char here[PATH_MAX];

    test_folder(f->root);
    if (!getcwd(here, sizeof here)) return -1;
    arena_init(&f->arena);
    f->project.root = f->root;
    f->project.share = arena_strdup(&f->arena, here);
    f->project.program = "build/alibi";
    plan_fixture_write(f, "configs/tiny.yaml", plan_fixture_tiny);
    *state = f;
    return 0;
}

int plan_fixture_teardown(void **state)
{
    struct plan_fixture *f = *state;
    for (struct plan_fixture_plan *p = f->plans; p; p = p->next) plan_close(&p->plan);
    test_folder_remove(f->root);
    arena_fini(&f->arena);
    free(f);
    return 0;
}

void plan_fixture_write(struct plan_fixture *f, const char *name, const char *text)
{
    test_write(project_path(&f->project, &f->arena, name), text, strlen(text));
}

const struct plan *plan_fixture_shipped(struct plan_fixture *f, const char *const *names, int32_t n,
                                        const struct plan_options *o)
{
    struct plan_fixture_plan *p = arena_array(&f->arena, 1, sizeof *p);

    if (plan_open(&p->plan, &f->project, names, n, o, &f->err) < 0) fail_msg("%s", f->err.text);
    p->next = f->plans;
    f->plans = p;
    return &p->plan;
}

const struct plan *plan_fixture_open(struct plan_fixture *f, const char *grid,
                                     const struct plan_options *o)
{
    static const struct plan_options none = {.scale = "none"};
    const char *name = "g";

    plan_fixture_write(f, "experiments/g/grid.yaml", grid);
    return plan_fixture_shipped(f, &name, 1, o ? o : &none);
}

const struct plan *plan_fixture_at(struct plan_fixture *f, const char *const *names, int32_t n,
                                   const char *scale)
{
    const struct plan_options o = {.scale = scale};
    return plan_fixture_shipped(f, names, n, &o);
}
