/* dir.h - lists and deletes folders.
 *
 * dir_open_at and dir_remove_tree, which descend into a tree, never follow symbolic links, so a
 * walk cannot leave the tree. dir_open follows links: the user or the project chose its path. */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include <stdint.h>

#include "base/err.h"

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

#endif
