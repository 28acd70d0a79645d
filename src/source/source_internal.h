/* source_internal.h - what the files of this folder share. */
#ifndef SOURCE_SOURCE_INTERNAL_H
#define SOURCE_SOURCE_INTERNAL_H

#include <sys/stat.h>

#include "interchange/interchange.h"
#include "pretrained/pretrained.h"
#include "source/source.h"

/* A file of a folder as it was when it was opened. */
struct source_stamp {
    const char *path, *name;
    const char *sha256; /* when it was registered */
    struct stat is;
};

struct source_inside {
    struct arena arena;
    const struct source_kind *kind;
    struct safetensors *file_own;  /* of weights in the attempt's folder */
    struct pretrained *folder_own; /* in Hugging Face format, and its files: */
    struct {
        struct source_stamp *item;
        int32_t n, capacity;
    } stamps;
};

/* --- model_folder.c: a folder in Hugging Face format ------------------------------------------ */
int model_folder_open(struct source *s, const struct source_found *found, const char *run_id,
                      source_tick_fn *tick, void *context, struct err *e);
int model_folder_read(const struct source *s, int32_t i, float *out, struct err *e);
int model_folder_check(const struct source *s, struct err *e);

/* model_folder_find_old - finds a folder as programs before schema version 6 registered it:
 * found->path is a safetensors file without tensors, whose __metadata__ has the files, and
 * PATH.place says where the folder is. */
#define SOURCE_OLD_FILE "pretrained.safetensors"
int model_folder_find_old(struct source_found *found, struct arena *a, const char *run_id,
                          struct err *e);

#endif
