/* test_crash.c - a writer is killed in the middle of transactions: what it acknowledged is there,
 * a transaction is whole or absent, and the next writer goes on. */
#include "harness/test.h"

#include <sys/wait.h>

#include "base/clock.h"
#include "store/database.h"
#include "store/store_fixture.h"

enum { KILLS = 25, RUNS_EACH = 3 };

/* Adds RUNS_EACH done runs a transaction, from this seed on, and writes a byte for each commit. */
static void write_until_killed(const char *path, int64_t seed, int acknowledge)
{
    struct store_fixture f = {0};
    char id[SPEC_ID_BYTES];

    snprintf(f.path, sizeof f.path, "%s", path);
    store_fixture_open(&f, STORE_WRITE);
    for (;;) {
        if (store_begin(f.store, &f.e) < 0) _exit(1);
        for (int i = 0; i < RUNS_EACH; i++) {
            struct spec train = fixture_train(SPEC_ALIBI, 64, seed++);
            fixture_done(&f, &train, 2.0, id);
        }
        if (store_commit(f.store, &f.e) < 0) _exit(1);
        if (write(acknowledge, "a", 1) != 1) _exit(1);
    }
}

/* Kills a writer a little after its n-th acknowledgement; returns how many there were. */
static int kill_a_writer(struct store_fixture *f, int64_t seed, int n, int64_t after_us)
{
    int pipes[2], status = 0, acknowledged = 0;
    char byte;

    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        close(pipes[0]);
        write_until_killed(f->path, seed, pipes[1]);
    }
    close(pipes[1]);
    while (acknowledged < n && read(pipes[0], &byte, 1) == 1) acknowledged++;
    int64_t until = clock_monotonic_us() + after_us;
    while (clock_monotonic_us() < until) continue;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    while (read(pipes[0], &byte, 1) == 1) acknowledged++;
    close(pipes[0]);
    return acknowledged;
}

TEST_EACH(store_fixture_setup, store_fixture_teardown)

TEST_WITH(struct store_fixture *f, nothing_acknowledged_is_lost)
{
    struct store *reader = NULL;
    int64_t before = 0;
    unsigned seed = 20220422;

    print_message("seed %u\n", seed);
    for (int k = 0; k < KILLS; k++) {
        store_fixture_close(f);
        int64_t after_us = (int64_t)(rand_r(&seed) % 3000);
        int acknowledged = kill_a_writer(f, 1000000 * (k + 1), rand_r(&seed) % 4, after_us);
        /* a reader first, with the log of the killed writer beside the file */
        assert_int_equal(store_open(&reader, f->path, STORE_READ, &f->e), 0);
        int64_t seen = strtoll(fixture_cell(reader, "SELECT count(*) FROM trainings"), NULL, 10);
        store_close(reader);
        store_fixture_open(f, STORE_WRITE);
        assert_int_equal(store_check(f->store, &f->e), 0);
        int64_t now = strtoll(fixture_cell(f->store, "SELECT count(*) FROM trainings"), NULL, 10);
        assert_int_equal(now, seen);
        assert_int_equal((now - before) % RUNS_EACH, 0);
        assert_true(now - before >= (int64_t)acknowledged * RUNS_EACH);
        assert_true(now - before <= (int64_t)(acknowledged + 1) * RUNS_EACH);
        assert_cell(f, "SELECT count(*) FROM attempts WHERE state<>'done'", "0");
        before = now;
    }
    assert_true(before > 0);
    print_message("%d faults injected\n", KILLS);
}

/* Readers in other processes while a writer commits: each sees whole transactions only. */
TEST_WITH(struct store_fixture *f, readers_see_whole_transactions)
{
    int pipes[2], status = 0;
    char byte;

    store_fixture_close(f);
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        close(pipes[0]);
        write_until_killed(f->path, 1, pipes[1]);
    }
    close(pipes[1]);
    int64_t last = 0;
    for (int i = 0; i < 100; i++) {
        struct store *reader = NULL;
        if (i % 10 == 0) assert_int_equal(read(pipes[0], &byte, 1), 1);
        assert_int_equal(store_open(&reader, f->path, STORE_READ, &f->e), 0);
        int64_t seen = strtoll(fixture_cell(reader, "SELECT count(*) FROM trainings"), NULL, 10);
        assert_int_equal(seen % RUNS_EACH, 0);
        assert_true(seen >= last);
        last = seen;
        store_close(reader);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(pipes[0]);
    assert_true(last >= 10 * RUNS_EACH);
    store_fixture_open(f, STORE_WRITE);
}

static int count_commit(void *commits_n)
{
    ++*(int *)commits_n;
    return 0;
}

/* A batch of records is one commit, and so one sync. */
TEST_WITH(struct store_fixture *f, a_batch_is_one_commit)
{
    struct spec train = fixture_train(SPEC_ALIBI, 64, 1);
    int commits_n = 0;

    train.train.updates = 1000;
    int64_t attempt = fixture_start_next(f, &train);
    sqlite3_commit_hook(f->store->connection_own, count_commit, &commits_n);
    assert_int_equal(store_begin(f->store, &f->e), 0);
    for (int i = 1; i <= 1000; i++) {
        fixture_record(f, attempt, (uint64_t)i, EVENT_STEP, "{'update':%d,'loss_nats':3.5,'lr':1}",
                       i);
    }
    assert_int_equal(commits_n, 0);
    assert_int_equal(store_commit(f->store, &f->e), 0);
    assert_int_equal(commits_n, 1);
    assert_cell(f, "SELECT count(*) FROM curves", "1000");
}
