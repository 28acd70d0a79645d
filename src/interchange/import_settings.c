/* import_settings.c - one table of options, and the few numbers kept beside the weights. */
#include "interchange/import_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double import_ln2 = 0.69314718055994530942;

/* An option of fairseq, wherever this version keeps it; NULL when it is not recorded. */
static const struct pickle_value *import_option(const struct pickle_value *checkpoint,
                                                const char *name)
{
    static const char *const groups[] = {"model", "task", "dataset"};
    const struct pickle_value *cfg = pickle_get(checkpoint, "cfg");

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const struct pickle_value *v = pickle_get(pickle_get(cfg, groups[i]), name);
        if (v && v->type != PICKLE_NONE) return v;
    }
    const struct pickle_value *v = pickle_get(pickle_get(checkpoint, "args"), name);
    return v && v->type != PICKLE_NONE ? v : NULL;
}

static bool import_number(double *out, const struct pickle_value *v)
{
    if (!v || (v->type != PICKLE_INT && v->type != PICKLE_REAL && v->type != PICKLE_BOOL))
        return false;
    *out = v->type == PICKLE_REAL ? v->real : (double)v->integer;
    return isfinite(*out);
}

/* The mean of the meter `loss` among the statistics of the last epoch; fairseq counts in bits. */
static double import_train_loss(const struct pickle_value *checkpoint)
{
    const struct pickle_value *extra = pickle_get(checkpoint, "extra_state");
    const struct pickle_value *meters = pickle_get(pickle_get(extra, "metrics"), "train");
    double sum, count;

    for (int64_t i = 0; meters && meters->type == PICKLE_LIST && i < meters->n; i++) {
        const struct pickle_value *m = meters->item[i]; /* priority, key, class, state */
        if (m->type != PICKLE_TUPLE || m->n != 4 || m->item[1]->type != PICKLE_TEXT) continue;
        if (strcmp(m->item[1]->text, "loss") != 0) continue;
        if (import_number(&sum, pickle_get(m->item[3], "sum")) &&
            import_number(&count, pickle_get(m->item[3], "count")) && count > 0)
            return sum / count * import_ln2;
    }
    return (double)NAN;
}

void import_facts_read(struct import_facts *out, const struct pickle_value *checkpoint)
{
    const struct pickle_value *history = pickle_get(checkpoint, "optimizer_history");
    const struct pickle_value *extra = pickle_get(checkpoint, "extra_state");
    double number;

    *out = (struct import_facts){.train_loss_nats = import_train_loss(checkpoint),
                                 .valid_loss_nats = (double)NAN};
    if (import_number(&number, import_option(checkpoint, "tokens_per_sample")) && number >= 1 &&
        number <= 1e6)
        out->L = (int32_t)number;
    if (history && history->type == PICKLE_LIST && history->n > 0 &&
        import_number(&number, pickle_get(history->item[history->n - 1], "num_updates")) &&
        number >= 1 && number <= 1e12)
        out->updates = (int64_t)number;
    if (import_number(&number, pickle_get(extra, "val_loss")) ||
        import_number(&number, pickle_get(extra, "best")))
        out->valid_loss_nats = number * import_ln2;
    out->heads_recorded =
        import_number(&number, import_option(checkpoint, "decoder_attention_heads"));
}

static int import_check_number(const struct pickle_value *checkpoint, const char *name,
                               double expected, const char *path, struct err *e)
{
    const struct pickle_value *v = import_option(checkpoint, name);
    double found;

    if (!v) return 0;
    if (import_number(&found, v) && found == expected) return 0;
    if (!import_number(&found, v))
        return ERR(e, ERR_DATA, "%s: its option %s is no number, expected %g", path, name,
                   expected);
    return ERR(e, ERR_DATA, "%s: was trained with %s=%g, the specification has %g", path, name,
               found, expected);
}

static int import_check_text(const struct pickle_value *checkpoint, const char *name,
                             const char *expected, const char *path, struct err *e)
{
    const struct pickle_value *v = import_option(checkpoint, name);

    if (!v || (v->type == PICKLE_TEXT && strcmp(v->text, expected) == 0)) return 0;
    return ERR(e, ERR_DATA, "%s: was trained with %s=%.60s, the specification has %s", path, name,
               v->type == PICKLE_TEXT ? v->text : "(no text)", expected);
}

static void import_cutoffs_text(char *out, size_t room, const struct spec_model *m)
{
    size_t n = 0;

    out[0] = '\0';
    for (int32_t i = 0; i < m->cutoffs_n && n < room; i++)
        n += (size_t)snprintf(out + n, room - n, "%s%d", i ? "," : "", m->cutoffs[i]);
}

int import_settings_check(const struct pickle_value *checkpoint, const struct spec *s,
                          const char *path, struct err *e)
{
    const struct spec_model *m = &s->model;
    bool adaptive = m->softmax == SPEC_ADAPTIVE;
    char cutoffs[96];
    const struct {
        const char *name;
        double expected;
    } numbers[] = {
        {"tokens_per_sample", s->train.L},
        {"decoder_layers", m->layers},
        {"decoder_embed_dim", m->dim},
        {"decoder_input_dim", m->dim},
        {"decoder_output_dim", m->dim},
        {"decoder_ffn_embed_dim", m->ffn},
        {"decoder_attention_heads", m->heads},
        {"adaptive_input", adaptive},
        {"tie_adaptive_weights", adaptive},
        {"tie_adaptive_proj", adaptive},
        {"no_decoder_final_norm", !m->final_norm},
        {"decoder_learned_pos", 0},
        {"no_scale_embedding", 0},
        {"layernorm_embedding", 0},
        {"character_embeddings", 0},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        TRY(import_check_number(checkpoint, numbers[i].name, numbers[i].expected, path, e));
    TRY(import_check_text(checkpoint, "activation_fn", "relu", path, e));
    if (!adaptive)
        return import_check_number(checkpoint, "share_decoder_input_output_embed", 1, path, e);
    import_cutoffs_text(cutoffs, sizeof cutoffs, m);
    TRY(import_check_number(checkpoint, "adaptive_input_factor", m->adaptive_factor, path, e));
    TRY(import_check_number(checkpoint, "adaptive_softmax_factor", m->adaptive_factor, path, e));
    TRY(import_check_text(checkpoint, "adaptive_input_cutoff", cutoffs, path, e));
    return import_check_text(checkpoint, "adaptive_softmax_cutoff", cutoffs, path, e);
}
