/* fake_worker.c - a worker that does what a script says (outcome.h) instead of training.
 *
 * Started as `fake_worker worker DIR …` with the project as working folder. Beside the outcomes it
 * knows actions, after which it ends as one of them. Only rank 0 writes records; the others print
 * their arguments and end as rank 0 would. If there is a FIFO `bell`, one byte goes into
 * it when an action has begun to wait, so that a test need not guess. Started as `fake_worker
 * slurm-job DIR --project ROOT` it is what alibi would be then. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "scheduler/outcome.h"
#include "scheduler/scheduler.h"

enum { FAKE_LONG_S = 600, FAKE_LOG_BYTES = 100000000 };

static void must(bool works)
{
    if (!works) exit(74);
}

static void fake_write(struct event_writer *w, struct record r)
{
    struct err e;
    must(record_write(w, &r, &e) == 0);
}

static void fake_ring(void)
{
    int fd = open("bell", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    must(write(fd, "b", 1) == 1);
    close(fd);
}

/* --- actions --- */

static void fake_crash(struct event_writer *w)
{
    (void)w;
    fprintf(stderr, "first line\nerror: no such table\n");
}

static void fake_hang(struct event_writer *w)
{
    (void)w;
    while (pause() < 0) continue;
}

static void await_term(void)
{
    sigset_t wanted;
    int got;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigwait(&wanted, &got);
}

/* Waits for SIGTERM and obeys it. */
static void fake_wait(struct event_writer *w)
{
    (void)w;
    fake_ring();
    await_term();
}

/* The same, with a checkpoint kept. */
static void fake_drain(struct event_writer *w)
{
    if (w)
        fake_write(w,
                   (struct record){
                       EVENT_CHECKPOINT,
                       .checkpoint = {.update = 5, .path = "update-5.safetensors", .sha256 = "0"}});
    fake_wait(w);
}

/* Waits until the FIFO `gate` lets it through. */
static void fake_gate(struct event_writer *w)
{
    char byte;
    int fd = open("gate", O_RDONLY | O_CLOEXEC);

    (void)w;
    fake_ring();
    must(read(fd, &byte, 1) == 1);
    close(fd);
}

/* Rings at each SIGTERM and does not end. */
static void fake_ignore(struct event_writer *w)
{
    for (;;) fake_wait(w);
}

static void fake_print(struct event_writer *w)
{
    char line[65536];

    (void)w;
    for (size_t i = 0; i < sizeof line; i++) line[i] = (char)(128 + i % 128); /* not a text */
    for (size_t done = 0; done < FAKE_LOG_BYTES; done += sizeof line)
        must(write(1, line, sizeof line) >= 0);
}

static void fake_environment(struct event_writer *w)
{
    char text[4096];
    int descriptors_n = 0;
    extern char **environ;

    (void)w;
    for (char **v = environ; *v; v++) printf("%s\n", *v);
    printf("cwd=%s\n", getcwd(text, sizeof text));
    printf("group=%s\n", getpgrp() == getpid() ? "own" : "shared");
    for (int fd = 0; fd < 256; fd++) descriptors_n += fcntl(fd, F_GETFD) >= 0;
    printf("descriptors=%d\n", descriptors_n - 1); /* its own event file apart */
    ssize_t n = readlink("/proc/self/fd/0", text, sizeof text - 1);
    printf("stdin=%.*s\n", (int)n, text);
    fflush(stdout);
}

/* A child of its own that would outlive it. */
static void fake_orphan(struct event_writer *w)
{
    char text[32];
    struct err e;
    pid_t pid = fork();

    (void)w;
    if (pid == 0) {
        signal(SIGTERM, SIG_IGN);
        for (;;) pause();
    }
    snprintf(text, sizeof text, "%ld\n", (long)pid);
    must(file_write_atomic("orphan", text, strlen(text), &e) == 0);
}

static const struct {
    const char *name;
    void (*act)(struct event_writer *);
    const char *outcome;
    bool handles_stop; /* SIGTERM is blocked from the start */
} actions[] = {
    {"crash", fake_crash, "crashed", false},
    {"hang", fake_hang, "lost", false},
    {"wait", fake_wait, "cancelled", true},
    {"drain", fake_drain, "cancelled", true},
    {"gate", fake_gate, "done", false},
    {"ignore", fake_ignore, "lost", true},
    {"print", fake_print, "done", false},
    {"orphan", fake_orphan, "done", false},
    {"environment", fake_environment, "done", false},
};
enum { ACTIONS_N = sizeof actions / sizeof *actions };

static _Noreturn void fake_exit(const struct outcome *o)
{
    if (o->signal) {
        signal(o->signal, SIG_DFL); /* a sanitizer's handler would exit */
        raise(o->signal);
    }
    exit(o->exit_code);
}

/* Its arguments go to its log, its number into a file. */
static void fake_print_rank(char **argv)
{
    char text[32];
    struct err e;

    for (char **word = argv + 3; *word; word++) printf("%s ", *word);
    printf("\ngpu=%s leader=%d\n", getenv("CUDA_VISIBLE_DEVICES"), getpgrp() == getpid());
    fflush(stdout);
    snprintf(text, sizeof text, "%ld\n", (long)getpid());
    must(file_write_atomic("rank", text, strlen(text), &e) == 0);
}

static int fake_work(char **argv, int rank, const char *meet, struct err *e)
{
    char word[OUTCOME_WORD_BYTES];
    const char *dir = argv[2];
    sigset_t stop;
    struct event_writer *w = NULL;
    size_t i = 0;

    TRY(outcome_word(word, ".", dir, rank, e));
    while (i < ACTIONS_N && strcmp(actions[i].name, word) != 0) i++;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    if (i < ACTIONS_N && actions[i].handles_stop) sigprocmask(SIG_BLOCK, &stop, NULL);
    alarm(FAKE_LONG_S); /* whatever goes wrong in a test, nothing stays for ever */
    if (rank == 0 && meet) TRY(file_write_atomic(meet, "unix:1 key\n", 11, e));
    if (rank == 0) TRY(outcome_begin(&w, dir, e));
    for (int k = 1; k <= 4 && rank == 0; k++)
        fake_write(w, (struct record){EVENT_PROGRESS, .progress = {k, 8, 5.0 / k, 1000}});
    if (rank > 0) fake_print_rank(argv);
    if (i < ACTIONS_N) actions[i].act(w);
    const struct outcome *o = outcome_find(i < ACTIONS_N ? actions[i].outcome : word);
    if (!o) return ERR(e, ERR_DATA, "the script has the unknown word '%s'", word);
    if (rank == 0) TRY(outcome_end(w, o, dir, e));
    if (rank > 0 && o->message) fprintf(stderr, "error: %s\n", o->message);
    fake_exit(o);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    int rc = ERR_USAGE, rank = 0;
    const char *meet = NULL;

    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--rank") == 0) rank = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--meet") == 0) meet = argv[i + 1];
    }

    if (argc == 5 && strcmp(argv[1], "slurm-job") == 0) {
        const struct project p = {.root = argv[4], .share = argv[4], .program = argv[0]};
        rc = slurm_node_run(&p, argv[2], &e);
    } else if (argc >= 3) {
        rc = fake_work(argv, rank, meet, &e);
    }
    if (rc < 0) fprintf(stderr, "%s\n", e.text);
    return err_exit_code(rc);
}
