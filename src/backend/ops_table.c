/* ops_table.c - the table of ops, and functions that read an argument struct by it.
 *
 * Sizes that a struct states come first. The first tensor listed gives the dtype of ARG_SAME.
 * Letters are bound in the order of the arguments, so that inputs come before outputs that must fit
 * them. */
#include "backend/ops_table.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BEST_CLASSES_MAX = 1 << 24 };

#define AT(args, field) offsetof(struct args, field)

static int rule_rotary(const void *args, struct err *e)
{
    const struct rotary_args *a = args;
    if (a->x.rows % a->T != 0 || a->x.cols % (2 * (int64_t)a->H) != 0 ||
        a->x.cols < 2 * a->H * a->cosine.cols)
        return ERR(e, ERR_INTERNAL,
                   "op rotary: x is %" PRId64 " x %" PRId64
                   ", expected rows of T = %d and columns of H = %d heads of even width, at least "
                   "two for each of the %" PRId64 " columns of the tables",
                   a->x.rows, a->x.cols, a->T, a->H, a->cosine.cols);
    if (a->cosine.rows < a->T)
        return ERR(e, ERR_INTERNAL, "op rotary: the tables have %" PRId64 " rows, expected T = %d",
                   a->cosine.rows, a->T);
    return 0;
}

static int rule_attention(const void *args, struct err *e)
{
    const struct attention *a = args;
    const struct tensor *cosine = &a->rotary.cosine;
    if ((a->bias.bias_table_grad_dev == NULL) != (a->bias.tail_offset_grad_dev == NULL))
        return ERR(e, ERR_INTERNAL,
                   "op attention: only one of the gradients of bias_table and tail_offset is "
                   "given, expected both or none");
    if (a->mask.narrow_heads > a->H || (a->mask.narrow_heads > 0 && a->mask.sinks > 0))
        return ERR(e, ERR_INTERNAL,
                   "op attention: %d narrow heads with %d heads and %d sinks, expected at most as "
                   "many as heads, and no sinks",
                   a->mask.narrow_heads, a->H, a->mask.sinks);
    if (a->temperature.query_dev == NULL && (a->temperature.head_dev || a->temperature.inside))
        return ERR(e, ERR_INTERNAL, "op attention: a temperature needs the factors of the queries");
    if (a->temperature.inside && a->gates.high.data)
        return ERR(e, ERR_INTERNAL, "op attention: gates with a temperature inside");
    if (a->temperature.head_dev == NULL && a->temperature.head_grad_dev)
        return ERR(e, ERR_INTERNAL,
                   "op attention: the factors of heads with a gradient are absent");
    if ((a->gates.high.data == NULL) != (a->gates.low.data == NULL) ||
        (a->gates.dsums.data != NULL && a->gates.high.data == NULL))
        return ERR(e, ERR_INTERNAL,
                   "op attention: only some of the tensors gates.high, gates.low and gates.dsums "
                   "are given");
    if (cosine->data == NULL) return 0;
    if (a->rotary.sine.data == NULL || 2 * cosine->cols > a->D)
        return ERR(e, ERR_INTERNAL,
                   "op attention: the rotary tables have %" PRId64
                   " columns, expected at most half of the head width %d",
                   cosine->cols, a->D);
    if ((a->rotary.key_cosine.data == NULL) != (a->rotary.key_sine.data == NULL))
        return ERR(e, ERR_INTERNAL,
                   "op attention: only one of the rotary tables of keys is given, expected both or "
                   "none");
    if (cosine->rows < a->T)
        return ERR(e, ERR_INTERNAL,
                   "op attention: the rotary tables have %" PRId64 " rows, expected T = %d",
                   cosine->rows, a->T);
    return 0;
}

static int rule_attention_fwd(const void *args, struct err *e)
{
    const struct attention *a = args;
    TRY(rule_attention(args, e));
    if (a->K > 0 && a->H % a->K != 0)
        return ERR(e, ERR_INTERNAL,
                   "op attention: k and v have K = %d heads, expected a divisor of H = %d", a->K,
                   a->H);
    if (a->bias.key_bias_dev && a->mask.sinks > 0 && a->mask.sink_positions == SINKS_CACHE)
        return ERR(e, ERR_INTERNAL,
                   "op attention: bias.key_bias with %d sinks at positions in a cache, expected "
                   "positions in the text",
                   a->mask.sinks);
    return 0;
}

static int rule_attention_bwd(const void *args, struct err *e)
{
    const struct attention *a = args;
    TRY(rule_attention(args, e));
    if (a->K > 0 && a->K != a->H)
        return ERR(e, ERR_INTERNAL,
                   "op attention_bwd: k and v have K = %d heads, expected H = %d: only the forward "
                   "pass shares them",
                   a->K, a->H);
    if (a->bias.key_bias_dev)
        return ERR(e, ERR_INTERNAL,
                   "op attention_bwd: bias.key_bias is given, expected none: it has no gradient");
    return 0;
}

static int rule_activate(const void *args, struct err *e)
{
    const struct activate_args *a = args;
    if ((unsigned)a->kind <= ACTIVATE_SILU) return 0;
    return ERR(e, ERR_INTERNAL, "op activate: kind is %d, expected 0 to %d", (int)a->kind,
               (int)ACTIVATE_SILU);
}

static int refuse_rms_bias(const char *op, bool rms, const struct tensor *bias, struct err *e)
{
    if (!rms || bias->data == NULL) return 0;
    return ERR(e, ERR_INTERNAL, "op %s: argument bias is given, expected none with rms", op);
}

static int rule_layernorm(const void *args, struct err *e)
{
    const struct layernorm_args *a = args;
    return refuse_rms_bias("layernorm", a->rms, &a->bias, e);
}

static int rule_residual_layernorm(const void *args, struct err *e)
{
    const struct residual_layernorm_args *a = args;
    return refuse_rms_bias("residual_layernorm", a->rms, &a->bias, e);
}

static int rule_tree_add(const void *args, struct err *e)
{
    const struct tree_add_args *a = args;
    for (int32_t k = 0; k < TREE_ADD_MAX; k++)
        if (a->x_dev[k] != NULL) return 0;
    return ERR(e, ERR_INTERNAL, "op tree_add: all operands are absent, expected at least one");
}

static int rule_residual_layernorm_bwd(const void *args, struct err *e)
{
    const struct residual_layernorm_bwd_args *a = args;
    if (a->dropout.p > 0.0f && a->dr.data == NULL)
        return ERR(e, ERR_INTERNAL, "op residual_layernorm_bwd: argument dr has no memory");
    return 0;
}

static int rule_softmax_logp(const void *args, struct err *e)
{
    const struct softmax_logp_args *a = args;
    int64_t classes = a->logits.cols;
    if ((a->best.data == NULL) != (a->best_class.data == NULL))
        return ERR(e, ERR_INTERNAL,
                   "op softmax_logp: only one of best and best_class is given, expected both or "
                   "none");
    if (a->best.data != NULL && (a->best.cols > classes || classes > BEST_CLASSES_MAX))
        return ERR(e, ERR_INTERNAL,
                   "op softmax_logp: argument best has %" PRId64 " columns for %" PRId64
                   " classes, expected no more columns than classes and at most %d classes",
                   a->best.cols, classes, BEST_CLASSES_MAX);
    return 0;
}

/* The ops y = x w^T + bias share these arguments. */
#define LINEAR_ARGUMENTS(args)                                                                     \
    {"w", ARG_TENSOR, ARG_READ, AT(args, w), "O I"},                                               \
        {"x", ARG_SAME, ARG_READ, AT(args, x), "N I"},                                             \
    {                                                                                              \
        "bias", ARG_SAME, ARG_READ, AT(args, bias), "1 O", .optional = true                        \
    }

#define ATTENTION_ARGUMENTS                                                                        \
    {"B", ARG_SIZE_32, ARG_READ, AT(attention, B), "B"},                                           \
        {"T", ARG_SIZE_32, ARG_READ, AT(attention, T), "T"},                                       \
        {"H", ARG_SIZE_32, ARG_READ, AT(attention, H), "H"},                                       \
        {"D", ARG_SIZE_32, ARG_READ, AT(attention, D), "D"},                                       \
        {"bias.bias_table_n", ARG_SIZE_32, ARG_READ, AT(attention, bias.bias_table_n), "L",        \
         .optional = true},                                                                        \
        {"K", ARG_SIZE_32, ARG_READ, AT(attention, K), "K H", .optional = true},                   \
        {"mask.window", ARG_SIZE_32, ARG_READ, AT(attention, mask.window), "W", .optional = true}, \
        {"mask.sinks", ARG_SIZE_32, ARG_READ, AT(attention, mask.sinks), "S", .optional = true},   \
        {"mask.narrow_heads", ARG_SIZE_32, ARG_READ, AT(attention, mask.narrow_heads), "A",        \
         .optional = true},                                                                        \
        {"q", ARG_TENSOR, ARG_READ, AT(attention, q), "B*T H*D"},                                  \
        {"k", ARG_SAME, ARG_READ, AT(attention, k), "B*T K*D"},                                    \
        {"v", ARG_SAME, ARG_READ, AT(attention, v), "B*T K*D"},                                    \
        {"bias.bias_table", ARG_F32, ARG_READ, AT(attention, bias.bias_table_dev), "H L"},         \
        {"bias.tail_offset", ARG_F32, ARG_READ, AT(attention, bias.tail_offset_dev), "H",          \
         .optional = true},                                                                        \
        {"bias.tail_slope", ARG_F32, ARG_READ, AT(attention, bias.tail_slope_dev), "H",            \
         .optional = true},                                                                        \
        {"rotary.cosine", ARG_TENSOR_F32,  ARG_READ, AT(attention, rotary.cosine),                 \
         "R P",           .optional = true},                                                       \
        {"rotary.sine", ARG_TENSOR_F32,  ARG_READ, AT(attention, rotary.sine),                     \
         "R P",         .optional = true},                                                         \
        {"rotary.key_cosine", ARG_TENSOR_F32, ARG_READ, AT(attention, rotary.key_cosine), "R P",   \
         .optional = true},                                                                        \
        {"rotary.key_sine", ARG_TENSOR_F32, ARG_READ, AT(attention, rotary.key_sine), "R P",       \
         .optional = true},                                                                        \
        {"temperature.query", ARG_F32, ARG_READ, AT(attention, temperature.query_dev), "T",        \
         .optional = true},                                                                        \
        {"temperature.head", ARG_F32, ARG_READ, AT(attention, temperature.head_dev), "H",          \
         .optional = true},                                                                        \
        {"gates.high", ARG_TENSOR_F32,  ARG_READ, AT(attention, gates.high),                       \
         "B*H T",      .optional = true},                                                          \
        {"gates.low", ARG_TENSOR_F32,  ARG_READ, AT(attention, gates.low),                         \
         "B*H T",     .optional = true},                                                           \
    {                                                                                              \
        "dropout", ARG_DROPOUT, ARG_READ, AT(attention, dropout), "0"                              \
    }

/* Operands of tree_add. */
#define TREE_ADD_OPERAND(k)                                                                        \
    {                                                                                              \
        "x" #k, ARG_F32, ARG_READ, AT(tree_add_args, x_dev[k]), "N", .optional = true              \
    }
#define TREE_ADD_EIGHT(a, b, c, d, e, f, g, h)                                                     \
    TREE_ADD_OPERAND(a), TREE_ADD_OPERAND(b), TREE_ADD_OPERAND(c), TREE_ADD_OPERAND(d),            \
        TREE_ADD_OPERAND(e), TREE_ADD_OPERAND(f), TREE_ADD_OPERAND(g), TREE_ADD_OPERAND(h)

const struct op_descriptor op_table[OPS_N] = {
    [OP_LINEAR] = {.flag = AT(linear_args, accumulate),
                   .argument = {LINEAR_ARGUMENTS(linear_args),
                                {"y", ARG_SAME_OR_F32, ARG_WRITE_OR_UPDATE, AT(linear_args, y),
                                 "N O"}}},
    [OP_LINEAR_ROWS] = {.argument = {LINEAR_ARGUMENTS(linear_rows_args),
                                     {"y", ARG_SAME_OR_F32, ARG_WRITE, AT(linear_rows_args, y),
                                      "N O"}}},
    [OP_LINEAR_RELU] =
        {.fused = true,
         .argument = {LINEAR_ARGUMENTS(linear_relu_args),
                      {"y", ARG_SAME_OR_F32, ARG_WRITE, AT(linear_relu_args, y), "N O"},
                      {"mask", ARG_MASK, ARG_WRITE, AT(linear_relu_args, mask), "N O",
                       .optional = true},
                      {"dropout", ARG_DROPOUT, ARG_READ, AT(linear_relu_args, dropout), "N"}}},
    [OP_LINEAR_BWD_INPUT] =
        {.flag = AT(linear_bwd_input_args, accumulate),
         .argument = {{"w", ARG_TENSOR, ARG_READ, AT(linear_bwd_input_args, w), "O I"},
                      {"dy", ARG_SAME, ARG_READ, AT(linear_bwd_input_args, dy), "N O"},
                      {"dx", ARG_SAME, ARG_WRITE_OR_UPDATE, AT(linear_bwd_input_args, dx), "N I"}}},
    [OP_LINEAR_BWD_RELU] =
        {.fused = true,
         .argument = {{"w", ARG_TENSOR, ARG_READ, AT(linear_bwd_relu_args, w), "O I"},
                      {"dy", ARG_SAME, ARG_READ, AT(linear_bwd_relu_args, dy), "N O"},
                      {"y", ARG_SAME, ARG_READ, AT(linear_bwd_relu_args, y), "N I"},
                      {"mask", ARG_MASK, ARG_READ, AT(linear_bwd_relu_args, mask), "N I",
                       .optional = true},
                      {"dx", ARG_SAME, ARG_WRITE, AT(linear_bwd_relu_args, dx), "N I"},
                      {"dropout", ARG_DROPOUT, ARG_READ, AT(linear_bwd_relu_args, dropout), "N"}}},
    [OP_LINEAR_BWD_WEIGHT] =
        {.flag = AT(linear_bwd_weight_args, accumulate),
         .argument = {{"dy", ARG_TENSOR, ARG_READ, AT(linear_bwd_weight_args, dy), "N O"},
                      {"x", ARG_SAME, ARG_READ, AT(linear_bwd_weight_args, x), "N I"},
                      {"dw", ARG_TENSOR_F32, ARG_WRITE_OR_UPDATE, AT(linear_bwd_weight_args, dw),
                       "O I"},
                      {"dbias", ARG_TENSOR_F32, ARG_WRITE_OR_UPDATE,
                       AT(linear_bwd_weight_args, dbias), "1 O", .optional = true}}},
    [OP_GATHER_ROWS] = {.argument = {{"x", ARG_TENSOR, ARG_READ, AT(gather_rows_args, x), "M C"},
                                     {"y", ARG_SAME, ARG_WRITE, AT(gather_rows_args, y), "N C"},
                                     {"index", ARG_I32, ARG_READ, AT(gather_rows_args, index_dev),
                                      "N"}}},
    [OP_SCATTER_ROWS] =
        {.argument = {{"x", ARG_TENSOR, ARG_READ, AT(scatter_rows_args, x), "N C"},
                      {"y", ARG_TENSOR, ARG_UPDATE, AT(scatter_rows_args, y), "M C"},
                      {"index", ARG_I32, ARG_READ, AT(scatter_rows_args, index_dev), "N"}}},
    [OP_ADD_ROWS] =
        {.argument = {{"x", ARG_TENSOR, ARG_READ, AT(add_rows_args, x), "N C"},
                      {"y", ARG_SAME, ARG_WRITE, AT(add_rows_args, y), "N C", .may_be = "x"},
                      {"table", ARG_TENSOR_F32, ARG_READ, AT(add_rows_args, table), "M C"},
                      {"index", ARG_I32, ARG_READ, AT(add_rows_args, index_dev), "N"}}},
    [OP_CAST] = {.argument = {{"x", ARG_TENSOR, ARG_READ, AT(cast_args, x), "N C"},
                              {"y", ARG_TENSOR, ARG_WRITE, AT(cast_args, y), "N C"}}},
    [OP_ADD] = {.argument = {{"x", ARG_TENSOR, ARG_READ, AT(add_args, x), "N C"},
                             {"r", ARG_SAME, ARG_READ, AT(add_args, r), "N C"},
                             {"y", ARG_SAME, ARG_WRITE, AT(add_args, y), "N C", .may_be = "x r"}}},
    [OP_DROPOUT] =
        {.argument = {{"x", ARG_TENSOR, ARG_READ, AT(dropout_args, x), "N C"},
                      {"y", ARG_SAME, ARG_WRITE, AT(dropout_args, y), "N C", .may_be = "x"},
                      {"dropout", ARG_DROPOUT, ARG_READ, AT(dropout_args, dropout), "N"}}},
    [OP_RELU] = {.argument = {{"x", ARG_TENSOR, ARG_READ, AT(relu_args, x), "N C"},
                              {"y", ARG_SAME, ARG_WRITE, AT(relu_args, y), "N C", .may_be = "x"},
                              {"mask", ARG_MASK, ARG_WRITE, AT(relu_args, mask), "N C",
                               .optional = true},
                              {"dropout", ARG_DROPOUT, ARG_READ, AT(relu_args, dropout), "N"}}},
    [OP_RELU_BWD] =
        {.argument = {{"y", ARG_TENSOR, ARG_READ, AT(relu_bwd_args, y), "N C"},
                      {"dy", ARG_SAME, ARG_READ, AT(relu_bwd_args, dy), "N C"},
                      {"mask", ARG_MASK, ARG_READ, AT(relu_bwd_args, mask), "N C",
                       .optional = true},
                      {"dx", ARG_SAME, ARG_WRITE, AT(relu_bwd_args, dx), "N C", .may_be = "dy"},
                      {"dropout", ARG_DROPOUT, ARG_READ, AT(relu_bwd_args, dropout), "N"}}},
    [OP_ACTIVATE] = {.rule = rule_activate,
                     .argument = {{"x", ARG_TENSOR, ARG_READ, AT(activate_args, x), "N C"},
                                  {"factor", ARG_SAME, ARG_READ, AT(activate_args, factor), "N C",
                                   .optional = true},
                                  {"y", ARG_SAME, ARG_WRITE, AT(activate_args, y), "N C",
                                   .may_be = "x factor"}}},
    [OP_CLAMP] = {.argument = {{"x", ARG_TENSOR, ARG_READ, AT(clamp_args, x), "N C"},
                               {"y", ARG_SAME, ARG_WRITE, AT(clamp_args, y), "N C", .may_be = "x"},
                               {"limit", ARG_POSITIVE, ARG_READ, AT(clamp_args, limit), "0"}}},
    [OP_LAYERNORM] =
        {.rule = rule_layernorm,
         .argument = {{"x", ARG_TENSOR, ARG_READ, AT(layernorm_args, x), "N C"},
                      {"y", ARG_SAME, ARG_WRITE, AT(layernorm_args, y), "N C"},
                      {"stats", ARG_TENSOR_F32, ARG_WRITE, AT(layernorm_args, stats), "N 2"},
                      {"gain", ARG_TENSOR_F32, ARG_READ, AT(layernorm_args, gain), "1 C"},
                      {"bias", ARG_TENSOR_F32, ARG_READ, AT(layernorm_args, bias), "1 C",
                       .optional = true},
                      {"eps", ARG_POSITIVE, ARG_READ, AT(layernorm_args, eps), "0"}}},
    [OP_LAYERNORM_BWD] =
        {.flag = AT(layernorm_bwd_args, accumulate_dx),
         .argument = {{"x", ARG_TENSOR, ARG_READ, AT(layernorm_bwd_args, x), "N C"},
                      {"dy", ARG_SAME, ARG_READ, AT(layernorm_bwd_args, dy), "N C"},
                      {"stats", ARG_TENSOR_F32, ARG_READ, AT(layernorm_bwd_args, stats), "N 2"},
                      {"gain", ARG_TENSOR_F32, ARG_READ, AT(layernorm_bwd_args, gain), "1 C"},
                      {"dx", ARG_SAME, ARG_WRITE_OR_UPDATE, AT(layernorm_bwd_args, dx), "N C"},
                      {"dgain", ARG_TENSOR_F32, ARG_UPDATE, AT(layernorm_bwd_args, dgain), "1 C"},
                      {"dbias", ARG_TENSOR_F32, ARG_UPDATE, AT(layernorm_bwd_args, dbias), "1 C"}}},
    [OP_RESIDUAL_LAYERNORM] =
        {.fused = true,
         .rule = rule_residual_layernorm,
         .argument =
             {{"x", ARG_TENSOR, ARG_READ, AT(residual_layernorm_args, x), "N C"},
              {"r", ARG_SAME, ARG_READ, AT(residual_layernorm_args, r), "N C"},
              {"s", ARG_SAME, ARG_WRITE, AT(residual_layernorm_args, s), "N C", .may_be = "x"},
              {"y", ARG_SAME, ARG_WRITE, AT(residual_layernorm_args, y), "N C"},
              {"stats", ARG_TENSOR_F32, ARG_WRITE, AT(residual_layernorm_args, stats), "N 2"},
              {"gain", ARG_TENSOR_F32, ARG_READ, AT(residual_layernorm_args, gain), "1 C"},
              {"bias", ARG_TENSOR_F32, ARG_READ, AT(residual_layernorm_args, bias), "1 C",
               .optional = true},
              {"eps", ARG_POSITIVE, ARG_READ, AT(residual_layernorm_args, eps), "0"},
              {"dropout", ARG_DROPOUT, ARG_READ, AT(residual_layernorm_args, dropout), "N"}}},
    [OP_RESIDUAL_LAYERNORM_BWD] =
        {.fused = true,
         .rule = rule_residual_layernorm_bwd,
         .argument =
             {{"s", ARG_TENSOR, ARG_READ, AT(residual_layernorm_bwd_args, s), "N C"},
              {"dy", ARG_SAME, ARG_READ, AT(residual_layernorm_bwd_args, dy), "N C"},
              {"stats", ARG_TENSOR_F32, ARG_READ, AT(residual_layernorm_bwd_args, stats), "N 2"},
              {"gain", ARG_TENSOR_F32, ARG_READ, AT(residual_layernorm_bwd_args, gain), "1 C"},
              {"ds", ARG_SAME, ARG_UPDATE, AT(residual_layernorm_bwd_args, ds), "N C"},
              {"dr", ARG_SAME, ARG_WRITE, AT(residual_layernorm_bwd_args, dr), "N C",
               .optional = true},
              {"dgain", ARG_TENSOR_F32, ARG_UPDATE, AT(residual_layernorm_bwd_args, dgain), "1 C"},
              {"dbias", ARG_TENSOR_F32, ARG_UPDATE, AT(residual_layernorm_bwd_args, dbias), "1 C"},
              {"dropout", ARG_DROPOUT, ARG_READ, AT(residual_layernorm_bwd_args, dropout), "N"}}},
    [OP_FORGET_GATE] =
        {.argument = {{"B", ARG_SIZE_32, ARG_READ, AT(forget_gate_args, B), "B"},
                      {"T", ARG_SIZE_32, ARG_READ, AT(forget_gate_args, T), "T"},
                      {"H", ARG_SIZE_32, ARG_READ, AT(forget_gate_args, H), "H"},
                      {"z", ARG_TENSOR_F32, ARG_READ, AT(forget_gate_args, z), "B*T H",
                       .optional = true},
                      {"bias", ARG_TENSOR_F32, ARG_READ, AT(forget_gate_args, bias), "1 H"},
                      {"high", ARG_TENSOR_F32, ARG_WRITE, AT(forget_gate_args, high), "B*H T"},
                      {"low", ARG_TENSOR_F32, ARG_WRITE, AT(forget_gate_args, low), "B*H T"}}},
    [OP_FORGET_GATE_BWD] =
        {.argument = {{"B", ARG_SIZE_32, ARG_READ, AT(forget_gate_bwd_args, B), "B"},
                      {"T", ARG_SIZE_32, ARG_READ, AT(forget_gate_bwd_args, T), "T"},
                      {"H", ARG_SIZE_32, ARG_READ, AT(forget_gate_bwd_args, H), "H"},
                      {"z", ARG_TENSOR_F32, ARG_READ, AT(forget_gate_bwd_args, z), "B*T H",
                       .optional = true},
                      {"bias", ARG_TENSOR_F32, ARG_READ, AT(forget_gate_bwd_args, bias), "1 H"},
                      {"dsums", ARG_TENSOR_F32, ARG_READ, AT(forget_gate_bwd_args, dsums), "B*H T"},
                      {"dz", ARG_TENSOR, ARG_WRITE, AT(forget_gate_bwd_args, dz), "B*T H",
                       .optional = true},
                      {"dbias", ARG_TENSOR_F32, ARG_UPDATE, AT(forget_gate_bwd_args, dbias),
                       "1 H"}}},
    [OP_ROTARY] = {.rule = rule_rotary,
                   .argument = {{"T", ARG_SIZE_32, ARG_READ, AT(rotary_args, T), "T"},
                                {"H", ARG_SIZE_32, ARG_READ, AT(rotary_args, H), "H"},
                                {"x", ARG_TENSOR, ARG_UPDATE, AT(rotary_args, x), "N C"},
                                {"cosine", ARG_TENSOR_F32, ARG_READ, AT(rotary_args, cosine),
                                 "R P"},
                                {"sine", ARG_TENSOR_F32, ARG_READ, AT(rotary_args, sine), "R P"}}},
    [OP_ATTENTION] = {.rule = rule_attention_fwd,
                      .argument = {ATTENTION_ARGUMENTS,
                                   {"bias.key_bias", ARG_F32, ARG_READ,
                                    AT(attention, bias.key_bias_dev), "H T", .optional = true},
                                   {"out", ARG_SAME, ARG_WRITE, AT(attention, out), "B*T H*D"},
                                   {"lse", ARG_TENSOR_F32, ARG_WRITE, AT(attention, lse),
                                    "B*H T"}}},
    [OP_ATTENTION_BWD] =
        {.rule = rule_attention_bwd,
         .argument = {ATTENTION_ARGUMENTS,
                      {"out", ARG_SAME, ARG_READ, AT(attention, out), "B*T H*D"},
                      {"lse", ARG_TENSOR_F32, ARG_READ, AT(attention, lse), "B*H T"},
                      {"dout", ARG_SAME, ARG_READ, AT(attention, dout), "B*T H*D"},
                      {"dq", ARG_SAME, ARG_WRITE, AT(attention, dq), "B*T H*D"},
                      {"dk", ARG_SAME, ARG_WRITE, AT(attention, dk), "B*T H*D"},
                      {"dv", ARG_SAME, ARG_WRITE, AT(attention, dv), "B*T H*D"},
                      {"gates.dsums", ARG_TENSOR_F32, ARG_WRITE, AT(attention, gates.dsums),
                       "B*H T", .optional = true},
                      {"bias.bias_table_grad", ARG_F32, ARG_UPDATE,
                       AT(attention, bias.bias_table_grad_dev), "H L", .optional = true},
                      {"bias.tail_offset_grad", ARG_F32, ARG_UPDATE,
                       AT(attention, bias.tail_offset_grad_dev), "H", .optional = true},
                      {"temperature.head_grad", ARG_F32, ARG_UPDATE,
                       AT(attention, temperature.head_grad_dev), "H", .optional = true}}},
    [OP_SOFTMAX_LOSS] =
        {.flag = AT(softmax_loss_args, gradient),
         .argument = {{"logits", ARG_TENSOR, ARG_READ_OR_UPDATE, AT(softmax_loss_args, logits),
                       "N V"},
                      {"loss", ARG_TENSOR_F32, ARG_WRITE, AT(softmax_loss_args, loss), "1 N"},
                      {"target", ARG_I32, ARG_READ, AT(softmax_loss_args, target_dev), "N"}}},
    [OP_SOFTMAX_LOGP] =
        {.flag = AT(softmax_logp_args, accumulate),
         .rule = rule_softmax_logp,
         .argument = {{"logits", ARG_TENSOR, ARG_READ, AT(softmax_logp_args, logits), "N V"},
                      {"logp", ARG_TENSOR_F32, ARG_WRITE_OR_UPDATE, AT(softmax_logp_args, logp),
                       "1 N"},
                      {"best_class", ARG_TENSOR_F32, ARG_WRITE,
                       AT(softmax_logp_args, best_class), "1 N", .optional = true},
                      {"best", ARG_TENSOR_F32, ARG_WRITE, AT(softmax_logp_args, best), "N E",
                       .optional = true},
                      {"target", ARG_I32, ARG_READ, AT(softmax_logp_args, target_dev), "N"}}},
    [OP_SUM_LOSSES] =
        {.argument = {{"loss", ARG_TENSOR_F32, ARG_READ, AT(sum_losses_args, loss), "1 N"},
                      {"out", ARG_F64, ARG_WRITE, AT(sum_losses_args, out_dev), "1"}}},
    [OP_SUM_SQUARES] = {.argument = {{"n", ARG_SIZE_64, ARG_READ, AT(sum_squares_args, n), "N"},
                                     {"part", ARG_SIZE_64, ARG_READ, AT(sum_squares_args, part),
                                      "Q", .optional = true},
                                     {"x", ARG_F32, ARG_READ, AT(sum_squares_args, x_dev), "N"},
                                     {"out", ARG_F64, ARG_WRITE, AT(sum_squares_args, out_dev),
                                      "N/Q"}}},
    [OP_NAG] = {.argument = {{"n", ARG_SIZE_64, ARG_READ, AT(nag_args, n), "N"},
                             {"theta", ARG_F32, ARG_UPDATE, AT(nag_args, theta_dev), "N"},
                             {"momentum", ARG_F32, ARG_UPDATE, AT(nag_args, momentum_dev), "N"},
                             {"gradient", ARG_F32, ARG_READ, AT(nag_args, grad_dev), "N"},
                             {"squares", ARG_F64, ARG_READ, AT(nag_args, squares_dev), "1"},
                             {"step", ARG_STEP, ARG_READ, AT(nag_args, step_dev), "1"},
                             {"bf16", ARG_BF16, ARG_UPDATE, AT(nag_args, bf16_dev), "N",
                              .optional = true}}},
    [OP_ADAM] = {.argument = {{"n", ARG_SIZE_64, ARG_READ, AT(adam_args, n), "N"},
                              {"theta", ARG_F32, ARG_UPDATE, AT(adam_args, theta_dev), "N"},
                              {"m", ARG_F32, ARG_UPDATE, AT(adam_args, m_dev), "N"},
                              {"v", ARG_F32, ARG_UPDATE, AT(adam_args, v_dev), "N"},
                              {"gradient", ARG_F32, ARG_READ, AT(adam_args, grad_dev), "N"},
                              {"squares", ARG_F64, ARG_READ, AT(adam_args, squares_dev), "1"},
                              {"step", ARG_STEP, ARG_READ, AT(adam_args, step_dev), "1"},
                              {"bf16", ARG_BF16, ARG_UPDATE, AT(adam_args, bf16_dev), "N",
                               .optional = true}}},
    [OP_TREE_ADD] = {.rule = rule_tree_add,
                     .argument = {{"n", ARG_SIZE_64, ARG_READ, AT(tree_add_args, n), "N"},
                                  TREE_ADD_EIGHT(0, 1, 2, 3, 4, 5, 6, 7),
                                  TREE_ADD_EIGHT(8, 9, 10, 11, 12, 13, 14, 15),
                                  TREE_ADD_EIGHT(16, 17, 18, 19, 20, 21, 22, 23),
                                  TREE_ADD_EIGHT(24, 25, 26, 27, 28, 29, 30, 31),
                                  {"y", ARG_F32, ARG_WRITE, AT(tree_add_args, y_dev), "N",
                                   .may_be = "x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 "
                                             "x15 x16 x17 x18 x19 x20 x21 x22 x23 x24 x25 x26 x27 "
                                             "x28 x29 x30 x31"}}},
    [OP_SUM_DOUBLES] = {.argument = {{"n", ARG_SIZE_64, ARG_READ, AT(sum_doubles_args, n), "N"},
                                     {"x", ARG_F64, ARG_READ, AT(sum_doubles_args, x_dev), "N"},
                                     {"out", ARG_F64, ARG_WRITE, AT(sum_doubles_args, out_dev),
                                      "1"}}},
};

/* ---- reading an argument struct ---- */

enum { UNBOUND = -1 };

struct reader {
    const struct backend *b;
    const char *name; /* of the op */
    const struct op_descriptor *op;
    const void *args;
    int64_t size[OP_LETTERS_N];
    bool dtype_known;
    enum dtype dtype; /* of the first tensor */
    struct op_memory *memory;
    int32_t *memory_n;
};

static const void *field_of(const struct reader *r, const struct op_argument *a)
{
    return (const char *)r->args + a->offset;
}

int64_t op_dimension(const char **shape, const int64_t size[OP_LETTERS_N])
{
    int64_t n = 1;
    const char *at = *shape;
    for (; *at != '\0' && *at != ' '; at++) {
        if (*at == '*') continue;
        if (*at == '/') {
            int64_t part = size[*++at - 'A'];
            n = part > 0 ? (n - 1) / part + 1 : 1;
            continue;
        }
        n *= *at >= '0' && *at <= '9' ? *at - '0' : size[*at - 'A'];
    }
    *shape = *at == ' ' ? at + 1 : at;
    return n;
}

/* The next dimension of a shape. A letter that is not bound yet is bound to `actual`. */
static int64_t dimension(struct reader *r, const char **shape, int64_t actual)
{
    for (const char *at = *shape; *at != '\0' && *at != ' '; at++)
        if (*at >= 'A' && *at <= 'Z' && r->size[*at - 'A'] == UNBOUND) r->size[*at - 'A'] = actual;
    return op_dimension(shape, r->size);
}

static void add_memory(struct reader *r, const struct op_argument *a, const char *name,
                       enum op_role role, void *data, const int64_t rows_cols[2], int64_t stride,
                       size_t element)
{
    bool flag = false;
    if (role == ARG_WRITE_OR_UPDATE || role == ARG_READ_OR_UPDATE) {
        memcpy(&flag, (const char *)r->args + r->op->flag, sizeof flag);
        role = flag ? ARG_UPDATE : role == ARG_WRITE_OR_UPDATE ? ARG_WRITE : ARG_READ;
    }
    assert(*r->memory_n < OP_ARGUMENTS_MAX);
    r->memory[(*r->memory_n)++] = (struct op_memory){.argument = a,
                                                     .role = role,
                                                     .name = name,
                                                     .data = data,
                                                     .rows = rows_cols[0],
                                                     .row_bytes = (size_t)rows_cols[1] * element,
                                                     .stride_bytes = (size_t)stride * element};
}

static const char *dtype_name(enum dtype d)
{
    static const char *const names[] = {"f32", "bf16", "i32"};
    return (unsigned)d < 3 ? names[d] : "of an unknown dtype";
}

/* The dtype expected of the argument, given its tensor t. */
static enum dtype expected_dtype(struct reader *r, const struct op_argument *a,
                                 const struct tensor *t)
{
    if (a->type == ARG_TENSOR_F32) return DTYPE_F32;
    if (a->type == ARG_MASK) return DTYPE_I32;
    if (a->type == ARG_SAME_OR_F32 && t->dtype == DTYPE_F32) return DTYPE_F32;
    if (a->type != ARG_TENSOR) return r->dtype;
    if (!r->dtype_known) r->dtype = t->dtype == DTYPE_BF16 ? DTYPE_BF16 : DTYPE_F32;
    r->dtype_known = true;
    return t->dtype == DTYPE_BF16 ? DTYPE_BF16 : DTYPE_F32;
}

static int refuse_bf16(const struct reader *r, const char *argument, struct err *e)
{
    if (r->b->precision == DTYPE_BF16) return 0;
    return ERR(e, ERR_UNAVAILABLE, "op %s: argument %s is bf16, which %s does not support", r->name,
               argument, r->b->name);
}

static int read_tensor(struct reader *r, const struct op_argument *a, struct err *e)
{
    const struct tensor *t = field_of(r, a);
    const char *shape = a->shape;
    if (t->data == NULL && a->optional) return 0;
    if (t->data == NULL)
        return ERR(e, ERR_INTERNAL, "op %s: argument %s has no memory", r->name, a->name);
    int64_t rows = dimension(r, &shape, t->rows), cols = dimension(r, &shape, t->cols), bits = 0;
    if (a->type == ARG_MASK) {
        bits = cols;
        cols = relu_mask_words(bits);
    }
    enum dtype dtype = expected_dtype(r, a, t);
    if (t->rows != rows || t->cols != cols || t->dtype != dtype || rows < 1 || cols < 1)
        return ERR(e, ERR_INTERNAL,
                   "op %s: argument %s is %" PRId64 " x %" PRId64 " %s, expected %" PRId64
                   " x %" PRId64 " %s with at least one element",
                   r->name, a->name, t->rows, t->cols, dtype_name(t->dtype), rows, cols,
                   dtype_name(dtype));
    if (t->stride < t->cols)
        return ERR(e, ERR_INTERNAL,
                   "op %s: argument %s has stride %" PRId64 ", expected at least its %" PRId64
                   " columns",
                   r->name, a->name, t->stride, t->cols);
    if (dtype == DTYPE_BF16) TRY(refuse_bf16(r, a->name, e));
    add_memory(r, a, a->name, a->role, t->data, (int64_t[]){rows, cols}, t->stride,
               dtype_bytes(dtype));
    r->memory[*r->memory_n - 1].mask_bits = bits;
    return 0;
}

static int read_pointer(struct reader *r, const struct op_argument *a, struct err *e)
{
    static const size_t element[] = {[ARG_F32] = sizeof(float),
                                     [ARG_F64] = sizeof(double),
                                     [ARG_BF16] = 2,
                                     [ARG_I32] = sizeof(int32_t),
                                     [ARG_STEP] = sizeof(struct step_state)};
    const char *shape = a->shape;
    int64_t n = dimension(r, &shape, UNBOUND);
    void *data = NULL;
    n *= dimension(r, &shape, UNBOUND);
    memcpy(&data, field_of(r, a), sizeof data);
    if (n == 0 || (data == NULL && a->optional)) return 0;
    if (data == NULL)
        return ERR(e, ERR_INTERNAL, "op %s: argument %s is missing", r->name, a->name);
    if (a->type == ARG_BF16) TRY(refuse_bf16(r, a->name, e));
    add_memory(r, a, a->name, a->role, data, (int64_t[]){1, n}, n, element[a->type]);
    return 0;
}

static int read_dropout(struct reader *r, const struct op_argument *a, struct err *e)
{
    const struct dropout *d = field_of(r, a);
    const char *shape = a->shape;
    if (!(d->p >= 0.0f && d->p < 1.0f))
        return ERR(e, ERR_INTERNAL, "op %s: dropout p is %g, expected at least 0 and below 1",
                   r->name, (double)d->p);
    if (d->p == 0.0f) return 0;
    if (d->step_dev == NULL)
        return ERR(e, ERR_INTERNAL, "op %s: dropout has no step state to draw with", r->name);
    void *step = NULL, *rows = NULL;
    memcpy(&step, &d->step_dev, sizeof step);
    memcpy(&rows, &d->rows_dev, sizeof rows);
    add_memory(r, a, "step", ARG_READ, step, (int64_t[]){1, 1}, 1, sizeof *d->step_dev);
    int64_t n = dimension(r, &shape, UNBOUND);
    if (rows != NULL && n > 0)
        add_memory(r, a, "rows", ARG_READ, rows, (int64_t[]){1, n}, n, sizeof *d->rows_dev);
    return 0;
}

static int read_size(struct reader *r, const struct op_argument *a, struct err *e)
{
    int64_t n = a->type == ARG_SIZE_32 ? *(const int32_t *)field_of(r, a)
                                       : *(const int64_t *)field_of(r, a);
    if (n < (a->optional ? 0 : 1))
        return ERR(e, ERR_INTERNAL, "op %s: argument %s is %" PRId64 ", expected at least %d",
                   r->name, a->name, n, a->optional ? 0 : 1);
    r->size[*a->shape - 'A'] = n == 0 && a->shape[1] != '\0' ? r->size[a->shape[2] - 'A'] : n;
    return 0;
}

static int read_positive(const struct reader *r, const struct op_argument *a, struct err *e)
{
    float value = *(const float *)field_of(r, a);
    if (value > 0.0f && value < INFINITY) return 0;
    return ERR(e, ERR_INTERNAL, "op %s: argument %s is %g, expected above 0 and finite", r->name,
               a->name, (double)value);
}

int op_arguments(const struct backend *b, enum op op, const void *args,
                 struct op_memory memory[OP_ARGUMENTS_MAX], int32_t *memory_n, struct err *e)
{
    struct reader r = {.b = b,
                       .name = op_name(op),
                       .op = &op_table[op],
                       .args = args,
                       .memory = memory,
                       .memory_n = memory_n};
    *memory_n = 0;
    for (int i = 0; i < OP_LETTERS_N; i++) r.size[i] = UNBOUND;
    for (const struct op_argument *a = r.op->argument; a->name != NULL; a++) {
        switch (a->type) {
        case ARG_TENSOR:
        case ARG_SAME:
        case ARG_SAME_OR_F32:
        case ARG_TENSOR_F32:
        case ARG_MASK:
            TRY(read_tensor(&r, a, e));
            break;
        case ARG_F32:
        case ARG_F64:
        case ARG_BF16:
        case ARG_I32:
        case ARG_STEP:
            TRY(read_pointer(&r, a, e));
            break;
        case ARG_DROPOUT:
            TRY(read_dropout(&r, a, e));
            break;
        case ARG_POSITIVE:
            TRY(read_positive(&r, a, e));
            break;
        case ARG_SIZE_32:
        case ARG_SIZE_64:
            TRY(read_size(&r, a, e));
            break;
        }
    }
    return r.op->rule ? r.op->rule(args, e) : 0;
}

const char *op_name(enum op op)
{
#define NAME_OF(NAME, name, args) #name,
    static const char *const names[] = {BACKEND_OPS(NAME_OF)};
    return names[op];
}

int64_t op_rows_n(enum op op, const void *args)
{
    const struct op_argument *a = op_table[op].argument;
    while (a->type > ARG_TENSOR_F32 || strncmp(a->shape, "N ", 2) != 0) a++;
    return ((const struct tensor *)(const void *)((const char *)args + a->offset))->rows;
}

bool op_is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
    return false;
}

#define RUN(NAME, name, args)                                                                      \
    case OP_##NAME:                                                                                \
        return b->ops->name(b, arguments, e);
int op_run(struct backend *b, enum op op, const void *arguments, struct err *e)
{
    switch (op) {
        BACKEND_OPS(RUN)
    case OPS_N:
        break;
    }
    return ERR(e, ERR_INTERNAL, "op %d: there are %d", (int)op, (int)OPS_N);
}
