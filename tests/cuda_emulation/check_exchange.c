/* check_exchange.c - exchange between ranks of the emulated GPU: by NCCL, which sockets replace
 * (nccl_emulated.c), and through host memory; and how ranks agree on one of them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/ranks.h"
#include "harness/test.h"
#include "ops/ops.h"

enum { TRANSFERS = 3, SIZES = 7 };

/* What differs between cases; "" is the environment without the variable. */
struct setting {
    const char *device;
    const char *nccl[2];          /* ALIBI_NCCL of rank 0 and of the others */
    const char *emulated_nccl[2]; /* EMULATION_NCCL of them */
    int (*run)(struct backend *b, struct err *e);
    bool names_code; /* an error begins with the name of its code */
};

static char result[TEST_RANKS_MAX][TEST_RESULT_BYTES];

static void set_variable(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* Opens the backend and joins the group, as a worker does. */
static int be_rank(struct group *g, const void *context, struct err *e)
{
    const struct setting *s = context;
    struct backend *b = NULL;
    bool other = group_rank(g) > 0;
    set_variable("ALIBI_NCCL", s->nccl[other]);
    set_variable("EMULATION_NCCL", s->emulated_nccl[other]);
    TRY(backend_open(&b, s->device, 1, DTYPE_F32, e));
    int rc = b->ops->group_join(b, g, e);
    if (rc == 0 && b->group != g) rc = ERR(e, ERR_DATA, "%s has no group", b->name);
    if (rc == 0 && s->run) rc = s->run(b, e);
    if (rc == 0) backend_close(b);
    if (rc < 0 && s->names_code) err_ctx(e, "%s", err_name(rc));
    return rc;
}

static void run_ranks(int32_t ranks_n, const struct setting *s)
{
    test_ranks(ranks_n, be_rank, s, result);
}

static void assert_all(int32_t ranks_n, const char *words)
{
    for (int32_t rank = 0; rank < ranks_n; rank++)
        if (!strstr(result[rank], words))
            fail_msg("rank %d: '%s', expected '%s'", rank, result[rank], words);
}

/* ---- bytes ---- */

static float content(int32_t from, int32_t to, int32_t transfer, size_t i)
{
    return (float)(from * 1000 + to * 100 + transfer * 10) + (float)(i % 4096);
}

/* Floats of a transfer between two ranks: fewer from the higher rank. */
static size_t floats_of(size_t most, int32_t from, int32_t to, int32_t transfer)
{
    size_t n = transfer == 2 ? most / 5 : most;
    return from > to ? n / 2 : n;
}

/* Doubles n floats on the device: an op before or after the exchange. */
static int twice(struct backend *b, float *at, size_t n, struct err *e)
{
    struct tensor x = tensor_make(at, 1, (int64_t)n, DTYPE_F32);
    return n > 0 ? OPS(b, add, e, .y = x, .x = x, .r = x) : 0;
}

static int check_received(struct backend *b, const struct group_transfer *t, int32_t transfer,
                          float *host, struct err *e)
{
    size_t n = t->receive_bytes / sizeof *host;
    TRY(twice(b, t->receive, n, e));
    TRY(b->ops->download(b, host, t->receive, t->receive_bytes, e));
    for (size_t i = 0; i < n; i++)
        if (host[i] != 4 * content(t->peer, group_rank(b->group), transfer, i))
            return ERR(e, ERR_DATA, "float %zu of %zu of transfer %d from rank %d is %g", i, n,
                       transfer, t->peer, (double)host[i]);
    return 0;
}

/* Every rank sends doubled numbers to every other one, which doubles them again; nothing waits for
 * the device but the download. */
static int exchange_floats(struct backend *b, size_t most, struct err *e)
{
    int32_t rank = group_rank(b->group), ranks_n = group_ranks_n(b->group), n = 0;
    struct group_transfer list[TRANSFERS * TEST_RANKS_MAX];
    void *memory = NULL;
    float *host = calloc(most + 1, sizeof *host), *at;
    if (!host) return ERR(e, ERR_NOMEM, "no memory");
    TRY(b->ops->alloc(b, &memory, 2 * TRANSFERS * (size_t)ranks_n * (most + 1) * sizeof *at, e));
    at = memory;
    for (int32_t i = 0; i < TRANSFERS * ranks_n; i++) {
        int32_t transfer = i / ranks_n, peer = (i + rank) % ranks_n;
        size_t sent = floats_of(most, rank, peer, transfer);
        size_t received = floats_of(most, peer, rank, transfer);
        if (peer == rank) continue;
        for (size_t k = 0; k < sent; k++) host[k] = content(rank, peer, transfer, k);
        TRY(b->ops->upload(b, at, host, sent * sizeof *at, e));
        TRY(twice(b, at, sent, e));
        list[n++] = (struct group_transfer){.peer = peer,
                                            .send = at,
                                            .send_bytes = sent * sizeof *at,
                                            .receive = at + sent,
                                            .receive_bytes = received * sizeof *at};
        at += sent + received;
    }
    TRY(b->ops->exchange(b, list, n, e));
    for (int32_t i = 0; i < n; i++) TRY(check_received(b, &list[i], i / (ranks_n - 1), host, e));
    b->ops->release(b, memory);
    free(host);
    return 0;
}

static int exchange_sizes(struct backend *b, struct err *e)
{
    static const size_t floats[SIZES] = {1, 0, 2, 7, 1025, 100003, 64};
    for (int i = 0; i < SIZES; i++) TRY(exchange_floats(b, floats[i], e));
    return b->ops->exchange(b, NULL, 0, e);
}

TEST(all_pairs_exchange_between_ops)
{
    static const char *const devices[] = {"cuda:emulated", "check:cuda:emulated"};
    for (int i = 0; i < 2; i++)
        for (int32_t ranks_n = 2; ranks_n <= 4; ranks_n++)
            for (int host = 0; host < 2; host++) {
                const char *nccl = host ? "0" : NULL;
                run_ranks(ranks_n, &(struct setting){.device = devices[i],
                                                     .nccl = {nccl, nccl},
                                                     .run = exchange_sizes});
                assert_all(ranks_n, "ok");
            }
}

/* More than the staging memory of a transfer, which is 16 MB for two ranks. */
static int exchange_much(struct backend *b, struct err *e)
{
    return exchange_floats(b, 9 << 20, e);
}

TEST(long_transfers_move_in_pieces)
{
    run_ranks(
        2, &(struct setting){.device = "cuda:emulated", .nccl = {"0", "0"}, .run = exchange_much});
    assert_all(2, "ok");
}

static int exchange_in_capture(struct backend *b, struct err *e)
{
    struct err refused = {0};
    TRY(b->ops->graph_begin(b, e));
    int rc = b->ops->exchange(b, NULL, 0, &refused);
    TRY(b->ops->graph_end(b, NULL, e));
    if (rc == ERR_INTERNAL && strstr(refused.text, "exchange is not possible during graph"))
        return exchange_floats(b, 5, e);
    return ERR(e, ERR_DATA, "in a capture: %d, %s", rc, refused.text);
}

TEST(an_exchange_is_refused_in_a_capture)
{
    for (int host = 0; host < 2; host++) {
        const char *nccl = host ? "0" : NULL;
        run_ranks(2, &(struct setting){.device = "cuda:emulated",
                                       .nccl = {nccl, nccl},
                                       .run = exchange_in_capture});
        assert_all(2, "ok");
    }
}

/* ---- which transport ---- */

/* An error that says what was chosen. */
static int tell(struct backend *b, struct err *e)
{
    TRY(exchange_floats(b, 5, e));
    return ERR(e, ERR_DATA, "by %s (%s)", b->transport, b->transport_warning);
}

TEST(rank_0_chooses_the_transport_of_all)
{
    static const struct {
        struct setting setting;
        const char *words[2]; /* of rank 0 and of rank 1 */
    } rows[] = {
        {{.emulated_nccl = {NULL, NULL}, .run = tell}, {"by NCCL 2.27.5 ()", "by NCCL 2.27.5 ()"}},
        {{.nccl = {"0", NULL}, .run = tell},
         {"by host memory and sockets (NCCL is off (ALIBI_NCCL=0))", "(NCCL is off"}},
        {{.emulated_nccl = {"absent", NULL}, .run = tell},
         {"by host memory and sockets (NCCL: it was not found)", "by host memory and sockets"}},
        {{.emulated_nccl = {NULL, "absent"}},
         {"lost: rank 1 on place1: cuda:emulated: rank 0 exchanges by NCCL 2.27.5, but here NCCL: "
          "it was not found",
          "error: cuda:emulated: rank 0 exchanges by NCCL 2.27.5, but here NCCL: it was not "
          "found"}},
        {{.emulated_nccl = {NULL, "21805"}},
         {"lost: rank 1 on place1", "by NCCL 2.27.5, but here NCCL 2.18.5 was found"}},
        {{.emulated_nccl = {"2708", NULL}},
         {"error: cuda:emulated: NCCL 2.7.8 was found, alibi needs NCCL 2.14.0 or later",
          "lost: rank 0 on place0: cuda:emulated: NCCL 2.7.8 was found"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct setting s = rows[i].setting;
        s.device = i % 2 ? "check:cuda:emulated" : "cuda:emulated";
        run_ranks(2, &s);
        for (int rank = 0; rank < 2; rank++)
            if (!strstr(result[rank], rows[i].words[rank]) &&
                !(s.run == tell && strstr(result[rank], "lost: ")))
                fail_msg("row %zu, rank %d: '%s', expected '%s'", i, rank, result[rank],
                         rows[i].words[rank]);
    }
}

/* ---- the loss of a rank ---- */

static int die_before_exchange(struct backend *b, struct err *e)
{
    TRY(exchange_floats(b, 5, e));
    if (group_rank(b->group) == 1) raise(SIGKILL);
    return exchange_floats(b, 100000, e);
}

static int stop_before_exchange(struct backend *b, struct err *e)
{
    TRY(exchange_floats(b, 5, e));
    if (group_rank(b->group) == 1) return ERR(e, ERR_IO, "disk full");
    return exchange_floats(b, 100000, e);
}

TEST(an_exchange_with_a_lost_rank_does_not_keep_a_process)
{
    for (int host = 0; host < 2; host++) {
        const char *nccl = host ? "0" : NULL;
        struct setting s = {
            .device = "cuda:emulated", .nccl = {nccl, nccl}, .run = die_before_exchange};
        run_ranks(3, &s);
        assert_string_equal(result[1], "");
        for (int rank = 0; rank < 3; rank += 2)
            if (!strstr(result[rank], "lost: rank 1 on place1: connection lost"))
                fail_msg("rank %d: %s", rank, result[rank]);
        s.run = stop_before_exchange;
        run_ranks(3, &s);
        assert_string_equal(result[1], "error: disk full");
        assert_string_equal(result[0], "lost: rank 1 on place1: disk full");
        assert_string_equal(result[2], "lost: rank 1 on place1: disk full");
    }
}

/* An error that another try would meet again names no lost GPU; NCCL says what to do. */
TEST(an_error_before_bytes_have_moved_is_one_of_the_machine)
{
    static const struct {
        const char *emulated_nccl, *words;
    } rows[] = {
        {"usage", "no_input: cuda:emulated: meeting of ranks: NCCL: invalid usage: Duplicate "
                  "GPU detected : rank 1 and rank 0 both on CUDA device 0; NCCL_DEBUG=WARN"},
        {"full", "no_input: cuda:emulated: exchange: NCCL: unhandled system error: Error while "
                 "creating shared memory segment /dev/shm/nccl-1 (size 9637888); NCCL_DEBUG=WARN"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *word = rows[i].emulated_nccl;
        run_ranks(2, &(struct setting){.device = "cuda:emulated",
                                       .emulated_nccl = {word, word},
                                       .run = exchange_sizes,
                                       .names_code = true});
        assert_all(2, rows[i].words);
    }
}

TEST(instances_of_a_divided_gpu_exchange_through_host_memory)
{
    set_variable("CUDA_VISIBLE_DEVICES", "MIG-fake-1,MIG-fake-2");
    run_ranks(2, &(struct setting){.device = "cuda:emulated", .run = tell});
    set_variable("CUDA_VISIBLE_DEVICES", NULL);
    assert_all(2, "by host memory and sockets (NCCL does not take MIG instances");
}

TEST(ranks_that_nccl_does_not_connect_end_with_what_to_set)
{
    test_meet_s = 1.0;
    run_ranks(2, &(struct setting){.device = "cuda:emulated", .emulated_nccl = {"deaf", "deaf"}});
    test_meet_s = 120.0;
    assert_all(2, "NCCL did not connect the ranks within 1 s; NCCL_SOCKET_IFNAME names");
}

TEST(an_error_that_only_nccl_sees_ends_all_ranks)
{
    run_ranks(2, &(struct setting){.device = "cuda:emulated",
                                   .emulated_nccl = {"broken", "broken"},
                                   .run = exchange_sizes});
    assert_all(2, "cuda:emulated: exchange: NCCL: unhandled system error; NCCL_DEBUG=WARN");
    assert_all(2, "lost: rank ");
}
