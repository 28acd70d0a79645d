/* test_safetensors.c - round trips, and malicious files. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "interchange/safetensors.h"

static char dir[TEST_PATH_BYTES], path[TEST_PATH_BYTES + 32];

static int make_folder(void **state)
{
    (void)state;
    test_folder(dir);
    snprintf(path, sizeof path, "%s/file.safetensors", dir);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    test_folder_remove(dir);
    return 0;
}

/* Writes a file of this header and so many data bytes, which begin `shift` bytes after a multiple
 * of eight. */
static void put_file(const char *header, size_t shift, size_t data_bytes)
{
    size_t n = strlen(header), padded = n + (shift - n) % 8;
    unsigned char *all = calloc(1, 8 + padded + data_bytes);

    assert_non_null(all);
    for (int i = 0; i < 8; i++) all[i] = (unsigned char)(padded >> (8 * i));
    memcpy(all + 8, header, n);
    memset(all + 8 + n, ' ', padded - n);
    test_write(path, all, 8 + padded + data_bytes);
    free(all);
}

static void refuse(const char *word)
{
    struct safetensors *s;

    assert_fails(ERR_DATA, word, safetensors_open(&s, path, &e));
    assert_null(s);
}

TEST_EACH(make_folder, remove_folder)

TEST(what_is_written_is_read_back)
{
    struct safetensors *s;
    struct safetensors_writer w;
    const float matrix[6] = {1.5f, -2.0f, 0.1f, 3e38f, -0.0f, 1e-40f}, scalar[1] = {7.0f};
    const struct safetensors_text text = {"spec", "kind=train\nname=\"é\"\n"};
    const struct safetensors_entry entry[] = {
        {.name = "a.weight", .dims = {2, 3}, .dims_n = 2, .elements_n = 6, .data = matrix},
        {.name = "b", .elements_n = 1, .data = scalar}};
    const struct safetensors_content content = {
        .text = &text, .texts_n = 1, .entry = entry, .entries_n = 2};
    char sha256[HASH_HEX_BYTES], again[HASH_HEX_BYTES];
    int64_t bytes = 0;

    assert_ok(safetensors_writer_open(&w, path, &content, &e));
    for (int i = 0; i < 2; i++)
        assert_ok(safetensors_writer_add(&w, entry[i].data, entry[i].elements_n, &e));
    assert_ok(safetensors_writer_close(&w, 0, sha256, &bytes, &e));
    assert_ok(hash_file(again, path, &e));
    assert_string_equal(sha256, again);
    assert_ok(safetensors_open(&s, path, &e));
    assert_int_equal(safetensors_count(s), 2);
    const struct safetensors_entry *x = safetensors_find(s, "a.weight");
    assert_ptr_equal(x, safetensors_at(s, 0));
    assert_string_equal(x->dtype, "F32");
    assert_int_equal(x->dims_n, 2);
    assert_int_equal(x->dims[0], 2);
    assert_int_equal(x->dims[1], 3);
    assert_memory_equal(x->data, matrix, sizeof matrix);
    x = safetensors_find(s, "b");
    assert_int_equal(x->dims_n, 0);
    assert_int_equal(x->elements_n, 1);
    assert_memory_equal(x->data, scalar, sizeof scalar);
    assert_null(safetensors_find(s, "c"));
    assert_string_equal(safetensors_metadata(s, "spec"), "kind=train\nname=\"é\"\n");
    assert_null(safetensors_metadata(s, "absent"));
    assert_int_equal(x->data_bytes, 4);
    assert_true(bytes > 28 && bytes % 4 == 0);
    safetensors_close(s);
}

TEST(an_unfinished_write_leaves_nothing)
{
    const float values[4] = {0};
    const struct safetensors_entry entry[] = {
        {.name = "a", .dims = {4}, .dims_n = 1, .elements_n = 4},
        {.name = "b", .dims = {4}, .dims_n = 1, .elements_n = 4}};
    const struct safetensors_content content = {.entry = entry, .entries_n = 2};
    struct safetensors_writer w;
    struct safetensors *s;

    assert_ok(safetensors_writer_open(&w, path, &content, &e));
    assert_ok(safetensors_writer_add(&w, values, 4, &e));
    assert_int_equal(safetensors_writer_close(&w, ERR_NUMBER, NULL, NULL, &e), ERR_NUMBER);
    assert_false(file_exists(path));
    assert_fails(ERR_NOINPUT, "", safetensors_open(&s, path, &e));
}

TEST(false_header_lengths_are_rejected)
{
    static const struct {
        unsigned char length[8];
        size_t n;
        const char *word;
    } cases[] = {
        {"", 0, "too short"},
        {"\1\0\0", 3, "too short"},
        {"\3\0\0\0\0\0\0", 10, "has only"},
        {"\377\377\377\377\377\377\377\177", 10, "has only"},
        {"", 10, "not JSON"},
        {"\1\0\0\1", (16 << 20) + 18, "limit"},
    };
    unsigned char *all = calloc(1, (16 << 20) + 18);

    assert_non_null(all);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(all, cases[i].length, 8);
        memcpy(all + 8, "{}", 2);
        test_write(path, all, cases[i].n);
        refuse(cases[i].word);
    }
    free(all);
}

#define TENSOR(dtype, shape, offsets)                                                              \
    "{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define ONE(dtype, shape, offsets) "{\"a\":" TENSOR(dtype, shape, offsets) "}"
/* A second one after eight bytes. */
#define TWO(dtype, shape, offsets)                                                                 \
    "{\"a\":" TENSOR("\"F32\"", "[2]", "[0,8]") ",\"b\":" TENSOR(                                  \
        dtype, shape, offsets) ","                                                                 \
                               "\"__metadata__\":{\"k\":\"v\"}}"

TEST(headers_that_are_not_the_format_are_rejected)
{
    static const struct {
        const char *header, *word;
        size_t data, shift;
        bool foreign; /* another program may write it */
    } cases[] = {
        {"[1,2]", "expected a JSON object", 0, 0, false},
        {"{\"a\":", "not JSON", 0, 0, false},
        {"{\"\xff\":1}", "not JSON", 0, 0, false},
        {"{\"a\":7}", "exactly dtype", 0, 0, false},
        {"{\"__metadata__\":3}", "not an object", 0, 0, false},
        {"{\"__metadata__\":{\"a\":3}}", "not text", 0, 0, false},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", "exactly dtype", 4, 0, false},
        {"{\"a\":" TENSOR("\"F32\"", "[1]", "[0,4]") ",\"a\":" TENSOR("\"F32\"", "[1]",
                                                                      "[0,4]") "}",
         "duplicate", 4, 0, false},
        {ONE("\"F33\"", "[1]", "[0,4]"), "F33", 4, 0, true},
        {ONE("4", "[1]", "[0,4]"), "Expected string", 4, 0, false},
        {ONE("\"F32\"", "1", "[0,4]"), "shape", 4, 0, false},
        {ONE("\"F32\"", "[-1]", "[0,4]"), "not a count", 4, 0, false},
        {ONE("\"F32\"", "[1.0]", "[0,4]"), "not a count", 4, 0, false},
        {ONE("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), "at most 8", 4, 0, false},
        {ONE("\"F32\"", "[4294967296,4294967296]", "[0,4]"), "too many", 4, 0, false},
        {ONE("\"F32\"", "[4611686018427387904]", "[0,0]"), "a different number", 0, 0, false},
        {ONE("\"F32\"", "[2]", "[0,4]"), "a different number", 4, 0, false},
        {ONE("\"F32\"", "[1]", "[0,8]"), "outside", 4, 0, false},
        {ONE("\"F32\"", "[1]", "[4,0]"), "outside", 4, 0, false},
        {ONE("\"F32\"", "[1]", "[-4,0]"), "outside", 4, 0, false},
        {ONE("\"F32\"", "[1]", "[0]"), "two numbers", 4, 0, false},
        {TWO("\"F32\"", "[2]", "[4,12]"), "overlaps", 12, 0, false},
        {TWO("\"F32\"", "[2]", "[0,8]"), "overlaps", 8, 0, false},
        {TWO("\"F32\"", "[1]", "[12,16]"), "gap", 16, 0, false},
        {TWO("\"F32\"", "[1]", "[8,12]"), "after the last", 16, 0, false},
        {TWO("\"F32\"", "[1]", "[8,12]"), "aligned", 12, 3, true},
        {TWO("\"F64\"", "[1]", "[8,16]"), "aligned", 16, 4, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file(cases[i].header, cases[i].shift, cases[i].data);
        refuse(cases[i].word);
        struct safetensors *s;
        int rc = safetensors_open_foreign(&s, path, &e);
        if (rc != (cases[i].foreign ? 0 : ERR_DATA)) fail_msg("%s: %s", cases[i].header, e.text);
        safetensors_close(s);
    }
}

TEST(every_truncation_and_every_flipped_header_byte_is_survived)
{
    struct arena arena;
    char *good = NULL;
    size_t n = 0;

    put_file(TWO("\"F64\"", "[1]", "[8,16]"), 0, 16);
    arena_init(&arena);
    assert_ok(file_read(&arena, &good, &n, path, 4096, &e));
    for (size_t i = 0; i < n; i++) {
        struct safetensors *s = NULL;
        test_write(path, good, i);
        assert_int_equal(safetensors_open(&s, path, &e), ERR_DATA);
    }
    for (size_t i = 0; i < 8 * (n - 16); i++) { /* every bit */
        struct safetensors *s = NULL;
        char kept = good[i / 8];
        good[i / 8] = (char)(kept ^ (1 << (i % 8)));
        test_write(path, good, n);
        int rc = safetensors_open(&s, path, &e);
        assert_true(rc == 0 || rc == ERR_DATA);
        safetensors_close(s);
        good[i / 8] = kept;
    }
    print_message("%zu faults injected\n", n + 8 * (n - 16));
    arena_fini(&arena);
}
