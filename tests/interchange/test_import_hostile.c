/* test_import_hostile.c - truncated, modified and forged checkpoints. */
#include "harness/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "interchange/import_fixture.h"
#include "interchange/interchange.h"

#define BYTES(text) (text), sizeof(text) - 1

TEST_GROUP(import_fixture_make, import_fixture_remove)

TEST_WITH(const struct import_fixture *f, other_files_are_told_from_checkpoints)
{
    struct import *im = NULL;

    assert_int_equal(import_open(&im, "tests/fixtures/none.pt", &e), ERR_NOINPUT);
    assert_int_equal(file_write_atomic(f->path, BYTES("hello, world"), &e), 0);
    import_fixture_must_refuse(f->path, "not a PyTorch checkpoint");
    assert_int_equal(file_write_atomic(f->path, BYTES("\x80\x02\x8a\x0a..."), &e), 0);
    import_fixture_must_refuse(f->path, "before PyTorch 1.6");
    import_fixture_zip(f, NULL, 0);
    import_fixture_must_refuse(f->path, "no data.pkl");
    import_fixture_zip(f, BYTES("\x80\x02}."));
    import_fixture_must_refuse(f->path, "`model`");
}

TEST_WITH(struct import_fixture *f, a_file_cut_or_changed_is_rejected)
{
    char *whole;
    size_t n;

    assert_int_equal(file_read(&f->arena, &whole, &n, IMPORT_FIXTURE_TINY, 1 << 20, &e), 0);
    for (size_t cut = 64; cut < n; cut += n / 23) {
        assert_int_equal(file_write_atomic(f->path, whole, cut, &e), 0);
        import_fixture_must_refuse(f->path, "");
    }
    /* One bit of a weight: the description is valid, the checksum of the storage is not. */
    char *at =
        memmem(whole, n, f->file.storages.item[1].data_own, (size_t)f->file.storages.item[1].bytes);
    assert_non_null(at);
    at[100] ^= 1;
    assert_int_equal(file_write_atomic(f->path, whole, n, &e), 0);
    import_fixture_must_fail(f, "damaged");
}

TEST_WITH(struct import_fixture *f, descriptions_that_deceive_are_rejected)
{
    static const struct {
        const char *from;
        size_t from_n;
        const char *to;
        size_t to_n;
        const char *word;
    } cases[] = {
        {BYTES("ctorch._utils\n_rebuild_tensor_v2\n"), BYTES("cos\nsystem\n"), "os.system"},
        {BYTES("ctorch\nFloatStorage\n"), BYTES("csubprocess\nPopen\n"), "subprocess.Popen"},
        /* 64 rows of 32 elements from element 1 on: one too many. */
        {BYTES("QK\0K@K \x86q"), BYTES("QK\1K@K \x86q"), "exceeds its storage"},
        {BYTES("QK\0K@K \x86q"), BYTES("QJ\xff\xff\xff\xffK@K \x86q"), "exceeds its storage"},
        {BYTES("K@K \x86q<K K\1\x86"), BYTES("K@K \x86q<M\xff\xffK\1\x86"), "exceeds its storage"},
        {BYTES("K@K \x86q<K K\1\x86"),
         BYTES("\x8a\7\0\0\0\0\0\0\1\x8a\7\0\0\0\0\0\0\1\x86q<K\0K\0\x86"), "exceeds its storage"},
        {BYTES("M\0\10tq"), BYTES("M\1\10tq"), "expected 2049 elements"},
        {BYTES("M\0\10tq"), BYTES("J\xff\xff\xff\x7ftq"), "bytes, expected"},
        {BYTES("X\1\0\0\0001q"), BYTES("X\4\0\0\0../1q"), "is missing"},
        {BYTES("decoder.layers.0.fc1.weight"), BYTES("decoder.layers.0.fc2.weight"), "twice"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n;
        char *pickle = import_fixture_replace(f, cases[i].from, cases[i].from_n, cases[i].to,
                                              cases[i].to_n, &n);
        import_fixture_zip(f, pickle, n);
        import_fixture_must_refuse(f->path, cases[i].word);
    }
}

TEST_WITH(struct import_fixture *f, a_tensor_of_another_model_is_named)
{
    static const struct {
        const char *from, *to, *word;
    } cases[] = {
        {"decoder.layers.0.fc1.weight", "decoder.layers.0.fc9.weight", "fc1.weight is missing"},
        {"tail.1.2.weight", "tail.1.9.weight", "unexpected tensor"},
        {"tail.1.2.weight", "tail.9.2.weight", "unexpected tensor"},
    };
    struct spec s = import_fixture_spec();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n, length = strlen(cases[i].from);
        e = (struct err){0};
        char *pickle = import_fixture_replace(f, cases[i].from, length, cases[i].to, length, &n);
        import_fixture_zip(f, pickle, n);
        struct import *im = import_fixture_must_open(f->path);
        int rc = import_check(im, &s, &e);
        import_fixture_must_say(rc, &e, cases[i].word);
        import_close(im);
    }
}

/* Swaps two names, so that tied tensors have each other's numbers. */
TEST_WITH(struct import_fixture *f, a_tied_tensor_that_differs_is_rejected)
{
    static const char head[] = "decoder.adaptive_softmax.head.word_proj.weight";
    size_t n;
    /* fc1 of layer 0 has the shape of the first table: 64 rows of 32. */
    char *pickle = import_fixture_replace(f, head, sizeof head - 1, head, sizeof head - 1, &n);
    char *fc1 = memmem(pickle, n, BYTES("decoder.layers.0.fc1.weight"));
    char *word = memmem(pickle, n, head, sizeof head - 1);
    assert_non_null(fc1);
    /* The storage of a listed tensor is its key, in the tuple after the name. */
    char *key = memmem(fc1, (size_t)(pickle + n - fc1), BYTES("X\2\0\0\0"));
    assert_non_null(key);
    size_t head_at = (size_t)(word - pickle) + sizeof head - 1;
    char *tuple = memmem(pickle + head_at, n - head_at, BYTES("h:h2M\0\10t"));
    assert_non_null(tuple);
    char *changed = arena_alloc(&f->arena, n + 16);
    size_t before = (size_t)(tuple - pickle);
    memcpy(changed, pickle, before);
    memcpy(changed + before, key, 7); /* X, length 2, the two digits, in place of the memo's key */
    memcpy(changed + before + 7, tuple + 2, n - before - 2);
    import_fixture_zip(f, changed, n + 5);
    import_fixture_must_fail(f, "word_proj.weight differs from");
}

TEST_WITH(struct import_fixture *f, a_weight_that_is_not_finite_is_rejected)
{
    for (int32_t i = 0; i < f->file.storages.n; i++) {
        if (strcmp(f->file.storages.item[i].key, "1") != 0) continue;
        float *values = f->file.storages.item[i].data_own, kept = values[7];
        values[7] = (float)NAN;
        import_fixture_zip(f, f->file.pickle, f->file.pickle_bytes);
        values[7] = kept;
    }
    import_fixture_must_fail(
        f, "element 7 of decoder.embed_tokens.embeddings.0.0.weight is not finite");
}

/* Thousands of changed descriptions: each is rejected or imported without invalid memory accesses
 * (run with sanitizers). */
TEST_WITH(struct import_fixture *f, changed_descriptions_never_crash_the_import)
{
    enum { CHANGES = 4000, WRITES_MAX = 40 };
    size_t n = f->file.pickle_bytes;
    char *pickle = malloc(n);
    uint32_t seed = 7;
    int refused = 0, written = 0;

    assert_non_null(pickle);
    for (int i = 0; i < CHANGES; i++) {
        struct arena arena;
        struct pickle_value *v = NULL;
        struct torch_tensor *tensor;
        int32_t tensors_n;
        e = (struct err){0};
        memcpy(pickle, f->file.pickle, n);
        for (int k = 0; k <= i % 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            pickle[(seed >> 4) % n] = (char)(seed >> 24);
        }
        arena_init(&arena);
        struct torch_file file = f->file;
        file.arena = &arena;
        int rc = pickle_read(&v, &arena, pickle, n, "x", &e);
        if (rc == 0)
            rc = torch_tensors_read(&tensor, &tensors_n, &file, pickle_get(v, "model"), &e);
        arena_fini(&arena);
        if (rc < 0) refused++;
        if (rc < 0 || written == WRITES_MAX) continue;
        import_fixture_zip(f, pickle, n);
        struct import *im = import_fixture_must_open(f->path);
        written += import_fixture_write(f, im, &e) == 0;
        import_close(im);
    }
    free(pickle);
    assert_true(refused > CHANGES / 4);
    assert_true(written > 0);
    print_message("%d faults injected\n", CHANGES);
}

TEST_WITH(struct import_fixture *f, changed_files_never_crash_the_import)
{
    char *whole, *copy;
    size_t n;
    uint32_t seed = 3;

    assert_int_equal(file_read(&f->arena, &whole, &n, IMPORT_FIXTURE_HALF, 1 << 20, &e), 0);
    copy = arena_alloc(&f->arena, n);
    for (int i = 0; i < 400; i++) {
        struct import *im = NULL;
        memcpy(copy, whole, n);
        for (int k = 0; k < 1 + i % 40; k++) {
            seed = seed * 1664525u + 1013904223u;
            /* Half of the changes are in the directory of the zip, at its end. */
            size_t at = k % 2 ? n - 1 - (seed >> 4) % 4096 : (seed >> 4) % n;
            copy[at] = (char)(seed >> 24);
        }
        FILE *out = fopen(f->path, "wb");
        assert_non_null(out);
        assert_int_equal(fwrite(copy, 1, n, out), n);
        fclose(out);
        if (import_open(&im, f->path, &e) == 0) (void)import_fixture_write(f, im, &e);
        import_close(im);
    }
    print_message("400 faults injected\n");
}
