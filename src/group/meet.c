/* meet.c - how the ranks of a group find each other, and how a group is taken down.
 *
 * 1. Every rank listens. Rank 0 writes its address and a new key to the file DIR/meet.
 * 2. Another rank reads the file, connects to rank 0 and says hello: key, rank, identity, its own
 *    address. The file may be one of an earlier attempt: until the timeout the rank tries again,
 *    at once when the file changes.
 * 3. When all have come, rank 0 sends the members to all and deletes the file. From then on a
 *    thread watches these connections (watch.c).
 * 4. Each rank connects to the lower ranks and accepts the higher ones: a connection for each pair,
 *    for exchange.c.
 *
 * A connection without the key is closed and counts for nothing, so that a stranger can neither
 * join nor end a group; a rank takes connections from the moment it listens, so that strangers do
 * not fill its queue. One with the key and a wrong identity ends the meeting. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "group/group_internal.h"

enum {
    KEY_DIGITS = 32,                /* 128 bits */
    ARRIVALS_MAX = GROUP_RANKS_MAX, /* connections without a hello; the oldest gives way */
    MEET_FILE_BYTES = 512,
    RETRY_MS = 20,
    REPLY_LOOK_MS = 200,
    REPLY_GRACE_S = 5 /* for the message with which rank 0 ends its meeting */
};
#define HELLO_MAGIC "alibi-2" /* changes with struct hello and struct group_message */

enum hello_kind { HELLO_CONTROL, HELLO_DATA };
struct hello {
    char magic[8];
    char key[KEY_DIGITS];
    int32_t kind, rank, ranks_n;
    struct group_member member;
    char identity[GROUP_IDENTITY_BYTES];
};

/* A connection that has not said hello yet. */
struct arrival {
    int fd;
    size_t got;
    struct hello hello;
};

struct meeting {
    struct group *g;
    const char *path;
    int64_t deadline_us;
    struct hello own;
    int listener, reply_fd; /* reply_fd: on which rank 0 answers; -1 */
    struct arrival arrival[ARRIVALS_MAX];
    int32_t arrivals_n;
    int32_t strangers_n; /* connections without the key */
};

int group_silent(const struct group *g, const bool *in_set, const char *what, struct err *e)
{
    char names[400] = "";
    size_t n = 0;
    int32_t last = -1, silent_n = 0;

    for (int32_t rank = 0; rank < g->ranks_n; rank++) {
        if (!in_set[rank]) continue;
        if (n < sizeof names)
            n += (size_t)snprintf(names + n, sizeof names - n, "%srank %d on %s", n ? ", " : "",
                                  rank, g->member_own[rank].label);
        last = rank;
        silent_n++;
    }
    err_set(e, ERR_UNAVAILABLE, "%s %s %g s", names, what, g->options.stall_s);
    if (silent_n != 1) return err_blame(e, ERR_CAUSE_SILENT, -1, "");
    return err_blame(e, ERR_CAUSE_SILENT, last, g->member_own[last].node);
}

/* ---- connections that arrive ---- */

static void arrival_drop(struct meeting *m, int32_t i)
{
    m->arrivals_n--;
    memmove(&m->arrival[i], &m->arrival[i + 1], (size_t)(m->arrivals_n - i) * sizeof m->arrival[0]);
}

static int arrival_add(struct meeting *m, struct err *e)
{
    int fd;
    TRY(socket_accept(&fd, m->listener, e));
    if (fd < 0) return 0;
    if (m->arrivals_n == ARRIVALS_MAX) {
        close(m->arrival[0].fd);
        arrival_drop(m, 0);
    }
    m->arrival[m->arrivals_n++] = (struct arrival){.fd = fd};
    return 0;
}

/* Refuses a connection with a message. */
static void refuse_arrival(int fd, enum group_message_kind kind, const struct err *why)
{
    struct group_message out = {.kind = kind};
    struct err ignored;

    if (why) out.why = *why;
    (void)socket_send(fd, &out, sizeof out, clock_monotonic_us(), &ignored);
    close(fd);
}

/* Compares all digits, so that the time says nothing about the key. */
static bool hello_has_key(const struct meeting *m, const struct hello *h)
{
    int differs = memcmp(h->magic, m->own.magic, sizeof h->magic);
    for (int32_t i = 0; i < KEY_DIGITS; i++) differs |= h->key[i] ^ m->own.key[i];
    return differs == 0;
}

/* Reads of one arrival; true if its hello is complete and has the key: then *out has it. */
static bool arrival_read(struct meeting *m, int32_t i, struct arrival *out)
{
    struct arrival *a = &m->arrival[i];
    int64_t n = socket_get(a->fd, (char *)&a->hello + a->got, sizeof a->hello - a->got);
    if (n >= 0) a->got += (size_t)n;
    if (n >= 0 && a->got < sizeof a->hello) return false;
    *out = *a;
    arrival_drop(m, i);
    if (n < 0) {
        close(out->fd);
        return false;
    }
    if (!hello_has_key(m, &out->hello)) {
        m->strangers_n++;
        refuse_arrival(out->fd, MESSAGE_WRONG_KEY, NULL);
        return false;
    }
    struct hello *h = &out->hello;
    h->member.label[sizeof h->member.label - 1] = '\0';
    h->member.address[sizeof h->member.address - 1] = '\0';
    h->member.node[sizeof h->member.node - 1] = '\0';
    h->identity[sizeof h->identity - 1] = '\0';
    return true;
}

/* Ends the meeting if a rank that has come is gone: it says nothing before it is welcomed. */
static int members_check(const struct group *g, const struct pollfd *members, int32_t n,
                         struct err *e)
{
    for (int32_t rank = 0; rank < n; rank++) {
        if (!members[rank].revents) continue;
        err_set(e, ERR_UNAVAILABLE, "rank %d on %s: connection lost before all ranks had met", rank,
                g->member_own[rank].label);
        return err_blame(e, ERR_CAUSE_LOST, rank, g->member_own[rank].node);
    }
    return 0;
}

/* Waits for the next connection with the key or for an answer of rank 0, and during the meeting of
 * rank 0 looks at those who are here. */
enum meeting_news { NEWS_NONE, NEWS_ARRIVAL, NEWS_REPLY };
static int meeting_wait(struct meeting *m, int64_t deadline_us, struct arrival *out, struct err *e)
{
    struct group *g = m->g;
    struct pollfd polled[2 + ARRIVALS_MAX + GROUP_RANKS_MAX];

    do {
        struct pollfd *members = polled + 2 + m->arrivals_n;
        int32_t members_n = g->watched ? 0 : g->ranks_n;
        polled[0] = (struct pollfd){.fd = m->listener, .events = POLLIN};
        polled[1] = (struct pollfd){.fd = m->reply_fd, .events = POLLIN};
        for (int32_t i = 0; i < m->arrivals_n; i++)
            polled[2 + i] = (struct pollfd){.fd = m->arrival[i].fd, .events = POLLIN};
        for (int32_t rank = 0; rank < members_n; rank++)
            members[rank] = (struct pollfd){.fd = g->control_own[rank], .events = POLLIN};
        int rc = socket_wait(polled, (size_t)(2 + m->arrivals_n + members_n), deadline_us, e);
        if (rc <= 0) return rc;
        TRY(members_check(g, members, members_n, e));
        bool is_new = polled[0].revents != 0;
        if (polled[1].revents) return NEWS_REPLY;
        for (int32_t i = m->arrivals_n - 1; i >= 0; i--)
            if (polled[2 + i].revents && arrival_read(m, i, out)) return NEWS_ARRIVAL;
        if (is_new) TRY(arrival_add(m, e));
    } while (clock_monotonic_us() < deadline_us); /* strangers may come without end */
    return NEWS_NONE;
}

/* Takes the connection of a higher rank, or refuses it. */
static void mesh_admit(struct meeting *m, struct arrival *a)
{
    struct group *g = m->g;
    int32_t rank = a->hello.rank;
    struct err why;

    if (a->hello.kind == HELLO_DATA && rank > g->rank && rank < g->ranks_n &&
        g->data_own[rank] < 0) {
        g->data_own[rank] = a->fd;
        return;
    }
    err_set(&why, ERR_USAGE, "rank %d on %s: all ranks have already come", rank,
            a->hello.member.label);
    refuse_arrival(a->fd, MESSAGE_ERROR, &why);
}

/* ---- rank 0 ---- */

/* Finds the first line in which two identities differ. */
static void identity_difference(const char *a, const char *b, char line_a[80], char line_b[80])
{
    size_t at = 0, line = 0;
    for (; a[at] == b[at] && a[at] != '\0'; at++)
        if (a[at] == '\n') line = at + 1;
    snprintf(line_a, 80, "%.*s", (int)strcspn(a + line, "\n"), a + line);
    snprintf(line_b, 80, "%.*s", (int)strcspn(b + line, "\n"), b + line);
}

/* Checks what a rank that has the key says of itself. */
static int hello_check(const struct meeting *m, const struct hello *h, struct err *e)
{
    const struct group *g = m->g;
    char theirs[80], own[80];

    if (h->rank <= 0 || h->rank >= h->ranks_n || h->ranks_n != g->ranks_n)
        return ERR(e, ERR_USAGE, "rank %d of %d on %s: rank 0 on %s expects ranks 1 to %d of %d",
                   h->rank, h->ranks_n, h->member.label, m->own.member.label, g->ranks_n - 1,
                   g->ranks_n);
    if (strcmp(h->identity, m->own.identity) == 0) return 0;
    identity_difference(h->identity, m->own.identity, theirs, own);
    err_set(e, ERR_UNAVAILABLE,
            "rank %d on %s has '%s', rank 0 on %s has '%s'; all ranks of a training need the same",
            h->rank, h->member.label, theirs, m->own.member.label, own);
    return err_blame(e, ERR_CAUSE_MEETING, -1, "");
}

/* Takes a rank in, or refuses it. An error ends the meeting. */
static int admit_arrival(struct meeting *m, struct arrival *a, struct err *e)
{
    struct group *g = m->g;
    struct err why = {0};
    int32_t rank = a->hello.rank;

    int rc = hello_check(m, &a->hello, e);
    if (rc < 0) {
        refuse_arrival(a->fd, MESSAGE_ERROR, e);
        return rc;
    }
    if (g->control_own[rank] >= 0) {
        err_set(&why, ERR_USAGE, "rank %d on %s: rank %d has already come, from %s", rank,
                a->hello.member.label, rank, g->member_own[rank].label);
        refuse_arrival(a->fd, MESSAGE_ERROR, &why);
        return 0;
    }
    g->control_own[rank] = a->fd;
    g->member_own[rank] = a->hello.member;
    return 1;
}

static int meeting_timeout(const struct meeting *m, struct err *e)
{
    const struct group *g = m->g;
    char ranks[400] = "", strangers[80] = "";
    size_t n = 0;
    int32_t missing_n = 0, last = -1;

    for (int32_t rank = 1; rank < g->ranks_n; rank++) {
        if (g->control_own[rank] >= 0) continue;
        last = rank;
        if (n < sizeof ranks)
            n += (size_t)snprintf(ranks + n, sizeof ranks - n, "%s%d", n ? ", " : "", rank);
        missing_n++;
    }
    if (m->strangers_n > 0)
        snprintf(strangers, sizeof strangers, "; %d connection%s had another key", m->strangers_n,
                 m->strangers_n == 1 ? "" : "s");
    err_set(e, ERR_UNAVAILABLE,
            "rank 0 on %s waited %g s: rank%s %s of %d did not come%s; see their logs",
            m->own.member.label, g->options.meet_s, missing_n == 1 ? "" : "s", ranks, g->ranks_n,
            strangers);
    return err_blame(e, ERR_CAUSE_ABSENT, missing_n == 1 ? last : -1, "");
}

/* Writes the file of the meeting, which only this user may read. */
static int meeting_announce(const struct meeting *m, struct err *e)
{
    char text[MEET_FILE_BYTES];
    int n = snprintf(text, sizeof text, "%s %.*s\n", m->own.member.address, KEY_DIGITS, m->own.key);
    mode_t mask = umask(077);
    int rc = file_write_atomic(m->path, text, (size_t)n, e);
    umask(mask);
    return rc;
}

static int meeting_host(struct meeting *m, struct err *e)
{
    struct group *g = m->g;
    unsigned char key[KEY_DIGITS / 2];
    char digits[KEY_DIGITS + 1];
    struct arrival *a = calloc(1, sizeof *a);
    int rc = 0;

    if (!a) return ERR(e, ERR_NOMEM, "out of memory for a meeting");
    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key)
        TRY_OUT(rc, ERR(e, ERR_INTERNAL, "no random numbers for a key: %s", strerror(errno)));
    for (size_t i = 0; i < sizeof key; i++) snprintf(digits + 2 * i, 3, "%02x", key[i]);
    memcpy(m->own.key, digits, KEY_DIGITS);
    TRY_OUT(rc, meeting_announce(m, e));
    for (int32_t missing_n = g->ranks_n - 1; missing_n > 0; missing_n -= rc) {
        TRY_OUT(rc, meeting_wait(m, m->deadline_us, a, e));
        if (rc == NEWS_NONE) TRY_OUT(rc, meeting_timeout(m, e));
        TRY_OUT(rc, admit_arrival(m, a, e));
    }
    for (int32_t rank = 1; rank < g->ranks_n; rank++) {
        rc = watch_send(g, rank, MESSAGE_WELCOME, NULL, e);
        if (rc == 0)
            rc = socket_send(g->control_own[rank], g->member_own,
                             (size_t)g->ranks_n * sizeof *g->member_own, m->deadline_us, e);
        if (rc == 0) continue;
        err_ctx(e, "rank %d on %s", rank, g->member_own[rank].label);
        group_blame(g, ERR_CAUSE_LOST, rank, e);
        goto out;
    }
out:
    if (rc < 0) watch_tell(g, -1, e);
    unlink(m->path);
    free(a);
    return rc;
}

/* ---- the other ranks ---- */

/* Waits for the answer of rank 0: 0, or 1 with a reason in e to read the file again. A higher rank
 * may have its answer before. */
static int reply_await(struct meeting *m, int fd, const char *file_text,
                       struct group_message *reply, struct err *e)
{
    int64_t deadline_us = socket_deadline(m->g->options.meet_s + REPLY_GRACE_S);
    char now[MEET_FILE_BYTES];
    struct arrival a;

    m->reply_fd = fd;
    for (size_t got = 0; got < sizeof *reply;) {
        int rc = meeting_wait(m, clock_monotonic_us() + REPLY_LOOK_MS * 1000, &a, e);
        if (rc < 0) return rc;
        if (rc == NEWS_ARRIVAL) mesh_admit(m, &a);
        int64_t n = rc == NEWS_REPLY ? socket_get(fd, (char *)reply + got, sizeof *reply - got) : 0;
        err_set(e, ERR_UNAVAILABLE, "%s: rank 0 %s", m->path,
                n < 0 ? "closed the connection" : "did not let the group begin");
        if (n < 0 || clock_monotonic_us() > deadline_us) return 1;
        got += (size_t)n;
        file_read_tail(now, sizeof now, m->path);
        if (got == 0 && now[0] != '\0' && strcmp(now, file_text) != 0) return 1;
    }
    return 0;
}

/* Tries the file as it is now: 0 joined, 1 not yet (e has the reason). */
static int join_once(struct meeting *m, struct err *e)
{
    struct group *g = m->g;
    char text[MEET_FILE_BYTES], address[GROUP_ADDRESS_BYTES], key[KEY_DIGITS + 1];
    struct group_message reply;
    struct err why = {0};
    int fd = -1, end = 0;

    _Static_assert(GROUP_ADDRESS_BYTES == 208 && KEY_DIGITS == 32, "the widths of sscanf");
    file_read_tail(text, sizeof text, m->path);
    err_set(e, ERR_UNAVAILABLE, "%s: rank 0 has not written it", m->path);
    if (text[0] == '\0') return 1;
    err_set(e, ERR_UNAVAILABLE, "%s does not have an address and a key of %d digits", m->path,
            KEY_DIGITS);
    if (sscanf(text, "%207s %32[0-9a-f]\n%n", address, key, &end) != 2 || text[end] != '\0' ||
        strlen(key) != KEY_DIGITS)
        return 1;
    memcpy(m->own.key, key, KEY_DIGITS);
    int rc = socket_connect(&fd, address, m->deadline_us, &why);
    if (rc == 0) rc = socket_send(fd, &m->own, sizeof m->own, m->deadline_us, &why);
    if (rc < 0) {
        if (fd >= 0) close(fd);
        err_set(e, ERR_UNAVAILABLE, "%s: rank 0 at %s: %s", m->path, address, why.text);
        return 1;
    }
    rc = reply_await(m, fd, text, &reply, e);
    m->reply_fd = -1;
    if (rc == 0 && reply.kind == MESSAGE_WRONG_KEY) {
        err_set(e, ERR_UNAVAILABLE,
                "%s: rank 0 at %s refused the key; the file is of another attempt", m->path,
                address);
        rc = 1;
    } else if (rc == 0 && reply.kind != MESSAGE_WELCOME) {
        *e = message_take(&reply);
        rc = e->code;
    } else if (rc == 0) {
        rc = socket_receive(fd, g->member_own, (size_t)g->ranks_n * sizeof *g->member_own,
                            socket_deadline(REPLY_GRACE_S), e);
    }
    if (rc == 0)
        g->control_own[0] = fd;
    else
        close(fd);
    return rc;
}

static int meeting_join(struct meeting *m, struct err *e)
{
    char reason[sizeof e->text];
    for (;;) {
        int rc = join_once(m, e);
        if (rc <= 0) return rc;
        if (clock_monotonic_us() >= m->deadline_us) break;
        poll(NULL, 0, RETRY_MS);
    }
    snprintf(reason, sizeof reason, "%s", e->text);
    err_set(e, ERR_UNAVAILABLE, "rank %d on %s waited %g s: %s", m->g->rank, m->own.member.label,
            m->g->options.meet_s, reason);
    return err_blame(e, ERR_CAUSE_ABSENT, 0, "");
}

/* ---- all ranks ---- */

/* The higher ranks that have not connected. */
static int32_t higher_missing(const struct group *g)
{
    int32_t n = 0;
    for (int32_t rank = g->rank + 1; rank < g->ranks_n; rank++) n += g->data_own[rank] < 0;
    return n;
}

/* Step 4. The listeners of all ranks exist before any rank is welcomed, so connecting waits for
 * nobody. */
static int mesh_open(struct meeting *m, struct err *e)
{
    struct group *g = m->g;
    struct arrival *a = calloc(1, sizeof *a);
    int rc = 0;

    if (!a) return ERR(e, ERR_NOMEM, "out of memory for a meeting");
    m->own.kind = HELLO_DATA;
    m->deadline_us = socket_deadline(g->options.meet_s);
    for (int32_t rank = 0; rank < g->rank; rank++) {
        rc = socket_connect(&g->data_own[rank], g->member_own[rank].address, m->deadline_us, e);
        if (rc == 0) rc = socket_send(g->data_own[rank], &m->own, sizeof m->own, m->deadline_us, e);
        if (rc == 0) continue;
        err_ctx(e, "rank %d on %s", rank, g->member_own[rank].label);
        group_blame(g, ERR_CAUSE_LOST, rank, e);
        goto out;
    }
    for (int32_t missing_n; (missing_n = higher_missing(g)) > 0;) {
        TRY_OUT(rc, meeting_wait(m, m->deadline_us, a, e));
        if (rc == NEWS_NONE) {
            err_set(e, ERR_UNAVAILABLE, "%d higher ranks did not connect in %g s", missing_n,
                    g->options.meet_s);
            rc = err_blame(e, ERR_CAUSE_SILENT, -1, "");
            goto out;
        }
        mesh_admit(m, a);
    }
    rc = 0;
out:
    free(a);
    return rc;
}

static int options_check(const struct group_options *o, struct err *e)
{
    if (o->ranks_n < 1 || o->ranks_n > GROUP_RANKS_MAX || o->rank < 0 || o->rank >= o->ranks_n)
        return ERR(e, ERR_USAGE, "rank %d of %d: expected a rank below a number of at most %d",
                   o->rank, o->ranks_n, GROUP_RANKS_MAX);
    if (!(o->meet_s > 0.0) || !(o->stall_s >= 0.0))
        return ERR(e, ERR_USAGE, "timeouts of %g and %g s: expected a positive one, and one from 0",
                   o->meet_s, o->stall_s);
    if (strlen(o->label) >= GROUP_TEXT_BYTES || strlen(o->identity) >= GROUP_IDENTITY_BYTES ||
        (o->host && strlen(o->host) >= GROUP_TEXT_BYTES))
        return ERR(e, ERR_USAGE,
                   "the place, identity or host of rank %d is too long: expected less than %d, %d "
                   "and %d bytes",
                   o->rank, GROUP_TEXT_BYTES, GROUP_IDENTITY_BYTES, GROUP_TEXT_BYTES);
    return 0;
}

static void group_free(struct group *g)
{
    watch_end(g);
    for (int32_t rank = 0; rank < g->ranks_n; rank++) {
        if (g->control_own && g->control_own[rank] >= 0) close(g->control_own[rank]);
        if (g->data_own && g->data_own[rank] >= 0) close(g->data_own[rank]);
    }
    if (g->wake_fd >= 0) close(g->wake_fd);
    pthread_cond_destroy(&g->end_changed);
    pthread_mutex_destroy(&g->lock);
    free(g->member_own);
    free(g->control_own);
    free(g->data_own);
    free(g->lane_own);
    free(g->share_own);
    free(g->inbox_own);
    free(g->ended_own);
    free(g);
}

static double group_meet_s(const struct group *g)
{
    return g->options.meet_s;
}

static const struct group_functions functions = {.rank = group_rank,
                                                 .ranks_n = group_ranks_n,
                                                 .exchange = group_exchange,
                                                 .share = group_share,
                                                 .fail = group_fail,
                                                 .meet_s = group_meet_s};

static int group_make(struct group **out, const struct group_options *o, struct err *e)
{
    size_t n = (size_t)o->ranks_n;
    pthread_condattr_t monotonic;
    struct group *g = calloc(1, sizeof *g);

    if (!g) return ERR(e, ERR_NOMEM, "out of memory for %d ranks", o->ranks_n);
    g->functions = &functions;
    g->options = *o;
    g->rank = o->rank;
    g->ranks_n = o->ranks_n;
    g->wake_fd = -1;
    pthread_mutex_init(&g->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&g->end_changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    g->member_own = calloc(n, sizeof *g->member_own);
    g->control_own = calloc(n, sizeof *g->control_own);
    g->data_own = calloc(n, sizeof *g->data_own);
    g->lane_own = calloc(n, sizeof *g->lane_own);
    g->share_own = calloc(n, sizeof *g->share_own);
    g->inbox_own = calloc(n, sizeof *g->inbox_own);
    g->ended_own = calloc(n, sizeof *g->ended_own);
    for (size_t i = 0; i < n && g->control_own; i++) g->control_own[i] = -1;
    for (size_t i = 0; i < n && g->data_own; i++) g->data_own[i] = -1;
    if (g->member_own && g->control_own && g->data_own && g->lane_own && g->share_own &&
        g->inbox_own && g->ended_own) {
        *out = g;
        return 0;
    }
    group_free(g);
    return ERR(e, ERR_NOMEM, "out of memory for %d ranks", o->ranks_n);
}

int group_open(struct group **out, const struct group_options *o, struct err *e)
{
    struct group *g = NULL;
    int rc = 0;

    *out = NULL;
    TRY(options_check(o, e));
    TRY(group_make(&g, o, e));
    struct meeting *m = calloc(1, sizeof *m);
    if (!m) TRY_OUT(rc, ERR(e, ERR_NOMEM, "out of memory for a meeting"));
    *m = (struct meeting){.g = g, .path = o->meet, .listener = -1, .reply_fd = -1};
    m->deadline_us = socket_deadline(o->meet_s);
    m->own.rank = o->rank;
    m->own.ranks_n = o->ranks_n;
    memcpy(m->own.magic, HELLO_MAGIC, sizeof m->own.magic);
    snprintf(m->own.member.label, sizeof m->own.member.label, "%s", o->label);
    snprintf(m->own.member.node, sizeof m->own.member.node, "%s", o->node ? o->node : "");
    snprintf(m->own.identity, sizeof m->own.identity, "%s", o->identity);
    if (o->ranks_n > 1) {
        rc = socket_listen(&m->listener, m->own.member.address, o->host, e);
        if (rc < 0) (void)err_blame(e, ERR_CAUSE_MEETING, -1, "");
        if (rc < 0) goto out;
        g->member_own[o->rank] = m->own.member;
        TRY_OUT(rc, o->rank == 0 ? meeting_host(m, e) : meeting_join(m, e));
        TRY_OUT(rc, watch_begin(g, e));
        TRY_OUT(rc, mesh_open(m, e));
    }
    *out = g;
out:
    if (m && m->listener >= 0) close(m->listener);
    for (int32_t i = 0; m && i < m->arrivals_n; i++) close(m->arrival[i].fd);
    free(m);
    return rc < 0 ? group_close(g, rc, e) : 0;
}

int group_close(struct group *g, int rc, struct err *e)
{
    struct err why = {0};

    if (!g) return rc;
    if (rc == 0 && g->watched) rc = watch_end_together(g, e);
    if (rc < 0 && g->watched) {
        watch_end(g); /* the others end now, which is no loss */
        group_blame(g, ERR_CAUSE_OWN, g->rank, e);
        why = *e;
        if (g->rank == 0) err_ctx(&why, "rank 0 on %s", g->member_own[0].label);
        watch_tell(g, -1, &why);
    }
    group_free(g);
    return rc;
}

int32_t group_rank(const struct group *g)
{
    return g ? g->rank : 0;
}

int32_t group_ranks_n(const struct group *g)
{
    return g ? g->ranks_n : 1;
}

/* True if two ranks have one host: an address up to its last part. */
static bool on_one_node(const struct group *g, int32_t a, int32_t b)
{
    const char *x = g->member_own[a].address, *y = g->member_own[b].address;
    size_t n = (size_t)(strrchr(x, ':') - x), length = (size_t)(strrchr(y, ':') - y);
    return n == length && memcmp(x, y, n) == 0;
}

int32_t group_node_ranks(const struct group *g)
{
    int32_t n = group_ranks_n(g), K = 1;
    while (K < n && on_one_node(g, 0, K)) K++;
    for (int32_t rank = 1; rank < n; rank++) {
        int32_t first = 0;
        while (!on_one_node(g, first, rank)) first++;
        if (first != rank - rank % K) return 0;
    }
    return n % K == 0 && (K & (K - 1)) == 0 ? K : 0;
}
