/* check_ranks.c - a training on several devices leaves the files of one device, bit for bit: on the
 * emulated GPU, or on as many GPUs from the named one on.
 *
 *   check_ranks DEVICE                 exchange by NCCL
 *   ALIBI_NCCL=0 check_ranks DEVICE    exchange through host memory
 *
 * Without ALIBI_NCCL=0 a machine that has no NCCL fails: trainings would use it unseen. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "harness/ranks.h"
#include "interchange/safetensors.h"
#include "shape/shape.h"
#include "worker/worker_fixture.h"

enum { DEADLINE_S = 60, UPDATES = 5, STOPPED_AFTER = 3 };

TEST_DEVICES(NULL)
TEST_EACH(worker_fixture_make, worker_fixture_remove)

static bool is_emulated(void)
{
    return strstr(test_device, "emulated") != NULL;
}

/* Ranks of a machine with few GPUs do not exceed them: RANKS, 2 unless it says more. */
static int32_t ranks_most(void)
{
    const char *text = getenv("RANKS");
    return is_emulated() ? 4 : text && atoi(text) > 2 ? atoi(text) : 2;
}

static const char *device_of(int32_t rank, char out[32])
{
    int32_t first = is_emulated() ? 0 : atoi(strrchr(test_device, ':') + 1);
    if (is_emulated()) return test_device;
    snprintf(out, 32, "cuda:%d", first + rank);
    return out;
}

/* Fails unless ranks exchange as the caller has said. */
static void require_transport(void)
{
    const char *named = getenv("ALIBI_NCCL");
    char text[64];
    struct err e = {0};
    int rc = backend_transport(test_device, text, sizeof text, &e);
    bool by_host = named && strcmp(named, "0") == 0;
    if (rc < 0 && !(rc == ERR_NOINPUT && by_host))
        fail_msg("%s; ALIBI_NCCL=0 says that an exchange through host memory is meant", e.text);
}

/* ---- trainings ---- */

/* An attempt by ranks_n processes; more: its other options. Each returns the worker's exit code. */
static void run_ranks(struct worker_fixture *f, const struct spec *s, int32_t number,
                      int32_t ranks_n, const struct worker_options *more, int exit_code)
{
    pid_t pid[TEST_RANKS_MAX];
    require_transport();
    const char *meet = worker_fixture_path(f, s, number, "meet");
    const char *dir = worker_fixture_attempt(f, s, 1, number);
    fflush(NULL);
    for (int32_t rank = 0; rank < ranks_n; rank++) {
        struct err e = {0};
        char device[32];
        pid[rank] = fork();
        assert_true(pid[rank] >= 0);
        if (pid[rank] > 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        log_set_level(rank == 0 ? LOG_INFO : LOG_QUIET); /* names the transport */
        struct worker_options o = *more;
        o.dir = dir;
        o.device = device_of(rank, device);
        o.threads = 1;
        o.rank = rank;
        o.ranks_n = ranks_n;
        o.meet = meet;
        /* With the word turns the library's times differ from one backend to the next. */
        struct backend *b = NULL;
        for (int32_t i = 0; is_emulated() && i < rank; i++)
            if (backend_open(&b, o.device, 1, DTYPE_F32, &e) == 0) backend_close(b);
        int rc = worker_run(&f->project, &o, &e);
        if (rc < 0) fprintf(stderr, "rank %d of %d: %s\n", rank, ranks_n, e.text);
        fflush(NULL);
        _exit(err_exit_code(rc));
    }
    int64_t deadline_us = clock_monotonic_us() + DEADLINE_S * 1000000LL;
    for (int32_t rank = 0, status = 0; rank < ranks_n; rank++) {
        while (waitpid(pid[rank], &status, WNOHANG) == 0) {
            if (clock_monotonic_us() > deadline_us) fail_msg("rank %d does not end", rank);
            poll(NULL, 0, 5);
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != exit_code)
            fail_msg("rank %d of %d: status %#x", rank, ranks_n, status);
    }
}

/* Hashes the tensors of a state file, whose texts have times. */
static void hash_tensors(char out[HASH_HEX_BYTES], const char *path)
{
    struct safetensors *s = NULL;
    struct hash_state *h = NULL;
    assert_ok(safetensors_open(&s, path, &e));
    assert_ok(hash_open(&h, &e));
    for (int32_t i = 0; i < safetensors_count(s); i++)
        assert_ok(hash_add(h, safetensors_at(s, i)->data, safetensors_at(s, i)->data_bytes, &e));
    assert_ok(hash_close(h, out, &e));
    safetensors_close(s);
}

/* What a training leaves. */
struct result {
    struct record_trained trained;
    char state[HASH_HEX_BYTES];
    const char *choices;
};

static struct result result_of(struct worker_fixture *f, const struct spec *s, int32_t number)
{
    struct result x = {.trained = worker_fixture_trained(f, s, number)};
    char *name = arena_strdup(&f->arena, x.trained.last_checkpoint);
    *strrchr(name, '.') = '\0';
    name = arena_printf(&f->arena, "%s.state.safetensors", name);
    hash_tensors(x.state, worker_fixture_path(f, s, number, name));
    const char *choices = worker_fixture_record(f, s, number, EVENT_ENDED, -1).ended.choices;
    x.choices = choices ? arena_strdup(&f->arena, choices) : "";
    return x;
}

static void assert_same(const struct result *a, const struct result *b)
{
    assert_string_equal(a->trained.last_sha256, b->trained.last_sha256);
    assert_string_equal(a->trained.best_sha256, b->trained.best_sha256);
    assert_string_equal(a->state, b->state);
    assert_true(a->trained.final_loss_nats == b->trained.final_loss_nats);
}

/* With the words three and turns the emulated library's third algorithm is the fastest one for the
 * first backend of a process, and for the second one all are equal. */
static void assert_timed(const char *choices)
{
    const char *words = getenv("EMULATION_PRODUCTS");
    if (!words || !strstr(words, "three")) return;
    for (const char *line = strchr(choices, '\n'); line; line = strchr(line + 1, '\n')) {
        int algorithm = 0;
        sscanf(line, "%*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %d", &algorithm);
        if (algorithm == 3) return;
    }
    fail_msg("nothing was timed: %s", choices);
}

static struct spec spec_of(const struct worker_fixture *f, enum spec_position position)
{
    struct spec s = worker_fixture_spec(f, position);
    s.train.precision = SPEC_BF16;
    s.train.shards = 4;
    s.train.updates = UPDATES;
    s.train.keep_state = true;
    s.model.dropout_relu = s.model.dropout_softmax = 0.1;
    return s;
}

TEST_WITH(struct worker_fixture *f, ranks_leave_the_files_of_one_device)
{
    static const enum spec_position positions[] = {SPEC_ALIBI, SPEC_T5};
    for (int i = 0; i < 2; i++) {
        const struct spec s = spec_of(f, positions[i]);
        run_ranks(f, &s, 1, 1, &(struct worker_options){0}, 0);
        const struct result alone = result_of(f, &s, 1);
        if (is_emulated()) assert_timed(alone.choices);
        /* Two GPUs may time products differently: the choices are those of the first training. */
        const struct worker_options same = {.choices = is_emulated() ? NULL : alone.choices};
        worker_fixture_forget(f, &s);
        for (int32_t ranks_n = 2; ranks_n <= ranks_most(); ranks_n *= 2) {
            run_ranks(f, &s, 1, ranks_n, &same, 0);
            const struct result x = result_of(f, &s, 1);
            assert_same(&alone, &x);
            worker_fixture_forget(f, &s);
        }
    }
}

TEST_WITH(struct worker_fixture *f, another_number_of_ranks_resumes_with_the_same_choices)
{
    const struct spec s = spec_of(f, SPEC_ALIBI);
    run_ranks(f, &s, 1, 1, &(struct worker_options){0}, 0);
    const struct result alone = result_of(f, &s, 1);
    const char *choices = is_emulated() ? NULL : alone.choices;
    worker_fixture_forget(f, &s);
    for (int32_t before = 1; before <= 2; before++) {
        const struct worker_options stop = {.choices = choices, .stop_after = STOPPED_AFTER};
        run_ranks(f, &s, 1, before, &stop, err_exit_code(ERR_INTERRUPTED));
        run_ranks(f, &s, 2, 3 - before, &(struct worker_options){0}, 0);
        const struct result x = result_of(f, &s, 2);
        assert_same(&alone, &x);
        worker_fixture_forget(f, &s);
    }
}

/* ---- speed ---- */

enum { TIMED = 10 };

/* Prints what NCCL and the host's staging have taken of the device since before_bytes. Errors: more
 * than plans reserve for such a GPU. */
static int measure_memory(struct backend *b, int64_t before_bytes, struct err *e)
{
    const struct shape_gpu *gpu = shape_find_gpu(b->device);
    int64_t now_bytes = 0, planned_bytes = shape_nccl_bytes(group_ranks_n(b->group), gpu);
    TRY(b->ops->peak_bytes(b, &now_bytes, e));
    if (group_rank(b->group) == 0)
        fprintf(stderr, "the exchange takes %.0f MB of a device, plans reserve %.0f MB\n",
                1e-6 * (double)(now_bytes - before_bytes), 1e-6 * (double)planned_bytes);
    if (!gpu || now_bytes - before_bytes <= planned_bytes) return 0;
    return ERR(e, ERR_DATA, "the exchange takes %lld bytes, plans reserve %lld",
               (long long)(now_bytes - before_bytes), (long long)planned_bytes);
}

/* Prints what a rank sends in a second, and what a copy within its device moves. */
static int measure(struct group *g, const void *context, struct err *e)
{
    struct backend *b = NULL;
    char device[32];
    void *memory = NULL;
    size_t bytes = is_emulated() ? 1 << 20 : 64 << 20;
    int32_t peers_n = group_ranks_n(g) - 1, n = 0;
    struct group_transfer list[TEST_RANKS_MAX];
    double seconds[2];
    int64_t before_bytes = 0;
    (void)context;
    TRY(backend_open(&b, device_of(group_rank(g), device), 1, DTYPE_F32, e));
    TRY(b->ops->alloc(b, &memory, 2 * bytes * (size_t)peers_n, e));
    TRY(b->ops->zero(b, memory, 2 * bytes * (size_t)peers_n, e));
    TRY(b->ops->peak_bytes(b, &before_bytes, e));
    TRY(b->ops->group_join(b, g, e));
    for (int32_t peer = 0; peer <= peers_n; peer++) {
        if (peer == group_rank(g)) continue;
        char *at = (char *)memory + 2 * bytes * (size_t)n;
        list[n++] = (struct group_transfer){.peer = peer,
                                            .send = at,
                                            .send_bytes = bytes,
                                            .receive = at + bytes,
                                            .receive_bytes = bytes};
    }
    for (int copies = 0; copies < 2; copies++) {
        int64_t from_us = 0;
        for (int i = -1; i < TIMED; i++) { /* the first is not timed */
            if (copies)
                TRY(b->ops->copy(b, list[0].receive, list[0].send, bytes, e));
            else
                TRY(b->ops->exchange(b, list, n, e));
            if (i < 0 || i == TIMED - 1) TRY(b->ops->sync(b, e));
            if (i < 0) from_us = clock_monotonic_us();
        }
        seconds[copies] = 1e-6 * (double)(clock_monotonic_us() - from_us) / TIMED;
    }
    if (group_rank(g) == 0)
        fprintf(
            stderr,
            "%d ranks of %s, %s: each sends %.2f GB/s in an all-to-all of %zu MB a pair; a copy "
            "within the device moves %.2f GB/s\n",
            peers_n + 1, b->device, b->transport,
            1e-9 * (double)bytes * (double)peers_n / seconds[0], bytes >> 20,
            1e-9 * (double)bytes / seconds[1]);
    TRY(measure_memory(b, before_bytes, e));
    backend_close(b);
    return 0;
}

TEST(the_speed_and_the_memory_of_an_exchange)
{
    char result[TEST_RANKS_MAX][TEST_RESULT_BYTES];
    int32_t ranks_n = is_emulated() ? 2 : ranks_most();
    require_transport();
    test_ranks(ranks_n, measure, NULL, result);
    for (int32_t rank = 0; rank < ranks_n; rank++) assert_string_equal(result[rank], "ok");
}
