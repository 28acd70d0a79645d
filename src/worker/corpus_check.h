/* corpus_check.h - the corpus on this machine against the one a specification was made for. */
#ifndef WORKER_CORPUS_CHECK_H
#define WORKER_CORPUS_CHECK_H

#include "base/err.h"
#include "base/project.h"
#include "data/corpus.h"
#include "spec/spec.h"

/* corpus_open_for - opens data/CORPUS of the spec. Errors: as corpus_open; ERR_DATA when its
 * vocabulary, its token counts or its fingerprint are not the spec's (a spec may leave the
 * fingerprint open): numbers from another text must not bear this run's name. */
int corpus_open_for(struct corpus *c, const struct project *p, const struct spec *s, struct err *e);

#endif
