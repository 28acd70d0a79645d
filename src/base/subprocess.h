/* subprocess.h - runs another program without a shell and returns its output.
 *
 * The program leads its own process group, so that Ctrl-C at the terminal does not reach it, reads
 * from /dev/null, and inherits no other descriptor. Between fork and exec the child calls only
 * functions that are safe there; its failure comes back through a pipe that exec closes. */
#ifndef BASE_SUBPROCESS_H
#define BASE_SUBPROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

struct subprocess {
    const char *const *argv;        /* ended by NULL; argv[0] is looked up in PATH */
    const char *const *environment; /* ended by NULL; NULL: that of this process */
    const char *folder;             /* working folder; NULL: that of this process */
    double timeout_s;               /* subprocess_run kills the whole group then; 0: none */
    bool dies_with_parent;
    const int32_t *core; /* it stays on, if this is allowed; NULL: any */
};

/* subprocess_spawn - starts it with these descriptors as stdout and stderr, and returns when it
 * runs: 0, or the errno of why it does not. *pid: also the number of its group; negative if no
 * process started. */
int subprocess_spawn(pid_t *pid, const struct subprocess *s, int output, int errors);

/* How it ended. */
struct subprocess_end {
    char *output, *errors; /* stdout and stderr as text, in the arena; never NULL */
    int exit_code, signal; /* -1 where the other applies */
    bool timed_out;
};

/* subprocess_run - returns 0 if the program ran, however it ended. Errors: ERR_UNAVAILABLE it
 * cannot be started (not found, not executable); ERR_NOMEM. */
int subprocess_run(struct subprocess_end *out, struct arena *a, const struct subprocess *s,
                   struct err *e);

/* subprocess_check - the error of an end other than exit 0: "PROGRAM: exit 3: last line of stderr".
 * code is the error code to return. */
int subprocess_check(const struct subprocess_end *end, const struct subprocess *s, int code,
                     struct err *e);

/* subprocess_find - whether PATH holds an executable of this name. */
bool subprocess_find(const char *program);

#endif
