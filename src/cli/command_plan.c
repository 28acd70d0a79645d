/* command_plan.c - alibi plan: lists the runs, why they would run, and their cost. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "cli/cli.h"

/* Returns the state of a run, and with --budget whether it fits. fit: NULL without --budget. */
static const char *state_text(const struct planning *p, const struct planning_fit *fit, int32_t i,
                              struct arena *a)
{
    const char *within = p->seconds[i] <= 0            ? ""
                         : planning_is_too_large(p, i) ? ", needs more memory"
                         : !fit                        ? ""
                         : fit->fits[i]                ? ", fits"
                                                       : ", beyond the budget";

    return arena_printf(a, "%s%s", planning_why(p, i, a), within);
}

/* Returns the training's seed; "-": it has none. */
static const char *seed_text(const struct spec *s, struct arena *a)
{
    const struct spec_key *seed = spec_key_find("train.seed");
    return spec_key_describes(seed, s) ? spec_get(s, seed, a) : "-";
}

/* Width of the column of the settings that distinguish trainings; 0: it is left out. */
static int settings_width(const struct planning *p)
{
    size_t width = 0;

    for (int32_t i = 0; i < p->plan.runs_n; i++)
        if (p->plan.run[i].spec.kind != SPEC_EVAL && strlen(p->settings[i]) > width)
            width = strlen(p->settings[i]);
    return width > 0 && width < strlen("settings") ? (int)strlen("settings") : (int)width;
}

static void print_training(const struct planning *p, const struct planning_fit *fit, int32_t i,
                           int32_t evaluations, int width, struct arena *a)
{
    const struct plan_run *r = &p->plan.run[i];
    char time[CLOCK_TEXT_BYTES] = "-";

    if (!p->state[i].done) clock_duration(time, p->seconds[i]);
    cli_print("%s  %-5s  %-10s  %7d  %4s  %11s  %9.2e  %8s  %8s  %10s  %11d  %-*s%s%s\n", r->run_id,
              spec_kind_name(r->spec.kind), spec_position_name(r->spec.model.position),
              r->spec.train.L, seed_text(&r->spec, a), str_thousands(a, r->cost.parameters_n),
              r->cost.flops, str_bytes(a, (double)r->cost.device_bytes),
              str_bytes(a, (double)r->cost.disk_kept_bytes), time, evaluations, width,
              p->settings[i], width ? "  " : "", state_text(p, fit, i, a));
}

static void print_evaluation(const struct planning *p, const struct planning_fit *fit, int32_t i,
                             struct arena *a)
{
    const struct plan_run *r = &p->plan.run[i];
    const struct spec_eval *v = &r->spec.eval;
    char time[CLOCK_TEXT_BYTES] = "-";

    if (!p->state[i].done) clock_duration(time, p->seconds[i]);
    cli_print("%s  eval   %-10s  %7d  %4s  %s L_valid %d%s of %s  %.2e FLOP  %s  %s%s%s\n",
              r->run_id, spec_position_name(r->spec.model.position), r->spec.train.L,
              seed_text(&r->spec, a), spec_get(&r->spec, spec_key_find("eval.window"), a), v->L,
              v->window == SPEC_SLIDING ? arena_printf(a, " stride %d", v->stride) : "",
              r->spec.data.corpus, r->cost.flops, time, p->settings[i], *p->settings[i] ? "  " : "",
              state_text(p, fit, i, a));
}

static void print_totals(const struct planning *p, struct arena *a)
{
    double flops = 0, memory = 0, disk = 0;

    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        if ((double)r->cost.device_bytes > memory) memory = (double)r->cost.device_bytes;
        disk += (double)r->cost.disk_kept_bytes;
        if (!p->state[i].done && spec_is_defined(&r->spec)) flops += r->cost.flops;
    }
    cli_print("%d training%s, %d evaluation%s", p->trainings_n, cli_plural(p->trainings_n),
              p->evaluations_n, cli_plural(p->evaluations_n));
    if (p->benchmarks_n)
        cli_print(", %d benchmark%s", p->benchmarks_n, cli_plural(p->benchmarks_n));
    cli_print(": %d done, %d to do", p->done_n, p->runs_n - p->done_n - p->undefined_n);
    if (p->undefined_n) cli_print(", %d not defined", p->undefined_n);
    cli_print("; %.3g FLOP, at most %s of memory for the model of a run, %s of disk\n", flops,
              str_bytes(a, memory), str_bytes(a, disk));
}

static const char *basis_text(const struct planning *p, struct arena *a)
{
    const char *device = p->device.description;

    if (p->basis == PLANNING_MEASURED) return "measured by earlier runs";
    if (p->basis == PLANNING_GUESSED)
        return p->device.is_cluster ? "at the speed of this machine's processor"
                                    : "estimated from the device";
    return arena_printf(
        a, "modelled, not measured: %.0f %% of its peak of %g TFLOP/s in bf16, %g in fp32",
        100 * PLANNING_PEAK_SHARE, 1e-12 * shape_peak_flops(device, SPEC_BF16),
        1e-12 * shape_peak_flops(device, SPEC_FP32));
}

/* Below this a GPU waits for launches. */
static const int64_t small_parameters_n = 50000000;

/* True if a bf16 run's attention does not use the tensor cores (cuda/attention.cuh, rule 1). */
static bool attends_in_fp32(const struct spec *s)
{
    const struct position_functions *f = position_methods[s->model.position].functions;
    struct position_shape shape = spec_position_shape(s);
    int32_t width = spec_head_width(&s->model), pairs = position_pairs(f, &shape);

    return width > 128 || f->growth || (pairs > 0 && 2 * pairs != width);
}

static void print_modelled(const struct planning *p, struct arena *a)
{
    int32_t fp32_n = 0, large_n = 0, slow_n = 0;
    int64_t parameters_n = 0;

    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        if (p->seconds[i] <= 0) continue;
        fp32_n += r->spec.kind != SPEC_EVAL && spec_precision(&r->spec, NULL) == SPEC_FP32;
        large_n += planning_is_too_large(p, i);
        slow_n += spec_precision(&r->spec, NULL) == SPEC_BF16 && attends_in_fp32(&r->spec);
        if (r->cost.parameters_n > parameters_n) parameters_n = r->cost.parameters_n;
    }
    if (parameters_n < small_parameters_n)
        cli_print(
            "note: a model of %s parameters does not fill a GPU and takes longer than modelled\n",
            str_thousands(a, parameters_n));
    else
        cli_print("%.1f GPU-hours\n", p->work_s / 3600);
    if (fp32_n > 0 && parameters_n >= small_parameters_n)
        cli_print("note: fp32 does not use the tensor cores; add --set train.precision=bf16 --set "
                  "eval.precision=bf16\n");
    if (slow_n > 0)
        cli_print("note: the attention of %d bf16 run%s does not use the tensor cores and takes "
                  "longer than modelled (cuda/README.md says which)\n",
                  slow_n, cli_plural(slow_n));
    if (large_n > 0)
        cli_print("note: %d run%s need%s more than the %s of its memory\n", large_n,
                  cli_plural(large_n), large_n == 1 ? "s" : "",
                  str_bytes(a, (double)p->device.memory_bytes));
}

/* Prints where the weights of pretrained models are, and their size. */
static void print_models(const struct planning *p, struct arena *a)
{
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct spec *s = &p->plan.run[i].spec;
        if (!p->model[i]) continue;
        cli_print("model %s: %s, %s, L_train=%d, %s of %s in %s\n", s->model.name,
                  p->model[i]->family, position_methods[s->model.position].display, s->train.L,
                  str_bytes(a, (double)p->model[i]->bytes), p->model[i]->dtype,
                  p->model[i]->folder);
    }
}

/* The sizes are not published: a weight has at most 4 bytes. */
static void print_downloads(const struct planning *p, struct arena *a)
{
    double bytes = 0;
    int32_t n = 0;

    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        if (!planning_is_published(p, i)) continue;
        bytes += (double)p->plan.run[i].cost.disk_kept_bytes;
        n++;
    }
    if (n > 0)
        cli_print("to download: %d checkpoint%s, about %s (modelled: 4 bytes a parameter), kept "
                  "under data/fetched beside the imported weights: %s of disk in all\n",
                  n, cli_plural(n), str_bytes(a, bytes), str_bytes(a, 2 * bytes));
}

static void print_time(const struct planning *p, struct arena *a)
{
    char time[CLOCK_TEXT_BYTES];

    clock_duration(time, p->seconds_left);
    cli_print("about %s on %s (%s, %d at a time; %s)\n", time, p->device.name,
              p->device.description, p->device.slots, basis_text(p, a));
    if (p->ranks_n > p->device.slots)
        cli_print("note: --ranks %d takes as many devices, but %s has %d\n", p->ranks_n,
                  p->device.name, p->device.slots);
    if (p->unusable.code < 0) cli_print("note: %s\n", p->unusable.text);
    if (p->basis == PLANNING_MODELLED && p->work_s > 0) print_modelled(p, a);
}

/* Prints a line for each number of processes that the shards of a training to do can feed and whose
 * memory the GPU has. */
static void print_ranks(const struct planning *p, struct arena *a)
{
    const struct shape_gpu *gpu = shape_find_gpu(p->device.description);
    char time[CLOCK_TEXT_BYTES];
    struct err none = {0};
    int32_t n = 0, trainings_n = 1;

    for (int32_t ranks = 1; trainings_n > 0; ranks *= 2) {
        int64_t bytes = 0;
        double longest_s = 0;
        trainings_n = 0;
        for (int32_t i = 0; i < p->plan.runs_n; i++) {
            const struct spec *s = &p->plan.run[i].spec;
            if (!planning_trains(p, i) || shape_leaves(s->train.shards) == 1 ||
                shape_check_ranks(s->train.shards, ranks, &none) < 0)
                continue;
            int64_t own = shape_rank_bytes(s, ranks, gpu);
            double seconds = planning_seconds(p, i, ranks);
            if (own > bytes) bytes = own;
            if (seconds > longest_s) longest_s = seconds;
            trainings_n++;
        }
        if (trainings_n == 0 || (gpu && bytes > p->device.memory_bytes)) continue;
        if (n++ == 0) cli_print("ranks  memory each  longest training\n");
        clock_duration(time, longest_s);
        cli_print("%5d  %11s  %16s\n", ranks, str_bytes(a, (double)bytes), time);
    }
    if (n == 0) return;
    cli_print(
        "note: the times of several ranks are modelled, not measured: each is a process of one "
        "training (--ranks) with a device of its own; ");
    if (gpu && gpu->link_gb > 0)
        cli_print(
            "they exchange gradients and weights at %.0f %% of %g GB/s, between machines of %d "
            "at %g GB/s\n",
            100 * SHAPE_LINK_SHARE, gpu->link_gb, SHAPE_NODE_GPUS, SHAPE_NETWORK_GB);
    else
        cli_print("the exchange of gradients and weights is not counted\n");
}

/* Prints how many runs fit into --budget. */
static void print_fit(const struct planning *p, const struct planning_fit *fit, double budget_s,
                      struct arena *a)
{
    char budget[CLOCK_TEXT_BYTES], used[CLOCK_TEXT_BYTES], beyond[CLOCK_TEXT_BYTES];

    clock_duration(budget, budget_s);
    clock_duration(used, fit->seconds);
    cli_print("within %s: %d of %d %s with their evaluations, shortest first", budget,
              fit->fitting_n, fit->pieces_n,
              p->benchmarks_n ? "trainings and benchmarks" : "trainings");
    cli_print(fit->fitting_n ? ", done after about %s\n" : "\n", used);
    if (fit->shortest < 0) return;
    const struct spec *s = &p->plan.run[fit->shortest].spec;
    clock_duration(used, fit->shortest_s);
    clock_duration(beyond, fit->beyond_s);
    const char *on = p->ranks_n > 1 ? arena_printf(a, "%d devices", p->ranks_n) : "one device";
    cli_print(
        "beyond it: %d, which take %s of %s; the shortest is %s %s L_train=%d seed %s with %s\n",
        fit->beyond_n, beyond, on, spec_kind_name(s->kind), spec_position_name(s->model.position),
        s->train.L, seed_text(s, a), used);
    cli_print("a training that is stopped resumes from its checkpoint when the same command runs "
              "again\n");
}

/* Prints lines for experiments/paper_configs.txt: each configuration once, without its seeds. */
static int print_configs(const struct plan *p, struct arena *a, struct err *e)
{
    struct map printed;
    bool added;

    map_init(&printed, a);
    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct plan_run *r = &p->run[i];
        const struct spec *s = &r->spec;
        const struct spec_eval *v = &s->eval;
        if (!r->paper_id[0])
            return ERR(e, ERR_USAGE,
                       "--configs lists runs of scale paper, found scale %s; add --scale paper",
                       s->scale);
        (void)map_put(&printed, r->paper_id, strlen(r->paper_id), &added);
        if (!added) continue;
        cli_print("%s %s %s %s L_train=%d", r->paper_id, spec_kind_name(s->kind), s->data.dataset,
                  spec_position_name(s->model.position), s->train.L);
        if (s->kind == SPEC_BENCH) cli_print(" %s", spec_get(s, spec_key_find("bench.mode"), a));
        if (s->kind == SPEC_EVAL)
            cli_print(" %s %s", spec_get(s, spec_key_find("eval.split"), a),
                      spec_get(s, spec_key_find("eval.window"), a));
        if (spec_valid_length(s)) cli_print(" L_valid=%d", spec_valid_length(s));
        if (s->kind == SPEC_EVAL && v->window == SPEC_SLIDING) cli_print(" stride=%d", v->stride);
        cli_print("\n");
    }
    return 0;
}

static void print_plan(const struct planning *p, const struct project *project, bool all,
                       double budget_s, struct arena *a)
{
    struct err lacking = {0};
    struct planning_fit within, *fit = budget_s > 0 ? &within : NULL;
    int width = settings_width(p);
    int32_t *evaluations = arena_array(a, (size_t)p->plan.runs_n + 1, sizeof *evaluations);

    for (int32_t i = 0; i < p->plan.runs_n; i++)
        if (p->plan.run[i].spec.kind == SPEC_EVAL) evaluations[p->plan.run[i].train]++;
    if (fit) planning_fit(fit, p, budget_s, a);

    for (int32_t i = 0; i < p->plan.artefacts_n; i++)
        cli_print("%s: %s\n", p->plan.artefact[i].name, p->plan.artefact[i].title);
    cli_print("scale %s\n\n", p->plan.scale);
    cli_print(
        "run id            kind   position    L_train  seed   parameters       FLOP    memory      "
        "disk        time  evaluations  %-*s%sstate\n",
        width, width ? "settings" : "", width ? "  " : "");
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        if (p->plan.run[i].spec.kind != SPEC_EVAL)
            print_training(p, fit, i, evaluations[i], width, a);
        else if (all)
            print_evaluation(p, fit, i, a);
    }
    cli_print("\n");
    for (int32_t i = 0; i < p->plan.notes.n; i++) /* with words of the grid, such as if_missing */
        cli_print("note: %s\n", str_clean(a, p->plan.notes.item[i], ""));
    for (int32_t i = 0; i < p->plan.runs_n; i++)
        if (p->gone[i]) cli_print("note: %s\n", p->gone[i]);
    print_totals(p, a);
    print_models(p, a);
    print_downloads(p, a);
    print_time(p, a);
    print_ranks(p, a);
    if (fit) print_fit(p, fit, budget_s, a);
    if (planning_check_precision(p, &lacking) < 0) cli_print("note: %s\n", lacking.text);
    if (planning_check_models(p, project, &lacking) < 0) cli_print("note: %s\n", lacking.text);
}

CLI_COMMAND(plan)
{
    struct plan_options o = {0};
    const char *devices = NULL;
    bool all = false, configs = false;
    double budget_s = 0;
    const struct cli_option options[] = {
        CLI_PLANNING_OPTIONS(o, devices, CLI_HARDWARE, DEVICES_SYNTAX " or a GPU such as h100x8"),
        {"ranks", 0, CLI_COUNT, &o.ranks_n, "P",
         "cost of trainings by P processes, each on a device (default 1)"},
        {"budget", 0, CLI_DURATION, &budget_s, "TIME",
         "show which runs end within 24h (or 90m, 3d), shortest first"},
        {"all", 'a', CLI_FLAG, &all, NULL, "list evaluations too"},
        {"configs", 0, CLI_FLAG, &configs, NULL, "print lines for experiments/paper_configs.txt"},
        {0}};

    TRY(cli_begin(c, options, e));
    if (configs && o.set) return ERR(e, ERR_USAGE, "--configs cannot be combined with --set");
    struct planning *p = &c->planning;
    TRY(planning_open(p, &c->project, c->rest.item, c->rest.n, &o, devices, c->store, e));
    if (configs) return print_configs(&p->plan, &c->arena, e);
    print_plan(p, &c->project, all, budget_s, &c->arena);
    return 0;
}
