/* load.h - opens libraries of the machine at run time, so that a build needs none of them. */
#ifndef CUDA_LOAD_H
#define CUDA_LOAD_H

#include <stddef.h>

#include "base/err.h"

/* load_library - opens the first of n files that exists; it stays open. A name without a slash is
 * searched in the loader's path. *out is NULL if none exists. Errors: ERR_UNAVAILABLE one exists
 * but cannot be opened, such as for a library that it needs; `what` begins the message. */
int load_library(void **out, const char *const *files, size_t n, const char *what, struct err *e);

/* load_symbols - fills in n functions by their names. Errors: ERR_UNAVAILABLE names one that is
 * missing, and ends with the remedy. */
int load_symbols(void **out, void *library, const char *const *names, size_t n, const char *what,
                 const char *remedy, struct err *e);

#endif
