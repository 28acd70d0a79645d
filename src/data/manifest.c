/* manifest.c - reads and writes manifest.yaml by a table of its keys. */
#include "data/corpus.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"

enum { MANIFEST_FORMAT = 1, MANIFEST_MAX_BYTES = 1 << 16 };

/* Type of a field: MANIFEST_FORMAT, int64_t, double (omitted if 0), hex digits, pointer to text. */
enum field_kind { FIELD_FORMAT, FIELD_COUNT, FIELD_FLOOR, FIELD_HASH, FIELD_TEXT };

/* Which manifests have a field. The text of a part names it: without the text there is no such
 * part. */
enum field_part { PART_ALL, PART_DICTIONARY, PART_CLASSES, PART_TOKENIZER };

static bool has_part(const struct manifest *m, enum field_part part)
{
    return part == PART_ALL || (part == PART_DICTIONARY && !m->tokenizer) ||
           (part == PART_CLASSES && m->classes) || (part == PART_TOKENIZER && m->tokenizer);
}

#define AT(member) offsetof(struct manifest, member)
#define TEXT_COUNTS(SPLIT, split)                                                                  \
    {split "_documents", FIELD_COUNT, AT(text[SPLIT].documents), PART_TOKENIZER},                  \
        {split "_bytes", FIELD_COUNT, AT(text[SPLIT].bytes), PART_TOKENIZER},                      \
    {                                                                                              \
        split "_words", FIELD_COUNT, AT(text[SPLIT].words), PART_TOKENIZER                         \
    }

/* In the order of the file. */
static const struct field {
    const char *key;
    enum field_kind kind;
    size_t at;
    enum field_part part;
} fields[] = {
    {"format", FIELD_FORMAT, 0, PART_ALL},
    {"name", FIELD_TEXT, AT(name), PART_ALL},
    {"tokenizer", FIELD_TEXT, AT(tokenizer), PART_TOKENIZER},
    {"vocab", FIELD_COUNT, AT(vocab), PART_ALL},
    {"train_tokens", FIELD_COUNT, AT(tokens_n[CORPUS_TRAIN]), PART_ALL},
    {"valid_tokens", FIELD_COUNT, AT(tokens_n[CORPUS_VALID]), PART_ALL},
    {"test_tokens", FIELD_COUNT, AT(tokens_n[CORPUS_TEST]), PART_ALL},
    {"fingerprint", FIELD_HASH, AT(fingerprint), PART_ALL},
    {"sha256_dict", FIELD_HASH, AT(dictionary_sha256), PART_DICTIONARY},
    {"sha256_tokenizer", FIELD_HASH, AT(dictionary_sha256), PART_TOKENIZER},
    {"sha256_train", FIELD_HASH, AT(tokens_sha256[CORPUS_TRAIN]), PART_ALL},
    {"sha256_valid", FIELD_HASH, AT(tokens_sha256[CORPUS_VALID]), PART_ALL},
    {"sha256_test", FIELD_HASH, AT(tokens_sha256[CORPUS_TEST]), PART_ALL},
    {"floor_perplexity", FIELD_FLOOR, AT(floor_perplexity[CORPUS_VALID]), PART_ALL},
    {"floor_perplexity_test", FIELD_FLOOR, AT(floor_perplexity[CORPUS_TEST]), PART_ALL},
    {"source", FIELD_TEXT, AT(source), PART_ALL},
    {"options", FIELD_TEXT, AT(options), PART_ALL},
    {"groups", FIELD_TEXT, AT(classes), PART_CLASSES},
    {"sha256_valid_groups", FIELD_HASH, AT(classes_sha256[CORPUS_VALID]), PART_CLASSES},
    {"sha256_test_groups", FIELD_HASH, AT(classes_sha256[CORPUS_TEST]), PART_CLASSES},
    {"prefix", FIELD_COUNT, AT(prefix), PART_TOKENIZER},
    TEXT_COUNTS(CORPUS_TRAIN, "train"),
    TEXT_COUNTS(CORPUS_VALID, "valid"),
    TEXT_COUNTS(CORPUS_TEST, "test"),
    {"sha256_train_documents", FIELD_HASH, AT(documents_sha256[CORPUS_TRAIN]), PART_TOKENIZER},
    {"sha256_valid_documents", FIELD_HASH, AT(documents_sha256[CORPUS_VALID]), PART_TOKENIZER},
    {"sha256_test_documents", FIELD_HASH, AT(documents_sha256[CORPUS_TEST]), PART_TOKENIZER},
};
enum { FIELD_VOCAB = 3, FIELD_FINGERPRINT = 7, FIELDS_N = sizeof fields / sizeof *fields };

const char *corpus_split_name(enum corpus_split split)
{
    static const char *const names[CORPUS_SPLITS_N] = {"train", "valid", "test"};
    return names[split];
}

void manifest_fingerprint(char out[HASH_HEX_BYTES], const struct manifest *m)
{
    char all[(1 + 2 * CORPUS_SPLITS_N) * HASH_HEX_BYTES + CLASSES_MAX * CLASS_NAME_BYTES +
             CORPUS_SPLITS_N * (HASH_HEX_BYTES + 48)];
    int n = snprintf(all, sizeof all, "%s", m->dictionary_sha256);

    for (int i = 0; i < CORPUS_SPLITS_N; i++)
        n += snprintf(all + n, sizeof all - (size_t)n, "%s", m->tokens_sha256[i]);
    if (m->classes)
        n += snprintf(all + n, sizeof all - (size_t)n, "%s%s%.2047s",
                      m->classes_sha256[CORPUS_VALID], m->classes_sha256[CORPUS_TEST], m->classes);
    if (m->tokenizer) n += snprintf(all + n, sizeof all - (size_t)n, "%lld", (long long)m->prefix);
    for (int i = 0; m->tokenizer && i < CORPUS_SPLITS_N; i++)
        n += snprintf(all + n, sizeof all - (size_t)n, "%s %lld %lld", m->documents_sha256[i],
                      (long long)m->text[i].bytes, (long long)m->text[i].words);
    hash_sha256_hex(out, all, (size_t)n);
}

int manifest_check_known(const struct manifest *m, const struct manifest *known, struct err *e)
{
    for (int k = 0; k < CORPUS_SPLITS_N; k++)
        if (known->tokens_n[k] && m->tokens_n[k] != known->tokens_n[k])
            return ERR(e, ERR_DATA,
                       "%s: %s has %lld tokens, but the public corpus has %lld; use the files "
                       "of its archive, or prepare this text under another name",
                       m->name, corpus_split_name(k), (long long)m->tokens_n[k],
                       (long long)known->tokens_n[k]);
    if (known->vocab && m->vocab != known->vocab)
        return ERR(e, ERR_DATA,
                   "%s: vocabulary is %lld, but %lld in the public corpus; prepare this under "
                   "another name",
                   m->name, (long long)m->vocab, (long long)known->vocab);
    return 0;
}

/* Writes a double-quoted YAML scalar; control characters as \xNN. */
static void add_quoted(struct strbuf *b, const char *text)
{
    strbuf_add(b, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            strbuf_addf(b, "\\%c", c);
        else if (c < ' ' || c == 0x7F)
            strbuf_addf(b, "\\x%02x", c);
        else
            strbuf_add_n(b, text, 1);
    }
    strbuf_add(b, "\"");
}

static void add_field(struct strbuf *b, const struct manifest *m, const struct field *f)
{
    const void *at = (const char *)m + f->at;

    strbuf_addf(b, "%s: ", f->key);
    if (f->kind == FIELD_FORMAT) strbuf_addf(b, "%d", MANIFEST_FORMAT);
    if (f->kind == FIELD_COUNT) strbuf_addf(b, "%lld", (long long)*(const int64_t *)at);
    if (f->kind == FIELD_FLOOR) strbuf_addf(b, "%.6f", *(const double *)at);
    if (f->kind == FIELD_HASH) add_quoted(b, at);
    if (f->kind == FIELD_TEXT) add_quoted(b, *(const char *const *)at);
    strbuf_add(b, "\n");
}

/* Writes the fields [first, last] after the head. */
static int write_fields(const struct manifest *m, const char *path, const char *head,
                        const char *indent, int first, int last, struct err *e)
{
    struct arena arena;
    struct strbuf b;

    arena_init(&arena);
    strbuf_init(&b, &arena);
    strbuf_add(&b, head);
    for (int i = first; i <= last; i++) {
        if (fields[i].kind == FIELD_FLOOR && *(const double *)((const char *)m + fields[i].at) == 0)
            continue;
        if (!has_part(m, fields[i].part)) continue;
        strbuf_add(&b, indent);
        add_field(&b, m, &fields[i]);
    }
    int rc = file_write_atomic(path, b.text, b.n, e);
    arena_fini(&arena);
    return rc;
}

int manifest_write(const struct manifest *m, const char *path, struct err *e)
{
    return write_fields(m, path, "", "", 0, FIELDS_N - 1, e);
}

int manifest_write_piece(const struct manifest *m, const char *path, struct err *e)
{
    char head[320];

    snprintf(head, sizeof head,
             "# Written when the corpus was prepared; a grid names it in `base`.\n"
             "data:\n  dataset: \"%s\"\n  corpus: \"%s\"\n",
             m->name, m->name);
    /* A model may have more rows than its tokenizer has ids, so that its own piece states vocab. */
    int first = m->tokenizer ? FIELD_VOCAB + 1 : FIELD_VOCAB;
    return write_fields(m, path, head, "  ", first, FIELD_FINGERPRINT, e);
}

/* Undoes add_quoted in place; a value without quotes is itself. */
static char *unquoted(char *text)
{
    size_t n = strlen(text);
    char *put = text;

    if (n < 2 || text[0] != '"' || text[n - 1] != '"') return text;
    text[n - 1] = '\0';
    for (const char *at = text + 1; *at; at++) {
        unsigned code;
        int read_n = 0;
        if (*at == '\\' && sscanf(at, "\\x%2x%n", &code, &read_n) == 1 && read_n == 4) {
            *put++ = (char)code;
            at += 3;
        } else {
            at += *at == '\\' && at[1];
            *put++ = *at;
        }
    }
    *put = '\0';
    return text;
}

/* The value of a key in a text of lines after '\n', or NULL. */
static char *read_value(struct arena *a, const char *text, const char *key)
{
    const char *mark = arena_printf(a, "\n%s: ", key), *at = strstr(text, mark);

    if (!at) return NULL;
    at += strlen(mark);
    return unquoted(arena_strndup(a, at, strcspn(at, "\n")));
}

/* Parses a field; returns NULL, or the expected form. least: of a count. */
static const char *parse_field(void *at, enum field_kind kind, int64_t least, const char *text)
{
    int64_t *count = at, format;

    switch (kind) {
    case FIELD_FORMAT:
        return str_to_int(&format, text) && format == MANIFEST_FORMAT ? NULL : "1";
    case FIELD_COUNT:
        return str_to_int(count, text) && *count >= least && *count <= INT64_MAX / 8 ? NULL
                                                                                     : "a count";
    case FIELD_FLOOR:
        return str_to_double(at, text) && *(double *)at >= 1 ? NULL : "a perplexity";
    case FIELD_HASH:
        if (!hash_is_sha256(text)) return "64 hex digits";
        memcpy(at, text, HASH_HEX_BYTES);
        return NULL;
    case FIELD_TEXT:
        *(const char **)at = text;
        return NULL;
    }
    return NULL;
}

int manifest_read(struct manifest *out, struct arena *a, const char *path, struct err *e)
{
    char fingerprint[HASH_HEX_BYTES], *text;

    *out = (struct manifest){0};
    TRY(file_read(a, &text, NULL, path, MANIFEST_MAX_BYTES, e));
    text = arena_printf(a, "\n%s", text);
    for (int i = 0; i < FIELDS_N; i++) {
        const struct field *f = &fields[i];
        bool names_part = f->kind == FIELD_TEXT && f->part != PART_ALL;
        if (!names_part && !has_part(out, f->part)) continue;
        const char *value = read_value(a, text, f->key);
        if (!value && (f->kind == FIELD_FLOOR || names_part)) continue;
        if (!value)
            return ERR(e, ERR_DATA, "%s: key %s is missing; prepare the corpus again", path,
                       f->key);
        const char *expected =
            parse_field((char *)out + f->at, f->kind, out->tokenizer ? 0 : 1, value);
        if (expected)
            return ERR(e, ERR_DATA, "%s: %s is '%.70s', expected %s; prepare the corpus again",
                       path, f->key, value, expected);
    }
    if (out->tokenizer && out->prefix >= out->vocab)
        return ERR(e, ERR_DATA, "%s: prefix is %lld, but vocab is %lld; prepare the corpus again",
                   path, (long long)out->prefix, (long long)out->vocab);
    manifest_fingerprint(fingerprint, out);
    if (strcmp(fingerprint, out->fingerprint) == 0) return 0;
    return ERR(e, ERR_DATA, "%s: fingerprint %.16s… does not match the hashes, %.16s…", path,
               out->fingerprint, fingerprint);
}
