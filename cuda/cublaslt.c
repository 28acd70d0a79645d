/* cublaslt.c - loads cuBLASLt when a GPU is opened, so that one build works with the library of
 * CUDA 13 or CUDA 12, from PyTorch or from a toolkit.
 *
 * Both versions have the same functions and constants. Callers pass the size of the opaque structs
 * they hold, which grew from 23 words in CUDA 12.0 to 32 in CUDA 13. Either library accepts both
 * sizes: 12.0.1 and 13.1 initialise a struct of 11 to 80 words as far as it reaches. */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "gemm_internal.h"
#include "load.h"

static const char *const cublaslt_sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

/* In the order of struct cublaslt. */
#define NAME(field, name) #name,
static const char *const cublaslt_names[] = {CUBLASLT_FUNCTIONS(NAME)};
enum { CUBLASLT_NAMES_N = sizeof cublaslt_names / sizeof *cublaslt_names };

static int find_cublaslt(void **out, struct err *e)
{
    return load_library(out, cublaslt_sonames, sizeof cublaslt_sonames / sizeof *cublaslt_sonames,
                        "cuBLASLt", e);
}

int cublaslt_open(struct cublaslt *out, struct err *e)
{
    void *library = NULL, *symbol[CUBLASLT_NAMES_N];

    TRY(find_cublaslt(&library, e));
    if (!library)
        return ERR(e, ERR_UNAVAILABLE,
                   "cuBLASLt: neither libcublasLt.so.13 nor libcublasLt.so.12 was found; install "
                   "cuBLAS of CUDA 13 or 12 (pip install nvidia-cublas) and put its folder into "
                   "LD_LIBRARY_PATH");
    TRY(load_symbols(symbol, library, cublaslt_names, CUBLASLT_NAMES_N, "cuBLASLt",
                     "use that of CUDA 13 or 12", e));
    memcpy(out, symbol, sizeof *out); /* ISO C has no cast from void * to a function pointer */
    return 0;
}

const char *cublaslt_file(void)
{
    void *library = NULL;
    struct link_map *map = NULL;
    struct err none = {0};

    if (find_cublaslt(&library, &none) < 0 || !library ||
        dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        return "";
    return map->l_name;
}
