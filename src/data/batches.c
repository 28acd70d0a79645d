/* batches.c - training batches: the chunks of each batch, and the order of batches in an epoch.
 *
 * 1. The rows of all batches in order are the short chunk (if any), then the full chunks in an
 *    order drawn once from the seed.
 * 2. Because only the first chunk may be short, packing greedily while rows * longest row <=
 *    shard_tokens gives every batch except the last shard_tokens / L rows.
 * 3. The order of the batches in an epoch is drawn from seed + epoch. Only the order of the last
 *    used epoch is stored. */
#include "data/batches.h"

#include <stdlib.h>

#include "base/philox.h"

/* Philox streams; different from those of dropout and initialisation. */
enum { BATCHES_STREAM_ROWS = 0x7DA7A001, BATCHES_STREAM_ORDER = 0x7DA7A002 };

struct batches {
    const struct tokens *train;
    struct batches_options options;
    int32_t chunks_n, rows_each, batches_n;
    int32_t *chunks_own;              /* (chunks_n) rows of all batches in order: chunk numbers */
    int32_t *order_own;               /* (batches_n) batches in the order of epoch `order_of` */
    int64_t order_of;                 /* 0: none */
    int32_t *source_own, *target_own; /* (rows_each, L) */
};

static int batches_check(const struct tokens *train, const struct batches_options *o, struct err *e)
{
    if (o->L < 1 || o->shards < 1)
        return ERR(e, ERR_DATA, "rows of %d tokens and %d shards: both must be at least 1", o->L,
                   o->shards);
    if (o->shard_tokens < o->L)
        return ERR(
            e, ERR_DATA,
            "a row of %d tokens does not fit into a shard of %d; increase train.shard_tokens", o->L,
            o->shard_tokens);
    if (train->n < 1) return ERR(e, ERR_DATA, "the training split has no tokens");
    if ((train->n - 1) / o->L >= INT32_MAX)
        return ERR(e, ERR_DATA, "%lld tokens make more than %d rows of %d", (long long)train->n,
                   INT32_MAX, o->L);
    return 0;
}

/* Draws from [0, bound) without bias: the upper half of the product. The lower half identifies the
 * few words that would bias the result, which are redrawn. */
static uint32_t shuffle_below(uint32_t bound, uint64_t key, uint64_t element, uint32_t stream)
{
    uint32_t unfair = (0u - bound) % bound;

    for (uint32_t step = 0;; step++) {
        uint64_t product = (uint64_t)philox_word(key, element, step, stream) * bound;
        if ((uint32_t)product >= unfair) return (uint32_t)(product >> 32);
    }
}

void batches_shuffle(int32_t *out, int32_t n, uint64_t key, uint32_t stream)
{
    for (int32_t i = 0; i < n; i++) out[i] = i;
    for (int32_t i = n - 1; i > 0; i--) {
        uint32_t j = shuffle_below((uint32_t)i + 1, key, (uint64_t)i, stream);
        int32_t kept = out[i];
        out[i] = out[j];
        out[j] = kept;
    }
}

/* Puts the rows of all batches in their order (rule 1). */
static void batches_compose(struct batches *b)
{
    int32_t full_n = (int32_t)(b->train->n / b->options.L);

    batches_shuffle(b->chunks_own, full_n, b->options.seed, BATCHES_STREAM_ROWS);
    if (full_n == b->chunks_n) return;
    /* Moves the short chunk to the front; the displaced row becomes the last one, which keeps the
     * order uniform. */
    b->chunks_own[full_n] = b->chunks_own[0];
    b->chunks_own[0] = full_n;
}

int batches_open(struct batches **out, const struct tokens *train, const struct batches_options *o,
                 struct err *e)
{
    *out = NULL;
    TRY(batches_check(train, o, e));
    struct batches *b = calloc(1, sizeof *b);
    if (!b) return ERR(e, ERR_NOMEM, "out of memory for training batches");
    b->train = train;
    b->options = *o;
    b->chunks_n = (int32_t)((train->n - 1) / o->L) + 1;
    b->rows_each = o->shard_tokens / o->L;
    if (b->rows_each > b->chunks_n) b->rows_each = b->chunks_n;
    b->batches_n = (b->chunks_n - 1) / b->rows_each + 1;
    size_t ids_n = (size_t)b->rows_each * (size_t)o->L;
    b->chunks_own = calloc((size_t)b->chunks_n, sizeof *b->chunks_own);
    b->order_own = calloc((size_t)b->batches_n, sizeof *b->order_own);
    b->source_own = calloc(ids_n, sizeof *b->source_own);
    b->target_own = calloc(ids_n, sizeof *b->target_own);
    if (!b->chunks_own || !b->order_own || !b->source_own || !b->target_own) {
        int rc =
            ERR(e, ERR_NOMEM, "out of memory for %d training rows of %d tokens", b->chunks_n, o->L);
        batches_close(b);
        return rc;
    }
    batches_compose(b);
    *out = b;
    return 0;
}

void batches_close(struct batches *b)
{
    if (!b) return;
    free(b->chunks_own);
    free(b->order_own);
    free(b->source_own);
    free(b->target_own);
    free(b);
}

int64_t batches_epoch_updates(const struct batches *b)
{
    return ((int64_t)b->batches_n - 1) / b->options.shards + 1;
}

int32_t batches_rows_max(const struct batches *b)
{
    return b->rows_each;
}

int64_t batches_epoch_of(const struct batches *b, int64_t update, int *last_of_epoch)
{
    int64_t updates = batches_epoch_updates(b);

    if (last_of_epoch) *last_of_epoch = update % updates == updates - 1;
    return update / updates + 1;
}

static int32_t chunk_length(const struct batches *b, int32_t chunk)
{
    int64_t rest = b->train->n - (int64_t)chunk * b->options.L;
    return rest < b->options.L ? (int32_t)rest : b->options.L;
}

/* Returns the shape of batch number `batch` of the composition. */
static struct batch_shape batches_shape_of(const struct batches *b, int32_t batch)
{
    int32_t first = batch * b->rows_each;
    int32_t left = b->chunks_n - first;
    struct batch_shape out = {.rows = left < b->rows_each ? left : b->rows_each};

    /* Lengths are rising, so that a batch's last row is its longest. */
    out.length = chunk_length(b, b->chunks_own[first + out.rows - 1]);
    for (int32_t row = 0; row < out.rows; row++)
        out.targets_n += chunk_length(b, b->chunks_own[first + row]);
    return out;
}

/* Finds the number of a shard's batch in the composition, or -1 if the shard is absent. */
static int batches_find(struct batches *b, int32_t *batch, int64_t update, int32_t shard,
                        struct err *e)
{
    if (update < 0 || shard < 0 || shard >= b->options.shards)
        return ERR(e, ERR_INTERNAL, "shard %d of update %lld: there are %d shards", shard,
                   (long long)update, b->options.shards);
    int64_t epoch = batches_epoch_of(b, update, NULL);
    int64_t number = update % batches_epoch_updates(b) * b->options.shards + shard;
    *batch = -1;
    if (number >= b->batches_n) return 0;
    if (b->order_of != epoch) {
        batches_shuffle(b->order_own, b->batches_n, b->options.seed + (uint64_t)epoch,
                        BATCHES_STREAM_ORDER);
        b->order_of = epoch;
    }
    *batch = b->order_own[number];
    return 0;
}

int batches_shape(struct batches *b, int64_t update, struct batch_shape *out, struct err *e)
{
    for (int32_t shard = 0, batch; shard < b->options.shards; shard++) {
        TRY(batches_find(b, &batch, update, shard, e));
        out[shard] = batch < 0 ? (struct batch_shape){0} : batches_shape_of(b, batch);
    }
    return 0;
}

int batches_get(struct batches *b, int64_t update, int32_t shard, struct batch *out, struct err *e)
{
    int32_t batch;

    *out = (struct batch){.source = b->source_own, .target = b->target_own};
    TRY(batches_find(b, &batch, update, shard, e));
    if (batch < 0) return 0;
    struct batch_shape shape = batches_shape_of(b, batch);
    out->rows = shape.rows;
    out->length = shape.length;
    out->targets_n = shape.targets_n;
    for (int32_t row = 0; row < shape.rows; row++) {
        int32_t chunk = b->chunks_own[batch * b->rows_each + row];
        int64_t at = (int64_t)row * shape.length;
        tokens_read_row(b->train, (int64_t)chunk * b->options.L, chunk_length(b, chunk),
                        shape.length, b->source_own + at, b->target_own + at);
    }
    return 0;
}
