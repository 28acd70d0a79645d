/* load.c - opens libraries of the machine at run time. */
#include "load.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* True if the file itself is missing, not a library that it needs: the message begins with the
 * name of the missing one. */
static bool is_absent(const char *file, const char *why)
{
    size_t n = strlen(file);
    return strncmp(why, file, n) == 0 && why[n] == ':' && strstr(why, "No such file");
}

int load_library(void **out, const char *const *files, size_t n, const char *what, struct err *e)
{
    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        *out = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
        if (*out) return 0;
        const char *why = dlerror();
        if (!is_absent(files[i], why))
            return ERR(e, ERR_UNAVAILABLE, "%s cannot be opened: %s", what, why);
    }
    return 0;
}

int load_symbols(void **out, void *library, const char *const *names, size_t n, const char *what,
                 const char *remedy, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (!(out[i] = dlsym(library, names[i])))
            return ERR(e, ERR_UNAVAILABLE, "%s: %s; %s", what, dlerror(), remedy);
    return 0;
}
