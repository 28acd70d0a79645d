/* settle.c - what an earlier scheduler left unfinished.
 *
 * Holding the store's lock proves that no scheduler of this project lives. Its processes died with
 * it (PR_SET_PDEATHSIG); should one live all the same, in part or whole, it is killed before its
 * records are read, so that nothing can be added to them afterwards. Its jobs of Slurm go on and
 * are left alone. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "scheduler/lease.h"

enum { SETTLE_WAIT_MS = 5000 };

/* The worker's process group by its recorded leader, then whatever still carries its mark. */
static void settle_kill(const struct machine *m, const struct store_running *row,
                        const char *attempt_dir)
{
    if (machine_is_alive(m, row->host, row->boot_id, row->pid, row->pid_start))
        kill(-(pid_t)row->pid, SIGKILL);
    kill_leftover_workers(attempt_dir, SETTLE_WAIT_MS);
}

/* There is no exit status to ask for: its own last word counts, and done needs the result too. */
static void settle_judge(const struct journal *j, const struct ingest_target *run,
                         struct store_end *end)
{
    *end = (struct store_end){.exit_code = -1, .signal = -1};
    if (j->broken)
        end->state = STORE_FAILED;
    else if (j->said == STORE_DONE && run->has_result)
        end->state = STORE_DONE;
    else if (j->said == STORE_NONE || j->said == STORE_DONE)
        end->state = STORE_LOST;
    else
        end->state = j->said;
    end->message = *j->message ? j->message : NULL;
    if (end->state == STORE_LOST) end->message = "its scheduler ended before it did";
}

int attempt_close_stale(struct store *s, const struct project *p, const struct store_running *row,
                        int32_t n, const char *ended_at, struct err *e)
{
    int rc = 0;
    bool batch = false;
    struct arena arena;
    struct journal j = {0};

    arena_init(&arena);
    struct ingest_target *run = arena_array(&arena, (size_t)n, sizeof *run);
    for (int32_t i = 0; i < n; i++) {
        run[i].attempt_id = row[i].attempt_id;
        memcpy(run[i].run_id, row[i].run_id, sizeof run[i].run_id);
    }
    const char *events = arena_printf(&arena, "%s/events", project_path(p, &arena, row->dir));
    TRY_OUT(rc, journal_open(&j, events, run, n, e));
    int64_t before;
    do {
        before = j.records_n;
        TRY_OUT(rc, ingest_new_records(&j, s, &batch, e));
    } while (j.records_n > before);
    for (int32_t i = 0; i < n; i++) {
        struct store_end end;
        settle_judge(&j, &run[i], &end);
        end.ended_at = ended_at;
        TRY_OUT(rc, store_end_attempt(s, run[i].attempt_id, &end, e));
    }
    if (batch) rc = store_commit(s, e);
    batch = batch && rc < 0;
out:
    if (batch) store_rollback(s);
    journal_close(&j);
    arena_fini(&arena);
    return rc;
}

int32_t attempt_gather_running(struct store_running *row, int32_t n)
{
    int32_t same_n = 1;

    for (int32_t i = 1; i < n; i++) {
        if (strcmp(row[i].dir, row[0].dir) != 0) continue;
        struct store_running kept = row[same_n];
        row[same_n++] = row[i];
        row[i] = kept;
    }
    return same_n;
}

/* Whether the attempt's job still runs. Where there is no squeue there are no jobs. */
static int settle_ask(bool *goes_on, struct slurm *slurm, const struct store_running *row,
                      struct err *e)
{
    *goes_on = false;
    if (strcmp(row->slot, "slurm") != 0) return 0;
    if (slurm->asked_us == 0) {
        int rc = slurm_query(slurm, e);
        if (rc == ERR_UNAVAILABLE) return 0;
        if (rc < 0) {
            err_ctx(e, "whether job %lld still runs is not known", (long long)row->pid);
            return rc;
        }
    }
    *goes_on = slurm_find(slurm, row->pid, row->dir) != NULL;
    return 0;
}

int scheduler_recover(struct store *s, const struct project *p, const struct machine *m,
                      struct slurm *slurm, int32_t *settled_n, struct err *e)
{
    int rc = 0;
    int32_t n = 0;
    struct store_running *row = NULL;
    struct arena arena;

    *settled_n = 0;
    arena_init(&arena);
    TRY_OUT(rc, store_running(s, &arena, &row, &n, e));
    for (int32_t i = 0, same_n; i < n; i += same_n) {
        bool goes_on;
        same_n = attempt_gather_running(row + i, n - i);
        TRY_OUT(rc, settle_ask(&goes_on, slurm, &row[i], e));
        if (goes_on) continue;
        if (strcmp(row[i].slot, "slurm") != 0)
            settle_kill(m, &row[i], project_path(p, &arena, row[i].dir));
        rc = attempt_close_stale(s, p, row + i, same_n, NULL, e);
        if (rc < 0) {
            err_ctx(e, "%s", row[i].dir);
            goto out;
        }
        *settled_n += same_n;
    }
out:
    arena_fini(&arena);
    return rc;
}
