/* test_slurm.c - the arguments of sbatch, and that no job is lost or done twice whatever Slurm, a
 * node, the user or the scheduler's end does. */
#include "harness/test.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/str.h"
#include "record/run_folder.h"
#include "scheduler/executor.h"
#include "scheduler/process.h"
#include "scheduler/toy_grid.h"

/* --- a Slurm that is made of scripts (fake_slurm/) --- */

/* A file of it, relative to its folder: path, new content, first line, the number in it. */
static char *slurm_path(struct toy_grid *g, const char *name)
{
    return arena_printf(&g->arena, "%s/slurm/%s", g->root, name);
}

static void slurm_put(struct toy_grid *g, const char *name, const char *text)
{
    test_write(slurm_path(g, name), text, strlen(text));
}

static char *slurm_get(struct toy_grid *g, const char *name)
{
    char *text = toy_grid_read(g, arena_printf(&g->arena, "slurm/%s", name));
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static pid_t slurm_pid(struct toy_grid *g, const char *name)
{
    int64_t pid = 0;
    assert_true(str_to_int(&pid, slurm_get(g, name)));
    return (pid_t)pid;
}

/* A grid whose devices are slurm:2, in a folder whose name a shell would take apart. */
static int setup(void **state)
{
    const char *before = getenv("TMPDIR"), *path = getenv("PATH");
    char kept[256], odd[300], *scripts = realpath("tests/scheduler/fake_slurm", NULL);

    assert_non_null(scripts);
    snprintf(kept, sizeof kept, "%s", before ? before : "/tmp");
    snprintf(odd, sizeof odd, "%s/it's $HOME; %ld", kept, (long)getpid());
    mkdir(odd, 0700);
    setenv("TMPDIR", odd, 1);
    toy_grid_setup(state);
    setenv("TMPDIR", kept, 1);
    struct toy_grid *g = *state;
    if (!strstr(path, scripts)) setenv("PATH", arena_printf(&g->arena, "%s:%s", scripts, path), 1);
    free(scripts);
    assert_int_equal(mkdir(slurm_path(g, ""), 0700), 0);
    setenv("FAKE_SLURM", arena_printf(&g->arena, "%s/slurm", g->root), 1);
    g->asked = toy_grid_fifo(slurm_path(g, "bell"));
    g->options.devices = "slurm:2";
    g->options.poll_s = 0.05;
    return 0;
}

/* Ends the jobs that a failed test has left; a job's first process takes its worker along. */
static int teardown(void **state)
{
    struct toy_grid *g = *state;
    struct dir jobs;
    char *odd = arena_strdup(&g->arena, g->root);

    assert_ok(dir_open(&jobs, slurm_path(g, ""), &e));
    for (int32_t i = 0; i < jobs.n; i++) {
        const char *name = jobs.name_own[i];
        if (strcmp(slurm_get(g, arena_printf(&g->arena, "%s/state", name)), "RUNNING") == 0)
            kill(slurm_pid(g, arena_printf(&g->arena, "%s/first", name)), SIGKILL);
    }
    dir_close(&jobs);
    close(g->asked);
    *strrchr(odd, '/') = '\0';
    test_folder_remove(odd);
    return toy_grid_teardown(state);
}

/* Waits for the processes of a job to end, and asserts the state it then has. */
static void slurm_await(struct toy_grid *g, const char *number, const char *state)
{
    toy_grid_await_end(slurm_pid(g, arena_printf(&g->arena, "%s/pid", number)));
    assert_string_equal(slurm_get(g, arena_printf(&g->arena, "%s/state", number)), state);
}

/* Waits for n questions of squeue from now on. */
static void slurm_await_questions(struct toy_grid *g, int n)
{
    struct pollfd before = {.fd = g->asked, .events = POLLIN};
    char byte;

    while (poll(&before, 1, 0) == 1) assert_int_equal(read(g->asked, &byte, 1), 1);
    toy_grid_await_bell(g->asked, n);
}

/* --- what is asked of Slurm --- */

TEST_EACH(setup, teardown)

TEST_WITH(struct toy_grid *g, a_grid_runs_as_jobs)
{
    toy_grid_family(g, 64);
    toy_grid_family(g, 128);
    toy_grid_complete(g, 8);
    assert_count(g, 6, "SELECT count(*) FROM evaluations");
    assert_attempts(g, 8, "state='done' AND exit_code=0 AND host='h' AND device='fake'");
    slurm_await(g, "1", "COMPLETED");
    /* Nothing is left to do, and no job is submitted for it. */
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.already_done, 8);
    const char *last =
        arena_printf(&g->arena, "slurm/%ld/state",
                     1 + toy_grid_count(g, "SELECT count(DISTINCT log_path) FROM attempts"));
    assert_string_equal(toy_grid_read(g, last), "");
}

TEST_WITH(struct toy_grid *g, sbatch_gets_what_a_job_needs)
{
    int32_t train = toy_grid_train(g, 64);
    struct machine m;
    machine_read(&m);
    toy_grid_bench(g, 64);
    g->options.words[1] = " partition=gpu  --gres=gpu:1 exclusive-note=a;b";
    assert_int_equal(toy_grid_run(g), 0);
    const char *run = g->run[train].run_id;
    const char *expected = arena_printf(
        &g->arena,
        "--parsable\n--job-name=alibi-%s-1@%s\n--chdir=%s\n--output=runs/%s/1/slurm.log\n"
        "--no-requeue\n--signal=B:TERM@120\n--partition=gpu\n--gres=gpu:1\n--exclusive-note=a;b\n"
        "%s/runs/%s/1/job.sh\n",
        run, m.host, g->root, run, g->root, run);
    assert_string_equal(toy_grid_read(g, "slurm/1/argv"), expected);
    assert_non_null(strstr(toy_grid_read(g, "slurm/2/argv"), "--exclusive\n"));
}

TEST_WITH(struct toy_grid *g, words_that_would_break_it_are_refused)
{
    static const char *const wrong[] = {"array=1-3", "arr=1-3",    "wait",
                                        "output=x",  "job-name=x", "P=gpu",
                                        "=gpu",      "time=1\x7f", "a partition;x=1"};
    toy_grid_train(g, 64);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        g->options.words[1] = wrong[i];
        toy_grid_fail(g, ERR_USAGE, "--slurm");
    }
    g->options.words[1] = "partition=gpu";
    g->options.devices = "cpu:1";
    toy_grid_fail(g, ERR_USAGE, "--devices slurm");
    assert_count(g, 0, "SELECT count(*) FROM attempts");
}

/* --- a training with ranks --- */

/* Submits one attempt of a training through the executor alone, to a Slurm that starts nothing. */
static int submit(struct toy_grid *g, const struct executor_config *given, int32_t ranks_n,
                  const char *dir, struct err *e)
{
    void *slurm, *worker = NULL;
    struct worker_id id;
    struct machine m;
    struct executor_config config = *given;
    const struct worker_command command = {.dir = dir,
                                           .attempt_dir = project_path(&g->project, &g->arena, dir),
                                           .ranks_n = ranks_n,
                                           .avoid_blas = ""};

    machine_read(&m);
    config.project = &g->project;
    config.machine = &m;
    config.program = g->worker;
    slurm_put(g, "hold", "");
    assert_ok(file_make_dirs(command.attempt_dir, &e));
    TRY(executor_slurm.open(&slurm, &config, e));
    int rc = executor_slurm.start(slurm, &worker, &id, &command, e);
    if (worker) executor_slurm.release(worker);
    executor_slurm.close(slurm);
    return rc;
}

#define SUBMIT_DIR "runs/0123456789abcdef/1"

TEST_WITH(struct toy_grid *g, a_training_with_ranks_asks_for_nodes_and_tasks)
{
    static const struct {
        int32_t ranks_n, per_node;
        const char *words, *asked;
    } rows[] = {
        {2, 0, NULL, "--nodes=1\n--ntasks=2\n--ntasks-per-node=2\n"},
        {8, 0, NULL, "--nodes=1\n--ntasks=8\n--ntasks-per-node=8\n"},
        {128, 0, NULL, "--nodes=16\n--ntasks=128\n--ntasks-per-node=8\n"},
        {128, 4, NULL, "--nodes=32\n--ntasks=128\n--ntasks-per-node=4\n"},
        {4, 1, NULL, "--nodes=4\n--ntasks=4\n--ntasks-per-node=1\n"},
        {32, 16, NULL, "--nodes=2\n--ntasks=32\n--ntasks-per-node=16\n"},
        {16, 8, "partition=gpu gres=gpu:1 cpus-per-task=4",
         "--nodes=2\n--ntasks=16\n--ntasks-per-node=8\n--partition=gpu\n--gres=gpu:8\n"
         "--cpus-per-task=4\n"},
        {4, 2, "gres=ssd:1,gpu,gpu:a100,gpus:1",
         "--nodes=2\n--ntasks=4\n--ntasks-per-node=2\n--gres=ssd:1,gpu:2,gpu:a100:2,gpus:1\n"},
        {4, 4, "gpus-per-node=h100:1 nodelist=n[1-4]",
         "--nodes=1\n--ntasks=4\n--ntasks-per-node=4\n--gpus-per-node=h100:4\n"
         "--nodelist=n[1-4]\n"},
        {4, 4, "gpus-per-node=1",
         "--nodes=1\n--ntasks=4\n--ntasks-per-node=4\n--gpus-per-node=4\n"},
        /* An evaluation of the same call. */
        {1, 4, "gres=gpu:1 cpus-per-task=4", "--gres=gpu:1\n--cpus-per-task=4\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct executor_config config = {.words = rows[i].words,
                                               .ranks_n = rows[i].ranks_n > 1 ? rows[i].ranks_n : 8,
                                               .ranks_per_node = rows[i].per_node};
        assert_ok(submit(g, &config, rows[i].ranks_n, SUBMIT_DIR, &e));
        const char *job = arena_printf(&g->arena, "slurm/%ld/argv", (long)i + 1);
        const char *tail = strstr(toy_grid_read(g, job), "--signal=B:TERM@120\n");
        assert_non_null(tail);
        assert_string_equal(tail, arena_printf(&g->arena,
                                               "--signal=B:TERM@120\n%s%s/" SUBMIT_DIR "/job.sh\n",
                                               rows[i].asked, g->root));
        const char *script = toy_grid_read(g, SUBMIT_DIR "/job.sh");
        assert_int_equal(strstr(script, "\nsrun --kill-on-bad-exit=1 --distribution=block ") !=
                             NULL,
                         rows[i].ranks_n > 1);
    }
}

TEST_WITH(struct toy_grid *g, options_that_ranks_decide_are_refused)
{
    static const char *const words[] = {"nodes=2",           "ntasks=8",
                                        "ntasks-per-node=8", "gpus=8",
                                        "gpus-per-task=1",   "partition=gpu gpu-bind=none"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct executor_config config = {.words = words[i], .ranks_n = 8};
        assert_fails(ERR_USAGE, "with --ranks", submit(g, &config, 8, SUBMIT_DIR, &e));
        config.ranks_n = 1;
        assert_ok(submit(g, &config, 1, SUBMIT_DIR, &e));
    }
}

TEST_WITH(struct toy_grid *g, the_next_job_avoids_the_node_of_the_rank_to_blame)
{
    static const struct {
        const char *message, *node, *words, *asked, *code;
    } rows[] = {
        {"rank 3 on n2, cpu: connection lost", "n2", NULL, "--exclude=n2\n", "unavailable"},
        {"rank 3 on n2, cpu: connection lost", "n2", "exclude=n7,n8 time=1:00",
         "--exclude=n2\n--exclude=n7,n8,n2\n--time=1:00\n", "unavailable"},
        {"rank 3 on nowhere, cpu: connection lost", "nowhere", "time=1:00", "--time=1:00\n",
         "unavailable"}, /* too few left */
        /* The rank that reports another one is not to blame. */
        {"rank 0 on n2, cpu waited 120 s: rank 3 of 4 did not come; see their logs", NULL, NULL, "",
         "unavailable"},
        {"rank 1 on n2, cpu: rank 0 on n3, cpu moved no byte for 240 s", "n3", NULL,
         "--exclude=n3\n", "unavailable"},
        {"rank 1 on n2, cpu: rank 0 on n3, cpu, rank 2 on n3, cpu moved no byte for 240 s", NULL,
         NULL, "", "unavailable"},
        {"rank 3 on n2, cpu: out of memory", "n2", NULL, "", "no_memory"},
        {"no such file", NULL, NULL, "", "unavailable"},
        {"a name that would be two", "n2,n3", NULL, "", "unavailable"},
        {"rank 3 on n2, cpu: of an older program", NULL, NULL, "", "unavailable"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct executor_config config = {.words = rows[i].words, .ranks_n = 4};
        const char *dir = arena_printf(&g->arena, "runs/0123456789abcde%ld", (long)i);
        const char *before = arena_printf(&g->arena, "%s/%s/1", g->root, dir);
        const struct record ended = {EVENT_ENDED, .ended = {.state = "lost",
                                                            .code = rows[i].code,
                                                            .message = rows[i].message,
                                                            .rank = RECORD_NONE,
                                                            .node = rows[i].node}};
        struct event_writer *w;
        assert_ok(file_make_dirs(before, &e));
        assert_ok(run_folder_append(&w, before, &e));
        assert_ok(record_write(w, &ended, &e));
        event_writer_close(w);
        dir = arena_printf(&g->arena, "%s/2", dir);
        assert_ok(submit(g, &config, 4, dir, &e));
        const char *job = arena_printf(&g->arena, "slurm/%ld/argv", (long)i + 1);
        const char *tail = strstr(toy_grid_read(g, job), "--ntasks-per-node=4\n");
        assert_non_null(tail);
        assert_string_equal(tail, arena_printf(&g->arena, "--ntasks-per-node=4\n%s%s/%s/job.sh\n",
                                               rows[i].asked, g->root, dir));
    }
}

/* A training with ranks, two on each node. */
static int32_t train_ranks(struct toy_grid *g, int32_t L, int32_t ranks_n, const char *words)
{
    int32_t train = toy_grid_train(g, L);
    g->options.ranks_n = ranks_n;
    g->options.ranks_per_node = 2;
    toy_grid_script(g, train, words, -1);
    return train;
}

/* Completes the runs; rank 0 of the training waits at the gate until the others have printed their
 * arguments: it would end the job. */
static void complete_with_all_ranks(struct toy_grid *g, int32_t train)
{
    pid_t pid = toy_grid_fork(g);
    for (int rank = 1; rank < g->options.ranks_n; rank++) {
        const char *log = arena_printf(&g->arena, "log.%d", rank);
        while (!strstr(toy_grid_read_of(g, train, log), "leader=")) poll(NULL, 0, 10);
    }
    toy_grid_open_gate(g);
    toy_grid_join(g, pid, 0);
}

TEST_WITH(struct toy_grid *g, a_task_starts_the_process_of_its_rank)
{
    struct machine m;
    int32_t train = train_ranks(g, 64, 4, "gate/done");
    machine_read(&m);
    toy_grid_evaluate(g, train, 64);
    setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b", 1);
    complete_with_all_ranks(g, train);
    unsetenv("CUDA_VISIBLE_DEVICES");
    for (int rank = 1; rank < 4; rank++) {
        const char *log = toy_grid_read_of(g, train, arena_printf(&g->arena, "log.%d", rank));
        const char *expected = arena_printf(
            &g->arena,
            "--device cuda:0 --threads 1 --rank %d --ranks 4 --meet %s/runs/%s/1/meet --host %s \n"
            "gpu=GPU-%c leader=1\n",
            rank, g->root, g->run[train].run_id, m.host, rank % 2 ? 'b' : 'a');
        assert_non_null(strstr(log, expected));
    }
    assert_non_null(strstr(toy_grid_read(g, "slurm/1/argv"), "--nodes=2\n--ntasks=4\n"));
    assert_null(strstr(toy_grid_read(g, "slurm/2/argv"), "--nodes")); /* the evaluation */
    assert_string_equal(toy_grid_read_of(g, train + 1, "log.1"), "");
}

TEST_WITH(struct toy_grid *g, ranks_on_one_node_need_no_address_of_it)
{
    int32_t train = train_ranks(g, 64, 2, "gate/done");
    complete_with_all_ranks(g, train);
    const char *log = toy_grid_read_of(g, train, "log.1");
    assert_non_null(strstr(log, "--rank 1 --ranks 2 "));
    assert_null(strstr(log, "--host"));
}

TEST_WITH(struct toy_grid *g, ranks_do_not_share_a_gpu)
{
    g->options.tries = 1;
    train_ranks(g, 64, 8, "wait/wait");
    g->options.ranks_per_node = 4;
    setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
    toy_grid_fail(g, ERR_INTERNAL, "");
    unsetenv("CUDA_VISIBLE_DEVICES");
    const char *log = toy_grid_read_of(g, 0, "slurm.log");
    assert_non_null(strstr(log, ": Slurm gave its node 2 GPUs (0,1)"));
}

/* The outcome is that of rank 0, however long it takes after another rank has failed. */
TEST_WITH(struct toy_grid *g, rank_0_decides_the_outcome)
{
    int32_t train = train_ranks(g, 64, 2, "gate/lost");
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(g->bell, 1);
    toy_grid_await_count(g, "SELECT count(*) FROM progress WHERE done=4", 1);
    while (!*toy_grid_read(g, "rank")) poll(NULL, 0, 10);
    int64_t other;
    char *number = toy_grid_read(g, "rank");
    number[strcspn(number, "\n")] = '\0';
    assert_true(str_to_int(&other, number));
    toy_grid_await_end((pid_t)other);
    slurm_await_questions(g, 10);
    assert_string_equal(toy_grid_read_of(g, train, "exit"), "");
    toy_grid_open_gate(g);
    toy_grid_join(g, pid, 0);
    assert_string_equal(toy_grid_read_of(g, train, "exit"), "exit 0\n");
    assert_attempts(g, 1, "state='done' AND exit_code=0");
    assert_count(g, 1, "SELECT count(*) FROM attempts");
    toy_grid_await_end(slurm_pid(g, "1/task.1"));
    assert_non_null(strstr(toy_grid_read_of(g, train, "slurm.log"), "killed by signal 9"));
}

TEST_WITH(struct toy_grid *g, a_lost_rank_costs_the_attempt_and_the_next_avoids_its_node)
{
    static const struct {
        const char *words, *exit, *attempt;
    } rows[] = {
        {"told_gpu/lost done", "exit 69\n",
         "state='lost' AND message='rank 1 on h, cuda:0: it fell off the bus'"},
        {"lost/hang done", "signal 9\n", "state='lost' AND signal=9"},
    };
    for (int i = 0; i < 2; i++) {
        if (g->store) store_close(g->store);
        g->store = NULL;
        int32_t train = train_ranks(g, 64 + i, 2, rows[i].words);
        if (toy_grid_run(g) < 0) fail_msg("%s: %s", rows[i].words, g->e.text);
        assert_string_equal(toy_grid_read_of(g, train, "exit"), rows[i].exit);
        const char *sql =
            arena_printf(&g->arena, "SELECT count(*) FROM attempts WHERE run_id='%s' AND %s",
                         g->run[train].run_id, rows[i].attempt);
        assert_int_equal(toy_grid_count(g, sql), 1);
        assert_int_equal(toy_grid_last(g, train), STORE_DONE);
        /* No library is to blame: the numbers of another one would differ. */
        assert_attempts(g, 0, "blas = 'own products'");
        const char *job = arena_printf(&g->arena, "slurm/%d/argv", 2 * i + 2);
        assert_int_equal(strstr(toy_grid_read(g, job), "--exclude=h\n") != NULL, i == 0);
    }
}

/* From Ctrl-C, and before a time limit: the batch script passes SIGTERM on to every task. */
TEST_WITH(struct toy_grid *g, a_request_to_stop_reaches_every_rank)
{
    static const char *const sent_to[] = {"the scheduler", "the job"};
    int32_t train = train_ranks(g, 64, 4, "drain/drain drain/drain done");
    for (int i = 0; i < 2; i++) {
        if (g->store) store_close(g->store);
        g->store = NULL;
        pid_t pid = toy_grid_fork(g);
        toy_grid_await_bell(g->bell, 4);
        if (strcmp(sent_to[i], "the scheduler") == 0) {
            toy_grid_await_count(g, "SELECT count(*) FROM progress WHERE done=4", 1);
            slurm_await_questions(g, 2);
            kill(pid, SIGINT);
            toy_grid_join(g, pid, ERR_INTERRUPTED);
        } else {
            kill(slurm_pid(g, "2/first"), SIGTERM);
            toy_grid_join(g, pid, 0);
        }
        for (int rank = 0; rank < 4; rank++)
            toy_grid_await_end(slurm_pid(g, arena_printf(&g->arena, "%d/task.%d", i + 1, rank)));
    }
    assert_attempts(g, 1, "attempt=1 AND state='cancelled' AND exit_code=130");
    assert_attempts(g, 1, "attempt=2 AND state='lost' AND exit_code=130");
    assert_attempts(g, 1, "attempt=3 AND state='done'");
    assert_string_equal(toy_grid_read_of(g, train, "exit"), "exit 130\n");
}

TEST_WITH(struct toy_grid *g, a_worker_gets_the_gpu_that_its_job_was_given)
{
    static const struct {
        const char *given, *seen;
    } rows[] = {{"", "CUDA_VISIBLE_DEVICES=\n"},
                {"NoDevFiles", "CUDA_VISIBLE_DEVICES=\n"},
                {"3,5", "CUDA_VISIBLE_DEVICES=3\n"},
                {"GPU-ab12", "CUDA_VISIBLE_DEVICES=GPU-ab12\n"}};
    for (int32_t i = 0; i < 4; i++) {
        int32_t train = toy_grid_train(g, 64 + i);
        if (g->store) store_close(g->store);
        g->store = NULL;
        toy_grid_script(g, train, "environment", -1);
        setenv("CUDA_VISIBLE_DEVICES", rows[i].given, 1);
        assert_int_equal(toy_grid_run(g), 0);
        unsetenv("CUDA_VISIBLE_DEVICES");
        const char *log = toy_grid_read_of(g, train, "log");
        assert_non_null(strstr(log, rows[i].seen));
        assert_null(strstr(log, "FAKE_SLURM=")); /* scrubbed on the node, too */
    }
}

TEST_WITH(struct toy_grid *g, a_first_job_that_is_rejected_ends_the_call_with_the_reason)
{
    toy_grid_train(g, 64);
    g->options.words[1] = "partition=nowhere";
    toy_grid_fail(g, ERR_TRYLATER, "invalid partition specified: nowhere");
    assert_count(g, 0, "SELECT count(*) FROM attempts");
}

/* --- what goes wrong --- */

TEST_WITH(struct toy_grid *g, a_worker_that_dies_is_lost_and_retried)
{
    toy_grid_script(g, toy_grid_train(g, 64), "lost done", -1);
    assert_int_equal(toy_grid_run(g), 0);
    assert_attempts(g, 1, "state='lost' AND signal=9");
    assert_attempts(g, 1, "state='done'");
}

TEST_WITH(struct toy_grid *g, a_node_that_fails_costs_the_attempt_and_nothing_else)
{
    pid_t pid = toy_grid_begin(g, toy_grid_train(g, 64), "wait done");
    kill(slurm_pid(g, "1/pid"), SIGKILL);
    kill(slurm_pid(g, "1/first"), SIGKILL);
    toy_grid_join(g, pid, 0);
    assert_attempts(g, 1, "state='lost' AND message='job 1 ended as NODE_FAIL'");
    assert_attempts(g, 1, "state='done'");
}

TEST_WITH(struct toy_grid *g, a_job_that_slurm_forgot_is_lost)
{
    pid_t pid = toy_grid_begin(g, toy_grid_train(g, 64), "wait done");
    /* An answer that is being made while the job ends could still have said how it ended. */
    slurm_put(g, "silent", "");
    slurm_await_questions(g, 1);
    slurm_put(g, "1/forgotten", "");
    kill(slurm_pid(g, "1/first"), SIGKILL);
    unlink(slurm_path(g, "silent"));
    toy_grid_join(g, pid, 0);
    assert_attempts(g, 1, "state='lost' AND message='job 1 is not known to Slurm any more'");
}

TEST_WITH(struct toy_grid *g, a_slurm_that_is_silent_for_a_while_loses_no_job)
{
    pid_t pid = toy_grid_begin(g, toy_grid_train(g, 64), "gate");
    slurm_put(g, "silent", "");
    slurm_await_questions(g, 5);
    unlink(slurm_path(g, "silent"));
    slurm_await_questions(g, 5);
    toy_grid_open_gate(g);
    toy_grid_join(g, pid, 0);
    assert_count(g, 1, "SELECT count(*) FROM attempts");
    assert_attempts(g, 1, "state='done'");
}

/* What Slurm does before a time limit: no try is used up if the worker kept a checkpoint. */
TEST_WITH(struct toy_grid *g, a_job_at_its_time_limit_continues_in_another)
{
    static const char *const actions[] = {"drain done", "wait done"};
    g->options.tries = 1;
    for (int i = 0; i < 2; i++) {
        g->n = 0;
        int32_t train = toy_grid_train(g, 64 + i);
        pid_t pid = toy_grid_begin(g, train, actions[i]);
        kill(slurm_pid(g, i == 0 ? "1/first" : "3/first"), SIGTERM);
        assert_int_equal(toy_grid_status(pid), i == 0 ? 0 : -ERR_INTERNAL);
    }
    toy_grid_open_store(g);
    assert_attempts(g, 2, "state='lost'");
    assert_attempts(g, 1, "state='done'");
}

TEST_WITH(struct toy_grid *g, a_job_that_waits_for_its_node_is_not_called_silent)
{
    toy_grid_train(g, 64);
    slurm_put(g, "hold", "");
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_count(g, "SELECT count(*) FROM attempts", 1);
    toy_grid_pass(g, TOY_STALL_S + 1);
    slurm_await_questions(g, 2); /* between two it checks for silent workers */
    unlink(slurm_path(g, "hold"));
    toy_grid_join(g, pid, 0);
    assert_count(g, 1, "SELECT count(*) FROM attempts");
}

TEST_WITH(struct toy_grid *g, a_job_that_is_silent_is_cancelled_and_lost)
{
    toy_grid_script(g, toy_grid_train(g, 64), "hang done", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_count(g, "SELECT count(*) FROM progress WHERE done=4", 1); /* its last record */
    toy_grid_pass(g, TOY_STALL_S + 1);
    toy_grid_join(g, pid, 0);
    assert_attempts(g, 1, "state='lost' AND message LIKE 'no record for%'");
    assert_attempts(g, 1, "state='done'");
    assert_string_equal(slurm_get(g, "1/state"), "CANCELLED");
}

/* --- Ctrl-C --- */

/* Kills a scheduler whose job waits. The job may begin before its row exists. */
static void leave_waiting(struct toy_grid *g, int32_t run, const char *action)
{
    pid_t pid = toy_grid_begin(g, run, action);
    toy_grid_await_count(g, "SELECT count(*) FROM attempts WHERE state='running'", 1);
    toy_grid_kill(pid);
}

TEST_WITH(struct toy_grid *g, ctrl_c_stops_jobs_that_run_and_jobs_that_wait)
{
    int32_t first = toy_grid_train(g, 64);
    toy_grid_train(g, 128);
    g->options.devices = "slurm:1";
    leave_waiting(g, first,
                  "wait done"); /* a second job, which waits, is submitted by the next call */
    slurm_put(g, "hold", "");
    g->options.devices = "slurm:2";
    pid_t pid = toy_grid_fork(g);
    slurm_await_questions(g, 3);
    kill(pid, SIGINT);
    assert_int_equal(toy_grid_status(pid), -ERR_INTERRUPTED);
    assert_string_equal(slurm_get(g, "2/state"), "CANCELLED");
    unlink(slurm_path(g, "hold"));
    toy_grid_open_store(g);
    assert_attempts(g, 2, "state='cancelled'");
    assert_attempts(g, 1, "exit_code=130 AND message='stopped after update 5'");
    toy_grid_complete(g, 2);
}

TEST_WITH(struct toy_grid *g, a_second_request_cancels_jobs_that_ignore_the_first)
{
    pid_t pid = toy_grid_begin(g, toy_grid_train(g, 64), "ignore done");
    kill(pid, SIGINT);
    toy_grid_await_bell(g->bell, 1);
    toy_grid_pass(g, 1); /* two that come together count once */
    kill(pid, SIGINT);
    assert_int_equal(toy_grid_status(pid), -ERR_INTERRUPTED);
    assert_string_equal(slurm_get(g, "1/state"), "CANCELLED");
    toy_grid_open_store(g);
    assert_attempts(g, 1, "state='cancelled'");
    assert_int_equal(toy_grid_run(g), 0);
    assert_attempts(g, 1, "state='done'");
}

/* --- the scheduler dies --- */

TEST_WITH(struct toy_grid *g, a_job_outlives_its_scheduler_and_the_next_one_recovers_it)
{
    int32_t train = toy_grid_family(g, 64);
    leave_waiting(g, train, "gate");
    pid_t pid = toy_grid_fork(g);
    slurm_await_questions(g, 2);
    assert_string_equal(slurm_get(g, "1/state"), "RUNNING");
    toy_grid_open_gate(g);
    toy_grid_join(g, pid, 0);
    assert_int_equal(toy_grid_attempts(g, train), 1);
    assert_count(g, 0,
                 arena_printf(&g->arena, "SELECT exit_code FROM attempts WHERE run_id='%s'",
                              g->run[train].run_id));
    assert_attempts(g, 4, "state='done'");
}

TEST_WITH(struct toy_grid *g, the_records_of_a_job_that_ended_without_its_scheduler_count)
{
    leave_waiting(g, toy_grid_train(g, 64), "gate");
    pid_t job = slurm_pid(g, "1/pid");
    toy_grid_open_gate(g);
    toy_grid_await_end(job);
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.already_done, 1);
    assert_count(g, 1, "SELECT count(*) FROM attempts");
}

TEST_WITH(struct toy_grid *g, a_job_of_other_runs_is_left_alone)
{
    int32_t other = toy_grid_train(g, 64);
    leave_waiting(g, other, "gate");
    struct run left = g->run[other];
    g->n = 0;
    toy_grid_train(g, 128);
    toy_grid_complete(g, 1);
    assert_attempts(g, 1, "state='running'");
    assert_string_equal(slurm_get(g, "1/state"), "RUNNING");
    toy_grid_open_gate(g);
    g->run[0] = left;
    g->n = 1;
    assert_int_equal(toy_grid_run(g), 0);
    assert_attempts(g, 2, "state='done'");
    assert_count(g, 2, "SELECT count(*) FROM attempts");
}

TEST_WITH(struct toy_grid *g, the_limit_of_jobs_counts_recovered_ones)
{
    int32_t first = toy_grid_train(g, 64);
    toy_grid_train(g, 128);
    g->options.devices = "slurm:1";
    leave_waiting(g, first, "gate");
    pid_t pid = toy_grid_fork(g);
    slurm_await_questions(g, 4);
    assert_string_equal(slurm_get(g, "2/state"), "");
    toy_grid_open_gate(g);
    assert_int_equal(toy_grid_status(pid), 0);
    slurm_await(g, "2", "COMPLETED");
}

TEST_WITH(struct toy_grid *g, a_job_whose_state_is_unknown_ends_the_call_until_later)
{
    leave_waiting(g, toy_grid_train(g, 64), "gate");
    slurm_put(g, "silent", "");
    toy_grid_fail(g, ERR_TRYLATER, "job 1");
    assert_non_null(strstr(g->e.text, "Unable to contact"));
    assert_attempts(g, 1, "state='running'");
}

/* Submitted by a scheduler that died before it could record it. */
TEST_WITH(struct toy_grid *g, a_job_of_this_project_that_no_attempt_knows_is_cancelled)
{
    struct machine m;
    machine_read(&m);
    const char *ours = arena_printf(&g->arena, "alibi-0123456789abcdef-1@%s", m.host);
    const char *const name[] = {ours, ours, "other", "alibi-0123456789abcdef-1@elsewhere"};
    toy_grid_train(g, 64);
    for (int i = 0; i < 4; i++) {
        const char *job = arena_printf(&g->arena, "%d", 91 + i);
        mkdir(slurm_path(g, job), 0700);
        slurm_put(g, arena_printf(&g->arena, "%s/state", job), "PENDING\n");
        slurm_put(g, arena_printf(&g->arena, "%s/name", job), name[i]);
        slurm_put(g, arena_printf(&g->arena, "%s/dir", job), i == 1 ? "/elsewhere" : g->root);
    }
    assert_int_equal(toy_grid_run(g), 0);
    assert_string_equal(slurm_get(g, "91/state"), "CANCELLED");
    assert_string_equal(slurm_get(g, "92/state"), "PENDING");
    assert_string_equal(slurm_get(g, "93/state"), "PENDING");
    assert_string_equal(slurm_get(g, "94/state"), "PENDING");
}
