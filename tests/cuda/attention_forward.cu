// attention_forward.cu - the forward pass: compared with the formula, with its prefixes, and with a
// second run.
#include "attention_oracle.h"

static void forward_agrees(const struct attention_case &c)
{
    struct attention_fixture f;
    struct worst out = {"out", 0}, lse = {"lse", 0};
    const double w = c.dtype == DTYPE_BF16 ? 0x1p-8 : 0x1p-24;
    int before = failures;
    fixture_open(f, c);
    check_call(cuda_attention(NULL, &f.a, f.workspace), "attention");
    std::vector<float> got = tensor_get(f.a.out), got_lse = tensor_get(f.a.lse);
    for (int b = 0; b < c.B; b++)
        for (int h = 0; h < c.H; h++)
            for (int i = 0; i < c.T; i++) {
                struct oracle_row r = oracle_row_of(f, b, h, i);
                worst_see(lse, got_lse[(size_t)((b * c.H + h) * c.T + i)], r.lse,
                          r.score_error + 0x1p-22 * fabs(r.lse));
                for (int d = 0; d < c.D; d++) {
                    double sum = 0.0, size = 0.0;
                    for (int j = 0; j <= i; j++) {
                        double x = r.p[(size_t)j] * r.factor[(size_t)j] *
                                   (double)host_row(f.qkv[2], c, b, h, j)[d];
                        sum += x;
                        size += fabs(x);
                    }
                    size_t at = ((size_t)(b * c.T + i) * (size_t)c.H + (size_t)h) * (size_t)c.D;
                    worst_see(out, got[at + (size_t)d], sum,
                              w * (fabs(sum) + size) + r.score_error * size + 1e-30);
                }
            }
    worst_check(out);
    worst_check(lse);
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

int main(int argc, char **argv)
{
    bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    attention_cases(all, forward_agrees);
    attention_wide_cases(forward_agrees);
    // A width that is not a multiple of 16 bytes, and unaligned rows.
    const struct attention_case odd[] = {{2, 70, 2, 12, DTYPE_BF16, BIAS_ALL, 9, 0.2f, true, 0},
                                         {2, 70, 2, 24, DTYPE_BF16, BIAS_ALL, 9, 0.2f, true, 0},
                                         {1, 64, 1, 64, DTYPE_BF16, BIAS_SLOPE, 0, 0.2f, false, 3},
                                         {1, 37, 2, 20, DTYPE_F32, BIAS_TABLE, 50, 0.0f, false, 3}};
    for (const struct attention_case &c : odd) forward_agrees(c);
    for (int dtype = 0; dtype < 2; dtype++) {
        struct attention_case c = {1,         150, 2, 32,   dtype ? DTYPE_BF16 : DTYPE_F32,
                                   BIAS_TABLE, 20,  0, true, 0};
        for (int32_t shorter : {65, 131}) prefixes_have_the_same_bits(c, shorter);
        c.form = BIAS_SLOPE;
        c.D = 64;
        prefixes_have_the_same_bits(c, 100);
    }
    struct attention_case c = {1, 700, 2, 16, DTYPE_BF16, BIAS_SLOPE, 0, 0, true, 0};
    prefixes_have_the_same_bits(c, 530);
    return checks_report("attention forward");
}
