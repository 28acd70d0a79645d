/* signals.h - Ctrl-C and ended children as something to poll.
 *
 * While it is open SIGINT, SIGTERM, SIGHUP and SIGCHLD are blocked and read from a descriptor: no
 * handler, no global. SIGHUP stays ignored where it was (nohup); SIGINT is heard even where a shell
 * ignores it for a background job, since who sends it by number means it. */
#ifndef SCHEDULER_SIGNALS_H
#define SCHEDULER_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct signals {
    int fd;
    sigset_t mask_before;
    struct sigaction child_before;
    int64_t heard_us; /* when the last wish to stop came */
    int stops_n;      /* wishes to stop so far */
};

int signals_open(struct signals *sg, struct err *e);
/* signals_read - takes what has come. One wish that arrives twice within a fifth of a second (some
 * tools signal a process and its group) counts once. *child: a child has ended. */
void signals_read(struct signals *sg, bool *child);
void signals_close(struct signals *sg);

#ifdef __cplusplus
}
#endif
#endif
