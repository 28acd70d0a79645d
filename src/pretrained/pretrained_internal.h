/* pretrained_internal.h - what the files of this folder share. */
#ifndef PRETRAINED_PRETRAINED_INTERNAL_H
#define PRETRAINED_PRETRAINED_INTERNAL_H

#include <jansson.h>

#include "base/map.h"
#include "interchange/safetensors.h"
#include "pretrained/pretrained.h"

/* ---- config.c: JSON files, and the values of config.json, checked when they are read ---- */

/* json_read - one JSON object of limited size and depth without duplicate keys, to be released by
 * the caller also after an error; *out is NULL before. */
int json_read(json_t **out, struct arena *a, const char *path, size_t bytes_max, struct err *e);

struct config {
    const char *path;
    struct arena *arena;
    json_t *root_own;
    const char *name;             /* of the value read last: that in the file, else the first */
    struct strbuf sizes, lengths; /* "; config.json has no KEY: VALUE is assumed" */
};
int config_open(struct config *c, struct arena *a, const char *folder, struct err *e);
void config_close(struct config *c);

/* The readers of one value. names: the first that is there of names separated by | is read; those
 * separated by & must not differ; OBJECT.NAME is nested. null is as if the key were not there: then
 * *out is `missing`. spec: a key of the spec, whose range the number must have, or NULL.
 * CONFIG_REQUIRED as `missing`: there must be a value. Errors: ERR_DATA, or ERR_UNAVAILABLE an
 * unknown activation; the message has path, key and value. */
enum { CONFIG_REQUIRED = -1 };
/* config_count - a whole number from 1 on. A size that is assumed is noted. config_whole: from 0.
 */
int config_count(int32_t *out, struct config *c, const char *names, const char *spec,
                 int32_t missing, struct err *e);
int config_whole(int32_t *out, struct config *c, const char *names, int32_t missing, struct err *e);
/* config_real - a number above 0. config_real_or_0: from 0. */
int config_real(double *out, struct config *c, const char *names, const char *spec, double missing,
                struct err *e);
int config_real_or_0(double *out, struct config *c, const char *names, const char *spec,
                     double missing, struct err *e);
int config_flag(bool *out, struct config *c, const char *names, bool missing, struct err *e);
int config_word(const char **out, struct config *c, const char *names, const char *missing,
                struct err *e);
int config_activation(enum spec_activation *out, struct config *c, const char *name,
                      enum spec_activation missing, struct err *e);
/* config_find - a value by its whole name; NULL if it is absent or null. config_is_null - null. */
const json_t *config_find(const struct config *c, const char *name);
bool config_is_null(const struct config *c, const char *name);
/* config_show - a value as messages show it. config_show_real - a number. */
const char *config_show(struct arena *a, const json_t *value);
const char *config_show_real(struct arena *a, double value);

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

/* ---- families.c: the families of models that are read ---- */

/* The tensors of a family. A tensor without a name here has the one that it has in this program. */
struct family_tensors {
    const char *prefix, *layers; /* of all names but the head's; the list of layers */
    const char *head[2];         /* the first that is there */
    const char *fused;           /* the map of q, k and v; NULL: they are apart */
    bool fused_by_key_head; /* its rows are a bundle for each head of keys: q of its heads, k, v */
    bool transposed;        /* maps are stored (in, out) */
    int32_t first_row;      /* of the learned positions */
    const char *name[24];   /* role, name, role, name, … NULL */
};

enum family_windows { FAMILY_WINDOWS_IGNORED, FAMILY_WINDOWS_ALIKE, FAMILY_WINDOWS_BY_LAYER };
struct family {
    const char *name; /* model_type */
    struct spec spec;
    const char *note;
    const char *defaults; /* "; config.json has no KEY: VALUE is assumed" of sizes, or "" */
    struct family_tensors tensors;
    const char *dim, *heads, *kv_heads; /* names of keys, for messages */
    const char *rotated;                /* key of the share of a head that rotates, or of */
    int32_t rotated_n;                  /* the features of a head; 0: a share */
    bool has_rope;                      /* rope_parameters and rope_scaling apply */
    int32_t rope_type;
    enum family_windows windows; /* what layer_types and max_window_layers mean */
    int32_t max_window_layers;
};
struct family_row {
    const char *name;
    int (*read)(struct family *f, struct config *c, struct err *e);
};
extern const struct family_row family_rows[]; /* sorted */
extern const int32_t family_rows_n;

/* ---- describe.c: the description of a model ---- */

/* family_find - checks model_type and what no family may have. family_describe - reads the rest. */
int family_find(struct family *f, struct arena *a, const struct config *c, struct err *e);
int family_describe(struct family *f, struct config *c, struct err *e);
/* family_refuse - ERR_UNAVAILABLE for a value of a key. family_find_rope - the type that
 * rope_parameters and rope_scaling agree on. */
int family_refuse(const struct config *c, const char *key, const char *value, const char *reason,
                  struct err *e);
int family_find_rope(struct family *f, const struct config *c, struct err *e);
/* family_tensor - the name of a role. */
const char *family_tensor(const struct family *f, const char *role);

#endif
