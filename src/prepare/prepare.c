/* prepare.c - makes data/NAME from text.
 *
 * 1. Under the lock data/.NAME.lock, check whether it already exists, made from the same text with
 *    the same options.
 * 2. Build everything in data/.NAME.tmp, after deleting the remains of an interrupted preparation.
 * 3. Rename the old folder away and the new one in place; delete the old one. */
#include "prepare/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "data/corpus.h"
#include "prepare/dictionary.h"
#include "synthetic/synthetic.h"

struct preparation {
    const struct project *project;
    const struct prepare_options *options;
    const struct synthetic_settings *synthetic; /* NULL: a text folder */
    const char *text_dir;    /* absolute; for a synthetic corpus or units: temporary */
    const char *suffix;      /* of the files in it */
    const char *classes_dir; /* of groups.txt and SPLIT.groups; NULL: there are none */
    const char *folder, *temporary, *old, *piece; /* data/NAME, .NAME.tmp, .NAME.old, NAME.yaml */
    struct arena arena;
    struct manifest manifest;
    struct documents documents; /* with a tokenizer */
};

bool prepare_is_embedded(const char *name)
{
    return synthetic_find(name) != NULL;
}

const char *prepare_embedded(int32_t i)
{
    const struct synthetic_settings *s = synthetic_at(i);

    return s ? s->name : NULL;
}

static const char *text_path(struct preparation *p, int split)
{
    return arena_printf(&p->arena, "%s/%s.%s", p->text_dir, corpus_split_name(split), p->suffix);
}

/* Finds the text folder; the error names every missing file. */
static int find_text(struct preparation *p, struct err *e)
{
    struct strbuf missing;
    int missing_n = 0;
    const char *dir = p->options->text_dir;
    char absolute[PATH_MAX];

    if (!realpath(dir, absolute))
        return ERR(e, ERR_NOINPUT,
                   "%s not found; expected a folder with train.%s, valid.%s and test.%s", dir,
                   p->suffix, p->suffix, p->suffix);
    if (!file_is_folder(absolute))
        return ERR(e, ERR_NOINPUT, "%s is a file; give its folder: %.*s", dir,
                   (int)(strrchr(absolute, '/') - absolute), absolute);
    p->text_dir = arena_strdup(&p->arena, absolute);
    strbuf_init(&missing, &p->arena);
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        if (file_exists(text_path(p, i))) continue;
        missing_n++;
        strbuf_addf(&missing, "%s%s.%s", missing.n > 0 ? ", " : "", corpus_split_name(i),
                    p->suffix);
    }
    if (missing_n == 0) return 0;
    if (missing_n == CORPUS_SPLITS_N)
        return ERR(e, ERR_NOINPUT, "%s contains none of the files %s", dir, missing.text);
    return ERR(e, ERR_NOINPUT, "%s contains no %s; expected train.%s, valid.%s and test.%s", dir,
               missing.text, p->suffix, p->suffix, p->suffix);
}

static const char *classes_path(struct preparation *p, const char *dir, int split)
{
    return split == CORPUS_TRAIN
               ? arena_printf(&p->arena, "%s/groups.txt", dir)
               : arena_printf(&p->arena, "%s/%s.groups", dir, corpus_split_name(split));
}

/* Looks for classes beside the text: all three files or none. *digest: of their content. */
static int find_classes(struct preparation *p, char digest[HASH_HEX_BYTES], struct err *e)
{
    char all[CORPUS_SPLITS_N * HASH_HEX_BYTES];
    const char *path[CORPUS_SPLITS_N], *missing = NULL;
    int n = 0, found_n = 0;

    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        path[i] = classes_path(p, p->text_dir, i);
        if (file_exists(path[i]))
            found_n++;
        else
            missing = path[i];
    }
    if (found_n == 0) return 0;
    if (missing)
        return ERR(e, ERR_NOINPUT,
                   "%s not found; target groups need groups.txt, valid.groups and "
                   "test.groups",
                   missing);
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        TRY(hash_file(digest, path[i], e));
        n += snprintf(all + n, sizeof all - (size_t)n, "%s", digest);
    }
    hash_sha256_hex(digest, all, (size_t)n);
    p->classes_dir = p->text_dir;
    return 0;
}

/* Describes source and options of the corpus for the manifest; the text changes whenever the corpus
 * would. */
static int describe_options(struct preparation *p, struct err *e)
{
    char all[CORPUS_SPLITS_N * HASH_HEX_BYTES], digest[HASH_HEX_BYTES];
    const char *units;
    int32_t limit = p->options->vocab_limit;
    int n = 0;

    if (p->synthetic) {
        p->manifest.source = "synthetic";
        p->manifest.options = arena_printf(&p->arena, "vocab_limit=%d version=1", limit);
        return 0;
    }
    if (p->options->tokenizer)
        return documents_open(&p->documents, &p->arena, &p->manifest, p->options->tokenizer,
                              p->options->text, p->options->text_n, p->options->prefix, e);
    TRY(find_text(p, e));
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        TRY(hash_file(digest, text_path(p, i), e));
        n += snprintf(all + n, sizeof all - (size_t)n, "%s", digest);
    }
    hash_sha256_hex(digest, all, (size_t)n);
    p->manifest.source = p->text_dir;
    TRY(encode_describe(&units, &p->arena, &p->options->encode, e));
    p->manifest.options =
        arena_printf(&p->arena, "vocab_limit=%d text=%.16s%s", limit, digest, units);
    TRY(find_classes(p, digest, e));
    if (p->classes_dir)
        p->manifest.options =
            arena_printf(&p->arena, "%s groups=%.16s", p->manifest.options, digest);
    if (!p->options->dict) return 0;
    TRY(hash_file(digest, p->options->dict, e));
    p->manifest.options = arena_printf(&p->arena, "%s dict=%.16s", p->manifest.options, digest);
    return 0;
}

/* Compares the existing folder with the requested corpus. */
static int compare_with_old(struct preparation *p, const char *path, struct err *e)
{
    struct manifest old;
    struct corpus corpus;

    TRY(manifest_read(&old, &p->arena, path, e));
    if (strcmp(old.options, p->manifest.options) != 0)
        return ERR(e, ERR_CREATE,
                   "%s exists, prepared with '%s' from %s, but '%s' was requested; choose another "
                   "name, or replace it with --force",
                   p->folder, old.options, old.source, p->manifest.options);
    TRY(corpus_open(&corpus, p->project, p->options->name, e));
    corpus_close(&corpus);
    p->manifest = old;
    return 0;
}

/* Begins the progress of a pass over a split: "ids of train.txt". */
static struct text_progress progress_of(struct preparation *p, const char *what, int split)
{
    return (struct text_progress){
        .call = p->options->progress,
        .context = p->options->progress_context,
        .what = arena_printf(&p->arena, "%s of %s.%s", what, corpus_split_name(split), p->suffix)};
}

/* Writes the ids of a split. The entropy floor is only valid if all tokens are in the dictionary.
 */
static int build_split(struct preparation *p, const struct dictionary *d, int split, struct err *e)
{
    const char *path =
        arena_printf(&p->arena, "%s/%s.tokens", p->temporary, corpus_split_name(split));
    struct binarise_counts counts;
    struct text text;

    TRY(text_open(&text, text_path(p, split), progress_of(p, "ids", split), e));
    int rc = binarise_to_file(&counts, path, d, p->manifest.dictionary_sha256, &text, e);
    text_close(&text);
    TRY(rc);
    p->manifest.tokens_n[split] = counts.ids_n;
    if (counts.unknown_n > 0) p->manifest.floor_perplexity[split] = 0;
    return hash_file(p->manifest.tokens_sha256[split], path, e);
}

/* Writes the classes of valid and test. */
static int build_classes(struct preparation *p, struct err *e)
{
    const char *names = classes_path(p, p->classes_dir, CORPUS_TRAIN);
    struct classes classes;
    struct strbuf list;
    char *text;

    TRY(file_read(&p->arena, &text, NULL, names, 1 << 16, e));
    TRY(classes_parse(&classes, text, names, e));
    strbuf_init(&list, &p->arena);
    for (int32_t i = 0; i < classes.n; i++)
        strbuf_addf(&list, "%s%s", i > 0 ? " " : "", classes.name[i]);
    p->manifest.classes = list.text;
    for (int i = CORPUS_VALID; i < CORPUS_SPLITS_N; i++) {
        const char *path = classes_path(p, p->temporary, i);
        struct file_map bytes;
        TRY(classes_open(&bytes, &classes, classes_path(p, p->classes_dir, i),
                         p->manifest.tokens_n[i], "write a byte for each token, line ends included",
                         e));
        int rc = file_write_atomic(path, bytes.data, bytes.n, e);
        file_map_close(&bytes);
        TRY(rc);
        TRY(hash_file(p->manifest.classes_sha256[i], path, e));
    }
    return 0;
}

static int count_words(struct preparation *p, struct dictionary *d, struct err *e)
{
    struct text text;

    TRY(text_open(&text, text_path(p, CORPUS_TRAIN), progress_of(p, "words", CORPUS_TRAIN), e));
    int rc = dictionary_build(d, &p->arena, &text, p->options->vocab_limit, e);
    text_close(&text);
    return rc;
}

static int build_dictionary(struct preparation *p, struct dictionary *d, struct err *e)
{
    const char *path = arena_printf(&p->arena, "%s/dict.txt", p->temporary);
    size_t n;

    if (p->options->dict)
        TRY(dictionary_load(d, &p->arena, p->options->dict, e));
    else
        TRY(count_words(p, d, e));
    const char *text = dictionary_text(d, &p->arena, &n);
    p->manifest.vocab = d->entries.n;
    hash_sha256_hex(p->manifest.dictionary_sha256, text, n);
    return file_write_atomic(path, text, n, e);
}

/* Writes the texts of an embedded corpus into the temporary folder. */
static int write_synthetic(struct preparation *p, struct err *e)
{
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        struct synthetic_text text;
        struct arena arena;
        arena_init(&arena);
        synthetic_make(&text, &arena, p->synthetic, (uint64_t)i + 1, p->synthetic->tokens_n[i]);
        p->manifest.floor_perplexity[i] = synthetic_floor(&text);
        const char *classes = i > CORPUS_TRAIN ? text.classes : p->synthetic->classes;
        int rc = file_write_atomic(text_path(p, i), text.text, text.n, e);
        if (rc == 0 && classes)
            rc = file_write_atomic(classes_path(p, p->temporary, i), classes,
                                   i > CORPUS_TRAIN ? (size_t)text.tokens_n : strlen(classes), e);
        arena_fini(&arena);
        TRY(rc);
    }
    return 0;
}

/* Writes the units of every split into the temporary folder, as the text to prepare. */
static int encode_text(struct preparation *p, struct err *e)
{
    struct encoder *encoder;
    struct arena arena;
    int rc = 0;

    arena_init(&arena);
    TRY_OUT(rc, encoder_open(&encoder, &arena, &p->options->encode, e));
    for (int i = 0; i < CORPUS_SPLITS_N; i++)
        TRY_OUT(rc, encoder_file(
                        encoder, text_path(p, i),
                        arena_printf(&p->arena, "%s/%s.txt", p->temporary, corpus_split_name(i)),
                        progress_of(p, "units", i), e));
    p->text_dir = p->temporary;
    p->suffix = "txt";
out:
    arena_fini(&arena);
    return rc;
}

/* Writes dict.txt and the splits in its words. */
static int build_words(struct preparation *p, struct err *e)
{
    bool encoded = p->options->encode.kind != ENCODE_NONE;
    struct dictionary d;

    if (p->synthetic) {
        p->text_dir = p->temporary;
        if (p->synthetic->classes) p->classes_dir = p->temporary;
        TRY(write_synthetic(p, e));
    }
    if (encoded) TRY(encode_text(p, e));
    TRY(build_dictionary(p, &d, e));
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        TRY(build_split(p, &d, i, e));
        if (encoded) unlink(text_path(p, i)); /* units are intermediate */
    }
    return p->classes_dir ? build_classes(p, e) : 0;
}

static int build_documents(struct preparation *p, struct err *e)
{
    const struct text_progress progress = {.call = p->options->progress,
                                           .context = p->options->progress_context,
                                           .what = "ids of documents"};

    for (int i = 0; i < CORPUS_SPLITS_N; i++)
        TRY(documents_write(&p->documents, &p->manifest, p->temporary, i, progress, e));
    documents_warn(&p->documents);
    return 0;
}

/* Fills the temporary folder. */
static int build_corpus(struct preparation *p, struct err *e)
{
    TRY(dir_remove_tree(AT_FDCWD, p->temporary, NULL, e));
    TRY(file_make_dirs(p->temporary, e));
    TRY(p->options->tokenizer ? build_documents(p, e) : build_words(p, e));
    TRY(manifest_check_known(&p->manifest, &p->options->known, e));
    manifest_fingerprint(p->manifest.fingerprint, &p->manifest);
    return manifest_write(&p->manifest, arena_printf(&p->arena, "%s/manifest.yaml", p->temporary),
                          e);
}

static int move_folder(const char *from, const char *to, struct err *e)
{
    if (rename(from, to) == 0) return 0;
    return ERR(e, ERR_CREATE, "%s: cannot be renamed to %s: %s", from, to, strerror(errno));
}

/* Replaces the old folder by the new one. A crash between the two renames leaves no folder, but
 * never an incomplete one. */
static int put_in_place(struct preparation *p, struct err *e)
{
    TRY(dir_remove_tree(AT_FDCWD, p->old, NULL, e));
    if (file_exists(p->folder)) TRY(move_folder(p->folder, p->old, e));
    TRY(move_folder(p->temporary, p->folder, e));
    TRY(dir_remove_tree(AT_FDCWD, p->old, NULL, e));
    return manifest_write_piece(&p->manifest, p->piece, e);
}

static int prepare_locked(struct preparation *p, struct err *e)
{
    const char *manifest = arena_printf(&p->arena, "%s/manifest.yaml", p->folder);
    bool exists = file_exists(p->folder);

    TRY(describe_options(p, e));
    if (exists && !file_exists(manifest))
        return ERR(e, ERR_CREATE,
                   "%s exists but is not a prepared corpus; move it or choose another name",
                   p->folder);
    if (exists && !p->options->force) {
        int rc = compare_with_old(p, manifest, e);
        if (rc == 0)
            return file_exists(p->piece) ? 0 : manifest_write_piece(&p->manifest, p->piece, e);
        if (!p->synthetic) return rc; /* an embedded corpus is generated again */
    }
    int rc = build_corpus(p, e);
    if (rc == 0) return put_in_place(p, e);
    dir_remove_tree(AT_FDCWD, p->temporary, NULL, NULL);
    return rc;
}

static int check_options(const struct project *project, const struct prepare_options *o,
                         struct err *e)
{
    struct corpus corpus;
    bool embedded = prepare_is_embedded(o->name);

    if (!str_is_name(o->name) || strlen(o->name) >= sizeof corpus.name)
        return ERR(e, ERR_USAGE,
                   "'%.80s' is not a valid corpus name: use at most %zu letters, digits, dots, "
                   "underscores and dashes",
                   o->name, sizeof corpus.name - 1);
    const char *text = o->tokenizer ? o->text[0] : o->text_dir;
    if (text && embedded)
        return ERR(e, ERR_USAGE, "%s is the name of an embedded corpus; choose another for %s",
                   o->name, text);
    if (o->tokenizer && (o->dict || o->vocab_limit > 0 || o->encode.kind != ENCODE_NONE))
        return ERR(e, ERR_USAGE,
                   "--tokenizer cannot be combined with --dict, --vocab, --vocab-file or --ids");
    if (o->tokenizer && o->known.vocab > 0)
        return ERR(e, ERR_USAGE,
                   "%s is the name of a public corpus of words; choose another, such as %s-%s",
                   o->name, o->name, "gpt2");
    if (o->dict && o->vocab_limit > 0)
        return ERR(e, ERR_USAGE, "--dict cannot be combined with --vocab");
    if (embedded && (o->dict || o->encode.kind != ENCODE_NONE))
        return ERR(
            e, ERR_USAGE,
            "%s is an embedded corpus; it cannot be combined with --dict, --vocab-file or --ids",
            o->name);
    if (text || embedded) return 0;
    if (!o->force) {
        int rc = corpus_open(&corpus, project, o->name, e);
        if (rc == 0) corpus_close(&corpus);
        if (rc != ERR_NOINPUT) return rc;
    }
    return ERR(e, ERR_NOINPUT,
               "%s is not an embedded corpus (see `alibi data list`); pass --text DIR with "
               "train.txt, valid.txt and test.txt",
               o->name);
}

int prepare_corpus(const struct project *project, const struct prepare_options *o, struct err *e)
{
    char host[64] = "";
    int lock = -1, rc = 0;

    TRY(check_options(project, o, e));
    if (!o->text_dir && !o->tokenizer && !prepare_is_embedded(o->name)) return 0;
    struct preparation p = {.project = project,
                            .options = o,
                            .suffix = o->encode.kind == ENCODE_IDS ? "bin" : "txt",
                            .synthetic = synthetic_find(o->name)};
    arena_init(&p.arena);
    const char *data = project_path(project, &p.arena, "data");
    p.manifest.name = o->name;
    p.folder = arena_printf(&p.arena, "%s/%s", data, o->name);
    p.temporary = arena_printf(&p.arena, "%s/.%s.tmp", data, o->name);
    p.old = arena_printf(&p.arena, "%s/.%s.old", data, o->name);
    p.piece = arena_printf(&p.arena, "%s/%s.yaml", data, o->name);
    TRY_OUT(rc, file_make_dirs(data, e));
    gethostname(host, sizeof host - 1);
    TRY_OUT(rc, file_lock(&lock, arena_printf(&p.arena, "%s/.%s.lock", data, o->name),
                          arena_printf(&p.arena, "process %ld on %s", (long)getpid(), host), e));
    rc = prepare_locked(&p, e);
out:
    file_unlock(lock);
    documents_close(&p.documents);
    arena_fini(&p.arena);
    return rc;
}
