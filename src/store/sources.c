/* sources.c - weights that were made elsewhere and stand for those of a training. */
#include "store/database.h"
#include "store/ingest.h"
#include "store/statements.h"

int sources_replace(struct store *s, const char *run_id, struct err *e)
{
    return DATABASE_RUN(s, e, "UPDATE sources SET current=0 WHERE id=?1 AND current=1",
                        DATABASE_TEXT(run_id));
}

static int insert_source(struct store *s, const struct store_source *x, struct err *e)
{
    const struct record_source *r = x->record;
    struct record_value updates = DATABASE_INT(r->updates), tokens, parameters;

    updates.known = r->updates != RECORD_NONE;
    tokens = DATABASE_INT(r->tokens_per_update);
    tokens.known = r->tokens_per_update != RECORD_NONE;
    parameters = DATABASE_INT(r->parameters);
    parameters.known = r->parameters != RECORD_NONE;
    return DATABASE_RUN(
        s, e,
        "INSERT INTO sources(uid,id,kind,name,current,attempt,dir,path,sha256,tokenizer,files,"
        "updates,tokens_per_update,final_loss_nats,parameters,code_id,registered_at)"
        " VALUES(coalesce(?1,lower(hex(randomblob(16)))),?2,?3,?4,1,?5,?6,?7,?8,?9,?10,?11,?12,"
        "?13,?14,?15,coalesce(?16," DATABASE_NOW "))",
        DATABASE_TEXT(x->uid), DATABASE_TEXT(r->run_id), DATABASE_TEXT(r->kind),
        DATABASE_TEXT(r->name), DATABASE_INT(x->attempt), DATABASE_TEXT(x->dir),
        DATABASE_TEXT(r->path), DATABASE_TEXT(r->sha256), DATABASE_TEXT(r->tokenizer),
        DATABASE_TEXT(r->files), updates, tokens, DATABASE_REAL(r->final_loss_nats), parameters,
        DATABASE_TEXT(r->code_id), DATABASE_TEXT(x->registered_at));
}

int store_add_source(struct store *s, const struct store_source *x, struct err *e)
{
    const char *run_id = x->record->run_id;
    int rc = 0;

    TRY(store_begin(s, e));
    TRY_OUT(rc, store_clear_results(s, run_id, e));
    TRY_OUT(rc, insert_source(s, x, e));
    TRY_OUT(rc, results_unlink_evaluations(s, run_id, e));
out:
    return store_finish(s, rc, e);
}

int store_ingest_source(struct store *s, const char *dir, const char *path, int32_t attempt,
                        struct err *e)
{
    char records[HASH_HEX_BYTES], uid[HASH_HEX_BYTES];
    struct arena a;
    struct record r;
    int rc = 0;

    arena_init(&a);
    TRY_OUT(rc, hash_file(records, run_folder_path(&a, path, RUN_EVENTS), e));
    rc = run_folder_find(&r, &a, path, EVENT_SOURCE, e);
    if (rc == 0) rc = ERR(e, ERR_DATA, "%s: no record of a source", path);
    if (rc < 0) goto out;
    ingest_uid(uid, r.source.run_id, records);
    const struct store_source source = {
        .record = &r.source, .attempt = attempt, .dir = dir, .uid = uid};
    rc = store_add_source(s, &source, e);
out:
    arena_fini(&a);
    return rc;
}
