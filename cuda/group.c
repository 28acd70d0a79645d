/* group.c - a GPU as a rank of one training: exchange of device memory by NCCL, or through host
 * memory and the sockets of src/group.
 *
 * 1. Rank 0 chooses for all: NCCL if it has one, else sockets. A rank that cannot follow ends the
 *    group with the reason.
 * 2. An exchange by NCCL is one group of sends and receives on the stream, like an op. Through host
 *    memory it waits for the stream.
 * 3. An exchange with a rank that is lost may never end on the device. The watcher of src/group
 *    then ends the process; an error that only NCCL sees is found by a thread of this file, and so
 *    is a meeting of NCCL that does not end.
 * 4. ERR_NOINPUT is an error that another try would meet again, such as a usage that NCCL refuses
 *    or, until bytes have moved, too little shared memory. It says nothing about the GPU.
 *    ERR_UNAVAILABLE is the loss of a rank or a link that has worked. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "context.h"
#include "group/group.h"
#include "nccl.h"

enum {
    VERSION_LEAST = 21400,    /* 2.14 */
    STAGING_BYTES = 32 << 20, /* of a direction, divided among the ranks */
    STAGING_LEAST = 64 << 10, /* of a transfer */
    ASK_MS = 1000,            /* between two questions for NCCL's errors */
    OUTLIVE_MS = 5000         /* for src/group to end the process with the first cause */
};

/* The choice of rank 0, for all. */
struct offer {
    int version; /* of NCCL; 0: sockets */
    struct nccl_id id;
    char warning[sizeof((struct backend *)0)->transport_warning];
};

struct cuda_ranks {
    struct cuda *c;
    struct group *group;
    const struct group_functions *functions; /* of the group */
    struct nccl nccl;
    nccl_comm comm_own; /* NULL: the exchange goes through host memory */
    pthread_t watcher;
    bool is_watched;
    atomic_bool has_met;   /* comm_own is set */
    atomic_bool has_moved; /* the first exchange has ended */
    int wake_fd;           /* an eventfd that ends the watcher; -1 */
    char *staging_own;     /* pinned */
    size_t staging_bytes;
    struct group_transfer *part_own; /* (parts_room) */
    int32_t parts_room;
};

/* ---- NCCL ---- */

/* Versions before 2.9 are 1000 major + 100 minor + patch. */
static void version_text(char *out, size_t bytes, int version)
{
    int major = version < 10000 ? 1000 : 10000;
    snprintf(out, bytes, "NCCL %d.%d.%d", version / major, version % major / 100, version % 100);
}

/* Loads NCCL. Errors: ERR_NOINPUT none is used; ERR_UNAVAILABLE it cannot be used. */
static int find_nccl(struct nccl *out, int *version, struct err *e)
{
    const char *named = getenv("ALIBI_NCCL"), *visible = getenv("CUDA_VISIBLE_DEVICES");
    char found[32], least[32];
    if (named && strcmp(named, "0") == 0) return ERR(e, ERR_NOINPUT, "NCCL is off (ALIBI_NCCL=0)");
    if (visible && strncmp(visible, "MIG-", 4) == 0)
        return ERR(e, ERR_NOINPUT, "NCCL does not take MIG instances (CUDA_VISIBLE_DEVICES=%.60s)",
                   visible);
    TRY(nccl_open(out, e));
    if (out->version(version) != NCCL_SUCCESS)
        return ERR(e, ERR_UNAVAILABLE, "NCCL hides its version");
    version_text(found, sizeof found, *version);
    version_text(least, sizeof least, VERSION_LEAST);
    if (*version >= VERSION_LEAST) return 0;
    return ERR(e, ERR_UNAVAILABLE,
               "%s was found, alibi needs %s or later; name a newer file in ALIBI_NCCL, or set "
               "ALIBI_NCCL=0 to exchange through host memory",
               found, least);
}

int cuda_transport(char *text, size_t bytes, struct err *e)
{
    struct nccl nccl;
    int version = 0;
    TRY(find_nccl(&nccl, &version, e));
    version_text(text, bytes, version);
    return 0;
}

/* Rule 4. */
static int code_of(const struct cuda_ranks *r, int status)
{
    if (status == NCCL_REMOTE_ERROR) return ERR_UNAVAILABLE;
    if (status == NCCL_INVALID_ARGUMENT || status == NCCL_INVALID_USAGE) return ERR_NOINPUT;
    return atomic_load(&r->has_moved) ? ERR_UNAVAILABLE : ERR_NOINPUT;
}

static int nccl_fault(const struct cuda_ranks *r, int status, const char *where, struct err *e)
{
    if (status == NCCL_SUCCESS || status == NCCL_IN_PROGRESS) return 0;
    const char *cause = r->nccl.last_error(NULL); /* a sentence, perhaps with an end of line */
    if (!cause) cause = "";
    int rc = ERR(e, code_of(r, status),
                 "%s: %s: NCCL: %s%s%.*s; NCCL_DEBUG=WARN in the environment says more",
                 r->c->backend.name, where, r->nccl.text(status), *cause ? ": " : "",
                 (int)strcspn(cause, "\n"), cause);
    if (rc == ERR_UNAVAILABLE) (void)err_blame(e, ERR_CAUSE_LOST, -1, ""); /* not this device */
    return rc;
}

/* nccl_fault of a call. If a rank was lost, src/group ends this process with the first cause, of
 * which the error may be a consequence. */
static int nccl_check(const struct cuda_ranks *r, int status, const char *where, struct err *e)
{
    int rc = nccl_fault(r, status, where, e);
    if (rc < 0 && status != NCCL_INVALID_ARGUMENT && status != NCCL_INVALID_USAGE)
        poll(NULL, 0, OUTLIVE_MS);
    return rc;
}

/* NCCL connects by ports of its own, on an interface that it chooses, and waits without end. */
static int meeting_fault(const struct cuda_ranks *r, int64_t asked_n, struct err *e)
{
    double meet_s = r->functions->meet_s(r->group);
    if (atomic_load(&r->has_met) || 1e-3 * ASK_MS * (double)asked_n < meet_s) return 0;
    return ERR(e, ERR_NOINPUT,
               "%s: NCCL did not connect the ranks within %g s; NCCL_SOCKET_IFNAME names the "
               "network interface to use, on which a firewall must let all ports pass; "
               "ALIBI_NCCL=0 exchanges through host memory",
               r->c->backend.name, meet_s);
}

/* Waits for an error that NCCL finds in the background, such as a broken link to a rank that is
 * alive, or for the end of the time in which NCCL connects; ends all ranks with it. */
static void *watch_stream(void *context)
{
    struct cuda_ranks *r = context;
    struct pollfd wake = {.fd = r->wake_fd, .events = POLLIN};
    struct err e = {0};
    for (int64_t asked_n = 1; poll(&wake, 1, ASK_MS) <= 0; asked_n++) {
        int error = NCCL_SUCCESS, status = NCCL_SUCCESS;
        if (atomic_load(&r->has_met)) status = r->nccl.async_error(r->comm_own, &error);
        if (nccl_fault(r, status != NCCL_SUCCESS ? status : error, "exchange", &e) == 0 &&
            meeting_fault(r, asked_n, &e) == 0)
            continue;
        /* If a rank was lost, src/group knows it, and this was a consequence. */
        if (poll(&wake, 1, OUTLIVE_MS) > 0) break;
        r->functions->fail(r->group, &e);
    }
    return NULL;
}

static int begin_watch(struct cuda_ranks *r, struct err *e)
{
    sigset_t all, before;
    r->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (r->wake_fd < 0) return ERR(e, ERR_NOMEM, "%s: no eventfd", r->c->backend.name);
    sigfillset(&all); /* signals are for the thread that computes */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r->is_watched = pthread_create(&r->watcher, NULL, watch_stream, r) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r->is_watched) return 0;
    return ERR(e, ERR_NOMEM, "%s: no thread to watch NCCL", r->c->backend.name);
}

static void end_watch(struct cuda_ranks *r)
{
    uint64_t one = 1;
    if (r->is_watched && write(r->wake_fd, &one, sizeof one) == sizeof one)
        pthread_join(r->watcher, NULL);
    if (r->wake_fd >= 0) close(r->wake_fd);
}

/* ---- joining ---- */

/* Rank 0: chooses the transport. */
static int make_offer(struct cuda_ranks *r, struct offer *o, struct err *e)
{
    struct err absent = {0};
    int rc = find_nccl(&r->nccl, &o->version, &absent);
    if (rc == ERR_NOINPUT) {
        snprintf(o->warning, sizeof o->warning, "%s", absent.text);
        return 0;
    }
    if (rc < 0) return ERR(e, ERR_NOINPUT, "%s: %s", r->c->backend.name, absent.text);
    return nccl_fault(r, r->nccl.id(&o->id), "an id", e);
}

/* Another rank: follows rank 0. */
static int follow(struct cuda_ranks *r, const struct offer *o, struct err *e)
{
    struct err why = {0};
    char ours[32], theirs[32];
    int version = 0, rc = find_nccl(&r->nccl, &version, &why);
    version_text(theirs, sizeof theirs, o->version);
    version_text(ours, sizeof ours, version);
    if (rc < 0)
        return ERR(e, ERR_NOINPUT, "%s: rank 0 exchanges by %s, but here %s", r->c->backend.name,
                   theirs, why.text);
    if (version == o->version) return 0;
    return ERR(e, ERR_NOINPUT,
               "%s: rank 0 exchanges by %s, but here %s was found; install the same version, or "
               "set ALIBI_NCCL=0 to exchange through host memory",
               r->c->backend.name, theirs, ours);
}

static int join_nccl(struct cuda_ranks *r, const struct offer *o, struct err *e)
{
    struct backend *b = &r->c->backend;
    int32_t rank = r->functions->rank(r->group), ranks_n = r->functions->ranks_n(r->group);
    if (rank > 0) TRY(follow(r, o, e));
    version_text(b->transport, sizeof b->transport, o->version);
    TRY(begin_watch(r, e));
    TRY(nccl_check(r, r->nccl.init(&r->comm_own, ranks_n, o->id, rank), "meeting of ranks", e));
    atomic_store(&r->has_met, true);
    cuda_watch_memory(r->c);
    return 0;
}

int cuda_group_join(struct backend *b, struct group *g, struct err *e)
{
    struct cuda *c = cuda_of(b);
    struct offer o = {0};
    struct cuda_ranks *r = calloc(1, sizeof *r);
    if (!r) return ERR(e, ERR_NOMEM, "%s: no memory for ranks", b->name);
    *r = (struct cuda_ranks){.c = c, .group = g, .functions = group_functions(g), .wake_fd = -1};
    c->ranks_own = r;
    if (r->functions->rank(g) == 0) TRY(make_offer(r, &o, e));
    TRY(r->functions->share(g, &o, sizeof o, e));
    memcpy(b->transport_warning, o.warning, sizeof b->transport_warning);
    if (o.version > 0)
        TRY(join_nccl(r, &o, e));
    else
        snprintf(b->transport, sizeof b->transport, "host memory and sockets");
    b->group = g;
    return 0;
}

void cuda_group_leave(struct cuda *c)
{
    struct cuda_ranks *r = c->ranks_own;
    if (!r) return;
    (void)cudaStreamSynchronize(c->stream_own);
    end_watch(r);
    if (r->comm_own) (void)r->nccl.destroy(r->comm_own);
    (void)cudaFreeHost(r->staging_own);
    free(r->part_own);
    free(r);
    c->ranks_own = NULL;
}

/* ---- exchange ---- */

static int exchange_by_nccl(struct cuda_ranks *r, const struct group_transfer *list, int32_t n,
                            struct err *e)
{
    cudaStream_t stream = r->c->stream_own;
    int status = r->nccl.group_start();
    TRY(nccl_check(r, status, "exchange", e));
    for (int32_t i = 0; i < n && status == NCCL_SUCCESS; i++) {
        const struct group_transfer *t = &list[i];
        if (t->send_bytes > 0)
            status = r->nccl.send(t->send, t->send_bytes, NCCL_BYTES, t->peer, r->comm_own, stream);
        if (t->receive_bytes > 0 && status == NCCL_SUCCESS)
            status = r->nccl.receive(t->receive, t->receive_bytes, NCCL_BYTES, t->peer, r->comm_own,
                                     stream);
    }
    int end = r->nccl.group_end();
    TRY(nccl_check(r, status != NCCL_SUCCESS ? status : end, "exchange", e));
    if (atomic_load(&r->has_moved) || n == 0) return 0;
    /* NCCL connects two ranks when they first exchange. */
    TRY(cuda_sync(&r->c->backend, e));
    cuda_watch_memory(r->c);
    atomic_store(&r->has_moved, true);
    return 0;
}

static size_t larger(const struct group_transfer *t)
{
    return t->send_bytes > t->receive_bytes ? t->send_bytes : t->receive_bytes;
}

/* The bytes of a piece that begins at `from`. */
static size_t piece_of(size_t bytes, size_t from, size_t most)
{
    size_t left = bytes > from ? bytes - from : 0;
    return left < most ? left : most;
}

/* Grows the staging memory to the first piece of a list, the largest. */
static int staging_reserve(struct cuda_ranks *r, const struct group_transfer *list, int32_t n,
                           size_t most, struct err *e)
{
    size_t bytes = 0;
    for (int32_t i = 0; i < n; i++)
        bytes += piece_of(list[i].send_bytes, 0, most) + piece_of(list[i].receive_bytes, 0, most);
    if (n > r->parts_room) {
        void *parts = reallocarray(r->part_own, (size_t)n, sizeof *r->part_own);
        if (!parts) return ERR(e, ERR_NOMEM, "%s: no memory for a list", r->c->backend.name);
        r->part_own = parts;
        r->parts_room = n;
    }
    if (bytes <= r->staging_bytes) return 0;
    TRY(cuda_sync(&r->c->backend, e));
    TRY(cuda_fault(r->c, cudaFreeHost(r->staging_own), "pinned memory", e));
    r->staging_own = NULL;
    r->staging_bytes = 0;
    TRY(cuda_fault(r->c, cudaMallocHost((void **)&r->staging_own, bytes), "pinned memory", e));
    r->staging_bytes = bytes;
    return 0;
}

static int copy_bytes(struct cuda_ranks *r, void *to, const void *from, size_t bytes,
                      enum cudaMemcpyKind kind, struct err *e)
{
    if (bytes == 0) return 0;
    return cuda_fault(r->c, cudaMemcpyAsync(to, from, bytes, kind, r->c->stream_own), "exchange",
                      e);
}

/* Moves the bytes [from, from + most) of each transfer that is so long. Whether a transfer takes
 * part depends on its larger side, which both ranks know. */
static int exchange_piece(struct cuda_ranks *r, const struct group_transfer *list, int32_t n,
                          size_t from, size_t most, struct err *e)
{
    char *at = r->staging_own;
    int32_t parts_n = 0;
    for (int32_t i = 0; i < n; i++) {
        const struct group_transfer *t = &list[i];
        if (from > 0 && from >= larger(t)) continue;
        struct group_transfer *p = &r->part_own[parts_n++];
        *p = (struct group_transfer){.peer = t->peer,
                                     .send_bytes = piece_of(t->send_bytes, from, most),
                                     .receive_bytes = piece_of(t->receive_bytes, from, most)};
        p->send = at;
        p->receive = at + p->send_bytes;
        at += p->send_bytes + p->receive_bytes;
        TRY(copy_bytes(r, (void *)(uintptr_t)p->send, (const char *)t->send + from, p->send_bytes,
                       cudaMemcpyDeviceToHost, e));
    }
    TRY(cuda_sync(&r->c->backend, e));
    TRY(r->functions->exchange(r->group, r->part_own, parts_n, e));
    parts_n = 0;
    for (int32_t i = 0; i < n; i++) {
        if (from > 0 && from >= larger(&list[i])) continue;
        const struct group_transfer *p = &r->part_own[parts_n++];
        TRY(copy_bytes(r, (char *)list[i].receive + from, p->receive, p->receive_bytes,
                       cudaMemcpyHostToDevice, e));
    }
    return 0;
}

static int exchange_by_host(struct cuda_ranks *r, const struct group_transfer *list, int32_t n,
                            struct err *e)
{
    size_t most = STAGING_BYTES / (size_t)r->functions->ranks_n(r->group), longest = 0;
    if (most < STAGING_LEAST) most = STAGING_LEAST;
    for (int32_t i = 0; i < n; i++)
        if (larger(&list[i]) > longest) longest = larger(&list[i]);
    TRY(staging_reserve(r, list, n, most, e));
    for (size_t from = 0; from == 0 || from < longest; from += most)
        TRY(exchange_piece(r, list, n, from, most, e));
    return 0;
}

int cuda_exchange(struct backend *b, const struct group_transfer *list, int32_t n, struct err *e)
{
    struct cuda *c = cuda_of(b);
    TRY(cuda_forbid_in_capture(c, "an exchange", e));
    if (c->ranks_own->comm_own) return exchange_by_nccl(c->ranks_own, list, n, e);
    return exchange_by_host(c->ranks_own, list, n, e);
}
