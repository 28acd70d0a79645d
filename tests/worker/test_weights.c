/* test_weights.c - weights and optimiser state through files, and files that do not fit. */
#include "harness/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/weights.h"
#include "worker/worker_fixture.h"

static struct model *open_model(struct backend *b, const struct spec *s, bool train)
{
    struct err e = {0};
    struct model *m = NULL;
    const struct model_options o = {
        .train = train, .rows_max = 1, .length_max = 4, .scored_max = 4};
    if (model_open(&m, b, s, &o, &e) < 0) fail_msg("%s", e.text);
    return m;
}

/* Fills a block with numbers that tell tensor and place. */
static void fill(struct model *m, enum model_block block, float from)
{
    struct err e = {0};
    const struct shape_params *p = model_params(m);

    for (int32_t i = 0; i < p->tensors_n; i++) {
        size_t n = (size_t)p->tensor[i].rows * (size_t)p->tensor[i].cols;
        float *values = calloc(n, sizeof *values);
        assert_non_null(values);
        for (size_t k = 0; k < n; k++) values[k] = from + (float)i + (float)k / 4096.0f;
        assert_int_equal(model_write(m, block, i, values, &e), 0);
        free(values);
    }
}

static void assert_equal_blocks(struct model *a, struct model *b, enum model_block block)
{
    struct err e = {0};
    const struct shape_params *p = model_params(a);

    for (int32_t i = 0; i < p->tensors_n; i++) {
        size_t n = (size_t)p->tensor[i].rows * (size_t)p->tensor[i].cols;
        float *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
        assert_non_null(x);
        assert_non_null(y);
        assert_int_equal(model_read(a, block, i, x, &e), 0);
        assert_int_equal(model_read(b, block, i, y, &e), 0);
        assert_memory_equal(x, y, n * sizeof *x);
        free(x);
        free(y);
    }
}

struct files {
    char weights[WORKER_PATH_BYTES + 32], state[WORKER_PATH_BYTES + 32];
};

static struct files save(const struct worker_fixture *f, struct model *m, int32_t slots_n)
{
    struct err e = {0};
    struct files out;

    snprintf(out.weights, sizeof out.weights, "%s/w.safetensors", f->root);
    snprintf(out.state, sizeof out.state, "%s/s.safetensors", f->root);
    assert_int_equal(weights_save(m, 0, out.weights, NULL, 0, NULL, NULL, &e), 0);
    assert_int_equal(weights_save(m, slots_n, out.state, NULL, 0, NULL, NULL, &e), 0);
    return out;
}

static int load(struct model *m, int32_t slots_n, const struct files *files, struct err *e)
{
    struct safetensors *w = NULL, *s = NULL;
    int rc = safetensors_open(&w, files->weights, e);
    if (rc == 0) rc = safetensors_open(&s, files->state, e);
    if (rc == 0) rc = weights_load_training(m, slots_n, w, files->weights, s, files->state, e);
    safetensors_close(w);
    safetensors_close(s);
    return rc;
}

TEST_GROUP(worker_fixture_make, worker_fixture_remove)

TEST_WITH(const struct worker_fixture *f, every_tensor_comes_back)
{
    struct backend *b = NULL;
    struct spec s = worker_fixture_spec(f, SPEC_T5);

    s.train.optimizer = SPEC_ADAM;
    assert_int_equal(backend_open(&b, "cpu", 1, DTYPE_F32, &e), 0);
    struct model *from = open_model(b, &s, true), *to = open_model(b, &s, true);
    fill(from, MODEL_VALUES, 1.0f);
    fill(from, MODEL_STATE_0, 100.0f);
    fill(from, MODEL_STATE_1, 1000.0f);
    const struct files files = save(f, from, 2);
    if (load(to, 2, &files, &e) < 0) fail_msg("%s", e.text);
    assert_equal_blocks(from, to, MODEL_VALUES);
    assert_equal_blocks(from, to, MODEL_STATE_0);
    assert_equal_blocks(from, to, MODEL_STATE_1);
    model_close(from);
    model_close(to);
    backend_close(b);
}

TEST_WITH(const struct worker_fixture *f, weights_of_another_model_are_refused_and_change_nothing)
{
    struct backend *b = NULL;
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    struct spec wider = s, deeper = s;

    wider.model.ffn = 64;
    deeper.model.layers = 3;
    assert_int_equal(backend_open(&b, "cpu", 1, DTYPE_F32, &e), 0);
    struct model *from = open_model(b, &s, true), *kept = open_model(b, &wider, true);
    struct model *other = open_model(b, &wider, true), *third = open_model(b, &deeper, true);
    fill(from, MODEL_VALUES, 1.0f);
    fill(kept, MODEL_VALUES, 7.0f);
    fill(other, MODEL_VALUES, 7.0f);
    const struct files files = save(f, from, 1);
    assert_int_equal(load(other, 1, &files, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "fc1.weight"));
    assert_equal_blocks(kept, other, MODEL_VALUES);
    assert_int_equal(load(third, 1, &files, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "tensors"));
    model_close(from);
    model_close(kept);
    model_close(other);
    model_close(third);
    backend_close(b);
}
