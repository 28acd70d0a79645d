/* selftest.cu - tests every primitive that kernels use, and every call of the runtime, against its
 * documented meaning.
 *
 * nvcc compiles this program for a real GPU, and a host compiler for the emulator. If both print ok,
 * the emulator lays out registers as the hardware does. Prints a line for each case; exit status 0
 * if all pass, 77 without a device. */
#include "selftest.h"

void selftest_must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return;
    printf("FAIL  %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

static int run(const struct selftest_row *r)
{
    int failed = 0;
    for (; r->name; r++) {
        if (r->bug) continue;
        int wrong = r->wrong(0);
        failed += wrong != 0;
        printf("%s  %s", wrong ? "FAIL" : "ok  ", r->name);
        if (wrong) printf(": %d wrong", wrong);
        putchar('\n');
        fflush(stdout);
    }
    return failed;
}

int main()
{
    enum { SKIPPED = 77 };
    int devices = 0;
    cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess || devices == 0) {
        printf("skipped: no CUDA device: %s\n", cudaGetErrorString(error));
        return SKIPPED;
    }
    struct cudaDeviceProp p;
    MUST(cudaGetDeviceProperties(&p, 0));
    printf("self-test on %s, sm_%d%d\n", p.name, p.major, p.minor);
    int failed = run(selftest_warp) + run(selftest_block) + run(selftest_runtime);
    printf("self-test: %s\n", failed ? "FAILED" : "ok");
    return failed != 0;
}
