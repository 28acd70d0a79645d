/* machine.h - who runs where: host, boot, processes by number and start time.
 *
 * 1. A process is named by host, boot id, number and start time, so that neither a reused number
 * nor a reboot nor a renamed host can be taken for the process that was meant.
 * 2. Every worker carries MACHINE_MARK=<absolute folder of its attempt> in its environment, and so
 * does whatever it starts: a scheduler that takes over finds what is left of them by this mark. */
#ifndef SCHEDULER_MACHINE_H
#define SCHEDULER_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MACHINE_MARK "ALIBI_ATTEMPT"

struct machine {
    char host[65], boot_id[40];
};

/* machine_read - this machine; boot_id is empty where /proc does not say it. */
void machine_read(struct machine *m);

/* machine_pid_start - clock ticks since boot at which the process started; 0: there is none. */
int64_t machine_pid_start(pid_t pid);

/* machine_is_alive - whether the very process that was recorded still runs on this machine. */
bool machine_is_alive(const struct machine *m, const char *host, const char *boot_id, int64_t pid,
                      int64_t pid_start);

/* kill_leftover_workers - kills (SIGKILL) every process of this user whose environment carries the
 * mark of this attempt, and waits until they are gone, wait_ms at most each. Returns how many. */
int kill_leftover_workers(const char *attempt_dir, int wait_ms);

#endif
