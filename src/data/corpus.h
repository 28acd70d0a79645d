/* corpus.h - a prepared corpus: a folder data/NAME with dict.txt, {train,valid,test}.tokens and
 * manifest.yaml.
 *
 * Token files are those of data/tokens.h. */
#ifndef DATA_CORPUS_H
#define DATA_CORPUS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/project.h"
#include "data/tokens.h"

enum corpus_split { CORPUS_TRAIN, CORPUS_VALID, CORPUS_TEST, CORPUS_SPLITS_N };
/* corpus_split_name - "train", "valid", "test": file stems and the order of enum spec_split. */
const char *corpus_split_name(enum corpus_split split);

/* The manifest says what is in the folder and how it was made. It is YAML of the simplest kind, one
 * "key: value" a line, texts in double quotes, so that people and other programs can read it; this
 * program reads nothing but what it wrote. */
struct manifest {
    const char *name, *source, *options; /* in the arena of the reader, or the writer's own */
    int64_t vocab, tokens_n[CORPUS_SPLITS_N];
    double floor_perplexity[CORPUS_SPLITS_N]; /* exact, of a synthetic corpus; 0: unknown, then not
                                                 in the file; that of train never is */
    char fingerprint[HASH_HEX_BYTES];
    char dictionary_sha256[HASH_HEX_BYTES];
    char tokens_sha256[CORPUS_SPLITS_N][HASH_HEX_BYTES];
};

/* manifest_fingerprint - SHA-256 over the SHA-256 of dict.txt and of the three token files, in that
 * order, each as its 64 hex digits. */
void manifest_fingerprint(char out[HASH_HEX_BYTES], const struct manifest *m);
/* manifest_check_known - compares vocabulary and token counts with those that everybody has for a
 * corpus of this name. A corpus of such a name with other numbers is another text, or was
 * prepared in another way; results under its name would not be comparable. Errors: ERR_DATA
 * with the count that differs. */
int manifest_check_known(const struct manifest *m, struct err *e);
/* manifest_write - writes folder/manifest.yaml atomically. */
int manifest_write(const struct manifest *m, const char *folder, struct err *e);
/* manifest_read - reads it and checks that the fingerprint is that of the hashes. Errors:
 * ERR_NOINPUT absent, ERR_DATA damaged. */
int manifest_read(struct manifest *out, struct arena *a, const char *folder, struct err *e);
/* manifest_write_piece - writes path (data/NAME.yaml), the piece a grid names in `base`. */
int manifest_write_piece(const struct manifest *m, const char *path, struct err *e);

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

#endif
