/* tokens.c - see tokens.h. */
#include "data/tokens.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "token files are mapped as they are");

enum { TOKENS_VERSION = 1, TOKENS_BUFFER_N = 1 << 15, TOKENS_HASH = 32 };
static const char tokens_magic[8] = "ALIBITOK";

struct file_head {
    char magic[8];
    uint32_t version, width;
    uint64_t n;
    uint32_t vocab, zero;
    unsigned char dictionary_sha256[TOKENS_HASH];
};
_Static_assert(sizeof(struct file_head) == 64, "the header has no padding");

static uint32_t tokens_width(uint32_t vocab)
{
    return vocab <= 65536 ? 2 : 4;
}

static int check_head(const struct file_head *head, uint64_t file_bytes, const char *path,
                      struct err *e)
{
    if (memcmp(head->magic, tokens_magic, sizeof head->magic) != 0)
        return ERR(e, ERR_DATA, "%s: not a token file (does not begin with %.8s)", path,
                   tokens_magic);
    if (head->version != TOKENS_VERSION)
        return ERR(e, ERR_DATA,
                   "%s: token file version %u, but this program reads version %d; prepare the "
                   "corpus again",
                   path, head->version, TOKENS_VERSION);
    if (head->vocab < 1 || head->vocab > INT32_MAX || head->zero != 0 ||
        head->width != tokens_width(head->vocab))
        return ERR(e, ERR_DATA,
                   "%s: damaged header: width %u for a vocabulary of %u; prepare the corpus again",
                   path, head->width, head->vocab);
    if (head->n > INT64_MAX / 8 || file_bytes != sizeof *head + head->n * head->width)
        return ERR(e, ERR_DATA,
                   "%s: %" PRIu64 " bytes, but %" PRIu64
                   " ids of %u bytes and the header take %" PRIu64 "; prepare the corpus again",
                   path, file_bytes, head->n, head->width, sizeof *head + head->n * head->width);
    return 0;
}

int tokens_open(struct tokens *t, const char *path, struct err *e)
{
    struct file_head head;
    int rc = 0;

    *t = (struct tokens){0};
    TRY(file_map_open(&t->map, path, e));
    if (t->map.n < sizeof head) {
        rc = ERR(e, ERR_DATA, "%s: %zu bytes, too short for a token file; prepare the corpus again",
                 path, t->map.n);
        goto out;
    }
    memcpy(&head, t->map.data, sizeof head);
    TRY_OUT(rc, check_head(&head, t->map.n, path, e));
    t->n = (int64_t)head.n;
    t->width = (int32_t)head.width;
    t->vocab = (int32_t)head.vocab;
    t->ids = (const char *)t->map.data + sizeof head;
    for (size_t i = 0; i < TOKENS_HASH; i++)
        snprintf(t->dictionary_sha256 + 2 * i, 3, "%02x", head.dictionary_sha256[i]);
out:
    if (rc < 0) tokens_close(t);
    return rc;
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

void tokens_read_source(const struct tokens *t, int64_t first, int64_t n, int32_t *out)
{
    int64_t start = first == 0 && n > 0 ? 1 : 0;

    if (start > 0) out[0] = TOKEN_LINE_END;
    tokens_read(t, first - 1 + start, n - start, out + start);
}

struct tokens_writer {
    struct file_writer *file;
    const char *path;
    struct file_head head; /* n is written by the commit */
    uint16_t narrow[TOKENS_BUFFER_N];
};

int tokens_writer_open(struct tokens_writer **out, const char *path, int32_t vocab,
                       const char *dictionary_sha256, struct err *e)
{
    struct tokens_writer *w = *out = calloc(1, sizeof *w);
    int rc = 0;

    if (!w) return ERR(e, ERR_NOMEM, "out of memory while writing %s", path);
    assert(vocab >= 1 && strlen(dictionary_sha256) == 2 * TOKENS_HASH);
    w->path = path;
    w->head = (struct file_head){.version = TOKENS_VERSION,
                                 .width = tokens_width((uint32_t)vocab),
                                 .vocab = (uint32_t)vocab};
    memcpy(w->head.magic, tokens_magic, sizeof w->head.magic);
    for (size_t i = 0; i < TOKENS_HASH; i++)
        sscanf(dictionary_sha256 + 2 * i, "%2hhx", &w->head.dictionary_sha256[i]);
    TRY_OUT(rc, file_writer_open(&w->file, path, e));
    TRY_OUT(rc, file_writer_add(w->file, &w->head, sizeof w->head, e));
    return 0;
out:
    tokens_writer_abandon(w);
    *out = NULL;
    return rc;
}

int tokens_writer_add(struct tokens_writer *w, const int32_t *ids, int64_t n, struct err *e)
{
    bool narrow = w->head.width == 2;

    for (int64_t part; n > 0; ids += part, n -= part, w->head.n += (uint64_t)part) {
        part = n < TOKENS_BUFFER_N ? n : TOKENS_BUFFER_N;
        for (int64_t i = 0; i < part; i++) {
            if ((uint32_t)ids[i] >= w->head.vocab)
                return ERR(e, ERR_DATA, "%s: id %d at position %lld, expected 0 to %u", w->path,
                           ids[i], (long long)w->head.n + i, w->head.vocab - 1);
            w->narrow[i] = (uint16_t)ids[i];
        }
        const void *bytes = narrow ? (const void *)w->narrow : ids;
        TRY(file_writer_add(w->file, bytes, (size_t)part * w->head.width, e));
    }
    return 0;
}

int tokens_writer_commit(struct tokens_writer *w, struct err *e)
{
    int rc = file_writer_rewrite(w->file, &w->head, sizeof w->head, e);

    if (rc == 0) {
        rc = file_writer_commit(w->file, e);
        w->file = NULL;
    }
    tokens_writer_abandon(w);
    return rc;
}

void tokens_writer_abandon(struct tokens_writer *w)
{
    if (!w) return;
    file_writer_abandon(w->file);
    free(w);
}
