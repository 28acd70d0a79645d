/* main.c - alibi COMMAND …: finds the command and turns its error into an exit status. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/cli.h"
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
            "\nalibi COMMAND --help says more. A first result: alibi run table5 && alibi report "
            "table5\n");
}

static int run_command(int argc, char **argv, struct err *e)
{
    const char *names[32];
    size_t n;
    const struct cli_command *commands = cli_commands(&n);

    for (size_t i = 0; i < n; i++) {
        names[i] = commands[i].name;
        if (strcmp(commands[i].name, argv[1]) != 0) continue;
        struct cli c = {0};
        arena_init(&c.arena);
        int rc = commands[i].run(&c, &commands[i], argc - 2, argv + 2, e);
        arena_fini(&c.arena);
        return rc;
    }
    const char *near = str_nearest(argv[1], names, n);
    return ERR(e, ERR_USAGE, "%s: no such command%s%s; see alibi --help", argv[1],
               near ? "; did you mean " : "", near ? near : "");
}

int main(int argc, char **argv)
{
    struct err e = {0};

    setlocale(LC_ALL, "C.UTF-8"); /* numbers have a point everywhere */
    setlocale(LC_NUMERIC, "C");
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of the write, not a death */
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (argc == 2 && strcmp(argv[1], "help") == 0)) {
        print_commands(argc < 2 ? stderr : stdout);
        return argc < 2 ? err_exit_code(ERR_USAGE) : 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("alibi %s\n", code_id());
        return 0;
    }
    if (strcmp(argv[1], "help") == 0) {
        argv[1] = argv[2];
        argv[2] = "--help";
    }
    int rc = run_command(argc, argv, &e);
    if (rc < 0) log_error(&e);
    if (fflush(stdout) != 0 && rc >= 0) {
        ERR(&e, ERR_IO, "standard output cannot be written");
        log_error(&e);
        rc = ERR_IO;
    }
    return err_exit_code(rc);
}
