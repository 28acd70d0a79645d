/* test_corpora.c - files of configs/data: sources of the shipped corpora and of a project's. */
#include "harness/test.h"

#include <string.h>

#include "base/hash.h"
#include "plan/plan_fixture.h"

#define DATA                                                                                       \
    "data: {dataset: mine, corpus: mine, vocab: 64, train_tokens: 1000, valid_tokens: 100, "       \
    "test_tokens: 100}\n"
#define HASH "92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c"
#define LIMIT "  bytes_max: 2000\n"
#define FILES "  files: [a, b, c]\n"
#define REST "  licence: CC0\n  sha256: " HASH "\n" LIMIT FILES
#define SOURCE "source:\n  title: My text\n  url: https://example.org/mine.zip\n" REST

static int read_mine(struct plan_fixture *f, struct plan_corpus *c, const char *text, struct err *e)
{
    plan_fixture_write(f, "configs/data/mine.yaml", text);
    return plan_corpus_read(c, &f->project, &f->arena, "mine", e);
}

TEST_EACH(plan_fixture_setup, plan_fixture_teardown)

TEST_WITH(struct plan_fixture *f, shipped_corpora_have_titles_and_complete_sources)
{
    struct plan_corpus c;
    char **names;
    int32_t n, sources_n = 0;

    assert_ok(plan_corpora(&names, &n, &f->project, &f->arena, &e));
    for (int32_t i = 0; i < n; i++) {
        assert_ok(plan_corpus_read(&c, &f->project, &f->arena, names[i], &e));
        assert_string_not_equal(c.title, c.name);
        if (!c.url[0]) continue;
        sources_n++;
        for (int k = 0; c.url[k]; k++) assert_int_equal(strncmp(c.url[k], "https://", 8), 0);
        assert_true(c.data.vocab > 0 && c.data.train_tokens > 0);
        assert_true(c.data.valid_tokens > 0 && c.data.test_tokens > 0);
    }
    assert_true(sources_n >= 2); /* WikiText-2 and WikiText-103 */
}

TEST_WITH(struct plan_fixture *f, a_file_of_a_project_adds_a_corpus)
{
    struct plan_corpus c;
    char **names;
    int32_t shipped_n, n;

    assert_ok(plan_corpora(&names, &shipped_n, &f->project, &f->arena, &e));
    assert_ok(read_mine(f, &c, DATA SOURCE, &e));
    assert_string_equal(c.title, "My text");
    assert_string_equal(c.url[0], "https://example.org/mine.zip");
    assert_null(c.url[1]);
    assert_true(hash_is_sha256(c.sha256));
    assert_string_equal(c.member[2], "c");
    assert_int_equal(c.bytes_max, 2000);
    assert_int_equal(c.data.vocab, 64);
    assert_ok(plan_corpora(&names, &n, &f->project, &f->arena, &e));
    assert_int_equal(n, shipped_n + 1);
    assert_ok(read_mine(f, &c, DATA, &e));
    assert_string_equal(c.title, "mine");
    assert_null(c.url[0]);
    assert_fails(ERR_NOINPUT, "configs/data/none.yaml",
                 plan_corpus_read(&c, &f->project, &f->arena, "none", &e));
}

TEST_WITH(struct plan_fixture *f, a_project_cannot_replace_a_shipped_source)
{
    struct plan_corpus c;

    plan_fixture_write(f, "configs/data/wikitext2.yaml", DATA SOURCE);
    assert_ok(plan_corpus_read(&c, &f->project, &f->arena, "wikitext2", &e));
    assert_null(strstr(c.url[0], "example.org"));
}

TEST_WITH(struct plan_fixture *f, a_corpus_with_the_text_of_another_has_its_archive_and_fewer_words)
{
    struct plan_corpus c, other;

    assert_ok(plan_corpus_read(&other, &f->project, &f->arena, "wikitext2", &e));
    assert_string_equal(other.text, "wikitext2");
    assert_int_equal(other.vocab_limit, 0);
    assert_ok(read_mine(f, &c, DATA "source: { title: My words, text: wikitext2 }\n", &e));
    assert_string_equal(c.name, "mine");
    assert_string_equal(c.title, "My words");
    assert_string_equal(c.text, "wikitext2");
    assert_int_equal(c.vocab_limit, 64);
    assert_string_equal(c.sha256, other.sha256);
    assert_string_equal(c.url[0], other.url[0]);
    assert_string_equal(c.licence, other.licence);
    assert_string_equal(c.member[2], other.member[2]);
    assert_int_equal(c.bytes_max, other.bytes_max);
}

/* A piece may have a source, which changes no run. */
TEST_WITH(struct plan_fixture *f, a_source_is_not_part_of_a_run)
{
    const char *grid =
        "base: [tiny.yaml, data/mine.yaml]\ngrid: [{ position: alibi, L_train: 16 }]\n";

    plan_fixture_write(f, "configs/data/mine.yaml", DATA);
    const struct plan *without = plan_fixture_open(f, grid, NULL);
    plan_fixture_write(f, "configs/data/mine.yaml", DATA SOURCE);
    const struct plan *with = plan_fixture_open(f, grid, NULL);
    assert_string_equal(with->run[0].run_id, without->run[0].run_id);
    assert_int_equal(with->run[0].spec.modified, without->run[0].spec.modified);
}

TEST_WITH(struct plan_fixture *f, errors_in_a_source_have_their_place)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"source: x\n", "mine.yaml:2:9: source must be a mapping"},
        {"source: { tite: x }\n", "mine.yaml:2:11: unknown key 'tite'; did you mean 'title'?"},
        {"source: { title: '' }\n", "mine.yaml:2:18: title is empty"},
        {"source: { sha256: x }\n", "mine.yaml:2:9: source: url is missing"},
        {"source: { url: https://h/x, sha256: x }\n",
         "mine.yaml:2:9: source: licence is missing, which a download needs"},
        {"source:\n  url: file:///etc/passwd\n" REST,
         "mine.yaml:3:8: url: expected https:// or http://, found 'file:///etc/passwd'"},
        {"source:\n  url: []\n" REST, "mine.yaml:3:8: url: expected 1 to 3 texts, found 0"},
        {"source:\n  url: http://h/x\n  licence: CC0\n  sha256: ABC\n" LIMIT FILES,
         "mine.yaml:5:11: sha256: expected 64 lower-case hex digits, found 'ABC'"},
        {"source:\n  url: http://h/x\n  licence: CC0\n  sha256: " HASH "\n  bytes_max: 0\n" FILES,
         "mine.yaml:6:14: bytes_max: expected a number from 1, found '0'"},
        {"source:\n  url: http://h/x\n  licence: CC0\n  sha256: " HASH "\n" LIMIT
         "  files: [a, b]\n",
         "mine.yaml:7:10: files: expected 3 to 3 texts, found 2"},
        {"source: { text: none }\n", "mine.yaml: source: text: none is not a corpus with a url"},
        {"source: { text: cc100 }\n", "mine.yaml: source: text: cc100 is not a corpus with a url"},
        {"source: { text: '' }\n", "mine.yaml:2:17: text is empty"},
        {"source: { url: http://h/x, text: wikitext2 }\n",
         "mine.yaml:2:16: source: text and url cannot be combined"},
        {"sorce: { title: x }\n", "mine.yaml:2:10: unknown key 'sorce.title'"}};
    struct plan_corpus c;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = arena_printf(&f->arena, DATA "%s", rows[i].text);
        assert_fails(ERR_DATA, rows[i].message, read_mine(f, &c, text, &e));
    }
}
