/* worker_fixture.c - text of a small Markov chain, prepared as any corpus is. */
#include "worker/worker_fixture.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/str.h"
#include "prepare/prepare.h"

enum { FIXTURE_WORDS = 56, FIXTURE_TRAIN = 1500, FIXTURE_VALID = 301 };

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static void put_text(const char *path, int words_n, uint32_t seed)
{
    struct err e = {0};
    char *text = calloc((size_t)words_n, 8);
    size_t n = 0;
    uint32_t word = 0;

    assert_non_null(text);
    for (int i = 0; i < words_n; i++) {
        seed = seed * 1664525u + 1013904223u;
        /* Mostly the successor of the word before, so that there is something to learn. */
        word = seed >> 30 ? (5 * word + 1) % FIXTURE_WORDS : (seed >> 8) % FIXTURE_WORDS;
        n += (size_t)snprintf(text + n, 8, "w%u%c", (unsigned)word, i % 17 == 16 ? '\n' : ' ');
    }
    text[n - 1] = '\n';
    assert_int_equal(file_write_atomic(path, text, n, &e), 0);
    free(text);
}

static void put_corpus(struct worker_fixture *f)
{
    struct err e = {0};
    char dir[WORKER_PATH_BYTES + 16], path[WORKER_PATH_BYTES + 32];

    snprintf(dir, sizeof dir, "%s/text", f->root);
    assert_int_equal(file_make_dirs(dir, &e), 0);
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        snprintf(path, sizeof path, "%s/%s.txt", dir, corpus_split_name((enum corpus_split)i));
        put_text(path, i == CORPUS_TRAIN ? FIXTURE_TRAIN : FIXTURE_VALID, 17u + (uint32_t)i);
    }
    const struct prepare_options o = {.name = "tiny", .text_dir = dir};
    if (prepare_corpus(&f->project, &o, &e) < 0) fail_msg("%s", e.text);
    if (corpus_open(&f->corpus, &f->project, "tiny", &e) < 0) fail_msg("%s", e.text);
}

int worker_fixture_make(void **state)
{
    struct worker_fixture *f = calloc(1, sizeof *f);
    const char *base = getenv("TMPDIR");

    assert_non_null(f);
    snprintf(f->root, sizeof f->root, "%s/worker-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(f->root));
    f->project = (struct project){.root = f->root, .share = f->root, .program = "test"};
    put_corpus(f);
    *state = f;
    return 0;
}

int worker_fixture_remove(void **state)
{
    struct worker_fixture *f = *state;
    corpus_close(&f->corpus);
    nftw(f->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

struct spec worker_fixture_spec(const struct worker_fixture *f, enum spec_position position)
{
    struct spec s;

    spec_init(&s);
    s.kind = SPEC_TRAIN;
    snprintf(s.scale, sizeof s.scale, "none");
    s.model.position = position;
    s.model.layers = 2;
    s.model.dim = 32;
    s.model.heads = 4;
    s.model.ffn = 48;
    s.model.softmax = SPEC_ADAPTIVE;
    s.model.cutoffs_n = 2;
    s.model.cutoffs[0] = 16;
    s.model.cutoffs[1] = 40;
    s.model.dropout = 0.1;
    s.model.dropout_attention = 0.1;
    snprintf(s.data.dataset, sizeof s.data.dataset, "tiny");
    snprintf(s.data.corpus, sizeof s.data.corpus, "tiny");
    snprintf(s.data.fingerprint, sizeof s.data.fingerprint, "%s", f->corpus.fingerprint);
    s.data.vocab = f->corpus.vocab;
    s.data.train_tokens = f->corpus.split[CORPUS_TRAIN].n;
    s.data.valid_tokens = f->corpus.split[CORPUS_VALID].n;
    s.data.test_tokens = f->corpus.split[CORPUS_TEST].n;
    s.train.L = 16;
    s.train.shards = 2;
    s.train.shard_tokens = 64;
    s.train.updates = 20;
    s.train.optimizer = SPEC_NAG;
    s.train.lr = 0.5;
    s.train.warmup = 4;
    s.train.period = 16;
    s.train.momentum = 0.9;
    s.train.clip = 0.1;
    s.train.seed = 1;
    return s;
}

struct spec worker_fixture_eval(const struct spec *train, int32_t L, int32_t stride)
{
    struct spec s = *train;

    s.kind = SPEC_EVAL;
    spec_run_id(train, s.eval.train_run);
    s.eval.checkpoint = SPEC_BEST;
    s.eval.split = SPEC_VALID;
    s.eval.window = stride ? SPEC_SLIDING : SPEC_NONOVERLAPPING;
    s.eval.L = L;
    s.eval.stride = stride;
    return s;
}

static void attempt_dir(const struct worker_fixture *f, const struct spec *s, int32_t number,
                        char dir[WORKER_PATH_BYTES])
{
    char id[SPEC_ID_BYTES];
    spec_run_id(s, id);
    snprintf(dir, WORKER_PATH_BYTES, "%.200s/runs/%s/%d", f->root, id, number);
}

void worker_fixture_path(const struct worker_fixture *f, const struct spec *s, int32_t number,
                         const char *name, char path[2 * WORKER_PATH_BYTES])
{
    char dir[WORKER_PATH_BYTES];
    attempt_dir(f, s, number, dir);
    snprintf(path, 2 * WORKER_PATH_BYTES, "%s/%s", dir, name);
}

void worker_fixture_attempt(const struct worker_fixture *f, const struct spec *specs, int32_t n,
                            int32_t number, char dir[WORKER_PATH_BYTES])
{
    struct err e = {0};
    struct arena arena;
    struct strbuf text;

    arena_init(&arena);
    strbuf_init(&text, &arena);
    attempt_dir(f, &specs[0], number, dir);
    assert_int_equal(file_make_dirs(dir, &e), 0);
    for (int32_t i = 0; i < n; i++)
        strbuf_addf(&text, "%s%s", i ? "---\n" : "", spec_text(&specs[i], &arena));
    assert_int_equal(file_write_atomic(arena_printf(&arena, "%s/spec", dir), text.text, text.n, &e),
                     0);
    arena_fini(&arena);
}

int worker_fixture_run(const struct worker_fixture *f, const struct spec *specs, int32_t n,
                       int32_t number, const struct worker_options *more, struct err *e)
{
    char dir[WORKER_PATH_BYTES];
    struct worker_options o = more ? *more : (struct worker_options){0};

    worker_fixture_attempt(f, specs, n, number, dir);
    o.dir = dir;
    if (!o.device) o.device = "cpu";
    o.threads = 1;
    return worker_run(&f->project, &o, e);
}

void worker_fixture_forget(const struct worker_fixture *f, const struct spec *s)
{
    char dir[WORKER_PATH_BYTES];
    attempt_dir(f, s, 1, dir);
    *strrchr(dir, '/') = '\0';
    nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

json_t *worker_fixture_event(const struct worker_fixture *f, const struct spec *s, int32_t number,
                             enum event_type type, int32_t index)
{
    char path[2 * WORKER_PATH_BYTES];
    struct event_reader *reader = NULL;
    struct event record;
    struct err e = {0};
    json_t *found = NULL;

    worker_fixture_path(f, s, number, "events", path);
    assert_int_equal(event_reader_open(&reader, path, &e), 0);
    for (int32_t i = 0; event_read(reader, &record, &e) == 1;) {
        if (record.type != type) continue;
        if (index >= 0 && i++ != index) continue;
        json_decref(found);
        found = json_incref(record.json);
    }
    event_reader_close(reader);
    return found;
}

int32_t worker_fixture_events(const struct worker_fixture *f, const struct spec *s, int32_t number,
                              enum event_type type)
{
    int32_t n = 0;
    for (json_t *json; (json = worker_fixture_event(f, s, number, type, n)); n++) json_decref(json);
    return n;
}

const char *worker_fixture_text(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    assert_non_null(text);
    return text;
}

struct worker_outcome worker_fixture_outcome(const struct worker_fixture *f, const struct spec *s,
                                             int32_t number)
{
    struct worker_outcome out;
    json_t *json = worker_fixture_event(f, s, number, EVENT_TRAINED, -1);

    assert_non_null(json);
    snprintf(out.best, sizeof out.best, "%s", worker_fixture_text(json, "best_sha256"));
    snprintf(out.last, sizeof out.last, "%s", worker_fixture_text(json, "last_sha256"));
    out.final_loss = json_number_value(json_object_get(json, "final_loss_nats"));
    json_decref(json);
    return out;
}

void worker_fixture_same(const struct worker_outcome *a, const struct worker_outcome *b)
{
    assert_string_equal(a->best, b->best);
    assert_string_equal(a->last, b->last);
    assert_true(a->final_loss == b->final_loss);
}

void worker_fixture_ended(const struct worker_fixture *f, const struct spec *s, int32_t number,
                          const char *state)
{
    json_t *json = worker_fixture_event(f, s, number, EVENT_ENDED, -1);
    assert_non_null(json);
    assert_string_equal(worker_fixture_text(json, "state"), state);
    json_decref(json);
}

void worker_fixture_must_run(const struct worker_fixture *f, const struct spec *s, int32_t number)
{
    struct err e = {0};
    if (worker_fixture_run(f, s, 1, number, NULL, &e) != 0) fail_msg("%s", e.text);
}

void worker_fixture_must_stop(const struct worker_fixture *f, const struct spec *s, int32_t number,
                              int64_t after, double checkpoint_s)
{
    struct err e = {0};
    const struct worker_options o = {.stop_after = after, .checkpoint_s = checkpoint_s};
    assert_int_equal(worker_fixture_run(f, s, 1, number, &o, &e), ERR_INTERRUPTED);
}

struct worker_outcome worker_fixture_unbroken(const struct worker_fixture *f, const struct spec *s)
{
    worker_fixture_must_run(f, s, 1);
    const struct worker_outcome out = worker_fixture_outcome(f, s, 1);
    worker_fixture_forget(f, s);
    return out;
}
