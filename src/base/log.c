/* log.c - writes each message to stderr with one write, so that lines of several processes do not
 * interleave. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level log_level = LOG_INFO;

void log_set_level(enum log_level level)
{
    log_level = level;
}

static void log_write(const char *prefix, const char *format, va_list args)
{
    char line[2048];
    size_t n = (size_t)snprintf(line, sizeof line - 1, "%s", prefix);
    int more = vsnprintf(line + n, sizeof line - 1 - n, format, args);
    if (more > 0) n += (size_t)more;
    if (n > sizeof line - 2) n = sizeof line - 2;
    line[n++] = '\n';
    for (size_t done = 0; done < n;) {
        ssize_t wrote = write(STDERR_FILENO, line + done, n - done);
        if (wrote <= 0) return; /* stderr is closed */
        done += (size_t)wrote;
    }
}

#define LOG_BODY(level, prefix)                                                                    \
    va_list args;                                                                                  \
    if (log_level < (level)) return;                                                               \
    va_start(args, format);                                                                        \
    log_write((prefix), format, args);                                                             \
    va_end(args)

void log_info(const char *format, ...)
{
    LOG_BODY(LOG_INFO, "");
}

void log_warn(const char *format, ...)
{
    LOG_BODY(LOG_WARN, "warning: ");
}

void log_debug(const char *format, ...)
{
    LOG_BODY(LOG_DEBUG, "");
}

static void log_line(const char *format, ...)
{
    LOG_BODY(LOG_QUIET, "alibi: ");
}

void log_error(const struct err *e)
{
    log_line("%s", e->text);
}
