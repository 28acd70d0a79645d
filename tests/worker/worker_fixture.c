/* worker_fixture.c - a corpus from a small Markov chain. */
#include "worker/worker_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/file.h"
#include "base/log.h"
#include "prepare/prepare.h"

enum { FIXTURE_WORDS = 56, FIXTURE_TRAIN = 1500, FIXTURE_VALID = 301 };

/* Returns the number of tokens. */
static size_t put_text(const char *path, int words_n, uint32_t seed)
{
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
    test_write(path, text, n);
    free(text);
    return (size_t)(words_n + (words_n + 16) / 17);
}

/* Every third token is in a class of its own; no token is in the last class. */
static void put_classes(const char *path, size_t n)
{
    char *class = calloc(n, 1);

    assert_non_null(class);
    for (size_t i = 0; i < n; i++) class[i] = (char)(i % 3 == 2);
    test_write(path, class, n);
    free(class);
}

static int make(void **state, bool classes)
{
    struct worker_fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    log_set_level(LOG_QUIET);
    arena_init(&f->arena);
    test_folder(f->root);
    f->project = (struct project){.root = f->root, .share = f->root, .program = "test"};
    const char *dir = arena_printf(&f->arena, "%s/text", f->root);
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        const char *name = corpus_split_name((enum corpus_split)i);
        size_t n = put_text(arena_printf(&f->arena, "%s/%s.txt", dir, name),
                            i == CORPUS_TRAIN ? FIXTURE_TRAIN : FIXTURE_VALID, 17u + (uint32_t)i);
        if (classes && i != CORPUS_TRAIN)
            put_classes(arena_printf(&f->arena, "%s/%s.groups", dir, name), n);
    }
    if (classes)
        test_write(arena_printf(&f->arena, "%s/groups.txt", dir), "two\nthird\nnone\n", 15);
    const struct prepare_options o = {.name = "tiny", .text_dir = dir};
    assert_ok(prepare_corpus(&f->project, &o, &e));
    assert_ok(corpus_open(&f->corpus, &f->project, "tiny", &e));
    assert_ok(backend_open(&f->cpu, "cpu", 1, DTYPE_F32, &e));
    *state = f;
    return 0;
}

int worker_fixture_make(void **state)
{
    return make(state, false);
}

int worker_fixture_make_classes(void **state)
{
    return make(state, true);
}

int worker_fixture_remove(void **state)
{
    struct worker_fixture *f = *state;
    backend_close(f->cpu);
    corpus_close(&f->corpus);
    test_folder_remove(f->root);
    arena_fini(&f->arena);
    free(f);
    return 0;
}

struct spec worker_fixture_spec(const struct worker_fixture *f, enum spec_position position)
{
    struct spec s;

    spec_init(&s);
    snprintf(s.scale, sizeof s.scale, "none");
    s.model.position = position;
    s.model.layers = 2;
    s.model.dim = 32;
    s.model.heads = 4;
    s.model.ffn = 48;
    s.model.cutoffs_n = 2;
    s.model.cutoffs[0] = 16;
    s.model.cutoffs[1] = 40;
    s.model.dropout = s.model.dropout_attention = 0.1;
    s.data = (struct spec_data){.dataset = "tiny",
                                .corpus = "tiny",
                                .vocab = f->corpus.vocab,
                                .train_tokens = f->corpus.split[CORPUS_TRAIN].n,
                                .valid_tokens = f->corpus.split[CORPUS_VALID].n,
                                .test_tokens = f->corpus.split[CORPUS_TEST].n};
    snprintf(s.data.fingerprint, sizeof s.data.fingerprint, "%s", f->corpus.fingerprint);
    s.train.L = 16;
    s.train.shards = 2;
    s.train.shard_tokens = 64;
    s.train.updates = 20;
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

char *worker_fixture_dir(struct worker_fixture *f, const struct spec *s, int32_t number)
{
    char id[SPEC_ID_BYTES];
    spec_run_id(s, id);
    return arena_printf(&f->arena, "%s/%s", f->root, run_folder_name(&f->arena, id, number));
}

char *worker_fixture_path(struct worker_fixture *f, const struct spec *s, int32_t number,
                          const char *name)
{
    return arena_printf(&f->arena, "%s/%s", worker_fixture_dir(f, s, number), name);
}

/* --- attempts ------------------------------------------------------------------------------- */

char *worker_fixture_attempt(struct worker_fixture *f, const struct spec *specs, int32_t n,
                             int32_t number)
{
    char *dir = worker_fixture_dir(f, specs, number);
    const struct spec **list = arena_array(&f->arena, (size_t)n, sizeof *list);

    for (int32_t i = 0; i < n; i++) list[i] = &specs[i];
    assert_ok(file_make_dirs(dir, &e));
    if (!file_exists(run_folder_path(&f->arena, dir, RUN_SPEC))) /* an attempt keeps its spec */
        assert_ok(run_folder_write_specs(dir, list, n, &e));
    return dir;
}

int worker_fixture_run(struct worker_fixture *f, const struct spec *specs, int32_t n,
                       int32_t number, const struct worker_options *more, struct err *e)
{
    struct worker_options o = more ? *more : (struct worker_options){0};

    const char *dir = worker_fixture_attempt(f, specs, n, number);
    if (!o.dir) o.dir = dir;
    if (!o.device) o.device = "cpu";
    if (!o.threads) o.threads = 1;
    return worker_run(&f->project, &o, e);
}

void worker_fixture_must_run(struct worker_fixture *f, const struct spec *s, int32_t number)
{
    assert_ok(worker_fixture_run(f, s, 1, number, NULL, &e));
}

void worker_fixture_must_stop(struct worker_fixture *f, const struct spec *s, int32_t number,
                              int64_t after, double checkpoint_s)
{
    const struct worker_options o = {.stop_after = after, .checkpoint_s = checkpoint_s};
    assert_fails(ERR_INTERRUPTED, "", worker_fixture_run(f, s, 1, number, &o, &e));
    worker_fixture_ended(f, s, number, "cancelled");
}

void worker_fixture_must_cancel(struct worker_fixture *f, const struct spec *s, int32_t number,
                                int signal)
{
    sigset_t signals, before;

    sigemptyset(&signals);
    sigaddset(&signals, signal);
    sigprocmask(SIG_BLOCK, &signals, &before);
    raise(signal);
    assert_fails(ERR_INTERRUPTED, "", worker_fixture_run(f, s, 1, number, NULL, &e));
    sigprocmask(SIG_SETMASK, &before, NULL);
    worker_fixture_ended(f, s, number, "cancelled");
}

void worker_fixture_must_fail(struct worker_fixture *f, const struct spec *specs, int32_t n,
                              int code, const char *word)
{
    assert_fails(code, word, worker_fixture_run(f, specs, n, 1, NULL, &e));
    assert_int_equal(worker_fixture_count(f, specs, 1, EVENT_EVALUATED), 0);
    worker_fixture_forget(f, specs);
}

void worker_fixture_forget(struct worker_fixture *f, const struct spec *s)
{
    char *dir = worker_fixture_dir(f, s, 1);
    *strrchr(dir, '/') = '\0';
    test_folder_remove(dir);
}

/* --- records -------------------------------------------------------------------------------- */

struct search {
    struct arena *arena;
    enum event_type type;
    int32_t index, n;
    struct record found;
};

static int search_record(void *context, const struct event *ev, struct err *e)
{
    struct search *x = context;
    struct record r;

    if (ev->type != x->type) return 0;
    TRY(record_read(&r, ev, e));
    if (x->index < 0 || x->n == x->index) record_copy(&x->found, &r, x->arena);
    x->n++;
    return 0;
}

static struct search search(struct worker_fixture *f, const struct spec *s, int32_t number,
                            enum event_type type, int32_t index)
{
    struct search x = {.arena = &f->arena, .type = type, .index = index};

    assert_ok(run_folder_each(worker_fixture_dir(f, s, number), search_record, &x, &e));
    return x;
}

int32_t worker_fixture_count(struct worker_fixture *f, const struct spec *s, int32_t number,
                             enum event_type type)
{
    return search(f, s, number, type, -1).n;
}

struct record worker_fixture_record(struct worker_fixture *f, const struct spec *s, int32_t number,
                                    enum event_type type, int32_t index)
{
    const struct record r = search(f, s, number, type, index).found;
    assert_int_equal(r.type, type);
    return r;
}

void worker_fixture_ended(struct worker_fixture *f, const struct spec *s, int32_t number,
                          const char *state)
{
    assert_string_equal(worker_fixture_record(f, s, number, EVENT_ENDED, -1).ended.state, state);
}

struct record_trained worker_fixture_trained(struct worker_fixture *f, const struct spec *s,
                                             int32_t number)
{
    return worker_fixture_record(f, s, number, EVENT_TRAINED, -1).trained;
}

void worker_fixture_same(struct worker_fixture *f, const struct spec *s, int32_t number,
                         const struct record_trained *expected)
{
    const struct record_trained got = worker_fixture_trained(f, s, number);
    assert_string_equal(got.best_sha256, expected->best_sha256);
    assert_string_equal(got.last_sha256, expected->last_sha256);
    assert_true(got.final_loss_nats == expected->final_loss_nats);
}

struct record_trained worker_fixture_unbroken(struct worker_fixture *f, const struct spec *s)
{
    worker_fixture_must_run(f, s, 1);
    const struct record_trained out = worker_fixture_trained(f, s, 1);
    worker_fixture_forget(f, s);
    return out;
}

void worker_fixture_flip(const char *path, long from_end)
{
    FILE *file = fopen(path, "r+b");

    assert_non_null(file);
    assert_int_equal(fseek(file, -from_end, SEEK_END), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, -from_end, SEEK_END), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    assert_int_equal(fclose(file), 0);
}
