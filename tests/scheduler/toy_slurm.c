/* toy_slurm.c - see toy_slurm.h. */
#include "scheduler/toy_slurm.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/str.h"

char *toy_slurm_path(struct toy_grid *g, const char *name)
{
    return arena_printf(&g->arena, "%s/slurm/%s", g->root, name);
}

void toy_slurm_put(struct toy_grid *g, const char *name, const char *text)
{
    const char *path = toy_slurm_path(g, name);
    assert_int_equal(file_write_atomic(path, text, strlen(text), &g->e), 0);
}

char *toy_slurm_get(struct toy_grid *g, const char *name)
{
    char *text = toy_grid_read(g, arena_printf(&g->arena, "slurm/%s", name));
    text[strcspn(text, "\n")] = '\0';
    return text;
}

pid_t toy_slurm_pid(struct toy_grid *g, const char *name)
{
    int64_t pid = 0;
    assert_true(str_to_int(&pid, toy_slurm_get(g, name)));
    return (pid_t)pid;
}

int toy_slurm_setup(void **state)
{
    struct toy_grid *g = calloc(1, sizeof *g);
    const char *before = getenv("TMPDIR"), *path = getenv("PATH");
    char kept[256], odd[300], *scripts = realpath("tests/scheduler/fake_slurm", NULL);

    assert_non_null(scripts);
    snprintf(kept, sizeof kept, "%s", before ? before : "/tmp");
    snprintf(odd, sizeof odd, "%s/it's $HOME; %ld", kept, (long)getpid());
    mkdir(odd, 0700);
    setenv("TMPDIR", odd, 1);
    toy_grid_open(g);
    setenv("TMPDIR", kept, 1);
    if (!strstr(path, scripts)) setenv("PATH", arena_printf(&g->arena, "%s:%s", scripts, path), 1);
    free(scripts);
    assert_int_equal(mkdir(toy_slurm_path(g, ""), 0700), 0);
    setenv("FAKE_SLURM", arena_printf(&g->arena, "%s/slurm", g->root), 1);
    g->asked = toy_grid_fifo(toy_slurm_path(g, "bell"));
    g->options.devices = "slurm:2";
    g->options.poll_s = 0.05;
    *state = g;
    return 0;
}

/* A job's first process takes its worker along. */
static void toy_slurm_end(struct toy_grid *g, const char *number)
{
    int64_t pid;
    const char *first = toy_slurm_get(g, arena_printf(&g->arena, "%s/first", number));
    const char *state = toy_slurm_get(g, arena_printf(&g->arena, "%s/state", number));

    if (strcmp(state, "RUNNING") == 0 && str_to_int(&pid, first)) kill((pid_t)pid, SIGKILL);
}

int toy_slurm_teardown(void **state)
{
    struct toy_grid *g = *state;
    DIR *jobs = opendir(toy_slurm_path(g, ""));

    for (struct dirent *d = jobs ? readdir(jobs) : NULL; d; d = readdir(jobs))
        toy_slurm_end(g, d->d_name);
    if (jobs) closedir(jobs);
    close(g->asked);
    toy_grid_close(g);
    *strrchr(g->root, '/') = '\0';
    rmdir(g->root);
    free(g);
    return 0;
}

void toy_slurm_await(struct toy_grid *g, const char *number, const char *state)
{
    pid_t pid = toy_slurm_pid(g, arena_printf(&g->arena, "%s/pid", number));
    toy_grid_await_end(pid);
    assert_string_equal(toy_slurm_get(g, arena_printf(&g->arena, "%s/state", number)), state);
}

void toy_slurm_await_questions(struct toy_grid *g, int n)
{
    struct pollfd before = {.fd = g->asked, .events = POLLIN};
    char byte;

    while (poll(&before, 1, 0) == 1) assert_int_equal(read(g->asked, &byte, 1), 1);
    toy_grid_await_bell(g->asked, n);
}
