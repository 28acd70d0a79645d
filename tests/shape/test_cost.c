/* test_cost.c - FLOPs, bytes and disk against numbers computed by hand for the paper's models. */
#include "harness/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shape/memory.h"
#include "shape/shape_specs.h"

static void assert_within(double ours, double expected, double share)
{
    if (fabs(ours / expected - 1.0) > share) fail_msg("%.6g, expected %.6g", ours, expected);
}

/* Million FLOPs per token, computed by hand. */
TEST(forward_flops_agree_with_the_table_worked_by_hand)
{
    static const struct {
        int32_t L;
        double paper;
    } small[] = {{64, 449.2}, {512, 463.9}, {1024, 480.7}, {3072, 547.8}, {16384, 984.0}};
    static const struct {
        int32_t L;
        double paper;
    } large[] = {{512, 2775.0}, {1024, 2827.4}, {2048, 2932.3}, {3072, 3037.1}};

    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        struct spec s = shape_specs_paper(SPEC_ALIBI, small[i].L);
        assert_within(shape_forward_flops(&s, s.train.L) / 1e6, small[i].paper, 0.005);
    }
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        struct spec s = shape_specs_large(large[i].L);
        assert_within(shape_forward_flops(&s, s.train.L) / 1e6, large[i].paper, 0.005);
    }
}

/* 93.72, 4.00 and 2.28 % of the tokens are in the three bands. */
TEST(a_token_costs_the_projection_of_its_band_and_a_target_its_tail)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
    const double share[] = {0.9372010431401847, 0.03996380913292313, 0.02283514772689221};
    double layers = 402653184.0 + 32768.0 * 513, head = 2.0 * 20002 * 1024;
    double input = 2.0 * 1024 * (1024 * share[0] + 256 * share[1] + 64 * share[2]);
    double tails = 2.0 * 256 * (1024 + 40000) * share[1] + 2.0 * 64 * (1024 + 207744) * share[2];

    assert_within(shape_forward_flops(&s, 512), layers + head + input + tails, 1e-12);
}

TEST(a_training_costs_three_forward_passes_of_every_target)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, 1024), odd = shape_specs_paper(SPEC_ALIBI, 2048);
    struct shape_cost cost;

    shape_cost(&cost, &s);
    assert_int_equal(cost.tokens_per_update, 73728);
    assert_within(cost.flops, 1441.9e6 * 73728 * 286000, 0.005);
    assert_int_equal(cost.disk_running_bytes, 3 * 8 * INT64_C(246933504));
    assert_int_equal(cost.disk_kept_bytes, 2 * 4 * INT64_C(246933504));
    shape_cost(&cost, &odd); /* 9,216 / 2,048 leaves four rows */
    assert_int_equal(shape_shard_rows(&odd.train), 4);
    assert_int_equal(cost.tokens_per_update, 65536);
}

TEST(a_published_checkpoint_costs_only_its_weights_on_disk)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
    struct shape_cost cost;

    s.train.origin = SPEC_AUTHORS;
    shape_cost(&cost, &s);
    assert_true(cost.flops == 0 && cost.device_bytes == 0);
    assert_int_equal(cost.disk_kept_bytes, 4 * cost.parameters_n);
    assert_int_equal(cost.disk_running_bytes, cost.disk_kept_bytes);
}

/* A CPU reads the weights of one layer at a time; the graphs of a GPU need all of them. */
TEST(a_pretrained_model_needs_all_its_weights_in_the_memory_of_a_gpu)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
    struct shape_cost trained, cost;

    s.kind = SPEC_EVAL;
    s.eval.split = SPEC_VALID;
    s.eval.L = 512;
    s.model.softmax = SPEC_PLAIN;
    shape_cost(&trained, &s);
    assert_true(trained.gpu_bytes == 0 && trained.device_bytes > 4 * trained.parameters_n);
    s.train.origin = SPEC_PRETRAINED;
    shape_cost(&cost, &s);
    assert_true(cost.gpu_bytes > 0);
    assert_int_equal(cost.device_bytes + cost.gpu_bytes, trained.device_bytes);
    s.eval.precision = SPEC_BF16; /* of a GPU only */
    shape_cost(&cost, &s);
    assert_int_equal(cost.gpu_bytes, 0);
    assert_true(cost.device_bytes > 4 * cost.parameters_n);
}

TEST(a_sliding_evaluation_costs_a_window_for_each_target)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
    struct shape_cost cost;

    s.kind = SPEC_EVAL;
    s.eval.split = SPEC_VALID;
    s.eval.L = 512;
    shape_cost(&cost, &s);
    assert_within(cost.flops, 217646 * 463.9e6, 0.005);
    s.eval.window = SPEC_SLIDING;
    s.eval.stride = 1;
    shape_cost(&cost, &s); /* 4.70e16 for all whole windows, computed by hand */
    assert_within(cost.flops, 4.70e16, 0.005);
    s.eval.targets = 1000;
    double all = cost.flops;
    shape_cost(&cost, &s);
    assert_within(cost.flops, all * 1000 / 217646, 1e-6);
}

/* The model of the paper, rows of 512 tokens. A pass over a token costs 421.4 MFLOP without the
 * head; in each of 16 layers its two attentions are computed for 4 times 128 of the 512 keys, 1.05
 * MFLOP each. Bytes: weights of 16 layers of 8 heads, those and the logits of one layer, five
 * matrices of a row, rollouts. */
TEST(rows_whose_heads_are_described_cost_passes_attentions_and_their_weights)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
    struct shape_cost plain, cost;

    s.kind = SPEC_EVAL;
    s.eval.split = SPEC_VALID;
    s.eval.L = 512;
    shape_cost(&plain, &s);
    s.eval.attention_rows = 100;
    shape_cost(&cost, &s);
    double token = 421.4e6 + 2 * 16 * 4 * 1.0506e6;
    assert_within(cost.flops - plain.flops, 3 * 100 * 512 * token, 0.01);
    double bytes = 4.0 * 512 * 512 * 8 * (16 + 2) + 4.0 * 5 * 512 * 1024 + 8.0 * 16 * 8 * 512;
    assert_within((double)(cost.device_bytes - plain.device_bytes + cost.host_bytes), bytes, 0.001);
}

/* Thirty steps: of 18 rows of 512 tokens, of one such row, of one row of 1,024. */
TEST(a_benchmark_costs_the_rows_it_reads)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
    struct shape_cost cost;

    s.kind = SPEC_BENCH;
    s.train.shards = 1;
    shape_cost(&cost, &s);
    assert_within(cost.flops, 3 * 463.9e6 * 9216 * 30, 0.005);
    s.bench_mode = 1;
    shape_cost(&cost, &s);
    assert_within(cost.flops, 463.9e6 * 9216 * 30, 0.005);
    s.bench_rows = 1;
    shape_cost(&cost, &s);
    assert_within(cost.flops, 463.9e6 * 512 * 30, 0.005);
    s.bench_L = 1024;
    shape_cost(&cost, &s);
    assert_within(cost.flops, 480.7e6 * 1024 * 30, 0.005);
}

TEST(memory_is_state_plus_activations_of_one_shard)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
    struct shape_cost fp32, bf16, eval;
    int64_t parameters = 246933504;

    shape_cost(&fp32, &s);
    assert_true(fp32.device_bytes > 12 * parameters); /* value, gradient, momentum */
    s.train.precision = SPEC_BF16;
    shape_cost(&bf16, &s); /* half the activations, another copy of the weights */
    assert_true(bf16.device_bytes < fp32.device_bytes);
    assert_true(bf16.device_bytes > 14 * parameters);
    s.train.optimizer = SPEC_ADAM;
    int64_t nag = bf16.device_bytes;
    shape_cost(&bf16, &s);
    assert_in_range(bf16.device_bytes - nag, 4 * parameters, 4 * parameters + 65536);
    s.kind = SPEC_EVAL;
    s.eval.L = 512;
    shape_cost(&eval, &s);
    assert_true(eval.device_bytes > 4 * parameters && eval.device_bytes < fp32.device_bytes / 2);
}

/* Data sheets: H200 989.5 TFLOP/s in bf16, PCIe cards less; 9216 tokens of the 247M model in 23.9
 * ms are 56 % of an H200 (1,441.9 MFLOP a token at L 1024). */
/* Milliseconds worked by hand: (P-1)/P of 6 bytes a parameter over 0.73 * 450 GB/s, and, beyond a
 * machine, (M-1)/M of an eighth of them over 45 GB/s. */
TEST(ranks_share_the_shards_and_exchange_gradients_and_weights)
{
    static const struct {
        int32_t shards, ranks_n, most;
    } shares[] = {{8, 1, 8}, {8, 2, 4}, {8, 8, 1}, {6, 1, 6}, {6, 2, 4}, {6, 4, 2}, {1, 1, 1}};
    static const struct {
        const char *device;
        int32_t ranks_n;
        double ms;
    } times[] = {{"NVIDIA H100 80GB HBM3", 1, 0},        {"NVIDIA H100 80GB HBM3", 2, 2.2551},
                 {"NVIDIA H100 80GB HBM3", 8, 3.9464},   {"NVIDIA H100 80GB HBM3", 16, 6.0042},
                 {"NVIDIA GeForce RTX 4090", 2, 101.48}, {"Intel(R) Xeon(R)", 2, 0}};
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);

    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        assert_int_equal(shape_rank_shards(shares[i].shards, shares[i].ranks_n), shares[i].most);
    s.train.precision = SPEC_BF16;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        double ms = 1e3 * shape_exchange_s(&s, times[i].ranks_n, shape_find_gpu(times[i].device));
        if (fabs(ms - times[i].ms) > 0.001 * times[i].ms) fail_msg("row %zu: %g ms", i, ms);
    }
    struct shape_cost cost;
    shape_cost(&cost, &s);
    int64_t block = 4 * cost.parameters_n; /* fewer of gradients, more pieces of others' ones */
    for (int32_t ranks = 1; ranks < 8; ranks *= 2)
        assert_in_range(shape_rank_bytes(&s, ranks, NULL) - shape_rank_bytes(&s, 2 * ranks, NULL),
                        block - SHAPE_STAGING_BYTES, block + (1 << 20));
    assert_int_equal(shape_rank_bytes(&s, 1, NULL), cost.device_bytes);
    s.train.precision = SPEC_FP32;
    double ms = 1e3 * shape_exchange_s(&s, 8, shape_find_gpu("NVIDIA H100"));
    assert_true(fabs(ms - 3.947 * 8 / 6) < 0.01);
}

/* 1 GB and 0.47 for each other GPU of the machine over NVLink, 0.3 GB over PCIe. */
TEST(a_rank_needs_memory_for_nccl)
{
    static const struct {
        const char *device;
        int32_t ranks_n;
        double gb;
    } rows[] = {{"NVIDIA H100 80GB HBM3", 1, 0},     {"NVIDIA H100 80GB HBM3", 2, 1.47},
                {"NVIDIA H100 80GB HBM3", 8, 4.29},  {"NVIDIA H100 80GB HBM3", 16, 4.29},
                {"NVIDIA GeForce RTX 4090", 2, 0.3}, {"Intel(R) Xeon(R)", 2, 0}};
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);

    s.train.shards = 16;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t ranks_n = rows[i].ranks_n;
        int64_t more = shape_rank_bytes(&s, ranks_n, shape_find_gpu(rows[i].device)) -
                       shape_rank_bytes(&s, ranks_n, NULL);
        assert_true(fabs(1e-9 * (double)more - rows[i].gb) < 1e-6);
    }
}

TEST(a_devices_peak_is_found_by_its_name)
{
    static const struct {
        const char *device;
        double bf16, fp32;
    } cases[] = {
        {"NVIDIA H200", 989.5e12, 66.9e12},
        {"NVIDIA H200, sm_90, 132 processors, 139.7 GiB", 989.5e12, 66.9e12},
        {"NVIDIA H100 80GB HBM3", 989.5e12, 66.9e12},
        {"NVIDIA H100 PCIe", 756e12, 51.2e12},
        {"NVIDIA A100-SXM4-80GB", 312e12, 19.5e12},
        {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 0, 0},
        {"NVIDIA L4", 121e12, 30.3e12},
        {"NVIDIA L40S", 362e12, 91.6e12},
        {"NVIDIA B200", 2250e12, 75e12},
        {"NVIDIA A40", 149.7e12, 37.4e12},
        {"NVIDIA RTX A6000", 154.8e12, 38.7e12},
        {"NVIDIA RTX 6000 Ada Generation", 364.2e12, 91.1e12},
        {"Quadro RTX 6000", 0, 0},
        {"NVIDIA GeForce RTX 5090", 209.5e12, 104.8e12},
        {"NVIDIA GeForce RTX 5090 D", 0, 0},
        {"NVIDIA GeForce RTX 4090 Laptop GPU", 0, 0},
        {"NVIDIA GeForce RTX 3090 Ti", 80e12, 40e12},
        {"NVIDIA A1000", 0, 0},
        {"AMD EPYC, 1 thread, v4 kernels", 0, 0},
        {"emulated GPU", 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double bf16 = shape_peak_flops(cases[i].device, SPEC_BF16);
        double fp32 = shape_peak_flops(cases[i].device, SPEC_FP32);
        if (fabs(bf16 - cases[i].bf16) > 1 || fabs(fp32 - cases[i].fp32) > 1)
            fail_msg("%s: %g and %g", cases[i].device, bf16, fp32);
    }
    struct spec s = shape_specs_paper(SPEC_ALIBI, 1024);
    double mfu = 3 * shape_forward_flops(&s, 1024) * 9216 / 23.9e-3 / 989.5e12;
    assert_within(mfu, 0.562, 0.005);
}
