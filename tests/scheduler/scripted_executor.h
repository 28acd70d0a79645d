/* scripted_executor.h - an executor without workers: the n-th attempt ends as the n-th word of its
 * option says, and its records are written when it is started.
 *
 *   done        a result for each run, exit 0       reject   start returns ERR_TRYLATER
 *   failed      a last record, exit 1               lost     no last record, killed by signal 9
 *   diverged    a last record, exit 0               left     as lost, but nobody saw the end
 *   waiting     queued until it is stopped          alive    recover finds the worker; it is done
 *
 * After the last word every attempt is done. */
#ifndef TESTS_SCRIPTED_EXECUTOR_H
#define TESTS_SCRIPTED_EXECUTOR_H

#include "scheduler/scheduler_internal.h"

/* The table that holds it alone; --devices scripted or scripted:N. */
extern const struct executor *const scripted_table[];

#endif
