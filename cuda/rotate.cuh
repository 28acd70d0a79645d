/* rotate.cuh - rotates a pair of a head by the angle of its token; used by attention*. */
#ifndef CUDA_ROTATE_CUH
#define CUDA_ROTATE_CUH

#include "gpu.cuh"

__device__ inline void rotate_pair(float *a, float *b, float cosine, float sine)
{
    float first = *a * cosine - *b * sine;
    *b = *b * cosine + *a * sine;
    *a = first;
}

#endif
