/* check_open_complete.c - comparison with a fixture of kind complete. */
#include <stdio.h>

#include "pretrained/check_open.h"

int check_open_complete(const char *folder, const char *device, char line[CHECK_OPEN_LINE_BYTES])
{
    (void)device;
    snprintf(line, CHECK_OPEN_LINE_BYTES, "FAIL %s: folders of kind complete are not compared",
             folder);
    return -1;
}
