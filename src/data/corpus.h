/* corpus.h - a prepared corpus: a folder data/NAME with {train,valid,test}.tokens, manifest.yaml,
 * and either dict.txt and perhaps {valid,test}.groups, or {train,valid,test}.documents.
 *
 * 1. Files of tokens and documents are those of data/tokens.h, classes those of data/classes.h.
 *    prepare/ makes corpora from text.
 * 2. The ids are those of dict.txt, or those of a tokenizer (tokenizer/tokenizer.h), which stays
 *    in its folder; the manifest has its hash. With a tokenizer, splits may be empty. */
#ifndef DATA_CORPUS_H
#define DATA_CORPUS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/project.h"
#include "data/classes.h"
#include "data/tokens.h"

enum corpus_split { CORPUS_TRAIN, CORPUS_VALID, CORPUS_TEST, CORPUS_SPLITS_N };
/* corpus_split_name - "train", "valid", "test": file stems and the order of enum spec_split. */
const char *corpus_split_name(enum corpus_split split);

/* The text of a split that a tokenizer cut. words: pieces between runs of white space, with an
 * empty piece at each end that has some (open-models SPEC.md section 8). */
struct corpus_text {
    int64_t bytes, words, documents;
};

/* The manifest describes the content of the folder and how it was made. It is simple YAML: one
 * "key: value" per line, texts in double quotes. Only manifests written by this program can be
 * read. */
struct manifest {
    const char *name, *source, *options; /* in the arena of the reader, or owned by the writer */
    int64_t vocab, tokens_n[CORPUS_SPLITS_N];
    double floor_perplexity[CORPUS_SPLITS_N]; /* entropy floor of a synthetic corpus, exact; 0:
                                                 unknown, and not in the file; never for train */
    char fingerprint[HASH_HEX_BYTES];
    char dictionary_sha256[HASH_HEX_BYTES]; /* of dict.txt, or of the tokenizer */
    char tokens_sha256[CORPUS_SPLITS_N][HASH_HEX_BYTES];
    const char *classes; /* names, separated by spaces; NULL: no classes, and none in the file */
    char classes_sha256[CORPUS_SPLITS_N][HASH_HEX_BYTES]; /* never of train */
    const char *tokenizer; /* name of its folder; NULL: none, and nothing below in the file */
    int64_t prefix;        /* struct tokens */
    struct corpus_text text[CORPUS_SPLITS_N];
    char documents_sha256[CORPUS_SPLITS_N][HASH_HEX_BYTES];
};

/* manifest_fingerprint - SHA-256 of the SHA-256 of dict.txt and of the three token files, in that
 * order, each as 64 hex digits; with classes, the SHA-256 of both files and their names follow;
 * with a tokenizer (whose hash takes the place of dict.txt's), the prefix, and of each split the
 * SHA-256 of its documents, bytes and words. */
void manifest_fingerprint(char out[HASH_HEX_BYTES], const struct manifest *m);
/* manifest_check_known - compares vocabulary and token counts with the published ones (0: unknown).
 * Results on another text or preparation would not be comparable. Errors: ERR_DATA with the count
 * that differs. */
int manifest_check_known(const struct manifest *m, const struct manifest *known, struct err *e);
/* manifest_write - writes a manifest.yaml atomically. */
int manifest_write(const struct manifest *m, const char *path, struct err *e);
/* manifest_read - reads a manifest.yaml and checks its fingerprint against its hashes. Errors:
 * ERR_NOINPUT absent, ERR_DATA damaged. */
int manifest_read(struct manifest *out, struct arena *a, const char *path, struct err *e);
/* manifest_write_piece - writes data/NAME.yaml, a piece for `base` of a grid. */
int manifest_write_piece(const struct manifest *m, const char *path, struct err *e);

struct corpus {
    char name[64];
    char fingerprint[HASH_HEX_BYTES];
    int32_t vocab;
    double floor_perplexity; /* entropy floor of valid for a synthetic corpus, exact; 0: unknown */
    struct tokens split[CORPUS_SPLITS_N];
    struct classes classes;
    struct file_map class_of[CORPUS_SPLITS_N]; /* of each token, a byte; data NULL: no classes */
    char tokenizer[64];                        /* name of its folder, perhaps cut; "": dict.txt */
    char tokenizer_sha256[HASH_HEX_BYTES];     /* struct tokenizer_facts; "": dict.txt */
    struct corpus_text text[CORPUS_SPLITS_N];  /* with a tokenizer */
};
/* corpus_open - reads the manifest of data/NAME and maps its token files, documents and classes.
 * Checks sizes, documents and classes, but not hashes. Errors: ERR_NOINPUT not prepared (names the
 * command), ERR_DATA. */
int corpus_open(struct corpus *c, const struct project *p, const char *name, struct err *e);
void corpus_close(struct corpus *c);
/* corpus_verify - compares the hash of every file with the manifest, and the counts with known
 * ones, as manifest_check_known. Errors: ERR_DATA names the difference. */
int corpus_verify(const struct project *p, const char *name, const struct manifest *known,
                  struct err *e);

#endif
