/* bench_scheduler.c - measures the overhead of the scheduler and of results.db.
 *
 *   bench_scheduler ALIBI FOLDER [RUNS]
 *
 * 1. Overhead: RUNS/10 trainings in one slot, by an executor whose workers take no time: it writes
 *    their records at the start, which is not timed. Timed is everything between two workers:
 *    ingesting the records, the next run folder and its spec, fsync.
 * 2. Processes: RUNS/50 trainings by worker processes (this program) that only write these records.
 * 3. Size: RUNS runs, half of them evaluations, are planned, run as in 1, reported and queried.
 * 4. Readers: meanwhile `alibi query` and `alibi report` read results.db repeatedly.
 *
 * FOLDER is a new folder on the file system to measure. Prints numbers without a judgement. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/subprocess.h"
#include "record/run_folder.h"
#include "scheduler/executor.h"
#include "workflow/workflow.h"

enum { BENCH_RUNS = 10000, BENCH_LENGTHS = 5, BENCH_READERS = 2 };

static const char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* --- a worker that does nothing ------------------------------------------------------------- */

static int write_result(struct event_writer *w, const struct spec *s, struct err *e)
{
    char run_id[SPEC_ID_BYTES];

    spec_run_id(s, run_id);
    const struct record trained = {.type = EVENT_TRAINED,
                                   .trained = {run_id, 1000000, 0.01, s->train.updates, 768, 100000,
                                               3.5, 1e4, "best.safetensors", digest,
                                               "last.safetensors", digest}};
    const struct record evaluated = {.type = EVENT_EVALUATED,
                                     .evaluated = {run_id, 1000000, 0.01, 3, 20.1, 1000, 0, 1e4,
                                                   digest, .bytes = RECORD_NONE,
                                                   .words = RECORD_NONE, .documents = RECORD_NONE}};
    return record_write(w, s->kind == SPEC_EVAL ? &evaluated : &trained, e);
}

/* dir: any path of the attempt. */
static int write_records(const char *dir, struct err *e)
{
    const struct record started = {.type = EVENT_STARTED,
                                   .started = {.device = "none", .code_id = "bench"}};
    const struct record ended = {.type = EVENT_ENDED,
                                 .ended = {.state = "done", .code = "none", .message = ""}};
    struct event_writer *w = NULL;
    struct spec *spec;
    struct arena a;
    int32_t n;
    int rc = 0;

    arena_init(&a);
    TRY_OUT(rc, run_folder_read_specs(&spec, &n, &a, dir, e));
    TRY_OUT(rc, run_folder_append(&w, dir, e));
    TRY_OUT(rc, record_write(w, &started, e));
    for (int32_t i = 0; i < n; i++) TRY_OUT(rc, write_result(w, &spec[i], e));
    rc = record_write(w, &ended, e);
out:
    event_writer_close(w);
    arena_fini(&a);
    return rc;
}

/* --- an executor with such workers ---------------------------------------------------------- */

/* Milliseconds for each run but the first. */
struct intervals {
    double *all_ms;  /* from the start of a worker to the start of the next */
    double *idle_ms; /* from the end of a worker to the start of the next */
    int32_t n, room;
    int64_t left_us, ended_us; /* of the last worker */
};

static struct intervals measured; /* global: the executor's interface cannot return it */

static int idle_list(struct device *out, int32_t room, int32_t *n, struct err *e)
{
    if (room < 1) return ERR(e, ERR_INTERNAL, "no room for a device");
    *n = 1;
    *out = (struct device){
        .name = "idle", .memory_bytes = INT64_MAX / 2, .free_bytes = INT64_MAX / 2, .slots = 1};
    return 0;
}

static int idle_open(void **self, const struct executor_config *c, struct err *e)
{
    (void)c, (void)e;
    *self = &measured;
    measured.left_us = 0;
    measured.n = 0;
    return 0;
}

static void idle_close(void *self)
{
    (void)self;
}

/* The scheduler polls its workers when a child has ended, so send it that signal. */
static int idle_start(void *self, void **worker, struct worker_id *id,
                      const struct worker_command *o, struct err *e)
{
    struct intervals *m = self;
    int64_t now_us = clock_monotonic_us();

    if (m->left_us > 0 && m->n < m->room) {
        m->idle_ms[m->n] = (double)(now_us - m->ended_us) / 1e3;
        m->all_ms[m->n++] = (double)(now_us - m->left_us) / 1e3;
    }
    *id = (struct worker_id){.host = "bench", .pid = 1};
    *worker = m;
    int rc = write_records(o->attempt_dir, e);
    kill(getpid(), SIGCHLD);
    m->left_us = clock_monotonic_us();
    return rc;
}

static int idle_recover(void *self, void **worker, struct worker_id *id,
                        const struct store_running *row, const char *dir, struct err *e)
{
    (void)self, (void)worker, (void)id, (void)row, (void)dir, (void)e;
    return 0;
}

static enum worker_state idle_poll(void *worker, bool reported_end, struct exit_info *end)
{
    (void)reported_end;
    ((struct intervals *)worker)->ended_us = clock_monotonic_us();
    *end = (struct exit_info){.exit_code = 0, .signal = -1};
    return WORKER_ENDED;
}

static void idle_signal(void *worker, enum worker_signal signal)
{
    (void)worker, (void)signal;
}

static const struct executor executor_idle = {
    .name = "idle",
    .list = idle_list,
    .open = idle_open,
    .close = idle_close,
    .start = idle_start,
    .recover = idle_recover,
    .poll = idle_poll,
    .signal = idle_signal,
    .release = idle_close,
};
static const struct executor *const idle_table[] = {&executor_idle, NULL};

/* --- the cases ------------------------------------------------------------------------------ */

struct bench {
    struct arena arena;
    struct project project;
    struct err e;
    int32_t seed; /* the last seed of a grid: grids share no runs */
};

static void must(struct bench *b, int rc)
{
    if (rc >= 0) return;
    fprintf(stderr, "bench_scheduler: %s\n", b->e.text);
    exit(err_exit_code(rc));
}

/* Writes a grid of trainings_n trainings with different seeds, and one evaluation each if
 * `evaluate`.
 */
static char *write_grid(struct bench *b, const char *name, int32_t trainings_n, bool evaluate)
{
    struct strbuf text;
    char *dir = arena_printf(&b->arena, "%s/%s/", b->project.root, name);

    strbuf_init(&text, &b->arena);
    strbuf_addf(&text,
                "artefact: %s\ntitle: \"nothing\"\n"
                "base: [model/wt103_247m.yaml, data/wikitext103.yaml, train/wikitext103.yaml]\n"
                "grid:\n  - { position: alibi, L_train: [64, 128, 256, 512, 1024], seed: [",
                name);
    for (int32_t i = 1; i <= trainings_n / BENCH_LENGTHS; i++)
        strbuf_addf(&text, "%s%d", i > 1 ? ", " : "", ++b->seed);
    strbuf_add(&text, "] }\n");
    if (evaluate)
        strbuf_add(&text, "evaluate:\n  - { split: valid, window: nonoverlapping, L_valid: L_train "
                          "}\n");
    must(b, file_make_dirs(dir, &b->e));
    must(b,
         file_write_atomic(arena_printf(&b->arena, "%sgrid.yaml", dir), text.text, text.n, &b->e));
    return dir;
}

/* Runs the grid; returns its wall seconds. The intervals are in `measured`. */
static double run_grid(struct bench *b, const char *dir, const struct scheduler_options *o)
{
    const struct plan_options po = {0};
    struct scheduler_result result;
    struct planning p;
    struct store *store;
    const char *path = project_path(&b->project, &b->arena, "results.db");

    must(b, store_open(&store, path, STORE_WRITE, &b->e));
    must(b, planning_open(&p, &b->project, &dir, 1, &po, NULL, store, &b->e));
    must(b, workflow_register(store, &b->project, &p.plan.arena, &p.plan, &po, &b->e));
    struct run *run = arena_array(&b->arena, (size_t)p.plan.runs_n, sizeof *run);
    for (int32_t i = 0; i < p.plan.runs_n; i++) {
        const struct plan_run *from = &p.plan.run[i];
        run[i] = (struct run){.spec = from->spec, .train = from->train, .flops = 1};
        memcpy(run[i].run_id, from->run_id, sizeof run[i].run_id);
    }
    int64_t from_us = clock_monotonic_us();
    must(b, scheduler_run(store, &b->project, run, p.plan.runs_n, o, &result, &b->e));
    double seconds = (double)(clock_monotonic_us() - from_us) / 1e6;
    plan_close(&p.plan);
    store_close(store);
    return seconds;
}

static int compare_ms(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_intervals(const char *what)
{
    double *const ms[] = {measured.all_ms, measured.idle_ms};

    for (int i = 0; i < 2; i++) {
        qsort(ms[i], (size_t)measured.n, sizeof *ms[i], compare_ms);
        printf("%-44s median %7.3f ms   p99 %7.3f ms   (%ld)\n",
               i ? "  of this, no worker runs" : what, ms[i][measured.n / 2],
               ms[i][measured.n * 99 / 100], (long)measured.n);
    }
}

/* Runs alibi; returns its wall seconds. */
static double run_alibi(struct bench *b, const char *const *words)
{
    const char *argv[16] = {b->project.program};
    struct subprocess_end end;
    struct arena a;
    int n = 1;

    arena_init(&a);
    while (*words) argv[n++] = *words++;
    argv[n++] = "--project";
    argv[n] = b->project.root;
    const struct subprocess alibi = {.argv = argv};
    int64_t from_us = clock_monotonic_us();
    must(b, subprocess_run(&end, &a, &alibi, &b->e));
    must(b, subprocess_check(&end, &alibi, ERR_INTERNAL, &b->e));
    arena_fini(&a);
    return (double)(clock_monotonic_us() - from_us) / 1e6;
}

static const char *const query[] = {
    "query", "SELECT position, L_train, count(*), avg(perplexity) FROM evaluations GROUP BY 1, 2",
    NULL};

/* Starts a process that reads until the file `stop` exists, and writes a byte to fd for each
 * answer.
 */
static pid_t start_reader(struct bench *b, const char *const *words, const char *stop, int fd)
{
    pid_t pid = fork();

    if (pid != 0) return pid;
    while (!file_exists(stop)) {
        run_alibi(b, words);
        if (write(fd, "r", 1) != 1) _exit(1);
    }
    _exit(0);
}

static void run_with_readers(struct bench *b, int32_t runs_n, const struct scheduler_options *o)
{
    char *dir = write_grid(b, "read", runs_n / 2, true), byte;
    const char *const report[] = {"report", dir, NULL};
    const char *stop = project_path(&b->project, &b->arena, "stop");
    int fds[2], status, answers_n = 0;
    pid_t reader[BENCH_READERS];

    must(b, pipe2(fds, O_CLOEXEC | O_NONBLOCK));
    reader[0] = start_reader(b, query, stop, fds[1]);
    reader[1] = start_reader(b, report, stop, fds[1]);
    run_grid(b, dir, o);
    print_intervals("overhead per run while query and report read");
    must(b, file_write_new(stop, "", 0, &b->e));
    for (int i = 0; i < BENCH_READERS; i++)
        if (waitpid(reader[i], &status, 0) < 0 || status != 0) printf("a reader failed\n");
    while (read(fds[0], &byte, 1) == 1) answers_n++;
    printf("%-44s %d\n", "answers to readers meanwhile", answers_n);
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    int64_t runs_n = BENCH_RUNS;

    if (argc > 2 && strcmp(argv[1], "worker") == 0) return write_records(argv[2], &b.e) < 0;
    char *self = realpath("/proc/self/exe", NULL);
    arena_init(&b.arena);
    if (argc < 3 || (argc > 3 && (!str_to_int(&runs_n, argv[3]) || runs_n < 250))) {
        fprintf(stderr, "usage: bench_scheduler ALIBI FOLDER [RUNS, at least 250]\n");
        return 64;
    }
    must(&b, project_open(&b.project, &b.arena, argv[2], &b.e));
    char *program = realpath(argv[1], NULL);
    b.project.program = program;
    measured.room = (int32_t)runs_n;
    measured.all_ms = calloc((size_t)runs_n, sizeof *measured.all_ms);
    measured.idle_ms = calloc((size_t)runs_n, sizeof *measured.idle_ms);
    struct scheduler_options o = {
        .devices = "idle", .quiet = true, .executors = idle_table, .worker = self};
    struct scheduler_options processes = {.devices = "cpu:1", .quiet = true, .worker = self};
    int32_t n = (int32_t)runs_n;

    run_grid(&b, write_grid(&b, "few", n / 10, false), &o);
    print_intervals("overhead per run, workers that take no time");
    double s = run_grid(&b, write_grid(&b, "processes", n / 50, false), &processes);
    printf("%-44s mean   %7.3f ms\n", "a run by a process that does nothing", s * 1e3 / (n / 50));

    const char *dir = write_grid(&b, "many", n / 2, true);
    const char *const plan[] = {"plan", dir, NULL}, *const report[] = {"report", dir, NULL};
    printf("%ld runs: alibi plan %.2f s", (long)n, run_alibi(&b, plan));
    printf(", run %.2f s", run_grid(&b, dir, &o));
    printf(", plan when done %.2f s", run_alibi(&b, plan));
    printf(", report %.2f s", run_alibi(&b, report));
    printf(", query %.2f s\n", run_alibi(&b, query));
    print_intervals("overhead per run among these");
    run_with_readers(&b, n, &o);
    free(measured.all_ms);
    free(measured.idle_ms);
    free(self);
    free(program);
    arena_fini(&b.arena);
    return 0;
}
