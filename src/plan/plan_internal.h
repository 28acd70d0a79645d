/* plan_internal.h - from YAML to runs: settings and axes, grids, scales, expansion.
 *
 * 1. The key table of src/spec is the only list of keys; settings.c adds short names for some.
 * 2. Values are checked when they are read, so that messages can name the place, and stored as
 *    text.
 * 3. Keys that the plan determines (kind, scale, the training of an evaluation) cannot be set. */
#ifndef PLAN_PLAN_INTERNAL_H
#define PLAN_PLAN_INTERNAL_H

#include "base/map.h"
#include "plan/plan.h"

/* --- yaml.c: a YAML file as a tree whose nodes know their line and column ---
 *
 * 1. Scalars stay text, without guessing types (`no`, `1e-5`, `0x10`): the spec keys determine
 *    types.
 * 2. Rejected: duplicate keys, anchors, aliases, tags, several documents, depth above
 *    PLAN_MAX_DEPTH, files above PLAN_MAX_YAML_BYTES, NUL, invalid UTF-8.
 * 3. Errors read "file:line:column: problem". Only yaml.c uses libyaml. */

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_kind kind;
    const char *file;              /* path, as in messages */
    int32_t line, column;          /* from 1; columns count characters */
    const char *text;              /* scalar */
    int32_t n;                     /* list: items; mapping: pairs */
    const struct yaml_node **item; /* list: items; mapping: values */
    const struct yaml_node **key;  /* mapping: its keys, all scalars */
};

/* yaml_read - reads a file into a tree in the arena; the root is a mapping. Errors: ERR_NOINPUT,
 * ERR_DATA, ERR_IO. */
int yaml_read(const struct yaml_node **out, struct arena *a, const char *path, struct err *e);

/* yaml_parse - yaml_read from n bytes; file is their name in messages. */
int yaml_parse(const struct yaml_node **out, struct arena *a, const char *file, const char *bytes,
               size_t n, struct err *e);

/* yaml_error - sets and returns ERR_DATA with the message, prefixed "file:line:column: ". */
int yaml_error(const struct yaml_node *at, struct err *e, const char *format, ...) ERR_PRINTF(3, 4);

/* yaml_place - returns rc; if it is negative, prefixes "file:line:column: " to the message in e. */
int yaml_place(const struct yaml_node *at, int rc, struct err *e);

/* yaml_get - the value of a key of a mapping, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/* yaml_take - sets *out to the value of a key, or NULL. Errors: ERR_DATA it is not of this kind. */
int yaml_take(const struct yaml_node **out, const struct yaml_node *map, const char *key,
              enum yaml_kind kind, struct err *e);

/* yaml_each - the n items of a list; anything else counts as a list of itself. */
const struct yaml_node *const *yaml_each(const struct yaml_node *const *node, int32_t *n);

/* yaml_items - reads the list of mappings under a key, if present, into an array of n zeroed items
 * of so many bytes in the arena. */
typedef int yaml_item_fn(void *item, struct arena *a, const struct yaml_node *map, struct err *e);
int yaml_items(void **out, int32_t *n, size_t bytes, struct arena *a, const struct yaml_node *map,
               const char *key, yaml_item_fn *read, struct err *e);

/* yaml_want - ERR_DATA if node is not of this kind; `what` is its name in the message, such as
 * "base". */
int yaml_want(const struct yaml_node *node, enum yaml_kind kind, const char *what, struct err *e);

/* yaml_known - ERR_DATA at the first key of the mapping that is not one of the n names, with the
 * nearest of them. */
int yaml_known(const struct yaml_node *map, const char *const *names, size_t n, struct err *e);

/* --- settings.c ----------------------------------------------------------------------------- */

enum { SETTINGS_KEYS_MAX = 256 };

/* A spec under construction and which of its keys have been set. */
struct draft {
    struct spec spec;
    bool given[SETTINGS_KEYS_MAX]; /* by index in the key table */
};
void draft_init(struct draft *d);
/* draft_set - sets a key; text must be valid. */
void draft_set(struct draft *d, const struct spec_key *key, const char *text);
/* draft_complete - ERR_DATA names a required key that is not set; no file position. */
int draft_complete(const struct draft *d, struct err *e);

/* settings_value - checks that text is a value of the key. Errors: as spec_set. */
int settings_value(const struct spec_key *key, const char *text, struct err *e);
/* spec_key_equals - whether the spec's field equals the value of `text`. */
bool spec_key_equals(const struct spec *s, const struct spec_key *key, const char *text);
/* settings_belongs - whether the key has this prefix, such as "eval.". */
bool settings_belongs(const struct spec_key *key, const char *part);

/* A key with its values. A setting has one value. */
struct axis {
    const struct spec_key *key;
    const char **item; /* values as text */
    int32_t n, capacity;
    const struct yaml_node *at; /* of the key; NULL: from the command line */
};

/* Settings, a product of axes, or conditions that must all hold. */
struct axes {
    struct axis *item;
    int32_t n, capacity;
};

/* settings_read - adds every setting of a mapping: nested (model: {layers: 16}) or dotted
 * (model.layers: 16). Errors: ERR_DATA with the place; for a key set twice with both lines. */
int settings_read(struct axes *x, struct arena *a, const struct yaml_node *map, struct err *e);
/* settings_add_text - adds a "key=value" of the command line. Errors: ERR_USAGE, prefixed with
 * option. */
int settings_add_text(struct axes *x, struct arena *a, const char *option, const char *text,
                      struct err *e);
/* axes_read - adds the axis of a key of a mapping: a value or a list of values. A key may appear
 * once, under either of its names. Errors: ERR_DATA with the place. */
int axes_read(struct axes *x, struct arena *a, const struct yaml_node *key,
              const struct yaml_node *value, struct err *e);
/* axes_read_all - axes_read for all keys of a mapping except two, each of which may be NULL. */
int axes_read_all(struct axes *x, struct arena *a, const struct yaml_node *map, const char *except,
                  const char *other, struct err *e);

/* axes_find - the axis of a key, or NULL. */
struct axis *axes_find(const struct axes *x, const char *key_name);
/* axes_size - number of points of the product, at most INT64_MAX / 4. */
int64_t axes_size(const struct axes *x);
/* axes_apply - sets the keys of point `index` (0 for settings); the last axis varies fastest. Of
 * settings of one key the last counts. */
void axes_apply(const struct axes *x, int64_t index, struct draft *d);
/* where_matches - whether the spec has one of the values of every axis. Evaluation keys never match
 * a training; ignore_eval leaves them out. */
bool where_matches(const struct axes *where, const struct spec *s, bool ignore_eval);
/* axes_evaluation - the first evaluation key, or NULL. */
const struct axis *axes_evaluation(const struct axes *x);
/* where_text - "position=t5, L_train=512|1024" for notes. */
char *where_text(const struct axes *where, struct arena *a);

/* --- grid.c: a grid.yaml as data; all values are nominal, as in the file -----------------------
 */

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
    const char *name, *dir, *title;
    const char *said;              /* value of `artefact:`, or NULL */
    const struct yaml_node *scale; /* the grid's own, or NULL */
    struct axes set;               /* the grid's own */
    struct draft base;             /* pieces of base, then set */
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

/* --- scale.c: configs/scale/NAME.yaml ---------------------------------------------------------
 *
 * How to scale down a grid written in the paper's lengths.
 * 1. `divide` maps L_train, L_valid, bench.L and strides above 1 by round-half-up(n / divide), at
 *    least 1; nothing else is divided.
 * 2. `set` gives further settings; entries of `where` add settings for runs that match, in order.
 *    Conditions use nominal values.
 * 3. A scale with conditions on the dataset rejects all other datasets. */
struct scale_rule {
    struct axes where, set;
};

struct scale {
    const char *name;
    double divide;
    struct axes set;
    struct scale_rule *rule;
    int32_t rules_n;
};

/* scale_read - Errors: ERR_USAGE unknown scale, with the nearest name; ERR_DATA with the place. */
int scale_read(struct scale *s, struct arena *a, const struct project *p, const char *name,
               struct err *e);
/* scale_length - round-half-up(n / divide), at least 1; 0 stays 0. */
int32_t scale_length(const struct scale *s, int32_t n);
/* scale_apply - applies the scale to a nominal draft. Errors: ERR_DATA if the scale has no settings
 * for the dataset. */
int scale_apply(const struct scale *s, struct draft *d, struct err *e);
/* scale_value - the value that the scale sets for a key of such a nominal spec; NULL: none. */
const char *scale_value(const struct scale *s, const struct spec *nominal,
                        const struct spec_key *key);

/* --- expand.c ------------------------------------------------------------------------------- */

/* A plan under construction from the grids of its artefacts. */
struct expansion {
    struct plan *plan;
    struct axes set, only; /* of the command line, for every grid */
    struct map runs;       /* run id -> index in plan->run */
    int32_t runs_capacity, points_capacity;
};

/* expand_grid - adds the grid's runs and points to the plan. Errors: ERR_DATA with the place of the
 * block or rule, also for more than PLAN_MAX_RUNS points before --only. */
int expand_grid(struct expansion *x, const struct grid *g, const struct scale *s, struct err *e);

/* notes_add - adds a note to the plan. */
void notes_add(struct plan *plan, const char *format, ...) ERR_PRINTF(2, 3);

/* --- plan.c --------------------------------------------------------------------------------- */

/* plan_roots - the project's folder and, if it is another one, the shipped one; their number. */
int plan_roots(const char *out[2], const struct project *p);
/* plan_names - the names N with a file FOLDER/N.yaml or FOLDER/N/grid.yaml (suffix: either) under
 * one of the roots, in natural order: figure2 before figure11. */
int plan_names(char ***out, int32_t *n, const struct project *p, struct arena *a,
               const char *folder, const char *suffix, struct err *e);

/* --- paper_configs.c: which runs at scale paper have the paper's configuration ------------------
 *
 * 1. Runs of an artefact with a shipped name are compared with the paper's numbers if their
 *    configuration is listed, whatever grid produced them; the others are `modified`. An artefact
 *    with another name has its own paper.tsv: its runs are `modified` only by --set, as at other
 *    scales.
 * 2. The lists are experiments/paper_configs.txt of the project and of the shipped files. A line is
 *    an id and a description, or `uncounted DATASET`; # begins a comment.
 * 3. The id is the config id without the corpus's folder and fingerprint, because the paper's texts
 *    cannot be shipped. For an `uncounted` dataset it also excludes the counts of words and tokens,
 *    which the paper does not state.
 * 4. At other scales only --set makes a run `modified`. */
/* paper_mark - sets paper_id and `modified` of every run at scale paper; adds a note with the
 * number of runs that are not listed. Errors: ERR_DATA a wrong line, with its place. */
int paper_mark(struct plan *p, const struct project *project, struct err *e);

#endif
