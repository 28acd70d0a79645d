/* log.h - one line a message on stderr; stdout belongs to a command's answer. Measurements are
 * never log lines. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

enum log_level { LOG_QUIET, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* log_set_level - messages above the level are dropped; the first level is LOG_INFO. The level is
 * the one piece of state of the process that is not passed as an argument. */
void log_set_level(enum log_level level);

void log_info(const char *format, ...) ERR_PRINTF(1, 2);
void log_warn(const char *format, ...) ERR_PRINTF(1, 2); /* prefixed "warning: " */
void log_debug(const char *format, ...) ERR_PRINTF(1, 2);
void log_error(const struct err *e); /* "alibi: " and the sentence; never dropped */

#endif
