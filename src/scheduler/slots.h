/* slots.h - device slots: each holds one process of a worker, or on a cluster one worker; selected
 * with --devices. */
#ifndef SCHEDULER_SLOTS_H
#define SCHEDULER_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "scheduler/scheduler.h"
#include "spec/spec.h"

enum { SLOTS_DEVICES_MAX = 64, SLOTS_MAX = 4096, SLOTS_LOSSES_MAX = 3 };

/* Consecutive workers that died on a device before they made progress. */
struct device_failures {
    int32_t n, first; /* first: the run of the first */
    bool several;     /* their runs differ */
};

struct slot {
    int32_t device; /* index in slots.device */
    int32_t cpu;    /* core the worker is pinned to; -1: any */
    int32_t cuda;   /* ordinal of the GPU; -1: none */
    bool busy;
    bool evaluates; /* its run is an evaluation */
    int64_t bytes;  /* planned bytes of its process */
};

struct slots {
    struct device device[SLOTS_DEVICES_MAX];
    int64_t used_bytes[SLOTS_DEVICES_MAX]; /* planned bytes of the runs there */
    int32_t running_n[SLOTS_DEVICES_MAX];
    struct device_failures losses[SLOTS_DEVICES_MAX];
    int32_t devices_n;
    struct slot *slot; /* in the arena */
    int32_t n;
    int32_t ranks_n; /* processes of a training; slots_retire_device may halve it */
    char note[160];  /* why there are fewer slots than --devices says; empty: there are not */
};

/* slots_open - selects slots of the devices of a table of executors. auto: every
 * usable GPU that is not busy, or every core if there is no GPU; cpu: every core; cpu:N: N
 * workers, at most one per core or one per rank (then with a note); cuda:0,cuda:1: these GPUs. A
 * cluster and the emulated GPU must be named. auto never mixes CPU and GPU, because their last bits
 * differ. Workers are pinned to cores only if every core has one; otherwise the kernel chooses
 * better. ranks_n: processes of a training; 0: 1. Errors: ERR_USAGE not a device, or fewer slots of
 * one kind than ranks; ERR_UNAVAILABLE it cannot be used, with the reason. */
int slots_open(struct slots *sl, struct arena *a, const char *devices, int32_t ranks_n,
               const struct executor *const *executors, struct err *e);

/* slots_ranks - the processes of a run. slots_width - the slots it takes: on a cluster one. */
int32_t slots_ranks(const struct slots *sl, const struct spec *s);
int32_t slots_width(const struct slots *sl, const struct spec *s);

/* The demand of a worker. */
struct slots_need {
    int32_t executor; /* -1: any */
    int32_t ranks_n;
    int64_t bytes;                                                   /* of each process */
    enum { SLOTS_NOW, SLOTS_WITHOUT_EVALUATIONS, SLOTS_EMPTY } view; /* EMPTY: if nothing ran */
};

/* slots_find - the slots of a worker: free, with memory, and of one kind: the CPU, GPUs of one
 * model, or one slot of a cluster. slot (may be NULL): room for ranks_n. Returns how many; 0: there
 * are not enough. An idle device always qualifies, because planned memory may be too high, if fewer
 * than ranks_n slots have more memory; not if view is SLOTS_EMPTY. */
int32_t slots_find(const struct slots *sl, const struct slots_need *need, int32_t *slot);
void slots_take(struct slots *sl, const int32_t *slot, int32_t n, int64_t bytes, bool evaluates);
void slots_leave(struct slots *sl, const int32_t *slot, int32_t n);
int32_t slots_executor(const struct slots *sl, int32_t slot);
bool slots_have(const struct slots *sl, int32_t executor);
int32_t slots_free_n(const struct slots *sl);

/* slots_retire_device - starts no more workers on the slot's device; why: the reason. Returns the
 * number of slots left, and halves ranks_n until there are so many of one kind. */
int32_t slots_retire_device(struct slots *sl, int32_t slot, const char *why);

/* slots_note_failure - records that a worker ended on the slot; in_vain: it was killed or vanished
 * before it made progress. Returns whether to retire the device: SLOTS_LOSSES_MAX consecutive
 * workers of more than one run ended so, and another device is left. */
bool slots_note_failure(struct slots *sl, int32_t slot, int32_t run, bool in_vain);

/* slots_largest - the device with the most free memory: a run that needs more is refused. */
const struct device *slots_largest(const struct slots *sl);

/* device_cores - lists the cores this process may use, at most room. *workers_n: workers that run
 * at full speed; a container's CPU limit may make it smaller than the number of cores. */
int32_t device_cores(int32_t *out, int32_t room, int32_t *workers_n);

#endif
