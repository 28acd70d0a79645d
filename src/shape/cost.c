/* cost.c - estimates FLOPs, device memory and disk space of a run.
 *
 * Notation of the style guide: N layers, D model width, F inner width, V vocabulary; a multiply-add
 * counts as two FLOPs. */
#include <math.h>
#include <string.h>

#include "shape/memory.h"
#include "shape/shape.h"

/* Rank-frequency estimate 1 / (rank + offset)^exponent: for the WikiText-103 vocabulary it puts
 * 4.0 % of the tokens into the second band and 2.3 % into the third. */
static const double zipf_exponent = 1.7, zipf_offset = 500.0;

/* Updates that a benchmark measures, including warm-up. Its cost serves only ordering and the
 * estimate of time left. */
enum { COST_BENCH_UPDATES = 30 };

/* NCCL of a rank: on GPUs with NVLink, of so many GB/s or more, and for each other rank of its
 * machine; on other GPUs. */
#define NVLINK_GB 100.0
static const int64_t NCCL_BYTES = 1000000000, NCCL_PEER_BYTES = 470000000,
                     NCCL_PCIE_BYTES = 300000000;

/* Share of the tokens whose rank is at least `rank`, up to a common factor. */
static double zipf_tail(double rank, double vocab)
{
    double power = 1.0 - zipf_exponent;
    return pow(rank + zipf_offset, power) - pow(vocab + zipf_offset, power);
}

/* Share of the tokens in a band. */
static double band_share(const struct shape_bands *b, int32_t i)
{
    double vocab = b->band[b->n - 1].last;

    return (zipf_tail(b->band[i].first, vocab) - zipf_tail(b->band[i].last, vocab)) /
           zipf_tail(0.0, vocab);
}

/* Counts q.k and p.v of a layer's causal attention, per token. */
static double attention_flops(const struct spec_model *m, int32_t L)
{
    return 2.0 * 2.0 * m->heads * spec_head_width(m) * ((double)L + 1.0) / 2.0;
}

/* Counts the FLOPs of the layers: dense maps and causal attention. */
static double layers_flops(const struct spec *s, int32_t L)
{
    const struct spec_model *m = &s->model;
    double D = m->dim, F = m->ffn, width = spec_head_width(m);
    double q = m->heads * width, kv = spec_kv_heads(m) * width, maps = m->form.gated ? 3.0 : 2.0;
    double dense = 2.0 * (D * (q + 2.0 * kv) + q * D + maps * D * F);
    double gates = 0.0; /* of the tokens */
    for (int32_t l = 0; l < m->layers; l++)
        if (spec_layer_gates(s, l) == POSITION_TOKEN_GATES) gates += 2.0 * D * m->heads;
    return m->layers * (dense + attention_flops(m, L)) + gates;
}

/* Projections of the input, per token. */
static double input_flops(const struct spec *s, const struct shape_bands *b)
{
    double flops = 0.0;

    if (s->model.softmax == SPEC_PLAIN)
        return b->band[0].width == s->model.dim ? 0.0 : 2.0 * s->model.dim * b->band[0].width;
    for (int32_t i = 0; i < b->n; i++)
        flops += band_share(b, i) * 2.0 * s->model.dim * b->band[i].width;
    return flops;
}

/* Counts the FLOPs of the softmax per target: the head for all targets, a tail for the targets in
 * its band. */
static double output_flops(const struct spec *s, const struct shape_bands *b)
{
    double D = s->model.dim;
    double flops = 2.0 * b->head_n * b->band[0].width;

    if (b->band[0].width != s->model.dim) flops += 2.0 * D * b->band[0].width;
    for (int32_t i = 1; i < b->n; i++) {
        double width = b->band[i].width, rows = (double)b->band[i].last - b->band[i].first;
        flops += band_share(b, i) * 2.0 * (D * width + width * rows);
    }
    return flops;
}

double shape_forward_flops(const struct spec *s, int32_t L)
{
    struct shape_bands b;

    shape_bands(&b, &s->model, s->data.vocab);
    return layers_flops(s, L) + input_flops(s, &b) + output_flops(s, &b);
}

static int64_t eval_targets(const struct spec *s)
{
    const int64_t tokens[] = {s->data.train_tokens, s->data.valid_tokens, s->data.test_tokens};
    int64_t all = tokens[s->eval.split];

    return s->eval.targets > 0 && (s->eval.targets < all || all == 0) ? s->eval.targets : all;
}

/* Counts an evaluation: the layers compute every token of a window, the softmax only its targets.
 */
static double eval_flops(const struct spec *s)
{
    struct shape_bands b;
    double targets = (double)eval_targets(s), L = s->eval.L;
    double positions = targets;

    shape_bands(&b, &s->model, s->data.vocab);
    if (s->eval.window == SPEC_SLIDING && s->eval.stride > 0)
        positions = ceil(targets / s->eval.stride) * (L < targets ? L : targets);
    return positions * (layers_flops(s, s->eval.L) + input_flops(s, &b)) +
           targets * output_flops(s, &b);
}

/* Counts the keys of a datastore, and the products of all targets with all keys. */
static void cost_datastore(struct shape_cost *out, const struct spec *s,
                           const struct shape_capacity *capacity)
{
    const struct spec_knn k = spec_datastore(&s->eval, s);
    struct shape_bands b;
    double keys = (double)k.keys, D = s->model.dim;

    if (!shape_has_search(s) || k.stride < 1) return;
    shape_bands(&b, &s->model, s->data.vocab);
    out->datastore_flops =
        ceil(keys / k.stride) * k.window * (layers_flops(s, k.window) + input_flops(s, &b));
    out->search_flops = 2.0 * D * keys * (double)eval_targets(s);
    out->flops += out->datastore_flops + out->search_flops;
    out->device_bytes += shape_search_bytes(capacity->scored_max, s->model.dim);
    out->host_bytes += 4 * k.keys * (s->model.dim + 1);
}

/* Counts what a streamed model needs more where it is resident. */
static void cost_resident(struct shape_cost *out, const struct spec *s,
                          const struct shape_capacity *streamed)
{
    struct shape_capacity capacity = *streamed;
    struct shape_memory memory;

    if (!streamed->streamed) return;
    capacity.streamed = false;
    shape_memory(&memory, s, &capacity);
    out->gpu_bytes = memory.total_bytes - out->device_bytes;
}

/* Counts eval.attention_rows: for three texts of so many rows a pass, and in each layer two
 * attentions, with and without bias, for as many keys at a time as a head has features. */
static void cost_heads(struct shape_cost *out, const struct spec *s)
{
    const struct spec_model *m = &s->model;
    double tokens = 3.0 * s->eval.attention_rows * s->eval.L;
    struct shape_bands b;
    struct shape_heads heads;

    if (s->eval.attention_rows == 0 || m->heads < 1) return;
    shape_bands(&b, m, s->data.vocab);
    shape_heads(&heads, m, s->eval.L);
    double attentions = 2.0 * m->layers * ceil((double)s->eval.L / spec_head_width(m));
    out->flops += tokens * (layers_flops(s, s->eval.L) + input_flops(s, &b) +
                            attentions * attention_flops(m, s->eval.L));
    out->device_bytes += heads.device_bytes;
    out->host_bytes += heads.layer_bytes + heads.row_bytes;
}

void shape_cost(struct shape_cost *out, const struct spec *s)
{
    const struct spec_train *t = &s->train;
    struct shape_capacity capacity;
    struct shape_memory memory;
    struct shape_params params;

    shape_params(&params, NULL, s);
    shape_capacity(&capacity, s);
    shape_memory(&memory, s, &capacity);
    *out = (struct shape_cost){.parameters_n = params.parameters_n,
                               .tokens_per_update = (int64_t)t->shards * shape_shard_rows(t) * t->L,
                               .device_bytes = memory.total_bytes};
    double update_flops = 3.0 * shape_forward_flops(s, t->L) * (double)out->tokens_per_update;
    int64_t weights = 4 * params.parameters_n;
    if (spec_is_source(s)) { /* no update is made here */
        out->device_bytes = 0;
        out->disk_running_bytes = out->disk_kept_bytes = spec_is_pretrained(s) ? 0 : weights;
    } else if (s->kind == SPEC_TRAIN) {
        out->flops = update_flops * t->updates;
        /* The last two checkpoints and the best, with optimiser state but without gradients. */
        out->disk_running_bytes = 3 * weights * (memory.slots_n - 1);
        out->disk_kept_bytes = 2 * weights; /* last and best */
        if (t->keep_state) out->disk_kept_bytes += weights * (memory.slots_n - 2);
    } else if (s->kind == SPEC_EVAL) {
        out->flops = eval_flops(s);
        cost_resident(out, s, &capacity);
        cost_datastore(out, s, &capacity);
        cost_heads(out, s);
    } else if (s->bench_mode == 0) {
        out->flops = update_flops * COST_BENCH_UPDATES;
    } else {
        out->flops = shape_forward_flops(s, capacity.length_max) * capacity.length_max *
                     capacity.rows_max * COST_BENCH_UPDATES;
    }
}

void shape_cost_continued(struct shape_cost *out, const struct spec *s, const struct spec *parent)
{
    shape_cost(out, s);
    out->flops *= 1.0 - (double)spec_first_update(s, parent) / s->train.updates;
}

/* ---- ranks ---- */

/* NCCL's buffers for the other ranks of a machine. Over NVLink it opens up to 32 channels to each:
 * a first exchange among 8 H100 raised a process from 1.06 to 4.34 GB (github.com/NVIDIA/nccl,
 * issue 1685). */
int64_t shape_nccl_bytes(int32_t ranks_n, const struct shape_gpu *gpu)
{
    int32_t near = ranks_n < SHAPE_NODE_GPUS ? ranks_n : SHAPE_NODE_GPUS;
    if (!gpu || ranks_n < 2) return 0;
    return gpu->link_gb >= NVLINK_GB ? NCCL_BYTES + NCCL_PEER_BYTES * (near - 1) : NCCL_PCIE_BYTES;
}

int64_t shape_rank_bytes(const struct spec *s, int32_t ranks_n, const struct shape_gpu *gpu)
{
    struct shape_capacity capacity;
    struct shape_memory memory;

    shape_capacity(&capacity, s);
    capacity.ranks_n = ranks_n;
    shape_memory(&memory, s, &capacity);
    return memory.total_bytes + shape_nccl_bytes(ranks_n, gpu);
}

int32_t shape_rank_shards(int32_t shards, int32_t ranks_n)
{
    int32_t leaves = shape_leaves(shards) / ranks_n;
    return leaves < shards ? leaves : shards;
}

/* A rank sends all other ranks of its machine a part each, then one rank of each other machine a
 * part of its own part: first gradients in fp32, later weights. */
double shape_exchange_s(const struct spec *s, int32_t ranks_n, const struct shape_gpu *gpu)
{
    struct shape_params params;
    double near = ranks_n < SHAPE_NODE_GPUS ? ranks_n : SHAPE_NODE_GPUS, far = ranks_n / near;

    if (!gpu || gpu->link_gb <= 0) return 0.0;
    shape_params(&params, NULL, s);
    double bytes = (double)params.elements_n * (spec_precision(s, NULL) == SPEC_BF16 ? 6.0 : 8.0);
    return 1e-9 * bytes *
           ((near - 1) / near / (SHAPE_LINK_SHARE * gpu->link_gb) +
            (far - 1) / far / near / SHAPE_NETWORK_GB);
}

/* ---- GPUs ---- */

/* Dense products in TFLOP/s: bf16 on tensor cores with fp32 sums, half of what is advertised with
 * sparsity; fp32 without TF32. Memory in GB, of the smallest card of that name. Sources: NVIDIA's
 * data sheets of the data centre and RTX professional cards (HGX B200 and GB200 NVL72: a GPU's
 * share of the system), and the appendices of its white papers of the GA102, Ada and RTX Blackwell
 * architectures for GeForce. Links: NVLink between all GPUs of a machine, of the SXM card where a
 * name has several, otherwise PCIe; those of GH200 depend on the machine. GeForce has no peer
 * access: NCCL copies through host memory, at 7 to 12 GB/s. The first row that matches a device's
 * name applies. */
static const struct shape_gpu gpus[] = {
    {"GB200", 2500.0, 80.0, 186, 900},     {"B200", 2250.0, 75.0, 180, 900},
    {"GH200", 989.5, 66.9, 96, 0},         {"H200", 989.5, 66.9, 141, 450},
    {"H100 PCIe", 756.0, 51.2, 80, 64},    {"H100 NVL", 835.5, 60.0, 94, 64},
    {"H100", 989.5, 66.9, 80, 450},        {"H800", 989.5, 66.9, 80, 200},
    {"H20", 148.0, 44.0, 96, 450},         {"A100", 312.0, 19.5, 40, 300},
    {"A800", 312.0, 19.5, 40, 200},        {"A30", 165.0, 10.3, 24, 32},
    {"A40", 149.7, 37.4, 48, 32},          {"A10G", 70.0, 31.2, 24, 32},
    {"A10", 125.0, 31.2, 24, 32},          {"L40S", 362.0, 91.6, 48, 32},
    {"L40", 181.0, 90.5, 48, 32},          {"L4", 121.0, 30.3, 24, 32},
    {"RTX 6000 Ada", 364.2, 91.1, 48, 32}, {"RTX 5000 Ada", 261.1, 65.3, 32, 32},
    {"RTX A6000", 154.8, 38.7, 48, 32},    {"RTX A5000", 111.1, 27.8, 24, 32},
    {"RTX 5090", 209.5, 104.8, 32, 10},    {"RTX 5080", 112.6, 56.3, 16, 10},
    {"RTX 5070 Ti", 87.9, 43.9, 16, 10},   {"RTX 4090", 165.2, 82.6, 24, 10},
    {"RTX 4080", 97.5, 48.7, 16, 10},      {"RTX 3090 Ti", 80.0, 40.0, 24, 10},
    {"RTX 3090", 71.0, 35.6, 24, 10},
};

/* True if text contains the name as whole words: "NVIDIA L4" is not an L40S. A variant of a card is
 * another card, and a MIG instance is a part of one. */
static bool gpu_names(const char *text, const char *name)
{
    static const char *const variants[] = {" Ti", " SUPER", " D", " Laptop", " Max-Q"};
    const char *at = strstr(text, name);

    if (!at || (at > text && at[-1] != ' ') || strstr(at, " MIG ")) return false;
    at += strlen(name);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        size_t n = strlen(variants[i]);
        if (strncmp(at, variants[i], n) == 0 && (at[n] == '\0' || at[n] == ' ')) return false;
    }
    return *at == '\0' || *at == ' ' || *at == ',' || *at == '-';
}

const struct shape_gpu *shape_gpus(size_t *n)
{
    *n = sizeof gpus / sizeof *gpus;
    return gpus;
}

const struct shape_gpu *shape_find_gpu(const char *device)
{
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        if (gpu_names(device, gpus[i].name)) return &gpus[i];
    return NULL;
}

double shape_peak_flops(const char *device, enum spec_precision precision)
{
    const struct shape_gpu *gpu = shape_find_gpu(device);
    if (!gpu) return 0.0;
    return 1e12 * (precision == SPEC_BF16 ? gpu->bf16 : gpu->fp32);
}
