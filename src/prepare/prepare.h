/* prepare.h - turns text into token files like fairseq-preprocess (oracle SPEC.md section 2), or
 * with a tokenizer (prepare/documents.h).
 *
 * A text corpus is a folder with train.txt, valid.txt and test.txt. Embedded corpora
 * (synthetic/synthetic.h) and units (prepare/encode.h, from text or from train.bin, valid.bin and
 * test.bin) are first written as such texts. */
#ifndef PREPARE_PREPARE_H
#define PREPARE_PREPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/project.h"
#include "data/corpus.h"
#include "prepare/documents.h"
#include "prepare/encode.h"

struct prepare_options {
    const char *name;     /* output folder is data/NAME */
    const char *text_dir; /* NULL: an embedded corpus of that name */
    int32_t vocab_limit;  /* number of most frequent entries to keep, including special symbols;
                             other words become <unk>; padded to a multiple of 8; 0: all, as in
                             fairseq; otherwise at least 8 */
    const char *dict;     /* use this dict.txt unchanged; NULL: build one from train */
    struct encode_options encode; /* subwords of a text folder, or ids instead of text */
    const char *tokenizer;   /* folder of a tokenizer for `text`; NULL: words, or units of encode */
    const char *const *text; /* with a tokenizer: a folder, or files */
    int32_t text_n;
    int64_t prefix;        /* of a tokenizer, or DOCUMENTS_OWN_PREFIX */
    struct manifest known; /* the counts that it must have, as manifest_check_known */
    bool force;            /* replace an existing corpus */
    /* May be NULL. share, 0 to 1, is the progress of the step `what`, such as "ids of train.txt".
     */
    void (*progress)(void *context, const char *what, double share);
    void *progress_context;
};

/* prepare_corpus - makes data/NAME/ (struct corpus) and data/NAME.yaml, a piece for `base` of a
 * grid. Builds the corpus under a lock in a temporary folder and renames it, so
 * that it is complete or absent. Does nothing if it exists with the same options and text; without
 * text_dir, if any corpus of that name exists. Regenerates an embedded corpus that differs or is
 * damaged; does not replace a text corpus that differs. Errors: ERR_NOINPUT missing text files,
 * named; ERR_DATA file:line; ERR_USAGE an invalid name or limit; ERR_TRYLATER another process
 * prepares it; ERR_CREATE it exists but differs, or is not a corpus; ERR_IO. */
int prepare_corpus(const struct project *p, const struct prepare_options *o, struct err *e);

/* prepare_embedded - the name of embedded corpus i, from 0; NULL after the last.
 * prepare_is_embedded - whether NAME is one of them. */
const char *prepare_embedded(int32_t i);
bool prepare_is_embedded(const char *name);

#endif
