/* json.c - see json.h. */
#include "base/json.h"

int json_parse_object(json_t **out, const char *text, size_t n, size_t values_max, size_t flags,
                      const char *name, struct err *e)
{
    json_error_t why;
    size_t values_n = 0;

    *out = NULL;
    for (size_t i = 0; i < n; i++) values_n += text[i] == ',' || text[i] == '[' || text[i] == '{';
    if (values_n > values_max)
        return ERR(e, ERR_DATA, "%s: more than the limit of %zu values", name, values_max);
    *out = json_loadb(text, n, JSON_REJECT_DUPLICATES | flags, &why);
    if (!*out)
        return ERR(e, ERR_DATA, "%s:%d:%d: not JSON: %s", name, why.line, why.column, why.text);
    if (json_is_object(*out)) return 0;
    return ERR(e, ERR_DATA, "%s: expected a JSON object { … }", name);
}
