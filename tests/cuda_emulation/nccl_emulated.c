/* nccl_emulated.c - NCCL for the emulated GPU: a socket between each two ranks.
 *
 * 1. A group of sends and receives is one piece of the stream's work. It ends when all its bytes
 *    have moved; those of two ranks match in their order, and their sizes must be equal. The stream
 *    works until then at once: a rank that waits on the host for another one would never do it.
 * 2. If a rank is lost, the work of the others does not end, as on a GPU: only
 *    ncclCommGetAsyncError says so. After STUCK_MS it ends all the same, so that no test hangs.
 * 3. EMULATION_NCCL is words: `absent`, the library is not found; `usage`, it refuses to connect
 *    the ranks; `deaf`, it connects none; `full`, the first exchange fails at once; `broken`, the
 *    first exchange fails on every rank, all of which stay alive; `broken later`, the second one;
 *    `wrong`, word 7 of what comes is another one; or a number, the version. */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "emulation_control.h"
#include "nccl.h"

enum { RANKS_MAX = 64, MOVES_MAX = 8192, VERSION = 22705, STUCK_MS = 20000 };
enum { SYSTEM_ERROR = 2 };

struct ncclComm {
    int rank, ranks_n, fd[RANKS_MAX];
    int groups_n; /* done */
    atomic_int error;
};

/* One send or receive, and what is left of it; first: where it began. */
struct move {
    int peer, is_send;
    char *at;
    size_t left;
    char *first;
};

/* The group in progress, and later the argument of its work. */
static struct batch {
    struct ncclComm *comm;
    int n;
    struct move move[MOVES_MAX];
} batch;
static int is_open;

static const char *word(void)
{
    const char *text = getenv("EMULATION_NCCL");
    return text ? text : "";
}

static bool has_word(const char *one)
{
    return strstr(word(), one) != NULL;
}

static int version_of(int *out)
{
    *out = atoi(word()) > 0 ? atoi(word()) : VERSION;
    return NCCL_SUCCESS;
}

static const char *text_of(int status)
{
    return status == NCCL_REMOTE_ERROR    ? "remote process exited or there was a network error"
           : status == SYSTEM_ERROR       ? "unhandled system error"
           : status == NCCL_INVALID_USAGE ? "invalid usage"
                                          : "no error";
}

/* The library's sentence about the last error. */
static const char *last_error(nccl_comm c)
{
    (void)c;
    return has_word("usage")  ? "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 0"
           : has_word("full") ? "Error while creating shared memory segment /dev/shm/nccl-1 (size "
                                "9637888)\n"
                              : "";
}

static int make_id(struct nccl_id *out)
{
    memset(out, 0, sizeof *out);
    return getrandom(out->bytes, 16, 0) == 16 ? NCCL_SUCCESS : SYSTEM_ERROR;
}

/* ---- the meeting ---- */

static socklen_t address_of(struct sockaddr_un *out, const struct nccl_id *id, int rank)
{
    uint64_t half[2];
    memcpy(half, id->bytes, sizeof half);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "alibi-nccl-%llx%llx-%d",
                     (unsigned long long)half[0], (unsigned long long)half[1], rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Lower ranks are called, higher ones call. A rank listens before it calls. */
static int meet(struct ncclComm **out, int ranks_n, struct nccl_id id, int rank)
{
    struct sockaddr_un address;
    struct ncclComm *c = calloc(1, sizeof *c);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (has_word("usage")) return NCCL_INVALID_USAGE;
    while (has_word("deaf")) poll(NULL, 0, STUCK_MS);
    if (!c || listener < 0 || ranks_n > RANKS_MAX) return SYSTEM_ERROR;
    *c = (struct ncclComm){.rank = rank, .ranks_n = ranks_n};
    socklen_t n = address_of(&address, &id, rank);
    if (bind(listener, (void *)&address, n) < 0 || listen(listener, RANKS_MAX) < 0)
        return SYSTEM_ERROR;
    for (int peer = 0; peer < rank; peer++) {
        c->fd[peer] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        n = address_of(&address, &id, peer);
        while (connect(c->fd[peer], (void *)&address, n) < 0) poll(NULL, 0, 1);
        if (send(c->fd[peer], &rank, sizeof rank, MSG_NOSIGNAL) != sizeof rank) return SYSTEM_ERROR;
    }
    for (int called = rank + 1; called < ranks_n; called++) {
        int peer = 0, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (recv(fd, &peer, sizeof peer, MSG_WAITALL) != sizeof peer) return SYSTEM_ERROR;
        c->fd[peer] = fd;
    }
    close(listener);
    *out = c;
    return NCCL_SUCCESS;
}

static int part(struct ncclComm *c)
{
    for (int peer = 0; peer < c->ranks_n; peer++)
        if (peer != c->rank) close(c->fd[peer]);
    free(c);
    return NCCL_SUCCESS;
}

static int error_of(struct ncclComm *c, int *out)
{
    *out = atomic_load(&c->error);
    return NCCL_SUCCESS;
}

/* ---- groups ---- */

/* The first send to or receive from a peer that is not done; NULL: none is left. */
static struct move *next_move(struct batch *b, int peer, int is_send)
{
    for (int i = 0; i < b->n; i++)
        if (b->move[i].peer == peer && b->move[i].is_send == is_send && b->move[i].left > 0)
            return &b->move[i];
    return NULL;
}

/* Moves what a socket takes or has; false if the peer is gone. */
static int move_some(struct ncclComm *c, struct move *m)
{
    int fd = c->fd[m->peer];
    ssize_t n = m->is_send ? send(fd, m->at, m->left, MSG_DONTWAIT | MSG_NOSIGNAL)
                           : recv(fd, m->at, m->left, MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    m->at += n;
    m->left -= (size_t)n;
    return n > 0;
}

static void stick(struct ncclComm *c, int error)
{
    atomic_store(&c->error, error);
    poll(NULL, 0, STUCK_MS);
}

/* A link that corrupts. */
static void spoil(const struct batch *b)
{
    for (int i = 0; i < b->n; i++)
        if (!b->move[i].is_send) b->move[i].first[28] ^= 1;
}

static void move_all(void *argument)
{
    struct batch *b = argument;
    struct ncclComm *c = b->comm;
    struct pollfd polled[RANKS_MAX];
    if (has_word("broken") && c->groups_n++ == has_word("later")) {
        stick(c, SYSTEM_ERROR);
        return;
    }
    for (;;) {
        int open_n = 0;
        for (int peer = 0; peer < c->ranks_n; peer++) {
            short events = (short)((next_move(b, peer, 1) ? POLLOUT : 0) |
                                   (next_move(b, peer, 0) ? POLLIN : 0));
            polled[peer] = (struct pollfd){.fd = events ? c->fd[peer] : -1, .events = events};
            open_n += events != 0;
        }
        if (open_n == 0) {
            if (has_word("wrong")) spoil(b);
            return;
        }
        poll(polled, (nfds_t)c->ranks_n, -1);
        for (int peer = 0; peer < c->ranks_n; peer++)
            for (int is_send = 0; is_send < 2; is_send++) {
                struct move *m = next_move(b, peer, is_send);
                if (!m || polled[peer].revents == 0 || move_some(c, m)) continue;
                stick(c, NCCL_REMOTE_ERROR);
                return;
            }
    }
}

static int add_move(struct ncclComm *c, int peer, int is_send, void *at, size_t bytes, int type)
{
    if (!is_open || type != NCCL_BYTES || peer < 0 || peer >= c->ranks_n || peer == c->rank ||
        batch.n == MOVES_MAX)
        return NCCL_INVALID_USAGE;
    batch.comm = c;
    batch.move[batch.n++] =
        (struct move){.peer = peer, .is_send = is_send, .at = at, .left = bytes, .first = at};
    return NCCL_SUCCESS;
}

static cudaStream_t batch_stream;

static int add_send(const void *at, size_t bytes, int type, int peer, nccl_comm c,
                    cudaStream_t stream)
{
    batch_stream = stream;
    return add_move(c, peer, 1, (void *)(uintptr_t)at, bytes, type);
}

static int add_receive(void *at, size_t bytes, int type, int peer, nccl_comm c, cudaStream_t stream)
{
    batch_stream = stream;
    return add_move(c, peer, 0, at, bytes, type);
}

static int start_group(void)
{
    batch.n = 0;
    return is_open++ == 0 ? NCCL_SUCCESS : NCCL_INVALID_USAGE;
}

static int end_group(void)
{
    is_open = 0;
    if (batch.n == 0) return NCCL_SUCCESS;
    if (has_word("full")) return SYSTEM_ERROR;
    size_t bytes = offsetof(struct batch, move) + (size_t)batch.n * sizeof *batch.move;
    if (emulation_enqueue(batch_stream, move_all, &batch, bytes) != cudaSuccess)
        return SYSTEM_ERROR;
    return cudaStreamSynchronize(batch_stream) == cudaSuccess ? NCCL_SUCCESS : SYSTEM_ERROR;
}

int nccl_open(struct nccl *out, struct err *e)
{
    if (has_word("absent")) return ERR(e, ERR_NOINPUT, "NCCL: it was not found");
    *out = (struct nccl){.version = version_of,
                         .text = text_of,
                         .last_error = last_error,
                         .id = make_id,
                         .init = meet,
                         .destroy = part,
                         .async_error = error_of,
                         .group_start = start_group,
                         .group_end = end_group,
                         .send = add_send,
                         .receive = add_receive};
    return 0;
}
