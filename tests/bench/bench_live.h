/* bench_live.h - the share of causal tiles that attention cannot skip under a bias that falls with
 * distance: a second implementation, in plain loops, of the skip bounds of cuda/attention_skip.cuh.
 *
 * Row i skips a tile of 64 keys if its bound, |q| max|k| scale - slope * (distance to the nearest
 * key), is below the row's highest score near the diagonal by 18.25 + ln(i + 1). Rows before 512
 * skip nothing, and neither does a block of 128 rows on its own diagonal. */
#ifndef TESTS_BENCH_LIVE_H
#define TESTS_BENCH_LIVE_H

#include <math.h>
#include <stdint.h>

enum { LIVE_ROWS = 128, LIVE_TILE = 64, LIVE_FROM = 512, LIVE_NEAR = 8 };

/* One head of one batch row: row i of q and k is D numbers from i * stride on. */
struct live_head {
    const float *q, *k;
    int64_t stride;
    int32_t T, D;
    float slope, scale; /* slope: ALiBi's, positive */
};

struct live_count {
    int64_t live, all; /* tiles of 128 queries by 64 keys */
};

static inline float live_dot(const float *a, const float *b, int32_t n)
{
    float sum = 0.0f;
    for (int32_t c = 0; c < n; c++) sum += a[c] * b[c];
    return sum;
}

/* norm and cutoff (T): the norm of each query, and the score below which it skips a tile. key_norm
 * ((T + 63) / 64): the largest norm of each tile's keys. */
static inline void live_measure(const struct live_head *h, float *norm, float *cutoff,
                                float *key_norm)
{
    for (int32_t i = 0; i < h->T; i++) {
        const float *q = h->q + i * h->stride, *k = h->k + i * h->stride;
        float known = -INFINITY, length = sqrtf(live_dot(k, k, h->D));
        for (int32_t back = 0; back < LIVE_NEAR && back <= i; back++) {
            float score = live_dot(q, k - back * h->stride, h->D) * h->scale;
            known = fmaxf(known, score - h->slope * (float)back);
        }
        norm[i] = sqrtf(live_dot(q, q, h->D)) * 1.0001f;
        cutoff[i] = known - 18.25f - logf((float)(i + 1));
        float *tile = &key_norm[i / LIVE_TILE];
        if (i % LIVE_TILE == 0 || !(length <= *tile)) *tile = length;
    }
}

/* Adds the tiles of a head to *out. */
static inline void live_add(struct live_count *out, const struct live_head *h, float *norm,
                            float *cutoff, float *key_norm)
{
    live_measure(h, norm, cutoff, key_norm);
    for (int32_t first = 0; first < h->T; first += LIVE_ROWS) {
        int32_t end = first + LIVE_ROWS < h->T ? first + LIVE_ROWS : h->T;
        for (int32_t tile = 0; tile * LIVE_TILE < first + LIVE_ROWS; tile++) {
            int32_t last_key = tile * LIVE_TILE + LIVE_TILE - 1;
            int live = first < LIVE_FROM || last_key >= first;
            for (int32_t i = first; i < end && !live; i++) {
                float most = norm[i] * key_norm[tile] * h->scale;
                live = !(most - h->slope * (float)(i - last_key) < cutoff[i]);
            }
            out->live += live;
            out->all++;
        }
    }
}

#endif
