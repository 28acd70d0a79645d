/* test_neighbours.c - the exact search against every distance in double, ties, hostile keys, and
 * the mixture against its formula. */
#include "harness/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "shape/memory.h"
#include "worker/neighbours.h"

enum { WIDTH = 16, QUERIES = 7 };

struct field {
    struct backend *cpu;
    float *key, query[QUERIES * WIDTH];
    int64_t keys_n;
};

static uint32_t next_random(uint32_t *seed)
{
    return *seed = *seed * 1664525u + 1013904223u;
}

/* Numbers k / 64 + offset: a large offset makes products round. */
static float draw_number(uint32_t *seed, float offset)
{
    return offset + (float)(next_random(seed) >> 26) / 64.0f;
}

static void make(struct field *f, int64_t keys_n, int64_t different_n, float offset)
{
    uint32_t seed = 5;

    f->keys_n = keys_n;
    f->key = calloc((size_t)(keys_n * WIDTH), sizeof *f->key);
    assert_non_null(f->key);
    for (int64_t i = 0; i < keys_n * WIDTH; i++)
        f->key[i] =
            i / WIDTH < different_n ? draw_number(&seed, offset) : f->key[i - different_n * WIDTH];
    for (int i = 0; i < QUERIES * WIDTH; i++) f->query[i] = draw_number(&seed, offset);
    assert_ok(backend_open(&f->cpu, "cpu", 1, DTYPE_F32, &e));
}

static void drop(struct field *f)
{
    backend_close(f->cpu);
    free(f->key);
}

static double distance_of(const struct field *f, int q, int64_t i)
{
    double sum = 0.0;
    for (int c = 0; c < WIDTH; c++) {
        double d = (double)f->query[q * WIDTH + c] - (double)f->key[i * WIDTH + c];
        sum += d * d;
    }
    return sum;
}

/* Each rank is the nearest of the keys that no earlier rank has, the lowest of equals. */
static void check_query(const struct field *f, int q, const struct neighbour *near, int32_t k)
{
    bool *taken = calloc((size_t)f->keys_n, sizeof *taken);

    assert_non_null(taken);
    for (int32_t rank = 0; rank < k; rank++) {
        int64_t best = -1;
        for (int64_t i = 0; i < f->keys_n; i++)
            if (!taken[i] && (best < 0 || distance_of(f, q, i) < distance_of(f, q, best))) best = i;
        taken[best] = true;
        assert_int_equal(near[rank].key, best);
        assert_true(near[rank].distance == distance_of(f, q, best));
    }
    free(taken);
}

static const struct {
    const char *name;
    int64_t keys_n, different_n;
    int32_t k;
    float offset;
    bool repeats; /* products cannot tell the neighbours from others */
} searches[] = {
    {"one key", 1, 1, 1, 0, false},
    {"all keys", 50, 50, 50, 0, false},
    {"more than the spare ones", 200, 200, 20, 0, false},
    {"a block", SHAPE_SEARCH_KEYS, SHAPE_SEARCH_KEYS, 5, 0, false},
    {"a block and one key", SHAPE_SEARCH_KEYS + 1, SHAPE_SEARCH_KEYS + 1, 5, 0, false},
    {"several blocks", 3 * SHAPE_SEARCH_KEYS + 77, 3 * SHAPE_SEARCH_KEYS + 77, 9, 0, false},
    {"equal keys in other blocks", 2 * SHAPE_SEARCH_KEYS + 9, 700, 12, 0, false},
    {"more equal keys than are kept", 2 * SHAPE_SEARCH_KEYS, 16, 12, 0, true},
    {"keys far from the origin", 900, 900, 9, 4096, true},
};

TEST(a_search_finds_the_nearest_keys_and_ties_go_to_the_lower_one)
{
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        struct field f;
        struct neighbours s;
        print_message("%s\n", searches[i].name);
        make(&f, searches[i].keys_n, searches[i].different_n, searches[i].offset);
        const struct neighbours_options o = {.backend = f.cpu,
                                             .keys = f.key,
                                             .keys_n = f.keys_n,
                                             .width = WIDTH,
                                             .k = searches[i].k,
                                             .queries_max = QUERIES};
        assert_ok(neighbours_open(&s, &o, &e));
        for (int32_t n = QUERIES; n > 0; n -= QUERIES - 1) { /* a shorter batch after a full one */
            assert_ok(neighbours_find(&s, f.query, n, &e));
            for (int32_t q = 0; q < n; q++) check_query(&f, q, neighbours_of(&s, q), o.k);
        }
        assert_int_equal(s.repeated_n > 0, searches[i].repeats);
        neighbours_close(&s);
        drop(&f);
    }
}

static int (*real_alloc)(struct backend *, void **, size_t, struct err *);
static int64_t allocated_bytes;

static int counted(struct backend *b, void **out, size_t bytes, struct err *e)
{
    allocated_bytes += (int64_t)bytes;
    return real_alloc(b, out, bytes, e);
}

TEST(a_search_allocates_what_a_plan_states)
{
    struct field f;
    struct neighbours s;

    make(&f, 40, 40, 0);
    struct backend_ops ops = *f.cpu->ops;
    const struct backend_ops *real = f.cpu->ops;
    real_alloc = ops.alloc;
    ops.alloc = counted;
    f.cpu->ops = &ops;
    const struct neighbours_options o = {.backend = f.cpu,
                                         .keys = f.key,
                                         .keys_n = f.keys_n,
                                         .width = WIDTH,
                                         .k = 3,
                                         .queries_max = QUERIES};
    assert_ok(neighbours_open(&s, &o, &e));
    assert_int_equal(allocated_bytes, shape_search_bytes(QUERIES, WIDTH));
    neighbours_close(&s);
    f.cpu->ops = real;
    drop(&f);
}

/* No machine has 2^65 bytes. */
TEST(a_search_that_does_not_fit_into_memory_names_the_setting)
{
    struct field f;
    struct neighbours s;

    make(&f, 40, 40, 0);
    const struct neighbours_options o = {.backend = f.cpu,
                                         .keys = f.key,
                                         .keys_n = INT32_MAX,
                                         .width = WIDTH,
                                         .k = INT32_MAX - 40,
                                         .queries_max = 1 << 30};
    assert_fails(ERR_NOMEM, "lower eval.knn_neighbours", neighbours_open(&s, &o, &e));
    neighbours_close(&s);
    drop(&f);
}

TEST(what_a_search_cannot_use_is_refused)
{
    static const struct {
        int32_t k, queries_n;
        float key;
        int code;
        const char *word;
    } rows[] = {{0, 1, 0, ERR_DATA, "eval.knn_neighbours: 0"},
                {41, 1, 0, ERR_DATA, "the datastore has 40 keys; set from 1"},
                {5, 1, NAN, ERR_DATA, "key 3 of the datastore is not finite"},
                {5, 1, INFINITY, ERR_DATA, "has diverged"},
                {5, 1, 1e30f, ERR_DATA, "key 3 of the datastore is not finite"}, /* its square */
                {5, QUERIES + 1, 0, ERR_INTERNAL, "at most 7"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct field f;
        struct neighbours s;
        make(&f, 40, 40, 0);
        f.key[3 * WIDTH + 2] = rows[i].key;
        const struct neighbours_options o = {.backend = f.cpu,
                                             .keys = f.key,
                                             .keys_n = f.keys_n,
                                             .width = WIDTH,
                                             .k = rows[i].k,
                                             .queries_max = QUERIES};
        struct err why = {0};
        int rc = neighbours_open(&s, &o, &why);
        if (rc == 0) rc = neighbours_find(&s, f.query, rows[i].queries_n, &why);
        assert_int_equal(rc, rows[i].code);
        assert_non_null(strstr(why.text, rows[i].word));
        neighbours_close(&s);
        drop(&f);
    }
}

static int stop_at_2(void *context, struct err *e)
{
    int32_t *blocks_n = context;
    return ++*blocks_n < 2 ? 0 : ERR(e, ERR_INTERRUPTED, "stopped");
}

TEST(a_search_can_be_stopped_before_each_block)
{
    struct field f;
    struct neighbours s;
    int32_t blocks_n = 0;

    make(&f, 3 * SHAPE_SEARCH_KEYS, 900, 0);
    const struct neighbours_options o = {.backend = f.cpu,
                                         .keys = f.key,
                                         .keys_n = f.keys_n,
                                         .width = WIDTH,
                                         .k = 3,
                                         .queries_max = QUERIES,
                                         .tick = stop_at_2,
                                         .context = &blocks_n};
    assert_ok(neighbours_open(&s, &o, &e));
    assert_fails(ERR_INTERRUPTED, "stopped", neighbours_find(&s, f.query, QUERIES, &e));
    assert_int_equal(blocks_n, 2);
    neighbours_close(&s);
    drop(&f);
}

TEST(a_query_that_is_not_finite_has_no_neighbours)
{
    struct field f;
    struct neighbours s;
    double weight[3];

    make(&f, 40, 40, 0);
    f.query[WIDTH + 1] = NAN;
    const struct neighbours_options o = {.backend = f.cpu,
                                         .keys = f.key,
                                         .keys_n = f.keys_n,
                                         .width = WIDTH,
                                         .k = 3,
                                         .queries_max = QUERIES};
    assert_ok(neighbours_open(&s, &o, &e));
    assert_ok(neighbours_find(&s, f.query, QUERIES, &e));
    neighbours_weigh(weight, neighbours_of(&s, 1), 3, 1.0);
    for (int i = 0; i < 3; i++) assert_true(isnan(weight[i]));
    check_query(&f, 0, neighbours_of(&s, 0), 3);
    check_query(&f, 2, neighbours_of(&s, 2), 3);
    neighbours_close(&s);
    drop(&f);
}

TEST(weights_are_the_softmax_of_the_distances_over_the_temperature)
{
    const struct neighbour near[] = {{1e6, 4}, {1e6 + 1, 9}, {1e6 + 3, 2}};
    const double temperatures[] = {0.5, 1.0, 7.0, 1e9};
    double weight[3];

    for (int i = 0; i < 4; i++) {
        double T = temperatures[i], sum = 1.0 + exp(-1.0 / T) + exp(-3.0 / T);
        neighbours_weigh(weight, near, 3, T);
        assert_float_equal(weight[0], 1.0 / sum, 1e-15);
        assert_float_equal(weight[1], exp(-1.0 / T) / sum, 1e-15);
        assert_float_equal(weight[2], exp(-3.0 / T) / sum, 1e-15);
    }
}

TEST(a_mixture_is_of_probabilities)
{
    const struct {
        double logp, p, lambda, expected;
    } rows[] = {{-2.0, 0.3, 0.25, log(0.75 * exp(-2.0) + 0.25 * 0.3)},
                {-2.0, 0.3, 0.0, -2.0},
                {-2.0, 0.3, 1.0, log(0.3)},
                {-2.0, 0.0, 0.25, -2.0 + log(0.75)}, /* no neighbour has the target */
                {-900.0, 0.5, 0.1, log(0.05)},
                {-INFINITY, 0.5, 0.1, log(0.05)}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_float_equal(neighbours_mix(rows[i].logp, rows[i].p, rows[i].lambda),
                           rows[i].expected, 1e-14);
    assert_true(isinf(neighbours_mix(-2.0, 0.0, 1.0)));
    assert_true(isnan(neighbours_mix((double)NAN, 0.5, 0.1)));
    assert_true(isnan(neighbours_mix(-2.0, (double)NAN, 0.1)));
}
