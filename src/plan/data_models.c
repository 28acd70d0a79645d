/* data_models.c - the models of data/models/: pieces that `alibi import FOLDER` writes, with
 *
 *   pretrained:                            # where the model is; model.files is its identity
 *     folder: /home/me/bloom-560m
 *     family: bloom
 *     dtype: F16                           # of the largest tensor
 *     bytes: 1118459450                    # of the weight files
 *     tokenizer: 46ae…                     # SHA-256 of what determines its ids
 *     files: { config.json: 9f1b…, model.safetensors: 3c0d… } */
#include "plan/plan_internal.h"

#include <string.h>

#define MODELS "data/models"

int model_read_files(struct plan_model *m, struct arena *a, const struct yaml_node *map,
                     struct err *e)
{
    const struct yaml_node *files;
    struct yaml_field fields[] = {
        {"folder", YAML_PATH, .text = &m->folder, .what = "pretrained: folder"},
        {"family", YAML_TEXT, .text = &m->family},
        {"dtype", YAML_TEXT, .text = &m->dtype},
        {"bytes", YAML_NUMBER, .number = &m->bytes, .what = "pretrained: bytes"},
        {"tokenizer", YAML_SHA256, .text = &m->tokenizer, .what = "pretrained: tokenizer"},
        YAML_FIELD("files", YAML_MAP, files)};
    enum { FIELDS_N = sizeof fields / sizeof *fields };

    TRY(yaml_want(map, YAML_MAP, "pretrained", e));
    TRY(yaml_fields(map, fields, FIELDS_N, e));
    const char *missing = yaml_missing(fields, FIELDS_N);
    if (missing)
        return yaml_error(map, e, "pretrained: %s is missing; write the file with `alibi import`",
                          missing);
    TRY(yaml_values(fields, FIELDS_N, e));
    for (int32_t i = 0; i < files->n; i++) {
        struct plan_model_file one = {.name = files->key[i]->text};
        const struct yaml_field hash = {"pretrained: files", YAML_SHA256, .text = &one.sha256,
                                        .at = files->item[i]};
        if (strchr(one.name, '/'))
            return yaml_error(files->key[i], e, "pretrained: files: '%.60s' is not a file name",
                              one.name);
        TRY(yaml_want(hash.at, YAML_SCALAR, hash.name, e));
        TRY(yaml_values(&hash, 1, e));
        vec_grow(a, &m->file, m->files_n, &m->files_capacity, sizeof *m->file);
        m->file[m->files_n++] = one;
    }
    return 0;
}

int plan_model_read(struct plan_model *out, struct arena *a, const char *path, struct err *e)
{
    struct piece piece;
    struct draft d;

    TRY(piece_read(&piece, a, path, e));
    *out = piece.model;
    out->path = path;
    if (!out->folder)
        return ERR(e, ERR_DATA, "%s: pretrained is missing; write the file with `alibi import`",
                   path);
    draft_init(&d);
    axes_apply(&piece.settings, 0, &d);
    out->spec = d.spec;
    return 0;
}

int plan_model_find(struct plan_model *out, const struct project *project, struct arena *a,
                    const char *files, struct err *e)
{
    char **name;
    int32_t n;

    TRY(plan_names(&name, &n, project, a, MODELS, ".yaml", e));
    for (int32_t i = 0; i < n; i++) {
        char *path;
        TRY(project_find(&path, project, a, arena_printf(a, MODELS "/%s.yaml", name[i]), e));
        TRY(plan_model_read(out, a, path, e));
        if (strcmp(out->spec.model.files, files) == 0) return 0;
    }
    return ERR(e, ERR_NOINPUT,
               "no file of %s/" MODELS " has model.files = %.12s…; import the model's folder with "
               "`alibi import FOLDER`",
               project->root, files);
}
