/* fixture.c - see fixture.h. */
#include "pretrained/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

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

/* Adds a tensor to a header; returns the number of its elements. */
static size_t add_entry(struct strbuf *header, const char *text, const char *dtype, size_t bytes,
                        size_t begin)
{
    size_t name_n = strcspn(text, " "), n = 1;
    char *at = (char *)(uintptr_t)text + name_n;

    strbuf_addf(header, "%s\"%.*s\":{\"dtype\":\"%s\",\"shape\":[", header->n ? "," : "{",
                (int)name_n, text, dtype);
    for (bool first = true; *at == ' '; first = false) {
        long dim = strtol(at, &at, 10);
        strbuf_addf(header, "%s%ld", first ? "" : ",", dim);
        n *= (size_t)dim;
    }
    strbuf_addf(header, "],\"data_offsets\":[%zu,%zu]}", begin, begin + n * bytes);
    return n;
}

void open_folder_weights(struct test_place *p, const char *folder, const char *list,
                         const struct open_folder_values *first)
{
    struct strbuf header, data;
    const struct open_folder_values numbers = {"F32", sizeof(float), NULL};

    strbuf_init(&header, &p->arena);
    strbuf_init(&data, &p->arena);
    for (const char *one = list; *one; one += strcspn(one, ";"), one += *one == ';') {
        const struct open_folder_values *v = one == list && first ? first : &numbers;
        size_t n = add_entry(&header, one, v->dtype, v->bytes, data.n);
        for (size_t k = 0; k < n; k++) {
            float number = (float)k;
            strbuf_add_n(&data,
                         v->values ? (const char *)v->values + k * v->bytes : (void *)&number,
                         v->bytes);
        }
    }
    strbuf_add(&header, "}");
    uint64_t length = header.n;
    char *all = arena_alloc(&p->arena, sizeof length + header.n + data.n);
    memcpy(all, &length, sizeof length);
    memcpy(all + sizeof length, header.text, header.n);
    memcpy(all + sizeof length + header.n, data.text, data.n);
    test_write(path_in(p, folder, "model.safetensors"), all, sizeof length + header.n + data.n);
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
