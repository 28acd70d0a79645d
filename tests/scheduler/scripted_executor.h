/* scripted_executor.h - an executor without workers: an attempt has ended when it is started, with
 * the outcome and the records that its script names (outcome.h). More words:
 *
 *   reject   start returns ERR_TRYLATER
 *   left     as lost, but nobody saw the end
 *   alive    recover finds the worker; it is done */
#ifndef TESTS_SCRIPTED_EXECUTOR_H
#define TESTS_SCRIPTED_EXECUTOR_H

#include "scheduler/scheduler_internal.h"

/* The table that holds it alone; --devices scripted or scripted:N. */
extern const struct executor *const scripted_table[];

#endif
