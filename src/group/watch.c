/* watch.c - the thread that ends a rank when another is lost, and the end that all reach together.
 *
 * A rank has one connection to rank 0, on which both send messages of one length. The thread is
 * their only reader. A connection that closes before MESSAGE_END means a lost rank. Rank 0 passes
 * the first cause on, so that every rank reports the same one. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "group/group_internal.h"

/* The time that the watcher needs at most to learn why a peer's connection broke, and the time a
 * message may wait for room in a connection. */
enum { OUTLIVE_S = 10, SEND_S = 5 };

void watch_outlive(void)
{
    struct err ignored;
    (void)socket_wait(NULL, 0, socket_deadline(OUTLIVE_S), &ignored);
}

void group_blame(const struct group *g, enum err_cause cause, int32_t rank, struct err *e)
{
    if (e->cause == ERR_CAUSE_OWN && e->rank < 0)
        (void)err_blame(e, cause, rank, g->member_own[rank].node);
}

struct err message_take(const struct group_message *m)
{
    struct err e = m->why;

    if (e.code > ERR_USAGE || e.code < ERR_OUTPUT) e.code = ERR_INTERNAL;
    if ((unsigned)e.cause >= ERR_CAUSES_N) e.cause = ERR_CAUSE_NONE;
    if (e.rank < -1 || e.rank >= GROUP_RANKS_MAX) e.rank = -1;
    e.text[sizeof e.text - 1] = e.node[sizeof e.node - 1] = '\0';
    return e;
}

int watch_send(struct group *g, int32_t rank, enum group_message_kind kind, const struct err *why,
               struct err *e)
{
    struct group_message m = {.kind = kind};

    if (why) m.why = *why;
    pthread_mutex_lock(&g->lock);
    int rc = socket_send(g->control_own[rank], &m, sizeof m, socket_deadline(SEND_S), e);
    pthread_mutex_unlock(&g->lock);
    return rc;
}

void watch_tell(struct group *g, int32_t cause, const struct err *why)
{
    struct err ignored;
    for (int32_t rank = 0; rank < g->ranks_n; rank++)
        if (g->control_own[rank] >= 0 && rank != cause)
            (void)watch_send(g, rank, MESSAGE_ERROR, why, &ignored);
}

/* Ends this process with an error of `rank`. The error of rank 0 to another rank is the first cause
 * and already names its rank. Of two threads the first one ends the process. */
static _Noreturn void lose(struct group *g, int32_t rank, bool is_named, struct err e)
{
    while (atomic_exchange(&g->lost, true)) pause();
    group_blame(g, ERR_CAUSE_OWN, rank, &e);
    if (!is_named) err_ctx(&e, "rank %d on %s", rank, g->member_own[rank].label);
    if (g->rank == 0) watch_tell(g, rank, &e);
    if (g->options.lost) g->options.lost(g->options.context, &e);
    _exit(err_exit_code(e.code));
}

void group_fail(struct group *g, const struct err *e)
{
    if (g->rank > 0) watch_tell(g, -1, e);
    lose(g, g->rank, false, *e);
}

/* Reads from a connection; false if it closed after the end. */
static bool watch_read(struct group *g, int32_t rank)
{
    struct group_inbox *in = &g->inbox_own[rank];
    struct group_message *m = &in->message;
    struct err e;

    int64_t n = socket_get(g->control_own[rank], (char *)m + in->got, sizeof *m - in->got);
    if (n < 0 && !g->ended_own[rank]) {
        err_set(&e, ERR_UNAVAILABLE,
                "connection lost: its process was killed or its machine failed");
        group_blame(g, ERR_CAUSE_LOST, rank, &e);
        lose(g, rank, false, e);
    }
    if (n < 0) return false;
    in->got += (size_t)n;
    if (in->got < sizeof *m) return true;
    in->got = 0;
    if (m->kind == MESSAGE_STOP) {
        atomic_store(&g->stop_requested, true);
    } else if (m->kind == MESSAGE_END) {
        pthread_mutex_lock(&g->lock);
        g->ended_own[rank] = true;
        g->ended_n++;
        pthread_cond_signal(&g->end_changed);
        pthread_mutex_unlock(&g->lock);
    } else {
        lose(g, rank, rank == 0, message_take(m));
    }
    return true;
}

static void *watch_ranks(void *context)
{
    struct group *g = context;
    struct pollfd polled[GROUP_RANKS_MAX + 1];
    struct err e;

    for (int32_t rank = 0; rank < g->ranks_n; rank++)
        polled[rank] = (struct pollfd){.fd = g->control_own[rank], .events = POLLIN};
    polled[g->ranks_n] = (struct pollfd){.fd = g->wake_fd, .events = POLLIN};
    for (;;) {
        if (socket_wait(polled, (size_t)g->ranks_n + 1, INT64_MAX, &e) < 0)
            lose(g, g->rank, false, e);
        if (polled[g->ranks_n].revents) return NULL;
        for (int32_t rank = 0; rank < g->ranks_n; rank++)
            if (polled[rank].revents && !watch_read(g, rank)) polled[rank].fd = -1;
    }
}

int watch_begin(struct group *g, struct err *e)
{
    sigset_t all, before;

    g->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (g->wake_fd < 0) return ERR(e, ERR_INTERNAL, "eventfd: %s", strerror(errno));
    /* Signals are for the thread that computes. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&g->watcher, NULL, watch_ranks, g);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) return ERR(e, ERR_NOMEM, "no thread to watch the other ranks: %s", strerror(rc));
    g->watched = true;
    return 0;
}

void watch_end(struct group *g)
{
    uint64_t one = 1;

    if (!g->watched) return;
    while (write(g->wake_fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
    pthread_join(g->watcher, NULL);
    g->watched = false;
}

/* Waits until `wanted` ranks have sent MESSAGE_END. */
static int await_ends(struct group *g, int32_t wanted, double timeout_s, struct err *e)
{
    struct timespec until;
    bool waits[GROUP_RANKS_MAX];
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)timeout_s + 1;
    pthread_mutex_lock(&g->lock);
    while (g->ended_n < wanted && rc == 0)
        rc = timeout_s > 0.0 ? pthread_cond_timedwait(&g->end_changed, &g->lock, &until)
                             : pthread_cond_wait(&g->end_changed, &g->lock);
    for (int32_t rank = 0; rank < g->ranks_n; rank++)
        waits[rank] = g->control_own[rank] >= 0 && !g->ended_own[rank];
    pthread_mutex_unlock(&g->lock);
    if (rc == 0) return 0;
    return group_silent(g, waits, "did not end within", e);
}

/* Sends a message to rank 0. */
static int report_end(struct group *g, enum group_message_kind kind, struct err *e)
{
    int rc = watch_send(g, 0, kind, NULL, e);
    if (rc == 0) return 0;
    watch_outlive();
    err_ctx(e, "rank 0 on %s", g->member_own[0].label);
    return err_blame(e, ERR_CAUSE_LOST, 0, g->member_own[0].node);
}

int watch_end_together(struct group *g, struct err *e)
{
    struct err ignored;

    if (g->rank > 0) {
        TRY(report_end(g, MESSAGE_END, e));
        /* Rank 0 knows whom all wait for; its own silence is noticed by whoever started it. */
        return await_ends(g, 1, 0.0, e);
    }
    TRY(await_ends(g, g->ranks_n - 1, g->options.stall_s, e));
    /* Who is gone now has done all its work. */
    for (int32_t rank = 1; rank < g->ranks_n; rank++)
        (void)watch_send(g, rank, MESSAGE_END, NULL, &ignored);
    return 0;
}

int group_request_stop(struct group *g, struct err *e)
{
    if (!g) return 0;
    if (g->rank > 0) return report_end(g, MESSAGE_STOP, e);
    atomic_store(&g->stop_requested, true);
    return 0;
}

bool group_stop_requested(const struct group *g)
{
    return g && atomic_load(&g->stop_requested);
}
