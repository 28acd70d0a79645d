/* fake_worker.c - a worker that does what a script says instead of training.
 *
 * Started as `fake_worker worker DIR …` with the project as working folder. The script is the file
 * `fake` there, a line a rule: RUN ACTION [NUMBER]; the first line whose RUN is the first run of
 * the worker or `*` counts. Most actions take NUMBER as "only in attempts up to it"; without it,
 * always. The attempt's number is the last part of DIR. If there is a FIFO `bell`, one byte goes
 * into it when the action has begun, so that a test need not guess. Started as `fake_worker
 * slurm-job DIR --project ROOT` it is what alibi would be then. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "record/run_folder.h"
#include "scheduler/scheduler.h"
#include "spec/code_id.h"

enum { FAKE_LONG_S = 600 };

struct fake {
    struct arena arena;
    const char *dir;
    int64_t attempt;
    struct spec *spec;
    int32_t n;
    char action[32];
    int64_t number;
    struct event_writer *events;
    struct err e;
};

static void fake_write(struct fake *f, struct record r)
{
    if (record_write(f->events, &r, &f->e) < 0) exit(74);
}

static void fake_started(struct fake *f)
{
    fake_write(f, (struct record){EVENT_STARTED,
                                  .started = {.pid = getpid(),
                                              .host = "h",
                                              .device = "fake",
                                              .backend = "cpu",
                                              .blas = getenv("ALIBI_AVOID_BLAS") ? "OpenBLAS 0.3"
                                                                                 : "oneDNN 2.6",
                                              .threads = 1,
                                              .code_id = code_id(),
                                              .program = "fake_worker"}});
    for (int i = 1; i <= 4; i++)
        fake_write(f, (struct record){EVENT_PROGRESS, .progress = {i, 8, 5.0 / i, 1000}});
}

/* The loss depends on the run alone, so that any disturbed grid can be compared with another. */
static double fake_loss(const char *run_id)
{
    unsigned sum = 0;
    for (const char *p = run_id; *p; p++) sum = sum * 31 + (unsigned char)*p;
    return 1.0 + (sum % 1000) / 1000.0;
}

static void fake_result(struct fake *f, enum spec_kind kind, const char *run_id)
{
    static const char sha256[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    double loss = fake_loss(run_id);

    if (kind == SPEC_EVAL)
        fake_write(f,
                   (struct record){EVENT_EVALUATED, .evaluated = {run_id, 1000000, 0.01, loss,
                                                                  2 * loss, 1000, 0, 1e4, sha256}});
    else if (kind == SPEC_BENCH)
        fake_write(
            f, (struct record){EVENT_BENCHED, .benched = {run_id, 1000000, 0.01, 1e4, 0.5, 768}});
    else
        fake_write(f,
                   (struct record){EVENT_TRAINED, .trained = {run_id, 1000000, 0.01, 8, 768, 1000,
                                                              loss, 1e4, "best.safetensors", sha256,
                                                              "last.safetensors", sha256}});
}

static void fake_results(struct fake *f)
{
    char run_id[SPEC_ID_BYTES];

    for (int32_t i = 0; i < f->n; i++) {
        spec_run_id(&f->spec[i], run_id);
        fake_result(f, f->spec[i].kind, run_id);
    }
}

static int fake_end(struct fake *f, const char *state, const char *message, int exit_code)
{
    fake_write(f, (struct record){EVENT_ENDED, .ended = {state, "none", message, NULL}});
    if (event_sync(f->events, &f->e) < 0) return 74;
    return exit_code;
}

static void fake_ring(char what)
{
    int fd = open("bell", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, &what, 1) != 1) exit(74);
    close(fd);
}

/* --- actions: each returns the exit status --- */

static int fake_succeed(struct fake *f)
{
    fake_results(f);
    return fake_end(f, "done", "", 0);
}

static int fake_crash(struct fake *f)
{
    (void)f;
    fprintf(stderr, "first line\nerror: no such table\n");
    return 70;
}

static int fake_die(struct fake *f)
{
    (void)f;
    raise(SIGKILL);
    return 0;
}

/* The library of matrix products crashes, or says that it cannot multiply; another one works. */
static int fake_blas_dies(struct fake *f)
{
    if (getenv("ALIBI_AVOID_BLAS")) return fake_succeed(f);
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would exit */
    raise(SIGSEGV);
    return 0;
}

static int fake_blas_fails(struct fake *f)
{
    if (getenv("ALIBI_AVOID_BLAS")) return fake_succeed(f);
    fake_write(f, (struct record){EVENT_ENDED, .ended = {"failed", err_name(ERR_UNAVAILABLE),
                                                         "oneDNN 2.6 refused a product", NULL}});
    return event_sync(f->events, &f->e) < 0 ? 74 : 69;
}

/* A record torn in the middle, then death: what a power cut leaves. */
static int fake_tear(struct fake *f)
{
    char path[512];
    snprintf(path, sizeof path, "%s/events", f->dir);
    fake_results(f);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (write(fd, "\x20\0\0\0\x07\0\0\0", 8) != 8) return 74;
    raise(SIGKILL);
    return 0;
}

static int fake_lie(struct fake *f)
{
    fake_results(f);
    return fake_end(f, "done", "", 3);
}

static int fake_stray(struct fake *f)
{
    fake_result(f, SPEC_EVAL, "ffffffffffffffff");
    return fake_succeed(f);
}

static int fake_malformed(struct fake *f)
{
    if (event_write(f->events, EVENT_PROGRESS, json_pack("{s:s}", "done", "many"), &f->e) < 0)
        return 74;
    return fake_succeed(f);
}

static int fake_hang(struct fake *f)
{
    (void)f;
    while (pause() < 0) continue;
    return 0;
}

/* Waits for SIGTERM and obeys it. */
static int fake_wait(struct fake *f)
{
    sigset_t wanted;
    int got;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    fake_ring('w');
    sigwait(&wanted, &got);
    return fake_end(f, "cancelled", "stopped after update 5", 130);
}

/* The same, with a checkpoint kept. */
static int fake_drain(struct fake *f)
{
    fake_write(f, (struct record){
                      EVENT_CHECKPOINT,
                      .checkpoint = {.update = 5, .path = "update-5.safetensors", .sha256 = "0"}});
    return fake_wait(f);
}

/* Waits until the FIFO `gate` lets it through. */
static int fake_gate(struct fake *f)
{
    char byte;
    int fd = open("gate", O_RDONLY | O_CLOEXEC);

    fake_ring('g');
    if (fd < 0 || read(fd, &byte, 1) != 1) return 74;
    close(fd);
    return fake_succeed(f);
}

/* Rings at each SIGTERM and does not end. */
static int fake_ignore(struct fake *f)
{
    sigset_t wanted;
    int got;

    (void)f;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    for (fake_ring('i'); sigwait(&wanted, &got) == 0;) fake_ring('t');
    return 70;
}

static int fake_print(struct fake *f)
{
    char line[65536];

    for (size_t i = 0; i < sizeof line; i++) line[i] = (char)(128 + i % 128); /* not a text */
    for (int64_t done = 0; done < f->number; done += (int64_t)sizeof line)
        if (write(1, line, sizeof line) < 0) return 74;
    f->number = 0;
    return fake_succeed(f);
}

static int fake_environment(struct fake *f)
{
    char text[4096];
    int descriptors_n = 0;
    extern char **environ;

    for (char **v = environ; *v; v++) printf("%s\n", *v);
    printf("cwd=%s\n", getcwd(text, sizeof text));
    printf("group=%s\n", getpgrp() == getpid() ? "own" : "shared");
    for (int fd = 0; fd < 256; fd++) descriptors_n += fcntl(fd, F_GETFD) >= 0;
    printf("descriptors=%d\n", descriptors_n - 1); /* its own event file apart */
    ssize_t n = readlink("/proc/self/fd/0", text, sizeof text - 1);
    printf("stdin=%.*s\n", (int)n, text);
    fflush(stdout);
    return fake_succeed(f);
}

/* A child of its own that would outlive it. */
static int fake_orphan(struct fake *f)
{
    char text[32];
    pid_t pid = fork();

    if (pid == 0) {
        signal(SIGTERM, SIG_IGN);
        for (;;) pause();
    }
    snprintf(text, sizeof text, "%ld\n", (long)pid);
    if (file_write_atomic("orphan", text, strlen(text), &f->e) < 0) return 74;
    return fake_succeed(f);
}

static const struct {
    const char *name;
    int (*run)(struct fake *); /* NULL: only a last record of this state, if any */
    const char *state, *message;
    int exit_code;
    bool always; /* NUMBER is not a number of attempts */
} fake_actions[] = {
    {"succeed", .run = fake_succeed},
    {"fail", .state = "failed", .message = "the disk is full: 12 bytes of last.safetensors",
     .exit_code = 74},
    {"crash", .run = fake_crash},
    {"die", .run = fake_die},
    {"blas_dies", .run = fake_blas_dies},
    {"blas_fails", .run = fake_blas_fails},
    {"tear", .run = fake_tear},
    {"diverge", .state = "diverged", .message = "the loss of update 7 is nan", .exit_code = 70},
    {"empty", .state = "done", .message = "", .exit_code = 0},
    {.name = "mute"},
    {"lie", .run = fake_lie},
    {"stray", .run = fake_stray},
    {"malformed", .run = fake_malformed},
    {"hang", .run = fake_hang},
    {"wait", .run = fake_wait},
    {"drain", .run = fake_drain},
    {"gate", .run = fake_gate},
    {"ignore", .run = fake_ignore},
    {"print", .run = fake_print, .always = true},
    {"orphan", .run = fake_orphan},
    {"environment", .run = fake_environment},
};

static int fake_act(struct fake *f)
{
    for (size_t i = 0; i < sizeof fake_actions / sizeof *fake_actions; i++) {
        if (strcmp(fake_actions[i].name, f->action) != 0) continue;
        if (!fake_actions[i].always && f->number > 0 && f->attempt > f->number) break;
        if (fake_actions[i].run) return fake_actions[i].run(f);
        if (!fake_actions[i].state) return 0;
        return fake_end(f, fake_actions[i].state, fake_actions[i].message,
                        fake_actions[i].exit_code);
    }
    return fake_succeed(f);
}

static int fake_read_script(struct fake *f)
{
    char *text, run[32], action[32], run_id[SPEC_ID_BYTES];

    spec_run_id(&f->spec[0], run_id);
    TRY(file_read(&f->arena, &text, NULL, "fake", 1 << 20, &f->e));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        long number = 0;
        if (sscanf(line, "%31s %31s %ld", run, action, &number) < 2) continue;
        if (strcmp(run, "*") != 0 && strcmp(run, run_id) != 0) continue;
        snprintf(f->action, sizeof f->action, "%s", action);
        f->number = number;
        return 0;
    }
    return 0;
}

static int fake_slurm_job(const char *program, const char *dir, const char *root)
{
    struct err e = {0};
    const struct project p = {.root = root, .share = root, .program = program};
    int rc = slurm_node_run(&p, dir, &e);

    if (rc < 0) fprintf(stderr, "%s\n", e.text);
    return err_exit_code(rc);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "slurm-job") == 0)
        return fake_slurm_job(argv[0], argv[2], argv[4]);
    struct fake *f = calloc(1, sizeof *f);
    sigset_t stop;

    if (argc < 3 || !f) return 64;
    arena_init(&f->arena);
    f->dir = argv[2];
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    if (run_folder_read_specs(&f->spec, &f->n, &f->arena, f->dir, &f->e) < 0 ||
        fake_read_script(f) < 0) {
        fprintf(stderr, "%s\n", f->e.text);
        return 65;
    }
    if (!str_to_int(&f->attempt, strrchr(f->dir, '/') + 1)) return 64;
    if (strcmp(f->action, "wait") == 0 || strcmp(f->action, "drain") == 0 ||
        strcmp(f->action, "ignore") == 0)
        sigprocmask(SIG_BLOCK, &stop, NULL);
    alarm(FAKE_LONG_S); /* whatever goes wrong in a test, nothing stays for ever */
    if (run_folder_append(&f->events, f->dir, &f->e) < 0) return 74;
    fake_started(f);
    int status = fake_act(f);
    event_writer_close(f->events);
    arena_fini(&f->arena);
    free(f);
    return status;
}
