/* exchange.c - moves bytes between ranks, over one connection to each peer.
 *
 * A peer has a lane: the entry of the list that is being sent to it, the one that is being
 * received, and how much of both has moved. One poll loop serves both directions of all lanes, so a
 * rank always takes what its peers send, whatever it still has to send itself. Each entry's bytes
 * follow a header with their number, which the peer compares with the number it expects. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "group/group_internal.h"

enum { HEADER_BYTES = sizeof(uint64_t) };

/* One call of group_exchange. */
struct exchange {
    struct group *g;
    const struct group_transfer *list;
    int32_t n;
    bool moved; /* any byte, in this turn of the loop */
};

/* Returns the first entry of a peer from `from` on, or n. */
static int32_t entry_of(const struct exchange *x, int32_t peer, int32_t from)
{
    while (from < x->n && x->list[from].peer != peer) from++;
    return from;
}

static int exchange_check(const struct exchange *x, struct err *e)
{
    for (int32_t i = 0; i < x->n; i++) {
        const struct group_transfer *t = &x->list[i];
        if (t->peer < 0 || t->peer >= x->g->ranks_n || t->peer == x->g->rank)
            return ERR(e, ERR_INTERNAL,
                       "transfer %d of rank %d: peer %d is not another of %d ranks", i, x->g->rank,
                       t->peer, x->g->ranks_n);
        if ((t->send_bytes && !t->send) || (t->receive_bytes && !t->receive))
            return ERR(e, ERR_INTERNAL, "transfer %d of rank %d: %zu and %zu bytes without memory",
                       i, x->g->rank, t->send_bytes, t->receive_bytes);
    }
    return 0;
}

static int lose_peer(struct exchange *x, int32_t peer, struct err *e)
{
    watch_outlive();
    err_set(e, ERR_UNAVAILABLE, "rank %d on %s closed its connection", peer,
            x->g->member_own[peer].label);
    return err_blame(e, ERR_CAUSE_LOST, peer, x->g->member_own[peer].node);
}

/* Sends as much of a lane's entry as the connection takes now. */
static int lane_send(struct exchange *x, int32_t peer, struct err *e)
{
    struct group_lane *lane = &x->g->lane_own[peer];
    const struct group_transfer *t = &x->list[lane->send_at];
    uint64_t header = t->send_bytes;
    size_t header_sent = lane->sent < HEADER_BYTES ? lane->sent : HEADER_BYTES;
    size_t bytes_sent = lane->sent - header_sent;
    struct iovec parts[2] = {
        {(char *)&header + header_sent, HEADER_BYTES - header_sent},
        {(char *)(uintptr_t)t->send + bytes_sent, t->send_bytes - bytes_sent},
    };
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = t->send_bytes ? 2 : 1};

    ssize_t rc = sendmsg(x->g->data_own[peer], &message, MSG_NOSIGNAL);
    if (rc < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return 0;
    if (rc < 0) return lose_peer(x, peer, e);
    x->moved = true;
    lane->sent += (size_t)rc;
    if (lane->sent < HEADER_BYTES + t->send_bytes) return 0;
    lane->sent = 0;
    lane->send_at = entry_of(x, peer, lane->send_at + 1);
    return 0;
}

/* Receives what is there of a lane's entry. Never reads on into the next entry: that may be one of
 * the next call. */
static int lane_receive(struct exchange *x, int32_t peer, struct err *e)
{
    struct group_lane *lane = &x->g->lane_own[peer];
    const struct group_transfer *t = &x->list[lane->receive_at];
    bool in_header = lane->received < HEADER_BYTES;
    char *to = in_header ? (char *)&lane->header + lane->received
                         : (char *)t->receive + (lane->received - HEADER_BYTES);
    size_t end = in_header ? HEADER_BYTES : HEADER_BYTES + t->receive_bytes;

    int64_t rc = socket_get(x->g->data_own[peer], to, end - lane->received);
    if (rc < 0) return lose_peer(x, peer, e);
    if (rc > 0) x->moved = true;
    lane->received += (size_t)rc;
    if (lane->received < end) return 0;
    if (in_header && lane->header != t->receive_bytes)
        return ERR(e, ERR_INTERNAL,
                   "transfer %d of rank %d: rank %d sends %" PRIu64 " bytes, expected %zu",
                   lane->receive_at, x->g->rank, peer, lane->header, t->receive_bytes);
    if (lane->received < HEADER_BYTES + t->receive_bytes) return 0;
    lane->received = 0;
    lane->receive_at = entry_of(x, peer, lane->receive_at + 1);
    return 0;
}

/* Fills in what each lane waits for; returns the number of lanes that are not done. */
static int32_t lanes_poll(const struct exchange *x, struct pollfd *polled)
{
    int32_t open_n = 0;
    for (int32_t peer = 0; peer < x->g->ranks_n; peer++) {
        const struct group_lane *lane = &x->g->lane_own[peer];
        short events =
            (short)((lane->send_at < x->n ? POLLOUT : 0) | (lane->receive_at < x->n ? POLLIN : 0));
        polled[peer] = (struct pollfd){.fd = events ? x->g->data_own[peer] : -1, .events = events};
        open_n += events != 0;
    }
    return open_n;
}

static int exchange_stalled(const struct exchange *x, struct err *e)
{
    bool waits[GROUP_RANKS_MAX];
    for (int32_t peer = 0; peer < x->g->ranks_n; peer++) {
        const struct group_lane *lane = &x->g->lane_own[peer];
        waits[peer] = lane->send_at < x->n || lane->receive_at < x->n;
    }
    return group_silent(x->g, waits, "moved no byte for", e);
}

/* group_exchange with a timeout of its own; 0: none. */
static int exchange_within(struct group *g, const struct group_transfer *list, int32_t n,
                           double stall_s, struct err *e)
{
    struct exchange x = {.g = g, .list = list, .n = n};
    struct pollfd polled[GROUP_RANKS_MAX];

    TRY(exchange_check(&x, e));
    for (int32_t peer = 0; peer < g->ranks_n; peer++) {
        int32_t first = entry_of(&x, peer, 0);
        g->lane_own[peer] = (struct group_lane){.send_at = first, .receive_at = first};
    }
    int64_t deadline_us = socket_deadline(stall_s);
    while (lanes_poll(&x, polled) > 0) {
        int rc = socket_wait(polled, (size_t)g->ranks_n, deadline_us, e);
        if (rc < 0) return rc;
        if (rc == 0) return exchange_stalled(&x, e);
        x.moved = false;
        for (int32_t peer = 0; peer < g->ranks_n; peer++) {
            if (polled[peer].revents == 0) continue;
            if (polled[peer].events & POLLOUT) TRY(lane_send(&x, peer, e));
            if (polled[peer].events & POLLIN) TRY(lane_receive(&x, peer, e));
        }
        if (x.moved) deadline_us = socket_deadline(stall_s);
    }
    return 0;
}

int group_exchange(struct group *g, const struct group_transfer *list, int32_t n, struct err *e)
{
    return exchange_within(g, list, n, g->options.stall_s, e);
}

int group_share(struct group *g, void *bytes, size_t n, struct err *e)
{
    if (!g) return 0;
    if (g->rank > 0)
        return exchange_within(g, &(struct group_transfer){.receive = bytes, .receive_bytes = n}, 1,
                               0.0, e);
    for (int32_t peer = 1; peer < g->ranks_n; peer++)
        g->share_own[peer - 1] =
            (struct group_transfer){.peer = peer, .send = bytes, .send_bytes = n};
    return group_exchange(g, g->share_own, g->ranks_n - 1, e);
}

int group_gather(struct group *g, void *bytes, const size_t *end, struct err *e)
{
    int32_t n = 0;

    if (!g) return 0;
    size_t own = g->rank > 0 ? end[g->rank - 1] : 0;
    for (int32_t peer = 0; peer < g->ranks_n; peer++) {
        size_t from = peer > 0 ? end[peer - 1] : 0;
        if (peer == g->rank) continue;
        g->share_own[n++] = (struct group_transfer){.peer = peer,
                                                    .send = (char *)bytes + own,
                                                    .send_bytes = end[g->rank] - own,
                                                    .receive = (char *)bytes + from,
                                                    .receive_bytes = end[peer] - from};
    }
    return group_exchange(g, g->share_own, n, e);
}
