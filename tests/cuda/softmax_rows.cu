/* softmax_rows.cu - losses, gradients and log p, compared with the formulas in double.
 *
 * The argument of a term 2^(x log2(e) - k) is rounded twice, relative to its own size; the power adds
 * a few u. Sums of more than eight terms are in double. */
#include "rows_check.h"

/* Rows, classes: every block size, ragged ends, fewer classes than threads. */
static const int64_t shapes[][2] = {{1, 1},    {3, 2},    {16, 16},   {21, 77},
                                    {5, 1031}, {2, 4113}, {2, 20002}, {1, 40001}};

struct row_oracle {
    double lse, slack; /* the relative error of a term of average size */
};

static struct row_oracle oracle_row(const float *x, int64_t n)
{
    double high = -INFINITY, sum = 0.0, slack = 0.0;
    for (int64_t c = 0; c < n; c++) high = fmax(high, x[c]);
    for (int64_t c = 0; c < n; c++) sum += exp(x[c] - high);
    for (int64_t c = 0; c < n; c++) {
        double p = exp(x[c] - high) / sum;
        if (p > 0.0) slack += p * u * (8.0 + 2.0 * (high + 1.0 - x[c]));
    }
    struct row_oracle o = {high + log(sum), slack};
    return o;
}

/* Logits with a spread of a few tens. Some rows have an offset that fp32 hardly resolves. */
static struct matrix logits_make(int64_t rows, int64_t V, enum dtype dtype, struct layout l)
{
    struct matrix m = matrix_make(rows, V, dtype, l, 1, 6.0, 0.0);
    for (int64_t i = 0; i < rows * V; i++) m.host[(size_t)i] += i / V % 3 == 2 ? 1000.0f : 3.0f;
    matrix_put(m);
    return m;
}

static std::vector<int32_t> targets_make(int64_t rows, int64_t V, bool holes)
{
    std::vector<int32_t> out;
    for (int64_t r = 0; r < rows; r++)
        out.push_back(holes && r % 4 == 1 ? -1 : (int32_t)(word_at(2, (uint64_t)r) % (uint32_t)V));
    if (rows > 0 && !holes) out[0] = (int32_t)V - 1;
    return out;
}

static void check_loss(const std::vector<float> &x, const std::vector<int32_t> &target,
                       const std::vector<float> &loss, const std::vector<float> *gradient,
                       enum dtype dtype)
{
    int64_t rows = (int64_t)target.size(), V = (int64_t)x.size() / rows;
    struct worst w = {"loss", 0.0}, g = {"dlogits", 0.0};
    bool empty_is_zero = true;
    for (int64_t r = 0; r < rows; r++) {
        const float *row = &x[(size_t)(r * V)];
        int32_t t = target[(size_t)r];
        struct row_oracle o = oracle_row(row, V);
        if (t < 0) {
            empty_is_zero = empty_is_zero && loss[(size_t)r] == 0.0f;
            for (int64_t c = 0; c < V && gradient; c++)
                empty_is_zero = empty_is_zero && (*gradient)[(size_t)(r * V + c)] == 0.0f;
            continue;
        }
        worst_see(w, loss[(size_t)r], o.lse - row[t],
                  o.slack + u * fabs(o.lse - row[t]) + 1e-12 * fabs(o.lse));
        for (int64_t c = 0; c < V && gradient; c++) {
            double p = exp(row[c] - o.lse), want = p - (c == t);
            worst_see(g, (*gradient)[(size_t)(r * V + c)], want,
                      p * (o.slack + u * (8.0 + 2.0 * fabs(row[c] - o.lse))) +
                          (unit_of(dtype) + u) * fabs(want) + 1e-37);
        }
    }
    worst_check(w);
    worst_check(g);
    check(empty_is_zero, "a row without a target counts", "softmax_loss", rows, V);
}

static void losses_and_gradients(int64_t rows, int64_t V, enum dtype dtype, struct layout l)
{
    std::vector<int32_t> target = targets_make(rows, V, rows > 3);
    int32_t *target_dev = device_copy(target);
    for (int gradient = 0; gradient < 2; gradient++) {
        std::vector<float> got[2][2];
        for (int run = 0; run < 2; run++) {
            struct matrix x = logits_make(rows, V, dtype, l);
            struct matrix loss = matrix_make(1, rows, DTYPE_F32, layouts[0], 3, 1.0, 0.0);
            check_call(cuda_softmax_loss(NULL, args_of(softmax_loss_args{loss.t, x.t, target_dev,
                                                                         gradient != 0})),
                       "softmax_loss");
            got[run][0] = matrix_get(loss, "softmax_loss");
            got[run][1] = matrix_get(x, "softmax_loss");
            if (run == 0)
                check_loss(x.host, target, got[0][0], gradient ? &got[0][1] : NULL, dtype);
            if (!gradient) check_same("logits that are only read", got[run][1], x.host);
        }
        check_same("loss, two runs", got[1][0], got[0][0]);
        check_same("dlogits, two runs", got[1][1], got[0][1]);
    }
    device_free();
}

static void log_probabilities(int64_t rows, int64_t V, enum dtype dtype, struct layout l)
{
    std::vector<int32_t> target = targets_make(rows, V, false);
    int32_t *target_dev = device_copy(target);
    struct matrix x = logits_make(rows, V, dtype, l);
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        struct matrix logp = matrix_make(1, rows, DTYPE_F32, layouts[0], 4, 1.0, 0.0);
        check_call(cuda_softmax_logp(
                       NULL, args_of(softmax_logp_args{logp.t, x.t, target_dev, accumulate != 0})),
                   "logp");
        std::vector<float> got = matrix_get(logp, "softmax_logp");
        struct worst w = {"log p", 0.0};
        for (int64_t r = 0; r < rows; r++) {
            const float *row = &x.host[(size_t)(r * V)];
            struct row_oracle o = oracle_row(row, V);
            double value = row[target[(size_t)r]] - o.lse;
            double before = accumulate ? logp.host[(size_t)r] : 0.0;
            worst_see(w, got[(size_t)r], before + value,
                      o.slack + 2.0 * u * (fabs(value) + fabs(before)) + 1e-12 * fabs(o.lse));
        }
        worst_check(w);
    }
    device_free();
}

/* A row has the same bits alone, at any place, and among others. */
static void a_row_does_not_depend_on_others(enum dtype dtype)
{
    int64_t rows = 9, V = 4243;
    std::vector<int32_t> target = targets_make(rows, V, false);
    int32_t *target_dev = device_copy(target);
    struct matrix x = logits_make(rows, V, dtype, layouts[0]);
    struct matrix all = matrix_make(1, rows, DTYPE_F32, layouts[0], 4, 1.0, 0.0);
    struct matrix one = matrix_make(1, rows, DTYPE_F32, layouts[0], 5, 1.0, 0.0);
    check_call(cuda_softmax_logp(NULL, args_of(softmax_logp_args{all.t, x.t, target_dev, 0 != 0})),
               "logp");
    for (int64_t r = 0; r < rows; r++) {
        struct tensor row = x.t, out = one.t;
        row.rows = 1;
        row.data = (char *)row.data + (size_t)(r * row.stride) * dtype_bytes(dtype);
        out.cols = 1;
        out.data = (float *)out.data + r;
        check_call(
            cuda_softmax_logp(NULL, args_of(softmax_logp_args{out, row, target_dev + r, 0 != 0})),
            "logp");
    }
    check_same("log p of single rows", matrix_get(one, "logp"), matrix_get(all, "logp"));
    device_free();
}

/* Classes at minus infinity have probability 0; a NaN or plus infinity reaches the loss. */
static void logits_that_are_not_finite()
{
    static const float odd[] = {-INFINITY, NAN, INFINITY};
    int32_t *target_dev = device_copy(std::vector<int32_t>(3, 2));
    struct matrix x = matrix_make(3, 900, DTYPE_F32, layouts[0], 7, 1.0, 0.0);
    struct matrix logp = matrix_make(1, 3, DTYPE_F32, layouts[0], 8, 1.0, 0.0);
    for (int64_t r = 0; r < 3; r++) x.host[(size_t)(900 * r + 700)] = odd[r];
    matrix_put(x);
    check_call(cuda_softmax_logp(NULL, args_of(softmax_logp_args{logp.t, x.t, target_dev, 0 != 0})),
               "logp");
    std::vector<float> got = matrix_get(logp, "logp");
    struct row_oracle o = oracle_row(x.host.data(), 900);
    check(fabs(got[0] - (x.host[2] - o.lse)) < 1e-5, "minus infinity counts", "logp", 0, 0);
    check(got[1] != got[1] && !(fabs(got[2]) <= 3e38f), "a NaN is hidden", "logp", 1, 2);
    device_free();
}

/* One class has probability 1: loss and gradient are 0. */
static void a_single_class_costs_nothing()
{
    int64_t rows = 40;
    int32_t *target_dev = device_copy(std::vector<int32_t>((size_t)rows, 0));
    struct matrix x = matrix_make(rows, 1, DTYPE_F32, layouts[0], 9, 30.0, 0.0);
    struct matrix loss = matrix_make(1, rows, DTYPE_F32, layouts[0], 3, 1.0, 0.0);
    check_call(cuda_softmax_loss(NULL, args_of(softmax_loss_args{loss.t, x.t, target_dev, 1 != 0})),
               "softmax_loss");
    std::vector<float> zeros((size_t)rows, 0.0f);
    check_same("loss of a single class", matrix_get(loss, "softmax_loss"), zeros);
    check_same("gradient of a single class", matrix_get(x, "softmax_loss"), zeros);
    device_free();
}

int main(void)
{
    for (const int64_t *shape : shapes)
        for (enum dtype dtype : dtypes)
            for (int l = 0; l < LAYOUTS_N; l++) {
                if (shape[1] > 2000 && l != 1 + (int)dtype) continue;
                losses_and_gradients(shape[0], shape[1], dtype, layouts[l]);
                log_probabilities(shape[0], shape[1], dtype, layouts[l]);
            }
    losses_and_gradients(1, 267744, DTYPE_BF16, layouts[0]); /* the whole vocabulary */
    for (enum dtype dtype : dtypes) a_row_does_not_depend_on_others(dtype);
    logits_that_are_not_finite();
    a_single_class_costs_nothing();
    return checks_report("softmax");
}
