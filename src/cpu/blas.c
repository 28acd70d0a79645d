/* blas.c - finds, configures and describes the BLAS library. The rules are in blas.h. */
#include "cpu/blas.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BLAS_ROW_MAJOR = 101, BLAS_AS_IS = 111, BLAS_TRANSPOSED = 112 };

#if defined(__x86_64__)
#define BLAS_FOLDER "/usr/lib/x86_64-linux-gnu/"
#elif defined(__aarch64__)
#define BLAS_FOLDER "/usr/lib/aarch64-linux-gnu/"
#else
#define BLAS_FOLDER ""
#endif

/* In order of preference: serial builds in their Debian folders, then what the loader finds. */
struct blas_candidate {
    const char *make, *file;
};
static const struct blas_candidate blas_candidates[] = {
    {"onednn", "libdnnl.so.2"},
    {"onednn", "libdnnl.so.3"},
    {"openblas", BLAS_FOLDER "openblas-serial/libopenblas.so.0"},
    {"openblas", "libopenblas.so.0"},
    {"openblas", BLAS_FOLDER "openblas-pthread/libopenblas.so.0"},
    {"openblas", BLAS_FOLDER "openblas-openmp/libopenblas.so.0"},
    {"openblas", "libopenblas.so"},
    {"blis", BLAS_FOLDER "blis-serial/libblis.so.4"},
    {"blis", "libblis.so.4"},
};

/* The kernels of OpenBLAS, and the instruction set that they need. The first of a set is its
 * default. */
struct blas_core {
    const char *name, *kernels;
};
static const struct blas_core blas_cores[] = {
    {"SkylakeX", "v4"}, {"Cooperlake", "v4"}, {"SapphireRapids", "v4"},
    {"Haswell", "v3"},  {"Zen", "v3"},        {"Excavator", "v3"},
};
enum { BLAS_CORES = sizeof blas_cores / sizeof *blas_cores };

static const char *blas_default_core(const char *kernels)
{
    for (int i = 0; i < BLAS_CORES; i++)
        if (strcmp(blas_cores[i].kernels, kernels) == 0) return blas_cores[i].name;
    return NULL;
}

/* The names of kernels sort as their instruction sets include each other. */
static bool blas_core_runs(const char *core, const char *kernels)
{
    int i = 0;
    while (i < BLAS_CORES && strcasecmp(blas_cores[i].name, core) != 0) i++;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (strcasecmp(core, "Cooperlake") == 0 && !__builtin_cpu_supports("avx512bf16")) return false;
    if (strcasecmp(core, "SapphireRapids") == 0 && !__builtin_cpu_supports("amx-bf16"))
        return false;
#endif
    return i == BLAS_CORES || strcmp(blas_cores[i].kernels, kernels) <= 0;
}

/* dlsym returns an object pointer; POSIX guarantees the same representation for function pointers.
 */
static void blas_symbol(void *out, void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
}

/* The first members of oneDNN's version record. */
struct blas_dnnl_version {
    int major, minor, patch;
};

static int blas_adopt_onednn(struct blas *b, void *library, const char *kernels)
{
    int (*limit_isa)(int) = NULL;
    const struct blas_dnnl_version *(*version)(void) = NULL;
    int (*effective_isa)(void) = NULL;
    const char *set = "this processor's";
    enum { AVX2 = 0x7 };

    blas_symbol(&b->dnnl, library, "dnnl_sgemm");
    blas_symbol(&version, library, "dnnl_version");
    blas_symbol(&effective_isa, library, "dnnl_get_effective_cpu_isa");
    blas_symbol(&limit_isa, library, "dnnl_set_max_cpu_isa");
    if (!b->dnnl || !version) return 0;
    /* oneDNN's instruction sets are bit masks: 0x7 AVX2, 0x27 and above AVX-512. The limit has an
     * effect only before the first product of a process. */
    if (limit_isa && strcmp(kernels, "v3") == 0) (void)limit_isa(AVX2);
    if (effective_isa) set = (effective_isa() & 0x20) ? "AVX-512" : "AVX2";
    snprintf(b->text, sizeof b->text, "oneDNN %d.%d.%d, %s kernels", version()->major,
             version()->minor, version()->patch, set);
    return 1;
}

static int blas_adopt_cblas(struct blas *b, void *library)
{
    char *(*config)(void) = NULL, *(*core)(void) = NULL;
    const char *(*blis_version)(void) = NULL;
    void (*openblas_threads)(int) = NULL;
    void (*blis_threads)(int64_t) = NULL;
    char version[32] = "";

    blas_symbol(&b->sgemm, library, "cblas_sgemm");
    blas_symbol(&config, library, "openblas_get_config");
    blas_symbol(&core, library, "openblas_get_corename");
    blas_symbol(&openblas_threads, library, "openblas_set_num_threads");
    blas_symbol(&blis_version, library, "bli_info_get_version_str");
    blas_symbol(&blis_threads, library, "bli_thread_set_num_threads");
    if (!b->sgemm) return 0;
    if (openblas_threads) openblas_threads(1);
    if (blis_threads) blis_threads(1);
    if (config && sscanf(config(), "OpenBLAS %31s", version) == 1)
        snprintf(b->text, sizeof b->text, "OpenBLAS %s, %s kernels", version,
                 core ? core() : "unknown");
    else
        snprintf(b->text, sizeof b->text, "BLIS %s", blis_version ? blis_version() : "");
    return 1;
}

static int blas_try(struct blas *b, const struct blas_candidate *candidate, const char *cores,
                    const char *kernels)
{
    int onednn = strcmp(candidate->make, "onednn") == 0;
    if (onednn && strcmp(kernels, "base") == 0) return 0;
    if (!cores) cores = blas_default_core(kernels);
    if (strcmp(candidate->make, "openblas") == 0 && cores) setenv("OPENBLAS_CORETYPE", cores, 1);
    void *library = dlopen(candidate->file, RTLD_NOW | RTLD_LOCAL);
    if (!library) return 0;
    if (onednn ? blas_adopt_onednn(b, library, kernels) : blas_adopt_cblas(b, library)) return 1;
    dlclose(library);
    return 0;
}

int blas_open_named(struct blas *b, const char *make, const char *cores, const char *kernels,
                    struct err *e)
{
    const char *avoided = make ? NULL : getenv("ALIBI_AVOID_BLAS");

    *b = (struct blas){0};
    if (cores && !blas_core_runs(cores, kernels))
        return ERR(e, ERR_UNAVAILABLE,
                   "OpenBLAS's kernels %s: this processor, limited to %s, lacks their instructions",
                   cores, kernels);
    for (int last = 0; last <= (avoided != NULL); last++)
        for (size_t i = 0; i < sizeof blas_candidates / sizeof *blas_candidates; i++) {
            const struct blas_candidate *c = &blas_candidates[i];
            int avoid = avoided && strncasecmp(avoided, c->make, strlen(c->make)) == 0;
            if ((make && strcmp(make, c->make) != 0) || avoid != last) continue;
            if (blas_try(b, c, cores, kernels)) return 0;
        }
    return ERR(e, ERR_UNAVAILABLE,
               "no BLAS library found (looked for %s); install the package libdnnl2 or "
               "libopenblas0-serial",
               make ? make : "oneDNN, OpenBLAS and BLIS");
}

int blas_open(struct blas *b, const char *kernels, struct err *e)
{
    return blas_open_named(b, NULL, NULL, kernels, e);
}

int blas_multiply(const struct blas *b, const struct blas_product *p)
{
    if (p->m <= 0 || p->n <= 0) return 0;
    if (b->dnnl)
        return b->dnnl(p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->m, p->n, p->k,
                       1.0f, p->a, p->stride_a, p->b, p->stride_b, p->beta, p->c, p->stride_c);
    b->sgemm(BLAS_ROW_MAJOR, p->transpose_a ? BLAS_TRANSPOSED : BLAS_AS_IS,
             p->transpose_b ? BLAS_TRANSPOSED : BLAS_AS_IS, (int)p->m, (int)p->n, (int)p->k, 1.0f,
             p->a, (int)p->stride_a, p->b, (int)p->stride_b, p->beta, p->c, (int)p->stride_c);
    return 0;
}
