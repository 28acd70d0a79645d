/* fake_database.c - fake_database FILE DB: the results.db whose dump the file is. For scripts. */
#include <stdio.h>
#include <stdlib.h>

#include "store/store_fixture.h"

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: fake_database FILE DB\n", stderr);
        return 64;
    }
    char *sql = test_read(argv[1]);
    fixture_raw(argv[2], sql);
    free(sql);
    return 0;
}
