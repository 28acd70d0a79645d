/* check_oracle.c - compares this program with fixture files: check_oracle FILE.safetensors…
 * [--device NAME]. One line per file; exit status 0 only if every file agrees. */
#include <stdio.h>
#include <string.h>

#include "model/oracle.h"

static const char usage[] = "usage: check_oracle FILE.safetensors... [--device cpu]\n";

int main(int argc, char **argv)
{
    const char *device = "cpu";
    char line[ORACLE_LINE_BYTES];
    int files_n = 0, failed_n = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (argv[i][0] != '-') {
            files_n++;
            continue;
        }
        if (strcmp(argv[i], "--device") != 0 || i + 1 == argc) {
            fputs(usage, stderr);
            return 64;
        }
        device = argv[++i];
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--device") == 0)
            i++;
        else {
            failed_n += oracle_file(argv[i], device, line) != 0;
            puts(line);
            fflush(stdout);
        }
    }
    if (files_n == 0) {
        fputs(usage, stderr);
        return 64;
    }
    return failed_n == 0 ? 0 : 1;
}
