/* side_files.c - reads and moves the files beside results.db; see side_files.h. */
#include "store/side_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "store/database.h"

const char *side_path(struct store *s, const char *suffix)
{
    return arena_printf(&s->arena, "%s%s", s->path, suffix);
}

static const char open_format[] = "file %" SCNu64 "\nlog %" SCNu64 "\n";

uint64_t side_inode(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

struct database_files side_files_recorded(struct store *s)
{
    struct database_files stated = {0, 0};
    char text[128];

    file_read_tail(text, sizeof text, side_path(s, ".open"));
    if (sscanf(text, open_format, &stated.file, &stated.log) == 2) return stated;
    return (struct database_files){0, 0};
}

bool side_files_are_foreign(struct store *s, const struct database_files *of)
{
    if (of->file == 0 || of->file == side_inode(s->path)) return false;
    return of->log ? of->log == side_inode(side_path(s, "-wal"))
                   : file_exists(side_path(s, "-journal"));
}

/* The -wal is last: until it has another name, it shows that the log is foreign. */
int side_files_set_aside(struct store *s, struct err *e)
{
    enum { JOURNAL, SHARED_MEMORY, WAL };
    static const char *const suffixes[] = {
        [JOURNAL] = "-journal", [SHARED_MEMORY] = "-shm", [WAL] = "-wal"};

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *path = side_path(s, suffixes[i]);
        const char *kept = arena_printf(&s->arena, "%s.deleted%s", s->path, suffixes[i]);
        if (rename(path, kept) < 0) {
            if (errno == ENOENT) continue;
            return ERR(e, ERR_IO, "%s: belongs to an earlier file and cannot be moved to %s: %s",
                       path, kept, strerror(errno));
        }
        if (i != SHARED_MEMORY)
            log_warn("%s: was deleted or replaced; the log of the earlier file is now %s; "
                     "`alibi merge runs/` adds the results that this file lacks",
                     s->path, kept);
    }
    return 0;
}

int side_files_record(struct store *s, struct err *e)
{
    char text[128];
    uint64_t log = side_inode(side_path(s, "-wal"));
    const struct database_files stated = side_files_recorded(s);

    s->files.log = log;
    if (stated.file == s->files.file && stated.log == log) return 0;
    snprintf(text, sizeof text, "file %" PRIu64 "\nlog %" PRIu64 "\n", s->files.file, log);
    return file_write_atomic(side_path(s, ".open"), text, strlen(text), e);
}

bool side_files_are_replaced(struct store *s)
{
    if (s->files.file == 0 || side_inode(s->path) == s->files.file) return false;
    if (s->connection_own)
        sqlite3_wal_checkpoint_v2(s->connection_own, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (side_files_are_foreign(s, &s->files)) side_files_set_aside(s, NULL);
    return true;
}

int64_t side_wal_bytes(struct store *s)
{
    struct stat st;

    return stat(side_path(s, "-wal"), &st) == 0 ? (int64_t)st.st_size : 0;
}

/* Begins every rollback journal, and ends one that names another file. */
static const unsigned char journal_magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

static bool journal_has_magic(struct store *s, bool at_end)
{
    unsigned char found[sizeof journal_magic];
    int fd = open(side_path(s, "-journal"), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;

    if (fd < 0) return false;
    off_t at = at_end && fstat(fd, &st) == 0 ? st.st_size - (off_t)sizeof found : 0;
    bool has = at >= 0 && pread(fd, found, sizeof found, at) == (ssize_t)sizeof found &&
               memcmp(found, journal_magic, sizeof found) == 0;
    close(fd);
    return has;
}

bool side_journal_is_open(struct store *s)
{
    return journal_has_magic(s, false);
}

/* Rejects what SQLite would obey to somebody's harm. It would block on a FIFO and read a device; it
 * does not open side files that are links. A journal may name a file by its path, the super-journal
 * of a transaction on several databases, which SQLite deletes after undoing the transaction. */
int side_files_check(struct store *s, struct err *e)
{
    static const char *const suffixes[] = {"", "-journal", "-wal", "-shm", ".open"};
    struct stat st;

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *path = side_path(s, suffixes[i]);
        int found = i ? lstat(path, &st) : stat(path, &st);
        if (found == 0 && !S_ISREG(st.st_mode))
            return ERR(e, ERR_DATA, "%s: is not a regular file%s", path,
                       database_remedy(s, "; move it away", "; name a results.db"));
    }
    if (journal_has_magic(s, true))
        return ERR(
            e, ERR_DATA,
            "%s-journal: names another file, which SQLite would delete; alibi writes no such "
            "journal: move it away",
            s->path);
    return 0;
}

void side_files_remove_temporary(struct store *s)
{
    const char *name = strrchr(s->path, '/') + 1;
    size_t name_n = strlen(name);
    struct dir d;
    struct err ignored; /* a folder that cannot be listed keeps its leftovers */

    if (dir_open(&d, s->folder, &ignored) < 0) return;
    for (int32_t i = 0; i < d.n; i++) {
        if (strncmp(d.name_own[i], name, name_n) != 0) continue;
        const char *number = strstr(d.name_own[i] + name_n, FILE_TEMPORARY);
        if (!number) continue;
        number += strlen(FILE_TEMPORARY);
        if (*number && number[strspn(number, "0123456789")] == '\0')
            unlinkat(d.fd, d.name_own[i], 0);
    }
    dir_close(&d);
}
