/* executor.c - the two tables. */
#include "scheduler/executor.h"

#include <signal.h>

static int process_execute(struct execution *x, const struct process_options *o, struct err *e)
{
    TRY(process_start(&x->process, o, e));
    x->pid = x->process.pid;
    x->pid_start = x->process.pid_start;
    return 0;
}

static bool process_has_begun(const struct execution *x)
{
    (void)x;
    return true;
}

static int process_take_log(struct execution *x, struct err *e)
{
    return process_drain_log(&x->process, e);
}

static void process_stop(struct execution *x)
{
    process_signal(&x->process, SIGTERM);
}

static void process_kill(struct execution *x)
{
    process_signal(&x->process, SIGKILL);
}

static bool process_is_over(struct execution *x, bool said, struct exit_info *end)
{
    (void)said;
    *end = (struct exit_info){.exit_code = -1, .signal = -1};
    return process_has_ended(&x->process, &end->exit_code, &end->signal);
}

static void process_leave(struct execution *x)
{
    process_close(&x->process);
}

const struct executor executor_local = {process_execute, process_has_begun, process_take_log,
                                        process_stop,    process_kill,      process_is_over,
                                        process_leave};

static int job_execute(struct execution *x, const struct process_options *o, struct err *e)
{
    TRY(slurm_submit(&x->job, o, e));
    x->pid = x->job.id;
    return 0;
}

static bool job_has_begun(const struct execution *x)
{
    return slurm_has_started(&x->job);
}

/* The job keeps its log itself. */
static int job_take_log(struct execution *x, struct err *e)
{
    (void)x;
    (void)e;
    return 0;
}

static void job_stop(struct execution *x)
{
    slurm_request(&x->job, SLURM_STOP);
}

static void job_kill(struct execution *x)
{
    slurm_request(&x->job, SLURM_CANCEL);
}

static bool job_is_over(struct execution *x, bool said, struct exit_info *end)
{
    *end = (struct exit_info){.exit_code = -1, .signal = -1};
    return slurm_has_ended(&x->job, said, &end->exit_code, &end->signal, end->why, sizeof end->why);
}

static void job_leave(struct execution *x)
{
    slurm_detach(&x->job);
}

const struct executor executor_slurm = {job_execute, job_has_begun, job_take_log, job_stop,
                                        job_kill,    job_is_over,   job_leave};
