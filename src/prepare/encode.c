/* encode.c - converts files of text or ids to files of units. */
#include "prepare/encode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "prepare/subword.h"

struct encoder {
    struct encode_options options;
    struct wordpiece *wordpiece;
    struct bpe *bpe;
    struct strbuf line;
};

int encode_describe(const char **out, struct arena *a, const struct encode_options *o,
                    struct err *e)
{
    char vocab[HASH_HEX_BYTES], merges[HASH_HEX_BYTES];

    *out = "";
    if (o->kind == ENCODE_IDS)
        *out = arena_printf(a, " units=ids bytes=%d end=%" PRId64, o->id_bytes, o->id_end);
    if (o->kind != ENCODE_WORDPIECE && o->kind != ENCODE_BPE) return 0;
    TRY(hash_file(vocab, o->vocab, e));
    if (o->kind == ENCODE_BPE) TRY(hash_file(merges, o->merges, e));
    *out = o->kind == ENCODE_BPE
               ? arena_printf(a, " units=bpe vocab=%.16s merges=%.16s", vocab, merges)
               : arena_printf(a, " units=wordpiece vocab=%.16s%s", vocab, o->cased ? " cased" : "");
    return 0;
}

int encoder_open(struct encoder **out, struct arena *a, const struct encode_options *o,
                 struct err *e)
{
    struct encoder *c = *out = arena_alloc(a, sizeof *c);

    c->options = *o;
    strbuf_init(&c->line, a);
    if (o->kind == ENCODE_WORDPIECE) return wordpiece_open(&c->wordpiece, a, o->vocab, o->cased, e);
    if (o->kind == ENCODE_BPE) return bpe_open(&c->bpe, a, o->vocab, o->merges, e);
    if (o->id_bytes == 2 || o->id_bytes == 4) return 0;
    return ERR(e, ERR_USAGE, "ids of %d bytes: expected 2 or 4", o->id_bytes);
}

/* --- lines of units --- */

void unit_add(struct strbuf *line, const char *first, const char *rest, size_t rest_n)
{
    if (line->n > 0) strbuf_add_n(line, " ", 1);
    strbuf_add(line, first);
    strbuf_add_n(line, rest, rest_n);
}

void unit_add_number(struct strbuf *line, uint32_t number)
{
    char digits[10], *p = digits + sizeof digits; /* printf takes half of the time of a text */

    do *--p = (char)('0' + number % 10);
    while (number /= 10);
    unit_add(line, "", p, (size_t)(digits + sizeof digits - p));
}

/* Terminates the current line and writes it. */
static void encoder_put(struct encoder *c, FILE *to)
{
    fwrite(c->line.text, 1, c->line.n, to);
    putc('\n', to);
    c->line.n = 0;
}

static int encoder_text(struct encoder *c, const struct text *t, FILE *to, struct err *e)
{
    const char *at = t->bytes, *reported = at, *line;
    size_t n;

    for (long long number = 1; text_line(&at, t->bytes + t->n, true, &line, &n); number++) {
        int rc = c->bpe ? bpe_line(c->bpe, &c->line, line, n, e)
                        : wordpiece_line(c->wordpiece, &c->line, line, n, e);
        if (rc < 0) {
            err_ctx(e, "%s:%lld", t->name, number);
            return rc;
        }
        encoder_put(c, to);
        text_report(t, &reported, at);
    }
    return 0;
}

static int encoder_ids(struct encoder *c, const struct text *t, FILE *to, struct err *e)
{
    size_t width = (size_t)c->options.id_bytes;
    const char *reported = t->bytes;

    if (t->n % width != 0)
        return ERR(e, ERR_DATA, "%s: %zu bytes, not a multiple of the id size %zu", t->name, t->n,
                   width);
    for (size_t at = 0; at < t->n; at += width) {
        uint32_t id = 0; /* little-endian, like this machine */
        memcpy(&id, t->bytes + at, width);
        if ((int64_t)id == c->options.id_end) {
            encoder_put(c, to);
            continue;
        }
        unit_add_number(&c->line, id);
        text_report(t, &reported, t->bytes + at + width);
    }
    if (c->line.n > 0) encoder_put(c, to);
    return 0;
}

int encoder_file(struct encoder *c, const char *from, const char *to, struct text_progress progress,
                 struct err *e)
{
    struct text t;

    TRY(text_open(&t, from, progress, e));
    FILE *out = fopen(to, "wbe");
    int rc = !out ? ERR(e, ERR_CREATE, "%s: cannot be created: %s", to, strerror(errno))
             : c->options.kind == ENCODE_IDS ? encoder_ids(c, &t, out, e)
                                             : encoder_text(c, &t, out, e);
    bool failed = out && ferror(out) != 0;
    if (out && (fclose(out) != 0 || failed) && rc == 0)
        rc = ERR(e, ERR_IO, "%s: %s", to, strerror(errno));
    text_close(&t);
    return rc;
}
