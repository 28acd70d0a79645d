/* code_id.c - the only file that is compiled with the commit's name. */
#include "spec/code_id.h"

#ifndef CODE_ID
#define CODE_ID "unknown"
#endif

const char *code_id(void)
{
    return CODE_ID;
}
