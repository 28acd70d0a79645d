/* slurm_node.h - what a job of Slurm does on its node: it executes one attempt with a worker of its
 * own, as the scheduler does on its machine (process.h).
 *
 * 1. The worker gets the first GPU that Slurm gave the job (CUDA_VISIBLE_DEVICES), else the CPU.
 * 2. SIGTERM - from scancel, or two minutes before the time limit - is handed on to it.
 * 3. How it ended is written last, into the file `exit` of the attempt's folder. */
#ifndef SCHEDULER_SLURM_NODE_H
#define SCHEDULER_SLURM_NODE_H

#include "base/err.h"
#include "base/project.h"

#define SLURM_EXIT_FILE "exit" /* see executor_slurm.c, rules 3 and 4 */

/* slurm_node_run - dir: relative, runs/<run>/<attempt>. Errors: those of process_start; ERR_USAGE
 * the attempt has been executed already; ERR_INTERRUPTED the worker was stopped; ERR_INTERNAL it
 * failed, its log says why. */
int slurm_node_run(const struct project *p, const char *dir, struct err *e);

#endif
