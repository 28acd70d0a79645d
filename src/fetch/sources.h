/* sources.h - corpora that are public: where they are, what they hash to, what is inside.
 *
 * The hashes are those that several independent loaders of these corpora pin (the Hugging Face
 * datasets library among them); the counts of data/manifest.c are asserted after preparation. */
#ifndef FETCH_SOURCES_H
#define FETCH_SOURCES_H

#include <stdint.h>

#include "fetch/unpack.h"

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
