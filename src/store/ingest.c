/* ingest.c - the worker's records become rows.
 *
 * 1. Every table has a key that a record repeats when it comes again: ingesting twice, or in
 *    another order, changes nothing.
 * 2. A record whose fields are missing or of another type is refused, naming the field.
 * 3. Of STEP records every k-th is kept, k = updates / 1000 rounded up, and the first and the last:
 *    the choice depends on the update's number only, so a resumed run keeps the same ones. */
#include <string.h>

#include "base/clock.h"
#include "store/database.h"

enum { INGEST_STEPS_KEPT = 1000 };

/* The record being read; the first field that is wrong is remembered. */
struct record {
    const struct event *event;
    const char *missing;
};

static struct database_value field(struct record *r, const char *name, char type, bool required)
{
    const json_t *value = json_object_get(r->event->json, name);
    double real = json_number_value(value);

    if (type == 'r' && json_is_number(value)) return DATABASE_REAL(real);
    if (type == 'i' && json_is_integer(value)) return DATABASE_INT(json_integer_value(value));
    if (type == 'i' && json_is_real(value) && real >= -9e15 && real <= 9e15 &&
        real == (double)(int64_t)real)
        return DATABASE_INT(real);
    if (type == 't' && json_is_string(value)) return DATABASE_TEXT(json_string_value(value));
    if (type == 'b' && json_is_boolean(value)) return DATABASE_INT(json_is_true(value));
    if ((required || (value && !json_is_null(value))) && !r->missing) r->missing = name;
    return DATABASE_NULL;
}

static struct database_value integer(struct record *r, const char *name)
{
    return field(r, name, 'i', true);
}
static struct database_value text(struct record *r, const char *name)
{
    return field(r, name, 't', true);
}
static struct database_value real(struct record *r, const char *name)
{
    return field(r, name, 'r', true);
}
static struct database_value perhaps(struct record *r, const char *name, char type)
{
    return field(r, name, type, false);
}
/* A flag that a record may leave out. */
static struct database_value flag(struct record *r, const char *name)
{
    struct database_value v = field(r, name, 'b', false);
    return v.type == 'n' ? DATABASE_INT(0) : v;
}

static int check(const struct record *r, const struct database_known *k, struct err *e)
{
    if (!r->missing) return 0;
    return ERR(e, ERR_DATA, "run %s: record %llu of type %d has no right '%s'", k->run_id,
               (unsigned long long)r->event->sequence, (int)r->event->type, r->missing);
}

static int started(struct store *s, struct record *r, const struct database_known *k, struct err *e)
{
    struct database_value device = text(r, "device");
    struct database_value backend = perhaps(r, "backend", 't');
    struct database_value blas = perhaps(r, "blas", 't');
    struct database_value threads = perhaps(r, "threads", 'i');
    struct database_value code_id = text(r, "code_id");
    struct database_value program = perhaps(r, "program", 't');
    struct database_value host = perhaps(r, "host", 't');

    TRY(check(r, k, e));
    return DATABASE_RUN(s, e,
                        "UPDATE run_attempts SET device=?2,backend=?3,blas=?4,threads=?5,"
                        "code_id=?6,program=?7,host=coalesce(host,?8) WHERE attempt_id=?1 AND "
                        "state='running'",
                        DATABASE_INT(k->attempt_id), device, backend, blas, threads, code_id,
                        program, host);
}

static int progress(struct store *s, struct record *r, const struct database_known *k,
                    struct err *e)
{
    char now[CLOCK_TEXT_BYTES];
    struct database_value done = real(r, "done");
    struct database_value total = real(r, "total");
    struct database_value loss = perhaps(r, "loss_nats", 'r');
    struct database_value wps = perhaps(r, "wps", 'r');

    TRY(check(r, k, e));
    if (!k->running) return 0;
    clock_utc(now);
    return DATABASE_RUN(s, e,
                        "INSERT INTO progress_now VALUES(?1,?2,?3,?4,?5,?6,?7)"
                        " ON CONFLICT(attempt_id) DO UPDATE SET sequence=excluded.sequence,"
                        "done=excluded.done,total=excluded.total,loss_nats=excluded.loss_nats,"
                        "wps=excluded.wps,updated_at=excluded.updated_at"
                        " WHERE excluded.sequence>progress_now.sequence",
                        DATABASE_INT(k->attempt_id), DATABASE_INT(r->event->sequence), done, total,
                        loss, wps, DATABASE_TEXT(now));
}

static bool step_is_kept(int64_t update, int64_t updates)
{
    int64_t every = (updates + INGEST_STEPS_KEPT - 1) / INGEST_STEPS_KEPT;
    return every <= 1 || update <= 1 || update == updates || update % every == 0;
}

static int step(struct store *s, struct record *r, const struct database_known *k, struct err *e)
{
    struct database_value update = integer(r, "update");

    TRY(check(r, k, e));
    if (!step_is_kept(update.integer, k->updates)) return 0;
    struct database_value loss = perhaps(r, "loss_nats", 'r');
    struct database_value lr = perhaps(r, "lr", 'r');
    struct database_value norm = perhaps(r, "grad_norm", 'r');
    TRY(check(r, k, e));
    return DATABASE_RUN(s, e,
                        "INSERT INTO curve_points(attempt_id,split,step,loss_nats,lr,grad_norm)"
                        " VALUES(?1,'train',?2,?3,?4,?5) ON CONFLICT DO NOTHING",
                        DATABASE_INT(k->attempt_id), update, loss, lr, norm);
}

static int validation(struct store *s, struct record *r, const struct database_known *k,
                      struct err *e)
{
    struct database_value update = integer(r, "update");
    struct database_value epoch = perhaps(r, "epoch", 'i');
    struct database_value loss = perhaps(r, "loss_nats", 'r');
    struct database_value perplexity = perhaps(r, "perplexity", 'r');
    struct database_value best = flag(r, "best");

    TRY(check(r, k, e));
    return DATABASE_RUN(s, e,
                        "INSERT INTO curve_points(attempt_id,split,step,loss_nats,epoch,perplexity,"
                        "best) VALUES(?1,'valid',?2,?3,?4,?5,?6) ON CONFLICT DO NOTHING",
                        DATABASE_INT(k->attempt_id), update, loss, epoch, perplexity, best);
}

static int checkpoint(struct store *s, struct record *r, const struct database_known *k,
                      struct err *e)
{
    struct database_value update = integer(r, "update");
    struct database_value path = text(r, "path");
    struct database_value sha256 = text(r, "sha256");
    struct database_value bytes = perhaps(r, "bytes", 'i');
    struct database_value best = flag(r, "best");

    TRY(check(r, k, e));
    return DATABASE_RUN(
        s, e, "INSERT INTO checkpoint_files VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT DO NOTHING",
        DATABASE_INT(k->attempt_id), DATABASE_INT(r->event->sequence), update, path, sha256, bytes,
        best);
}

/* 1 when the result in the record is of the attempt's own run, 0 when it is another's. */
static int is_own_result(struct record *r, const struct database_known *k, struct err *e)
{
    struct database_value run_id = text(r, "run_id");
    TRY(check(r, k, e));
    return strcmp(run_id.text, k->run_id) == 0;
}

static int trained(struct store *s, struct record *r, const struct database_known *k, struct err *e)
{
    struct database_value updates = integer(r, "updates");
    struct database_value tokens = integer(r, "tokens_per_update");
    struct database_value parameters = perhaps(r, "parameters", 'i');
    struct database_value loss = real(r, "final_loss_nats");
    struct database_value wps = perhaps(r, "train_wps", 'r');
    struct database_value memory = perhaps(r, "peak_memory_bytes", 'i');
    struct database_value seconds = perhaps(r, "wall_seconds", 'r');
    struct database_value best = perhaps(r, "best_checkpoint", 't');
    struct database_value best_hash = perhaps(r, "best_sha256", 't');
    struct database_value last = perhaps(r, "last_checkpoint", 't');
    struct database_value last_hash = perhaps(r, "last_sha256", 't');

    TRY(check(r, k, e));
    return DATABASE_RUN(s, e,
                        "INSERT INTO results(attempt_id,run_id,kind,sequence,current,late,updates,"
                        "tokens_per_update,parameters,final_loss_nats,train_wps,peak_memory_bytes,"
                        "wall_seconds,best_checkpoint,best_sha256,last_checkpoint,last_sha256)"
                        " VALUES(?1,?2,'train',?3,0,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)"
                        " ON CONFLICT(attempt_id,sequence) DO NOTHING",
                        DATABASE_INT(k->attempt_id), DATABASE_TEXT(k->run_id),
                        DATABASE_INT(r->event->sequence), DATABASE_INT(!k->running), updates,
                        tokens, parameters, loss, wps, memory, seconds, best, best_hash, last,
                        last_hash);
}

static int evaluated(struct store *s, struct record *r, const struct database_known *k,
                     struct err *e)
{
    struct database_value tokens = integer(r, "tokens");
    struct database_value nonfinite = integer(r, "nonfinite");
    bool finite = nonfinite.integer == 0;
    struct database_value loss = field(r, "loss_nats", 'r', finite);
    struct database_value perplexity = field(r, "perplexity", 'r', finite);
    struct database_value wps = perhaps(r, "eval_wps", 'r');
    struct database_value memory = perhaps(r, "peak_memory_bytes", 'i');
    struct database_value seconds = perhaps(r, "wall_seconds", 'r');
    struct database_value hash = perhaps(r, "checkpoint_sha256", 't');

    TRY(check(r, k, e));
    /* A mean over the finite targets only would read like a perplexity. */
    if (!finite) loss = perplexity = DATABASE_NULL;
    return DATABASE_RUN(s, e,
                        "INSERT INTO results(attempt_id,run_id,kind,sequence,current,late,"
                        "loss_nats,perplexity,tokens,nonfinite,eval_wps,peak_memory_bytes,"
                        "wall_seconds,checkpoint_sha256)"
                        " VALUES(?1,?2,'eval',?3,0,?4,?5,?6,?7,?8,?9,?10,?11,?12)"
                        " ON CONFLICT(attempt_id,sequence) DO NOTHING",
                        DATABASE_INT(k->attempt_id), DATABASE_TEXT(k->run_id),
                        DATABASE_INT(r->event->sequence), DATABASE_INT(!k->running), loss,
                        perplexity, tokens, nonfinite, wps, memory, seconds, hash);
}

static int benched(struct store *s, struct record *r, const struct database_known *k, struct err *e)
{
    struct database_value wps = real(r, "wps");
    struct database_value memory = perhaps(r, "peak_memory_bytes", 'i');
    struct database_value mfu = perhaps(r, "mfu", 'r');
    struct database_value tokens = perhaps(r, "batch_tokens", 'i');
    struct database_value seconds = perhaps(r, "wall_seconds", 'r');

    TRY(check(r, k, e));
    return DATABASE_RUN(s, e,
                        "INSERT INTO results(attempt_id,run_id,kind,sequence,current,late,wps,"
                        "peak_memory_bytes,mfu,batch_tokens,wall_seconds)"
                        " VALUES(?1,?2,'bench',?3,0,?4,?5,?6,?7,?8,?9)"
                        " ON CONFLICT(attempt_id,sequence) DO NOTHING",
                        DATABASE_INT(k->attempt_id), DATABASE_TEXT(k->run_id),
                        DATABASE_INT(r->event->sequence), DATABASE_INT(!k->running), wps, memory,
                        mfu, tokens, seconds);
}

/* The outcome is the scheduler's to judge. */
static int ended(struct store *s, struct record *r, const struct database_known *k, struct err *e)
{
    struct database_value choices = perhaps(r, "choices", 't');

    TRY(check(r, k, e));
    if (choices.type == 'n') return 0;
    return DATABASE_RUN(s, e,
                        "UPDATE run_attempts SET choices=?2 WHERE attempt_id=?1 AND "
                        "state='running'",
                        DATABASE_INT(k->attempt_id), choices);
}

static int know(struct store *s, int64_t attempt_id, const struct database_known **out,
                struct err *e)
{
    struct database_known *k = &s->known[(uint64_t)attempt_id % DATABASE_KNOWN];
    sqlite3_stmt *row;

    *out = k;
    if (k->attempt_id == attempt_id && attempt_id != 0) return 0;
    k->attempt_id = 0;
    TRY(DATABASE_SELECT(s, &row, e,
                        "SELECT a.run_id,coalesce(r.updates,0),a.state='running' FROM run_attempts "
                        "a JOIN runs r USING(run_id) WHERE a.attempt_id=?1",
                        DATABASE_INT(attempt_id)));
    int rc = database_next(s, row, e);
    if (rc < 0) return rc;
    if (rc == 0)
        return ERR(e, ERR_INTERNAL, "attempt id %lld: is not there", (long long)attempt_id);
    *k = (struct database_known){.attempt_id = attempt_id,
                                 .updates = sqlite3_column_int64(row, 1),
                                 .running = sqlite3_column_int(row, 2)};
    database_text(k->run_id, sizeof k->run_id, row, 0);
    database_reset(row);
    return 0;
}

typedef int (*ingest_fn)(struct store *, struct record *, const struct database_known *,
                         struct err *);
static const struct {
    ingest_fn ingest;
    bool result; /* of the run that the record names */
} record_types[] = {
    [EVENT_STARTED] = {started, false},
    [EVENT_PROGRESS] = {progress, false},
    [EVENT_STEP] = {step, false},
    [EVENT_VALIDATION] = {validation, false},
    [EVENT_CHECKPOINT] = {checkpoint, false},
    [EVENT_TRAINED] = {trained, true},
    [EVENT_EVALUATED] = {evaluated, true},
    [EVENT_BENCHED] = {benched, true},
    [EVENT_ENDED] = {ended, false},
};

int store_ingest(struct store *s, int64_t attempt_id, const struct event *ev, struct err *e)
{
    struct record r = {.event = ev};
    const struct database_known *k;
    size_t type = (size_t)ev->type;

    TRY(know(s, attempt_id, &k, e));
    if (type == 0 || type >= sizeof record_types / sizeof *record_types)
        return ERR(e, ERR_DATA, "run %s: record %llu has the unknown type %zu", k->run_id,
                   (unsigned long long)ev->sequence, type);
    if (record_types[type].result) {
        int own = is_own_result(&r, k, e);
        if (own <= 0) return own;
    }
    return record_types[type].ingest(s, &r, k, e);
}
