/* model_group.c - adds the gradients of an update, over the shards and over the ranks of a group.
 *
 * 1. A shard's gradient is a leaf, computed alone. The sum is a binary tree over the shards in
 * order, with W = shape_leaves(train.shards) leaves: sum(s, s + 1) = leaf s,  sum(lo, hi) = sum(lo,
 * mid) + sum(mid, hi),  mid = (lo + hi) / 2. Absent shards are always the last ones. They add
 * nothing, not even 0.
 * 2. Gradient block 0 takes even shards and the sum of all, block 1 odd shards, and block k + 1 the
 *    sum of 2^k shards until its right neighbour is complete. After shard 7 of 16, one op adds
 *    block 3 + (block 2 + (block 0 + block 1)) and writes block 4.
 * 3. Rank r of P computes the shards from r W / P on, a subtree. It owns the slices from
 *    r SHAPE_SLICES / P on: it adds the P parts of them in the order of the ranks, which completes
 *    the tree, sums their squares, and updates their weights. No addition depends on P.
 * 4. Copies change no bits: afterwards every rank has the sums of all slices, the losses of all
 *    shards, and the weights that passes read: in fp32 all of them; in bf16 the copy, and the fp32
 *    values of the tensors that are read in fp32. */
#include <inttypes.h>
#include <limits.h>

#include "group/group.h"
#include "model/model_internal.h"

enum { SUBTREES_MAX = 6 /* that one op adds, each half as large as the one before it */ };

static int64_t clamp(int64_t n, int64_t most)
{
    return n < 0 ? 0 : n < most ? n : most;
}

int model_group_open(struct model *m, struct err *e)
{
    struct model_group *g = &m->group;
    const struct group *ranks = m->b->group;
    int32_t shards = m->spec.train.shards, leaves = shape_leaves(shards);
    int32_t expected = m->capacity.ranks_n > 1 ? m->capacity.ranks_n : 1;
    g->rank = ranks ? group_rank(ranks) : 0;
    g->ranks_n = ranks ? group_ranks_n(ranks) : 1;
    if (g->ranks_n != expected)
        return ERR(e, ERR_INTERNAL, "capacity for %d ranks, but %s is one of %d", expected,
                   m->b->name, g->ranks_n);
    TRY(shape_check_ranks(shards, g->ranks_n, e));
    g->leaves_n = leaves / g->ranks_n;
    g->first = g->rank * g->leaves_n;
    g->shards_n = (int32_t)clamp(shards - g->first, g->leaves_n);
    g->slice_n = shape_slice(m->params.elements_n);
    g->owned_n = g->slice_n * (SHAPE_SLICES / g->ranks_n);
    return 0;
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
    if (shard >= end || (shard != g->first && shard != next))
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

int64_t model_group_owned(const struct model *m, int32_t rank, int64_t *first)
{
    *first = clamp(rank * m->group.owned_n, m->params.elements_n);
    return clamp(m->params.elements_n - *first, m->group.owned_n);
}

/* A list of transfers: of each peer at most two arrays. */
struct transfers {
    struct group_transfer entry[2 * GROUP_RANKS_MAX];
    int32_t n;
};

/* Adds the transfers of elements [from, end) of an array, of which each rank has `per_rank`: to all
 * ranks, or to rank 0 alone. */
static void add_transfers(const struct model *m, struct transfers *t, void *array_dev, size_t bytes,
                          int64_t per_rank, int64_t from, int64_t end, bool to_all)
{
    struct span {
        char *at;
        size_t bytes;
    } span[GROUP_RANKS_MAX];
    int32_t self = m->group.rank;
    for (int32_t r = 0; r < m->group.ranks_n; r++) {
        int64_t first = r * per_rank < from ? from : r * per_rank;
        int64_t last = (r + 1) * per_rank < end ? (r + 1) * per_rank : end;
        span[r] = (struct span){.at = (char *)array_dev + (size_t)first * bytes,
                                .bytes = last > first ? (size_t)(last - first) * bytes : 0};
    }
    for (int32_t r = 0; r < m->group.ranks_n; r++) {
        if (r == self || (!to_all && r > 0 && self > 0)) continue;
        t->entry[t->n++] =
            (struct group_transfer){.peer = r,
                                    .send = span[self].at,
                                    .send_bytes = to_all || r == 0 ? span[self].bytes : 0,
                                    .receive = span[r].at,
                                    .receive_bytes = to_all || self == 0 ? span[r].bytes : 0};
    }
}

static int exchange(struct model *m, const struct transfers *t, struct err *e)
{
    return t->n == 0 ? 0 : m->b->ops->exchange(m->b, t->entry, t->n, e);
}

/* y = tree over the parts of n ranks, NULL where a rank has none; overwrites some of them. */
static int add_parts(struct model *m, float *y, float **part, int32_t n, int64_t elements_n,
                     struct err *e)
{
    for (int32_t i = 0; n > TREE_ADD_MAX && i < n; i += TREE_ADD_MAX) {
        int32_t any = 0;
        while (any < TREE_ADD_MAX && part[i + any] == NULL) any++;
        float *sum = any < TREE_ADD_MAX ? part[i + any] : NULL;
        if (sum != NULL) TRY(add_parts(m, sum, part + i, TREE_ADD_MAX, elements_n, e));
        part[i / TREE_ADD_MAX] = sum;
    }
    if (n > TREE_ADD_MAX) n /= TREE_ADD_MAX;
    struct tree_add_args a = {.y_dev = y, .n = elements_n};
    for (int32_t i = 0; i < n; i++) a.x_dev[i] = part[i];
    return ops_tree_add(m->b, &a, e);
}

/* Exchanges and adds one piece of the slices of each rank, which begins at this element of them. */
static int add_piece(struct model *m, int64_t at, int32_t shards_n, struct err *e)
{
    const struct model_group *g = &m->group;
    float *sum = model_gradient_dev(m, 0), *part[GROUP_RANKS_MAX], *staging = m->staging_dev_own;
    struct transfers t = {.n = 0};
    int64_t n[GROUP_RANKS_MAX], first[GROUP_RANKS_MAX];
    for (int32_t r = 0; r < g->ranks_n; r++) {
        n[r] = clamp(model_group_owned(m, r, &first[r]) - at, m->memory.piece_n);
        part[r] = r * g->leaves_n < shards_n ? sum + first[r] + at : NULL;
    }
    for (int32_t r = 0; r < g->ranks_n; r++) {
        if (r == g->rank) continue;
        size_t sent = part[g->rank] ? (size_t)n[r] * sizeof *sum : 0;
        size_t received = part[r] ? (size_t)n[g->rank] * sizeof *sum : 0;
        t.entry[t.n++] = (struct group_transfer){.peer = r,
                                                 .send = sum + first[r] + at,
                                                 .send_bytes = sent,
                                                 .receive = staging,
                                                 .receive_bytes = received};
        if (part[r] != NULL) part[r] = staging;
        staging += m->memory.piece_n;
    }
    TRY(exchange(m, &t, e));
    if (n[g->rank] == 0) return 0;
    return add_parts(m, sum + first[g->rank] + at, part, g->ranks_n, n[g->rank], e);
}

int model_group_sum(struct model *m, const struct model_update *u, struct err *e)
{
    struct model_group *g = &m->group;
    int32_t most = m->spec.train.shards,
            present = (int32_t)clamp(u->shards_n - g->first, g->shards_n);
    if (u->shards_n < 1 || u->shards_n > most || g->done_n != present)
        return ERR(e, ERR_INTERNAL,
                   "update %" PRIu32
                   " of %d shards, expected 1 to %d; computed %d from shard %d on",
                   u->update, u->shards_n, most, g->done_n, g->first);
    TRY(model_group_flush(m, e));
    g->done_n = 0;
    g->added = false;
    if (g->ranks_n == 1) return 0;
    for (int64_t at = 0; at < g->owned_n; at += m->memory.piece_n)
        TRY(add_piece(m, at, u->shards_n, e));
    return 0;
}

int model_group_share_parts(struct model *m, struct err *e)
{
    const struct model_group *g = &m->group;
    struct model_state *state = m->state_dev_own;
    struct transfers t = {.n = 0};
    add_transfers(m, &t, state->part, sizeof *state->part, SHAPE_SLICES / g->ranks_n, 0,
                  SHAPE_SLICES, true);
    add_transfers(m, &t, state->loss, sizeof *state->loss, g->leaves_n, 0,
                  (int64_t)g->leaves_n * g->ranks_n, true);
    return exchange(m, &t, e);
}

int model_group_share_weights(struct model *m, struct err *e)
{
    const struct model_group *g = &m->group;
    bool bf16 = m->bf16_dev_own != NULL;
    struct transfers t = {.n = 0};
    add_transfers(m, &t, model_block_dev(m, MODEL_VALUES), sizeof(float), g->owned_n,
                  bf16 ? m->params.fp32_first : 0, m->params.elements_n, true);
    if (bf16)
        add_transfers(m, &t, m->bf16_dev_own, dtype_bytes(DTYPE_BF16), g->owned_n, 0,
                      m->params.elements_n, true);
    return exchange(m, &t, e);
}

int model_group_collect(struct model *m, enum model_block block, int32_t tensor, struct err *e)
{
    const struct model_group *g = &m->group;
    const struct shape_tensor *p = &m->params.tensor[tensor];
    struct transfers t = {.n = 0};
    if (g->ranks_n <= 1) return 0;
    if (block == MODEL_GRADIENTS && g->done_n > 0)
        return ERR(e, ERR_INTERNAL, "the gradients of %d ranks are read before they are added",
                   g->ranks_n);
    add_transfers(m, &t, model_block_dev(m, block), sizeof(float), g->owned_n, p->offset,
                  p->offset + (int64_t)p->rows * p->cols, false);
    return exchange(m, &t, e);
}
