/* corpus.h - a prepared corpus: a folder data/NAME with dict.txt, {train,valid,test}.tokens and
 * manifest.yaml.
 *
 * Token files: magic, version, dictionary hash, width (2 or 4 bytes), count, then ids; mapped,
 * never copied (the layout is in data/tokens.h). The fingerprint is SHA-256 over the SHA-256 of
 * dict.txt and of the three token files, in that order, each as its 64 hex digits. */
#ifndef DATA_CORPUS_H
#define DATA_CORPUS_H

#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/project.h"

#ifdef __cplusplus
extern "C" {
#endif

enum corpus_split { CORPUS_TRAIN, CORPUS_VALID, CORPUS_TEST, CORPUS_SPLITS_N };
/* corpus_split_name - "train", "valid", "test": file stems and the order of enum spec_split. */
const char *corpus_split_name(enum corpus_split split);

/* A mapped token file. */
struct tokens {
    struct file_map map;
    int64_t n;     /* tokens */
    int32_t width; /* bytes an id: 2 or 4 */
    const void *ids;
};
int tokens_open(struct tokens *t, const char *path,
                struct err *e); /* ERR_DATA: damaged, with what was expected */
void tokens_close(struct tokens *t);
/* tokens_read - ids [first, first + n) as int32; the caller keeps within t->n. */
void tokens_read(const struct tokens *t, int64_t first, int64_t n, int32_t *out);
/* tokens_write - writes a token file atomically; ids below vocab. */
int tokens_write(const char *path, const int32_t *ids, int64_t n, int32_t vocab,
                 const char *dictionary_sha256, struct err *e);

struct corpus {
    char name[64];
    char fingerprint[HASH_HEX_BYTES];
    int32_t vocab;
    double floor_perplexity; /* of valid, exact, for a synthetic corpus; 0: unknown */
    struct tokens split[CORPUS_SPLITS_N];
};
/* corpus_open - maps the token files of data/NAME and reads its manifest; cheap: hashes are taken
 * from the manifest, sizes are checked. Errors: ERR_NOINPUT not prepared (names the command),
 * ERR_DATA. */
int corpus_open(struct corpus *c, const struct project *p, const char *name, struct err *e);
void corpus_close(struct corpus *c);
/* corpus_verify - rehashes every file against the manifest, and compares a known corpus with its
 * known numbers. ERR_DATA names what differs. */
int corpus_verify(const struct project *p, const char *name, struct err *e);

#ifdef __cplusplus
}
#endif
#endif
