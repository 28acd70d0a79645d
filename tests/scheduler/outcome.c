/* outcome.c - see outcome.h. */
#include "scheduler/outcome.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "spec/code_id.h"

static const struct outcome outcomes[] = {
    {"done", "r", 0, 0, "done", "none", "", NULL, 0},
    {"failed", "", 74, 0, "failed", "io", "the disk is full: 12 bytes of last.safetensors", "own",
     0},
    {"diverged", "r", 70, 0, "diverged", "none", "the loss of update 7 is nan", "own", 0},
    {"cancelled", "r", 130, 0, "cancelled", "none", "stopped after update 5", "own", 0},
    {"lost", "", 0, SIGKILL, NULL, NULL, NULL, NULL, 0},
    {"torn", "rt", 0, SIGKILL, NULL, NULL, NULL, NULL, 0},
    {"part", "f", 0, SIGKILL, NULL, NULL, NULL, NULL, 0},
    {"crashed", "", 70, 0, NULL, NULL, NULL, NULL, 0},
    /* The library of matrix products crashes, or reports that it cannot multiply. */
    {"blas_dies", "", 0, SIGSEGV, NULL, NULL, NULL, NULL, 0},
    {"blas_fails", "", 69, 0, "failed", "unavailable", "oneDNN 2.6 refused a product", "own", 0},
    /* Memory ends: the worker aborts, or says so. */
    {"aborts", "", 0, SIGABRT, NULL, NULL, NULL, NULL, 0},
    {"no_memory", "", 70, 0, "failed", "no_memory", "out of memory: eval.attention_rows needs 9 MB",
     "own", 0},
    /* Rank 0 records what ended another rank; that of a rank that loses its GPU before it meets. */
    {"told_gpu", "", 69, 0, "lost", "unavailable", "rank 1 on h, cuda:0: it fell off the bus",
     "own", 1},
    {"told_gone", "", 69, 0, "lost", "unavailable", "rank 1 on h, cuda:0: connection lost: bye",
     "lost", 1},
    {"told_silent", "", 69, 0, "lost", "unavailable",
     "rank 1 on h, cuda:0: rank 0 on h, cuda:0 moved no byte for 9 s", "silent", 0},
    {"told_io", "", 74, 0, "failed", "io", "rank 1 on h, cuda:0: the disk is full", "own", 1},
    {"told_of_2", "", 74, 0, "failed", "io", "rank 2 on h, cuda:0: the disk is full", "own", 2},
    {"own_gpu", "", 69, 0, "lost", "unavailable", "cuda:0: it fell off the bus", "own", 0},
    {"waited", "", 69, 0, "lost", "unavailable", "rank 0 on h, cuda:0 waited 120 s: no rank 1",
     "absent", 1},
    {"gives_up", "", 69, 0, "failed", "unavailable", "it fell off the bus", "own", 0},
    /* A file is to blame: its content, or its absence. */
    {"bad_file", "", 65, 0, "failed", "data", "last.safetensors has another hash", "own", 0},
    {"no_file", "", 66, 0, "failed", "no_input", "last.safetensors: no such file", "own", 0},
    /* Failures, whatever the worker claims. */
    {"mute", "", 0, 0, NULL, NULL, NULL, NULL, 0},
    {"empty", "", 0, 0, "done", "none", "", NULL, 0},
    {"lie", "r", 3, 0, "done", "none", "", NULL, 0},
    {"stray", "sr", 0, 0, "done", "none", "", NULL, 0},
    {"malformed", "mr", 0, 0, "done", "none", "", NULL, 0},
};

int outcome_word(char word[OUTCOME_WORD_BYTES], const char *root, const char *dir, int rank,
                 struct err *e)
{
    char run_id[SPEC_ID_BYTES], *text = NULL;
    int32_t attempt;
    struct arena a;

    arena_init(&a);
    int rc = file_read(&a, &text, NULL, arena_printf(&a, "%s/fake", root), 1 << 20, e);
    if (rc == 0 && !run_folder_parse(dir, run_id, &attempt))
        rc = ERR(e, ERR_DATA, "%s is not the folder of an attempt", dir);
    for (char *line = strsep(&text, "\n"); rc == 0 && line; line = strsep(&text, "\n")) {
        const char *run = strsep(&line, " ");
        if (strcmp(run, "*") != 0 && strcmp(run, run_id) != 0) continue;
        for (int32_t i = 0; i < attempt && line; i++)
            snprintf(word, OUTCOME_WORD_BYTES, "%s", strsep(&line, " "));
        break;
    }
    char *others = rc == 0 ? strchr(word, '/') : NULL;
    if (others && rank > 0) memmove(word, others + 1, strlen(others));
    if (others && rank == 0) *others = '\0';
    arena_fini(&a);
    return rc;
}

const struct outcome *outcome_find(const char *word)
{
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
        if (strcmp(outcomes[i].name, word) == 0) return &outcomes[i];
    return NULL;
}

int outcome_begin(struct event_writer **w, const char *dir, struct err *e)
{
    const char *blas = getenv("ALIBI_AVOID_BLAS") ? "own products" : "oneDNN 2.6";
    const struct record started = {EVENT_STARTED, .started = {.pid = getpid(),
                                                              .host = "h",
                                                              .device = "fake",
                                                              .backend = "cpu",
                                                              .blas = blas,
                                                              .threads = 1,
                                                              .ranks = 1,
                                                              .code_id = code_id(),
                                                              .program = "fake_worker"}};
    TRY(run_folder_append(w, dir, e));
    return record_write(*w, &started, e);
}

/* The loss depends on the run alone, so that any disturbed grid can be compared with another. */
static int write_result(struct event_writer *w, enum spec_kind kind, const char *run_id,
                        struct err *e)
{
    static const char sha256[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    unsigned sum = 0;
    struct record r;

    for (const char *p = run_id; *p; p++) sum = sum * 31 + (unsigned char)*p;
    double loss = 1.0 + (sum % 1000) / 1000.0;
    if (kind == SPEC_EVAL)
        r = (struct record){EVENT_EVALUATED,
                            .evaluated = {run_id, 1000000, 0.01, loss, 2 * loss, 1000, 0, 1e4,
                                          sha256, .bytes = RECORD_NONE, .words = RECORD_NONE,
                                          .documents = RECORD_NONE}};
    else if (kind == SPEC_BENCH)
        r = (struct record){EVENT_BENCHED, .benched = {run_id, 1000000, 0.01, 1e4, 0.5, 768, 0, 0}};
    else
        r = (struct record){EVENT_TRAINED,
                            .trained = {run_id, 1000000, 0.01, 8, 768, 1000, loss, 1e4,
                                        "best.safetensors", sha256, "last.safetensors", sha256}};
    return record_write(w, &r, e);
}

/* The results of the first `most` runs. */
static int write_results(struct event_writer *w, const char *dir, int32_t most, struct err *e)
{
    static const char *const checkpoints[] = {"best.safetensors", "last.safetensors"};
    struct spec *spec;
    char run_id[SPEC_ID_BYTES];
    int32_t n;
    struct arena a;

    arena_init(&a);
    int rc = run_folder_read_specs(&spec, &n, &a, dir, e);
    for (int32_t i = 0; i < n && i < most && rc == 0; i++) {
        spec_run_id(&spec[i], run_id);
        rc = write_result(w, spec[i].kind, run_id, e);
        for (int k = 0; k < 2 && rc == 0 && spec[i].kind == SPEC_TRAIN; k++)
            rc = file_write_named(arena_printf(&a, "%s/%s", dir, checkpoints[k]), "", 0, e);
    }
    arena_fini(&a);
    return rc;
}

static int tear(const char *dir, struct err *e)
{
    struct arena a;

    arena_init(&a);
    int fd = open(run_folder_path(&a, dir, RUN_EVENTS), O_WRONLY | O_APPEND | O_CLOEXEC);
    bool wrote = write(fd, "\x20\0\0\0\x07\0\0\0", 8) == 8;
    close(fd);
    arena_fini(&a);
    return wrote ? 0 : ERR(e, ERR_IO, "%s: cannot write a torn record", dir);
}

int outcome_end(struct event_writer *w, const struct outcome *o, const char *dir, struct err *e)
{
    const struct record ended = {EVENT_ENDED, .ended = {.state = o->state,
                                                        .code = o->code,
                                                        .message = o->message,
                                                        .cause = o->cause,
                                                        .rank = o->rank,
                                                        .node = o->cause ? "h" : NULL}};
    int rc = 0;

    for (const char *c = o->records; *c && rc == 0; c++)
        rc = *c == 'r'   ? write_results(w, dir, INT32_MAX, e)
             : *c == 'f' ? write_results(w, dir, 1, e)
             : *c == 's' ? write_result(w, SPEC_EVAL, "ffffffffffffffff", e)
             : *c == 'm' ? event_write(w, EVENT_PROGRESS, json_pack("{s:s}", "done", "many"), e)
                         : tear(dir, e);
    if (rc == 0 && o->state) rc = record_write(w, &ended, e);
    if (rc == 0) rc = event_sync(w, e);
    event_writer_close(w);
    return rc;
}
