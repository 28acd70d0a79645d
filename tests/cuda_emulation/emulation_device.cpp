/* emulation_device.cpp - the emulated device: properties, errors, and loss of the device. */
#include "emulation_device.h"

#include <stdlib.h>

static struct {
    cudaError_t last;
    bool lost, asked;
    long launches_left; /* until the device is lost; negative: never */
} device = {cudaSuccess, false, false, -1};

struct error_text {
    cudaError_t error;
    const char *name, *text;
};

static const struct error_text error_texts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorSystemNotReady, "cudaErrorSystemNotReady", "system not yet initialized"},
    {cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch",
     "system has unsupported display driver / cuda driver combination"},
    {cudaErrorCompatNotSupportedOnDevice, "cudaErrorCompatNotSupportedOnDevice",
     "forward compatibility was attempted on non supported HW"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
};

static const struct error_text *error_text_of(cudaError_t error)
{
    static const struct error_text unknown = {cudaErrorUnknown, "cudaErrorUnknown",
                                              "unknown error"};
    for (const struct error_text &t : error_texts)
        if (t.error == error) return &t;
    return &unknown;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error_text_of(error)->name;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error_text_of(error)->text;
}

cudaError_t device_error(cudaError_t error, const char *sentence)
{
    if (sentence) fprintf(stderr, "emulation: %s (%s)\n", sentence, cudaGetErrorName(error));
    device.last = error;
    return error;
}

cudaError_t cudaPeekAtLastError()
{
    return device.lost ? cudaErrorECCUncorrectable : device.last;
}

cudaError_t cudaGetLastError()
{
    cudaError_t error = cudaPeekAtLastError();
    device.last = cudaSuccess;
    return error;
}

/* ---- loss ---- */

static void counts_print()
{
    const emulation_counts *c = &emulation_counted;
    fprintf(stderr,
            "emulation: %ld launches, %ld blocks, %ld switches, %ld barriers, %ld products, %ld "
            "row loads with %ld bank conflicts, %ld asynchronous copies\n",
            c->launches, c->blocks, c->switches, c->barriers, c->products, c->row_loads,
            c->bank_conflicts, c->copies);
}

/* A setting "N" or "N@GPU", which counts only if that GPU is visible; -1: none. */
static long device_setting(const char *name)
{
    const char *text = getenv(name), *visible = getenv("CUDA_VISIBLE_DEVICES");
    const char *which = text ? strchr(text, '@') : nullptr;
    if (!text || (which && (!visible || strcmp(visible, which + 1) != 0))) return -1;
    return strtol(text, nullptr, 10);
}

static void device_ask_environment()
{
    device.asked = true;
    device.launches_left = device_setting("EMULATION_LOSE");
    if (getenv("EMULATION_COUNTS")) atexit(counts_print);
}

void emulation_lose_device(long launches)
{
    device.asked = true;
    device.launches_left = launches;
}

cudaError_t device_lost()
{
    return device.lost ? cudaErrorECCUncorrectable : cudaSuccess;
}

cudaError_t device_count_launch()
{
    if (!device.asked) device_ask_environment();
    if (device.launches_left >= 0 && device.launches_left-- == 0) device.lost = true;
    return device_lost();
}

/* ---- properties ---- */

enum { SHARED_DEFAULT = 48 << 10, SHARED_OPTIN = 227 << 10, PROCESSORS = 132 };

static size_t shared_most;

void emulation_set_shared(size_t bytes)
{
    shared_most = bytes;
}

size_t emulation_shared_most()
{
    if (shared_most > 0) return shared_most;
    const char *kilobytes = getenv("EMULATION_SHARED");
    shared_most = SHARED_OPTIN;
    if (kilobytes) shared_most = strtoul(kilobytes, nullptr, 10) << 10;
    return shared_most;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    long refused = device_setting("EMULATION_OPEN");
    *count = refused > 0 ? 0 : 1;
    return refused > 0 ? device_error((cudaError_t)refused, nullptr) : cudaSuccess;
}

cudaError_t cudaGetDevice(int *number)
{
    *number = 0;
    return device_lost();
}

cudaError_t cudaSetDevice(int number)
{
    if (number != 0) return device_error(cudaErrorInvalidDevice, "there is only device 0");
    return device_lost();
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int number)
{
    size_t unused_bytes;
    if (number != 0) return device_error(cudaErrorInvalidDevice, "there is only device 0");
    *p = {};
    snprintf(p->name, sizeof p->name, "emulated GPU");
    memcpy(p->uuid.bytes, "alibi-emulated-0", sizeof p->uuid.bytes);
    p->sharedMemPerBlock = SHARED_DEFAULT;
    p->sharedMemPerBlockOptin = emulation_shared_most();
    p->sharedMemPerMultiprocessor = emulation_shared_most() + 1024; /* the system uses 1 KB */
    p->regsPerBlock = 65536;
    p->warpSize = 32;
    p->maxThreadsPerBlock = 1024;
    p->major = 9;
    p->multiProcessorCount = PROCESSORS;
    p->l2CacheSize = 50 << 20;
    p->memoryBusWidth = 6144;
    return cudaMemGetInfo(&unused_bytes, &p->totalGlobalMem);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int number)
{
    if (number != 0) return device_error(cudaErrorInvalidDevice, "there is only device 0");
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        *value = 1024;
        return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        *value = PROCESSORS;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
        *value = 9;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
        *value = 0;
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = (int)emulation_shared_most();
        return cudaSuccess;
    }
    return device_error(cudaErrorInvalidValue, "an attribute that the emulator lacks");
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int number)
{
    if (number != 0) return device_error(cudaErrorInvalidDevice, "there is only device 0");
    snprintf(text, (size_t)bytes, "0000:00:00.0");
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    const int OLD = 12040; /* driver 550, for EMULATION_OPEN=35 */
    bool is_old = device_setting("EMULATION_OPEN") == (long)cudaErrorInsufficientDriver;
    *version = is_old ? OLD : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDeviceReset()
{
    stream_drain_all();
    memory_release_all();
    device.last = cudaSuccess;
    device.lost = false;
    device.launches_left = -1;
    return cudaSuccess;
}
