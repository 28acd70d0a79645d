/* backend.c - opens a backend by name: a registered one, cuda:N, cuda:emulated, or check: with one
 * of these.
 *
 * 1. The main program links no CUDA library. libalibi_cuda.so is opened only if the driver's
 *    libcuda.so.1 exists. Each reason why it cannot be used has its own message.
 * 2. A library stays open until the process ends, because the driver cannot be unloaded safely. */
#include "backend/backend.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

static const char backend_names[] = "cpu, cuda:0 (or another number), cuda:emulated, or check: "
                                    "before one of these";

/* Folders of the libraries relative to the program: its own, lib of an installation, and those
 * above a test program. */
static const char *const backend_folders[] = {"", "../lib/", "../", "../../"};

typedef const struct backend_library *(*backend_library_function)(void);

enum { REGISTERED_MAX = 8 };
static const struct backend_library *registered[REGISTERED_MAX];
static size_t registered_n;

void backend_register(const struct backend_library *library)
{
    assert(registered_n < REGISTERED_MAX && library->version == BACKEND_VERSION);
    registered[registered_n++] = library;
}

/* Finds the folder of the running program, with a trailing slash. */
static int backend_program_folder(char *out, size_t bytes, struct err *e)
{
    TRY(file_program(out, bytes, e));
    char *slash = strrchr(out, '/');
    if (slash) slash[1] = '\0';
    return 0;
}

/* Loads a library. remedy: how to obtain a missing file. */
static int backend_library_open(const struct backend_library **out, const char *name,
                                const char *file, const char *remedy, struct err *e)
{
    char folder[PATH_MAX], path[PATH_MAX];
    void *library = NULL, *symbol = NULL;
    backend_library_function get;

    TRY(backend_program_folder(folder, sizeof folder, e));
    for (size_t i = 0; !library && i < sizeof backend_folders / sizeof *backend_folders; i++) {
        int n = snprintf(path, sizeof path, "%s%s%s", folder, backend_folders[i], file);
        if (n < 0 || (size_t)n >= sizeof path || access(path, R_OK) != 0) continue;
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const char *why = library ? "" : dlerror();
        if (!library)
            return ERR(
                e, ERR_UNAVAILABLE, "%s: cannot be opened: %s%s", name, why,
                strstr(why, "`GLIBC")
                    ? "; this machine's C library is older: build alibi here, or take the bundle "
                      "(make bundle), which has its own"
                    : "");
    }
    if (!library)
        return ERR(e, ERR_UNAVAILABLE, "%s is not in this build (no %s in %s); use cpu, or run %s",
                   name, file, folder, remedy);
    symbol = dlsym(library, "alibi_backend_library");
    if (!symbol)
        return ERR(e, ERR_UNAVAILABLE, "%s: %s does not export alibi_backend_library", name, path);
    memcpy(&get, &symbol, sizeof get); /* an object pointer whose bytes are a function's */
    *out = get();
    if ((*out)->version != BACKEND_VERSION)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: %s has contract version %d, but this program has %d; rebuild it", name,
                   path, (int)(*out)->version, (int)BACKEND_VERSION);
    return 0;
}

/* Finds the library of cuda:N and its number, or of cuda:emulated. */
static int backend_find_cuda(const struct backend_library **out, int *ordinal, const char *name,
                             struct err *e)
{
    const char *which = name + strlen("cuda:");
    int64_t number = 0;

    *ordinal = 0;
    if (strcmp(which, "emulated") == 0)
        return backend_library_open(out, name, "libalibi_cuda_emulated.so",
                                    "make check-cuda-emulated", e);
    if (!str_to_int(&number, which) || number < 0 || number > INT_MAX)
        return ERR(e, ERR_USAGE, "device %s: expected %s", name, backend_names);
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
        return ERR(e, ERR_UNAVAILABLE, "%s: no NVIDIA driver (libcuda.so.1 not found); use cpu",
                   name);
    *ordinal = (int)number;
    return backend_library_open(out, name, "libalibi_cuda.so", "make cuda (needs nvcc)", e);
}

int backend_transport(const char *name, char *text, size_t bytes, struct err *e)
{
    const struct backend_library *library = NULL;
    int ordinal;

    TRY(backend_find_cuda(&library, &ordinal, name, e));
    return library->transport(text, bytes, e);
}

int backend_open(struct backend **out, const char *name, int32_t threads, enum dtype precision,
                 struct err *e)
{
    *out = NULL;
    if (strncmp(name, "cuda:", 5) == 0) {
        const struct backend_library *library = NULL;
        int ordinal;
        TRY(backend_find_cuda(&library, &ordinal, name, e));
        return library->open(out, ordinal, threads, precision, e);
    }
    for (size_t i = 0; i < registered_n; i++) {
        const struct backend_library *library = registered[i];
        size_t length = strlen(library->name);
        if (library->open && strcmp(name, library->name) == 0)
            return library->open(out, 0, threads, precision, e);
        if (!library->wrap || strncmp(name, library->name, length) != 0 || name[length] != ':')
            continue;
        struct backend *inner = NULL;
        TRY(backend_open(&inner, name + length + 1, threads, precision, e));
        return library->wrap(out, inner, e);
    }
    return ERR(e, ERR_USAGE, "device %s: expected %s", name, backend_names);
}

void backend_close(struct backend *b)
{
    if (b) b->ops->close(b);
}
