/* file.h - reads and writes whole files, atomically; lists and deletes folders.
 *
 * 1. A file written here is complete or absent: write to a temporary file in the same folder,
 *    fsync, rename, fsync the folder. Only file_writer_open_named follows links.
 * 2. Files from users are opened with file_open_read. It returns an error for a FIFO, a device or a
 *    folder and never blocks.
 * 3. dir_open_at and dir_remove_tree, which descend into a tree, never follow symbolic links, so a
 *    walk cannot leave the tree. dir_open follows links: the user or the project chose its path. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"

enum { FILE_PATH_BYTES = 4096 };
#define FILE_TEMPORARY                                                                             \
    ".tmp-" /* in the name of a temporary file, before the number of its process */

bool file_exists(const char *path);

/* file_follow - resolves the symbolic links at path; the final target need not exist. Errors:
 * ERR_CREATE. */
int file_follow(char out[FILE_PATH_BYTES], const char *path, struct err *e);

/* file_open_read - opens a regular file for reading and returns its descriptor. Errors: ERR_NOINPUT
 * absent; ERR_DATA not a regular file; ERR_IO. */
int file_open_read(const char *path, struct err *e);

/* file_is_folder - true for a folder, also through a symbolic link. */
bool file_is_folder(const char *path);
/* file_find_in - the path of a file of a folder from outside. A symbolic link may lead only to
 * another file of the folder. Errors: ERR_NOINPUT absent; ERR_DATA. */
int file_find_in(char out[FILE_PATH_BYTES], const char *folder, const char *name, struct err *e);

/* file_read - reads a file into the arena and appends a zero byte; *n (may be NULL) is the length
 * without it. Errors: those of file_open_read; ERR_DATA longer than max_bytes; ERR_NOMEM; ERR_IO.
 */
int file_read(struct arena *a, char **out, size_t *n, const char *path, size_t max_bytes,
              struct err *e);

/* file_program - the path that starts the running program again: the launcher's, given in
 * ALIBI_PROGRAM, if one started it through its own loader (tests/bundle/launch). Errors:
 * ERR_UNAVAILABLE. */
int file_program(char *out, size_t bytes, struct err *e);

/* file_read_tail - the last capacity - 1 bytes of a file as text; "" if it cannot be read. */
void file_read_tail(char *out, size_t capacity, const char *path);

/* file_write_atomic - writes n bytes to path, replacing an existing file only once all are written.
 * Errors: ERR_CREATE, ERR_IO. */
int file_write_atomic(const char *path, const void *data, size_t n, struct err *e);

/* file_write_new - creates a file; it must not exist. It survives a power failure only after
 * file_sync of the file and of its folder. Errors: ERR_CREATE, ERR_IO. */
int file_write_new(const char *path, const void *data, size_t n, struct err *e);

/* file_sync - fsync of a file or folder. Ignores file systems that cannot sync a folder. Errors:
 * ERR_IO. */
int file_sync(const char *path, struct err *e);

/* file_write_named - file_write_atomic with the rules of file_writer_open_named. */
int file_write_named(const char *path, const void *data, size_t n, struct err *e);

/* Writing in pieces: open, add, close. Small pieces are buffered. */
struct file_writer;
int file_writer_open(struct file_writer **out, const char *path, struct err *e);
/* file_writer_open_named - for a path that the user gave. Keeps a symbolic link and replaces its
 * target; writes directly into a device or FIFO. Errors: also ERR_CREATE for a directory. */
int file_writer_open_named(struct file_writer **out, const char *path, struct err *e);
int file_writer_add(struct file_writer *f, const void *data, size_t n, struct err *e);
/* file_writer_rewrite - overwrites the first n bytes, for a header whose values are known only at
 * the end. Not for a device or a FIFO. */
int file_writer_rewrite(struct file_writer *f, const void *data, size_t n, struct err *e);
/* file_writer_close - commits the file if rc is 0, otherwise abandons it, and frees f (may be
 * NULL). Returns rc or the error of the commit. */
int file_writer_close(struct file_writer *f, int rc, struct err *e);

/* file_map - maps a file read-only. data is NULL for an empty file. */
struct file_map {
    const void *data;
    size_t n;
};
int file_map_open(struct file_map *m, const char *path, struct err *e);
/* file_map_open_kept - the same; returns the file's descriptor, which the caller closes. */
int file_map_open_kept(struct file_map *m, const char *path, struct err *e);
void file_map_close(struct file_map *m);
/* file_map_release - takes n bytes out of this process's memory; the next access reads them again.
 * Nothing happens to bytes outside the map. */
void file_map_release(const struct file_map *m, const void *from, size_t n);
/* file_map_has - true if n bytes are in the map. */
bool file_map_has(const struct file_map *m, const void *from, size_t n);

/* file_check_output - ERR_OUTPUT if writing to out has failed. */
int file_check_output(FILE *out, struct err *e);

/* file_make_dirs - creates a folder and its parents unless they exist. What it creates survives a
 * power failure. */
int file_make_dirs(const char *path, struct err *e);

/* A folder and its names. */
struct dir {
    int fd;          /* of the folder, for openat and similar calls; -1: closed */
    char **name_own; /* names of the entries without . and .., sorted by strcmp */
    int32_t n;
};

/* dir_open - opens a folder and reads its names. Errors: ERR_NOINPUT absent; ERR_DATA not a
 * directory; ERR_IO. d is closed after an error. */
int dir_open(struct dir *d, const char *path, struct err *e);

/* dir_open_at - dir_open for the entry `name` of an open folder. Errors: also ERR_DATA if it is a
 * symbolic link. */
int dir_open_at(struct dir *d, const struct dir *parent, const char *name, struct err *e);

void dir_close(struct dir *d); /* d may be closed already */

/* dir_remove_tree - deletes the entry `name` of a folder and everything below it. A link is
 * deleted, its target is not. With AT_FDCWD, name is a path, of which only the last component is
 * not followed. An absent entry is not an error. The sizes of the deleted files are added to *bytes
 * (may be NULL). Errors: ERR_IO. */
int dir_remove_tree(int parent_fd, const char *name, double *bytes, struct err *e);

/* A folder of this process for temporary files: NAME-XXXXXX in `parent`, with a lock that tells
 * others that it is in use.
 *
 * file_scratch_open - makes it, after file_scratch_sweep. Errors: ERR_CREATE, ERR_IO.
 * file_scratch_close - deletes it; also after an error of open. file_scratch_sweep - deletes those
 * of this name that processes left when they were killed, and adds their bytes to *bytes (may be
 * NULL). */
struct file_scratch {
    char path[FILE_PATH_BYTES]; /* "": it is not open */
    int lock_fd;
};
int file_scratch_open(struct file_scratch *s, const char *parent, const char *name, struct err *e);
void file_scratch_close(struct file_scratch *s);
void file_scratch_sweep(const char *parent, const char *name, double *bytes);

/* file_lock - takes an exclusive lock, released by file_unlock or when the process ends, and writes
 * holder (such as "pid 12 on host") to the file. Errors: ERR_TRYLATER if another process holds it;
 * the message quotes its holder text. */
int file_lock(int *fd_out, const char *path, const char *holder, struct err *e);
void file_unlock(int fd);

#endif
