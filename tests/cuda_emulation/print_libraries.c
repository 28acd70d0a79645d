/* print_libraries.c - prints the version of the cuBLASLt that cuda/cublaslt.c finds, or with the
 * argument nccl whether cuda/nccl.c finds NCCL; or why not. check_program.sh runs it with different
 * libraries in the path. */
#include <stdio.h>

#include "gemm_internal.h"
#include "nccl.h"

int main(int argc, char **argv)
{
    struct cublaslt lt;
    struct nccl nccl;
    struct err e = {0};
    (void)argv;
    if ((argc > 1 ? nccl_open(&nccl, &e) : cublaslt_open(&lt, &e)) < 0) {
        printf("%s\n", e.text);
        return err_exit_code(e.code);
    }
    if (argc > 1)
        printf("NCCL is here\n");
    else
        printf("cuBLASLt %zu\n", lt.version());
    return 0;
}
