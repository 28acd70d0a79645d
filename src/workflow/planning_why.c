/* planning_why.c - why a run of a plan would run: what was tried before, and, for a point of an
 * artefact that asked for another run when it was last run, the settings that differ. */
#include <string.h>

#include "base/str.h"
#include "workflow/planning.h"

enum { WHY_SETTINGS_MAX = 3 };

/* Whether the key is a part of a run's identity. */
static bool counts(const struct spec_key *key, const struct spec *s)
{
    return key->hashed && (!key->applies || key->applies(s));
}

/* "train.lr 2, was 3; model.dropout 0.1, was 0; and 2 more". */
static char *describe(const struct spec *now, const struct spec *before, struct arena *a)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    int32_t found = 0;
    struct strbuf b;

    strbuf_init(&b, a);
    for (size_t i = 0; i < n; i++) {
        bool is = counts(&keys[i], now), was = counts(&keys[i], before);
        const char *value = is ? spec_get(now, &keys[i], a) : "not set";
        const char *earlier = was ? spec_get(before, &keys[i], a) : "not set";
        if (strcmp(value, earlier) == 0 || found++ >= WHY_SETTINGS_MAX) continue;
        if (strcmp(keys[i].name, "eval.train_run") == 0)
            strbuf_addf(&b, "%sits training is another", b.n ? "; " : "");
        else
            strbuf_addf(&b, "%s%s %s, was %s", b.n ? "; " : "", keys[i].name, value, earlier);
    }
    if (found > WHY_SETTINGS_MAX) strbuf_addf(&b, "; and %d more", found - WHY_SETTINGS_MAX);
    return b.text;
}

struct search {
    struct planning *p;
    int32_t from; /* the point where the next row's is likely to be */
};

/* The point of a row: they come in the plan's order, so that the search is short. */
static const struct plan_point *find_point(struct search *x, const char *artefact, int64_t point)
{
    const struct plan *p = &x->p->plan;

    for (int32_t k = 0; k < p->points_n; k++) {
        int32_t i = (x->from + k) % p->points_n;
        if (p->point[i].point != point || strcmp(p->point[i].artefact, artefact) != 0) continue;
        x->from = i + 1;
        return &p->point[i];
    }
    return NULL;
}

/* A point as it was last run: artefact, point, run_id, scale, spec. */
static int take_point(void *context, int columns_n, const char *const *names,
                      const struct store_cell *cells, struct err *e)
{
    struct search *x = context;
    struct planning *p = x->p;
    struct spec before;
    int64_t number;

    (void)columns_n, (void)names, (void)e;
    if (!str_to_int(&number, cells[1].text)) return 0;
    const struct plan_point *at = find_point(x, cells[0].text, number);
    if (!at) return 0;
    const struct plan_run *run = &p->plan.run[at->run];
    if (p->changed[at->run] || p->state[at->run].last != STORE_NONE || p->state[at->run].done ||
        strcmp(run->spec.scale, cells[3].text) != 0)
        return 0;
    /* What a program of another meaning wrote cannot be compared. */
    if (spec_parse(&before, cells[4].text, NULL) < 0 || before.kind != run->spec.kind) return 0;
    p->changed[at->run] = describe(&run->spec, &before, &p->plan.arena);
    return 0;
}

int planning_find_changes(struct planning *p, struct store *store, struct err *e)
{
    struct search x = {.p = p};

    p->changed = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->changed);
    if (!store || p->plan.points_n == 0 || p->done_n == p->plan.runs_n) return 0;
    return store_query(store,
                       "SELECT p.artefact, p.point, p.run_id, p.scale, r.spec FROM artefact_points "
                       "p JOIN run_list r ON r.run_id = p.run_id ORDER BY p.artefact, p.point",
                       NULL, 0, 60, take_point, &x, e);
}

char *planning_why(const struct planning *p, int32_t run, struct arena *a)
{
    const struct store_run_state *s = &p->state[run];
    const char *again = s->failures_n > 1 ? arena_printf(a, " %d times", s->failures_n) : "";

    if (s->done) return arena_strdup(a, "done");
    if (!spec_is_defined(&p->plan.run[run].spec))
        return arena_strdup(a, "not defined beyond L_train; will not run");
    if (s->last == STORE_NONE)
        return p->changed[run] ? arena_printf(a, "new: %s", p->changed[run])
                               : arena_strdup(a, "new");
    if (s->last == STORE_CANCELLED) return arena_strdup(a, "cancelled; resumes");
    if (s->last == STORE_RUNNING) return arena_strdup(a, "running, or its scheduler died");
    if (s->last == STORE_DONE) return arena_strdup(a, "to be done again");
    return arena_printf(a, "%s%s: %s", store_state_name(s->last), again, s->last_message);
}
