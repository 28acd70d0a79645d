/* test_safetensors.c - round trips, and malicious files. */
#include "harness/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "interchange/safetensors.h"

struct folder {
    char dir[TEST_PATH_BYTES], path[TEST_PATH_BYTES + 32];
};

static int make_folder(void **state)
{
    static struct folder f;
    test_folder(f.dir);
    snprintf(f.path, sizeof f.path, "%s/file.safetensors", f.dir);
    *state = &f;
    return 0;
}

static int remove_folder(void **state)
{
    test_folder_remove(((struct folder *)*state)->dir);
    return 0;
}

/* Writes a file of the given header text and data bytes; length overrides the true one unless -1.
 */
static void put_file(const struct folder *f, const char *header, int64_t length, size_t data_bytes)
{
    size_t n = strlen(header);
    unsigned char *all = calloc(1, 8 + n + data_bytes);
    uint64_t claimed = length < 0 ? n : (uint64_t)length;

    assert_non_null(all);
    for (int i = 0; i < 8; i++) all[i] = (unsigned char)(claimed >> (8 * i));
    memcpy(all + 8, header, n);
    test_write(f->path, all, 8 + n + data_bytes);
    free(all);
}

static void refuse(const struct folder *f, const char *word)
{
    struct err e = {0};
    struct safetensors *s = NULL;

    assert_int_equal(safetensors_open(&s, f->path, &e), ERR_DATA);
    assert_null(s);
    if (!strstr(e.text, word)) fail_msg("\"%s\" does not say \"%s\"", e.text, word);
}

TEST_EACH(make_folder, remove_folder)

TEST_WITH(const struct folder *f, what_is_written_is_read_back)
{
    struct safetensors *s = NULL;
    const float matrix[6] = {1.5f, -2.0f, 0.1f, 3e38f, -0.0f, 1e-40f}, scalar[1] = {7.0f};
    const struct safetensors_text text = {"spec", "kind=train\nname=\"é\"\n"};
    const struct safetensors_entry entry[] = {
        {.name = "a.weight", .dims = {2, 3}, .dims_n = 2, .elements_n = 6, .data = matrix},
        {.name = "b", .elements_n = 1, .data = scalar}};
    const struct safetensors_content content = {
        .text = &text, .texts_n = 1, .entry = entry, .entries_n = 2};
    char sha256[HASH_HEX_BYTES], again[HASH_HEX_BYTES];
    int64_t bytes = 0;

    assert_int_equal(safetensors_write(f->path, &content, sha256, &bytes, &e), 0);
    assert_int_equal(hash_file(again, f->path, &e), 0);
    assert_string_equal(sha256, again);
    assert_int_equal(safetensors_open(&s, f->path, &e), 0);
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

static int fail_at_second(void *context, int32_t i, const float **values, struct err *e)
{
    *values = context;
    return i == 0 ? 0 : ERR(e, ERR_NUMBER, "stop");
}

TEST_WITH(const struct folder *f, an_unfinished_write_leaves_nothing)
{
    float values[4] = {0};
    const struct safetensors_entry entry[] = {
        {.name = "a", .dims = {4}, .dims_n = 1, .elements_n = 4},
        {.name = "b", .dims = {4}, .dims_n = 1, .elements_n = 4}};
    const struct safetensors_content content = {
        .entry = entry, .entries_n = 2, .read = fail_at_second, .context = values};
    struct safetensors *s = NULL;

    assert_int_equal(safetensors_write(f->path, &content, NULL, NULL, &e), ERR_NUMBER);
    assert_false(file_exists(f->path));
    assert_int_equal(safetensors_open(&s, f->path, &e), ERR_NOINPUT);
}

TEST_WITH(const struct folder *f, false_header_lengths_are_rejected)
{
    test_write(f->path, "", 0);
    refuse(f, "too short");
    test_write(f->path, "\1\0\0", 3);
    refuse(f, "too short");
    put_file(f, "{}", 3, 0);
    refuse(f, "has only");
    put_file(f, "{}", INT64_MAX, 0);
    refuse(f, "has only");
    put_file(f, "{}", 0, 0);
    refuse(f, "not JSON");
    put_file(f, "{}", (16 << 20) + 1, (16 << 20) + 8);
    refuse(f, "limit");
}

#define ENTRY(dtype, shape, offsets)                                                               \
    "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

TEST_WITH(const struct folder *f, headers_that_are_not_the_format_are_rejected)
{
    const struct {
        const char *header, *word;
        size_t data;
    } cases[] = {
        {"[1,2]", "not a JSON object", 0},
        {"{\"a\":", "not JSON", 0},
        {"{\"\xff\":1}", "not JSON", 0},
        {"{\"a\":7}", "exactly dtype", 0},
        {"{\"__metadata__\":3}", "not an object", 0},
        {"{\"__metadata__\":{\"a\":3}}", "not text", 0},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", "exactly dtype", 4},
        {ENTRY("\"F33\"", "[1]", "[0,4]"), "F33", 4},
        {ENTRY("4", "[1]", "[0,4]"), "Expected string", 4},
        {ENTRY("\"F32\"", "1", "[0,4]"), "shape", 4},
        {ENTRY("\"F32\"", "[-1]", "[0,4]"), "not a count", 4},
        {ENTRY("\"F32\"", "[1.0]", "[0,4]"), "not a count", 4},
        {ENTRY("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), "at most 8", 4},
        {ENTRY("\"F32\"", "[4294967296,4294967296]", "[0,4]"), "too many", 4},
        {ENTRY("\"F32\"", "[4611686018427387904]", "[0,0]"), "a different number", 0},
        {ENTRY("\"F32\"", "[2]", "[0,4]"), "a different number", 4},
        {ENTRY("\"F32\"", "[1]", "[0,8]"), "outside", 4},
        {ENTRY("\"F32\"", "[1]", "[4,0]"), "outside", 4},
        {ENTRY("\"F32\"", "[1]", "[-4,0]"), "outside", 4},
        {ENTRY("\"F32\"", "[1]", "[0]"), "two numbers", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         "duplicate", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file(f, cases[i].header, -1, cases[i].data);
        refuse(f, cases[i].word);
    }
}

/* Pads the header to a multiple of eight like a real writer. */
static void put_two(const struct folder *f, const char *second, int shift, size_t data)
{
    char header[512];
    int n = snprintf(header, sizeof header,
                     "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},%s}", second);
    while (n % 8 != shift) header[n++] = ' ';
    header[n] = '\0';
    put_file(f, header, -1, data);
}

TEST_WITH(const struct folder *f, overlaps_holes_leftovers_and_misalignment_are_rejected)
{
    put_two(f, "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}", 0, 12);
    refuse(f, "overlaps");
    put_two(f, "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}", 0, 8);
    refuse(f, "overlaps");
    put_two(f, "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[12,16]}", 0, 16);
    refuse(f, "gap");
    put_two(f, "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}", 0, 16);
    refuse(f, "after the last");
    put_two(f, "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}", 3, 12);
    refuse(f, "aligned");
    put_two(f, "\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[8,16]}", 4, 16);
    refuse(f, "aligned");
}

TEST_WITH(const struct folder *f, every_truncation_and_every_flipped_header_byte_is_survived)
{
    struct arena arena;
    char *good = NULL;
    size_t n = 0;

    put_two(f,
            "\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[8,16]},"
            "\"__metadata__\":{\"k\":\"v\"}",
            0, 16);
    arena_init(&arena);
    assert_int_equal(file_read(&arena, &good, &n, f->path, 4096, &e), 0);
    for (size_t i = 0; i < n; i++) {
        struct safetensors *s = NULL;
        test_write(f->path, good, i);
        assert_int_equal(safetensors_open(&s, f->path, &e), ERR_DATA);
    }
    for (size_t i = 0; i < 8 * (n - 16); i++) { /* every bit */
        struct safetensors *s = NULL;
        char kept = good[i / 8];
        good[i / 8] = (char)(kept ^ (1 << (i % 8)));
        test_write(f->path, good, n);
        int rc = safetensors_open(&s, f->path, &e);
        assert_true(rc == 0 || rc == ERR_DATA);
        safetensors_close(s);
        good[i / 8] = kept;
    }
    print_message("%zu faults injected\n", n + 8 * (n - 16));
    arena_fini(&arena);
}
