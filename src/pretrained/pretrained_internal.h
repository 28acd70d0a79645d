/* pretrained_internal.h - what the files of this folder share. */
#ifndef PRETRAINED_PRETRAINED_INTERNAL_H
#define PRETRAINED_PRETRAINED_INTERNAL_H

#include <jansson.h>

#include "base/map.h"
#include "interchange/safetensors.h"
#include "pretrained/pretrained.h"

/* ---- config.c: JSON files, and config.json, whose values are read as text ---- */

/* json_read - one JSON object of limited size and depth without duplicate keys, to be released by
 * the caller also after an error; *out is NULL before. */
int json_read(json_t **out, struct arena *a, const char *path, size_t bytes_max, struct err *e);

struct config {
    const char *path;
    json_t *root_own;
};
int config_open(struct config *c, struct arena *a, const char *folder, struct err *e);
void config_close(struct config *c);

/* COUNT: a whole number from 1 on. WHOLE: also 0. REAL: a number above 0. REAL_OR_0. ACTIVATION: a
 * name of config.c's table, read as that of the spec. */
enum config_type {
    CONFIG_COUNT,
    CONFIG_WHOLE,
    CONFIG_REAL,
    CONFIG_REAL_OR_0,
    CONFIG_FLAG,
    CONFIG_WORD,
    CONFIG_ANY,
    CONFIG_ACTIVATION
};

/* A key that a model may have. */
struct config_key {
    const char *name; /* the first that is there of names separated by |; OBJECT.NAME is nested */
    enum config_type type;
    const char *spec;    /* the key of the spec that gets the value, and has its range; or NULL */
    const char *missing; /* the value if none is there, which may be the name of a key before it;
                            NULL: it must be there */
    const char *null;    /* the value of null; NULL: as if it were not there */
    int agree;           /* so many names, from the first on, must not differ in value */
};

struct config_value {
    const struct config_key *key;
    const char *name; /* that is there, else the first */
    const char *text; /* of the value, as spec_set reads it; NULL: not there */
};
/* config_get - the value of a key. Errors: ERR_DATA names path, key and value. */
int config_get(struct config_value *out, struct arena *a, const struct config *c,
               const struct config_key *key, struct err *e);
/* config_find - a value by its whole name; NULL if it is absent or null. */
const json_t *config_find(const struct config *c, const char *name);
/* config_show - a value as messages show it. */
const char *config_show(struct arena *a, const json_t *value);

/* ---- folder.c: the files and the tensors in them ---- */

struct folder_file {
    const char *name, *path;
    struct safetensors *file_own;
};
struct folder_tensor {
    const struct safetensors_entry *entry;
    const struct folder_file *file;
    bool used;
};
struct folder {
    struct arena *arena;
    const char *path;
    const char *list; /* path of the index, or of the only file: where a tensor would be listed */
    struct folder_file *file;
    int32_t files_n;
    struct folder_tensor *tensor; /* without buffers */
    int32_t tensors_n;
    struct map names; /* of the tensors */
};
/* folder_open - opens all files of weights and checks that each tensor is where the index says, and
 * of a dtype that is read. */
int folder_open(struct folder *f, struct arena *a, const char *path, struct err *e);
void folder_close(struct folder *f);
struct folder_tensor *folder_find(const struct folder *f, const char *name);

/* ---- families.c: what is known of families, as data ---- */

/* Sets words if a condition holds, or refuses the value of a key. families.c has their syntax. */
struct family_rule {
    const char *when, *words; /* when NULL: ends the list */
    const char *refused, *reason;
};
struct family_row {
    const char *name;
    const struct config_key *keys; /* name NULL: ends the list */
    const struct family_rule *rules;
};
extern const struct family_row family_rows[]; /* sorted */
extern const int32_t family_rows_n;
/* Types of rotary scaling (section 5), with the words that each sets and the keys that it needs. */
struct rope_type {
    const char *name, *words;
    const struct config_key *keys;
};
extern const struct rope_type rope_types[]; /* the first one scales nothing */
extern const int32_t rope_types_n;
extern const char encoder_decoders[]; /* between spaces: models with an encoder */

/* ---- describe.c: the description of a model ---- */

struct family_word {
    const char *key, *text;
};
struct family {
    const char *name; /* model_type */
    struct spec spec;
    const char *note;
    const char *defaults;     /* "; config.json has no KEY: VALUE is assumed" of sizes, or "" */
    struct family_word *word; /* names of tensors and layouts; of one key the last holds */
    int32_t words_n;
};
/* family_find - checks model_type and what no family may have. family_describe - reads the rest. */
int family_find(struct family *f, struct arena *a, const struct config *c, struct err *e);
int family_describe(struct family *f, struct arena *a, const struct config *c, struct err *e);
/* family_word - the text of a key of the family's row, or `missing`. */
const char *family_word(const struct family *f, const char *key, const char *missing);

#endif
