/* signals.h - Ctrl-C and ended children as something to poll.
 *
 * While it is open SIGINT, SIGTERM, SIGHUP and SIGCHLD are blocked and read from a descriptor: no
 * handler, no global. SIGHUP stays ignored if it was (nohup). SIGINT is read even if a shell
 * ignores it for a background job: whoever sends it with kill means it. */
#ifndef SCHEDULER_SIGNALS_H
#define SCHEDULER_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct signals {
    int fd;
    sigset_t mask_before;
    struct sigaction child_before;
    int64_t last_record_us; /* when the last request to stop was read */
    int stops_n;            /* requests to stop so far */
};

int signals_open(struct signals *sg, struct err *e);
/* signals_read - takes what has come by now_us, a monotonic time. Requests that are read together,
 * or within a fifth of a second, count once: some tools signal a process and its group. *child: a
 * child has ended. */
void signals_read(struct signals *sg, int64_t now_us, bool *child);
void signals_close(struct signals *sg);

#endif
