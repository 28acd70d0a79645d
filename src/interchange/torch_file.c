/* import_archive.c - two passes: what is there and the description first, then the numbers. */
#include "interchange/torch_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "interchange/pickle.h"

enum { IMPORT_BLOCK_BYTES = 1 << 20, IMPORT_ENTRIES_MAX = 1 << 16, IMPORT_NAME_MAX = 512 };

static int import_archive_error(const struct import_archive *z, struct archive *zip, struct err *e)
{
    const char *why = archive_error_string(zip);
    return ERR(e, ERR_DATA, "%s: damaged or cut short: %s", z->path, why ? why : "unreadable zip");
}

/* A zip begins so; a file of torch.save before PyTorch 1.6 is bare pickles. */
static int import_archive_check_magic(const char *path, int64_t *bytes, struct err *e)
{
    unsigned char head[4] = {0};
    int fd = file_open_read(path, e);

    if (fd < 0) return fd;
    ssize_t n = pread(fd, head, sizeof head, 0);
    *bytes = lseek(fd, 0, SEEK_END);
    close(fd);
    if (n < 0) return ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    if (memcmp(head, "PK\3\4", sizeof head) == 0) return 0;
    if (head[0] == 0x80)
        return ERR(e, ERR_DATA,
                   "%s: written by torch.save before PyTorch 1.6; load it and save it again with a "
                   "newer PyTorch",
                   path);
    return ERR(e, ERR_DATA, "%s: no checkpoint of PyTorch: it does not begin as a zip file", path);
}

static int import_archive_begin(struct archive **out, const struct import_archive *z, struct err *e)
{
    struct archive *zip = archive_read_new();

    *out = zip;
    if (!zip) return ERR(e, ERR_NOMEM, "%s: no memory to read it", z->path);
    if (archive_read_support_format_zip_seekable(zip) != ARCHIVE_OK ||
        archive_read_open_filename(zip, z->path, IMPORT_BLOCK_BYTES) != ARCHIVE_OK)
        return import_archive_error(z, zip, e);
    return 0;
}

/* 1 and the next file's name after the folder, 0 at the end. */
static int import_archive_next(const struct import_archive *z, struct archive *zip,
                               const char **name, int64_t *bytes, struct err *e)
{
    struct archive_entry *entry;
    int rc = archive_read_next_header(zip, &entry);

    if (rc == ARCHIVE_EOF) return 0;
    if (rc != ARCHIVE_OK) return import_archive_error(z, zip, e);
    const char *path = archive_entry_pathname(entry);
    const char *slash = path ? strchr(path, '/') : NULL;
    if (!path || strlen(path) > IMPORT_NAME_MAX)
        return ERR(e, ERR_DATA, "%s: holds a file without a usable name", z->path);
    *name = slash ? slash + 1 : path;
    *bytes = archive_entry_size_is_set(entry) ? (int64_t)archive_entry_size(entry) : -1;
    return 1;
}

/* Exactly `bytes` of the present file; a checksum that does not hold is an error of libarchive. */
static int import_archive_data(const struct import_archive *z, struct archive *zip,
                               const char *name, void *out, int64_t bytes, struct err *e)
{
    int64_t done = 0;
    char more;

    while (done < bytes) {
        la_ssize_t n = archive_read_data(zip, (char *)out + done, (size_t)(bytes - done));
        if (n < 0) return import_archive_error(z, zip, e);
        if (n == 0)
            return ERR(e, ERR_DATA, "%s: %s ends after %" PRId64 " of %" PRId64 " bytes", z->path,
                       name, done, bytes);
        done += n;
    }
    la_ssize_t left = archive_read_data(zip, &more, 1);
    if (left < 0) return import_archive_error(z, zip, e);
    if (left > 0)
        return ERR(e, ERR_DATA, "%s: %s is longer than the %" PRId64 " bytes it states", z->path,
                   name, bytes);
    return 0;
}

/* PyTorch 2 says how its numbers are laid out. */
static int import_archive_byte_order(const struct import_archive *z, struct archive *zip,
                                     int64_t bytes, struct err *e)
{
    char text[8] = "";

    if (bytes == 6) TRY(import_archive_data(z, zip, "byteorder", text, bytes, e));
    if (strcmp(text, "little") == 0) return 0;
    return ERR(e, ERR_DATA, "%s: its byte order is not little endian", z->path);
}

static int import_archive_take(struct import_archive *z, struct archive *zip, const char *name,
                               int64_t bytes, int64_t file_bytes, struct err *e)
{
    bool pickle = strcmp(name, "data.pkl") == 0;

    if (strcmp(name, "byteorder") == 0) return import_archive_byte_order(z, zip, bytes, e);
    if (!pickle && strncmp(name, "data/", 5) != 0) return 0; /* version, code */
    if (bytes < 0 || bytes > file_bytes)
        return ERR(e, ERR_DATA, "%s: %s states %" PRId64 " bytes, the whole file has %" PRId64,
                   z->path, name, bytes, file_bytes);
    if (!pickle) {
        if (z->entries_n == IMPORT_ENTRIES_MAX)
            return ERR(e, ERR_DATA, "%s: more than %d storages", z->path, IMPORT_ENTRIES_MAX);
        z->entry[z->entries_n++] =
            (struct import_entry){.key = arena_strdup(z->arena, name + 5), .bytes = bytes};
        return 0;
    }
    if (z->pickle) return ERR(e, ERR_DATA, "%s: holds data.pkl twice", z->path);
    if (bytes > PICKLE_BYTES_MAX)
        return ERR(e, ERR_DATA, "%s: data.pkl has %" PRId64 " bytes, more than the limit of %d",
                   z->path, bytes, PICKLE_BYTES_MAX);
    void *data = arena_alloc(z->arena, (size_t)bytes + 1);
    TRY(import_archive_data(z, zip, name, data, bytes, e));
    z->pickle = data;
    z->pickle_bytes = (size_t)bytes;
    return 0;
}

static int import_entry_compare(const void *a, const void *b)
{
    return strcmp(((const struct import_entry *)a)->key, ((const struct import_entry *)b)->key);
}

static int import_archive_list(struct import_archive *z, struct archive *zip, int64_t file_bytes,
                               struct err *e)
{
    const char *name;
    int64_t bytes;
    int rc;

    while ((rc = import_archive_next(z, zip, &name, &bytes, e)) == 1)
        TRY(import_archive_take(z, zip, name, bytes, file_bytes, e));
    TRY(rc);
    if (!z->pickle)
        return ERR(e, ERR_DATA, "%s: a zip file, but not of torch.save: it holds no data.pkl",
                   z->path);
    qsort(z->entry, (size_t)z->entries_n, sizeof *z->entry, import_entry_compare);
    for (int32_t i = 1; i < z->entries_n; i++)
        if (strcmp(z->entry[i - 1].key, z->entry[i].key) == 0)
            return ERR(e, ERR_DATA, "%s: holds data/%s twice", z->path, z->entry[i].key);
    return 0;
}

int import_archive_open(struct import_archive *z, struct arena *a, const char *path, struct err *e)
{
    struct archive *zip = NULL;
    int64_t file_bytes = 0;
    int rc = 0;

    *z = (struct import_archive){.path = path, .arena = a};
    TRY(import_archive_check_magic(path, &file_bytes, e));
    z->entry = arena_array(a, IMPORT_ENTRIES_MAX, sizeof *z->entry);
    TRY_OUT(rc, import_archive_begin(&zip, z, e));
    rc = import_archive_list(z, zip, file_bytes, e);
out:
    archive_read_free(zip);
    return rc;
}

const struct import_entry *import_archive_find(const struct import_archive *z, const char *key)
{
    const struct import_entry wanted = {.key = key};
    return bsearch(&wanted, z->entry, (size_t)z->entries_n, sizeof *z->entry, import_entry_compare);
}

static int import_archive_fill(const struct import_archive *z, struct archive *zip,
                               const char *name, int64_t bytes, struct import_storage *wanted,
                               int32_t wanted_n, struct err *e)
{
    if (strncmp(name, "data/", 5) != 0) return 0;
    for (int32_t i = 0; i < wanted_n; i++) {
        struct import_storage *s = &wanted[i];
        if (s->data_own || strcmp(s->key, name + 5) != 0) continue;
        if (bytes != s->bytes)
            return ERR(e, ERR_DATA, "%s: %s has changed while it was read", z->path, name);
        s->data_own = malloc((size_t)bytes + 1);
        if (!s->data_own)
            return ERR(e, ERR_NOMEM, "%s: no memory for the %" PRId64 " bytes of %s", z->path,
                       bytes, name);
        return import_archive_data(z, zip, name, s->data_own, bytes, e);
    }
    return 0;
}

int import_archive_read(const struct import_archive *z, struct import_storage *wanted,
                        int32_t wanted_n, struct err *e)
{
    struct archive *zip = NULL;
    const char *name;
    int64_t bytes;
    int rc = 0, more;

    TRY_OUT(rc, import_archive_begin(&zip, z, e));
    while ((more = import_archive_next(z, zip, &name, &bytes, e)) == 1)
        TRY_OUT(rc, import_archive_fill(z, zip, name, bytes, wanted, wanted_n, e));
    TRY_OUT(rc, more);
    for (int32_t i = 0; i < wanted_n; i++) {
        if (wanted[i].data_own) continue;
        rc = ERR(e, ERR_DATA, "%s: data/%s is missing", z->path, wanted[i].key);
        goto out;
    }
out:
    archive_read_free(zip);
    return rc;
}
