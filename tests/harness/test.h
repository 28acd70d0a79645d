/* test.h - what every test program shares: cases that register themselves, golden files, temporary
 * folders. Includes cmocka.
 *
 *   TEST(a_sentence_that_states_a_behaviour)
 *   {
 *       assert_int_equal(str_to_int(&n, "x"), false);
 *   }
 *
 * Cases run in the order of the file. `e` is a struct err of the case, zeroed. A program accepts a
 * pattern with * and ? and then runs only the cases that match. */
#ifndef TESTS_HARNESS_TEST_H
#define TESTS_HARNESS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "base/err.h"
#include "base/project.h"

/* test_register - one case; also for rows of a table, from a TEST_CONSTRUCTOR: *state is the row,
 * NULL what TEST_EACH or TEST_GROUP set up. */
typedef int (*test_state_fn)(void **state);
void test_register(const char *name, CMUnitTestFunction run, void *row);
void test_each(test_state_fn setup, test_state_fn teardown);
void test_group(test_state_fn setup, test_state_fn teardown);

#define TEST_CONSTRUCTOR(name) __attribute__((constructor)) static void name(void)
#define TEST_JOIN(a, b) TEST_PASTE(a, b)
#define TEST_PASTE(a, b) a##b

/* TEST - defines and registers a case. TEST_WITH - the same with the fixture that TEST_EACH or
 * TEST_GROUP set up: TEST_WITH(struct store_fixture *f, name). */
#define TEST(name) TEST_CASE(name, __attribute__((unused)) void *no_fixture)
#define TEST_WITH(fixture, name) TEST_CASE(name, __attribute__((unused)) fixture)
#define TEST_CASE(name, fixture)                                                                   \
    static void name(fixture, struct err e);                                                       \
    static void name##_run(void **state)                                                           \
    {                                                                                              \
        name(*state, (struct err){0});                                                             \
    }                                                                                              \
    TEST_CONSTRUCTOR(name##_register)                                                              \
    {                                                                                              \
        test_register(#name, name##_run, NULL);                                                    \
    }                                                                                              \
    static void name(fixture, __attribute__((unused)) struct err e)

/* TEST_EACH - runs setup before and teardown after every case that follows in the file.
 * TEST_GROUP - runs them once, around all cases of the program. */
#define TEST_EACH(setup, teardown)                                                                 \
    TEST_CONSTRUCTOR(TEST_JOIN(each_, __LINE__))                                                   \
    {                                                                                              \
        test_each(setup, teardown);                                                                \
    }
#define TEST_GROUP(setup, teardown)                                                                \
    TEST_CONSTRUCTOR(TEST_JOIN(group_, __LINE__))                                                  \
    {                                                                                              \
        test_group(setup, teardown);                                                               \
    }

/* TEST_DEVICES - the program's arguments are devices on which all cases run, one after the other;
 * without arguments they run on this one, or with NULL the call is wrong. --bf16 before them: they
 * compute in bf16. test_device, test_dtype - of the running cases. */
#define TEST_DEVICES(device)                                                                       \
    TEST_CONSTRUCTOR(test_devices)                                                                 \
    {                                                                                              \
        test_on_devices(device);                                                                   \
    }
extern const char *test_device;
extern enum dtype test_dtype;
void test_on_devices(const char *unless_named);

/* assert_ok - a call that returns 0; `e` within it is a struct err of the macro's own, whose
 * message a failure prints: assert_ok(model_open(&m, b, &s, &o, &e)). assert_fails - a call that
 * returns this code, with these words in its message. */
#define assert_ok(call) TEST_CALL(call, 0, "")
#define assert_fails(code, words, call) TEST_CALL(call, code, words)
#define TEST_CALL(call, code, words)                                                               \
    do {                                                                                           \
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"");             \
        struct err e = {0};                                                                        \
        int rc_of_call = (call);                                                                   \
        _Pragma("GCC diagnostic pop")                                                              \
            test_call(rc_of_call, &e, code, words, #call, __FILE__, __LINE__);                     \
    } while (0)
void test_call(int rc, const struct err *e, int code, const char *words, const char *call,
               const char *file, int line);

/* assert_golden - text equals the file tests/NAME (such as "report/golden/table5.txt"). With
 * TEST_UPDATE=1 in the environment the file is rewritten instead; review the change. */
#define assert_golden(name, text) test_golden((name), (text), __FILE__, __LINE__)
void test_golden(const char *name, const char *text, const char *file, int line);

/* test_folder - a new empty folder under TMPDIR; test_folder_remove deletes it and its content. */
enum { TEST_PATH_BYTES = 256 };
void test_folder(char path[TEST_PATH_BYTES]);
void test_folder_remove(const char *path);
/* test_write - writes a whole file, making its folders. test_read - a whole file as text from
 * malloc; both fail the case on error. */
void test_write(const char *path, const void *bytes, size_t n);
char *test_read(const char *path);

/* A temporary folder with an arena, for TEST_EACH(test_place_make, test_place_remove). project has
 * the folder as its root. */
struct test_place {
    struct arena arena;
    char path[TEST_PATH_BYTES];
    struct project project;
};
int test_place_make(void **state);
int test_place_remove(void **state);
/* test_place_path - path/name in the arena. test_place_write, test_place_read - its content, in the
 * arena; *n (may be NULL) is its length. */
char *test_place_path(struct test_place *p, const char *name);
void test_place_write(struct test_place *p, const char *name, const void *bytes, size_t n);
char *test_place_read(struct test_place *p, const char *name, size_t *n);

#endif
