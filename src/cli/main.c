/* main.c - alibi COMMAND …: runs the command and returns its error as exit status. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/log.h"
#include "base/str.h"
#include "check/check.h"
#include "cli/cli.h"
#include "cpu/cpu.h"
#include "spec/code_id.h"

static void print_commands(FILE *out)
{
    size_t n;
    const struct cli_command *commands = cli_commands(&n);

    fprintf(
        out,
        "usage: alibi COMMAND [arguments] [options]\n\n"
        "Reproduces \"Train Short, Test Long: Attention with Linear Biases Enables Input Length "
        "Extrapolation\".\n\ncommands:\n");
    for (size_t i = 0; i < n; i++)
        if (!commands[i].hidden) fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].help);
    fprintf(out,
            "\nEach command has --help. A first result: alibi run table5 && alibi report table5\n\n"
            "exit status: 0 success, 64 usage, 65 wrong data or a diverged run, 66 missing input,\n"
            "69 unavailable, 70 internal or a contradicted claim, 73 cannot create, 74 I/O,\n"
            "75 try later, 130 interrupted\n");
}

static int run_command(int argc, char **argv, struct err *e)
{
    /* After the commands, names that other programs give them. */
    static const char *const others[] = {"plot=report", "figure=report", "table=report",
                                         "train=run",   "start=run",     "resume=run",
                                         "rm=delete",   "remove=delete"};
    const char *names[64];
    size_t n;
    const struct cli_command *commands = cli_commands(&n);

    for (size_t i = 0; i < n; i++) {
        names[i] = commands[i].name;
        if (strcmp(commands[i].name, argv[1]) != 0) continue;
        struct cli c = {.self = &commands[i], .argc = argc - 2, .argv = argv + 2};
        arena_init(&c.arena);
        int rc = commands[i].run(&c, e);
        plan_close(&c.planning.plan);
        store_close(c.store);
        arena_fini(&c.arena);
        return rc == CLI_DONE ? 0 : rc;
    }
    if (argv[1][0] == '-')
        return ERR(e, ERR_USAGE, "%s: options follow the command (see `alibi --help`)", argv[1]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) names[n++] = others[i];
    return ERR(e, ERR_USAGE, "unknown command '%s' (see `alibi --help`)%s", argv[1],
               str_hint(argv[1], names, n).text);
}

/* Opens closed standard streams, so that no other file gets their descriptor and receives messages.
 * Writing to them fails. */
static void open_streams(void)
{
    int fd = open("/dev/null", O_RDONLY);

    while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDONLY);
    if (fd >= 0) close(fd);
}

static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

/* Flushes the answer and returns the exit status. A reader that closes its pipe early is not an
 * error. */
static int close_output(int rc, struct err *e)
{
    int why = fflush(stdout) != 0 ? errno : 0;
    bool failed = why || ferror(stdout), gone = failed && reader_is_gone();

    if (!failed && close(STDOUT_FILENO) < 0) {
        failed = true;
        why = errno;
    }
    if (failed && !gone && (rc >= 0 || rc == ERR_OUTPUT))
        rc = ERR(e, ERR_OUTPUT, "the standard output cannot be written%s%s", why ? ": " : "",
                 why ? strerror(why) : "");
    if (gone && rc == ERR_OUTPUT) return 0;
    if (rc < 0) log_error(e);
    return err_exit_code(rc);
}

/* Moves --project DIR or --project=DIR in front of the command behind it, as git and make have it.
 */
static void move_project(int argc, char **argv)
{
    char *option = argv[1], *dir = argc > 2 ? argv[2] : NULL;

    if (argc > 3 && strcmp(option, "--project") == 0) {
        argv[1] = argv[3];
        argv[2] = option;
        argv[3] = dir;
    } else if (argc > 2 && strncmp(option, "--project=", strlen("--project=")) == 0) {
        argv[1] = dir;
        argv[2] = option;
    }
}

static int run_words(int argc, char **argv, struct err *e)
{
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (argc == 2 && strcmp(argv[1], "help") == 0)) {
        print_commands(stdout);
        return 0;
    }
    move_project(argc, argv);
    if (strcmp(argv[1], "--version") == 0) {
        printf("alibi %s\n", code_id());
        return 0;
    }
    if (strcmp(argv[1], "help") == 0) {
        argv[1] = argv[2];
        argv[2] = "--help";
    }
    return run_command(argc, argv, e);
}

int main(int argc, char **argv)
{
    struct err e = {0};

    open_streams();
    setlocale(LC_ALL, "C.UTF-8"); /* decimal points in numbers, UTF-8 */
    setlocale(LC_NUMERIC, "C");
    signal(SIGPIPE, SIG_IGN); /* writing to a closed pipe is an error, not a signal */
    backend_register(backend_cpu_library());
    backend_register(backend_check_library());
    if (argc < 2) {
        print_commands(stderr);
        return err_exit_code(ERR_USAGE);
    }
    return close_output(run_words(argc, argv, &e), &e);
}
