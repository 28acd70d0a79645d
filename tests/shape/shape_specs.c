/* shape_specs.c - specifications of the paper's models. */
#include "shape/shape_specs.h"

struct spec shape_specs_paper(enum spec_position position, int32_t L)
{
    struct spec s;

    spec_init(&s);
    s.kind = SPEC_TRAIN;
    s.model.position = position;
    s.model.layers = 16;
    s.model.dim = 1024;
    s.model.heads = 8;
    s.model.ffn = 4096;
    s.model.softmax = SPEC_ADAPTIVE;
    s.model.cutoffs_n = 2;
    s.model.cutoffs[0] = 20000;
    s.model.cutoffs[1] = 60000;
    s.model.adaptive_factor = 4;
    s.data.vocab = 267744;
    s.data.train_tokens = 103227021;
    s.data.valid_tokens = 217646;
    s.data.test_tokens = 245569;
    s.train.L = L;
    s.train.shards = 8;
    s.train.shard_tokens = 9216;
    s.train.updates = 286000;
    return s;
}

struct spec shape_specs_large(int32_t L)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, L);

    s.model.layers = 25;
    s.model.dim = 2048;
    s.model.heads = 16;
    s.model.ffn = 8192;
    s.model.softmax = SPEC_PLAIN;
    s.model.cutoffs_n = 0;
    s.data.vocab = 50265;
    return s;
}
