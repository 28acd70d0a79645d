/* slots.h - device slots: each holds one worker; selected with --devices. */
#ifndef SCHEDULER_SLOTS_H
#define SCHEDULER_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "scheduler/scheduler.h"

enum { SLOTS_DEVICES_MAX = 64, SLOTS_MAX = 4096, SLOTS_LOSSES_MAX = 3 };

/* Consecutive workers that died on a device before they made progress. */
struct device_failures {
    int32_t n, first; /* first: job of the first */
    bool several;     /* of more than one job */
};

struct slot {
    int32_t device; /* index in slots.device */
    int32_t cpu;    /* core the worker is pinned to; -1: any */
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

/* slots_open - selects slots of the devices of a table of executors (executor.h). auto: every
 * usable GPU without other programs, or every core if there is no GPU; cpu: every core; cpu:N: N
 * workers, at most one per core (with a warning); cuda:0,cuda:1: these GPUs. A cluster and the
 * emulated GPU must be named. auto never mixes CPU and GPU, because their last bits differ. Workers
 * are pinned to cores only if every core has one; otherwise the kernel chooses better. Errors:
 * ERR_USAGE not a device; ERR_UNAVAILABLE it cannot be used, with the reason. */
int slots_open(struct slots *sl, struct arena *a, const char *devices,
               const struct executor *const *executors, struct err *e);

/* slots_take - takes a free slot of an executor (-1: any) with memory for the job; -1: none. An
 * idle largest device always qualifies, because planned memory may be too high. slots_leave returns
 * the slot with the same bytes. */
int32_t slots_take(struct slots *sl, int32_t executor, int64_t bytes);
void slots_leave(struct slots *sl, int32_t slot, int64_t bytes);
int32_t slots_executor(const struct slots *sl, int32_t slot);
bool slots_have(const struct slots *sl, int32_t executor);
bool slots_fit(const struct slots *sl, int64_t bytes);
int32_t slots_free_n(const struct slots *sl);

/* slots_retire_device - starts no more workers on the slot's device; why: the reason. Returns the
 * number of slots left. */
int32_t slots_retire_device(struct slots *sl, int32_t slot, const char *why);

/* slots_note_failure - records that a worker ended on the slot; in_vain: it was killed or vanished
 * before it made progress. Returns whether to retire the device: SLOTS_LOSSES_MAX consecutive
 * workers of more than one job ended so, and another device is left. */
bool slots_note_failure(struct slots *sl, int32_t slot, int32_t job, bool in_vain);

/* slots_largest - the device with the most free memory: a job that needs more is refused. */
const struct device *slots_largest(const struct slots *sl);

/* device_cores - lists the cores this process may use, at most room. *workers_n: workers that run
 * at full speed; a container's CPU limit may make it smaller than the number of cores. */
int32_t device_cores(int32_t *out, int32_t room, int32_t *workers_n);

#endif
