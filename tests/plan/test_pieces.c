/* test_pieces.c - what files of data/models and checkpoints.yaml may say: values, and refusals word
 * for word. */
#include "harness/test.h"

#include "plan/plan_fixture.h"

#define HASH "92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c"
#define FOLDER "pretrained:\n  folder: /home/me/tiny\n  family: gpt2\n  dtype: F32\n"
#define TOKENS "  tokenizer: " HASH "\n"
#define FILES "  files: { config.json: " HASH ", model.safetensors: " HASH " }\n"
#define HEAD "url: https://host/folder/\nlicence: MIT\nbytes_max: 4000\n"
#define ENTRY "  - { L_train: 64, file: a.pt, sha256: " HASH ", bytes: 7 }\n"
#define IMPORT "; write the file with `alibi import`"

TEST_EACH(plan_fixture_setup, plan_fixture_teardown)

static const char *path_of(struct plan_fixture *f, const char *name, const char *text)
{
    plan_fixture_write(f, name, text);
    return arena_printf(&f->arena, "%s/%s", f->root, name);
}

static int read_model(struct plan_fixture *f, struct plan_model *m, const char *text, struct err *e)
{
    return plan_model_read(m, &f->arena, path_of(f, "data/models/tiny.yaml", text), e);
}

static int read_list(struct plan_fixture *f, struct plan_checkpoints *c, const char *text,
                     struct err *e)
{
    return plan_checkpoints_read(c, &f->arena, path_of(f, "checkpoints.yaml", text), e);
}

TEST_WITH(struct plan_fixture *f, a_model_has_its_folder_and_files)
{
    struct plan_model m;

    assert_ok(read_model(f, &m, "model: { dim: 48 }\n" FOLDER "  bytes: 12\n" TOKENS FILES, &e));
    assert_string_equal(m.folder, "/home/me/tiny");
    assert_string_equal(m.family, "gpt2");
    assert_string_equal(m.dtype, "F32");
    assert_string_equal(m.tokenizer, HASH);
    assert_int_equal(m.bytes, 12);
    assert_int_equal(m.files_n, 2);
    assert_string_equal(m.file[1].name, "model.safetensors");
    assert_string_equal(m.file[1].sha256, HASH);
    assert_int_equal(m.spec.model.dim, 48);
}

TEST_WITH(struct plan_fixture *f, a_wrong_model_is_refused_with_its_place)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"model: { dim: 48 }\n", "tiny.yaml: pretrained is missing" IMPORT},
        {"pretrained: x\n",
         "tiny.yaml:1:13: pretrained must be a mapping of keys to values, not one"},
        {"pretrained: { foldr: x }\n",
         "tiny.yaml:1:15: unknown key 'foldr'; did you mean 'folder'?"},
        {FOLDER "  bytes: [1]\n" TOKENS FILES,
         "tiny.yaml:5:10: bytes must be one value, not a list"},
        {FOLDER "  bytes: 0\n" FILES, "tiny.yaml:2:3: pretrained: tokenizer is missing" IMPORT},
        {FOLDER "  bytes: x\n" TOKENS "  files: x\n",
         "tiny.yaml:7:10: files must be a mapping of keys to values, not one value"},
        {"pretrained:\n  folder: me/tiny\n  family: x\n  dtype: F32\n  bytes: 1\n" TOKENS FILES,
         "tiny.yaml:2:11: pretrained: folder: expected an absolute path, found 'me/tiny'"},
        {FOLDER "  bytes: 0\n" TOKENS FILES,
         "tiny.yaml:5:10: pretrained: bytes: expected a number from 1, found '0'"},
        {FOLDER "  bytes: 1\n  tokenizer: ABC\n" FILES,
         "tiny.yaml:6:14: pretrained: tokenizer: expected 64 lower-case hex digits, found 'ABC'"},
        {FOLDER "  bytes: 1\n" TOKENS "  files: { a/b: " HASH " }\n",
         "tiny.yaml:7:12: pretrained: files: 'a/b' is not a file name"},
        {FOLDER "  bytes: 1\n" TOKENS "  files: { a: ABC }\n",
         "tiny.yaml:7:15: pretrained: files: expected 64 lower-case hex digits, found 'ABC'"},
        {FOLDER "  bytes: 1\n" TOKENS "  files: { a: [b] }\n",
         "tiny.yaml:7:15: pretrained: files must be one value, not a list"}};
    struct plan_model m;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_fails(ERR_DATA, rows[i].message, read_model(f, &m, rows[i].text, &e));
}

TEST_WITH(struct plan_fixture *f, checkpoints_have_their_files_and_hashes_may_be_absent)
{
    struct plan_checkpoints c;

    assert_ok(
        read_list(f, &c, HEAD "checkpoints:\n" ENTRY "  - { L_train: 128, file: b.pt }\n", &e));
    assert_string_equal(c.url, "https://host/folder/");
    assert_string_equal(c.licence, "MIT");
    assert_int_equal(c.bytes_max, 4000);
    assert_int_equal(c.n, 2);
    assert_int_equal(c.item[0].L, 64);
    assert_string_equal(c.item[0].file, "a.pt");
    assert_string_equal(c.item[0].sha256, HASH);
    assert_int_equal(c.item[0].bytes, 7);
    assert_null(c.item[1].sha256);
    assert_int_equal(c.item[1].bytes, 0);
}

TEST_WITH(struct plan_fixture *f, wrong_checkpoints_are_refused_with_their_place)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"url: https://h/\n",
         "checkpoints.yaml:1:1: url, licence, bytes_max and checkpoints are required"},
        {HEAD "checkpoint: []\n",
         "checkpoints.yaml:4:1: unknown key 'checkpoint'; did you mean 'checkpoints'?"},
        {HEAD "checkpoints: {}\n",
         "checkpoints.yaml:4:14: checkpoints must be a list, not a mapping of keys to values"},
        {"url: https://h/x\nlicence: MIT\nbytes_max: 1\ncheckpoints: []\n",
         "checkpoints.yaml:1:6: url: expected https:// or http:// and a slash at the end, found "
         "'https://h/x'"},
        {"url: ftp://h/\nlicence: MIT\nbytes_max: 1\ncheckpoints: []\n",
         "checkpoints.yaml:1:6: url: expected https:// or http:// and a slash at the end, found "
         "'ftp://h/'"},
        {"url: http://h/\nlicence: MIT\nbytes_max: 0\ncheckpoints: []\n",
         "checkpoints.yaml:3:12: bytes_max: expected a number from 1 to 1099511627776, found '0'"},
        {HEAD "checkpoints: [x]\n",
         "checkpoints.yaml:4:15: checkpoints must be a mapping of keys to values, not one value"},
        {HEAD "checkpoints: [{ L_train: 64 }]\n",
         "checkpoints.yaml:4:15: checkpoints: L_train and file are required"},
        {HEAD "checkpoints: [{ L_train: 2e3, file: a }]\n",
         "checkpoints.yaml:4:26: L_train: expected a number from 1 to 1000000, found '2e3'"},
        {HEAD "checkpoints: [{ L_train: 1, file: a/b }]\n",
         "checkpoints.yaml:4:35: file: expected letters, digits, . _ -, found 'a/b'"},
        {HEAD "checkpoints: [{ L_train: 1, file: a, bytes: -1 }]\n",
         "checkpoints.yaml:4:45: bytes: expected a number from 1 to 1099511627776, found '-1'"},
        {HEAD "checkpoints: [{ L_train: 1, file: a, sha256: b }]\n",
         "checkpoints.yaml:4:46: sha256: expected 64 lower-case hex digits, found 'b'"},
        {HEAD "checkpoints:\n" ENTRY ENTRY, "checkpoints.yaml:6:5: checkpoints: L_train 64 twice"}};
    struct plan_checkpoints c;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_fails(ERR_DATA, rows[i].message, read_list(f, &c, rows[i].text, &e));
}
