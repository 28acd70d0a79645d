/* test_oracle.c - the checker detects errors in files; tests/run.sh runs it on every fixture. */
#include "harness/test.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "model/oracle.h"

#define FIXTURES "tests/fixtures/oracle"

enum { FILE_BYTES_MAX = 8 << 20 };

/* A copy of a fixture with the bit 0x40 of the byte at `from_end` before its end flipped, or
 * with `text` of its header replaced by another of the same length. */
struct change {
    const char *fixture;
    size_t from_end;
    const char *text, *by, *word; /* of the error message */
};

static void make_copy(const char *path, const struct change *c)
{
    char from[200], *content = NULL;
    struct arena a;
    size_t n = 0;
    arena_init(&a);
    snprintf(from, sizeof from, FIXTURES "/%s.safetensors", c->fixture);
    assert_ok(file_read(&a, &content, &n, from, FILE_BYTES_MAX, &e));
    if (c->from_end > 0) content[n - c->from_end] = (char)(content[n - c->from_end] ^ 0x40);
    if (c->text != NULL) {
        size_t at = 0, text_n = strlen(c->text);
        while (at + text_n < n && memcmp(content + at, c->text, text_n) != 0) at++;
        assert_true(at + text_n < n);
        memcpy(content + at, c->by, text_n);
    }
    test_write(path, content, n);
    arena_fini(&a);
}

static void oracle_fails(const char *path, const char *word)
{
    char line[ORACLE_LINE_BYTES];
    assert_int_not_equal(oracle_file(path, "cpu", line), 0);
    if (strncmp(line, "copy: FAIL ", 11) != 0 || strstr(line, word) == NULL)
        fail_msg("\"%s\" does not say FAIL and %s", line, word);
}

TEST(a_changed_file_fails)
{
    static const struct change changes[] = {
        /* The top byte of the last number. */
        {"slopes", 1, NULL, NULL, ""},
        {"t5_buckets", 1, NULL, NULL, ""},
        {"nag_varying_lr", 1, NULL, NULL, ""},
        {"clip_norm", 1, NULL, NULL, ""},
        {"alibi_h4_quirks", 1, NULL, NULL, ""},
        {"cosine_readme", 1, NULL, NULL, ""},
        {"vocab", 1, NULL, NULL, ""},
        /* Another model than the metadata says. */
        {"alibi_h4_quirks", 0, "\"alibi\"", "\"alibo\"", "unknown method"},
        {"alibi_h4_quirks", 0, "\"200,600\"", "\"200,500\"", "embeddings.1.0.weight"},
        {"alibi_h4_quirks", 0, "\"heads\":\"4\"", "\"heads\":\"2\"", "differs"},
        {"alibi_h4_quirks", 0, "\"relu\"", "\"gelu\"", "only relu"},
        {"alibi_h4_quirks", 0, "\"dim\":\"32\"", "\"dim\":\"3x\"", "expected a number"},
        /* A tensor that is not compared, an unknown kind, no weights beside an evaluation. */
        {"slopes", 0, "\"slopes.7\"", "\"slipes.7\"", "slipes.7 was not compared"},
        {"nag_const_lr", 0, "\"param0\"", "\"parom0\"", "no known kind"},
        {"eval_alibi_h4", 0, NULL, NULL, "alibi_h4.safetensors"},
    };
    char folder[TEST_PATH_BYTES], path[TEST_PATH_BYTES + 32];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/copy.safetensors", folder);
    oracle_fails(path, "copy.safetensors"); /* absent */
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        make_copy(path, &changes[i]);
        oracle_fails(path, changes[i].word);
    }
    test_write(path, "no tensors", 10);
    oracle_fails(path, "");
    test_folder_remove(folder);
}
