/* test_pickle.c - values written by Python, and malicious pickles. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

#include "interchange/torch_file.h"

#define BYTES(text) (text), sizeof(text) - 1
#define PROTOCOL "\x80\x02" /* the beginning of every pickle */

/* pickle.dumps({'a': [1, -2, 300, 70000, 2**40, -5], 'b': (True, False, None), 'r': 1.5,
 * 'n': ()}, 2) of Python 3.11 */
static const char mixed[] =
    "\x80\x02\x7d\x71\x00\x28\x58\x01\x00\x00\x00\x61\x71\x01\x5d\x71\x02\x28\x4b\x01\x4a\xfe\xff"
    "\xff\xff\x4d\x2c\x01\x4a\x70\x11\x01\x00\x8a\x06\x00\x00\x00\x00\x00\x01\x4a\xfb\xff\xff\xff"
    "\x65\x58\x01\x00\x00\x00\x62\x71\x03\x88\x89\x4e\x87\x71\x04\x58\x01\x00\x00\x00\x72\x71\x05"
    "\x47\x3f\xf8\x00\x00\x00\x00\x00\x00\x58\x01\x00\x00\x00\x6e\x71\x06\x29\x75\x2e";

static int make_arena(void **state)
{
    static struct arena a;
    arena_init(&a);
    *state = &a;
    return 0;
}

static int remove_arena(void **state)
{
    arena_fini(*state);
    return 0;
}

static struct pickle_value *must_read(struct arena *a, const char *program, size_t n)
{
    struct pickle_value *v;

    assert_ok(pickle_read(&v, a, program, n, "x", &e));
    return v;
}

static void refuse(struct arena *a, const char *program, size_t n, const char *word)
{
    struct pickle_value *v;

    assert_fails(ERR_DATA, word, pickle_read(&v, a, program, n, "x", &e));
}

TEST_GROUP(make_arena, remove_arena)

TEST_WITH(struct arena *a, values_are_those_that_python_wrote)
{
    static const int64_t numbers[] = {1, -2, 300, 70000, INT64_C(1) << 40, -5};
    const struct pickle_value *v = must_read(a, BYTES(mixed));

    assert_int_equal(v->type, PICKLE_DICT);
    assert_int_equal(v->n, 2 * 4);
    const struct pickle_value *list = pickle_get(v, "a"), *tuple = pickle_get(v, "b");
    assert_int_equal(list->n, 6);
    for (int i = 0; i < 6; i++) assert_true(list->item[i]->integer == numbers[i]);
    assert_int_equal(tuple->type, PICKLE_TUPLE);
    assert_int_equal(tuple->item[0]->integer, 1);
    assert_int_equal(tuple->item[1]->integer, 0);
    assert_int_equal(tuple->item[2]->type, PICKLE_NONE);
    assert_true(pickle_get(v, "r")->real == 1.5);
    assert_int_equal(pickle_get(v, "n")->n, 0);
    assert_null(pickle_get(v, "absent"));
    assert_null(pickle_get(NULL, "absent"));
}

TEST_WITH(struct arena *a, a_value_is_found_by_its_name)
{
    /* pickle.dumps(argparse.Namespace(heads=8, L=512), 2) */
    static const char namespace[] =
        PROTOCOL "cargparse\nNamespace\nq\0)\x81q\1}q\2(X\5\0\0\0headsq\3K\10X\1\0\0\0Lq\4M\0\2ub.";
    /* an ordered dict is a dict */
    static const char ordered[] = PROTOCOL "ccollections\nOrderedDict\nq\0)Rq\1X\1\0\0\0xq\2K\1s.";
    /* containers of omegaconf */
    static const char omegaconf[] =
        PROTOCOL "comegaconf.dictconfig\nDictConfig\n)\x81}X\10\0\0\0_content}X\1\0\0\0x"
                 "comegaconf.nodes\nAnyNode\n)\x81}X\4\0\0\0_valK\7sbssb.";

    assert_int_equal(pickle_get(must_read(a, BYTES(namespace)), "heads")->integer, 8);
    assert_int_equal(pickle_get(must_read(a, BYTES(namespace)), "L")->integer, 512);
    assert_int_equal(pickle_get(must_read(a, BYTES(ordered)), "x")->integer, 1);
    assert_int_equal(pickle_get(must_read(a, BYTES(omegaconf)), "x")->integer, 7);
}

TEST_WITH(struct arena *a, programs_that_torch_save_does_not_write_are_rejected)
{
    static const struct {
        const char *program;
        size_t n;
        const char *word;
    } cases[] = {
        /* a name that is not listed */
        {BYTES(PROTOCOL "cos\nsystem\nX\2\0\0\0id\x85R."), "os.system"},
        {BYTES(PROTOCOL "cposix\nsystem\nX\2\0\0\0id\x85R."), "posix.system"},
        {BYTES(PROTOCOL "c__builtin__\neval\nX\1\0\0\0001\x85R."), "eval"},
        /* calls of a type of storage and of a value that is not a name */
        {BYTES(PROTOCOL "ctorch\nFloatStorage\n)R."), "not a function"},
        {BYTES("\x80\x02X\2\0\0\0id)R."), "not a name"},
        /* other operations and protocols */
        {BYTES("\x80\x04N."), "protocol 4"},
        {BYTES("I1\n."), "does not begin"},
        {BYTES(PROTOCOL "iargparse\nNamespace\n."), "byte 3 of the pickle: unknown operation 0x69"},
        {BYTES("\x80\x02\x82\1."), "0x82"},
        /* the stack, the marks and the memo */
        {BYTES("\x80\x02."), "no value"},
        {BYTES("\x80\x02R."), "no value"},
        {BYTES("\x80\x02t."), "no mark"},
        {BYTES("\x80\x02N(\x85."), "no value"},
        {BYTES("\x80\x02(."), "no value"},
        {BYTES("\x80\x02NN."), "left over"},
        {BYTES("\x80\x02(N."), "left over"},
        {BYTES("\x80\x02(q\0."), "no value"},
        {BYTES("\x80\x02h\5."), "never stored"},
        {BYTES("\x80\x02j\xff\xff\xff\xff."), "never stored"},
        {BYTES("\x80\x02Nr\xff\xff\xff\xff."), "limit"},
        {BYTES("\x80\x02X\xff\xff\xff\xff"), "are left"},
        {BYTES("\x80\x02\x8b\xff\xff\xff\x7f"), "are left"},
        {BYTES("\x80\x02N(K\1K\1u."), "not a dict"},
        {BYTES("\x80\x02}(K\1u."), "without a value"},
        {BYTES("\x80\x02K\1}b."), "not an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(a, cases[i].program, cases[i].n, cases[i].word);
    for (size_t n = 0; n + 1 < sizeof mixed - 1; n++) refuse(a, mixed, n, "x: byte");
}

TEST_WITH(struct arena *a, deep_nesting_needs_no_deep_stack)
{
    enum { DEPTH = 300000 };
    char *program = malloc(2 * DEPTH + 8);

    assert_non_null(program);
    memcpy(program, "\x80\x02", 2);
    memset(program + 2, ']', DEPTH);
    memset(program + 2 + DEPTH, 'a', DEPTH - 1);
    program[2 * DEPTH + 1] = '.';
    assert_int_equal(must_read(a, program, 2 * DEPTH + 2)->n, 1);
    free(program);
}

TEST_WITH(struct arena *a, more_values_than_a_checkpoint_has_are_rejected)
{
    size_t n = PICKLE_VALUES_MAX + 16;
    char *program = malloc(n);

    assert_non_null(program);
    memset(program, 'N', n);
    memcpy(program, "\x80\x02", 2);
    refuse(a, program, n, "values");
    free(program);
}

TEST_WITH(struct arena *a, a_value_that_holds_itself_does_no_harm)
{
    const struct pickle_value *v = must_read(a, BYTES("\x80\x02}q\0X\1\0\0\0xh\0s."));
    assert_ptr_equal(pickle_get(v, "x"), v);
}

/* Random and changed bytes must not crash the reader (run with sanitizers). */
TEST_WITH(struct arena *a, changed_pickles_never_crash_the_reader)
{
    char program[sizeof mixed];
    uint32_t seed = 1;
    int refused = 0;

    for (int i = 0; i < 20000; i++) {
        struct pickle_value *v;
        memcpy(program, mixed, sizeof mixed);
        for (int k = 0; k <= i % 4; k++) {
            seed = seed * 1664525u + 1013904223u;
            program[2 + (seed >> 8) % (sizeof mixed - 3)] = (char)(seed >> 24);
        }
        refused += pickle_read(&v, a, program, sizeof mixed - 1, "x", &e) < 0;
    }
    assert_true(refused > 5000);
}
