/* mutants.cu - the emulator's own regression test. The technique that a row names must detect the
 * row's bug in every order of threads; without the bug the program must pass silently.
 *
 * Every run is a separate process, since most findings end it. Prints a line for each bug; exit
 * status 0 if all rows hold. */
#include "mutants.h"

#include "emulation_control.h"
#include "emulation_machine.h"

#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
static const char *const orders[] = {"forward", "1"};
static const char build[] = "thread";
#elif defined(__SANITIZE_ADDRESS__)
static const char *const orders[] = {"forward", "reverse", "1"};
static const char build[] = "address";
#else
static const char *const orders[] = {"forward", "reverse", "1", "2", "3"};
static const char build[] = "plain";
#endif

/* How the processes end; a sanitizer's own status is set below. */
enum { EXIT_WRONG = 10, EXIT_THREAD = 66, EXIT_ADDRESS = 67 };

extern "C" const char *__tsan_default_options()
{
    return "halt_on_error=1:exitcode=66:atexit_sleep_ms=0";
}
extern "C" const char *__asan_default_options()
{
    return "exitcode=67:detect_leaks=0";
}

void selftest_must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    _exit(EXIT_WRONG);
}

static enum outcome outcome_of(int status, const char *said)
{
    if (!WIFEXITED(status)) return CRASHED;
    switch (WEXITSTATUS(status)) {
    case EXIT_WRONG:
        return WRONG;
    case EMULATION_EXIT:
        return STOPPED;
    case EXIT_THREAD:
        return strstr(said, "data race") || strstr(said, "use-after-free") ? RACE : CRASHED;
    case EXIT_ADDRESS:
        return strstr(said, "AddressSanitizer") ? ADDRESS : CRASHED;
    case 0:
        return said[0] ? WRONG : PASSES; /* a correct program prints nothing */
    }
    return strstr(said, "runtime error") ? UNDEFINED : CRASHED;
}

static void child(const struct mutant *m, int bug, const char *order, int to)
{
    dup2(to, STDERR_FILENO);
    emulation_set_order(order);
    _exit(m->wrong(bug) ? EXIT_WRONG : 0);
}

/* Runs the program in a process and reads its output. */
static enum outcome observe(const struct mutant *m, int bug, const char *order, char *said,
                            size_t room)
{
    int ends[2], status = 0;
    size_t n = 0;
    fflush(stdout);
    if (::pipe(ends) != 0) return CRASHED;
    pid_t pid = fork();
    if (pid == 0) child(m, bug, order, ends[1]);
    close(ends[1]);
    for (ssize_t got = 1; got > 0;) {
        char rest[4096];
        got = read(ends[0], n < room - 1 ? said + n : rest,
                   n < room - 1 ? room - 1 - n : sizeof rest);
        if (got > 0 && n < room - 1) n += (size_t)got;
    }
    said[n] = '\0';
    close(ends[0]);
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return CRASHED;
    return outcome_of(status, said);
}

static const char *outcome_name(int outcome)
{
    static const struct {
        int outcome;
        const char *name;
    } names[] = {{PASSES, "not seen"}, {WRONG, "wrong result"}, {STOPPED, "stopped"},
                 {ADDRESS, "ASan"},    {UNDEFINED, "UBSan"},    {RACE, "race"},
                 {CRASHED, "crash"}};
    for (const auto &n : names)
        if (n.outcome == outcome) return n.name;
    return "anything";
}

/* 1 if a run does not end as its row allows. */
static int row_fails(const struct mutant *m, int bug, int allowed, enum outcome *last)
{
    static char said[16384];
    for (const char *order : orders) {
        *last = observe(m, bug, order, said, sizeof said);
        if (*last & allowed) continue;
        printf("FAIL  %s%s, order %s: %s\n%s", bug ? "" : "without: ", m->bug, order,
               outcome_name(*last), said);
        return 1;
    }
    return 0;
}

static int run(const struct mutant *m)
{
    int failed = 0;
    int (*checked)(int) = nullptr;
    for (; m->bug; m++) {
        int allowed = build[0] == 'p' ? m->plain : build[0] == 'a' ? m->address : m->thread;
        enum outcome last;
        if (m->wrong != checked && row_fails(m, 0, PASSES, &last)) failed++;
        checked = m->wrong;
        if (row_fails(m, m->bug_number, allowed, &last))
            failed++;
        else
            printf("ok    %s: %s\n", m->bug, outcome_name(last));
    }
    return failed;
}

int main()
{
    int failed = run(mutants_block) + run(mutants_warp) + run(mutants_host);
    printf("mutants, %s build: %s\n", build, failed ? "FAILED" : "ok");
    return failed != 0;
}
