/* error.c - turns the status of a CUDA call into an error, and rejects calls that a graph capture
 * does not allow. */
#include "context.h"

int cuda_is_lost(int status)
{
    static const cudaError_t losses[] = {cudaErrorInitializationError,
                                         cudaErrorInsufficientDriver,
                                         cudaErrorDevicesUnavailable,
                                         cudaErrorNoDevice,
                                         cudaErrorInvalidDevice,
                                         cudaErrorNoKernelImageForDevice,
                                         cudaErrorECCUncorrectable,
                                         cudaErrorNvlinkUncorrectable,
                                         cudaErrorUnsupportedPtxVersion,
                                         cudaErrorLaunchTimeout,
                                         cudaErrorContained,
                                         cudaErrorSystemNotReady,
                                         cudaErrorSystemDriverMismatch,
                                         cudaErrorCompatNotSupportedOnDevice,
                                         cudaErrorUnknown};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (losses[i] == (cudaError_t)status) return 1;
    return 0;
}

/* What the user can do; "" if unknown. */
static const char *loss_remedy(int status)
{
    switch (status) {
    case cudaErrorSystemNotReady:
        return "; start the fabric manager (nvidia-fabricmanager) of this machine";
    case cudaErrorSystemDriverMismatch:
        return "; the kernel module and libcuda.so.1 differ: reboot, or reinstall both";
    case cudaErrorCompatNotSupportedOnDevice:
        return "; remove CUDA's compatibility libraries from LD_LIBRARY_PATH";
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorNoKernelImageForDevice:
        return "; this build has no code for it: build alibi with a newer CUDA";
    }
    return "";
}

/* A runtime of CUDA 12 or 13 works with any driver of that generation. */
static int driver_fault(const char *name, struct err *e)
{
    const int NEEDED = CUDART_VERSION / 1000;
    int offered = 0; /* 1000 major + 10 minor */
    (void)cudaDriverGetVersion(&offered);
    return ERR(e, ERR_UNAVAILABLE,
               "%s: the NVIDIA driver offers CUDA %d.%d, this build needs CUDA %d; install driver "
               "%d or later",
               name, offered / 1000, offered % 1000 / 10, NEEDED, NEEDED >= 13 ? 580 : 525);
}

int cuda_fault(struct cuda *c, int status, const char *where, struct err *e)
{
    cudaError_t error = (cudaError_t)status;
    const char *name = c->backend.name;
    if (error == cudaSuccess) return 0;
    (void)cudaGetLastError();
    if (error == cudaErrorMemoryAllocation) {
        size_t unused_bytes = 0, total_bytes = 0;
        (void)cudaMemGetInfo(&unused_bytes, &total_bytes);
        return ERR(e, ERR_NOMEM, "%s: %s: no memory: %zu of the GPU's %zu bytes are free", name,
                   where, unused_bytes, total_bytes);
    }
    if (error == cudaErrorInsufficientDriver) return driver_fault(name, e);
    if (cuda_is_lost(status))
        return ERR(e, ERR_UNAVAILABLE, "%s: %s: the GPU cannot be used: %s (%s)%s", name, where,
                   cudaGetErrorString(error), cudaGetErrorName(error), loss_remedy(status));
    return ERR(e, ERR_INTERNAL, "%s: %s: %s (%s)", name, where, cudaGetErrorString(error),
               cudaGetErrorName(error));
}

int cuda_forbid_in_capture(struct cuda *c, const char *what, struct err *e)
{
    if (!c->capturing) return 0;
    return ERR(e, ERR_INTERNAL,
               "%s: %s is not possible during graph capture; do the same work once before it",
               c->backend.name, what);
}
