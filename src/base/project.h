/* project.h - where things are: the user's project folder, and the folder of what the program
 * ships.
 *
 * root  holds results.db, runs/, data/, plots/, and perhaps experiments/ and configs/ of the user's
 * own. share holds configs/ and experiments/ as shipped: the source tree when the program runs from
 * build/, otherwise PREFIX/share/alibi. */
#ifndef BASE_PROJECT_H
#define BASE_PROJECT_H

#include "base/arena.h"
#include "base/err.h"

struct project {
    const char *root;    /* absolute, without a final slash */
    const char *share;   /* absolute, without a final slash */
    const char *program; /* absolute path of the running program */
};

/* project_open - root is dir, or the current folder when dir is NULL. Errors: ERR_NOINPUT,
 * ERR_UNAVAILABLE. */
int project_open(struct project *p, struct arena *a, const char *dir, struct err *e);

/* project_path - root/name in the arena; an absolute name stays as it is. */
char *project_path(const struct project *p, struct arena *a, const char *name);

/* project_find - the first of root/name and share/name that is there. Errors: ERR_NOINPUT names
 * both places. */
int project_find(char **out, const struct project *p, struct arena *a, const char *name,
                 struct err *e);

#endif
