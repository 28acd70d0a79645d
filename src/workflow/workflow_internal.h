/* workflow_internal.h - the parts of planning_open, in their order. Each fills its fields of struct
 * planning; a part calls only parts before it. */
#ifndef WORKFLOW_WORKFLOW_INTERNAL_H
#define WORKFLOW_WORKFLOW_INTERNAL_H

#include "workflow/workflow.h"

/* --- pretrained.c ----------------------------------------------------------------------------- */
/* planning_find_model - p->model of a run: the piece of a pretrained model. */
int planning_find_model(struct planning *p, const struct project *project, int32_t run,
                        struct err *e);

/* --- changes.c -------------------------------------------------------------------------------- */
/* planning_find_settings - p->settings. */
void planning_find_settings(struct planning *p, struct arena *scratch);
/* planning_find_changes - p->changed. store may be NULL. */
int planning_find_changes(struct planning *p, struct arena *scratch, struct store *store,
                          struct err *e);

/* --- hardware.c ------------------------------------------------------------------------------- */
/* planning_find_device - device, gpu and unusable, from --devices. Errors: ERR_USAGE. */
int planning_find_device(struct planning *p, const char *devices, struct arena *scratch,
                         struct err *e);
/* planning_has_gpu - true if the device is a GPU. */
bool planning_has_gpu(const struct planning *p);
/* planning_find_rate - basis and rate_measured. store may be NULL. */
int planning_find_rate(struct planning *p, struct store *store, struct err *e);
/* planning_rate - estimate of the FLOP/s of a run on one device slot. */
double planning_rate(const struct planning *p, const struct spec *s);

/* --- estimate.c ------------------------------------------------------------------------------- */
/* planning_estimate - the memory of each run, seconds, seconds_left and work_s. Errors: ERR_USAGE
 * so many ranks cannot share a training. */
int planning_estimate(struct planning *p, struct err *e);

#endif
