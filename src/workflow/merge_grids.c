/* merge_grids.c - the grids of results that a merge ingested: they are copied, so that reports and
 * runs find them here.
 *
 * 1. A grid is looked for in the other project's folder and in its subfolders, experiments/ among
 *    them. Its files come into the same folder here, and the pieces it names.
 * 2. A file that is here stays, also if that of the other project differs. If a grid of this name
 *    is here, no file of the other's folder is copied. */
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "record/run_folder.h"
#include "workflow/workflow.h"

enum { GRID_FILE_BYTES_MAX = 64 << 20 };

struct merging {
    struct merged_grids *out;
    struct arena *arena;
    const struct project *project, *other;
};

/* Returns the path of the folder of an artefact in a project, the path of its grid.yaml without it,
 * or NULL. */
static const char *find_folder(struct arena *a, const char *root, const char *artefact)
{
    const char *found = NULL;
    struct dir d;

    if (file_exists(arena_printf(a, "%s/%s/grid.yaml", root, artefact)))
        return arena_printf(a, "%s/%s", root, artefact);
    if (dir_open(&d, root, NULL) < 0) return NULL;
    for (int32_t i = 0; i < d.n && !found; i++) {
        const char *folder = arena_printf(a, "%s/%s/%s", root, d.name_own[i], artefact);
        if (d.name_own[i][0] == '.' || strcmp(d.name_own[i], RUN_FOLDERS) == 0) continue;
        if (file_exists(arena_printf(a, "%s/grid.yaml", folder))) found = folder;
    }
    dir_close(&d);
    return found;
}

static void note(struct arena *a, struct merged_names *names, const char *name)
{
    *vec_push(a, names) = name;
}

/* Copies a file that is absent here. */
static int merge_file(struct merging *m, const struct grid_file *f, bool may_copy, struct err *e)
{
    struct arena *a = m->arena;
    size_t there_n, here_n;
    char *here, *there, *text;

    TRY(file_read(a, &there, &there_n, f->path, GRID_FILE_BYTES_MAX, e));
    if (project_find(&here, m->project, a, f->name, NULL) == 0) {
        TRY(file_read(a, &text, &here_n, here, GRID_FILE_BYTES_MAX, e));
        if (here_n != there_n || memcmp(text, there, here_n) != 0)
            note(a, &m->out->different, f->name);
        return 0;
    }
    if (!may_copy) return 0;
    const char *path = project_path(m->project, a, f->name);
    TRY(file_make_dirs(arena_strndup(a, path, (size_t)(strrchr(path, '/') - path)), e));
    TRY(file_write_atomic(path, there, there_n, e));
    note(a, &m->out->copied, f->name);
    return 0;
}

static int merge_grid(struct merging *m, const char *artefact, const char *folder, struct err *e)
{
    const struct plan_options o = {.artefacts_only = true};
    const char *path = arena_printf(m->arena, "%s/grid.yaml", folder);
    const char *here = find_folder(m->arena, m->project->root, artefact);
    struct grid_files files = {0};
    struct err why = {0};
    struct plan plan;
    int rc = plan_open(&plan, m->other, &path, 1, &o, &why);

    if (rc == 0) {
        rc = workflow_grid_files(&files, m->arena, m->other, &plan, &why);
        plan_close(&plan);
    }
    if (rc < 0) {
        note(m->arena, &m->out->missing,
             arena_printf(m->arena, "%s come without their grid: %s", artefact, why.text));
        return 0;
    }
    size_t n = strlen(folder);
    for (int32_t i = 0; i < files.n; i++) {
        const struct grid_file *f = &files.item[i];
        bool of_folder = strncmp(f->path, folder, n) == 0 && f->path[n] == '/';
        TRY(merge_file(m, f, !of_folder || !here, e));
    }
    return 0;
}

/* The artefacts of the other project's results, without their variants and earlier points. */
static int list_artefacts(struct rows *out, struct arena *a, const char *results, struct err *e)
{
    static const char sql[] = "SELECT DISTINCT artefact FROM artefact_points"
                              " WHERE instr(artefact, ' ') = 0 ORDER BY 1";
    struct store *store;

    *out = (struct rows){0};
    TRY(store_open(&store, results, STORE_READ, e));
    int rc = rows_read(out, a, store, sql, NULL, 0, e);
    store_close(store);
    return rc;
}

int workflow_merge_grids(struct merged_grids *out, const struct project *project, struct arena *a,
                         const char *path, struct err *e)
{
    const char *slash = strrchr(path, '/');
    const char *file_in = slash ? arena_strndup(a, path, (size_t)(slash - path) + 1) : ".";
    struct project other;
    struct rows rows;
    char *grid;

    *out = (struct merged_grids){0};
    TRY(project_open(&other, a, file_is_folder(path) ? path : file_in, e));
    const char *results = project_path(&other, a, "results.db");
    if (!file_exists(results)) return 0;
    TRY(list_artefacts(&rows, a, results, e));
    struct merging m = {out, a, project, &other};
    for (int32_t i = 0; i < rows.rows_n; i++) {
        const char *name = store_text(&rows.row[i][0]);
        if (!str_is_name_path(name)) continue; /* not one of alibi */
        const char *found = find_folder(a, other.root, name);
        const char *shipped = arena_printf(a, "experiments/%s/grid.yaml", name);
        if (found)
            TRY(merge_grid(&m, name, found, e));
        else if (project_find(&grid, project, a, shipped, NULL) < 0 &&
                 !find_folder(a, project->root, name))
            note(a, &out->missing,
                 arena_printf(a, "%s come without their grid: %s has no folder %s with a grid.yaml",
                              name, other.root, name));
    }
    return 0;
}
