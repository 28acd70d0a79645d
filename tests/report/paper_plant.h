/* paper_plant.h - results.db as if the paper's own runs had been made here: the shipped grids at
 * scale paper, each run done with the number that the paper gives for it.
 *
 * What the paper gives no number for stays undone. One number may be bent, to see a claim fall. */
#ifndef TESTS_PAPER_PLANT_H
#define TESTS_PAPER_PLANT_H

#include "report/report_fixture.h"

enum paper_quantity { PAPER_PERPLEXITY, PAPER_SPEED, PAPER_MEMORY, PAPER_TRAINING_SPEED };

/* The numbers of one training (L_valid, stride 0: any; stride 0: nonoverlapping) times factor. */
struct paper_bend {
    const char *dataset;
    enum spec_position position;
    int32_t L_train;
    enum paper_quantity quantity;
    int32_t L_valid, stride;
    double factor;
};

/* paper_plant_numbers - paper.tsv of every shipped artefact goes into the store; how many there
 * are. */
int32_t paper_plant_numbers(struct report_fixture *f);

/* paper_plant_runs - the runs and points of artefacts (n names), with the paper's numbers, which
 * must be in the store; bend may be NULL. Fails the test on an error. */
void paper_plant_runs(struct report_fixture *f, const char *const *artefacts, int32_t n,
                      const struct paper_bend *bend);

/* paper_plant_list - names of the shipped artefacts, into the arena. */
void paper_plant_list(struct report_fixture *f, struct arena *a, char ***names, int32_t *n);

#endif
