/* log.h - messages on stderr, one line each. stdout is for a command's answer. Measurements are not
 * log lines. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

enum log_level { LOG_QUIET, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* log_set_level - drops messages above the level, initially LOG_INFO. The level is a global of the
 * process. */
void log_set_level(enum log_level level);

void log_info(const char *format, ...) ERR_PRINTF(1, 2);
void log_warn(const char *format, ...) ERR_PRINTF(1, 2); /* prefixed "warning: " */
void log_debug(const char *format, ...) ERR_PRINTF(1, 2);
void log_error(const struct err *e); /* prefixed "alibi: "; never dropped */

#endif
