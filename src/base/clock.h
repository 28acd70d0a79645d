/* clock.h - monotonic time for durations, wall time for display only. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { CLOCK_TEXT_BYTES = 32 };

int64_t clock_monotonic_us(void);
/* clock_cpu_us - processor time of this process, all threads. */
int64_t clock_cpu_us(void);
/* clock_utc - now as "2026-01-31T12:34:56Z". */
void clock_utc(char out[CLOCK_TEXT_BYTES]);
/* clock_utc_at - clock_utc for a time in seconds since 1970, such as a file's mtime. */
void clock_utc_at(char out[CLOCK_TEXT_BYTES], int64_t seconds);
/* clock_duration - "1h 02m", "3m 04s" or "5.6s"; "%.1f years" above two years. */
void clock_duration(char out[CLOCK_TEXT_BYTES], double seconds);
/* clock_parse_duration - seconds of "90m", "24h", "1.5d" or "1h30m"; false: text is not a positive
 * duration. */
bool clock_parse_duration(double *seconds, const char *text);

#endif
