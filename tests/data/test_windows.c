/* test_windows.c - evaluation windows; tests/model compares them with those of the authors'
 * program. */
#include "data/data_support.h"
#include "data/windows.h"

TEST(every_target_up_to_the_limit_is_scored_once_with_the_longest_context)
{
    for (int32_t L = 1; L <= 9; L++) {
        for (int32_t stride = 1; stride <= L; stride++) {
            for (int64_t limit = 0; limit <= 40; limit += 13) {
                struct windows w;
                int64_t next = 0;
                assert_ok(windows_make(&w, 30, L, stride, limit, &e));
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

TEST(wrong_protocols_are_rejected)
{
    struct windows w;
    assert_fails(ERR_DATA, "stride 5", windows_make(&w, 10, 4, 5, 0, &e));
    assert_int_equal(windows_make(&w, 10, 4, 0, 0, &e), ERR_DATA);
    assert_fails(ERR_DATA, "window length 0", windows_make(&w, 10, 0, 1, 0, &e));
    assert_fails(ERR_DATA, "no tokens", windows_make(&w, 0, 4, 4, 0, &e));
    assert_fails(ERR_DATA, "-1 targets", windows_make(&w, 10, 4, 4, -1, &e));
}
