/* encode.c - files of text or ids, line by line, into files of units. */
#include "prepare/encode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "prepare/bpe.h"
#include "prepare/encoded.h"
#include "prepare/wordpiece.h"

enum { ENCODE_BUFFER_BYTES = 1 << 20, ENCODE_PROGRESS_BYTES = 4 << 20 };

struct encoder {
    struct encode_options options;
    struct wordpiece *wordpiece;
    struct bpe *bpe;
    struct encoded line;
};

const char *encode_suffix(const struct encode_options *o)
{
    return o->kind == ENCODE_IDS ? "bin" : "txt";
}

int encode_describe(char *out, size_t room, const struct encode_options *o, struct err *e)
{
    char vocab[HASH_HEX_BYTES], merges[HASH_HEX_BYTES];

    out[0] = '\0';
    if (o->kind == ENCODE_IDS)
        snprintf(out, room, " units=ids bytes=%d end=%" PRId64, o->id_bytes, o->id_end);
    if (o->kind != ENCODE_WORDPIECE && o->kind != ENCODE_BPE) return 0;
    TRY(hash_file(vocab, o->vocab, e));
    if (o->kind == ENCODE_WORDPIECE) {
        snprintf(out, room, " units=wordpiece vocab=%.16s%s", vocab, o->cased ? " cased" : "");
        return 0;
    }
    TRY(hash_file(merges, o->merges, e));
    snprintf(out, room, " units=bpe vocab=%.16s merges=%.16s", vocab, merges);
    return 0;
}

int encoder_open(struct encoder **out, const struct encode_options *o, struct err *e)
{
    struct encoder *c = calloc(1, sizeof *c);
    int rc = 0;

    *out = NULL;
    if (!c) return ERR(e, ERR_NOMEM, "no memory for an encoder");
    c->options = *o;
    if (o->kind == ENCODE_WORDPIECE) rc = wordpiece_open(&c->wordpiece, o->vocab, o->cased, e);
    if (o->kind == ENCODE_BPE) rc = bpe_open(&c->bpe, o->vocab, o->merges, e);
    if (o->kind == ENCODE_IDS && o->id_bytes != 2 && o->id_bytes != 4)
        rc = ERR(e, ERR_USAGE, "ids of %d bytes: 2 or 4", o->id_bytes);
    if (rc < 0) {
        encoder_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void encoder_close(struct encoder *c)
{
    if (!c) return;
    wordpiece_close(c->wordpiece);
    bpe_close(c->bpe);
    free(c->line.text_own);
    free(c);
}

/* Ends the line that has been gathered and writes it. */
static int encoder_put(struct encoder *c, FILE *to, const char *path, struct err *e)
{
    if (c->line.out_of_memory) return ERR(e, ERR_NOMEM, "%s: no memory for a line", path);
    if (c->line.n > 0) fwrite(c->line.text_own, 1, c->line.n, to);
    c->line.n = 0;
    if (putc('\n', to) == EOF) return ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    return 0;
}

/* Tells the share done, now and then. */
static void encoder_report(const struct text_progress *p, size_t done, size_t n, size_t *told)
{
    if (!p || !p->call || (done - *told < ENCODE_PROGRESS_BYTES && done < n)) return;
    *told = done;
    p->call(p->context, p->what, n > 0 ? (double)done / (double)n : 1.0);
}

static int encoder_text(struct encoder *c, const struct file_map *map, const char *from, FILE *to,
                        const char *path, const struct text_progress *progress, struct err *e)
{
    const char *text = map->data;
    size_t told = 0;
    long long line = 1;

    for (size_t at = 0; at < map->n; line++) {
        const char *end = memchr(text + at, '\n', map->n - at);
        size_t n = end ? (size_t)(end - (text + at)) : map->n - at;
        size_t kept = n > 0 && text[at + n - 1] == '\r' ? n - 1 : n;
        int rc = c->bpe ? bpe_line(c->bpe, &c->line, text + at, kept, e)
                        : wordpiece_line(c->wordpiece, &c->line, text + at, kept, e);
        if (rc < 0) {
            err_ctx(e, "%s:%lld", from, line);
            return rc;
        }
        TRY(encoder_put(c, to, path, e));
        at += n + (end != NULL);
        encoder_report(progress, at, map->n, &told);
    }
    return 0;
}

static int encoder_ids(struct encoder *c, const struct file_map *map, const char *from, FILE *to,
                       const char *path, const struct text_progress *progress, struct err *e)
{
    const unsigned char *p = map->data;
    size_t width = (size_t)c->options.id_bytes, told = 0;
    char number[16];

    if (map->n % width != 0)
        return ERR(e, ERR_DATA, "%s: %zu bytes are no whole number of ids of %zu", from, map->n,
                   width);
    for (size_t at = 0; at < map->n; at += width) {
        uint32_t id = 0;
        for (size_t i = 0; i < width; i++) id |= (uint32_t)p[at + i] << (8 * i);
        if ((int64_t)id == c->options.id_end) {
            TRY(encoder_put(c, to, path, e));
            continue;
        }
        int digits = snprintf(number, sizeof number, "%" PRIu32, id);
        encoded_add(&c->line, "", 0, number, (size_t)digits);
        encoder_report(progress, at + width, map->n, &told);
    }
    return c->line.n > 0 ? encoder_put(c, to, path, e) : 0;
}

int encoder_file(struct encoder *c, const char *from, const char *to,
                 const struct text_progress *progress, struct err *e)
{
    struct file_map map;
    FILE *out = NULL;
    int rc = 0;

    TRY(file_map_open(&map, from, e));
    out = fopen(to, "wbe");
    if (!out) {
        rc = ERR(e, ERR_CREATE, "%s: cannot be created: %s", to, strerror(errno));
        goto out;
    }
    setvbuf(out, NULL, _IOFBF, ENCODE_BUFFER_BYTES);
    rc = c->options.kind == ENCODE_IDS ? encoder_ids(c, &map, from, out, to, progress, e)
                                       : encoder_text(c, &map, from, out, to, progress, e);
    bool failed = ferror(out) != 0;
    if ((fclose(out) != 0 || failed) && rc == 0) rc = ERR(e, ERR_IO, "%s: %s", to, strerror(errno));
out:
    file_map_close(&map);
    return rc;
}
