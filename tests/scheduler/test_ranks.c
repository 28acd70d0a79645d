/* test_ranks.c - a training by several processes: their slots, what each of them is started with,
 * and what becomes of the attempt when one of them ends. */
#include "harness/test.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/str.h"
#include "scheduler/scripted_executor.h"
#include "scheduler/toy_grid.h"

/* Two ranks on two cores, of whatever machine. */
static int setup(void **state)
{
    toy_grid_setup(state);
    struct toy_grid *g = *state;
    g->options.devices = "cpu:2";
    g->options.ranks_n = 2;
    return 0;
}

static int setup_scripted(void **state)
{
    toy_grid_setup(state);
    struct toy_grid *g = *state;
    g->options.executors = scripted_table;
    return 0;
}

/* --- how an attempt ends --- */

/* The script of rank 0 and of rank 1. One that hangs is killed some time after the other ended. */
static const struct {
    const char *words;
    const char *first; /* what the first attempt fulfils */
    int32_t attempts_n;
    const char *log; /* that the line of its end names */
} rows[] = {
    {"done", "state='done' AND exit_code=0", 1, NULL},
    {"hang/lost done",
     "state='lost' AND signal=9 AND message LIKE 'rank 1 was killed by signal 9 (%'", 2, "log.1"},
    {"lost/hang done",
     "state='lost' AND signal=9 AND message LIKE 'rank 0 was killed by signal 9 (%'", 2, "log"},
    {"done/hang", "state='done' AND exit_code=0 AND signal IS NULL", 1, NULL},
    {"done/crashed", "state='done' AND exit_code=0", 1, NULL},
    {"done/lost", "state='done' AND exit_code=0 AND signal IS NULL", 1, NULL},
    {"told_of_2/lost done", "state='failed' AND message='rank 2 on h, cuda:0: the disk is full'", 2,
     NULL},
    {"hang/failed done",
     "state='failed' AND exit_code=74 AND message LIKE 'rank 1: exit 74: error: the disk is full%'",
     2, "log.1"},
    {"hang/gives_up done", "state='lost' AND exit_code=69 AND message LIKE '%fell off the bus'", 2,
     "log.1"},
    {"told_io/failed done", "state='failed' AND message='rank 1 on h, cuda:0: the disk is full'", 2,
     "log.1"},
    {"told_io/lost done", "state='lost' AND signal=9 AND message LIKE 'rank 1 was killed%'", 2,
     "log.1"},
    {"told_gpu/gives_up done",
     "state='lost' AND message='rank 1 on h, cuda:0: it fell off the bus'", 2, "log.1"},
    {"failed/crashed done", "state='failed' AND exit_code=74 AND message LIKE 'the disk is full%'",
     2, NULL},
};

/* The exit status of a scheduler for which a minute passes ten times a second. */
static int wait_scheduler(struct toy_grid *g, pid_t pid, bool hurries)
{
    int status;

    for (int waited_ms = 0; waitpid(pid, &status, WNOHANG) == 0; waited_ms += 100) {
        if (waited_ms > TOY_DEADLINE_MS) fail_msg("the scheduler does not end");
        if (hurries) toy_grid_pass(g, 60);
        poll(NULL, 0, 100);
    }
    return WEXITSTATUS(status);
}

TEST_EACH(NULL, NULL)

TEST(the_first_cause_of_all_ranks_decides)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct toy_grid *g;
        setup((void **)&g);
        g->options.stall_s = 1e9;
        int32_t train = toy_grid_train(g, 64);
        toy_grid_script(g, train, rows[i].words, -1);
        int rc = wait_scheduler(g, toy_grid_fork(g), strstr(rows[i].words, "hang"));
        toy_grid_open_store(g);
        const char *message =
            fixture_cell(g->store, "SELECT state || ', ' || coalesce(message, '') || ', exit ' || "
                                   "coalesce(exit_code, -1) FROM attempts WHERE attempt=1");
        long found = toy_grid_count(
            g, arena_printf(&g->arena, "SELECT count(*) FROM attempts WHERE attempt=1 AND %s",
                            rows[i].first));
        if (rc != 0 || found != 1) fail_msg("%s: status %d; %s", rows[i].words, rc, message);
        const char *meet =
            arena_printf(&g->arena, "%s/runs/%s/1/meet", g->root, g->run[train].run_id);
        assert_false(file_exists(meet)); /* the key, if rank 0 was killed before it deleted it */
        assert_int_equal(toy_grid_attempts(g, train), rows[i].attempts_n);
        toy_grid_teardown((void **)&g);
    }
}

/* The message of a run that failed names the log of the rank that failed. */
TEST(a_failure_names_the_log_of_its_rank)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct toy_grid *g;
        if (!rows[i].log || strstr(rows[i].words, "hang")) continue;
        setup((void **)&g);
        g->options.tries = 1;
        toy_grid_script(g, toy_grid_train(g, 64), rows[i].words, -1);
        toy_grid_fail(g, ERR_INTERNAL, arena_printf(&g->arena, "/1/%s", rows[i].log));
        assert_string_equal(strrchr(g->e.text, '/') + 1, rows[i].log);
        toy_grid_teardown((void **)&g);
    }
}

TEST_EACH(setup, toy_grid_teardown)

TEST_WITH(struct toy_grid *g, a_rank_gets_its_arguments_its_group_and_its_log)
{
    int32_t train = toy_grid_family(g, 64);
    toy_grid_script(g, train, "print/environment", -1);
    toy_grid_complete(g, 4);
    const char *log = toy_grid_read_of(g, train, "log.1");
    const char *meet = arena_printf(&g->arena, "--rank 1 --ranks 2 --meet %s/runs/%s/1/meet \n",
                                    g->root, g->run[train].run_id);
    assert_non_null(strstr(log, "--device cpu --threads 1 "));
    assert_non_null(strstr(log, meet));
    assert_non_null(strstr(log, "leader=0\n"));
    assert_non_null(strstr(log, "stdin=/dev/null\n"));
    assert_null(strstr(log, "more bytes were not kept"));
    assert_non_null(strstr(toy_grid_read_of(g, train, "log"), "more bytes were not kept"));
    assert_string_equal(toy_grid_read_of(g, train + 1, "log.1"), ""); /* evaluations have one */
}

TEST_WITH(struct toy_grid *g, variables_of_the_network_reach_a_worker)
{
    static const char *const names[][2] = {
        {"NCCL_SOCKET_IFNAME", "eth7"}, {"UCX_TLS", "tcp"},
        {"FI_PROVIDER", "efa"},         {"OFI_NCCL_PROTOCOL", "RDMA"},
        {"RDMAV_FORK_SAFE", "1"},       {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}};
    enum { NAMES_N = sizeof names / sizeof *rows };
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, "environment", -1);
    setenv("XFI_PROVIDER", "efa", 1);
    for (int i = 0; i < NAMES_N; i++) setenv(names[i][0], names[i][1], 1);
    toy_grid_complete(g, 1);
    for (int i = 0; i < NAMES_N; i++) unsetenv(names[i][0]);
    unsetenv("XFI_PROVIDER");
    const char *log = toy_grid_read_of(g, train, "log.1");
    for (int i = 0; i < NAMES_N; i++) {
        const char *line = arena_printf(&g->arena, "\n%s=%s\n", names[i][0], names[i][1]);
        if (!strstr(log, line)) fail_msg("a worker has no%s", line);
    }
    assert_null(strstr(log, "XFI_PROVIDER"));
}

/* No device is at fault, and the next try would meet the same. */
TEST_WITH(struct toy_grid *g, ranks_that_lack_a_transport_are_not_tried_again)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, "no_file/no_file done", -1);
    g->options.executors = scripted_table;
    g->options.devices = "toy:0,toy:1,toy:2";
    toy_grid_fail(g, ERR_NOINPUT, "no such file");
    assert_int_equal(toy_grid_attempts(g, train), 1);
    assert_int_equal(g->result.failed, 1);
}

TEST_WITH(struct toy_grid *g, one_request_reaches_every_rank_once)
{
    struct pollfd bell = {.fd = g->bell, .events = POLLIN};
    pid_t pid = toy_grid_begin(g, toy_grid_train(g, 64), "ignore done");
    toy_grid_await_bell(g->bell, 1);
    kill(pid, SIGINT);
    toy_grid_await_bell(g->bell, 2);
    toy_grid_pass(g, 1);
    kill(pid, SIGINT);
    toy_grid_join(g, pid, ERR_INTERRUPTED);
    assert_attempts(g, 1, "state='cancelled' AND signal=9 AND message LIKE 'stopped by signal 9%'");
    assert_int_equal(poll(&bell, 1, 0), 0);
    toy_grid_complete(g, 1);
}

TEST_WITH(struct toy_grid *g, ranks_that_obey_a_request_are_cancelled_and_resumed)
{
    pid_t pid = toy_grid_begin(g, toy_grid_train(g, 64), "wait done");
    toy_grid_await_bell(g->bell, 1);
    kill(pid, SIGTERM);
    toy_grid_join(g, pid, ERR_INTERRUPTED);
    assert_attempts(g, 1, "state='cancelled' AND exit_code=130");
    toy_grid_complete(g, 1);
}

TEST_WITH(struct toy_grid *g, every_rank_of_a_killed_scheduler_ends)
{
    int64_t rank;
    pid_t pid = toy_grid_begin(g, toy_grid_train(g, 64), "wait done");
    toy_grid_await_bell(g->bell, 1);
    char *text = toy_grid_read(g, "rank");
    text[strcspn(text, "\n")] = '\0';
    assert_true(str_to_int(&rank, text));
    toy_grid_kill(pid);
    toy_grid_await_end((pid_t)rank);
    toy_grid_complete(g, 1);
}

TEST_WITH(struct toy_grid *g, a_call_with_other_ranks_starts_what_is_missing_and_nothing_else)
{
    toy_grid_family(g, 64);
    toy_grid_complete(g, 4);
    g->options.ranks_n = 1;
    toy_grid_complete(g, 0);
    assert_int_equal(g->result.already_done, 4);
}

/* --- devices --- */

/* Each row of a device list, what --ranks says about it, and the answer. */
TEST_EACH(setup_scripted, toy_grid_teardown)

TEST_WITH(struct toy_grid *g, ranks_that_cannot_start_are_refused_with_a_remedy)
{
    static const struct {
        const char *devices;
        int32_t ranks_n, per_node, shards;
        int code;
        const char *word;
    } refused[] = {
        {"toy:0,toy:1", 4, 0, 8, ERR_USAGE,
         "--ranks 4: --devices toy:0,toy:1 has 2 slots of one kind; give --ranks 2"},
        {"toy:0,toy:5", 2, 0, 8, ERR_USAGE,
         "toy:0 is Toy but toy:5 is Toy XL, and the ranks of a training need GPUs of one model"},
        {"toy:0,toy:1,toy:5", 3, 0, 8, ERR_USAGE,
         "--ranks 3: not a power of two; give --ranks 2 or 4"},
        {"toy:0,toy:1,toy:2,toy:3", 4, 0, 2, ERR_USAGE,
         "(train alibi L=64 seed 1): 4 ranks for train.shards = 2; use 1 or 2"},
        {"toy:0,toy:1", 2, 2, 8, ERR_USAGE, "--ranks-per-node 2 requires --devices slurm"},
    };
    int32_t train = toy_grid_train(g, 64);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        g->run[train].spec.train.shards = refused[i].shards;
        g->options.devices = refused[i].devices;
        g->options.ranks_n = refused[i].ranks_n;
        g->options.ranks_per_node = refused[i].per_node;
        toy_grid_fail(g, refused[i].code, refused[i].word);
    }
    assert_count(g, 0, "SELECT count(*) FROM attempts");
}

TEST_WITH(struct toy_grid *g, what_one_rank_needs_is_charged_for_each)
{
    int32_t train = toy_grid_train(g, 64);
    g->options.devices = "toy:0,toy:1";
    g->options.ranks_n = 2;
    g->run[train].device_bytes = 2 << 20;
    toy_grid_fail(g, ERR_NOMEM, "needs 2.1 MB of memory for each of 2 ranks, but toy:0 has 1.0 MB");
    g->run[train].device_bytes = 1 << 20;
    toy_grid_complete(g, 1);
}

/* What was started, a line each. */
static char *started(struct toy_grid *g)
{
    return toy_grid_read(g, "started");
}

TEST_WITH(struct toy_grid *g, a_training_takes_gpus_of_one_model)
{
    toy_grid_family(g, 64);
    g->options.devices = "toy:5,toy:0,toy:3";
    g->options.ranks_n = 2;
    toy_grid_complete(g, 4);
    assert_int_equal(strncmp(started(g), "2 toy:0 toy:3\n1 toy:", 20), 0);
}

TEST_WITH(struct toy_grid *g, a_job_of_a_cluster_has_all_ranks)
{
    toy_grid_train(g, 64);
    g->options.devices = "scripted:1";
    g->options.ranks_n = 8;
    toy_grid_complete(g, 1);
    assert_string_equal(started(g), "8 scripted\n");
}

TEST_WITH(struct toy_grid *g, the_gpu_of_the_lost_rank_is_retired)
{
    toy_grid_script(g, toy_grid_train(g, 64), "told_gpu/gives_up done", -1);
    g->options.devices = "toy:0,toy:1,toy:2,toy:3,toy:4";
    g->options.ranks_n = 4;
    toy_grid_complete(g, 1);
    assert_string_equal(started(g), "4 toy:0 toy:1 toy:2 toy:3\n4 toy:0 toy:2 toy:3 toy:4\n");
    assert_attempts(g, 1, "state='lost'");
}

TEST_WITH(struct toy_grid *g, with_too_few_gpus_left_a_training_goes_on_with_half_the_ranks)
{
    toy_grid_script(g, toy_grid_train(g, 64), "told_gpu/gives_up told_gpu/gives_up done", -1);
    g->options.devices = "toy:0,toy:1,toy:2";
    g->options.ranks_n = 2;
    toy_grid_complete(g, 1);
    assert_string_equal(started(g), "2 toy:0 toy:1\n2 toy:0 toy:2\n1 toy:0\n");
}

TEST_EACH(NULL, NULL)

/* What rank 0 records and how rank 1 ends, and the GPUs of the second attempt. */
TEST(only_a_gpu_that_a_rank_could_not_use_is_retired)
{
    static const struct {
        const char *words, *second;
    } lost[] = {
        {"told_gpu/gives_up done", "2 toy:0 toy:2\n"},
        {"own_gpu/told_gpu done", "2 toy:1 toy:2\n"},
        {"told_gone/lost done", "2 toy:0 toy:1\n"},
        {"told_gone/gives_up done", "2 toy:0 toy:1\n"},
        {"told_silent/gives_up done", "2 toy:0 toy:1\n"},
        {"waited/gives_up done", "2 toy:0 toy:1\n"},
        {"told_io/failed done", "2 toy:0 toy:1\n"},
        {"told_gpu/blas_dies done", "2 toy:0 toy:1\n"},
    };
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        struct toy_grid *g;
        setup_scripted((void **)&g);
        toy_grid_script(g, toy_grid_train(g, 64), lost[i].words, -1);
        g->options.devices = "toy:0,toy:1,toy:2";
        g->options.ranks_n = 2;
        toy_grid_complete(g, 1);
        const char *second = strchr(toy_grid_read(g, "started"), '\n') + 1;
        if (strcmp(second, lost[i].second) != 0) fail_msg("%s: %s", lost[i].words, second);
        toy_grid_teardown((void **)&g);
    }
}
