/* command_run.c - alibi run: runs what is missing. */
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"

static const double day_s = 86400.0, hour_s = 3600.0;

/* More than a day of work needs --yes; at a terminal, more than an hour is confirmed. */
static int check_duration(const struct planning *p, bool yes, struct err *e)
{
    char time[CLOCK_TEXT_BYTES], question[512];

    if (p->seconds_left <= hour_s || yes) return 0;
    clock_duration(time, p->seconds_left);
    if (p->seconds_left > day_s)
        return ERR(e, ERR_USAGE,
                   "scale %s is about %s of work on %s (%s); add --yes to start it, reduce it with "
                   "--only and --set, or use --scale mini",
                   p->plan.scale, time, p->device.name, p->device.description);
    if (!cli_can_ask()) return 0;
    snprintf(question, sizeof question, "This is about %s of work on %s (%s). Start it?", time,
             p->device.name, p->device.description);
    if (cli_ask(question)) return 0;
    return ERR(e, ERR_INTERRUPTED, "not started; pass --yes to start without confirmation");
}

/* Appends an option. */
static void add_executor_options(struct cli_option *option, const char **words)
{
    while (option->name) option++;
    for (int32_t i = 0; scheduler_option(i); i++) {
        const struct executor_option *x = scheduler_option(i);
        if (x->name)
            *option++ = (struct cli_option){x->name, 0, CLI_TEXT, &words[i], x->value, x->help};
    }
}

CLI_COMMAND(run)
{
    struct plan_options o = {0};
    struct scheduler_options so = {.tries = 3, .stall_s = 300};
    bool redo = false, reevaluate = false, failed = false, stale = false, yes = false;
    struct cli_option options[CLI_OPTIONS_MAX] = {
        CLI_PLANNING_OPTIONS(o, so.devices, CLI_DEVICES, DEVICES_SYNTAX),
        {"ranks", 0, CLI_COUNT, &o.ranks_n, "P",
         "compute each training on P devices (a power of two); its results do not change"},
        {"ranks-per-node", 0, CLI_COUNT, &so.ranks_per_node, "K",
         "of them on one node, with --devices slurm (default: at most 8)"},
        {"tries", 0, CLI_COUNT, &so.tries, "N", "attempts per failing run (default 3)"},
        {"keep-going", 'k', CLI_FLAG, &so.keep_going, NULL,
         "continue with other runs after a failure; accept runs that diverge"},
        {"redo", 0, CLI_FLAG, &redo, NULL, "replace existing results"},
        {"redo-evaluations", 0, CLI_FLAG, &reevaluate, NULL,
         "replace existing evaluations; keep trainings"},
        {"failed", 0, CLI_FLAG, &failed, NULL,
         "rerun only runs that failed, were lost or diverged"},
        {"stale", 0, CLI_FLAG, &stale, NULL,
         "rerun only results of another version of the program"},
        {"stall", 0, CLI_REAL, &so.stall_s, "S",
         "kill a worker after this many seconds without progress (default 300)"},
        {"yes", 'y', CLI_FLAG, &yes, NULL, "start more than a day of work, without confirmation"}};

    add_executor_options(options, so.words);

    TRY(cli_begin(c, options, e));
    if (redo + reevaluate + failed + stale > 1)
        return ERR(e, ERR_USAGE,
                   "--redo, --redo-evaluations, --failed and --stale exclude each other");
    if (so.stall_s <= 0)
        return ERR(e, ERR_USAGE, "--stall: expected more than 0 seconds, found %g", so.stall_s);
    so.pick = redo         ? PICK_REDO
              : reevaluate ? PICK_REEVALUATE
              : failed     ? PICK_FAILED
              : stale      ? PICK_STALE
                           : PICK_MISSING;
    so.quiet = c->quiet;
    so.ranks_n = o.ranks_n;
    /* Used only for the estimate: errors are ignored, because opening the file for writing creates,
     * migrates or rejects it. */
    (void)store_open(&c->store, c->results, STORE_READ, NULL);
    if (!file_exists(c->results) && file_exists(project_path(&c->project, &c->arena, "runs")))
        log_warn("no results.db, but runs/ exists: `alibi merge runs/` restores it and avoids "
                 "rerunning");
    struct planning *p = &c->planning;
    TRY(planning_open(p, &c->project, c->rest.item, c->rest.n, &o, so.devices, c->store, e));
    if (p->gpu)
        return ERR(
            e, ERR_USAGE,
            "--devices %s: only `alibi plan` takes the name of a GPU; expected " DEVICES_SYNTAX,
            so.devices);
    if (p->unusable.code < 0) return ERR(e, p->unusable.code, "%s", p->unusable.text);
    TRY(scheduler_check(&so, e));
    TRY(planning_check_precision(p, e));
    TRY(check_duration(p, yes, e));
    store_close(c->store);
    c->store = NULL;
    TRY(store_open(&c->store, c->results, STORE_WRITE, e));
    return workflow_run(c->store, &c->project, p, &o, &so, cli_show_progress, e);
}
