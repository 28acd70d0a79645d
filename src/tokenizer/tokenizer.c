/* tokenizer.c - reads the files of a tokenizer and encodes texts. */
#include "tokenizer/tokenizer.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "tokenizer/merges.h"
#include "tokenizer/stages.h"

enum {
    CONFIG_BYTES_MAX = 16 << 20,
    TICK_WORDS = 1 << 16,
    TEMPLATE_IDS_MAX = 64,
    ADDED_TEXT_MAX = 256,     /* bytes of an added token, which is sought at each byte of a text */
    ADDED_TEXTS_MAX = 2 << 20 /* of all */
};

static const char metaspace[] = "\u2581";

struct id_list {
    int32_t *item, n, capacity;
};

struct tokenizer {
    struct arena arena;
    struct tokenizer_facts facts;
    struct merges merges;
    struct stages normal, words;   /* of the normaliser; of the pre-tokeniser */
    struct stages newer;           /* finds characters that the patterns do not know */
    struct map added;              /* texts of added tokens to ids */
    struct finder raw, normalized; /* added tokens, by their value of `normalized` */
    size_t added_bytes;
    struct id_list before, after; /* special tokens of the template */
    int32_t template_n;           /* of all templates */
};

/* The files of the folder while they are read. */
struct files {
    struct arena arena;
    const char *folder;
    struct hash_state *hash;
    const char *path; /* of the last file */
    json_t *root;     /* tokenizer.json or vocab.json */
    json_t *config;   /* tokenizer_config.json, or NULL */
};

static bool files_has(struct files *f, const char *name)
{
    return file_exists(arena_printf(&f->arena, "%s/%s", f->folder, name));
}

static int files_read(struct files *f, const char *name, size_t max_bytes, char **text, size_t *n,
                      struct err *e)
{
    char path[FILE_PATH_BYTES];

    TRY(file_find_in(path, f->folder, name, e));
    f->path = arena_strdup(&f->arena, path);
    TRY(file_read(&f->arena, text, n, f->path, max_bytes, e));
    const char *title = arena_printf(&f->arena, "%s %zu\n", name, *n);
    TRY(hash_add(f->hash, title, strlen(title), e));
    return hash_add(f->hash, *text, *n, e);
}

/* --- values of JSON objects --- */

/* Sets *out to a boolean, or to `absent` if the key is absent or null. */
static int read_flag(bool *out, const json_t *o, const char *key, bool absent, struct err *e)
{
    const json_t *value = json_object_get(o, key);

    *out = value && !json_is_null(value) ? json_is_true(value) : absent;
    if (!value || json_is_null(value) || json_is_boolean(value)) return 0;
    return ERR(e, ERR_DATA, "%s: expected true or false", key);
}

/* A switch that this program does not have: it must have the other value. */
static int require_flag(const json_t *o, const char *key, bool absent, bool required, struct err *e)
{
    bool value;

    TRY(read_flag(&value, o, key, absent, e));
    if (value == required) return 0;
    return ERR(e, ERR_UNAVAILABLE, "%s = %s is not supported", key, value ? "true" : "false");
}

/* Sets *out to a text; NULL if the key is absent or null. */
static int read_text(const char **out, const json_t *o, const char *key, struct err *e)
{
    const json_t *value = json_object_get(o, key);

    *out = json_string_value(value);
    if (!value || json_is_null(value) || *out) return 0;
    return ERR(e, ERR_DATA, "%s: expected a text", key);
}

static int require_text(const json_t *o, const char *key, const char *required, struct err *e)
{
    const char *value;

    TRY(read_text(&value, o, key, e));
    if (value && strcmp(value, required) == 0) return 0;
    return ERR(e, ERR_UNAVAILABLE, "%s = %.80s is not supported, expected %s", key,
               value ? value : "null", required);
}

/* --- components --- */

enum { UNKNOWN_TYPE = 1 };

static int add_normalizer(struct tokenizer *t, const json_t *o, const char *type, struct err *e)
{
    struct stage stage = {0};
    const char *text;

    if (strcmp(type, "NFC") == 0) return stages_add(&t->normal, stage, e);
    if (strcmp(type, "Prepend") == 0) {
        stage.kind = STAGE_PREPEND;
        TRY(read_text(&text, o, "prepend", e));
    } else if (strcmp(type, "Replace") == 0) {
        stage.kind = STAGE_REPLACE;
        TRY(read_text(&stage.from, json_object_get(o, "pattern"), "String", e));
        TRY(read_text(&text, o, "content", e));
        if (!stage.from || !*stage.from)
            return ERR(e, ERR_UNAVAILABLE, "Replace is supported with a String to replace only");
        stage.from = arena_strdup(&t->arena, stage.from);
        stage.from_n = strlen(stage.from);
    } else {
        return UNKNOWN_TYPE;
    }
    if (!text) return ERR(e, ERR_DATA, "%s has no text", type);
    stage.to = arena_strdup(&t->arena, text);
    stage.to_n = strlen(text);
    return stages_add(&t->normal, stage, e);
}

static int add_byte_level(struct tokenizer *t, bool prefix_space, bool split, struct err *e)
{
    const struct stage prefix = {.kind = STAGE_PREFIX, .to = " ", .to_n = 1};

    t->merges.byte_level = true;
    if (prefix_space) TRY(stages_add(&t->words, prefix, e));
    if (split) TRY(stages_add_split(&t->words, PATTERN_GPT2, e));
    return stages_add(&t->words, (struct stage){.kind = STAGE_BYTES}, e);
}

static int add_split(struct tokenizer *t, const json_t *o, struct err *e)
{
    const char *regex;

    TRY(read_text(&regex, json_object_get(o, "pattern"), "Regex", e));
    TRY(require_text(o, "behavior", "Isolated", e));
    TRY(require_flag(o, "invert", false, false, e));
    if (!regex) return ERR(e, ERR_UNAVAILABLE, "Split is supported with a Regex only");
    enum pattern_name name = pattern_find(regex);
    if (name < PATTERNS_N) return stages_add_split(&t->words, name, e);
    return ERR(e, ERR_UNAVAILABLE, "the regular expression of Split is not supported: %.200s",
               regex);
}

static int add_metaspace(struct tokenizer *t, const json_t *o, struct err *e)
{
    struct stage stage = {.kind = STAGE_REPLACE, .from = " ", .from_n = 1};
    const char *text, *scheme;
    bool prefix;

    TRY(require_flag(o, "split", true, false, e));
    TRY(read_text(&text, o, "replacement", e));
    TRY(read_text(&scheme, o, "prepend_scheme", e));
    TRY(read_flag(&prefix, o, "add_prefix_space", true, e));
    if (!scheme) scheme = prefix ? "always" : "never";
    if (strcmp(scheme, "always") != 0 && strcmp(scheme, "never") != 0 &&
        strcmp(scheme, "first") != 0)
        return ERR(e, ERR_UNAVAILABLE, "prepend_scheme = %.80s is not supported", scheme);
    if (!text || !*text) return ERR(e, ERR_DATA, "Metaspace has no replacement");
    stage.to = arena_strdup(&t->arena, text);
    stage.to_n = strlen(text);
    TRY(stages_add(&t->words, stage, e));
    stage.kind = STAGE_PREFIX;
    stage.only_first = *scheme == 'f';
    return *scheme == 'n' ? 0 : stages_add(&t->words, stage, e);
}

static int add_words(struct tokenizer *t, const json_t *o, const char *type, struct err *e)
{
    bool prefix_space, split, each;

    if (strcmp(type, "ByteLevel") == 0) {
        TRY(read_flag(&prefix_space, o, "add_prefix_space", true, e));
        TRY(read_flag(&split, o, "use_regex", true, e));
        return add_byte_level(t, prefix_space, split, e);
    }
    if (strcmp(type, "Split") == 0) return add_split(t, o, e);
    if (strcmp(type, "Metaspace") == 0) return add_metaspace(t, o, e);
    if (strcmp(type, "Punctuation") == 0) {
        TRY(require_text(o, "behavior", "Contiguous", e));
        return stages_add_split(&t->words, PATTERN_PUNCTUATION, e);
    }
    if (strcmp(type, "Digits") != 0) return UNKNOWN_TYPE;
    TRY(read_flag(&each, o, "individual_digits", false, e));
    return stages_add_split(&t->words, each ? PATTERN_DIGIT : PATTERN_DIGITS, e);
}

/* Appends the ids of a special token of the template. */
static int add_special(struct tokenizer *t, struct id_list *list, const json_t *tokens,
                       const char *name, struct err *e)
{
    const json_t *ids = json_object_get(json_object_get(tokens, name), "ids");

    if (!json_is_array(ids)) return ERR(e, ERR_DATA, "special_tokens has no ids of '%.40s'", name);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *id = json_array_get(ids, i);
        json_int_t value = json_integer_value(id);
        if (!json_is_integer(id) || value < 0 || value >= t->merges.ids_n)
            return ERR(e, ERR_DATA, "special_tokens: '%.40s' has an id that no token has", name);
        if (++t->template_n > TEMPLATE_IDS_MAX)
            return ERR(e, ERR_DATA, "the templates add more than %d ids to a text",
                       TEMPLATE_IDS_MAX);
        *vec_push(&t->arena, list) = (int32_t)value;
    }
    return 0;
}

static int add_template(struct tokenizer *t, const json_t *o, const char *type, struct err *e)
{
    const json_t *single = json_object_get(o, "single"),
                 *tokens = json_object_get(o, "special_tokens");
    struct id_list before = {0}, after = {0};
    int texts_n = 0;

    if (strcmp(type, "ByteLevel") == 0) return 0; /* changes no id */
    if (strcmp(type, "TemplateProcessing") != 0) return UNKNOWN_TYPE;
    for (size_t i = 0; i < json_array_size(single); i++) {
        const json_t *item = json_array_get(single, i);
        const json_t *special = json_object_get(item, "SpecialToken");
        const json_t *text = json_object_get(item, "Sequence");
        const char *id = json_string_value(json_object_get(special ? special : text, "id"));
        if (!id) return ERR(e, ERR_DATA, "single[%zu] is neither a token nor a text", i);
        if (special)
            TRY(add_special(t, texts_n > 0 ? &after : &before, tokens, id, e));
        else
            texts_n += strcmp(id, "A") == 0 ? 1 : 2;
    }
    if (texts_n != 1) return ERR(e, ERR_DATA, "single must have the text A once");
    /* A template in a sequence encloses those before it. */
    for (int32_t i = 0; i < t->before.n; i++) *vec_push(&t->arena, &before) = t->before.item[i];
    for (int32_t i = 0; i < after.n; i++) *vec_push(&t->arena, &t->after) = after.item[i];
    t->before = before;
    return 0;
}

/* The parts of tokenizer.json that are lists of components. */
struct part {
    const char *key, *list, *types;
    int (*add)(struct tokenizer *t, const json_t *o, const char *type, struct err *e);
};
static const struct part normalizer = {"normalizer", "normalizers",
                                       "NFC, Prepend, Replace or Sequence", add_normalizer};
static const struct part pre_tokenizer = {
    "pre_tokenizer", "pretokenizers",
    "ByteLevel, Split, Punctuation, Digits, Metaspace or Sequence", add_words};
static const struct part post_processor = {
    "post_processor", "processors", "ByteLevel, TemplateProcessing or Sequence", add_template};

static int read_component(struct tokenizer *t, const struct part *part, const json_t *o,
                          struct err *e)
{
    const char *type;

    if (!json_is_object(o)) return ERR(e, ERR_DATA, "expected an object");
    TRY(read_text(&type, o, "type", e));
    if (!type) return ERR(e, ERR_DATA, "no type; expected %s", part->types);
    if (strcmp(type, "Sequence") == 0) {
        const json_t *list = json_object_get(o, part->list);
        if (!json_is_array(list)) return ERR(e, ERR_DATA, "%s is not a list", part->list);
        for (size_t i = 0; i < json_array_size(list); i++)
            TRY(read_component(t, part, json_array_get(list, i), e));
        return 0;
    }
    int rc = part->add(t, o, type, e);
    if (rc != UNKNOWN_TYPE) return rc;
    return ERR(e, ERR_UNAVAILABLE, "type = %.80s is not supported, expected %s", type, part->types);
}

static int read_part(struct tokenizer *t, const struct part *part, const json_t *root,
                     struct err *e)
{
    const json_t *o = json_object_get(root, part->key);
    int rc = !o || json_is_null(o) ? 0 : read_component(t, part, o, e);

    if (rc < 0) err_ctx(e, "%s", part->key);
    return rc;
}

/* --- the model and its tokens --- */

static int read_merges(struct tokenizer *t, const json_t *list, struct err *e)
{
    if (!json_is_array(list)) return ERR(e, ERR_DATA, "merges is not a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const json_t *left = json_array_get(item, 0), *right = json_array_get(item, 1);
        int rc =
            json_is_string(item)
                ? merges_add_line(&t->merges, json_string_value(item), json_string_length(item), e)
            : json_array_size(item) == 2 && json_is_string(left) && json_is_string(right)
                ? merges_add_pair(&t->merges, json_string_value(left), json_string_length(left),
                                  json_string_value(right), json_string_length(right), e)
                : ERR(e, ERR_DATA, "expected two symbols");
        if (rc < 0) {
            err_ctx(e, "merges[%zu]", i);
            return rc;
        }
    }
    return 0;
}

static int read_model(struct tokenizer *t, const json_t *model, struct err *e)
{
    static const char *const empty[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    struct merges *m = &t->merges;
    json_t *vocab = json_object_get(model, "vocab"), *dropout = json_object_get(model, "dropout");
    const char *text;

    /* Files of early versions have no type. */
    if (json_object_get(model, "type") || !json_object_get(model, "merges"))
        TRY(require_text(model, "type", "BPE", e));
    if (dropout && !json_is_null(dropout) && json_number_value(dropout) != 0)
        return ERR(e, ERR_UNAVAILABLE, "dropout = %g is not supported, expected null",
                   json_number_value(dropout));
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        TRY(read_text(&text, model, empty[i], e));
        if (text && *text)
            return ERR(e, ERR_UNAVAILABLE, "%s = %.80s is not supported, expected null", empty[i],
                       text);
    }
    TRY(read_flag(&m->fuse_unknown, model, "fuse_unk", false, e));
    TRY(read_flag(&m->bytes, model, "byte_fallback", false, e));
    TRY(read_flag(&m->whole, model, "ignore_merges", false, e));
    if (!json_is_object(vocab)) return ERR(e, ERR_DATA, "vocab is not an object");
    int rc = merges_add_vocab(m, vocab, e);
    if (rc == 0) rc = merges_finish(m, e);
    if (rc < 0) {
        err_ctx(e, "vocab");
        return rc;
    }
    TRY(read_text(&text, model, "unk_token", e));
    if (text && !map_get(&m->symbols, text, strlen(text), &m->unknown))
        return ERR(e, ERR_DATA, "unk_token = %.80s is not in vocab", text);
    return read_merges(t, json_object_get(model, "merges"), e);
}

static int check_added(const struct tokenizer *t, size_t n, struct err *e)
{
    if (n > ADDED_TEXT_MAX)
        return ERR(e, ERR_DATA, "an added token has %zu bytes, more than %d", n, ADDED_TEXT_MAX);
    if (t->added_bytes + n <= ADDED_TEXTS_MAX) return 0;
    return ERR(e, ERR_DATA, "the added tokens have more than %d bytes", ADDED_TEXTS_MAX);
}

/* Adds a token whose id is known; `normal`: its value of `normalized`. */
static int add_token(struct tokenizer *t, const char *text, int32_t id, bool normal, struct err *e)
{
    size_t n = strlen(text), growth = ADDED_TEXT_MAX;
    bool fresh;

    TRY(check_added(t, n, e));
    *map_put(&t->added, text, n, &fresh) = id;
    if (!fresh) return ERR(e, ERR_DATA, "'%.40s' is listed twice", text);
    for (int32_t i = 0; normal && i < t->normal.n; i++)
        TRY(stage_apply(&t->normal.item[i], &text, &n, true, &growth, e));
    TRY(check_added(t, n, e));
    t->added_bytes += n;
    if (n == 0) return ERR(e, ERR_DATA, "an added token must have a text");
    if (finder_add(normal ? &t->normalized : &t->raw, text, n, id)) return 0;
    return ERR(e, ERR_DATA, "'%.*s' is another added token, too, after normalising",
               (int)(n < 40 ? n : 40), text);
}

static int read_token(struct tokenizer *t, const json_t *o, struct err *e)
{
    static const char *const switches[] = {"single_word", "lstrip", "rstrip"};
    const char *text;
    const json_t *id = json_object_get(o, "id");
    int32_t number;
    bool normal;

    TRY(read_text(&text, o, "content", e));
    if (!text || !*text) return ERR(e, ERR_DATA, "an added token must have a text");
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        TRY(require_flag(o, switches[i], false, false, e));
    TRY(read_flag(&normal, o, "normalized", false, e));
    if (!map_get(&t->merges.symbols, text, strlen(text), &number))
        TRY(merges_add_id(&t->merges, &number, text, id, e));
    else if (!json_is_integer(id) || json_integer_value(id) != number)
        return ERR(e, ERR_DATA, "the id of '%.40s' is %lld, but vocab says %d", text,
                   (long long)json_integer_value(id), number);
    return add_token(t, text, number, normal, e);
}

static int read_tokens(struct tokenizer *t, const json_t *list, struct err *e)
{
    if (list && !json_is_null(list) && !json_is_array(list))
        return ERR(e, ERR_DATA, "added_tokens is not a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        int rc = read_token(t, json_array_get(list, i), e);
        if (rc < 0) {
            err_ctx(e, "added_tokens[%zu]", i);
            return rc;
        }
    }
    return 0;
}

/* --- the files --- */

static int read_tokenizer_json(struct tokenizer *t, struct files *f, struct err *e)
{
    char *text;
    size_t n;
    int rc;

    TRY(files_read(f, "tokenizer.json", MERGES_FILE_BYTES_MAX, &text, &n, e));
    TRY(json_parse_object(&f->root, text, n, MERGES_VALUES_MAX, 0, f->path, e));
    TRY_OUT(rc, read_part(t, &normalizer, f->root, e));
    TRY_OUT(rc, read_part(t, &pre_tokenizer, f->root, e));
    rc = read_model(t, json_object_get(f->root, "model"), e);
    if (rc < 0) {
        err_ctx(e, "model");
        goto out;
    }
    TRY_OUT(rc, read_tokens(t, json_object_get(f->root, "added_tokens"), e));
    TRY_OUT(rc, read_part(t, &post_processor, f->root, e));
out:
    if (rc < 0) err_ctx(e, "%s", f->path);
    return rc;
}

/* A token of tokenizer_config.json: a text, or an object with the text. NULL: none. */
static int config_token(const char **out, const struct files *f, const char *key, struct err *e)
{
    const json_t *value = json_object_get(f->config, key);

    return json_is_object(value) ? read_text(out, value, "content", e)
                                 : read_text(out, f->config, key, e);
}

static int read_two_files(struct tokenizer *t, struct files *f, struct err *e)
{
    static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "pad_token"};
    const char *token;
    char *text;
    size_t n;
    int32_t id;
    bool prefix_space;

    TRY(read_flag(&prefix_space, f->config, "add_prefix_space", false, e));
    TRY(add_byte_level(t, prefix_space, true, e));
    TRY(files_read(f, "vocab.json", MERGES_FILE_BYTES_MAX, &text, &n, e));
    TRY(json_parse_object(&f->root, text, n, MERGES_VALUES_MAX, 0, f->path, e));
    int rc = merges_add_vocab(&t->merges, f->root, e);
    if (rc == 0) rc = merges_finish(&t->merges, e);
    for (size_t i = 0; rc == 0 && i < sizeof keys / sizeof *keys; i++) {
        rc = config_token(&token, f, keys[i], e);
        if (rc < 0 || !token || map_get(&t->added, token, strlen(token), &id)) continue;
        rc = map_get(&t->merges.symbols, token, strlen(token), &id)
                 ? add_token(t, token, id, false, e)
                 : ERR(e, ERR_DATA, "%s of tokenizer_config.json is not in it: '%.40s'", keys[i],
                       token);
    }
    if (rc < 0) {
        err_ctx(e, "%s", f->path);
        return rc;
    }
    TRY(files_read(f, "merges.txt", MERGES_FILE_BYTES_MAX, &text, &n, e));
    return merges_add_lines(&t->merges, text, n, f->path, e);
}

/* Sets the prefix, and the template if tokenizer_config.json decides it. */
static int apply_config(struct tokenizer *t, struct files *f, struct err *e)
{
    const json_t *add_bos = json_object_get(f->config, "add_bos_token");
    const char *bos, *eos, *text;
    bool adds;

    TRY(config_token(&bos, f, "bos_token", e));
    TRY(config_token(&eos, f, "eos_token", e));
    TRY(read_flag(&adds, f->config, "add_bos_token", false, e));
    text = bos ? bos : eos;
    t->facts.prefix = -1;
    if (text && !map_get(&t->added, text, strlen(text), &t->facts.prefix) &&
        !map_get(&t->merges.symbols, text, strlen(text), &t->facts.prefix))
        return ERR(e, ERR_DATA, "%s = '%.40s' is not a token", bos ? "bos_token" : "eos_token",
                   text);
    if (!json_is_boolean(add_bos)) return 0;
    if (adds && !bos) return ERR(e, ERR_DATA, "add_bos_token = true, but there is no bos_token");
    t->before = t->after = (struct id_list){0};
    if (adds) *vec_push(&t->arena, &t->before) = t->facts.prefix;
    return 0;
}

/* Words may be cut before each run of the metaspace if no symbol has it after another character:
 * then no pair merges across a cut. Short words are found in the cache. */
static int add_cut(struct tokenizer *t, const json_t *vocab, struct err *e)
{
    const size_t mark_n = sizeof metaspace - 1;
    const char *symbol;
    json_t *id;
    int32_t number;

    if (t->merges.byte_level || t->merges.whole ||
        !map_get(&t->merges.symbols, metaspace, mark_n, &number))
        return 0;
    json_object_foreach((json_t *)vocab, symbol, id)
    {
        const char *rest = symbol;
        while (strncmp(rest, metaspace, mark_n) == 0) rest += mark_n;
        if (strstr(rest, metaspace)) return 0;
    }
    return stages_add_split(&t->words, PATTERN_CUT, e);
}

/* Names the bytes that occur in UTF-8 and have no symbol. */
static void find_lacks(struct tokenizer *t)
{
    struct strbuf text;

    strbuf_init(&text, &t->arena);
    strbuf_add(&text, "");
    for (int byte = 0, last; byte < 0xF5; byte = last + 1) {
        last = byte;
        if (byte == 0xC0 || byte == 0xC1 || !merges_lacks(&t->merges, (unsigned char)byte))
            continue;
        while (last + 1 < 0xF5 && last + 1 != 0xC0 &&
               merges_lacks(&t->merges, (unsigned char)(last + 1)))
            last++;
        strbuf_addf(&text, text.n > 0 ? " 0x%02X" : "0x%02X", (unsigned)byte);
        if (last > byte) strbuf_addf(&text, "-0x%02X", (unsigned)last);
    }
    snprintf(t->facts.lacks, sizeof t->facts.lacks, "%s", text.text);
    t->facts.drops = t->merges.unknown < 0;
}

static int tokenizer_read(struct tokenizer *t, struct files *f, struct err *e)
{
    bool one_file = files_has(f, "tokenizer.json");
    char *text;
    size_t n;

    if (!one_file && !files_has(f, "vocab.json"))
        return ERR(e, ERR_NOINPUT, "%s/tokenizer.json not found, nor vocab.json and merges.txt",
                   f->folder);
    TRY(hash_open(&f->hash, e));
    if (files_has(f, "tokenizer_config.json")) {
        TRY(files_read(f, "tokenizer_config.json", CONFIG_BYTES_MAX, &text, &n, e));
        /* model_max_length may be beyond 64 bits. */
        TRY(json_parse_object(&f->config, text, n, MERGES_VALUES_MAX, JSON_DECODE_INT_AS_REAL,
                              f->path, e));
    }
    TRY(one_file ? read_tokenizer_json(t, f, e) : read_two_files(t, f, e));
    int rc = apply_config(t, f, e);
    if (rc < 0) {
        err_ctx(e, "%s/tokenizer_config.json", f->folder);
        return rc;
    }
    if (one_file) TRY(add_cut(t, json_object_get(json_object_get(f->root, "model"), "vocab"), e));
    t->facts.ids_n = t->merges.ids_n;
    if (t->merges.byte_level) {
        find_lacks(t);
        pattern_unicode(t->facts.unicode);
        TRY(stages_add_split(&t->newer, PATTERN_NEWER, e));
    }
    struct hash_state *hash = f->hash;
    f->hash = NULL;
    return hash_close(hash, t->facts.sha256, e);
}

int tokenizer_open(struct tokenizer **out, const char *folder, int32_t vocab, struct err *e)
{
    struct tokenizer *t = *out = calloc(1, sizeof *t);
    struct files f = {.folder = folder};

    if (!t) return ERR(e, ERR_NOMEM, "out of memory for the tokenizer of %s", folder);
    arena_init(&f.arena);
    arena_init(&t->arena);
    merges_init(&t->merges, &t->arena, vocab);
    map_init(&t->added, &t->arena);
    finder_init(&t->raw, &t->arena);
    finder_init(&t->normalized, &t->arena);
    int rc = tokenizer_read(t, &f, e);
    stages_release(&t->normal);
    json_decref(f.root);
    json_decref(f.config);
    hash_close(f.hash, NULL, NULL);
    arena_fini(&f.arena);
    if (rc == 0) return 0;
    tokenizer_close(t);
    *out = NULL;
    return rc;
}

void tokenizer_close(struct tokenizer *t)
{
    if (!t) return;
    stages_free(&t->normal);
    stages_free(&t->words);
    stages_free(&t->newer);
    arena_fini(&t->arena);
    free(t);
}

const struct tokenizer_facts *tokenizer_facts(const struct tokenizer *t)
{
    return &t->facts;
}

/* --- encoding --- */

struct encoding {
    struct tokenizer *t;
    struct ids ids;
    tokenizer_tick_fn *tick;
    void *context;
    size_t text_n, words_n;
    size_t growth;             /* bytes that stages may still add */
    double from, to, share;    /* shares of the text: of the piece that is encoded, and done */
    const struct stage *outer; /* the first stage that splits the piece */
};

static int encoding_tick(void *context, struct err *e)
{
    struct encoding *c = context;

    return c->tick ? c->tick(c->context, c->share, e) : 0;
}

static int encode_id(struct encoding *c, int32_t id, struct err *e)
{
    TRY(ids_reserve(&c->ids, 1, e));
    c->ids.item_own[c->ids.n++] = id;
    return 0;
}

/* Encodes a word by the pre-tokeniser's stages from `stage` on. first: it begins the text. */
static int encode_word(struct encoding *c, int32_t at, const char *text, size_t n, bool first,
                       struct err *e)
{
    struct stages *stages = &c->t->words;

    for (; at < stages->n && stages->item[at].kind != STAGE_SPLIT; at++)
        TRY(stage_apply(&stages->item[at], &text, &n, first, &c->growth, e));
    if (n == 0) return 0;
    if (at == stages->n) {
        if (++c->words_n % TICK_WORDS == 0) TRY(encoding_tick(c, e));
        return merges_spell(&c->t->merges, &c->ids, text, n, e);
    }
    const struct stage *split = &stages->item[at++];
    if (!c->outer) c->outer = split;
    for (size_t begin, end = 0, from = 0; from < n; from = end) {
        int rc = stage_match(split, text, n, from, &begin, &end, e);
        if (rc < 0) return rc;
        if (rc == 0) begin = end = n;
        if (split == c->outer) c->share = c->from + (c->to - c->from) * (double)from / (double)n;
        if (begin > from) TRY(encode_word(c, at, text + from, begin - from, first && from == 0, e));
        if (end > begin) TRY(encode_word(c, at, text + begin, end - begin, first && begin == 0, e));
    }
    return 0;
}

/* Encodes what is between two added tokens that are not normalised. */
static int encode_piece(struct encoding *c, const char *text, size_t n, bool first, struct err *e)
{
    size_t begin, end, from = 0;
    int32_t id;
    const double share = c->from, width = c->to - c->from;

    for (int32_t i = 0; i < c->t->normal.n; i++)
        TRY(stage_apply(&c->t->normal.item[i], &text, &n, first, &c->growth, e));
    for (; from < n; from = end) {
        bool found = finder_next(&c->t->normalized, text, n, from, &begin, &end, &id);
        if (!found) begin = end = n;
        c->from = share + width * (double)from / (double)n;
        c->to = share + width * (double)begin / (double)n;
        TRY(encode_word(c, 0, text + from, begin - from, first && from == 0, e));
        if (found) TRY(encode_id(c, id, e));
    }
    return 0;
}

static int encode_text(struct encoding *c, const char *text, struct err *e)
{
    size_t begin, end, n = c->text_n;
    int32_t id;

    for (size_t from = 0; from < n; from = end) {
        bool found = finder_next(&c->t->raw, text, n, from, &begin, &end, &id);
        if (!found) begin = end = n;
        c->from = (double)from / (double)n;
        c->to = (double)begin / (double)n;
        TRY(encode_piece(c, text + from, begin - from, from == 0, e));
        if (found) TRY(encode_id(c, id, e));
    }
    return 0;
}

static int check_utf8(const char *text, size_t n, struct err *e)
{
    const char *end = text + n;
    uint32_t character;

    for (const char *p = text; p < end;) {
        int bytes = str_decode_utf8(p, end, &character);
        if (bytes == 0)
            return ERR(e, ERR_DATA,
                       "byte 0x%02x (byte %zu of the text) is not UTF-8; convert the text to "
                       "UTF-8, for instance with iconv",
                       (unsigned char)*p, (size_t)(p - text) + 1);
        p += bytes;
    }
    return 0;
}

static int count_newer(struct tokenizer *t, const char *text, size_t n, struct err *e)
{
    size_t begin, end = 0;
    int rc = 0;

    if (t->newer.n == 0) return 0;
    while ((rc = stage_match(t->newer.item, text, n, end, &begin, &end, e)) > 0) t->facts.newer_n++;
    return rc;
}

int tokenizer_encode(struct tokenizer *t, const char *text, size_t n, bool with_special,
                     int32_t **ids, int64_t *ids_n, tokenizer_tick_fn *tick, void *context,
                     struct err *e)
{
    struct encoding c = {.t = t,
                         .tick = tick,
                         .context = context,
                         .text_n = n,
                         .growth = STAGES_GROWTH * n + STAGES_GROWTH_MORE};

    *ids = NULL;
    *ids_n = 0;
    TRY(check_utf8(text, n, e));
    TRY(count_newer(t, text, n, e));
    t->merges.tick = encoding_tick;
    t->merges.tick_context = &c;
    int rc = ids_reserve(&c.ids, (int64_t)n / 4 + 1, e);
    for (int32_t i = 0; rc == 0 && with_special && i < t->before.n; i++)
        rc = encode_id(&c, t->before.item[i], e);
    if (rc == 0) rc = encode_text(&c, text, e);
    for (int32_t i = 0; rc == 0 && with_special && i < t->after.n; i++)
        rc = encode_id(&c, t->after.item[i], e);
    stages_release(&t->normal);
    stages_release(&t->words);
    t->facts.dropped_n = t->merges.dropped_n;
    if (rc < 0) {
        free(c.ids.item_own);
        return rc;
    }
    size_t kept = c.ids.n > 0 ? (size_t)c.ids.n : 1;
    int32_t *cut = realloc(c.ids.item_own, kept * sizeof *cut);
    *ids = cut ? cut : c.ids.item_own;
    *ids_n = c.ids.n;
    return 0;
}
