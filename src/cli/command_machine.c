/* command_machine.c - alibi devices, doctor and worker. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/subprocess.h"
#include "cli/cli.h"
#include "scheduler/scheduler.h"
#include "spec/code_id.h"
#include "worker/worker.h"

enum {
    TRIAL_MS = 60000,
    KILLED_MS = 2000,
    TRIAL_PRODUCTS = 5000,
    CHILD_TEXT_BYTES = 512,
    SHM_LEAST_BYTES = 1000000000 /* of /dev/shm, through which NCCL exchanges without peer access */
};
#define CHILD_OK "ok "

/* A child process that tests a GPU, because the driver may hang or crash and CUDA does not survive
 * a fork. It writes its answer to a pipe. */
struct child {
    pid_t pid;
    int from;
};

/* A test for a child: of a GPU or, with a meeting, of its exchange as a rank of two. */
struct test {
    const struct device *device;
    const char *meet;
    int32_t rank;
};

/* Without the name of the device, which is that of the child's only GPU. */
static _Noreturn void child_answer(int to, const char *text)
{
    const char *name_end = strstr(text, ": ");
    if (strncmp(text, "cuda:", 5) == 0 && name_end) text = name_end + 2;
    _exit(write(to, text, strlen(text)) < 0);
}

static void child_lost(void *to, const struct err *e)
{
    child_answer(*(const int *)to, e->text);
}

/* Opens the GPU as a worker does and tests its ops in both precisions, or its exchange. */
static _Noreturn void child_test(const struct test *t, int to)
{
    static const enum dtype precisions[] = {DTYPE_F32, DTYPE_BF16};
    const struct trial_exchange exchange = {.device = "cuda:0",
                                            .label = t->device->name,
                                            .meet = t->meet,
                                            .rank = t->rank,
                                            .trial_s = TRIAL_MS / 1e3,
                                            .lost = child_lost,
                                            .context = &to};
    struct err e = {0};
    char text[CHILD_TEXT_BYTES] = CHILD_OK;
    const char *uuid = t->device->uuid;
    int rc = 0;

    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    setenv("CUDA_VISIBLE_DEVICES", *uuid ? uuid : t->device->name + strlen("cuda:"), 1);
    if (t->meet) {
        size_t n = strlen(text);
        rc = trial_exchange(text + n, sizeof text - n, &exchange, &e);
    }
    for (size_t i = 0; !t->meet && i < sizeof precisions / sizeof *precisions && rc == 0; i++) {
        struct backend *b = NULL;
        rc = backend_open(&b, "cuda:0", 1, precisions[i], &e);
        if (rc == 0) rc = trial_run(b, &e);
        backend_close(b);
    }
    child_answer(to, rc == 0 ? text : e.text);
}

static int child_begin(struct child *c, const struct test *t)
{
    int end[2];

    *c = (struct child){.pid = -1, .from = -1};
    if (pipe(end) < 0) return -errno;
    fflush(stdout);
    c->pid = fork();
    if (c->pid == 0) child_test(t, end[1]);
    close(end[1]);
    c->from = end[0];
    return c->pid < 0 ? -errno : 0;
}

/* A driver that hangs may keep a killed process for ever. */
static void reap_child(pid_t child)
{
    kill(child, SIGKILL);
    for (int64_t end_us = clock_monotonic_us() + 1000 * KILLED_MS;
         waitpid(child, NULL, WNOHANG) == 0 && clock_monotonic_us() < end_us;)
        poll(NULL, 0, 10);
}

/* Writes a child's answer; begun: what child_begin returned. True if the test has passed: text is
 * then what follows CHILD_OK. */
static bool child_end(struct child *c, int begun, char *text, size_t bytes)
{
    struct pollfd answer = {.fd = c->from, .events = POLLIN};
    ssize_t n = 0;

    if (begun < 0)
        snprintf(text, bytes, "cannot be tested: %s", strerror(-begun));
    else if (poll(&answer, 1, TRIAL_MS) == 0)
        snprintf(text, bytes, "the test did not finish within %d s", TRIAL_MS / 1000);
    else if ((n = read(c->from, text, bytes - 1)) <= 0)
        snprintf(text, bytes, "the test process crashed");
    if (n > 0) text[n] = '\0';
    if (c->from >= 0) close(c->from);
    if (c->pid > 0) reap_child(c->pid);
    if (strncmp(text, CHILD_OK, strlen(CHILD_OK)) != 0) return false;
    memmove(text, text + strlen(CHILD_OK), strlen(text) - strlen(CHILD_OK) + 1);
    return true;
}

/* True if the driver and earlier tests found a GPU usable. */
static bool is_usable_gpu(const struct device *d)
{
    return strncmp(d->name, "cuda:", 5) == 0 && !*d->unusable && !d->is_test;
}

/* Tests whether a GPU that the driver lists can be used; if not, writes the reason to d->unusable.
 */
static void device_try(struct device *d)
{
    struct child child;

    if (!is_usable_gpu(d)) return;
    int begun = child_begin(&child, &(struct test){.device = d});
    (void)child_end(&child, begun, d->unusable, sizeof d->unusable);
}

/* Finds the first two usable GPUs of one model; false if there are none. */
static bool find_pair(const struct device *pair[2], const struct device *list, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = i + 1; k < n; k++)
            if (is_usable_gpu(&list[i]) && is_usable_gpu(&list[k]) &&
                strcmp(list[i].model, list[k].model) == 0) {
                pair[0] = &list[i];
                pair[1] = &list[k];
                return true;
            }
    return false;
}

/* Tests whether two GPUs exchange. True if they do: text says how fast; otherwise why not. */
static bool pair_try(const struct device *const pair[2], char *text, size_t bytes)
{
    char folder[] = "/tmp/alibi-doctor-XXXXXX", meet[sizeof folder + 8], other[CHILD_TEXT_BYTES];
    struct child child[2];
    int begun[2];

    if (!mkdtemp(folder)) {
        snprintf(text, bytes, "cannot be tested: %s: %s", folder, strerror(errno));
        return false;
    }
    snprintf(meet, sizeof meet, "%s/meet", folder);
    for (int32_t r = 0; r < 2; r++)
        begun[r] = child_begin(&child[r], &(struct test){pair[r], meet, r});
    bool ok = child_end(&child[0], begun[0], text, bytes);
    (void)child_end(&child[1], begun[1], other, sizeof other);
    unlink(meet);
    rmdir(folder);
    return ok;
}

/* Describes how the ranks of a training on several GPUs exchange, by the first usable GPU of a
 * list; NULL: there is none. */
static const char *describe_transport(struct arena *a, const struct device *list, int32_t n,
                                      bool also_test)
{
    char text[64];
    struct err e = {0};
    const struct device *d = list;

    while (d < list + n &&
           (strncmp(d->name, "cuda:", 5) != 0 || *d->unusable || (d->is_test && !also_test)))
        d++;
    if (d == list + n) return NULL;
    int rc = backend_transport(d->name, text, sizeof text, &e);
    if (rc == 0) return arena_printf(a, "a training on several GPUs exchanges by %s", text);
    if (rc == ERR_NOINPUT)
        return arena_printf(
            a, "a training on several GPUs exchanges through host memory, slowly: %s", e.text);
    return arena_printf(a, "a training on several GPUs is not possible: %s", e.text);
}

CLI_COMMAND(devices)
{
    bool all = false;
    struct device list[PLANNING_DEVICES_MAX];
    int32_t n;
    const struct cli_option options[] = {
        {"all", 0, CLI_FLAG, &all, "", "also list the emulated GPU, if this build has one"}, {0}};

    TRY(cli_begin(c, options, e));
    TRY(device_list(list, PLANNING_DEVICES_MAX, &n, e));
    for (struct device *d = list; d < list + n; d++) {
        if (d->is_test && !all) continue;
        device_try(d);
        cli_print("%-8s %s", d->name, d->description);
        if (d->unusable[0])
            cli_print("  not usable: %s\n", d->unusable);
        else if (d->is_cluster)
            cli_print("  %d at a time by default\n", d->slots);
        else
            cli_print("  %d at a time, %s of memory, %s free\n", d->slots,
                      str_bytes(&c->arena, (double)d->memory_bytes),
                      str_bytes(&c->arena, (double)d->free_bytes));
    }
    const char *transport = describe_transport(&c->arena, list, n, all);
    if (transport) cli_print("%-8s %s\n", "ranks", transport);
    return 0;
}

static void print_check(int *wrong, bool ok, const char *what, const char *detail)
{
    cli_print("%-5s %-12s %s\n", ok ? "ok" : "WRONG", what, detail);
    *wrong += !ok;
}

static void check_cpu(struct cli *c, int *wrong)
{
    struct backend *b[2] = {NULL};
    struct err e = {0};

    int rc = backend_open(&b[0], "cpu", 1, DTYPE_F32, &e);
    if (rc == 0) rc = backend_open(&b[1], "cpu", 1, DTYPE_F32, &e);
    print_check(wrong, rc == 0, "cpu", rc == 0 ? b[0]->device : e.text);
    if (rc == 0) {
        rc = trial_threads(b[0], b[1], TRIAL_PRODUCTS, &e);
        print_check(
            wrong, rc == 0, "BLAS",
            rc == 0 ? arena_printf(&c->arena, "%s; two threads repeat the bits of one", b[0]->blas)
                    : e.text);
    }
    backend_close(b[0]);
    backend_close(b[1]);
}

static void check_project(struct cli *c, int *wrong)
{
    struct statvfs disk;
    struct store *store = NULL;
    struct err e = {0};

    bool writable = access(c->project.root, W_OK) == 0;
    print_check(wrong, writable, "folder",
                writable ? c->project.root
                         : arena_printf(&c->arena, "%s cannot be written: %s", c->project.root,
                                        strerror(errno)));
    if (statvfs(c->project.root, &disk) == 0) {
        double free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
        print_check(wrong, free_bytes > 200e6, "disk",
                    arena_printf(&c->arena, "%s free", str_bytes(&c->arena, free_bytes)));
    }
    if (!file_exists(c->results)) {
        print_check(wrong, true, "results.db", "none yet; `alibi run table5` creates it");
        return;
    }
    int rc = store_open(&store, c->results, STORE_READ, &e);
    if (rc == 0) rc = store_check(store, &e);
    print_check(wrong, rc == 0, "results.db", rc == 0 ? "intact" : e.text);
    store_close(store);
}

/* Tests the exchange of two GPUs, if this machine has them. */
static void check_ranks(struct cli *c, int *wrong, const struct device *list, int32_t n)
{
    const struct device *pair[2];
    const char *transport = describe_transport(&c->arena, list, n, false);
    char text[CHILD_TEXT_BYTES];
    struct statvfs shm;

    print_check(wrong, true, "ranks",
                transport ? transport
                          : "no GPU can be used: NCCL is not needed, CPUs exchange by sockets");
    if (!find_pair(pair, list, n)) return;
    bool ok = pair_try(pair, text, sizeof text);
    print_check(
        wrong, ok, "exchange",
        arena_printf(&c->arena, "between %s and %s: %s", pair[0]->name, pair[1]->name, text));
    if (statvfs("/dev/shm", &shm) == 0 && shm.f_bavail * shm.f_frsize < SHM_LEAST_BYTES)
        cli_print("%-5s %-12s %s free, GPUs without peer access need 1 GB; in a container: "
                  "--shm-size=1g or --ipc=host\n",
                  "note", "/dev/shm",
                  str_bytes(&c->arena, (double)shm.f_bavail * (double)shm.f_frsize));
}

CLI_COMMAND(doctor)
{
    struct device list[PLANNING_DEVICES_MAX];
    int32_t n = 0;
    int wrong = 0;

    TRY(cli_begin(c, NULL, e));
    print_check(&wrong, true, "program",
                arena_printf(&c->arena, "alibi %s, %s", code_id(), c->project.program));
    print_check(&wrong, true, "shipped", c->project.share);
    check_cpu(c, &wrong);
    TRY(device_list(list, PLANNING_DEVICES_MAX, &n, e));
    for (int32_t i = 0; i < n; i++) {
        struct device *d = &list[i];
        if (strcmp(d->name, "cpu") == 0 || d->is_test) continue;
        bool shown = !*d->unusable; /* the driver reports it as usable */
        device_try(d);
        cli_print("%-5s %-12s %s\n",
                  !*d->unusable ? "ok"
                  : shown       ? "WRONG"
                                : "none",
                  d->name, *d->unusable ? d->unusable : d->description);
        wrong += shown && *d->unusable;
    }
    check_ranks(c, &wrong, list, n);
    bool draws = subprocess_find("gnuplot");
    print_check(&wrong, draws, "gnuplot",
                draws ? "found; figures will be drawn"
                      : "not found; install gnuplot-nox to draw figures");
    check_project(c, &wrong);
    if (wrong) return ERR(e, ERR_UNAVAILABLE, "%d check%s failed", wrong, cli_plural(wrong));
    cli_print("this machine is ready\n");
    return 0;
}

CLI_COMMAND(worker)
{
    struct worker_options o = {.device = "cpu", .threads = 1, .ranks_n = 1};
    const struct cli_option options[] = {
        {"device", 0, CLI_DEVICE, &o.device, "D", "cpu or cuda:N"},
        {"threads", 0, CLI_COUNT, &o.threads, "N", "threads of the CPU backend (default 1)"},
        {"ranks", 0, CLI_COUNT, &o.ranks_n, "P", "processes of this training (default 1)"},
        {"rank", 0, CLI_NUMBER, &o.rank, "R", "number of this one, from 0"},
        {"meet", 0, CLI_TEXT, &o.meet, "FILE", "where rank 0 says how to reach it; must not exist"},
        {"host", 0, CLI_TEXT, &o.host, "NAME",
         "this machine's name for ranks on others (default: there are none)"},
        {0}};

    TRY(cli_begin(c, options, e));
    o.dir = c->rest.item[0];
    return worker_run(&c->project, &o, e);
}

CLI_COMMAND(slurm_job)
{
    TRY(cli_begin(c, NULL, e));
    return slurm_node_run(&c->project, c->rest.item[0], e);
}
