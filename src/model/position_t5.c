/* position_t5.c - a learned bias by bucket of distance, one table for all layers (oracle SPEC.md
 * section 16). Buckets become the near table and the offset of attention's one bias form; their
 * gradient is gathered over all layers and folded back once. */
#include <stdlib.h>

#include "model/model_internal.h"

static size_t bias_bytes(const struct model *m)
{
    size_t near_n = (size_t)shape_bias_distances(&m->spec.model);
    return (near_n + 1) * (size_t)m->spec.model.heads * sizeof(float);
}

static void bind_buffers(struct model *m)
{
    int64_t near_n = shape_bias_distances(&m->spec.model), heads = m->spec.model.heads;
    struct model_position *place = &m->place;
    /* Near table and offsets lie together, so that one call zeroes their gradients. */
    place->near_dev = model_buffer(m, SHAPE_NEAR, 0).data;
    place->near_grad_dev = model_buffer(m, SHAPE_NEAR_GRAD, 0).data;
    place->bucket_dev = model_buffer(m, SHAPE_BUCKETS, 0).data;
    place->offset_dev = place->near_dev + near_n * heads;
    place->offset_grad_dev = place->near_grad_dev + near_n * heads;
}

static int open_buckets(struct model *m, struct err *e)
{
    int rc = 0;
    const struct spec_model *s = &m->spec.model;
    int32_t near_n = shape_bias_distances(s);
    if (near_n < 1 || s->t5_buckets < 2)
        return ERR(e, ERR_DATA, "model.t5_buckets = %d and model.t5_max_distance = %d give no bias",
                   s->t5_buckets, s->t5_max_distance);
    int32_t *bucket = malloc((size_t)near_n * sizeof *bucket);
    if (bucket == NULL)
        return ERR(e, ERR_NOMEM, "no memory for the buckets of %d distances", near_n);
    bind_buffers(m);
    for (int32_t d = 0; d < near_n; d++)
        bucket[d] = shape_t5_bucket(d, s->t5_buckets, s->t5_max_distance);
    TRY_OUT(rc, m->b->ops->upload(m->b, m->place.bucket_dev, bucket,
                                  (size_t)near_n * sizeof *bucket, e));
    m->bias = (struct attention_bias){.near_n = near_n,
                                      .near_dev = m->place.near_dev,
                                      .offset_dev = m->place.offset_dev,
                                      .near_grad_dev = m->place.near_grad_dev,
                                      .offset_grad_dev = m->place.offset_grad_dev};
out:
    free(bucket);
    return rc;
}

static int begin(struct model *m, const struct model_pass *p, struct err *e)
{
    if (p->train) TRY(m->b->ops->zero(m->b, m->place.near_grad_dev, bias_bytes(m), e));
    return ops_bias_expand(m->b, &m->bias, m->place.near_dev, m->place.offset_dev,
                           &m->values.position_table, m->place.bucket_dev,
                           (float)m->spec.model.t5_multiplier, e);
}

static int finish(struct model *m, struct err *e)
{
    return ops_bias_reduce(m->b, &m->gradients.position_table, &m->bias, m->place.bucket_dev,
                           (float)m->spec.model.t5_multiplier, 1, e);
}

const struct position_method position_t5 = {.open = open_buckets, .begin = begin, .finish = finish};
