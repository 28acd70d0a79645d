/* runs.c - runs, points of artefacts, verdicts of claims. */
#include <stdio.h>
#include <string.h>

#include "spec/spec.h"
#include "store/database.h"

static const char *key_text(const struct spec *spec, const char *name, struct arena *a)
{
    return spec_get(spec, spec_key_find(name), a);
}

/* The same id must have the same text. A request for the unmodified run clears `modified`. */
static int check_known(struct store *s, const struct store_run *r, const char *canonical,
                       bool *known, struct err *e)
{
    bool same;
    int rc = database_get(s, "SELECT canonical=?2 FROM runs WHERE run_id=?1",
                          DATABASE_VALUES(DATABASE_TEXT(r->run_id), DATABASE_TEXT(canonical)),
                          DATABASE_COLUMNS(DATABASE_TO(same)), e);

    *known = rc > 0;
    if (rc > 0 && !same)
        return ERR(e, ERR_DATA,
                   "%s: run %s has another specification than its id states" DATABASE_REBUILD,
                   s->path, r->run_id);
    if (rc <= 0 || r->spec->modified) return rc < 0 ? rc : 0;
    return DATABASE_RUN(s, e, "UPDATE runs SET modified=0 WHERE run_id=?1 AND modified=1",
                        DATABASE_TEXT(r->run_id));
}

static int insert_run(struct store *s, const struct store_run *r, const char *canonical,
                      struct arena *a, struct err *e)
{
    const struct spec *p = r->spec;
    bool eval = p->kind == SPEC_EVAL;
    bool bench = p->kind == SPEC_BENCH;
    bool sliding = eval && p->eval.window == SPEC_SLIDING;
    struct record_value none = DATABASE_NULL;

    return DATABASE_RUN(
        s, e,
        "INSERT INTO runs(run_id,kind,config_id,train_run_id,scale,modified,origin,dataset,corpus,"
        "model,position,L_train,seed,precision,updates,parameters,L_valid,split,protocol,stride,"
        "first_window,checkpoint,targets,mode,flops,canonical,spec,created_at) VALUES(?1,?2,?3,?4,"
        "?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26,?"
        "27," DATABASE_NOW ")",
        DATABASE_TEXT(r->run_id), DATABASE_TEXT(spec_kind_name(p->kind)),
        DATABASE_TEXT(r->config_id), DATABASE_TEXT(eval ? r->train_run_id : NULL),
        DATABASE_TEXT(p->scale), DATABASE_INT(p->modified),
        DATABASE_TEXT(r->imported ? "imported" : "trained"), DATABASE_TEXT(p->data.dataset),
        DATABASE_TEXT(p->data.corpus), DATABASE_TEXT(p->model.name),
        DATABASE_TEXT(spec_position_name(p->model.position)), DATABASE_INT(p->train.L),
        DATABASE_INT(p->train.seed),
        DATABASE_TEXT(key_text(p, eval ? "eval.precision" : "train.precision", a)),
        p->kind == SPEC_TRAIN ? DATABASE_INT(p->train.updates) : none,
        DATABASE_POSITIVE(r->parameters_n), DATABASE_POSITIVE(spec_valid_length(p)),
        DATABASE_TEXT(eval ? key_text(p, "eval.split", a) : NULL),
        DATABASE_TEXT(eval ? key_text(p, "eval.window", a) : NULL),
        sliding ? DATABASE_INT(p->eval.stride) : none,
        /* SPEC.md section 12: the early sliding windows have less context. */
        DATABASE_TEXT(sliding ? "growing"
                      : eval  ? "whole"
                              : NULL),
        DATABASE_TEXT(eval ? key_text(p, "eval.checkpoint", a) : NULL),
        eval ? DATABASE_INT(p->eval.targets) : none,
        DATABASE_TEXT(!bench          ? NULL
                      : p->bench_mode ? "eval"
                                      : "train"),
        r->flops > 0 ? DATABASE_REAL(r->flops) : none, DATABASE_TEXT(canonical),
        DATABASE_TEXT(spec_text(p, a)));
}

static int insert_settings(struct store *s, const struct store_run *r, struct arena *a,
                           struct err *e)
{
    size_t n;
    struct spec_line *line = spec_lines(r->spec, &n, a);

    for (size_t i = 0; i < n; i++)
        TRY(DATABASE_RUN(s, e, "INSERT INTO run_settings VALUES(?1,?2,?3,?4)",
                         DATABASE_TEXT(r->run_id), DATABASE_TEXT(line[i].key),
                         DATABASE_TEXT(line[i].value), DATABASE_INT(line[i].hashed)));
    return 0;
}

int store_add_run(struct store *s, const struct store_run *r, struct err *e)
{
    struct arena a;
    int rc = 0;
    bool known = false;

    TRY(store_begin(s, e));
    arena_init(&a);
    const char *canonical = spec_canonical(r->spec, &a);
    TRY_OUT(rc, check_known(s, r, canonical, &known, e));
    if (!known) TRY_OUT(rc, insert_run(s, r, canonical, &a, e));
    if (!known) TRY_OUT(rc, insert_settings(s, r, &a, e));
out:
    rc = store_finish(s, rc, e);
    if (rc < 0) err_ctx(e, "run %s", r->run_id);
    arena_fini(&a);
    return rc;
}

/* Points that the artefact no longer needs are kept under its name and " (earlier)", so that their
 * runs keep the paper's lengths. 1. All are renamed. 2. The new ones are added. 3. Renamed points
 * of runs that any artefact needs are deleted. */
static const char rename_old_points[] =
    "UPDATE points SET artefact=?1||' (earlier)', point=point+(SELECT coalesce(max(o.point)+1,0)"
    " FROM points o WHERE o.artefact=?1||' (earlier)' AND o.scale=?2)"
    " WHERE artefact=?1 AND scale=?2";
static const char delete_shared_points[] =
    "DELETE FROM points WHERE artefact=?1||' (earlier)' AND scale=?2 AND EXISTS(SELECT 1 FROM"
    " points o WHERE o.run_id=points.run_id AND o.artefact<>points.artefact)";

int store_set_points(struct store *s, const char *artefact, const char *scale,
                     const struct store_point *points, int32_t n, struct err *e)
{
    int rc = 0;

    TRY(store_begin(s, e));
    TRY_OUT(rc,
            DATABASE_RUN(s, e, rename_old_points, DATABASE_TEXT(artefact), DATABASE_TEXT(scale)));
    for (int32_t i = 0; i < n; i++)
        TRY_OUT(rc, DATABASE_RUN(s, e, "INSERT INTO points VALUES(?1,?2,?3,?4,?5,?6,?7)",
                                 DATABASE_TEXT(artefact), DATABASE_TEXT(scale),
                                 DATABASE_INT(points[i].point), DATABASE_TEXT(points[i].run_id),
                                 DATABASE_POSITIVE(points[i].L_train_nominal),
                                 DATABASE_POSITIVE(points[i].L_valid_nominal),
                                 DATABASE_POSITIVE(points[i].stride_nominal)));
    rc = DATABASE_RUN(s, e, delete_shared_points, DATABASE_TEXT(artefact), DATABASE_TEXT(scale));
out:
    rc = store_finish(s, rc, e);
    if (rc < 0) err_ctx(e, "points of %s", artefact);
    return rc;
}

int store_set_claims(struct store *s, const char *artefact, const char *scale,
                     const struct store_claim *claims, int32_t n, struct err *e)
{
    int rc = 0;

    TRY(store_begin(s, e));
    TRY_OUT(rc, DATABASE_RUN(s, e, "DELETE FROM claim_verdicts WHERE artefact=?1 AND scale=?2",
                             DATABASE_TEXT(artefact), DATABASE_TEXT(scale)));
    for (int32_t i = 0; i < n; i++)
        TRY_OUT(rc, DATABASE_RUN(
                        s, e,
                        "INSERT INTO claim_verdicts(artefact,scale,claim,statement,"
                        "verdict,evidence,judged_at) VALUES(?1,?2,?3,?4,?5,?6," DATABASE_NOW ")",
                        DATABASE_TEXT(artefact), DATABASE_TEXT(scale),
                        DATABASE_TEXT(claims[i].claim), DATABASE_TEXT(claims[i].statement),
                        DATABASE_TEXT(claims[i].verdict), DATABASE_TEXT(claims[i].evidence)));
out:
    rc = store_finish(s, rc, e);
    if (rc < 0) err_ctx(e, "claims of %s", artefact);
    return rc;
}

int store_find_run(struct store *s, char run_id[SPEC_ID_BYTES], const char *prefix, struct err *e)
{
    size_t n = strlen(prefix);
    const char *found;
    int32_t matches_n;

    if (n < 4 || n >= SPEC_ID_BYTES || strspn(prefix, "0123456789abcdef") != n)
        return ERR(e, ERR_USAGE, "'%.40s' is not a run id (4 to 16 hex digits)", prefix);
    TRY(database_refresh(s, e));
    TRY(database_get(s, "SELECT count(*),min(run_id) FROM runs WHERE run_id>=?1 AND run_id<?1||'g'",
                     DATABASE_VALUES(DATABASE_TEXT(prefix)),
                     DATABASE_COLUMNS(DATABASE_TO(matches_n), DATABASE_TO(found)), e));
    if (matches_n == 0)
        return ERR(e, ERR_NOINPUT,
                   "no run matches '%s'; `alibi query \"SELECT run_id FROM run_list\"` lists them",
                   prefix);
    snprintf(run_id, SPEC_ID_BYTES, "%s", found);
    if (matches_n == 1) return 0;
    return ERR(e, ERR_USAGE, "run id '%s' is ambiguous: %d runs match", prefix, matches_n);
}
