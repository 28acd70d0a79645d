/* trust.c - the file of trusted scripts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "report/artefact_folder.h"

/* The state folder of the XDG Base Directory Specification; NULL: the user has none. */
static const char *state_folder(struct arena *a)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state && *state == '/') return arena_printf(a, "%s/alibi", state);
    return home && *home == '/' ? arena_printf(a, "%s/.local/state/alibi", home) : NULL;
}

/* Reads the file of trusted hashes; "" if it does not exist. */
static int read_trusted(char **lines, struct arena *a, const char *path, struct err *e)
{
    struct stat st;

    *lines = "";
    if (stat(path, &st) < 0) {
        if (errno == ENOENT || errno == ENOTDIR) return 0;
        return ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
        return ERR(e, ERR_DATA, "%s: other users can write it; delete it, then pass --trust again",
                   path);
    return file_read(a, lines, NULL, path, REPORT_MAX_FILE_BYTES, e);
}

static bool has_line(const char *lines, const char *hash)
{
    for (const char *p = lines; p; p = strchr(p, '\n')) {
        p += *p == '\n';
        if (strncmp(p, hash, HASH_HEX_BYTES - 1) == 0) return true;
    }
    return false;
}

bool report_trust_has(struct arena *a, const char *script)
{
    const char *folder = state_folder(a);
    char hash[HASH_HEX_BYTES], *lines;

    hash_sha256_hex(hash, script, strlen(script));
    return folder && read_trusted(&lines, a, arena_printf(a, "%s/trusted", folder), NULL) == 0 &&
           has_line(lines, hash);
}

int report_trust_add(struct arena *a, const char *script, const char *path, struct err *e)
{
    const char *folder = state_folder(a);
    char hash[HASH_HEX_BYTES], *lines;

    if (!folder)
        return ERR(e, ERR_UNAVAILABLE, "neither HOME nor XDG_STATE_HOME is an absolute path");
    const char *file = arena_printf(a, "%s/trusted", folder);
    TRY(read_trusted(&lines, a, file, e));
    hash_sha256_hex(hash, script, strlen(script));
    if (has_line(lines, hash)) return 0;
    TRY(file_make_dirs(folder, e));
    const char *now = arena_printf(a, "%s%s  %s\n", lines, hash, str_clean(a, path, ""));
    TRY(file_write_atomic(file, now, strlen(now), e));
    return chmod(file, 0600) < 0 ? ERR(e, ERR_CREATE, "%s: %s", file, strerror(errno)) : 0;
}
