/* test_trial.c - the trial of a device passes where every op is right and fails where one is not.
 */
#include "harness/test.h"

#include <pthread.h>
#include <stdlib.h>

#include "cpu/cpu.h"
#include "worker/worker.h"

TEST_DEVICES("cpu")

/* A device whose ops are the CPU's, but for one. */
static const struct backend_ops *cpu_ops;

static int attention_without_code(struct backend *b, const struct attention *a, struct err *e)
{
    (void)a;
    return ERR(e, ERR_UNAVAILABLE, "%s: attention: no kernel image", b->name);
}

/* The last query sees one key fewer. */
static int attention_misses_a_key(struct backend *b, const struct attention *a, struct err *e)
{
    struct attention shorter = *a;
    float *last = (float *)a->out.data + (a->T - 1) * a->out.stride;
    TRY(cpu_ops->attention(b, a, e));
    shorter.T--;
    shorter.q.data = (float *)a->q.data + a->q.stride;
    shorter.out.data = (float *)a->out.data + a->out.stride;
    float before = *last;
    TRY(cpu_ops->attention(b, &shorter, e));
    assert_true(*last != before);
    return 0;
}

static int attention_is_nan(struct backend *b, const struct attention *a, struct err *e)
{
    TRY(cpu_ops->attention_bwd(b, a, e));
    ((uint32_t *)a->dk.data)[77] = 0x7fc00000; /* NaN */
    return 0;
}

static int relu_with_other_bits(struct backend *b, const struct relu_args *a, struct err *e)
{
    TRY(cpu_ops->relu(b, a, e));
    uint32_t *word = a->mask.data;
    for (int64_t i = 0; word && i < a->mask.rows * a->mask.cols; i++)
        word[i] = __builtin_bswap32(word[i]);
    return 0;
}

static int relu_bwd_with_other_bits(struct backend *b, const struct relu_bwd_args *a, struct err *e)
{
    uint32_t *word = a->mask.data;
    for (int64_t i = 0; word && i < a->mask.rows * a->mask.cols; i++)
        word[i] = __builtin_bswap32(word[i]);
    return cpu_ops->relu_bwd(b, a, e);
}

TEST(every_op_of_a_device_is_right)
{
    struct backend *b = NULL;
    assert_ok(backend_open(&b, test_device, 1, test_dtype, &e));
    assert_ok(trial_run(b, &e));
    backend_close(b);
}

TEST(an_op_without_code_or_with_a_wrong_result_fails_with_its_name)
{
    static const struct {
        struct backend_ops ops; /* those that replace the CPU's */
        const char *message;
    } rows[] = {{{.attention = attention_without_code}, "no kernel image"},
                {{.attention = attention_misses_a_key}, "wrong result of op attention: row"},
                {{.attention_bwd = attention_is_nan}, "op attention_bwd: row 0, column 77 is nan"},
                {{.relu = relu_with_other_bits}, "but its bit in the mask is"},
                {{.relu_bwd = relu_bwd_with_other_bits}, "op linear_bwd_relu: row 0"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct backend *b = NULL;
        assert_ok(backend_open(&b, "cpu", 1, DTYPE_F32, &e));
        cpu_ops = b->ops;
        struct backend_ops ops = *cpu_ops;
        if (rows[i].ops.attention) ops.attention = rows[i].ops.attention;
        if (rows[i].ops.attention_bwd) ops.attention_bwd = rows[i].ops.attention_bwd;
        if (rows[i].ops.relu) ops.relu = rows[i].ops.relu;
        if (rows[i].ops.relu_bwd) ops.relu_bwd = rows[i].ops.relu_bwd;
        b->ops = &ops;
        assert_fails(ERR_UNAVAILABLE, rows[i].message, trial_run(b, &e));
        b->ops = cpu_ops;
        backend_close(b);
    }
}

static void open_pair(struct backend *pair[2])
{
    for (int i = 0; i < 2; i++) assert_ok(backend_open(&pair[i], "cpu", 1, DTYPE_F32, &e));
}

static void close_pair(struct backend *pair[2])
{
    for (int i = 0; i < 2; i++) backend_close(pair[i]);
}

/* The kernels v4 come first: the library keeps the instruction set of its first product. */
TEST(threads_that_multiply_at_the_same_time_give_the_bits_of_one)
{
    static const char *const sets[] = {"v4", "v3", "base"};
    struct backend *pair[2];
    for (int i = 0; i < 3; i++) {
        if (!cpu_simd_named(sets[i])) continue;
        setenv("ALIBI_KERNELS", sets[i], 1);
        open_pair(pair);
        assert_ok(trial_threads(pair[0], pair[1], 100000, &e));
        bool library = cpu_use_library(pair[0], &e) == 0 && cpu_use_library(pair[1], &e) == 0;
        if (library) assert_ok(trial_threads(pair[0], pair[1], 100000, &e));
        print_message("%s kernels: own products%s%s\n", sets[i], library ? ", " : "",
                      library ? pair[0]->blas : "");
        close_pair(pair);
    }
    unsetenv("ALIBI_KERNELS");
}

/* A library that goes wrong in a thread now and then, as if another had used its buffer. */
static pthread_t main_thread;
static _Atomic int calls_n;
static int linear_wrong_in_a_thread(struct backend *b, const struct linear_args *a, struct err *e)
{
    TRY(cpu_ops->linear(b, a, e));
    if (!pthread_equal(pthread_self(), main_thread) && calls_n++ % 1000 == 999)
        *(float *)a->y.data += 1.0f;
    return 0;
}

static int linear_fails_in_a_thread(struct backend *b, const struct linear_args *a, struct err *e)
{
    if (!pthread_equal(pthread_self(), main_thread)) return ERR(e, ERR_NOMEM, "no buffer");
    return cpu_ops->linear(b, a, e);
}

TEST(a_thread_whose_products_differ_or_fail_is_reported)
{
    struct backend *pair[2];
    open_pair(pair);
    cpu_ops = pair[0]->ops;
    main_thread = pthread_self();
    struct backend_ops ops = *cpu_ops;
    pair[0]->ops = pair[1]->ops = &ops;
    ops.linear = linear_wrong_in_a_thread;
    assert_fails(ERR_UNAVAILABLE, "products differ if two threads multiply at the same time",
                 trial_threads(pair[0], pair[1], 1000, &e));
    ops.linear = linear_fails_in_a_thread;
    assert_fails(ERR_NOMEM, "no buffer", trial_threads(pair[0], pair[1], 1, &e));
    pair[0]->ops = pair[1]->ops = cpu_ops;
    close_pair(pair);
}
