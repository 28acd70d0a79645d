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

enum { PROGRESS_LIVE_US = 200000, PROGRESS_PLAIN_US = 10000000, PROGRESS_LINE_BYTES = 512 };

void progress_open(struct progress_line *m, bool quiet, const char *headline)
{
    const char *terminal = getenv("TERM");

    *m = (struct progress_line){.quiet = quiet, .headline = headline ? headline : "run"};
    m->live = !quiet && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
    m->start_us = m->painted_us = clock_monotonic_us();
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

static void progress_clear(struct progress_line *m)
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

double progress_eta(const struct progress_state *st)
{
    if (st->worker_s < 1.0 || !(st->flops_done > 0) || st->slots_n < 1) return -1;
    double flops_per_s = st->flops_done / st->worker_s; /* of one worker */
    return fmax(st->flops_left / st->slots_n, st->flops_longest_left) / flops_per_s;
}

/* 12345678 as 12,345,678. */
static void format_count(char *out, size_t room, double value)
{
    char digits[32];
    size_t used = 0;

    snprintf(digits, sizeof digits, "%.0f", fmin(fmax(value, 0), 1e15));
    for (const char *p = digits; *p && used + 2 < room; p++) {
        if (p > digits && strlen(p) % 3 == 0) out[used++] = ',';
        out[used++] = *p;
    }
    out[used] = '\0';
}

/* ", 3 failed"; empty for 0. Returns the written length. */
static size_t add_count(char *out, size_t room, int32_t n, const char *what)
{
    if (n == 0) return 0;
    size_t length = (size_t)snprintf(out, room, ", %ld %s", (long)n, what);
    return length < room ? length : room - 1;
}

static size_t format_line(char *line, size_t room, const struct progress_line *m,
                          const struct progress_state *st)
{
    char wps[32], left[CLOCK_TEXT_BYTES] = "?";
    double eta = progress_eta(st);
    int n = snprintf(line, room, "%s: %ld/%ld done, %ld running", m->headline, (long)st->ended_n,
                     (long)st->total_n, (long)st->running_n);
    size_t used = (size_t)n < room ? (size_t)n : room - 1;

    used += add_count(line + used, room - used, st->failed_n, "failed");
    used += add_count(line + used, room - used, st->diverged_n, "diverged");
    if (st->stopping)
        used += (size_t)snprintf(line + used, room - used, ", stopping");
    else if (used < room) {
        format_count(wps, sizeof wps, st->wps);
        if (eta >= 0) clock_duration(left, eta);
        used +=
            (size_t)snprintf(line + used, room - used, ", %s tokens/s, about %s left", wps, left);
    }
    return used < room ? used : room - 1;
}

/* A line wider than the terminal would wrap and could not be overwritten. */
static size_t terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20) return 79;
    return size.ws_col - 1u;
}

void progress_draw(struct progress_line *m, const struct progress_state *st)
{
    char line[PROGRESS_LINE_BYTES];
    int64_t now = clock_monotonic_us();

    if (m->quiet || now - m->painted_us < (m->live ? PROGRESS_LIVE_US : PROGRESS_PLAIN_US)) return;
    m->painted_us = now;
    size_t n = format_line(line, sizeof line, m, st);
    if (!m->live) {
        log_info("%s", line);
        return;
    }
    progress_clear(m);
    size_t columns = terminal_columns();
    progress_write(line, n < columns ? n : columns);
    m->shown = true;
}

void progress_close(struct progress_line *m)
{
    progress_clear(m);
}

void progress_name(char out[PROGRESS_NAME_BYTES], const struct spec *s)
{
    const char *position = spec_position_name(s->model.position);

    if (s->kind == SPEC_EVAL)
        snprintf(out, PROGRESS_NAME_BYTES, "evaluate %s L=%ld at %ld%s", position, (long)s->train.L,
                 (long)s->eval.L, s->eval.window == SPEC_SLIDING ? " sliding" : "");
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

/* A run that this call does not want. */
static bool is_left_out(const struct task *t)
{
    return t->state == RUN_SKIPPED && !t->was_done;
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

    for (int32_t i = 0; i < q->n; i++) {
        if (is_left_out(&q->task[i])) continue;
        r->wanted++;
        ++*counter[q->task[i].state];
    }
}

void progress_count(struct progress_state *st, const struct queue *q)
{
    struct scheduler_result r = {0};

    progress_fill_result(&r, q);
    st->total_n = r.wanted;
    st->ended_n = r.already_done + r.done;
    st->failed_n = r.failed;
    st->diverged_n = r.diverged;
    for (int32_t i = 0; i < q->n; i++) {
        if (q->task[i].state != RUN_WAITING) continue;
        st->flops_left += q->job[i].flops;
        if (q->job[i].flops > st->flops_longest_left) st->flops_longest_left = q->job[i].flops;
    }
}

void progress_print_start(struct progress_line *m, const struct queue *q, int32_t slots_n)
{
    static const char *const names[] = {"training", "evaluation", "measurement"};
    int32_t n[3] = {0}, done_n = 0;
    char counts[160] = "";
    size_t used = 0;

    for (int32_t i = 0; i < q->n; i++) {
        if (q->task[i].state == RUN_WAITING) n[q->job[i].spec.kind]++;
        done_n += q->task[i].was_done;
    }
    for (int k = 0; k < 3; k++)
        if (n[k] > 0)
            used += (size_t)snprintf(counts + used, sizeof counts - used, "%s%ld %s%s",
                                     used ? ", " : "", (long)n[k], names[k], plural(n[k]));
    if (used == 0)
        progress_print(m, true, "%s: nothing to start, %ld run%s done; results are in results.db",
                       m->headline, (long)done_n, done_n == 1 ? " is" : "s are");
    else
        progress_print(
            m, true,
            "%s: %s to do, %ld done before, %ld worker%s; results go to results.db, attempts "
            "to runs/",
            m->headline, counts, (long)done_n, (long)slots_n, plural(slots_n));
}

/* The evaluations that one training blocks. */
static void print_blocked(struct progress_line *m, const struct queue *q, int32_t train)
{
    int32_t held_n = 0;
    char name[PROGRESS_NAME_BYTES];
    enum run_state state = q->task[train].state;

    if (state != RUN_DIVERGED && state != RUN_FAILED && state != RUN_BLOCKED) return;
    for (int32_t i = train + 1; i < q->n; i++)
        held_n += q->job[i].train == train && q->task[i].state == RUN_BLOCKED;
    if (held_n == 0) return;
    progress_name(name, &q->job[train].spec);
    progress_print(m, true, "not started: %ld evaluation%s of %s (run %s), which %s", (long)held_n,
                   plural(held_n), name, q->job[train].run_id,
                   state == RUN_DIVERGED ? "diverged"
                   : state == RUN_FAILED ? "failed"
                                         : "was not started either");
}

void progress_print_end(struct progress_line *m, const struct queue *q,
                        const struct scheduler_result *r)
{
    char took[CLOCK_TEXT_BYTES], rest[160] = "";
    const struct {
        const char *name;
        int32_t n;
    } rows[] = {{"failed", r->failed},
                {"diverged", r->diverged},
                {"cancelled", r->cancelled},
                {"not started", r->not_started}};

    for (int32_t i = 0; i < q->n; i++)
        if (q->job[i].spec.kind == SPEC_TRAIN) print_blocked(m, q, i);
    size_t used = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].n > 0)
            used += (size_t)snprintf(rest + used, sizeof rest - used, ", %ld %s", (long)rows[i].n,
                                     rows[i].name);
    clock_duration(took, r->seconds);
    progress_print(m, true, "%s: %ld done now, %ld before%s, in %s", m->headline, (long)r->done,
                   (long)r->already_done, rest, took);
}
