/* cpu.c - the CPU backend: open and close, memory, threads, table of ops. */
#include "cpu/cpu.h"

#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "group/group.h"

enum {
    CPU_HUGE_PAGE = 1 << 21,
    CPU_ALIGNMENT = 64,
    CPU_THREADS_MAX = 1024,
    CPU_FLUSH_BITS = 0x8040
};

static const struct simd_kernels *const cpu_simd_sets[] = {
#if defined(__x86_64__)
    &simd_kernels_v4,
    &simd_kernels_v3,
#endif
    &simd_kernels_base,
};

static bool cpu_simd_runs(const char *name)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
              __builtin_cpu_supports("avx512cd");
    if (strcmp(name, "v4") == 0) return v4;
    if (strcmp(name, "v3") == 0) return v3;
#endif
    return strcmp(name, "base") == 0;
}

const struct simd_kernels *cpu_simd_named(const char *name)
{
    for (size_t i = 0; i < sizeof cpu_simd_sets / sizeof *cpu_simd_sets; i++)
        if (strcmp(cpu_simd_sets[i]->name, name) == 0 && cpu_simd_runs(name))
            return cpu_simd_sets[i];
    return NULL;
}

int cpu_simd_choose(const struct simd_kernels **out, struct err *e)
{
    const char *name = getenv("ALIBI_KERNELS");
    *out = NULL;
    for (size_t i = 0; !*out && i < sizeof cpu_simd_sets / sizeof *cpu_simd_sets; i++)
        if (!name || strcmp(name, cpu_simd_sets[i]->name) == 0)
            *out = cpu_simd_named(cpu_simd_sets[i]->name);
    if (*out) return 0;
    return ERR(e, ERR_USAGE, "ALIBI_KERNELS=%s: this processor lacks them; expected %s", name,
               cpu_simd_named("v4")   ? "base, v3 or v4"
               : cpu_simd_named("v3") ? "base or v3"
                                      : "base");
}

/* In every computing thread, subnormal results and operands are zero, and a library that uses
 * OpenMP must not create threads inside a product. */
static void cpu_prepare_thread(void)
{
    if (omp_get_max_threads() != 1) omp_set_num_threads(1);
#if defined(__SSE2__)
    unsigned int control = _mm_getcsr();
    if ((control & CPU_FLUSH_BITS) != CPU_FLUSH_BITS) _mm_setcsr(control | CPU_FLUSH_BITS);
#endif
}

static void cpu_run_range(struct cpu *c, int64_t n, int64_t grain, int32_t thread, int32_t threads,
                          simd_kernel *kernel, const void *args)
{
    int64_t grains = (n + grain - 1) / grain;
    struct simd_range range = {.begin = grains * thread / threads * grain,
                               .end = grains * (thread + 1) / threads * grain,
                               .scratch = c->scratch_own[thread].data_own};
    if (range.end > n) range.end = n;
    if (range.begin >= range.end) return;
    cpu_prepare_thread();
    kernel(args, range);
}

void cpu_parallel(struct backend *b, int64_t n, int64_t grain, simd_kernel *kernel,
                  const void *args)
{
    int32_t threads = b->threads;
    if (threads == 1 || n <= grain) {
        cpu_run_range(cpu_of(b), n, grain, 0, 1, kernel, args);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int32_t thread = 0; thread < threads; thread++)
        cpu_run_range(cpu_of(b), n, grain, thread, threads, kernel, args);
}

static int cpu_scratch_grow(struct cpu_scratch *s, size_t bytes, struct err *e)
{
    size_t rounded = (bytes + 4095) / 4096 * 4096;
    if (s->bytes >= bytes) return 0;
    free(s->data_own);
    *s = (struct cpu_scratch){.data_own = aligned_alloc(CPU_ALIGNMENT, rounded)};
    if (!s->data_own)
        return ERR(e, ERR_NOMEM, "cpu: out of memory for %zu bytes of scratch per thread", rounded);
    memset(s->data_own, 0, rounded);
    s->bytes = rounded;
    return 0;
}

int cpu_scratch_reserve(struct cpu *c, size_t bytes, struct err *e)
{
    for (int32_t t = 0; t < c->backend.threads; t++)
        TRY(cpu_scratch_grow(&c->scratch_own[t], bytes, e));
    return 0;
}

int cpu_scratch_reserve_first(struct cpu *c, size_t bytes, struct err *e)
{
    return cpu_scratch_grow(&c->scratch_own[0], bytes, e);
}

static void cpu_close(struct backend *b)
{
    if (!b) return;
    struct cpu *c = cpu_of(b);
    for (int32_t t = 0; c->scratch_own && t < b->threads; t++) free(c->scratch_own[t].data_own);
    free(c->scratch_own);
    free(c);
}

static int cpu_alloc(struct backend *b, void **out, size_t bytes, struct err *e)
{
    (void)b;
    size_t alignment = bytes >= 2 * (size_t)CPU_HUGE_PAGE ? CPU_HUGE_PAGE : CPU_ALIGNMENT;
    size_t rounded = (bytes / alignment + 1) * alignment;
    *out = rounded > bytes ? aligned_alloc(alignment, rounded) : NULL;
    if (!*out) return ERR(e, ERR_NOMEM, "cpu: out of memory for %zu bytes", bytes);
    /* Huge pages avoid page-table walks when matrices are read across rows. This is only advice:
     * ignore errors. */
    if (alignment == CPU_HUGE_PAGE) (void)madvise(*out, rounded, MADV_HUGEPAGE);
    memset(*out, 0, bytes); /* touch all pages now, so that the peak memory counts them */
    return 0;
}

static void cpu_release(struct backend *b, void *p)
{
    (void)b;
    free(p);
}

static int cpu_copy(struct backend *b, void *dst, const void *src, size_t bytes, struct err *e)
{
    (void)b;
    (void)e;
    if (bytes > 0) memmove(dst, src, bytes);
    return 0;
}

static int cpu_zero(struct backend *b, void *dst, size_t bytes, struct err *e)
{
    (void)b;
    (void)e;
    if (bytes > 0) memset(dst, 0, bytes);
    return 0;
}

static int cpu_sync(struct backend *b, struct err *e)
{
    (void)b;
    (void)e;
    return 0;
}

/* The peak resident size as counted by the kernel. */
static int cpu_peak_bytes(struct backend *b, int64_t *out, struct err *e)
{
    (void)b;
    char line[256];
    long long kib = -1;
    FILE *f = fopen("/proc/self/status", "re");
    if (!f) return ERR(e, ERR_IO, "/proc/self/status: %s", strerror(errno));
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lld kB", &kib) == 1) break;
    fclose(f);
    if (kib < 0) return ERR(e, ERR_IO, "/proc/self/status: no line VmHWM");
    *out = (int64_t)kib * 1024;
    return 0;
}

static int cpu_group_join(struct backend *b, struct group *g, struct err *e)
{
    (void)e;
    b->group = g;
    return 0;
}

static int cpu_exchange(struct backend *b, const struct group_transfer *list, int32_t n,
                        struct err *e)
{
    return group_exchange(b->group, list, n, e);
}

/* Fused ops that src/ops composes. */
#define cpu_linear_relu NULL
#define cpu_linear_bwd_relu NULL
#define cpu_residual_layernorm_bwd NULL

#define ENTRY(NAME, name, args) .name = cpu_##name,
static const struct backend_ops cpu_ops = {
    BACKEND_OPS(ENTRY)
#undef ENTRY
        .close = cpu_close,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .upload = cpu_copy,
    .download = cpu_copy,
    .copy = cpu_copy,
    .zero = cpu_zero,
    .sync = cpu_sync,
    .peak_bytes = cpu_peak_bytes,
    .host_memory = 1,
    .group_join = cpu_group_join,
    .exchange = cpu_exchange,
};

/* Describes the backend, such as "AMD EPYC, 1 thread, v4 kernels", with the name of the processor
 * from /proc/cpuinfo. */
static void cpu_describe(struct cpu *c)
{
    char line[256], model[56] = "processor";
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %55[^\n]", model) == 1) break;
    if (f) fclose(f);
    snprintf(c->backend.device, sizeof c->backend.device, "%s, %d thread%s, %s kernels", model,
             c->backend.threads, c->backend.threads == 1 ? "" : "s", c->simd->name);
}

static int cpu_open(struct backend **out, int ordinal, int32_t threads, enum dtype precision,
                    struct err *e)
{
    int rc = 0;
    struct cpu *c = NULL;
    (void)ordinal;

    *out = NULL;
    if (precision != DTYPE_F32)
        return ERR(e, ERR_UNAVAILABLE,
                   "cpu: computes in fp32 only; add --set train.precision=fp32 "
                   "--set eval.precision=fp32");
    if (threads < 0 || threads > CPU_THREADS_MAX)
        return ERR(e, ERR_USAGE, "cpu: %d threads, expected 1 to %d", threads, CPU_THREADS_MAX);
    c = calloc(1, sizeof *c);
    if (!c) return ERR(e, ERR_NOMEM, "cpu: out of memory for the backend");
    c->backend = (struct backend){.ops = &cpu_ops,
                                  .name = "cpu",
                                  .threads = threads > 0 ? threads : 1,
                                  .precision = precision};
    c->scratch_own = calloc((size_t)c->backend.threads, sizeof *c->scratch_own);
    if (!c->scratch_own) {
        rc = ERR(e, ERR_NOMEM, "cpu: out of memory for %d threads", c->backend.threads);
        goto out;
    }
    TRY_OUT(rc, cpu_simd_choose(&c->simd, e));
    if (c->simd->splits && c->simd->splits->runs()) c->splits = c->simd->splits;
    cpu_linear_choose(c);
    cpu_describe(c);
    cpu_prepare_thread();
    *out = &c->backend;
out:
    if (rc < 0) {
        err_ctx(e, "cpu");
        cpu_close(&c->backend);
    }
    return rc;
}

static const struct backend_library cpu_library = {
    .version = BACKEND_VERSION, .name = "cpu", .open = cpu_open};

const struct backend_library *backend_cpu_library(void)
{
    return &cpu_library;
}
