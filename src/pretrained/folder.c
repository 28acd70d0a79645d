/* folder.c - the files of a checkpoint folder: weights in one file or in shards that an index
 * names, their tensors by name, and the hashes that identify them.
 *
 * 1. A file is a regular file of the folder, whatever a link or an index says.
 * 2. A tensor is in the file that the index names, and in no other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "pretrained/pretrained_internal.h"

enum {
    INDEX_BYTES_MAX = 4 << 20,
    SHARDS_MAX = 500,
    HASHED_BYTES = 1 << 20 /* at a time */
};

#define SINGLE "model.safetensors"
#define INDEX SINGLE ".index.json"

/* Tensors that hold no weights: causal masks and rotary frequencies. */
static bool is_buffer(const char *name)
{
    static const char *const ends[] = {".attn.bias", ".attn.masked_bias", ".attention.bias",
                                       ".attention.masked_bias", ".rotary_emb.inv_freq"};
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (n >= end && strcmp(name + n - end, ends[i]) == 0) return true;
    }
    return false;
}

/* Whether the folder has an entry of that name, of whatever kind. */
static bool has(const char *folder, const char *name)
{
    char path[FILE_PATH_BYTES];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return lstat(path, &st) == 0;
}

static struct folder_file *add_file(struct folder *f, const char *name)
{
    for (int32_t i = 0; i < f->files_n; i++)
        if (strcmp(f->file[i].name, name) == 0) return &f->file[i];
    if (f->files_n == SHARDS_MAX) return NULL;
    struct folder_file *file = &f->file[f->files_n++];
    *file = (struct folder_file){.name = arena_strdup(f->arena, name),
                                 .path = arena_printf(f->arena, "%s/%s", f->path, name)};
    return file;
}

/* --- the index ------------------------------------------------------------------------------ */

/* Lists the files that the index names. */
static int list_shards(struct folder *f, const json_t *map, struct err *e)
{
    const char *tensor;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)map, tensor, value)
    {
        const char *name = json_string_value(value);
        size_t n = name ? strlen(name) : 0, end = strlen(".safetensors");
        bool plain = n > end && n < 256 && !strchr(name, '/') && name[0] != '.';
        if (!plain || strcmp(name + n - end, ".safetensors") != 0)
            return ERR(e, ERR_DATA,
                       "%s: %.200s is in %s, expected the name of a .safetensors file "
                       "in the folder",
                       f->list, tensor, config_show(f->arena, value));
        if (!add_file(f, name))
            return ERR(e, ERR_DATA, "%s: more than %d files", f->list, SHARDS_MAX);
    }
    return 0;
}

/* Finds the files of weights. *index: of several, to be released by the caller; else NULL. */
static int list_weights(struct folder *f, json_t **index, struct err *e)
{
    char path[FILE_PATH_BYTES];
    bool pickled =
        has(f->path, "pytorch_model.bin") || has(f->path, "pytorch_model.bin.index.json");

    *index = NULL;
    f->file = arena_array(f->arena, SHARDS_MAX, sizeof *f->file);
    if (has(f->path, SINGLE)) {
        f->list = add_file(f, SINGLE)->path;
        return 0;
    }
    if (has(f->path, INDEX)) {
        TRY(file_find_in(path, f->path, INDEX, e));
        f->list = arena_strdup(f->arena, path);
        TRY(json_read(index, f->arena, path, INDEX_BYTES_MAX, e));
        const json_t *map = json_object_get(*index, "weight_map");
        if (json_is_object(map)) return list_shards(f, map, e);
        return ERR(e, ERR_DATA, "%s: no weight_map of tensors and their files", path);
    }
    if (pickled)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: no " SINGLE "; pytorch_model.bin is not read: save it with safetensors "
                   "(save_pretrained)",
                   f->path);
    return ERR(e, ERR_NOINPUT, "%s: no " SINGLE " and no " INDEX, f->path);
}

/* --- tensors -------------------------------------------------------------------------------- */

struct folder_tensor *folder_find(const struct folder *f, const char *name)
{
    int32_t i;
    return map_get(&f->names, name, strlen(name), &i) ? &f->tensor[i] : NULL;
}

static int add_tensor(struct folder *f, const struct folder_file *file,
                      const struct safetensors_entry *x, const json_t *map, struct err *e)
{
    static const char *const dtypes[] = {"F32", "F16", "BF16", "F64"};
    const char *listed = map ? json_string_value(json_object_get(map, x->name)) : file->name;
    size_t i = 0;

    if (!listed)
        return ERR(e, ERR_DATA, "%s: %.200s is not in the weight_map of " INDEX, file->path,
                   x->name);
    if (strcmp(listed, file->name) != 0)
        return ERR(e, ERR_DATA, "%s: %.200s is here, but " INDEX " says %.200s", file->path,
                   x->name, listed);
    while (i < sizeof dtypes / sizeof *dtypes && strcmp(dtypes[i], x->dtype) != 0) i++;
    if (i == sizeof dtypes / sizeof *dtypes)
        return ERR(e, ERR_UNAVAILABLE, "%s: %.200s is %.20s, expected F32, F16, BF16 or F64",
                   file->path, x->name, x->dtype);
    *map_put(&f->names, x->name, strlen(x->name), NULL) = f->tensors_n;
    f->tensor[f->tensors_n++] = (struct folder_tensor){.entry = x, .file = file};
    return 0;
}

static int open_files(struct folder *f, const json_t *map, struct err *e)
{
    char path[FILE_PATH_BYTES];
    int32_t tensors_n = 0;
    const char *name;
    json_t *value;

    for (int32_t i = 0; i < f->files_n; i++) {
        TRY(file_find_in(path, f->path, f->file[i].name, e));
        TRY(safetensors_open_foreign(&f->file[i].file_own, path, e));
        tensors_n += safetensors_count(f->file[i].file_own);
    }
    f->tensor = arena_array(f->arena, (size_t)tensors_n + 1, sizeof *f->tensor);
    for (int32_t i = 0; i < f->files_n; i++)
        for (int32_t k = 0; k < safetensors_count(f->file[i].file_own); k++) {
            const struct safetensors_entry *x = safetensors_at(f->file[i].file_own, k);
            if (!is_buffer(x->name)) TRY(add_tensor(f, &f->file[i], x, map, e));
        }
    json_object_foreach((json_t *)(uintptr_t)map, name, value)
    {
        if (!is_buffer(name) && !folder_find(f, name))
            return ERR(e, ERR_DATA, "%s: %.200s is not in %s", f->list, name,
                       json_string_value(value));
    }
    return 0;
}

int folder_open(struct folder *f, struct arena *a, const char *path, struct err *e)
{
    json_t *index;

    *f = (struct folder){.arena = a, .path = arena_strdup(a, path)};
    map_init(&f->names, a);
    int rc = list_weights(f, &index, e);
    if (rc == 0) rc = open_files(f, json_object_get(index, "weight_map"), e);
    json_decref(index);
    return rc;
}

void folder_close(struct folder *f)
{
    for (int32_t i = 0; i < f->files_n; i++) safetensors_close(f->file[i].file_own);
    f->files_n = 0;
}

/* --- hashes --------------------------------------------------------------------------------- */

struct hashing {
    pretrained_tick_fn *tick;
    void *context;
    double done, all; /* bytes */
};

static int hash_one(struct pretrained_file *out, const char *path, struct hashing *h, struct err *e)
{
    struct hash_state *hash = NULL;
    char *buffer = NULL;
    ssize_t n = 0;
    int rc = 0, fd = file_open_read(path, e);

    TRY(fd);
    TRY_OUT(rc, hash_open(&hash, e));
    buffer = malloc(HASHED_BYTES);
    if (!buffer) TRY_OUT(rc, ERR(e, ERR_NOMEM, "out of memory while reading %s", path));
    while ((n = read(fd, buffer, HASHED_BYTES)) > 0) {
        TRY_OUT(rc, hash_add(hash, buffer, (size_t)n, e));
        out->bytes += n;
        h->done += (double)n;
        if (h->tick) TRY_OUT(rc, h->tick(h->context, h->done / h->all, e));
    }
    if (n < 0) rc = ERR(e, ERR_IO, "%s: cannot be read", path);
out:
    free(buffer);
    close(fd);
    int closed = hash_close(hash, out->sha256, rc == 0 ? e : NULL);
    return rc < 0 ? rc : closed;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct pretrained_file *)a)->name,
                  ((const struct pretrained_file *)b)->name);
}

int pretrained_files(struct pretrained_file **out, int32_t *n, struct arena *a, const char *folder,
                     pretrained_tick_fn *tick, void *context, struct err *e)
{
    static const char *const tokenizer[] = {"tokenizer.json", "vocab.json", "merges.txt"};
    struct folder f = {.arena = a, .path = folder};
    struct hashing h = {.tick = tick, .context = context};
    char path[FILE_PATH_BYTES];
    struct stat st;
    json_t *index;
    const char **name = arena_array(a, SHARDS_MAX + 6, sizeof *name);

    *n = 0;
    int rc = list_weights(&f, &index, e);
    bool indexed = index != NULL;
    json_decref(index);
    TRY(rc);
    name[(*n)++] = "config.json";
    if (indexed) name[(*n)++] = INDEX;
    for (int32_t i = 0; i < f.files_n; i++) name[(*n)++] = f.file[i].name;
    bool one = has(folder, tokenizer[0]);
    for (int i = one ? 0 : 1; i < (one ? 1 : 3); i++)
        if (has(folder, tokenizer[i])) name[(*n)++] = tokenizer[i];
    if (has(folder, "tokenizer_config.json")) name[(*n)++] = "tokenizer_config.json";
    *out = arena_array(a, (size_t)*n, sizeof **out);
    for (int32_t i = 0; i < *n; i++) {
        TRY(file_find_in(path, folder, name[i], e));
        (*out)[i].name = name[i];
        if (stat(path, &st) == 0) h.all += (double)st.st_size;
    }
    qsort(*out, (size_t)*n, sizeof **out, by_name);
    for (int32_t i = 0; i < *n; i++) {
        TRY(file_find_in(path, folder, (*out)[i].name, e));
        TRY(hash_one(&(*out)[i], path, &h, e));
    }
    return 0;
}

void pretrained_fingerprint(char out[HASH_HEX_BYTES], const struct pretrained_file *file, int32_t n)
{
    struct arena a;
    struct strbuf lines;

    arena_init(&a);
    strbuf_init(&lines, &a);
    for (int32_t i = 0; i < n; i++) {
        const char *end = strrchr(file[i].name, '.');
        if (strcmp(file[i].name, "config.json") == 0 || strcmp(file[i].name, INDEX) == 0 ||
            (end && strcmp(end, ".safetensors") == 0))
            strbuf_addf(&lines, "%s  %s\n", file[i].sha256, file[i].name);
    }
    hash_sha256_hex(out, lines.text, lines.n);
    arena_fini(&a);
}
