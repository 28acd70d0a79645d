/* check_open.c - compares this program with folders of open models: check_open FOLDER…
 * [--device NAME]. Files show the kinds of a folder. One line per folder and kind; exit status 0
 * only if all agree. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "pretrained/check_open.h"

static const struct {
    const char *file;
    check_open_fn *compare;
} kinds[] = {{"expected.json", check_open_complete},
             {"expected.safetensors", check_open_model},
             {"cases.json", check_open_tokenizer}};

static const char usage[] = "usage: check_open FOLDER... [--device cpu]\n";

/* The number of kinds that differ, or 1 for a folder without any. */
static int check_open(const char *folder, const char *device)
{
    char path[FILE_PATH_BYTES], line[CHECK_OPEN_LINE_BYTES];
    int kinds_n = 0, failed_n = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, kinds[i].file);
        if (!file_exists(path)) continue;
        failed_n += kinds[i].compare(folder, device, line) != 0;
        kinds_n++;
        puts(line);
        fflush(stdout);
    }
    if (kinds_n > 0) return failed_n;
    printf("FAIL %s: no expected.json, expected.safetensors or cases.json\n", folder);
    return 1;
}

int main(int argc, char **argv)
{
    const char *device = "cpu";
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
        failed_n += check_open(argv[i], device);
    }
    return failed_n == 0 ? 0 : 1;
}
