/* tokens.c - token files: written whole, mapped for reading. */
#include "data/tokens.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "token files are mapped as they are");

enum { TOKENS_VERSION = 1, TOKENS_HEAD_BYTES = 64, TOKENS_BUFFER_N = 1 << 15, TOKENS_HASH = 32 };
static const char tokens_magic[8] = "ALIBITOK";

struct file_head {
    char magic[8];
    uint32_t version, width;
    uint64_t n;
    uint32_t vocab, zero;
    unsigned char dictionary_sha256[TOKENS_HASH];
};
_Static_assert(sizeof(struct file_head) == TOKENS_HEAD_BYTES, "the head has no padding");

struct tokens_writer {
    struct file_writer *file;
    char *path_own;
    int64_t n, written;
    int32_t vocab, width;
    union {
        uint16_t narrow[TOKENS_BUFFER_N];
        int32_t wide[TOKENS_BUFFER_N];
    } buffer;
};

static int32_t tokens_width(int32_t vocab)
{
    return vocab <= 65536 ? 2 : 4;
}

int tokens_head_read(struct tokens_head *out, const void *data, uint64_t file_bytes,
                     const char *place, struct err *e)
{
    struct file_head head;

    if (file_bytes < sizeof head)
        return ERR(e, ERR_DATA,
                   "%s: %" PRIu64 " bytes, too short for a token file; prepare the corpus again",
                   place, file_bytes);
    memcpy(&head, data, sizeof head);
    if (memcmp(head.magic, tokens_magic, sizeof head.magic) != 0)
        return ERR(e, ERR_DATA, "%s: no token file: it does not begin with %.8s", place,
                   tokens_magic);
    if (head.version != TOKENS_VERSION)
        return ERR(
            e, ERR_DATA,
            "%s: token file version %u, this program reads version %d; prepare the corpus again",
            place, head.version, TOKENS_VERSION);
    if (head.vocab < 1 || head.vocab > INT32_MAX || head.zero != 0 ||
        head.width != (uint32_t)tokens_width((int32_t)head.vocab))
        return ERR(e, ERR_DATA,
                   "%s: damaged head: width %u for a vocabulary of %u; prepare the corpus again",
                   place, head.width, head.vocab);
    if (head.n > INT64_MAX / 8 || file_bytes != sizeof head + head.n * head.width)
        return ERR(e, ERR_DATA,
                   "%s: %" PRIu64 " bytes, but %" PRIu64
                   " ids of %u bytes and the head take %" PRIu64 "; prepare the corpus again",
                   place, file_bytes, head.n, head.width, sizeof head + head.n * head.width);
    *out = (struct tokens_head){
        .vocab = (int32_t)head.vocab, .width = (int32_t)head.width, .n = (int64_t)head.n};
    for (int i = 0; i < TOKENS_HASH; i++) {
        static const char digits[] = "0123456789abcdef";
        out->dictionary_sha256[2 * i] = digits[head.dictionary_sha256[i] >> 4];
        out->dictionary_sha256[2 * i + 1] = digits[head.dictionary_sha256[i] & 15];
    }
    return 0;
}

int tokens_open(struct tokens *t, const char *path, struct err *e)
{
    struct tokens_head head;

    *t = (struct tokens){0};
    TRY(file_map_open(&t->map, path, e));
    int rc = tokens_head_read(&head, t->map.data, t->map.n, path, e);
    if (rc < 0) {
        tokens_close(t);
        return rc;
    }
    t->n = head.n;
    t->width = head.width;
    t->ids = (const char *)t->map.data + TOKENS_HEAD_BYTES;
    return 0;
}

void tokens_close(struct tokens *t)
{
    if (!t) return;
    file_map_close(&t->map);
    *t = (struct tokens){0};
}

void tokens_read(const struct tokens *t, int64_t first, int64_t n, int32_t *out)
{
    assert(first >= 0 && n >= 0 && first <= t->n - n);
    if (t->width == 4) {
        if (n > 0) memcpy(out, (const int32_t *)t->ids + first, (size_t)n * sizeof *out);
        return;
    }
    const uint16_t *ids = (const uint16_t *)t->ids + first;
    for (int64_t i = 0; i < n; i++) out[i] = ids[i];
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

int tokens_writer_open(struct tokens_writer **out, const char *path, int64_t n, int32_t vocab,
                       const char *dictionary_sha256, struct err *e)
{
    struct file_head head = {.version = TOKENS_VERSION,
                             .width = (uint32_t)tokens_width(vocab),
                             .n = (uint64_t)n,
                             .vocab = (uint32_t)vocab};
    struct tokens_writer *w = NULL;
    int rc = 0;

    *out = NULL;
    memcpy(head.magic, tokens_magic, sizeof head.magic);
    if (vocab < 1 || n < 0 || strlen(dictionary_sha256) != 2 * TOKENS_HASH)
        return ERR(e, ERR_INTERNAL, "%s: %lld ids, vocabulary %d, dictionary hash '%s'", path,
                   (long long)n, vocab, dictionary_sha256);
    for (int i = 0; i < TOKENS_HASH; i++) {
        int high = hex_value(dictionary_sha256[2 * i]);
        int low = hex_value(dictionary_sha256[2 * i + 1]);
        if (high < 0 || low < 0)
            return ERR(e, ERR_INTERNAL, "%s: dictionary hash '%s'", path, dictionary_sha256);
        head.dictionary_sha256[i] = (unsigned char)(high << 4 | low);
    }
    w = calloc(1, sizeof *w);
    char *path_own = w ? strdup(path) : NULL;
    if (!path_own) {
        free(w);
        return ERR(e, ERR_NOMEM, "%s: no memory to write it", path);
    }
    w->path_own = path_own;
    w->n = n;
    w->vocab = vocab;
    w->width = tokens_width(vocab);
    TRY_OUT(rc, file_writer_open(&w->file, path, e));
    TRY_OUT(rc, file_writer_add(w->file, &head, sizeof head, e));
    *out = w;
    w = NULL;
out:
    tokens_writer_abandon(w);
    return rc;
}

int tokens_writer_add(struct tokens_writer *w, const int32_t *ids, int64_t n, struct err *e)
{
    while (n > 0) {
        int32_t part = n < TOKENS_BUFFER_N ? (int32_t)n : TOKENS_BUFFER_N;
        for (int32_t i = 0; i < part; i++) {
            if (ids[i] < 0 || ids[i] >= w->vocab)
                return ERR(e, ERR_DATA, "%s: id %d at place %lld, expected 0 to %d", w->path_own,
                           ids[i], (long long)(w->written + i), w->vocab - 1);
            if (w->width == 2)
                w->buffer.narrow[i] = (uint16_t)ids[i];
            else
                w->buffer.wide[i] = ids[i];
        }
        TRY(file_writer_add(w->file, &w->buffer, (size_t)part * (size_t)w->width, e));
        w->written += part;
        ids += part;
        n -= part;
    }
    return 0;
}

int tokens_writer_commit(struct tokens_writer *w, struct err *e)
{
    int rc = 0;

    if (w->written != w->n) {
        rc = ERR(e, ERR_INTERNAL, "%s: %lld ids written, %lld announced", w->path_own,
                 (long long)w->written, (long long)w->n);
        goto out;
    }
    struct file_writer *file = w->file;
    w->file = NULL;
    rc = file_writer_commit(file, e);
out:
    tokens_writer_abandon(w);
    return rc;
}

void tokens_writer_abandon(struct tokens_writer *w)
{
    if (!w) return;
    file_writer_abandon(w->file);
    free(w->path_own);
    free(w);
}

int tokens_write(const char *path, const int32_t *ids, int64_t n, int32_t vocab,
                 const char *dictionary_sha256, struct err *e)
{
    struct tokens_writer *w = NULL;

    TRY(tokens_writer_open(&w, path, n, vocab, dictionary_sha256, e));
    int rc = tokens_writer_add(w, ids, n, e);
    if (rc < 0) {
        tokens_writer_abandon(w);
        return rc;
    }
    return tokens_writer_commit(w, e);
}
