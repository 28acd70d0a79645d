/* model_group.c - adds the gradients of an update, over the shards and over the ranks of a group.
 *
 * 1. A shard's gradient is a leaf, computed alone. The sum is a binary tree over the shards in
 *    order, with W = shape_leaves(train.shards) leaves: sum(s, s + 1) = leaf s,
 *    sum(lo, hi) = sum(lo, mid) + sum(mid, hi),  mid = (lo + hi) / 2. Absent shards are always the
 *    last ones. They add nothing, not even 0.
 * 2. Gradient array 0 takes even shards and the sum of all, array 1 odd shards, and array k + 1 the
 *    sum of 2^k shards until its right neighbour is complete. After shard 7 of 16, one op adds
 *    array 3 + (array 2 + (array 0 + array 1)) and writes array 4.
 * 3. Rank r of P computes the shards from r W / P on, a subtree. Two rounds complete the tree. In
 *    the first the K ranks of a node exchange: rank l of them adds K parts of SHAPE_SLICES / K
 *    slices. In the second the ranks l of all nodes exchange: that of node m adds P / K parts of
 *    SHAPE_SLICES / P of these slices. It owns them: it sums their squares and updates their
 *    weights. Both rounds add in the order of the ranks, and those of a node are a subtree, so no
 *    addition depends on P or K.
 * 4. Copies change no bits: afterwards every rank has the sums of all slices, the losses of all
 *    shards, and the weights that passes read: in fp32 all of them; in bf16 the copy, and the fp32
 *    values of the tensors that are read in fp32. */
#include "model/model_group.h"

#include <inttypes.h>
#include <limits.h>

#include "group/group.h"
#include "model/model_memory.h"
#include "model/model_pass.h"
#include "model/model_struct.h"

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
    g->node_ranks = m->capacity.node_ranks > 0 ? m->capacity.node_ranks : g->ranks_n;
    if (g->ranks_n % g->node_ranks == 0) return 0;
    return ERR(e, ERR_INTERNAL, "capacity for nodes of %d ranks, but %s is one of %d",
               g->node_ranks, m->b->name, g->ranks_n);
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

/* Ranks that exchange in a round, and the slices that each of them adds. */
struct round {
    int32_t n, self;      /* ranks, and which of them this is */
    int32_t rank, stride; /* the first rank, and from one to the next */
    int32_t slice, each;  /* the first slice of the first rank, and slices of each */
};

/* A round as a rank sees it. Who adds and owns a slice is said here alone. */
static struct round round_of(const struct model_group *g, int32_t rank, enum shape_round number)
{
    int32_t K = g->node_ranks, node = rank / K, local = rank % K, each = SHAPE_SLICES / K;
    if (number == SHAPE_IN_NODE)
        return (struct round){.n = K, .self = local, .rank = node * K, .stride = 1, .each = each};
    return (struct round){.n = g->ranks_n / K,
                          .self = node,
                          .rank = local,
                          .stride = K,
                          .slice = local * each,
                          .each = SHAPE_SLICES / g->ranks_n};
}

/* Items of an array. */
struct span {
    int64_t first, n;
};

/* The items from `from` to `end` in the slices of rank i of a round; each slice has `items`. */
static struct span span_of(const struct round *r, int32_t i, int64_t items, int64_t from,
                           int64_t end)
{
    int64_t first = (r->slice + i * r->each) * items, last = first + r->each * items;
    first = from + clamp(first - from, end - from);
    return (struct span){first, from + clamp(last - from, end - from) - first};
}

static struct span owned(const struct model *m, int32_t rank, int64_t from, int64_t end)
{
    const struct round r = round_of(&m->group, rank, SHAPE_BETWEEN_NODES);
    return span_of(&r, r.self, m->group.slice_n, from, end);
}

int64_t model_group_owned(const struct model *m, int64_t *first)
{
    struct span own = owned(m, m->group.rank, 0, m->params.elements_n);
    *first = own.first;
    return own.n;
}

/* A list of transfers: of each peer at most two arrays. */
struct transfers {
    struct group_transfer entry[2 * GROUP_RANKS_MAX];
    int32_t n;
};

static void add_transfer(struct transfers *t, int32_t peer, void *array_dev, size_t bytes,
                         struct span send, struct span receive)
{
    t->entry[t->n++] =
        (struct group_transfer){.peer = peer,
                                .send = (char *)array_dev + (size_t)send.first * bytes,
                                .send_bytes = (size_t)send.n * bytes,
                                .receive = (char *)array_dev + (size_t)receive.first * bytes,
                                .receive_bytes = (size_t)receive.n * bytes};
}

/* Adds the transfers after which all ranks of a round have the slices of each: of the items from
 * `from` to `end` of an array. */
static void add_gather(struct transfers *t, const struct round *r, void *array_dev, size_t bytes,
                       int64_t items, int64_t from, int64_t end)
{
    struct span own = span_of(r, r->self, items, from, end);
    for (int32_t i = 0; i < r->n; i++)
        if (i != r->self)
            add_transfer(t, r->rank + i * r->stride, array_dev, bytes, own,
                         span_of(r, i, items, from, end));
}

static int exchange_transfers(struct model *m, const struct transfers *t, struct err *e)
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

/* True if rank i of a round has a part: of its shards; in the second round of those of its node. */
static bool has_part(const struct model_group *g, const struct round *r, int32_t i,
                     int32_t shards_n)
{
    int32_t rank = r->rank + i * r->stride;
    return (rank - rank % r->stride) * g->leaves_n < shards_n;
}

/* Exchanges and adds a piece of the slices of each rank of a round, from element `at` of them. */
static int add_piece(struct model *m, const struct round *r, int64_t at, int64_t piece_n,
                     int32_t shards_n, struct err *e)
{
    const struct model_group *g = &m->group;
    float *to[GROUP_RANKS_MAX], *part[GROUP_RANKS_MAX], *staging = m->staging_dev_own;
    struct transfers t = {.n = 0};
    int64_t n[GROUP_RANKS_MAX];
    for (int32_t i = 0; i < r->n; i++) {
        struct span slices = span_of(r, i, g->slice_n, 0, m->params.elements_n);
        n[i] = clamp(slices.n - at, piece_n);
        to[i] = model_gradient_dev(m, 0) + slices.first + at;
        part[i] = has_part(g, r, i, shards_n) ? to[i] : NULL;
    }
    for (int32_t i = 0; i < r->n; i++) {
        if (i == r->self) continue;
        t.entry[t.n++] = (struct group_transfer){
            .peer = r->rank + i * r->stride,
            .send = to[i],
            .send_bytes = part[r->self] ? (size_t)n[i] * sizeof(float) : 0,
            .receive = staging,
            .receive_bytes = part[i] ? (size_t)n[r->self] * sizeof(float) : 0};
        if (part[i] != NULL) part[i] = staging;
        staging += piece_n;
    }
    TRY(exchange_transfers(m, &t, e));
    return n[r->self] == 0 ? 0 : add_parts(m, to[r->self], part, r->n, n[r->self], e);
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
    for (enum shape_round number = SHAPE_IN_NODE; number < SHAPE_ROUNDS; number++) {
        const struct round r = round_of(g, g->rank, number);
        int64_t each_n = r.each * g->slice_n, piece_n = m->memory.piece_n[number];
        if (r.n == 1 || !has_part(g, &r, 0, u->shards_n)) continue;
        for (int64_t at = 0; at < each_n; at += piece_n)
            TRY(add_piece(m, &r, at, piece_n, u->shards_n, e));
    }
    return 0;
}

/* Parts of squares take the rounds in the order of the weights. Losses are not in slices: those of
 * a node come together first, then the nodes', so that each rank needs a connection to the ranks of
 * its node and to one of each other node. */
int model_group_share_parts(struct model *m, struct err *e)
{
    const struct model_group *g = &m->group;
    struct model_state *state = m->state_dev_own;
    for (int32_t number = SHAPE_ROUNDS - 1; number >= 0; number--) {
        const struct round r = round_of(g, g->rank, (enum shape_round)number);
        struct round losses = round_of(g, g->rank, (enum shape_round)(SHAPE_ROUNDS - 1 - number));
        struct transfers t = {.n = 0};
        /* As slices, each of the losses of a rank, then of a node. */
        losses.each = losses.stride == 1 ? 1 : g->node_ranks;
        losses.slice = losses.stride == 1 ? losses.rank : 0;
        add_gather(&t, &r, state->part, sizeof *state->part, 1, 0, SHAPE_SLICES);
        add_gather(&t, &losses, state->loss, sizeof *state->loss, g->leaves_n, 0,
                   (int64_t)g->leaves_n * g->ranks_n);
        TRY(exchange_transfers(m, &t, e));
    }
    return 0;
}

int model_group_share_weights(struct model *m, struct err *e)
{
    const struct model_group *g = &m->group;
    void *bf16 = m->bf16_dev_own;
    for (int32_t number = SHAPE_ROUNDS - 1; number >= 0; number--) {
        const struct round r = round_of(g, g->rank, (enum shape_round)number);
        struct transfers t = {.n = 0};
        add_gather(&t, &r, model_array_dev(m, MODEL_VALUES), sizeof(float), g->slice_n,
                   bf16 ? m->params.fp32_first : 0, m->params.elements_n);
        if (bf16)
            add_gather(&t, &r, bf16, dtype_bytes(DTYPE_BF16), g->slice_n, 0, m->params.elements_n);
        TRY(exchange_transfers(m, &t, e));
    }
    return 0;
}

int model_group_collect(struct model *m, enum model_array array, int32_t tensor, struct err *e)
{
    const struct model_group *g = &m->group;
    const struct shape_tensor *p = &m->params.tensor[tensor];
    int64_t end = p->offset + (int64_t)p->rows * p->cols;
    struct transfers t = {.n = 0};
    if (g->ranks_n > 1 && array == MODEL_GRADIENTS && g->done_n > 0)
        return ERR(e, ERR_INTERNAL, "the gradients of %d ranks are read before they are added",
                   g->ranks_n);
    for (int32_t r = 0; r < g->ranks_n; r++) {
        if (r == g->rank || (r > 0 && g->rank > 0)) continue;
        struct span none = {0, 0}, own = owned(m, g->rank, p->offset, end);
        add_transfer(&t, r, model_array_dev(m, array), sizeof(float), r == 0 ? own : none,
                     g->rank == 0 ? owned(m, r, p->offset, end) : none);
    }
    return exchange_transfers(m, &t, e);
}
