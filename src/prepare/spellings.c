/* spellings.c - a hash table with linear probing. */
#include "prepare/spellings.h"

#include <stdlib.h>
#include <string.h>

enum { SPELLINGS_FIRST_SLOTS = 1 << 10, SPELLINGS_SLOTS_MAX = 1 << 28 };

static uint32_t spelling_hash(const char *text, size_t n)
{
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a */

    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001B3u;
    return (uint32_t)(h ^ h >> 32);
}

/* The slot that holds the text, or the free slot where it belongs. */
static struct spelling *spellings_slot(const struct spellings *s, uint32_t hash, const char *text,
                                       size_t n)
{
    for (uint32_t i = hash;; i++) {
        struct spelling *at = &s->slot_own[i & (s->slots_n - 1)];
        if (at->value < 0) return at;
        if (at->hash == hash && at->n == n && memcmp(at->text, text, n) == 0) return at;
    }
}

static int spellings_resize(struct spellings *s, uint32_t slots_n, struct err *e)
{
    struct spellings old = *s;

    if (slots_n > SPELLINGS_SLOTS_MAX) return ERR(e, ERR_DATA, "too many different texts");
    s->slot_own = malloc(slots_n * sizeof *s->slot_own);
    if (!s->slot_own) {
        s->slot_own = old.slot_own;
        return ERR(e, ERR_NOMEM, "no memory for %u texts", slots_n);
    }
    s->slots_n = slots_n;
    for (uint32_t i = 0; i < slots_n; i++) s->slot_own[i].value = -1;
    for (uint32_t i = 0; i < old.slots_n; i++) {
        const struct spelling *x = &old.slot_own[i];
        if (x->value >= 0) *spellings_slot(s, x->hash, x->text, x->n) = *x;
    }
    free(old.slot_own);
    return 0;
}

int spellings_open(struct spellings *s, struct err *e)
{
    *s = (struct spellings){0};
    arena_init(&s->texts);
    return spellings_resize(s, SPELLINGS_FIRST_SLOTS, e);
}

void spellings_close(struct spellings *s)
{
    if (!s->slot_own) return;
    free(s->slot_own);
    arena_fini(&s->texts);
    *s = (struct spellings){0};
}

int spellings_add(struct spellings *s, const char *text, size_t n, int32_t value, struct err *e)
{
    uint32_t hash = spelling_hash(text, n);
    struct spelling *at = spellings_slot(s, hash, text, n);

    if (at->value >= 0)
        return ERR(e, ERR_DATA, "'%.*s' is there twice", (int)(n < 40 ? n : 40), text);
    *at = (struct spelling){
        .text = arena_strndup(&s->texts, text, n), .hash = hash, .n = (uint32_t)n, .value = value};
    s->used_n++;
    return s->used_n > s->slots_n / 2 ? spellings_resize(s, s->slots_n * 2, e) : 0;
}

int32_t spellings_find(const struct spellings *s, const char *text, size_t n)
{
    return spellings_slot(s, spelling_hash(text, n), text, n)->value;
}
