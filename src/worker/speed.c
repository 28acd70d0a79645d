/* speed.c - windows of updates and their median. */
#include "worker/speed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPEED_WINDOW = 10, SPEED_WARMUP = 10, SPEED_WARMUP_SHARE = 20 };

void speed_init(struct speed *s, int64_t updates)
{
    int64_t share = updates / SPEED_WARMUP_SHARE;
    *s = (struct speed){.warmup = share < SPEED_WARMUP ? share : SPEED_WARMUP};
}

void speed_fini(struct speed *s)
{
    free(s->rate_own);
    *s = (struct speed){0};
}

bool speed_window_ends(const struct speed *s)
{
    return s->warmup == 1 || (s->warmup == 0 && s->window_n == SPEED_WINDOW - 1);
}

int speed_add(struct speed *s, int64_t targets_n, double seconds, struct err *e)
{
    if (s->warmup > 0) {
        s->warmup--;
        return 0;
    }
    s->window_n++;
    s->window_targets += targets_n;
    s->window_s += seconds;
    if (s->window_n < SPEED_WINDOW) return 0;
    if (s->rates_n == s->room) {
        int64_t room = s->room ? 2 * s->room : 64;
        double *grown = realloc(s->rate_own, (size_t)room * sizeof *grown);
        if (!grown) return ERR(e, ERR_NOMEM, "no memory for %lld speeds", (long long)room);
        s->rate_own = grown;
        s->room = room;
    }
    if (s->window_s > 0.0) s->rate_own[s->rates_n++] = (double)s->window_targets / s->window_s;
    s->window_n = s->window_targets = 0;
    s->window_s = 0.0;
    return 0;
}

static int speed_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double speed_median(double *values, int64_t n)
{
    if (n == 0) return (double)NAN;
    qsort(values, (size_t)n, sizeof *values, speed_compare);
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

double speed_rate(const struct speed *s)
{
    if (s->rates_n > 0) return speed_median(s->rate_own, s->rates_n);
    return s->window_s > 0.0 ? (double)s->window_targets / s->window_s : (double)NAN;
}
