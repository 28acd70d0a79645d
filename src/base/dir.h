/* dir.h - lists and removes folders.
 *
 * A walk goes down with dir_open_at and dir_remove_tree, which never follow a symbolic link: what a
 * link below the first folder points to is outside the tree. Only dir_open, with a path that the
 * user or the project names, follows links. */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include <stdint.h>

#include "base/err.h"

struct dir {
    int fd;          /* of the folder, for openat and its like; -1: closed */
    char **name_own; /* names of the entries in the order of strcmp, without . and .. */
    int32_t n;
};

/* dir_open - opens a folder and reads its names. Errors: ERR_NOINPUT absent; ERR_DATA not a
 * directory; ERR_IO. d is closed after an error. */
int dir_open(struct dir *d, const char *path, struct err *e);

/* dir_open_at - the same for the entry `name` of an open folder. Errors: ERR_DATA also for a
 * symbolic link. */
int dir_open_at(struct dir *d, const struct dir *parent, const char *name, struct err *e);

void dir_close(struct dir *d); /* a closed one too */

/* dir_remove_tree - removes the entry `name` of a folder (AT_FDCWD and a path: only the last part
 * is not followed) and all that is below it; a link is removed, not what it points to. An absent
 * entry is fine. *bytes (may be NULL) grows by the sizes of the files. Errors: ERR_IO. */
int dir_remove_tree(int parent_fd, const char *name, double *bytes, struct err *e);

#endif
