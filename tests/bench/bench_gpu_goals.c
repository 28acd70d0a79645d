/* bench_gpu_goals.c - the goals for one GPU, and whether the measurements meet them.
 *
 * 1. A goal has one number for each of its cases: a key of a case, or the ratio of two, times a
 *    scale. In the names of cases, @ is a position method and # a length, from the goal's sets.
 * 2. The worst of these numbers counts. If some cases were not measured, the others are judged and
 *    their number is printed.
 * 3. A threshold is the lowest accepted number (AT_LEAST) or the highest (AT_MOST).
 * 4. Speed goals are set for an H200. On another GPU they are scaled by its peak of bf16 products
 *    (shape_peak_flops); a GPU without a known peak has no speed goals. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench_gpu.h"
#include "bench/bench_gpu_table.h"
#include "shape/shape.h"

enum goal_rule {
    EACH,       /* every number counts */
    OF_METHODS, /* for each length, the ratio of the lowest to the highest of the methods */
    OF_ALL      /* the ratio of the lowest to the highest of all */
};
enum goal_side { AT_LEAST, AT_MOST };
enum goal_unit { OF_ITSELF, OF_PEAK /* TFLOP/s as % of the peak */, SPEED, TIME };

/* Sets are bit masks over these lists. */
static const enum spec_position methods[] = {SPEC_ALIBI, SPEC_SINUSOIDAL, SPEC_ROTARY, SPEC_T5};
static const int32_t lengths[] = {512, 1024, 3072, 16384};
enum { METHODS_N = sizeof methods / sizeof *methods, LENGTHS_N = sizeof lengths / sizeof *lengths };
enum { ALIBI = 1, ALIBI_SINUSOIDAL = 3, T5 = 8, METHODS = 15 };
enum { L512 = 1, L1024 = 2, L3072 = 4, L512_3072 = 5, ALIBI_LENGTHS = 14, LENGTHS = 7, ONCE = 1 };

struct goal {
    const char *id, *what, *unit;
    enum goal_side side;
    double accept, scale;
    enum goal_rule rule;
    uint32_t method_set, length_set;
    const char *over, *over_key, *under, *under_key; /* under NULL: 1 */
    enum goal_unit kind;
};

#define TRAIN "train-@-#-bf16"
#define DROP "train-@-#-drop-bf16"
#define PEER "peer-train-@-#-bf16"
#define DROP_PEER "peer-train-@-#-drop-bf16"
#define PEER_1 "peer-eval1-@-#-bf16"
#define SLIDING "sliding-alibi-3072-bf16"
#define OURS "ours_median_s"
#define THEIRS "torch_median_s"

#define H200_FLOPS 989.5e12
#define VALIDATION_TARGETS 217646.0
#define PAPER_T5_WPS 4.9e3 /* Table 1: evaluation on a V100, L 3072 */

static const struct goal goals[] = {
    {"G1", "training, ALiBi, L 1024: MFU", "%", AT_LEAST, 50, 1, EACH, ALIBI, L1024, TRAIN,
     "tflops", NULL, NULL, OF_PEAK},
    {"G2", "the paper's update of 73,728 tokens: MFU", "%", AT_LEAST, 55, 1, EACH, ONCE, ONCE,
     "update-alibi-1024-bf16", "tflops", NULL, NULL, OF_PEAK},
    {"G3", "training, ALiBi and sinusoidal, over PyTorch", "x", AT_LEAST, 1.25, 1, EACH,
     ALIBI_SINUSOIDAL, LENGTHS, PEER, THEIRS, PEER, OURS, OF_ITSELF},
    {"G4", "with dropout, ALiBi, L 1024, over PyTorch", "x", AT_LEAST, 1.5, 1, EACH, ALIBI, L1024,
     DROP_PEER, THEIRS, DROP_PEER, OURS, OF_ITSELF},
    {"G4", "with dropout, ALiBi, L 3072, over PyTorch", "x", AT_LEAST, 2, 1, EACH, ALIBI, L3072,
     DROP_PEER, THEIRS, DROP_PEER, OURS, OF_ITSELF},
    {"G4", "a step with dropout over one without", "", AT_MOST, 1.03, 1, EACH, METHODS, LENGTHS,
     DROP, "median_s", TRAIN, "median_s", OF_ITSELF},
    {"G5", "training: slowest method over fastest", "", AT_LEAST, 0.97, 1, OF_METHODS, METHODS,
     LENGTHS, TRAIN, "wps", NULL, NULL, OF_ITSELF},
    {"G6", "training, T5, L 1024, over PyTorch", "x", AT_LEAST, 1.5, 1, EACH, T5, L1024, PEER,
     THEIRS, PEER, OURS, OF_ITSELF},
    {"G6", "training, T5, L 3072, over PyTorch", "x", AT_LEAST, 2, 1, EACH, T5, L3072, PEER, THEIRS,
     PEER, OURS, OF_ITSELF},
    {"G7", "training, L 3072: ALiBi over sinusoidal", "", AT_LEAST, 1.02, 1, EACH, ONCE, ONCE,
     "train-alibi-3072-bf16", "wps", "train-sinusoidal-3072-bf16", "wps", OF_ITSELF},
    {"G8", "training, ALiBi: L 3072 over L 512", "", AT_LEAST, 0.82, 1, EACH, ONCE, ONCE,
     "train-alibi-3072-bf16", "wps", "train-alibi-512-bf16", "wps", OF_ITSELF},
    {"G10", "the same updates twice: what differs", "", AT_MOST, 0, 1, EACH, METHODS, L1024,
     "repeat-@-#-drop-bf16", "differ", NULL, NULL, OF_ITSELF},
    {"G12", "host before the device begins a step", "us", AT_MOST, 100, 1e6, EACH, METHODS, LENGTHS,
     TRAIN, "queue_s", NULL, NULL, OF_ITSELF},
    {"E1", "evaluation, ALiBi, L 1024: tokens/s", "", AT_LEAST, 1.05e6, 1, EACH, ALIBI, L1024,
     "eval-@-#-bf16", "wps", NULL, NULL, SPEED},
    {"E2", "evaluation, ALiBi: L 16384 over L 1024", "", AT_LEAST, 0.65, 1, EACH, ONCE, ONCE,
     "eval-alibi-16384-bf16", "wps", "eval-alibi-1024-bf16", "wps", OF_ITSELF},
    {"E3", "evaluation, T5, L 3072, over the paper's", "x", AT_LEAST, 180, 1 / PAPER_T5_WPS, EACH,
     T5, L3072, "eval-@-#-bf16", "wps", NULL, NULL, SPEED},
    {"E4", "one window at a time, over PyTorch", "x", AT_LEAST, 2, 1, EACH, METHODS, L512_3072,
     PEER_1, THEIRS, PEER_1, OURS, OF_ITSELF},
    {"E5", "stride 1, L 3072, the whole validation set", "s", AT_MOST, 800, VALIDATION_TARGETS,
     EACH, ONCE, ONCE, SLIDING, "longest_target_s", NULL, NULL, TIME},
    {"E6", "Tables 13 to 15 in shared passes over apart", "", AT_MOST, 0.6, 1, EACH, ONCE, ONCE,
     SLIDING, "tables_together_s", SLIDING, "tables_apart_s", OF_ITSELF},
    {"E7", "scores of shared passes that differ", "", AT_MOST, 0, 1, EACH, ONCE, ONCE, SLIDING,
     "differ", NULL, NULL, OF_ITSELF},
    {"E9", "NLL changed by what ALiBi leaves out", "", AT_MOST, 1e-6, 1, EACH, ALIBI, ALIBI_LENGTHS,
     "skip-@-#-bf16", "most_nats", NULL, NULL, OF_ITSELF},
    {"M1", "peak memory of a training", "GB", AT_MOST, 8.5, 1e-9, EACH, METHODS, LENGTHS, TRAIN,
     "peak_memory_bytes", NULL, NULL, OF_ITSELF},
    {"M1", "the same, lowest over highest", "", AT_LEAST, 0.98, 1, OF_ALL, METHODS, LENGTHS, TRAIN,
     "peak_memory_bytes", NULL, NULL, OF_ITSELF},
    {"M3", "peak memory over PyTorch's", "", AT_MOST, 0.6, 1, EACH, METHODS, LENGTHS, PEER,
     "ours_peak_bytes", PEER, "torch_peak_bytes", OF_ITSELF},
    {"M4", "planned memory off the driver's", "%", AT_MOST, 1, 100, EACH, METHODS, LENGTHS, TRAIN,
     "planned_off", NULL, NULL, OF_ITSELF},
    {"S1", "from exec to the first update, L 1024", "s", AT_MOST, 1.5, 1, EACH, ALIBI, L1024, TRAIN,
     "first_step_s", NULL, NULL, OF_ITSELF},
    {"S6", "a training waits for a checkpoint", "s", AT_MOST, 0.2, 1, EACH, ALIBI, L1024,
     "checkpoint-@-#-bf16", "pause_s", NULL, NULL, OF_ITSELF},
};

/* The worst number of a goal; n of its `of` cases were measured. */
struct found {
    double worst;
    int32_t n, of;
};

static void name_case(char out[BENCH_NAME_BYTES], const char *pattern, int method, int length)
{
    size_t n = 0;
    for (; *pattern && n + 1 < BENCH_NAME_BYTES; pattern++) {
        size_t room = BENCH_NAME_BYTES - n;
        if (*pattern == '@')
            n += (size_t)snprintf(out + n, room, "%s", spec_position_name(methods[method]));
        else if (*pattern == '#')
            n += (size_t)snprintf(out + n, room, "%d", lengths[length]);
        else
            out[n++] = *pattern;
    }
    out[n < BENCH_NAME_BYTES ? n : BENCH_NAME_BYTES - 1] = '\0';
}

/* A key of a case; false if it was not measured. */
static bool key_of(double *out, const struct table *t, const char *pattern, const char *key,
                   int method, int length)
{
    char name[BENCH_NAME_BYTES];
    name_case(name, pattern, method, length);
    for (int32_t i = 0; i < t->n; i++) {
        const json_t *line = t->line[i], *value = json_object_get(line, key);
        if (strcmp(table_text(line, "case"), name) != 0) continue;
        if (json_is_true(json_object_get(line, "tiny")) || !json_is_number(value)) return false;
        *out = json_number_value(value);
        return true;
    }
    return false;
}

static bool number_of(double *out, const struct goal *g, const struct table *t, int method,
                      int length)
{
    double under = 1.0;
    if (!key_of(out, t, g->over, g->over_key, method, length)) return false;
    if (g->under && !key_of(&under, t, g->under, g->under_key, method, length)) return false;
    *out *= g->scale / under;
    return isfinite(*out);
}

static void found_add(struct found *f, const struct goal *g, double x)
{
    bool worse = g->side == AT_LEAST ? x < f->worst : x > f->worst;
    if (f->n == 0 || worse) f->worst = x;
    f->n++;
}

/* The ratio of the lowest to the highest number of a set, if there are at least two. */
static void found_spread(struct found *f, const struct goal *g, const struct table *t,
                         uint32_t length_set)
{
    double x, low = INFINITY, high = 0.0;
    int32_t n = 0;
    for (int l = 0; l < LENGTHS_N; l++)
        for (int m = 0; m < METHODS_N; m++) {
            if (!(length_set >> l & 1) || !(g->method_set >> m & 1)) continue;
            f->of++;
            if (!number_of(&x, g, t, m, l)) continue;
            low = fmin(low, x);
            high = fmax(high, x);
            n++;
        }
    if (n < 2) return;
    found_add(f, g, low / high);
    f->n += n - 1;
}

static struct found find(const struct goal *g, const struct table *t)
{
    struct found f = {.n = 0};
    double x;
    if (g->rule == OF_ALL) found_spread(&f, g, t, g->length_set);
    for (int l = 0; l < LENGTHS_N; l++) {
        uint32_t this_one = g->length_set & 1u << l;
        if (g->rule == OF_METHODS && this_one) found_spread(&f, g, t, this_one);
        for (int m = 0; g->rule == EACH && m < METHODS_N; m++) {
            if (!this_one || !(g->method_set >> m & 1)) continue;
            f.of++;
            if (number_of(&x, g, t, m, l)) found_add(&f, g, x);
        }
    }
    return f;
}

/* The GPU of the measurements. */
static const char *gpu_of(const struct table *t)
{
    for (int32_t i = 0; i < t->n; i++)
        if (*table_text(t->line[i], "gpu")) return table_text(t->line[i], "gpu");
    return "H200";
}

/* The goal, scaled for a GPU with that peak. */
static struct goal goal_for(const struct goal *g, double peak_flops)
{
    struct goal out = *g;
    if (g->kind == OF_PEAK) out.scale *= 100.0 * 1e12 / peak_flops;
    if (g->kind == SPEED) out.accept *= peak_flops / H200_FLOPS;
    if (g->kind == TIME) out.accept *= H200_FLOPS / peak_flops;
    return out;
}

static void print_goal(const struct goal *g, const struct found *f)
{
    printf("%-4s %-48s %s %7.4g %-2s ", g->id, g->what,
           g->side == AT_LEAST ? ">=" : "<=", g->accept, g->unit);
    if (f->n == 0) {
        printf("%9s    not measured\n", "-");
        return;
    }
    bool met = g->side == AT_LEAST ? f->worst >= g->accept : f->worst <= g->accept;
    double by = g->accept != 0.0 ? 100.0 * fabs(f->worst / g->accept - 1.0) : f->worst;
    printf("%9.4g %-2s ", f->worst, g->unit);
    if (met)
        printf("met");
    else
        printf("missed by %.3g%s", by, g->accept != 0.0 ? " %" : "");
    if (f->n < f->of) printf(", %d of %d cases", f->n, f->of);
    puts("");
}

void table_goals(const struct table *t)
{
    const char *gpu = gpu_of(t);
    double peak_flops = shape_peak_flops(gpu, SPEC_BF16);
    printf("\ngoals of one %s, the worst of the cases of each\n%-4s %-48s %13s %12s\n",
           peak_flops > 0.0 ? gpu : "GPU whose peak is unknown: none of speed", "", "", "accepted",
           "measured");
    for (size_t i = 0; i < sizeof goals / sizeof *goals; i++) {
        if (goals[i].kind != OF_ITSELF && !(peak_flops > 0.0)) continue;
        struct goal goal = goal_for(&goals[i], peak_flops);
        struct found f = find(&goal, t);
        print_goal(&goal, &f);
    }
}
