/* toy_slurm.h - a toy grid beside a Slurm that is made of scripts (fake_slurm/). */
#ifndef TESTS_TOY_SLURM_H
#define TESTS_TOY_SLURM_H

#include <sys/types.h>

#include "scheduler/toy_grid.h"

/* For cmocka: a toy grid in *state whose devices are slurm:2, in a folder whose name a shell would
 * take apart. The teardown ends whatever a failed test has left running. */
int toy_slurm_setup(void **state);
int toy_slurm_teardown(void **state);

/* A file of the fake Slurm, relative to its folder: path, new content, first line. */
char *toy_slurm_path(struct toy_grid *g, const char *name);
void toy_slurm_put(struct toy_grid *g, const char *name, const char *text);
char *toy_slurm_get(struct toy_grid *g, const char *name);
pid_t toy_slurm_pid(struct toy_grid *g, const char *name);
/* Waits for the processes of a job of this number to end, and asserts the state it then has. */
void toy_slurm_await(struct toy_grid *g, const char *number, const char *state);

/* Waits for n questions of squeue from now on. */
void toy_slurm_await_questions(struct toy_grid *g, int n);

#endif
