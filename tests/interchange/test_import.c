/* test_import.c - imports checkpoints that PyTorch wrote (make_checkpoint.py), and truncated,
 * modified and forged ones. */
#include "harness/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/file.h"
#include "interchange/interchange.h"
#include "interchange/torch_file.h"
#include "record/run_folder.h"

#define TINY "tests/fixtures/checkpoints/tiny.pt"
#define TINY_HALF "tests/fixtures/checkpoints/tiny_half.pt"
#define BYTES(text) (text), sizeof(text) - 1

struct fixture {
    char root[TEST_PATH_BYTES], path[TEST_PATH_BYTES + 16]; /* path: for changed files */
    struct spec spec;                                       /* of the training of tiny.pt */
    struct arena arena;
    struct torch_file file; /* tiny.pt with all its storages */
};

static int make_fixture(void **state)
{
    static struct fixture f;

    test_folder(f.root);
    snprintf(f.path, sizeof f.path, "%s/changed.pt", f.root);
    spec_init(&f.spec);
    f.spec.model = (struct spec_model){.form = f.spec.model.form,
                                       .position = SPEC_ALIBI,
                                       .layers = 2,
                                       .dim = 32,
                                       .heads = 4,
                                       .ffn = 64,
                                       .softmax = SPEC_ADAPTIVE,
                                       .cutoffs_n = 2,
                                       .cutoffs = {64, 128},
                                       .adaptive_factor = 2};
    f.spec.data = (struct spec_data){.corpus = "tiny",
                                     .vocab = 208,
                                     .train_tokens = 7347,
                                     .valid_tokens = 640,
                                     .test_tokens = 581};
    f.spec.train.L = 32;
    f.spec.train.shards = 1;
    f.spec.train.shard_tokens = 512;
    f.spec.train.updates = 150;
    arena_init(&f.arena);
    assert_ok(torch_file_open(&f.file, &f.arena, TINY, &e));
    for (int32_t i = 0; i < f.file.storages.n; i++) f.file.storages.item[i].wanted = true;
    assert_ok(torch_file_read(&f.file, &e));
    for (int32_t i = 0; i < f.file.storages.n; i++) { /* tests change copies */
        struct torch_storage *s = &f.file.storages.item[i];
        assert_null(s->data_own);
        s->data_own = malloc((size_t)s->bytes + 1);
        assert_non_null(s->data_own);
        memcpy(s->data_own, s->data, (size_t)s->bytes);
    }
    *state = &f;
    return 0;
}

static int remove_fixture(void **state)
{
    struct fixture *f = *state;

    torch_file_close(&f->file);
    arena_fini(&f->arena);
    test_folder_remove(f->root);
    return 0;
}

/* --- changed files -------------------------------------------------------------------------- */

static void zip_add(struct archive *zip, const char *name, const void *data, size_t n)
{
    struct archive_entry *entry = archive_entry_new();

    archive_entry_set_pathname(entry, name);
    archive_entry_set_size(entry, (la_int64_t)n);
    archive_entry_set_filetype(entry, AE_IFREG);
    assert_int_equal(archive_write_header(zip, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(zip, data, n), n);
    archive_entry_free(entry);
}

/* Writes a zip of this pickle (NULL: none) and the fixture's storages to f->path. */
static void put_zip(const struct fixture *f, const void *pickle, size_t n)
{
    struct archive *zip = archive_write_new();
    char name[64];

    assert_int_equal(archive_write_set_format_zip(zip), ARCHIVE_OK);
    assert_int_equal(archive_write_set_options(zip, "zip:compression=store"), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(zip, f->path), ARCHIVE_OK);
    if (pickle) zip_add(zip, "archive/data.pkl", pickle, n);
    for (int32_t i = 0; i < f->file.storages.n; i++) {
        const struct torch_storage *s = &f->file.storages.item[i];
        snprintf(name, sizeof name, "archive/data/%s", s->key);
        zip_add(zip, name, s->data_own, (size_t)s->bytes);
    }
    assert_int_equal(archive_write_close(zip), ARCHIVE_OK);
    archive_write_free(zip);
}

/* Where the fixture's pickle has these bytes, from `from` on (NULL: its start). */
static const char *find_bytes(const struct fixture *f, const char *from, const char *bytes,
                              size_t n)
{
    const char *pickle = f->file.pickle, *at = from ? from : pickle;

    at = memmem(at, (size_t)(pickle + f->file.pickle_bytes - at), bytes, n);
    assert_non_null(at);
    return at;
}

/* Writes a zip whose pickle has `to` in place of n bytes at `at`. */
static void put_changed(struct fixture *f, const char *at, size_t n, const char *to, size_t to_n)
{
    const char *pickle = f->file.pickle;
    size_t bytes = f->file.pickle_bytes, head = (size_t)(at - pickle);
    char *out = arena_alloc(&f->arena, bytes + to_n);

    memcpy(out, pickle, head);
    memcpy(out + head, to, to_n);
    memcpy(out + head + to_n, at + n, bytes - head - n);
    put_zip(f, out, bytes - n + to_n);
}

static struct torch_storage *storage_of(struct fixture *f, const char *key)
{
    for (int32_t i = 0; i < f->file.storages.n; i++)
        if (strcmp(f->file.storages.item[i].key, key) == 0) return &f->file.storages.item[i];
    fail_msg("no storage %s", key);
    return NULL;
}

/* --- imports -------------------------------------------------------------------------------- */

static void refuse(const struct fixture *f, const char *word)
{
    struct import *im;

    assert_fails(ERR_DATA, word, import_open(&im, f->path, &e));
    assert_null(im);
}

/* Imports into an empty folder. */
static int write_import(const struct fixture *f, struct import *im, char dir[TEST_PATH_BYTES + 16],
                        struct err *e)
{
    snprintf(dir, TEST_PATH_BYTES + 16, "%s/1", f->root);
    test_folder_remove(dir);
    assert_int_equal(mkdir(dir, 0777), 0);
    struct import_written written;
    TRY(import_check(im, &f->spec, e));
    return import_write(im, dir, &written, e);
}

static void refuse_weights(const struct fixture *f, const char *word)
{
    char dir[TEST_PATH_BYTES + 16];
    struct import *im;

    assert_ok(import_open(&im, f->path, &e));
    assert_fails(ERR_DATA, word, write_import(f, im, dir, &e));
    import_close(im);
}

TEST_GROUP(make_fixture, remove_fixture)

TEST_WITH(const struct fixture *f, a_checkpoint_of_pytorch_fits_its_specification)
{
    static const char *const paths[] = {TINY, TINY_HALF};
    struct import *im;

    for (size_t i = 0; i < 2; i++) {
        assert_ok(import_open(&im, paths[i], &e));
        assert_ok(import_check(im, &f->spec, &e));
        const struct import_facts *facts = import_facts(im);
        assert_int_equal(facts->L, 32);
        assert_int_equal(facts->updates, 150);
        assert_true(facts->heads_recorded);
        assert_true(fabs(facts->train_loss_nats - 2.8262360) < 1e-6); /* tiny.json */
        assert_true(fabs(exp(facts->valid_loss_nats) - 34.397) < 0.01);
        assert_int_equal(facts->was_fp16, i == 1);
        assert_null(facts->position);
        import_close(im);
    }
}

TEST_WITH(const struct fixture *f, every_setting_that_differs_is_named)
{
    static const struct {
        const char *key, *value, *word;
    } cases[] = {
        {"model.heads", "8", "decoder_attention_heads=4"},
        {"model.layers", "3", "decoder_layers=2"},
        {"model.ffn", "128", "decoder_ffn_embed_dim=64"},
        {"model.cutoffs", "64,136", "adaptive_input_cutoff=64,128"},
        {"model.adaptive_factor", "4", "adaptive_input_factor=2"},
        {"model.final_norm", "true", "no_decoder_final_norm"},
        {"model.softmax", "plain", "adaptive_input"},
        {"train.L", "64", "tokens_per_sample=32"},
        {"data.vocab", "216", "embeddings.2.0.weight has shape (80,8)"},
        {"model.position", "t5", "relative_attention_bias"},
    };
    struct import *im;

    assert_ok(import_open(&im, TINY, &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec s = f->spec;
        assert_ok(spec_set(&s, spec_key_find(cases[i].key), cases[i].value, &e));
        assert_fails(ERR_DATA, cases[i].word, import_check(im, &s, &e));
    }
    import_close(im);
}

/* The value that IEEE 754 gives the bits of a binary16. */
static float fp16_value(int bits)
{
    const double sign = bits >> 15 ? -1 : 1;
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;

    if (exponent == 31) return (float)(fraction ? NAN : sign * INFINITY);
    return (float)(sign * ldexp(fraction + (exponent ? 1024 : 0), (exponent ? exponent : 1) - 25));
}

TEST(fp16_and_bf16_are_widened_exactly)
{
    static uint16_t storage[1 << 16];
    static float wide[1 << 16];
    struct torch_tensor t = {.type = torch_name_find("torch.HalfStorage"),
                             .elements_n = 1 << 16,
                             .dims_n = 1,
                             .dims = {1 << 16},
                             .strides = {1}};

    for (int i = 0; i < 1 << 16; i++) storage[i] = (uint16_t)i;
    torch_tensor_widen(wide, &t, storage);
    for (int i = 0; i < 1 << 16; i++) {
        float expected = fp16_value(i);
        if (isnan(expected))
            assert_true(isnan(wide[i]));
        else
            assert_memory_equal(&wide[i], &expected, sizeof expected);
    }
    t.type = torch_name_find("torch.BFloat16Storage");
    torch_tensor_widen(wide, &t, storage);
    for (int i = 0; i < 1 << 16; i++) {
        uint32_t bits;
        memcpy(&bits, &wide[i], sizeof bits);
        assert_int_equal(bits, (uint32_t)i << 16);
    }
}

TEST(strides_are_followed)
{
    const float storage[] = {0, 1, 2, 3, 4, 5, 6, 7}, expected[] = {1, 3, 5, 2, 4, 6};
    float out[6];
    const struct torch_tensor t = {.type = torch_name_find("torch.FloatStorage"),
                                   .elements_n = 6,
                                   .offset = 1,
                                   .dims_n = 2,
                                   .dims = {2, 3},
                                   .strides = {1, 2}};
    torch_tensor_widen(out, &t, storage);
    assert_memory_equal(out, expected, sizeof expected);
}

TEST_WITH(struct fixture *f, what_is_written_is_what_pytorch_stored)
{
    struct import *im;
    struct safetensors *weights;
    char dir[TEST_PATH_BYTES + 16], run_id[SPEC_ID_BYTES];

    assert_ok(import_open(&im, TINY, &e));
    assert_ok(write_import(f, im, dir, &e));
    const char *path = arena_printf(&f->arena, "%s/imported.safetensors", dir);
    assert_ok(safetensors_open(&weights, path, &e));
    spec_run_id(&f->spec, run_id);
    assert_string_equal(safetensors_metadata(weights, "run_id"), run_id);
    assert_string_equal(safetensors_metadata(weights, "origin"), "imported");
    /* Storage 1 is the first table, whole: see the pickle's beginning. */
    const struct safetensors_entry *table =
        safetensors_find(weights, "decoder.embed_tokens.embeddings.0.0.weight");
    assert_non_null(table);
    assert_memory_equal(table->data, storage_of(f, "1")->data_own, 64 * 32 * sizeof(float));
    safetensors_close(weights);
    import_close(im);
}

/* --- malicious files ------------------------------------------------------------------------ */

TEST_WITH(const struct fixture *f, other_files_are_told_from_checkpoints)
{
    struct import *im;

    assert_fails(ERR_NOINPUT, "", import_open(&im, "tests/fixtures/none.pt", &e));
    test_write(f->path, BYTES("hello, world"));
    refuse(f, "not a PyTorch checkpoint");
    test_write(f->path, BYTES("\x80\x02\x8a\x0a..."));
    refuse(f, "before PyTorch 1.6");
    put_zip(f, NULL, 0);
    refuse(f, "no data.pkl");
    put_zip(f, BYTES("\x80\x02}."));
    refuse(f, "`model`");
}

TEST_WITH(struct fixture *f, a_file_cut_or_changed_is_rejected)
{
    const struct torch_storage *s = &f->file.storages.item[1];
    char *whole;
    size_t n;

    assert_ok(file_read(&f->arena, &whole, &n, TINY, 1 << 20, &e));
    for (size_t cut = 64; cut < n; cut += n / 23) {
        test_write(f->path, whole, cut);
        refuse(f, "");
    }
    /* One bit of a weight: the description is valid, the checksum of the storage is not. */
    char *at = memmem(whole, n, s->data_own, (size_t)s->bytes);
    assert_non_null(at);
    at[100] ^= 1;
    test_write(f->path, whole, n);
    refuse_weights(f, "damaged");
}

TEST_WITH(struct fixture *f, descriptions_that_deceive_are_rejected)
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
        const char *at = find_bytes(f, NULL, cases[i].from, cases[i].from_n);
        put_changed(f, at, cases[i].from_n, cases[i].to, cases[i].to_n);
        refuse(f, cases[i].word);
    }
}

TEST_WITH(struct fixture *f, a_tensor_of_another_model_is_named)
{
    static const struct {
        const char *from, *to, *word;
    } cases[] = {
        {"decoder.layers.0.fc1.weight", "decoder.layers.0.fc9.weight", "fc1.weight is missing"},
        {"tail.1.2.weight", "tail.1.9.weight", "unexpected tensor"},
        {"tail.1.2.weight", "tail.9.2.weight", "unexpected tensor"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = strlen(cases[i].from);
        put_changed(f, find_bytes(f, NULL, cases[i].from, n), n, cases[i].to, n);
        refuse_weights(f, cases[i].word);
    }
}

/* The storage of fc1 of layer 0, with the shape of the first table (64 rows of 32), in place of
 * that of a tied tensor. A storage is its key, in the tuple after the tensor's name. */
TEST_WITH(struct fixture *f, a_tied_tensor_that_differs_is_rejected)
{
    const char *fc1 = find_bytes(f, NULL, BYTES("decoder.layers.0.fc1.weight"));
    const char *key = find_bytes(f, fc1, BYTES("X\2\0\0\0")); /* and two digits */
    const char *head = find_bytes(f, NULL, BYTES("decoder.adaptive_softmax.head.word_proj.weight"));
    const char *tuple = find_bytes(f, head, BYTES("h:h2M\0\10t"));

    put_changed(f, tuple, strlen("h:"), key, 7);
    refuse_weights(f, "word_proj.weight differs from");
}

TEST_WITH(struct fixture *f, a_weight_that_is_not_finite_is_rejected)
{
    float *values = storage_of(f, "1")->data_own, kept = values[7];

    values[7] = (float)NAN;
    put_zip(f, f->file.pickle, f->file.pickle_bytes);
    values[7] = kept;
    refuse_weights(f, "element 7 of decoder.embed_tokens.embeddings.0.0.weight is not finite");
}

/* Thousands of changed descriptions: each is rejected or imported without invalid memory accesses
 * (run with sanitizers). */
TEST_WITH(struct fixture *f, changed_descriptions_never_crash_the_import)
{
    enum { CHANGES = 4000, WRITES_MAX = 40 };
    size_t n = f->file.pickle_bytes;
    char *pickle = arena_alloc(&f->arena, n), dir[TEST_PATH_BYTES + 16];
    uint32_t seed = 7;
    int refused = 0, written = 0;

    for (int i = 0; i < CHANGES; i++) {
        struct arena arena;
        struct pickle_value *v;
        struct torch_tensor *tensor;
        int32_t tensors_n;
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
        put_zip(f, pickle, n);
        struct import *im;
        assert_ok(import_open(&im, f->path, &e));
        written += write_import(f, im, dir, &e) == 0;
        import_close(im);
    }
    assert_true(refused > CHANGES / 4);
    assert_true(written > 0);
    print_message("%d faults injected\n", CHANGES);
}

TEST_WITH(struct fixture *f, changed_files_never_crash_the_import)
{
    char *whole, *copy, dir[TEST_PATH_BYTES + 16];
    size_t n;
    uint32_t seed = 3;

    assert_ok(file_read(&f->arena, &whole, &n, TINY_HALF, 1 << 20, &e));
    copy = arena_alloc(&f->arena, n);
    for (int i = 0; i < 400; i++) {
        struct import *im;
        memcpy(copy, whole, n);
        for (int k = 0; k < 1 + i % 40; k++) {
            seed = seed * 1664525u + 1013904223u;
            /* Half of the changes are in the directory of the zip, at its end. */
            size_t at = k % 2 ? n - 1 - (seed >> 4) % 4096 : (seed >> 4) % n;
            copy[at] = (char)(seed >> 24);
        }
        test_write(f->path, copy, n);
        if (import_open(&im, f->path, &e) == 0) (void)write_import(f, im, dir, &e);
        import_close(im);
    }
    print_message("400 faults injected\n");
}
