/* ranks.h - processes of a test that are the ranks of a group. */
#ifndef TESTS_HARNESS_RANKS_H
#define TESTS_HARNESS_RANKS_H

#include "group/group.h"

/* test_ranks - runs the function in ranks_n processes that have met, and ends the group with what
 * it returns. result[rank]: "ok"; "error: " and its own error; "lost: " and the first cause; "" if
 * it was killed. Labels are "place0" and so on. A rank that does not end within two minutes fails
 * the case. */
enum { TEST_RANKS_MAX = 8, TEST_RESULT_BYTES = 1100 };
typedef int test_rank_fn(struct group *g, const void *context, struct err *e);
extern double test_meet_s; /* timeout of the meeting; 120 */
void test_ranks(int32_t ranks_n, test_rank_fn *run, const void *context,
                char result[TEST_RANKS_MAX][TEST_RESULT_BYTES]);

#endif
