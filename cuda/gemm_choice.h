/* gemm_choice.h - the inside of gemm*.c: which algorithm a product gets.
 *
 * 1. Products are grouped in classes: sizes, storage, types, alignment. The count of rows, which
 *    differs from batch to batch, is rounded up to a multiple of GEMM_ROWS; a product that the
 *    algorithm of its class cannot do gets a class of its own.
 * 2. At the first product of a class the library names candidates whose sums have a fixed order.
 *    They are timed; a later one is preferred to the first, the library's own favourite, only when
 *    it is clearly faster, on a device that is warm and twice, so that chance decides little.
 * 3. Exact products (struct gemm_product) take no candidate that sums in parts, and have one
 *    algorithm for any count of chunks: a product that it refuses fails.
 * 4. A product with relu, sums of a or a mask is a class of its own. It is done in one call only
 *    where that needs less than GEMM_CLEARLY of the time of the product's own algorithm and a
 *    kernel; else, or where there is no candidate, the class is `apart`. Relu has one candidate,
 *    the algorithm of the product without it, so that the bits are the same. Candidates for sums
 *    sum nothing in parts: nothing says in which order those would be added.
 * 5. What order the bits of a mask have within the library is not written down exactly: one call is
 *    chosen only where, on the operands at hand, it also made what the product and the kernel make
 *    (cuda_mask_compare), and where these operands show it. */
#ifndef CUDA_GEMM_CHOICE_H
#define CUDA_GEMM_CHOICE_H

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include "gemm.h"

enum { GEMM_ROWS = 256, GEMM_CANDIDATES = 8, GEMM_IDENTITY_BYTES = 160 };
#define GEMM_CLEARLY 0.95f

/* What a product does beside. */
enum gemm_with { GEMM_ALONE, GEMM_SUMS, GEMM_MASK, GEMM_RELU };

/* Whether that is done in one call, or why not. */
enum gemm_apart {
    GEMM_ONE_CALL,
    GEMM_NOT_OFFERED,
    GEMM_NOT_SHOWN, /* its results differ, or the operands do not show whether they do */
    GEMM_NOT_FASTER
};

/* Compared byte by byte: no padding. */
struct gemm_class {
    int64_t m, n, k;
    int32_t transpose_a, transpose_b, from, to, bias, exact, with;
    int32_t alignment_a, alignment_b, alignment_c; /* bytes, 2 to 16 */
    int32_t rounded;                               /* m or k was rounded up */
    int32_t padding;                               /* 0 */
};

struct gemm_choice {
    struct gemm_class of;
    cublasLtMatmulAlgo_t algorithm; /* zeros where apart */
    int32_t apart;                  /* enum gemm_apart */
};

struct gemm {
    cublasLtHandle_t handle_own;
    cudaStream_t stream;
    void *workspace_own;
    cudaEvent_t before_own, after_own;
    struct gemm_choice *choice_own;
    int32_t choices_n, choices_room;
    int32_t is_warm;                    /* the device has run at its full clock */
    char identity[GEMM_IDENTITY_BYTES]; /* of library and GPU */
};

/* A product as the library takes it, column-major: c^T = b^T a^T. */
struct gemm_call {
    cublasLtMatmulDescOpaque_t product;
    cublasLtMatrixLayoutOpaque_t a, b, c; /* of our a, b, c */
};

enum { GEMM_WORKSPACE_BYTES = 32 << 20 };

/* gemm_call.c */
int gemm_fault(cublasStatus_t status, const struct gemm_product *p, struct err *e);
int gemm_call_init(struct gemm_call *call, const struct gemm_product *p, struct err *e);
/* gemm_run - queues it with that algorithm, its result at `to` (where p->c is, or memory alike). */
cublasStatus_t gemm_run(struct gemm *g, const struct gemm_call *call, const struct gemm_product *p,
                        const cublasLtMatmulAlgo_t *algorithm, void *to);

/* gemm_queued - the error of a kernel that was not queued; status 0: none. */
int gemm_queued(int status, const char *what, struct err *e);

/* gemm_choice.c. gemm_choose - the algorithm of p's class, now chosen if it was not. */
int gemm_choose(struct gemm *g, const cublasLtMatmulAlgo_t **out, const struct gemm_call *call,
                const struct gemm_product *p, struct err *e);
/* gemm_fits - whether the algorithm can do exactly this product. */
int gemm_fits(struct gemm *g, const struct gemm_call *call, const cublasLtMatmulAlgo_t *algorithm);
/* gemm_class_of - the class of p; its shape as if rows were a multiple of GEMM_ROWS, when rounded.
 */
struct gemm_class gemm_class_of(const struct gemm_product *p, int rounded);
/* gemm_find - what was chosen for a class, or NULL; gemm_add_choice keeps a choice. */
struct gemm_choice *gemm_find(const struct gemm *g, const struct gemm_class *c);
int gemm_add_choice(struct gemm *g, const struct gemm_choice *choice, struct err *e);
/* gemm_candidates - for a class, up to GEMM_CANDIDATES, the library's favourite first; none only
 * for products that do something beside. */
int gemm_candidates(struct gemm *g, cublasLtMatmulHeuristicResult_t *out, int *n,
                    const struct gemm_class *c, const struct gemm_product *p, struct err *e);
/* gemm_fastest - a candidate's index. The results of an accumulating product go to memory of their
 * own, for it can be run once only; without that memory the first is taken. */
int gemm_fastest(struct gemm *g, const cublasLtMatmulHeuristicResult_t *candidate, int n,
                 const struct gemm_call *call, const struct gemm_product *p);
/* gemm_need_time - refuses what is chosen by measuring while work is recorded: ERR_INTERNAL. */
int gemm_need_time(struct gemm *g, const struct gemm_product *p, struct err *e);
/* gemm_time - milliseconds of some runs after one that is not timed; below 0: one did not return 0.
 */
typedef int (*gemm_timed)(struct gemm *g, const void *what);
float gemm_time(struct gemm *g, gemm_timed run, const void *what);

/* gemm_multiply_alone - gemm_multiply of a product that does nothing beside. */
int gemm_multiply_alone(struct gemm *g, const struct gemm_product *p, struct err *e);

/* gemm_fused.c. gemm_multiply_fused - gemm_multiply of a product with relu, sums or a mask. */
int gemm_multiply_fused(struct gemm *g, const struct gemm_product *p, struct err *e);

#endif
