/* fetch.h - downloads that can be interrupted, and are checked before they count.
 *
 * 1. A download grows as PATH.part; the server's ETag is kept beside it as PATH.part.etag. PATH
 *    itself is whole or absent.
 * 2. The same call goes on where the last one stopped: when the server still has the very same file
 *    (If-Range), or when the expected hash decides. Otherwise it begins again.
 * 3. http, https and file addresses; a redirect never leads to file. Certificates are verified.
 * 4. What does not have the expected SHA-256 is removed, never used. */
#ifndef FETCH_FETCH_H
#define FETCH_FETCH_H

#include <stdint.h>

#include "base/err.h"

struct fetch_options {
    const char *url, *path;
    const char *sha256; /* 64 hex digits in lower case; NULL: not known */
    int64_t bytes_max;  /* a longer file is refused */
    /* May be NULL. total 0: not known. */
    void (*progress)(void *context, int64_t done, int64_t total);
    void *progress_context;
};

/* fetch_file - Errors: ERR_UNAVAILABLE the server cannot be reached, has no such file, or broke off
 * (what came is kept); ERR_DATA too long, or not what is expected; ERR_TRYLATER another process
 * fetches the same; ERR_CREATE, ERR_IO. */
int fetch_file(const struct fetch_options *o, struct err *e);

/* fetch_check - a file that is there against an expected hash. Errors: ERR_NOINPUT, ERR_DATA. */
int fetch_check(const char *path, const char *sha256, struct err *e);

#endif
