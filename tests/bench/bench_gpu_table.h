/* bench_gpu_table.h - the lines of a results file, for the code that prints them. */
#ifndef TESTS_BENCH_GPU_TABLE_H
#define TESTS_BENCH_GPU_TABLE_H

#include <jansson.h>
#include <stdint.h>

enum { TABLE_LINES_MAX = 4096 };

struct table {
    json_t *line[TABLE_LINES_MAX]; /* the last of each case */
    int32_t n;
    double copy_gb_s, tflops[2]; /* measured; products by enum spec_precision */
};

/* Empty or 0 if a line has no such key. */
static inline const char *table_text(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));
    return text ? text : "";
}

static inline double table_number(const json_t *line, const char *key)
{
    return json_number_value(json_object_get(line, key));
}

/* table_goals - prints a line for each goal: threshold, measured value, and whether it is met.
 * Lines of the tiny model are ignored. */
void table_goals(const struct table *t);

#endif
