/* plan_internal.h - from YAML to runs: settings and axes, grids, scales, expansion.
 *
 * 1. The key table of src/spec is the only list of keys; settings.c adds short names for some.
 * 2. Values are checked when they are read, so that messages can name the place, and stored as
 *    text.
 * 3. Keys that the plan determines (kind, scale, the training of an evaluation) cannot be set. */
#ifndef PLAN_PLAN_INTERNAL_H
#define PLAN_PLAN_INTERNAL_H

#include "base/map.h"
#include "base/str.h"
#include "plan/plan.h"

/* --- yaml.c: a YAML file as a tree whose nodes know their line and column ---
 *
 * 1. Scalars stay text, without guessing types (`no`, `1e-5`, `0x10`): the spec keys determine
 *    types.
 * 2. Rejected: duplicate keys, anchors, aliases, tags, several documents, depth above
 *    PLAN_MAX_DEPTH, files above PLAN_MAX_YAML_BYTES, NUL, invalid UTF-8.
 * 3. Errors read "file:line:column: problem". Only yaml.c uses libyaml. */

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP, YAML_ANY /* only as a condition */ };

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

/* yaml_find - the index of a key in a mapping, or -1. */
int32_t yaml_find(const struct yaml_node *map, const char *key);

/* yaml_want - ERR_DATA if node is not of this kind; `what` is its name in the message, such as
 * "base". */
int yaml_want(const struct yaml_node *node, enum yaml_kind kind, const char *what, struct err *e);

/* The value of a key: its node, of a kind, or a text or number that yaml_values reads. */
enum yaml_type {
    YAML_NODE,
    YAML_TEXT,       /* not empty */
    YAML_NAME,       /* without a slash: a part of a URL and of a path */
    YAML_PATH,       /* absolute */
    YAML_SHA256,     /* 64 lower-case hex digits */
    YAML_URL_FOLDER, /* http or https, with a slash at the end */
    YAML_NUMBER,     /* from 1; most 0: without a limit */
    YAML_TEXTS,      /* a list of `least` to `most` texts: text[0] to text[n - 1] */
    YAML_URLS        /* likewise, each http or https; or one text */
};

/* A key that a mapping may have, and where its value goes. */
struct yaml_field {
    const char *name;
    enum yaml_type type;
    enum yaml_kind kind;            /* of YAML_NODE */
    const struct yaml_node **value; /* the node; NULL if the mapping does not have the key */
    const char **text;
    int64_t *number, least, most;
    const char *what;           /* its name in messages about the value; NULL: name */
    const struct yaml_node *at; /* set by yaml_fields, as *value */
};
#define YAML_FIELD(NAME, KIND, node)                                                               \
    {                                                                                              \
        .name = NAME, .kind = KIND, .value = &(node)                                               \
    }
enum { YAML_FIELDS_MAX = 16 };

/* yaml_fields - finds the nodes of n keys. Errors: ERR_DATA another key, with the nearest of these;
 * a value of the wrong kind. yaml_missing - the first of n fields that the mapping does not have;
 * NULL: it has all. yaml_values - then reads the values that the mapping has; others stay as they
 * are. Errors: ERR_DATA a value that is not of the type. */
int yaml_fields(const struct yaml_node *map, struct yaml_field *field, size_t n, struct err *e);
const char *yaml_missing(const struct yaml_field *field, size_t n);
int yaml_values(const struct yaml_field *field, size_t n, struct err *e);

/* yaml_each - the n items of a list; anything else counts as a list of itself. */
const struct yaml_node *const *yaml_each(const struct yaml_node *const *node, int32_t *n);

/* --- settings.c ----------------------------------------------------------------------------- */

/* A spec under construction and which of its keys have been set. */
struct draft {
    struct spec spec;
    bool given[SPEC_KEYS_MAX]; /* by index in the key table */
};
void draft_init(struct draft *d);
/* draft_set - sets a key; text must be valid. */
void draft_set(struct draft *d, const struct spec_key *key, const char *text);
/* draft_complete - ERR_DATA names a required key that is not set; no file position. */
int draft_complete(const struct draft *d, struct err *e);

/* settings_value - checks that text is a value of the key. Errors: as spec_set. */
int settings_value(const struct spec_key *key, const char *text, struct err *e);
/* spec_key_equals - true if the spec's field equals the value of `text`. */
bool spec_key_equals(const struct spec *s, const struct spec_key *key, const char *text);
/* settings_belongs - true if the key has this prefix, such as "eval.". */
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
/* settings_read_pair - settings_read for pair i of the mapping. */
int settings_read_pair(struct axes *x, struct arena *a, const struct yaml_node *map, int32_t i,
                       struct err *e);
/* settings_add_text - adds a "key=value" of the command line. Errors: ERR_USAGE, prefixed with
 * option. */
int settings_add_text(struct axes *x, struct arena *a, const char *option, const char *text,
                      struct err *e);
/* axes_read - adds the axis of pair i of a mapping: a value or a list of values. A key may appear
 * once, under either of its names. Errors: ERR_DATA with the place. */
int axes_read(struct axes *x, struct arena *a, const struct yaml_node *map, int32_t i,
              struct err *e);

/* axes_find - the axis of a key, or NULL. */
struct axis *axes_find(const struct axes *x, const char *key_name);
/* axes_size - number of points of the product; of one that is larger than PLAN_MAX_RUNS, some
 * larger number. */
int64_t axes_size(const struct axes *x);
/* axes_apply - sets the keys of point `index` (0 for settings); the last axis varies fastest. Of
 * settings of one key the last counts. */
void axes_apply(const struct axes *x, int64_t index, struct draft *d);
/* axis_has - true if one of the axis's values is this text. */
bool axis_has(const struct axis *x, const char *text);
/* axis_applies - false for an evaluation key and a spec of another kind. axis_matches - true if the
 * axis applies to the spec and has its value. axes_match - true if all axes match. */
bool axis_applies(const struct axis *x, const struct spec *s);
bool axis_matches(const struct axis *x, const struct spec *s);
bool axes_match(const struct axes *where, const struct spec *s);
/* axes_text - n axes for messages: "position=t5, L_train=512|1024". */
char *axes_text(const struct axis *x, int32_t n, struct arena *a);

/* piece_read - (corpora.c) adds the settings of a piece of `base`, and what else it may hold: the
 * source of a corpus, the files of a model. Errors: ERR_DATA with the place; ERR_NOINPUT. */
struct piece {
    struct axes settings;
    struct plan_corpus corpus;
    struct plan_model model;
};
int piece_read(struct piece *out, struct arena *a, const char *path, struct err *e);

/* model_read_files - (data_models.c) reads the mapping `pretrained:` of a piece. Errors: ERR_DATA
 * with the place. */
int model_read_files(struct plan_model *m, struct arena *a, const struct yaml_node *map,
                     struct err *e);

/* --- grid.c: a grid.yaml and a configs/scale/NAME.yaml as rules ---------------------------------
 *
 * All values are nominal, as in the file. What a scale does to a grid in the paper's lengths:
 * 1. `divide` maps L_train, L_valid, bench.L and strides above 1 by round-half-up(n / divide), at
 *    least 1; nothing else is divided.
 * 2. `multiply_slopes` multiplies the slopes of ALiBi: those listed in the grid, the paper's, the
 *    mean of drawn ones, and the start of learned ones. The spec of a run lists the products. A
 *    slope is a penalty per token, so a scale with shorter lengths may need steeper ones.
 * 3. `set` gives further settings; entries of `where` add settings for runs that match, in order.
 * 4. A value of an axis of the grid wins over them (expand.c), except over an entry of `where` with
 *    a condition on the same key: it maps that value, as rule 1 maps lengths.
 * 5. A scale with conditions on the dataset rejects all other datasets. */

/* A length in tokens; relative: added to L_train of the evaluated training. times: that many times
 * L_train, if above 0. */
struct length {
    int64_t tokens;
    bool relative;
    double times;
};

/* An entry of a list in a file: something for the runs that match. */
struct rule {
    const struct yaml_node *at;
    struct axes where;
    /* grid: a product of runs; evaluate: a product of eval.* except eval.L for every training;
     * where of a scale: settings */
    struct axes axes;
    enum spec_kind kind;         /* grid: SPEC_TRAIN or SPEC_BENCH */
    const struct length *length; /* evaluate: L_valid */
    int32_t lengths_n;
    struct length least;             /* evaluate: shorter lengths are left out */
    const struct yaml_node *base_at; /* grid: its pieces, or NULL */
    struct axes base;                /* grid: their settings */
    const char *how;     /* grid: how to get its pieces; NULL: without one the grid is wrong */
    const char *missing; /* grid: the first of them that is not here; NULL: all are */
    const struct yaml_node *from_at; /* grid: its `from:`, or NULL */
    struct axes from;                /* grid: conditions for the parent of each training */
    const char *why;                 /* skip: the reason */
    bool used;                       /* evaluate and skip: it has matched */
};
struct rules {
    struct rule *item;
    int32_t n, capacity;
};
enum rule_part { RULE_GRID, RULE_EVALUATE, RULE_SKIP, RULE_SCALE };

/* rules_read - adds the entries of a list (NULL: none) of this part of a file. kind: of blocks that
 * do not name theirs. Errors: ERR_DATA with the place. */
int rules_read(struct rules *out, struct arena *a, const struct yaml_node *list,
               enum rule_part part, enum spec_kind kind, struct err *e);

struct grid {
    const char *name, *dir, *title;
    const char *name_given;        /* value of `artefact:`, or NULL */
    const struct yaml_node *scale; /* the grid's own, or NULL */
    struct axes set;               /* the grid's own */
    struct draft base;             /* pieces of base, then set */
    struct rules blocks, evaluate, skip;
    struct {
        const char **item;
        int32_t n, capacity;
    } pieces; /* the files of base: */
};

/* grid_read - reads DIR/grid.yaml and its pieces. If seeds > 0, the seeds are 1..seeds instead of
 * the grid's. Errors: ERR_DATA with the place; ERR_NOINPUT. */
int grid_read(struct grid *g, struct arena *a, const struct project *p, const char *name,
              const char *dir, int32_t seeds, struct err *e);

struct scale {
    const char *name;
    double divide, multiply_slopes;
    struct rules rules;   /* `set` has no condition */
    struct axis datasets; /* of the conditions */
    const char *known;    /* the same as text: "wikitext103, cc100" */
};

/* scale_read - Errors: ERR_USAGE unknown scale, with the nearest name; ERR_DATA with the place. */
int scale_read(struct scale *s, struct arena *a, const struct project *p, const char *name,
               struct err *e);
/* scale_has - false if the scale has no text for the dataset of a nominal spec. */
bool scale_has(const struct scale *s, const struct spec *nominal);
/* scale_apply - applies the scale to a nominal draft. Errors: ERR_DATA unless scale_has. */
int scale_apply(const struct scale *s, struct draft *d, struct err *e);
/* scale_slopes - multiplies the slopes of a draft, whose number of heads is final. Errors: ERR_DATA
 * a product that model.alibi_slopes or its like does not accept. */
int scale_slopes(const struct scale *s, struct draft *d, struct arena *a, struct err *e);
/* scale_is_slope - true for the keys that scale_slopes changes. */
bool scale_is_slope(const struct spec_key *key);
/* scale_value - the value that the scale sets for a key of such a nominal spec; NULL: none. *maps:
 * the scale computes it from the nominal value. */
const char *scale_value(const struct scale *s, const struct spec *nominal,
                        const struct spec_key *key, bool *maps);

/* --- expand.c ------------------------------------------------------------------------------- */

/* An axis of --only: whether a point has one of its values, and the values of all points, as text
 * for the message otherwise. */
struct selection {
    bool matched;
    struct map seen;
    struct strbuf values; /* "64, 128" */
};

/* Distinct texts in the order of their first mention, for a note. */
struct mentions {
    struct map seen;
    struct strbuf text; /* "a, b"; empty: none */
};

void mentions_init(struct mentions *m, struct arena *a);
void plan_mention(struct mentions *m, const char *text);

/* A plan under construction from the grids of its artefacts. */
struct expansion {
    struct plan *plan;
    struct axes set, only;       /* of the command line, for every grid */
    struct selection *selection; /* of each axis of only */
    struct map runs;             /* run id -> index in plan->run */
    int32_t runs_capacity, points_capacity;
    /* The current artefact: */
    struct grid grid;
    struct scale scale;
    struct map points; /* nominal ids */
    struct map shared; /* datastores and searches that a run of the plan already makes */
    int64_t points_n;  /* before --only and skips */
    int32_t next_point;
    bool warmup_noted, length_noted;
    struct {
        struct parent **item;
        int32_t n, capacity;
    } parents;                 /* trainings of the blocks so far, if a block has `from:` */
    const struct spec *parent; /* of the training that is being finished; NULL: none */
    struct mentions kept; /* "train.lr=7e-3": settings of the scale that axes of the grid replace */
    struct mentions lost; /* "--set sets train.lr": why axes do not tell runs apart */
};

/* expand_grid - adds the runs and points of x->grid to the plan. Errors: ERR_DATA with the place of
 * the block or rule, also for more than PLAN_MAX_RUNS points before --only. */
int expand_grid(struct expansion *x, struct err *e);

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
 *    with another name has its own paper.tsv: its runs are `modified` only by --set.
 * 2. The lists are experiments/paper_configs.txt of the project and of the shipped files. A line is
 *    an id and a description, or `uncounted DATASET`; # begins a comment.
 * 3. The id is the config id without the corpus's folder and fingerprint, because the paper's texts
 *    cannot be shipped. For an `uncounted` dataset it also excludes the counts of words and tokens,
 *    which the paper does not state.
 * 4. At other scales --set makes a run `modified`, and so does an axis that replaces a setting of
 *    the scale. */
/* paper_mark - sets paper_id and `modified` of every run at scale paper; adds a note with the
 * number of runs that are not listed. Errors: ERR_DATA a wrong line, with its place. */
int paper_mark(struct plan *p, const struct project *project, struct err *e);

#endif
