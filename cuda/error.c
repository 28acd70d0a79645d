/* error.c - turns the status of a CUDA call into an error, and rejects calls that a graph capture
 * does not allow. */
#include "context.h"

/* CUDA's cudaErrorContained; headers before CUDA 12.8 lack the name. */
enum { ERROR_CONTAINED = 226 };

/* Errors of the machine. Lost: no process of this run can use the device; otherwise a fault of a
 * kernel looks the same, and the scheduler tries the run again. remedy: NULL if unknown. */
static const struct cause {
    int status;
    bool is_lost;
    const char *remedy;
} causes[] = {
    {cudaErrorInitializationError, true, NULL},
    {cudaErrorStubLibrary, true,
     "libcuda.so.1 is the toolkit's stub: remove its folder (lib64/stubs) from LD_LIBRARY_PATH"},
    {cudaErrorInsufficientDriver, true, NULL},
    {cudaErrorDevicesUnavailable, true, NULL},
    {cudaErrorNoDevice, true, NULL},
    {cudaErrorInvalidDevice, true, NULL},
    {cudaErrorDeviceNotLicensed, true,
     "this virtual GPU has no license: `nvidia-smi -q` shows its state; start nvidia-gridd"},
    {cudaErrorNoKernelImageForDevice, true,
     "this build has no code for it: build alibi with a newer CUDA"},
    {cudaErrorECCUncorrectable, true, NULL},
    {cudaErrorNvlinkUncorrectable, true, NULL},
    {cudaErrorJitCompilerNotFound, true,
     "install the driver's libnvidia-ptxjitcompiler.so.1, or build alibi with CUDA_TARGETS that "
     "include this GPU"},
    {cudaErrorUnsupportedPtxVersion, true,
     "this build has no code for it: build alibi with a newer CUDA"},
    {cudaErrorJitCompilationDisabled, true,
     "unset CUDA_DISABLE_PTX_JIT, or build alibi with CUDA_TARGETS that include this GPU"},
    {ERROR_CONTAINED, true, NULL},
    {cudaErrorLaunchTimeout, true, NULL},
    {cudaErrorHardwareStackError, false, "use another GPU if `dmesg` shows an Xid of this one"},
    {cudaErrorLaunchFailure, false, "use another GPU if `dmesg` shows an Xid of this one"},
    {cudaErrorSystemNotReady, true,
     "start the fabric manager (nvidia-fabricmanager) of this machine"},
    {cudaErrorSystemDriverMismatch, true,
     "the kernel module and libcuda.so.1 differ: reboot, or reinstall both"},
    {cudaErrorCompatNotSupportedOnDevice, true,
     "remove CUDA's compatibility libraries from LD_LIBRARY_PATH"},
    {cudaErrorUnknown, true, NULL},
};

/* Finds the row of a status; NULL: the table has none. */
static const struct cause *cause_of(int status)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (causes[i].status == status) return &causes[i];
    return NULL;
}

int cuda_is_lost(int status)
{
    const struct cause *cause = cause_of(status);
    return cause && cause->is_lost;
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
    const struct cause *cause = cause_of(status);
    bool is_lost = cause && cause->is_lost, has_remedy = cause && cause->remedy;
    return ERR(e, is_lost ? ERR_UNAVAILABLE : ERR_INTERNAL, "%s: %s: %s%s (%s)%s%s", name, where,
               is_lost ? "the GPU cannot be used: " : "", cudaGetErrorString(error),
               cudaGetErrorName(error), has_remedy ? "; " : "", has_remedy ? cause->remedy : "");
}

int cuda_forbid_in_capture(struct cuda *c, const char *what, struct err *e)
{
    if (!c->capturing) return 0;
    return ERR(e, ERR_INTERNAL,
               "%s: %s is not possible during graph capture; do the same work once before it",
               c->backend.name, what);
}
