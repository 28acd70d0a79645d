/* library_emulated.c - the entry point of libalibi_cuda_emulated.so, in place of cuda/library.c. */
#include "context.h"

static int library_open(struct backend **out, int ordinal, int32_t threads, enum dtype precision,
                        struct err *e)
{
    (void)threads; /* the host uses one thread */
    return cuda_open(out, "cuda:emulated", ordinal, precision, e);
}

static const struct backend_library emulated_library = {.version = BACKEND_VERSION,
                                                        .name = "cuda:emulated",
                                                        .open = library_open,
                                                        .transport = cuda_transport};

__attribute__((visibility("default"))) const struct backend_library *alibi_backend_library(void);

const struct backend_library *alibi_backend_library(void)
{
    return &emulated_library;
}
