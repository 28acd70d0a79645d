/* optimizer_block.cu - the gradient norm, NAG and Adam on a parameter block, compared with the
 * formulas in double. */
#include "rows_check.h"

static const int64_t lengths[] = {1, 7, 64, 1000, 4097, 20001};

static double host_squares(const std::vector<float> &x)
{
    double sum = 0.0;
    for (float v : x) sum += (double)v * v;
    return sum;
}

static double device_squares(const struct matrix &x, double *out_dev)
{
    double out = 0.0;
    struct sum_squares_args a = {out_dev, (const float *)x.t.data, x.t.cols};
    void *workspace = device_copy(std::vector<double>(cuda_sum_squares_workspace(&a) / 8, NAN));
    check_call(cuda_sum_squares(NULL, &a, workspace), "sum_squares");
    cudaDeviceSynchronize();
    cudaMemcpy(&out, out_dev, sizeof out, cudaMemcpyDeviceToHost);
    return out;
}

/* Squares are exact in double; a sum of n numbers has at most n roundings. */
static void squares_are_summed_in_double(int64_t n, struct layout l)
{
    struct matrix x = matrix_make(1, n, DTYPE_F32, l, 1, 1.0, 0.0);
    double *out_dev = device_copy(std::vector<double>(1, NAN));
    double got = device_squares(x, out_dev), want = host_squares(x.host);
    check(fabs(got - want) <= (double)n * 0x1p-52 * want, "sum_squares", "far off", n, l.shift);
    check(got == device_squares(x, out_dev), "sum_squares", "two runs differ", n, l.shift);
    device_free();
}

struct setting {
    struct step_state step;
    float decay;
    bool copy;
};

static const struct setting settings[] = {
    {{0.3f, 0.3f, 0.01f, 0.0f, 0, 1, 0}, 0.0f, false},
    {{0.3f, 0.2f, 0.01f, 0.1f, 1, 2, 0}, 0.0f, true},    /* clipped, the rate changed */
    {{0.01f, 0.0f, 1.0f, 1e9f, 7, 1000, 0}, 0.1f, true}, /* not clipped, decay, no rate before */
};

/* A block in device memory for one update. */
struct block {
    struct matrix theta, first, second, grad, copy;
    double *squares_dev;
    struct step_state *step_dev;
    double factor; /* of the gradient */
};

static struct block block_open(int64_t n, const struct setting &s, struct layout l)
{
    struct block b;
    b.theta = matrix_make(1, n, DTYPE_F32, l, 2, 1.0, 0.0);
    b.first = matrix_make(1, n, DTYPE_F32, l, 3, 0.1, 0.0);
    b.second = matrix_make(1, n, DTYPE_F32, l, 4, 0.1, 0.0);
    for (float &v : b.second.host) v = v * v;
    matrix_put(b.second);
    b.grad = matrix_make(1, n, DTYPE_F32, layouts[0], 5, 3.0, 0.0);
    b.copy = matrix_make(1, n, DTYPE_BF16, layouts[0], 6, 1.0, 0.0);
    b.squares_dev = device_copy(std::vector<double>(1, NAN));
    b.step_dev = device_copy(std::vector<struct step_state>(1, s.step));
    device_squares(b.grad, b.squares_dev);
    double norm = s.step.gradient_scale * sqrt(host_squares(b.grad.host));
    double clip = s.step.clip > 0.0f ? s.step.clip / (norm + 1e-6) : 1.0;
    b.factor = s.step.gradient_scale * fmin(clip, 1.0);
    return b;
}

static void check_copy(const struct block &b, const std::vector<float> &theta, bool copied)
{
    std::vector<float> want = b.copy.host;
    for (size_t i = 0; i < want.size() && copied; i++) want[i] = rounded(theta[i], DTYPE_BF16);
    check_same("bf16 copy", matrix_get(b.copy, "copy"), want);
}

/* The formulas of fairseq's NAG, as in backend.h. Each result is a sum of at most three products
 * whose factors are rounded once. */
static void nag_follows_the_formula(int64_t n, const struct setting &s, struct layout l)
{
    const double mu = 0.99f;
    std::vector<float> got[2];
    for (int run = 0; run < 2; run++) {
        struct block b = block_open(n, s, l);
        double lr = s.step.lr, before = s.step.lr_previous,
               ratio = before != 0.0 ? lr / before : lr;
        struct nag_args a = {(float *)b.theta.t.data,
                             (float *)b.first.t.data,
                             (const float *)b.grad.t.data,
                             n,
                             0.99f,
                             s.decay,
                             b.squares_dev,
                             b.step_dev,
                             s.copy ? b.copy.t.data : NULL};
        check_call(cuda_nag(NULL, &a), "nag");
        got[run] = matrix_get(b.theta, "nag");
        std::vector<float> momentum = matrix_get(b.first, "nag");
        struct worst t = {"nag theta", 0.0}, m = {"nag momentum", 0.0};
        for (size_t i = 0; i < got[run].size(); i++) {
            double g = b.factor * b.grad.host[i], old = b.first.host[i], x = b.theta.host[i];
            double a = (1.0 - lr * s.decay) * x, c = mu * mu * ratio * old, d = (1.0 + mu) * lr * g;
            worst_see(t, got[run][i], a + c - d, 5.0 * u * (fabs(a) + fabs(c) + fabs(d)));
            worst_see(m, momentum[i], mu * ratio * old - lr * g,
                      4.0 * u * (fabs(mu * ratio * old) + fabs(lr * g)));
        }
        worst_check(t);
        worst_check(m);
        check_copy(b, got[run], s.copy);
    }
    check_same("nag, two runs", got[1], got[0]);
    device_free();
}

/* Relative errors of the step: m 4 u; the root half of v's 6 u, plus 3 u; the rest 5 u. */
static void adam_follows_the_formula(int64_t n, const struct setting &s, struct layout l)
{
    const double beta1 = 0.9f, beta2 = 0.98f, eps = 1e-8f, lr = s.step.lr;
    struct block b = block_open(n, s, l);
    struct adam_args a = {(float *)b.theta.t.data,
                          (float *)b.first.t.data,
                          (float *)b.second.t.data,
                          (const float *)b.grad.t.data,
                          n,
                          0.9f,
                          0.98f,
                          1e-8f,
                          s.decay,
                          b.squares_dev,
                          b.step_dev,
                          s.copy ? b.copy.t.data : NULL};
    check_call(cuda_adam(NULL, &a), "adam");
    std::vector<float> theta = matrix_get(b.theta, "adam"), first = matrix_get(b.first, "adam");
    std::vector<float> second = matrix_get(b.second, "adam");
    struct worst t = {"adam theta", 0.0}, m = {"adam m", 0.0}, v = {"adam v", 0.0};
    for (size_t i = 0; i < theta.size(); i++) {
        double g = b.factor * b.grad.host[i], x = b.theta.host[i];
        double mean = beta1 * b.first.host[i] + (1.0 - beta1) * g;
        double square = beta2 * b.second.host[i] + (1.0 - beta2) * g * g;
        double size = fabs(beta1 * b.first.host[i]) + fabs((1.0 - beta1) * g);
        double step = lr / (1.0 - pow(beta1, s.step.adam_step));
        double root = sqrt(square / (1.0 - pow(beta2, s.step.adam_step))) + eps;
        double shrink = (1.0 - lr * s.decay) * x;
        worst_see(m, first[i], mean, 4.0 * u * size + 1e-37);
        worst_see(v, second[i], square, 6.0 * u * square + 1e-37);
        worst_see(t, theta[i], shrink - step * mean / root,
                  3.0 * u * fabs(shrink) + 15.0 * u * step * size / root);
    }
    worst_check(t);
    worst_check(m);
    worst_check(v);
    check_copy(b, theta, s.copy);
    device_free();
}

int main(int argc, char **argv)
{
    for (int64_t n : lengths)
        for (struct layout l : layouts) {
            squares_are_summed_in_double(n, l);
            if (n > 2000 && l.shift != 0) continue;
            for (const struct setting &s : settings) {
                nag_follows_the_formula(n, s, l);
                adam_follows_the_formula(n, s, l);
            }
        }
    /* More than the parts hold in one step each. */
    if (argc > 1 && strcmp(argv[1], "all") == 0) squares_are_summed_in_double(9000003, layouts[0]);
    return checks_report("optimizer");
}
