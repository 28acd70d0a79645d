/* stages.c - the closed list of patterns, and what each stage does to a text. */
#include "tokenizer/stages.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/str.h"
#include "tokenizer/merges.h"

static int buffer_reserve(struct buffer *b, size_t more, struct err *e)
{
    if (b->capacity - b->n >= more) return 0;
    size_t capacity = b->n + more > b->capacity * 2 ? b->n + more : b->capacity * 2;
    char *grown = realloc(b->item_own, capacity);
    if (!grown) return ERR(e, ERR_NOMEM, "out of memory for a text of %zu bytes", capacity);
    b->item_own = grown;
    b->capacity = capacity;
    return 0;
}

static int check_growth(const struct buffer *b, size_t n, struct err *e)
{
    if (n <= b->limit) return 0;
    return ERR(e, ERR_DATA,
               "the tokenizer expands a text to more than %zu bytes; its normalizer or "
               "pre_tokenizer is damaged",
               b->limit);
}

static int buffer_add(struct buffer *b, const char *bytes, size_t n, struct err *e)
{
    TRY(check_growth(b, b->n + n, e));
    TRY(buffer_reserve(b, n, e));
    if (n > 0) memcpy(b->item_own + b->n, bytes, n);
    b->n += n;
    return 0;
}

/* --- patterns --- */

/* PCRE2's \s also matches U+180E, which is not white space. */
#define SPACE "\\p{White_Space}"
#define NOT_SPACE "\\P{White_Space}"
#define MARKS ".,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c"
/* Patterns, which write white space and the rest in two ways. */
#define CONTRACTIONS "'s|'t|'re|'ve|'m|'ll|'d"
#define GPT2(space, not_space)                                                                     \
    CONTRACTIONS "| ?\\p{L}+| ?\\p{N}+| ?[^" space "\\p{L}\\p{N}]+|" space "+(?!" not_space        \
                 ")|" space "+"
#define LLAMA3(numbers, space, not_space)                                                          \
    "(?i:" CONTRACTIONS ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers "| ?[^" space                   \
    "\\p{L}\\p{N}]+[\\r\\n]*|" space "*[\\r\\n]+|" space "+(?!" not_space ")|" space "+"

static const struct {
    const char *file; /* NULL: no file has it */
    const char *pcre2;
} patterns[PATTERNS_N] = {
    [PATTERN_GPT2] = {GPT2("\\s", "\\S"), GPT2(SPACE, NOT_SPACE)},
    /* A class in a class, as Oniguruma reads it. */
    [PATTERN_BLOOM] = {" ?[^(\\s|[" MARKS "])]+", " ?[^(" SPACE "|" MARKS ")]+"},
    [PATTERN_LLAMA3] = {LLAMA3("\\p{N}{1,3}", "\\s", "\\S"),
                        LLAMA3("\\p{N}{1,3}", SPACE, NOT_SPACE)},
    [PATTERN_QWEN2] = {LLAMA3("\\p{N}", "\\s", "\\S"), LLAMA3("\\p{N}", SPACE, NOT_SPACE)},
    [PATTERN_FALCON] = {"[0-9][0-9][0-9]", "[0-9][0-9][0-9]"},
    [PATTERN_PUNCTUATION] = {NULL, "[\\p{P}$+<=>^`|~]+"},
    [PATTERN_DIGITS] = {NULL, "\\p{N}+"},
    [PATTERN_DIGIT] = {NULL, "\\p{N}"},
    [PATTERN_CUT] = {NULL, "\u2581+[^\u2581]*"},
    [PATTERN_NEWER] = {NULL, "(?!\\p{Noncharacter_Code_Point})\\p{Cn}"},
};

enum pattern_name pattern_find(const char *text)
{
    for (int i = 0; i < PATTERNS_N; i++)
        if (patterns[i].file && strcmp(patterns[i].file, text) == 0) return (enum pattern_name)i;
    return PATTERNS_N;
}

void pattern_unicode(char out[PATTERN_UNICODE_BYTES])
{
    pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, out);
}

struct pattern {
    pcre2_code *code;
    pcre2_match_data *found;
    pcre2_match_context *context;
};

static void pattern_free(struct pattern *p)
{
    if (!p) return;
    pcre2_code_free(p->code);
    pcre2_match_data_free(p->found);
    pcre2_match_context_free(p->context);
    free(p);
}

static int pattern_make(struct pattern **out, enum pattern_name name, struct err *e)
{
    int why = 0;
    PCRE2_SIZE at = 0;
    struct pattern *p = *out = calloc(1, sizeof *p);

    if (!p) return ERR(e, ERR_NOMEM, "out of memory for a pattern");
    p->code = pcre2_compile((PCRE2_SPTR)patterns[name].pcre2, PCRE2_ZERO_TERMINATED,
                            PCRE2_UTF | PCRE2_UCP, &why, &at, NULL);
    if (!p->code)
        return ERR(e, ERR_UNAVAILABLE,
                   "PCRE2 does not compile the pattern %s (error %d at %zu); it must have version "
                   "10.40 or later",
                   patterns[name].pcre2, why, at);
    (void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); /* matches are slower without it */
    p->found = pcre2_match_data_create_from_pattern(p->code, NULL);
    p->context = pcre2_match_context_create(NULL);
    if (!p->found || !p->context) return ERR(e, ERR_NOMEM, "out of memory for a pattern");
    /* A run of white space of any length takes as many steps; none of the patterns takes more. */
    pcre2_set_match_limit(p->context, UINT32_MAX);
    return 0;
}

int stage_match(const struct stage *s, const char *text, size_t n, size_t from, size_t *begin,
                size_t *end, struct err *e)
{
    const struct pattern *p = s->pattern_own;
    int rc =
        pcre2_match(p->code, (PCRE2_SPTR)text, n, from, PCRE2_NO_UTF_CHECK, p->found, p->context);

    if (rc == PCRE2_ERROR_NOMATCH) return 0;
    if (rc < 0)
        return ERR(e, rc == PCRE2_ERROR_NOMEMORY ? ERR_NOMEM : ERR_INTERNAL,
                   "PCRE2 fails with error %d at byte %zu of a word of %zu bytes", rc, from, n);
    *begin = pcre2_get_ovector_pointer(p->found)[0];
    *end = pcre2_get_ovector_pointer(p->found)[1];
    return 1;
}

/* --- stages --- */

void stages_release(struct stages *s)
{
    for (int32_t i = 0; i < s->n; i++) {
        free(s->item[i].scratch.item_own);
        s->item[i].scratch = (struct buffer){0};
    }
}

void stages_free(struct stages *s)
{
    stages_release(s);
    for (int32_t i = 0; i < s->n; i++) pattern_free(s->item[i].pattern_own);
    s->n = 0;
}

int stages_add(struct stages *s, struct stage stage, struct err *e)
{
    if (s->n == STAGES_MAX)
        return ERR(e, ERR_UNAVAILABLE, "more than %d steps are not supported", STAGES_MAX);
    if (stage.from_n > STAGE_TEXT_MAX || stage.to_n > STAGE_TEXT_MAX)
        return ERR(e, ERR_DATA, "a text to put in or to replace has %zu bytes, more than %d",
                   stage.from_n > stage.to_n ? stage.from_n : stage.to_n, STAGE_TEXT_MAX);
    s->item[s->n++] = stage;
    return 0;
}

int stages_add_split(struct stages *s, enum pattern_name name, struct err *e)
{
    TRY(stages_add(s, (struct stage){.kind = STAGE_SPLIT}, e));
    return pattern_make(&s->item[s->n - 1].pattern_own, name, e);
}

/* Orders each run of combining characters by class. Takes linear time, unlike utf8proc's own order,
 * so that no text is slow. */
static void nfc_order(utf8proc_int32_t *c, utf8proc_int32_t *scratch, utf8proc_ssize_t n)
{
    for (utf8proc_ssize_t from = 0, to; from < n; from = to + 1) {
        int before = 0, class;
        bool ordered = true;
        for (to = from; to < n; to++, before = class) {
            class = utf8proc_get_property(c[to])->combining_class;
            if (class == 0) break;
            ordered = ordered && before <= class;
        }
        if (ordered) continue;
        utf8proc_ssize_t put = 0;
        for (class = 1; class < 256; class ++)
            for (utf8proc_ssize_t i = from; i < to; i++)
                if (utf8proc_get_property(c[i])->combining_class == class) scratch[put++] = c[i];
        memcpy(c + from, scratch, (size_t)put * sizeof *c);
    }
}

/* Writes the n bytes at text in decomposed form, or only counts its characters if c is NULL. */
static utf8proc_ssize_t nfc_decompose(utf8proc_int32_t *c, utf8proc_ssize_t capacity,
                                      const char *text, size_t n)
{
    utf8proc_ssize_t count = 0;
    int class;

    for (const char *p = text, *end = text + n; p < end;) {
        uint32_t character;
        p += str_decode_utf8(p, end, &character);
        count += utf8proc_decompose_char((utf8proc_int32_t)character, c ? c + count : NULL,
                                         c ? capacity - count : 0,
                                         UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, &class);
    }
    return count;
}

static int nfc_add(struct buffer *out, const char *text, size_t n, struct err *e)
{
    utf8proc_ssize_t count = nfc_decompose(NULL, 0, text, n);
    utf8proc_int32_t *c = malloc(2 * (size_t)count * sizeof *c);

    if (!c) return ERR(e, ERR_NOMEM, "out of memory for the NFC of %zu bytes", n);
    nfc_decompose(c, count, text, n);
    nfc_order(c, c + count, count);
    count = utf8proc_normalize_utf32(c, count, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    int rc = buffer_reserve(out, 4 * (size_t)count, e);
    for (utf8proc_ssize_t i = 0; rc == 0 && i < count; i++)
        out->n += (size_t)utf8proc_encode_char(c[i], (utf8proc_uint8_t *)out->item_own + out->n);
    free(c);
    return rc;
}

static int stage_nfc(struct buffer *out, const char *text, size_t n, struct err *e)
{
    size_t copied = 0, last = 0; /* bytes in out; offset of the last character below U+0300 */

    /* No character below U+0300 (first byte 0xCC) composes with one before it: so each of them and
     * what follows it until the next one are normalised alone. */
    for (size_t at = 0; at < n; at++) {
        if ((unsigned char)text[at] < 0xCC) {
            if (((unsigned char)text[at] & 0xC0) != 0x80) last = at;
            continue;
        }
        while (at < n && (unsigned char)text[at] >= 0x80 &&
               ((unsigned char)text[at] >= 0xCC || (unsigned char)text[at] < 0xC0))
            at++;
        TRY(buffer_add(out, text + copied, last - copied, e));
        TRY(nfc_add(out, text + last, at - last, e));
        copied = last = at--;
    }
    return buffer_add(out, text + copied, n - copied, e);
}

static int stage_replace(struct buffer *out, const struct stage *s, const char *text, size_t n,
                         struct err *e)
{
    const char *end = text + n, *hit;

    for (; (hit = memmem(text, (size_t)(end - text), s->from, s->from_n)); text = hit + s->from_n) {
        TRY(buffer_add(out, text, (size_t)(hit - text), e));
        TRY(buffer_add(out, s->to, s->to_n, e));
    }
    return buffer_add(out, text, (size_t)(end - text), e);
}

/* Returns whether the stage leaves the text as it is. */
static bool stage_rests(const struct stage *s, const char *text, size_t n, bool first)
{
    if (n == 0) return true;
    switch (s->kind) {
    case STAGE_NFC:
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)text[i] >= 0xCC) return false;
        return true;
    case STAGE_PREFIX:
        return (s->only_first && !first) || (n >= s->to_n && memcmp(text, s->to, s->to_n) == 0);
    case STAGE_REPLACE:
        return !memmem(text, n, s->from, s->from_n);
    default:
        return false;
    }
}

int stage_apply(struct stage *s, const char **text, size_t *n, bool first, size_t *growth,
                struct err *e)
{
    struct buffer *out = &s->scratch;

    if (stage_rests(s, *text, *n, first)) return 0;
    out->n = 0;
    out->limit = *n + *growth;
    if (s->kind == STAGE_NFC) TRY(stage_nfc(out, *text, *n, e));
    if (s->kind == STAGE_REPLACE) TRY(stage_replace(out, s, *text, *n, e));
    if (s->kind == STAGE_PREPEND || s->kind == STAGE_PREFIX) {
        TRY(buffer_add(out, s->to, s->to_n, e));
        TRY(buffer_add(out, *text, *n, e));
    }
    if (s->kind == STAGE_BYTES) {
        if (*n > SIZE_MAX / 2) return ERR(e, ERR_NOMEM, "out of memory for a word");
        TRY(buffer_reserve(out, 2 * *n, e));
        out->n = byte_level(out->item_own, *text, *n);
    }
    TRY(check_growth(out, out->n, e));
    if (out->n > *n) *growth -= out->n - *n;
    *text = out->item_own;
    *n = out->n;
    return 0;
}

/* --- added tokens --- */

void finder_init(struct finder *f, struct arena *a)
{
    *f = (struct finder){0};
    map_init(&f->nodes, a);
    *vec_push(a, &f->ids) = -1;
}

bool finder_add(struct finder *f, const char *text, size_t n, int32_t id)
{
    int32_t node = 0;

    f->begins[(unsigned char)*text] = true;
    for (size_t i = 0; i < n; i++) {
        const int32_t key[2] = {node, (unsigned char)text[i]};
        bool added;
        int32_t *next = map_put(&f->nodes, key, sizeof key, &added);
        if (added) {
            *next = f->ids.n;
            *vec_push(f->nodes.arena, &f->ids) = -1;
        }
        node = *next;
    }
    bool fresh = f->ids.item[node] < 0;
    if (fresh) f->ids.item[node] = id;
    return fresh;
}

bool finder_next(const struct finder *f, const char *text, size_t n, size_t from, size_t *begin,
                 size_t *end, int32_t *id)
{
    for (size_t at = from; at < n; at++) {
        bool found = false;
        int32_t node = 0;
        if (!f->begins[(unsigned char)text[at]]) continue;
        for (size_t i = at; i < n; i++) {
            const int32_t key[2] = {node, (unsigned char)text[i]};
            if (!map_get(&f->nodes, key, sizeof key, &node)) break;
            if (f->ids.item[node] < 0) continue;
            found = true;
            *begin = at;
            *end = i + 1;
            *id = f->ids.item[node];
        }
        if (found) return true;
    }
    return false;
}
