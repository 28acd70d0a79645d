/* model_weights.h - the tensors of a model, of its gradients and of its optimiser state. */
#ifndef MODEL_MODEL_WEIGHTS_H
#define MODEL_MODEL_WEIGHTS_H

#include <stdint.h>

#include "backend/backend.h"
#include "model/model.h"
#include "shape/memory.h"

struct model_norm {
    struct tensor gain, bias; /* (1,C); bias or none */
};

/* Views of a layer's weights or of their gradients. With bf16 the weight matrices are views of the
 * bf16 copy. What the form of the decoder lacks has data NULL, as has every bias that it lacks. */
struct model_layer {
    struct model_norm norm1;
    struct tensor qkv, qkv_bias; /* ((H+2K)D,C), (1,(H+2K)D) */
    struct tensor out, out_bias; /* (C,HD), (1,C) */
    struct model_norm norm2;
    struct tensor fc_gate, fc_gate_bias; /* (F,C), (1,F) */
    struct tensor fc1, fc1_bias;         /* (F,C), (1,F) */
    struct tensor fc2, fc2_bias;         /* (C,F), (1,C) */
    struct tensor ssmax;                 /* (1,H) */
    struct tensor gate, gate_bias;       /* (H,C), (1,H) */
};

struct model_weights {
    struct model_layer *layer;                 /* layers; in the arena */
    struct tensor table[SHAPE_BANDS_MAX];      /* (band size, width) */
    struct tensor projection[SHAPE_BANDS_MAX]; /* (C, width); adaptive only */
    struct tensor head;      /* (head_n, E): band 0 and the class rows, or a head of its own */
    struct tensor head_bias; /* (1, head_n) fp32, or none */
    struct tensor project_in, project_out; /* (C,E), (E,C), or none */
    struct model_norm embed_norm, norm;    /* of the embedding, the final one; or none */
};

/* model_weights_bind - views of the array at base_dev; with bf16_dev (or NULL) matrices are views
 * of that array of bf16. */
int model_weights_bind(struct model_weights *out, struct model *m, float *base_dev, void *bf16_dev,
                       struct err *e);
/* model_weights_check - refuses a tensor or array that the model does not have. */
int model_weights_check(const struct model *m, enum model_array array, int32_t tensor,
                        struct err *e);
/* model_weights_read, model_weights_write - copy a tensor from or to the host, and update its bf16
 * copy; of a group, those of this rank. model_read and model_write also keep data derived from it
 * up to date. */
int model_weights_read(struct model *m, enum model_array array, int32_t tensor, float *out_host,
                       struct err *e);
int model_weights_write(struct model *m, enum model_array array, int32_t tensor,
                        const float *in_host, struct err *e);
/* model_weights_transpose - updates the transposed projections for scoring. */
int model_weights_transpose(struct model *m, struct err *e);

#endif
