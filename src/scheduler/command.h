/* command.h - another program's answer: started without a shell, given a time limit, its output
 * kept.
 *
 * It leads its own process group, so that Ctrl-C at the terminal does not reach it, and sees the
 * caller's environment but for what would bend the answers of Slurm's programs: the variables of a
 * job that the caller itself runs in, and the user's settings for what squeue and scancel choose.
 */
#ifndef SCHEDULER_COMMAND_H
#define SCHEDULER_COMMAND_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

/* slurm_program_run - argv is ended by NULL; argv[0] is looked for on the path. *out (may be NULL)
 * is what it wrote to its standard output, in the arena. Errors: ERR_UNAVAILABLE it cannot be
 * started; ERR_TRYLATER its exit status is not 0, with the last line of its complaint, or it ran
 * longer than limit_s and was killed. */
int slurm_program_run(char **out, struct arena *a, const char *const *argv, double limit_s,
                      struct err *e);

/* subprocess_exists - whether the path holds such a program. */
bool subprocess_exists(const char *program);

#endif
