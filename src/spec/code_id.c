/* code_id.c - the only file compiled with the name of the commit. */
#include "spec/code_id.h"

#ifndef CODE_ID
#define CODE_ID "unknown"
#endif

const char *code_id(void)
{
    return CODE_ID;
}
