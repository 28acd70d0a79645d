/* file.c - atomic writes, bounded reads, maps, folders, locks. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_LINKS_MAX = 40 };

struct file_writer {
    FILE *to;
    char path[FILE_PATH_BYTES], temporary[FILE_PATH_BYTES + 32]; /* "": written in place */
};

bool file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

int file_program(char *out, size_t bytes, struct err *e)
{
    const char *launcher = getenv("ALIBI_PROGRAM");
    if (launcher && *launcher && strlen(launcher) < bytes) {
        memcpy(out, launcher, strlen(launcher) + 1);
        return 0;
    }
    ssize_t n = readlink("/proc/self/exe", out, bytes - 1);
    if (n < 0)
        return ERR(e, ERR_UNAVAILABLE, "/proc/self/exe: %s; /proc must be mounted",
                   strerror(errno));
    out[n] = '\0';
    return 0;
}

/* Opens like file_open_read and returns the size, too. */
static int file_open_sized(const char *path, size_t *size, struct err *e)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 && errno != ENXIO) { /* ENXIO: a socket, reported below as not a regular file */
        int code = errno == ENOENT || errno == ENOTDIR ? ERR_NOINPUT : ERR_IO;
        return ERR(e, code, "%s: %s", path, strerror(errno));
    }
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *size = (size_t)st.st_size;
        return fd;
    }
    if (fd >= 0) close(fd);
    return ERR(e, ERR_DATA, "%s is not a regular file", path);
}

bool file_is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int file_find_in(char out[FILE_PATH_BYTES], const char *folder, const char *name, struct err *e)
{
    char path[FILE_PATH_BYTES], own[FILE_PATH_BYTES];

    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return ERR(e, ERR_DATA, "%.200s…: the path is too long", path);
    char *target = realpath(path, out);
    if (!target || !realpath(folder, own)) {
        bool absent = errno == ENOENT || errno == ENOTDIR;
        return ERR(e, absent ? ERR_NOINPUT : ERR_DATA, "%s: %s", path, strerror(errno));
    }
    size_t n = strcmp(own, "/") == 0 ? 0 : strlen(own);
    if (strncmp(target, own, n) != 0 || target[n] != '/')
        return ERR(e, ERR_DATA,
                   "%s is a symbolic link out of the folder; copy the file into it (cp -L)", path);
    memcpy(out, path, strlen(path) + 1);
    return 0;
}

int file_open_read(const char *path, struct err *e)
{
    size_t size;
    return file_open_sized(path, &size, e);
}

int file_read(struct arena *a, char **out, size_t *n, const char *path, size_t max_bytes,
              struct err *e)
{
    int rc = 0;
    size_t size, used = 0;
    int fd = file_open_sized(path, &size, e);

    if (fd < 0) return fd;
    if (size > max_bytes) {
        rc = ERR(e, ERR_DATA, "%s: %zu bytes, more than the limit of %zu", path, size, max_bytes);
        goto out;
    }
    *out = arena_try(a, size + 1);
    if (!*out) {
        rc = ERR(e, ERR_NOMEM, "out of memory for %s of %zu bytes", path, size);
        goto out;
    }
    while (used < size) {
        ssize_t got = read(fd, *out + used, size - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            rc = ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
            goto out;
        }
        if (got == 0) break;
        used += (size_t)got;
    }
    if (n) *n = used;
out:
    close(fd);
    return rc;
}

void file_read_tail(char *out, size_t capacity, const char *path)
{
    int fd = file_open_read(path, NULL);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    off_t at = size >= (off_t)capacity ? size - (off_t)capacity + 1 : 0;
    ssize_t n = fd < 0 ? 0 : pread(fd, out, capacity - 1, at);

    out[n > 0 ? n : 0] = '\0';
    if (fd >= 0) close(fd);
}

/* in_place: opens the target of path itself. Otherwise creates the temporary file exclusively, so
 * that a symbolic link of that name is not followed. */
static int file_writer_make(struct file_writer **out, const char *path, bool in_place,
                            struct err *e)
{
    struct file_writer *f = calloc(1, sizeof *f);

    *out = NULL;
    if (!f) return ERR(e, ERR_NOMEM, "out of memory while writing %s", path);
    if ((size_t)snprintf(f->path, sizeof f->path, "%s", path) >= sizeof f->path) {
        free(f);
        return ERR(e, ERR_CREATE, "%.80s…: path longer than %d bytes", path, FILE_PATH_BYTES);
    }
    if (!in_place) {
        snprintf(f->temporary, sizeof f->temporary, "%s" FILE_TEMPORARY "%ld", path,
                 (long)getpid());
        unlink(f->temporary);
    }
    f->to = in_place ? fopen(path, "we") : fopen(f->temporary, "wxe");
    if (!f->to) {
        int rc = ERR(e, ERR_CREATE, "%s: cannot be created: %s", path, strerror(errno));
        free(f);
        return rc;
    }
    *out = f;
    return 0;
}

int file_writer_open(struct file_writer **out, const char *path, struct err *e)
{
    return file_writer_make(out, path, false, e);
}

int file_follow(char out[FILE_PATH_BYTES], const char *path, struct err *e)
{
    char target[FILE_PATH_BYTES];
    int n = snprintf(out, FILE_PATH_BYTES, "%s", path);

    for (int links_n = 0; n < FILE_PATH_BYTES && links_n < FILE_LINKS_MAX; links_n++) {
        ssize_t bytes = readlink(out, target, sizeof target - 1);
        if (bytes < 0) return 0;
        target[bytes] = '\0';
        char *slash = target[0] == '/' ? NULL : strrchr(out, '/');
        size_t kept = slash ? (size_t)(slash - out) + 1 : 0;
        n = (int)kept + snprintf(out + kept, FILE_PATH_BYTES - kept, "%s", target);
    }
    return ERR(e, ERR_CREATE, "%s cannot be created: %s", path,
               strerror(n < FILE_PATH_BYTES ? ELOOP : ENAMETOOLONG));
}

int file_writer_open_named(struct file_writer **out, const char *path, struct err *e)
{
    struct stat there, found;
    char target[FILE_PATH_BYTES];
    bool exists = stat(path, &there) == 0;

    *out = NULL;
    if (exists && S_ISDIR(there.st_mode)) return ERR(e, ERR_CREATE, "%s is a directory", path);
    if (exists && !S_ISREG(there.st_mode)) return file_writer_make(out, path, true, e);
    TRY(file_follow(target, path, e));
    /* The target of a link in /proc may be a file without a name. */
    bool named = !exists || (lstat(target, &found) == 0 && found.st_dev == there.st_dev &&
                             found.st_ino == there.st_ino);
    return file_writer_make(out, named ? target : path, !named, e);
}

int file_writer_add(struct file_writer *f, const void *data, size_t n, struct err *e)
{
    if (fwrite_unlocked(data, 1, n, f->to) == n) return 0; /* one thread has the writer */
    return ERR(e, ERR_IO, "%s: writing %zu bytes: %s", f->path, n, strerror(errno));
}

int file_sync(const char *path, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    int rc = fsync(fd) < 0 && errno != EINVAL
                 ? ERR(e, ERR_IO, "%s: fsync: %s", path, strerror(errno))
                 : 0;
    close(fd);
    return rc;
}

int file_writer_rewrite(struct file_writer *f, const void *data, size_t n, struct err *e)
{
    if (fflush(f->to) == 0 && pwrite(fileno(f->to), data, n, 0) == (ssize_t)n) return 0;
    return ERR(e, ERR_IO, "%s: rewriting its header: %s", f->path, strerror(errno));
}

/* Flushes, syncs and renames. */
static int file_writer_commit(struct file_writer *f, struct err *e)
{
    bool in_place = !f->temporary[0];

    if (fflush(f->to) != 0 ||
        (fsync(fileno(f->to)) < 0 && !(in_place && (errno == EINVAL || errno == EROFS))))
        return ERR(e, ERR_IO, "%s: writing: %s", f->path, strerror(errno));
    int closed = fclose(f->to);
    f->to = NULL;
    if (closed != 0) return ERR(e, ERR_IO, "%s: close: %s", f->path, strerror(errno));
    if (in_place) return 0;
    if (rename(f->temporary, f->path) < 0)
        return ERR(e, ERR_CREATE, "%s: rename: %s", f->path, strerror(errno));
    f->temporary[0] = '\0';
    return file_sync(dirname(f->path), e);
}

int file_writer_close(struct file_writer *f, int rc, struct err *e)
{
    if (!f) return rc;
    if (rc == 0) rc = file_writer_commit(f, e);
    if (f->to) fclose(f->to);
    if (f->temporary[0]) unlink(f->temporary);
    free(f);
    return rc;
}

int file_write_new(const char *path, const void *data, size_t n, struct err *e)
{
    FILE *to = fopen(path, "wxe");

    if (!to) return ERR(e, ERR_CREATE, "%s: cannot be created: %s", path, strerror(errno));
    bool whole = fwrite(data, 1, n, to) == n;
    if (fclose(to) == 0 && whole) return 0;
    return ERR(e, ERR_IO, "%s: writing %zu bytes: %s", path, n, strerror(errno));
}

int file_write_atomic(const char *path, const void *data, size_t n, struct err *e)
{
    struct file_writer *f;
    TRY(file_writer_open(&f, path, e));
    return file_writer_close(f, file_writer_add(f, data, n, e), e);
}

int file_write_named(const char *path, const void *data, size_t n, struct err *e)
{
    struct file_writer *f;
    TRY(file_writer_open_named(&f, path, e));
    return file_writer_close(f, file_writer_add(f, data, n, e), e);
}

int file_check_output(FILE *out, struct err *e)
{
    return ferror(out) ? ERR(e, ERR_OUTPUT, "the output cannot be written") : 0;
}

int file_map_open(struct file_map *m, const char *path, struct err *e)
{
    int fd = file_map_open_kept(m, path, e);
    if (fd < 0) return fd;
    close(fd);
    return 0;
}

int file_map_open_kept(struct file_map *m, const char *path, struct err *e)
{
    *m = (struct file_map){0};
    int fd = file_open_sized(path, &m->n, e);
    if (fd < 0 || m->n == 0) return fd;
    void *p = mmap(NULL, m->n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p != MAP_FAILED) {
        m->data = p;
        return fd;
    }
    close(fd);
    return ERR(e, ERR_IO, "%s: mmap: %s", path, strerror(errno));
}

void file_map_close(struct file_map *m)
{
    if (m && m->data) munmap((void *)(uintptr_t)m->data, m->n);
    if (m) *m = (struct file_map){0};
}

bool file_map_has(const struct file_map *m, const void *from, size_t n)
{
    uintptr_t map = (uintptr_t)m->data, at = (uintptr_t)from;

    return map && at >= map && at - map <= m->n && n <= m->n - (at - map);
}

void file_map_release(const struct file_map *m, const void *from, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)from + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)from + n) / page * page;

    if (file_map_has(m, from, n) && end > first)
        (void)madvise((void *)first, end - first, MADV_DONTNEED);
}

/* Syncs the folder that has this entry. */
static int sync_parent(const char *path, struct err *e)
{
    char copy[FILE_PATH_BYTES];

    snprintf(copy, sizeof copy, "%s", path);
    return file_sync(dirname(copy), e);
}

int file_make_dirs(const char *path, struct err *e)
{
    char part[FILE_PATH_BYTES];

    if ((size_t)snprintf(part, sizeof part, "%s", path) >= sizeof part)
        return ERR(e, ERR_CREATE, "%.80s…: path longer than %d bytes", path, FILE_PATH_BYTES);
    for (char *p = part + 1;; p++) {
        if (*p != '/' && *p != '\0') continue;
        char kept = *p;
        *p = '\0';
        if (mkdir(part, 0777) == 0)
            TRY(sync_parent(part, e));
        else if (errno != EEXIST)
            return ERR(e, ERR_CREATE, "%s: cannot be created: %s", part, strerror(errno));
        *p = kept;
        if (kept == '\0') break;
    }
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return ERR(e, ERR_CREATE, "%s exists but is not a directory", path);
    return 0;
}

/* --- folders --- */

static int dir_is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int dir_compare(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Lists the names in d->fd. Returns 0 or an errno. */
static int dir_read(struct dir *d)
{
    struct dirent **entry = NULL;
    int why = 0, n = scandirat(d->fd, ".", &entry, dir_is_entry, dir_compare);

    if (n < 0) return errno;
    d->name_own = calloc((size_t)n + 1, sizeof *d->name_own);
    if (!d->name_own) why = ENOMEM;
    for (int i = 0; i < n; i++) {
        if (!why && !(d->name_own[d->n++] = strdup(entry[i]->d_name))) why = ENOMEM;
        free(entry[i]);
    }
    free(entry);
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

/* --- locks --- */

int file_lock(int *fd_out, const char *path, const char *holder, struct err *e)
{
    char text[256] = "";
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);

    *fd_out = -1;
    if (fd < 0) return ERR(e, ERR_CREATE, "%s: cannot be opened: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int why = errno;
        ssize_t n = pread(fd, text, sizeof text - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        close(fd);
        if (why != EWOULDBLOCK) return ERR(e, ERR_IO, "%s: %s", path, strerror(why));
        return ERR(e, ERR_TRYLATER, "%s: held by %s; wait for it to end or stop it", path,
                   *text ? text : "another process");
    }
    size_t n = strlen(holder);
    if (ftruncate(fd, 0) < 0 || pwrite(fd, holder, n, 0) != (ssize_t)n) {
        int rc = ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
        close(fd);
        return rc;
    }
    *fd_out = fd;
    return 0;
}

void file_unlock(int fd)
{
    if (fd < 0) return;
    close(fd);
}

/* --- scratch folders --- */

static int scratch_lock(struct file_scratch *s, struct err *e)
{
    char path[FILE_PATH_BYTES + 8], holder[32];

    snprintf(path, sizeof path, "%s/.lock", s->path);
    snprintf(holder, sizeof holder, "pid %ld", (long)getpid());
    return file_lock(&s->lock_fd, path, holder, e);
}

/* A folder of another user is not this user's to delete, nor to follow its links. */
static bool scratch_is_own(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

void file_scratch_sweep(const char *parent, const char *name, double *bytes)
{
    size_t n = strlen(name);
    struct dir d;

    if (dir_open(&d, parent, NULL) < 0) return;
    for (int32_t i = 0; i < d.n; i++) {
        struct file_scratch left = {.lock_fd = -1};
        if (strncmp(d.name_own[i], name, n) != 0 || d.name_own[i][n] != '-') continue;
        snprintf(left.path, sizeof left.path, "%s/%s", parent, d.name_own[i]);
        if (!scratch_is_own(left.path) || scratch_lock(&left, NULL) < 0) continue;
        (void)dir_remove_tree(d.fd, d.name_own[i], bytes, NULL);
        file_unlock(left.lock_fd);
    }
    dir_close(&d);
}

int file_scratch_open(struct file_scratch *s, const char *parent, const char *name, struct err *e)
{
    enum { TRIES_MAX = 8 };
    int rc = 0;

    file_scratch_sweep(parent, name, NULL);
    /* Another process may sweep the folder before it is locked. */
    for (int i = 0; i < TRIES_MAX; i++) {
        *s = (struct file_scratch){.lock_fd = -1};
        snprintf(s->path, sizeof s->path, "%s/%s-XXXXXX", parent, name);
        if (!mkdtemp(s->path)) {
            rc = ERR(e, ERR_CREATE, "%s: a temporary folder cannot be created: %s", parent,
                     strerror(errno));
            s->path[0] = '\0';
            return rc;
        }
        rc = scratch_lock(s, e);
        if (rc == 0 && file_is_folder(s->path)) return 0;
        file_scratch_close(s);
    }
    return rc < 0 ? rc : ERR(e, ERR_CREATE, "%s: another process deletes %s-*", parent, name);
}

void file_scratch_close(struct file_scratch *s)
{
    if (s->path[0]) (void)dir_remove_tree(AT_FDCWD, s->path, NULL, NULL);
    file_unlock(s->lock_fd);
    *s = (struct file_scratch){.lock_fd = -1};
}
