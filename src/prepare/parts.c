/* parts.c - cuts, and threads that are gone when their work is. */
#include "prepare/parts.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { PARTS_BYTES_MIN = 4 << 20 }; /* less is done before a thread has begun */

struct parts_call {
    parts_work_fn work;
    void *context;
    int32_t part;
    int rc;
    struct err why;
};

int32_t parts_threads(size_t n, const struct text_progress *progress)
{
    cpu_set_t set;
    size_t worth = n / PARTS_BYTES_MIN;

    if (progress && progress->threads > 0)
        return progress->threads < PARTS_MAX ? progress->threads : PARTS_MAX;
    int32_t threads = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    if (threads > PARTS_MAX) threads = PARTS_MAX;
    if ((size_t)threads > worth) threads = (int32_t)worth;
    return threads > 1 ? threads : 1;
}

void parts_cut(struct parts *out, int32_t wanted, const char *text, size_t n)
{
    const char *end = n ? text + n : text;

    *out = (struct parts){.n = 1, .bound = {text}};
    for (int32_t i = 1; i < wanted; i++) {
        const char *at = text + n / (size_t)wanted * (size_t)i;
        if (at < out->bound[out->n - 1]) continue;
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (!line_end || line_end + 1 == end) break;
        out->bound[out->n++] = line_end + 1;
    }
    out->bound[out->n] = end;
}

static void *parts_enter(void *argument)
{
    struct parts_call *call = argument;
    call->rc = call->work(call->context, call->part, &call->why);
    return NULL;
}

int parts_run(int32_t n, parts_work_fn work, void *context, struct err *e)
{
    struct parts_call call[PARTS_MAX];
    pthread_t thread[PARTS_MAX];
    int32_t started = 1;
    bool lacking = false;

    for (int32_t i = 0; i < n; i++)
        call[i] = (struct parts_call){.work = work, .context = context, .part = i};
    for (; started < n && !lacking; started += !lacking)
        lacking = pthread_create(&thread[started], NULL, parts_enter, &call[started]) != 0;
    parts_enter(&call[0]);
    for (int32_t i = 1; i < started; i++) pthread_join(thread[i], NULL);
    if (lacking) return ERR(e, ERR_NOMEM, "no thread %d of %d can be had", started, n);
    for (int32_t i = 0; i < n; i++)
        if (call[i].rc < 0) return ERR(e, call[i].rc, "%s", call[i].why.text);
    return 0;
}
