/* fetch.h - downloads that can be interrupted, and are checked before they count; archives; where
 * public corpora are.
 *
 * 1. A download grows as PATH.part; the server's ETag is kept beside it as PATH.part.etag. PATH
 *    itself is whole or absent.
 * 2. The same call resumes where the last one stopped: when the server still has the very same file
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

/* Chosen files out of a zip or tar archive, under names of our own.
 *
 * 1. No name of the archive is ever used as a path: a member that is wanted is written to the name
 *    its row gives. An archive with an absolute path, a ".." or a wanted member that is not a plain
 *    file is refused all the same: it was made to do harm.
 * 2. The bytes written have a limit, independent of what the archive states.
 * 3. Every file is complete or absent; checksums of the archive are verified. */
struct unpack_file {
    const char *member; /* the last part of its path in the archive, such as wiki.train.tokens */
    const char *name;   /* of the file to write, such as train.txt */
};

/* unpack_files - all of them into dir, which is there. Errors: ERR_NOINPUT; ERR_DATA no archive,
 * damaged, made to do harm, too long, a file missing or there twice; ERR_CREATE, ERR_IO. */
int unpack_files(const char *archive_path, const char *dir, const struct unpack_file *files,
                 int32_t files_n, int64_t bytes_max, struct err *e);

/* Corpora that are public: where they are, what they hash to, what is inside.
 *
 * The hashes are those that several independent loaders of these corpora pin (the Hugging Face
 * datasets library among them); the counts of data/manifest.c are asserted after preparation. */
enum { SOURCES_URLS_MAX = 3, SOURCES_FILES_N = 3 };

struct fetch_source {
    const char *name;                  /* of the corpus: wikitext103 */
    const char *url[SOURCES_URLS_MAX]; /* tried in this order; NULL ends them */
    const char *sha256;                /* of the archive */
    int64_t archive_bytes_max, text_bytes_max;
    struct unpack_file file[SOURCES_FILES_N];
    const char *licence;
};

const struct fetch_source *fetch_sources(int32_t *n);
/* fetch_source_find - NULL when there is none of that name. */
const struct fetch_source *fetch_source_find(const char *name);

#endif
