/* check_open.c - compares this program with folders of open models: check_open FOLDER…
 * [--device NAME]. A file shows the kind of a folder. One line per folder; exit status 0 only if
 * every folder agrees. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "pretrained/check_open.h"

/* The first whose file is there. */
static const struct {
    const char *file;
    check_open_fn *compare;
} kinds[] = {{"expected.json", check_open_complete},
             {"expected.safetensors", check_open_model},
             {"cases.json", check_open_tokenizer}};

static const char usage[] = "usage: check_open FOLDER... [--device cpu]\n";

static int check_open(const char *folder, const char *device, char line[CHECK_OPEN_LINE_BYTES])
{
    char path[FILE_PATH_BYTES];

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, kinds[i].file);
        if (file_exists(path)) return kinds[i].compare(folder, device, line);
    }
    snprintf(line, CHECK_OPEN_LINE_BYTES,
             "FAIL %s: no expected.json, expected.safetensors or cases.json", folder);
    return -1;
}

int main(int argc, char **argv)
{
    const char *device = "cpu";
    char line[CHECK_OPEN_LINE_BYTES];
    int folders_n = 0, failed_n = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (argv[i][0] != '-') {
            folders_n++;
            continue;
        }
        if (strcmp(argv[i], "--device") != 0 || i + 1 == argc) {
            fputs(usage, stderr);
            return 64;
        }
        device = argv[++i];
    }
    if (folders_n == 0) {
        fputs(usage, stderr);
        return 64;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--device") == 0) {
            i++;
            continue;
        }
        failed_n += check_open(argv[i], device, line) != 0;
        puts(line);
        fflush(stdout);
    }
    return failed_n == 0 ? 0 : 1;
}
