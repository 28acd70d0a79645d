/* runs.c - runs, points of artefacts, verdicts of claims. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>

#include "spec/spec.h"
#include "store/database.h"
#include "store/open.h"
#include "store/statements.h"

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
        return ERR(e, ERR_DATA, "%s: run %s has another specification than its id states%s",
                   s->path, r->run_id, database_rebuild(s));
    if (rc <= 0 || r->spec->modified) return rc < 0 ? rc : 0;
    return DATABASE_RUN(s, e, "UPDATE runs SET modified=0 WHERE run_id=?1 AND modified=1",
                        DATABASE_TEXT(r->run_id));
}

/* The statement that inserts a run: the columns that no key fills, then those of the key table. */
static char insert_sql[2048];
static once_flag insert_made = ONCE_FLAG_INIT;
enum { OWN_COLUMNS_N = 11 };

static void make_insert(void)
{
    size_t keys_n, n = OWN_COLUMNS_N;
    const struct spec_key *keys = spec_keys(&keys_n);
    struct arena a;
    struct strbuf b;

    arena_init(&a);
    strbuf_init(&b, &a);
    strbuf_add(&b, "INSERT INTO runs(run_id,config_id,train_run_id,modified,precision,"
                   "parameters,L_valid,first_window,flops,canonical,spec");
    for (size_t i = 0; i < keys_n; i++)
        if (keys[i].column) strbuf_addf(&b, ",%s", keys[i].column), n++;
    strbuf_add(&b, ",created_at) VALUES(");
    for (size_t i = 0; i < n; i++) strbuf_add(&b, "?,");
    strbuf_add(&b, DATABASE_NOW ")");
    assert(b.n < sizeof insert_sql);
    memcpy(insert_sql, b.text, b.n + 1);
    arena_fini(&a);
}

static int insert_run(struct store *s, const struct store_run *r, const char *canonical,
                      struct arena *a, struct err *e)
{
    const struct spec *p = r->spec;
    bool eval = p->kind == SPEC_EVAL;
    const char *precision;
    size_t keys_n;
    int n = OWN_COLUMNS_N;
    const struct spec_key *keys = spec_keys(&keys_n);

    (void)spec_precision(p, &precision);
    struct record_value value[OWN_COLUMNS_N + SPEC_KEYS_MAX] = {
        DATABASE_TEXT(r->run_id),
        DATABASE_TEXT(r->config_id),
        DATABASE_TEXT(eval ? r->train_run_id : NULL),
        DATABASE_INT(p->modified),
        DATABASE_TEXT(spec_get(p, spec_key_find(precision), a)),
        DATABASE_POSITIVE(r->parameters_n),
        DATABASE_POSITIVE(spec_valid_length(p)),
        /* SPEC.md section 12: the early sliding windows have less context. */
        DATABASE_TEXT(!eval                            ? NULL
                      : p->eval.window == SPEC_SLIDING ? "growing"
                                                       : "whole"),
        r->flops > 0 ? DATABASE_REAL(r->flops) : DATABASE_NULL,
        DATABASE_TEXT(canonical),
        DATABASE_TEXT(spec_text(p, a)),
    };
    for (size_t i = 0; i < keys_n; i++) {
        if (!keys[i].column) continue;
        /* A pretrained model has no seed that anyone knows; the column needs a number. */
        const char *without = strcmp(keys[i].name, "train.seed") == 0 ? "0" : NULL;
        value[n++] =
            DATABASE_TEXT(spec_key_describes(&keys[i], p) ? spec_get(p, &keys[i], a) : without);
    }
    call_once(&insert_made, make_insert);
    return database_run(s, insert_sql, value, n, e);
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
 * get their name back if they have a result and are another seed of a new one: fewer seeds than
 * before leave none out of tables. 4. Renamed points of runs that any artefact needs are deleted.
 */
static const char rename_old_points[] =
    "UPDATE points SET artefact=?1||' (earlier)', point=point+(SELECT coalesce(max(o.point)+1,0)"
    " FROM points o WHERE o.artefact=?1||' (earlier)' AND o.scale=?2)"
    " WHERE artefact=?1 AND scale=?2";
#define LENGTHS "coalesce(L_train_nominal,0),coalesce(L_valid_nominal,0),coalesce(stride_nominal,0)"
static const char keep_seeds[] =
    "UPDATE points SET artefact=?1, point=point+(SELECT coalesce(max(o.point)+1,0)"
    " FROM points o WHERE o.artefact=?1 AND o.scale=?2)"
    " WHERE artefact=?1||' (earlier)' AND scale=?2"
    " AND EXISTS(SELECT 1 FROM results v WHERE v.run_id=points.run_id AND v.current=1)"
    " AND ((SELECT config_id FROM runs r WHERE r.run_id=points.run_id)," LENGTHS ") IN"
    "  (SELECT config_id," LENGTHS " FROM points JOIN runs USING(run_id)"
    "  WHERE artefact=?1 AND points.scale=?2)"
    " AND (run_id," LENGTHS ") NOT IN"
    "  (SELECT run_id," LENGTHS " FROM points WHERE artefact=?1 AND scale=?2)";
static const char hide_seeds[] = "UPDATE points SET artefact=artefact||' (hidden)'"
                                 " WHERE run_id IN (SELECT run_id FROM runs WHERE seed>?1)";
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
    TRY_OUT(rc, DATABASE_RUN(s, e, keep_seeds, DATABASE_TEXT(artefact), DATABASE_TEXT(scale)));
    rc = DATABASE_RUN(s, e, delete_shared_points, DATABASE_TEXT(artefact), DATABASE_TEXT(scale));
out:
    rc = store_finish(s, rc, e);
    if (rc < 0) err_ctx(e, "points of %s", artefact);
    return rc;
}

int store_hide_seeds(struct store *s, int32_t seeds, struct err *e)
{
    return DATABASE_RUN(s, e, hide_seeds, DATABASE_INT(seeds));
}

int store_set_claims(struct store *s, const char *artefact, const char *scale,
                     const struct store_claim *claims, int32_t n, struct err *e)
{
    int rc = 0;

    TRY(store_begin(s, e));
    TRY_OUT(rc, DATABASE_RUN(s, e, "DELETE FROM claim_verdicts WHERE artefact=?1 AND scale=?2",
                             DATABASE_TEXT(artefact), DATABASE_TEXT(scale)));
    for (int32_t i = 0; i < n; i++)
        TRY_OUT(rc,
                DATABASE_RUN(s, e,
                             "INSERT INTO claim_verdicts VALUES(?1,?2,?3,?4,?5,?6," DATABASE_NOW
                             ",?7,?8,?9,?10,?11,?12,?13,?14,?15,?16)",
                             DATABASE_TEXT(artefact), DATABASE_TEXT(scale),
                             DATABASE_TEXT(claims[i].claim), DATABASE_TEXT(claims[i].statement),
                             DATABASE_TEXT(claims[i].verdict), DATABASE_TEXT(claims[i].evidence),
                             DATABASE_TEXT(claims[i].threshold), DATABASE_TEXT(claims[i].effect),
                             DATABASE_TEXT(claims[i].error), DATABASE_TEXT(claims[i].low),
                             DATABASE_TEXT(claims[i].high), DATABASE_TEXT(claims[i].seeds),
                             DATABASE_TEXT(claims[i].split), DATABASE_TEXT(claims[i].runs),
                             DATABASE_TEXT(claims[i].codes), DATABASE_TEXT(claims[i].cases)));
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
