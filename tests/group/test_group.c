/* test_group.c - processes that meet, move bytes, and end each other. A case starts its ranks with
 * fork; each leaves a line in the file rank.N of the case's folder: ok, or its error. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/philox.h"
#include "base/str.h"
#include "group/group.h"
#include "group/group_internal.h"
#include "harness/test.h"

/* No case needs these times; they end one that hangs. */
enum { RANKS_N = 8, DEADLINE_S = 120 };

TEST_EACH(test_place_make, test_place_remove)

/* ---- the process of a rank ---- */

struct rank_case {
    const char *meet, *identity, *host; /* NULL: DIR/meet; "code: a"; one machine */
    const char *hosts;      /* not NULL: a letter for each rank's name of this machine */
    double meet_s, stall_s; /* 0: DEADLINE_S; none */
    int (*run)(struct group *g, struct err *e);
};

static char result_path[TEST_PATH_BYTES + 16];

/* why: the error, NULL: none. Whom it blames follows its text: [lost 3 node3]. */
static void leave_result(const char *kind, const struct err *why)
{
    char line[1300];
    struct err e;
    int n = snprintf(line, sizeof line, "%s", kind);
    if (why)
        n += snprintf(line + n, sizeof line - (size_t)n, "%s [%s %d %s]", why->text,
                      err_cause_name(why->cause), why->rank, why->node);
    if (file_write_atomic(result_path, line, (size_t)n, &e) < 0) _exit(99);
}

static void leave_lost(void *context, const struct err *e)
{
    (void)context;
    leave_result("lost: ", e);
}

static _Noreturn void be_rank(const struct test_place *p, int32_t rank, int32_t ranks_n,
                              const struct rank_case *c)
{
    char meet[TEST_PATH_BYTES + 16], label[16], node[16], host[16];
    struct group *g = NULL;
    struct err e = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(meet, sizeof meet, "%s/meet", p->path);
    snprintf(label, sizeof label, "place%d", rank);
    snprintf(node, sizeof node, "node%d", rank);
    if (c->hosts) snprintf(host, sizeof host, "127.0.0.%d", c->hosts[rank] - 'a' + 1);
    const struct group_options o = {.rank = rank,
                                    .ranks_n = ranks_n,
                                    .meet = c->meet ? c->meet : meet,
                                    .host = c->hosts ? host : c->host,
                                    .label = label,
                                    .node = node,
                                    .identity = c->identity ? c->identity : "code: a\n",
                                    .meet_s = c->meet_s > 0.0 ? c->meet_s : DEADLINE_S,
                                    .stall_s = c->stall_s,
                                    .lost = leave_lost};
    int rc = group_open(&g, &o, &e);
    if (rc == 0) rc = group_close(g, c->run(g, &e), &e);
    leave_result(rc < 0 ? "error: " : "ok", rc < 0 ? &e : NULL);
    _exit(err_exit_code(rc));
}

/* ---- the test's process ---- */

/* Starts a rank; `file` is the number of its result, which differs from rank if two have it. */
static pid_t start_as(struct test_place *p, int32_t file, int32_t rank, int32_t ranks_n,
                      const struct rank_case *c)
{
    snprintf(result_path, sizeof result_path, "%s/rank.%d", p->path, file);
    unlink(result_path);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) return pid;
    be_rank(p, rank, ranks_n, c);
}

static pid_t start_rank(struct test_place *p, int32_t rank, int32_t ranks_n,
                        const struct rank_case *c)
{
    return start_as(p, rank, rank, ranks_n, c);
}

/* Waits until a process ends. */
static void await(pid_t pid)
{
    int64_t deadline_us = clock_monotonic_us() + DEADLINE_S * 1000000LL;
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (clock_monotonic_us() > deadline_us) {
            kill(pid, SIGKILL);
            fail_msg("process %d did not end", pid);
        }
        poll(NULL, 0, 5);
    }
}

static void await_file(const char *path)
{
    int64_t deadline_us = clock_monotonic_us() + DEADLINE_S * 1000000LL;
    while (!file_exists(path)) {
        assert_true(clock_monotonic_us() < deadline_us);
        poll(NULL, 0, 5);
    }
}

static void result(const struct test_place *p, int32_t file, char out[1300])
{
    char path[TEST_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/rank.%d", p->path, file);
    file_read_tail(out, 1300, path);
}

static void assert_result(const struct test_place *p, int32_t file, const char *words)
{
    char text[1300];
    result(p, file, text);
    if (strstr(text, words) == NULL) fail_msg("rank %d: '%s', expected '%s'", file, text, words);
}

/* Runs all ranks of a case to their end. */
static void run_ranks(struct test_place *p, int32_t ranks_n, const struct rank_case *c)
{
    pid_t pid[RANKS_N];
    for (int32_t rank = 0; rank < ranks_n; rank++) pid[rank] = start_rank(p, rank, ranks_n, c);
    for (int32_t rank = 0; rank < ranks_n; rank++) await(pid[rank]);
}

static void assert_all_ok(const struct test_place *p, int32_t ranks_n)
{
    for (int32_t rank = 0; rank < ranks_n; rank++) assert_result(p, rank, "ok");
}

/* ---- exchange ---- */

enum { ROW = 256 };

static unsigned char counting[2 * ROW];

TEST_CONSTRUCTOR(count)
{
    for (size_t i = 0; i < sizeof counting; i++) counting[i] = (unsigned char)i;
}

/* ROW bytes of transfer `number` from a rank to another, from byte i on, a multiple of ROW: they
 * count up, in each row from another byte on. */
static const unsigned char *content(int32_t from, int32_t to, int32_t number, size_t i)
{
    size_t first = (size_t)from * 31 + (size_t)to * 57 + (size_t)number * 101 + i / ROW * 7;
    return counting + first % ROW;
}

static size_t row_bytes(size_t i, size_t bytes)
{
    return bytes - i < ROW ? bytes - i : ROW;
}

enum { GUARD = 16, GUARD_BYTE = 0xA5 };

/* Memory of one transfer: what is sent, and what is received between guards. */
static int transfer_make(struct group_transfer *t, int32_t rank, int32_t number, struct err *e)
{
    unsigned char *send = malloc(t->send_bytes + 1);
    unsigned char *receive = malloc(t->receive_bytes + 2 * GUARD);
    if (!send || !receive) return ERR(e, ERR_NOMEM, "no memory for a transfer");
    for (size_t i = 0; i < t->send_bytes; i += ROW)
        memcpy(send + i, content(rank, t->peer, number, i), row_bytes(i, t->send_bytes));
    memset(receive, GUARD_BYTE, t->receive_bytes + 2 * GUARD);
    t->send = send;
    t->receive = receive + GUARD;
    return 0;
}

static int transfer_check(struct group_transfer *t, int32_t rank, int32_t number, struct err *e)
{
    unsigned char *got = t->receive;
    bool good = true;
    for (size_t i = 0; i < t->receive_bytes; i += ROW)
        good = good && memcmp(got + i, content(t->peer, rank, number, i),
                              row_bytes(i, t->receive_bytes)) == 0;
    for (size_t i = 0; i < GUARD; i++)
        good =
            good && got[-1 - (int64_t)i] == GUARD_BYTE && got[t->receive_bytes + i] == GUARD_BYTE;
    free((void *)(uintptr_t)t->send);
    free(got - GUARD);
    return good ? 0 : ERR(e, ERR_DATA, "rank %d: wrong bytes from rank %d", rank, t->peer);
}

/* Exchanges once with every other rank, `pieces` transfers of `bytes` each. A rank sends a byte
 * less to a lower one than it receives from it. */
static int exchange_all(struct group *g, size_t bytes, int32_t pieces, struct err *e)
{
    struct group_transfer list[RANKS_N * 32];
    int32_t number[RANKS_N * 32], n = 0;
    for (int32_t piece = 0; piece < pieces; piece++)
        for (int32_t i = 0; i < group_ranks_n(g); i++) {
            int32_t peer = (group_rank(g) + i * 3) % group_ranks_n(g);
            if (group_ranks_n(g) % 3 == 0) peer = i;
            if (peer == group_rank(g)) continue;
            list[n] = (struct group_transfer){
                .peer = peer,
                .send_bytes = bytes - (bytes > 0 && peer < group_rank(g)),
                .receive_bytes = bytes - (bytes > 0 && peer > group_rank(g))};
            number[n] = piece;
            TRY(transfer_make(&list[n], group_rank(g), piece, e));
            n++;
        }
    TRY(group_exchange(g, list, n, e));
    for (int32_t i = 0; i < n; i++) TRY(transfer_check(&list[i], group_rank(g), number[i], e));
    return 0;
}

static int exchange_sizes(struct group *g, struct err *e)
{
    static const size_t bytes[] = {0, 1, 2, 7, 4096, 100003, 1 << 20};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        TRY(exchange_all(g, bytes[i], 1, e));
        TRY(exchange_all(g, bytes[i] / 8, 5, e));
    }
    return group_exchange(g, NULL, 0, e);
}

TEST_WITH(struct test_place *p, all_pairs_of_2_to_8_ranks_exchange_0_bytes_and_many)
{
    for (int32_t ranks_n = 1; ranks_n <= RANKS_N; ranks_n++) {
        run_ranks(p, ranks_n, &(struct rank_case){.run = exchange_sizes});
        assert_all_ok(p, ranks_n);
        run_ranks(p, ranks_n, &(struct rank_case){.run = exchange_sizes, .host = "localhost"});
        assert_all_ok(p, ranks_n);
    }
    assert_false(file_exists(test_place_path(p, "meet"))); /* a meeting leaves no file */
}

static int exchange_64_mb(struct group *g, struct err *e)
{
    TRY(exchange_all(g, 64 << 20, 1, e));
    return exchange_all(g, 2 << 20, 32, e);
}

static int node_ranks; /* what each rank is to find */

static int check_nodes(struct group *g, struct err *e)
{
    int32_t n = group_node_ranks(g);
    return n == node_ranks ? 0 : ERR(e, ERR_INTERNAL, "nodes of %d, expected %d", n, node_ranks);
}

TEST_WITH(struct test_place *p, nodes_are_the_hosts_of_consecutive_ranks)
{
    static const struct {
        const char *hosts;
        int32_t ranks_n, node_ranks;
    } cases[] = {{NULL, 1, 1},     {NULL, 4, 4},       {"aaaa", 4, 4}, {"aabb", 4, 2},
                 {"abcd", 4, 1},   {"aabbccdd", 8, 2}, {"abab", 4, 0}, {"abba", 4, 0},
                 {"aabbaa", 6, 0}, {"aaab", 4, 0},     {"abbb", 4, 0}, {"aab", 3, 0},
                 {"aaabbb", 6, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        node_ranks = cases[i].node_ranks;
        run_ranks(p, cases[i].ranks_n,
                  &(struct rank_case){.run = check_nodes, .hosts = cases[i].hosts});
        assert_all_ok(p, cases[i].ranks_n);
    }
    assert_int_equal(group_node_ranks(NULL), 1);
}

TEST_WITH(struct test_place *p, two_ranks_send_64_mb_to_each_other_at_once)
{
    run_ranks(p, 2, &(struct rank_case){.run = exchange_64_mb});
    assert_all_ok(p, 2);
    run_ranks(p, 2, &(struct rank_case){.run = exchange_64_mb, .host = "localhost"});
    assert_all_ok(p, 2);
}

/* A number below `bound` that all ranks draw alike. */
static uint32_t drawn(uint32_t bound, int32_t turn, int32_t what, int32_t which)
{
    return philox_word(4711, (uint64_t)turn, (uint32_t)what, (uint32_t)which) % bound;
}

/* Sizes of transfer k from a rank to another: often nothing, sometimes more than a socket holds. */
static size_t drawn_bytes(int32_t turn, int32_t from, int32_t to, int32_t k)
{
    static const uint32_t most[] = {1, 20, 3000, 900000};
    int32_t pair = from * RANKS_N + to;
    return drawn(most[drawn(4, turn, 100 + k, pair)], turn, 200 + k, pair);
}

/* Lists in another order on each rank: of the transfers of a pair the order is kept. */
static int exchange_random(struct group *g, struct err *e)
{
    enum { TURNS = 60, MOST = 4 };
    int32_t rank = group_rank(g), ranks_n = group_ranks_n(g);
    for (int32_t turn = 0; turn < TURNS; turn++) {
        struct group_transfer list[RANKS_N * MOST];
        int32_t number[RANKS_N * MOST], next[RANKS_N] = {0}, n = 0;
        for (int32_t draw = 0; draw < 200; draw++) {
            int32_t peer = (int32_t)drawn((uint32_t)ranks_n, turn, 1000 + draw, rank);
            int32_t low = peer < rank ? peer : rank, high = peer < rank ? rank : peer;
            int32_t wanted = (int32_t)drawn(MOST + 1, turn, 1, low * RANKS_N + high),
                    k = next[peer];
            if (peer == rank || k >= wanted) continue;
            list[n] = (struct group_transfer){.peer = peer,
                                              .send_bytes = drawn_bytes(turn, rank, peer, k),
                                              .receive_bytes = drawn_bytes(turn, peer, rank, k)};
            number[n] = k;
            TRY(transfer_make(&list[n++], rank, k, e));
            next[peer]++;
        }
        TRY(group_exchange(g, list, n, e));
        for (int32_t i = 0; i < n; i++) TRY(transfer_check(&list[i], rank, number[i], e));
    }
    return 0;
}

TEST_WITH(struct test_place *p, no_order_of_transfers_deadlocks)
{
    run_ranks(p, 5, &(struct rank_case){.run = exchange_random});
    assert_all_ok(p, 5);
}

static int share_choices(struct group *g, struct err *e)
{
    int64_t n = group_rank(g) == 0 ? 100000 : 0;
    TRY(group_share(g, &n, sizeof n, e));
    char *text = calloc(1, (size_t)n + 1);
    if (!text) return ERR(e, ERR_NOMEM, "no memory");
    if (group_rank(g) == 0) memset(text, 'c', (size_t)n);
    TRY(group_share(g, text, (size_t)n, e));
    int rc = strspn(text, "c") == 100000 ? 0 : ERR(e, ERR_DATA, "the text differs");
    free(text);
    return rc;
}

TEST_WITH(struct test_place *p, rank_0_gives_a_text_to_all)
{
    run_ranks(p, 4, &(struct rank_case){.run = share_choices});
    assert_all_ok(p, 4);
}

/* Updates until rank 0 decides to stop, because rank 2 asked for it. */
static int stop_by_rank_2(struct group *g, struct err *e)
{
    for (int32_t update = 0, stop = 0; !stop; update++) {
        if (update == 5 && group_rank(g) == 2) TRY(group_request_stop(g, e));
        TRY(exchange_all(g, 100, 1, e));
        stop = group_stop_requested(g); /* false but on rank 0 */
        if (stop && group_rank(g) != 0)
            return ERR(e, ERR_DATA, "asked a rank that decides nothing");
        TRY(group_share(g, &stop, sizeof stop, e));
        if (stop && update < 5) return ERR(e, ERR_DATA, "stopped before the request");
    }
    return 0;
}

TEST_WITH(struct test_place *p, a_stop_request_of_any_rank_reaches_rank_0)
{
    run_ranks(p, 3, &(struct rank_case){.run = stop_by_rank_2});
    assert_all_ok(p, 3);
}

/* ---- lists that do not fit ---- */

static int refuse_lists(struct group *g, struct err *e)
{
    char byte = 0;
    const struct group_transfer lists[] = {
        {.peer = group_rank(g)},
        {.peer = -1},
        {.peer = group_ranks_n(g)},
        {.peer = 1 - group_rank(g), .send_bytes = 1},
        {.peer = 1 - group_rank(g), .receive_bytes = 1},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (group_exchange(g, &lists[i], 1, e) != ERR_INTERNAL)
            return ERR(e, ERR_DATA, "list %zu was accepted", i);
    struct group_transfer t = {
        .peer = 1 - group_rank(g), .send = &byte, .send_bytes = 1, .receive = &byte};
    t.receive_bytes = (size_t)group_rank(g); /* rank 0 expects none */
    return group_exchange(g, &t, 1, e);
}

TEST_WITH(struct test_place *p, transfers_that_do_not_match_are_refused)
{
    run_ranks(p, 2, &(struct rank_case){.run = refuse_lists});
    assert_result(p, 0, "error: transfer 0 of rank 0: rank 1 sends 1 bytes, expected 0");
    assert_result(p, 1, "lost: rank 0 on place0: transfer 0 of rank 0: rank 1 sends 1 bytes");
}

/* ---- the loss of a rank ---- */

static int32_t lost_rank; /* set before the ranks start */

static int fail_in_exchange(struct group *g, struct err *e)
{
    TRY(exchange_all(g, 1000, 1, e));
    if (group_rank(g) == lost_rank) return ERR(e, ERR_IO, "disk full");
    return exchange_all(g, 4 << 20, 1, e);
}

static int die_in_exchange(struct group *g, struct err *e)
{
    TRY(exchange_all(g, 1000, 1, e));
    if (group_rank(g) == lost_rank) raise(SIGKILL);
    return exchange_all(g, 4 << 20, 1, e);
}

/* The others are busy with something that does not end. */
static int die_while_others_compute(struct group *g, struct err *e)
{
    TRY(exchange_all(g, 1000, 1, e));
    if (group_rank(g) == lost_rank) raise(SIGKILL);
    for (;;) pause();
}

/* The others have reached their end. */
static int die_at_the_end(struct group *g, struct err *e)
{
    TRY(exchange_all(g, 1000, 1, e));
    if (group_rank(g) == lost_rank) raise(SIGKILL);
    return 0;
}

/* Dies after a part of its bytes has been sent. */
static int die_in_the_middle(struct group *g, struct err *e)
{
    TRY(exchange_all(g, 1000, 1, e));
    if (group_rank(g) != lost_rank) return exchange_all(g, 1000, 1, e);
    for (int32_t peer = 0; peer < group_ranks_n(g); peer++) {
        const struct {
            uint64_t header;
            char some[8];
        } part = {.header = 1000 - (peer < lost_rank)};
        if (peer != lost_rank)
            TRY(socket_send(g->data_own[peer], &part, sizeof part, socket_deadline(0), e));
    }
    raise(SIGKILL);
    return 0;
}

static void *fail_by_the_library(void *context)
{
    struct group *g = context;
    struct err e;
    err_set(&e, ERR_UNAVAILABLE, "NVLink failed");
    (group_functions(g)->fail)(g, &e); /* cmocka has a macro of this name */
    return NULL;
}

/* A thread finds the error, while this one waits for a device. */
static int fail_in_a_thread(struct group *g, struct err *e)
{
    pthread_t thread;
    TRY(exchange_all(g, 1000, 1, e));
    if (group_rank(g) == lost_rank) pthread_create(&thread, NULL, fail_by_the_library, g);
    for (;;) pause();
}

TEST_WITH(struct test_place *p, every_rank_ends_with_the_first_cause)
{
    static const struct {
        int (*run)(struct group *g, struct err *e);
        const char *cause, *own, *blame;
    } cases[] = {
        {fail_in_exchange, "disk full", "error: disk full", "own"},
        {fail_in_a_thread, "NVLink failed", "lost: rank", "own"},
        {die_in_exchange, "connection lost", "", "lost"},
        {die_while_others_compute, "connection lost", "", "lost"},
        {die_at_the_end, "connection lost", "", "lost"},
        {die_in_the_middle, "connection lost", "", "lost"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (lost_rank = 0; lost_rank < 4; lost_rank += 3) {
            const char *const hosts[] = {NULL, "localhost"};
            for (int h = 0; h < 2; h++) {
                char words[1300];
                run_ranks(p, 4, &(struct rank_case){.run = cases[i].run, .host = hosts[h]});
                snprintf(words, sizeof words, "lost: rank %d on place%d: %s", lost_rank, lost_rank,
                         cases[i].cause);
                for (int32_t rank = 0; rank < 4; rank++)
                    if (rank != lost_rank) assert_result(p, rank, words);
                snprintf(words, sizeof words, " [%s %d node%d]", cases[i].blame, lost_rank,
                         lost_rank);
                for (int32_t rank = 0; rank < 4; rank++)
                    if (rank != lost_rank) assert_result(p, rank, words);
                result(p, lost_rank, words);
                assert_memory_equal(words, cases[i].own, strlen(cases[i].own));
                if (!*cases[i].own) assert_string_equal(words, "");
            }
        }
}

static int stop_in_exchange(struct group *g, struct err *e)
{
    if (group_rank(g) == 2) raise(SIGSTOP);
    return exchange_all(g, 4 << 20, 1, e);
}

static int stop_before_end(struct group *g, struct err *e)
{
    (void)e;
    if (group_rank(g) == 2) raise(SIGSTOP);
    return 0;
}

TEST_WITH(struct test_place *p, the_timeout_names_a_stopped_rank)
{
    static const struct rank_case cases[] = {{.run = stop_in_exchange, .stall_s = 2.0},
                                             {.run = stop_before_end, .stall_s = 2.0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pid_t pid[3];
        for (int32_t rank = 0; rank < 3; rank++) pid[rank] = start_rank(p, rank, 3, &cases[i]);
        await(pid[0]);
        await(pid[1]);
        for (int32_t rank = 0; rank < 2; rank++) {
            assert_result(p, rank,
                          i == 0 ? "rank 2 on place2 moved no byte"
                                 : "rank 2 on place2 did not end within");
            if (rank == 0 || i == 1) assert_result(p, rank, " [silent 2 node2]");
        }
        kill(pid[2], SIGKILL);
        await(pid[2]);
    }
}

/* Rank 0 is busy for longer than an exchange may stall, as with a checkpoint on a slow disk. */
static int share_late(struct group *g, struct err *e)
{
    int done = 0;
    if (group_rank(g) == 0) poll(NULL, 0, 900);
    return group_share(g, &done, sizeof done, e);
}

TEST_WITH(struct test_place *p, a_rank_0_that_shares_late_is_waited_for)
{
    run_ranks(p, 3, &(struct rank_case){.run = share_late, .stall_s = 0.2});
    assert_result(p, 1, "ok");
    assert_result(p, 2, "ok");
}

/* ---- the meeting ---- */

TEST_WITH(struct test_place *p, a_rank_that_never_comes_is_named)
{
    const struct rank_case c = {.run = exchange_sizes, .meet_s = 2.0};
    pid_t first = start_rank(p, 0, 4, &c), other = start_rank(p, 1, 4, &c);
    await(first);
    await(other);
    assert_result(p, 0, "2, 3 of 4 did not come; see their logs [absent -1 ]");
    assert_result(p, 1, "error: ");
    assert_false(file_exists(test_place_path(p, "meet")));
}

TEST_WITH(struct test_place *p, a_meet_file_that_leads_nowhere_is_named)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {NULL, "meet: rank 0 has not written it"},
        {"nonsense", "does not have an address and a key of 32 digits"},
        {"unix:12345 0123", "does not have an address and a key"},
        {"unix:12345 0123456789abcdef0123456789abcdeg\n", "does not have an address and a key"},
        {"unix:12345 0123456789abcdef0123456789abcdef0\n", "does not have an address and a key"},
        {"unix:12345 0123456789abcdef0123456789abcdef x", "does not have an address and a key"},
        {"unix:12345 0123456789abcdef0123456789abcdef\n", "rank 0 at unix:12345: "},
        {"unix: 0123456789abcdef0123456789abcdef\n", "'unix:' is not an address"},
        {"pipe:1 0123456789abcdef0123456789abcdef\n", "'pipe:1' is not an address"},
        {"tcp::80 0123456789abcdef0123456789abcdef\n", "is not an address"},
        {"tcp:localhost:1 0123456789abcdef0123456789abcdef\n", "rank 0 at tcp:localhost:1: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rank_case c = {.run = exchange_sizes, .meet_s = 0.1};
        if (cases[i].text) test_place_write(p, "meet", cases[i].text, strlen(cases[i].text));
        await(start_rank(p, 1, 2, &c));
        assert_result(p, 1, cases[i].words);
    }
}

/* Reads the file of rank 0 once it exists. */
static void read_meet(struct test_place *p, char text[200], char address[GROUP_ADDRESS_BYTES])
{
    await_file(test_place_path(p, "meet"));
    file_read_tail(text, 200, test_place_path(p, "meet"));
    assert_int_equal(sscanf(text, "%207s", address), 1);
}

TEST_WITH(struct test_place *p, strangers_and_wrong_keys_neither_join_nor_end_a_group)
{
    const struct rank_case c = {.run = exchange_sizes};
    const struct rank_case wrong = {
        .run = exchange_sizes, .meet_s = 0.1, .meet = test_place_path(p, "other")};
    char text[200], address[GROUP_ADDRESS_BYTES], garbage[4096] = "garbage";
    pid_t pid[3] = {start_rank(p, 0, 3, &c)};
    int fd[3];

    read_meet(p, text, address);
    char *digit = &text[strlen(text) - 2]; /* of the key */
    *digit = *digit == '0' ? '1' : '0';
    test_place_write(p, "other", text, strlen(text));
    await(start_rank(p, 1, 3, &wrong));
    assert_result(p, 1, "refused the key; the file is of another attempt");
    for (int i = 0; i < 3; i++) assert_ok(socket_connect(&fd[i], address, socket_deadline(0), &e));
    assert_ok(socket_send(fd[0], garbage, sizeof garbage, socket_deadline(0), &e));
    close(fd[1]); /* fd[2] says nothing */
    pid[1] = start_rank(p, 1, 3, &c);
    pid[2] = start_rank(p, 2, 3, &c);
    for (int32_t rank = 0; rank < 3; rank++) await(pid[rank]);
    assert_all_ok(p, 3);
    close(fd[0]);
    close(fd[2]);
}

/* Waits until one of two ranks has left its result, and returns its file. */
static int32_t await_one(const struct test_place *p, int32_t a, int32_t b)
{
    int64_t deadline_us = clock_monotonic_us() + DEADLINE_S * 1000000LL;
    char text[1300];
    for (int32_t file = a;; file = a + b - file) {
        result(p, file, text);
        if (text[0] != '\0') return file;
        assert_true(clock_monotonic_us() < deadline_us);
        poll(NULL, 0, 5);
    }
}

/* The abstract name on which a process listens, as any user of the machine reads it. */
static void read_listener(pid_t pid, struct sockaddr_un *at, socklen_t *n)
{
    char line[512], name[108], link[64], path[64];
    unsigned flags;
    long inode;
    FILE *all = fopen("/proc/net/unix", "r");

    assert_non_null(all);
    *n = 0;
    while (*n == 0 && fgets(line, sizeof line, all)) {
        if (sscanf(line, "%*s %*s %*s %x %*s %*s %ld @%107s", &flags, &inode, name) != 3) continue;
        for (int fd = 3; (flags & 0x10000) && fd < 64; fd++) { /* it listens */
            snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
            ssize_t length = readlink(path, link, sizeof link - 1);
            link[length > 0 ? length : 0] = '\0';
            snprintf(path, sizeof path, "socket:[%ld]", inode);
            if (strcmp(link, path) != 0) continue;
            at->sun_family = AF_UNIX;
            memcpy(at->sun_path + 1, name, strlen(name));
            *n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
        }
    }
    fclose(all);
    assert_true(*n > 0);
}

/* Connects and closes, as often as a queue has room, and twice. */
static void flood(const struct sockaddr_un *at, socklen_t n)
{
    enum { FLOOD = 9000 };
    for (int i = 0; i < FLOOD; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(fd >= 0);
        (void)connect(fd, (const struct sockaddr *)at, n);
        close(fd);
    }
}

/* Rank 1 has come and waits, or is stopped, while its queue is filled. Then rank 2 comes. */
TEST_WITH(struct test_place *p, strangers_that_fill_the_queue_of_a_rank_do_not_end_a_group)
{
    const struct rank_case c = {.run = exchange_sizes};
    for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
        struct sockaddr_un at = {0};
        socklen_t n;
        pid_t first = start_rank(p, 0, 3, &c);
        pid_t pid[2] = {start_as(p, 1, 1, 3, &c), start_as(p, 2, 1, 3, &c)};
        int32_t refused = await_one(p, 1, 2), file = 3 - refused;
        await(pid[refused - 1]);
        read_listener(pid[file - 1], &at, &n);
        if (is_stopped) kill(pid[file - 1], SIGSTOP);
        flood(&at, n);
        pid_t last = start_as(p, 4, 2, 3, &c);
        int64_t deadline_us = clock_monotonic_us() + DEADLINE_S * 1000000LL;
        while (file_exists(test_place_path(p, "meet")) && clock_monotonic_us() < deadline_us)
            poll(NULL, 0, 5);
        kill(pid[file - 1], SIGCONT);
        await(pid[file - 1]);
        await(first);
        await(last);
        assert_result(p, 0, "ok");
        assert_result(p, file, "ok");
        assert_result(p, 4, "ok");
    }
}

/* Needs the right to become another user. */
TEST_WITH(struct test_place *p, a_process_of_another_user_is_not_a_rank)
{
    enum { NOBODY = 65534 };
    char address[GROUP_ADDRESS_BYTES], byte = 'x';
    int listener, fd, status;

    (void)p;
    if (geteuid() != 0) skip();
    assert_ok(socket_listen(&listener, address, NULL, &e));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (setuid(NOBODY) < 0 || socket_connect(&fd, address, socket_deadline(0), &e) < 0)
            _exit(2);
        _exit(socket_receive(fd, &byte, 1, socket_deadline(DEADLINE_S), &e) == ERR_UNAVAILABLE ? 0
                                                                                               : 1);
    }
    struct pollfd polled = {.fd = listener, .events = POLLIN};
    assert_int_equal(socket_wait(&polled, 1, socket_deadline(DEADLINE_S), &e), 1);
    assert_ok(socket_accept(&fd, listener, &e));
    assert_int_equal(fd, -1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_ok(socket_connect(&fd, address, socket_deadline(0), &e));
    close(fd);
    assert_ok(socket_accept(&fd, listener, &e));
    assert_true(fd >= 0); /* of this user */
    close(fd);
    close(listener);
}

/* Whoever has read the file of the meeting has its key. Over TCP it may be on another machine. */
TEST_WITH(struct test_place *p, a_key_that_is_replayed_over_tcp_takes_no_place_of_a_rank)
{
    const struct rank_case c = {.run = exchange_sizes, .host = "localhost"};
    const struct rank_case late = {.run = exchange_sizes,
                                   .host = "localhost",
                                   .meet_s = 0.1,
                                   .meet = test_place_path(p, "copy")};
    char text[200], address[GROUP_ADDRESS_BYTES];
    pid_t first = start_rank(p, 0, 3, &c);

    read_meet(p, text, address);
    assert_memory_equal(address, "tcp:", 4);
    test_place_write(p, "copy", text, strlen(text));
    pid_t pid[2] = {start_rank(p, 1, 3, &c), start_rank(p, 2, 3, &c)};
    await(pid[0]);
    await(pid[1]);
    await(first);
    assert_all_ok(p, 3);
    await(start_as(p, 3, 1, 3, &late)); /* the group has ended, and its port is closed */
    assert_result(p, 3, "rank 0 at tcp:localhost:");
    first = start_rank(p, 0, 3, &c); /* another meeting has another key */
    read_meet(p, text, address);
    FILE *copy = fopen(test_place_path(p, "copy"), "r+");
    assert_non_null(copy);
    char old[200] = "";
    assert_non_null(fgets(old, sizeof old, copy));
    rewind(copy);
    assert_true(fprintf(copy, "%s %s", address, strchr(old, ' ') + 1) > 0);
    assert_int_equal(ftruncate(fileno(copy), ftell(copy)), 0);
    fclose(copy);
    await(start_as(p, 3, 1, 3, &late));
    assert_result(p, 3, "refused the key; the file is of another attempt");
    pid[0] = start_rank(p, 1, 3, &c);
    pid[1] = start_rank(p, 2, 3, &c);
    await(pid[0]);
    await(pid[1]);
    await(first);
    assert_all_ok(p, 3);
}

/* Nothing arrives from such a machine, and nothing says that it is gone. */
TEST_WITH(struct test_place *p, peers_that_stay_silent_over_tcp_hold_up_no_meeting)
{
    const struct rank_case c = {.run = exchange_sizes, .host = "localhost"};
    enum { SILENT_N = 300 }; /* more than a rank keeps */
    char text[200], address[GROUP_ADDRESS_BYTES];
    int fd[SILENT_N];
    pid_t pid[3] = {start_rank(p, 0, 3, &c)};

    read_meet(p, text, address);
    for (int i = 0; i < SILENT_N; i++)
        assert_ok(socket_connect(&fd[i], address, socket_deadline(DEADLINE_S), &e));
    pid[1] = start_rank(p, 1, 3, &c);
    pid[2] = start_rank(p, 2, 3, &c);
    for (int rank = 0; rank < 3; rank++) await(pid[rank]);
    assert_all_ok(p, 3);
    for (int i = 0; i < SILENT_N; i++) close(fd[i]);
}

TEST_WITH(struct test_place *p, a_stale_file_of_an_earlier_attempt_is_left_when_the_new_one_comes)
{
    static const char *const key = "0123456789abcdef0123456789abcdef";
    const struct rank_case c = {.run = exchange_sizes};
    char address[GROUP_ADDRESS_BYTES], text[300];
    int listener, fd = -1;
    pid_t pid[2];

    /* A listener that takes the connection and never answers, as a process of the earlier attempt
     * may. */
    assert_ok(socket_listen(&listener, address, NULL, &e));
    snprintf(text, sizeof text, "%s %s\n", address, key);
    test_place_write(p, "meet", text, strlen(text));
    pid[1] = start_rank(p, 1, 2, &c);
    while (fd < 0) {
        struct pollfd polled = {.fd = listener, .events = POLLIN};
        assert_int_equal(socket_wait(&polled, 1, socket_deadline(DEADLINE_S), &e), 1);
        assert_ok(socket_accept(&fd, listener, &e));
    }
    pid[0] = start_rank(p, 0, 2, &c);
    await(pid[0]);
    await(pid[1]);
    assert_all_ok(p, 2);
    close(fd);
    close(listener);

    test_place_write(p, "meet", text, strlen(text)); /* where nobody listens any more */
    run_ranks(p, 2, &c);
    assert_all_ok(p, 2);
}

TEST_WITH(struct test_place *p, a_rank_that_comes_twice_is_refused_and_the_group_goes_on)
{
    const struct rank_case c = {.run = exchange_sizes};
    pid_t pid[4] = {start_rank(p, 0, 3, &c), start_as(p, 1, 1, 3, &c), start_as(p, 3, 1, 3, &c)};
    int32_t refused = await_one(p, 1, 3);

    assert_result(p, refused, "error: rank 1 on place1: rank 1 has already come, from place1");
    pid[3] = start_rank(p, 2, 3, &c);
    for (int i = 0; i < 4; i++) await(pid[i]);
    assert_result(p, 0, "ok");
    assert_result(p, 4 - refused, "ok");
    assert_result(p, 2, "ok");
}

TEST_WITH(struct test_place *p, another_identity_or_number_of_ranks_ends_the_meeting)
{
    static const char *const own = "code: 1f\ndevice: A100\nlibrary: 12.4\n";
    static const struct {
        const char *identity, *words;
        int32_t ranks_n;
    } cases[] = {
        {"code: 2e\ndevice: A100\nlibrary: 12.4\n",
         "rank 1 on place1 has 'code: 2e', rank 0 on place0 has 'code: 1f'", 3},
        {"code: 1f\ndevice: H100\nlibrary: 12.4\n",
         "has 'device: H100', rank 0 on place0 has "
         "'device: A100'",
         3},
        {"code: 1f\ndevice: A100\n", "has '', rank 0 on place0 has 'library: 12.4'", 3},
        {"code: 1f\ndevice: A100\nlibrary: 12.4\n",
         "rank 1 of 2 on place1: rank 0 on place0 expects ranks 1 to 2 of 3", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rank_case c = {.run = exchange_sizes, .identity = own};
        const struct rank_case wrong = {.run = exchange_sizes, .identity = cases[i].identity};
        pid_t first = start_rank(p, 0, 3, &c), other = start_rank(p, 1, cases[i].ranks_n, &wrong);
        await(first);
        await(other);
        assert_result(p, 0, cases[i].words);
        assert_result(p, 1, cases[i].words);
    }
}

TEST_WITH(struct test_place *p, a_rank_lost_before_all_have_met_is_named)
{
    const struct rank_case c = {.run = exchange_sizes};
    pid_t first = start_rank(p, 0, 3, &c);
    pid_t pid[2] = {start_as(p, 1, 2, 3, &c), start_as(p, 2, 2, 3, &c)};

    /* One of the two is refused; then the other one has come. */
    int32_t refused = await_one(p, 1, 2);
    kill(pid[2 - refused], SIGKILL);
    await(pid[0]);
    await(pid[1]);
    await(first);
    assert_result(p, 0,
                  "rank 2 on place2: connection lost before all ranks had met [lost 2 node2]");
}

TEST_WITH(struct test_place *p, options_out_of_range_are_refused)
{
    char long_text[GROUP_IDENTITY_BYTES + 1];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    const struct group_options good = {.ranks_n = 2,
                                       .meet = test_place_path(p, "meet"),
                                       .label = "here",
                                       .identity = "",
                                       .meet_s = 1.0};
    struct group_options o[9];
    for (int i = 0; i < 9; i++) o[i] = good;
    o[0].ranks_n = 0;
    o[1].ranks_n = GROUP_RANKS_MAX + 1;
    o[2].rank = 2;
    o[3].rank = -1;
    o[4].meet_s = 0.0;
    o[5].stall_s = (double)NAN;
    o[6].label = long_text;
    o[7].identity = long_text;
    o[8].host = long_text;
    for (int i = 0; i < 9; i++) {
        struct group *g;
        assert_int_equal(group_open(&g, &o[i], &e), ERR_USAGE);
        assert_null(g);
    }
    o[0] = good;
    o[0].meet = test_place_path(p, "no/such/folder/meet");
    struct group *g;
    assert_fails(ERR_CREATE, "no/such/folder/meet", group_open(&g, &o[0], &e));
    assert_int_equal(group_close(NULL, ERR_IO, &e), ERR_IO);
}
