/* json.h - JSON texts from other programs. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

/* json_parse_object - one JSON object without duplicate keys; flags are jansson's. values_max
 * bounds the memory of its tree, before that is built; commas and brackets in texts count, too.
 * name: that of the text in messages. Release *out with json_decref, also after an error. Errors:
 * ERR_DATA name:line:column. */
int json_parse_object(json_t **out, const char *text, size_t n, size_t values_max, size_t flags,
                      const char *name, struct err *e);

#endif
