/* unpack.c - see fetch.h; reads the archive with libarchive in one pass. */
#include "fetch/fetch.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/arena.h"
#include "base/file.h"

enum { UNPACK_BLOCK_BYTES = 1 << 16, UNPACK_FILES_MAX = 16 };

struct unpack {
    const char *path, *dir;
    const struct unpack_file *file;
    int32_t files_n;
    bool done[UNPACK_FILES_MAX];
    int64_t bytes_left;
    struct archive *archive;
    struct arena arena;
};

static int unpack_error(const struct unpack *u, struct err *e)
{
    const char *why = archive_error_string(u->archive);
    return ERR(e, ERR_DATA, "%s: damaged, truncated or not an archive: %s", u->path,
               why ? why : "unreadable");
}

/* True if the path is absolute or has a component "..". */
static bool unpack_is_harmful(const char *name)
{
    if (*name == '/' || *name == '\\') return true;
    for (const char *part = name; part; part = strchr(part, '/')) {
        if (*part == '/') part++;
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return true;
    }
    return false;
}

static int unpack_copy(struct unpack *u, struct file_writer *out, struct err *e)
{
    char block[UNPACK_BLOCK_BYTES];

    for (;;) {
        la_ssize_t n = archive_read_data(u->archive, block, sizeof block);
        if (n < 0) return unpack_error(u, e);
        if (n == 0) return 0;
        u->bytes_left -= n;
        if (u->bytes_left < 0)
            return ERR(e, ERR_DATA, "%s: unpacks to more than the limit", u->path);
        TRY(file_writer_add(out, block, (size_t)n, e));
    }
}

static int unpack_one(struct unpack *u, const struct unpack_file *file, struct err *e)
{
    struct file_writer *out = NULL;

    TRY(file_writer_open(&out, arena_printf(&u->arena, "%s/%s", u->dir, file->name), e));
    return file_writer_close(out, unpack_copy(u, out, e), e);
}

static int unpack_entry(struct unpack *u, struct archive_entry *entry, struct err *e)
{
    const char *path = archive_entry_pathname(entry);

    if (!path || unpack_is_harmful(path))
        return ERR(e, ERR_DATA, "%s: path '%.80s' leads out of the folder; not extracted", u->path,
                   path ? path : "(no name)");
    const char *slash = strrchr(path, '/');
    for (int32_t i = 0; i < u->files_n; i++) {
        if (strcmp(slash ? slash + 1 : path, u->file[i].member) != 0) continue;
        if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
            return ERR(e, ERR_DATA, "%s: %.80s is not a regular file; not extracted", u->path,
                       path);
        if (u->done[i])
            return ERR(e, ERR_DATA, "%s: contains %s twice", u->path, u->file[i].member);
        u->done[i] = true;
        return unpack_one(u, &u->file[i], e);
    }
    return 0;
}

static int unpack_all(struct unpack *u, int fd, struct err *e)
{
    struct archive_entry *entry;
    int rc;

    archive_read_support_format_zip(u->archive);
    archive_read_support_format_tar(u->archive);
    archive_read_support_filter_all(u->archive);
    if (archive_read_open_fd(u->archive, fd, UNPACK_BLOCK_BYTES) != ARCHIVE_OK)
        return unpack_error(u, e);
    while ((rc = archive_read_next_header(u->archive, &entry)) == ARCHIVE_OK)
        TRY(unpack_entry(u, entry, e));
    if (rc != ARCHIVE_EOF) return unpack_error(u, e);
    for (int32_t i = 0; i < u->files_n; i++)
        if (!u->done[i]) return ERR(e, ERR_DATA, "%s: contains no %s", u->path, u->file[i].member);
    return 0;
}

int unpack_files(const char *archive_path, const char *dir, const struct unpack_file *files,
                 int32_t files_n, int64_t bytes_max, struct err *e)
{
    struct unpack u = {.path = archive_path,
                       .dir = dir,
                       .file = files,
                       .files_n = files_n,
                       .bytes_left = bytes_max};

    assert(files_n <= UNPACK_FILES_MAX);
    int fd = file_open_read(archive_path, e);
    if (fd < 0) return fd;
    u.archive = archive_read_new();
    arena_init(&u.arena);
    int rc = u.archive ? unpack_all(&u, fd, e)
                       : ERR(e, ERR_NOMEM, "out of memory while unpacking %s", archive_path);
    archive_read_free(u.archive);
    arena_fini(&u.arena);
    close(fd);
    return rc;
}
