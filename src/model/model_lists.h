/* model_lists.h - the index lists of a batch. */
#ifndef MODEL_MODEL_LISTS_H
#define MODEL_MODEL_LISTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "shape/memory.h"

struct model;
struct model_batch;

/* n numbers at `offset` of the list buffer. No padding bytes: lists are compared with memcmp. */
struct model_list {
    int64_t offset, n;
};

/* If the backend captures graphs, lists of bands are padded with -1 (padding rows). */
struct model_lists {
    struct model_list band_row[SHAPE_BANDS_MAX];  /* token of the batch */
    struct model_list band_id[SHAPE_BANDS_MAX];   /* row of the band's table */
    struct model_list band_grad[SHAPE_BANDS_MAX]; /* the same, -1 for the pad id */
    struct model_list position;                   /* (N) row of the position table */
    struct model_list head;                       /* class of each target, -1: none */
    struct model_list tail_row[SHAPE_BANDS_MAX]; /* rows of targets in the band; with the tail quirk
                                                    without its class 1; for hits all rows */
    struct model_list tail_class[SHAPE_BANDS_MAX]; /* class of the target in the band, -1: none */
    struct model_list chosen;                      /* scored positions */
    struct model_list zero; /* as many zeros: the row of the head's bias; empty without one */
};

/* Each checks its ids (ERR_DATA). */
void model_lists_begin(struct model *m);
int model_lists_source(struct model *m, const struct model_batch *batch, struct err *e);
/* target(i) of n rows: target[i], or target[position[i]]. With quirk, class 1 of a tail is left
 * out. */
int model_lists_target(struct model *m, const int32_t *target, const int32_t *position, int64_t n,
                       bool quirk, struct err *e);
int model_lists_chosen(struct model *m, const struct model_batch *batch, const int32_t *position,
                       int64_t n, struct err *e);
int model_lists_upload(struct model *m, struct err *e);
const int32_t *model_list_dev(const struct model *m, const struct model_list *list);

#endif
