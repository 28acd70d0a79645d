/* grid.h - a grid.yaml as data: blocks of axes, evaluation rules, skips.
 *
 * All values are nominal, as in the file; expand.h applies scales and --set. */
#ifndef PLAN_GRID_H
#define PLAN_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "plan/settings.h"
#include "plan/yaml.h"

/* A product of trainings or benchmarks. */
struct grid_block {
    const struct yaml_node *at;
    enum spec_kind kind; /* SPEC_TRAIN or SPEC_BENCH */
    struct axes axes;
};

/* A length, or the word L_train: the length of the evaluated training. */
struct grid_length {
    bool of_train;
    int64_t tokens;
};

/* L_valid of a rule: a list, optionally with a lower bound; or `from` plus each of a list. */
struct grid_lengths {
    struct grid_length *item;
    int32_t n;
    bool is_from, has_least;
    struct grid_length from, least;
};

/* A product of evaluations of every training that matches. */
struct grid_rule {
    const struct yaml_node *at;
    struct axes where;
    struct axes axes; /* eval.* except eval.L */
    struct grid_lengths lengths;
};

struct grid_skip {
    const struct yaml_node *at;
    struct axes where;
    const char *why;
};

struct grid {
    const char *name, *dir, *file, *title;
    const char *said;  /* value of `artefact:`, or NULL */
    const char *scale; /* the grid's own, or NULL */
    const struct yaml_node *scale_at;
    struct settings set; /* the grid's own */
    struct draft base;   /* pieces of base, then set */
    struct grid_block *block;
    struct grid_rule *rule;
    struct grid_skip *skip;
    int32_t blocks_n, rules_n, skips_n;
};

/* grid_read - reads DIR/grid.yaml and its pieces. If seeds > 0, the seeds are 1..seeds instead of
 * the grid's. Errors: ERR_DATA with the place; ERR_NOINPUT. */
int grid_read(struct grid *g, struct arena *a, const struct project *p, const char *name,
              const char *dir, int32_t seeds, struct err *e);

/* grid_lengths_list - the lengths of a rule for a training of L_train tokens per row, in the arena.
 */
int32_t grid_lengths_list(int64_t **out, const struct grid_lengths *l, int64_t L_train,
                          struct arena *a);

#endif
