/* norm_rows.cu - LayerNorm, alone and after a residual sum, and its gradient, compared with the
 * formulas in double. Kernels add short sums, so we take the error of a sum of n terms to be at most
 * (8 + sqrt(n)) u times the sum of absolute terms. */
#include "rows_check.h"

/* Rows, columns: one element; rows of part of a warp; several rows a block; rows of several warps;
 * one row a block; 32 columns a thread. In most, blocks loop over rows. */
static const int64_t shapes[][2] = {{1, 1},    {3, 7},    {70, 16},  {19, 100},
                                    {5, 1024}, {3, 1031}, {3, 2048}, {3, 4100}};

struct oracle {
    std::vector<double> y, y_error, mean, deviation;
};

static double sum_error(int64_t n)
{
    return (8.0 + sqrt((double)n)) * u;
}

static struct oracle oracle_norm(const std::vector<float> &x, const std::vector<float> &gain,
                                 const std::vector<float> &bias, int64_t rows, int64_t cols)
{
    struct oracle o;
    for (int64_t r = 0; r < rows; r++) {
        const float *from = &x[(size_t)(r * cols)];
        double mean = 0.0, size = 0.0, variance = 0.0;
        for (int64_t c = 0; c < cols; c++) mean += from[c];
        mean /= (double)cols;
        for (int64_t c = 0; c < cols; c++) size += fabs((double)from[c]);
        for (int64_t c = 0; c < cols; c++) variance += (from[c] - mean) * (from[c] - mean);
        variance /= (double)cols;
        double deviation = 1.0 / sqrt(variance + (double)1e-5f), slack = sum_error(cols);
        double mean_error = slack * size / (double)cols;
        /* The error of the variance: that of its own sum, and the square of the mean's error. */
        double relative = slack + mean_error * mean_error * deviation * deviation;
        for (int64_t c = 0; c < cols; c++) {
            double hat = (from[c] - mean) * deviation, g = gain[(size_t)c], b = bias[(size_t)c];
            o.y.push_back(hat * g + b);
            o.y_error.push_back(fabs(g) * (deviation * (mean_error + u * fabs(from[c] - mean)) +
                                           fabs(hat) * (relative + 4.0 * u)) +
                                2.0 * u * (fabs(hat * g) + fabs(b)));
        }
        o.mean.push_back(mean);
        o.deviation.push_back(deviation);
    }
    return o;
}

static void check_layernorm(const char *where, const struct matrix &y, const struct matrix &stats,
                            const struct oracle &o)
{
    std::vector<float> got = matrix_get(y, where), got_stats = matrix_get(stats, where);
    struct worst w = {where, 0.0}, s = {"stats", 0.0};
    for (size_t i = 0; i < got.size(); i++)
        worst_see(w, got[i], o.y[i], o.y_error[i] + unit_of(y.t.dtype) * fabs(o.y[i]) + 1e-30);
    for (size_t r = 0; r < o.mean.size(); r++) {
        double slack = sum_error(y.t.cols);
        worst_see(s, got_stats[2 * r], o.mean[r], slack * (fabs(o.mean[r]) + 4.0));
        worst_see(s, got_stats[2 * r + 1], o.deviation[r], 4.0 * slack * o.deviation[r]);
    }
    worst_check(w);
    worst_check(s);
}

struct norm_case {
    struct matrix x, y, stats, gain, bias;
};

static struct norm_case norm_open(int64_t rows, int64_t cols, enum dtype dtype, struct layout l)
{
    struct norm_case k;
    k.x = matrix_make(rows, cols, dtype, l, 1, 1.5, 0.4);
    k.y = matrix_make(rows, cols, dtype, l, 2, 1.0, 0.0);
    k.stats = matrix_make(rows, 2, DTYPE_F32, layouts[0], 3, 1.0, 0.0);
    k.gain = matrix_make(1, cols, DTYPE_F32, layouts[0], 4, 0.5, 1.0);
    k.bias = matrix_make(1, cols, DTYPE_F32, layouts[0], 5, 0.5, 0.0);
    return k;
}

static void rows_are_normalised(int64_t rows, int64_t cols, enum dtype dtype, struct layout l)
{
    struct norm_case k = norm_open(rows, cols, dtype, l);
    struct oracle o = oracle_norm(k.x.host, k.gain.host, k.bias.host, rows, cols);
    std::vector<float> got[2];
    for (int run = 0; run < 2; run++) {
        check_call(cuda_layernorm(
                       NULL, args_of(layernorm_args{k.y.t, k.stats.t, k.x.t, k.gain.t, k.bias.t})),
                   "norm");
        got[run] = matrix_get(k.y, "norm");
    }
    check_layernorm("norm", k.y, k.stats, o);
    check_same("norm, two runs", got[1], got[0]);
    device_free();
}

/* The emulator is slow on long rows, so they get one form of each test. */
static bool is_long(int64_t cols)
{
    return cols > 500;
}

/* The kernel normalises the rounded sum, so the oracle starts from the stored sum. */
static void residual_sums_are_normalised(int64_t rows, int64_t cols, enum dtype dtype,
                                         struct layout l)
{
    for (int form = 0; form < 3;
         form++) { /* no dropout; dropout; dropout of listed rows, in place */
        if (is_long(cols) && form != 2) continue;
        struct norm_case k = norm_open(rows, cols, dtype, l);
        struct matrix r = matrix_make(rows, cols, dtype, l, 6, 1.0, 0.0);
        struct matrix s = matrix_make(rows, cols, dtype, l, 7, 1.0, 0.0);
        struct matrix &sum = form == 2 ? k.x : s;
        struct draw d = draw_make(form ? 0.2f : 0.0f, rows, form == 2, 99);
        struct worst w = {"residual sum", 0.0};
        std::vector<float> x = k.x.host;
        check_call(cuda_residual_layernorm(
                       NULL, args_of(residual_layernorm_args{sum.t, k.y.t, k.stats.t, k.x.t, r.t,
                                                             k.gain.t, k.bias.t, d.d})),
                   "residual_layernorm");
        std::vector<float> got = matrix_get(sum, "residual_layernorm");
        bool dropped = true;
        for (int64_t i = 0; i < rows * cols; i++) {
            double a = x[(size_t)i], factor = draw_factor(d, i / cols, i % cols, cols);
            double b = r.host[(size_t)i] * factor;
            worst_see(w, got[(size_t)i], a + b, unit_of(dtype) * fabs(a + b) + u * fabs(b) + 1e-30);
            if (factor == 0.0) dropped = dropped && got[(size_t)i] == x[(size_t)i];
        }
        worst_check(w);
        check(dropped, "a dropped element changed the sum", "residual_layernorm", rows, cols);
        check_layernorm("residual_layernorm", k.y, k.stats,
                        oracle_norm(got, k.gain.host, k.bias.host, rows, cols));
    }
    device_free();
}

struct gradient {
    struct matrix dx, dgain, dbias;
};

static struct gradient gradient_make(int64_t rows, int64_t cols, enum dtype dtype, struct layout l)
{
    struct gradient g;
    g.dx = matrix_make(rows, cols, dtype, l, 8, 1.0, 0.0);
    g.dgain = matrix_make(1, cols, DTYPE_F32, layouts[0], 9, 1.0, 0.0);
    g.dbias = matrix_make(1, cols, DTYPE_F32, layouts[0], 10, 1.0, 0.0);
    return g;
}

static void check_columns(const char *where, const std::vector<float> &got,
                          const std::vector<float> &before, const std::vector<double> &sum,
                          const std::vector<double> &size, int64_t rows)
{
    struct worst w = {where, 0.0};
    for (size_t c = 0; c < got.size(); c++)
        worst_see(w, got[c], before[c] + sum[c],
                  sum_error(rows) * size[c] + 2.0 * u * (fabs(before[c]) + fabs(sum[c])) + 1e-30);
    worst_check(w);
}

static void check_gradient(const struct norm_case &k, const struct gradient &g,
                           const std::vector<float> &dy, int accumulate)
{
    int64_t rows = k.x.t.rows, cols = k.x.t.cols;
    std::vector<float> dx = matrix_get(g.dx, "layernorm_bwd"),
                       stats = matrix_get(k.stats, "layernorm_bwd");
    std::vector<double> sum_g((size_t)cols), size_g(sum_g), sum_b(sum_g), size_b(sum_g);
    struct worst w = {"dx", 0.0};
    for (int64_t r = 0; r < rows; r++) {
        double mean = stats[(size_t)(2 * r)], deviation = stats[(size_t)(2 * r + 1)];
        double a = 0.0, b = 0.0, size_a = 0.0, size_ab = 0.0;
        for (int64_t c = 0; c < cols; c++) {
            size_t i = (size_t)(r * cols + c);
            double hat = (k.x.host[i] - mean) * deviation,
                   t = (double)dy[i] * k.gain.host[(size_t)c];
            a += t;
            b += t * hat;
            size_a += fabs(t);
            size_ab += fabs(t * hat);
            sum_g[(size_t)c] += dy[i] * hat;
            size_g[(size_t)c] += fabs(dy[i] * hat);
            sum_b[(size_t)c] += dy[i];
            size_b[(size_t)c] += fabs((double)dy[i]);
        }
        for (int64_t c = 0; c < cols; c++) {
            size_t i = (size_t)(r * cols + c);
            double hat = (k.x.host[i] - mean) * deviation,
                   t = (double)dy[i] * k.gain.host[(size_t)c];
            double n = (double)cols, before = accumulate ? g.dx.host[i] : 0.0;
            double want = before + deviation * (t - a / n - hat * b / n);
            double error = sum_error(cols) * (size_a + fabs(hat) * size_ab) / n +
                           8.0 * u * (fabs(t) + fabs(a / n) + fabs(hat * b / n));
            worst_see(w, dx[i], want,
                      deviation * error + unit_of(g.dx.t.dtype) * fabs(want) +
                          2 * u * fabs(before));
        }
    }
    worst_check(w);
    check_columns("dgain", matrix_get(g.dgain, "dgain"), g.dgain.host, sum_g, size_g, rows);
    check_columns("dbias", matrix_get(g.dbias, "dbias"), g.dbias.host, sum_b, size_b, rows);
}

static void gradients_follow_the_formula(int64_t rows, int64_t cols, enum dtype dtype,
                                         struct layout l)
{
    struct norm_case k = norm_open(rows, cols, dtype, l);
    struct matrix dy = matrix_make(rows, cols, dtype, l, 11, 1.0, 0.1);
    struct layernorm_bwd_args sizes = {};
    sizes.x = k.x.t;
    size_t bytes = cuda_layernorm_bwd_workspace(&sizes);
    void *workspace = device_copy(std::vector<float>(bytes / sizeof(float), NAN));
    check_call(
        cuda_layernorm(NULL, args_of(layernorm_args{k.y.t, k.stats.t, k.x.t, k.gain.t, k.bias.t})),
        "norm");
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        if (is_long(cols) && accumulate != (dtype == DTYPE_BF16)) continue;
        std::vector<float> got[2][3];
        for (int run = 0; run < 2; run++) {
            if (is_long(cols) && run > 0 && dtype == DTYPE_F32) continue;
            struct gradient g = gradient_make(rows, cols, dtype, l);
            struct layernorm_bwd_args a = {g.dx.t, g.dgain.t, g.dbias.t, dy.t,
                                           k.x.t,  k.stats.t, k.gain.t,  accumulate != 0};
            check_call(cuda_layernorm_bwd(NULL, &a, workspace), "layernorm_bwd");
            if (run == 0) check_gradient(k, g, dy.host, accumulate);
            got[run][0] = matrix_get(g.dx, "layernorm_bwd");
            got[run][1] = matrix_get(g.dgain, "layernorm_bwd");
            got[run][2] = matrix_get(g.dbias, "layernorm_bwd");
        }
        for (int i = 0; i < 3 && !got[1][0].empty(); i++)
            check_same("layernorm_bwd, two runs", got[1][i], got[0][i]);
    }
    device_free();
}

/* The fused kernel has the bits of layernorm_bwd added to ds, then of dropout applied to stored ds.
 */
static void residual_gradients_are_those_of_both(int64_t rows, int64_t cols, enum dtype dtype,
                                                 struct layout l)
{
    struct norm_case k = norm_open(rows, cols, dtype, l);
    struct matrix dy = matrix_make(rows, cols, dtype, l, 11, 1.0, 0.1);
    struct matrix dr = matrix_make(rows, cols, dtype, l, 12, 1.0, 0.0);
    struct draw d = draw_make(0.2f, rows, false, 98);
    std::vector<float> got[2][3], want((size_t)(rows * cols));
    struct layernorm_bwd_args sizes = {};
    sizes.x = k.x.t;
    size_t bytes = cuda_layernorm_bwd_workspace(&sizes);
    void *workspace = device_copy(std::vector<float>(bytes / sizeof(float), NAN));
    check_call(
        cuda_layernorm(NULL, args_of(layernorm_args{k.y.t, k.stats.t, k.x.t, k.gain.t, k.bias.t})),
        "norm");
    for (int fused = 0; fused < 2; fused++) {
        struct gradient g = gradient_make(rows, cols, dtype, l);
        struct residual_layernorm_bwd_args both = {g.dx.t, dr.t,      g.dgain.t, g.dbias.t, dy.t,
                                                   k.x.t,  k.stats.t, k.gain.t,  d.d};
        struct layernorm_bwd_args alone = {g.dx.t, g.dgain.t, g.dbias.t, dy.t,
                                           k.x.t,  k.stats.t, k.gain.t,  true};
        int rc = fused ? cuda_residual_layernorm_bwd(NULL, &both, workspace)
                       : cuda_layernorm_bwd(NULL, &alone, workspace);
        check_call(rc, "residual_layernorm_bwd");
        got[fused][0] = matrix_get(g.dx, "residual_layernorm_bwd");
        got[fused][1] = matrix_get(g.dgain, "residual_layernorm_bwd");
        got[fused][2] = matrix_get(g.dbias, "residual_layernorm_bwd");
    }
    for (int i = 0; i < 3; i++) check_same("residual_layernorm_bwd", got[1][i], got[0][i]);
    for (int64_t i = 0; i < rows * cols; i++) {
        float x = got[0][0][(size_t)i] * (float)draw_factor(d, i / cols, i % cols, cols);
        want[(size_t)i] = dtype == DTYPE_BF16 ? __bfloat162float(__float2bfloat16(x)) : x;
    }
    check_same("dr", matrix_get(dr, "residual_layernorm_bwd"), want);
    device_free();
}

/* Alignment changes how rows are read, not the result. */
static void alignment_does_not_change_bits()
{
    std::vector<float> got[2];
    for (int run = 0; run < 2; run++) {
        struct norm_case k = norm_open(6, 520, DTYPE_F32, layouts[run ? 2 : 0]);
        check_call(cuda_layernorm(
                       NULL, args_of(layernorm_args{k.y.t, k.stats.t, k.x.t, k.gain.t, k.bias.t})),
                   "norm");
        got[run] = matrix_get(k.y, "norm");
    }
    check_same("norm of other alignment", got[1], got[0]);
    device_free();
}

int main(void)
{
    for (const int64_t *shape : shapes)
        for (enum dtype dtype : dtypes)
            for (int l = 0; l < LAYOUTS_N; l++) {
                int64_t rows = shape[0], cols = shape[1];
                if (cols > 50 && l != 1 + (int)dtype) continue; /* one layout a dtype */
                rows_are_normalised(rows, cols, dtype, layouts[l]);
                residual_sums_are_normalised(rows, cols, dtype, layouts[l]);
                gradients_follow_the_formula(rows, cols, dtype, layouts[l]);
                residual_gradients_are_those_of_both(rows, cols, dtype, layouts[l]);
            }
    alignment_does_not_change_bits();
    struct matrix wide = matrix_make(1, 8193, DTYPE_F32, layouts[0], 1, 1.0, 0.0);
    check(cuda_layernorm(NULL, args_of(layernorm_args{wide.t, wide.t, wide.t, wide.t, wide.t})) ==
              cudaErrorInvalidValue,
          "a row too long is taken", "norm", 1, 8193);
    return checks_report("norm");
}
