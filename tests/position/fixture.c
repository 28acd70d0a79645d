/* fixture.c - a position method with its arrays. */
#include "position/fixture.h"

#include <string.h>

int64_t position_fixture_elements(const struct position_fixture *f, int32_t i)
{
    return (int64_t)f->tensor[i].rows * f->tensor[i].cols;
}

struct position_bias position_fixture_zeros(struct position_fixture *f)
{
    int64_t heads = f->shape.heads, table = heads * f->bias.table_n;
    return (struct position_bias){
        .table_n = f->bias.table_n,
        .table = arena_array(&f->arena, (size_t)table + 1, sizeof(float)),
        .tail = arena_array(&f->arena, (size_t)heads, sizeof(float)),
    };
}

void position_fixture_open(struct position_fixture *f, const struct spec *s, int32_t L)
{
    *f = (struct position_fixture){.functions = position_methods[s->model.position].functions,
                                   .spec = *s};
    arena_init(&f->arena);
    f->shape = spec_position_shape(&f->spec);
    f->tensors_n = f->functions->tensors ? f->functions->tensors(&f->shape, f->tensor) : 0;
    for (int32_t i = 0; i < f->tensors_n; i++)
        f->values[i] =
            arena_array(&f->arena, (size_t)position_fixture_elements(f, i), sizeof(float));
    f->bias.table_n = position_table_length(f->functions, &f->shape, L);
    f->bias = position_fixture_zeros(f);
}

void position_fixture_close(struct position_fixture *f)
{
    arena_fini(&f->arena);
}

void position_fixture_fill(struct position_fixture *f)
{
    size_t heads = (size_t)f->shape.heads;
    memset(f->bias.table, 0, heads * (size_t)f->bias.table_n * sizeof(float));
    memset(f->bias.tail, 0, heads * sizeof(float));
    f->functions->fill(&f->shape, (const float *const *)f->values, &f->bias);
}

float position_fixture_bias(const struct position_fixture *f, int32_t h, int32_t distance)
{
    const struct position_bias *b = &f->bias;
    if (distance < b->table_n) return b->table[(int64_t)h * b->table_n + distance];
    return b->table_n > 0 ? b->tail[h] : b->tail[h] * (float)distance;
}
