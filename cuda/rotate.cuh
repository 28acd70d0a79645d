/* rotate.cuh - a pair of a head turned by the angle of its token; attention*. */
#ifndef CUDA_TURN_CUH
#define CUDA_TURN_CUH

#include "gpu.cuh"

__device__ inline void rotate_pair(float *a, float *b, float cosine, float sine)
{
    float first = *a * cosine - *b * sine;
    *b = *b * cosine + *a * sine;
    *a = first;
}

#endif
