/* project.c - finds the project folder and the shipped files. */
#include "base/project.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/* The shipped files are in a parent folder of build/ or of a program below it
 * (build/asan/tests/fuzz/), or in ../share/alibi seen from bin/. */
static int project_find_share(struct project *p, struct arena *a, struct err *e)
{
    static const char *const folders[] = {"", "/share/alibi"};
    char *folder = arena_strdup(a, p->program);

    for (int up = 0; up < 5; up++) {
        char *slash = strrchr(folder, '/');
        if (!slash) break;
        *slash = '\0';
        for (size_t i = 0; up > 0 && i < sizeof folders / sizeof *folders; i++) {
            char *candidate = arena_printf(a, "%s%s", folder, folders[i]);
            if (!file_exists(arena_printf(a, "%s/configs/scale", candidate))) continue;
            p->share = candidate;
            return 0;
        }
    }
    return ERR(
        e, ERR_UNAVAILABLE,
        "%s: no folder above it contains configs/ or share/alibi/configs/; reinstall the program",
        p->program);
}

int project_open(struct project *p, struct arena *a, const char *dir, struct err *e)
{
    char path[PATH_MAX];

    if (!realpath(dir ? dir : ".", path))
        return ERR(e, ERR_NOINPUT, "%s: %s", dir ? dir : ".", strerror(errno));
    p->root = arena_strdup(a, path);
    TRY(file_program(path, sizeof path, e));
    p->program = arena_strdup(a, path);
    return project_find_share(p, a, e);
}

size_t project_collection_bytes(const char *artefact)
{
    const char *slash = strchr(artefact, '/');
    return slash ? (size_t)(slash - artefact) : 0;
}

char *project_path(const struct project *p, struct arena *a, const char *name)
{
    return name[0] == '/' ? arena_strdup(a, name) : arena_printf(a, "%s/%s", p->root, name);
}

int project_find(char **out, const struct project *p, struct arena *a, const char *name,
                 struct err *e)
{
    const char *const folders[] = {p->root, p->share};

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *path = arena_printf(a, "%s/%s", folders[i], name);
        if (file_exists(path)) {
            *out = path;
            return 0;
        }
    }
    return ERR(e, ERR_NOINPUT, "%s not found in %s or %s", name, p->root, p->share);
}
