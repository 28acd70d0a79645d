#include "harness/ranks.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "harness/test.h"

enum { DEADLINE_S = 120 };
double test_meet_s = DEADLINE_S;

static int result_pipe; /* of this process, a rank */

static void leave(const char *kind, const char *text)
{
    char line[TEST_RESULT_BYTES];
    int n = snprintf(line, sizeof line, "%s%s", kind, text);
    if (write(result_pipe, line, (size_t)n) != n) _exit(99);
}

static void leave_lost(void *context, const struct err *e)
{
    (void)context;
    leave("lost: ", e->text);
}

static _Noreturn void be_rank(int32_t rank, int32_t ranks_n, const char *meet, test_rank_fn *run,
                              const void *context)
{
    char label[16];
    struct group *g = NULL;
    struct err e = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(label, sizeof label, "place%d", rank);
    const struct group_options o = {.rank = rank,
                                    .ranks_n = ranks_n,
                                    .meet = meet,
                                    .label = label,
                                    .identity = "code: a\n",
                                    .meet_s = test_meet_s,
                                    .lost = leave_lost};
    int rc = group_open(&g, &o, &e);
    if (rc == 0) rc = group_close(g, run(g, context, &e), &e);
    leave(rc < 0 ? "error: " : "ok", rc < 0 ? e.text : "");
    _exit(0);
}

void test_ranks(int32_t ranks_n, test_rank_fn *run, const void *context,
                char result[TEST_RANKS_MAX][TEST_RESULT_BYTES])
{
    char folder[TEST_PATH_BYTES], meet[TEST_PATH_BYTES + 8];
    pid_t pid[TEST_RANKS_MAX];
    int out[TEST_RANKS_MAX];

    assert_true(ranks_n <= TEST_RANKS_MAX);
    test_folder(folder);
    snprintf(meet, sizeof meet, "%s/meet", folder);
    for (int32_t rank = 0; rank < ranks_n; rank++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        fflush(NULL);
        pid[rank] = fork();
        assert_true(pid[rank] >= 0);
        result_pipe = ends[1];
        if (pid[rank] == 0) be_rank(rank, ranks_n, meet, run, context);
        close(ends[1]);
        out[rank] = ends[0];
    }
    int64_t deadline_us = clock_monotonic_us() + DEADLINE_S * 1000000LL;
    bool is_late = false;
    for (int32_t rank = 0; rank < ranks_n; rank++) {
        while (waitpid(pid[rank], NULL, WNOHANG) == 0) {
            if (clock_monotonic_us() > deadline_us) is_late = kill(pid[rank], SIGKILL) == 0;
            poll(NULL, 0, 2);
        }
        ssize_t n = read(out[rank], result[rank], TEST_RESULT_BYTES - 1);
        result[rank][n > 0 ? n : 0] = '\0';
        close(out[rank]);
    }
    test_folder_remove(folder);
    if (is_late) fail_msg("ranks did not end within %d s", DEADLINE_S);
}
