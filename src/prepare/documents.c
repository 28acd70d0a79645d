/* documents.c - see documents.h. */
#include "prepare/documents.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "data/tokens.h"

/* --- the texts ------------------------------------------------------------------------------ */

static int add_text(struct documents *d, int split, const char *path, struct err *e)
{
    char absolute[PATH_MAX];
    struct stat st;

    if (!realpath(path, absolute) || stat(absolute, &st) != 0)
        return ERR(e, ERR_NOINPUT, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return ERR(e, ERR_NOINPUT, "%s is not a regular file; pass one folder, or text files",
                   path);
    d->split[split].path[d->split[split].n++] = arena_strdup(d->arena, absolute);
    d->bytes_n += st.st_size;
    return 0;
}

static int find_texts(struct documents *d, const char *const *text, int32_t text_n, struct err *e)
{
    int32_t found_n = 0;

    for (int i = 0; i < CORPUS_SPLITS_N; i++)
        d->split[i].path = arena_array(d->arena, (size_t)text_n, sizeof *d->split[i].path);
    if (text_n > 1 || !file_is_folder(text[0])) {
        for (int32_t i = 0; i < text_n; i++) TRY(add_text(d, CORPUS_TEST, text[i], e));
        return 0;
    }
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        const char *path = arena_printf(d->arena, "%s/%s.txt", text[0], corpus_split_name(i));
        if (!file_exists(path)) continue;
        TRY(add_text(d, i, path, e));
        found_n++;
    }
    if (found_n > 0) return 0;
    return ERR(e, ERR_NOINPUT, "%s contains none of the files train.txt, valid.txt, test.txt",
               text[0]);
}

/* The hash of the texts: it changes whenever a split would. */
static int hash_texts(char out[HASH_HEX_BYTES], const struct documents *d, struct err *e)
{
    struct strbuf all;

    strbuf_init(&all, d->arena);
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        strbuf_addf(&all, "%s\n", corpus_split_name(i));
        for (int64_t k = 0; k < d->split[i].n; k++) {
            TRY(hash_file(out, d->split[i].path[k], e));
            strbuf_addf(&all, "%s\n", out);
        }
    }
    hash_sha256_hex(out, all.text, all.n);
    return 0;
}

int documents_open(struct documents *d, struct arena *a, struct manifest *m, const char *tokenizer,
                   const char *const *text, int32_t text_n, int64_t prefix, struct err *e)
{
    char digest[HASH_HEX_BYTES], folder[PATH_MAX];

    *d = (struct documents){.arena = a};
    if (!realpath(tokenizer, folder))
        return ERR(e, ERR_NOINPUT, "--tokenizer %s: %s", tokenizer, strerror(errno));
    TRY(tokenizer_open(&d->tokenizer_own, folder, 0, e));
    const struct tokenizer_facts *facts = tokenizer_facts(d->tokenizer_own);
    if (prefix == DOCUMENTS_OWN_PREFIX) prefix = facts->prefix;
    if (prefix < 0)
        return ERR(e, ERR_USAGE,
                   "%s has neither bos_token nor eos_token; pass --prefix ID, the id that predicts "
                   "the first token of a text",
                   tokenizer);
    if (prefix >= facts->ids_n)
        return ERR(e, ERR_USAGE, "--prefix %lld: the ids of %s are 0 to %d", (long long)prefix,
                   tokenizer, facts->ids_n - 1);
    TRY(find_texts(d, text, text_n, e));
    TRY(hash_texts(digest, d, e));
    m->tokenizer = arena_strdup(a, strrchr(folder, '/') + 1);
    memcpy(m->dictionary_sha256, facts->sha256, sizeof m->dictionary_sha256);
    m->prefix = prefix;
    m->vocab = facts->ids_n;
    m->source = realpath(text[0], folder) ? arena_strdup(a, folder) : text[0];
    m->options = arena_printf(a, "tokenizer=%.16s prefix=%lld text=%.16s", facts->sha256,
                              (long long)prefix, digest);
    return 0;
}

void documents_close(struct documents *d)
{
    tokenizer_close(d->tokenizer_own);
}

void documents_warn(const struct documents *d)
{
    const struct tokenizer_facts *f = tokenizer_facts(d->tokenizer_own);

    if (f->dropped_n > 0)
        log_warn(
            "dropped %lld byte%s of the texts, which the tokenizer has no symbol for (it lacks "
            "%s); bits per byte count them",
            (long long)f->dropped_n, f->dropped_n == 1 ? "" : "s", f->lacks);
    if (f->newer_n > 0)
        log_warn("%lld character%s of the texts newer than Unicode %s, which this machine has: HF "
                 "tokenizers may cut them into other ids",
                 (long long)f->newer_n, f->newer_n == 1 ? "" : "s", f->unicode);
}

/* --- the ids -------------------------------------------------------------------------------- */

int64_t documents_words(const char *text, size_t n)
{
    const char *end = text + n;
    bool space = false;
    int64_t words = 1;
    uint32_t c;

    for (int bytes; text < end && (bytes = text_decode(text, end, &c)) > 0; text += bytes) {
        words += text_is_space(c) && !space;
        space = text_is_space(c);
    }
    return words;
}

struct writing {
    const struct documents *documents;
    struct text_progress progress;
    size_t n; /* bytes of the document */
};

static int report_share(void *context, double share, struct err *e)
{
    const struct writing *w = context;
    double done = (double)w->documents->done_n + share * (double)w->n;

    (void)e;
    if (w->progress.call)
        w->progress.call(w->progress.context, w->progress.what,
                         done / (double)w->documents->bytes_n);
    return 0;
}

static int write_document(struct documents *d, struct corpus_text *counts,
                          struct tokens_writer *out, const char *path,
                          struct text_progress progress, struct err *e)
{
    struct file_map map;
    int32_t *ids = NULL;
    int64_t ids_n = 0;

    TRY(file_map_open(&map, path, e));
    struct writing w = {d, progress, map.n};
    const char *text = map.n > 0 ? map.data : "";
    int rc =
        tokenizer_encode(d->tokenizer_own, text, map.n, false, &ids, &ids_n, report_share, &w, e);
    if (rc < 0) err_ctx(e, "%s", path);
    if (rc == 0 && ids_n == 0)
        rc = ERR(e, ERR_DATA, "%s: no token; a document needs at least one", path);
    for (int64_t i = 0; rc == 0 && i < ids_n; i++) rc = tokens_writer_add(out, ids[i], e);
    counts->bytes += (int64_t)map.n;
    if (rc == 0) counts->words += documents_words(text, map.n);
    counts->documents++;
    d->done_n += (int64_t)map.n;
    if (rc == 0) rc = report_share(&(struct writing){d, progress, 0}, 0, e);
    free(ids);
    file_map_close(&map);
    return rc;
}

int documents_write(struct documents *d, struct manifest *m, const char *folder, int split,
                    struct text_progress progress, struct err *e)
{
    const char *stem = arena_printf(d->arena, "%s/%s", folder, corpus_split_name(split));
    const char *path = arena_printf(d->arena, "%s.tokens", stem);
    int64_t n = d->split[split].n;
    int64_t *first = arena_array(d->arena, (size_t)n + 1, sizeof *first);
    struct tokens_writer out;
    int rc = 0;

    m->text[split] = (struct corpus_text){0};
    TRY(tokens_writer_open(&out, path, (int32_t)m->vocab, m->dictionary_sha256, e));
    for (int64_t i = 0; rc == 0 && i < n; i++) {
        first[i] = (int64_t)out.head.n;
        rc = write_document(d, &m->text[split], &out, d->split[split].path[i], progress, e);
    }
    m->tokens_n[split] = (int64_t)out.head.n;
    TRY(tokens_writer_close(&out, rc, e));
    TRY(hash_file(m->tokens_sha256[split], path, e));
    path = arena_printf(d->arena, "%s.documents", stem);
    TRY(file_write_atomic(path, first, (size_t)n * sizeof *first, e));
    return hash_file(m->documents_sha256[split], path, e);
}
