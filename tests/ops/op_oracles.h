/* op_oracles.h - the results of each op from its operands by plain loops; op_case.c includes it for
 * REAL double and float, with NAME, IN(argument) and OUT(argument).
 *
 * OUT is zeros, or what was there if results replace it. */

static void NAME(linear)(struct op_case *c)
{
    NAME(op_linear)(OUT("y"), IN("x"), IN("w"), IN("bias"), ROWS(c), SIZE(c, 'I'), SIZE(c, 'O'));
}

static void NAME(linear_relu)(struct op_case *c)
{
    REAL *y = OUT("y");
    NAME(linear)(c);
    for (int64_t i = 0; i < ROWS(c) * SIZE(c, 'O'); i++) y[i] = y[i] < 0 ? 0 : y[i];
}

static void NAME(linear_bwd_input)(struct op_case *c)
{
    NAME(op_linear_bwd_input)(OUT("dx"), IN("dy"), IN("w"), ROWS(c), SIZE(c, 'I'), SIZE(c, 'O'));
}

static void NAME(linear_bwd_relu)(struct op_case *c)
{
    const struct linear_bwd_relu_args *a = ARGS(c);
    const float *y = IN("y");
    REAL *dx = OUT("dx"), factor = 1 / (1 - (REAL)a->dropout.p);
    NAME(linear_bwd_input)(c);
    for (int64_t i = 0; i < ROWS(c) * SIZE(c, 'I'); i++) dx[i] = y[i] != 0.0f ? dx[i] * factor : 0;
}

static void NAME(linear_bwd_weight)(struct op_case *c)
{
    NAME(op_linear_bwd_weight)
    (OUT("dw"), OUT("dbias"), IN("dy"), IN("x"), ROWS(c), SIZE(c, 'I'), SIZE(c, 'O'));
}

static void NAME(gather_rows)(struct op_case *c)
{
    const struct gather_rows_args *a = ARGS(c);
    const int32_t *index = op_case_list(c, "index");
    const float *x = IN("x");
    REAL *y = OUT("y");
    EACH(c, i)
    y[i] =
        index[ROW(c, i)] < 0 ? 0 : (REAL)a->scale * (REAL)x[index[ROW(c, i)] * COLS(c) + COL(c, i)];
}

static void NAME(scatter_rows)(struct op_case *c)
{
    const struct scatter_rows_args *a = ARGS(c);
    const int32_t *index = op_case_list(c, "index");
    const float *x = IN("x");
    REAL *y = OUT("y");
    EACH(c, i)
    if (index[ROW(c, i)] >= 0)
        y[index[ROW(c, i)] * COLS(c) + COL(c, i)] += (REAL)a->scale * (REAL)x[i];
}

static void NAME(add_rows)(struct op_case *c)
{
    const int32_t *index = op_case_list(c, "index");
    const float *x = IN("x"), *table = IN("table");
    REAL *y = OUT("y");
    EACH(c, i) y[i] = (REAL)x[i] + (REAL)table[index[ROW(c, i)] * COLS(c) + COL(c, i)];
}

static void NAME(cast)(struct op_case *c)
{
    const float *x = IN("x");
    REAL *y = OUT("y");
    EACH(c, i) y[i] = (REAL)x[i];
}

static void NAME(add)(struct op_case *c)
{
    const float *x = IN("x"), *r = IN("r");
    REAL *y = OUT("y");
    EACH(c, i) y[i] = (REAL)x[i] + (REAL)r[i];
}

static void NAME(dropout)(struct op_case *c)
{
    const float *x = IN("x");
    REAL *y = OUT("y");
    EACH(c, i) y[i] = (REAL)x[i] * (REAL)c->factor[i];
}

static void NAME(relu)(struct op_case *c)
{
    const float *x = IN("x");
    REAL *y = OUT("y");
    EACH(c, i) y[i] = x[i] > 0.0f ? (REAL)x[i] * (REAL)c->factor[i] : 0;
}

static void NAME(relu_bwd)(struct op_case *c)
{
    const float *y = IN("y"), *dy = IN("dy");
    REAL *dx = OUT("dx");
    EACH(c, i) dx[i] = y[i] != 0.0f ? (REAL)dy[i] * (REAL)c->factor[i] : 0;
}

static void NAME(activate)(struct op_case *c)
{
    const struct activate_args *a = ARGS(c);
    const float *x = IN("x"), *factor = IN("factor");
    REAL *y = OUT("y");
    EACH(c, i) y[i] = NAME(op_activated)((REAL)x[i], a->kind) * (factor ? (REAL)factor[i] : 1);
}

static void NAME(clamp)(struct op_case *c)
{
    const struct clamp_args *a = ARGS(c);
    const float *x = IN("x");
    REAL *y = OUT("y"), limit = (REAL)a->limit;
    EACH(c, i) y[i] = (REAL)x[i] > limit ? limit : (REAL)x[i] < -limit ? -limit : (REAL)x[i];
}

static void NAME(layernorm)(struct op_case *c)
{
    const struct layernorm_args *a = ARGS(c);
    NAME(op_layernorm)
    (OUT("y"), OUT("stats"), IN("x"), IN("gain"), IN("bias"), ROWS(c), COLS(c), a->eps, a->rms);
}

static void NAME(layernorm_bwd)(struct op_case *c)
{
    NAME(op_layernorm_bwd)
    (OUT("dx"), OUT("dgain"), OUT("dbias"), IN("dy"), IN("x"), IN("gain"), ROWS(c), COLS(c));
}

/* The LayerNorm is that of the sum which the op stored. */
static void NAME(residual_layernorm)(struct op_case *c)
{
    const struct residual_layernorm_args *a = ARGS(c);
    const float *x = IN("x"), *r = IN("r");
    REAL *s = OUT("s");
    EACH(c, i) s[i] = (REAL)x[i] + (REAL)r[i] * (REAL)c->factor[i];
    NAME(op_layernorm)
    (OUT("y"), OUT("stats"), op_case_made(c, "s"), IN("gain"), IN("bias"), ROWS(c), COLS(c), a->eps,
     a->rms);
}

/* dr is made from ds as it is stored. */
static void NAME(residual_layernorm_bwd)(struct op_case *c)
{
    const float *ds = op_case_made(c, "ds");
    REAL *dr = OUT("dr");
    NAME(op_layernorm_bwd)
    (OUT("ds"), OUT("dgain"), OUT("dbias"), IN("dy"), IN("s"), IN("gain"), ROWS(c), COLS(c));
    EACH(c, i) dr[i] = (REAL)ds[i] * (REAL)c->factor[i];
}

static void NAME(rotary)(struct op_case *c)
{
    const struct rotary_args *a = ARGS(c);
    NAME(op_rotary)
    (OUT("x"), IN("x"), IN("cosine"), IN("sine"), ROWS(c), a->T, a->H, (int32_t)(COLS(c) / a->H),
     SIZE(c, 'P'), a->layout, a->inverse);
}

static void NAME(softmax_loss)(struct op_case *c)
{
    NAME(op_softmax)
    (OUT("loss"), OUT("logits"), IN("logits"), op_case_list(c, "target"), ROWS(c), SIZE(c, 'V'));
}

static void NAME(softmax_logp)(struct op_case *c)
{
    REAL *logp = OUT("logp");
    NAME(op_softmax)(logp, NULL, IN("logits"), op_case_list(c, "target"), ROWS(c), SIZE(c, 'V'));
    for (int64_t i = 0; i < ROWS(c); i++) logp[i] = -logp[i];
    NAME(op_softmax_best)
    (OUT("best_class"), OUT("best"), IN("logits"), ROWS(c), SIZE(c, 'V'), SIZE(c, 'E'));
}

/* The factor of the gradient: its scale times the clip factor. */
static REAL NAME(gradient_factor)(struct op_case *c)
{
    const float *grad = IN("gradient");
    REAL squares = 0;
    for (int64_t i = 0; i < ROWS(c); i++) squares += (REAL)grad[i] * (REAL)grad[i];
    REAL norm = (REAL)c->step.gradient_scale * (REAL)sqrt((double)squares);
    REAL clip = (REAL)c->step.clip / (norm + (REAL)1e-6);
    return (REAL)c->step.gradient_scale * (c->step.clip > 0.0f && clip < 1 ? clip : 1);
}

static void NAME(nag)(struct op_case *c)
{
    const struct nag_args *a = ARGS(c);
    const float *grad = IN("gradient");
    REAL *theta = OUT("theta"), *momentum = OUT("momentum"), factor = NAME(gradient_factor)(c);
    REAL mu = (REAL)a->mu, lr = (REAL)c->step.lr, before = (REAL)c->step.lr_previous;
    REAL rho = before == 0 ? lr : lr / before;
    for (int64_t i = 0; i < ROWS(c); i++) {
        REAL g = (REAL)grad[i] * factor, b = momentum[i];
        theta[i] =
            theta[i] * (1 - lr * (REAL)a->weight_decay) + mu * mu * rho * b - (1 + mu) * lr * g;
        momentum[i] = mu * rho * b - lr * g;
    }
}

static void NAME(adam)(struct op_case *c)
{
    const struct adam_args *a = ARGS(c);
    const float *grad = IN("gradient");
    REAL *theta = OUT("theta"), *m = OUT("m"), *v = OUT("v"), factor = NAME(gradient_factor)(c);
    REAL beta1 = (REAL)a->beta1, beta2 = (REAL)a->beta2, lr = (REAL)c->step.lr;
    REAL correct1 = (REAL)(1.0 - pow((double)a->beta1, c->step.adam_step));
    REAL correct2 = (REAL)(1.0 - pow((double)a->beta2, c->step.adam_step));
    for (int64_t i = 0; i < ROWS(c); i++) {
        REAL g = (REAL)grad[i] * factor;
        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * g * g;
        REAL root = (REAL)sqrt((double)(v[i] / correct2)) + (REAL)a->eps;
        theta[i] = theta[i] * (1 - lr * (REAL)a->weight_decay) - lr * (m[i] / correct1) / root;
    }
}

static void (*const NAME(oracles)[OPS_N])(struct op_case *c) = {
    [OP_LINEAR] = NAME(linear),
    [OP_LINEAR_ROWS] = NAME(linear),
    [OP_LINEAR_RELU] = NAME(linear_relu),
    [OP_LINEAR_BWD_INPUT] = NAME(linear_bwd_input),
    [OP_LINEAR_BWD_RELU] = NAME(linear_bwd_relu),
    [OP_LINEAR_BWD_WEIGHT] = NAME(linear_bwd_weight),
    [OP_GATHER_ROWS] = NAME(gather_rows),
    [OP_SCATTER_ROWS] = NAME(scatter_rows),
    [OP_ADD_ROWS] = NAME(add_rows),
    [OP_CAST] = NAME(cast),
    [OP_ADD] = NAME(add),
    [OP_DROPOUT] = NAME(dropout),
    [OP_RELU] = NAME(relu),
    [OP_RELU_BWD] = NAME(relu_bwd),
    [OP_ACTIVATE] = NAME(activate),
    [OP_CLAMP] = NAME(clamp),
    [OP_LAYERNORM] = NAME(layernorm),
    [OP_LAYERNORM_BWD] = NAME(layernorm_bwd),
    [OP_RESIDUAL_LAYERNORM] = NAME(residual_layernorm),
    [OP_RESIDUAL_LAYERNORM_BWD] = NAME(residual_layernorm_bwd),
    [OP_ROTARY] = NAME(rotary),
    [OP_SOFTMAX_LOSS] = NAME(softmax_loss),
    [OP_SOFTMAX_LOGP] = NAME(softmax_logp),
    [OP_NAG] = NAME(nag),
    [OP_ADAM] = NAME(adam),
};
