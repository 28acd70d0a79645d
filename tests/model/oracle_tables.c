/* oracle_tables.c - files without a model: the learning-rate schedule, slopes, T5 buckets, and the
 * dictionary with its binarised text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/oracle.h"
#include "prepare/binarise.h"
#include "prepare/dictionary.h"
#include "worker/train.h"

static int set_schedule(struct spec_train *t, struct oracle *o, struct err *e)
{
    const double *rate = NULL;
    double number = 0.0;
    int64_t n = 0;
    t->schedule = SPEC_COSINE;
    TRY(oracle_numbers(&rate, &n, o, "lr", e));
    if (n != 1) return ERR(e, ERR_DATA, "metadata lr has %" PRId64 " rates, expected 1", n);
    t->lr = rate[0];
    TRY(oracle_number(&number, o, e, "warmup_updates"));
    t->warmup = (int32_t)number;
    TRY(oracle_number(&t->lr_init, o, e, "warmup_init_lr"));
    TRY(oracle_number(&t->period_multiplier, o, e, "t_mult"));
    TRY(oracle_number(&number, o, e, "lr_period_updates"));
    t->period = (int32_t)number;
    TRY(oracle_number(&t->lr_shrink, o, e, "lr_shrink"));
    return oracle_number(&t->lr_min, o, e, "min_lr");
}

int oracle_cosine(struct oracle *o, struct err *e)
{
    struct spec s;
    const struct safetensors_entry *update = NULL, *rate = NULL;
    const double *exact = NULL;
    int64_t exact_n = 0;
    spec_init(&s);
    TRY(set_schedule(&s.train, o, e));
    TRY(oracle_take(&update, o, "I32", -1, e, "update"));
    int64_t n = update->elements_n;
    TRY(oracle_take(&rate, o, "F32", n, e, "lr"));
    TRY(oracle_numbers(&exact, &exact_n, o, "lr_exact", e));
    if (exact_n != n)
        return ERR(e, ERR_DATA, "lr_exact has %" PRId64 " of %" PRId64 " rates", exact_n, n);
    float *got = arena_array(&o->arena, (size_t)n + 1, sizeof *got);
    for (int64_t i = 0; i < n; i++) {
        double value = schedule_rate(&s.train, ((const int32_t *)update->data)[i]);
        char name[48];
        snprintf(name, sizeof name, "lr_exact[%" PRId64 "]", i);
        oracle_compare_number(o, ORACLE_RATE_EXACT, name, value, exact[i]);
        got[i] = (float)value;
    }
    oracle_compare(o, ORACLE_RATE, "lr", got, rate->data, n);
    return 0;
}

int oracle_slopes(struct oracle *o, struct err *e)
{
    for (int32_t i = 0; i < safetensors_count(o->file_own); i++) {
        const struct safetensors_entry *t = safetensors_at(o->file_own, i);
        int32_t heads = 0;
        if (sscanf(t->name, "slopes.%d", &heads) != 1) continue;
        if (heads < 1 || heads > 65536) return ERR(e, ERR_DATA, "%s: no number of heads", t->name);
        TRY(oracle_take(&t, o, "F32", heads, e, "%s", t->name));
        float *got = arena_array(&o->arena, (size_t)heads, sizeof *got);
        struct spec s;
        spec_init(&s);
        s.model.heads = heads;
        const struct position_shape shape = spec_position_shape(&s);
        struct position_bias bias = {.tail = got};
        position_methods[SPEC_ALIBI].functions->fill(&shape, NULL, &bias);
        for (int32_t h = 0; h < heads; h++) got[h] = -got[h];
        oracle_compare(o, ORACLE_SLOPE, t->name, got, t->data, heads);
    }
    return 0;
}

/* A table whose row is its number gives the bucket of a distance. */
static void buckets_of(int32_t *out, const int32_t *distance, int64_t n, struct oracle *o,
                       int32_t buckets, int32_t farthest)
{
    const struct position_functions *t5 = position_methods[SPEC_T5].functions;
    struct spec s;
    spec_init(&s);
    s.model.heads = 1;
    s.option.t5_buckets = buckets;
    s.option.t5_max_distance = farthest;
    const struct position_shape shape = spec_position_shape(&s);
    float *number = arena_array(&o->arena, (size_t)buckets, sizeof *number), tail = 0.0f;
    for (int32_t i = 0; i < buckets; i++) number[i] = (float)i;
    struct position_bias bias = {.table_n = t5->table_length(&shape, 0), .tail = &tail};
    bias.table = arena_array(&o->arena, (size_t)bias.table_n + 1, sizeof *bias.table);
    t5->fill(&shape, (const float *const *)&number, &bias);
    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)(distance[i] < bias.table_n ? bias.table[distance[i]] : tail);
}

int oracle_buckets(struct oracle *o, struct err *e)
{
    const struct safetensors_entry *distance = NULL;
    TRY(oracle_take(&distance, o, "I32", -1, e, "distance"));
    int64_t n = distance->elements_n;
    for (int32_t i = 0; i < safetensors_count(o->file_own); i++) {
        const struct safetensors_entry *t = safetensors_at(o->file_own, i);
        int32_t buckets = 0, farthest = 0;
        if (sscanf(t->name, "bucket.%d.%d", &buckets, &farthest) != 2) continue;
        if (buckets < 2 || farthest <= buckets / 2)
            return ERR(e, ERR_DATA, "%s: no such buckets", t->name);
        TRY(oracle_take(&t, o, "I32", n, e, "%s", t->name));
        int32_t *got = arena_array(&o->arena, (size_t)n + 1, sizeof *got);
        buckets_of(got, distance->data, n, o, buckets, farthest);
        oracle_compare_ints(o, t->name, got, t->data, n);
    }
    return 0;
}

/* Bytes stored one per number. */
static int take_text(char **out, size_t *n, struct oracle *o, struct err *e, const char *name)
{
    const struct safetensors_entry *t = NULL;
    TRY(oracle_take(&t, o, "I32", -1, e, "%s", name));
    *n = (size_t)t->elements_n;
    *out = arena_alloc(&o->arena, *n + 1);
    for (size_t i = 0; i < *n; i++) (*out)[i] = (char)((const int32_t *)t->data)[i];
    return 0;
}

/* Ids as long as the file's: a shorter or longer list is a mismatch of its length. */
static int compare_list(struct oracle *o, const int32_t *got, int64_t n, struct err *e,
                        const char *name)
{
    const struct safetensors_entry *want = NULL;
    TRY(oracle_take(&want, o, "I32", -1, e, "%s", name));
    if (want->elements_n != n)
        oracle_fail(o, "%s has %" PRId64 " elements, expected %" PRId64, name, n, want->elements_n);
    else
        oracle_compare_ints(o, name, got, want->data, n);
    return 0;
}

/* SPLIT.text_utf8 to SPLIT.ids and SPLIT.line_lengths. */
static int check_split(struct oracle *o, const struct dictionary *d, const char *split,
                       struct err *e)
{
    struct binarised b = {0};
    char name[128], *text = NULL;
    size_t n = 0;
    snprintf(name, sizeof name, "%s.text_utf8", split);
    TRY(take_text(&text, &n, o, e, name));
    TRY(binarise_text(&b, d, text, n, split, e));
    snprintf(name, sizeof name, "%s.ids", split);
    int rc = compare_list(o, b.ids, b.ids_n, e, name);
    snprintf(name, sizeof name, "%s.line_lengths", split);
    if (rc == 0) rc = compare_list(o, b.line_lengths, b.lines_n, e, name);
    binarised_free(&b);
    return rc;
}

static int check_dictionary(struct oracle *o, const struct dictionary *d, struct err *e)
{
    size_t text_n = 0;
    double size = 0.0;
    int32_t words = dictionary_size(d);
    const char *text = dictionary_text(d, &o->arena, &text_n);
    int32_t *bytes = arena_array(&o->arena, text_n + 1, sizeof *bytes);
    for (size_t i = 0; i < text_n; i++) bytes[i] = (unsigned char)text[i];
    TRY(compare_list(o, bytes, (int64_t)text_n, e, "dict_txt_utf8"));
    int32_t *counts = arena_array(&o->arena, (size_t)words, sizeof *counts);
    for (int32_t id = 0; id < words; id++) counts[id] = (int32_t)dictionary_count(d, id);
    TRY(compare_list(o, counts, words, e, "counts"));
    TRY(oracle_number(&size, o, e, "size"));
    oracle_compare_number(o, ORACLE_EXACT, "size", words, size);
    return 0;
}

int oracle_vocabulary(struct oracle *o, struct err *e)
{
    static const char ending[] = ".text_utf8";
    int rc = 0;
    struct dictionary *d = NULL;
    char *text = NULL;
    size_t n = 0;
    TRY_OUT(rc, take_text(&text, &n, o, e, "train.text_utf8"));
    TRY_OUT(rc, dictionary_build(&d, text, n, "train", 0, NULL, e));
    TRY_OUT(rc, check_dictionary(o, d, e));
    for (int32_t i = 0; i < safetensors_count(o->file_own); i++) {
        const char *name = safetensors_at(o->file_own, i)->name;
        size_t name_n = strlen(name), ending_n = sizeof ending - 1;
        if (name_n <= ending_n || strcmp(name + name_n - ending_n, ending) != 0) continue;
        char *split = arena_strndup(&o->arena, name, name_n - ending_n);
        TRY_OUT(rc, check_split(o, d, split, e));
    }
out:
    dictionary_close(d);
    return rc;
}
