/* library.c - the entry point of libalibi_cuda.so, which backend_open calls. */
#include <stdio.h>

#include "context.h"

static int library_open(struct backend **out, int ordinal, int32_t threads, enum dtype precision,
                        struct err *e)
{
    char name[32];
    (void)threads; /* the host uses one thread */
    snprintf(name, sizeof name, "cuda:%d", ordinal);
    return cuda_open(out, name, ordinal, precision, e);
}

static const struct backend_library cuda_library = {
    .version = BACKEND_VERSION, .name = "cuda", .open = library_open, .transport = cuda_transport};

__attribute__((visibility("default"))) const struct backend_library *alibi_backend_library(void);

const struct backend_library *alibi_backend_library(void)
{
    return &cuda_library;
}
