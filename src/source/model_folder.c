/* model_folder.c - the kind of source whose weights stay in a folder in Hugging Face format.
 *
 * EVENT_SOURCE has the files in lines "SHA-256  name", as sha256sum prints them. */
#include "source/source_internal.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"

enum { PLACE_BYTES_MAX = FILE_PATH_BYTES + HASH_HEX_BYTES + 2 };

#define REMEDY "restore it, or import the folder with `alibi import`"

/* Reads the files' state before they are hashed: a later change is then never missed. */
static int read_stamps(struct source_inside *in, const char *folder, const char *files,
                       struct err *e)
{
    for (char *rest = arena_strdup(&in->arena, files), *line; (line = strsep(&rest, "\n"));) {
        char *name = strstr(line, "  ");
        if (!*line) continue;
        if (!name || strchr(name, '/'))
            return ERR(e, ERR_DATA, "'%.90s' is not a line of files of a source", line);
        *name = '\0';
        struct source_stamp *x = vec_push(&in->arena, &in->stamps);
        *x = (struct source_stamp){.path = arena_printf(&in->arena, "%s/%s", folder, name + 2),
                                   .name = name + 2,
                                   .sha256 = line};
        if (stat(x->path, &x->is) < 0)
            return ERR(e, ERR_NOINPUT, "%s: %s; the model was imported with it: " REMEDY, x->path,
                       strerror(errno));
    }
    return 0;
}

/* Names a file of the folder that is not the imported one. */
static int check_hashes(const struct source *s, const struct pretrained_file *file, int32_t n,
                        struct err *e)
{
    const struct source_inside *in = s->inside;
    char now[HASH_HEX_BYTES];

    pretrained_fingerprint(now, file, n);
    if (strcmp(now, s->spec.model.files) == 0) return 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t k = 0;
        while (k < in->stamps.n && strcmp(in->stamps.item[k].name, file[i].name) != 0) k++;
        if (k < in->stamps.n && strcmp(in->stamps.item[k].sha256, file[i].sha256) != 0)
            return ERR(e, ERR_DATA,
                       "%s: SHA-256 is %.12s…, but was %.12s… when it was imported; " REMEDY,
                       in->stamps.item[k].path, file[i].sha256, in->stamps.item[k].sha256);
    }
    return ERR(e, ERR_DATA,
               "%s: its files are not those that were imported (model.files is %.12s…, expected "
               "%.12s…); import it again with `alibi import`",
               s->path, now, s->spec.model.files);
}

/* Refuses a folder that this version of the program describes in another way than the one that
 * imported it. */
static int check_description(const struct source *s, struct err *e)
{
    const struct pretrained_facts *facts = pretrained_facts(s->inside->folder_own);

    if (!spec_model_difference(&s->spec, &facts->spec)) return 0;
    return ERR(e, ERR_DATA,
               "%s: this version describes the model in another way than the one that imported it; "
               "import it again with `alibi import %s`",
               s->path, s->path);
}

static int read_spec(struct source *s, const char *dir, const char *run_id, struct err *e)
{
    char found[SPEC_ID_BYTES] = "";
    struct spec *spec;
    int32_t n;

    TRY(run_folder_read_specs(&spec, &n, &s->inside->arena, dir, e));
    s->spec = spec[0];
    spec_run_id(&s->spec, found);
    if (strcmp(found, run_id) == 0) return 0;
    return ERR(e, ERR_DATA, "%s: has the spec of run %s, expected %s", dir, found, run_id);
}

int model_folder_open(struct source *s, const struct source_found *found, const char *run_id,
                      source_tick_fn *tick, void *context, struct err *e)
{
    struct source_inside *in = s->inside;
    const char *files = found->source.files;
    struct pretrained_file *file;
    int32_t n;

    TRY(read_spec(s, found->dir, run_id, e));
    TRY(read_stamps(in, s->path, files ? files : "", e));
    TRY(pretrained_files(&file, &n, &in->arena, s->path, tick, context, e));
    TRY(check_hashes(s, file, n, e));
    TRY(pretrained_open(&in->folder_own, s->path, e));
    s->params = pretrained_facts(in->folder_own)->params;
    return check_description(s, e);
}

int model_folder_read(const struct source *s, int32_t i, float *out, struct err *e)
{
    return pretrained_read(s->inside->folder_own, i, out, e);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

int model_folder_check(const struct source *s, struct err *e)
{
    const struct source_inside *in = s->inside;

    for (int32_t i = 0; i < in->stamps.n; i++) {
        const struct source_stamp *x = &in->stamps.item[i];
        struct stat now;
        if (stat(x->path, &now) < 0)
            return ERR(e, ERR_NOINPUT, "%s: %s; it was there when the evaluation started: " REMEDY,
                       x->path, strerror(errno));
        if (!is_same(&now, &x->is))
            return ERR(e, ERR_DATA, "%s: changed during the evaluation; " REMEDY, x->path);
    }
    return 0;
}

/* --- registered by an older program ----------------------------------------------------------- */

int model_folder_find_old(struct source_found *found, struct arena *a, const char *run_id,
                          struct err *e)
{
    struct safetensors *checkpoint;
    char *text, *folder;
    size_t n;

    TRY(checkpoint_open(&checkpoint, NULL, found->path, found->sha256, run_id, e));
    const char *files = safetensors_metadata(checkpoint, "files");
    found->source = (struct record_source){
        .run_id = run_id, .kind = "folder", .files = files ? arena_strdup(a, files) : NULL};
    safetensors_close(checkpoint);
    const char *path = arena_printf(a, "%s.place", found->path);
    TRY(file_read(a, &text, &n, path, PLACE_BYTES_MAX, e));
    folder = strchr(text, '\n');
    if (folder) *folder++ = '\0';
    if (!folder || !hash_is_sha256(text) || folder[0] != '/' || text[n - 1] != '\n')
        return ERR(e, ERR_DATA,
                   "%s: expected a SHA-256 and an absolute path; import the folder with `alibi "
                   "import`",
                   path);
    text[n - 1] = '\0';
    found->path = found->source.path = folder;
    found->source.tokenizer = text;
    return 0;
}
