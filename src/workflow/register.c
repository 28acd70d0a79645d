/* register.c - what an artefact asks for becomes rows of results.db: runs, points, the paper's
 * numbers. */
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "workflow/workflow.h"

/* The paper's numbers of every artefact, run or not: claims about the paper compare one artefact's
 * with another's. A bad file that this run does not need does not stop it. */
static int register_papers(struct store *store, const struct project *project, struct arena *a,
                           const struct plan *p, struct err *e)
{
    char **names, *path;
    int32_t n;

    TRY(plan_list(&names, &n, project, a, e));
    for (int32_t i = 0; i < n; i++) {
        struct err fault = {0};
        const char *file = arena_printf(a, "experiments/%s/paper.tsv", names[i]);
        if (project_find(&path, project, a, file, NULL) < 0) continue;
        if (store_set_paper(store, names[i], path, &fault) < 0) log_warn("%s", fault.text);
    }
    for (int32_t k = 0; k < p->artefacts_n; k++) {
        path = arena_printf(a, "%s/paper.tsv", p->artefact[k].dir);
        if (file_exists(path)) TRY(store_set_paper(store, p->artefact[k].name, path, e));
    }
    return 0;
}

static int register_points(struct store *store, struct arena *a, const struct plan *p,
                           const struct plan_artefact *artefact, struct err *e)
{
    struct store_point *points = arena_array(a, (size_t)p->points_n + 1, sizeof *points);
    const char *name = arena_printf(a, "%s%s", artefact->name, p->variant);
    int32_t n = 0;

    for (int32_t i = 0; i < p->points_n; i++) {
        const struct plan_point *t = &p->point[i];
        if (strcmp(t->artefact, artefact->name) != 0) continue;
        points[n++] = (struct store_point){t->point, p->run[t->run].run_id, t->L_train_nominal,
                                           t->L_valid_nominal, t->stride_nominal};
    }
    return store_set_points(store, name, artefact->scale, points, n, e);
}

static int register_plan(struct store *store, const struct project *project, const struct plan *p,
                         struct err *e)
{
    struct arena scratch;
    int rc = 0;

    arena_init(&scratch);
    TRY_OUT(rc, store_begin(store, e));
    for (int32_t i = 0; i < p->runs_n && rc == 0; i++) {
        const struct plan_run *r = &p->run[i];
        struct store_run row = {.spec = &r->spec,
                                .run_id = r->run_id,
                                .config_id = r->config_id,
                                .train_run_id = r->train >= 0 ? p->run[r->train].run_id : NULL,
                                .parameters_n = r->cost.parameters_n,
                                .flops = r->cost.flops};
        rc = store_add_run(store, &row, e);
    }
    for (int32_t k = 0; k < p->artefacts_n && rc == 0; k++)
        rc = register_points(store, &scratch, p, &p->artefact[k], e);
    if (rc == 0) rc = register_papers(store, project, &scratch, p, e);
    if (rc == 0)
        rc = store_commit(store, e);
    else
        store_rollback(store);
out:
    arena_fini(&scratch);
    return rc;
}

int workflow_register(struct store *store, const struct project *project, const struct planning *p,
                      const struct plan_options *o, struct err *e)
{
    struct plan whole;
    struct plan_options all = *o;
    struct err why = {0};

    struct arena scratch;
    int rc;

    if (o->only_n == 0) return register_plan(store, project, &p->plan, e);
    arena_init(&scratch);
    const char **dirs = arena_array(&scratch, (size_t)p->plan.artefacts_n, sizeof *dirs);
    for (int32_t i = 0; i < p->plan.artefacts_n; i++) dirs[i] = p->plan.artefact[i].dir;
    all.only_n = 0;
    if (plan_open(&whole, project, dirs, p->plan.artefacts_n, &all, &why) < 0) {
        log_info("note: only the selected part is registered: %s", why.text);
        rc = register_plan(store, project, &p->plan, e);
    } else {
        rc = register_plan(store, project, &whole, e);
        plan_close(&whole);
    }
    arena_fini(&scratch);
    return rc;
}
