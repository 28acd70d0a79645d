/* import_archive.h - the zip file that torch.save writes: FOLDER/data.pkl, and FOLDER/data/KEY for
 * each storage.
 *
 * libarchive reads the zip (64-bit sizes, checksums, damage); what is asserted here is what a
 * checkpoint has beyond that: one folder, no name twice, nothing larger than the file itself. */
#ifndef INTERCHANGE_TORCH_FILE_H
#define INTERCHANGE_TORCH_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct import_entry {
    const char *key; /* of FOLDER/data/KEY */
    int64_t bytes;
};

struct import_archive {
    const char *path;
    struct arena *arena;
    struct import_entry *entry; /* sorted by key */
    int32_t entries_n;
    const void *pickle; /* of FOLDER/data.pkl */
    size_t pickle_bytes;
};

/* import_archive_open - lists the file and reads its pickle, all in the arena. Errors: ERR_NOINPUT;
 * ERR_DATA no zip file, of torch.save before 1.6, damaged, cut short, of another program. */
int import_archive_open(struct import_archive *z, struct arena *a, const char *path, struct err *e);

/* import_archive_find - NULL when there is no such storage. */
const struct import_entry *import_archive_find(const struct import_archive *z, const char *key);

/* A storage that is wanted: data_own becomes its bytes, to be freed by the caller. */
struct import_storage {
    const char *key;
    int64_t bytes; /* as listed */
    void *data_own;
};
/* import_archive_read - fills all of them in one pass over the file. Errors: ERR_DATA damaged, with
 * the storage; ERR_NOMEM. */
int import_archive_read(const struct import_archive *z, struct import_storage *wanted,
                        int32_t wanted_n, struct err *e);

#endif
