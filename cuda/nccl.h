/* nccl.h - the part of NCCL that the CUDA backend calls. The library moves bytes and adds nothing.
 * On the emulated GPU sockets replace it (tests/cuda_emulation/nccl_emulated.c). */
#ifndef CUDA_NCCL_H
#define CUDA_NCCL_H

#include <cuda_runtime.h>
#include <stddef.h>

#include "base/err.h"

enum { /* ncclResult_t */
       NCCL_SUCCESS = 0,
       NCCL_INVALID_ARGUMENT = 4,
       NCCL_INVALID_USAGE = 5,
       NCCL_REMOTE_ERROR = 6,
       NCCL_IN_PROGRESS = 7
};
enum { NCCL_BYTES = 0 }; /* ncclInt8 */

struct nccl_id {
    char bytes[128];
};
typedef struct ncclComm *nccl_comm;

/* Field, function, result, arguments. */
#define NCCL_FUNCTIONS(F)                                                                          \
    F(version, ncclGetVersion, int, (int *))                                                       \
    F(text, ncclGetErrorString, const char *, (int))                                               \
    F(last_error, ncclGetLastError, const char *, (nccl_comm))                                     \
    F(id, ncclGetUniqueId, int, (struct nccl_id *))                                                \
    F(init, ncclCommInitRank, int, (nccl_comm *, int, struct nccl_id, int))                        \
    F(destroy, ncclCommDestroy, int, (nccl_comm))                                                  \
    F(async_error, ncclCommGetAsyncError, int, (nccl_comm, int *))                                 \
    F(group_start, ncclGroupStart, int, (void))                                                    \
    F(group_end, ncclGroupEnd, int, (void))                                                        \
    F(send, ncclSend, int, (const void *, size_t, int, int, nccl_comm, cudaStream_t))              \
    F(receive, ncclRecv, int, (void *, size_t, int, int, nccl_comm, cudaStream_t))

#define NCCL_FIELD(field, name, result, arguments) result(*field) arguments;
struct nccl {
    NCCL_FUNCTIONS(NCCL_FIELD)
};
#undef NCCL_FIELD

/* nccl_open - finds the library: libnccl.so.2, or the file that ALIBI_NCCL names. Errors:
 * ERR_NOINPUT there is none; ERR_UNAVAILABLE it cannot be used. */
int nccl_open(struct nccl *out, struct err *e);

#endif
