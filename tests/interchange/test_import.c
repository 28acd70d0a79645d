/* test_import.c - imports checkpoints written by PyTorch. */
#include "harness/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "interchange/import_fixture.h"
#include "interchange/interchange.h"
#include "interchange/safetensors.h"
#include "interchange/torch_file.h"
#include "record/event.h"

TEST_GROUP(import_fixture_make, import_fixture_remove)

TEST(a_checkpoint_of_pytorch_fits_its_specification)
{
    static const char *const paths[] = {IMPORT_FIXTURE_TINY, IMPORT_FIXTURE_HALF};
    struct spec s = import_fixture_spec();

    for (size_t i = 0; i < 2; i++) {
        struct import *im = import_fixture_must_open(paths[i]);
        if (import_check(im, &s, &e) < 0) fail_msg("%s", e.text);
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

TEST(every_setting_that_differs_is_named)
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
    struct import *im = import_fixture_must_open(IMPORT_FIXTURE_TINY);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec s = import_fixture_spec();
        e = (struct err){0};
        assert_int_equal(spec_set(&s, spec_key_find(cases[i].key), cases[i].value, &e), 0);
        int rc = import_check(im, &s, &e);
        import_fixture_must_say(rc, &e, cases[i].word);
    }
    import_close(im);
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
        _Float16 half; /* the compiler's own conversion */
        memcpy(&half, &storage[i], sizeof half);
        float expected = (float)half;
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
    const float storage[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const float expected[] = {1, 3, 5, 2, 4, 6};
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

TEST_WITH(const struct import_fixture *f, what_is_written_is_what_pytorch_stored)
{
    struct import *im = import_fixture_must_open(IMPORT_FIXTURE_TINY);
    struct spec s = import_fixture_spec();
    struct safetensors *weights = NULL;
    struct event_reader *reader = NULL;
    struct event record;
    char dir[IMPORT_PATH_BYTES + 16], path[2 * IMPORT_PATH_BYTES], run_id[SPEC_ID_BYTES];
    int events_n = 0;

    import_fixture_attempt(f, dir);
    if (import_check(im, &s, &e) < 0 || import_write(im, dir, 2.5, &e) < 0) fail_msg("%s", e.text);
    snprintf(path, sizeof path, "%s/imported.safetensors", dir);
    assert_int_equal(safetensors_open(&weights, path, &e), 0);
    spec_run_id(&s, run_id);
    assert_string_equal(safetensors_metadata(weights, "run_id"), run_id);
    assert_string_equal(safetensors_metadata(weights, "origin"), "imported");
    /* Storage 1 is the first table, whole: see the pickle's beginning. */
    const struct safetensors_entry *table =
        safetensors_find(weights, "decoder.embed_tokens.embeddings.0.0.weight");
    assert_non_null(table);
    for (int32_t i = 0; i < f->file.storages.n; i++)
        if (strcmp(f->file.storages.item[i].key, "1") == 0)
            assert_memory_equal(table->data, f->file.storages.item[i].data_own,
                                64 * 32 * sizeof(float));
    snprintf(path, sizeof path, "%s/events", dir);
    assert_int_equal(event_reader_open(&reader, path, &e), 0);
    while (event_read(reader, &record, &e) == 1) events_n++;
    assert_int_equal(events_n, 4);
    event_reader_close(reader);
    safetensors_close(weights);
    import_close(im);
}
