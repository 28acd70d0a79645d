/* plan.h - turns experiments/<artefact>/grid.yaml into runs: points, specs, identity, cost.
 *
 * Order of settings: base pieces, scale, axes of the grid, --set (literal, never scaled). Grid,
 * `where` and `skip` use nominal lengths. A scale maps lengths and strides > 1 by round(n /
 * divide), and slopes by multiply_slopes; a note lists the points that this merges. A run whose
 * axes or --set differ from what the scale sets is `modified`. */
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

#define PLAN_SCALE "mini" /* of a grid without `scale:` */

struct plan_options {
    const char *scale; /* --scale; NULL: the grid's own `scale:`, else PLAN_SCALE */
    /* NULL-terminated lists, or NULL: */
    const char *const *set;  /* --set key=value, in order */
    const char *const *only; /* --only position=alibi,L_train=512|1024 (nominal lengths); values of
                                a repeated key are alternatives */
    int32_t seeds;           /* --seeds N: seeds 1..N instead of the grid's; 0: the grid's */
    int32_t ranks_n;         /* --ranks P: processes of a training, for its cost; 0: 1 */
    bool artefacts_only;     /* no runs and points: only names, titles, scales and the variant */
};

/* A training, an evaluation or a benchmark. A run that several points need exists once. */
struct plan_run {
    struct spec spec;
    char run_id[SPEC_ID_BYTES], config_id[SPEC_ID_BYTES];
    int32_t train;                /* index in plan.run of the training whose checkpoint it needs: of
                                     an evaluation, or the parent of a training; else -1 */
    char paper_id[SPEC_ID_BYTES]; /* scale paper: the id that experiments/paper_configs.txt lists if
                                     the run is the paper's; other scales: "" */
    struct shape_cost cost;
};

/* A grid point of an artefact: a run and its nominal lengths. */
struct plan_point {
    const char *artefact;
    int32_t point; /* 0, 1, 2 … in grid order within the artefact */
    int32_t run;   /* index in plan.run */
    int32_t L_train_nominal, L_valid_nominal, stride_nominal; /* 0: none */
};

struct plan_artefact {
    const char *name; /* the folder's name; in a collection COLLECTION/NAME */
    const char *dir;  /* absolute path */
    const char *title;
    const char *scale; /* may differ between artefacts without --scale */
    bool optional;     /* named only by `all`: left out if the scale has no text for it */
};

struct plan {
    struct arena arena;
    const char *variant; /* " --set train.lr=2", all settings of --set sorted by key; "": none. Part
                            of the name of a point in results.db, so that a variant never replaces
                            the artefact's own points */
    const char *scale;   /* of the first artefact */
    struct plan_artefact *artefact;
    int32_t artefacts_n;
    struct plan_run *run; /* trainings come before the runs that need them */
    int32_t runs_n;
    struct plan_point *point;
    int32_t points_n;
    struct {
        const char **item; /* the files that base: names, absolute; one may be there twice */
        int32_t n, capacity;
    } pieces;
    struct {
        const char **item; /* such as "table5: L_valid 512 and 513 are both 64 at scale mini" */
        int32_t n, capacity;
    } notes;
};

/* plan_open - artefacts: names under experiments/, `all` of them for whose dataset the scale has a
 * text, a collection (plan_list_collections), likewise, or paths (with a slash) of folders that
 * contain a grid.yaml, here or under experiments/; one given twice counts once. Errors: ERR_DATA
 * "file:line:column: problem; remedy"; ERR_NOINPUT; ERR_USAGE. */
int plan_open(struct plan *p, const struct project *project, const char *const *artefacts,
              int32_t n, const struct plan_options *o, struct err *e);
void plan_close(struct plan *p);

/* settings_key - the key with this name or short name, such as L_train. Errors: ERR_DATA an unknown
 * key, with the keys that were probably meant; a key that the plan determines, with *out set. No
 * file position. */
int settings_key(const struct spec_key **out, const char *name, struct err *e);
/* settings_mentions - true if the key's name contains this word, such as window or sinks. */
bool settings_mentions(const struct spec_key *key, const char *word);
/* settings_default - the value of a key that a grid does not set; NULL: the grid must set it. */
const char *settings_default(const struct spec_key *key);
/* settings_short - the short name of a key if it has one, else its name. */
const char *settings_short(const struct spec_key *key);

/* The source of a corpus's text: configs/data/NAME.yaml, whose other keys are a piece of `base`. A
 * shipped file precedes one of the project, so that a project's folder cannot replace the address
 * of a known corpus. */
enum { PLAN_CORPUS_URLS_MAX = 3, PLAN_CORPUS_FILES = 3 };
struct plan_corpus {
    const char *name, *title; /* title: the name if the file has none */
    const char *path;         /* of the file */
    const char *text; /* the corpus whose archive has the text: this one, or that of source.text */
    int32_t vocab_limit; /* words to keep of the text of another corpus; 0: all */
    /* NULL or 0 if it cannot be downloaded: */
    const char *url[PLAN_CORPUS_URLS_MAX + 1]; /* http or https, tried in this order;
                                                  NULL-terminated */
    const char *sha256, *licence;
    int64_t bytes_max;                     /* of the archive, and of the text in it */
    const char *member[PLAN_CORPUS_FILES]; /* train, valid and test: last part of the paths */
    struct spec_data data;                 /* what the file sets; other counts are 0 */
};

/* A model of data/models/NAME.yaml, which `alibi import` writes: the settings of struct
 * plan_model's spec are a piece of `base`, and `pretrained:` says where its files are. */
struct plan_model_file {
    const char *name, *sha256;
};
struct plan_model {
    const char *path;   /* of the piece; NULL: of a piece without `pretrained:` */
    const char *folder; /* absolute */
    const char *family, *dtype;
    const char *tokenizer; /* SHA-256 of what determines its ids (tokenizer/tokenizer.h) */
    int64_t bytes;         /* of the weight files */
    struct plan_model_file *file;
    int32_t files_n, files_capacity;
    struct spec spec; /* what the piece sets */
};

/* plan_model_find - the piece whose model.files are these, of data/models/. Errors: ERR_NOINPUT
 * none; ERR_DATA with the place. */
int plan_model_find(struct plan_model *out, const struct project *project, struct arena *a,
                    const char *files, struct err *e);
/* plan_model_read - the piece at this path. Errors: ERR_NOINPUT; ERR_DATA with the place, also for
 * a piece without `pretrained:`. */
int plan_model_read(struct plan_model *out, struct arena *a, const char *path, struct err *e);

/* plan_corpora - the names of configs/data of project and share, in natural order. */
int plan_corpora(char ***out, int32_t *n, const struct project *project, struct arena *a,
                 struct err *e);
/* plan_scales - the names of configs/scale, likewise. */
int plan_scales(char ***out, int32_t *n, const struct project *project, struct arena *a,
                struct err *e);
/* plan_corpus_read - Errors: ERR_NOINPUT no such file; ERR_DATA with the place. */
int plan_corpus_read(struct plan_corpus *out, const struct project *project, struct arena *a,
                     const char *name, struct err *e);

/* The published checkpoints of an artefact's trainings: checkpoints.yaml beside its grid.yaml.
 *
 *   url: https://host/folder/              # http or https
 *   licence: …
 *   bytes_max: 4000000000                  # of a checkpoint
 *   checkpoints:
 *     - { L_train: 64, file: a.pt, sha256: 64 hex digits, bytes: 1 }
 *
 * sha256 and bytes, of the file, are optional: not every author publishes them. */
struct plan_checkpoint {
    int32_t L; /* L_train of its training */
    const char *file;
    const char *sha256; /* NULL: not published */
    int64_t bytes;      /* 0: not published */
};
struct plan_checkpoints {
    const char *url, *licence;
    int64_t bytes_max;
    struct plan_checkpoint *item;
    int32_t n, capacity;
};
/* plan_checkpoints_read - Errors: ERR_NOINPUT no such file; ERR_DATA with the place. */
int plan_checkpoints_read(struct plan_checkpoints *out, struct arena *a, const char *path,
                          struct err *e);

/* plan_list - the names of the artefacts under experiments/ of project and share, in natural order:
 * figure2 before figure11. */
int plan_list(char ***out, int32_t *n, const struct project *project, struct arena *a,
              struct err *e);
/* plan_list_collections - the names of the artefacts in collections, such as explore/methods,
 * likewise. A collection is a folder under experiments/ without a grid.yaml whose subfolders have
 * one; its name stands for every artefact in it, and `all` leaves them out. */
int plan_list_collections(char ***out, int32_t *n, const struct project *project, struct arena *a,
                          struct err *e);

#endif
