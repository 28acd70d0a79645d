/* manifest.c - a few lines of YAML, written and read. */
#include "data/manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"

enum { MANIFEST_FORMAT = 1, MANIFEST_MAX_BYTES = 1 << 16 };

void manifest_fingerprint(char out[HASH_HEX_BYTES], const struct manifest *m)
{
    char all[(1 + CORPUS_SPLITS_N) * HASH_HEX_BYTES];
    int n = snprintf(all, sizeof all, "%s", m->dictionary_sha256);

    for (int i = 0; i < CORPUS_SPLITS_N; i++)
        n += snprintf(all + n, sizeof all - (size_t)n, "%s", m->tokens_sha256[i]);
    hash_sha256_hex(out, all, (size_t)n);
}

/* A double-quoted YAML scalar; control characters as \xNN. */
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

int manifest_write(const struct manifest *m, const char *folder, struct err *e)
{
    struct arena arena;
    struct strbuf b;

    arena_init(&arena);
    strbuf_init(&b, &arena);
    strbuf_addf(&b, "format: %d\nname: ", MANIFEST_FORMAT);
    add_quoted(&b, m->name);
    strbuf_addf(&b, "\nvocab: %d\n", m->vocab);
    for (int i = 0; i < CORPUS_SPLITS_N; i++)
        strbuf_addf(&b, "%s_tokens: %lld\n", corpus_split_name(i), (long long)m->tokens_n[i]);
    strbuf_addf(&b, "fingerprint: \"%s\"\nsha256_dict: \"%s\"\n", m->fingerprint,
                m->dictionary_sha256);
    for (int i = 0; i < CORPUS_SPLITS_N; i++)
        strbuf_addf(&b, "sha256_%s: \"%s\"\n", corpus_split_name(i), m->tokens_sha256[i]);
    if (m->floor_perplexity[CORPUS_VALID] > 0)
        strbuf_addf(&b, "floor_perplexity: %.6f\n", m->floor_perplexity[CORPUS_VALID]);
    if (m->floor_perplexity[CORPUS_TEST] > 0)
        strbuf_addf(&b, "floor_perplexity_test: %.6f\n", m->floor_perplexity[CORPUS_TEST]);
    strbuf_add(&b, "source: ");
    add_quoted(&b, m->source);
    strbuf_add(&b, "\noptions: ");
    add_quoted(&b, m->options);
    strbuf_add(&b, "\n");
    int rc = file_write_atomic(arena_printf(&arena, "%s/manifest.yaml", folder), b.text, b.n, e);
    arena_fini(&arena);
    return rc;
}

int manifest_write_piece(const struct manifest *m, const char *path, struct err *e)
{
    struct arena arena;
    struct strbuf b;

    arena_init(&arena);
    strbuf_init(&b, &arena);
    strbuf_addf(&b,
                "# Written when the corpus was prepared; a grid names it in `base`.\n"
                "data:\n  dataset: \"%s\"\n  corpus: \"%s\"\n  vocab: %d\n",
                m->name, m->name, m->vocab);
    for (int i = 0; i < CORPUS_SPLITS_N; i++)
        strbuf_addf(&b, "  %s_tokens: %lld\n", corpus_split_name(i), (long long)m->tokens_n[i]);
    strbuf_addf(&b, "  fingerprint: \"%s\"\n", m->fingerprint);
    int rc = file_write_atomic(path, b.text, b.n, e);
    arena_fini(&arena);
    return rc;
}

/* The manifest being read: place is for messages. */
struct reader {
    struct arena *arena;
    const char *text, *place;
};

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes add_quoted on the n bytes inside the quotes. */
static char *unquoted(struct arena *a, const char *text, size_t n)
{
    char *out = arena_strndup(a, text, n);
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (text[i] != '\\' || i + 1 >= n) {
            out[kept++] = text[i];
        } else if (text[i + 1] == 'x' && i + 3 < n && hex_digit(text[i + 2]) >= 0 &&
                   hex_digit(text[i + 3]) >= 0) {
            out[kept++] = (char)(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3]));
            i += 3;
        } else {
            out[kept++] = text[++i];
        }
    }
    out[kept] = '\0';
    return out;
}

/* The value of a key, NULL if the key is not there. */
static char *read_value(const struct reader *r, const char *key)
{
    size_t key_n = strlen(key);

    for (const char *line = r->text; *line;) {
        size_t n = strcspn(line, "\n");
        if (n > key_n + 2 && strncmp(line, key, key_n) == 0 && line[key_n] == ':' &&
            line[key_n + 1] == ' ') {
            const char *value = line + key_n + 2;
            size_t value_n = n - key_n - 2;
            if (value_n >= 2 && value[0] == '"' && value[value_n - 1] == '"')
                return unquoted(r->arena, value + 1, value_n - 2);
            return arena_strndup(r->arena, value, value_n);
        }
        line += n + (line[n] == '\n');
    }
    return NULL;
}

static int read_text(const struct reader *r, const char *key, const char **out, struct err *e)
{
    *out = read_value(r, key);
    if (*out) return 0;
    return ERR(e, ERR_DATA, "%s: lacks the key %s; prepare the corpus again", r->place, key);
}

static int read_count(const struct reader *r, const char *key, int64_t most, int64_t *out,
                      struct err *e)
{
    const char *text;

    TRY(read_text(r, key, &text, e));
    if (str_to_int(out, text) && *out >= 1 && *out <= most) return 0;
    return ERR(e, ERR_DATA, "%s: %s is '%.40s', expected a count; prepare the corpus again",
               r->place, key, text);
}

static int read_hash(const struct reader *r, const char *key, char out[HASH_HEX_BYTES],
                     struct err *e)
{
    const char *text;

    TRY(read_text(r, key, &text, e));
    size_t n = strspn(text, "0123456789abcdef");
    if (n != HASH_HEX_BYTES - 1 || text[n] != '\0')
        return ERR(e, ERR_DATA, "%s: %s is '%.70s', expected 64 hex digits", r->place, key, text);
    memcpy(out, text, HASH_HEX_BYTES);
    return 0;
}

static int read_floor(const struct reader *r, const char *key, double *out, struct err *e)
{
    const char *text = read_value(r, key);

    *out = 0;
    if (!text || (str_to_double(out, text) && *out >= 1)) return 0;
    return ERR(e, ERR_DATA, "%s: %s is '%.40s', expected a perplexity", r->place, key, text);
}

static int read_fields(const struct reader *r, struct manifest *m, struct err *e)
{
    int64_t number;

    TRY(read_count(r, "format", INT32_MAX, &number, e));
    if (number != MANIFEST_FORMAT)
        return ERR(e, ERR_DATA, "%s: format %lld, this program reads %d; prepare the corpus again",
                   r->place, (long long)number, MANIFEST_FORMAT);
    TRY(read_text(r, "name", &m->name, e));
    TRY(read_text(r, "source", &m->source, e));
    TRY(read_text(r, "options", &m->options, e));
    TRY(read_count(r, "vocab", INT32_MAX, &number, e));
    m->vocab = (int32_t)number;
    TRY(read_hash(r, "fingerprint", m->fingerprint, e));
    TRY(read_hash(r, "sha256_dict", m->dictionary_sha256, e));
    TRY(read_floor(r, "floor_perplexity", &m->floor_perplexity[CORPUS_VALID], e));
    TRY(read_floor(r, "floor_perplexity_test", &m->floor_perplexity[CORPUS_TEST], e));
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        const char *split = corpus_split_name(i);
        TRY(read_count(r, arena_printf(r->arena, "%s_tokens", split), INT64_MAX / 8,
                       &m->tokens_n[i], e));
        TRY(read_hash(r, arena_printf(r->arena, "sha256_%s", split), m->tokens_sha256[i], e));
    }
    return 0;
}

int manifest_read(struct manifest *out, struct arena *a, const char *folder, struct err *e)
{
    char fingerprint[HASH_HEX_BYTES];
    char *text;

    *out = (struct manifest){0};
    const char *path = arena_printf(a, "%s/manifest.yaml", folder);
    TRY(file_read(a, &text, NULL, path, MANIFEST_MAX_BYTES, e));
    struct reader reader = {.arena = a, .text = text, .place = path};
    TRY(read_fields(&reader, out, e));
    manifest_fingerprint(fingerprint, out);
    if (strcmp(fingerprint, out->fingerprint) == 0) return 0;
    return ERR(e, ERR_DATA, "%s: the fingerprint %.16s… is not that of the hashes, %.16s…", path,
               out->fingerprint, fingerprint);
}
