/* mutants.cu - the emulator's own regression test: it must detect the bugs of selftest.h, in every
 * order of threads, by what a row names. Without a bug a program passes silently.
 *
 * Every run is a separate process, since most findings end it. Prints a line for each bug; exit
 * status 0 if all rows hold. */
#include "selftest.h"

#include "emulation_control.h"
#include "emulation_machine.h"

#include <string>
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

static void child(const struct selftest_row *m, const char *order, int to)
{
    dup2(to, STDERR_FILENO);
    emulation_set_order(order);
    _exit(m->wrong(m->bug) ? EXIT_WRONG : 0);
}

/* Runs the program in a process and reads its output. */
static enum outcome observe(const struct selftest_row *m, const char *order, std::string *said)
{
    char part[4096];
    int ends[2], status = 0;
    ssize_t n;
    fflush(stdout);
    said->clear();
    if (pipe(ends) != 0) return CRASHED;
    pid_t pid = fork();
    if (pid == 0) child(m, order, ends[1]);
    close(ends[1]);
    while ((n = read(ends[0], part, sizeof part)) > 0) said->append(part, (size_t)n);
    close(ends[0]);
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return CRASHED;
    return outcome_of(status, said->c_str());
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
static int row_fails(const struct selftest_row *m)
{
    int allowed = build[0] == 'p' ? m->plain : build[0] == 'a' ? m->address : m->thread;
    enum outcome last = PASSES;
    std::string said;
    if (allowed == 0) return 0;
    for (const char *order : orders) {
        last = observe(m, order, &said);
        if (last & allowed) continue;
        printf("FAIL  %s, order %s: %s\n%s", m->name, order, outcome_name(last), said.c_str());
        return 1;
    }
    printf("ok    %s: %s\n", m->name, outcome_name(last));
    return 0;
}

/* ---- bugs that only an emulator can have ---- */

enum { PLACE_IN_32_BITS = 1, PLACE_BEYOND };

static __global__ void number_k(char *x, int bug)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (bug == PLACE_IN_32_BITS) i = (int)blockIdx.x * (int)blockDim.x + (int)threadIdx.x;
    if (bug == PLACE_BEYOND) i += blockDim.x;
    x[i] = (char)(i % 100);
}

/* Three blocks of a launch over 2^32 bytes, of which only a few pages are touched. */
static int places(int bug)
{
    const int64_t bytes = (int64_t)1 << 32, last = bytes - 1;
    char *x = nullptr, home = 0, first = 1;
    emulation_set_blocks(3);
    emulation_set_memory(2 * (size_t)bytes);
    MUST(cudaMalloc((void **)&x, (size_t)bytes));
    MUST(launch(number_k, (unsigned)(bytes / 32), 32, 0, nullptr, x, bug));
    MUST(cudaMemcpy(&home, x + last, 1, cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(&first, x, 1, cudaMemcpyDeviceToHost));
    MUST(cudaFree(x));
    return home != (char)(last % 100) || first != 0;
}

static int lost_devices(int bug)
{
    struct both<char> x = both_make<char>(1);
    if (bug) emulation_lose_device(0);
    MUST(launch(number_k, 1, 1, 0, nullptr, x.device_own, 0));
    both_down(&x);
    both_free(&x);
    return 0;
}

static const struct selftest_row emulated[] = {
    {"places beyond 32 bits", places, 0, PASSES, PASSES, PASSES},
    {"a place that 32 bits cannot hold", places, PLACE_IN_32_BITS, CRASHED,
     UNDEFINED | ADDRESS | CRASHED, CRASHED},
    {"a place beyond gigabytes of memory", places, PLACE_BEYOND, CRASHED, ADDRESS, CRASHED},
    {"a device that stays", lost_devices, 0, PASSES, PASSES, PASSES},
    {"a device that is lost", lost_devices, 1, WRONG, WRONG, WRONG},
    {nullptr, nullptr, 0, 0, 0, 0},
};

int main()
{
    int failed = 0;
    for (const struct selftest_row *m : {selftest_warp, selftest_block, selftest_runtime, emulated})
        for (; m->name; m++) failed += row_fails(m);
    printf("mutants, %s build: %s\n", build, failed ? "FAILED" : "ok");
    return failed != 0;
}
