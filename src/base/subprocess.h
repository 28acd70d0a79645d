/* subprocess.h - runs another program without a shell and returns its output.
 *
 * The program runs in another process group, so that Ctrl-C at the terminal does not reach it. Its
 * stdin is /dev/null, and it inherits no other descriptors. Between fork and exec the child calls
 * only async-signal-safe functions; it reports a failure through a pipe that exec closes. */
#ifndef BASE_SUBPROCESS_H
#define BASE_SUBPROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

struct subprocess {
    const char *const *argv;        /* NULL-terminated; argv[0] is searched in PATH */
    const char *const *environment; /* NULL-terminated; NULL: that of this process */
    const char *folder;             /* working folder; NULL: that of this process */
    double timeout_s;               /* subprocess_run then kills the process group; 0: no timeout */
    bool dies_with_parent;
    const int32_t *core; /* core to pin the program to, if allowed; NULL: any */
    pid_t group;         /* process group to join; 0: its own */
};

/* subprocess_spawn - starts the program with these descriptors as stdout and stderr and returns
 * after its exec: 0, or the errno of the failure. *pid is also its process group, unless it joins
 * one; negative if no process was created. */
int subprocess_spawn(pid_t *pid, const struct subprocess *s, int output, int errors);

/* How the program ended. */
struct subprocess_end {
    char *output, *errors; /* stdout and stderr as text, in the arena; never NULL */
    int exit_code, signal; /* -1 where the other applies */
    bool timed_out;
};

/* subprocess_run - runs the program to its end; 0 whatever its exit status. Errors: ERR_UNAVAILABLE
 * if it cannot be started (not found, not executable); ERR_NOMEM. */
int subprocess_run(struct subprocess_end *out, struct arena *a, const struct subprocess *s,
                   struct err *e);

/* subprocess_check - unless the program exited with 0, returns code with the message "PROGRAM: exit
 * 3: last line of stderr". */
int subprocess_check(const struct subprocess_end *end, const struct subprocess *s, int code,
                     struct err *e);

/* subprocess_find - true if PATH contains an executable of this name. */
bool subprocess_find(const char *program);

#endif
