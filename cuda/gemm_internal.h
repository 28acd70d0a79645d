/* gemm_internal.h - what the files of products share. gemm.c calls gemm_choice.c, and both call
 * gemm_call.c, which calls neither.
 *
 * 1. A class is sizes, layout, dtypes, alignment and epilogue. The number of rows, which differs
 *    between batches, is rounded up to a multiple of GEMM_ROWS. If the algorithm of the class does
 *    not fit a product, that product gets a class of its own.
 * 2. At the first product of a class the library lists candidates whose sums have a fixed order,
 *    its favourite first. They are timed on a warm device, the favourite twice; another is chosen
 *    only if it is clearly faster than both, so that noise rarely decides. Once the choices are
 *    closed, the favourite is taken: it depends on the class, the library and the GPU alone.
 * 3. Exact products (struct gemm_product) use no candidate that sums in parts, and one algorithm
 *    for any number of chunks; a product that it does not fit fails.
 * 4. ReLU without a mask is not part of the class: if the algorithm of the class fits the product
 *    with ReLU, the product applies it, else the caller does. The bits are the same.
 * 5. Products with column sums or masks are classes of their own, since few algorithms have these
 *    epilogues. If the library has none, or the plain product and the kernels after it are clearly
 *    faster as a whole, the class is recorded without an algorithm (words of zeros).
 * 6. A mask of the library is used only if its bits have the order of struct relu_args, which is
 *    verified once (gemm_mask.c). */
#ifndef CUDA_GEMM_INTERNAL_H
#define CUDA_GEMM_INTERNAL_H

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdint.h>

#include "gemm.h"

enum { GEMM_IDENTITY_BYTES = 160, GEMM_WORKSPACE_BYTES = 32 << 20 };

/* The functions of cuBLASLt that are called. The bytes of an opaque struct come before its values.
 */
#define CUBLASLT_FUNCTIONS(F)                                                                      \
    F(version, cublasLtGetVersion)                                                                 \
    F(status_string, cublasLtGetStatusString)                                                      \
    F(create, cublasLtCreate)                                                                      \
    F(destroy, cublasLtDestroy)                                                                    \
    F(product_init, cublasLtMatmulDescInit_internal)                                               \
    F(product_set, cublasLtMatmulDescSetAttribute)                                                 \
    F(layout_init, cublasLtMatrixLayoutInit_internal)                                              \
    F(layout_set, cublasLtMatrixLayoutSetAttribute)                                                \
    F(preference_init, cublasLtMatmulPreferenceInit_internal)                                      \
    F(preference_set, cublasLtMatmulPreferenceSetAttribute)                                        \
    F(heuristic, cublasLtMatmulAlgoGetHeuristic)                                                   \
    F(check, cublasLtMatmulAlgoCheck)                                                              \
    F(multiply, cublasLtMatmul)

struct cublaslt {
#define FIELD(field, name) __typeof__(name) *field;
    CUBLASLT_FUNCTIONS(FIELD)
#undef FIELD
};

enum gemm_ending { GEMM_BIAS = 1, GEMM_SUMS = 2, GEMM_MASK_WRITTEN = 4, GEMM_MASK_READ = 8 };

/* Compared byte by byte: no padding. */
struct gemm_class {
    int64_t m, n, k;
    int32_t transpose_a, transpose_b, from, to;
    int32_t ending; /* bits of enum gemm_ending */
    int32_t exact;
    int32_t alignment_a, alignment_b, alignment_c; /* bytes, 2 to 16 */
    int32_t rounded;                               /* m or k was rounded up */
};

struct gemm_choice {
    struct gemm_class of;
    cublasLtMatmulAlgo_t algorithm;
};

enum gemm_order { GEMM_ORDER_UNKNOWN, GEMM_ORDER_OURS, GEMM_ORDER_OTHER };

struct gemm {
    struct cublaslt lt;
    cublasLtHandle_t handle_own;
    cudaStream_t stream;
    void *workspace_own;
    cudaEvent_t before_own, after_own;
    struct gemm_choice *choice_own;
    int32_t choices_n, choices_room;
    bool is_closed;                     /* no choice is timed any more */
    int32_t is_warm;                    /* the device has run at its full clock */
    enum gemm_order mask_order[2];      /* of masks that products write, and that they read */
    char identity[GEMM_IDENTITY_BYTES]; /* of library and GPU */
};

/* A product as the library takes it, column-major: c^T = b^T a^T. */
struct gemm_call {
    cublasLtMatmulDescOpaque_t product;
    cublasLtMatrixLayoutOpaque_t a, b, c; /* of our a, b, c */
};

/* cublaslt.c. cublaslt_open - the library of CUDA 13, else of CUDA 12; it stays open. Errors:
 * ERR_UNAVAILABLE, with what is missing. cublaslt_file - its path; "": there is none. */
int cublaslt_open(struct cublaslt *out, struct err *e);
const char *cublaslt_file(void);

/* gemm_call.c. gemm_reject - returns `code`, with why the product fails; gemm_fault - the error of
 * a status; 0 stays 0. */
int gemm_reject(const struct gemm_product *p, int code, const char *why, struct err *e);
int gemm_fault(const struct gemm *g, cublasStatus_t status, const struct gemm_product *p,
               struct err *e);
int gemm_call_init(const struct gemm *g, struct gemm_call *call, const struct gemm_product *p,
                   struct err *e);
/* gemm_fits - true if the algorithm can do exactly this product. */
bool gemm_fits(struct gemm *g, const struct gemm_call *call, const cublasLtMatmulAlgo_t *algorithm);
/* gemm_run - queues it with that algorithm, its result at `to` (p->c, or memory of the same
 * layout). */
cublasStatus_t gemm_run(struct gemm *g, const struct gemm_call *call, const struct gemm_product *p,
                        const cublasLtMatmulAlgo_t *algorithm, void *to);

/* gemm_forbid_in_capture - ERR_INTERNAL during a graph capture, when the stream does nothing. why:
 * what needs the stream. */
int gemm_forbid_in_capture(const struct gemm *g, const struct gemm_product *p, const char *why,
                           struct err *e);

/* gemm_has_own_class - true if p has column sums or a mask (rule 5). gemm_plain - p without them
 * and without ReLU. */
static inline bool gemm_has_own_class(const struct gemm_product *p)
{
    return p->sums || p->mask;
}
static inline struct gemm_product gemm_plain(const struct gemm_product *p)
{
    struct gemm_product plain = *p;
    plain.relu = GEMM_LINEAR;
    plain.sums = plain.mask = NULL;
    return plain;
}

/* gemm_mask.c. gemm_mask_is_ours - whether the bits of p's mask have the order of struct relu_args
 * if the product writes or reads it (rule 6). */
int gemm_mask_is_ours(struct gemm *g, bool *is_ours, const struct gemm_product *p, struct err *e);

/* gemm_choice.c. gemm_candidates - algorithms of p's class, the library's favourite first; *n is 0
 * if none has p's column sums or mask. gemm_choose - the algorithm of p's class, chosen at its
 * first product. NULL: none, as in rule 5. */
enum { GEMM_CANDIDATES = 8 };
int gemm_candidates(struct gemm *g, cublasLtMatmulHeuristicResult_t *out, int *n,
                    const struct gemm_product *p, struct err *e);
int gemm_choose(struct gemm *g, const cublasLtMatmulAlgo_t **out, const struct gemm_call *call,
                const struct gemm_product *p, struct err *e);

#endif
