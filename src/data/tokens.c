/* tokens.c - see tokens.h. */
#include "data/tokens.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "token files are mapped as they are");

_Static_assert(sizeof(struct tokens_head) == 64, "the header has no padding");

enum { TOKENS_VERSION = 1 };
static const char tokens_magic[8] = "ALIBITOK";

static uint32_t tokens_width(uint32_t vocab)
{
    return vocab <= 65536 ? 2 : 4;
}

static int check_head(const struct tokens_head *head, uint64_t file_bytes, const char *path,
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
    struct tokens_head head;
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
    t->prefix = TOKEN_LINE_END;
    t->pad = TOKEN_PAD;
    for (size_t i = 0; i < TOKENS_HASH_BYTES; i++)
        snprintf(t->dictionary_sha256 + 2 * i, 3, "%02x", head.dictionary_sha256[i]);
out:
    if (rc < 0) tokens_close(t);
    return rc;
}

void tokens_close(struct tokens *t)
{
    if (!t) return;
    file_map_close(&t->map);
    file_map_close(&t->documents_map);
    *t = (struct tokens){0};
}

int tokens_open_documents(struct tokens *t, const char *path, int64_t n, struct err *e)
{
    struct file_map *map = &t->documents_map;

    TRY(file_map_open(map, path, e));
    const int64_t *first = map->data;
    if (n < 0 || map->n % sizeof *first != 0 || map->n / sizeof *first != (size_t)n)
        return ERR(e, ERR_DATA,
                   "%s: %zu bytes for %" PRId64 " documents of %zu; prepare the corpus again", path,
                   map->n, n, sizeof *first);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 ? first[i] != 0 : first[i] <= first[i - 1])
            return ERR(e, ERR_DATA,
                       "%s: document %" PRId64 " begins at token %" PRId64
                       ", expected rising numbers from 0; prepare the corpus again",
                       path, i, first[i]);
    if (n == 0 ? t->n > 0 : first[n - 1] >= t->n)
        return ERR(e, ERR_DATA,
                   "%s: %" PRId64 " documents do not fit %" PRId64
                   " tokens; prepare the corpus again",
                   path, n, t->n);
    t->document = first;
    t->documents_n = n;
    return 0;
}

int64_t tokens_document(const struct tokens *t, int64_t at, int64_t *first, int64_t *end)
{
    int64_t low = 0, high = t->document ? t->documents_n : 1;

    assert(at >= 0 && at < t->n);
    while (high - low > 1) { /* the document is one of [low, high) */
        int64_t middle = low + (high - low) / 2;
        if (t->document[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    *first = t->document ? t->document[low] : 0;
    *end = t->document && low + 1 < t->documents_n ? t->document[low + 1] : t->n;
    return low;
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

void tokens_read_row(const struct tokens *t, int64_t first, int32_t n, int32_t length,
                     int32_t *source, int32_t *target)
{
    int64_t begin, end;

    tokens_read(t, first, n, target);
    source[0] = t->prefix;
    tokens_document(t, first, &begin, &end);
    if (first > begin) tokens_read(t, first - 1, 1, source);
    for (int32_t i = 1; i < n; i++) source[i] = target[i - 1];
    int32_t fill = t->pad < 0 ? t->prefix : t->pad;
    for (int32_t i = n; i < length; i++) source[i] = target[i] = fill;
}

int tokens_writer_open(struct tokens_writer *w, const char *path, int32_t vocab,
                       const char *dictionary_sha256, struct err *e)
{
    assert(vocab >= 1 && strlen(dictionary_sha256) == 2 * TOKENS_HASH_BYTES);
    *w = (struct tokens_writer){.path = path,
                                .head = {.version = TOKENS_VERSION,
                                         .width = tokens_width((uint32_t)vocab),
                                         .vocab = (uint32_t)vocab}};
    memcpy(w->head.magic, tokens_magic, sizeof w->head.magic);
    for (size_t i = 0; i < TOKENS_HASH_BYTES; i++)
        sscanf(dictionary_sha256 + 2 * i, "%2hhx", &w->head.dictionary_sha256[i]);
    TRY(file_writer_open(&w->file, path, e));
    int rc = file_writer_add(w->file, &w->head, sizeof w->head, e);
    return rc < 0 ? file_writer_close(w->file, rc, e) : 0;
}

int tokens_writer_add(struct tokens_writer *w, int32_t id, struct err *e)
{
    if ((uint32_t)id >= w->head.vocab)
        return ERR(e, ERR_DATA, "%s: id %d at position %lld, expected 0 to %u", w->path, id,
                   (long long)w->head.n, w->head.vocab - 1);
    w->head.n++;
    return file_writer_add(w->file, &id, w->head.width, e);
}

int tokens_writer_close(struct tokens_writer *w, int rc, struct err *e)
{
    if (rc == 0) rc = file_writer_rewrite(w->file, &w->head, sizeof w->head, e);
    return file_writer_close(w->file, rc, e);
}
