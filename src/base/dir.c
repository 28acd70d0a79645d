/* dir.c - see dir.h. */
#include "base/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

static int dir_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int dir_add(struct dir *d, int32_t *capacity, const char *name)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return 0;
    if (vec_reserve_heap(&d->name_own, d->n + 1, capacity, sizeof *d->name_own, "names", NULL) < 0)
        return ENOMEM;
    if (!(d->name_own[d->n] = strdup(name))) return ENOMEM;
    d->n++;
    return 0;
}

/* Reads the names in d->fd. Returns 0 or an errno. */
static int dir_read(struct dir *d)
{
    const struct dirent *entry;
    int32_t capacity = 0;
    int why = 0, copy = fcntl(d->fd, F_DUPFD_CLOEXEC, 0); /* closedir closes the copy */
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);

    if (!stream) {
        why = errno;
        if (copy >= 0) close(copy);
        return why;
    }
    while (!why && (errno = 0, entry = readdir(stream))) why = dir_add(d, &capacity, entry->d_name);
    if (!why) why = errno;
    closedir(stream);
    if (d->n > 1) qsort(d->name_own, (size_t)d->n, sizeof *d->name_own, dir_compare);
    return why;
}

static int dir_open_with(struct dir *d, int parent_fd, const char *name, int flags, struct err *e)
{
    *d = (struct dir){.fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags)};
    int why = d->fd < 0 ? errno : dir_read(d);

    if (!why) return 0;
    dir_close(d);
    if (why == ENOMEM) return ERR(e, ERR_NOMEM, "out of memory while listing %s", name);
    if (why == ENOENT) return ERR(e, ERR_NOINPUT, "%s not found", name);
    if (why == ENOTDIR || why == ELOOP) return ERR(e, ERR_DATA, "%s is not a directory", name);
    return ERR(e, ERR_IO, "%s: %s", name, strerror(why));
}

int dir_open(struct dir *d, const char *path, struct err *e)
{
    return dir_open_with(d, AT_FDCWD, path, 0, e);
}

int dir_open_at(struct dir *d, const struct dir *parent, const char *name, struct err *e)
{
    return dir_open_with(d, parent->fd, name, O_NOFOLLOW, e);
}

void dir_close(struct dir *d)
{
    for (int32_t i = 0; i < d->n; i++) free(d->name_own[i]);
    free(d->name_own);
    if (d->fd >= 0) close(d->fd);
    *d = (struct dir){.fd = -1};
}

static int dir_remove(int parent_fd, const char *name, int flags, struct err *e)
{
    if (unlinkat(parent_fd, name, flags) == 0 || errno == ENOENT) return 0;
    return ERR(e, ERR_IO, "%s cannot be deleted: %s", name, strerror(errno));
}

int dir_remove_tree(int parent_fd, const char *name, double *bytes, struct err *e)
{
    struct stat st;
    struct dir d;
    int rc = 0;

    if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : ERR(e, ERR_IO, "%s: %s", name, strerror(errno));
    if (!S_ISDIR(st.st_mode)) {
        TRY(dir_remove(parent_fd, name, 0, e));
        if (bytes && S_ISREG(st.st_mode)) *bytes += (double)st.st_size;
        return 0;
    }
    TRY(dir_open_with(&d, parent_fd, name, O_NOFOLLOW, e));
    for (int32_t i = 0; i < d.n && rc == 0; i++)
        rc = dir_remove_tree(d.fd, d.name_own[i], bytes, e);
    if (rc < 0) err_ctx(e, "%s", name);
    dir_close(&d);
    return rc < 0 ? rc : dir_remove(parent_fd, name, AT_REMOVEDIR, e);
}
