/* cuda_runtime.h - the part of the CUDA runtime that this project's host code calls, implemented by
 * the emulator. Valid as C17 and C++17. Names, values and meanings are CUDA's.
 *
 * 1. The emulated device is device 0 of one process, used from one thread. Streams do not wait for
 *    each other.
 * 2. Work on a stream is deferred until something waits for it, so that code which forgets to wait
 *    reads old data. Only the default stream (NULL) runs its work at once.
 * 3. Device memory is NaN at first and has exactly the requested size. Only kernels and copies may
 *    access it; AddressSanitizer reports host code that does.
 * 4. Copies check on which side their pointers are. Stricter than CUDA, those of a stream take no
 *    pageable memory.
 * Settings from the environment: emulation_control.h. */
#ifndef CUDA_RUNTIME_H
#define CUDA_RUNTIME_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDART_VERSION = 13000 };

#define EMULATION_ERRORS(E)                                                                        \
    E(cudaSuccess, 0, "no error")                                                                  \
    E(cudaErrorInvalidValue, 1, "invalid argument")                                                \
    E(cudaErrorMemoryAllocation, 2, "out of memory")                                               \
    E(cudaErrorInitializationError, 3, "initialization error")                                     \
    E(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                          \
    E(cudaErrorStubLibrary, 34, "CUDA driver is a stub library")                                   \
    E(cudaErrorInsufficientDriver, 35,                                                             \
      "CUDA driver version is insufficient for CUDA runtime version")                              \
    E(cudaErrorDevicesUnavailable, 46, "CUDA-capable device(s) is/are busy or unavailable")        \
    E(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                \
    E(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                       \
    E(cudaErrorDeviceNotLicensed, 102, "device doesn't have valid Grid license")                   \
    E(cudaErrorNoKernelImageForDevice, 209,                                                        \
      "no kernel image is available for execution on the device")                                  \
    E(cudaErrorECCUncorrectable, 214, "uncorrectable ECC error encountered")                       \
    E(cudaErrorNvlinkUncorrectable, 220,                                                           \
      "uncorrectable NVLink error detected during the execution")                                  \
    E(cudaErrorJitCompilerNotFound, 221, "PTX JIT compiler library not found")                     \
    E(cudaErrorUnsupportedPtxVersion, 222,                                                         \
      "the provided PTX was compiled with an unsupported toolchain.")                              \
    E(cudaErrorJitCompilationDisabled, 223, "PTX JIT compilation was disabled")                    \
    E(cudaErrorContained, 226,                                                                     \
      "Invalid access of peer GPU memory over nvlink or a hardware error")                         \
    E(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                              \
    E(cudaErrorNotReady, 600, "device not ready")                                                  \
    E(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                      \
    E(cudaErrorHardwareStackError, 714, "hardware stack error")                                    \
    E(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                   \
    E(cudaErrorSystemNotReady, 802, "system not yet initialized")                                  \
    E(cudaErrorSystemDriverMismatch, 803,                                                          \
      "system has unsupported display driver / cuda driver combination")                           \
    E(cudaErrorCompatNotSupportedOnDevice, 804,                                                    \
      "forward compatibility was attempted on non supported HW")                                   \
    E(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")  \
    E(cudaErrorStreamCaptureInvalidated, 901,                                                      \
      "operation failed due to a previous error during capture")                                   \
    E(cudaErrorStreamCaptureUnmatched, 903,                                                        \
      "capture was not ended in the same stream as it began")                                      \
    E(cudaErrorUnknown, 999, "unknown error")

#define EMULATION_ERROR(name, value, text) name = value,
typedef enum cudaError { EMULATION_ERRORS(EMULATION_ERROR) } cudaError_t;
#undef EMULATION_ERROR

const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError(void);

/* ---- devices ---- */

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlockOptin;
    int major, minor, multiProcessorCount;
};

enum cudaDeviceAttr { cudaDevAttrMaxSharedMemoryPerBlockOptin = 97 };

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);

/* ---- streams and events ---- */

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

enum { cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventDisableTiming = 2 };

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);

/* ---- memory ---- */

enum cudaMemcpyKind {
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3
};

cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **out, size_t bytes);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemGetInfo(size_t *unused_bytes, size_t *total_bytes);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);

/* ---- graphs ---- */

typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;

enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone = 0,
    cudaStreamCaptureStatusActive = 1,
    cudaStreamCaptureStatusInvalidated = 2
};

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

#ifdef __cplusplus
}
#endif
#endif
