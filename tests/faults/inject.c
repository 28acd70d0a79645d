/* inject.c - injects faults into a process, for run.sh. Loaded with LD_PRELOAD:
 *
 *   FAULT_MALLOC=K    the K-th allocation fails; with K+ also every later one
 *   FAULT_COUNT=FILE  writes the number of allocations at exit
 *   FAULT_CLOCK=1     the wall clock jumps by hours or decades at every reading
 *
 * Opened as libdnnl.so.2, it is a oneDNN that crashes at the first product. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static atomic_long allocations;
static long fail_at; /* 0: never */
static bool for_ever, leaps;

__attribute__((constructor)) static void read_settings(void)
{
    const char *at = getenv("FAULT_MALLOC");
    char *end = NULL;

    leaps = getenv("FAULT_CLOCK") != NULL;
    allocations = 0;
    if (at) fail_at = strtol(at, &end, 10);
    for_ever = end && *end == '+';
}

__attribute__((destructor)) static void write_count(void)
{
    const char *path = getenv("FAULT_COUNT");
    long n = allocations;
    FILE *f = path ? fopen(path, "we") : NULL;

    if (!f) return;
    fprintf(f, "%ld\n", n);
    fclose(f);
}

static bool fails(void)
{
    long n = atomic_fetch_add(&allocations, 1) + 1;

    if (fail_at == 0 || n < fail_at || (n > fail_at && !for_ever)) return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t n)
{
    return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return fails() ? NULL : __libc_realloc(p, n);
}

/* The error of a reading, in seconds: an hour, ten years, and beyond 2038, in both directions. */
static time_t leap(void)
{
    static const int64_t by[] = {0, 3600, -3600, 315360000, -315360000, 1000000000, -1};
    static atomic_uint readings;

    return leaps ? by[atomic_fetch_add(&readings, 1) % (sizeof by / sizeof *by)] : 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, t);

    if (rc == 0 && clock == CLOCK_REALTIME) t->tv_sec += leap();
    return rc;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    int rc = (int)syscall(SYS_gettimeofday, t, zone);

    if (rc == 0) t->tv_sec += leap();
    return rc;
}

time_t time(time_t *out)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    if (out) *out = t.tv_sec;
    return t.tv_sec;
}

/* --- a oneDNN --- */

struct version {
    int major, minor, patch;
};
const struct version *dnnl_version(void);
int dnnl_sgemm(void);

const struct version *dnnl_version(void)
{
    static const struct version mine = {2, 0, 0};
    return &mine;
}

int dnnl_sgemm(void)
{
    raise(SIGSEGV);
    return 1;
}
