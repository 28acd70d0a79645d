/* test_clock.c - durations that a user writes. */
#include "harness/test.h"

#include "base/clock.h"

TEST(a_duration_is_numbers_with_units)
{
    static const struct {
        const char *text;
        double seconds; /* 0: not a duration */
    } rows[] = {{"90m", 5400}, {"24h", 86400}, {"1.5d", 129600}, {"1h30m", 5400}, {"45s", 45},
                {"24", 0},     {"", 0},        {"h", 0},         {"0h", 0},       {"-1h", 0},
                {"1 h", 0},    {"1w", 0},      {"1h30", 0},      {"inf", 0},      {"nand", 0}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double seconds;
        bool known = clock_parse_duration(&seconds, rows[i].text);
        if (known != (rows[i].seconds > 0) || (known && seconds != rows[i].seconds))
            fail_msg("'%s' is %g seconds", rows[i].text, seconds);
    }
}
