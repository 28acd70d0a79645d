/* grid_files.c - the files of grids, for a supplement, and for the project that ingests their
 * results.
 *
 * Only the files of a folder that alibi reads are among them: a text that was prepared from there
 * stays. They are named as in their project, where the grid finds them again. */
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "report/artefact_folder.h"
#include "workflow/workflow.h"

/* grid.yaml is the last: a folder without it is not an artefact. */
static const char *const folder_files[] = {"README.md",   "query.sql",        "table.txt",
                                           "plot.gp",     "paper.tsv",        "claim.sql",
                                           "effects.tsv", "checkpoints.yaml", "grid.yaml"};

struct listing {
    struct grid_files *out;
    struct arena *arena;
    const struct project *project;
    const struct plan *plan;
};

/* Resolves . and .. in an absolute path without following links. */
static const char *plain_path(struct arena *a, const char *path)
{
    char *out = arena_strdup(a, path), *end = out;

    for (const char *p = path; *p;) {
        size_t n = strcspn(++p, "/");
        bool up = n == 2 && memcmp(p, "..", 2) == 0;
        if (up)
            while (end > out && *--end != '/') {
            }
        if (!up && n > 0 && !(n == 1 && *p == '.')) {
            *end = '/';
            memmove(end + 1, p, n);
            end += n + 1;
        }
        p += n;
    }
    *end = '\0';
    return out;
}

/* Returns what follows the folder in a path below it, or NULL. */
static const char *below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

const char *workflow_project_name(const struct project *p, const char *path)
{
    const char *own = below(path, p->root), *shipped = below(path, p->share);

    /* The inner one, if one folder is in the other. */
    return own && shipped ? (strlen(own) < strlen(shipped) ? own : shipped) : own ? own : shipped;
}

const char *workflow_grid_folder(const struct project *p, struct arena *a,
                                 const struct plan_artefact *artefact)
{
    const char *name = workflow_project_name(p, artefact->dir);

    return name ? name : arena_printf(a, "experiments/%s", artefact->name);
}

static const char *name_of(const struct listing *l, const char *path)
{
    for (int32_t i = 0; i < l->plan->artefacts_n; i++) {
        const struct plan_artefact *k = &l->plan->artefact[i];
        const char *rest = below(path, k->dir);
        if (rest)
            return arena_printf(l->arena, "%s/%s", workflow_grid_folder(l->project, l->arena, k),
                                rest);
    }
    return workflow_project_name(l->project, path);
}

static int add_file(struct listing *l, const char *path, struct err *e)
{
    path = plain_path(l->arena, path);
    const char *name = name_of(l, path);
    if (!name)
        return ERR(e, ERR_DATA,
                   "%s: a grid names it, but it is outside of the project %s; copy it beside the "
                   "grid.yaml",
                   path, l->project->root);
    for (int32_t i = 0; i < l->out->n; i++)
        if (strcmp(l->out->item[i].name, name) == 0) return 0;
    *vec_push(l->arena, l->out) = (struct grid_file){path, name};
    return 0;
}

/* The files of other folders that its table.txt uses, and those of its own. */
static int add_folder(struct listing *l, const struct plan_artefact *k, struct err *e)
{
    struct arena *a = l->arena;
    struct report_folder folder;

    TRY(report_folder_open(&folder, a, l->project, k->name, k->dir, e));
    for (int32_t i = 0; i < folder.used.n; i++) TRY(add_file(l, folder.used.item[i], e));
    const char *chapter = arena_printf(a, "%s/../README.md", k->dir);
    if (project_collection_bytes(k->name) > 0 && file_exists(chapter)) TRY(add_file(l, chapter, e));
    for (size_t i = 0; i < sizeof folder_files / sizeof *folder_files; i++) {
        const char *path = arena_printf(a, "%s/%s", k->dir, folder_files[i]);
        if (!file_exists(path)) continue;
        TRY(report_folder_check(path, e));
        TRY(add_file(l, path, e));
    }
    return 0;
}

int workflow_grid_files(struct grid_files *out, struct arena *a, const struct project *project,
                        const struct plan *plan, struct err *e)
{
    struct listing l = {out, a, project, plan};

    *out = (struct grid_files){0};
    for (int32_t i = 0; i < plan->pieces.n; i++) TRY(add_file(&l, plan->pieces.item[i], e));
    for (int32_t i = 0; i < plan->artefacts_n; i++) TRY(add_folder(&l, &plan->artefact[i], e));
    return 0;
}
