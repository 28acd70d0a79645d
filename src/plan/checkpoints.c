/* checkpoints.c - reads checkpoints.yaml (plan.h). */
#include "plan/plan_internal.h"

#include <string.h>

#include "base/hash.h"

static const int64_t checkpoint_bytes_most = INT64_C(1) << 40;

static int read_count(int64_t *out, int64_t most, const struct yaml_node *at, const char *what,
                      struct err *e)
{
    if (str_to_int(out, at->text) && *out >= 1 && *out <= most) return 0;
    return yaml_error(at, e, "%s: expected a number from 1 to %lld, found '%.60s'", what,
                      (long long)most, at->text);
}

/* A name has no slash: it is a part of a URL and of a path. */
static int read_name(const char **out, const struct yaml_node *at, const char *what, struct err *e)
{
    *out = at->text;
    if (str_is_name(at->text)) return 0;
    return yaml_error(at, e, "%s: expected letters, digits, . _ -, found '%.60s'", what, at->text);
}

static int read_checkpoint(struct plan_checkpoint *out, const struct yaml_node *map, struct err *e)
{
    const struct yaml_node *L, *file, *sha256, *bytes;
    const struct yaml_field fields[] = {{"L_train", YAML_SCALAR, &L},
                                        {"file", YAML_SCALAR, &file},
                                        {"sha256", YAML_SCALAR, &sha256},
                                        {"bytes", YAML_SCALAR, &bytes}};
    int64_t length;

    TRY(yaml_want(map, YAML_MAP, "checkpoints", e));
    TRY(yaml_fields(map, fields, sizeof fields / sizeof *fields, e));
    if (!L || !file) return yaml_error(map, e, "checkpoints: L_train and file are required");
    TRY(read_count(&length, 1000000, L, "L_train", e));
    out->L = (int32_t)length;
    TRY(read_name(&out->file, file, "file", e));
    if (bytes) TRY(read_count(&out->bytes, checkpoint_bytes_most, bytes, "bytes", e));
    if (!sha256) return 0;
    out->sha256 = sha256->text;
    if (hash_is_sha256(out->sha256)) return 0;
    return yaml_error(sha256, e, "sha256: expected 64 lower-case hex digits, found '%.70s'",
                      out->sha256);
}

int plan_checkpoints_read(struct plan_checkpoints *out, struct arena *a, const char *path,
                          struct err *e)
{
    const struct yaml_node *root, *url, *licence, *bytes_max, *list;
    const struct yaml_field fields[] = {{"url", YAML_SCALAR, &url},
                                        {"licence", YAML_SCALAR, &licence},
                                        {"bytes_max", YAML_SCALAR, &bytes_max},
                                        {"checkpoints", YAML_LIST, &list}};

    *out = (struct plan_checkpoints){0};
    TRY(yaml_read(&root, a, path, e));
    TRY(yaml_fields(root, fields, sizeof fields / sizeof *fields, e));
    if (!url || !licence || !bytes_max || !list)
        return yaml_error(root, e, "url, licence, bytes_max and checkpoints are required");
    out->url = url->text;
    out->licence = licence->text;
    size_t n = strlen(out->url);
    if ((strncmp(out->url, "https://", 8) != 0 && strncmp(out->url, "http://", 7) != 0) ||
        out->url[n - 1] != '/')
        return yaml_error(url, e,
                          "url: expected https:// or http:// and a slash at the end, "
                          "found '%.60s'",
                          out->url);
    TRY(read_count(&out->bytes_max, checkpoint_bytes_most, bytes_max, "bytes_max", e));
    for (int32_t i = 0; i < list->n; i++) {
        struct plan_checkpoint one = {0};
        TRY(read_checkpoint(&one, list->item[i], e));
        for (int32_t k = 0; k < out->n; k++)
            if (out->item[k].L == one.L)
                return yaml_error(list->item[i], e, "checkpoints: L_train %d twice", one.L);
        *vec_push(a, out) = one;
    }
    return 0;
}
