/* nvml_fake.c - the functions of libnvidia-ml.so.1 that src/scheduler calls, for machines without a
 * GPU.
 *
 * It also replaces libcuda.so.1, whose existence is all that matters. With
 * libalibi_cuda_emulated.so under the name libalibi_cuda.so beside the program, whole grids run on
 * emulated GPUs. The environment describes them, one word for each GPU:
 *   NVML_FAKE_FREE="BYTES BYTES …"   free memory, of 1e9 bytes
 *   NVML_FAKE_CAPABILITY="70 89 …"   compute capability (90)
 *   NVML_FAKE_OTHERS="0 2 …"         other programs that compute (0)
 *   NVML_FAKE_HELD=BYTES             memory that each of them holds (2e9; -1: unknown)
 *   NVML_FAKE_MIG="0 1 …"            whether it is divided into instances (0); each GPU n has one,
 *                                    MIG-fake-n
 *   NVML_FAKE_NAME="NAME,NAME,…"
 *   NVML_FAKE_INIT=STATUS            the driver fails to start with this status */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NVML_OK = 0, NVML_INVALID = 2, NVML_INSUFFICIENT_SIZE = 7, GPUS_MAX = 8 };
static const unsigned long long gpu_bytes = 1000000000;
static const char gpu_numbers[GPUS_MAX]; /* an element's address is a GPU's handle */

struct memory {
    unsigned long long total, free, used;
};

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **out);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **out);
int nvmlDeviceGetName(void *gpu, char *out, unsigned room);
int nvmlDeviceGetUUID(void *gpu, char *out, unsigned room);
int nvmlDeviceGetMemoryInfo(void *gpu, struct memory *out);
int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *n, struct process *list);
int nvmlDeviceGetCudaComputeCapability(void *gpu, int *major, int *minor);
int nvmlDeviceGetMigMode(void *gpu, unsigned *current, unsigned *pending);

/* Number i of a list in the environment, or `otherwise`. */
static unsigned long long number_in(const char *variable, unsigned i, unsigned long long otherwise)
{
    const char *list = getenv(variable);
    char *rest = NULL;
    for (; list && *list; list = rest) {
        unsigned long long value = strtoull(list, &rest, 10);
        if (rest == list) break;
        if (i-- == 0) return value;
    }
    return otherwise;
}

/* The free bytes of GPU number i; 0 if there is no such GPU. */
static unsigned long long free_bytes(unsigned i)
{
    return number_in("NVML_FAKE_FREE", i, 0);
}

static unsigned number_of(const void *gpu)
{
    return (unsigned)((const char *)gpu - gpu_numbers);
}

int nvmlInit_v2(void)
{
    return (int)number_in("NVML_FAKE_INIT", 0, NVML_OK);
}

int nvmlShutdown(void)
{
    return NVML_OK;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    for (*n = 0; *n < GPUS_MAX && free_bytes(*n) > 0;) ++*n;
    return NVML_OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **out)
{
    if (i >= GPUS_MAX || free_bytes(i) == 0) return NVML_INVALID;
    memcpy(out, &(const char *){gpu_numbers + i}, sizeof *out);
    return NVML_OK;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **out)
{
    unsigned i;
    return sscanf(uuid, "MIG-fake-%u", &i) == 1 ? nvmlDeviceGetHandleByIndex_v2(i, out)
                                                : NVML_INVALID;
}

int nvmlDeviceGetName(void *gpu, char *out, unsigned room)
{
    const char *name = getenv("NVML_FAKE_NAME");
    for (unsigned i = number_of(gpu); name && i > 0; i--) name = strchr(name, ',') + 1;
    if (name)
        snprintf(out, room, "%.*s", (int)strcspn(name, ","), name);
    else
        snprintf(out, room, "Fake GPU %u", number_of(gpu));
    return NVML_OK;
}

int nvmlDeviceGetUUID(void *gpu, char *out, unsigned room)
{
    snprintf(out, room, "GPU-fake-%u", number_of(gpu));
    return NVML_OK;
}

int nvmlDeviceGetMemoryInfo(void *gpu, struct memory *out)
{
    out->total = gpu_bytes;
    out->free = free_bytes(number_of(gpu));
    out->used = out->total - out->free;
    return NVML_OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *n, struct process *list)
{
    unsigned room = *n;
    *n = (unsigned)number_in("NVML_FAKE_OTHERS", number_of(gpu), 0);
    if (*n > room) return NVML_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < *n; i++)
        list[i] = (struct process){.pid = 1, .used = number_in("NVML_FAKE_HELD", 0, 2000000000)};
    return NVML_OK;
}

int nvmlDeviceGetCudaComputeCapability(void *gpu, int *major, int *minor)
{
    int capability = (int)number_in("NVML_FAKE_CAPABILITY", number_of(gpu), 90);
    *major = capability / 10;
    *minor = capability % 10;
    return NVML_OK;
}

int nvmlDeviceGetMigMode(void *gpu, unsigned *current, unsigned *pending)
{
    *current = *pending = (unsigned)number_in("NVML_FAKE_MIG", number_of(gpu), 0);
    return NVML_OK;
}
