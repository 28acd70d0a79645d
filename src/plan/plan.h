/* plan.h - from experiments/<artefact>/grid.yaml to runs: points, specs, identity, cost. libyaml
 * ends here.
 *
 * Order of settings: base pieces, grid point, scale, --set (literal, never scaled). Grid, `where`
 * and `skip` speak the paper's nominal lengths; a scale maps lengths and strides > 1 by round(n /
 * divide) and says what it merged. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "shape/shape.h"
#include "spec/spec.h"

enum { PLAN_MAX_YAML_BYTES = 256 * 1024, PLAN_MAX_DEPTH = 32, PLAN_MAX_RUNS = 100000 };

struct plan_options {
    const char *scale;      /* --scale; NULL: the grid's own `scale:`, else mini */
    const char *const *set; /* --set key=value, in order */
    int32_t set_n;
    const char *const *only; /* --only position=alibi,L_train=512|1024 (nominal lengths); a key that
                                is given again may have either value */
    int32_t only_n;
    int32_t seeds; /* --seeds N: seeds 1..N instead of the grid's; 0: the grid's */
};

/* One run: a training, an evaluation or a benchmark. The same run wanted by several points exists
 * once. */
struct plan_run {
    struct spec spec;
    char run_id[SPEC_ID_BYTES], config_id[SPEC_ID_BYTES];
    int32_t train;                /* evaluation: index of its training in plan.run; else -1 */
    char paper_id[SPEC_ID_BYTES]; /* scale paper: what experiments/paper_configs.txt lists if the
                                     run is the paper's, else it is `modified`; other scales: "" */
    struct shape_cost cost;
};

/* One point that an artefact asks for: this run, under the paper's lengths. */
struct plan_point {
    const char *artefact;
    int32_t point; /* 0, 1, 2 … in grid order within the artefact */
    int32_t run;   /* index in plan.run */
    int32_t L_train_nominal, L_valid_nominal, stride_nominal; /* 0 where it has none */
};

struct plan_artefact {
    const char *name; /* the folder's name */
    const char *dir;  /* absolute path */
    const char *title;
    const char *scale; /* artefacts may differ when their grids name scales and --scale is absent */
    double divide;
};

struct plan {
    struct arena arena;
    const char *variant; /* " --set train.lr=2" of all that --set gives, by key; "": as written. The
                            artefact and this name the points of a grid in results.db, so that a
                            variant never displaces the artefact's own */
    char scale[SPEC_TEXT_BYTES]; /* of the first artefact */
    double divide;
    struct plan_artefact *artefact;
    int32_t artefacts_n;
    struct plan_run *run; /* trainings come before the evaluations that need them */
    int32_t runs_n;
    struct plan_point *point;
    int32_t points_n;
    struct {
        const char **item; /* such as "table5: L_valid 512 and 513 are both 64 at scale mini" */
        int32_t n, capacity;
    } notes;
};

/* plan_open - artefacts: names under experiments/, or paths of folders that hold a grid.yaml (a
 * path holds a slash). Errors: ERR_DATA "file:line:column: what is wrong; the nearest right thing";
 * ERR_NOINPUT; ERR_USAGE. */
int plan_open(struct plan *p, const struct project *project, const char *const *artefacts,
              int32_t n, const struct plan_options *o, struct err *e);
/* plan_open_artefacts - the same without runs and points: names, titles, scales and the variant. */
int plan_open_artefacts(struct plan *p, const struct project *project, const char *const *artefacts,
                        int32_t n, const struct plan_options *o, struct err *e);
void plan_close(struct plan *p);

/* plan_list - the names of the artefacts under experiments/ of project and share, sorted
 * as a reader counts: figure2 before figure11. */
int plan_list(char ***out, int32_t *n, const struct project *project, struct arena *a,
              struct err *e);

#endif
