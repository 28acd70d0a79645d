/* test_model_group.c - a training by P processes has the bits of a training by one: values, state,
 * gradients, losses and norms. A case starts its ranks with fork; each leaves its results in memory
 * that all share. */
#include "harness/test.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "group/group.h"
#include "model/model_bench.h"
#include "model/model_struct.h"
#include "model/model_weights.h"

enum { RANKS_MAX = 8, SHARDS_MAX = 8, UPDATES = 4, ROWS = 3, LENGTH = 7, DEADLINE_S = 120 };

TEST_EACH(test_place_make, test_place_remove)

struct result {
    int rc;
    char text[256];
    double loss[UPDATES], norm[UPDATES];
    char weights[HASH_HEX_BYTES]; /* fp32 values in the memory of this rank */
    char all[3][HASH_HEX_BYTES];  /* of rank 0: values, state, gradients of all ranks */
};

struct training {
    const char *name;
    enum spec_position position;
    enum spec_softmax softmax;
    enum spec_optimizer optimizer;
    int32_t shards;
    int32_t present[UPDATES]; /* shards of each update; 0: all */
    double dropout;
    float broken;    /* not 0: a weight that every rank writes before the last update */
    bool zeros;      /* the last update has one shard, with gradients of -0 */
    int64_t piece_n; /* elements of a piece, not 0: fewer than the model chooses */
};

static struct spec spec_of(const struct training *t)
{
    struct spec s = model_bench_spec(t->position, t->softmax);
    model_bench_dropout(&s, t->dropout);
    s.model.layers = 1;
    s.train.shards = t->shards;
    s.train.optimizer = t->optimizer;
    s.train.clip = 0.1;
    s.train.weight_decay = 0.01;
    s.train.tail_quirk = t->softmax == SPEC_ADAPTIVE;
    return s;
}

/* ---- the process of a rank ---- */

static const struct backend_ops *backend_ops;
static int32_t nodes_of; /* ranks of a node */
static bool is_updating;

/* The exchange of the backend. In an update a rank sends gradients, squares and weights to the
 * ranks of its node and to those of its place on other nodes; to others losses alone. */
static int exchange_checked(struct backend *b, const struct group_transfer *list, int32_t n,
                            struct err *e)
{
    int32_t rank = group_rank(b->group), K = nodes_of;
    for (int32_t i = 0; is_updating && i < n; i++) {
        int32_t peer = list[i].peer;
        bool is_near = peer / K == rank / K || peer % K == rank % K;
        if (!is_near && list[i].send_bytes > SHARDS_MAX * sizeof(double))
            return ERR(e, ERR_INTERNAL, "%zu bytes to rank %d, with nodes of %d",
                       list[i].send_bytes, peer, K);
    }
    return backend_ops->exchange(b, list, n, e);
}

static int32_t rows_of(uint32_t update, int32_t shard)
{
    return 1 + (shard + (int32_t)update) % ROWS;
}

static int32_t shards_of(const struct training *t, uint32_t update)
{
    return t->present[update] > 0 ? t->present[update] : t->shards;
}

/* Writes an element of the first tensor, in the memory of this rank. */
static int write_element(struct model *m, enum model_array array, float value, struct err *e)
{
    const struct shape_tensor *t = &model_params(m)->tensor[0];
    float *numbers = model_bench_array((int64_t)t->rows * t->cols);
    TRY(model_weights_read(m, array, 0, numbers, e));
    numbers[t->cols * 3] = value;
    return model_write(m, array, 0, numbers, e);
}

static int update_once(struct model *m, const struct training *t, uint32_t update,
                       struct result *out, struct err *e)
{
    double lr = t->optimizer == SPEC_ADAM ? 0.003 : 0.5;
    struct model_update u = {
        .update = update, .lr = lr, .lr_previous = lr, .shards_n = shards_of(t, update)};
    int64_t first_row[RANKS_MAX + 1] = {0};
    int32_t first = 0, end = 0;
    for (int32_t s = 0; s < u.shards_n; s++) first_row[s + 1] = first_row[s] + rows_of(update, s);
    u.targets_n = first_row[u.shards_n] * LENGTH;
    model_shards(m, &first, &end);
    for (int32_t s = first; s < end && s < u.shards_n; s++) {
        struct model_batch batch =
            model_bench_batch(NULL, rows_of(update, s), LENGTH, update * 100 + (uint64_t)s);
        batch.first_row = first_row[s];
        TRY(model_train_batch(m, &batch, update, s, NULL, e));
    }
    if (t->zeros && update + 1 == UPDATES && first == 0)
        TRY(write_element(m, MODEL_GRADIENTS, -0.0f, e));
    is_updating = true;
    int rc = model_apply(m, &u, &out->norm[update], e);
    is_updating = false;
    out->loss[update] = model_loss(m);
    return rc;
}

static int hash_array(struct model *m, enum model_array array, bool local, char *out, struct err *e)
{
    const struct shape_params *p = model_params(m);
    float *all = model_bench_array(p->parameters_n), *to = all;
    for (int32_t i = 0; i < p->tensors_n; i++) {
        TRY(local ? model_weights_read(m, array, i, to, e) : model_read(m, array, i, to, e));
        to += (int64_t)p->tensor[i].rows * p->tensor[i].cols;
    }
    hash_sha256_hex(out, all, (size_t)p->parameters_n * sizeof *all);
    return 0;
}

static int train(struct backend *b, const struct training *t, int32_t ranks_n, int32_t node_ranks,
                 struct result *out, struct err *e)
{
    int rc = 0;
    struct model *m = NULL;
    const struct spec s = spec_of(t);
    const struct shape_capacity o = {.train = true,
                                     .rows_max = ROWS,
                                     .length_max = LENGTH,
                                     .scored_max = ROWS * LENGTH,
                                     .ranks_n = ranks_n,
                                     .node_ranks = node_ranks};
    struct shape_memory planned;
    shape_memory(&planned, &s, &o);
    TRY(model_open(&m, b, &s, &o, e));
    if (model_bytes(m) != planned.total_bytes) {
        rc = ERR(e, ERR_INTERNAL, "the model has other bytes than planned");
        goto out;
    }
    for (int32_t i = 0; t->piece_n > 0 && i < SHAPE_ROUNDS; i++) {
        assert_true(m->memory.piece_n[i] == 0 || m->memory.piece_n[i] > 2 * t->piece_n);
        m->memory.piece_n[i] = t->piece_n;
    }
    TRY_OUT(rc, model_init(m, 5, e));
    for (uint32_t update = 0; update < UPDATES; update++) {
        if (t->broken != 0.0f && update + 1 == UPDATES) {
            TRY_OUT(rc, write_element(m, MODEL_VALUES, t->broken, e));
            TRY_OUT(rc, hash_array(m, MODEL_VALUES, true, out->all[1], e));
        }
        TRY_OUT(rc, update_once(m, t, update, out, e));
    }
    TRY_OUT(rc, hash_array(m, MODEL_VALUES, false, out->all[0], e));
    TRY_OUT(rc, hash_array(m, MODEL_STATE_0, false, out->all[1], e));
    TRY_OUT(rc, hash_array(m, MODEL_GRADIENTS, false, out->all[2], e));
out:
    if (m != NULL && (rc == 0 || rc == ERR_NUMBER)) {
        struct err second;
        if (hash_array(m, MODEL_VALUES, true, out->weights, &second) < 0) rc = ERR_INTERNAL;
    }
    model_close(m);
    return rc;
}

/* Without a group if ranks_n is 1. */
static _Noreturn void be_rank(const char *meet, int32_t rank, int32_t ranks_n, int32_t node_ranks,
                              const struct training *t, struct result *out)
{
    struct group *g = NULL;
    struct backend *b = NULL;
    struct err e = {0};
    const struct group_options o = {.rank = rank,
                                    .ranks_n = ranks_n,
                                    .meet = meet,
                                    .label = "cpu",
                                    .identity = "code: a\n",
                                    .meet_s = DEADLINE_S};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int rc = backend_open(&b, "cpu", 1, DTYPE_F32, &e);
    if (rc == 0 && ranks_n > 1) rc = group_open(&g, &o, &e);
    if (rc == 0 && g != NULL) rc = b->ops->group_join(b, g, &e);
    if (rc == 0) {
        static struct backend_ops checked;
        backend_ops = b->ops;
        checked = *b->ops;
        checked.exchange = exchange_checked;
        b->ops = &checked;
        nodes_of = node_ranks > 0 ? node_ranks : ranks_n;
    }
    if (rc == 0) rc = train(b, t, ranks_n, node_ranks, out, &e);
    if (g != NULL) {
        bool refused = rc == ERR_NUMBER; /* all ranks do the same, so none is lost */
        int ended = group_close(g, refused ? 0 : rc, &e);
        rc = refused ? rc : ended;
    }
    out->rc = rc;
    snprintf(out->text, sizeof out->text, "%s", e.text);
    backend_close(b);
    _exit(0);
}

/* ---- the test's process ---- */

static void await(pid_t pid)
{
    int64_t deadline_us = clock_monotonic_us() + DEADLINE_S * 1000000LL;
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (clock_monotonic_us() > deadline_us) {
            kill(pid, SIGKILL);
            fail_msg("process %d did not end", pid);
        }
        poll(NULL, 0, 1);
    }
}

/* Runs a training on so many ranks, on nodes of so many (0: one); the results are valid until the
 * end of the program. */
static const struct result *run_nodes(struct test_place *p, const struct training *t,
                                      int32_t ranks_n, int32_t node_ranks)
{
    const char *meet = test_place_path(p, "meet");
    pid_t pid[RANKS_MAX];
    struct result *out = mmap(NULL, RANKS_MAX * sizeof *out, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(out != MAP_FAILED);
    fflush(NULL);
    for (int32_t rank = 0; rank < ranks_n; rank++) {
        out[rank].rc = 1;
        pid[rank] = fork();
        assert_true(pid[rank] >= 0);
        if (pid[rank] == 0) be_rank(meet, rank, ranks_n, node_ranks, t, &out[rank]);
    }
    for (int32_t rank = 0; rank < ranks_n; rank++) await(pid[rank]);
    return out;
}

static const struct result *run_training(struct test_place *p, const struct training *t,
                                         int32_t ranks_n)
{
    return run_nodes(p, t, ranks_n, 0);
}

static void assert_equal(const struct training *t, int32_t ranks_n, const struct result *got,
                         const struct result *want)
{
    for (int32_t rank = 0; rank < ranks_n; rank++, got++) {
        if (got->rc != want->rc)
            fail_msg("%s: rank %d of %d: %d, '%s'", t->name, rank, ranks_n, got->rc, got->text);
        if (memcmp(got->loss, want->loss, sizeof got->loss) != 0 ||
            memcmp(got->norm, want->norm, sizeof got->norm) != 0)
            fail_msg("%s: rank %d of %d: other losses or norms", t->name, rank, ranks_n);
        if (strcmp(got->weights, want->weights) != 0)
            fail_msg("%s: rank %d of %d: other weights", t->name, rank, ranks_n);
        if (rank == 0 && memcmp(got->all, want->all, sizeof got->all) != 0)
            fail_msg("%s: %d ranks: other values, state or gradients", t->name, ranks_n);
    }
}

static const struct training trainings[] = {
    {.name = "three of eight shards, five, eight, three",
     .position = SPEC_ALIBI,
     .softmax = SPEC_ADAPTIVE,
     .optimizer = SPEC_NAG,
     .shards = 8,
     .present = {3, 5, 0, 3}, /* at first some ranks make no pass */
     .dropout = 0.2},
    {.name = "six shards, one, T5, Adam",
     .position = SPEC_T5,
     .softmax = SPEC_PLAIN,
     .optimizer = SPEC_ADAM,
     .shards = 6,
     .present = {[2] = 1},
     .dropout = 0.2},
    {.name = "KERPLE",
     .position = SPEC_KERPLE_LOG,
     .softmax = SPEC_ADAPTIVE,
     .optimizer = SPEC_NAG,
     .shards = 8,
     .present = {[1] = 3}},
    {.name = "learned positions, Adam",
     .position = SPEC_LEARNED,
     .softmax = SPEC_ADAPTIVE,
     .optimizer = SPEC_ADAM,
     .shards = 8,
     .present = {[1] = 3, [3] = 6},
     .dropout = 0.1},
    {.name = "four shards, T5",
     .position = SPEC_T5,
     .softmax = SPEC_ADAPTIVE,
     .optimizer = SPEC_NAG,
     .shards = 4,
     .present = {[1] = 3},
     .dropout = 0.1},
    {.name = "one shard with a gradient of -0",
     .position = SPEC_ALIBI,
     .softmax = SPEC_PLAIN,
     .optimizer = SPEC_NAG,
     .shards = 8,
     .present = {[3] = 1},
     .zeros = true},
};

TEST_WITH(struct test_place *p, every_number_of_ranks_has_the_bits_of_one)
{
    for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
        const struct training *t = &trainings[i];
        const struct result *want = run_training(p, t, 1);
        if (want->rc < 0) fail_msg("%s: %s", t->name, want->text);
        for (int32_t ranks_n = 2; ranks_n <= shape_leaves(t->shards); ranks_n *= 2)
            assert_equal(t, ranks_n, run_training(p, t, ranks_n), want);
    }
}

/* Absent are two ranks of a node, all ranks of a node, and all nodes but one. */
TEST_WITH(struct test_place *p, every_number_of_ranks_of_a_node_has_the_bits_of_one)
{
    const struct training learned = {.name = "nodes, learned positions, Adam",
                                     .position = SPEC_LEARNED,
                                     .softmax = SPEC_ADAPTIVE,
                                     .optimizer = SPEC_ADAM,
                                     .shards = 8,
                                     .present = {6, 0, 3, 1},
                                     .dropout = 0.1,
                                     .piece_n = 50};
    const struct training *cases[] = {&trainings[0], &learned};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct result *want = run_training(p, cases[i], 1);
        assert_ok(want->rc);
        for (int32_t ranks_n = 2; ranks_n <= 8; ranks_n *= 2)
            for (int32_t node_ranks = 1; node_ranks <= ranks_n; node_ranks *= 2)
                assert_equal(cases[i], ranks_n, run_nodes(p, cases[i], ranks_n, node_ranks), want);
    }
}

/* Each of these changes bits, so equal bits above show something. */
TEST_WITH(struct test_place *p, an_absent_shard_is_not_a_present_one)
{
    struct training t = trainings[0];
    const struct result *all = run_training(p, &t, 1);
    t.present[3] = 4;
    const struct result *other = run_training(p, &t, 2);
    assert_ok(other->rc);
    assert_true(other->loss[2] == all->loss[2] && other->loss[3] != all->loss[3]);
    assert_string_not_equal(other->all[0], all->all[0]);
}

TEST_WITH(struct test_place *p, an_infinite_norm_changes_no_weight_of_any_rank)
{
    struct training t = trainings[0];
    t.broken = INFINITY;
    const struct result *want = run_training(p, &t, 1);
    assert_int_equal(want->rc, ERR_NUMBER);
    for (int32_t ranks_n = 1; ranks_n <= 8; ranks_n *= 2) {
        const struct result *got = run_training(p, &t, ranks_n);
        for (int32_t rank = 0; rank < ranks_n; rank++) {
            assert_int_equal(got[rank].rc, ERR_NUMBER);
            assert_non_null(strstr(got[rank].text, "weights unchanged"));
            assert_string_equal(got[rank].weights, want->weights);
            assert_string_equal(got[rank].weights, got[rank].all[1]); /* before that update */
        }
    }
}

/* The first error reaches all ranks; each has it or the loss of another one. */
TEST_WITH(struct test_place *p, ranks_that_the_shards_cannot_feed_are_refused)
{
    struct training t = trainings[0];
    t.shards = 1;
    const struct result *got = run_training(p, &t, 2);
    bool named = false;
    for (int32_t rank = 0; rank < 2; rank++) {
        assert_true(got[rank].rc != 0);
        named |= strstr(got[rank].text, "2 ranks for train.shards = 1; use 1") != NULL;
    }
    assert_true(named);
}

TEST(a_group_and_the_capacity_have_one_number_of_ranks)
{
    struct spec s = spec_of(&trainings[0]);
    struct backend *b = NULL;
    struct model *m = NULL;
    struct shape_capacity o = {.train = true, .rows_max = 1, .length_max = 1, .ranks_n = 2};
    assert_ok(backend_open(&b, "cpu", 1, DTYPE_F32, &e));
    assert_fails(ERR_INTERNAL, "capacity for 2 ranks, but cpu is one of 1",
                 model_open(&m, b, &s, &o, &e));
    o.ranks_n = 1;
    o.node_ranks = 2;
    assert_fails(ERR_INTERNAL, "capacity for nodes of 2 ranks, but cpu is one of 1",
                 model_open(&m, b, &s, &o, &e));
    backend_close(b);
}
