/* test_source.c - a corpus that one YAML file of a project adds, through the program. */
#include "harness/test.h"

#include <archive.h>
#include <archive_entry.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "fetch/http_server.h"

enum { ARCHIVE_BYTES_MAX = 1 << 16 };

static const struct {
    const char *member, *text;
} members[] = {
    {"mine/a.txt", "one two two three\n"}, {"mine/b.txt", "two\n"}, {"mine/c.txt", "one\n"}};

struct scene {
    struct test_place *place;
    char archive[ARCHIVE_BYTES_MAX], sha256[HASH_HEX_BYTES];
    struct http_server server;
};

static int make_scene(void **state)
{
    struct archive *out = archive_write_new();
    size_t n = 0;

    test_place_make(state);
    struct test_place *place = *state;
    struct scene *s = *state = arena_alloc(&place->arena, sizeof *s);
    s->place = place;
    archive_write_set_format_zip(out);
    assert_int_equal(archive_write_open_memory(out, s->archive, sizeof s->archive, &n), ARCHIVE_OK);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        struct archive_entry *entry = archive_entry_new();
        size_t bytes = strlen(members[i].text);
        archive_entry_set_pathname(entry, members[i].member);
        archive_entry_set_size(entry, (la_int64_t)bytes);
        archive_entry_set_filetype(entry, AE_IFREG);
        assert_int_equal(archive_write_header(out, entry), ARCHIVE_OK);
        assert_int_equal(archive_write_data(out, members[i].text, bytes), bytes);
        archive_entry_free(entry);
    }
    assert_int_equal(archive_write_close(out), ARCHIVE_OK);
    archive_write_free(out);
    hash_sha256_hex(s->sha256, s->archive, n);
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    setenv("no_proxy", "127.0.0.1", 1);
    http_server_start(&s->server, s->archive, n);
    return 0;
}

static int remove_scene(void **state)
{
    struct scene *s = *state;
    http_server_stop(&s->server);
    *state = s->place;
    return test_place_remove(state);
}

/* The one file; data: its settings, with the key. */
static void describe_file(struct scene *s, const char *sha256, const char *data)
{
    const char *text = arena_printf(
        &s->place->arena,
        "%ssource:\n  title: My text\n  licence: CC0\n  url: http://127.0.0.1:%d/whole\n"
        "  sha256: %s\n  bytes_max: 10000\n"
        "  files: [a.txt, b.txt, c.txt]\n",
        data, s->server.port, sha256);
    test_place_write(s->place, "configs/data/mine.yaml", text, strlen(text));
}

/* `alibi data VERB mine` in the project; its output, which has these words, with this status. */
static void must_answer(struct scene *s, const char *verb, int status, const char *words)
{
    char self[PATH_MAX] = "";
    struct subprocess_end end;

    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    *strrchr(self, '/') = '\0';
    const char *const argv[] = {arena_printf(&s->place->arena, "%s/../../alibi", self),
                                "data",
                                verb,
                                strcmp(verb, "list") == 0 ? "--quiet" : "mine",
                                "--project",
                                s->place->path,
                                NULL};
    const struct subprocess alibi = {.argv = argv};
    assert_ok(subprocess_run(&end, &s->place->arena, &alibi, &e));
    if (end.exit_code != status || (!strstr(end.output, words) && !strstr(end.errors, words)))
        fail_msg("exit %d, expected %d and '%s':\n%s%s", end.exit_code, status, words, end.output,
                 end.errors);
}

static bool has(struct scene *s, const char *name)
{
    return file_exists(test_place_path(s->place, name));
}

TEST_EACH(make_scene, remove_scene)

TEST_WITH(struct scene *s, one_file_of_a_project_makes_a_corpus_that_can_be_fetched)
{
    describe_file(s, s->sha256, "");
    must_answer(s, "list", 0, "can be fetched: mine (CC0) from http://127.0.0.1:");
    must_answer(s, "prepare", 66, "run `alibi data fetch mine` first");
    assert_int_equal(s->server.requests_n, 0);
    must_answer(s, "fetch", 0, "next: alibi data prepare mine");
    assert_string_equal(test_place_read(s->place, "data/fetched/mine/train.txt", NULL),
                        members[0].text);
    must_answer(s, "prepare", 0, "copy `data:` of ");
    describe_file(s, s->sha256, test_place_read(s->place, "data/mine.yaml", NULL));
    must_answer(s, "prepare", 0, "to use it in a grid: `base: [data/mine.yaml]`");
    must_answer(s, "verify", 0, "all files match");
}

TEST_WITH(struct scene *s, an_archive_with_another_hash_is_not_kept)
{
    char other[HASH_HEX_BYTES];

    hash_sha256_hex(other, "other", 5);
    describe_file(s, other, "");
    must_answer(s, "fetch", 65, "SHA-256");
    assert_false(has(s, "data/fetched/mine.zip"));
    assert_false(has(s, "data/fetched/mine/train.txt"));
}

TEST_WITH(struct scene *s, a_faulty_file_is_named_and_hides_no_other)
{
    describe_file(s, "x", "");
    must_answer(s, "list", 0, "mine.yaml:5:11: sha256: expected 64 lower-case hex digits");
    must_answer(s, "list", 0, "can be fetched: wikitext103 ");
    must_answer(s, "fetch", 65, "mine.yaml:5:11: ");
    must_answer(s, "prepare", 65, "mine.yaml:5:11: ");
}

TEST_WITH(struct scene *s, the_counts_of_the_file_are_checked)
{
    describe_file(s, s->sha256, "data: { train_tokens: 6 }\n");
    must_answer(s, "fetch", 0, "next:");
    must_answer(s, "prepare", 65, "mine: train has 5 tokens, but the public corpus has 6");
    assert_false(has(s, "data/mine"));
}
