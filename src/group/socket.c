/* socket.c - connections between ranks: UNIX sockets on one machine, TCP between machines.
 *
 * 1. No descriptor blocks. Whoever waits polls with a deadline.
 * 2. A UNIX socket has an abstract name that the kernel chooses: no file is left behind, and a long
 *    path of the attempt's folder does not matter.
 * 3. A process of another user on this machine is not a rank: its connections to a UNIX socket are
 *    closed when they are accepted. It can fill a queue of connections for a moment, so connecting
 *    tries again until the deadline.
 * 4. A machine that loses its power sends nothing. TCP probes an idle connection, and breaks it
 *    after 25 seconds without an answer. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "group/group_internal.h"

enum { PROBE_AFTER_S = 10, PROBE_EVERY_S = 5, PROBES_N = 3, WAIT_MAX_MS = 1000000 };
enum { QUEUE_RETRY_US = 2000, STRANGERS_MAX = 4096 };

int64_t socket_deadline(double seconds)
{
    return seconds > 0.0 ? clock_monotonic_us() + (int64_t)(seconds * 1e6) : INT64_MAX;
}

int socket_wait(struct pollfd *polled, size_t n, int64_t deadline_us, struct err *e)
{
    for (;;) {
        int64_t left_ms = WAIT_MAX_MS;
        if (deadline_us != INT64_MAX) left_ms = (deadline_us - clock_monotonic_us() + 999) / 1000;
        if (left_ms < 0) left_ms = 0;
        int rc = poll(polled, n, left_ms < WAIT_MAX_MS ? (int)left_ms : WAIT_MAX_MS);
        if (rc > 0 || (rc == 0 && clock_monotonic_us() >= deadline_us)) return rc;
        if (rc < 0 && errno != EINTR && errno != EAGAIN)
            return ERR(e, ERR_INTERNAL, "poll: %s", strerror(errno));
    }
}

/* Waits for one descriptor. */
static int socket_wait_one(int fd, short events, int64_t deadline_us, struct err *e)
{
    struct pollfd polled = {.fd = fd, .events = events};
    int rc = socket_wait(&polled, 1, deadline_us, e);
    if (rc == 0) return ERR(e, ERR_UNAVAILABLE, "no answer before the timeout");
    return rc < 0 ? rc : 0;
}

int socket_send(int fd, const void *data, size_t n, int64_t deadline_us, struct err *e)
{
    for (size_t sent = 0; sent < n;) {
        ssize_t rc = send(fd, (const char *)data + sent, n - sent, MSG_NOSIGNAL);
        if (rc >= 0)
            sent += (size_t)rc;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            TRY(socket_wait_one(fd, POLLOUT, deadline_us, e));
        else if (errno != EINTR)
            return ERR(e, ERR_UNAVAILABLE, "connection lost: %s", strerror(errno));
    }
    return 0;
}

int64_t socket_get(int fd, void *data, size_t n)
{
    for (;;) {
        ssize_t rc = recv(fd, data, n, 0);
        if (rc > 0) return rc;
        if (rc == 0) return -1;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
        if (errno != EINTR) return -1;
    }
}

int socket_receive(int fd, void *data, size_t n, int64_t deadline_us, struct err *e)
{
    for (size_t got = 0; got < n;) {
        int64_t rc = socket_get(fd, (char *)data + got, n - got);
        if (rc < 0) return ERR(e, ERR_UNAVAILABLE, "connection lost");
        if (rc == 0) TRY(socket_wait_one(fd, POLLIN, deadline_us, e));
        got += (size_t)rc;
    }
    return 0;
}

static void socket_tune(int fd)
{
    static const struct {
        int level, option, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, PROBE_AFTER_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, PROBE_EVERY_S},
        {IPPROTO_TCP, TCP_KEEPCNT, PROBES_N},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].option, &options[i].value, sizeof(int));
}

static int socket_listen_unix(int *fd, char address[GROUP_ADDRESS_BYTES], struct err *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t n = sizeof at;

    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* An address without a path lets the kernel choose the name. */
    if (*fd < 0 || bind(*fd, (struct sockaddr *)&at, sizeof at.sun_family) < 0 ||
        listen(*fd, SOMAXCONN) < 0 || getsockname(*fd, (struct sockaddr *)&at, &n) < 0)
        return ERR(e, ERR_UNAVAILABLE, "a UNIX socket to meet on: %s", strerror(errno));
    int length = (int)(n - offsetof(struct sockaddr_un, sun_path)) - 1;
    snprintf(address, GROUP_ADDRESS_BYTES, "unix:%.*s", length, at.sun_path + 1);
    return 0;
}

static int socket_listen_tcp(int *fd, char address[GROUP_ADDRESS_BYTES], const char *host,
                             struct err *e)
{
    static const struct sockaddr_in6 any6 = {.sin6_family = AF_INET6};
    static const struct sockaddr_in any4 = {.sin_family = AF_INET};
    struct sockaddr_in6 at;
    socklen_t n = sizeof at;
    int off = 0, rc = -1;

    /* A socket of IPv6 also takes connections of IPv4, unless the machine has no IPv6. */
    *fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd >= 0) setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (*fd >= 0) rc = bind(*fd, (const struct sockaddr *)&any6, sizeof any6);
    if (rc < 0) {
        if (*fd >= 0) close(*fd);
        *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (*fd >= 0) rc = bind(*fd, (const struct sockaddr *)&any4, sizeof any4);
    }
    if (rc < 0 || listen(*fd, SOMAXCONN) < 0 || getsockname(*fd, (struct sockaddr *)&at, &n) < 0)
        return ERR(e, ERR_UNAVAILABLE, "a TCP port to meet on: %s", strerror(errno));
    /* Both families have the port at the same offset. */
    snprintf(address, GROUP_ADDRESS_BYTES, "tcp:%s:%d", host, ntohs(at.sin6_port));
    return 0;
}

int socket_listen(int *fd, char address[GROUP_ADDRESS_BYTES], const char *host, struct err *e)
{
    return host ? socket_listen_tcp(fd, address, host, e) : socket_listen_unix(fd, address, e);
}

/* Connects a new socket to one address. */
static int socket_connect_to(int *fd, const struct sockaddr *at, socklen_t n, int64_t deadline_us,
                             struct err *e)
{
    int fault = 0;
    socklen_t fault_n = sizeof fault;
    *fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0) return ERR(e, ERR_UNAVAILABLE, "%s", strerror(errno));
    int rc = connect(*fd, at, n) < 0 ? errno : 0;
    while (rc == EAGAIN && clock_monotonic_us() < deadline_us) { /* the listener's queue is full */
        (void)socket_wait(NULL, 0, clock_monotonic_us() + QUEUE_RETRY_US, e);
        rc = connect(*fd, at, n) < 0 ? errno : 0;
    }
    if (rc == EINPROGRESS) {
        rc = 0;
        if (socket_wait_one(*fd, POLLOUT, deadline_us, e) < 0)
            rc = ETIMEDOUT;
        else if (getsockopt(*fd, SOL_SOCKET, SO_ERROR, &fault, &fault_n) == 0)
            rc = fault;
    }
    if (rc == 0) return 0;
    close(*fd);
    *fd = -1;
    return ERR(e, ERR_UNAVAILABLE, "%s", strerror(rc));
}

static int socket_connect_tcp(int *fd, char *host, const char *port, int64_t deadline_us,
                              struct err *e)
{
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;

    int rc = getaddrinfo(host, port, &wanted, &found);
    if (rc != 0) return ERR(e, ERR_UNAVAILABLE, "host %s: %s", host, gai_strerror(rc));
    rc = ERR(e, ERR_UNAVAILABLE, "host %s has no address", host);
    for (const struct addrinfo *a = found; a && rc < 0; a = a->ai_next)
        rc = socket_connect_to(fd, a->ai_addr, a->ai_addrlen, deadline_us, e);
    freeaddrinfo(found);
    if (rc == 0) socket_tune(*fd);
    return rc;
}

int socket_connect(int *fd, const char *address, int64_t deadline_us, struct err *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char text[sizeof((struct group_member *)0)->address];

    *fd = -1;
    snprintf(text, sizeof text, "%s", address);
    char *port = strrchr(text, ':');
    if (strncmp(text, "tcp:", 4) == 0 && port > text + 4) {
        *port = '\0';
        return socket_connect_tcp(fd, text + 4, port + 1, deadline_us, e);
    }
    size_t n = strlen(text) - 5;
    if (strncmp(text, "unix:", 5) != 0 || n == 0 || n >= sizeof at.sun_path)
        return ERR(e, ERR_DATA, "'%s' is not an address (unix:NAME or tcp:HOST:PORT)", text);
    memcpy(at.sun_path + 1, text + 5, n);
    n += offsetof(struct sockaddr_un, sun_path) + 1;
    return socket_connect_to(fd, (struct sockaddr *)&at, (socklen_t)n, deadline_us, e);
}

/* True unless the other end is a process of this machine and of another user. */
static bool socket_is_ours(int fd)
{
    struct sockaddr_storage at;
    struct ucred peer;
    socklen_t at_n = sizeof at, peer_n = sizeof peer;

    if (getsockname(fd, (struct sockaddr *)&at, &at_n) < 0) return false;
    if (at.ss_family == AF_UNIX)
        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_n) == 0 &&
               peer.uid == geteuid();
    socket_tune(fd);
    return true;
}

int socket_accept(int *fd, int listener, struct err *e)
{
    for (int i = 0; i < STRANGERS_MAX; i++) {
        *fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (*fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
            return ERR(e, ERR_UNAVAILABLE, "a connection of a rank: %s", strerror(errno));
        if (*fd < 0 || socket_is_ours(*fd)) return 0;
        close(*fd);
        *fd = -1;
    }
    return 0;
}
