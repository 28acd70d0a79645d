/* cpu_attention_plain.c - see cpu_attention_plain.h. */
#include "cpu/cpu_attention_plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"

static double plain_at(const struct tensor *t, int64_t row, int64_t col)
{
    return (double)((const float *)t->data)[row * t->stride + col];
}

static double plain_bias(const struct attention_bias *b, int64_t h, int64_t d)
{
    if (b->bias_table_dev && d < b->bias_table_n)
        return (double)b->bias_table_dev[h * b->bias_table_n + d];
    return (b->tail_offset_dev ? (double)b->tail_offset_dev[h] : 0.0) +
           (b->tail_slope_dev ? (double)b->tail_slope_dev[h] * (double)d : 0.0);
}

static double plain_factor(const struct attention *a, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const struct dropout *d = &a->dropout;
    if (d->p == 0.0f) return 1.0;
    uint64_t place = (uint64_t)((d->first_row + b) * a->H + h);
    uint64_t element = (place * (uint64_t)a->T + (uint64_t)i) * (uint64_t)a->T + (uint64_t)j;
    uint32_t word = philox_word(d->key, element, d->step_dev->update, d->stream);
    return word < philox_keep_below(d->p) ? 1.0 / (1.0 - (double)d->p) : 0.0;
}

/* Whether query i sees key j at all, and at what distance; rotary is not for these loops. */
static int plain_sees(const struct attention *a, int64_t i, int64_t j, int64_t *distance)
{
    const struct attention_mask *m = &a->mask;
    int64_t last = (int64_t)m->sinks + m->window - 1;
    *distance = i - j;
    if (m->window == 0 || i - j < m->window) return 1;
    if (m->sink_positions == SINKS_CACHE && i > last) *distance = last - j;
    return j < m->sinks;
}

/* Probabilities of query i over keys 0 ... i; returns the log of the softmax sum. */
static double plain_softmax(double *p, const struct attention *a, int64_t b, int64_t h, int64_t i)
{
    double highest = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j <= i; j++) {
        double dot = 0.0;
        int64_t d;
        p[j] = -INFINITY;
        if (!plain_sees(a, i, j, &d)) continue;
        for (int64_t c = h * a->D; c < (h + 1) * a->D; c++)
            dot += plain_at(&a->q, b * a->T + i, c) * plain_at(&a->k, b * a->T + j, c);
        p[j] = dot * (double)a->scale + plain_bias(&a->bias, h, d);
        if (p[j] > highest) highest = p[j];
    }
    for (int64_t j = 0; j <= i; j++) sum += exp(p[j] - highest);
    for (int64_t j = 0; j <= i; j++) p[j] = exp(p[j] - highest) / sum;
    return highest + log(sum);
}

static void plain_backward(struct plain_attention *r, const struct attention *a, const double *p,
                           int64_t b, int64_t h, int64_t i)
{
    int64_t C = (int64_t)a->H * a->D, qi = b * a->T + i;
    double delta = 0.0;
    for (int64_t c = h * a->D; c < (h + 1) * a->D; c++)
        delta += plain_at(&a->dout, qi, c) * r->out[qi * C + c];
    for (int64_t j = 0; j <= i; j++) {
        int64_t kj = b * a->T + j, d;
        if (!plain_sees(a, i, j, &d)) continue;
        double factor = plain_factor(a, b, h, i, j), dp = 0.0;
        for (int64_t c = h * a->D; c < (h + 1) * a->D; c++) {
            dp += plain_at(&a->dout, qi, c) * plain_at(&a->v, kj, c);
            r->dv[kj * C + c] += p[j] * factor * plain_at(&a->dout, qi, c);
        }
        double ds = p[j] * (dp * factor - delta);
        for (int64_t c = h * a->D; c < (h + 1) * a->D; c++) {
            r->dq[qi * C + c] += ds * (double)a->scale * plain_at(&a->k, kj, c);
            r->dk[kj * C + c] += ds * (double)a->scale * plain_at(&a->q, qi, c);
        }
        if (r->near_grad && d < a->bias.bias_table_n)
            r->near_grad[h * a->bias.bias_table_n + d] += ds;
        if (r->offset_grad && d >= a->bias.bias_table_n) r->offset_grad[h] += ds;
    }
}

void plain_attention_run(struct plain_attention *r, const struct attention *a)
{
    int64_t C = (int64_t)a->H * a->D;
    size_t bytes = (size_t)(a->B * a->T * C) * sizeof(double);
    double *p = calloc((size_t)a->T, sizeof *p);
    memset(r->out, 0, bytes);
    for (int which = 0; r->dq && which < 3; which++)
        memset(which == 0 ? r->dq : which == 1 ? r->dk : r->dv, 0, bytes);
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->H; h++)
            for (int64_t i = 0; i < a->T; i++) {
                r->lse[(b * a->H + h) * a->T + i] = plain_softmax(p, a, b, h, i);
                for (int64_t j = 0; j <= i; j++)
                    for (int64_t c = h * a->D; c < (h + 1) * a->D; c++)
                        r->out[(b * a->T + i) * C + c] +=
                            p[j] * plain_factor(a, b, h, i, j) * plain_at(&a->v, b * a->T + j, c);
                if (r->dq) plain_backward(r, a, p, b, h, i);
            }
    free(p);
}
