/* test_ranks.c - a training by several processes has the bits of one process, in its files and its
 * records; the loss or the error of one rank ends all, and another number of ranks resumes. */
#include "harness/test.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "data/batches.h"
#include "group/group.h"
#include "interchange/safetensors.h"
#include "worker/worker_fixture.h"

/* No case needs the time; it ends one that hangs. */
enum { RANKS_MAX = 8, DEADLINE_S = 120 };

TEST_EACH(worker_fixture_make, worker_fixture_remove)

/* --- processes ------------------------------------------------------------------------------ */

struct ranks {
    pid_t pid[RANKS_MAX];
    int status[RANKS_MAX]; /* of waitpid */
    int32_t n;
};

/* Is called in the process of a rank, before its worker. */
typedef void (*alter_fn)(struct worker_options *o);

static char *log_of(struct worker_fixture *f, int32_t rank)
{
    return arena_printf(&f->arena, "%s/log.%d", f->root, rank);
}

static void start_ranks(struct ranks *r, struct worker_fixture *f, const struct spec *s,
                        int32_t number, int32_t ranks_n, alter_fn alter)
{
    char *meet = worker_fixture_path(f, s, number, "meet");

    *r = (struct ranks){.n = ranks_n};
    worker_fixture_attempt(f, s, 1, number); /* once, not by each rank */
    fflush(NULL);
    for (int32_t rank = 0; rank < ranks_n; rank++) {
        struct worker_options o = {
            .rank = rank, .ranks_n = ranks_n, .meet = meet, .checkpoint_s = 1e6};
        struct err e = {0};
        r->pid[rank] = fork();
        assert_true(r->pid[rank] >= 0);
        if (r->pid[rank] > 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!freopen(log_of(f, rank), "w", stderr)) _exit(98);
        if (alter) alter(&o);
        int rc = worker_fixture_run(f, s, 1, number, &o, &e);
        if (rc < 0) log_error(&e);
        fflush(NULL);
        _exit(err_exit_code(rc));
    }
}

static int64_t deadline(void)
{
    return clock_monotonic_us() + DEADLINE_S * 1000000LL;
}

/* Waits until no rank is left. */
static void await(struct ranks *r)
{
    int64_t until_us = deadline();

    for (int32_t rank = 0; rank < r->n; rank++)
        while (waitpid(r->pid[rank], &r->status[rank], WNOHANG) == 0) {
            if (clock_monotonic_us() > until_us) {
                for (int32_t k = rank; k < r->n; k++) kill(r->pid[k], SIGKILL);
                fail_msg("rank %d does not end", rank);
            }
            poll(NULL, 0, 2);
        }
}

static void assert_exits(const struct ranks *r, int code)
{
    for (int32_t rank = 0; rank < r->n; rank++)
        if (!WIFEXITED(r->status[rank]) || WEXITSTATUS(r->status[rank]) != code)
            fail_msg("rank %d of %d: status %#x, expected exit %d", rank, r->n, r->status[rank],
                     code);
}

static struct ranks run_ranks(struct worker_fixture *f, const struct spec *s, int32_t number,
                              int32_t ranks_n, alter_fn alter)
{
    struct ranks r;

    start_ranks(&r, f, s, number, ranks_n, alter);
    await(&r);
    return r;
}

static void must_run(struct worker_fixture *f, const struct spec *s, int32_t number,
                     int32_t ranks_n)
{
    const struct ranks r = run_ranks(f, s, number, ranks_n, NULL);
    assert_exits(&r, 0);
    worker_fixture_ended(f, s, number, "done");
}

static void assert_text(const char *text, const char *words)
{
    if (!strstr(text, words)) fail_msg("'%s', expected '%s'", text, words);
}

static void assert_ended(struct worker_fixture *f, const struct spec *s, int32_t number,
                         const char *state, const char *words)
{
    worker_fixture_ended(f, s, number, state);
    assert_text(worker_fixture_record(f, s, number, EVENT_ENDED, -1).ended.message, words);
}

/* --- results -------------------------------------------------------------------------------- */

/* All that an attempt of a training leaves that does not depend on time. */
struct result {
    struct record_trained trained;
    char state[HASH_HEX_BYTES]; /* of the optimiser state */
    struct record *item;        /* updates, validations and checkpoints */
    int32_t n, capacity;
    struct arena *arena;
};

static int add_record(void *context, const struct event *ev, struct err *e)
{
    struct result *x = context;
    struct record r, kept;

    if (ev->type != EVENT_STEP && ev->type != EVENT_VALIDATION && ev->type != EVENT_CHECKPOINT)
        return 0;
    TRY(record_read(&r, ev, e));
    record_copy(&kept, &r, x->arena);
    *vec_push(x->arena, x) = kept;
    return 0;
}

/* Hashes tensors and texts of a state, but not its times. */
static void hash_state_file(char out[HASH_HEX_BYTES], const char *path)
{
    static const char *const texts[] = {"format",      "run_id",      "weights_sha256", "blas",
                                        "choices",     "update",      "validated",      "loss_nats",
                                        "best_update", "best_sha256", "best_loss_nats"};
    struct safetensors *s = NULL;
    struct hash_state *h = NULL;

    assert_ok(safetensors_open(&s, path, &e));
    assert_ok(hash_open(&h, &e));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = safetensors_metadata(s, texts[i]);
        assert_non_null(text);
        assert_ok(hash_add(h, text, strlen(text) + 1, &e));
    }
    for (int32_t i = 0; i < safetensors_count(s); i++) {
        const struct safetensors_entry *x = safetensors_at(s, i);
        assert_ok(hash_add(h, x->name, strlen(x->name) + 1, &e));
        assert_ok(hash_add(h, x->data, x->data_bytes, &e));
    }
    assert_ok(hash_close(h, out, &e));
    safetensors_close(s);
}

static struct result result_of(struct worker_fixture *f, const struct spec *s, int32_t number)
{
    struct result x = {.arena = &f->arena, .trained = worker_fixture_trained(f, s, number)};
    char *name = arena_strdup(&f->arena, x.trained.last_checkpoint);
    char sha256[HASH_HEX_BYTES];

    assert_ok(run_folder_each(worker_fixture_dir(f, s, number), add_record, &x, &e));
    assert_ok(hash_file(sha256, worker_fixture_path(f, s, number, name), &e));
    assert_string_equal(sha256, x.trained.last_sha256);
    assert_ok(hash_file(sha256, worker_fixture_path(f, s, number, x.trained.best_checkpoint), &e));
    assert_string_equal(sha256, x.trained.best_sha256);
    *strrchr(name, '.') = '\0';
    name = arena_printf(&f->arena, "%s.state.safetensors", name);
    hash_state_file(x.state, worker_fixture_path(f, s, number, name));
    return x;
}

static void assert_same_end(const struct result *a, const struct result *b)
{
    assert_string_equal(a->trained.last_sha256, b->trained.last_sha256);
    assert_string_equal(a->trained.best_sha256, b->trained.best_sha256);
    assert_true(a->trained.final_loss_nats == b->trained.final_loss_nats);
    assert_string_equal(a->state, b->state);
}

static void assert_same(const struct result *a, const struct result *b)
{
    assert_int_equal(a->n, b->n);
    for (int32_t i = 0; i < a->n; i++) {
        assert_int_equal(a->item[i].type, b->item[i].type);
        for (const struct record_field *x = record_fields; x < record_fields + record_fields_n;
             x++) {
            if (x->type != a->item[i].type || !x->verified) continue;
            struct record_value p = record_get(&a->item[i], x), q = record_get(&b->item[i], x);
            if (!record_equal(&p, &q))
                fail_msg("record %d: %s is %s, expected %s", i, x->name,
                         record_format(&q, a->arena), record_format(&p, a->arena));
        }
    }
    assert_same_end(a, b);
}

/* --- specs ---------------------------------------------------------------------------------- */

/* An epoch of 27 batches of at most 5 rows of 12 tokens; the first has a short block, the last 3
 * rows; with 8 shards the last update of an epoch has 3. */
static struct spec spec_of(const struct worker_fixture *f, enum spec_position position)
{
    struct spec s = worker_fixture_spec(f, position);

    s.train.L = 12;
    s.train.shards = 8;
    s.train.shard_tokens = 60;
    s.train.updates = 9;
    s.train.keep_state = true;
    s.model.dropout_relu = s.model.dropout_softmax = 0.1;
    return s;
}

static struct spec spec_adam(const struct worker_fixture *f, enum spec_position position)
{
    struct spec s = spec_of(f, position);

    s.train.optimizer = SPEC_ADAM;
    s.train.adam_beta1 = 0.9;
    s.train.adam_beta2 = 0.98;
    s.train.adam_eps = 1e-8;
    s.train.lr = 0.01;
    return s;
}

TEST_WITH(struct worker_fixture *f, the_last_update_of_an_epoch_has_3_of_8_shards_of_unequal_rows)
{
    const struct spec s = spec_of(f, SPEC_ALIBI);
    const struct batches_options o = {.L = 12, .shards = 8, .shard_tokens = 60, .seed = 1};
    struct batches *b = NULL;
    struct batch_shape shape[8];
    bool has_short = false, has_few = false;

    assert_int_equal(s.train.seed, 1);
    assert_ok(batches_open(&b, &f->corpus.split[CORPUS_TRAIN], &o, &e));
    assert_int_equal(batches_epoch_updates(b), 4);
    for (int64_t update = 0; update < 4; update++) {
        assert_ok(batches_shape(b, update, shape, &e));
        for (int i = 0; i < 8; i++) {
            assert_true((shape[i].rows > 0) == (update < 3 || i < 3));
            has_few = has_few || shape[i].rows == 3;
            has_short = has_short || shape[i].targets_n < shape[i].rows * shape[i].length;
        }
    }
    assert_true(has_short && has_few);
    batches_close(b);
}

/* Runs a training alone and with more ranks, as the first attempt. */
static void compare_ranks(struct worker_fixture *f, const struct spec *s, int32_t ranks_max)
{
    must_run(f, s, 1, 1);
    const struct result alone = result_of(f, s, 1);
    worker_fixture_forget(f, s);
    for (int32_t ranks_n = 2; ranks_n <= ranks_max; ranks_n *= 2) {
        must_run(f, s, 1, ranks_n);
        const struct result shared = result_of(f, s, 1);
        assert_same(&alone, &shared);
        const struct record_started x = worker_fixture_record(f, s, 1, EVENT_STARTED, 0).started;
        assert_int_equal(x.ranks, ranks_n);
        assert_false(file_exists(worker_fixture_path(f, s, 1, "meet")));
        worker_fixture_forget(f, s);
    }
}

TEST_WITH(struct worker_fixture *f, any_number_of_ranks_gives_the_bits_of_one)
{
    struct spec s = spec_of(f, SPEC_ALIBI);

    s.train.tail_quirk = true;
    compare_ranks(f, &s, 8);
    s = spec_adam(f, SPEC_T5); /* its learned bias goes through the host */
    s.train.validate_L = 16;
    compare_ranks(f, &s, 8);
}

static struct backend_ops near_cpu;

static void use_two_nodes(struct worker_options *o)
{
    log_set_level(LOG_INFO);
    o->host = o->rank < 2 ? "localhost" : "127.0.0.1";
}

static void use_three_nodes(struct worker_options *o)
{
    log_set_level(LOG_INFO);
    o->host = o->rank < 2 ? "localhost" : o->rank == 2 ? "127.0.0.1" : "127.0.0.2";
}

TEST_WITH(struct worker_fixture *f, ranks_on_nodes_give_the_bits_of_one_and_say_how_they_exchange)
{
    static const struct {
        alter_fn hosts;
        const char *words;
    } cases[] = {{use_two_nodes, "the 2 ranks of a node exchange first, then one of each node"},
                 {use_three_nodes, "warning: all ranks exchange at once, which is slow"}};
    const struct spec s = spec_of(f, SPEC_ALIBI);

    must_run(f, &s, 1, 1);
    const struct result alone = result_of(f, &s, 1);
    worker_fixture_forget(f, &s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ranks r = run_ranks(f, &s, 1, 4, cases[i].hosts);
        assert_exits(&r, 0);
        const struct result shared = result_of(f, &s, 1);
        assert_same(&alone, &shared);
        char *log = test_read(log_of(f, 0));
        assert_text(log, cases[i].words);
        free(log);
        worker_fixture_forget(f, &s);
    }
}

/* The CPU, but for exchanges between rank 1 and rank 2: of two nodes of two they share neither the
 * node nor the place in it. */
static int exchange_near(struct backend *b, const struct group_transfer *list, int32_t n,
                         struct err *e)
{
    int32_t rank = group_rank(b->group);

    for (int32_t i = 0; i < n; i++)
        if (rank + list[i].peer == 3 && rank * list[i].peer == 2)
            return ERR(e, ERR_INTERNAL, "rank %d exchanges with rank %d", rank, list[i].peer);
    return near_cpu.exchange(b, list, n, e);
}

static int open_near(struct backend **out, int ordinal, int32_t threads, enum dtype precision,
                     struct err *e)
{
    static struct backend_ops ops;

    (void)ordinal;
    TRY(backend_open(out, "cpu", threads, precision, e));
    ops = near_cpu = *(*out)->ops;
    ops.exchange = exchange_near;
    (*out)->ops = &ops;
    return 0;
}

static void use_two_near_nodes(struct worker_options *o)
{
    o->device = "near";
    use_two_nodes(o);
}

TEST_WITH(struct worker_fixture *f, ranks_exchange_in_their_node_and_with_one_of_each_other_node)
{
    static const struct backend_library library = {
        .version = BACKEND_VERSION, .name = "near", .open = open_near};
    const struct spec s = spec_of(f, SPEC_ALIBI);

    backend_register(&library);
    const struct ranks r = run_ranks(f, &s, 1, 4, use_two_near_nodes);
    assert_exits(&r, 0);
}

TEST_WITH(struct worker_fixture *f, shards_that_are_no_power_of_two_and_other_methods)
{
    struct spec s = spec_of(f, SPEC_LEARNED); /* rows of the table */

    s.train.shards = 6;
    s.train.updates = 5;
    compare_ranks(f, &s, 8);
    s = spec_adam(f, SPEC_KERPLE_LOG); /* project() */
    s.train.shards = 5;
    s.train.updates = 4;
    compare_ranks(f, &s, 4);
    s = spec_of(f, SPEC_ROTARY);
    s.model.softmax = SPEC_PLAIN;
    s.model.cutoffs_n = 0;
    s.train.shards = 2;
    s.train.clip = 0.0;
    compare_ranks(f, &s, 2);
}

TEST_WITH(struct worker_fixture *f, ranks_continue_a_parent)
{
    struct spec parent = spec_of(f, SPEC_ALIBI), s = parent;

    parent.train.updates = 3;
    must_run(f, &parent, 1, 2);
    spec_run_id(&parent, s.train.from);
    s.train.from_checkpoint = SPEC_LAST;
    s.train.continues = SPEC_CONTINUES_ALL;
    s.train.updates = 6;
    compare_ranks(f, &s, 4);
}

enum { MUCH_BYTES = 200 << 20 };

static void use_memory(struct worker_options *o)
{
    static char *volatile much; /* a compiler leaves out what nobody reads */

    if (o->rank != 1) return;
    much = malloc(MUCH_BYTES);
    if (much) memset(much, 1, MUCH_BYTES);
}

TEST_WITH(struct worker_fixture *f, peak_memory_is_that_of_the_largest_rank)
{
    struct spec s = spec_of(f, SPEC_ALIBI);

    s.train.updates = 1;
    const struct ranks r = run_ranks(f, &s, 1, 2, use_memory);
    assert_exits(&r, 0);
    assert_true(worker_fixture_trained(f, &s, 1).peak_memory_bytes > MUCH_BYTES);
}

TEST_WITH(struct worker_fixture *f, a_norm_that_is_infinite_ends_all_ranks_with_one_record)
{
    struct spec s = spec_of(f, SPEC_ALIBI);

    s.train.lr = 1000.0;
    s.train.warmup = 0;
    s.train.clip = 0.0;
    s.train.updates = s.train.period = 400;
    for (int32_t ranks_n = 1; ranks_n <= 4; ranks_n *= 4) {
        const struct ranks r = run_ranks(f, &s, 1, ranks_n, NULL);
        assert_exits(&r, err_exit_code(ERR_NUMBER));
        assert_ended(f, &s, 1, "diverged", "update");
        const char *message = worker_fixture_record(f, &s, 1, EVENT_ENDED, -1).ended.message;
        assert_null(strstr(message, "rank")); /* all have the same */
        worker_fixture_forget(f, &s);
    }
}

/* --- stops ---------------------------------------------------------------------------------- */

static int32_t signalled; /* the rank with a signal pending */

static void raise_early(struct worker_options *o)
{
    sigset_t signals;

    if (o->rank != signalled) return;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    raise(SIGTERM);
}

static void stop_at_4(struct worker_options *o)
{
    o->stop_after = o->rank == 0 ? 4 : 0; /* rank 0 decides */
}

TEST_WITH(struct worker_fixture *f, a_signal_to_any_rank_stops_all_and_another_number_resumes)
{
    const struct spec s = spec_of(f, SPEC_ALIBI);
    static const int32_t then[] = {2, 8, 1};

    must_run(f, &s, 1, 1);
    const struct result expected = result_of(f, &s, 1);
    worker_fixture_forget(f, &s);
    for (signalled = 0; signalled < 3; signalled++) {
        struct ranks r = run_ranks(f, &s, 1, 4, stop_at_4); /* a validation is due then */
        assert_exits(&r, err_exit_code(ERR_INTERRUPTED));
        assert_ended(f, &s, 1, "cancelled", "after update 4");
        assert_int_equal(worker_fixture_count(f, &s, 1, EVENT_VALIDATION), 0);
        r = run_ranks(f, &s, 2, 4, raise_early);
        assert_exits(&r, err_exit_code(ERR_INTERRUPTED));
        assert_ended(f, &s, 2, "cancelled", "rerun");
        if (signalled == 0) assert_int_equal(worker_fixture_count(f, &s, 2, EVENT_VALIDATION), 0);
        assert_true(worker_fixture_count(f, &s, 2, EVENT_STEP) <= 3);
        must_run(f, &s, 3, then[signalled]);
        const struct result got = result_of(f, &s, 3);
        assert_same_end(&expected, &got);
        worker_fixture_forget(f, &s);
    }
}

/* --- losses --------------------------------------------------------------------------------- */

static void save_often(struct worker_options *o)
{
    o->checkpoint_s = 1e-9;
}

/* Waits until rank 0 has recorded an update. */
static void await_update(struct worker_fixture *f, const struct spec *s, int64_t update)
{
    struct event_reader *reader = NULL;
    struct event record;
    struct err e = {0};
    int64_t until_us = deadline(), seen = 0;

    assert_ok(event_reader_open(&reader, worker_fixture_path(f, s, 1, "events"), &e));
    while (seen < update) {
        int got = event_read(reader, &record, &e);
        assert_true(got >= 0 && clock_monotonic_us() < until_us);
        if (got == 0) poll(NULL, 0, 1);
        if (got == 1 && record.type == EVENT_STEP)
            seen = json_integer_value(json_object_get(record.json, "update"));
    }
    event_reader_close(reader);
}

/* Waits until rank 0 is writing a checkpoint. */
static void await_checkpoint(struct worker_fixture *f, const struct spec *s)
{
    int64_t until_us = deadline();
    bool found = false;
    struct dir d;
    struct err e = {0};

    while (!found) {
        assert_true(clock_monotonic_us() < until_us);
        if (dir_open(&d, worker_fixture_dir(f, s, 1), &e) < 0) continue;
        for (int32_t i = 0; i < d.n; i++)
            found = found || (strncmp(d.name_own[i], "update-", 7) == 0 &&
                              strstr(d.name_own[i], FILE_TEMPORARY) != NULL);
        dir_close(&d);
    }
}

enum moment { IN_A_PASS, IN_AN_EXCHANGE, IN_A_CHECKPOINT };

/* Kills a rank. In an exchange: another one is stopped before, so that all wait for its bytes. */
static void kill_rank(struct ranks *r, struct worker_fixture *f, const struct spec *s,
                      int32_t victim, enum moment moment)
{
    int32_t other = (victim + 1) % r->n;

    if (moment == IN_A_CHECKPOINT)
        await_checkpoint(f, s);
    else
        await_update(f, s, 3);
    if (moment == IN_AN_EXCHANGE) kill(r->pid[other], SIGSTOP);
    kill(r->pid[victim], SIGKILL);
    if (moment == IN_AN_EXCHANGE) kill(r->pid[other], SIGCONT);
    await(r);
}

TEST_WITH(struct worker_fixture *f, no_rank_survives_a_killed_one_and_another_number_resumes)
{
    struct spec s = spec_of(f, SPEC_ALIBI);
    static const int32_t victims[] = {0, 1, 3};
    struct ranks r;
    char words[32];
    int32_t kills = 0;

    s.train.updates = 30; /* ends long after the kill */
    must_run(f, &s, 1, 1);
    const struct result expected = result_of(f, &s, 1);
    worker_fixture_forget(f, &s);
    for (size_t i = 0; i < sizeof victims / sizeof *victims; i++)
        for (enum moment m = IN_A_PASS; m <= IN_A_CHECKPOINT; m++) {
            int32_t victim = victims[i];
            start_ranks(&r, f, &s, 1, 4, save_often);
            kill_rank(&r, f, &s, victim, m);
            snprintf(words, sizeof words, "rank %d on ", victim);
            for (int32_t rank = 0; rank < 4; rank++) {
                if (rank == victim)
                    assert_true(WIFSIGNALED(r.status[rank]));
                else
                    assert_int_equal(WEXITSTATUS(r.status[rank]), err_exit_code(ERR_UNAVAILABLE));
                if (rank != victim) {
                    char *log = test_read(log_of(f, rank));
                    assert_text(log, words);
                    free(log);
                }
            }
            if (victim > 0) {
                assert_ended(f, &s, 1, "lost", words);
                const struct record_ended ended =
                    worker_fixture_record(f, &s, 1, EVENT_ENDED, -1).ended;
                assert_string_equal(ended.cause, "lost");
                assert_int_equal(ended.rank, victim);
                assert_true(*ended.node != '\0');
            } else
                assert_int_equal(worker_fixture_count(f, &s, 1, EVENT_ENDED), 0);
            must_run(f, &s, 2, m == IN_A_PASS ? 1 : m == IN_AN_EXCHANGE ? 2 : 8);
            const struct result got = result_of(f, &s, 2);
            assert_same_end(&expected, &got);
            worker_fixture_forget(f, &s);
            kills++;
        }
    print_message("%d faults injected\n", kills);
}

static void limit_files(struct worker_options *o)
{
    const struct rlimit small = {20000, 20000}; /* events, but no checkpoint */

    save_often(o);
    if (o->rank != 0) return;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
}

/* Rank 1 takes another folder for the attempt's, where an older attempt has no checkpoint. */
static const char *elsewhere;

static void go_elsewhere(struct worker_options *o)
{
    if (o->rank == 1) o->dir = elsewhere;
}

TEST_WITH(struct worker_fixture *f, the_error_of_one_rank_ends_all_and_is_recorded)
{
    const struct spec s = spec_of(f, SPEC_ALIBI);

    struct ranks r = run_ranks(f, &s, 1, 4, limit_files);
    assert_exits(&r, err_exit_code(ERR_IO));
    assert_ended(f, &s, 1, "failed", "checkpoint: ");
    char *log = test_read(log_of(f, 3));
    assert_text(log, "rank 0 on ");
    free(log);
    worker_fixture_forget(f, &s);

    r = run_ranks(f, &s, 1, 2, stop_at_4);
    assert_exits(&r, err_exit_code(ERR_INTERRUPTED));
    elsewhere = arena_printf(&f->arena, "%s/elsewhere/%s", f->root,
                             worker_fixture_dir(f, &s, 2) + strlen(f->root));
    assert_ok(file_make_dirs(elsewhere, &e));
    const struct spec *list[] = {&s};
    assert_ok(run_folder_write_specs(elsewhere, list, 1, &e));
    r = run_ranks(f, &s, 2, 4, go_elsewhere);
    assert_exits(&r, err_exit_code(ERR_NOINPUT));
    assert_ended(f, &s, 2, "failed", "rank 1 on ");
    assert_ended(f, &s, 2, "failed", "do not have the checkpoint");
}

static void wait_briefly(struct worker_options *o)
{
    o->meet_s = 0.3;
    if (o->rank == 1) _exit(3);
}

static void differ(struct worker_options *o)
{
    if (o->rank == 1) o->threads = 2;
}

TEST_WITH(struct worker_fixture *f, ranks_that_do_not_meet_are_named)
{
    const struct spec s = spec_of(f, SPEC_ALIBI);

    struct ranks r = run_ranks(f, &s, 1, 4, wait_briefly);
    assert_int_equal(WEXITSTATUS(r.status[0]), err_exit_code(ERR_UNAVAILABLE));
    assert_ended(f, &s, 1, "lost", "rank 1 of 4 did not come");
    worker_fixture_forget(f, &s);
    r = run_ranks(f, &s, 1, 2, differ);
    assert_exits(&r, err_exit_code(ERR_UNAVAILABLE));
    assert_ended(f, &s, 1, "lost", "2 threads");
    assert_ended(f, &s, 1, "lost", "1 thread,");
}

/* --- algorithms ----------------------------------------------------------------------------- */

/* The CPU with algorithms "timed" by the first pass. */
static struct {
    struct backend_ops ops, cpu;
    bool is_timed, is_closed;
    char restored[64];
    int32_t rank;
    const char *root;
} timing;

static int timing_losses(struct backend *b, const struct sum_losses_args *a, struct err *e)
{
    if (!timing.is_closed) timing.is_timed = true;
    return timing.cpu.sum_losses(b, a, e);
}

static size_t timing_choices(struct backend *b, char *text, size_t bytes)
{
    char own[32] = "";

    (void)b;
    if (timing.is_timed) snprintf(own, sizeof own, "timed by rank %d", timing.rank);
    return (size_t)snprintf(text, bytes, "%s", *timing.restored ? timing.restored : own);
}

static int timing_restore(struct backend *b, const char *text, struct err *e)
{
    if (timing.is_timed) return ERR(e, ERR_DATA, "%s has computed already", b->name);
    snprintf(timing.restored, sizeof timing.restored, "%s", text);
    return 0;
}

static void timing_close(struct backend *b)
{
    char path[TEST_PATH_BYTES + 32], text[128];
    int n = snprintf(text, sizeof text, "%s%s", timing.is_timed ? "timed; " : "", timing.restored);

    (void)b;
    snprintf(path, sizeof path, "%s/closed.%d", timing.root, timing.rank);
    test_write(path, text, (size_t)n);
    timing.is_closed = true;
}

static int open_timing(struct backend **out, int ordinal, int32_t threads, enum dtype precision,
                       struct err *e)
{
    (void)ordinal;
    TRY(backend_open(out, "cpu", threads, precision, e));
    timing.ops = timing.cpu = *(*out)->ops;
    timing.ops.sum_losses = timing_losses;
    timing.ops.choices = timing_choices;
    timing.ops.restore_choices = timing_restore;
    timing.ops.close_choices = timing_close;
    (*out)->ops = &timing.ops;
    return 0;
}

static void use_timing(struct worker_options *o)
{
    o->device = "timing";
    timing.rank = o->rank;
    if (o->stop_after == 0) o->stop_after = 2;
}

static void use_timing_again(struct worker_options *o)
{
    o->stop_after = 100;
    use_timing(o);
}

static void assert_closed(struct worker_fixture *f, int32_t rank, const char *expected)
{
    char *text = test_read(arena_printf(&f->arena, "%s/closed.%d", f->root, rank));
    assert_string_equal(text, expected);
    free(text);
}

TEST_WITH(struct worker_fixture *f, rank_0_alone_times_algorithms_and_a_resumed_training_none)
{
    static const struct backend_library library = {
        .version = BACKEND_VERSION, .name = "timing", .open = open_timing};
    const struct spec s = spec_of(f, SPEC_ALIBI);

    must_run(f, &s, 1, 1);
    const struct result expected = result_of(f, &s, 1);
    worker_fixture_forget(f, &s);
    backend_register(&library);
    timing.root = f->root;
    struct ranks r = run_ranks(f, &s, 1, 2, use_timing);
    assert_exits(&r, err_exit_code(ERR_INTERRUPTED));
    assert_closed(f, 0, "timed; ");
    assert_closed(f, 1, "timed by rank 0");
    r = run_ranks(f, &s, 2, 4, use_timing_again);
    assert_exits(&r, 0);
    for (int32_t rank = 0; rank < 4; rank++) assert_closed(f, rank, "timed by rank 0");
    /* The pass for timing leaves nothing behind; the state also has the choices. */
    const struct record_trained got = worker_fixture_trained(f, &s, 2);
    assert_string_equal(got.last_sha256, expected.trained.last_sha256);
    assert_string_equal(got.best_sha256, expected.trained.best_sha256);
}

/* --- refusals ------------------------------------------------------------------------------- */

/* The CPU, but for trainings by one process. */
static int open_alone(struct backend **out, int ordinal, int32_t threads, enum dtype precision,
                      struct err *e)
{
    static struct backend_ops ops;

    (void)ordinal;
    TRY(backend_open(out, "cpu", threads, precision, e));
    ops = *(*out)->ops;
    ops.group_join = NULL;
    (*out)->ops = &ops;
    return 0;
}

TEST_WITH(struct worker_fixture *f, what_cannot_have_ranks_is_refused_by_name)
{
    static const struct backend_library alone = {
        .version = BACKEND_VERSION, .name = "alone", .open = open_alone};
    const struct spec train = spec_of(f, SPEC_ALIBI);
    const struct spec eval = worker_fixture_eval(&train, 16, 0);
    struct spec six = train, one = train;
    const char *used = arena_printf(&f->arena, "%s/used", f->root),
               *meet = arena_printf(&f->arena, "%s/meet", f->root);

    six.train.shards = 6;
    one.train.shards = 1;
    const struct {
        const struct spec *spec;
        struct worker_options options;
        int code;
        const char *word;
    } cases[] = {
        {&train, {.rank = 2, .ranks_n = 2, .meet = meet}, ERR_USAGE, "rank 2 of 2"},
        {&train, {.rank = 1}, ERR_USAGE, "rank 1 of"},
        {&train, {.ranks_n = 2}, ERR_USAGE, "--meet FILE"},
        {&train, {.ranks_n = 2, .meet = used}, ERR_CREATE, "another attempt"},
        {&train, {.ranks_n = 3, .meet = meet}, ERR_USAGE, "3 ranks"},
        {&train, {.ranks_n = 16, .meet = meet}, ERR_USAGE, "16 ranks"},
        {&six, {.ranks_n = 16, .meet = meet}, ERR_USAGE, "16 ranks"},
        {&one, {.ranks_n = 2, .meet = meet}, ERR_USAGE, "2 ranks"},
        {&eval, {.ranks_n = 2, .meet = meet}, ERR_USAGE, "an evaluation"},
        {&train, {.ranks_n = 2, .meet = meet, .device = "alone"}, ERR_UNAVAILABLE, "cannot share"},
    };
    backend_register(&alone);
    test_write(used, "x", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(cases[i].code, cases[i].word,
                     worker_fixture_run(f, cases[i].spec, 1, 1, &cases[i].options, &e));
        assert_false(file_exists(meet));
        worker_fixture_forget(f, cases[i].spec);
    }
}
