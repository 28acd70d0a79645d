/* toy_grid.c - see toy_grid.h. */
#include "scheduler/toy_grid.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "record/run_folder.h"
#include "shape/shape_specs.h"

static int64_t toy_now_us(void *context)
{
    struct toy_grid *g = context;
    int64_t us;

    while (read(g->clock[0], &us, sizeof us) == (ssize_t)sizeof us) g->ahead_us += us;
    return clock_monotonic_us() + g->ahead_us;
}

void toy_grid_pass(struct toy_grid *g, double seconds)
{
    int64_t us = (int64_t)(seconds * 1e6);
    assert_int_equal(write(g->clock[1], &us, sizeof us), sizeof us);
}

int toy_grid_setup(void **state)
{
    struct toy_grid *g = *state = calloc(1, sizeof *g);

    arena_init(&g->arena);
    assert_int_equal(pipe2(g->clock, O_CLOEXEC | O_NONBLOCK), 0);
    test_folder(g->root);
    /* The fake worker is beside the tests of its folder. */
    ssize_t n = readlink("/proc/self/exe", g->worker, sizeof g->worker - 32);
    assert_true(n > 0);
    g->worker[n] = '\0';
    snprintf(strrchr(g->worker, '/'), 32, "/fake_worker");
    g->project = (struct project){.root = g->root, .share = g->root, .program = g->worker};
    g->options = (struct scheduler_options){.devices = "cpu:1",
                                            .tries = 3,
                                            .worker = g->worker,
                                            .stall_s = TOY_STALL_S,
                                            .now_us = toy_now_us,
                                            .now_context = g,
                                            .quiet = true,
                                            .headline = "toy"};
    toy_grid_script(g, -1);
    g->bell = toy_grid_fifo(project_path(&g->project, &g->arena, "bell"));
    g->gate = toy_grid_fifo(project_path(&g->project, &g->arena, "gate"));
    return 0;
}

int toy_grid_teardown(void **state)
{
    struct toy_grid *g = *state;

    store_close(g->store);
    test_folder_remove(g->root);
    close(g->clock[0]);
    close(g->clock[1]);
    close(g->bell);
    close(g->gate);
    arena_fini(&g->arena);
    free(g);
    return 0;
}

static int32_t toy_add(struct toy_grid *g, const struct spec *s, int32_t train)
{
    assert_true(g->n < TOY_RUNS_MAX);
    struct run *run = &g->run[g->n];
    *run = (struct run){.spec = *s, .train = train, .flops = 1e9 - g->n, .device_bytes = 1000};
    spec_run_id(s, run->run_id);
    return g->n++;
}

static int32_t toy_add_train(struct toy_grid *g, int32_t L, enum spec_kind kind)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, L);

    s.kind = kind;
    s.train.updates = s.train.period = 8;
    s.train.lr = 0.1;
    s.train.seed = 1;
    return toy_add(g, &s, -1);
}

int32_t toy_grid_train(struct toy_grid *g, int32_t L)
{
    return toy_add_train(g, L, SPEC_TRAIN);
}

int32_t toy_grid_bench(struct toy_grid *g, int32_t L)
{
    return toy_add_train(g, L, SPEC_BENCH);
}

int32_t toy_grid_evaluate(struct toy_grid *g, int32_t train, int32_t L)
{
    const struct spec s = fixture_eval(&g->run[train].spec, L);
    return toy_add(g, &s, train);
}

int32_t toy_grid_family(struct toy_grid *g, int32_t L)
{
    int32_t train = toy_grid_train(g, L);
    for (int32_t i = 1; i <= 3; i++) toy_grid_evaluate(g, train, L * i);
    return train;
}

void toy_grid_script(struct toy_grid *g, ...)
{
    struct strbuf text;
    va_list args;

    strbuf_init(&text, &g->arena);
    va_start(args, g);
    for (int run = va_arg(args, int); run >= 0; run = va_arg(args, int))
        strbuf_addf(&text, "%s %s\n", g->run[run].run_id, va_arg(args, const char *));
    va_end(args);
    strbuf_add(&text, "* done\n");
    test_write(project_path(&g->project, &g->arena, "fake"), text.text, text.n);
}

static void toy_add_run(struct toy_grid *g, const struct run *run)
{
    char config_id[SPEC_ID_BYTES], config_of_train[SPEC_ID_BYTES];
    const struct run *train = run->train >= 0 ? &g->run[run->train] : NULL;

    if (train) spec_config_id(&train->spec, NULL, config_of_train);
    spec_config_id(&run->spec, train ? config_of_train : NULL, config_id);
    const struct store_run row = {.spec = &run->spec,
                                  .run_id = run->run_id,
                                  .config_id = config_id,
                                  .train_run_id = train ? train->run_id : NULL,
                                  .parameters_n = 1000};
    assert_ok(store_add_run(g->store, &row, &e));
}

void toy_grid_open_store(struct toy_grid *g)
{
    const char *path = project_path(&g->project, &g->arena, "results.db");

    store_close(g->store);
    assert_ok(store_open(&g->store, path, STORE_WRITE, &e));
    assert_ok(store_begin(g->store, &e));
    for (int32_t i = 0; i < g->n; i++) toy_add_run(g, &g->run[i]);
    assert_ok(store_commit(g->store, &e));
}

int toy_grid_run(struct toy_grid *g)
{
    if (!g->store) toy_grid_open_store(g);
    return scheduler_run(g->store, &g->project, g->run, g->n, &g->options, &g->result, &g->e);
}

void toy_grid_complete(struct toy_grid *g, int32_t done)
{
    if (toy_grid_run(g) != 0) fail_msg("%s", g->e.text);
    assert_int_equal(g->result.done, done);
}

void toy_grid_fail(struct toy_grid *g, int code, const char *word)
{
    assert_int_equal(toy_grid_run(g), code);
    if (!strstr(g->e.text, word)) fail_msg("%s; expected: %s", g->e.text, word);
}

pid_t toy_grid_fork(struct toy_grid *g)
{
    assert_null(g->store);
    pid_t pid = fork();
    if (pid == 0) _exit(-toy_grid_run(g));
    assert_true(pid > 0);
    return pid;
}

int toy_grid_status(pid_t pid)
{
    int status;
    toy_grid_await_end(pid);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

void toy_grid_join(struct toy_grid *g, pid_t pid, int code)
{
    assert_int_equal(-toy_grid_status(pid), code);
    toy_grid_open_store(g);
}

pid_t toy_grid_begin(struct toy_grid *g, int32_t run, const char *action)
{
    toy_grid_script(g, run, action, -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(g->bell, 1);
    return pid;
}

void toy_grid_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int toy_grid_fifo(const char *path)
{
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

void toy_grid_await_bell(int fifo, int n)
{
    struct pollfd wait = {.fd = fifo, .events = POLLIN};
    char byte;

    for (int i = 0; i < n; i++) {
        assert_int_equal(poll(&wait, 1, TOY_DEADLINE_MS), 1);
        assert_int_equal(read(fifo, &byte, 1), 1);
    }
}

void toy_grid_open_gate(struct toy_grid *g)
{
    assert_int_equal(write(g->gate, "g", 1), 1);
}

void toy_grid_await_end(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) return; /* there is none of this number */
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, TOY_DEADLINE_MS), 1);
    close(fd);
}

int64_t toy_grid_leave(struct toy_grid *g, int32_t run, struct store_attempt row)
{
    const struct spec *spec = &g->run[run].spec;
    char *dir;
    int64_t attempt_id;

    if (!g->store) toy_grid_open_store(g);
    row.run_id = g->run[run].run_id;
    assert_ok(run_folder_claim(&dir, &row.attempt, &g->arena, g->root, row.run_id, 1, &e));
    row.dir = dir;
    assert_ok(run_folder_write_specs(project_path(&g->project, &g->arena, dir), &spec, 1, &e));
    assert_ok(store_start_attempt(g->store, &row, &attempt_id, &e));
    return attempt_id;
}

static long integer(struct store *s, const char *sql)
{
    int64_t n;

    if (!str_to_int(&n, fixture_cell(s, sql))) fail_msg("%s: not an integer", sql);
    return (long)n;
}

long toy_grid_count(struct toy_grid *g, const char *sql)
{
    return integer(g->store, sql);
}

long toy_grid_attempts(struct toy_grid *g, int32_t run)
{
    return toy_grid_count(g,
                          arena_printf(&g->arena, "SELECT count(*) FROM attempts WHERE run_id='%s'",
                                       g->run[run].run_id));
}

/* -1: there is no such database yet. */
static long toy_peek(struct toy_grid *g, const char *sql)
{
    struct store *reader;
    struct err e;
    const char *path = project_path(&g->project, &g->arena, "results.db");

    if (store_open(&reader, path, STORE_READ, &e) < 0) return -1;
    long n = integer(reader, sql);
    store_close(reader);
    return n;
}

void toy_grid_await_count(struct toy_grid *g, const char *sql, long expected)
{
    enum { PAUSE_MS = 10 };

    for (int waited_ms = 0; toy_peek(g, sql) != expected; waited_ms += PAUSE_MS) {
        if (waited_ms >= TOY_DEADLINE_MS) fail_msg("%s is not %ld", sql, expected);
        poll(NULL, 0, PAUSE_MS);
    }
}

enum store_state toy_grid_last(struct toy_grid *g, int32_t run)
{
    struct store_run_state st;
    assert_ok(store_run_state(g->store, g->run[run].run_id, &st, &e));
    return st.last;
}

char *toy_grid_read(struct toy_grid *g, const char *name)
{
    char *text = NULL;
    const char *path = project_path(&g->project, &g->arena, name);
    if (file_read(&g->arena, &text, NULL, path, 64 << 20, NULL) < 0)
        return arena_strdup(&g->arena, "");
    return text;
}

char *toy_grid_read_of(struct toy_grid *g, int32_t run, const char *name)
{
    return toy_grid_read(g, arena_printf(&g->arena, "runs/%s/1/%s", g->run[run].run_id, name));
}
