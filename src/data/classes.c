/* classes.c - reads and checks the classes of targets. */
#include "data/classes.h"

#include <string.h>

#include "base/str.h"

int classes_parse(struct classes *out, const char *names, const char *path, struct err *e)
{
    *out = (struct classes){0};
    for (const char *at = names + strspn(names, " \n"); *at; at += strspn(at, " \n")) {
        size_t n = strcspn(at, " \n");
        if (out->n == CLASSES_MAX)
            return ERR(e, ERR_DATA, "%s: more than %d groups; join some", path, CLASSES_MAX);
        char *name = out->name[out->n];
        if (n < CLASS_NAME_BYTES) memcpy(name, at, n);
        if (n >= CLASS_NAME_BYTES || !str_is_name(name))
            return ERR(e, ERR_DATA,
                       "%s: group %d is '%.*s', expected at most %d letters, digits, dots, "
                       "underscores and dashes",
                       path, out->n, (int)(n < 40 ? n : 40), at, CLASS_NAME_BYTES - 1);
        for (int32_t i = 0; i < out->n; i++)
            if (strcmp(out->name[i], name) == 0)
                return ERR(e, ERR_DATA, "%s: groups %d and %d are both '%s'; rename one", path, i,
                           out->n, name);
        out->n++;
        at += n;
    }
    if (out->n > 0) return 0;
    return ERR(e, ERR_DATA, "%s: no names of groups, expected one a line", path);
}

int classes_open(struct file_map *out, const struct classes *c, const char *path, int64_t tokens_n,
                 const char *remedy, struct err *e)
{
    if (!file_exists(path)) return ERR(e, ERR_NOINPUT, "%s not found; %s", path, remedy);
    TRY(file_map_open(out, path, e));
    const unsigned char *bytes = out->data;
    int64_t n = (int64_t)out->n, at = 0;
    while (n == tokens_n && at < n && bytes[at] < c->n) at++;
    if (at == n && n == tokens_n) return 0;
    int rc = n != tokens_n ? ERR(e, ERR_DATA, "%s: %lld bytes for %lld tokens; %s", path,
                                 (long long)n, (long long)tokens_n, remedy)
                           : ERR(e, ERR_DATA, "%s: token %lld is in group %d, but there are %d; %s",
                                 path, (long long)at, bytes[at], c->n, remedy);
    file_map_close(out);
    *out = (struct file_map){0};
    return rc;
}
