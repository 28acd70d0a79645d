/* fixture.c - see fixture.h. */
#include "pretrained/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "interchange/safetensors.h"

#define VALID "tests/fixtures/open_valid"

static char *quoted(struct arena *a, const char *text)
{
    char *out = arena_strdup(a, text);
    for (char *c = out; *c; c++)
        if (*c == '\'') *c = '"';
    return out;
}

static const char *path_in(struct test_place *p, const char *folder, const char *file)
{
    return arena_printf(&p->arena, "%s/%s", folder, file);
}

void open_folder_write(struct test_place *p, const char *folder, const char *file, const char *text)
{
    const char *json = quoted(&p->arena, text);
    test_write(path_in(p, folder, file), json, strlen(json));
}

const char *open_folder_copy(struct test_place *p, const char *name)
{
    const char *folder = test_place_path(p, name);
    struct dir d;

    assert_ok(dir_open(&d, VALID, &e));
    for (int32_t i = 0; i < d.n; i++) {
        char *bytes;
        size_t n;
        assert_ok(file_read(&p->arena, &bytes, &n, path_in(p, VALID, d.name_own[i]), 1 << 20, &e));
        test_write(path_in(p, folder, d.name_own[i]), bytes, n);
    }
    dir_close(&d);
    return folder;
}

void open_folder_edit(struct test_place *p, const char *folder, const char *file, const char *from,
                      const char *to)
{
    const char *path = path_in(p, folder, file), *end = strrchr(file, '.');
    size_t length = strcmp(end, ".safetensors") == 0 ? sizeof(uint64_t) : 0, n;
    char *bytes;

    from = quoted(&p->arena, from);
    to = quoted(&p->arena, to);
    assert_ok(file_read(&p->arena, &bytes, &n, path, 1 << 24, &e));
    char *at = memmem(bytes + length, n - length, from, strlen(from));
    if (!at) fail_msg("%s has no %s", path, from);
    size_t before = (size_t)(at - bytes), after = n - before - strlen(from);
    char *edited = arena_alloc(&p->arena, before + strlen(to) + after);
    memcpy(edited, bytes, before);
    memcpy(edited + before, to, strlen(to));
    memcpy(edited + before + strlen(to), at + strlen(from), after);
    if (length > 0) {
        uint64_t header;
        memcpy(&header, bytes, sizeof header);
        header += strlen(to) - strlen(from);
        memcpy(edited, &header, sizeof header);
    }
    test_write(path, edited, before + strlen(to) + after);
}

void open_folder_weights(struct test_place *p, const char *folder, const char *list)
{
    struct safetensors_entry entry[64];
    struct safetensors_content c = {.entry = entry};
    struct safetensors_writer w;
    int rc = 0;

    for (char *one = strtok(arena_strdup(&p->arena, list), ";"); one; one = strtok(NULL, ";")) {
        struct safetensors_entry *x = &entry[c.entries_n++];
        char *at = strchr(one, ' ');
        *x = (struct safetensors_entry){.name = one, .elements_n = 1};
        for (*at++ = 0; *at;) {
            x->dims[x->dims_n] = strtol(at, &at, 10);
            x->elements_n *= x->dims[x->dims_n++];
        }
    }
    assert_ok(file_make_dirs(folder, &e));
    assert_ok(safetensors_writer_open(&w, path_in(p, folder, "model.safetensors"), &c, &e));
    for (int32_t i = 0; i < c.entries_n; i++) {
        float *values = arena_array(&p->arena, (size_t)entry[i].elements_n, sizeof *values);
        for (int64_t k = 0; k < entry[i].elements_n; k++) values[k] = (float)k;
        assert_ok(safetensors_writer_add(&w, values, entry[i].elements_n, &e));
    }
    assert_ok(safetensors_writer_close(&w, rc, NULL, NULL, &e));
}

int open_folder_read(const char *folder, struct err *e)
{
    struct pretrained *p;
    int rc = 0;

    TRY(pretrained_open(&p, folder, e));
    const struct shape_params *params = &pretrained_facts(p)->params;
    for (int32_t i = 0; rc == 0 && i < params->tensors_n; i++) {
        size_t n = (size_t)params->tensor[i].rows * (size_t)params->tensor[i].cols;
        float *out = malloc(n * sizeof *out);
        assert_non_null(out);
        rc = pretrained_read(p, i, out, e);
        free(out);
    }
    pretrained_close(p);
    return rc;
}
