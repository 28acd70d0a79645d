/* log.h - messages on stderr, one line each, as str_clean has it. stdout is for a command's answer.
 * Measurements are not log lines. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

enum log_level { LOG_QUIET, LOG_WARN, LOG_INFO };

/* log_set_level - drops messages above the level, initially LOG_INFO. The level is a global of the
 * process. */
void log_set_level(enum log_level level);

/* log_write - a message at a level. log_error takes a struct err * and is never dropped. */
void log_write(enum log_level level, const char *format, ...) ERR_PRINTF(2, 3);
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_write(LOG_WARN, __VA_ARGS__)     /* prefixed "warning: " */
#define log_error(e) log_write(LOG_QUIET, "%s", (e)->text) /* prefixed "alibi: " */

#endif
