/* test_check.c - the checking backend detects the faults of a wrong backend and names the op. The
 * wrong backend is the CPU's with one function replaced. */
#include "harness/test.h"

#include <string.h>

#include "backend/backend.h"
#include "check/check.h"
#include "group/group.h"
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

static void fill_tensor(const struct tensor *y, float value)
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
    fill_tensor(&y, wrong == OTHER_BITS ? ++calls : 2.0f);
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

/* ---- ranks ---- */

enum { SEND_AT = 0, RECEIVE_AT = 32, MOVED = 8 }; /* floats */

/* What a wrong exchange does: by `wrong`. */
static int exchange_wrongly(struct backend *b, const struct group_transfer *list, int32_t n,
                            struct err *e)
{
    (void)b, (void)e;
    for (int32_t i = 0; i < n; i++) {
        float *to = list[i].receive;
        if (!list[i].send) continue;
        memset(to, 0, list[i].receive_bytes);
        if (wrong == BEFORE_Y) to[-1] = 3.0f;
        if (wrong == PAST_THE_END) f.memory[ROOM_FLOATS] = 3.0f;
        if (wrong == INPUT_X) ((float *)(uintptr_t)list[i].send)[1] = 3.0f;
    }
    return 0;
}

static int join_group(struct backend *b, struct group *g, struct err *e)
{
    (void)e;
    b->group = g;
    return 0;
}

static void spoil_exchange(struct backend_ops *o)
{
    o->group_join = join_group;
    o->exchange = exchange_wrongly;
}

static void assert_exchange(const char *word, size_t send_at, size_t receive_at, size_t floats)
{
    const struct group_transfer list[] = {
        {.peer = 1}, /* moves nothing */
        {.peer = 1,
         .send = f.memory + send_at,
         .send_bytes = floats * sizeof(float),
         .receive = f.memory + receive_at,
         .receive_bytes = floats * sizeof(float)},
        {.peer = 2, .receive = f.memory + RECEIVE_AT + MOVED, .receive_bytes = sizeof(float)}};
    struct err e = {0};
    int rc = f.b->ops->exchange(f.b, list, 3, &e);
    assert_int_equal(rc, *word ? ERR_INTERNAL : 0);
    if (!strstr(e.text, word) || (*word && !strstr(e.text, "check:cpu: op exchange")))
        fail_msg("\"%s\" does not say op exchange and %s", e.text, word);
}

TEST(a_wrong_exchange_is_found)
{
    static const struct {
        enum wrong wrong;
        const char *word;
        size_t send_at, receive_at, floats;
    } rows[] = {
        {LAST_ROW_UNWRITTEN, "", SEND_AT, RECEIVE_AT, MOVED}, /* a right one */
        {BEFORE_Y, "wrote outside its outputs, at byte 126", SEND_AT, RECEIVE_AT, MOVED},
        {PAST_THE_END, "past the end", SEND_AT, RECEIVE_AT, MOVED},
        {INPUT_X, "changed its input send 1 at byte 6", SEND_AT, RECEIVE_AT, MOVED},
        {LAST_ROW_UNWRITTEN, "receive 1 overlaps argument receive 2", SEND_AT, RECEIVE_AT + 1,
         MOVED},
        {LAST_ROW_UNWRITTEN, "receive 1 overlaps argument send 1", RECEIVE_AT - 1, RECEIVE_AT,
         MOVED},
        {LAST_ROW_UNWRITTEN, "argument send 1 is outside", ROOM_FLOATS - MOVED + 1, SEND_AT, MOVED},
        {LAST_ROW_UNWRITTEN, "argument receive 1 is outside", SEND_AT, ROOM_FLOATS - MOVED + 1,
         MOVED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_with(spoil_exchange);
        wrong = rows[i].wrong;
        assert_exchange(rows[i].word, rows[i].send_at, rows[i].receive_at, rows[i].floats);
        close_backend(NULL);
    }
}

TEST(the_group_of_the_wrapped_backend_is_that_of_the_checking_one)
{
    struct group *g = (struct group *)&f; /* nobody looks into it */
    open_with(spoil_exchange);
    assert_ok(f.b->ops->group_join(f.b, g, &e));
    assert_ptr_equal(f.b->group, g);
}

static void spoil_ranks(struct backend_ops *o)
{
    o->group_join = NULL;
    o->exchange = NULL;
}

TEST(a_backend_without_ranks_stays_one_when_it_is_checked)
{
    open_with(spoil_ranks);
    assert_null(f.b->ops->group_join);
    assert_null(f.b->ops->exchange);
}
