/* group.h - the ranks of one training: P processes that meet, move bytes, and end together.
 *
 * 1. Whoever starts the processes names each one's rank. The library starts none.
 * 2. Bytes move between any two ranks. Every rank calls the same sequence of group_exchange and
 *    group_share, and group_close at the end.
 * 3. A rank never survives the loss of another. A thread of each rank watches its connection to
 *    rank 0. When a rank fails, is killed or loses its connection, rank 0 learns the first cause
 *    and passes it on; every rank reports it and calls _exit. Nothing that may wait for the lost
 *    rank is called.
 * 4. Who is to blame is in the error (struct err), on all ranks alike: never in its text alone.
 *
 *        meet                    watched                            close
 *   group_open ... members known ... exchange, share ... end ... all have ended
 *        error: returned         loss: report, _exit                 return */
#ifndef GROUP_GROUP_H
#define GROUP_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    GROUP_RANKS_MAX = 256,
    GROUP_TEXT_BYTES = 192,     /* of a label or a host, with the final 0 */
    GROUP_IDENTITY_BYTES = 1024 /* of an identity, with the final 0 */
};

struct group_options {
    int32_t rank, ranks_n;
    const char *meet;  /* path of the file in which rank 0 says where it listens, seen by all */
    const char *host;  /* this machine's name for the other ranks: TCP; NULL: all ranks are on one
                          machine, and connections are UNIX sockets */
    const char *label; /* for messages, such as "node7, cuda:3" */
    const char *node;  /* of this machine, for errors that blame this rank; NULL: not known */
    /* Lines "name: value" that must be equal on all ranks, such as code, device and libraries. */
    const char *identity;
    double meet_s;  /* timeout of the meeting */
    double stall_s; /* timeout of an exchange in which no byte moves, and of rank 0 for the ends of
                       the others; 0: none. Not of waiting for rank 0 in group_share: it may write
                       a checkpoint to a slow disk, and whoever started it notices its silence */
    /* Called once, by the watching thread, before it ends this process because of another rank; e
     * names the first cause. May be NULL. */
    void (*lost)(void *context, const struct err *e);
    void *context;
};

/* A process alone has no group: functions that take a NULL do nothing for it, and it is rank 0
 * of 1.
 */
struct group;

/* group_open - meets the other ranks. Strings of o are copied; context is borrowed. Errors:
 * ERR_UNAVAILABLE names the ranks that did not come, or both values of an identity that differs;
 * ERR_USAGE rank, ranks_n or texts out of range; ERR_CREATE, ERR_IO, ERR_NOMEM. */
int group_open(struct group **out, const struct group_options *o, struct err *e);

/* group_close - ends the group; g may be NULL. With rc = 0 it returns when every rank has called
 * it: until then this rank still ends with the others. Otherwise e is this rank's error, which
 * becomes the first cause on all others. Returns rc or the error of the end. Frees g. */
int group_close(struct group *g, int rc, struct err *e);

/* group_rank, group_ranks_n - take NULL. */
int32_t group_rank(const struct group *g);
int32_t group_ranks_n(const struct group *g);

/* group_node_ranks - ranks of each node, a power of two: nodes are the different hosts of the
 * members, in order, and ranks without a host are on one node. 1 too for a NULL; 0: ranks of a host
 * are not consecutive, or hosts differ in their number, or it is no power of two. */
int32_t group_node_ranks(const struct group *g);

/* The bytes that one rank sends to a peer and receives from it, in host memory. The peer's list has
 * the matching entry, with equal bytes; several entries of one peer match in their order. */
struct group_transfer {
    int32_t peer; /* not this rank */
    const void *send;
    size_t send_bytes;
    void *receive;
    size_t receive_bytes;
};

/* group_exchange - does all transfers of the list at once, so that no order of entries can
 * deadlock. Errors: ERR_INTERNAL the peer sends another number of bytes; ERR_UNAVAILABLE a lost
 * connection, or no byte moved for stall_s (names the peers). After an error the group can only be
 * closed with it. */
int group_exchange(struct group *g, const struct group_transfer *list, int32_t n, struct err *e);

/* group_share - gives the bytes of rank 0 to all: algorithm choices, the decision after an update.
 * group_gather - gives all parts to all ranks: the bytes [end[r - 1], end[r]) are rank r's, those
 * of rank 0 begin at 0. `end` (ranks_n) is equal on all ranks. Both take NULL. Errors: those of
 * group_exchange. */
int group_share(struct group *g, void *bytes, size_t n, struct err *e);
int group_gather(struct group *g, void *bytes, const size_t *end, struct err *e);

/* group_request_stop - asks rank 0 to stop the training. group_stop_requested - of rank 0: true if
 * any rank has asked. Rank 0 then shares the decision. Both take NULL. */
int group_request_stop(struct group *g, struct err *e);
bool group_stop_requested(const struct group *g);

/* group_fail - ends this process with an error that becomes the first cause on all others; for a
 * thread that watches a device while another one waits for it. */
_Noreturn void group_fail(struct group *g, const struct err *e);

/* These functions for a backend in a library of its own, which cannot link them. Every group begins
 * with their address. */
struct group_functions {
    int32_t (*rank)(const struct group *g);
    int32_t (*ranks_n)(const struct group *g);
    int (*exchange)(struct group *g, const struct group_transfer *list, int32_t n, struct err *e);
    int (*share)(struct group *g, void *bytes, size_t n, struct err *e);
    void (*fail)(struct group *g, const struct err *e);
    double (*meet_s)(const struct group *g); /* of its options */
};
static inline const struct group_functions *group_functions(const struct group *g)
{
    return *(const struct group_functions *const *)(const void *)g;
}

#endif
