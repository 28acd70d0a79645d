/* executor_local.c - workers as processes of this machine (process.h). They die with the scheduler,
 * so that none is ever recovered. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/arena.h"
#include "scheduler/executor.h"

enum { LOCAL_WAIT_MS = 5000 };

struct local_job {
    struct local *local;
    struct local_job *next;
    struct process process;
    const char *dir; /* the caller's */
    bool log_failed; /* reported once */
};

struct local {
    const struct machine *machine;
    struct local_job *job; /* those not released */
    int epoll;             /* of the pipes that hold what workers print */
};

static void local_close(void *self)
{
    struct local *l = self;

    if (!l) return;
    if (l->epoll >= 0) close(l->epoll);
    free(l);
}

static int local_open(void **self, const struct executor_config *c, struct err *e)
{
    struct local *l = calloc(1, sizeof *l);

    if (!l) return ERR(e, ERR_NOMEM, "out of memory while opening the devices of this machine");
    l->machine = c->machine;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll < 0) {
        int error = errno;
        local_close(l);
        return ERR(e, ERR_NOMEM, "epoll_create1: %s", strerror(error));
    }
    *self = l;
    return 0;
}

static void local_release(void *job)
{
    struct local_job *j = job;

    for (struct local_job **at = &j->local->job; *at; at = &(*at)->next) {
        if (*at != j) continue;
        *at = j->next;
        break;
    }
    process_close(&j->process);
    free(j);
}

static int local_start(void *self, void **job, struct worker_id *id, const struct worker_options *o,
                       struct err *e)
{
    struct local *l = self;
    struct local_job *j = calloc(1, sizeof *j);
    struct epoll_event ready = {.events = EPOLLIN};

    if (!j) return ERR(e, ERR_NOMEM, "%s: out of memory while starting a worker", o->dir);
    *j = (struct local_job){.local = l, .next = l->job, .dir = o->dir};
    int rc = process_start(&j->process, o, e);
    if (rc < 0) {
        free(j);
        return rc;
    }
    l->job = j;
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, j->process.log_pipe, &ready) < 0) {
        rc = ERR(e, ERR_NOMEM, "%s: epoll_ctl: %s", o->dir, strerror(errno));
        local_release(j);
        return rc;
    }
    *id = (struct worker_id){.host = l->machine->host,
                             .boot_id = l->machine->boot_id,
                             .pid = j->process.pid,
                             .pid_start = j->process.pid_start};
    *job = j;
    return 0;
}

/* The process group by its recorded leader, then whatever still carries the attempt's mark. */
static int local_recover(void *self, void **job, struct worker_id *id,
                         const struct store_running *row, const char *attempt_dir, struct err *e)
{
    const struct local *l = self;

    (void)job, (void)id, (void)e;
    if (machine_is_alive(l->machine, row->host, row->boot_id, row->pid, row->pid_start))
        kill(-(pid_t)row->pid, SIGKILL);
    kill_leftover_workers(attempt_dir, LOCAL_WAIT_MS);
    return 0;
}

/* Drains all logs. The first that cannot be written is reported, each one once. */
static int local_service(void *self, struct err *e)
{
    int rc = 0;

    for (struct local_job *j = ((struct local *)self)->job; j; j = j->next) {
        struct err why;
        if (process_drain_log(&j->process, &why) >= 0 || j->log_failed || rc < 0) continue;
        j->log_failed = true;
        rc = ERR(e, why.code, "%s: %s", j->dir, why.text);
    }
    return rc;
}

static int local_wait_fd(void *self)
{
    return ((struct local *)self)->epoll;
}

static enum job_state local_poll(void *job, bool reported_end, struct exit_info *end)
{
    struct local_job *j = job;

    (void)reported_end;
    *end = (struct exit_info){.exit_code = -1, .signal = -1};
    return process_has_ended(&j->process, &end->exit_code, &end->signal) ? JOB_ENDED : JOB_RUNNING;
}

static void local_signal(void *job, enum job_signal signal)
{
    process_signal(&((struct local_job *)job)->process, signal == JOB_STOP ? SIGTERM : SIGKILL);
}

const struct executor executor_local = {
    .name = "local",
    .list = local_devices,
    .open = local_open,
    .close = local_close,
    .start = local_start,
    .recover = local_recover,
    .service = local_service,
    .wait_fd = local_wait_fd,
    .poll = local_poll,
    .signal = local_signal,
    .release = local_release,
};
