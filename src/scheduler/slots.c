/* slots.c - from the text of --devices to slots, and their use. */
#include "scheduler/slots.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "scheduler/executor.h"

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

/* Limits a device's slots to its cores, because more workers would compete, or to the ranks of a
 * training. A cluster has no limit. */
static int32_t slots_cap(struct slots *sl, const struct device *d, const char *name,
                         int32_t wanted_n)
{
    int32_t most = d->slots > sl->ranks_n ? d->slots : sl->ranks_n;

    if (d->is_cluster || wanted_n <= d->slots) return wanted_n;
    if (wanted_n < most) most = wanted_n;
    snprintf(sl->note, sizeof sl->note,
             "--devices %.32s: this machine has %d core%s for workers; starting %d", name, d->slots,
             d->slots == 1 ? "" : "s", most);
    return most;
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

static const struct device *slots_device(const struct slots *sl, int32_t slot)
{
    return &sl->device[sl->slot[slot].device];
}

/* True if two processes of one training may use these slots. */
static bool slots_are_alike(const struct slots *sl, int32_t i, int32_t k)
{
    const struct device *x = slots_device(sl, i), *y = slots_device(sl, k);
    return x == y || (x->executor == y->executor && *x->model && strcmp(x->model, y->model) == 0);
}

/* Counts the usable slots of the kind that has most of them: *of. On a cluster one slot holds any
 * number of processes. */
static int32_t slots_of_one_kind(const struct slots *sl, int32_t *of)
{
    int32_t most = 0;

    *of = 0;
    for (int32_t i = 0, n = 0; i < sl->n; i++, n = 0) {
        if (*slots_device(sl, i)->unusable) continue;
        if (slots_device(sl, i)->is_cluster) return INT32_MAX;
        if (i > 0 && slots_device(sl, i) == slots_device(sl, i - 1)) continue;
        for (int32_t k = 0; k < sl->n; k++)
            n += slots_are_alike(sl, i, k) && !*slots_device(sl, k)->unusable;
        if (n <= most) continue;
        most = n;
        *of = i;
    }
    return most;
}

/* Halves the ranks of a training until there are so many slots of one kind. */
static void slots_lower_ranks(struct slots *sl)
{
    int32_t of, n = slots_of_one_kind(sl, &of);
    while (sl->ranks_n > 1 && sl->ranks_n > n) sl->ranks_n /= 2;
}

static int slots_check_ranks(struct slots *sl, const char *devices, struct err *e)
{
    int32_t of, ranks_n = sl->ranks_n, n = slots_of_one_kind(sl, &of);
    const struct device *d = slots_device(sl, of);

    if ((ranks_n & (ranks_n - 1)) != 0) {
        int32_t below = 1;
        while (2 * below < ranks_n) below *= 2;
        return ERR(e, ERR_USAGE, "--ranks %d: not a power of two; give --ranks %d or %d", ranks_n,
                   below, 2 * below);
    }
    if (ranks_n <= n) return 0;
    if (strcmp(d->name, "cpu") == 0)
        return ERR(e, ERR_USAGE, "--ranks %d: --devices %s has %d slot%s; give --devices cpu:%d",
                   ranks_n, devices, n, n == 1 ? "" : "s", ranks_n);
    slots_lower_ranks(sl);
    for (int32_t i = 0; i < sl->n; i++)
        if (*slots_device(sl, i)->model && *d->model && !slots_are_alike(sl, i, of))
            return ERR(e, ERR_USAGE,
                       "--ranks %d: %s is %s but %s is %s, and the ranks of a training need GPUs "
                       "of one model; give --ranks %d",
                       ranks_n, d->name, d->model, slots_device(sl, i)->name,
                       slots_device(sl, i)->model, sl->ranks_n);
    return ERR(e, ERR_USAGE, "--ranks %d: --devices %s has %d slot%s of one kind; give --ranks %d",
               ranks_n, devices, n, n == 1 ? "" : "s", sl->ranks_n);
}

int slots_open(struct slots *sl, struct arena *a, const char *devices, int32_t ranks_n,
               const struct executor *const *executors, struct err *e)
{
    if (!devices) devices = "auto";
    *sl = (struct slots){.ranks_n = ranks_n > 0 ? ranks_n : 1};
    sl->slot = arena_array(a, 2 * SLOTS_MAX, sizeof *sl->slot);
    TRY(executor_devices(executors, sl->device, SLOTS_DEVICES_MAX, &sl->devices_n, e));
    if (strcmp(devices, "auto") == 0) {
        TRY(slots_add_auto(sl, e));
        return slots_check_ranks(sl, devices, e);
    }
    char *list = arena_strdup(a, devices), *rest = list;
    for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ","))
        TRY(slots_add_named(sl, name, e));
    return slots_check_ranks(sl, devices, e);
}

int32_t slots_ranks(const struct slots *sl, const struct spec *s)
{
    return s->kind == SPEC_TRAIN ? sl->ranks_n : 1;
}

int32_t slots_width(const struct slots *sl, const struct spec *s)
{
    return slots_device(sl, 0)->is_cluster ? 1 : slots_ranks(sl, s);
}

int device_select(struct device *out, const char *devices, struct err *e)
{
    struct arena a;

    arena_init(&a);
    struct slots *sl = arena_array(&a, 1, sizeof *sl);
    int rc = slots_open(sl, &a, devices, 1, executor_table, e);
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

/* True if fewer than n slots have more memory than this one. */
static bool slots_is_large(const struct slots *sl, int32_t slot, int32_t n)
{
    int32_t larger_n = 0;
    for (int32_t i = 0; i < sl->n; i++)
        larger_n += !*slots_device(sl, i)->unusable &&
                    slots_device(sl, i)->free_bytes > slots_device(sl, slot)->free_bytes;
    return larger_n < n;
}

int32_t slots_find(const struct slots *sl, const struct slots_need *need, int32_t *slot)
{
    int64_t used_bytes[SLOTS_DEVICES_MAX];
    int32_t running_n[SLOTS_DEVICES_MAX];
    bool tried[SLOTS_DEVICES_MAX] = {false};

    memcpy(used_bytes, sl->used_bytes, sizeof used_bytes);
    memcpy(running_n, sl->running_n, sizeof running_n);
    for (int32_t i = 0; need->view != SLOTS_NOW && i < sl->n; i++) {
        const struct slot *s = &sl->slot[i];
        if (!s->busy || (need->view == SLOTS_WITHOUT_EVALUATIONS && !s->evaluates)) continue;
        used_bytes[s->device] -= s->bytes;
        running_n[s->device]--;
    }
    for (int32_t i = 0; i < sl->n; i++) {
        int32_t n = 0, wanted = slots_device(sl, i)->is_cluster ? 1 : need->ranks_n;
        if (tried[sl->slot[i].device]) continue;
        if (need->executor >= 0 && slots_executor(sl, i) != need->executor) continue;
        for (int32_t k = i; k < sl->n && n < wanted; k++) {
            const struct slot *s = &sl->slot[k];
            int32_t d = s->device;
            if (!slots_are_alike(sl, i, k)) continue;
            tried[d] = true;
            bool is_free = !s->busy || need->view == SLOTS_EMPTY ||
                           (need->view == SLOTS_WITHOUT_EVALUATIONS && s->evaluates);
            if (!is_free || *sl->device[d].unusable) continue;
            bool fits = used_bytes[d] + need->bytes <= sl->device[d].free_bytes;
            bool may_try = need->view != SLOTS_EMPTY && running_n[d] == 0;
            if (!fits && !(may_try && slots_is_large(sl, k, need->ranks_n))) continue;
            used_bytes[d] += need->bytes;
            if (slot) slot[n] = k;
            n++;
        }
        if (n == wanted) return n;
    }
    return 0;
}

void slots_take(struct slots *sl, const int32_t *slot, int32_t n, int64_t bytes, bool evaluates)
{
    for (int32_t i = 0; i < n; i++) {
        struct slot *s = &sl->slot[slot[i]];
        s->busy = true;
        s->evaluates = evaluates;
        s->bytes = bytes;
        sl->running_n[s->device]++;
        sl->used_bytes[s->device] += bytes;
    }
}

void slots_leave(struct slots *sl, const int32_t *slot, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        struct slot *s = &sl->slot[slot[i]];
        s->busy = false;
        sl->running_n[s->device]--;
        sl->used_bytes[s->device] -= s->bytes;
    }
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
    for (int32_t i = 0; i < sl->n; i++) left += !*slots_device(sl, i)->unusable;
    slots_lower_ranks(sl);
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
