/* bench_gpu_table.c - a file of results as tables: of a case measured twice, the later line. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "bench/bench_gpu.h"

enum { TABLE_BYTES_MAX = 64 << 20, TABLE_LINES_MAX = 4096 };
static const double nominal_tflops = 989.5; /* bf16, dense, of an H100 or H200 */

struct table {
    json_t *line[TABLE_LINES_MAX]; /* the last of each case */
    int32_t n;
    double copy_gb_s, tflops[2]; /* measured; products by enum spec_precision */
};

static const char *text_of(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));
    return text ? text : "";
}

static double number_of(const json_t *line, const char *key)
{
    return json_number_value(json_object_get(line, key));
}

static bool is_bf16(const json_t *line)
{
    return strcmp(text_of(line, "precision"), "bf16") == 0;
}

static int read_lines(struct table *t, struct arena *a, const char *path, struct err *e)
{
    char *text = NULL, *rest = NULL;
    int32_t number = 0;
    TRY(file_read(a, &text, NULL, path, TABLE_BYTES_MAX, e));
    for (rest = text; rest && *rest;) {
        char *line = strsep(&rest, "\n");
        number++;
        if (!*line) continue;
        json_t *json = json_loads(line, 0, NULL);
        if (!json || !*text_of(json, "case")) {
            json_decref(json);
            return ERR(e, ERR_DATA, "%s:%d: not a line of bench_gpu", path, number);
        }
        int32_t i = 0;
        while (i < t->n && strcmp(text_of(t->line[i], "case"), text_of(json, "case")) != 0) i++;
        if (i == TABLE_LINES_MAX) {
            json_decref(json);
            return ERR(e, ERR_DATA, "%s: more than %d cases", path, TABLE_LINES_MAX);
        }
        if (i < t->n)
            json_decref(t->line[i]);
        else
            t->n++;
        t->line[i] = json;
    }
    return 0;
}

static void find_ceilings(struct table *t)
{
    for (int32_t i = 0; i < t->n; i++) {
        size_t k;
        json_t *row;
        if (strcmp(text_of(t->line[i], "case"), "ceilings") != 0) continue;
        json_array_foreach(json_object_get(t->line[i], "ops"), k, row)
        {
            double seconds = number_of(row, "median_s");
            if (!(seconds > 0.0)) continue;
            double gb_s = number_of(row, "bytes") / seconds * 1e-9;
            double tflops = number_of(row, "flops") / seconds * 1e-12;
            if (strcmp(text_of(row, "op"), "copy") == 0) t->copy_gb_s = gb_s;
            if (strcmp(text_of(row, "op"), "product bf16") == 0) t->tflops[SPEC_BF16] = tflops;
            if (strcmp(text_of(row, "op"), "product fp32") == 0) t->tflops[SPEC_FP32] = tflops;
        }
    }
}

static double share(double got, double most)
{
    return most > 0.0 ? 100.0 * got / most : 0.0;
}

/* An op's share is that of the ceiling it is nearer to. */
static void print_ops(const struct table *t, const json_t *line)
{
    size_t k;
    json_t *row;
    double most = t->tflops[is_bf16(line) ? SPEC_BF16 : SPEC_FP32];

    printf("\n%s on %s, %s\n", text_of(line, "case"), text_of(line, "device"),
           text_of(line, "gpu"));
    printf("  %-34s %10s %8s %9s %9s %10s\n", "op", "ms", "spread", "GB/s", "TFLOP/s",
           "of ceiling");
    json_array_foreach(json_object_get(line, "ops"), k, row)
    {
        double seconds = number_of(row, "median_s");
        if (!(seconds > 0.0)) {
            printf("  %-34s refused: %s\n", text_of(row, "op"), text_of(row, "refused"));
            continue;
        }
        double gb_s = number_of(row, "bytes") / seconds * 1e-9;
        double tflops = number_of(row, "flops") / seconds * 1e-12;
        double memory = share(gb_s, t->copy_gb_s), products = share(tflops, most);
        printf("  %-34s %10.4f %7.1f%% %9.0f %9.1f %9.0f%%\n", text_of(row, "op"), 1e3 * seconds,
               100.0 * (number_of(row, "high_s") - number_of(row, "low_s")) / seconds, gb_s, tflops,
               memory > products ? memory : products);
    }
}

static void print_steps(const struct table *t)
{
    printf("\n%-34s %9s %7s %9s %8s %6s %8s %8s %7s\n", "step", "ms", "spread", "tokens/s",
           "TFLOP/s", "MFU", "of prod.", "peak GB", "first s");
    for (int32_t i = 0; i < t->n; i++) {
        const json_t *line = t->line[i];
        double seconds = number_of(line, "median_s"), tflops = number_of(line, "tflops");
        if (!(number_of(line, "wps") > 0.0)) continue;
        printf("%-34s %9.3f %6.1f%% %9.0f %8.1f %5.1f%% %7.1f%% %8.2f %7.2f\n",
               text_of(line, "case"), 1e3 * seconds,
               100.0 * (number_of(line, "high_s") - number_of(line, "low_s")) / seconds,
               number_of(line, "wps"), tflops, share(tflops, nominal_tflops),
               share(tflops, t->tflops[is_bf16(line) ? SPEC_BF16 : SPEC_FP32]),
               1e-9 * number_of(line, "peak_memory_bytes"), number_of(line, "first_step_s"));
    }
}

/* Whether two lines differ in nothing but the position method. */
static bool are_a_group(const json_t *a, const json_t *b)
{
    return strncmp(text_of(a, "case"), text_of(b, "case"), 4) == 0 && is_bf16(a) == is_bf16(b) &&
           json_is_true(json_object_get(a, "dropout")) ==
               json_is_true(json_object_get(b, "dropout")) &&
           number_of(a, "L") == number_of(b, "L") && number_of(b, "wps") > 0.0;
}

static void print_tax(const struct table *t)
{
    printf("\nposition tax: the slowest method's speed over the fastest's\n");
    for (int32_t i = 0; i < t->n; i++) {
        const json_t *a = t->line[i], *slow = a, *fast = a;
        int32_t methods_n = 0;
        if (strcmp(text_of(a, "position"), "alibi") != 0 || !(number_of(a, "wps") > 0.0)) continue;
        for (int32_t k = 0; k < t->n; k++) {
            const json_t *b = t->line[k];
            if (!are_a_group(a, b)) continue;
            methods_n++;
            if (number_of(b, "wps") < number_of(slow, "wps")) slow = b;
            if (number_of(b, "wps") > number_of(fast, "wps")) fast = b;
        }
        if (methods_n < 4) continue;
        printf("  %-5.5s L %4.0f %s %s  %.3f  (%s / %s)\n", text_of(a, "case"), number_of(a, "L"),
               json_is_true(json_object_get(a, "dropout")) ? "dropout" : "plain  ",
               text_of(a, "precision"), number_of(slow, "wps") / number_of(fast, "wps"),
               text_of(slow, "position"), text_of(fast, "position"));
    }
}

static void print_peer(const struct table *t)
{
    bool any = false;
    for (int32_t i = 0; i < t->n; i++) {
        const json_t *line = t->line[i];
        double theirs = number_of(line, "torch_median_s"), ours = number_of(line, "ours_median_s");
        if (!(theirs > 0.0) || !(ours > 0.0)) continue;
        if (!any)
            printf("\n%-34s %9s %9s %7s %9s %9s  %s\n", "beside PyTorch", "ours ms", "torch ms",
                   "faster", "ours GB", "torch GB", "PyTorch, its best way");
        any = true;
        printf("%-34s %9.3f %9.3f %6.2fx %9.2f %9.2f  %s, %s\n", text_of(line, "case"), 1e3 * ours,
               1e3 * theirs, theirs / ours, 1e-9 * number_of(line, "ours_peak_bytes"),
               1e-9 * number_of(line, "torch_peak_bytes"), text_of(line, "torch"),
               text_of(line, "way"));
    }
}

int bench_table(const char *path, struct err *e)
{
    struct table t = {.n = 0};
    struct arena arena;

    arena_init(&arena);
    int rc = read_lines(&t, &arena, path, e);
    if (rc == 0) {
        find_ceilings(&t);
        for (int32_t i = 0; i < t.n; i++)
            if (json_object_get(t.line[i], "ops")) print_ops(&t, t.line[i]);
        print_steps(&t);
        print_tax(&t);
        print_peer(&t);
        for (int32_t i = 0; i < t.n; i++)
            if (*text_of(t.line[i], "refused"))
                printf("%-34s refused: %s\n", text_of(t.line[i], "case"),
                       text_of(t.line[i], "refused"));
    }
    for (int32_t i = 0; i < t.n; i++) json_decref(t.line[i]);
    arena_fini(&arena);
    return rc;
}
