/* mutants.h - kernels and host code with bugs that can be switched on, and which check must detect
 * each bug. */
#ifndef MUTANTS_H
#define MUTANTS_H

#include "selftest.h"

/* Outcomes of a process, as bits so that a row may allow several. */
enum outcome {
    PASSES = 1,  /* right numbers and no report */
    WRONG = 2,   /* wrong numbers */
    STOPPED = 4, /* the emulator reported a broken rule */
    ADDRESS = 8, /* AddressSanitizer */
    UNDEFINED = 16,
    RACE = 32, /* ThreadSanitizer */
    CRASHED = 64,
    ANY = 127
};

struct mutant {
    const char *bug; /* what is wrong, as a phrase */
    int (*wrong)(int bug);
    int bug_number;             /* the bug that is switched on; 0 is the correct program */
    int plain, address, thread; /* outcomes allowed in the three builds */
};
/* Each list ends with a row without a phrase. */
extern const struct mutant mutants_block[], mutants_warp[], mutants_host[];

#endif
