/* check_faults.c - tests the errors of the CUDA backend when memory runs out and when the GPU is
 * lost, on the emulator, which can simulate both. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "harness/test.h"
#include "ops/ops.h"

#define MEMORY_BYTES "35000000" /* enough for the backend itself */
enum { LONG_COLS = 8200 };
enum { WANTED_BYTES = 2000000, N = 64, LAUNCHES = 5, LOST_AT = 2, PRODUCT_LAUNCHES = 24 };

static struct backend *opened(void)
{
    struct backend *b = NULL;
    assert_ok(backend_open(&b, "cuda:emulated", 1, DTYPE_F32, &e));
    return b;
}

static int limit_memory(void **state)
{
    (void)state;
    return setenv("EMULATION_MEMORY", MEMORY_BYTES, 1);
}
TEST_GROUP(limit_memory, NULL)

/* A function of the emulator's library, which backend_open has loaded. */
static void *control(const struct backend *b, const char *name)
{
    Dl_info at;
    void *slot = NULL, *library = NULL, *found = NULL;
    memcpy(&slot, &b->ops->sync, sizeof slot); /* dladdr takes an object pointer */
    if (dladdr(slot, &at) != 0) library = dlopen(at.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (library) found = dlsym(library, name);
    if (!found) fail_msg("the emulator has no %s", name);
    dlclose(library);
    return found;
}

/* The device is lost after so many more launches. */
static void lose(const struct backend *b, long launches)
{
    void (*call)(long) = NULL;
    void *found = control(b, "emulation_lose_device");
    memcpy(&call, &found, sizeof call);
    call(launches);
}

/* Closes the backend and restores the device. */
static void close_lost(struct backend *b)
{
    int (*call)(void) = NULL;
    void *found = control(b, "cudaDeviceReset");
    memcpy(&call, &found, sizeof call);
    backend_close(b);
    assert_int_equal(call(), 0);
}

TEST(short_memory_says_what_is_wanted_and_what_is_free)
{
    void *p = NULL;
    struct backend *b = opened();
    assert_int_equal(b->ops->alloc(b, &p, WANTED_BYTES, &e), ERR_NOMEM);
    assert_null(p);
    assert_non_null(strstr(e.text, "2000000 bytes"));
    assert_non_null(strstr(e.text, "free"));
    /* The error does not affect the next call. */
    assert_ok(b->ops->alloc(b, &p, N * sizeof(float), &e));
    assert_ok(b->ops->sync(b, &e));
    b->ops->release(b, p);
    backend_close(b);
}

TEST(what_the_kernels_leave_out_is_refused_by_its_value)
{
    void *p = NULL;
    struct backend *b = opened();
    assert_ok(b->ops->alloc(b, &p, LONG_COLS * sizeof(float), &e));
    struct tensor x = tensor_make(p, 1, LONG_COLS, DTYPE_F32),
                  stats = tensor_make(p, 1, 2, DTYPE_F32);
    assert_fails(
        ERR_UNAVAILABLE, "rows of 8200 columns",
        OPS(b, layernorm, &e, .y = x, .stats = stats, .x = x, .gain = x, .bias = x, .eps = 1e-5f));
    static const int32_t widths[] = {12, 264};
    for (int i = 0; i < 2; i++) {
        struct tensor q = tensor_make(p, 1, widths[i], DTYPE_F32),
                      lse = tensor_make(p, 1, 1, DTYPE_F32);
        struct attention a = {.B = 1,
                              .T = 1,
                              .H = 1,
                              .D = widths[i],
                              .scale = 1.0f,
                              .q = q,
                              .k = q,
                              .v = q,
                              .out = q,
                              .lse = lse};
        assert_fails(ERR_UNAVAILABLE, "op attention: head width", ops_attention(b, &a, &e));
    }
    b->ops->release(b, p);
    backend_close(b);
}

TEST(another_ordinal_is_not_a_device)
{
    struct backend *b = NULL;
    assert_int_equal(backend_open(&b, "cuda:first", 1, DTYPE_F32, &e), ERR_USAGE);
    assert_null(b);
    assert_non_null(strstr(e.text, "cuda:first"));
}

TEST(a_lost_device_is_unavailable_at_the_sync_at_the_latest)
{
    void *p = NULL;
    struct backend *b = opened();
    int rc = b->ops->alloc(b, &p, N * sizeof(float), &e);
    struct tensor x = tensor_make(p, 1, N, DTYPE_F32);
    if (rc == 0) rc = b->ops->zero(b, p, N * sizeof(float), &e);
    lose(b, LOST_AT);
    for (int i = 0; rc == 0 && i < LAUNCHES; i++) rc = OPS(b, add, &e, .y = x, .x = x, .r = x);
    if (rc == 0) rc = b->ops->sync(b, &e);
    assert_int_equal(rc, ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "cuda:emulated"));
    assert_non_null(strstr(e.text, "cannot be used"));
    b->ops->release(b, p);
    close_lost(b);
}

/* Lost before the first product, while its algorithm is chosen, during it, and after it. */
TEST(a_device_lost_in_a_product_is_unavailable)
{
    for (long launches = 0; launches < PRODUCT_LAUNCHES; launches++) {
        void *p = NULL;
        struct backend *b = opened();
        int rc = b->ops->alloc(b, &p, 2 * N * N * sizeof(float), &e);
        struct tensor x = tensor_make(p, N, N, DTYPE_F32), y = x;
        y.data = (float *)p + N * N;
        if (rc == 0) rc = b->ops->zero(b, p, 2 * N * N * sizeof(float), &e);
        lose(b, launches);
        for (int i = 0; rc == 0 && i < PRODUCT_LAUNCHES; i++)
            rc = OPS(b, linear_relu, &e, .y = y, .x = x, .w = x);
        assert_int_equal(rc, ERR_UNAVAILABLE);
        assert_non_null(strstr(e.text, "the GPU cannot be used"));
        b->ops->release(b, p);
        close_lost(b);
    }
}

TEST(a_device_lost_in_a_graph_launch_is_unavailable)
{
    void *p = NULL, *graph = NULL;
    struct backend *b = opened();
    int rc = b->ops->alloc(b, &p, N * sizeof(float), &e);
    struct tensor x = tensor_make(p, 1, N, DTYPE_F32);
    if (rc == 0) rc = OPS(b, add, &e, .y = x, .x = x, .r = x);
    if (rc == 0) rc = b->ops->graph_begin(b, &e);
    for (int i = 0; rc == 0 && i < LAUNCHES; i++) rc = OPS(b, add, &e, .y = x, .x = x, .r = x);
    if (rc == 0) rc = b->ops->graph_end(b, &graph, &e);
    if (rc == 0) rc = b->ops->graph_launch(b, graph, &e);
    if (rc == 0) rc = b->ops->sync(b, &e);
    assert_int_equal(rc, 0);
    lose(b, LOST_AT);
    rc = b->ops->graph_launch(b, graph, &e);
    if (rc == 0) rc = b->ops->sync(b, &e);
    assert_int_equal(rc, ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "cannot be used"));
    b->ops->graph_free(b, graph);
    b->ops->release(b, p);
    close_lost(b);
}

/* Faults of clusters, with their remedies. */
TEST(a_gpu_that_cannot_be_opened_is_unavailable)
{
    static const struct {
        const char *error, *remedy;
    } rows[] = {{"34", "stub"},
                {"35", "offers CUDA 12.4, this build needs CUDA 13; install driver 580"},
                {"102", "no license"},
                {"209", "newer CUDA"},
                {"220", "cannot be used"},
                {"221", "libnvidia-ptxjitcompiler.so.1"},
                {"222", "newer CUDA"},
                {"223", "CUDA_DISABLE_PTX_JIT"},
                {"226", "cannot be used"},
                {"802", "fabric manager"},
                {"803", "libcuda.so.1"},
                {"804", "compatibility libraries"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct backend *b = NULL;
        setenv("EMULATION_OPEN", rows[i].error, 1);
        int rc = backend_open(&b, "cuda:emulated", 1, DTYPE_F32, &e);
        unsetenv("EMULATION_OPEN");
        if (rc != ERR_UNAVAILABLE || !strstr(e.text, rows[i].remedy))
            fail_msg("error %s: %d: %s", rows[i].error, rc, e.text);
    }
}

/* These may be faults of a kernel: the run fails, and the GPU stays in use. */
TEST(a_launch_that_fails_does_not_retire_the_gpu)
{
    static const char *const errors[] = {"714", "719"};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct backend *b = NULL;
        setenv("EMULATION_OPEN", errors[i], 1);
        int rc = backend_open(&b, "cuda:emulated", 1, DTYPE_F32, &e);
        unsetenv("EMULATION_OPEN");
        if (rc != ERR_INTERNAL || !strstr(e.text, "Xid"))
            fail_msg("error %s: %d: %s", errors[i], rc, e.text);
    }
}

TEST(graphs_can_be_switched_off)
{
    setenv("ALIBI_CUDA_GRAPHS", "0", 1);
    struct backend *b = opened();
    unsetenv("ALIBI_CUDA_GRAPHS");
    assert_true(!b->ops->graph_begin && !b->ops->graph_end && !b->ops->graph_launch &&
                !b->ops->graph_free);
    backend_close(b);
    b = opened();
    assert_true(b->ops->graph_begin && b->ops->graph_end && b->ops->graph_launch &&
                b->ops->graph_free);
    backend_close(b);
}
