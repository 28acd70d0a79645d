/* blas.c - finds, configures and describes oneDNN. The rules are in blas.h. */
#include "cpu/blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* dlsym returns an object pointer; POSIX guarantees the same representation for function pointers.
 */
static void blas_symbol(void *out, void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
}

/* The first members of oneDNN's version record. */
struct blas_version {
    int major, minor, patch;
};

static int blas_adopt(struct blas *b, void *library, const char *kernels)
{
    int (*limit_isa)(int) = NULL;
    const struct blas_version *(*version)(void) = NULL;
    int (*effective_isa)(void) = NULL;
    const char *set = "this processor's";
    enum { AVX2 = 0x7 };

    blas_symbol(&b->sgemm, library, "dnnl_sgemm");
    blas_symbol(&version, library, "dnnl_version");
    blas_symbol(&effective_isa, library, "dnnl_get_effective_cpu_isa");
    blas_symbol(&limit_isa, library, "dnnl_set_max_cpu_isa");
    if (!b->sgemm || !version) return 0;
    /* oneDNN's instruction sets are bit masks: 0x7 AVX2, 0x27 and above AVX-512. The limit has an
     * effect only before the first product of a process. */
    if (limit_isa && strcmp(kernels, "v3") == 0) (void)limit_isa(AVX2);
    if (effective_isa) set = (effective_isa() & 0x20) ? "AVX-512" : "AVX2";
    snprintf(b->text, sizeof b->text, "oneDNN %d.%d.%d, %s kernels", version()->major,
             version()->minor, version()->patch, set);
    return 1;
}

int blas_open(struct blas *b, const char *kernels, struct err *e)
{
    static const char *const files[] = {"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so.3.6"};

    *b = (struct blas){0};
    if (strcmp(kernels, "base") == 0)
        return ERR(e, ERR_UNAVAILABLE, "oneDNN needs more than the base kernels");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        void *library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
        if (library && blas_adopt(b, library, kernels)) return 0;
        if (library) dlclose(library);
    }
    return ERR(e, ERR_UNAVAILABLE, "oneDNN not found; install the package libdnnl2 (make deps)");
}

int blas_multiply(const struct blas *b, const struct blas_product *p)
{
    if (p->m <= 0 || p->n <= 0) return 0;
    return b->sgemm(p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->m, p->n, p->k, 1.0f,
                    p->a, p->stride_a, p->b, p->stride_b, p->beta, p->c, p->stride_c);
}
