/* test_check.c - the checking backend detects the faults of a wrong backend and names the op. The
 * wrong backend is the CPU's with one function replaced. */
#include "harness/test.h"

#include <string.h>

#include "backend/backend.h"
#include "check/check.h"
#include "ops/ops.h"

enum { ROWS = 3, COLS = 5, ROOM_FLOATS = 64 };

/* A checked backend around one with functions of the test's choice. */
static struct fixture {
    struct backend *b;
    struct backend_ops functions;
    float *memory; /* on the backend */
    struct tensor x, y;
} f;

static void open_with(void (*spoil)(struct backend_ops *))
{
    struct backend *inner = NULL;
    float ones[ROOM_FLOATS];
    void *memory = NULL;
    assert_ok(backend_open(&inner, "cpu", 1, DTYPE_F32, &e));
    f.functions = *inner->ops;
    if (spoil != NULL) spoil(&f.functions);
    inner->ops = &f.functions;
    assert_ok(backend_check_library()->wrap(&f.b, inner, &e));
    assert_ok(f.b->ops->alloc(f.b, &memory, sizeof ones, &e));
    f.memory = memory;
    for (int i = 0; i < ROOM_FLOATS; i++) ones[i] = 1.0f;
    assert_ok(f.b->ops->upload(f.b, memory, ones, sizeof ones, &e));
    f.x = tensor_make(f.memory, ROWS, COLS, DTYPE_F32);
    f.y = tensor_make(f.memory + ROOM_FLOATS - ROWS * COLS, ROWS, COLS, DTYPE_F32);
}

static int close_backend(void **state)
{
    (void)state;
    backend_close(f.b);
    f.b = NULL;
    return 0;
}

TEST_EACH(NULL, close_backend)

static void assert_found(const char *word)
{
    struct err e = {0};
    int rc = OPS(f.b, add, &e, .y = f.y, .x = f.x, .r = f.x);
    assert_int_equal(rc, ERR_INTERNAL);
    if (strstr(e.text, "op add") == NULL || strstr(e.text, word) == NULL)
        fail_msg("\"%s\" does not say op add and %s", e.text, word);
}

static void fill(const struct tensor *y, float value)
{
    for (int64_t i = 0; i < y->rows; i++)
        for (int64_t j = 0; j < y->cols; j++) ((float *)y->data)[i * y->stride + j] = value;
}

/* The faults of a wrong add: where it writes a wrong value. */
enum wrong { PAST_THE_END, BEFORE_Y, INPUT_X, LAST_ROW_UNWRITTEN, OTHER_BITS };
static enum wrong wrong;

static int add_wrongly(struct backend *b, const struct add_args *a, struct err *e)
{
    static float calls;
    struct tensor y = a->y;
    float *data = y.data;
    (void)b, (void)e;
    y.rows -= wrong == LAST_ROW_UNWRITTEN;
    fill(&y, wrong == OTHER_BITS ? ++calls : 2.0f);
    if (wrong == PAST_THE_END) data[ROWS * COLS] = 2.0f;
    if (wrong == BEFORE_Y) data[-1] = 2.0f;
    if (wrong == INPUT_X) ((float *)a->x.data)[COLS] = 3.0f;
    return 0;
}

static void spoil_add(struct backend_ops *o)
{
    o->add = add_wrongly;
}

TEST(a_wrong_op_is_found)
{
    static const char *const words[] = {[PAST_THE_END] = "past the end",
                                        [BEFORE_Y] = "outside its outputs",
                                        [INPUT_X] = "changed its input x",
                                        [LAST_ROW_UNWRITTEN] = "output y unwritten",
                                        [OTHER_BITS] = "other bits in y"};
    for (wrong = PAST_THE_END; wrong <= OTHER_BITS; wrong++) {
        open_with(spoil_add);
        assert_found(words[wrong]);
        close_backend(NULL);
    }
}

TEST(an_output_over_a_part_of_an_input_is_found)
{
    open_with(NULL);
    f.y.data = f.memory + COLS;
    assert_found("output y overlaps argument x");
}

static int sync_late_fault(struct backend *b, struct err *e)
{
    (void)b;
    return ERR(e, ERR_INTERNAL, "a kernel failed");
}
static void spoil_sync(struct backend_ops *o)
{
    o->sync = sync_late_fault;
}

TEST(a_late_fault_belongs_to_its_op)
{
    open_with(spoil_sync);
    assert_found("a kernel failed");
}

TEST(a_changed_input_is_found_in_a_large_allocation)
{
    void *large = NULL;
    wrong = INPUT_X;
    open_with(spoil_add);
    assert_ok(f.b->ops->alloc(f.b, &large, (size_t)8 << 20, &e));
    assert_ok(f.b->ops->zero(f.b, large, (size_t)8 << 20, &e));
    f.x.data = large;
    assert_found("changed its input x");
}

TEST(an_argument_outside_every_allocation_is_found)
{
    open_with(NULL);
    f.y.rows = ROWS + 1;
    f.x.rows = ROWS + 1;
    assert_found("argument y is outside");
}

TEST(a_transfer_beyond_an_allocation_is_found)
{
    float out[ROOM_FLOATS + 1];
    open_with(NULL);
    assert_int_equal(f.b->ops->download(f.b, out, f.memory, sizeof out, &e), ERR_INTERNAL);
    assert_non_null(strstr(e.text, "download"));
    assert_int_equal(f.b->ops->zero(f.b, f.memory + 1, ROOM_FLOATS * sizeof *out, &e),
                     ERR_INTERNAL);
}

TEST(a_right_op_passes_also_in_place_and_in_wider_matrices)
{
    float out[ROOM_FLOATS];
    open_with(NULL);
    assert_ok(OPS(f.b, add, &e, .y = f.y, .x = f.x, .r = f.x));
    assert_ok(OPS(f.b, add, &e, .y = f.x, .x = f.x, .r = f.y));
    struct tensor left = tensor_make(f.memory, 4, 3, DTYPE_F32), right = left;
    left.stride = right.stride = 6;
    right.data = f.memory + 3;
    assert_ok(OPS(f.b, add, &e, .y = left, .x = right, .r = right));
    assert_ok(f.b->ops->download(f.b, out, f.memory, sizeof out, &e));
    assert_true(out[0] == out[3] + out[3]);
    assert_string_equal(f.b->name, "check:cpu");
}

TEST(fresh_memory_is_not_a_number)
{
    void *fresh = NULL;
    float out[4];
    open_with(NULL);
    assert_ok(f.b->ops->alloc(f.b, &fresh, sizeof out, &e));
    assert_ok(f.b->ops->download(f.b, out, fresh, sizeof out, &e));
    for (int i = 0; i < 4; i++) assert_true(out[i] != out[i]);
    f.b->ops->release(f.b, fresh);
}
