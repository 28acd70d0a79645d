/* oracle_tables.c - files without a model: the learning-rate schedule, slopes, T5 buckets, and the
 * dictionary with its binarised text. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/tokens.h"
#include "model/oracle.h"
#include "prepare/dictionary.h"
#include "worker/train.h"

void oracle_cosine(struct oracle *o)
{
    struct spec s;
    int64_t rates_n = 0, exact_n = 0;
    const double *rate = oracle_numbers(o, &rates_n, "lr");
    const double *exact = oracle_numbers(o, &exact_n, "lr_exact");
    const struct safetensors_entry *update = oracle_take(o, "I32", -1, "update");
    int64_t n = update->elements_n;
    if (rates_n != 1 || exact_n != n)
        oracle_reject(o, "metadata lr and lr_exact have %d and %d rates, expected 1 and %d",
                      (int)rates_n, (int)exact_n, (int)n);
    spec_init(&s);
    s.train.schedule = SPEC_COSINE;
    s.train.lr = rate[0];
    s.train.warmup = (int32_t)oracle_number(o, "warmup_updates");
    s.train.lr_init = oracle_number(o, "warmup_init_lr");
    s.train.period_multiplier = oracle_number(o, "t_mult");
    s.train.period = (int32_t)oracle_number(o, "lr_period_updates");
    s.train.lr_shrink = oracle_number(o, "lr_shrink");
    s.train.lr_min = oracle_number(o, "min_lr");
    float *got = oracle_array(o, n + 1);
    for (int64_t i = 0; i < n; i++) {
        double value = schedule_rate(&s.train, ((const int32_t *)update->data)[i]);
        oracle_compare_number(o, ORACLE_RATE_EXACT, oracle_name(o, "lr_exact[%d]", (int)i), value,
                              exact[i]);
        got[i] = (float)value;
    }
    oracle_check(o, ORACLE_RATE, got, n, "lr");
}

void oracle_slopes(struct oracle *o)
{
    for (int32_t i = 0; i < safetensors_count(o->file_own); i++) {
        const char *name = safetensors_at(o->file_own, i)->name;
        struct spec s;
        spec_init(&s);
        if (sscanf(name, "slopes.%d", &s.model.heads) != 1) continue;
        if (s.model.heads < 1 || s.model.heads > 65536)
            oracle_reject(o, "%s: no number of heads", name);
        const struct position_shape shape = spec_position_shape(&s);
        struct position_bias bias = {.tail = oracle_array(o, s.model.heads)};
        position_methods[SPEC_ALIBI].functions->fill(&shape, NULL, &bias);
        for (int32_t h = 0; h < s.model.heads; h++) bias.tail[h] = -bias.tail[h];
        oracle_check(o, ORACLE_SLOPE, bias.tail, s.model.heads, name);
    }
}

/* A table whose row is its number gives the bucket of a distance. */
static const int32_t *buckets_of(struct oracle *o, const int32_t *distance, int64_t n,
                                 int32_t buckets, int32_t farthest)
{
    const struct position_functions *t5 = position_methods[SPEC_T5].functions;
    struct spec s;
    spec_init(&s);
    s.model.heads = 1;
    s.option.t5_buckets = buckets;
    s.option.t5_max_distance = farthest;
    const struct position_shape shape = spec_position_shape(&s);
    float *number = oracle_array(o, buckets), tail = 0.0f;
    for (int32_t i = 0; i < buckets; i++) number[i] = (float)i;
    struct position_bias bias = {.table_n = t5->table_length(&shape, 0), .tail = &tail};
    bias.table = oracle_array(o, bias.table_n + 1);
    t5->fill(&shape, (const float *const *)&number, &bias);
    int32_t *out = oracle_int_array(o, n + 1);
    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)(distance[i] < bias.table_n ? bias.table[distance[i]] : tail);
    return out;
}

void oracle_buckets(struct oracle *o)
{
    const struct safetensors_entry *distance = oracle_take(o, "I32", -1, "distance");
    int64_t n = distance->elements_n;
    for (int32_t i = 0; i < safetensors_count(o->file_own); i++) {
        const char *name = safetensors_at(o->file_own, i)->name;
        int32_t buckets = 0, farthest = 0;
        if (sscanf(name, "bucket.%d.%d", &buckets, &farthest) != 2) continue;
        if (buckets < 2 || farthest <= buckets / 2) oracle_reject(o, "%s: no such buckets", name);
        oracle_check_ints(o, buckets_of(o, distance->data, n, buckets, farthest), n, name);
    }
}

/* ---- dictionary and binarised text ---- */

/* A text stored as one byte per number. */
static struct text take_text(struct oracle *o, const char *split)
{
    const struct safetensors_entry *t =
        oracle_take(o, "I32", -1, oracle_name(o, "%s.text_utf8", split));
    size_t n = (size_t)t->elements_n;
    char *bytes = arena_alloc(&o->arena, n + 1);
    for (size_t i = 0; i < n; i++) bytes[i] = (char)((const int32_t *)t->data)[i];
    return (struct text){.bytes = bytes, .n = n, .name = split};
}

/* The ids of a text, by way of a token file. */
static void check_ids(struct oracle *o, const struct dictionary *d, const struct text *text)
{
    static const char hash[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    struct binarise_counts counts;
    struct tokens tokens;
    char folder[TEST_PATH_BYTES];
    test_folder(folder);
    const char *path = oracle_name(o, "%s/ids", folder);
    int rc = binarise_to_file(&counts, path, d, hash, text, &o->e);
    if (rc == 0) rc = tokens_open(&tokens, path, &o->e);
    test_folder_remove(folder);
    oracle_must(o, rc);
    int64_t n = tokens.n;
    int32_t *ids = oracle_int_array(o, n + 1);
    tokens_read(&tokens, 0, n, ids);
    tokens_close(&tokens);
    oracle_check_ints(o, ids, n, oracle_name(o, "%s.ids", text->name));
}

/* Ids of each line of a text, its </s> included. */
static void check_lengths(struct oracle *o, const struct text *text)
{
    struct text_scan scan;
    int32_t words = 0, *lengths = oracle_int_array(o, (int64_t)text->n + 1);
    int64_t n = 0;
    int item;
    text_scan_init(&scan, text);
    while ((item = text_next(&scan, &o->e)) > TEXT_END) {
        words++;
        if (item == TEXT_LINE) lengths[n++] = words;
        if (item == TEXT_LINE) words = 0;
    }
    oracle_must(o, item);
    oracle_check_ints(o, lengths, n, oracle_name(o, "%s.line_lengths", text->name));
}

static void check_dictionary(struct oracle *o, const struct dictionary *d)
{
    size_t text_n = 0;
    int32_t words = d->entries.n, id = 0;
    const char *text = dictionary_text(d, &o->arena, &text_n);
    int32_t *bytes = oracle_int_array(o, (int64_t)text_n + 1);
    for (size_t i = 0; i < text_n; i++) bytes[i] = (unsigned char)text[i];
    oracle_check_ints(o, bytes, (int64_t)text_n, "dict_txt_utf8");
    /* The specials, of count 1, are not in dict.txt. */
    int32_t *counts = oracle_int_array(o, words);
    for (; id < TOKEN_SPECIALS_N; id++) counts[id] = 1;
    for (const char *line = text; *line && id < words; line = strchr(line, '\n') + 1) {
        counts[id] = (int32_t)strtol(line + d->entries.item[id].n, NULL, 10);
        id++;
    }
    oracle_check_ints(o, counts, words, "counts");
    oracle_compare_number(o, ORACLE_EXACT, "size", words, oracle_number(o, "size"));
}

/* SPLIT.text_utf8 to SPLIT.ids and SPLIT.line_lengths. */
void oracle_vocabulary(struct oracle *o)
{
    const struct text train = take_text(o, "train");
    struct dictionary d;
    const char *split;
    oracle_must(o, dictionary_build(&d, &o->arena, &train, 0, &o->e));
    check_dictionary(o, &d);
    for (int32_t i = 0; (split = oracle_next(o, &i, ".text_utf8"));) {
        const struct text text = take_text(o, split);
        check_ids(o, &d, &text);
        check_lengths(o, &text);
    }
}
