/* slots.h - places for one worker each, chosen with --devices. */
#ifndef SCHEDULER_SLOTS_H
#define SCHEDULER_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "scheduler/scheduler.h"

enum { SLOTS_DEVICES_MAX = 64, SLOTS_MAX = 4096, SLOTS_LOSSES_MAX = 3 };

/* Workers in a row that a device lost before they got anywhere. */
struct device_failures {
    int32_t n, first; /* first: job of the first of them */
    bool several;     /* they were not all of one job */
};

struct slot {
    int32_t device; /* index in slots.device */
    int32_t cpu;    /* core the worker stays on; -1: any */
    int32_t cuda;   /* ordinal of the GPU; -1: none */
    bool busy;
};

struct slots {
    struct device device[SLOTS_DEVICES_MAX];
    int64_t used_bytes[SLOTS_DEVICES_MAX]; /* planned bytes of the jobs that run there */
    int32_t running_n[SLOTS_DEVICES_MAX];
    struct device_failures losses[SLOTS_DEVICES_MAX];
    int32_t devices_n;
    struct slot *slot; /* in the arena */
    int32_t n;
};

/* slots_open - from the devices of a table of executors (executor.h). auto: every usable GPU
 * that other programs leave idle, without GPU every core; cpu: every core; cpu:N: N workers, with a
 * warning at most one a core; cuda:0,cuda:1: these GPUs; a cluster, and the emulated GPU, only
 * where they are named. CPU and GPU are never mixed unasked: their last bits differ. Workers are
 * kept to one core each only if every core gets one: otherwise the kernel knows better which cores
 * are free. Errors: ERR_USAGE not a device; ERR_UNAVAILABLE it cannot be used, with the reason. */
int slots_open(struct slots *sl, struct arena *a, const char *devices,
               const struct executor *const *executors, struct err *e);

/* slots_take - a free slot of an executor (-1: of any) with memory for the job, or -1. The largest
 * device always has it when nothing runs there: what is planned may be too much. slots_leave gives
 * it back with the same bytes. */
int32_t slots_take(struct slots *sl, int32_t executor, int64_t bytes);
void slots_leave(struct slots *sl, int32_t slot, int64_t bytes);
int32_t slots_executor(const struct slots *sl, int32_t slot);
bool slots_have(const struct slots *sl, int32_t executor);
bool slots_fit(const struct slots *sl, int64_t bytes);
int32_t slots_free_n(const struct slots *sl);

/* slots_retire_device - the slot's device cannot be used any more, and why: no worker is started
 * there. Returns the number of slots that are left. */
int32_t slots_retire_device(struct slots *sl, int32_t slot, const char *why);

/* slots_note_failure - a worker of a job ended on the slot; in_vain: killed or vanished before it
 * got anywhere. Whether the slot's device should be given up: it has lost SLOTS_LOSSES_MAX in a row
 * so, of more than one job, so that it is the device and not the job, and another device is left.
 */
bool slots_note_failure(struct slots *sl, int32_t slot, int32_t job, bool in_vain);

/* slots_largest - the device with the most free memory: a job that needs more is refused. */
const struct device *slots_largest(const struct slots *sl);

/* device_cores - the cores this process may use, at most room; the number of workers that run at
 * full speed, which a container's limit may make smaller than the number of cores. */
int32_t device_cores(int32_t *out, int32_t room, int32_t *workers_n);

#endif
