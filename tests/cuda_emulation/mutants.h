/* mutants.h - kernels and host code with a bug that can be switched on, and who must see it. */
#ifndef MUTANTS_H
#define MUTANTS_H

#include "selftest.h"

/* What became of a process; as bits, so that a row may allow several. */
enum outcome {
    PASSES = 1,  /* the numbers are right and nobody complained */
    WRONG = 2,   /* wrong numbers */
    STOPPED = 4, /* the emulator saw a broken rule */
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
extern const struct mutant mutants_block[], mutants_warp[], mutants_host[]; /* each ended by a row
                                                                             without a phrase */

#endif
