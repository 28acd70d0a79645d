/* test_weights.c - saving and loading weights and optimiser state; files that do not match. Equal
 * tensors give equal files, so that hashes compare models. */
#include "harness/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "shape/memory.h"
#include "worker/weights.h"
#include "worker/worker_fixture.h"

static const enum model_array arrays[] = {MODEL_VALUES, MODEL_STATE_0, MODEL_STATE_1};

/* A model whose first `arrays_n` arrays have numbers that show array, tensor and place. */
static struct model *open_model(const struct worker_fixture *f, const struct spec *s, int arrays_n)
{
    struct model *m = NULL;
    const struct shape_capacity o = {
        .train = true, .rows_max = 1, .length_max = 4, .scored_max = 4};

    assert_ok(model_open(&m, f->cpu, s, &o, &e));
    const struct shape_params *p = model_params(m);
    for (int32_t i = 0; i < arrays_n * p->tensors_n; i++) {
        const struct shape_tensor *t = &p->tensor[i % p->tensors_n];
        size_t n = (size_t)t->rows * (size_t)t->cols;
        float *values = calloc(n, sizeof *values);
        assert_non_null(values);
        for (size_t k = 0; k < n; k++) values[k] = 1.0f + (float)i + (float)k / 4096.0f;
        assert_ok(model_write(m, arrays[i / p->tensors_n], i % p->tensors_n, values, &e));
        free(values);
    }
    return m;
}

/* The hash of the weights (slots_n 0) or the state, which are written to *path. */
static const char *save_weights(struct worker_fixture *f, struct model *m, int32_t slots_n,
                                const char **path)
{
    char *sha256 = arena_alloc(&f->arena, HASH_HEX_BYTES);

    *path = arena_printf(&f->arena, "%s/%d.safetensors", f->root, slots_n);
    assert_ok(weights_save(m, slots_n, *path, NULL, 0, sha256, NULL, &e));
    return sha256;
}

static int load_weights(struct model *m, int32_t slots_n, const char *path, struct err *e)
{
    struct safetensors *s = NULL;
    int rc = safetensors_open(&s, path, e);
    if (rc == 0) rc = weights_load(m, slots_n, s, path, e);
    safetensors_close(s);
    return rc;
}

TEST_GROUP(worker_fixture_make, worker_fixture_remove)

TEST_WITH(struct worker_fixture *f, every_tensor_comes_back)
{
    struct spec s = worker_fixture_spec(f, SPEC_T5);
    const char *path;

    s.train.optimizer = SPEC_ADAM;
    struct model *from = open_model(f, &s, 3), *to = open_model(f, &s, 0);
    for (int32_t slots_n = 0; slots_n <= 2; slots_n += 2) {
        const char *sha256 = save_weights(f, from, slots_n, &path);
        assert_string_not_equal(save_weights(f, to, slots_n, &path), sha256);
        save_weights(f, from, slots_n, &path);
        assert_ok(load_weights(to, slots_n, path, &e));
        assert_string_equal(save_weights(f, to, slots_n, &path), sha256);
    }
    model_close(from);
    model_close(to);
}

TEST_WITH(struct worker_fixture *f, weights_of_another_model_are_rejected_and_change_nothing)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    struct spec wider = s, deeper = s;
    const struct {
        const struct spec *spec;
        const char *word;
    } cases[] = {{&wider, "fc1.weight"}, {&deeper, "tensors"}};
    const char *path;

    wider.model.ffn = 64;
    deeper.model.layers = 3;
    struct model *from = open_model(f, &s, 1);
    for (size_t i = 0; i < 2; i++) {
        struct model *other = open_model(f, cases[i].spec, 1);
        const char *sha256 = save_weights(f, other, 0, &path);
        save_weights(f, from, 0, &path);
        assert_int_equal(load_weights(other, 0, path, &e), ERR_DATA);
        assert_non_null(strstr(e.text, cases[i].word));
        assert_string_equal(save_weights(f, other, 0, &path), sha256);
        model_close(other);
    }
    model_close(from);
}

TEST_WITH(struct worker_fixture *f, a_child_takes_over_by_name_and_only_finite_numbers)
{
    const struct spec parent = worker_fixture_spec(f, SPEC_ALIBI),
                      child = worker_fixture_spec(f, SPEC_T5);
    const char *path, *expected;
    struct safetensors *file = NULL;
    struct shape_inheritance h;

    struct model *from = open_model(f, &parent, 2), *to = open_model(f, &child, 0);
    const struct shape_params *p = model_params(from);
    int32_t fresh = model_params(to)->tensors_n - 1;
    assert_ok(shape_inherit(&h, &f->arena, model_params(to), p, &e));
    assert_int_equal(h.from[fresh], -1);
    save_weights(f, from, 1, &path);
    assert_ok(safetensors_open(&file, path, &e));
    assert_ok(weights_inherit(to, 1, &h, p, file, path, &e));
    safetensors_close(file);
    float of_parent[64], of_child[64];
    for (int32_t i = 0; i < fresh; i++) {
        const struct shape_tensor *t = &model_params(to)->tensor[i];
        if ((int64_t)t->rows * t->cols > 64) continue;
        assert_ok(model_read(from, MODEL_STATE_0, h.from[i], of_parent, &e));
        assert_ok(model_read(to, MODEL_STATE_0, i, of_child, &e));
        assert_memory_equal(of_child, of_parent, (size_t)t->cols * sizeof *of_child);
    }
    expected = save_weights(f, to, 0, &path); /* the values are as they were */
    assert_ok(model_read(from, MODEL_VALUES, p->tensors_n - 1, of_parent, &e));
    of_parent[0] = (float)NAN;
    assert_ok(model_write(from, MODEL_VALUES, p->tensors_n - 1, of_parent, &e));
    save_weights(f, from, 0, &path);
    assert_ok(safetensors_open(&file, path, &e));
    assert_fails(ERR_DATA, "is nan at element 0", weights_inherit(to, 0, &h, p, file, path, &e));
    safetensors_close(file);
    assert_string_equal(save_weights(f, to, 0, &path), expected);
    model_close(from);
    model_close(to);
}
