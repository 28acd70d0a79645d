/* model_group.c - adds the gradients of the shards of an update.
 *
 * 1. A shard's gradient is a leaf, computed alone. The sum is a binary tree over the shards in
 * order, with shape_leaves(train.shards) leaves, so that it does not depend on who adds: sum(s, s +
 * 1) = leaf s,  sum(lo, hi) = sum(lo, mid) + sum(mid, hi),  mid = (lo + hi) / 2. Absent shards are
 * always the last ones. They add nothing, not even 0.
 * 2. Gradient block 0 takes even shards and the sum of all, block 1 odd shards, and block k + 1 the
 *    sum of 2^k shards until its right neighbour is complete. After shard 7 of 16, one op adds
 *    block 3 + (block 2 + (block 0 + block 1)) and writes block 4. */
#include <inttypes.h>
#include <limits.h>

#include "model/model_internal.h"

enum { SUBTREES_MAX = 6 /* that one op adds, each half as large as the one before it */ };

void model_group_open(struct model *m)
{
    struct model_group *g = &m->group;
    g->first = 0;
    g->leaves_n = shape_leaves(m->spec.train.shards);
    g->shards_n = m->spec.train.shards;
    g->slice_n = shape_slice(m->params.elements_n);
}

void model_shards(const struct model *m, int32_t *first, int32_t *end)
{
    *first = m->group.first;
    *end = m->group.first + m->group.shards_n;
}

/* y = x[0] + (x[1] + (... + x[n - 1])); overwrites some of x. */
static int add_right(struct model *m, float *y, float *const *x, int32_t n, struct err *e)
{
    for (; n > SUBTREES_MAX; n -= SUBTREES_MAX - 1) {
        float *const *last = x + n - SUBTREES_MAX;
        TRY(add_right(m, last[0], last, SUBTREES_MAX, e));
    }
    struct tree_add_args a = {.y_dev = y, .n = m->params.elements_n};
    for (int32_t i = 0; i < n; i++) a.x_dev[TREE_ADD_MAX - (TREE_ADD_MAX >> i)] = x[i];
    return n == 1 && x[0] == y ? 0 : ops_tree_add(m->b, &a, e);
}

/* y = the sums of complete subtrees of `sums` shards in all, one for each bit, and the leaves after
 * them. */
static int add_up(struct model *m, float *y, int32_t sums, int32_t leaves, struct err *e)
{
    float *x[CHAR_BIT * sizeof sums + MODEL_LEAVES];
    int32_t n = 0;
    for (int32_t k = 30; k > 0; k--)
        if (sums >> k & 1) x[n++] = model_gradient_dev(m, k + 1);
    for (int32_t i = 0; i < leaves; i++) x[n++] = model_gradient_dev(m, i);
    return add_right(m, y, x, n, e);
}

int model_group_begin(struct model *m, int32_t shard, int32_t *leaf, struct err *e)
{
    struct model_group *g = &m->group;
    int32_t end = g->first + g->shards_n, next = g->first + (g->added ? g->shards_n : g->done_n);
    if (shard != g->first && (shard != next || shard >= end))
        return ERR(e, ERR_INTERNAL,
                   "shard %d of an update: expected one of %d to %d in order, the first or %d",
                   shard, g->first, end - 1, next < end ? next : g->first);
    if (shard == g->first) g->done_n = 0;
    g->added = false;
    *leaf = (shard - g->first) % MODEL_LEAVES;
    return 0;
}

int model_group_add(struct model *m, struct err *e)
{
    struct model_group *g = &m->group;
    int32_t done = ++g->done_n, leaves = done % 2 == 0 ? 2 : 1, level = 0;
    g->added = done == g->shards_n;
    if (g->added) return add_up(m, model_gradient_dev(m, 0), done - leaves, leaves, e);
    if (leaves == 1) return 0;
    while ((done >> level & 1) == 0) level++;
    return add_up(m, model_gradient_dev(m, level + 1), (1 << level) - 2, leaves, e);
}

int model_group_flush(struct model *m, struct err *e)
{
    struct model_group *g = &m->group;
    int32_t leaf = g->done_n % 2;
    if (g->added || g->done_n <= 1) return 0;
    g->added = true;
    return add_up(m, model_gradient_dev(m, 0), g->done_n - leaf, leaf, e);
}

int model_group_end(struct model *m, const struct model_update *u, struct err *e)
{
    struct model_group *g = &m->group;
    int32_t most = m->spec.train.shards, present = u->shards_n - g->first;
    present = present < 0 ? 0 : present > g->shards_n ? g->shards_n : present;
    if (u->shards_n < 1 || u->shards_n > most || g->done_n != present)
        return ERR(e, ERR_INTERNAL,
                   "update %" PRIu32
                   " of %d shards, expected 1 to %d; computed %d from shard %d on",
                   u->update, u->shards_n, most, g->done_n, g->first);
    TRY(model_group_flush(m, e));
    g->done_n = 0;
    g->added = false;
    return 0;
}
