/* slots.c - from the text of --devices to slots, and who sits where. */
#include "scheduler/slots.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "scheduler/slurm.h"

static void slots_add(struct slots *sl, int32_t device, int32_t cpu, int32_t cuda)
{
    sl->slot[sl->n++] = (struct slot){.device = device, .cpu = cpu, .cuda = cuda};
}

static void slots_add_cpu(struct slots *sl, int32_t device, int32_t workers_n)
{
    int32_t core[SLOTS_MAX], full_speed_n;
    int32_t cores_n = device_cores(core, SLOTS_MAX, &full_speed_n);

    if (workers_n <= 0) workers_n = full_speed_n;
    for (int32_t i = 0; i < workers_n; i++)
        slots_add(sl, device, workers_n == cores_n ? core[i] : -1, -1);
}

static void slots_add_slurm(struct slots *sl, int32_t device, int32_t jobs_n)
{
    if (jobs_n <= 0) jobs_n = SLURM_JOBS_DEFAULT;
    for (int32_t i = 0; i < jobs_n; i++)
        sl->slot[sl->n++] = (struct slot){.device = device, .cpu = -1, .cuda = -1, .slurm = true};
}

/* The number after "cuda:", "cpu:" or "slurm:"; -1: the name has none, or it is no number. */
static int32_t slots_number(const char *name)
{
    int64_t n;
    const char *colon = strchr(name, ':');
    if (!colon || !str_to_int(&n, colon + 1) || n < 0 || n >= SLOTS_MAX) return -1;
    return (int32_t)n;
}

static int32_t slots_find(const struct slots *sl, const char *name)
{
    for (int32_t i = 0; i < sl->devices_n; i++)
        if (strcmp(sl->device[i].name, name) == 0) return i;
    return -1;
}

/* One name of the list. */
static int slots_add_named(struct slots *sl, const char *name, struct err *e)
{
    int32_t number = slots_number(name);
    size_t length = strcspn(name, ":");
    bool is_cpu = length == 3 && strncmp(name, "cpu", 3) == 0;
    bool is_slurm = length == 5 && strncmp(name, "slurm", 5) == 0;
    const char *device_name = strcmp(name, "cuda") == 0 ? "cuda:0" : name;
    if (is_cpu) device_name = "cpu";
    if (is_slurm) device_name = "slurm";
    int32_t device = slots_find(sl, device_name);

    if ((is_cpu || is_slurm) && name[length] && (number < 1 || sl->n + number > SLOTS_MAX))
        return ERR(e, ERR_USAGE, "--devices %s: the number of workers must be 1 to %d", name,
                   SLOTS_MAX);
    if (!is_cpu && !is_slurm && strncmp(name, "cuda", 4) != 0)
        return ERR(e, ERR_USAGE,
                   "--devices %s: not a device; give auto, cpu, cpu:N, cuda:0,… or slurm:N", name);
    if (device < 0)
        return ERR(e, ERR_UNAVAILABLE,
                   "--devices %s: this machine has no such device; `alibi "
                   "devices` lists what it has",
                   name);
    if (*sl->device[device].unusable)
        return ERR(e, ERR_UNAVAILABLE, "--devices %s: %s", name, sl->device[device].unusable);
    for (int32_t i = 0; i < sl->n; i++)
        if (sl->slot[i].device == device)
            return ERR(e, ERR_USAGE, "--devices %s: named twice", name);
    if (is_cpu)
        slots_add_cpu(sl, device, number);
    else if (is_slurm)
        slots_add_slurm(sl, device, number);
    else
        slots_add(sl, device, -1, slots_number(sl->device[device].name));
    return 0;
}

/* A GPU on which other programs compute is taken only where it is named. */
static int slots_add_auto(struct slots *sl, struct err *e)
{
    const struct device *busy = NULL;
    for (int32_t i = 0; i < sl->devices_n; i++) {
        const struct device *d = &sl->device[i];
        if (strncmp(d->name, "cuda", 4) != 0 || *d->unusable || d->is_test) continue;
        if (d->others_n > 0)
            busy = d;
        else
            slots_add(sl, i, -1, slots_number(d->name));
    }
    if (sl->n == 0 && busy)
        return ERR(e, ERR_UNAVAILABLE,
                   "--devices auto: other programs compute on every usable GPU; share one with "
                   "--devices %s, or give --devices cpu",
                   busy->name);
    return sl->n == 0 ? slots_add_named(sl, "cpu", e) : 0;
}

int slots_open(struct slots *sl, struct arena *a, const char *devices, struct err *e)
{
    *sl = (struct slots){0};
    sl->slot = arena_array(a, 2 * SLOTS_MAX, sizeof *sl->slot);
    TRY(device_list(sl->device, SLOTS_DEVICES_MAX, &sl->devices_n, e));
    if (!devices || strcmp(devices, "auto") == 0) return slots_add_auto(sl, e);
    char *list = arena_strdup(a, devices), *rest = list;
    for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ","))
        TRY(slots_add_named(sl, name, e));
    return 0;
}

const struct device *slots_largest(const struct slots *sl)
{
    const struct device *largest = &sl->device[sl->slot[0].device];
    for (int32_t i = 1; i < sl->n; i++) {
        const struct device *d = &sl->device[sl->slot[i].device];
        if (*d->unusable) continue;
        if (*largest->unusable || d->free_bytes > largest->free_bytes) largest = d;
    }
    return largest;
}

static bool slots_has_room(const struct slots *sl, int32_t device, int64_t bytes)
{
    if (*sl->device[device].unusable) return false;
    if (sl->running_n[device] == 0 && &sl->device[device] == slots_largest(sl)) return true;
    return sl->used_bytes[device] + bytes <= sl->device[device].free_bytes;
}

bool slots_fit(const struct slots *sl, int64_t bytes)
{
    for (int32_t i = 0; i < sl->n; i++)
        if (!sl->slot[i].busy && slots_has_room(sl, sl->slot[i].device, bytes)) return true;
    return false;
}

static int32_t slots_occupy(struct slots *sl, int64_t bytes, bool only_slurm)
{
    for (int32_t i = 0; i < sl->n; i++) {
        struct slot *slot = &sl->slot[i];
        if (slot->busy || (only_slurm && !slot->slurm)) continue;
        if (!slots_has_room(sl, slot->device, bytes)) continue;
        slot->busy = true;
        sl->running_n[slot->device]++;
        sl->used_bytes[slot->device] += bytes;
        return i;
    }
    return -1;
}

int32_t slots_take(struct slots *sl, int64_t bytes)
{
    return slots_occupy(sl, bytes, false);
}

int32_t slots_take_slurm(struct slots *sl, int64_t bytes)
{
    return slots_occupy(sl, bytes, true);
}

bool slots_have_slurm(const struct slots *sl)
{
    for (int32_t i = 0; i < sl->n; i++)
        if (sl->slot[i].slurm) return true;
    return false;
}

void slots_leave(struct slots *sl, int32_t slot, int64_t bytes)
{
    sl->slot[slot].busy = false;
    sl->running_n[sl->slot[slot].device]--;
    sl->used_bytes[sl->slot[slot].device] -= bytes;
}

int32_t slots_free_n(const struct slots *sl)
{
    int32_t n = 0;
    for (int32_t i = 0; i < sl->n; i++)
        n += !sl->slot[i].busy && !*sl->device[sl->slot[i].device].unusable;
    return n;
}

int32_t slots_retire_device(struct slots *sl, int32_t slot, const char *why)
{
    int32_t left = 0;
    struct device *d = &sl->device[sl->slot[slot].device];

    snprintf(d->unusable, sizeof d->unusable, "%s", *why ? why : "a worker lost it");
    for (int32_t i = 0; i < sl->n; i++) left += !*sl->device[sl->slot[i].device].unusable;
    return left;
}

bool slots_note_failure(struct slots *sl, int32_t slot, int32_t job, bool in_vain)
{
    int32_t device = sl->slot[slot].device;
    struct device_failures *l = &sl->losses[device];
    bool another = false;

    if (!in_vain) {
        *l = (struct device_failures){0};
        return false;
    }
    if (l->n++ == 0) l->first = job;
    l->several = l->several || job != l->first;
    for (int32_t i = 0; i < sl->n; i++)
        another |= sl->slot[i].device != device && !*sl->device[sl->slot[i].device].unusable;
    return another && l->several && l->n >= SLOTS_LOSSES_MAX && !*sl->device[device].unusable;
}
