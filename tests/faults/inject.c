/* inject.c - injects faults into a process, for run.sh. Loaded with LD_PRELOAD:
 *
 *   FAULT_MALLOC=K    the K-th allocation fails; with K+ also every later one
 *   FAULT_COUNT=FILE  writes the number of allocations at exit
 *   FAULT_CLOCK=1     the wall clock jumps by hours or decades at every reading
 *   FAULT_PAGE=FILE   with FAULT_CALL="NAME K ERRNO": the K-th call of this function of libc, in
 * all processes that share the page, fails; with ERRNO 0 it kills the process. The file has 16 zero
 * bytes: the calls so far, and 1 if the K-th came FAULT_CALLS=FILE  appends the names and the
 * numbers of all calls at exit
 *
 * Opened as libdnnl.so.2, it is a oneDNN that crashes at the first product. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
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

/* --- calls that fail or kill, one in all processes --- */

static struct page {
    atomic_long calls, struck;
} * page;
static char call_name[24];
static long call_at;
static int call_errno;

/* A function of libc that was called. */
static struct hook {
    const char *name;
    void *real;
    atomic_long calls;
    struct hook *next;
} * _Atomic hooks;

__attribute__((constructor)) static void open_page(void)
{
    enum { OPEN_READ_WRITE = 2 };
    const char *path = getenv("FAULT_PAGE"), *call = getenv("FAULT_CALL");

    if (!path || !call || sscanf(call, "%23s %ld %d", call_name, &call_at, &call_errno) != 3)
        return;
    int fd = (int)syscall(SYS_open, path, OPEN_READ_WRITE);
    void *at = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) page = at;
    syscall(SYS_close, fd);
}

__attribute__((destructor)) static void write_calls(void)
{
    const char *path = getenv("FAULT_CALLS");
    FILE *f = path ? fopen(path, "ae") : NULL;

    if (!f) return;
    for (struct hook *h = hooks; h; h = h->next) fprintf(f, "%s %ld\n", h->name, h->calls);
    fclose(f);
}

static void *real_of(struct hook *h)
{
    if (h->real) return h->real;
    h->real = dlsym(RTLD_NEXT, h->name);
    h->next = hooks;
    while (!atomic_compare_exchange_weak(&hooks, &h->next, h)) continue;
    return h->real;
}

static bool strikes(struct hook *h)
{
    h->calls++;
    if (!page || strcmp(h->name, call_name) != 0) return false;
    if (atomic_fetch_add(&page->calls, 1) + 1 != call_at) return false;
    page->struck = 1;
    if (call_errno == 0) syscall(SYS_kill, getpid(), SIGKILL);
    errno = call_errno;
    return true;
}

/* A function that returns `failure` when it is struck. */
#define HOOK(type, name, failure, parameters, arguments)                                           \
    type name parameters;                                                                          \
    type name parameters                                                                           \
    {                                                                                              \
        static struct hook hook = {#name, NULL, 0, NULL};                                          \
        type(*real) parameters = real_of(&hook);                                                   \
        return strikes(&hook) ? failure : real arguments;                                          \
    }

HOOK(int, open, -1, (const char *path, int flags, mode_t mode), (path, flags, mode))
HOOK(int, open64, -1, (const char *path, int flags, mode_t mode), (path, flags, mode))
HOOK(int, openat, -1, (int at, const char *path, int flags, mode_t mode), (at, path, flags, mode))
HOOK(FILE *, fopen, NULL, (const char *restrict path, const char *restrict mode), (path, mode))
#undef fwrite_unlocked /* a macro of stdio.h */
HOOK(size_t, fwrite_unlocked, 0, (const void *restrict p, size_t size, size_t n, FILE *restrict f),
     (p, size, n, f))
HOOK(int, fflush, EOF, (FILE * f), (f))
HOOK(ssize_t, write, -1, (int fd, const void *p, size_t n), (fd, p, n))
HOOK(ssize_t, pwrite, -1, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))
HOOK(ssize_t, pwrite64, -1, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))
HOOK(ssize_t, read, -1, (int fd, void *p, size_t n), (fd, p, n))
HOOK(ssize_t, pread, -1, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
HOOK(ssize_t, pread64, -1, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
HOOK(void *, mmap, MAP_FAILED, (void *p, size_t n, int may, int flags, int fd, off_t at),
     (p, n, may, flags, fd, at))
HOOK(void *, mmap64, MAP_FAILED, (void *p, size_t n, int may, int flags, int fd, off_t at),
     (p, n, may, flags, fd, at))
HOOK(int, ftruncate, -1, (int fd, off_t n), (fd, n))
HOOK(int, ftruncate64, -1, (int fd, off_t n), (fd, n))
HOOK(int, fsync, -1, (int fd), (fd))
HOOK(int, fdatasync, -1, (int fd), (fd))
HOOK(int, rename, -1, (const char *from, const char *to), (from, to))
HOOK(int, unlink, -1, (const char *path), (path))
HOOK(int, unlinkat, -1, (int at, const char *path, int flags), (at, path, flags))
HOOK(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
HOOK(pid_t, fork, -1, (void), ())
HOOK(int, poll, -1, (struct pollfd * p, nfds_t n, int ms), (p, n, ms))
HOOK(pid_t, waitpid, -1, (pid_t pid, int *status, int options), (pid, status, options))
HOOK(int, waitid, -1, (idtype_t type, id_t id, siginfo_t *info, int options),
     (type, id, info, options))

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
