/* parallel.c - threads that live as long as one call. */
#include "base/parallel.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>

struct parallel_call {
    parallel_fn work;
    void *context;
    int32_t part;
    int rc;
    struct err why;
};

int32_t parallel_cores(void)
{
    cpu_set_t set;
    int32_t n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

    return n < PARALLEL_MAX ? n : PARALLEL_MAX;
}

static void *parallel_enter(void *argument)
{
    struct parallel_call *call = argument;

    call->rc = call->work(call->context, call->part, &call->why);
    return NULL;
}

int parallel_run(int32_t n, parallel_fn work, void *context, struct err *e)
{
    struct parallel_call call[PARALLEL_MAX];
    pthread_t thread[PARALLEL_MAX];
    int32_t started = 1;

    assert(n >= 1 && n <= PARALLEL_MAX);
    for (int32_t i = 0; i < n; i++)
        call[i] = (struct parallel_call){.work = work, .context = context, .part = i};
    while (started < n &&
           pthread_create(&thread[started], NULL, parallel_enter, &call[started]) == 0)
        started++;
    parallel_enter(&call[0]);
    for (int32_t i = 1; i < started; i++) pthread_join(thread[i], NULL);
    if (started < n) return ERR(e, ERR_NOMEM, "thread %d of %d cannot be started", started + 1, n);
    for (int32_t i = 0; i < n; i++)
        if (call[i].rc < 0) return ERR(e, call[i].rc, "%s", call[i].why.text);
    return 0;
}
