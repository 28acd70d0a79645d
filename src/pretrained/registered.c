/* registered.c - see pretrained.h. The files are in `files`, a line "SHA-256  name" each, as
 * sha256sum prints them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/str.h"
#include "pretrained/pretrained.h"

enum { PLACE_BYTES_MAX = FILE_PATH_BYTES + HASH_HEX_BYTES + 2 };

#define REMEDY "restore it, or import the folder with `alibi import`"

static const char format[] = "alibi pretrained 1";

int pretrained_register(const char *path, const struct spec *spec, const char *run_id,
                        const struct pretrained_file *file, int32_t n, char sha256[HASH_HEX_BYTES],
                        int64_t *bytes, struct err *e)
{
    struct safetensors_writer w;
    struct strbuf files;
    struct arena a;

    arena_init(&a);
    strbuf_init(&files, &a);
    for (int32_t i = 0; i < n; i++) strbuf_addf(&files, "%s  %s\n", file[i].sha256, file[i].name);
    const struct safetensors_text texts[] = {{"format", format},
                                             {"run_id", run_id},
                                             {"spec", spec_text(spec, &a)},
                                             {"files", files.text}};
    const struct safetensors_content content = {.text = texts,
                                                .texts_n = sizeof texts / sizeof *texts};
    int rc = safetensors_writer_open(&w, path, &content, e);
    rc = safetensors_writer_close(&w, rc, sha256, bytes, e);
    arena_fini(&a);
    return rc;
}

bool pretrained_is_registered(const struct safetensors *checkpoint)
{
    return str_same(safetensors_metadata(checkpoint, "format"), format);
}

static const char *place_path(struct arena *a, const char *checkpoint)
{
    return arena_printf(a, "%s.place", checkpoint);
}

int pretrained_place_write(const char *checkpoint, const struct pretrained_place *place,
                           struct err *e)
{
    struct arena a;

    arena_init(&a);
    const char *text = arena_printf(&a, "%s\n%s\n", place->tokenizer, place->folder);
    int rc = file_write_atomic(place_path(&a, checkpoint), text, strlen(text), e);
    arena_fini(&a);
    return rc;
}

int pretrained_place_read(struct pretrained_place *out, struct arena *a, const char *checkpoint,
                          struct err *e)
{
    const char *path = place_path(a, checkpoint);
    char *text, *folder;
    size_t n;

    TRY(file_read(a, &text, &n, path, PLACE_BYTES_MAX, e));
    folder = strchr(text, '\n');
    if (folder) *folder++ = '\0';
    if (!folder || !hash_is_sha256(text) || folder[0] != '/' || text[n - 1] != '\n')
        return ERR(e, ERR_DATA,
                   "%s: expected a SHA-256 and an absolute path; `alibi run` writes it", path);
    text[n - 1] = '\0';
    *out = (struct pretrained_place){.folder = folder, .tokenizer = text};
    return 0;
}

/* A file as it was when it was opened. */
struct stamp {
    const char *path, *name;
    const char *sha256; /* in the checkpoint */
    struct stat is;
};

struct pretrained_registered {
    struct arena arena;
    struct stamp *item;
    int32_t n, capacity;
};

/* Reads the files of the checkpoint, before they are hashed: a later change is then never missed.
 */
static int read_stamps(struct pretrained_registered *r, const char *folder, const char *files,
                       struct err *e)
{
    for (char *rest = arena_strdup(&r->arena, files), *line; (line = strsep(&rest, "\n"));) {
        char *name = strstr(line, "  ");
        if (!*line) continue;
        if (!name || strchr(name, '/'))
            return ERR(e, ERR_DATA, "'%.90s' is not a line of files of a checkpoint", line);
        *name = '\0';
        struct stamp *x = vec_push(&r->arena, r);
        *x = (struct stamp){.path = arena_printf(&r->arena, "%s/%s", folder, name + 2),
                            .name = name + 2,
                            .sha256 = line};
        if (stat(x->path, &x->is) < 0)
            return ERR(e, ERR_NOINPUT, "%s: %s; the model was imported with it: " REMEDY, x->path,
                       strerror(errno));
    }
    return 0;
}

/* Names a file of the folder that is not the imported one. */
static int check_hashes(const struct pretrained_registered *r, const char *folder,
                        const struct pretrained_file *file, int32_t n, const char *identity,
                        struct err *e)
{
    char now[HASH_HEX_BYTES];

    pretrained_fingerprint(now, file, n);
    if (strcmp(now, identity) == 0) return 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t k = 0;
        while (k < r->n && strcmp(r->item[k].name, file[i].name) != 0) k++;
        if (k < r->n && strcmp(r->item[k].sha256, file[i].sha256) != 0)
            return ERR(e, ERR_DATA,
                       "%s: SHA-256 is %.12s…, but was %.12s… when it was imported; " REMEDY,
                       r->item[k].path, file[i].sha256, r->item[k].sha256);
    }
    return ERR(e, ERR_DATA,
               "%s: its files are not those that were imported (model.files is %.12s…, expected "
               "%.12s…); import it again with `alibi import`",
               folder, now, identity);
}

int pretrained_registered_open(struct pretrained_registered **out, const char *folder,
                               const struct safetensors *checkpoint, const struct spec *spec,
                               pretrained_tick_fn *tick, void *context, struct err *e)
{
    const char *files = safetensors_metadata(checkpoint, "files");
    struct pretrained_registered *r = *out = calloc(1, sizeof *r);
    struct pretrained_file *file;
    int32_t n;
    int rc = 0;

    if (!r) return ERR(e, ERR_NOMEM, "out of memory");
    arena_init(&r->arena);
    TRY_OUT(rc, read_stamps(r, folder, files ? files : "", e));
    TRY_OUT(rc, pretrained_files(&file, &n, &r->arena, folder, tick, context, e));
    TRY_OUT(rc, check_hashes(r, folder, file, n, spec->model.files, e));
out:
    if (rc < 0) {
        pretrained_registered_close(r);
        *out = NULL;
    }
    return rc;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

int pretrained_registered_check(const struct pretrained_registered *r, struct err *e)
{
    for (int32_t i = 0; i < r->n; i++) {
        struct stat now;
        if (stat(r->item[i].path, &now) < 0)
            return ERR(e, ERR_NOINPUT, "%s: %s; it was there when the evaluation started: " REMEDY,
                       r->item[i].path, strerror(errno));
        if (!is_same(&now, &r->item[i].is))
            return ERR(e, ERR_DATA, "%s: changed during the evaluation; " REMEDY, r->item[i].path);
    }
    return 0;
}

void pretrained_registered_close(struct pretrained_registered *r)
{
    if (!r) return;
    arena_fini(&r->arena);
    free(r);
}
