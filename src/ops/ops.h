/* ops.h - the functions through which the model calls ops. They check arguments against the op
 * descriptors (ERR_INTERNAL names op, argument and sizes) and compose fused ops that a backend
 * lacks. The argument structs in backend/backend.h document the ops. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "backend/backend.h"
#include "base/err.h"

/* The seven dropout sites. */
enum dropout_site {
    DROPOUT_EMBEDDING,
    DROPOUT_ATTENTION,
    DROPOUT_ATTENTION_OUT,
    DROPOUT_RELU,
    DROPOUT_FEED_FORWARD_OUT,
    DROPOUT_HEAD_INPUT,
    DROPOUT_TAIL /* the layer argument is the tail number */
};
/* dropout_stream - counter word 3: layer * 8 + site. */
static inline uint32_t dropout_stream(int32_t layer, enum dropout_site site)
{
    return (uint32_t)layer * 8u + (uint32_t)site;
}

/* ops_NAME - one function for each op of BACKEND_OPS. ops_attention may rotate q and k in place as
 * a->rotary states; ops_attention_bwd takes them in that state. */
#define OPS_FUNCTION(NAME, name, args)                                                             \
    int ops_##name(struct backend *b, const struct args *a, struct err *e);
BACKEND_OPS(OPS_FUNCTION)
#undef OPS_FUNCTION

/* Calls an op with the members of its argument struct by name; what is not named is omitted or 0:
 *   OPS(b, linear, e, .y = y, .x = x, .w = w) */
#define OPS(b, name, e, ...) ops_##name(b, &(struct name##_args){__VA_ARGS__}, e)

#endif
