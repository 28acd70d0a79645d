/* test_spec.c - the key table, canonical text and identity. */
#include "harness/test.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "spec/spec.h"

/* A training that no config file has: the frozen ids below depend on every line of it. */
static const char train_text[] =
    "kind=train\nscale=mini\nmodel.position=alibi\nmodel.layers=2\nmodel.dim=64\nmodel.heads=8\n"
    "model.ffn=256\nmodel.softmax=adaptive\nmodel.cutoffs=200,600\ndata.dataset=wikitext103\n"
    "data.corpus=synthetic-wikitext103\ndata.vocab=1024\ndata.train_tokens=1000\n"
    "data.valid_tokens=100\ndata.test_tokens=100\ntrain.L=64\ntrain.shard_tokens=768\n"
    "train.updates=20\ntrain.lr=0.1\ntrain.period=18\ntrain.warmup=2\ntrain.clip=0.1\n"
    "train.seed=1\n";

static struct spec parsed(const char *text)
{
    struct spec s;
    assert_ok(spec_parse(&s, text, &e));
    return s;
}

static void set_key(struct spec *s, const char *name, const char *text)
{
    assert_non_null(spec_key_find(name));
    assert_ok(spec_set(s, spec_key_find(name), text, &e));
}

struct id {
    char text[SPEC_ID_BYTES];
};

static struct id id(const struct spec *s)
{
    struct id out;
    spec_run_id(s, out.text);
    return out;
}

static struct id config_id(const struct spec *s)
{
    struct id out;
    spec_config_id(s, NULL, out.text);
    return out;
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *p, the_run_id_is_the_hash_of_the_canonical_text)
{
    struct spec s = parsed(train_text);
    char hex[HASH_HEX_BYTES];
    const char *canonical = spec_canonical(&s, &p->arena);
    hash_sha256_hex(hex, canonical, strlen(canonical));
    assert_memory_equal(id(&s).text, hex, 16);
    assert_null(strstr(canonical, "train.momentum")); /* 0.99 is neutral */
    assert_null(strstr(canonical, "t5"));
    assert_non_null(strstr(canonical, "train.lr=0.1\n"));
}

/* An id that changes here changes every user's results.db: raise SPEC_MEANING instead if the
 * numbers changed. */
TEST(frozen_specs_keep_their_ids)
{
    static const struct {
        const char *key, *value, *id;
    } frozen[] = {
        {"train.seed", "1", "9f819a2a1ea9fe19"},
        {"train.seed", "2", "001bf3fd98c516da"},
        {"model.position", "t5", "ae47fa07784a8071"},
        {"train.optimizer", "adam", "512f5cb65be1ea6e"},
    };
    for (size_t i = 0; i < sizeof frozen / sizeof *frozen; i++) {
        struct spec s = parsed(train_text);
        set_key(&s, frozen[i].key, frozen[i].value);
        assert_string_equal(id(&s).text, frozen[i].id);
    }
}

TEST(keys_that_do_not_apply_do_not_change_the_id)
{
    struct spec s = parsed(train_text);
    struct id before = id(&s);
    set_key(&s, "model.t5_max_distance", "32");
    set_key(&s, "train.adam_beta1", "0.5");
    set_key(&s, "model.rotary_base", "500");
    set_key(&s, "model.name", "something");
    assert_string_equal(before.text, id(&s).text);
    set_key(&s, "model.position", "t5");
    set_key(&s, "model.t5_max_distance", "128");
    before = id(&s);
    set_key(&s, "model.t5_max_distance", "32");
    assert_string_not_equal(before.text, id(&s).text);
}

/* Rows and length are in the id of a benchmark only if they are set and its mode is eval. */
TEST(a_benchmarks_own_rows_change_its_id_where_it_reads_them)
{
    static const struct {
        const char *mode, *rows, *L, *id;
        int32_t length;
    } cases[] = {{"eval", "0", "0", "4975915f42cc5b09", 0},
                 {"train", "1", "512", "3de5bc115ad9bb74", 0},
                 {"eval", "1", "512", "dec249120acd7720", 512}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec s = parsed(train_text);
        set_key(&s, "kind", "bench");
        set_key(&s, "bench.mode", cases[i].mode);
        set_key(&s, "bench.rows", cases[i].rows);
        set_key(&s, "bench.L", cases[i].L);
        assert_string_equal(id(&s).text, cases[i].id);
        assert_int_equal(spec_valid_length(&s), cases[i].length);
    }
}

TEST(a_benchmark_of_too_many_tokens_is_rejected)
{
    struct spec s = parsed(train_text);
    set_key(&s, "kind", "bench");
    set_key(&s, "bench.mode", "eval");
    set_key(&s, "bench.rows", "101");
    set_key(&s, "bench.L", "1000000");
    assert_fails(ERR_DATA, "bench.rows: 101 of 1000000 tokens are more than 100000000",
                 spec_check(&s, &e));
    set_key(&s, "bench.rows", "100");
    assert_ok(spec_check(&s, &e));
}

TEST_WITH(struct test_place *p, every_key_reads_back_what_it_writes)
{
    for (int position = 0; position < POSITION_METHODS_N; position++) {
        struct spec s = parsed(train_text);
        s.model.position = (enum spec_position)position;
        s.train.lr = 1.0 / 3.0;
        struct spec again = parsed(spec_text(&s, &p->arena));
        assert_string_equal(spec_text(&s, &p->arena), spec_text(&again, &p->arena));
        assert_true(again.train.lr == 1.0 / 3.0);
        again = parsed(spec_canonical(&s, &p->arena));
        assert_string_equal(spec_canonical(&s, &p->arena), spec_canonical(&again, &p->arena));
    }
}

TEST(seeds_share_a_config_id)
{
    struct spec s = parsed(train_text);
    struct id one = config_id(&s);
    set_key(&s, "train.seed", "2");
    assert_string_equal(one.text, config_id(&s).text);
    set_key(&s, "train.lr", "0.2");
    assert_string_not_equal(one.text, config_id(&s).text);
}

TEST(an_evaluation_is_hashed_by_its_training_and_its_own_keys)
{
    struct spec s = parsed(train_text);
    s.kind = SPEC_EVAL;
    set_key(&s, "eval.train_run", "0123456789abcdef");
    set_key(&s, "eval.split", "valid");
    set_key(&s, "eval.L", "64");
    struct id one = id(&s);
    set_key(&s, "train.lr", "7");    /* the training's keys are in its id already */
    set_key(&s, "eval.stride", "3"); /* nonoverlapping has no stride */
    assert_string_equal(one.text, id(&s).text);
    set_key(&s, "eval.targets", "100");
    assert_string_not_equal(one.text, id(&s).text);
}

/* A key that a comparison forgot would give two evaluations one number. */
TEST(evaluations_are_alike_if_only_named_keys_differ)
{
    static const struct {
        const char *key, *value;
    } changes[] = {{"eval.L", "32"},
                   {"eval.split", "test"},
                   {"eval.targets", "50"},
                   {"eval.position_scaling", "pi"},
                   {"eval.position_scaling_factor", "3"},
                   {"eval.longrope_short_factors", "1,2,3,4"},
                   {"eval.longrope_long_factors", "1,2,3,4"},
                   {"eval.alibi_bias", "key"},
                   {"eval.alibi_precision", "fp16"},
                   {"eval.attention_window", "9"},
                   {"eval.temperature", "none"},
                   {"eval.temperature_bias", "inside"},
                   {"eval.temperature_length", "7"},
                   {"eval.attention_rows", "5"},
                   {"eval.knn_neighbours", "3"},
                   {"eval.knn_temperature", "3"},
                   {"eval.knn_lambda", "0.5"}};
    static const char *const none[] = {NULL};
    struct spec s = parsed(train_text);

    s.kind = SPEC_EVAL;
    set_key(&s, "eval.train_run", "0123456789abcdef");
    set_key(&s, "eval.L", "64");
    set_key(&s, "eval.position_scaling", "longrope");
    set_key(&s, "eval.attention_window", "8");
    set_key(&s, "eval.temperature", "log");
    set_key(&s, "eval.knn_neighbours", "2");
    assert_true(spec_alike(&s, &s, none));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const char *const but[] = {"eval.checkpoint", changes[i].key, NULL};
        struct spec other = s;
        set_key(&other, changes[i].key, changes[i].value);
        assert_string_not_equal(id(&s).text, id(&other).text);
        assert_false(spec_alike(&s, &other, none));
        if (strcmp(changes[i].key, "eval.position_scaling") != 0 &&
            strcmp(changes[i].key, "eval.temperature") != 0) /* others apply with these */
            assert_true(spec_alike(&s, &other, but));
    }
}

TEST(wrong_values_are_rejected_with_the_nearest_right_one)
{
    static const struct {
        const char *key, *value, *word;
    } wrong[] = {
        {"model.position", "alibbi", "did you mean 'alibi'"},
        {"model.position", "rope", "did you mean 'rotary'"},
        {"model.position", "NoPE", "did you mean 'none'"},
        {"model.position", "T5 bias", "did you mean 't5'"},
        {"train.optimizer", "sgd", "did you mean 'nag'"},
        {"eval.split", "dev", "did you mean 'valid'"},
        {"model.layers", "0", "outside"},
        {"model.rotary_share", "0", "outside"},
        {"model.rotary_share", "nan", "not a number"},
        {"model.temperature", "log", "expected one of none, ssmax, steps"},
        {"eval.temperature", "ssmax", "expected one of none, log"},
        {"model.ssmax_start", "nan", "not a number"},
        {"model.temperature_length", "0", "outside"},
        {"model.longrope_short_factors", "1,0", "outside"},
        {"eval.longrope_long_factors", "1,-2", "outside"},
        {"model.longrope_long_factors", "1,nan", "not a list"},
        {"model.layers", "0x10", "whole number"},
        {"model.layers", "18446744073709551616", "whole number"},
        {"train.lr", "nan", "not a number"},
        {"train.lr", "1e999", "not a number"},
        {"train.lr", "1_0", "not a number"},
        {"model.final_norm", "yes", "expected true or false"},
        {"model.cutoffs", "1,2,3,4,5", "more than"},
        {"model.cutoffs", "1,,2", "list"},
        {"data.corpus", "a\nb", "control character"},
        {"eval.train_run", "0123456789abcdef0", "run id"},
        {"eval.knn_neighbours", "-1", "outside"},
        {"eval.knn_temperature", "0", "outside"},
        {"eval.knn_temperature", "-1", "outside"},
        {"eval.knn_temperature", "nan", "not a number"},
        {"eval.knn_lambda", "1.01", "outside 0 to 1"},
        {"eval.knn_lambda", "-0.1", "outside 0 to 1"},
        {"eval.knn_lambda", "nan", "not a number"},
        {"eval.knn_keys", "-1", "outside"},
        {"eval.knn_control", "untraned", "did you mean 'untrained'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct spec s;
        const struct spec_key *key = spec_key_find(wrong[i].key);
        spec_init(&s);
        assert_fails(ERR_DATA, wrong[i].word, spec_set(&s, key, wrong[i].value, &e));
        assert_fails(ERR_DATA, wrong[i].key, spec_set(&s, key, wrong[i].value, &e));
    }
}

TEST(rules_between_keys_name_both)
{
    static const struct {
        const char *key, *value, *word;
    } wrong[] = {
        {"model.heads", "7", "does not divide"},
        {"model.heads", "2", ""},
        {"model.heads", "1", ""},
        {"model.cutoffs", "600,200", "above 600"},
        {"model.cutoffs", "200,1024", "below data.vocab = 1024"},
        {"train.shard_tokens", "32", "less than one row"},
        {"model.alibi_slopes", "0.5,0.25", "2 slopes for model.heads = 8"},
        {"model.attention_sinks", "4", "without model.attention_window"},
        {"model.position_layers", "alibi", "1 entries for model.layers = 2"},
        {"model.position_layers", "alibi,none,alibi", "3 entries"},
        {"model.position_layers", "alibi,rotary", "rotary, but layers have model.position = alibi"},
        {"model.position_layers", "none,alibi", ""},
        {"model.position_layers", "", ""},
        {"model.attention_window_layers", "16,0,0", "3 entries for model.layers = 2"},
        {"model.attention_window_layers", "16,0.5", "0.5 is not a number of keys"},
        {"model.attention_window_layers", "16,0", ""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct spec s = parsed(train_text);
        set_key(&s, wrong[i].key, wrong[i].value);
        assert_fails(wrong[i].word[0] ? ERR_DATA : 0, wrong[i].word, spec_check(&s, &e));
    }
}

TEST(a_datastore_that_cannot_be_is_rejected_with_a_remedy)
{
    static const struct {
        const char *key, *value, *word;
    } wrong[] = {
        {"eval.knn_neighbours", "64", ""},
        {"eval.split", "train", "set eval.split: valid or test"},
        {"eval.precision", "bf16", "set eval.precision: fp32"},
        {"eval.knn_stride", "33", "longer than the window eval.knn_window = 32"},
        {"eval.knn_keys", "1000000000000", "set eval.knn_keys: 0 for all"},
        {"eval.knn_keys", "63", "eval.knn_neighbours: 64 is more than the 63 keys"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct spec s = parsed(train_text);
        s.kind = SPEC_EVAL;
        s.eval.split = SPEC_VALID;
        s.eval.L = 64;
        s.eval.knn.neighbours = 64;
        s.eval.knn.window = 32;
        set_key(&s, wrong[i].key, wrong[i].value);
        assert_fails(wrong[i].word[0] ? ERR_DATA : 0, wrong[i].word, spec_check(&s, &e));
        s.eval.knn.neighbours = 0; /* without a datastore its keys say nothing */
        assert_ok(spec_check(&s, &e));
    }
}

TEST(a_datastore_is_hashed_only_where_there_is_one)
{
    static const char *const keys[] = {"eval.knn_temperature", "eval.knn_lambda", "eval.knn_window",
                                       "eval.knn_stride", "eval.knn_keys"};
    struct spec s = parsed(train_text);

    s.kind = SPEC_EVAL;
    set_key(&s, "eval.train_run", "0123456789abcdef");
    set_key(&s, "eval.split", "valid");
    set_key(&s, "eval.L", "64");
    const struct id without = id(&s);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct spec other = s;
        set_key(&other, keys[i], i == 1 ? "0.5" : "100");
        assert_string_equal(without.text, id(&other).text);
        other.eval.knn.neighbours = 64;
        struct spec same = s;
        same.eval.knn.neighbours = 64;
        assert_string_not_equal(id(&same).text, id(&other).text);
        same.eval.knn.control = other.eval.knn.control = SPEC_KNN_UNIGRAM; /* has no neighbours */
        bool counts = i == 1 || i == 4;
        assert_int_equal(strcmp(id(&same).text, id(&other).text) != 0, counts);
    }
}

TEST(attention_weights_are_recorded_of_short_rows_in_fp32)
{
    static const struct {
        const char *L, *precision, *rows, *word;
    } rows[] = {
        {"512", "fp32", "100", ""},
        {"513", "fp32", "0", ""},
        {"513", "fp32", "1", "longer than the limit of 512"},
        {"512", "bf16", "1", "not recorded in bf16"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct spec s = parsed(train_text); /* an evaluation is checked with its training */
        s.kind = SPEC_EVAL;
        set_key(&s, "eval.L", rows[i].L);
        set_key(&s, "eval.precision", rows[i].precision);
        set_key(&s, "eval.attention_rows", rows[i].rows);
        assert_fails(rows[i].word[0] ? ERR_DATA : 0, rows[i].word, spec_check(&s, &e));
    }
}

TEST(lists_by_layer_are_read_back_and_change_the_id_only_if_given)
{
    char before[SPEC_ID_BYTES], after[SPEC_ID_BYTES];
    struct arena a;
    struct spec s = parsed(train_text), again;
    arena_init(&a);
    spec_run_id(&s, before);
    assert_null(strstr(spec_canonical(&s, &a), "_layers"));
    set_key(&s, "model.position_layers", "none, alibi");
    set_key(&s, "model.attention_window_layers", "0,16");
    assert_true(!spec_layer_has_position(&s.model, 0) && spec_layer_has_position(&s.model, 1));
    assert_int_equal(spec_layer_window(&s.model, 1), 16);
    assert_ok(spec_parse(&again, spec_text(&s, &a), &e));
    assert_string_equal(spec_text(&again, &a), spec_text(&s, &a));
    assert_non_null(strstr(spec_canonical(&s, &a), "model.position_layers=none,alibi\n"));
    spec_run_id(&s, after);
    assert_string_not_equal(before, after);
    again = spec_evaluated(&s, &(struct spec_eval){.mask = {.window = 9}});
    assert_true(again.model.window_layers.value[0] == 0 && again.model.window_layers.value[1] == 9);
    assert_fails(ERR_DATA, "did you mean 'alibi'",
                 spec_set(&s, spec_key_find("model.position_layers"), "alibbi,none", &e));
    static const char *const embedded[] = {"sinusoidal", "learned"};
    for (int i = 0; i < 2; i++) {
        set_key(&s, "model.position", embedded[i]);
        set_key(&s, "model.position_layers", embedded[i]);
        s.model.layers = 1;
        s.model.window_layers.n = 0;
        assert_fails(ERR_DATA, "added to the embeddings", spec_check(&s, &e));
    }
    arena_fini(&a);
}

TEST(gates_take_decay_times_in_order_and_no_cache)
{
    static const struct {
        const char *least, *most, *sinks, *word;
    } cases[] = {
        {"2", "64", "text", ""},
        {"64", "64", "text", ""},
        {"65", "64", "text", "model.forget_gate_min: 65 is above"},
        {"1000", "0", "text", ""},
        {"1", "0", "cache", "follow the text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec s = parsed(train_text);
        set_key(&s, "model.position", "forget_gate");
        set_key(&s, "model.forget_gate_min", cases[i].least);
        set_key(&s, "model.forget_gate_max", cases[i].most);
        set_key(&s, "model.attention_window", "16");
        set_key(&s, "model.attention_sinks", "2");
        set_key(&s, "model.sink_positions", cases[i].sinks);
        assert_fails(cases[i].word[0] ? ERR_DATA : 0, cases[i].word, spec_check(&s, &e));
    }
    const struct spec_key *key = spec_key_find("model.forget_gate_min");
    struct spec s = parsed(train_text);
    assert_fails(ERR_DATA, "not a number", spec_set(&s, key, "nan", &e));
    assert_fails(ERR_DATA, "outside", spec_set(&s, key, "0", &e));
}

TEST(narrow_heads_are_heads_and_see_no_sinks)
{
    static const struct {
        const char *heads, *window, *sinks, *word;
    } cases[] = {
        {"8", "0", "0", ""},
        {"9", "0", "0", "model.hard_alibi_heads: 9 of model.heads = 8"},
        {"1", "16", "4", "see no sinks"},
        {"0", "16", "4", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec s = parsed(train_text);
        set_key(&s, "model.position", "hard_alibi");
        set_key(&s, "model.hard_alibi_heads", cases[i].heads);
        set_key(&s, "model.attention_window", cases[i].window);
        set_key(&s, "model.attention_sinks", cases[i].sinks);
        assert_fails(cases[i].word[0] ? ERR_DATA : 0, cases[i].word, spec_check(&s, &e));
    }
}

TEST(a_device_rejects_a_head_width_that_it_cannot_compute)
{
    static const struct {
        int32_t dim, heads;
        bool cpu, cuda;
    } sizes[] = {
        {8, 4, true, false},  {24, 2, true, false},  {40, 2, true, false},   {80, 2, true, true},
        {512, 2, true, true}, {14, 2, false, false}, {516, 2, false, false}, {520, 2, false, false},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct spec s = parsed(train_text);
        s.model.dim = sizes[i].dim;
        s.model.heads = sizes[i].heads;
        assert_fails(sizes[i].cpu ? 0 : ERR_UNAVAILABLE, "", spec_check_device(&s, "cpu", &e));
        assert_fails(sizes[i].cuda ? 0 : ERR_UNAVAILABLE, "multiple of 8",
                     spec_check_device(&s, "cuda:0", &e));
    }
    struct spec eval = {.kind = SPEC_EVAL}; /* has no model of its own */
    assert_ok(spec_check_device(&eval, "cuda:0", &e));
}

TEST(an_evaluation_is_stretched_only_as_its_method_can_be)
{
    static const struct {
        const char *position, *scaling;
        bool allowed;
    } cases[] = {{"rotary", "pi", true},      {"rotary", "dynamic_ntk", true},
                 {"alibi", "slopes", true},   {"alibi", "pi", false},
                 {"rotary", "slopes", false}, {"t5", "yarn", false},
                 {"learned", "pi", false},    {"none", "none", true},
                 {"rotary", "llama3", true},  {"alibi", "llama3", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec s = parsed(train_text);
        set_key(&s, "model.position", cases[i].position);
        set_key(&s, "kind", "eval");
        set_key(&s, "eval.L", "128");
        set_key(&s, "eval.position_scaling", cases[i].scaling);
        assert_fails(cases[i].allowed ? 0 : ERR_DATA, "does not apply", spec_check(&s, &e));
    }
}

/* Heads have 8 features; evaluations are of rows of 128 tokens. */
TEST_WITH(struct test_place *p, what_a_method_cannot_do_is_refused_with_place_and_value)
{
    static const struct {
        const char *lines, *word; /* "": accepted */
    } cases[] = {
        {"model.position=rotary\nmodel.rotary_share=0.25\n", ""},
        {"model.position=rotary\nmodel.rotary_share=0.4\n",
         "model.rotary_share: 0.4 of 8 features is 3"},
        {"model.position=rotary\nmodel.rotary_share=0.2\n", "is 1, expected an even number"},
        {"model.position=rotary\nmodel.rotary_share_form=proportional\nmodel.rotary_share=0.2\n",
         "set model.position: none"},
        {"model.position=rotary\nmodel.rotary_share=0.25\nmodel.rope_scaling=ntk\n",
         "at least 4 rotated features"},
        {"model.position=rotary\nmodel.rope_scaling=llama3\nmodel.llama3_low_freq_factor=4\n",
         "model.llama3_high_freq_factor: 4 must be above"},
        {"model.position=rotary\nmodel.rope_scaling=longrope\n",
         "model.longrope_short_factors: 0 factors, expected 4"},
        {"model.position=rotary\nmodel.rope_scaling=longrope\nmodel.rotary_share=0.5\n"
         "model.longrope_short_factors=1,2\nmodel.longrope_long_factors=1,2,3\n",
         "model.longrope_long_factors: 3 factors, expected 2"},
        {"model.position=xpos\nmodel.xpos_scale_base=1\n", ""},
        {"model.position=xpos\nmodel.rotary_base=1250\nmodel.xpos_scale_base=1\nkind=eval\neval.L="
         "129\n",
         "model.xpos_scale_base: 1 allows rows of at most 128 tokens, not 129"},
        {"model.position=xpos\nkind=eval\neval.L=128\neval.position_scaling=pi\n",
         "does not apply to model.position = xpos"},
        {"model.position=alibi\nmodel.temperature=ssmax\nmodel.temperature_bias=inside\n", ""},
        {"model.position=none\nmodel.temperature=steps\nmodel.temperature_length=32\n", ""},
        {"model.temperature=steps\n",
         "steps applies to layers without position, and model.position = alibi has none"},
        {"model.position=hard_alibi\nmodel.temperature=ssmax\n", "model.temperature: ssmax counts"},
        {"kind=eval\neval.L=128\neval.temperature=log\neval.temperature_bias=inside\n", ""},
        {"kind=eval\neval.L=128\neval.temperature=log\neval.temperature_length=1\n",
         "eval.temperature_length: 1"},
        {"model.temperature=ssmax\nkind=eval\neval.L=128\neval.temperature=log\n",
         "eval.temperature: log would replace model.temperature = ssmax"},
        {"model.block=parallel\n", "model.block = parallel: only pretrained models have it"},
        {"model.kv_heads=3\n", "model.kv_heads: 3 does not divide model.heads = 8"},
        {"train.origin=pretrained\n", "model.softmax: adaptive"},
        {"train.origin=pretrained\nmodel.softmax=plain\nmodel.block=post\n", ""},
        {"kind=eval\neval.L=128\nmodel.alibi_rounding=keys\neval.position_scaling=slopes\n",
         "the bias is rounded or per key"},
        {"kind=eval\neval.L=128\nmodel.alibi_rounding=keys\neval.attention_window=8\n"
         "eval.attention_sinks=2\neval.sink_positions=cache\n",
         "the bias is a number of the key"},
        {"kind=eval\neval.L=128\neval.alibi_bias=key\neval.attention_window=8\n"
         "eval.attention_sinks=2\neval.sink_positions=cache\n",
         "the bias is a number of the key"},
        {"kind=eval\neval.L=128\neval.alibi_bias=key\neval.alibi_precision=bf16\n", ""},
        {"kind=eval\neval.L=65536\neval.alibi_precision=fp16\n", "fp16 ends at 65504"},
        {"model.position=rotary\nkind=eval\neval.L=128\neval.alibi_precision=bf16\n",
         "do not apply to model.position = rotary"},
        {"kind=eval\neval.L=128\nmodel.alibi_rounding=keys\neval.attention_window=8\n"
         "eval.attention_sinks=2\neval.sink_positions=text\n",
         ""},
        {"kind=eval\neval.L=128\ntrain.origin=pretrained\nmodel.softmax=plain\n"
         "model.position=rotary\nmodel.rope_scaling=yarn\neval.position_scaling=pi\n",
         "eval.position_scaling: pi would replace model.rope_scaling = yarn"},
        {"kind=eval\neval.L=128\ntrain.origin=pretrained\nmodel.softmax=plain\n"
         "model.position=rotary\neval.position_scaling=pi\n",
         ""},
        {"model.position=rotary\nkind=eval\neval.L=128\neval.position_scaling=longrope\n"
         "eval.longrope_short_factors=1,1,1,1\neval.longrope_long_factors=1,2,3,4\n",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec s = parsed(train_text);
        char *rest = arena_strdup(&p->arena, cases[i].lines), *line;
        while ((line = strtok_r(rest, "\n", &rest))) {
            char *equals = strchr(line, '=');
            *equals = '\0';
            set_key(&s, line, equals + 1);
        }
        assert_fails(cases[i].word[0] ? ERR_DATA : 0, cases[i].word, spec_check(&s, &e));
    }
}

/* Layer 0 has no window of its own. */
TEST(an_evaluation_s_window_is_that_of_every_layer_of_a_pretrained_model)
{
    struct spec s = parsed(train_text);
    set_key(&s, "model.attention_window_layers", "0,6");
    set_key(&s, "eval.attention_window", "9");
    for (int pretrained = 0; pretrained < 2; pretrained++) {
        s.train.origin = pretrained ? SPEC_PRETRAINED : SPEC_TRAINED;
        const struct spec used = spec_evaluated(&s, &s.eval);
        assert_int_equal(spec_layer_window(&used.model, 0), pretrained ? 9 : 0);
        assert_int_equal(spec_layer_window(&used.model, 1), 9);
    }
}

TEST(pretrained_models_differ_in_what_they_compute_not_in_their_names_or_texts)
{
    static const struct {
        const char *name, *value, *found;
    } cases[] = {
        {"model.name", "other", NULL},
        {"model.files", "46ae", NULL},
        {"data.corpus", "other", NULL},
        {"data.train_tokens", "5", NULL},
        {"scale", "none", NULL},
        {"train.seed", "7", NULL},        /* not known of a pretrained model */
        {"model.t5_buckets", "16", NULL}, /* of another position method */
        {"model.norm_eps", "1e-6", "model.norm_eps"},
        {"model.norm", "rmsnorm", "model.norm"}, /* not model.norm_bias, which follows from it */
        {"model.alibi_slopes", "0.5", "model.alibi_slopes"},
        {"model.attention_window_layers", "0,6", "model.attention_window_layers"},
        {"train.L", "128", "train.L"},
        {"data.vocab", "1025", "data.vocab"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec s = parsed(train_text), other;
        set_key(&s, "train.origin", "pretrained");
        other = s;
        set_key(&other, cases[i].name, cases[i].value);
        for (int swapped = 0; swapped < 2; swapped++) {
            const struct spec_key *key =
                swapped ? spec_model_difference(&other, &s) : spec_model_difference(&s, &other);
            if (!cases[i].found)
                assert_null(key);
            else
                assert_string_equal(key ? key->name : "", cases[i].found);
        }
    }
}

TEST(learned_positions_are_defined_up_to_the_training_length)
{
    struct spec s = parsed(train_text);
    set_key(&s, "model.position", "learned");
    set_key(&s, "train.validate_L", "65");
    assert_fails(ERR_DATA, "train.validate_L: 65 is longer than train.L = 64", spec_check(&s, &e));
    s.kind = SPEC_EVAL;
    s.eval.L = 64;
    assert_true(spec_is_defined(&s));
    s.eval.L = 65;
    assert_false(spec_is_defined(&s));
    s.model.position = SPEC_ALIBI;
    assert_true(spec_is_defined(&s));
}

TEST_WITH(struct test_place *p, a_list_of_numbers_reads_back)
{
    struct spec s = parsed(train_text);
    const struct spec_key *key = spec_key_find("model.alibi_slopes");
    assert_string_equal(spec_get(&s, key, &p->arena), "none");
    set_key(&s, "model.alibi_slopes", "0.9, 1e-3 ,0");
    assert_string_equal(spec_get(&s, key, &p->arena), "0.9,0.001,0");
    assert_int_equal(spec_set(&s, key, "0.5,,1", &e), ERR_DATA);
    assert_fails(ERR_DATA, "outside", spec_set(&s, key, "0.5,-1", &e));
}

TEST(a_cpu_rejects_bf16_of_the_key_that_applies)
{
    struct spec s = parsed(train_text);
    const char *key;
    s.eval.precision = SPEC_BF16; /* does not apply to a training */
    assert_int_equal(spec_precision(&s, &key), SPEC_FP32);
    assert_string_equal(key, "train.precision");
    assert_ok(spec_check_device(&s, "cpu", &e));
    s.train.precision = SPEC_BF16;
    assert_ok(spec_check_device(&s, "cuda:1", &e));
    assert_ok(spec_check_device(&s, "check:cuda:emulated", &e));
    assert_fails(ERR_UNAVAILABLE, "--set train.precision=fp32", spec_check_device(&s, "cpu", &e));
    s.kind = SPEC_EVAL;
    assert_fails(ERR_UNAVAILABLE, "--set eval.precision=fp32",
                 spec_check_device(&s, "check:cpu", &e));
}

TEST(an_unknown_line_of_a_spec_file_is_named)
{
    struct spec s;
    assert_fails(ERR_DATA, "line 2", spec_parse(&s, "kind=train\nmodel.layer=2\n", &e));
    assert_fails(ERR_DATA, "model.layers", spec_parse(&s, "kind=train\nmodel.layer=2\n", &e));
    assert_fails(ERR_DATA, "meaning", spec_parse(&s, "meaning=999\n", &e));
}

/* A key without a neutral value must be given: every accepted text parses again from its canonical
 * text. */
TEST_WITH(struct test_place *p, a_spec_that_lacks_a_key_is_rejected)
{
    for (const char *line = train_text; *line;) {
        struct spec s;
        const char *end = strchr(line, '\n') + 1;
        char *name = arena_strndup(&p->arena, line, strcspn(line, "="));
        const char *text =
            arena_printf(&p->arena, "%.*s%s", (int)(line - train_text), train_text, end);
        bool optional = spec_key_find(name)->neutral != NULL;
        assert_fails(optional ? 0 : ERR_DATA, arena_printf(&p->arena, "%s is missing", name),
                     spec_parse(&s, text, &e));
        if (optional) (void)parsed(spec_canonical(&s, &p->arena));
        line = end;
    }
}

TEST(a_key_that_does_not_apply_may_be_absent)
{
    struct spec s =
        parsed("kind=eval\nscale=mini\neval.train_run=0123456789abcdef\neval.split=valid\n"
               "eval.window=nonoverlapping\neval.L=64\n");
    assert_fails(ERR_DATA, "eval.stride is missing",
                 spec_parse(&s,
                            "kind=eval\nscale=mini\neval.train_run=0123456789abcdef\n"
                            "eval.split=valid\neval.window=sliding\neval.L=64\n",
                            &e));
}

TEST(a_training_with_a_parent_is_hashed_by_it)
{
    struct spec s, other;
    char id[SPEC_ID_BYTES], child[SPEC_ID_BYTES], changed[SPEC_ID_BYTES];

    spec_init(&s);
    spec_run_id(&s, id);
    s.train.continues = SPEC_CONTINUES_WEIGHTS; /* means nothing without a parent */
    s.train.from_checkpoint = SPEC_BEST;
    s.train.keep_state = true; /* changes no number */
    spec_run_id(&s, changed);
    assert_string_equal(changed, id);
    other = s;
    snprintf(s.train.from, sizeof s.train.from, "0123456789abcdef");
    spec_run_id(&s, child);
    assert_string_not_equal(child, id);
    s.train.continues = SPEC_CONTINUES_ALL;
    spec_run_id(&s, changed);
    assert_string_not_equal(changed, child);
    /* Children of the seeds of one configuration share a config id. */
    s.train.seed = 1;
    spec_config_id(&s, "fedcba9876543210", id);
    s.train.seed = 2;
    snprintf(s.train.from, sizeof s.train.from, "00112233445566ff");
    spec_config_id(&s, "fedcba9876543210", changed);
    assert_string_equal(changed, id);
    assert_string_equal(spec_needs(&s, NULL), "00112233445566ff");
    assert_string_equal(spec_needs(&other, NULL), "");
}

TEST(a_scaled_child_starts_from_its_parents_rows)
{
    struct spec parent, child;

    spec_init(&parent);
    parent.model.position = SPEC_ROTARY;
    parent.train.L = 64;
    parent.train.updates = 5;
    child = parent;
    spec_run_id(&parent, child.train.from);
    child.train.continues = SPEC_CONTINUES_WEIGHTS;
    child.train.L = 128;
    assert_ok(spec_continue(&child, &parent, &e));
    assert_int_equal(child.option.original_length, 0); /* without a scaling: its own rows */
    child.option.scaling = POSITION_PI;
    assert_ok(spec_continue(&child, &parent, &e));
    assert_int_equal(child.option.original_length, 64);
    struct spec grandchild = child;
    grandchild.option.original_length = 0;
    grandchild.train.L = 256;
    assert_ok(spec_continue(&grandchild, &child, &e));
    assert_int_equal(grandchild.option.original_length, 64);
    /* An evaluation with another scaling starts from the same rows. */
    const struct spec_eval eval = {.scaling = POSITION_YARN, .L = 512};
    assert_int_equal(spec_evaluated(&grandchild, &eval).option.original_length, 64);
    child.option.scaling = POSITION_UNSCALED;
    assert_int_equal(spec_evaluated(&child, &eval).option.original_length, 0);
}
