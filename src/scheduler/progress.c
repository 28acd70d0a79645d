/* meter.c - one line on stderr. */
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

enum { METER_LIVE_US = 200000, METER_PLAIN_US = 10000000, METER_LINE_BYTES = 512 };

void meter_open(struct progress_line *m, bool quiet, const char *headline)
{
    const char *terminal = getenv("TERM");

    *m = (struct progress_line){.quiet = quiet, .headline = headline ? headline : "run"};
    m->live = !quiet && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
    m->start_us = m->painted_us = clock_monotonic_us();
}

static void meter_write(const char *text, size_t n)
{
    while (n > 0) {
        ssize_t wrote = write(STDERR_FILENO, text, n);
        if (wrote <= 0) return; /* nobody looks any more: the work goes on */
        text += wrote;
        n -= (size_t)wrote;
    }
}

static void meter_clear(struct progress_line *m)
{
    static const char erase[] = "\r\033[K";

    if (m->shown) meter_write(erase, sizeof erase - 1);
    m->shown = false;
}

void progress_print(struct progress_line *m, bool live_too, const char *format, ...)
{
    char line[METER_LINE_BYTES * 2];
    va_list args;

    if (m->quiet || (m->live && !live_too)) return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    meter_clear(m);
    log_info("%s", line);
    if (m->live) m->painted_us = 0; /* the line comes back at once */
}

double meter_eta(const struct meter_state *st)
{
    if (st->worker_s < 1.0 || !(st->flops_done > 0) || st->slots_n < 1) return -1;
    double flops_per_s = st->flops_done / st->worker_s; /* of one worker */
    return fmax(st->flops_left / st->slots_n, st->flops_longest_left) / flops_per_s;
}

/* 12345678 as 12,345,678. */
static void meter_count(char *out, size_t room, double value)
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

/* ", 3 failed"; nothing for none. Returns its length, as much as there is room for. */
static size_t meter_add_count(char *out, size_t room, int32_t n, const char *what)
{
    if (n == 0) return 0;
    size_t length = (size_t)snprintf(out, room, ", %ld %s", (long)n, what);
    return length < room ? length : room - 1;
}

static size_t meter_format(char *line, size_t room, const struct progress_line *m,
                           const struct meter_state *st)
{
    char wps[32], left[CLOCK_TEXT_BYTES] = "?";
    double eta = meter_eta(st);
    int n = snprintf(line, room, "%s: %ld/%ld done, %ld running", m->headline, (long)st->ended_n,
                     (long)st->total_n, (long)st->running_n);
    size_t used = (size_t)n < room ? (size_t)n : room - 1;

    used += meter_add_count(line + used, room - used, st->failed_n, "failed");
    used += meter_add_count(line + used, room - used, st->diverged_n, "diverged");
    if (st->stopping)
        used += (size_t)snprintf(line + used, room - used, ", stopping");
    else if (used < room) {
        meter_count(wps, sizeof wps, st->wps);
        if (eta >= 0) clock_duration(left, eta);
        used +=
            (size_t)snprintf(line + used, room - used, ", %s tokens/s, about %s left", wps, left);
    }
    return used < room ? used : room - 1;
}

/* What does not fit on the terminal would wrap and could not be painted over. */
static size_t meter_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20) return 79;
    return size.ws_col - 1u;
}

void progress_draw(struct progress_line *m, const struct meter_state *st)
{
    char line[METER_LINE_BYTES];
    int64_t now = clock_monotonic_us();

    if (m->quiet || now - m->painted_us < (m->live ? METER_LIVE_US : METER_PLAIN_US)) return;
    m->painted_us = now;
    size_t n = meter_format(line, sizeof line, m, st);
    if (!m->live) {
        log_info("%s", line);
        return;
    }
    meter_clear(m);
    size_t columns = meter_columns();
    meter_write(line, n < columns ? n : columns);
    m->shown = true;
}

void meter_close(struct progress_line *m)
{
    meter_clear(m);
}

void meter_name(char out[METER_NAME_BYTES], const struct spec *s)
{
    const char *position = spec_position_name(s->model.position);

    if (s->kind == SPEC_EVAL)
        snprintf(out, METER_NAME_BYTES, "evaluate %s L=%ld at %ld%s", position, (long)s->train.L,
                 (long)s->eval.L, s->eval.window == SPEC_SLIDING ? " sliding" : "");
    else
        snprintf(out, METER_NAME_BYTES, "%s %s L=%ld seed %lld",
                 s->kind == SPEC_TRAIN ? "train" : "measure", position, (long)s->train.L,
                 (long long)s->train.seed);
}
