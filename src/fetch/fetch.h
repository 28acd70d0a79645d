/* fetch.h - resumable and verified downloads; reading and writing archives.
 *
 * 1. A download is written to PATH.part, and the server's ETag to PATH.part.etag. PATH itself is
 *    complete or absent.
 * 2. The same call resumes an interrupted download if the server still has the same file (If-Range)
 *    or if a hash is expected. Otherwise it restarts.
 * 3. Addresses are http, https or file; a redirect cannot lead to file. Certificates are verified.
 * 4. A file without the expected SHA-256 is deleted. */
#ifndef FETCH_FETCH_H
#define FETCH_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct fetch_options {
    const char *url, *path;
    const char *sha256; /* 64 hex digits in lower case; NULL: unknown */
    int64_t bytes_max;  /* limit; a longer file is an error */
    /* May be NULL. total 0: unknown. */
    void (*progress)(void *context, int64_t done, int64_t total);
    void *progress_context;
};

/* fetch_file - Errors: ERR_UNAVAILABLE the server cannot be reached, has no such file, or the
 * connection was lost (the part is kept); ERR_DATA the file is too long or has another hash;
 * ERR_TRYLATER another process fetches the same file; ERR_CREATE, ERR_IO. */
int fetch_file(const struct fetch_options *o, struct err *e);

/* fetch_check - compares an existing file with an expected hash. Errors: ERR_NOINPUT, ERR_DATA. */
int fetch_check(const char *path, const char *sha256, struct err *e);

/* Extracts given files from a zip or tar archive under given names.
 *
 * 1. Names of the archive are never used as paths: a wanted member is written to the name in its
 *    row. An archive with an absolute path, a ".." or a wanted member that is not a regular file is
 *    an error: it is malicious.
 * 2. The bytes written are limited, whatever sizes the archive states.
 * 3. Every file is complete or absent; checksums of the archive are verified. */
struct unpack_file {
    const char *member; /* last component of its path in the archive, such as wiki.train.tokens */
    const char *name;   /* name of the file to write, such as train.txt */
};

/* unpack_files - extracts the files into the existing folder dir. Errors: ERR_NOINPUT; ERR_DATA not
 * an archive, damaged, malicious, too long, a file is missing or occurs twice; ERR_CREATE, ERR_IO.
 */
int unpack_files(const char *archive_path, const char *dir, const struct unpack_file *files,
                 int32_t files_n, int64_t bytes_max, struct err *e);

/* pack_open - begins the zip file at a path that the user gave; close *out also after an error.
 * pack_add - adds a file without a time, which readers show as 1980, so that equal files make equal
 * archives. pack_close - completes the archive if rc is 0, otherwise there is none. Errors:
 * ERR_CREATE, ERR_IO, ERR_NOMEM. */
struct pack;
int pack_open(struct pack **out, const char *path, struct err *e);
int pack_add(struct pack *p, const char *name, const void *data, size_t n, struct err *e);
int pack_close(struct pack *p, int rc, struct err *e);

#endif
