/* oracle.h - compares a fixture file with the results of this program (oracle SPEC.md sections 15,
 * 16).
 *
 * 1. The kind of a file follows from the tensors in it, never from its name.
 * 2. Every tensor is either compared or needed as an input; one that is neither fails the file.
 * 3. Tolerances are SPEC.md's, one row of a table for each kind of number.
 * 4. A mismatch is noted and the check continues. What makes a check impossible, such as a tensor
 *    that is missing, rejects the file: oracle_reject jumps back to oracle_file, which releases
 *    everything that struct oracle holds. So functions here return results, not error codes. */
#ifndef MODEL_ORACLE_H
#define MODEL_ORACLE_H

#include <jansson.h>
#include <setjmp.h>
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
    ORACLE_ROLLOUT,
    ORACLE_DISTANCE,
    ORACLE_MEASURES_N
};

struct oracle {
    const char *path, *device;
    struct safetensors *file_own, *weights_own; /* weights_own: that metadata weights_file names */
    struct backend *backend_own;
    struct model *model_own;
    void *memory_own; /* on the backend */
    json_t *json_own; /* of a case */
    struct arena arena;
    bool *used;         /* by tensor of the file: compared or an input */
    bool *counted;      /* in compared_n */
    int32_t compared_n; /* tensors */
    double largest[ORACLE_MEASURES_N];
    bool measured[ORACLE_MEASURES_N];
    int32_t failures_n;
    char failure[400]; /* the first one */
    struct err e;      /* for calls given to oracle_must */
    jmp_buf rejected;
};

enum { ORACLE_LINE_BYTES = 1200 };
/* oracle_file - checks one file on a backend and prints `name: ok (…)` or `name: FAIL …`. Returns 0
 * if everything agrees. */
int oracle_file(const char *path, const char *device, char line[ORACLE_LINE_BYTES]);

/* Kinds of file: each finds its tensors in o->file_own. */
void oracle_model(struct oracle *o);
void oracle_evaluation(struct oracle *o);
void oracle_trace(struct oracle *o);
void oracle_nag(struct oracle *o);
void oracle_half_master(struct oracle *o);
void oracle_clip(struct oracle *o);
void oracle_cosine(struct oracle *o);
void oracle_slopes(struct oracle *o);
void oracle_buckets(struct oracle *o);
void oracle_vocabulary(struct oracle *o);
void oracle_bias_tables(struct oracle *o);
void oracle_rope_tables(struct oracle *o);
void oracle_decay(struct oracle *o);
void oracle_knn(struct oracle *o);

/* oracle_attention - X.attention.<layer> and X.attention_first of row 0 of the batch `letter`,
 * where the file has them. */
void oracle_attention(struct oracle *o, char letter, const struct model_batch *batch);
/* oracle_row_weights - (layers,H,T,T) of o's model for a row. */
const float *oracle_row_weights(struct oracle *o, const int32_t *source, int32_t T);

/* oracle_reject - the file cannot be checked, for this reason. oracle_must - unless the call
 * returned 0, for the reason in o->e. */
_Noreturn void oracle_reject(struct oracle *o, const char *format, ...) ERR_PRINTF(2, 3);
void oracle_must(struct oracle *o, int rc);
/* oracle_fail - notes a mismatch. */
void oracle_fail(struct oracle *o, const char *format, ...) ERR_PRINTF(2, 3);

/* oracle_name - the name of a tensor or of a key, in the arena. */
const char *oracle_name(struct oracle *o, const char *format, ...) ERR_PRINTF(2, 3);
/* oracle_has - whether the file has the tensor. */
bool oracle_has(const struct oracle *o, const char *name);
/* oracle_take - a tensor, marked as used. Rejects the file if it is missing, has another dtype or,
 * if elements_n >= 0, another size. oracle_floats, oracle_ints - the values of n elements. */
const struct safetensors_entry *oracle_take(struct oracle *o, const char *dtype, int64_t elements_n,
                                            const char *name);
const float *oracle_floats(struct oracle *o, int64_t n, const char *name);
const int32_t *oracle_ints(struct oracle *o, int64_t n, const char *name);
/* oracle_next - the name of the next tensor from *i on that ends so, without the ending; NULL if
 * there is none. */
const char *oracle_next(struct oracle *o, int32_t *i, const char *ending);
/* oracle_array - n zeroed numbers in the arena. */
float *oracle_array(struct oracle *o, int64_t n);
int32_t *oracle_int_array(struct oracle *o, int64_t n);

/* oracle_check - n numbers computed here against those of a tensor, which must have as many.
 * oracle_check_ints - they must be equal. */
void oracle_check(struct oracle *o, enum oracle_measure measure, const float *got, int64_t n,
                  const char *name);
void oracle_check_ints(struct oracle *o, const int32_t *got, int64_t n, const char *name);
/* oracle_compare - n numbers computed here against others; counts as one tensor. */
void oracle_compare(struct oracle *o, enum oracle_measure measure, const char *name,
                    const float *got, const float *want, int64_t n);
/* oracle_compare_number - one number of the metadata; not counted as a tensor. */
void oracle_compare_number(struct oracle *o, enum oracle_measure measure, const char *name,
                           double got, double want);
/* oracle_compare_metadata - n numbers that a metadata list repeats in double, if it exists with
 * this length; the tensor itself is compared anyway. */
void oracle_compare_metadata(struct oracle *o, enum oracle_measure measure, const char *key,
                             const float *got, int64_t n);

/* oracle_text - the text of a metadata key, or NULL. oracle_number - a number of the metadata.
 * oracle_numbers - a list of them, separated by commas, brackets allowed, in the arena. The last
 * two reject a file without it. */
const char *oracle_text(const struct oracle *o, const char *key);
double oracle_number(struct oracle *o, const char *key);
const double *oracle_numbers(struct oracle *o, int64_t *n, const char *key);

/* Named settings, from metadata or from one case's JSON; get returns NULL for what is absent. */
struct oracle_texts {
    const char *(*get)(const struct oracle_texts *, const char *key);
    const void *from;
};
/* oracle_position - position method and its options; neither heads nor dim. */
void oracle_position(struct oracle *o, struct spec *s, const struct oracle_texts *texts);

/* oracle_spec - the model that a file's metadata describes. Rejects a key whose value this program
 * does not compute. */
void oracle_spec(struct oracle *o, struct spec *s, const struct safetensors *file);
/* oracle_backend - opens o's device once. */
struct backend *oracle_backend(struct oracle *o);
/* oracle_memory - zeroed memory on o's device, valid until the next call. */
void *oracle_memory(struct oracle *o, size_t bytes);
/* oracle_model_open - opens the spec's model on o's device, as o->model_own. */
void oracle_model_open(struct oracle *o, const struct spec *s,
                       const struct shape_capacity *options);
/* oracle_load - writes the tensors PREFIX.<name> of o's file into the model; oracle_load_weights -
 * w.<name> of the file that metadata weights_file names, whose model must be the spec's.
 * oracle_open_weights - opens that file, and gives the model that it describes. */
void oracle_load(struct oracle *o, const char *prefix);
void oracle_open_weights(struct oracle *o, struct spec *theirs);
void oracle_load_weights(struct oracle *o, const struct spec *s);
/* oracle_targets - how many are not padding. */
int64_t oracle_targets(const int32_t *target, int64_t n);

#endif
