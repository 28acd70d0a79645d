/* device.c - lists the devices of this machine.
 *
 * CUDA is not initialised here: a driver is present if its library opens, and NVML, which needs no
 * context, lists the GPUs. Speeds are rough estimates; they order work until runs were measured. */
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "scheduler/executor.h"
#include "scheduler/process.h"
#include "scheduler/slots.h"

/* The value of a line "name: value", whose name has the newline before it; "" if absent. */
static char *device_field(struct arena *a, const char *text, const char *name)
{
    const char *at = strstr(text, name);

    if (!at) return arena_strdup(a, "");
    at += strlen(name) + strspn(at + strlen(name), " \t:");
    return arena_strndup(a, at, strcspn(at, "\n"));
}

/* The first number after `name` in a file; fallback if there is none. why (may be NULL): as in
 * proc_read. */
static int64_t device_number(struct arena *a, const char *path, const char *name, int64_t fallback,
                             struct err *why)
{
    long long n;
    const char *at = strstr(proc_read(a, path, NULL, why), name);

    return at && sscanf(at + strlen(name), "%lld", &n) == 1 ? n : fallback;
}

/* Returns the CPU limit of a container in cores; INT_MAX: none. */
static int32_t device_quota(struct arena *a)
{
    long long quota, period;
    const char *text = proc_read(a, "/sys/fs/cgroup/cpu.max", NULL, NULL);

    if (sscanf(text, "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0)
        return INT_MAX;
    long long cores = (quota + period - 1) / period;
    return cores < INT_MAX ? (int32_t)cores : INT_MAX;
}

int32_t device_cores(int32_t *out, int32_t room, int32_t *workers_n)
{
    cpu_set_t set;
    struct arena arena;
    int32_t n = 0;

    CPU_ZERO(&set);
    arena_init(&arena);
    if (sched_getaffinity(0, sizeof set, &set) < 0) CPU_SET(0, &set);
    for (int32_t i = 0; i < CPU_SETSIZE && n < room; i++)
        if (CPU_ISSET(i, &set)) out[n++] = i;
    int32_t quota = device_quota(&arena);
    *workers_n = n < quota ? n : quota;
    arena_fini(&arena);
    return n;
}

/* Estimates the fp32 operations per second of one core in matrix products: the width of its
 * vectors, two such units, two operations a multiply-add, and two thirds of that, which a good
 * library reaches. */
static double device_core_flops(struct arena *a, const char *cpuinfo)
{
    double mhz;
    const char *flags = device_field(a, cpuinfo, "\nflags");
    double a_cycle = strstr(flags, " avx512f") ? 64 : strstr(flags, " fma") ? 32 : 8;

    if (!str_to_double(&mhz, device_field(a, cpuinfo, "\ncpu MHz")) || mhz <= 0) mhz = 2000;
    return a_cycle * mhz * 1e6 * 0.67;
}

/* Describes the CPU. Without memory sizes no run could be placed. */
static void device_fill_cpu(struct device *d, struct arena *a)
{
    struct err why = {.text = "/proc/meminfo has no line MemTotal"};
    int32_t core[SLOTS_MAX], workers_n;
    int32_t cores_n = device_cores(core, SLOTS_MAX, &workers_n);
    const char *cpuinfo = proc_read(a, "/proc/cpuinfo", NULL, NULL);
    const char *model = device_field(a, cpuinfo, "\nmodel name");

    *d = (struct device){.name = "cpu", .slots = workers_n, .is_counted = true};
    snprintf(d->description, sizeof d->description, "%.90s, %ld core%s",
             *model ? model : "unknown processor", (long)cores_n, cores_n == 1 ? "" : "s");
    d->memory_bytes = 1024 * device_number(a, "/proc/meminfo", "MemTotal:", 0, &why);
    d->free_bytes = 1024 * device_number(a, "/proc/meminfo", "MemAvailable:", 0, &why);
    int64_t limit = device_number(a, "/sys/fs/cgroup/memory.max", "", d->memory_bytes, &why);
    /* The kernel reclaims the page cache when needed. */
    int64_t used = device_number(a, "/sys/fs/cgroup/memory.current", "", 0, &why) -
                   device_number(a, "/sys/fs/cgroup/memory.stat", "\nfile ", 0, NULL);
    if (limit < d->memory_bytes) {
        d->memory_bytes = limit;
        if (limit - used < d->free_bytes) d->free_bytes = limit - used;
    }
    if (why.code != 0 || d->memory_bytes == 0)
        snprintf(d->unusable, sizeof d->unusable, "its memory is unknown: %s", why.text);
    d->flops_per_s = device_core_flops(a, cpuinfo);
}

/* True if a backend's library is beside the program or in lib/ of its installation. */
static bool device_has_library(struct arena *a, const char *name)
{
    struct err why = {0};
    char path[PATH_MAX];

    if (file_program(path, sizeof path, &why) < 0) return false;
    *strrchr(path, '/') = '\0';
    return file_exists(arena_printf(a, "%s/%s", path, name)) ||
           file_exists(arena_printf(a, "%s/../lib/%s", path, name));
}

/* The part of NVML's interface used here, from its public documentation. */
struct device_nvml_memory {
    unsigned long long total, free, used;
};
struct device_nvml_process {
    unsigned pid;
    unsigned long long used; /* bytes; all bits set: unknown */
    unsigned gpu_instance, compute_instance;
};
struct device_nvml {
    int (*init)(void), (*shutdown)(void);
    int (*count)(unsigned *);
    int (*handle)(unsigned, void **);
    int (*find)(const char *uuid, void **);
    int (*name)(void *, char *, unsigned);
    int (*memory)(void *, struct device_nvml_memory *);
    int (*uuid)(void *, char *, unsigned);
    int (*processes)(void *, unsigned *, struct device_nvml_process *);
    int (*capability)(void *, int *, int *);
    int (*mig_mode)(void *, unsigned *current, unsigned *pending);
};

enum { NVML_INSUFFICIENT_SIZE = 7, PROCESSES_MAX = 64 };

/* A program that computes holds more; a desktop, its browser and video players hold less. */
static const unsigned long long busy_bytes = 1000000000;

static bool device_nvml_load(struct device_nvml *f, void *library)
{
    const struct {
        const char *name;
        void *to;
    } rows[] = {{"nvmlInit_v2", &f->init},
                {"nvmlShutdown", &f->shutdown},
                {"nvmlDeviceGetCount_v2", &f->count},
                {"nvmlDeviceGetHandleByIndex_v2", &f->handle},
                {"nvmlDeviceGetHandleByUUID", &f->find},
                {"nvmlDeviceGetName", &f->name},
                {"nvmlDeviceGetMemoryInfo", &f->memory},
                {"nvmlDeviceGetUUID", &f->uuid},
                {"nvmlDeviceGetComputeRunningProcesses_v3", &f->processes},
                {"nvmlDeviceGetCudaComputeCapability", &f->capability},
                {"nvmlDeviceGetMigMode", &f->mig_mode}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *symbol = dlsym(library, rows[i].name);
        if (!symbol) return false;
        memcpy(rows[i].to, &symbol, sizeof symbol);
    }
    return true;
}

/* True if the caller's CUDA_VISIBLE_DEVICES includes the GPU: a list of numbers and of beginnings
 * of UUIDs, which ends at the first word that is neither, as CUDA reads it. NVML shows every GPU.
 */
static bool device_is_visible(unsigned number, const char *uuid)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    if (!list) return true;
    for (const char *word = list; *word; word += *word == ',') {
        char *end;
        size_t n = strcspn(word, ",");
        unsigned long value = strtoul(word, &end, 10);
        bool is_number = *word >= '0' && *word <= '9' && end == word + n;
        bool is_uuid = n > 4 && strncmp(word, "GPU-", 4) == 0;
        if (!is_number && !is_uuid) return false;
        if (is_number ? value == number : strncmp(uuid, word, n) == 0) return true;
        word += n;
    }
    return false;
}

/* Sets the reason why a GPU generation cannot run the kernels; "": it can. */
static void device_check_capability(struct device *d, int major, int minor)
{
    enum { LEAST = 8 };
    const char *generation = major < 6    ? "a generation before Pascal"
                             : major == 6 ? "Pascal"
                             : minor >= 5 ? "Turing"
                                          : "Volta";
    if (major >= LEAST) return;
    snprintf(d->unusable, sizeof d->unusable,
             "compute capability %d.%d (%s), alibi needs 8.0 (A100, RTX 30 series) or later: bf16 "
             "tensor cores, asynchronous copies",
             major, minor, generation);
}

/* Counts the programs that hold more than busy_bytes. used: memory of the whole GPU, for programs
 * whose memory the driver does not know. */
static int32_t device_others(const struct device_nvml *f, void *handle, unsigned long long used)
{
    struct device_nvml_process list[PROCESSES_MAX];
    unsigned n = PROCESSES_MAX;
    int32_t others_n = 0;
    int status = f->processes(handle, &n, list);

    if (status == NVML_INSUFFICIENT_SIZE) return (int32_t)n;
    for (unsigned i = 0; status == 0 && i < n; i++)
        others_n += (list[i].used == ~0ULL ? used : list[i].used) > busy_bytes;
    return others_n;
}

/* Describes a GPU or a MIG instance. */
static void device_fill_gpu(struct device *d, const struct device_nvml *f, void *handle)
{
    struct device_nvml_memory memory = {0};
    char name[96] = "";
    int major = 0, minor = 0;

    if (f->name(handle, name, sizeof name) != 0) name[0] = '\0';
    if (f->memory(handle, &memory) != 0)
        snprintf(d->unusable, sizeof d->unusable, "the driver does not report its memory");
    d->memory_bytes = (int64_t)memory.total;
    d->free_bytes = (int64_t)memory.free;
    d->others_n = device_others(f, handle, memory.used);
    if (f->capability(handle, &major, &minor) == 0) device_check_capability(d, major, minor);
    snprintf(d->model, sizeof d->model, "%s", *name ? name : "NVIDIA GPU");
    int n = snprintf(d->description, sizeof d->description, "%s", d->model);
    if (d->others_n > 0)
        snprintf(d->description + n, sizeof d->description - (size_t)n, ", busy: %ld program%s",
                 (long)d->others_n, d->others_n == 1 ? "" : "s");
}

static void device_fill_whole_gpu(struct device *d, const struct device_nvml *f, unsigned number)
{
    void *handle;
    unsigned has_instances = 0, later = 0;

    snprintf(d->name, sizeof d->name, "cuda:%u", number);
    if (f->handle(number, &handle) != 0) {
        snprintf(d->unusable, sizeof d->unusable, "the driver does not answer for this GPU");
        return;
    }
    if (f->uuid(handle, d->uuid, sizeof d->uuid) != 0) d->uuid[0] = '\0';
    device_fill_gpu(d, f, handle);
    if (!device_is_visible(number, d->uuid))
        snprintf(d->unusable, sizeof d->unusable, "CUDA_VISIBLE_DEVICES=%.100s leaves it out",
                 getenv("CUDA_VISIBLE_DEVICES"));
    else if (f->mig_mode(handle, &has_instances, &later) == 0 && has_instances)
        snprintf(d->unusable, sizeof d->unusable,
                 "it is divided into MIG instances; name them in CUDA_VISIBLE_DEVICES=MIG-… "
                 "(`nvidia-smi -L` lists them)");
}

/* Lists the MIG instances in CUDA_VISIBLE_DEVICES. They are the devices if the list begins with
 * one; cuda:0 is the first. */
static int32_t device_list_instances(struct device *out, int32_t room, const struct device_nvml *f)
{
    int32_t n = 0;
    void *handle;

    for (const char *word = getenv("CUDA_VISIBLE_DEVICES"); word && n < room;) {
        size_t length = strcspn(word, ",");
        struct device *d = &out[n];
        if (strncmp(word, "MIG-", 4) != 0 || length >= sizeof d->uuid) break;
        snprintf(d->name, sizeof d->name, "cuda:%ld", (long)n++);
        snprintf(d->uuid, sizeof d->uuid, "%.*s", (int)length, word);
        if (f->find(d->uuid, &handle) == 0)
            device_fill_gpu(d, f, handle);
        else
            snprintf(d->unusable, sizeof d->unusable,
                     "CUDA_VISIBLE_DEVICES: the driver does not know %s; `nvidia-smi -L` lists the "
                     "instances",
                     d->uuid);
        word = word[length] ? word + length + 1 : NULL;
    }
    return n;
}

/* Lists the GPUs of NVML; if there are none, 0 and why. */
static int32_t device_list_gpus(struct device *out, int32_t room, const char **why)
{
    struct device_nvml f;
    unsigned gpus_n = 0;
    int32_t n = 0;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

    *why = "the NVIDIA driver lacks libnvidia-ml.so.1, which shows GPUs: install its utilities "
           "(nvidia-utils, libnvidia-ml1)";
    if (!library) return 0;
    *why = "the NVIDIA driver does not start: run nvidia-smi for the reason; a reboot often helps";
    if (!device_nvml_load(&f, library) || f.init() != 0) goto out;
    *why = "the NVIDIA driver is there but shows no GPU";
    for (int32_t i = 0; i < room; i++) out[i] = (struct device){.slots = 1, .flops_per_s = 2e13};
    n = device_list_instances(out, room, &f);
    if (n == 0 && f.count(&gpus_n) != 0) gpus_n = 0;
    for (; n < (int32_t)gpus_n && n < room; n++) device_fill_whole_gpu(&out[n], &f, (unsigned)n);
    f.shutdown();
out:
    dlclose(library);
    return n;
}

/* Describes the emulated GPU of tests/cuda_emulation. */
static void device_fill_emulated(struct device *d, const struct device *cpu)
{
    *d = (struct device){.name = "cuda:emulated",
                         .description = "emulated GPU, for tests",
                         .memory_bytes = cpu->memory_bytes,
                         .free_bytes = cpu->free_bytes,
                         .slots = 1,
                         .flops_per_s = 1e7,
                         .is_test = true};
}

int local_devices(struct device *out, int32_t room, int32_t *n, struct err *e)
{
    struct arena arena;

    *n = 0;
    if (room < 2) return ERR(e, ERR_INTERNAL, "a list of devices needs room for 2, not %d", room);
    arena_init(&arena);
    device_fill_cpu(&out[(*n)++], &arena);
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    bool has_library = device_has_library(&arena, "libalibi_cuda.so");
    const char *why =
        "no NVIDIA driver: libcuda.so.1 is not on this machine; install it, or use cpu";
    int32_t gpus_n = driver ? device_list_gpus(out + 1, room - 1, &why) : 0;
    if (gpus_n == 0) {
        out[1] = (struct device){.name = "cuda:0", .description = "NVIDIA GPU"};
        snprintf(out[1].unusable, sizeof out[1].unusable, "%s", why);
        gpus_n = 1;
    }
    for (int32_t i = 1; i <= gpus_n; i++)
        if (!has_library && !*out[i].unusable)
            snprintf(out[i].unusable, sizeof out[i].unusable,
                     "built without CUDA: libalibi_cuda.so is not beside the program; run make "
                     "where nvcc is, or take the bundle");
    *n += gpus_n;
    if (*n < room && device_has_library(&arena, "libalibi_cuda_emulated.so"))
        device_fill_emulated(&out[(*n)++], &out[0]);
    if (driver) dlclose(driver);
    arena_fini(&arena);
    return 0;
}
