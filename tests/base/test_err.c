/* test_err.c - messages, their prefixes, and the exit status of each code. */
#include "harness/test.h"

#include <string.h>

#include "base/err.h"

TEST(a_message_is_one_line_and_takes_places_as_prefix)
{
    assert_int_equal(ERR(&e, ERR_DATA, "bad\nline %d", 3), ERR_DATA);
    assert_string_equal(e.text, "bad line 3");
    err_ctx(&e, "file %s", "x");
    assert_string_equal(e.text, "file x: bad line 3");
}

TEST(a_message_longer_than_its_buffer_is_cut)
{
    char text[3000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ERR(&e, ERR_IO, "%s", text);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    for (int i = 0; i < 400; i++) err_ctx(&e, "place");
    assert_true(strlen(e.text) < sizeof e.text);
    assert_memory_equal(e.text, "place: place", 12);
}

TEST(exit_statuses_follow_sysexits)
{
    assert_int_equal(err_exit_code(0), 0);
    assert_int_equal(err_exit_code(ERR_USAGE), 64);
    assert_int_equal(err_exit_code(ERR_DATA), 65);
    assert_int_equal(err_exit_code(ERR_NOINPUT), 66);
    assert_int_equal(err_exit_code(ERR_UNAVAILABLE), 69);
    assert_int_equal(err_exit_code(ERR_CREATE), 73);
    assert_int_equal(err_exit_code(ERR_IO), 74);
    assert_int_equal(err_exit_code(ERR_TRYLATER), 75);
    assert_int_equal(err_exit_code(ERR_INTERRUPTED), 130);
    assert_int_equal(err_exit_code(-999), 70);
}

TEST(an_error_is_that_of_its_process_until_it_blames_another)
{
    ERR(&e, ERR_IO, "disk full");
    assert_int_equal(e.cause, ERR_CAUSE_OWN);
    assert_int_equal(e.rank, -1);
    assert_int_equal(err_blame(&e, ERR_CAUSE_LOST, 3, "node7"), ERR_IO);
    err_ctx(&e, "rank 3");
    assert_int_equal(e.cause, ERR_CAUSE_LOST);
    assert_int_equal(e.rank, 3);
    assert_string_equal(e.node, "node7");
    ERR(&e, ERR_IO, "disk full again");
    assert_string_equal(e.node, "");
}

TEST(the_names_of_codes_and_causes_lead_back_to_them)
{
    for (int code = ERR_OUTPUT; code <= ERR_USAGE; code++)
        assert_int_equal(err_from_name(err_name(code)), code);
    assert_int_equal(err_from_name("none"), 0);
    for (int cause = ERR_CAUSE_OWN; cause < ERR_CAUSES_N; cause++)
        assert_int_equal(err_cause_from_name(err_cause_name(cause)), cause);
    assert_int_equal(err_cause_from_name(NULL), ERR_CAUSE_NONE);
    assert_int_equal(err_cause_from_name("weather"), ERR_CAUSE_NONE);
}
