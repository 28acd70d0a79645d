/* hardware.c - the devices that a plan is estimated for, and how fast they are. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "shape/shape.h"
#include "workflow/workflow_internal.h"

enum { GPUS_MAX = 4096 };

/* --- devices --------------------------------------------------------------------------------- */

/* Writes the name in lower case, without blanks and hyphens. */
static char *gpu_word(const char *name, struct arena *a)
{
    struct strbuf word;

    strbuf_init(&word, a);
    for (const char *c = name; *c; c++)
        if (*c != ' ' && *c != '-') strbuf_addf(&word, "%c", tolower((unsigned char)*c));
    return word.text;
}

char *planning_gpu_word(int32_t i, struct arena *a)
{
    size_t n;
    const struct shape_gpu *gpus = shape_gpus(&n);

    return (size_t)i < n ? gpu_word(gpus[i].name, a) : NULL;
}

/* Finds the GPU of a word, with or without "rtx"; NULL: there is none. */
static const struct shape_gpu *find_gpu(const char *word, struct arena *a)
{
    size_t n;
    const struct shape_gpu *gpus = shape_gpus(&n);

    for (size_t i = 0; i < n; i++) {
        const char *known = gpu_word(gpus[i].name, a);
        if (strcmp(word, known) == 0) return &gpus[i];
        if (strncmp(known, "rtx", 3) == 0 && strcmp(word, known + 3) == 0) return &gpus[i];
    }
    return NULL;
}

/* True if text names a GPU ("rtx4090") or several ("H100x8"). */
static bool find_hardware(struct planning *p, const char *text, struct arena *a)
{
    int64_t gpus_n = 1;
    const char *word = gpu_word(text, a), *x = strrchr(word, 'x');

    p->gpu = find_gpu(word, a);
    if (!p->gpu && x && str_to_int(&gpus_n, x + 1) && gpus_n >= 1 && gpus_n <= GPUS_MAX)
        p->gpu = find_gpu(arena_strndup(a, word, (size_t)(x - word)), a);
    if (!p->gpu) return false;
    p->device = (struct device){.slots = (int32_t)gpus_n,
                                .memory_bytes = (int64_t)(1e9 * p->gpu->memory_gb)};
    snprintf(p->device.name, sizeof p->device.name, "%s", text);
    snprintf(p->device.description, sizeof p->device.description, "NVIDIA %s", p->gpu->name);
    return true;
}

int planning_find_device(struct planning *p, const char *devices, struct arena *scratch,
                         struct err *e)
{
    if (devices && find_hardware(p, devices, scratch)) return 0;
    int rc = device_select(&p->device, devices, &p->unusable);
    if (rc == ERR_UNAVAILABLE) return device_select(&p->device, "cpu", e);
    return rc < 0 ? ERR(e, rc, "%s", p->unusable.text) : 0;
}

bool planning_has_gpu(const struct planning *p)
{
    return p->gpu || strncmp(p->device.name, "cuda:", 5) == 0;
}

/* --- rates ----------------------------------------------------------------------------------- */

/* Returns the FLOPs from which a training's speed counts: start-up and small products slow a run
 * that is a thousand times shorter than the longest one. */
static double comparable_flops(const struct planning *p)
{
    double longest = 0;

    for (int32_t i = 0; i < p->plan.runs_n; i++)
        if (!p->state[i].done) longest = fmax(longest, p->plan.run[i].cost.flops);
    return longest / 1000;
}

int planning_find_rate(struct planning *p, struct store *store, struct err *e)
{
    if (store && !p->gpu)
        TRY(store_flops_rate(store, SPEC_TRAIN, p->device.name, comparable_flops(p),
                             &p->rate_measured, e));
    p->basis = p->rate_measured > 0 ? PLANNING_MEASURED
               : planning_has_gpu(p) && shape_peak_flops(p->device.description, SPEC_FP32) > 0
                   ? PLANNING_MODELLED
                   : PLANNING_GUESSED;
    return 0;
}

double planning_rate(const struct planning *p, const struct spec *s)
{
    if (p->basis == PLANNING_MEASURED) return p->rate_measured;
    if (p->basis == PLANNING_GUESSED) return p->device.flops_per_s;
    return PLANNING_PEAK_SHARE * shape_peak_flops(p->device.description, spec_precision(s, NULL));
}
