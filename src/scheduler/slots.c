/* slots.c - from the text of --devices to slots, and their use. */
#include "scheduler/scheduler_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Reads the number after "cuda:", "cpu:" and so on; -1: missing or not a number. */
static int32_t slots_number(const char *name)
{
    int64_t n;
    const char *colon = strchr(name, ':');
    if (!colon || !str_to_int(&n, colon + 1) || n < 0 || n >= SLOTS_MAX) return -1;
    return (int32_t)n;
}

/* Adds slots of a device; slots_n 0: all of them. */
static void slots_add(struct slots *sl, int32_t device, int32_t slots_n)
{
    const struct device *d = &sl->device[device];
    int32_t core[SLOTS_MAX], cores_n = 0, full_speed_n;
    int32_t cuda = strncmp(d->name, "cuda", 4) == 0 ? slots_number(d->name) : -1;

    if (slots_n == 0) slots_n = d->slots;
    if (strcmp(d->name, "cpu") == 0) cores_n = device_cores(core, SLOTS_MAX, &full_speed_n);
    for (int32_t i = 0; i < slots_n; i++)
        sl->slot[sl->n++] =
            (struct slot){.device = device, .cpu = slots_n == cores_n ? core[i] : -1, .cuda = cuda};
}

/* Limits a device's slots to its cores, because more workers would compete. A cluster has no limit.
 */
static int32_t slots_cap(struct slots *sl, const struct device *d, const char *name,
                         int32_t wanted_n)
{
    if (d->is_cluster || wanted_n <= d->slots) return wanted_n;
    snprintf(sl->note, sizeof sl->note,
             "--devices %.32s: this machine has %d core%s for workers; starting %d", name, d->slots,
             d->slots == 1 ? "" : "s", d->slots);
    return d->slots;
}

/* Adds one name of the list: a device, NAME:N slots of a counted one, or cuda for cuda:0. */
static int slots_add_named(struct slots *sl, const char *name, struct err *e)
{
    size_t prefix = strcspn(name, ":");
    bool is_bare = name[prefix] == '\0', is_known = false;
    int32_t device = -1, number = 0;

    for (int32_t i = 0; i < sl->devices_n; i++) {
        const struct device *d = &sl->device[i];
        if (strcspn(d->name, ":") != prefix || memcmp(d->name, name, prefix) != 0) continue;
        is_known = true;
        if (d->is_counted || strcmp(d->name, name) == 0 || (is_bare && device < 0)) device = i;
    }
    if (!is_known)
        return ERR(e, ERR_USAGE, "--devices %s: not a device; expected " DEVICES_SYNTAX, name);
    if (device < 0)
        return ERR(e, ERR_UNAVAILABLE,
                   "--devices %s: this machine has no such device; `alibi devices` lists what it "
                   "has",
                   name);
    const struct device *d = &sl->device[device];
    if (d->is_counted && !is_bare) {
        number = slots_number(name);
        if (number < 1 || sl->n + number > SLOTS_MAX)
            return ERR(e, ERR_USAGE, "--devices %s: the number of workers must be 1 to %d", name,
                       SLOTS_MAX);
        number = slots_cap(sl, d, name, number);
    }
    if (*d->unusable) return ERR(e, ERR_UNAVAILABLE, "--devices %s: %s", name, d->unusable);
    for (int32_t i = 0; i < sl->n; i++)
        if (sl->slot[i].device == device)
            return ERR(e, ERR_USAGE, "--devices %s: named twice", name);
    slots_add(sl, device, number);
    return 0;
}

/* Adds every usable GPU, else the CPU. A GPU on which other programs compute is taken only if it is
 * named. */
static int slots_add_auto(struct slots *sl, struct err *e)
{
    const struct device *busy = NULL;
    for (int32_t i = 0; i < sl->devices_n; i++) {
        const struct device *d = &sl->device[i];
        if (strncmp(d->name, "cuda", 4) != 0 || *d->unusable || d->is_test) continue;
        if (d->others_n > 0)
            busy = d;
        else
            slots_add(sl, i, 0);
    }
    if (sl->n == 0 && busy)
        return ERR(e, ERR_UNAVAILABLE,
                   "--devices auto: other programs compute on every usable GPU; share one with "
                   "--devices %s, or give --devices cpu",
                   busy->name);
    return sl->n == 0 ? slots_add_named(sl, "cpu", e) : 0;
}

int slots_open(struct slots *sl, struct arena *a, const char *devices,
               const struct executor *const *executors, struct err *e)
{
    *sl = (struct slots){0};
    sl->slot = arena_array(a, 2 * SLOTS_MAX, sizeof *sl->slot);
    TRY(executor_devices(executors, sl->device, SLOTS_DEVICES_MAX, &sl->devices_n, e));
    if (!devices || strcmp(devices, "auto") == 0) return slots_add_auto(sl, e);
    char *list = arena_strdup(a, devices), *rest = list;
    for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ","))
        TRY(slots_add_named(sl, name, e));
    return 0;
}

int device_select(struct device *out, const char *devices, struct err *e)
{
    struct arena a;

    arena_init(&a);
    struct slots *sl = arena_array(&a, 1, sizeof *sl);
    int rc = slots_open(sl, &a, devices, executor_table, e);
    if (rc == 0) {
        *out = sl->device[sl->slot[0].device];
        out->slots = sl->n;
    }
    arena_fini(&a);
    return rc;
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

int32_t slots_find(const struct slots *sl, int32_t executor, int64_t bytes)
{
    for (int32_t i = 0; i < sl->n; i++) {
        const struct slot *slot = &sl->slot[i];
        if (slot->busy || (executor >= 0 && slots_executor(sl, i) != executor)) continue;
        if (slots_has_room(sl, slot->device, bytes)) return i;
    }
    return -1;
}

void slots_take(struct slots *sl, int32_t slot, int64_t bytes)
{
    struct slot *s = &sl->slot[slot];
    s->busy = true;
    s->bytes = bytes;
    sl->running_n[s->device]++;
    sl->used_bytes[s->device] += bytes;
}

void slots_leave(struct slots *sl, int32_t slot)
{
    struct slot *s = &sl->slot[slot];
    s->busy = false;
    sl->running_n[s->device]--;
    sl->used_bytes[s->device] -= s->bytes;
}

int32_t slots_executor(const struct slots *sl, int32_t slot)
{
    return sl->device[sl->slot[slot].device].executor;
}

bool slots_have(const struct slots *sl, int32_t executor)
{
    for (int32_t i = 0; i < sl->n; i++)
        if (slots_executor(sl, i) == executor) return true;
    return false;
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

bool slots_note_failure(struct slots *sl, int32_t slot, int32_t run, bool in_vain)
{
    int32_t device = sl->slot[slot].device;
    struct device_failures *l = &sl->losses[device];
    bool another = false;

    if (!in_vain) {
        *l = (struct device_failures){0};
        return false;
    }
    if (l->n++ == 0) l->first = run;
    l->several = l->several || run != l->first;
    for (int32_t i = 0; i < sl->n; i++)
        another |= sl->slot[i].device != device && !*sl->device[sl->slot[i].device].unusable;
    return another && l->several && l->n >= SLOTS_LOSSES_MAX && !*sl->device[device].unusable;
}
