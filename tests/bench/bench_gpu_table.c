/* bench_gpu_table.c - prints a file of results as tables; the last line of a case counts. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "bench/bench_gpu.h"
#include "bench/bench_gpu_table.h"
#include "shape/shape.h"

enum { TABLE_BYTES_MAX = 64 << 20 };

static bool is_bf16(const json_t *line)
{
    return strcmp(table_text(line, "precision"), "bf16") == 0;
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
        if (!json || !*table_text(json, "case")) {
            json_decref(json);
            return ERR(e, ERR_DATA, "%s:%d: not a line of bench_gpu", path, number);
        }
        int32_t i = 0;
        while (i < t->n && strcmp(table_text(t->line[i], "case"), table_text(json, "case")) != 0)
            i++;
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
        if (strcmp(table_text(t->line[i], "case"), "ceilings") != 0) continue;
        json_array_foreach(json_object_get(t->line[i], "ops"), k, row)
        {
            double seconds = table_number(row, "median_s");
            if (!(seconds > 0.0)) continue;
            double gb_s = table_number(row, "bytes") / seconds * 1e-9;
            double tflops = table_number(row, "flops") / seconds * 1e-12;
            if (strcmp(table_text(row, "op"), "copy") == 0) t->copy_gb_s = gb_s;
            if (strcmp(table_text(row, "op"), "product bf16") == 0) t->tflops[SPEC_BF16] = tflops;
            if (strcmp(table_text(row, "op"), "product fp32") == 0) t->tflops[SPEC_FP32] = tflops;
        }
    }
}

static double share(double got, double most)
{
    return most > 0.0 ? 100.0 * got / most : 0.0;
}

/* An op's share is relative to the ceiling it is nearer to. */
static void print_ops(const struct table *t, const json_t *line)
{
    size_t k;
    json_t *row;
    double most = t->tflops[is_bf16(line) ? SPEC_BF16 : SPEC_FP32];

    printf("\n%s on %s, %s\n", table_text(line, "case"), table_text(line, "device"),
           table_text(line, "gpu"));
    printf("  %-34s %10s %8s %9s %9s %10s\n", "op", "ms", "spread", "GB/s", "TFLOP/s",
           "of ceiling");
    json_array_foreach(json_object_get(line, "ops"), k, row)
    {
        double seconds = table_number(row, "median_s");
        if (!(seconds > 0.0)) {
            printf("  %-34s refused: %s\n", table_text(row, "op"), table_text(row, "refused"));
            continue;
        }
        double gb_s = table_number(row, "bytes") / seconds * 1e-9;
        double tflops = table_number(row, "flops") / seconds * 1e-12;
        double memory = share(gb_s, t->copy_gb_s), products = share(tflops, most);
        printf("  %-34s %10.4f %7.1f%% %9.0f %9.1f %9.0f%%\n", table_text(row, "op"), 1e3 * seconds,
               100.0 * (table_number(row, "high_s") - table_number(row, "low_s")) / seconds, gb_s,
               tflops, memory > products ? memory : products);
    }
}

static void print_steps(const struct table *t)
{
    printf("\n%-34s %9s %7s %9s %8s %6s %8s %8s %7s\n", "step", "ms", "spread", "tokens/s",
           "TFLOP/s", "MFU", "of prod.", "peak GB", "first s");
    for (int32_t i = 0; i < t->n; i++) {
        const json_t *line = t->line[i];
        double seconds = table_number(line, "median_s"), tflops = table_number(line, "tflops");
        enum spec_precision precision = is_bf16(line) ? SPEC_BF16 : SPEC_FP32;
        if (!(table_number(line, "wps") > 0.0)) continue;
        printf("%-34s %9.3f %6.1f%% %9.0f %8.1f %5.1f%% %7.1f%% %8.2f %7.2f\n",
               table_text(line, "case"), 1e3 * seconds,
               100.0 * (table_number(line, "high_s") - table_number(line, "low_s")) / seconds,
               table_number(line, "wps"), tflops,
               share(tflops, 1e-12 * shape_peak_flops(table_text(line, "gpu"), precision)),
               share(tflops, t->tflops[precision]), 1e-9 * table_number(line, "peak_memory_bytes"),
               table_number(line, "first_step_s"));
    }
}

/* Whether two lines differ only in the position method. */
static bool are_a_group(const json_t *a, const json_t *b)
{
    return strncmp(table_text(a, "case"), table_text(b, "case"), 4) == 0 &&
           is_bf16(a) == is_bf16(b) &&
           json_is_true(json_object_get(a, "dropout")) ==
               json_is_true(json_object_get(b, "dropout")) &&
           table_number(a, "L") == table_number(b, "L") && table_number(b, "wps") > 0.0;
}

static void print_tax(const struct table *t)
{
    printf("\nposition tax: the slowest method's speed over the fastest's\n");
    for (int32_t i = 0; i < t->n; i++) {
        const json_t *a = t->line[i], *slow = a, *fast = a;
        int32_t methods_n = 0;
        if (strcmp(table_text(a, "position"), "alibi") != 0 || !(table_number(a, "wps") > 0.0))
            continue;
        for (int32_t k = 0; k < t->n; k++) {
            const json_t *b = t->line[k];
            if (!are_a_group(a, b)) continue;
            methods_n++;
            if (table_number(b, "wps") < table_number(slow, "wps")) slow = b;
            if (table_number(b, "wps") > table_number(fast, "wps")) fast = b;
        }
        if (methods_n < 4) continue;
        printf("  %-5.5s L %4.0f %s %s  %.3f  (%s / %s)\n", table_text(a, "case"),
               table_number(a, "L"),
               json_is_true(json_object_get(a, "dropout")) ? "dropout" : "plain  ",
               table_text(a, "precision"), table_number(slow, "wps") / table_number(fast, "wps"),
               table_text(slow, "position"), table_text(fast, "position"));
    }
}

static void print_peer(const struct table *t)
{
    bool any = false;
    for (int32_t i = 0; i < t->n; i++) {
        const json_t *line = t->line[i];
        double theirs = table_number(line, "torch_median_s"),
               ours = table_number(line, "ours_median_s");
        if (!(theirs > 0.0) || !(ours > 0.0)) continue;
        if (!any)
            printf("\n%-34s %9s %9s %7s %9s %9s  %s\n", "compared with PyTorch", "ours ms",
                   "torch ms", "faster", "ours GB", "torch GB", "PyTorch, its best way");
        any = true;
        printf("%-34s %9.3f %9.3f %6.2fx %9.2f %9.2f  %s, %s\n", table_text(line, "case"),
               1e3 * ours, 1e3 * theirs, theirs / ours,
               1e-9 * table_number(line, "ours_peak_bytes"),
               1e-9 * table_number(line, "torch_peak_bytes"), table_text(line, "torch"),
               table_text(line, "way"));
    }
}

static void print_skip(const struct table *t)
{
    bool any = false;
    for (int32_t i = 0; i < t->n; i++) {
        const json_t *line = t->line[i];
        double skipping = table_number(line, "skipping_s");
        if (!(skipping > 0.0)) continue;
        if (!any)
            printf("\n%-34s %9s %9s %9s %9s  %s\n", "what ALiBi leaves out", "live", "ms",
                   "dense ms", "NLL off", "weights");
        any = true;
        const char *trained = table_text(line, "trained");
        printf("%-34s %8.1f%% %9.3f %9.3f %9.2g  %s\n", table_text(line, "case"),
               100.0 * table_number(line, "live_share"), 1e3 * skipping,
               1e3 * table_number(line, "dense_s"), table_number(line, "most_nats"),
               *trained ? trained : "initial");
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
        print_skip(&t);
        print_peer(&t);
        table_goals(&t);
        for (int32_t i = 0; i < t.n; i++)
            if (*table_text(t.line[i], "refused"))
                printf("%-34s refused: %s\n", table_text(t.line[i], "case"),
                       table_text(t.line[i], "refused"));
    }
    for (int32_t i = 0; i < t.n; i++) json_decref(t.line[i]);
    arena_fini(&arena);
    return rc;
}
