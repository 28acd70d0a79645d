/* check_open_tokenizer.c - comparison with a fixture of kind tokenizer: each text of cases.json,
 * with and without the template. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "pretrained/check_open.h"
#include "tokenizer/tokenizer.h"

static bool equal(const json_t *expected, const int32_t *ids, int64_t n)
{
    bool same = json_is_array(expected) && (int64_t)json_array_size(expected) == n;

    for (int64_t i = 0; same && i < n; i++)
        same = json_integer_value(json_array_get(expected, (size_t)i)) == ids[i];
    return same;
}

/* The text of a case, which has it as "text" or as the digits "hex"; NULL: it has neither. */
static char *case_text(const json_t *o, size_t *n)
{
    const char *text = json_string_value(json_object_get(o, "text"));
    const char *hex = json_string_value(json_object_get(o, "hex"));
    char *bytes = text || hex ? malloc(strlen(text ? text : hex) + 1) : NULL;

    if (!bytes) return NULL;
    *n = text ? strlen(text) : strlen(hex) / 2;
    if (text) memcpy(bytes, text, *n);
    for (size_t i = 0; !text && i < *n; i++) {
        const char digits[3] = {hex[2 * i], hex[2 * i + 1]};
        bytes[i] = (char)strtoul(digits, NULL, 16);
    }
    return bytes;
}

static bool case_holds(struct tokenizer *t, const json_t *o, struct err *e)
{
    static const char *const keys[] = {"ids", "with_special"};
    size_t n = 0;
    char *text = case_text(o, &n);
    bool holds = text != NULL;

    for (int special = 0; holds && special < 2; special++) {
        int32_t *ids;
        int64_t ids_n;
        holds = tokenizer_encode(t, text, n, special == 1, &ids, &ids_n, NULL, NULL, e) == 0 &&
                equal(json_object_get(o, keys[special]), ids, ids_n);
        free(ids);
    }
    free(text);
    return holds;
}

int check_open_tokenizer(const char *folder, const char *device, char line[CHECK_OPEN_LINE_BYTES])
{
    char path[FILE_PATH_BYTES];
    struct err e = {0};
    struct tokenizer *t = NULL;
    size_t i, failed_n = 0, first = 0;
    const json_t *o;

    (void)device;
    snprintf(path, sizeof path, "%s/cases.json", folder);
    json_t *cases = json_load_file(path, 0, NULL);
    size_t cases_n = json_array_size(cases);
    int rc = cases_n > 0 ? tokenizer_open(&t, folder, 0, &e)
                         : ERR(&e, ERR_DATA, "%s is not a list of cases", path);
    json_array_foreach(cases, i, o)
    {
        if (rc < 0 || case_holds(t, o, &e)) continue;
        if (failed_n++ == 0) first = i;
    }
    if (rc < 0)
        snprintf(line, CHECK_OPEN_LINE_BYTES, "%s: FAIL %s", folder, e.text);
    else if (failed_n > 0)
        snprintf(line, CHECK_OPEN_LINE_BYTES, "%s: FAIL (%zu of %zu cases differ; first: %zu %s)",
                 folder, failed_n, cases_n, first, e.text);
    else
        snprintf(line, CHECK_OPEN_LINE_BYTES, "%s: ok (0 of %zu cases differ)", folder, cases_n);
    tokenizer_close(t);
    json_decref(cases);
    return rc < 0 || failed_n > 0 ? -1 : 0;
}
