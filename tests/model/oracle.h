/* oracle.h - compares a fixture file with the results of this program (oracle SPEC.md sections 15,
 * 16).
 *
 * 1. The kind of a file follows from the tensors in it, never from its name.
 * 2. Every tensor is either compared or needed as an input; one that is neither fails the file.
 * 3. Tolerances are SPEC.md's, one row of a table for each kind of number. */
#ifndef MODEL_ORACLE_H
#define MODEL_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "interchange/safetensors.h"
#include "model/model.h"

/* What a compared number is; see oracle.c for the tolerances. */
enum oracle_measure {
    ORACLE_EXACT,
    ORACLE_LOGP,
    ORACLE_STREAM,
    ORACLE_LOSS,
    ORACLE_GRADIENT,
    ORACLE_KEY_BIAS,
    ORACLE_NORM,
    ORACLE_WEIGHT,
    ORACLE_UPDATE,
    ORACLE_RATE,
    ORACLE_RATE_EXACT,
    ORACLE_SLOPE,
    ORACLE_ATTENTION,
    ORACLE_TABLE,
    ORACLE_MEASURES_N
};

struct oracle {
    const char *path, *device;
    struct safetensors *file_own;
    struct backend *backend_own;
    struct arena arena;
    bool *used;         /* by tensor of the file: compared or an input */
    bool *counted;      /* in compared_n */
    int32_t compared_n; /* tensors */
    double largest[ORACLE_MEASURES_N];
    bool measured[ORACLE_MEASURES_N];
    int32_t failures_n;
    char failure[400]; /* the first one */
};

enum { ORACLE_LINE_BYTES = 1200 };
/* oracle_file - checks one file on a backend and prints `name: ok (…)` or `name: FAIL …`. Returns 0
 * if everything agrees. */
int oracle_file(const char *path, const char *device, char line[ORACLE_LINE_BYTES]);

/* Kinds of file: each finds its tensors in o->file_own. A mismatch is noted in o; a negative code
 * is a file that cannot be checked at all. */
int oracle_model(struct oracle *o, struct err *e);
int oracle_evaluation(struct oracle *o, struct err *e);
int oracle_trace(struct oracle *o, struct err *e);
int oracle_nag(struct oracle *o, struct err *e);
int oracle_half_master(struct oracle *o, struct err *e);
int oracle_clip(struct oracle *o, struct err *e);
int oracle_cosine(struct oracle *o, struct err *e);
int oracle_slopes(struct oracle *o, struct err *e);
int oracle_buckets(struct oracle *o, struct err *e);
int oracle_vocabulary(struct oracle *o, struct err *e);
int oracle_bias_tables(struct oracle *o, struct err *e);
int oracle_rope_tables(struct oracle *o, struct err *e);

/* oracle_attention - X.attention.<layer> and X.attention_first of the batch `letter` that the model
 * trained on last, where the file has them. */
int oracle_attention(struct oracle *o, struct model *m, char letter, struct err *e);

/* oracle_take - the tensor named by the format, marked as used; checks its dtype and, if elements_n
 * >= 0, its size. Errors: ERR_DATA. */
int oracle_take(const struct safetensors_entry **out, struct oracle *o, const char *dtype,
                int64_t elements_n, struct err *e, const char *format, ...) ERR_PRINTF(6, 7);
/* oracle_has - whether there is such a tensor. */
bool oracle_has(const struct oracle *o, const char *format, ...) ERR_PRINTF(2, 3);
/* oracle_fail - notes a mismatch. */
void oracle_fail(struct oracle *o, const char *format, ...) ERR_PRINTF(2, 3);
/* oracle_compare - n numbers computed here against the file's; counts as one tensor. */
void oracle_compare(struct oracle *o, enum oracle_measure measure, const char *name,
                    const float *got, const float *want, int64_t n);
/* oracle_compare_ints - must be equal. */
void oracle_compare_ints(struct oracle *o, const char *name, const int32_t *got,
                         const int32_t *want, int64_t n);
/* oracle_compare_number - one number of the metadata; not counted as a tensor. */
void oracle_compare_number(struct oracle *o, enum oracle_measure measure, const char *name,
                           double got, double want);
/* oracle_compare_metadata - n numbers that a metadata list repeats in double, if it exists with
 * this length; the tensor itself is compared anyway. */
int oracle_compare_metadata(struct oracle *o, enum oracle_measure measure, const char *key,
                            const float *got, int64_t n, struct err *e);
/* oracle_number - a metadata number. Errors: ERR_DATA absent or not a number. */
int oracle_number(double *out, const struct oracle *o, struct err *e, const char *format, ...)
    ERR_PRINTF(4, 5);
/* oracle_numbers - a comma-separated list of the metadata, brackets allowed; *out is in the arena.
 */
int oracle_numbers(const double **out, int64_t *n, struct oracle *o, const char *key,
                   struct err *e);

/* Named settings, from metadata or from one case's JSON; get returns NULL for what is absent. */
struct oracle_texts {
    const char *(*get)(const struct oracle_texts *, const char *key);
    const void *from;
};
/* oracle_position - position method and its options; neither heads nor dim. */
int oracle_position(struct spec *s, const struct oracle_texts *texts, struct err *e);

/* oracle_spec - the model that a file's metadata describes. Errors: ERR_DATA names a key whose
 * value this program does not compute. */
int oracle_spec(struct spec *s, const struct safetensors *file, struct err *e);
/* oracle_backend - opens o's device once. */
int oracle_backend(struct oracle *o, struct err *e);
/* oracle_load - writes the tensors PREFIX.<name> of a file into a model. With o they are marked as
 * used there. */
int oracle_load(struct model *m, const struct safetensors *file, const char *prefix,
                struct oracle *o, struct err *e);
/* oracle_weights_open - the file that metadata weights_file names, beside o's own. */
int oracle_weights_open(struct safetensors **out, struct oracle *o, struct err *e);
/* oracle_targets - how many are not padding. */
int64_t oracle_targets(const int32_t *target, int64_t n);

#endif
