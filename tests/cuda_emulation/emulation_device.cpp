/* emulation_device.cpp - the emulated device: properties, errors, and loss of the device. */
#include "emulation_device.h"

#include <stdlib.h>

static struct {
    cudaError_t last;
    bool lost, asked;
    long launches_left; /* until the device is lost; negative: never */
} device = {cudaSuccess, false, false, -1};

static const struct error_text {
    cudaError_t error;
    const char *name, *text;
} error_texts[] = {
#define ERROR_TEXT(name, value, text) {name, #name, text},
    EMULATION_ERRORS(ERROR_TEXT)
#undef ERROR_TEXT
};

static const struct error_text *error_text_of(cudaError_t error)
{
    const struct error_text *t = error_texts;
    while (t->error != error && t->error != cudaErrorUnknown) t++; /* the last is unknown */
    return t;
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

cudaError_t cudaGetLastError()
{
    cudaError_t error = device.lost ? cudaErrorECCUncorrectable : device.last;
    device.last = cudaSuccess;
    return error;
}

/* ---- loss ---- */

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
}

cudaError_t device_refuse_kernel()
{
    static const long refusal = device_setting("EMULATION_LAUNCH");
    return refusal > 0 ? device_error((cudaError_t)refusal, nullptr) : cudaSuccess;
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

enum { SHARED_OPTIN = 227 << 10 };

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
    *p = {"emulated GPU", 0, emulation_shared_most(), 9, 0, 132};
    return cudaMemGetInfo(&unused_bytes, &p->totalGlobalMem);
}

/* The only attribute that this runtime knows. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr, int number)
{
    if (number != 0) return device_error(cudaErrorInvalidDevice, "there is only device 0");
    *value = (int)emulation_shared_most();
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    const int OLD = 12040; /* driver 550, for EMULATION_OPEN=35 */
    bool is_old = device_setting("EMULATION_OPEN") == (long)cudaErrorInsufficientDriver;
    *version = is_old ? OLD : CUDART_VERSION;
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
