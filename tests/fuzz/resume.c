/* resume.c - an attempt that resumes from a state file of a hostile header, recorded with its right
 * hash: the bytes are the header's JSON, in which @RUN, @WEIGHTS and @BEST stand for the run id and
 * two hashes. The tensors' data are those of a real checkpoint. Only what the attempt accepts is
 * trained on. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "fuzz/targets.h"
#include "model/model.h"
#include "worker/checkpoints.h"
#include "worker/state.h"
#include "worker/worker_fixture.h"

enum { STATE_BYTES_MAX = 1 << 24 };

static struct {
    void *fixture; /* a struct worker_fixture *; NULL: not made yet */
    struct spec spec;
    struct record checkpoint; /* the first attempt's last one */
    const char *state, *events;
    char *next;       /* the folder of the second attempt */
    const char *data; /* of the state's tensors */
    size_t data_bytes;
    struct worker worker; /* of the second attempt, with what it needs until it resumes */
    char run_id[1][SPEC_ID_BYTES];
    struct model *model;
} made;

static void remove_fixture(void)
{
    model_close(made.model);
    worker_fixture_remove(&made.fixture);
}

/* A training of three updates that stopped after the second. */
static void make_checkpoint(void)
{
    const struct worker_options stop = {.stop_after = 2, .checkpoint_s = 1e-9};
    struct err e = {0};
    char *bytes;
    size_t n;
    uint64_t header_bytes;

    worker_fixture_make(&made.fixture);
    atexit(remove_fixture);
    struct worker_fixture *f = made.fixture;
    made.spec = worker_fixture_spec(f, SPEC_ALIBI);
    made.spec.train.updates = 3;
    (void)worker_fixture_run(f, &made.spec, 1, 1, &stop, &e);
    made.checkpoint = worker_fixture_record(f, &made.spec, 1, EVENT_CHECKPOINT, -1);
    made.events = worker_fixture_path(f, &made.spec, 1, "events");
    made.state = worker_fixture_path(f, &made.spec, 1, made.checkpoint.checkpoint.state_path);
    made.next = worker_fixture_dir(f, &made.spec, 2);
    if (file_read(&f->arena, &bytes, &n, made.state, STATE_BYTES_MAX, &e) < 0) abort();
    memcpy(&header_bytes, bytes, sizeof header_bytes);
    made.data_bytes = n - sizeof header_bytes - header_bytes;
    made.data = bytes + n - made.data_bytes;
    spec_run_id(&made.spec, made.run_id[0]);
    made.worker = (struct worker){.project = &f->project,
                                  .dir = made.next,
                                  .number = 2,
                                  .spec = &made.spec,
                                  .specs_n = 1,
                                  .run_id = made.run_id,
                                  .backend = f->cpu};
    struct shape_capacity capacity;
    shape_capacity(&capacity, &made.spec);
    if (model_open(&made.model, f->cpu, &made.spec, &capacity, &e) < 0) abort();
}

/* The state file; its hash. */
static void write_state(char sha256[HASH_HEX_BYTES], struct arena *a, const char *header)
{
    const char *weights = made.checkpoint.checkpoint.sha256;
    const struct {
        const char *mark, *text;
    } texts[] = {{"@RUN", made.run_id[0]}, {"@WEIGHTS", weights}, {"@BEST", weights}};
    struct strbuf out;
    struct err e = {0};

    strbuf_init(&out, a);
    strbuf_add(&out, "length__");
    for (const char *p = header; *p;) {
        size_t i = 0;
        while (i < 3 && strncmp(p, texts[i].mark, strlen(texts[i].mark)) != 0) i++;
        strbuf_addf(&out, "%.*s", i < 3 ? (int)strlen(texts[i].text) : 1,
                    i < 3 ? texts[i].text : p);
        p += i < 3 ? strlen(texts[i].mark) : 1;
    }
    while (out.n % 8 != 0) strbuf_add(&out, " ");
    uint64_t header_bytes = out.n - 8;
    char *bytes = arena_array(a, out.n + made.data_bytes, 1);
    memcpy(bytes, out.text, out.n);
    memcpy(bytes, &header_bytes, sizeof header_bytes);
    memcpy(bytes + out.n, made.data, made.data_bytes);
    if (file_write_atomic(made.state, bytes, out.n + made.data_bytes, &e) < 0) abort();
    hash_sha256_hex(sha256, bytes, out.n + made.data_bytes);
}

/* Whether the second attempt takes the checkpoint. */
static bool resumes(struct err *e)
{
    struct checkpoints c = {.worker = &made.worker, .model = made.model, .slots_n = 1};
    struct checkpoint_point now = {0};

    if (file_make_dirs(made.next, e) < 0) abort();
    arena_init(&made.worker.arena);
    (void)checkpoints_resume(&c, &now, e);
    arena_fini(&made.worker.arena);
    return now.update > 0;
}

void fuzz_resume(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    const struct worker_options stop = {.stop_after = 1, .checkpoint_s = 1e15};
    char sha256[HASH_HEX_BYTES];
    struct event_writer *w = NULL;

    log_set_level(LOG_QUIET);
    if (!made.fixture) make_checkpoint();
    write_state(sha256, a, arena_strndup(a, (const char *)bytes, n));
    struct record record = made.checkpoint;
    record.checkpoint.state_sha256 = sha256;
    unlink(made.events);
    if (event_writer_open(&w, made.events, e) < 0 || record_write(w, &record, e) < 0) abort();
    event_writer_close(w);
    if (resumes(e)) { /* a whole attempt costs a hundred times as much */
        (void)dir_remove_tree(AT_FDCWD, made.next, NULL, e);
        (void)worker_fixture_run(made.fixture, &made.spec, 1, 2, &stop, e);
    }
    log_set_level(LOG_WARN);
}
