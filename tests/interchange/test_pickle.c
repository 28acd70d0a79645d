/* test_pickle.c - values as Python wrote them, and programs made to hurt the reader. */
#include "harness/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interchange/pickle.h"

static const struct pickle_name names[] = {
    {"collections OrderedDict", PICKLE_USE_DICT},
    {"argparse Namespace", PICKLE_USE_OBJECT},
    {"torch FloatStorage", PICKLE_USE_NAME},
    {"omegaconf.dictconfig DictConfig", PICKLE_USE_OBJECT},
    {"omegaconf.nodes AnyNode", PICKLE_USE_OBJECT},
};

#define PROGRAM(text) (text), sizeof(text) - 1

/* pickle.dumps({'a': [1, -2, 300, 70000, 2**40, -5], 'b': (True, False, None), 'r': 1.5,
 * 'n': ()}, 2) of Python 3.11 */
static const char mixed[] =
    "\x80\x02\x7d\x71\x00\x28\x58\x01\x00\x00\x00\x61\x71\x01\x5d\x71\x02\x28\x4b\x01\x4a\xfe\xff"
    "\xff\xff\x4d\x2c\x01\x4a\x70\x11\x01\x00\x8a\x06\x00\x00\x00\x00\x00\x01\x4a\xfb\xff\xff\xff"
    "\x65\x58\x01\x00\x00\x00\x62\x71\x03\x88\x89\x4e\x87\x71\x04\x58\x01\x00\x00\x00\x72\x71\x05"
    "\x47\x3f\xf8\x00\x00\x00\x00\x00\x00\x58\x01\x00\x00\x00\x6e\x71\x06\x29\x75\x2e";

static int make_arena(void **state)
{
    struct arena *a = calloc(1, sizeof *a);
    assert_non_null(a);
    arena_init(a);
    *state = a;
    return 0;
}

static int remove_arena(void **state)
{
    arena_fini(*state);
    free(*state);
    return 0;
}

static struct pickle_value *must_read(void **state, const char *program, size_t n)
{
    struct pickle_value *v = NULL;
    struct err e = {0};

    if (pickle_read(&v, *state, program, n, names, sizeof names / sizeof *names, "x", &e) < 0)
        fail_msg("%s", e.text);
    return v;
}

static void must_refuse(void **state, const char *program, size_t n, const char *word)
{
    struct pickle_value *v = NULL;
    struct err e = {0};
    int rc = pickle_read(&v, *state, program, n, names, sizeof names / sizeof *names, "x", &e);

    assert_int_equal(rc, ERR_DATA);
    if (!strstr(e.text, word)) fail_msg("\"%s\" does not say \"%s\"", e.text, word);
}

TEST_GROUP(make_arena, remove_arena)

TEST_WITH(void *fixture_of_case, values_are_those_that_python_wrote)
{
    void **state = &fixture_of_case;
    static const int64_t numbers[] = {1, -2, 300, 70000, INT64_C(1) << 40, -5};
    const struct pickle_value *v = must_read(state, PROGRAM(mixed));

    assert_int_equal(v->type, PICKLE_DICT);
    assert_int_equal(v->n, 4);
    const struct pickle_value *a = pickle_get(v, "a"), *b = pickle_get(v, "b");
    assert_int_equal(a->n, 6);
    for (int i = 0; i < 6; i++) assert_true(a->item[i]->integer == numbers[i]);
    assert_int_equal(b->type, PICKLE_TUPLE);
    assert_int_equal(b->item[0]->integer, 1);
    assert_int_equal(b->item[1]->integer, 0);
    assert_int_equal(b->item[2]->type, PICKLE_NONE);
    assert_true(pickle_get(v, "r")->real == 1.5);
    assert_int_equal(pickle_get(v, "n")->n, 0);
    assert_null(pickle_get(v, "absent"));
    assert_null(pickle_get(NULL, "absent"));
}

TEST_WITH(void *fixture_of_case, attributes_of_an_object_are_found_by_name)
{
    void **state = &fixture_of_case;
    /* pickle.dumps(argparse.Namespace(heads=8, L=512), 2) */
    const struct pickle_value *v =
        must_read(state, PROGRAM("\x80\x02"
                                 "cargparse\nNamespace\nq\0)\x81q\1}q\2(X\5\0\0\0headsq\3K\10X\1\0"
                                 "\0\0Lq\4M\0\2ub."));
    assert_string_equal(v->text, "argparse Namespace");
    assert_int_equal(pickle_get(v, "heads")->integer, 8);
    assert_int_equal(pickle_get(v, "L")->integer, 512);
}

TEST_WITH(void *fixture_of_case, an_ordered_dict_is_a_dict)
{
    void **state = &fixture_of_case;
    const struct pickle_value *v =
        must_read(state, PROGRAM("\x80\x02"
                                 "ccollections\nOrderedDict\nq\0)Rq\1X\1\0\0\0xq\2K\1s."));
    assert_int_equal(pickle_get(v, "x")->integer, 1);
}

TEST_WITH(void *fixture_of_case, containers_of_omegaconf_are_looked_through)
{
    void **state = &fixture_of_case;
    const struct pickle_value *v = must_read(
        state, PROGRAM("\x80\x02"
                       "comegaconf.dictconfig\nDictConfig\n)\x81}X\10\0\0\0_content}X\1\0\0\0x"
                       "comegaconf.nodes\nAnyNode\n)\x81}X\4\0\0\0_valK\7sbssb."));
    assert_int_equal(pickle_get(v, "x")->integer, 7);
}

TEST_WITH(void *fixture_of_case, a_name_that_is_not_listed_is_refused_by_name)
{
    void **state = &fixture_of_case;
    must_refuse(state,
                PROGRAM("\x80\x02"
                        "cos\nsystem\nX\2\0\0\0id\x85R."),
                "os.system");
    must_refuse(state,
                PROGRAM("\x80\x02"
                        "cposix\nsystem\nX\2\0\0\0id\x85R."),
                "posix.system");
    must_refuse(state,
                PROGRAM("\x80\x02"
                        "c__builtin__\neval\nX\1\0\0\0001\x85R."),
                "eval");
}

TEST_WITH(void *fixture_of_case, a_type_of_storage_cannot_be_called)
{
    void **state = &fixture_of_case;
    must_refuse(state,
                PROGRAM("\x80\x02"
                        "ctorch\nFloatStorage\n)R."),
                "no function");
    must_refuse(state, PROGRAM("\x80\x02X\2\0\0\0id)R."), "no name");
}

TEST_WITH(void *fixture_of_case, other_operations_and_protocols_are_refused)
{
    void **state = &fixture_of_case;
    must_refuse(state, PROGRAM("\x80\x04N."), "protocol 4");
    must_refuse(state, PROGRAM("I1\n."), "does not begin");
    must_refuse(state,
                PROGRAM("\x80\x02"
                        "iargparse\nNamespace\n."),
                "0x69");
    must_refuse(state, PROGRAM("\x80\x02\x82\1."), "0x82");
}

TEST_WITH(void *fixture_of_case, the_stack_the_marks_and_the_memo_are_checked)
{
    void **state = &fixture_of_case;
    must_refuse(state, PROGRAM("\x80\x02."), "none is");
    must_refuse(state, PROGRAM("\x80\x02R."), "none is");
    must_refuse(state, PROGRAM("\x80\x02t."), "mark");
    must_refuse(state, PROGRAM("\x80\x02N(\x85."), "none is");
    must_refuse(state, PROGRAM("\x80\x02NN."), "left over");
    must_refuse(state, PROGRAM("\x80\x02h\5."), "never remembered");
    must_refuse(state, PROGRAM("\x80\x02j\xff\xff\xff\xff."), "never remembered");
    must_refuse(state, PROGRAM("\x80\x02Nr\xff\xff\xff\xff."), "limit");
    must_refuse(state, PROGRAM("\x80\x02X\xff\xff\xff\xff"), "announced");
    must_refuse(state, PROGRAM("\x80\x02\x8b\xff\xff\xff\x7f"), "announced");
    must_refuse(state, PROGRAM("\x80\x02N(K\1K\1u."), "no dict");
    must_refuse(state, PROGRAM("\x80\x02}(K\1u."), "without a value");
    must_refuse(state, PROGRAM("\x80\x02K\1}b."), "no object");
}

TEST_WITH(void *fixture_of_case, a_pickle_cut_anywhere_is_refused)
{
    void **state = &fixture_of_case;
    for (size_t n = 0; n + 1 < sizeof mixed - 1; n++) must_refuse(state, mixed, n, "x: byte");
}

TEST_WITH(void *fixture_of_case, deep_nesting_needs_no_deep_stack)
{
    void **state = &fixture_of_case;
    enum { DEPTH = 300000 };
    char *program = malloc(2 * DEPTH + 8);
    size_t n = 2;

    assert_non_null(program);
    memcpy(program, "\x80\x02", 2);
    memset(program + n, ']', DEPTH);
    n += DEPTH;
    memset(program + n, 'a', DEPTH - 1);
    n += DEPTH - 1;
    program[n++] = '.';
    assert_int_equal(must_read(state, program, n)->n, 1);
    free(program);
}

TEST_WITH(void *fixture_of_case, more_values_than_a_checkpoint_has_are_refused)
{
    void **state = &fixture_of_case;
    size_t n = PICKLE_VALUES_MAX + 16;
    char *program = malloc(n);

    assert_non_null(program);
    memset(program, 'N', n);
    memcpy(program, "\x80\x02", 2);
    must_refuse(state, program, n, "values");
    free(program);
}

TEST_WITH(void *fixture_of_case, a_value_that_holds_itself_does_no_harm)
{
    void **state = &fixture_of_case;
    const struct pickle_value *v = must_read(state, PROGRAM("\x80\x02}q\0X\1\0\0\0xh\0s."));
    assert_ptr_equal(pickle_get(v, "x"), v);
}

/* Random bytes and changed bytes: any answer but a crash (the sanitizers watch). */
TEST_WITH(void *fixture_of_case, changed_pickles_never_crash_the_reader)
{
    void **state = &fixture_of_case;
    char program[sizeof mixed];
    uint32_t seed = 1;
    int refused = 0;

    for (int i = 0; i < 20000; i++) {
        struct pickle_value *v;
        e = (struct err){0};
        memcpy(program, mixed, sizeof mixed);
        for (int k = 0; k <= i % 4; k++) {
            seed = seed * 1664525u + 1013904223u;
            program[2 + (seed >> 8) % (sizeof mixed - 3)] = (char)(seed >> 24);
        }
        refused += pickle_read(&v, *state, program, sizeof mixed - 1, names,
                               sizeof names / sizeof *names, "x", &e) < 0;
    }
    assert_true(refused > 5000);
}
