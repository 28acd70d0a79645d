/* curves.h - losses during training as a picture: in the terminal and as SVG. */
#ifndef REPORT_CURVES_H
#define REPORT_CURVES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/project.h"
#include "store/store.h"

struct report_curves_args {
    const char (*run_id)[SPEC_ID_BYTES]; /* trainings, or evaluations of them */
    int32_t runs_n;
    int32_t columns, lines; /* of the terminal */
    bool svg;               /* also write plots/curves-….svg */
};

/* report_curves - draws loss (nats per token) by update: training as lines, validations as points.
 * Errors: ERR_NOINPUT a run has no losses yet; ERR_UNAVAILABLE gnuplot is not installed. */
int report_curves(FILE *out, struct store *s, const struct project *p,
                  const struct report_curves_args *c, struct err *e);

#endif
