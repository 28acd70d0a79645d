/* nccl.c - loads NCCL when ranks meet, so that a build needs none. */
#include "nccl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* In the order of struct nccl. */
#define NAME(field, name, result, arguments) #name,
static const char *const nccl_names[] = {NCCL_FUNCTIONS(NAME)};
enum { NCCL_NAMES_N = sizeof nccl_names / sizeof *nccl_names };

int nccl_open(struct nccl *out, struct err *e)
{
    const char *named = getenv("ALIBI_NCCL"), *file = named && *named ? named : "libnccl.so.2";
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL), *symbol[NCCL_NAMES_N];
    const char *why = library ? "" : dlerror();

    if (!library && file != named && strstr(why, "No such file"))
        return ERR(e, ERR_NOINPUT,
                   "NCCL: libnccl.so.2 was not found; install it (pip install nvidia-nccl-cu13 or "
                   "nvidia-nccl-cu12, Debian: libnccl2) and name the file in ALIBI_NCCL or put its "
                   "folder into LD_LIBRARY_PATH");
    if (!library) return ERR(e, ERR_UNAVAILABLE, "NCCL cannot be opened: %s", why);
    for (int i = 0; i < NCCL_NAMES_N; i++)
        if (!(symbol[i] = dlsym(library, nccl_names[i])))
            return ERR(e, ERR_UNAVAILABLE, "NCCL: %s; use 2.14 or later", dlerror());
    memcpy(out, symbol, sizeof *out); /* ISO C has no cast from void * to a function pointer */
    return 0;
}
