/* test_rows.c - moving, adding, dropout, ReLU and rotary on rows. */
#include "harness/test.h"

#include <stddef.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "cpu/cpu_fixture.h"
#include "ops/ops.h"

enum { N = 37, C = 50, ROOM = 60 }; /* rows stand ROOM floats apart */

struct rows {
    float *x, *r, *y;
    struct tensor tx, tr, ty;
};

static struct rows rows_make(int64_t rows)
{
    struct rows t = {cpu_random_make(rows * ROOM, 1.0f, 1),
                     cpu_random_make(rows * ROOM, 1.0f, 2),
                     cpu_random_make(rows * ROOM, 1.0f, 3),
                     {0},
                     {0},
                     {0}};
    struct tensor *views[] = {&t.tx, &t.tr, &t.ty};
    float *data[] = {t.x, t.r, t.y};
    for (int i = 0; i < 3; i++) {
        *views[i] = tensor_make(data[i], rows, C, DTYPE_F32);
        views[i]->stride = ROOM;
    }
    return t;
}

static void rows_free(struct rows *t)
{
    free(t->x);
    free(t->r);
    free(t->y);
}

TEST(gather_and_scatter_move_scaled_rows_and_skip_negative_indices)
{
    static const int32_t index[6] = {3, -1, 0, 3, 5, 2};
    for (int variant = 0; variant < CPU_VARIANTS; variant++) {
        struct backend *b = cpu_variant_open(variant);
        e = (struct err){0};
        if (!b) continue;
        struct rows t = rows_make(6), kept = rows_make(6);
        assert_int_equal(ops_gather_rows(b, &t.ty, &t.tx, index, 0.5f, &e), 0);
        for (int i = 0; i < 6; i++)
            for (int c = 0; c < C; c++)
                assert_true(t.y[i * ROOM + c] ==
                            (index[i] < 0 ? 0.0f : 0.5f * t.x[index[i] * ROOM + c]));
        /* Row 3 is met twice and added to twice; rows 1 and 4 are met by nobody. */
        cpu_random(t.y, 6 * ROOM, 1.0f, 3);
        assert_int_equal(ops_scatter_rows(b, &t.ty, &t.tx, index, 2.0f, 1, &e), 0);
        for (int c = 0; c < C; c++) {
            float twice = kept.y[3 * ROOM + c] + 2.0f * t.x[c];
            assert_true(fabsf(t.y[3 * ROOM + c] - (twice + 2.0f * t.x[3 * ROOM + c])) < 1e-6f);
            assert_true(t.y[1 * ROOM + c] == kept.y[1 * ROOM + c]);
            assert_true(t.y[4 * ROOM + c] == kept.y[4 * ROOM + c]);
        }
        assert_int_equal(ops_scatter_rows(b, &t.ty, &t.tx, index, 2.0f, 0, &e), 0);
        for (int c = 0; c < C; c++) assert_true(t.y[3 * ROOM + c] == 2.0f * t.x[3 * ROOM + c]);
        rows_free(&t);
        rows_free(&kept);
        backend_close(b);
    }
}

TEST(sums_of_rows_are_single_additions)
{
    static const int32_t index[4] = {2, 0, 1, 2};
    for (int variant = 0; variant < CPU_VARIANTS; variant++) {
        struct backend *b = cpu_variant_open(variant);
        e = (struct err){0};
        if (!b) continue;
        struct rows t = rows_make(4);
        assert_int_equal(ops_add(b, &t.ty, &t.tx, &t.tr, &e), 0);
        for (int i = 0; i < 4 * ROOM; i++)
            if (i % ROOM < C) assert_true(t.y[i] == t.x[i] + t.r[i]);
        assert_int_equal(ops_add_rows(b, &t.ty, &t.tx, &t.tr, index, &e), 0);
        for (int i = 0; i < 4 * ROOM; i++)
            if (i % ROOM < C)
                assert_true(t.y[i] == t.x[i] + t.r[index[i / ROOM] * ROOM + i % ROOM]);
        rows_free(&t);
        backend_close(b);
    }
}

static float factor_of(const struct dropout *d, int64_t row, int64_t col)
{
    uint64_t place = (uint64_t)(d->first_row + (d->rows_dev ? d->rows_dev[row] : row));
    uint32_t word = philox_word(d->key, place * C + (uint64_t)col, d->step_dev->update, d->stream);
    return word < philox_keep_below(d->p) ? 1.0f / (1.0f - d->p) : 0.0f;
}

TEST(dropout_takes_the_documented_element_of_the_whole_update)
{
    static const struct step_state step = {.update = 5};
    int32_t kept_rows[N];
    for (int32_t i = 0; i < N; i++) kept_rows[i] = 3 * i + 1;
    for (int variant = 0; variant < CPU_VARIANTS; variant++)
        for (int compacted = 0; compacted < 2; compacted++) {
            struct backend *b = cpu_variant_open(variant);
            e = (struct err){0};
            if (!b) continue;
            struct rows t = rows_make(N);
            struct dropout d = {.p = 0.3f, .key = 0x123456789abcdef, .stream = 9};
            d.step_dev = &step;
            d.first_row = 1000001;
            d.rows_dev = compacted ? kept_rows : NULL;
            assert_int_equal(ops_dropout(b, &t.ty, &t.tx, &d, &e), 0);
            for (int64_t i = 0; i < N; i++)
                for (int64_t c = 0; c < C; c++)
                    assert_true(t.y[i * ROOM + c] == t.x[i * ROOM + c] * factor_of(&d, i, c));
            rows_free(&t);
            backend_close(b);
        }
}

TEST(dropout_keeps_its_share_and_its_mean)
{
    enum { ROWS = 4000 };
    static const struct step_state step = {.update = 1};
    struct backend *b = cpu_variant_best(2);
    struct rows t = rows_make(ROWS);
    struct dropout d = {.p = 0.2f, .key = 1, .stream = 2, .step_dev = &step};
    double kept = 0.0, sum = 0.0, n = (double)ROWS * C;
    for (int64_t i = 0; i < ROWS * ROOM; i++) t.x[i] = 1.0f;
    assert_int_equal(ops_dropout(b, &t.ty, &t.tx, &d, &e), 0);
    for (int64_t i = 0; i < ROWS * ROOM; i++)
        if (i % ROOM < C) {
            kept += t.y[i] != 0.0f;
            sum += (double)t.y[i];
        }
    /* Five standard deviations of a binomial count. */
    assert_true(fabs(kept / n - 0.8) < 5.0 * sqrt(0.8 * 0.2 / n));
    assert_true(fabs(sum / n - 1.0) < 5.0 * sqrt(0.2 / 0.8 / n));
    rows_free(&t);
    backend_close(b);
}

TEST(two_half_batches_drop_what_the_whole_batch_drops)
{
    static const struct step_state step = {.update = 3};
    struct backend *b = cpu_variant_best(1);
    struct rows whole = rows_make(N), half = rows_make(N);
    struct dropout d = {.p = 0.5f, .key = 4, .stream = 5, .step_dev = &step};
    assert_int_equal(ops_dropout(b, &whole.ty, &whole.tx, &d, &e), 0);
    for (int part = 0; part < 2; part++) {
        struct tensor x = half.tx, y = half.ty;
        int64_t first = part ? 20 : 0;
        x.data = half.x + first * ROOM;
        y.data = half.y + first * ROOM;
        x.rows = y.rows = part ? N - 20 : 20;
        d.first_row = first;
        assert_int_equal(ops_dropout(b, &y, &x, &d, &e), 0);
    }
    cpu_check_bits("halves", half.y, whole.y, N * ROOM * sizeof(float));
    rows_free(&whole);
    rows_free(&half);
    backend_close(b);
}

TEST(relu_and_its_gradient_share_one_mask)
{
    static const struct step_state step = {.update = 8};
    for (int variant = 0; variant < CPU_VARIANTS; variant++)
        for (int with = 0; with < 2; with++) {
            struct backend *b = cpu_variant_open(variant);
            e = (struct err){0};
            if (!b) continue;
            struct rows t = rows_make(N);
            struct dropout d = {.p = with ? 0.25f : 0.0f, .key = 6, .stream = 7, .step_dev = &step};
            assert_int_equal(ops_relu(b, &t.ty, &t.tx, &d, &e), 0);
            struct rows g = rows_make(N);
            assert_int_equal(ops_relu_bwd(b, &g.tx, &t.tr, &t.ty, NULL, &d, &e), 0);
            for (int64_t i = 0; i < N; i++)
                for (int64_t c = 0; c < C; c++) {
                    int64_t at = i * ROOM + c;
                    float factor = with ? factor_of(&d, i, c) : 1.0f;
                    float live = t.x[at] > 0.0f ? factor : 0.0f;
                    assert_true(t.y[at] == (t.x[at] > 0.0f ? t.x[at] * factor : 0.0f));
                    assert_true(g.x[at] == t.r[at] * live);
                }
            t.x[5] = NAN;
            assert_int_equal(ops_relu(b, &t.ty, &t.tx, &(struct dropout){0}, &e), 0);
            assert_true(isnan(t.y[5]));
            rows_free(&t);
            rows_free(&g);
            backend_close(b);
        }
}

TEST(rotary_turns_pairs_and_its_inverse_turns_them_back)
{
    enum { T = 5, H = 3, D = 8, ROWS = 2 * T };
    for (int variant = 0; variant < CPU_VARIANTS; variant++)
        for (int layout = 0; layout < 2; layout++) {
            struct backend *b = cpu_variant_open(variant);
            e = (struct err){0};
            if (!b) continue;
            float *x = cpu_random_make(ROWS * H * D, 1.0f, 1), *kept = cpu_zeros(ROWS * H * D);
            float cosine[T * D / 2], sine[T * D / 2];
            double expected[ROWS * H * D], back[ROWS * H * D];
            memcpy(kept, x, ROWS * H * D * sizeof *x);
            for (int i = 0; i < T * D / 2; i++) {
                cosine[i] = cosf((float)i);
                sine[i] = sinf((float)i);
            }
            struct tensor tx = tensor_make(x, ROWS, H * D, DTYPE_F32);
            struct tensor tc = tensor_make(cosine, T, D / 2, DTYPE_F32);
            struct tensor ts = tensor_make(sine, T, D / 2, DTYPE_F32);
            for (int i = 0; i < ROWS * H * D / 2; i++) {
                int pair = i % (D / 2), head = i / (D / 2), row = head / H;
                int one = head * D + (layout ? pair : 2 * pair);
                int two = one + (layout ? D / 2 : 1), at = row % T * (D / 2) + pair;
                expected[one] = (double)x[one] * cosine[at] - (double)x[two] * sine[at];
                expected[two] = (double)x[two] * cosine[at] + (double)x[one] * sine[at];
            }
            assert_int_equal(
                ops_rotary(b,
                           &(struct rotary_args){
                               .x = tx, .cosine = tc, .sine = ts, .T = T, .H = H, .layout = layout},
                           &e),
                0);
            cpu_check("turned", x, expected, ROWS * H * D, 1.0, 3.0);
            assert_int_equal(ops_rotary(b,
                                        &(struct rotary_args){.x = tx,
                                                              .cosine = tc,
                                                              .sine = ts,
                                                              .T = T,
                                                              .H = H,
                                                              .layout = layout,
                                                              .inverse = 1},
                                        &e),
                             0);
            for (int i = 0; i < ROWS * H * D; i++) back[i] = (double)kept[i];
            cpu_check("turned back", x, back, ROWS * H * D, 1.0, 8.0);
            free(x);
            free(kept);
            backend_close(b);
        }
}
