/* simd_tree.c - the sum of up to TREE_ADD_MAX blocks by a binary tree, in one pass over memory. */
#include <string.h>

#include "cpu/simd.h"

/* Elements that stay in the first cache, with a buffer for each level of the tree. */
enum { TREE_BLOCK = 512 };

/* Returns sum(lo, lo + operands_n) of the n elements from `at` on: an operand, or `buffer`; NULL if
 * absent. */
static const float *tree_sum(const struct tree_add_args *a, int32_t lo, int32_t operands_n,
                             int64_t at, int64_t n, float *buffer)
{
    float other[TREE_BLOCK];

    if (operands_n == 1) return a->x_dev[lo] ? a->x_dev[lo] + at : NULL;
    int32_t half = operands_n / 2;
    const float *left = tree_sum(a, lo, half, at, n, buffer);
    if (!left) return tree_sum(a, lo + half, half, at, n, buffer);
    const float *right = tree_sum(a, lo + half, half, at, n, left == buffer ? other : buffer);
    if (!right) return left;
        /* Each element is read before it is written, also where an operand is the buffer. */
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) buffer[i] = left[i] + right[i];
    return buffer;
}

SIMD_KERNEL(tree_add, elements)
{
    const struct tree_add_args *a = args;
    float buffer[TREE_BLOCK];
    int32_t operands_n = TREE_ADD_MAX;

    /* A half without operands does not change the sum. */
    for (int32_t k = TREE_ADD_MAX - 1; !a->x_dev[k]; k--)
        if (k == operands_n / 2) operands_n /= 2;
    for (int64_t at = elements.begin; at < elements.end; at += TREE_BLOCK) {
        int64_t left = elements.end - at, n = left < TREE_BLOCK ? left : TREE_BLOCK;
        const float *sum = tree_sum(a, 0, operands_n, at, n, buffer);
        /* y may be an operand: it is written when the operands of the block have been read. */
        memmove(a->y_dev + at, sum, (size_t)n * sizeof *sum);
    }
}
