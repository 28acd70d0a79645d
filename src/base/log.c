/* log.c - writes each message to stderr with one write, so that lines of several processes do not
 * interleave. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

static enum log_level log_level = LOG_INFO;

void log_set_level(enum log_level level)
{
    log_level = level;
}

void log_write(enum log_level level, const char *format, ...)
{
    static const char *const prefixes[] = {
        [LOG_QUIET] = "alibi: ", [LOG_WARN] = "warning: ", [LOG_INFO] = ""};
    char text[2048], line[2048];
    va_list args;

    if (level > log_level) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t n = (size_t)snprintf(line, sizeof line, "%s", prefixes[level]);
    n += str_clean_n(line + n, sizeof line - 1 - n, text, strlen(text), "");
    line[n++] = '\n';
    for (size_t done = 0; done < n;) {
        ssize_t wrote = write(STDERR_FILENO, line + done, n - done);
        if (wrote <= 0) return; /* stderr is closed */
        done += (size_t)wrote;
    }
}
