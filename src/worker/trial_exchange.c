/* trial_exchange.c - whether two devices exchange: words that depend on the rank, compared. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/philox.h"
#include "group/group.h"
#include "worker/worker.h"

enum { EXCHANGED_BYTES = 1 << 20, EXCHANGED_WORDS = EXCHANGED_BYTES / 4, TIMED = 20 };

static uint32_t exchanged_word(int32_t rank, int32_t i)
{
    return philox_word(2, (uint64_t)i, 0, (uint32_t)rank);
}

/* Exchanges the words of a rank, and times some more exchanges. memory_dev: sent, received. */
static int exchange_words(struct backend *b, char *memory_dev, uint32_t *words, double *seconds,
                          struct err *e)
{
    int32_t rank = group_rank(b->group), peer = 1 - rank;
    const struct group_transfer t = {.peer = peer,
                                     .send = memory_dev,
                                     .send_bytes = EXCHANGED_BYTES,
                                     .receive = memory_dev + EXCHANGED_BYTES,
                                     .receive_bytes = EXCHANGED_BYTES};
    for (int32_t i = 0; i < EXCHANGED_WORDS; i++) words[i] = exchanged_word(rank, i);
    TRY(b->ops->upload(b, memory_dev, words, EXCHANGED_BYTES, e));
    TRY(b->ops->exchange(b, &t, 1, e));
    TRY(b->ops->download(b, words, t.receive, EXCHANGED_BYTES, e));
    for (int32_t i = 0; i < EXCHANGED_WORDS; i++)
        if (words[i] != exchanged_word(peer, i))
            return ERR(e, ERR_UNAVAILABLE,
                       "by %s, word %d of %d arrives as %08" PRIx32 ", not %08" PRIx32,
                       *b->transport ? b->transport : "sockets", i, (int)EXCHANGED_WORDS, words[i],
                       exchanged_word(peer, i));
    int64_t from_us = clock_monotonic_us();
    for (int i = 0; i < TIMED; i++) TRY(b->ops->exchange(b, &t, 1, e));
    TRY(b->ops->sync(b, e));
    *seconds = 1e-6 * (double)(clock_monotonic_us() - from_us + 1) / TIMED;
    return 0;
}

static int exchange_in(struct group *g, struct backend *b, double *seconds, struct err *e)
{
    void *memory_dev = NULL;
    uint32_t *words = malloc(EXCHANGED_BYTES);
    int rc = 0;

    if (!words) TRY_OUT(rc, ERR(e, ERR_NOMEM, "out of memory while testing an exchange"));
    TRY_OUT(rc, b->ops->group_join(b, g, e));
    TRY_OUT(rc, b->ops->alloc(b, &memory_dev, 2 * (size_t)EXCHANGED_BYTES, e));
    TRY_OUT(rc, exchange_words(b, memory_dev, words, seconds, e));
out:
    if (memory_dev) b->ops->release(b, memory_dev);
    free(words);
    return rc;
}

int trial_exchange(char *text, size_t bytes, const struct trial_exchange *t, struct err *e)
{
    struct backend *b = NULL;
    struct group *g = NULL;
    double seconds = 0.0;

    TRY(backend_open(&b, t->device, 1, DTYPE_F32, e));
    const struct group_options options = {.rank = t->rank,
                                          .ranks_n = 2,
                                          .meet = t->meet,
                                          .label = t->label,
                                          .identity = "",
                                          .meet_s = t->trial_s,
                                          .stall_s = t->trial_s,
                                          .lost = t->lost,
                                          .context = t->context};
    TRY(group_open(&g, &options, e)); /* after an error the process ends */
    int rc = exchange_in(g, b, &seconds, e);
    if (rc == 0)
        snprintf(text, bytes, "%s, %.3g GB/s", *b->transport ? b->transport : "sockets",
                 1e-9 * EXCHANGED_BYTES / seconds);
    if (rc == 0) backend_close(b);
    return group_close(g, rc, e);
}
