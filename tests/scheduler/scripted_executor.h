/* scripted_executor.h - an executor without workers: an attempt has ended when it is started, with
 * the outcome and the records that its script names (outcome.h). More words:
 *
 *   reject   start returns ERR_TRYLATER
 *   left     as lost, but nobody saw the end
 *   alive    recover finds the worker; it is done
 *
 * In a word `told_gpu/lost` the records are those of the first part, and the end is that of the
 * second, by rank 1. Each start adds a line to the file `started` of the project: the ranks, and
 * the device of each. */
#ifndef TESTS_SCRIPTED_EXECUTOR_H
#define TESTS_SCRIPTED_EXECUTOR_H

#include "scheduler/executor.h"

/* The table that holds it alone; --devices scripted or scripted:N, a cluster; toy:0 to toy:5, GPUs,
 * of which the last is of another model. */
extern const struct executor *const scripted_table[];

#endif
