/* corpus.c - opens and verifies a prepared corpus. */
#include "data/corpus.h"

#include <stdio.h>
#include <string.h>

/* Reads data/NAME/manifest.yaml; *folder is in the arena. */
static int corpus_manifest(struct manifest *m, const char **folder, struct arena *a,
                           const struct project *p, const char *name, struct err *e)
{
    *folder = arena_printf(a, "%s/data/%s", p->root, name);
    const char *path = arena_printf(a, "%s/manifest.yaml", *folder);
    if (!file_exists(path))
        return ERR(e, ERR_NOINPUT,
                   "corpus %s not found (no %s); run `alibi data prepare %s --text DIR` (without "
                   "--text for an embedded corpus)",
                   name, path, name);
    TRY(manifest_read(m, a, path, e));
    if (strcmp(m->name, name) == 0) return 0;
    return ERR(e, ERR_DATA, "%s describes another corpus, %s", path, m->name);
}

/* Checks the hash of a file of the folder. */
static int verify_file(const char *path, const char *expected, struct err *e)
{
    return hash_check(path, expected, "prepare the corpus again", e);
}

/* Maps a split and compares its header with the manifest. */
static int corpus_open_split(struct tokens *t, const char *path, const struct manifest *m,
                             int64_t tokens_n, struct err *e)
{
    TRY(tokens_open(t, path, e));
    if (t->n != tokens_n || t->vocab != m->vocab)
        return ERR(e, ERR_DATA,
                   "%s: %lld tokens and a vocabulary of %d, but the manifest states %lld and %lld",
                   path, (long long)t->n, t->vocab, (long long)tokens_n, (long long)m->vocab);
    if (strcmp(t->dictionary_sha256, m->dictionary_sha256) == 0) return 0;
    return ERR(e, ERR_DATA, "%s: made with dictionary %.16s…, but the manifest states %.16s…", path,
               t->dictionary_sha256, m->dictionary_sha256);
}

/* Opens a corpus; if verify, rehashes its files first and compares the counts with known ones. */
static int corpus_read(struct corpus *c, const struct project *p, const char *name, bool verify,
                       const struct manifest *known, struct err *e)
{
    struct arena arena;
    struct manifest m;
    const char *folder;
    int rc = 0;

    *c = (struct corpus){0};
    arena_init(&arena);
    if ((size_t)snprintf(c->name, sizeof c->name, "%s", name) >= sizeof c->name) {
        rc = ERR(e, ERR_DATA, "%.80s: corpus names have at most %zu characters", name,
                 sizeof c->name - 1);
        goto out;
    }
    TRY_OUT(rc, corpus_manifest(&m, &folder, &arena, p, name, e));
    memcpy(c->fingerprint, m.fingerprint, sizeof c->fingerprint);
    c->vocab = (int32_t)m.vocab;
    c->floor_perplexity = m.floor_perplexity[CORPUS_VALID];
    if (m.classes)
        TRY_OUT(rc, classes_parse(&c->classes, m.classes,
                                  arena_printf(&arena, "%s/manifest.yaml: groups", folder), e));
    if (m.tokenizer) {
        snprintf(c->tokenizer, sizeof c->tokenizer, "%s", m.tokenizer);
        memcpy(c->tokenizer_sha256, m.dictionary_sha256, sizeof c->tokenizer_sha256);
        memcpy(c->text, m.text, sizeof c->text);
    }
    const char *dictionary = arena_printf(&arena, "%s/dict.txt", folder);
    if (verify && !m.tokenizer) TRY_OUT(rc, verify_file(dictionary, m.dictionary_sha256, e));
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        const char *path = arena_printf(&arena, "%s/%s.tokens", folder, corpus_split_name(i));
        if (verify) TRY_OUT(rc, verify_file(path, m.tokens_sha256[i], e));
        TRY_OUT(rc, corpus_open_split(&c->split[i], path, &m, m.tokens_n[i], e));
        if (m.tokenizer) {
            path = arena_printf(&arena, "%s/%s.documents", folder, corpus_split_name(i));
            if (verify) TRY_OUT(rc, verify_file(path, m.documents_sha256[i], e));
            TRY_OUT(rc, tokens_open_documents(&c->split[i], path, m.text[i].documents, e));
            c->split[i].prefix = (int32_t)m.prefix;
            c->split[i].pad = -1;
        }
        if (!m.classes || i == CORPUS_TRAIN) continue;
        path = arena_printf(&arena, "%s/%s.groups", folder, corpus_split_name(i));
        TRY_OUT(rc, classes_open(&c->class_of[i], &c->classes, path, m.tokens_n[i],
                                 "prepare the corpus again", e));
        if (verify) TRY_OUT(rc, verify_file(path, m.classes_sha256[i], e));
    }
    if (verify) rc = manifest_check_known(&m, known, e);
out:
    arena_fini(&arena);
    if (rc < 0) corpus_close(c);
    return rc;
}

int corpus_open(struct corpus *c, const struct project *p, const char *name, struct err *e)
{
    return corpus_read(c, p, name, false, NULL, e);
}

int corpus_verify(const struct project *p, const char *name, const struct manifest *known,
                  struct err *e)
{
    struct corpus c;

    TRY(corpus_read(&c, p, name, true, known, e));
    corpus_close(&c);
    return 0;
}

void corpus_close(struct corpus *c)
{
    if (!c) return;
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        tokens_close(&c->split[i]);
        file_map_close(&c->class_of[i]);
    }
}
