/* cublaslt.c - loads cuBLASLt when a GPU is opened, so that one build works with the library of
 * CUDA 13 or CUDA 12, from PyTorch or from a toolkit.
 *
 * Both versions have the same functions and constants. Callers pass the size of the opaque structs
 * they hold, which grew from 23 words in CUDA 12.0 to 32 in CUDA 13. Either library accepts both
 * sizes: 12.0.1 and 13.1 initialise a struct of 11 to 80 words as far as it reaches. */
#include <dlfcn.h>
#include <string.h>

#include "gemm_internal.h"

static const char *const cublaslt_sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

/* In the order of struct cublaslt. */
#define NAME(field, name) #name,
static const char *const cublaslt_names[] = {CUBLASLT_FUNCTIONS(NAME)};
enum { CUBLASLT_NAMES_N = sizeof cublaslt_names / sizeof *cublaslt_names };

int cublaslt_open(struct cublaslt *out, struct err *e)
{
    void *library = NULL, *symbol[CUBLASLT_NAMES_N];

    for (size_t i = 0; !library && i < sizeof cublaslt_sonames / sizeof *cublaslt_sonames; i++) {
        library = dlopen(cublaslt_sonames[i], RTLD_NOW | RTLD_LOCAL);
        const char *why = library ? "" : dlerror();
        if (!library && !strstr(why, "No such file")) /* it exists but cannot be loaded */
            return ERR(e, ERR_UNAVAILABLE, "cuBLASLt cannot be opened: %s", why);
    }
    if (!library)
        return ERR(e, ERR_UNAVAILABLE,
                   "cuBLASLt: neither libcublasLt.so.13 nor libcublasLt.so.12 was found; install "
                   "cuBLAS of CUDA 13 or 12 (pip install nvidia-cublas) and put its folder into "
                   "LD_LIBRARY_PATH");
    for (int i = 0; i < CUBLASLT_NAMES_N; i++)
        if (!(symbol[i] = dlsym(library, cublaslt_names[i])))
            return ERR(e, ERR_UNAVAILABLE, "cuBLASLt: %s; use that of CUDA 13 or 12", dlerror());
    memcpy(out, symbol, sizeof *out); /* ISO C has no cast from void * to a function pointer */
    return 0;
}
