/* print_cublaslt.c - prints the version of the cuBLASLt that cuda/cublaslt.c finds, or why it finds
 * none. check_program.sh runs it with different libraries in the path. */
#include <stdio.h>

#include "gemm_internal.h"

int main(void)
{
    struct cublaslt lt;
    struct err e = {0};
    if (cublaslt_open(&lt, &e) < 0) {
        printf("%s\n", e.text);
        return err_exit_code(e.code);
    }
    printf("cuBLASLt %zu\n", lt.version());
    return 0;
}
