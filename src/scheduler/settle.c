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
        rc = ingest_abandoned(s, project_path(p, &arena, row[i].dir), row + i, same_n, NULL, e);
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
