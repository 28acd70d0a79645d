/* published.c - see workflow.h. Downloads are under data/fetched/ARTEFACT/. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "fetch/fetch.h"
#include "workflow/workflow.h"

/* A checkpoint of checkpoints.yaml and where it comes from. */
struct published {
    const struct plan_checkpoint *checkpoint;
    const struct plan_artefact *artefact;
    struct plan_checkpoints list;
    const char *folder; /* absolute path of data/fetched/ARTEFACT */
};

static int find_published(struct published *out, const struct project *project, struct arena *a,
                          const struct plan *p, int32_t run, struct err *e)
{
    int32_t L = p->run[run].spec.train.L;

    for (int32_t k = 0; k < p->artefacts_n; k++) {
        const char *path = arena_printf(a, "%s/checkpoints.yaml", p->artefact[k].dir);
        if (!file_exists(path)) continue;
        TRY(plan_checkpoints_read(&out->list, a, path, e));
        for (int32_t i = 0; i < out->list.n; i++) {
            if (out->list.item[i].L != L) continue;
            out->checkpoint = &out->list.item[i];
            out->artefact = &p->artefact[k];
            out->folder = arena_printf(a, "%s/data/fetched/%s", project->root, p->artefact[k].name);
            return 0;
        }
    }
    return ERR(e, ERR_NOINPUT,
               "run %s is a training of the authors, and no checkpoints.yaml has one with "
               "L_train %d; import it with `alibi import FILE --for %s`",
               p->run[run].run_id, L, p->artefact[0].dir);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Reads the hash in FILE.sha256, or NULL: none was kept. */
static const char *kept_hash(struct arena *a, const char *path)
{
    char *text;

    if (file_read(a, &text, NULL, arena_printf(a, "%s.sha256", path), 4096, NULL) < 0) return NULL;
    text[strcspn(text, " \n")] = '\0';
    return hash_is_sha256(text) ? text : NULL;
}

static int keep_hash(struct arena *a, const char *path, struct err *e)
{
    char sha256[HASH_HEX_BYTES];

    TRY(hash_file(sha256, path, e));
    const char *text = arena_printf(a, "%s  %s\n", sha256, strrchr(path, '/') + 1);
    return file_write_atomic(arena_printf(a, "%s.sha256", path), text, strlen(text), e);
}

static int check_size(const char *path, int64_t bytes, struct err *e)
{
    struct stat st;

    if (bytes == 0 || (stat(path, &st) == 0 && st.st_size == bytes)) return 0;
    return ERR(e, ERR_DATA, "%s: not %lld bytes: truncated, or another file", path,
               (long long)bytes);
}

/* Fetches a file unless it is there. */
static int download_file(const char *path, const struct published *s, const char *name,
                         const char *sha256, int64_t bytes_max, workflow_progress_fn progress,
                         struct arena *a, struct err *e)
{
    struct workflow_bytes show = {.progress = progress, .name = name, .first = -1};
    const struct fetch_options f = {.url = arena_printf(a, "%s%s", s->list.url, name),
                                    .path = path,
                                    .sha256 = sha256,
                                    .bytes_max = bytes_max,
                                    .progress = workflow_show_bytes,
                                    .progress_context = &show};

    if (file_exists(path)) return sha256 ? fetch_check(path, sha256, e) : 0;
    log_info("fetching %s (%s)", f.url, s->list.licence);
    return fetch_file(&f, e);
}

/* --- a training ------------------------------------------------------------------------------- */

/* The download and the imported weights. */
static int check_disk(const struct project *project, struct arena *a, const struct plan_run *r,
                      struct err *e)
{
    struct statvfs disk;
    double needed = 2.0 * (double)r->cost.disk_kept_bytes;

    if (statvfs(project->root, &disk) < 0) return 0;
    double free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
    if (free_bytes >= needed) return 0;
    return ERR(e, ERR_CREATE, "%s: %s free, but a checkpoint needs about %s", project->root,
               str_bytes(a, free_bytes), str_bytes(a, needed));
}

static int fetch_checkpoint(struct store *store, const struct project *project, struct arena *a,
                            const struct plan *p, int32_t run, const struct published *s,
                            workflow_progress_fn progress, struct err *e)
{
    static const struct import_options options = {0};
    const struct plan_checkpoint *c = s->checkpoint;
    const char *path = arena_printf(a, "%s/%s", s->folder, c->file);
    const char *kept = c->sha256 ? NULL : kept_hash(a, path);
    const char *sha256 = c->sha256 ? c->sha256 : kept;
    struct registration g = {.store = store, .project = project, .arena = a, .run = &p->run[run]};
    struct import_result result;

    TRY(check_disk(project, a, g.run, e));
    int rc = download_file(path, s, c->file, sha256, s->list.bytes_max, progress, a, e);
    if (rc == ERR_DATA && kept)
        err_ctx(e,
                "not the file of the first download, whose hash is in %s.sha256 (delete that "
                "file to accept another one)",
                c->file);
    TRY(rc);
    rc = check_size(path, c->bytes, e);
    if (rc == 0) rc = workflow_import_training(&result, &g, path, &options, p, e);
    if (rc == ERR_DATA && !sha256) {
        unlink(path);
        err_ctx(e, "deleted, so that the same command downloads it again");
    }
    TRY(rc);
    if (!sha256) TRY(keep_hash(a, path, e));
    log_info("imported %s as run %s%s", c->file, result.run_id,
             result.was_fp16 ? ", fp16 converted to fp32" : "");
    return 0;
}

int workflow_fetch_training(struct store *store, const struct project *project, struct arena *a,
                            const struct plan *p, int32_t run, workflow_progress_fn progress,
                            struct err *e)
{
    struct published s = {0};

    TRY(find_published(&s, project, a, p, run, e));
    TRY(file_make_dirs(s.folder, e));
    return fetch_checkpoint(store, project, a, p, run, &s, progress, e);
}
