/* test_windows.c - evaluation windows; tests/model compares them with those of the authors'
 * program, tests/pretrained with those of lm-eval. */
#include <string.h>

#include "data/data_support.h"
#include "data/windows.h"

/* A split of 30 tokens as documents of 1, 9, 5 and 15, or as one. */
static const int64_t documents[] = {0, 1, 10, 15};
static struct tokens split(bool cut)
{
    struct tokens t = data_tokens(NULL, 30);
    if (cut) {
        t.document = documents;
        t.documents_n = sizeof documents / sizeof *documents;
    }
    return t;
}

/* Each target of a pass is scored once, in the order of the text, and its window begins where the
 * protocol says: back to `reach` tokens before the window's end, but not before its document. */
static void check_windows(struct windows *w, int32_t L, int32_t stride)
{
    struct window window;
    int64_t next = 0, n = 0, first, end;

    for (; windows_next(w, &window); n++) {
        assert_true(window.length >= 1 && window.length <= L);
        assert_true(window.scored_from < window.length);
        assert_int_equal(window.first + window.scored_from, next);
        tokens_document(w->tokens, next, &first, &end);
        if (end > w->targets_n) end = w->targets_n;
        next = window.first + window.length;
        assert_true(window.first >= first && next <= end);
        assert_int_equal(window.begins, window.first == first);
        if (w->kind == WINDOWS_ROLLING)
            assert_true(window.first == first || window.length == L);
        else
            assert_true(window.first == first || window.scored_from == L - stride);
        assert_true(next == end || window.length - window.scored_from == stride);
    }
    assert_int_equal(next, w->targets_n);
    assert_int_equal(n, w->windows_n);
}

TEST(every_target_up_to_the_limit_is_scored_once_with_the_longest_context)
{
    for (int32_t L = 1; L <= 32; L += L < 9 ? 1 : 7) {
        for (int32_t stride = 1; stride <= L; stride++) {
            for (int64_t limit = 0; limit <= 40; limit += 13) {
                for (int cut = 0; cut < 2; cut++) {
                    const struct tokens t = split(cut);
                    struct windows w;
                    assert_ok(windows_make(&w, &t, WINDOWS_STRIDE, L, stride, limit, &e));
                    assert_int_equal(w.targets_n, limit == 0 || limit > 30 ? 30 : limit);
                    check_windows(&w, L, stride);
                    assert_ok(windows_make(&w, &t, WINDOWS_ROLLING, L, L, limit, &e));
                    check_windows(&w, L, L);
                }
            }
        }
    }
}

TEST(the_last_rolling_window_of_a_document_reaches_back_to_its_length)
{
    static const struct window expected[] = {{0, 1, 0, true},  {1, 4, 0, true},  {5, 4, 0, false},
                                             {6, 4, 3, false}, {10, 4, 0, true}, {11, 4, 3, false},
                                             {15, 4, 0, true}};
    const struct tokens t = split(true);
    struct windows w;
    struct window window;
    size_t n = 0;

    assert_ok(windows_make(&w, &t, WINDOWS_ROLLING, 4, 4, 22, &e));
    for (; n < sizeof expected / sizeof *expected; n++) {
        assert_true(windows_next(&w, &window));
        assert_int_equal(window.first, expected[n].first);
        assert_int_equal(window.length, expected[n].length);
        assert_int_equal(window.scored_from, expected[n].scored_from);
        assert_int_equal(window.begins, expected[n].begins);
    }
    assert_true(windows_next(&w, &window)); /* the limit cuts the last document at 22 */
    assert_int_equal(window.first, 18);
    assert_int_equal(window.scored_from, 1);
    assert_false(windows_next(&w, &window));
}

TEST(prefixes_begin_at_every_token_with_the_shortest_length_left_and_at_each_document)
{
    for (int cut = 0; cut < 2; cut++) {
        for (int32_t shortest = 1; shortest <= 6; shortest++) {
            const struct tokens t = split(cut);
            struct windows all, w;
            struct window window;
            int64_t n = 0, first, end;
            assert_ok(windows_make(&all, &t, WINDOWS_STRIDE, 7, 1, 0, &e));
            w = windows_prefixes(&all, shortest, 7);
            for (int64_t at = 0; at < 30; at++) {
                tokens_document(&t, at, &first, &end);
                if (at > first && end - at < shortest) continue;
                assert_int_equal(windows_begins_document(&w), at == first);
                assert_true(windows_next(&w, &window));
                assert_int_equal(window.first, at);
                assert_int_equal(window.length, end - at < 7 ? end - at : 7);
                n++;
            }
            assert_int_equal(n, w.windows_n);
            assert_false(windows_next(&w, &window));
        }
    }
}

TEST(wrong_protocols_are_rejected)
{
    const struct tokens t = data_tokens(NULL, 10), none = data_tokens(NULL, 0);
    struct windows w;
    assert_fails(ERR_DATA, "stride 5", windows_make(&w, &t, WINDOWS_STRIDE, 4, 5, 0, &e));
    assert_int_equal(windows_make(&w, &t, WINDOWS_STRIDE, 4, 0, 0, &e), ERR_DATA);
    assert_fails(ERR_DATA, "window length 0", windows_make(&w, &t, WINDOWS_STRIDE, 0, 1, 0, &e));
    assert_fails(ERR_DATA, "no tokens", windows_make(&w, &none, WINDOWS_STRIDE, 4, 4, 0, &e));
    assert_fails(ERR_DATA, "-1 targets", windows_make(&w, &t, WINDOWS_STRIDE, 4, 4, -1, &e));
}
