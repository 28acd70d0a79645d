/* nccl.c - loads NCCL when ranks meet, so that a build needs none.
 *
 * PyTorch's packages have it in nvidia/nccl/lib, which is in nobody's path. Their cuBLASLt is in
 * nvidia/cu13/lib or nvidia/cublas/lib, so that a machine with one has found the other. */
#include "nccl.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm_internal.h"
#include "load.h"

/* In the order of struct nccl. */
#define NAME(field, name, result, arguments) #name,
static const char *const nccl_names[] = {NCCL_FUNCTIONS(NAME)};
enum { NCCL_NAMES_N = sizeof nccl_names / sizeof *nccl_names, FILES_N = 4 };

/* Writes the path of libnccl.so.2 in a folder relative to that of a file. */
static void path_beside(char out[PATH_MAX], const char *file, const char *folder)
{
    const char *end = strrchr(file, '/');
    snprintf(out, PATH_MAX, "%.*s/%slibnccl.so.2", end ? (int)(end - file) : 1, end ? file : ".",
             folder);
}

/* The loader's path, the folder of this library, that of cuBLASLt, and its neighbour. */
static int find_nccl(void **out, struct err *e)
{
    char beside[FILES_N - 1][PATH_MAX];
    const char *cublaslt = cublaslt_file();
    Dl_info own = {0};

    (void)dladdr(nccl_names, &own);
    path_beside(beside[0], own.dli_fname ? own.dli_fname : "", "");
    path_beside(beside[1], cublaslt, "");
    path_beside(beside[2], cublaslt, "../../nccl/lib/");
    const char *files[FILES_N] = {"libnccl.so.2", beside[0], beside[1], beside[2]};
    return load_library(out, files, FILES_N, "NCCL", e);
}

int nccl_open(struct nccl *out, struct err *e)
{
    const char *named = getenv("ALIBI_NCCL");
    void *library = NULL, *symbol[NCCL_NAMES_N];

    if (named && *named) {
        TRY(load_library(&library, &named, 1, "NCCL", e));
        if (!library) return ERR(e, ERR_UNAVAILABLE, "NCCL: ALIBI_NCCL=%s: no such file", named);
    } else {
        TRY(find_nccl(&library, e));
    }
    if (!library)
        return ERR(e, ERR_NOINPUT,
                   "NCCL: libnccl.so.2 was not found; install it (pip install nvidia-nccl-cu13 or "
                   "nvidia-nccl-cu12, Debian: libnccl2) and name the file in ALIBI_NCCL or put its "
                   "folder into LD_LIBRARY_PATH");
    TRY(load_symbols(symbol, library, nccl_names, NCCL_NAMES_N, "NCCL", "use 2.14 or later", e));
    memcpy(out, symbol, sizeof *out); /* ISO C has no cast from void * to a function pointer */
    return 0;
}
