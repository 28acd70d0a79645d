/* test_attempt.c - the table of outcomes: what becomes of an attempt, by what is known of its end.
 */
#include "harness/test.h"

#include <string.h>

#include "scheduler/attempt.h"

enum { REPORTS = FACT_DONE | FACT_FAILED | FACT_DIVERGED | FACT_CANCELLED | FACT_LOST };

/* True if a worker can have ended so. */
static bool is_possible(uint32_t facts)
{
    uint32_t report = facts & REPORTS, exits = facts & (FACT_UNSEEN | FACT_EXIT_NOT_0);
    bool contradicts = (report & (report - 1)) || (exits & (exits - 1)) ||
                       ((facts & FACT_KILLED) && !(facts & FACT_UNSEEN)) ||
                       ((facts & FACT_GAVE_UP) && (facts & (FACT_KILLED | FACT_BROKEN)));

    return !contradicts;
}

TEST(every_outcome_decides_for_some_end_and_the_last_one_for_all_others)
{
    int32_t n = 0;
    bool decides[64] = {false};

    while (attempt_outcomes[n].all != 0 || attempt_outcomes[n].none != 0) n++;
    for (uint32_t facts = 0; facts < FACTS_END; facts++)
        if (is_possible(facts)) decides[attempt_judge(facts) - attempt_outcomes] = true;
    for (int32_t i = 0; i <= n; i++)
        if (!decides[i]) fail_msg("row %d of the outcomes never decides", i);
}

/* The rules that the table must keep, for every end that can be. */
TEST(an_attempt_is_done_only_with_its_record_its_results_and_no_failure)
{
    const uint32_t needed = FACT_DONE | FACT_RESULTS;
    const uint32_t spoils = FACT_BROKEN | FACT_KILLED | FACT_EXIT_NOT_0;

    for (uint32_t facts = 0; facts < FACTS_END; facts++) {
        if (!is_possible(facts)) continue;
        bool is_done = attempt_judge(facts)->state == STORE_DONE;
        bool may_be = (facts & needed) == needed && !(facts & spoils);
        if (is_done != may_be) fail_msg("facts %x: done is %d", facts, is_done);
    }
}

TEST(an_attempt_is_cancelled_only_if_the_user_asked)
{
    for (uint32_t facts = 0; facts < FACTS_END; facts++)
        if (is_possible(facts) && attempt_judge(facts)->state == STORE_CANCELLED)
            assert_true(facts & FACT_STOPPED);
}

TEST(each_end_has_the_outcome_of_its_strongest_evidence)
{
    static const struct {
        uint32_t facts;
        enum store_state state;
    } rows[] = {
        {0, STORE_FAILED}, /* exit 0 without a word */
        {FACT_EXIT_NOT_0, STORE_FAILED},
        {FACT_EXIT_NOT_0 | FACT_GAVE_UP, STORE_LOST},
        {FACT_EXIT_NOT_0 | FACT_FAILED, STORE_FAILED},
        {FACT_EXIT_NOT_0 | FACT_LOST | FACT_GAVE_UP, STORE_LOST},
        {FACT_UNSEEN, STORE_LOST}, /* Slurm does not know the job any more */
        {FACT_UNSEEN | FACT_KILLED, STORE_LOST},
        {FACT_UNSEEN | FACT_KILLED | FACT_STOPPED, STORE_CANCELLED},
        {FACT_UNSEEN | FACT_DONE | FACT_RESULTS, STORE_DONE},
        {FACT_DONE, STORE_FAILED}, /* without the result */
        {FACT_EXIT_NOT_0 | FACT_DIVERGED, STORE_DIVERGED},
        {FACT_EXIT_NOT_0 | FACT_CANCELLED, STORE_LOST}, /* a signal from elsewhere */
        {FACT_EXIT_NOT_0 | FACT_CANCELLED | FACT_STOPPED, STORE_CANCELLED},
        {FACT_UNSEEN | FACT_KILLED | FACT_STALLED | FACT_FAILED, STORE_LOST},
        {FACT_STALLED | FACT_DONE | FACT_RESULTS, STORE_DONE}, /* it ended before the kill */
        {FACT_BROKEN | FACT_DONE | FACT_RESULTS, STORE_FAILED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (attempt_judge(rows[i].facts)->state != rows[i].state)
            fail_msg("row %zu: %s, expected %s", i,
                     store_state_name(attempt_judge(rows[i].facts)->state),
                     store_state_name(rows[i].state));
}
