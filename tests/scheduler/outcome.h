/* outcome.h - what the workers of these tests do. The fake worker and the scripted executor share
 * the outcomes, and the script that names one for each attempt.
 *
 * An outcome is the records a worker writes and how it ends (outcome.c lists them). The script is
 * the file `fake` of the project, a line a rule: RUN WORD...; the first line whose RUN is the first
 * run of the worker or `*` counts. The n-th attempt does the n-th word, later ones the last. In a
 * word `hang/lost` the first part is that of rank 0, the second that of the others. */
#ifndef TESTS_OUTCOME_H
#define TESTS_OUTCOME_H

#include "record/run_folder.h"

struct outcome {
    const char *name;
    const char *records; /* r: a result of each run, f: of the first, s: of another run; m: one that
                            is malformed; t: one that is torn, which a power cut leaves */
    int exit_code, signal;              /* signal 0: it exits */
    const char *state, *code, *message; /* of the last record; state NULL: none */
    const char *cause;                  /* of the last record, as its rank */
    int rank;
};

enum { OUTCOME_WORD_BYTES = 32 };
/* outcome_word - the word of a rank of an attempt; root: the project's folder. */
int outcome_word(char word[OUTCOME_WORD_BYTES], const char *root, const char *dir, int rank,
                 struct err *e);

/* outcome_find - NULL: the word is not an outcome. */
const struct outcome *outcome_find(const char *word);

/* outcome_begin - opens the events of an attempt and writes the first record: with own products
 * where the worker is to avoid a BLAS, else oneDNN. outcome_end - the records of the outcome;
 * closes the events. */
int outcome_begin(struct event_writer **w, const char *dir, struct err *e);
int outcome_end(struct event_writer *w, const struct outcome *o, const char *dir, struct err *e);

#endif
