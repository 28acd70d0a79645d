/* commands.c - the table of commands, which the build makes of commands.txt. */
#include "cli/cli.h"

enum { ANY = CLI_LIST_MAX };

#define COMMAND(id, name, arguments, opens, rest_min, rest_max, hidden, help, text)                \
    extern cli_run_fn cli_##id;
#include "cli/commands.inc"
#undef COMMAND

#define COMMAND(id, name, arguments, opens, rest_min, rest_max, hidden, help, text)                \
    {name, arguments, help, text, cli_##id, opens, rest_min, rest_max, hidden},
static const struct cli_command table[] = {
#include "cli/commands.inc"
};

const struct cli_command *cli_commands(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}
