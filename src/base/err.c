/* err.c - writing, prefixing and classifying errors. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int code, exit_status;
    const char *name;
} err_table[] = {
    {ERR_USAGE, 64, "usage"},
    {ERR_DATA, 65, "data"},
    {ERR_NOINPUT, 66, "no_input"},
    {ERR_UNAVAILABLE, 69, "unavailable"},
    {ERR_INTERNAL, 70, "internal"},
    {ERR_CREATE, 73, "cannot_create"},
    {ERR_IO, 74, "io"},
    {ERR_TRYLATER, 75, "try_later"},
    {ERR_NOMEM, 70, "no_memory"},
    {ERR_NUMBER, 70, "number"},
    {ERR_INTERRUPTED, 130, "interrupted"},
    {ERR_OUTPUT, 74, "output"},
};

static const char *const cause_names[ERR_CAUSES_N] = {NULL,     "own",    "lost",
                                                      "silent", "absent", "meeting"};

int err_set(struct err *e, int code, const char *format, ...)
{
    va_list args;

    if (!e) return code;
    e->code = code;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    for (char *p = e->text; *p; p++)
        if (*p == '\n' || *p == '\r') *p = ' ';
    (void)err_blame(e, ERR_CAUSE_OWN, -1, "");
    return code;
}

int err_blame(struct err *e, enum err_cause cause, int rank, const char *node)
{
    if (!e) return ERR_INTERNAL;
    e->cause = cause;
    e->rank = rank;
    snprintf(e->node, sizeof e->node, "%s", node);
    return e->code;
}

void err_ctx(struct err *e, const char *format, ...)
{
    char text[sizeof e->text];
    va_list args;

    if (!e) return;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n + 3 > sizeof text) return;
    snprintf(text + n, sizeof text - (size_t)n, ": %s", e->text);
    memcpy(e->text, text, sizeof text);
}

int err_exit_code(int code)
{
    if (code >= 0) return 0;
    for (size_t i = 0; i < sizeof err_table / sizeof *err_table; i++)
        if (err_table[i].code == code) return err_table[i].exit_status;
    return 70;
}

const char *err_name(int code)
{
    for (size_t i = 0; i < sizeof err_table / sizeof *err_table; i++)
        if (err_table[i].code == code) return err_table[i].name;
    return code == 0 ? "none" : "unknown";
}

int err_from_name(const char *name)
{
    for (size_t i = 0; i < sizeof err_table / sizeof *err_table; i++)
        if (strcmp(err_table[i].name, name) == 0) return err_table[i].code;
    return 0;
}

const char *err_cause_name(enum err_cause cause)
{
    return cause_names[cause];
}

enum err_cause err_cause_from_name(const char *name)
{
    for (int i = 1; name && i < ERR_CAUSES_N; i++)
        if (strcmp(cause_names[i], name) == 0) return (enum err_cause)i;
    return ERR_CAUSE_NONE;
}
