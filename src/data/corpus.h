/* corpus.h - a prepared corpus: a folder data/NAME with dict.txt, {train,valid,test}.tokens and
 * manifest.yaml.
 *
 * Token files are those of data/tokens.h. The fingerprint is SHA-256 over the SHA-256 of
 * dict.txt and of the three token files, in that order, each as its 64 hex digits. */
#ifndef DATA_CORPUS_H
#define DATA_CORPUS_H

#include <stdint.h>

#include "base/err.h"
#include "base/project.h"
#include "data/manifest.h"
#include "data/tokens.h"

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
