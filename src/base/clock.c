/* clock.c - see clock.h. */
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t clock_read_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_monotonic_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

int64_t clock_cpu_us(void)
{
    return clock_read_us(CLOCK_PROCESS_CPUTIME_ID);
}

void clock_utc(char out[CLOCK_TEXT_BYTES])
{
    clock_utc_at(out, time(NULL));
}

void clock_utc_at(char out[CLOCK_TEXT_BYTES], int64_t seconds)
{
    time_t moment = (time_t)seconds;
    struct tm parts = {.tm_mday = 1}; /* 1900 if gmtime_r cannot represent the time */
    gmtime_r(&moment, &parts);
    strftime(out, CLOCK_TEXT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

void clock_duration(char out[CLOCK_TEXT_BYTES], double seconds)
{
    const double day = 86400.0, year = 365.25 * day;
    if (!isfinite(seconds) || seconds < 0)
        snprintf(out, CLOCK_TEXT_BYTES, "unknown");
    else if (seconds < 59.95)
        snprintf(out, CLOCK_TEXT_BYTES, "%.1fs", seconds);
    else if (seconds < 3599.5)
        snprintf(out, CLOCK_TEXT_BYTES, "%dm %02ds", (int)(seconds + 0.5) / 60,
                 (int)(seconds + 0.5) % 60);
    else if (seconds < 2 * day)
        snprintf(out, CLOCK_TEXT_BYTES, "%dh %02dm", (int)(seconds / 3600),
                 (int)(seconds / 60) % 60);
    else if (seconds < 2 * year)
        snprintf(out, CLOCK_TEXT_BYTES, "%.1f days", seconds / day);
    else
        snprintf(out, CLOCK_TEXT_BYTES, "%.1f years", seconds / year);
}

bool clock_parse_duration(double *seconds, const char *text)
{
    static const struct {
        char name;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};

    *seconds = 0;
    while (*text >= '0' && *text <= '9') {
        char *end;
        double number = strtod(text, &end);
        size_t i = 0;
        while (i < sizeof units / sizeof *units && units[i].name != *end) i++;
        if (i == sizeof units / sizeof *units) return false;
        *seconds += number * units[i].seconds;
        text = end + 1;
    }
    return *text == '\0' && *seconds > 0;
}
