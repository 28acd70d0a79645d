/* executor.c - the table of executors. */
#include "scheduler/executor.h"

#include <string.h>

#include "record/run_folder.h"

/* The first executor also owns rows whose device is not named after an executor. */
#define EXECUTOR_ENTRY(name, syntax) &executor_##name,
const struct executor *const executor_table[] = {EXECUTORS(EXECUTOR_ENTRY) NULL};

int executor_devices(const struct executor *const *table, struct device *out, int32_t room,
                     int32_t *n, struct err *e)
{
    *n = 0;
    for (int32_t i = 0; table[i]; i++) {
        int32_t more_n;
        TRY(table[i]->list(out + *n, room - *n, &more_n, e));
        for (int32_t k = 0; k < more_n; k++) {
            struct device *d = &out[(*n)++];
            d->executor = i;
            if (d->flops_per_s == 0) d->flops_per_s = out[0].flops_per_s; /* unknown: a guess */
        }
    }
    return 0;
}

int device_list(struct device *out, int32_t room, int32_t *n, struct err *e)
{
    return executor_devices(executor_table, out, room, n, e);
}

int32_t executor_find(const struct executor *const *table, const char *device)
{
    for (int32_t i = 0; table[i]; i++)
        if (strcmp(table[i]->name, device) == 0) return i;
    return 0;
}

const struct executor_option *scheduler_option(int32_t executor)
{
    for (int32_t i = 0; executor_table[i]; i++)
        if (i == executor) return &executor_table[i]->option;
    return NULL;
}

char *worker_log(struct arena *a, const char *dir, int32_t rank)
{
    char *log = run_folder_path(a, dir, RUN_LOG);
    return rank > 0 ? arena_printf(a, "%s.%ld", log, (long)rank) : log;
}
