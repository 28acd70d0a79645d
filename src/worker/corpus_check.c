/* corpus_check.c - vocabulary, token counts, fingerprint. */
#include "worker/corpus_check.h"

#include <inttypes.h>
#include <string.h>

static int corpus_check(const struct corpus *c, const struct spec *s, struct err *e)
{
    const int64_t expected[CORPUS_SPLITS_N] = {s->data.train_tokens, s->data.valid_tokens,
                                               s->data.test_tokens};

    /* Text that is not ours to ship has no pinned fingerprint: its counts must do. */
    if (*s->data.fingerprint && strcmp(c->fingerprint, s->data.fingerprint) != 0)
        return ERR(e, ERR_DATA,
                   "data/%s has the fingerprint %.64s, the run was planned for %.64s; prepare the "
                   "same text again, or rerun `alibi plan` for this one",
                   s->data.corpus, c->fingerprint, s->data.fingerprint);
    if (c->vocab != s->data.vocab)
        return ERR(e, ERR_DATA, "data/%s has a vocabulary of %d, the run was planned for %d",
                   s->data.corpus, c->vocab, s->data.vocab);
    for (int i = 0; i < CORPUS_SPLITS_N; i++)
        if (c->split[i].n != expected[i])
            return ERR(e, ERR_DATA,
                       "data/%s has %" PRId64 " %s tokens, the run was planned for %" PRId64,
                       s->data.corpus, c->split[i].n, corpus_split_name((enum corpus_split)i),
                       expected[i]);
    return 0;
}

int corpus_open_for(struct corpus *c, const struct project *p, const struct spec *s, struct err *e)
{
    TRY(corpus_open(c, p, s->data.corpus, e));
    int rc = corpus_check(c, s, e);
    if (rc < 0) corpus_close(c);
    return rc;
}
