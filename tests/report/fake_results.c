/* fake_results.c - fake_results FOLDER: FOLDER/results.db as if the paper's own runs had been made
 * there, every shipped artefact at scale paper with the numbers that the paper gives. For scripts,
 * which have no fixture of C. */
#include <stdio.h>

#include "report/paper_plant.h"

int main(int argc, char **argv)
{
    struct store_fixture base = {.store = NULL};
    struct report_fixture f = {.base = &base};

    if (argc != 2 || snprintf(base.dir, sizeof base.dir, "%s", argv[1]) >= (int)sizeof base.dir) {
        fputs("usage: fake_results FOLDER (of less than 64 bytes)\n", stderr);
        return 64;
    }
    snprintf(base.path, sizeof base.path, "%s/results.db", base.dir);
    store_fixture_open(&base, STORE_WRITE);
    arena_init(&f.arena);
    paper_plant_all(&f, "paper");
    arena_fini(&f.arena);
    store_fixture_close(&base);
    return 0;
}
