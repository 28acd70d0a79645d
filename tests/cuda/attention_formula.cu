// attention_formula.cu - attention and its gradients, also those of the bias table: compared with the
// formula, with prefixes, with tiles of other sizes, and with a second run.
#include "attention_oracle.h"

// Expected values and their bounds, in the order of the device's tensors.
struct sums {
    std::vector<double> want, bound;
};

struct wanted {
    struct sums out, lse, dq, dk, dv, table, offset;
};

static void sums_make(struct sums &s, size_t n)
{
    s.want.assign(n, 0.0);
    s.bound.assign(n, 1e-30);
}

static void sums_add(struct sums &s, size_t at, double x, double bound)
{
    s.want[at] += x;
    s.bound[at] += bound;
}

// The gradients of one query's row.
static void backward_row(const struct attention_fixture &f, struct wanted &g,
                         const struct oracle_row &r, int b, int h, int i)
{
    const struct attention_case &c = f.c;
    const double w = unit_of(c.dtype), scale = (double)f.a.scale;
    const float *dout = host_row(f.dout, c, b, h, i), *out = host_row(f.out, c, b, h, i);
    const float *q = host_row(f.qkv[0], c, b, h, i);
    double delta = 0.0, delta_size = 0.0, row_sum = 0.0;
    double p_error = r.score_error + 4 * u * fabs(r.lse), many = 4 * sqrt(c.T + 4.0) * u;
    size_t at_i = (size_t)(host_row(f.qkv[0], c, b, h, i) - f.qkv[0].host.data());
    int bias_table_n = f.a.bias.bias_table_n;
    for (int d = 0; d < c.D; d++) {
        delta += (double)dout[d] * out[d];
        delta_size += fabs((double)dout[d] * out[d]);
    }
    for (int j = 0; j <= i; j++) {
        const float *k = host_row(f.qkv[1], c, b, h, j), *v = host_row(f.qkv[2], c, b, h, j);
        size_t at_j = (size_t)(k - f.qkv[1].host.data());
        double dp = 0.0, dp_size = 0.0, p = r.p[(size_t)j], factor = r.factor[(size_t)j];
        for (int d = 0; d < c.D; d++) {
            dp += (double)dout[d] * v[d];
            dp_size += fabs((double)dout[d] * v[d]);
        }
        double ds = p * (dp * factor - delta);
        double error =
            fabs(ds) * p_error + p * 4 * sqrt(c.D + 4.0) * u * (dp_size * factor + delta_size);
        row_sum += ds;
        for (int d = 0; d < c.D; d++) {
            double y = p * factor * (double)dout[d], to_k = scale * ds * (double)q[d];
            double to_q = scale * ds * (double)k[d], of_k = scale * error * fabs((double)q[d]);
            double of_q = scale * error * fabs((double)k[d]);
            sums_add(g.dv, at_j + (size_t)d, y, fabs(y) * (w + p_error + many));
            sums_add(g.dk, at_j + (size_t)d, to_k, fabs(to_k) * (w + many) + of_k);
            sums_add(g.dq, at_i + (size_t)d, to_q, fabs(to_q) * (w + many) + of_q);
        }
        if (bias_table_n == 0) continue;
        if (i - j < bias_table_n)
            sums_add(g.table, (size_t)(h * bias_table_n + i - j), ds, error + fabs(ds) * many);
        else
            sums_add(g.offset, (size_t)h, ds, 0.0);
        g.offset.bound[(size_t)h] += error + fabs(ds) * many;
    }
    // The tail offset's gradient follows from an identity, which is as exact as out is.
    if (bias_table_n > 0 && bias_table_n < c.T) g.offset.bound[(size_t)h] += fabs(row_sum);
}

// One query's row of out and lse. They become the input of the backward pass, exact but for the
// rounding of out.
static void forward_row(struct attention_fixture &f, struct wanted &g, const struct oracle_row &r,
                        int b, int h, int i)
{
    const struct attention_case &c = f.c;
    float *out = const_cast<float *>(host_row(f.out, c, b, h, i));
    size_t at = (size_t)(out - f.out.host.data()), at_lse = (size_t)((b * c.H + h) * c.T + i);
    for (int d = 0; d < c.D; d++) {
        double sum = 0.0, size = 0.0;
        for (int j = 0; j <= i; j++) {
            double x = r.p[(size_t)j] * r.factor[(size_t)j] *
                       (double)host_row(f.qkv[2], c, b, h, j)[d];
            sum += x;
            size += fabs(x);
        }
        sums_add(g.out, at + (size_t)d, sum, (unit_of(c.dtype) + r.score_error) * size);
        out[d] = rounded((float)sum, c.dtype);
    }
    sums_add(g.lse, at_lse, r.lse, r.score_error + 0x1p-22 * fabs(r.lse));
    f.lse.host[at_lse] = (float)r.lse;
}

// The input of the backward pass.
static void forward_by_formula(struct attention_fixture &f, struct wanted *g)
{
    const struct attention_case &c = f.c;
    struct wanted own;
    if (!g) g = &own;
    sums_make(g->out, f.out.host.size()), sums_make(g->lse, f.lse.host.size());
    for (int b = 0; b < c.B; b++)
        for (int h = 0; h < c.H; h++)
            for (int i = 0; i < c.T; i++) {
                struct oracle_row r = oracle_row_of(f, b, h, i);
                forward_row(f, *g, r, b, h, i);
                if (g != &own) backward_row(f, *g, r, b, h, i);
            }
    matrix_put(f.out);
    matrix_put(f.lse);
}

static void see(const char *what, const struct sums &s, const std::vector<float> &got, double w,
                double before)
{
    struct worst worst = {what, 0.0};
    for (size_t i = 0; i < got.size(); i++)
        worst_see(worst, (double)got[i] - before, s.want[i],
                  s.bound[i] + w * (fabs(s.want[i]) + before));
    worst_check(worst);
}

static std::vector<float> read_floats(const float *dev, size_t n)
{
    std::vector<float> out(n);
    cudaMemcpy(out.data(), dev, n * 4, cudaMemcpyDeviceToHost);
    return out;
}

static std::vector<float> gradients_of(struct attention_fixture &f)
{
    check_call(cuda_attention_bwd(NULL, &f.a, f.workspace), "attention_bwd");
    std::vector<float> all;
    for (const struct tensor *t : {&f.a.dq, &f.a.dk, &f.a.dv}) {
        std::vector<float> part = tensor_get(*t);
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

static void both_passes_agree(const struct attention_case &c)
{
    struct attention_fixture f;
    struct wanted g;
    size_t n = (size_t)c.B * (size_t)c.T * (size_t)c.H * (size_t)c.D;
    const double w = unit_of(c.dtype);
    int before = failures;
    fixture_open(f, c);
    sums_make(g.dq, n), sums_make(g.dk, n), sums_make(g.dv, n);
    sums_make(g.table, (size_t)(c.H * f.a.bias.bias_table_n)), sums_make(g.offset, (size_t)c.H);
    check_call(cuda_attention(NULL, &f.a, f.workspace), "attention");
    std::vector<float> out = tensor_get(f.a.out), lse = tensor_get(f.a.lse);
    forward_by_formula(f, &g);
    see("out", g.out, out, w, 0.0);
    see("lse", g.lse, lse, 0.0, 0.0);
    std::vector<float> got = gradients_of(f);
    see("dq", g.dq, std::vector<float>(got.begin(), got.begin() + (long)n), w, 0.0);
    see("dk", g.dk, std::vector<float>(got.begin() + (long)n, got.begin() + 2 * (long)n), w, 0.0);
    see("dv", g.dv, std::vector<float>(got.begin() + 2 * (long)n, got.end()), w, 0.0);
    if (f.a.bias.bias_table_grad_dev) { // accumulated: they began at 1/4
        see("bias_table_grad", g.table,
            read_floats(f.a.bias.bias_table_grad_dev, g.table.want.size()), 0x1p-22, 0.25);
        see("tail_offset_grad", g.offset,
            read_floats(f.a.bias.tail_offset_grad_dev, (size_t)c.H), 0x1p-22, 0.25);
    }
    check_same("two runs", gradients_of(f), got);
    case_end(c, before);
}

// A query's row has the same bits in a longer input, and in a second run.
static void prefixes_have_the_same_bits(struct attention_case c, int32_t shorter)
{
    std::vector<float> got[3];
    int before = failures;
    for (int run = 0; run < 3; run++) {
        struct attention_fixture f;
        c.B = 1;
        int32_t whole = c.T;
        if (run == 2) c.T = shorter;
        fixture_open(f, c); // an element's index determines its value, so this is a prefix
        check_call(cuda_attention(NULL, &f.a, f.workspace), "attention");
        got[run] = tensor_get(f.a.out);
        std::vector<float> lse = tensor_get(f.a.lse);
        for (int h = 0; h < c.H; h++)
            got[run].insert(got[run].end(), lse.begin() + h * c.T, lse.begin() + h * c.T + shorter);
        if (run < 2) { // keep only the prefix
            size_t rows = (size_t)shorter * (size_t)(c.H * c.D);
            std::vector<float> part(got[run].begin(), got[run].begin() + (long)rows);
            part.insert(part.end(), got[run].begin() + (long)(c.T * c.H * c.D), got[run].end());
            got[run] = part;
        }
        c.T = whole;
    }
    check_same("two runs", got[1], got[0]);
    check_same("a prefix", got[2], got[0]);
    case_end(c, before);
}

// The tables' gradients of two runs from the same start.
static void table_gradients_repeat(const struct attention_case &c)
{
    std::vector<float> got[2];
    int before = failures;
    for (std::vector<float> &g : got) {
        struct attention_fixture f;
        fixture_open(f, c);
        forward_by_formula(f, NULL);
        gradients_of(f);
        g = read_floats(f.a.bias.bias_table_grad_dev, (size_t)(c.H * f.a.bias.bias_table_n));
        std::vector<float> far = read_floats(f.a.bias.tail_offset_grad_dev, (size_t)c.H);
        g.insert(g.end(), far.begin(), far.end());
    }
    check_same("two runs of the tables' gradients", got[1], got[0]);
    case_end(c, before);
}

// On tensor cores the gradients do not depend on the size of tiles.
static void tiles_change_no_bit(const struct attention_case &c)
{
    std::vector<float> got[SHARED_LIMITS_N];
    int before = failures;
    for (int i = 0; i < SHARED_LIMITS_N; i++) {
        struct attention_fixture f;
        shared_limit(shared_limits[i]);
        fixture_open(f, c);
        forward_by_formula(f, NULL);
        got[i] = gradients_of(f);
        if (f.a.bias.bias_table_grad_dev) {
            size_t n = (size_t)(c.H * f.a.bias.bias_table_n);
            std::vector<float> table = read_floats(f.a.bias.bias_table_grad_dev, n);
            got[i].insert(got[i].end(), table.begin(), table.end());
        }
        check_same("tiles of another size", got[i], got[0]);
    }
    case_end(c, before);
}

// Overwrites rows first ... end - 1 of head 0 with NaN.
static void poison(struct matrix &m, const struct attention_case &c, int32_t first, int32_t end)
{
    for (int32_t i = first; i < end; i++)
        for (int d = 0; d < c.D; d++) const_cast<float *>(host_row(m, c, 0, 0, i))[d] = NAN;
    matrix_put(m);
}

// Skipped tiles are not read: if values and output gradients there are NaN, the rest keeps its
// bits. Head 0 has slope 1/2.
static void skipped_tiles_are_not_read(void)
{
    const struct attention_case c = {1, 700, 8, 16, DTYPE_BF16, BIAS_SLOPE, 0, 0, false, 0};
    std::vector<float> got[2];
    int before = failures;
    for (int run = 0; run < 2; run++) {
        struct attention_fixture f;
        fixture_open(f, c);
        if (run) poison(f.qkv[2], c, 0, 192);
        check_call(cuda_attention(NULL, &f.a, f.workspace), "attention");
        std::vector<float> out = tensor_get(f.a.out);
        check_call(cuda_attention_bwd(NULL, &f.a, f.workspace), "attention_bwd");
        std::vector<float> dq = tensor_get(f.a.dq);
        if (run) { // restore the values, poison the last queries' gradients
            f = {};
            fixture_open(f, c);
            cuda_attention(NULL, &f.a, f.workspace);
            poison(f.dout, c, 640, 700);
            check_call(cuda_attention_bwd(NULL, &f.a, f.workspace), "attention_bwd");
        }
        std::vector<float> dk = tensor_get(f.a.dk), dv = tensor_get(f.a.dv);
        for (int d = 0; d < c.D; d++) {
            for (int i = 512; i < c.T; i++) {
                got[run].push_back(out[(size_t)(i * c.H * c.D + d)]);
                got[run].push_back(dq[(size_t)(i * c.H * c.D + d)]);
            }
            for (int i = 0; i < 128; i++) {
                got[run].push_back(dk[(size_t)(i * c.H * c.D + d)]);
                got[run].push_back(dv[(size_t)(i * c.H * c.D + d)]);
            }
        }
    }
    check_same("the rest, if skipped tiles hold NaN", got[1], got[0]);
    case_end(c, before);
}

int main(void)
{
    attention_cases(both_passes_agree);
    attention_wide_cases(both_passes_agree);
    for (int i : {1, 2}) tiles_change_no_bit(wide_cases[i]);
    // Widths that are not a multiple of 16 bytes, and unaligned rows.
    const struct attention_case odd[] = {{2, 70, 2, 12, DTYPE_BF16, BIAS_ALL, 9, 0.2f, true, 0},
                                         {2, 70, 2, 24, DTYPE_BF16, BIAS_ALL, 9, 0.2f, true, 0},
                                         {1, 64, 1, 64, DTYPE_BF16, BIAS_SLOPE, 0, 0.2f, false, 3},
                                         {1, 37, 2, 20, DTYPE_F32, BIAS_TABLE, 50, 0.0f, false, 3},
                                         {1, 257, 1, 64, DTYPE_BF16, BIAS_TABLE, 113, 0.1f, true, 0},
                                         {1, 257, 1, 64, DTYPE_F32, BIAS_TABLE, 113, 0.1f, true, 0},
                                         {2, 64, 1, 32, DTYPE_BF16, BIAS_TABLE, 65, 0.1f, true, 0}};
    for (const struct attention_case &c : odd) both_passes_agree(c);
    for (int32_t D : {16, 64, 128}) // narrow heads on tensor cores and in fp32, with a window too
        for (enum dtype dtype : {DTYPE_BF16, DTYPE_F32})
            both_passes_agree({1, 257, 3, D, dtype, BIAS_NONE, 0, 0.1f, true, 0, D == 64 ? 40 : 0,
                               0, D == 16 ? 3 : 2});
    for (int dtype = 0; dtype < 2; dtype++) {
        struct attention_case c = {2,         100, 2,    32,   dtype ? DTYPE_BF16 : DTYPE_F32,
                                   BIAS_TABLE, 40,  0.1f, true, 0};
        table_gradients_repeat(c);
        c.T = 150, c.p = 0.0f, c.bias_table_n = 20;
        for (int32_t shorter : {65, 131}) prefixes_have_the_same_bits(c, shorter);
        c.form = BIAS_SLOPE, c.D = 64;
        prefixes_have_the_same_bits(c, 100);
    }
    struct attention_case c = {1, 700, 2, 16, DTYPE_BF16, BIAS_SLOPE, 0, 0, true, 0};
    prefixes_have_the_same_bits(c, 530);
    skipped_tiles_are_not_read();
    return checks_report("attention");
}
