/* paper_plant.h - results.db as if the paper's own runs had been made here: the shipped grids at a
 * scale, each run done with the number that the paper gives for it under the nominal lengths.
 *
 * A run without a number in the paper stays undone. Artefacts of collections are not the paper's:
 * their evaluations have made-up numbers, each run its own. */
#ifndef TESTS_PAPER_PLANT_H
#define TESTS_PAPER_PLANT_H

#include "report/report_fixture.h"

/* paper_plant_numbers - paper.tsv of every shipped artefact goes into the store; how many there
 * are. */
int32_t paper_plant_numbers(struct report_fixture *f);

/* paper_plant_runs - the runs and points of artefacts (n names) at a scale, with the paper's
 * numbers, which must be in the store. Fails the test on an error. */
void paper_plant_runs(struct report_fixture *f, const char *scale, const char *const *artefacts,
                      int32_t n);

/* paper_plant_collections - lists the shipped artefacts of collections in f. paper_plant_list -
 * lists the shipped artefacts in f. paper_plant_all - lists them, and puts their numbers and their
 * runs at a scale into the store. */
void paper_plant_collections(struct report_fixture *f);
void paper_plant_list(struct report_fixture *f);
void paper_plant_all(struct report_fixture *f, const char *scale);

#endif
