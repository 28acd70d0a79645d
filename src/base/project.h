/* project.h - finds the user's project folder and the folder of the files shipped with the program.
 *
 * root contains results.db, runs/, data/, plots/ and optionally the user's own experiments/ and
 * configs/. share contains the shipped configs/ and experiments/: the source tree if the program
 * runs from build/, otherwise PREFIX/share/alibi. */
#ifndef BASE_PROJECT_H
#define BASE_PROJECT_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct project {
    const char *root;    /* absolute, without a trailing slash */
    const char *share;   /* absolute, without a trailing slash */
    const char *program; /* absolute path of the running program */
};

/* project_open - root is dir, or the current folder if dir is NULL. Errors: ERR_NOINPUT,
 * ERR_UNAVAILABLE. */
int project_open(struct project *p, struct arena *a, const char *dir, struct err *e);

/* project_path - root/name in the arena; name itself if it is absolute. */
char *project_path(const struct project *p, struct arena *a, const char *name);

/* project_find - the first of root/name and share/name that exists. Errors: ERR_NOINPUT names both
 * folders. */
int project_find(char **out, const struct project *p, struct arena *a, const char *name,
                 struct err *e);

/* project_collection_bytes - the bytes of the collection in the name of an artefact, such as those
 * of explore in explore/methods; 0: it is in no collection (plan_list_collections of plan/plan.h).
 */
size_t project_collection_bytes(const char *artefact);

#endif
