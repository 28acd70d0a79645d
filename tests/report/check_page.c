/* check_page.c - check_page FILE: whether a page is one (page_check.h); for scripts. */
#include <stdio.h>

#include "base/file.h"
#include "report/page_check.h"

enum { CHECK_FILE_MAX_BYTES = 64 * 1024 * 1024 };

int main(int argc, char **argv)
{
    struct err e = {0};
    struct arena a;
    char *text;

    if (argc != 2) {
        fputs("usage: check_page FILE\n", stderr);
        return 64;
    }
    arena_init(&a);
    int rc = file_read(&a, &text, NULL, argv[1], CHECK_FILE_MAX_BYTES, &e);
    if (rc == 0) rc = page_check(text, true, &e);
    printf("%s: %s\n", argv[1], rc == 0 ? "ok" : e.text);
    arena_fini(&a);
    return rc == 0 ? 0 : 65;
}
