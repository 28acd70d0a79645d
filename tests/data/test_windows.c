/* test_windows.c - evaluation windows against those of the authors' program. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data_support.h"
#include "data/windows.h"

static void assert_case(const struct data_fixture *fixture, const struct tokens *stream, int32_t L,
                        int32_t stride)
{
    char name[64];
    int64_t windows_n, scored_n, ids_n;
    struct windows w;
    struct err e = {0};
    snprintf(name, sizeof name, "L%d_S%d.ctx", L, stride);
    const int32_t *context = data_fixture_ids(fixture, name, &windows_n);
    snprintf(name, sizeof name, "L%d_S%d.scored", L, stride);
    const int32_t *scored = data_fixture_ids(fixture, name, &scored_n);
    snprintf(name, sizeof name, "L%d_S%d.src", L, stride);
    const int32_t *source = data_fixture_ids(fixture, name, &ids_n);
    assert_int_equal(ids_n, windows_n * L);
    assert_int_equal(windows_make(&w, stream->n, L, stride, 0, &e), 0);
    assert_int_equal(windows_count(&w), windows_n);
    int64_t target = 0;
    for (int64_t k = 0; k < windows_n; k++) {
        struct window window;
        int32_t found[64], targets[64];
        windows_get(&w, k, &window);
        assert_int_equal(window.scored_from, context[k]);
        assert_int_equal(window.length - window.scored_from, scored[k]);
        windows_source(stream, &window, found);
        assert_memory_equal(found, source + k * L, (size_t)window.length * 4);
        for (int32_t i = window.length; i < L; i++) assert_int_equal(source[k * L + i], 1);
        windows_target(stream, &window, targets);
        for (int32_t i = window.scored_from; i < window.length; i++)
            assert_int_equal(targets[i], ((const int32_t *)stream->ids)[target++]);
    }
    assert_int_equal(target, stream->n);
}

TEST(the_windows_of_every_evaluation_fixture_are_those_of_the_authors)
{
    static const struct {
        const char *file;
        int32_t cases[6][2];
    } files[] = {
        {"alibi_h4", {{32, 32}, {64, 64}, {32, 1}, {32, 16}, {48, 1}, {48, 16}}},
        {"sinusoidal_h4", {{32, 32}, {32, 16}, {32, 1}}},
    };
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        struct data_fixture fixture;
        char path[128];
        int64_t n;
        snprintf(path, sizeof path, "tests/fixtures/oracle/eval_%s.safetensors", files[f].file);
        data_fixture_open(&fixture, path);
        const int32_t *ids = data_fixture_ids(&fixture, "stream", &n);
        struct tokens stream = data_tokens(ids, n);
        for (int c = 0; c < 6 && files[f].cases[c][0] > 0; c++)
            assert_case(&fixture, &stream, files[f].cases[c][0], files[f].cases[c][1]);
        data_fixture_close(&fixture);
    }
}

TEST(every_target_up_to_the_limit_is_scored_once_with_the_longest_context)
{
    for (int32_t L = 1; L <= 9; L++) {
        for (int32_t stride = 1; stride <= L; stride++) {
            for (int64_t limit = 0; limit <= 40; limit += 13) {
                struct windows w;
                e = (struct err){0};
                int64_t next = 0;
                assert_int_equal(windows_make(&w, 30, L, stride, limit, &e), 0);
                assert_int_equal(w.targets_n, limit == 0 || limit > 30 ? 30 : limit);
                for (int64_t k = 0; k < windows_count(&w); k++) {
                    struct window window;
                    windows_get(&w, k, &window);
                    assert_true(window.length <= L && window.scored_from < window.length);
                    assert_int_equal(window.first + window.scored_from, next);
                    assert_true(window.first == 0 || window.scored_from == L - stride);
                    next = window.first + window.length;
                }
                assert_int_equal(next, w.targets_n);
            }
        }
    }
}

TEST(wrong_protocols_are_refused)
{
    struct windows w;
    assert_int_equal(windows_make(&w, 10, 4, 5, 0, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "stride 5"));
    assert_int_equal(windows_make(&w, 10, 4, 0, 0, &e), ERR_DATA);
    assert_int_equal(windows_make(&w, 10, 0, 1, 0, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "windows of 0 tokens"));
    assert_int_equal(windows_make(&w, 0, 4, 4, 0, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "no tokens"));
    assert_int_equal(windows_make(&w, 10, 4, 4, -1, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "-1 targets"));
}
