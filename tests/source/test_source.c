/* test_source.c - a folder of weights as a source: as this program registers it, as programs before
 * schema version 6 did (tests/fixtures/old_source), and records that name other paths. */
#include "harness/test.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "pretrained/pretrained.h"
#include "source/source.h"

#define OLD "tests/fixtures/old_source/2a91c4f6dac489f4"
#define BLOOM "tests/fixtures/open_models/bloom_complete"
#define TOKENIZER "9fd9c7c86b2c3295195daab233ab804312312eb08bf53a01b30994504e15570f"
static const char run_id[] = "2a91c4f6dac489f4";

/* The absolute path of the model's folder. */
static const char *bloom(struct test_place *p)
{
    char path[PATH_MAX];

    assert_non_null(realpath(BLOOM, path));
    return arena_strdup(&p->arena, path);
}

/* runs/RUN/NUMBER in the place. */
static const char *make_folder(struct test_place *p, int number)
{
    const char *path = arena_printf(&p->arena, "%s/runs/%s/%d", p->path, run_id, number);
    assert_ok(file_make_dirs(path, &e));
    return path;
}

/* Copies what the older program left, with a .place of its own. */
static void register_old(struct test_place *p)
{
    static const char *const names[] = {"spec", "events", "pretrained.safetensors"};
    const char *dir = make_folder(p, 1);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text;
        size_t n;
        assert_ok(file_read(&p->arena, &text, &n, arena_printf(&p->arena, OLD "/1/%s", names[i]),
                            1 << 20, &e));
        test_write(arena_printf(&p->arena, "%s/%s", dir, names[i]), text, n);
    }
    const char *place = arena_printf(&p->arena, TOKENIZER "\n%s\n", bloom(p));
    test_write(arena_printf(&p->arena, "%s/pretrained.safetensors.place", dir), place,
               strlen(place));
}

/* The spec that the older program registered. */
static struct spec old_spec(struct test_place *p)
{
    struct spec *spec;
    int32_t n;

    assert_ok(run_folder_read_specs(&spec, &n, &p->arena, OLD "/1", &e));
    return spec[0];
}

/* Registers the folder under number 2 with the spec of the older program. */
static void register_now(struct test_place *p, const struct record_source *changes)
{
    const struct spec spec = old_spec(p);
    struct pretrained_file *file;
    struct strbuf lines;
    int32_t n;

    strbuf_init(&lines, &p->arena);
    assert_ok(pretrained_files(&file, &n, &p->arena, bloom(p), NULL, NULL, &e));
    for (int32_t i = 0; i < n; i++) strbuf_addf(&lines, "%s  %s\n", file[i].sha256, file[i].name);
    const struct record_source source = {.run_id = run_id,
                                         .kind = changes->kind,
                                         .name = "bloom",
                                         .path = changes->path ? changes->path : bloom(p),
                                         .sha256 = spec.model.files,
                                         .tokenizer = TOKENIZER,
                                         .files = lines.text,
                                         .updates = RECORD_NONE,
                                         .tokens_per_update = RECORD_NONE,
                                         .parameters = RECORD_NONE,
                                         .code_id = "c0de"};
    assert_ok(source_register(make_folder(p, 2), &spec, &source, &e));
}

/* Compares all values with those of the folder. */
static void check_values(const struct source *s)
{
    struct pretrained *folder;
    float *ours = malloc((size_t)s->params.largest_n * sizeof *ours);
    float *theirs = malloc((size_t)s->params.largest_n * sizeof *theirs);

    assert_ok(pretrained_open(&folder, BLOOM, &e));
    assert_int_equal(s->params.parameters_n, 26832); /* of the older program's plan */
    for (int32_t i = 0; i < s->params.tensors_n; i++) {
        size_t n = (size_t)s->params.tensor[i].rows * (size_t)s->params.tensor[i].cols;
        assert_ok(source_read(s, i, ours, &e));
        assert_ok(pretrained_read(folder, i, theirs, &e));
        assert_memory_equal(ours, theirs, n * sizeof *ours);
    }
    pretrained_close(folder);
    free(ours);
    free(theirs);
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *p, a_folder_that_an_older_program_registered_is_read)
{
    struct source s;

    register_old(p);
    assert_ok(source_open(&s, &p->project, run_id, SPEC_BEST, NULL, NULL, &e));
    assert_string_equal(s.path, bloom(p));
    assert_string_equal(s.tokenizer, TOKENIZER);
    /* of the file without tensors, which its evaluations recorded */
    assert_string_equal(s.sha256,
                        "f00232c37475f09022f6bd37dc5d9357b8c179885c08195a59d1430ed2e245f5");
    assert_true(s.is_folder);
    check_values(&s);
    assert_ok(source_check(&s, &e));
    source_close(&s);
}

TEST_WITH(struct test_place *p, what_is_registered_last_is_the_source)
{
    struct source s;

    register_old(p);
    register_now(p, &(struct record_source){0});
    assert_ok(source_open(&s, &p->project, run_id, SPEC_LAST, NULL, NULL, &e));
    assert_string_equal(s.sha256, s.spec.model.files);
    check_values(&s);
    source_close(&s);
}

TEST_WITH(struct test_place *p, a_record_names_only_paths_of_its_kind)
{
    static const struct record_source wrong[] = {{.kind = "folder", .path = "bloom"},
                                                 {.kind = "checkpoint", .path = "/etc/passwd"},
                                                 {.kind = "authors", .path = "../1/spec"}};
    struct source s;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        register_now(p, &wrong[i]);
        assert_fails(ERR_DATA, "is not a path of weights of kind",
                     source_open(&s, &p->project, run_id, SPEC_BEST, NULL, NULL, &e));
        test_folder_remove(arena_printf(&p->arena, "%s/runs", p->path));
    }
    register_now(p, &(struct record_source){.kind = "cloud", .path = "x"});
    assert_fails(ERR_UNAVAILABLE, "a newer version registered its weights (cloud)",
                 source_open(&s, &p->project, run_id, SPEC_BEST, NULL, NULL, &e));
}

TEST_WITH(struct test_place *p, the_kind_of_a_source_follows_from_the_origin_of_its_training)
{
    static const struct {
        const char *origin, *kind;
        bool is_folder;
    } cases[] = {{"trained", "checkpoint", false},
                 {"authors", "authors", false},
                 {"pretrained", "folder", true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec spec = old_spec(p);
        struct record r;
        const char *dir = make_folder(p, 3 + (int)i);
        assert_ok(spec_set(&spec, spec_key_find("train.origin"), cases[i].origin, &e));
        const struct record_source source = {.run_id = run_id,
                                             .name = "x",
                                             .path = "y",
                                             .sha256 = spec.model.files,
                                             .code_id = "c0de"};
        assert_ok(source_register(dir, &spec, &source, &e));
        assert_int_equal(run_folder_find(&r, &p->arena, dir, EVENT_SOURCE, &e), 1);
        assert_string_equal(r.source.kind, cases[i].kind);
        assert_int_equal(source_is_folder(r.source.kind), cases[i].is_folder);
    }
    assert_false(source_is_folder(NULL));
}
