/* checkpoints_yaml.c - reads checkpoints.yaml (plan.h). */
#include "plan/plan_internal.h"

static const int64_t checkpoint_bytes_most = INT64_C(1) << 40;

static int read_checkpoint(struct plan_checkpoint *out, const struct yaml_node *map, struct err *e)
{
    int64_t length;
    struct yaml_field fields[] = {
        {"L_train", YAML_NUMBER, .number = &length, .most = 1000000},
        {"file", YAML_NAME, .text = &out->file},
        {"bytes", YAML_NUMBER, .number = &out->bytes, .most = checkpoint_bytes_most},
        {"sha256", YAML_SHA256, .text = &out->sha256}};
    enum { FIELDS_N = sizeof fields / sizeof *fields, REQUIRED_N = 2 };

    TRY(yaml_want(map, YAML_MAP, "checkpoints", e));
    TRY(yaml_fields(map, fields, FIELDS_N, e));
    if (yaml_missing(fields, REQUIRED_N))
        return yaml_error(map, e, "checkpoints: L_train and file are required");
    TRY(yaml_values(fields, FIELDS_N, e));
    out->L = (int32_t)length;
    return 0;
}

int plan_checkpoints_read(struct plan_checkpoints *out, struct arena *a, const char *path,
                          struct err *e)
{
    const struct yaml_node *root, *list;
    struct yaml_field fields[] = {
        {"url", YAML_URL_FOLDER, .text = &out->url},
        {"licence", YAML_TEXT, .text = &out->licence},
        {"bytes_max", YAML_NUMBER, .number = &out->bytes_max, .most = checkpoint_bytes_most},
        YAML_FIELD("checkpoints", YAML_LIST, list)};
    enum { FIELDS_N = sizeof fields / sizeof *fields };

    *out = (struct plan_checkpoints){0};
    TRY(yaml_read(&root, a, path, e));
    TRY(yaml_fields(root, fields, FIELDS_N, e));
    if (yaml_missing(fields, FIELDS_N))
        return yaml_error(root, e, "url, licence, bytes_max and checkpoints are required");
    TRY(yaml_values(fields, FIELDS_N, e));
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
