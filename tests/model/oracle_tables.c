/* oracle_tables.c - files without a model: the learning-rate schedule, slopes, T5 buckets, and the
 * dictionary with its binarised text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/tokens.h"
#include "harness/test.h"
#include "model/model_internal.h"
#include "model/oracle.h"
#include "prepare/dictionary.h"
#include "worker/worker_internal.h"

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

/* The ids of a text, by way of a token file. */
static int binarise(int32_t **ids, int64_t *n, struct oracle *o, const struct dictionary *d,
                    const struct text *text, struct err *e)
{
    static const char hash[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    struct binarise_counts counts;
    struct tokens tokens;
    char folder[TEST_PATH_BYTES];
    test_folder(folder);
    const char *path = arena_printf(&o->arena, "%s/ids", folder);
    int rc = binarise_to_file(&counts, path, d, hash, text, e);
    if (rc == 0) rc = tokens_open(&tokens, path, e);
    test_folder_remove(folder);
    TRY(rc);
    *n = tokens.n;
    *ids = arena_array(&o->arena, (size_t)tokens.n + 1, sizeof **ids);
    tokens_read(&tokens, 0, tokens.n, *ids);
    tokens_close(&tokens);
    return 0;
}

/* Ids of each line of a text, its </s> included. */
static int line_lengths(int32_t **lengths, int64_t *n, struct oracle *o, const struct text *text,
                        struct err *e)
{
    struct text_scan scan;
    int32_t words = 0;
    int item;
    *lengths = arena_array(&o->arena, text->n + 1, sizeof **lengths);
    *n = 0;
    text_scan_init(&scan, text);
    while ((item = text_next(&scan, e)) > TEXT_END) {
        words++;
        if (item == TEXT_LINE) (*lengths)[(*n)++] = words;
        if (item == TEXT_LINE) words = 0;
    }
    return item;
}

/* SPLIT.text_utf8 to SPLIT.ids and SPLIT.line_lengths. */
static int check_split(struct oracle *o, const struct dictionary *d, const char *split,
                       struct err *e)
{
    struct text text = {.place = split};
    char name[128], *bytes;
    int32_t *numbers;
    int64_t n;
    snprintf(name, sizeof name, "%s.text_utf8", split);
    TRY(take_text(&bytes, &text.n, o, e, name));
    text.bytes = bytes;
    TRY(binarise(&numbers, &n, o, d, &text, e));
    snprintf(name, sizeof name, "%s.ids", split);
    TRY(compare_list(o, numbers, n, e, name));
    TRY(line_lengths(&numbers, &n, o, &text, e));
    snprintf(name, sizeof name, "%s.line_lengths", split);
    return compare_list(o, numbers, n, e, name);
}

static int check_dictionary(struct oracle *o, const struct dictionary *d, struct err *e)
{
    size_t text_n = 0;
    double size = 0.0;
    int32_t words = d->entries.n, id = 0;
    const char *text = dictionary_text(d, &o->arena, &text_n);
    int32_t *bytes = arena_array(&o->arena, text_n + 1, sizeof *bytes);
    for (size_t i = 0; i < text_n; i++) bytes[i] = (unsigned char)text[i];
    TRY(compare_list(o, bytes, (int64_t)text_n, e, "dict_txt_utf8"));
    /* The specials, of count 1, are not in dict.txt. */
    int32_t *counts = arena_array(&o->arena, (size_t)words, sizeof *counts);
    for (; id < TOKEN_SPECIALS_N; id++) counts[id] = 1;
    for (const char *line = text; *line && id < words; line = strchr(line, '\n') + 1) {
        counts[id] = (int32_t)strtol(line + d->entries.item[id].n, NULL, 10);
        id++;
    }
    TRY(compare_list(o, counts, words, e, "counts"));
    TRY(oracle_number(&size, o, e, "size"));
    oracle_compare_number(o, ORACLE_EXACT, "size", words, size);
    return 0;
}

int oracle_vocabulary(struct oracle *o, struct err *e)
{
    static const char ending[] = ".text_utf8";
    struct dictionary d;
    char *text = NULL;
    size_t n = 0;
    TRY(take_text(&text, &n, o, e, "train.text_utf8"));
    const struct text train = {.bytes = text, .n = n, .place = "train"};
    TRY(dictionary_build(&d, &o->arena, &train, 0, e));
    TRY(check_dictionary(o, &d, e));
    for (int32_t i = 0; i < safetensors_count(o->file_own); i++) {
        const char *name = safetensors_at(o->file_own, i)->name;
        size_t name_n = strlen(name), ending_n = sizeof ending - 1;
        if (name_n <= ending_n || strcmp(name + name_n - ending_n, ending) != 0) continue;
        char *split = arena_strndup(&o->arena, name, name_n - ending_n);
        TRY(check_split(o, &d, split, e));
    }
    return 0;
}
