/* test_folder.c - damaged and hostile folders: each is refused with an exit status and a message,
 * in little time and memory. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "pretrained/fixture.h"

static const double SECONDS_MAX = 1;
enum { MEMORY_MAX_KB = 100 << 10 };

#define CONFIG "config.json"
#define SINGLE "model.safetensors"
#define INDEX SINGLE ".index.json"
#define Q_PROJ "'model.layers.0.self_attn.q_proj.weight': {'dtype': "
#define ROPE(object) CONFIG, "'rope_scaling': null", "'rope_scaling': " object

/* An edit of a file of the valid folder. */
static const struct edit {
    const char *name, *file, *from, *to;
} edits[] = {
    {"valid", CONFIG, "null", "null"},
    {"valid_remote_code_named", CONFIG, "'llama'",
     "'llama', 'auto_map': {'AutoModelForCausalLM': 'modeling_x.LlamaForCausalLM'}"},
    {"valid_unaligned", SINGLE, "}}", "}} "},
    {"header_not_json", SINGLE, "__metadata__", "__meta\xFF"},
    {"offsets_overlap", SINGLE, "[4976, 5040]", "[4972, 5036]"},
    {"offsets_outside", SINGLE, "[4848, 4976]", "[4611686018427387904, 4611686018427388032]"},
    {"shape_overflows", SINGLE, "[8, 8]", "[4294967296, 4294967296]"},
    {"dtype_fp8", SINGLE, Q_PROJ "'F16'", Q_PROJ "'F8_E4M3'"},
    {"dtype_integer", SINGLE, Q_PROJ "'F16', 'shape': [8, 8]", Q_PROJ "'U8', 'shape': [8, 16]"},
    {"tensor_missing", SINGLE, "down_proj.weight", "down_proj.bias"},
    {"tensor_extra", SINGLE, "'model.norm",
     "'model.layers.1.mlp.up_proj.weight': {'dtype': 'F16', 'shape': [0], 'data_offsets': [0, 0]}, "
     "'model.norm"},
    {"buffer_extra", SINGLE, "'model.norm",
     "'model.layers.1.rotary_emb.inv_freq': {'dtype': 'I8', 'shape': [0], 'data_offsets': [0, 0]}, "
     "'model.norm"},
    {"shape_wrong", SINGLE, Q_PROJ "'F16', 'shape': [8, 8]", Q_PROJ "'F16', 'shape': [16, 4]"},
    {"config_heads_negative", CONFIG, "'num_attention_heads': 2", "'num_attention_heads': -2"},
    {"config_heads_indivisible", CONFIG, "'num_attention_heads': 2", "'num_attention_heads': 3"},
    {"config_kv_heads_indivisible", CONFIG, "'num_key_value_heads': 1", "'num_key_value_heads': 3"},
    {"config_sizes_huge", CONFIG, "'hidden_size': 8", "'hidden_size': 1099511627776"},
    {"config_number_as_text", CONFIG, "'hidden_size': 8", "'hidden_size': '8'"},
    {"config_whole_real", CONFIG, "'hidden_size': 8", "'hidden_size': 8.0"},
    {"config_fraction", CONFIG, "'num_hidden_layers': 1", "'num_hidden_layers': 1.5"},
    {"config_key_missing", CONFIG, "'hidden_size': 8,", ""},
    {"config_ffn_missing", CONFIG, "'intermediate_size': 8,", ""},
    {"config_key_twice", CONFIG, "'hidden_size': 8", "'hidden_size': 8, 'hidden_size': 8"},
    {"config_not_object", CONFIG, "{", "[{"},
    {"config_activation_unknown", CONFIG, "'silu'", "'quick_gelu'"},
    {"config_eps_negative", CONFIG, "1e-06", "-1e-06"},
    {"config_head_missing", CONFIG, "'tie_word_embeddings': true", "'tie_word_embeddings': false"},
    {"family_remote_code", CONFIG, "'llama'",
     "'baichuan', 'auto_map': {'AutoModelForCausalLM': 'modeling_baichuan.BaichuanForCausalLM'}"},
    {"family_encoder_decoder", CONFIG, "'llama'", "'t5'"},
    {"family_encoder_flag", CONFIG, "'llama'", "'llama', 'is_encoder_decoder': true"},
    {"family_experts", CONFIG, "'llama'", "'mixtral', 'num_local_experts': 8"},
    {"family_missing", CONFIG, "'model_type': 'llama',", ""},
    {"quantized_gptq", CONFIG, "'llama'",
     "'llama', 'quantization_config': {'quant_method': 'gptq', 'bits': 4}"},
    {"rope_unknown", ROPE("{'type': 'longrope', 'short_factor': [1.0, 1.0]}")},
    {"rope_factor_below_1", ROPE("{'type': 'linear', 'factor': 0.0}")},
    {"rope_factor_missing", ROPE("{'type': 'dynamic'}")},
    {"rope_factor_of_two_kinds",
     ROPE("{'type': 'linear', 'factor': 2}, 'rope_parameters': {'type': 'linear', 'factor': 3}")},
    {"rope_types_differ",
     ROPE("{'type': 'linear', 'factor': 2}, 'rope_parameters': {'rope_theta': 100}")},
    {"rope_llama3_bounds",
     ROPE("{'rope_type': 'llama3', 'factor': 8, 'low_freq_factor': 4, 'high_freq_factor': 4}")},
    {"rope_nested", ROPE("{'full_attention': {'rope_type': 'default'}}")},
    {"rope_text", ROPE("'linear'")},
    {"index_map_missing", INDEX, "", "{'metadata': {}}"},
    {"index_file_missing", INDEX, "", "{'weight_map': {'model.norm.weight': 'b.safetensors'}}"},
    {"index_path_escapes", INDEX, "", "{'weight_map': {'model.norm.weight': '../b.safetensors'}}"},
    {"index_not_text", INDEX, "", "{'weight_map': {'model.norm.weight': 1}}"},
};

/* Other damage. */
static void truncate_weights(struct test_place *p, const char *folder)
{
    assert_int_equal(truncate(arena_printf(&p->arena, "%s/" SINGLE, folder), 6782), 0);
}

static void poke(struct test_place *p, const char *folder, long at, const void *bytes, size_t n)
{
    FILE *f = fopen(arena_printf(&p->arena, "%s/" SINGLE, folder), "r+b");

    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void lengthen_header(struct test_place *p, const char *folder)
{
    const uint64_t n = 1ull << 40;
    poke(p, folder, 0, &n, sizeof n);
}

static void put_nan(struct test_place *p, const char *folder)
{
    const uint16_t nan = 0x7E00;
    poke(p, folder, 8 + 1168 + 4800, &nan, sizeof nan); /* model.norm.weight */
}

static void pickle(struct test_place *p, const char *folder)
{
    assert_int_equal(rename(arena_printf(&p->arena, "%s/" SINGLE, folder),
                            arena_printf(&p->arena, "%s/pytorch_model.bin", folder)),
                     0);
}

static void remove_weights(struct test_place *p, const char *folder)
{
    assert_int_equal(unlink(arena_printf(&p->arena, "%s/" SINGLE, folder)), 0);
}

/* Makes two files of the one, each with all tensors, and an index that has one in the second. */
static void double_tensor(struct test_place *p, const char *folder)
{
    size_t n;
    char *bytes = test_place_read(p, "index_tensor_twice/" SINGLE, &n);

    test_write(arena_printf(&p->arena, "%s/b.safetensors", folder), bytes, n);
    test_write(arena_printf(&p->arena, "%s/a.safetensors", folder), bytes, n);
    remove_weights(p, folder);
    open_folder_write(p, folder, INDEX,
                      "{'weight_map': {'model.embed_tokens.weight': 'a.safetensors', "
                      "'model.norm.weight': 'b.safetensors'}}");
}

static void link_out(struct test_place *p, const char *folder)
{
    const char *to = test_place_path(p, "valid/" SINGLE);

    remove_weights(p, folder);
    assert_int_equal(symlink(to, arena_printf(&p->arena, "%s/" SINGLE, folder)), 0);
}

static void link_within(struct test_place *p, const char *folder)
{
    assert_int_equal(rename(arena_printf(&p->arena, "%s/" SINGLE, folder),
                            arena_printf(&p->arena, "%s/blob", folder)),
                     0);
    assert_int_equal(symlink("blob", arena_printf(&p->arena, "%s/" SINGLE, folder)), 0);
}

static void make_fifo(struct test_place *p, const char *folder)
{
    remove_weights(p, folder);
    assert_int_equal(mkfifo(arena_printf(&p->arena, "%s/" SINGLE, folder), 0600), 0);
}

static void make_config_fifo(struct test_place *p, const char *folder)
{
    const char *path = arena_printf(&p->arena, "%s/" CONFIG, folder);

    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void make_directory(struct test_place *p, const char *folder)
{
    remove_weights(p, folder);
    assert_int_equal(mkdir(arena_printf(&p->arena, "%s/" SINGLE, folder), 0700), 0);
}

static void link_device(struct test_place *p, const char *folder)
{
    const char *path = arena_printf(&p->arena, "%s/" CONFIG, folder);

    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/zero", path), 0);
}

static void fill_config(struct test_place *p, const char *folder)
{
    char *text = arena_alloc(&p->arena, (1 << 20) + 2);

    memset(text, ' ', (1 << 20) + 1);
    open_folder_write(p, folder, CONFIG, text);
}

static void nest_config(struct test_place *p, const char *folder)
{
    char *text = arena_alloc(&p->arena, 100001);

    memset(text, '[', 100000);
    open_folder_write(p, folder, CONFIG, text);
}

/* A header of 16 MiB with a million tensors, or with a million objects in its metadata. */
static void fill_header(struct test_place *p, const char *folder)
{
    const uint64_t n = 16 << 20;
    char *bytes = arena_alloc(&p->arena, n + 9);
    size_t used = 9;

    memcpy(bytes, &n, sizeof n);
    bytes[8] = '{';
    for (int i = 0; i < 1000000; i++) used += (size_t)sprintf(bytes + used, "\"%x\":{},", i);
    memset(bytes + used, ' ', n + 8 - used);
    bytes[n + 7] = '}';
    test_write(arena_printf(&p->arena, "%s/" SINGLE, folder), bytes, n + 8);
}

static const struct damage {
    const char *name;
    void (*make)(struct test_place *, const char *folder);
} damages[] = {
    {"truncated", truncate_weights},
    {"header_too_long", lengthen_header},
    {"weight_nan", put_nan},
    {"weights_pickled_only", pickle},
    {"weights_absent", remove_weights},
    {"index_tensor_twice", double_tensor},
    {"link_out", link_out},
    {"link_within", link_within},
    {"fifo", make_fifo},
    {"config_fifo", make_config_fifo},
    {"directory", make_directory},
    {"config_device", link_device},
    {"config_too_long", fill_config},
    {"config_deep", nest_config},
    {"header_full", fill_header},
};

/* Adds the exit status and the message of a folder, in which FOLDER stands for its path. */
static void add_outcome(struct strbuf *out, const char *name, const char *folder)
{
    struct err e = {0};
    clock_t started = clock();
    int status = err_exit_code(open_folder_read(folder, &e));
    double seconds = (double)(clock() - started) / CLOCKS_PER_SEC;

    if (seconds > SECONDS_MAX) fail_msg("%s took %g s", name, seconds);
    strbuf_addf(out, "%s: %d", name, status);
    if (e.text[0]) strbuf_add(out, " ");
    for (const char *p = e.text; *p;) {
        size_t n = strlen(folder);
        bool is_folder = strncmp(p, folder, n) == 0;
        strbuf_addf(out, "%.*s", is_folder ? 6 : 1, is_folder ? "FOLDER" : p);
        p += is_folder ? n : 1;
    }
    strbuf_add(out, "\n");
}

static long memory_kb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *p, each_damaged_folder_has_its_message)
{
    struct strbuf out;
    long before = memory_kb();

    strbuf_init(&out, &p->arena);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        const struct edit *x = &edits[i];
        const char *folder = open_folder_copy(p, x->name);
        if (*x->from) {
            open_folder_edit(p, folder, x->file, x->from, x->to);
        } else {
            remove_weights(p, folder);
            open_folder_write(p, folder, x->file, x->to);
        }
        add_outcome(&out, x->name, folder);
    }
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const char *folder = open_folder_copy(p, damages[i].name);
        damages[i].make(p, folder);
        add_outcome(&out, damages[i].name, folder);
    }
    add_outcome(&out, "absent", test_place_path(p, "absent"));
    assert_golden("pretrained/golden/folders.txt", out.text);
#ifndef __SANITIZE_ADDRESS__
    assert_in_range(memory_kb() - before, 0, MEMORY_MAX_KB);
#else
    (void)before;
#endif
}

TEST_WITH(struct test_place *p, a_file_that_becomes_shorter_is_an_error)
{
    const char *folder = open_folder_copy(p, "shorter");
    struct pretrained *open;
    float out[2400];

    assert_ok(pretrained_open(&open, folder, &e));
    assert_ok(pretrained_read(open, 0, out, &e));
    assert_int_equal(truncate(arena_printf(&p->arena, "%s/" SINGLE, folder), 2000), 0);
    assert_fails(ERR_DATA, "model.embed_tokens.weight", pretrained_read(open, 0, out, &e));
    pretrained_close(open);
}

TEST_WITH(struct test_place *p, a_folder_that_is_deleted_is_read_to_its_end)
{
    const char *folder = open_folder_copy(p, "deleted");
    struct pretrained *open;
    float out[2400];

    assert_ok(pretrained_open(&open, folder, &e));
    assert_ok(dir_remove_tree(AT_FDCWD, folder, NULL, &e));
    assert_ok(pretrained_read(open, 0, out, &e));
    pretrained_close(open);
}

/* Counts the calls, and ends the work at the one that *context names. */
struct ticks {
    int n, last;
    double share;
};
static int tick_until_last(void *context, double share, struct err *e)
{
    struct ticks *t = context;

    t->share = share;
    return ++t->n == t->last ? ERR(e, ERR_INTERRUPTED, "stopped") : 0;
}

TEST_WITH(struct test_place *p, the_fingerprint_is_that_of_config_and_weights)
{
    const char *folder = open_folder_copy(p, "files");
    static const char *const names[] = {"config.json", "model.safetensors", "tokenizer.json",
                                        "tokenizer_config.json"};
    struct pretrained_file *file;
    struct ticks ticks = {0}, stop = {.last = 2};
    char first[HASH_HEX_BYTES], second[HASH_HEX_BYTES], lines[300], hash[HASH_HEX_BYTES];
    int32_t n;

    open_folder_write(p, folder, "vocab.json", "{}"); /* is not read beside tokenizer.json */
    assert_ok(pretrained_files(&file, &n, &p->arena, folder, tick_until_last, &ticks, &e));
    assert_int_equal(n, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(file[i].name, names[i]);
        assert_ok(hash_file(hash, arena_printf(&p->arena, "%s/%s", folder, names[i]), &e));
        assert_string_equal(file[i].sha256, hash);
    }
    assert_int_equal(file[1].bytes, 6792);
    assert_int_equal(ticks.n, 4);
    assert_true(ticks.share == 1);
    pretrained_fingerprint(first, file, n);
    snprintf(lines, sizeof lines, "%s  config.json\n%s  model.safetensors\n", file[0].sha256,
             file[1].sha256);
    hash_sha256_hex(hash, lines, strlen(lines));
    assert_string_equal(first, hash);

    open_folder_write(p, folder, "tokenizer.json", "{}");
    assert_ok(pretrained_files(&file, &n, &p->arena, folder, NULL, NULL, &e));
    pretrained_fingerprint(second, file, n);
    assert_string_equal(first, second);
    open_folder_edit(p, folder, "config.json", "null", "null ");
    assert_ok(pretrained_files(&file, &n, &p->arena, folder, NULL, NULL, &e));
    pretrained_fingerprint(second, file, n);
    assert_string_not_equal(first, second);
    assert_fails(ERR_INTERRUPTED, "stopped",
                 pretrained_files(&file, &n, &p->arena, folder, tick_until_last, &stop, &e));
}
