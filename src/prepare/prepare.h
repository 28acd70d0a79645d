/* prepare.h - text to token files, as fairseq-preprocess does it (oracle SPEC.md section 2).
 *
 * A text corpus is a folder with train.txt, valid.txt and test.txt. Embedded corpora are written as
 * such text by synthetic/synthetic.h and go through the same preparation, and so do the units that
 * prepare/encode.h makes of a text, or of train.bin, valid.bin and test.bin. A corpus with a name
 * that manifest_check_known knows must have the numbers that belong to it. */
#ifndef PREPARE_PREPARE_H
#define PREPARE_PREPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/project.h"
#include "prepare/encode.h"

struct prepare_options {
    const char *name;     /* the corpus becomes data/NAME */
    const char *text_dir; /* NULL: an embedded corpus of that name */
    int32_t vocab_limit; /* most frequent entries kept, specials included, rest <unk>; fillers bring
                            it up to a multiple of 8; 0: all, as fairseq; otherwise at least 8 */
    const char *dict;    /* NULL: a dictionary of train; otherwise this dict.txt as it is */
    struct encode_options encode; /* subwords of a text folder, or ids in place of text */
    bool force;                   /* replace an existing corpus */
    /* May be NULL. share, 0 to 1, is of the step named by what, such as "ids of train.txt". */
    void (*progress)(void *context, const char *what, double share);
    void *progress_context;
};

/* prepare_corpus - makes data/NAME/ (dict.txt, *.tokens, manifest.yaml) and data/NAME.yaml, the
 * piece a grid can name in `base`. Complete or absent: built in a temporary folder and renamed; a
 * lock keeps two processes apart. Nothing is done if it exists with the same options and, of a
 * text folder, the same content; without text_dir any prepared corpus of that name will do. An
 * embedded corpus that differs or is damaged is generated again; a text corpus that differs is
 * kept. Errors: ERR_NOINPUT missing text files, named; ERR_DATA file:line; ERR_USAGE a name or
 * limit that cannot be; ERR_TRYLATER another process prepares it; ERR_CREATE it exists but differs,
 * or is not a corpus; ERR_IO. */
int prepare_corpus(const struct project *p, const struct prepare_options *o, struct err *e);

/* prepare_embedded - the name of corpus i, from 0, of those that the program generates; NULL after
 * the last. prepare_is_embedded - whether NAME is one of them. */
const char *prepare_embedded(int32_t i);
bool prepare_is_embedded(const char *name);

#endif
