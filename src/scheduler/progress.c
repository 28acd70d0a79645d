/* progress.c - one line on stderr, and the counts of a queue. */
#include "scheduler/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "scheduler/attempt.h"
#include "scheduler/call.h"
#include "scheduler/queue.h"
#include "scheduler/slots.h"

enum { PROGRESS_LIVE_US = 200000, PROGRESS_PLAIN_US = 10000000, PROGRESS_LINE_BYTES = 512 };

void progress_open(struct progress_line *m, bool quiet, const char *headline)
{
    const char *terminal = getenv("TERM");

    *m = (struct progress_line){.quiet = quiet, .headline = headline ? headline : "run"};
    m->live = !quiet && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
    m->painted_us = clock_monotonic_us();
}

static void progress_write(const char *text, size_t n)
{
    while (n > 0) {
        ssize_t wrote = write(STDERR_FILENO, text, n);
        if (wrote <= 0) return; /* the terminal is gone; continue */
        text += wrote;
        n -= (size_t)wrote;
    }
}

void progress_clear(struct progress_line *m)
{
    static const char erase[] = "\r\033[K";

    if (m->shown) progress_write(erase, sizeof erase - 1);
    m->shown = false;
}

void progress_print(struct progress_line *m, bool live_too, const char *format, ...)
{
    char line[PROGRESS_LINE_BYTES * 2];
    va_list args;

    if (m->quiet || (m->live && !live_too)) return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    progress_clear(m);
    log_info("%s", line);
    if (m->live) m->painted_us = 0; /* redraw at once */
}

double progress_eta(const struct progress_work *w)
{
    if (w->worker_s < 1.0 || !(w->flops_done > 0) || w->slots_n < 1) return -1;
    double flops_per_s = w->flops_done / w->worker_s; /* of one slot */
    return fmax(w->flops_left / w->slots_n, w->flops_longest_left) / flops_per_s;
}

double progress_slot_seconds(const struct scheduler *sc, const struct attempt *at)
{
    double seconds = (double)(scheduler_now_us(sc) - at->start_us) / 1e6;
    return seconds * (at->slots_n > 0 ? at->slots_n : 1);
}

double progress_own_flops(const struct attempt *at, const struct run *run, double share)
{
    bool continues = run->spec.train.from[0] != '\0';
    return run->flops * (share - (continues ? 0 : at->journal.share_before));
}

static void add_left(struct progress_work *w, double flops, int32_t slots_n)
{
    w->flops_left += flops;
    w->flops_longest_left = fmax(w->flops_longest_left, flops / slots_n);
}

/* Adds up the work. *wps: tokens per second of all workers that run. */
static struct progress_work measure_work(const struct scheduler *sc, double *wps)
{
    struct progress_work w = {
        .slots_n = sc->slots.n, .flops_done = sc->flops_done, .worker_s = sc->worker_s};

    *wps = 0;
    for (int32_t i = 0; i < sc->queue.n; i++)
        if (sc->queue.entry[i].state == RUN_WAITING)
            add_left(&w, sc->queue.run[i].flops, slots_width(&sc->slots, &sc->queue.run[i].spec));
    for (int32_t i = 0; i < sc->running_n; i++) {
        const struct attempt *at = sc->running[i];
        double flops = 0;
        for (int32_t k = 0; k < at->entries_n; k++) {
            const struct run *run = &sc->queue.run[at->entry[k]];
            flops += run->flops;
            w.flops_done += progress_own_flops(at, run, at->journal.share);
        }
        add_left(&w, flops - flops * at->journal.share, at->slots_n > 0 ? at->slots_n : 1);
        w.worker_s += progress_slot_seconds(sc, at);
        *wps += at->journal.wps;
    }
    return w;
}

void progress_format(struct strbuf *line, const struct scheduler *sc)
{
    char left[CLOCK_TEXT_BYTES];
    struct scheduler_result r;
    double wps;
    const struct progress_work work = measure_work(sc, &wps);
    double eta = progress_eta(&work);

    progress_fill_result(&r, &sc->queue);
    strbuf_addf(line, "%s: %ld/%ld done, %ld running", sc->progress.headline,
                (long)(r.already_done + r.done), (long)r.wanted, (long)sc->running_n);
    if (r.failed > 0) strbuf_addf(line, ", %ld failed", (long)r.failed);
    if (r.diverged > 0) strbuf_addf(line, ", %ld diverged", (long)r.diverged);
    if (sc->stopping) {
        strbuf_add(line, ", stopping");
        return;
    }
    /* A worker knows its rate after its first batch, which may take minutes. */
    if (wps >= 0.5)
        strbuf_addf(line, ", %s tokens/s", str_thousands(line->arena, llround(fmin(wps, 1e15))));
    if (eta < 0) return;
    clock_duration(left, eta);
    strbuf_addf(line, ", about %s left", left);
}

/* A line wider than the terminal would wrap and could not be overwritten. */
static size_t terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20) return 79;
    return size.ws_col - 1u;
}

void progress_draw(struct scheduler *sc)
{
    struct progress_line *m = &sc->progress;
    int64_t now = clock_monotonic_us();
    struct arena a;
    struct strbuf line;

    if (m->quiet || now - m->painted_us < (m->live ? PROGRESS_LIVE_US : PROGRESS_PLAIN_US)) return;
    m->painted_us = now;
    arena_init(&a);
    strbuf_init(&line, &a);
    progress_format(&line, sc);
    if (m->live) {
        size_t columns = terminal_columns();
        progress_clear(m);
        progress_write(line.text, line.n < columns ? line.n : columns);
        m->shown = true;
    } else {
        log_info("%s", line.text);
    }
    arena_fini(&a);
}

void progress_name(char out[PROGRESS_NAME_BYTES], const struct spec *s)
{
    const char *position = spec_position_name(s->model.position);

    static const char *const window[] = {
        [SPEC_NONOVERLAPPING] = "", [SPEC_SLIDING] = " sliding", [SPEC_ROLLING] = " rolling"};

    if (s->kind == SPEC_EVAL)
        snprintf(out, PROGRESS_NAME_BYTES, "evaluate %s L=%ld at %ld%s", position, (long)s->train.L,
                 (long)s->eval.L, window[s->eval.window]);
    else
        snprintf(out, PROGRESS_NAME_BYTES, "%s %s L=%ld seed %lld",
                 s->kind == SPEC_TRAIN ? "train" : "measure", position, (long)s->train.L,
                 (long long)s->train.seed);
}

/* --- the queue ------------------------------------------------------------------------------ */

static const char *plural(int32_t n)
{
    return n == 1 ? "" : "s";
}

void progress_fill_result(struct scheduler_result *r, const struct queue *q)
{
    int32_t *const counter[] = {
        [RUN_SKIPPED] = &r->already_done,
        [RUN_WAITING] = &r->not_started,
        [RUN_RUNNING] = &r->not_started,
        [RUN_BLOCKED] = &r->not_started,
        [RUN_DONE] = &r->done,
        [RUN_FAILED] = &r->failed,
        [RUN_DIVERGED] = &r->diverged,
        [RUN_CANCELLED] = &r->cancelled,
    };

    *r = (struct scheduler_result){0};
    for (int32_t i = 0; i < q->n; i++) {
        /* A run that this call does not want. */
        if (q->entry[i].state == RUN_SKIPPED && !q->entry[i].was_done) continue;
        r->wanted++;
        ++*counter[q->entry[i].state];
    }
}

void progress_print_start(struct progress_line *m, const struct queue *q, const struct slots *sl)
{
    static const char *const names[] = {"training", "evaluation", "measurement"};
    int32_t n[3] = {0}, done_n = 0, diverged_n = 0;
    const char *ranks = "";
    struct arena a;
    struct strbuf counts;

    for (int32_t i = 0; i < q->n; i++) {
        if (q->entry[i].state == RUN_WAITING) n[q->run[i].spec.kind]++;
        done_n += q->entry[i].was_done;
        diverged_n += q->entry[i].state == RUN_DIVERGED;
    }
    arena_init(&a);
    strbuf_init(&counts, &a);
    for (int k = 0; k < 3; k++)
        if (n[k] > 0)
            strbuf_addf(&counts, "%s%ld %s%s", counts.n ? ", " : "", (long)n[k], names[k],
                        plural(n[k]));
    if (sl->ranks_n > 1) ranks = arena_printf(&a, ", %ld ranks a training", (long)sl->ranks_n);
    if (counts.n == 0)
        progress_print(m, true, "%s: nothing to start, %ld run%s done%s; results are in results.db",
                       m->headline, (long)done_n, done_n == 1 ? " is" : "s are",
                       diverged_n ? arena_printf(&a, ", %ld diverged", (long)diverged_n) : "");
    else
        progress_print(
            m, true,
            "%s: %s to do, %ld done before, %ld worker%s%s; results go to results.db, attempts "
            "to runs/",
            m->headline, counts.text, (long)done_n, (long)sl->n, plural(sl->n), ranks);
    arena_fini(&a);
}

/* Reports the runs that one training blocks: its evaluations, and trainings that continue it. */
static void print_blocked(struct progress_line *m, const struct queue *q, int32_t train)
{
    int32_t held_n = 0, children_n = 0;
    char name[PROGRESS_NAME_BYTES];
    struct arena a;
    enum run_state state = q->entry[train].state;

    if (state != RUN_DIVERGED && state != RUN_FAILED && state != RUN_BLOCKED) return;
    for (int32_t i = train + 1; i < q->n; i++) {
        bool held = q->run[i].train == train && q->entry[i].state == RUN_BLOCKED;
        held_n += held && q->run[i].spec.kind == SPEC_EVAL;
        children_n += held && q->run[i].spec.kind == SPEC_TRAIN;
    }
    if (held_n + children_n == 0) return;
    progress_name(name, &q->run[train].spec);
    arena_init(&a);
    const char *children = arena_printf(&a, "%ld training%s that continue%s", (long)children_n,
                                        plural(children_n), children_n == 1 ? "s" : "");
    const char *held = arena_printf(&a, "%ld evaluation%s of", (long)held_n, plural(held_n));
    progress_print(m, true, "not started: %s%s%s %s (run %s), which %s", held_n ? held : "",
                   held_n && children_n ? " and " : "", children_n ? children : "", name,
                   q->run[train].run_id,
                   state == RUN_DIVERGED ? "diverged"
                   : state == RUN_FAILED ? "failed"
                                         : "was not started either");
    arena_fini(&a);
}

void progress_print_end(struct progress_line *m, const struct queue *q,
                        const struct scheduler_result *r)
{
    const struct {
        const char *name;
        int32_t n;
    } rows[] = {{"failed", r->failed},
                {"diverged", r->diverged},
                {"cancelled", r->cancelled},
                {"not started", r->not_started}};
    char took[CLOCK_TEXT_BYTES];
    struct arena a;
    struct strbuf rest;

    for (int32_t i = 0; i < q->n; i++)
        if (q->run[i].spec.kind == SPEC_TRAIN) print_blocked(m, q, i);
    arena_init(&a);
    strbuf_init(&rest, &a);
    strbuf_add(&rest, "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].n > 0) strbuf_addf(&rest, ", %ld %s", (long)rows[i].n, rows[i].name);
    clock_duration(took, r->seconds);
    progress_print(m, true, "%s: %ld done now, %ld before%s, in %s", m->headline, (long)r->done,
                   (long)r->already_done, rest.text, took);
    arena_fini(&a);
}
