/* test_fetch.c - downloads from correct and from faulty servers. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "fetch/fetch.h"
#include "fetch/http_server.h"

enum { CONTENT_N = 300000 };

struct scene {
    struct test_place *place;
    const char *path, *part, *etag;
    char *content, sha256[HASH_HEX_BYTES];
    struct http_server server;
    int64_t last_done, last_total;
};

static int make_scene(void **state)
{
    uint32_t seed = 5;

    test_place_make(state);
    struct test_place *place = *state;
    struct scene *s = *state = arena_alloc(&place->arena, sizeof *s);
    s->place = place;
    s->path = test_place_path(place, "file");
    s->part = test_place_path(place, "file.part");
    s->etag = test_place_path(place, "file.part.etag");
    s->content = arena_alloc(&place->arena, CONTENT_N);
    for (int i = 0; i < CONTENT_N; i++) {
        seed = seed * 1664525u + 1013904223u;
        s->content[i] = (char)(seed >> 24);
    }
    hash_sha256_hex(s->sha256, s->content, CONTENT_N);
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    setenv("no_proxy", "127.0.0.1", 1);
    http_server_start(&s->server, s->content, CONTENT_N);
    return 0;
}

static int remove_scene(void **state)
{
    struct scene *s = *state;
    http_server_stop(&s->server);
    *state = s->place;
    return test_place_remove(state);
}

static const char *url_of(struct scene *s, const char *path)
{
    return arena_printf(&s->place->arena, "http://127.0.0.1:%d%s", s->server.port, path);
}

static void note_progress(void *context, int64_t done, int64_t total)
{
    struct scene *s = context;
    s->last_done = done;
    s->last_total = total;
}

static int get_file(struct scene *s, const char *path, const char *sha256, struct err *e)
{
    const struct fetch_options o = {.url = url_of(s, path),
                                    .path = s->path,
                                    .sha256 = sha256,
                                    .bytes_max = CONTENT_N + 10,
                                    .progress = note_progress,
                                    .progress_context = s};
    return fetch_file(&o, e);
}

static void must_get(struct scene *s, const char *path, const char *sha256)
{
    char found[HASH_HEX_BYTES];

    assert_ok(get_file(s, path, sha256, &e));
    assert_ok(hash_file(found, s->path, &e));
    assert_string_equal(found, s->sha256);
    assert_false(file_exists(s->part));
    assert_false(file_exists(s->etag));
}

static void must_fail(struct scene *s, const char *path, const char *sha256, int code,
                      const char *word)
{
    assert_fails(code, word, get_file(s, path, sha256, &e));
    assert_false(file_exists(s->path));
}

static void put_part(struct scene *s, size_t n, const char *etag)
{
    test_write(s->part, s->content, n);
    if (etag) test_write(s->etag, etag, strlen(etag));
}

TEST_EACH(make_scene, remove_scene)

TEST_WITH(struct scene *s, a_file_arrives_whole_with_its_progress)
{
    must_get(s, "/whole", s->sha256);
    assert_int_equal(s->last_done, CONTENT_N);
    assert_int_equal(s->last_total, CONTENT_N);
    assert_int_equal(s->server.requests_n, 1);
}

TEST_WITH(struct scene *s, a_redirect_is_followed_but_not_to_a_file)
{
    must_fail(s, "/escape", NULL, ERR_UNAVAILABLE, "/escape");
    must_get(s, "/redirect", s->sha256);
}

TEST_WITH(struct scene *s, a_transfer_that_breaks_off_goes_on_where_it_was)
{
    must_get(s, "/cut", NULL);
    assert_int_equal(s->server.requests_n, 3);
    assert_int_equal(s->server.ranges_n, 2);
}

TEST_WITH(struct scene *s, a_part_of_an_earlier_call_is_continued_if_it_can_be_checked)
{
    static const struct {
        size_t n;
        const char *etag, *path;
        bool hash;
        int ranges_n;
    } rows[] = {{100000, "\"v1\"", "/whole", false, 1},
                {100000, NULL, "/whole", false, 0}, /* of unknown origin */
                {100000, NULL, "/weak", true, 0},   /* the server has no ranges */
                {CONTENT_N, "\"v1\"", "/whole", true, 0} /* whole already */};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        s->server.ranges_n = 0;
        put_part(s, rows[i].n, rows[i].etag);
        must_get(s, rows[i].path, rows[i].hash ? s->sha256 : NULL);
        assert_int_equal(s->server.ranges_n, rows[i].ranges_n);
        assert_int_equal(unlink(s->path), 0);
    }
}

TEST_WITH(struct scene *s, a_part_of_another_version_is_thrown_away)
{
    put_part(s, 100000, "\"v0\"");
    s->content[5] ^= 1; /* the part holds the old content, the server the new one */
    hash_sha256_hex(s->sha256, s->content, CONTENT_N);
    must_get(s, "/whole", s->sha256);
    assert_int_equal(s->server.ranges_n, 0);
}

TEST_WITH(struct scene *s, a_file_that_changes_all_the_time_is_given_up)
{
    must_fail(s, "/moving", NULL, ERR_UNAVAILABLE, "rerun the command to resume");
}

TEST_WITH(struct scene *s, a_server_that_sends_other_bytes_is_rejected)
{
    put_part(s, 100000, "\"v1\"");
    must_fail(s, "/liar", s->sha256, ERR_UNAVAILABLE, "requested bytes from 100000");
}

TEST_WITH(struct scene *s, an_altered_file_is_removed)
{
    char other[HASH_HEX_BYTES];
    hash_sha256_hex(other, "other", 5);
    must_fail(s, "/whole", other, ERR_DATA, "modified");
    assert_false(file_exists(s->part));
    must_get(s, "/whole", s->sha256);
    assert_ok(fetch_check(s->path, s->sha256, &e));
    assert_int_equal(fetch_check(s->path, other, &e), ERR_DATA);
}

TEST_WITH(struct scene *s, a_file_over_the_limit_is_rejected)
{
    const struct fetch_options o = {
        .url = url_of(s, "/whole"), .path = s->path, .bytes_max = CONTENT_N - 1};
    assert_fails(ERR_DATA, "limit", fetch_file(&o, &e));
    assert_false(file_exists(s->path));
}

TEST_WITH(struct scene *s, an_absent_file_and_an_absent_server_are_named)
{
    must_fail(s, "/nothing", NULL, ERR_UNAVAILABLE, "404");
    const struct fetch_options o = {
        .url = "http://127.0.0.1:1/x", .path = s->path, .bytes_max = CONTENT_N};
    assert_fails(ERR_UNAVAILABLE, "127.0.0.1", fetch_file(&o, &e));
}

TEST_WITH(struct scene *s, a_file_of_this_machine_is_copied)
{
    const char *from = test_place_path(s->place, "from");
    test_write(from, s->content, CONTENT_N);
    put_part(s, 1000, NULL);
    const struct fetch_options o = {.url = arena_printf(&s->place->arena, "file://%s", from),
                                    .path = s->path,
                                    .sha256 = s->sha256,
                                    .bytes_max = CONTENT_N};
    assert_ok(fetch_file(&o, &e));
    assert_ok(fetch_check(s->path, s->sha256, &e));
}

TEST_WITH(struct scene *s, a_second_process_waits)
{
    int fd;
    assert_ok(file_lock(&fd, test_place_path(s->place, "file.lock"), "process 1", &e));
    must_fail(s, "/whole", NULL, ERR_TRYLATER, "process 1");
    file_unlock(fd);
}
