/* group_internal.h - shared by the files of src/group. */
#ifndef GROUP_GROUP_INTERNAL_H
#define GROUP_GROUP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "group/group.h"

/* A rank as the others know it. */
enum { GROUP_ADDRESS_BYTES = GROUP_TEXT_BYTES + 16 };
struct group_member {
    char label[GROUP_TEXT_BYTES];
    char node[ERR_NODE_BYTES];
    char address[GROUP_ADDRESS_BYTES]; /* unix:NAME or tcp:HOST:PORT */
};

/* A message between a rank and rank 0; all have the same length. */
enum group_message_kind {
    MESSAGE_WELCOME = 1, /* from rank 0: all have come; the members follow */
    MESSAGE_WRONG_KEY,   /* from rank 0: this is another meeting */
    MESSAGE_ERROR,       /* the error that ends the group */
    MESSAGE_STOP,        /* to rank 0: this rank was asked to stop */
    MESSAGE_END          /* this rank has reached the end; from rank 0: all have */
};
struct group_message {
    int32_t kind;
    struct err why; /* of MESSAGE_ERROR */
};

/* A message that is being received. */
struct group_inbox {
    struct group_message message;
    size_t got;
};

/* The state of exchange.c for one peer. */
struct group_lane {
    int32_t send_at, receive_at; /* entries of the list; its length: none left */
    size_t sent, received;       /* bytes of these entries, with their headers */
    uint64_t header;             /* being received */
};

struct group {
    const struct group_functions *functions; /* first */
    struct group_options options;            /* without its texts */
    int32_t rank, ranks_n;
    struct group_member *member_own;  /* (ranks_n) */
    int *control_own;                 /* (ranks_n) rank 0: of all others; others: of rank 0; -1 */
    int *data_own;                    /* (ranks_n) of all others; -1 */
    struct group_lane *lane_own;      /* (ranks_n) */
    struct group_transfer *share_own; /* (ranks_n) */

    struct group_inbox *inbox_own; /* (ranks_n) the watcher's */
    pthread_mutex_t lock;          /* of messages that are sent, and of: */
    bool *ended_own;               /* (ranks_n) */
    int32_t ended_n;
    pthread_cond_t end_changed;
    atomic_bool stop_requested;
    atomic_bool lost; /* a thread is ending this process */
    pthread_t watcher;
    bool watched;
    int wake_fd; /* an eventfd that ends the watcher; -1 */
};

/* group_silent - the error of ranks that did not answer: "rank 3 on node7, cuda:1 WHAT 240 s". It
 * blames a rank only if the set has no other: of several, all but one may wait as this rank does.
 */
int group_silent(const struct group *g, const bool *in_set, const char *what, struct err *e);

/* ---- socket.c: deadlines are times of clock_monotonic_us ---- */

struct pollfd;
/* socket_deadline - so many seconds from now; 0: never. */
int64_t socket_deadline(double seconds);
/* socket_wait - polls until a descriptor is ready: their number, or 0 at the deadline. */
int socket_wait(struct pollfd *polled, size_t n, int64_t deadline_us, struct err *e);
/* socket_send, socket_receive - all n bytes. Errors: ERR_UNAVAILABLE closed, or the deadline. */
int socket_send(int fd, const void *data, size_t n, int64_t deadline_us, struct err *e);
int socket_receive(int fd, void *data, size_t n, int64_t deadline_us, struct err *e);
/* socket_get - what is there of n bytes: their number, 0 none now, -1 closed or broken. */
int64_t socket_get(int fd, void *data, size_t n);
/* socket_listen - host NULL: a UNIX socket. Writes the address for socket_connect. */
int socket_listen(int *fd, char address[GROUP_ADDRESS_BYTES], const char *host, struct err *e);
int socket_connect(int *fd, const char *address, int64_t deadline_us, struct err *e);
/* socket_accept - the next connection; -1: none now, or it is gone. */
int socket_accept(int *fd, int listener, struct err *e);

/* ---- watch.c ---- */

/* group_blame - blames a rank for the error in e, unless it already blames another one. */
void group_blame(const struct group *g, enum err_cause cause, int32_t rank, struct err *e);
/* message_take - the error of a message, which came from outside. */
struct err message_take(const struct group_message *m);

/* watch_begin - starts the watcher once the members are known. watch_end - stops it. */
int watch_begin(struct group *g, struct err *e);
void watch_end(struct group *g);
/* watch_send - a message to a rank; `why` (may be NULL) is its error. */
int watch_send(struct group *g, int32_t rank, enum group_message_kind kind, const struct err *why,
               struct err *e);
/* watch_tell - an error to every rank with a control connection but `cause` (-1: to all). */
void watch_tell(struct group *g, int32_t cause, const struct err *why);
/* watch_end_together - returns when all ranks have called it. */
int watch_end_together(struct group *g, struct err *e);
/* watch_outlive - after a peer's connection broke: gives the watcher the time to end this process
 * with the first cause. Returns if the peer is alive. */
void watch_outlive(void);

#endif
