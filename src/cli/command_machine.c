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

enum { TRIAL_MS = 60000, KILLED_MS = 2000, TRIAL_PRODUCTS = 5000 };

/* Runs in the child: opens the GPU as a worker does, tests it in both precisions, and writes an
 * error message to the pipe. */
static _Noreturn void try_in_child(const struct device *d, int to)
{
    static const enum dtype precisions[] = {DTYPE_F32, DTYPE_BF16};
    struct err e = {0};
    int rc = 0;

    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    setenv("CUDA_VISIBLE_DEVICES", *d->uuid ? d->uuid : d->name + strlen("cuda:"), 1);
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions && rc == 0; i++) {
        struct backend *b = NULL;
        rc = backend_open(&b, "cuda:0", 1, precisions[i], &e);
        if (rc == 0) rc = trial_run(b, &e);
        backend_close(b);
    }
    /* Without the name, which is that of the child's only GPU. */
    const char *text = rc == 0 ? "ok" : e.text, *name_end = strstr(text, ": ");
    if (strncmp(text, "cuda:", 5) == 0 && name_end) text = name_end + 2;
    _exit(write(to, text, strlen(text)) < 0);
}

/* A driver that hangs may keep a killed process for ever. */
static void reap(pid_t child)
{
    kill(child, SIGKILL);
    for (int64_t end_us = clock_monotonic_us() + 1000 * KILLED_MS;
         waitpid(child, NULL, WNOHANG) == 0 && clock_monotonic_us() < end_us;)
        poll(NULL, 0, 10);
}

/* Tests whether a GPU that the driver lists can be used; if not, writes the reason to d->unusable.
 * Runs in a child, because the driver may hang or crash and CUDA does not survive a fork. */
static void device_try(struct device *d)
{
    int end[2];
    ssize_t n = 0;

    if (strncmp(d->name, "cuda:", 5) != 0 || *d->unusable || d->is_test) return;
    if (pipe(end) < 0) {
        snprintf(d->unusable, sizeof d->unusable, "cannot be tested: %s", strerror(errno));
        return;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) try_in_child(d, end[1]);
    close(end[1]);
    struct pollfd answer = {.fd = end[0], .events = POLLIN};
    if (child > 0 && poll(&answer, 1, TRIAL_MS) == 0)
        snprintf(d->unusable, sizeof d->unusable, "the test of its ops did not finish within %d s",
                 TRIAL_MS / 1000);
    else if (child > 0 && (n = read(end[0], d->unusable, sizeof d->unusable - 1)) <= 0)
        snprintf(d->unusable, sizeof d->unusable, "the test process crashed");
    else if (child < 0)
        snprintf(d->unusable, sizeof d->unusable, "cannot be tested: %s", strerror(errno));
    if (n > 0) d->unusable[n] = '\0';
    if (strcmp(d->unusable, "ok") == 0) d->unusable[0] = '\0';
    close(end[0]);
    if (child > 0) reap(child);
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

static void check(int *wrong, bool ok, const char *what, const char *detail)
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
    check(wrong, rc == 0, "cpu", rc == 0 ? b[0]->device : e.text);
    if (rc == 0) {
        rc = trial_threads(b[0], b[1], TRIAL_PRODUCTS, &e);
        check(wrong, rc == 0, "BLAS",
              rc == 0
                  ? arena_printf(&c->arena, "%s; two threads repeat the bits of one", b[0]->blas)
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
    check(wrong, writable, "folder",
          writable ? c->project.root
                   : arena_printf(&c->arena, "%s cannot be written: %s", c->project.root,
                                  strerror(errno)));
    if (statvfs(c->project.root, &disk) == 0) {
        double free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
        check(wrong, free_bytes > 200e6, "disk",
              arena_printf(&c->arena, "%s free", str_bytes(&c->arena, free_bytes)));
    }
    if (!file_exists(c->results)) {
        check(wrong, true, "results.db", "none yet; `alibi run table5` creates it");
        return;
    }
    int rc = store_open(&store, c->results, STORE_READ, &e);
    if (rc == 0) rc = store_check(store, &e);
    check(wrong, rc == 0, "results.db", rc == 0 ? "intact" : e.text);
    store_close(store);
}

CLI_COMMAND(doctor)
{
    struct device list[PLANNING_DEVICES_MAX];
    int32_t n = 0;
    int wrong = 0;

    TRY(cli_begin(c, NULL, e));
    check(&wrong, true, "program",
          arena_printf(&c->arena, "alibi %s, %s", code_id(), c->project.program));
    check(&wrong, true, "shipped", c->project.share);
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
    const char *transport = describe_transport(&c->arena, list, n, false);
    check(&wrong, true, "ranks",
          transport ? transport
                    : "no GPU can be used: NCCL is not needed, CPUs exchange by sockets");
    bool draws = subprocess_find("gnuplot");
    check(&wrong, draws, "gnuplot",
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
