/* file.h - whole files in, whole files out.
 *
 * 1. A file that this module writes is complete or absent: it is written under a temporary name in
 *    the same folder, synced, renamed, and the folder synced. Only file_writer_open_named writes to
 *    what a path leads to.
 * 2. A file from outside is opened with file_open_read: a FIFO, a device or a folder
 *    is an error, and never waits. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"

bool file_exists(const char *path);

/* file_open_read - a descriptor to read a regular file. Errors: ERR_NOINPUT absent; ERR_DATA not a
 * regular file; ERR_IO. */
int file_open_read(const char *path, struct err *e);

/* file_read - the content in the arena with a zero byte after it; *n (may be NULL) is its length.
 * Errors: those of file_open_read; ERR_DATA longer than max_bytes; ERR_IO. */
int file_read(struct arena *a, char **out, size_t *n, const char *path, size_t max_bytes,
              struct err *e);

/* file_program - the path of the running program. A launcher that starts it through a loader of its
 * own (tests/bundle/launch) names itself in ALIBI_PROGRAM: it starts the same program again.
 * Errors: ERR_UNAVAILABLE. */
int file_program(char *out, size_t bytes, struct err *e);

/* file_read_tail - the last room - 1 bytes of a file as text; "" if it cannot be read. */
void file_read_tail(char *out, size_t room, const char *path);

/* file_write_atomic - replaces path with n bytes. Errors: ERR_CREATE, ERR_IO (nothing is left
 * half-written). */
int file_write_atomic(const char *path, const void *data, size_t n, struct err *e);

/* file_write_named - the same for a path that a user named: see file_writer_open_named. */
int file_write_named(const char *path, const void *data, size_t n, struct err *e);

/* The same in pieces: open, write, then commit or abandon (exactly one of them, which frees f). */
struct file_writer;
int file_writer_open(struct file_writer **out, const char *path, struct err *e);
/* file_writer_open_named - for a path that a user named. A symbolic link stays, and the file it
 * leads to is replaced. A device or a FIFO stays, and the bytes are written into it. Errors also:
 * ERR_CREATE a directory. */
int file_writer_open_named(struct file_writer **out, const char *path, struct err *e);
int file_writer_add(struct file_writer *f, const void *data, size_t n, struct err *e);
/* file_writer_rewrite - replaces the first n bytes, which were added before: a head whose numbers
 * are known only at the end. Not for a device or a FIFO. */
int file_writer_rewrite(struct file_writer *f, const void *data, size_t n, struct err *e);
int file_writer_commit(struct file_writer *f, struct err *e);
void file_writer_abandon(struct file_writer *f); /* takes NULL */

/* file_map - maps a file read-only. data is NULL for an empty file. */
struct file_map {
    const void *data;
    size_t n;
};
int file_map_open(struct file_map *m, const char *path, struct err *e);
void file_map_close(struct file_map *m);

/* file_check_output - ERR_OUTPUT if something printed to out was not written. */
int file_check_output(FILE *out, struct err *e);

/* file_make_dirs - makes a folder and its parents; present ones are fine. */
int file_make_dirs(const char *path, struct err *e);

/* file_lock - takes an exclusive lock held until file_unlock or the end of the process; the file's
 * text becomes holder (such as "pid 12 on host"). Errors: ERR_TRYLATER held by somebody: the
 * sentence quotes their text. */
int file_lock(int *fd_out, const char *path, const char *holder, struct err *e);
void file_unlock(int fd);

#endif
