/* test_str.c - strict numbers, shortest doubles, nearest names. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

TEST(only_plain_decimal_numbers_are_numbers)
{
    static const char *const wrong[] = {"",    " 1",  "1 ", "0x1",   "010", "1_0",
                                        "nan", "inf", "1e", "1.2.3", "--1", "9223372036854775808",
                                        "+",   "e5"};
    int64_t i;
    double d;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_false(str_to_int(&i, wrong[k]));
    assert_false(str_to_double(&d, "nan"));
    assert_false(str_to_double(&d, "1e999"));
    assert_false(str_to_double(&d, "0x1p3"));
    assert_true(str_to_int(&i, "-9223372036854775808") && i == INT64_MIN);
    assert_true(str_to_double(&d, "1e-5") && d == 1e-5);
    assert_true(str_to_double(&d, ".5") && d == 0.5);
}

TEST(a_double_is_written_short_and_reads_back_the_same)
{
    static const double values[] = {0.1,    1e-7,  1.0 / 3, 0,
                                    270000, 1e300, 5e-324,  0.30000000000000004};
    char text[STR_DOUBLE_BYTES];
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        double back;
        str_from_double(text, values[k]);
        assert_true(str_to_double(&back, text) && back == values[k]);
    }
    str_from_double(text, 0.1);
    assert_string_equal(text, "0.1");
    str_from_double(text, 270000);
    assert_string_equal(text, "270000");
}

TEST(the_nearest_name_is_found_if_any_is_near)
{
    static const char *const names[] = {"sinusoidal", "rotary", "t5", "alibi"};
    assert_string_equal(str_nearest("alibbi", names, 4), "alibi");
    assert_string_equal(str_nearest("sinusodial", names, 4), "sinusoidal");
    assert_null(str_nearest("transformer", names, 4));
    static const char *const tables[] = {"table15", "table5", "table1"};
    assert_string_equal(str_nearest("tabel5", tables, 3), "table5"); /* a swap is one edit */
    static const char *const figures[] = {"figure1", "figure11"};
    assert_string_equal(str_nearest("figur11", figures, 2), "figure11"); /* dropped, not changed */
    static const char *const keys[] = {"train.updates", "position", "RoPE=rotary", "none"};
    assert_string_equal(str_nearest("updates", keys, 4), "train.updates");
    assert_string_equal(str_nearest("pos", keys, 4), "position");
    assert_string_equal(str_nearest("NONE", keys, 4), "none");
    assert_string_equal(str_nearest("rope", keys, 4), "rotary");
    assert_string_equal(str_hint("ropes", keys, 4).text, "; did you mean 'rotary'?");
    assert_string_equal(str_hint("transformer", keys, 4).text, "");
}

TEST(names_have_no_slash_and_no_leading_dot)
{
    assert_true(str_is_name("synthetic-wikitext103.v2"));
    assert_false(str_is_name("../etc"));
    assert_false(str_is_name(".hidden"));
    assert_false(str_is_name("-rf"));
    assert_false(str_is_name(""));
    assert_false(str_is_name("a b"));
}

TEST(the_last_line_is_the_last_one_that_is_not_empty)
{
    char text[] = "first\nerror: no such \x1b[31mtable\n\n  \n", one[] = "one", none[] = "\n\n";
    assert_string_equal(str_last_line(text), "error: no such ?[31mtable");
    assert_string_equal(str_last_line(one), "one");
    assert_string_equal(str_last_line(none), "");
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *p,
          quotes_inside_a_quoted_text_are_doubled_and_a_shell_word_is_quoted_if_it_must_be)
{
    assert_string_equal(str_quote(&p->arena, "it's \"x\"", '"'), "\"it's \"\"x\"\"\"");
    assert_string_equal(str_quote(&p->arena, "it's \"x\"", '\''), "'it''s \"x\"'");
    assert_string_equal(str_shell_word(&p->arena, "my/grid-1.2"), "my/grid-1.2");
    assert_string_equal(str_shell_word(&p->arena, "a $(b) 'c'"), "'a $(b) '\\''c'\\'''");
    assert_string_equal(str_shell_word(&p->arena, ""), "''");
}

TEST_WITH(struct test_place *p, what_controls_a_terminal_or_is_not_utf8_is_escaped)
{
    static const struct {
        const char *text, *kept, *clean;
    } rows[] = {
        {"plain, größer ≤ 5 – ok", "", "plain, größer ≤ 5 – ok"},
        {"\x1b]0;title\x07", "", "\\x1b]0;title\\x07"},
        {"a\nb\tc\rd\x7f", "\n\t", "a\nb\tc\\x0dd\\x7f"},
        {"a\nb", "", "a\\x0ab"},
        {"C1 \xc2\x9b", "", "C1 \\xc2\\x9b"},
        {"bidi \xe2\x80\xae", "", "bidi \\xe2\\x80\\xae"},
        {"cut \xe2\x80", "", "cut \\xe2\\x80"},
        {"\xff", "", "\\xff"},
        {"", "", ""},
        {NULL, "", ""},
    };
    char out[8];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(str_clean(&p->arena, rows[i].text, rows[i].kept), rows[i].clean);
    assert_int_equal(str_clean_n(out, sizeof out, "a\0b", 3, ""), 6);
    assert_string_equal(out, "a\\x00b");
    assert_int_equal(str_clean_n(out, sizeof out, "12345\xe2\x89\xa4", 8, ""), 5);
    assert_string_equal(out, "12345"); /* no part of a character */
    assert_int_equal(str_clean_n(out, sizeof out, "1234\x1b", 5, ""), 4);
}

TEST_WITH(struct test_place *p, a_buffer_grows_without_losing_a_byte)
{
    struct strbuf b;
    strbuf_init(&b, &p->arena);
    for (int i = 0; i < 3000; i++) strbuf_addf(&b, "%d,", i % 10);
    assert_int_equal(b.n, 6000);
    assert_int_equal(strlen(b.text), 6000);
    for (int i = 0; i < 3000; i++) assert_int_equal(b.text[2 * i], '0' + i % 10);
}
