/* source.h - a source: the weights that evaluations read, whoever made them.
 *
 * 1. A source has the id of a run. A training made here is a source once it is done. Any other is
 *    registered: the newest folder runs/ID/N that is done has the spec and one record, EVENT_SOURCE
 *    (source_register). Nothing was trained, so that there is no attempt.
 * 2. A kind is a row of source_kinds: the trainings for which it is registered, whether its weights
 *    stay in their folder, and how they are opened, read and compared with what was registered.
 *    Nothing outside this folder compares the names of kinds.
 * 3. Opening hashes every file. A file that changes later is found by source_check, which is called
 *    before a result is recorded. */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/project.h"
#include "record/run_folder.h"
#include "shape/shape.h"
#include "spec/spec.h"

struct source_inside;

struct source {
    struct spec spec; /* of the training, or what describes the model */
    const char *path; /* absolute: the file of its weights, or the folder */
    char sha256[HASH_HEX_BYTES];
    const char *tokenizer; /* SHA-256 of what determines its ids; NULL: the words of dict.txt */
    struct shape_params params; /* its tensors, as source_read counts them */
    bool is_folder; /* of weights that are not copied: a model may read them when needed */
    struct source_inside *inside;
};

/* source_find - finds the weights of a run without opening them: those recorded by the
 * newest attempt of a training that ended `done`, or registered later than that. Without one, uses
 * the newest attempt with a recorded result but no end, whose last record a power failure may have
 * lost. Texts are in the arena. Errors: ERR_NOINPUT the training is not done. */
struct source_found {
    const char *path, *dir; /* absolute; dir: of the attempt */
    char sha256[HASH_HEX_BYTES];
    struct record_source source; /* kind NULL: a training made here */
};
int source_find(struct source_found *out, const struct project *p, struct arena *a,
                const char *run_id, enum spec_checkpoint which, struct err *e);

/* source_open - opens the weights and compares all files with what was recorded. tick may be NULL;
 * it is called with the share done and may end the work with an error. Errors: those of
 * source_find and pretrained_open; ERR_NOINPUT, ERR_DATA name the file that is absent or differs.
 */
typedef int source_tick_fn(void *context, double share, struct err *e);
int source_open(struct source *out, const struct project *p, const char *run_id,
                enum spec_checkpoint which, source_tick_fn *tick, void *context, struct err *e);
/* source_read - the values of tensor i of params in fp32. By one thread at a time. Errors: ERR_DATA
 * a value is not finite, or the file has become shorter. */
int source_read(const struct source *s, int32_t i, float *out, struct err *e);
/* source_check - ERR_NOINPUT, ERR_DATA name a file that has changed since the source was opened. */
int source_check(const struct source *s, struct err *e);
void source_close(struct source *s); /* may be closed already */

/* source_is_folder - true if the weights of sources of this kind, as the table `sources` names it,
 * stay in their folder; NULL: a training made here. */
bool source_is_folder(const char *kind);

/* source_register - writes the spec and the record of a source into an empty folder of an attempt,
 * dir, which may hold its weights. kind NULL: the first that is registered for trainings of this
 * origin. Errors: ERR_CREATE, ERR_IO. */
int source_register(const char *dir, const struct spec *spec, const struct record_source *source,
                    struct err *e);

#endif
