/* unpack.h - chosen files out of a zip or tar archive, under names of our own.
 *
 * 1. No name of the archive is ever used as a path: a member that is wanted is written to the name
 *    its row gives. An archive with an absolute path, a ".." or a wanted member that is not a plain
 *    file is refused all the same: it was made to do harm.
 * 2. The bytes written have a limit, independent of what the archive states.
 * 3. Every file is complete or absent; checksums of the archive are verified. */
#ifndef FETCH_UNPACK_H
#define FETCH_UNPACK_H

#include <stdint.h>

#include "base/err.h"

struct unpack_file {
    const char *member; /* the last part of its path in the archive, such as wiki.train.tokens */
    const char *name;   /* of the file to write, such as train.txt */
};

/* unpack_files - all of them into dir, which is there. Errors: ERR_NOINPUT; ERR_DATA no archive,
 * damaged, made to do harm, too long, a file missing or there twice; ERR_CREATE, ERR_IO. */
int unpack_files(const char *archive_path, const char *dir, const struct unpack_file *files,
                 int32_t files_n, int64_t bytes_max, struct err *e);

#endif
