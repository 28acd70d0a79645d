/* command_machine.c - alibi devices, doctor, worker: this machine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/file.h"
#include "base/str.h"
#include "base/subprocess.h"
#include "cli/cli.h"
#include "scheduler/slurm_node.h"
#include "spec/code_id.h"
#include "worker/worker.h"

/* all: test devices too. */
static int print_devices(struct cli *c, bool all, struct err *e)
{
    struct device list[PLANNING_DEVICES_MAX];
    int32_t n;

    TRY(device_list(list, PLANNING_DEVICES_MAX, &n, e));
    for (int32_t i = 0; i < n; i++) {
        if (list[i].is_test && !all) continue;
        printf("%-8s %s", list[i].name, list[i].description);
        if (list[i].unusable[0])
            printf("  not usable: %s\n", list[i].unusable);
        else if (list[i].is_cluster)
            printf("  %d at a time by default\n", list[i].slots);
        else
            printf("  %d at a time, %s of memory, %s free\n", list[i].slots,
                   str_bytes(&c->arena, (double)list[i].memory_bytes),
                   str_bytes(&c->arena, (double)list[i].free_bytes));
    }
    return 0;
}

int cli_devices(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    struct cli_list rest;
    bool all = false;
    const struct cli_option options[] = {
        {"all", 0, CLI_FLAG, &all, "", "also list the emulated GPU of a build that has one"}, {0}};
    int rc = cli_parse(c, self, options, argc, argv, &rest, 0, 0, e);
    return rc != 0 ? (rc < 0 ? rc : 0) : print_devices(c, all, e);
}

static void check(int *wrong, bool ok, const char *what, const char *detail)
{
    printf("%-5s %-12s %s\n", ok ? "ok" : "WRONG", what, detail);
    *wrong += !ok;
}

static void check_cpu(struct cli *c, int *wrong)
{
    struct backend *b = NULL;
    struct err e = {0};

    if (backend_open(&b, "cpu", 1, DTYPE_F32, &e) < 0) {
        check(wrong, false, "cpu", e.text);
        return;
    }
    check(wrong, true, "cpu", b->device);
    check(wrong, true, "BLAS", b->blas);
    backend_close(b);
    (void)c;
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
    if (!file_exists(cli_results(c))) {
        check(wrong, true, "results.db", "none yet; `alibi run table5` creates it");
        return;
    }
    int rc = store_open(&store, cli_results(c), STORE_READ, &e);
    if (rc == 0) rc = store_check(store, &e);
    check(wrong, rc == 0, "results.db", rc == 0 ? "intact" : e.text);
    store_close(store);
}

int cli_doctor(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    struct cli_list rest;
    struct device list[PLANNING_DEVICES_MAX];
    int32_t n = 0;
    int wrong = 0;
    int rc = cli_parse(c, self, NULL, argc, argv, &rest, 0, 0, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY(cli_open(c, e));
    check(&wrong, true, "program",
          arena_printf(&c->arena, "alibi %s, %s", code_id(), c->project.program));
    check(&wrong, true, "shipped", c->project.share);
    check_cpu(c, &wrong);
    TRY(device_list(list, PLANNING_DEVICES_MAX, &n, e));
    for (int32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, "cpu") != 0 && !list[i].is_test)
            printf("%-5s %-12s %s\n", list[i].unusable[0] ? "none" : "ok", list[i].name,
                   list[i].unusable[0] ? list[i].unusable : list[i].description);
    bool draws = subprocess_find("gnuplot");
    check(&wrong, draws, "gnuplot",
          draws ? "found; figures will be drawn"
                : "not found; install gnuplot-nox to draw figures");
    check_project(c, &wrong);
    if (wrong) return ERR(e, ERR_UNAVAILABLE, "%d check%s failed", wrong, cli_plural(wrong));
    printf("this machine is ready\n");
    return 0;
}

int cli_worker(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    const char *device = "cpu";
    int32_t threads = 1;
    struct cli_list rest;
    const struct cli_option options[] = {
        {"device", 0, CLI_DEVICE, &device, "D", "cpu or cuda:N"},
        {"threads", 0, CLI_COUNT, &threads, "N", "threads of the CPU backend (default 1)"},
        {0}};
    int rc = cli_parse(c, self, options, argc, argv, &rest, 1, 1, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY(cli_open(c, e));
    struct worker_options o = {.dir = rest.item[0], .device = device, .threads = threads};
    return worker_run(&c->project, &o, e);
}

int cli_slurm_job(struct cli *c, const struct cli_command *self, int argc, char **argv,
                  struct err *e)
{
    struct cli_list rest;
    int rc = cli_parse(c, self, NULL, argc, argv, &rest, 1, 1, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY(cli_open(c, e));
    return slurm_node_run(&c->project, rest.item[0], e);
}
