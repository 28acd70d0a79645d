/* test_text.c - words, lines and errors of the text scanner. */
#include <stdio.h>
#include <string.h>

#include "data/data_support.h"
#include "prepare/text.h"

/* The items of a text, words in brackets, line ends as |. */
static void assert_items(const char *text, size_t n, const char *expected)
{
    char found[256] = "";
    struct text_scan scan;
    struct err e = {0};
    size_t at = 0;
    int item;
    text_scan_init(&scan, data_text(text, n));
    while ((item = text_next(&scan, &e)) > 0) {
        if (item == TEXT_LINE)
            found[at++] = '|';
        else
            at += (size_t)snprintf(found + at, sizeof found - at, "[%.*s]", (int)scan.word_n,
                                   scan.word);
        found[at] = '\0';
    }
    assert_int_equal(item, TEXT_END);
    assert_string_equal(found, expected);
}

static void assert_refused(const char *text, size_t n, const char *place)
{
    int64_t items;
    assert_fails(ERR_DATA, place, data_count_items(&items, data_text(text, n), &e));
}

TEST(line_feeds_carriage_returns_and_pairs_end_a_line)
{
    assert_items("a\nb\rc\r\nd\n\re", 11, "[a]|[b]|[c]|[d]||[e]|");
}

TEST(an_empty_text_has_no_line_and_a_last_line_needs_no_end)
{
    assert_items("", 0, "");
    assert_items("\n", 1, "|");
    assert_items("a", 1, "[a]|");
    assert_items("a\n ", 3, "[a]||");
}

TEST(every_white_space_of_the_list_separates_and_the_rest_does_not)
{
    static const char *const spaces[] = {
        "\t",           "\v",           "\f",           "\x1c",
        "\x1d",         "\x1e",         "\x1f",         " ",
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80",
        "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
        "\xe2\x81\x9f", "\xe3\x80\x80"};
    static const char *const letters[] = {"\x01",     "\x08",         "\x0e",
                                          "\x1b",     "\x7f",         "\xe2\x80\x8b",
                                          "\xc2\x86", "\xe1\xa0\x8e", "\xef\xbb\xbf"};
    char text[16], expected[32];
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        int n = snprintf(text, sizeof text, "%sa%sb%s", spaces[i], spaces[i], spaces[i]);
        assert_items(text, (size_t)n, "[a][b]|");
    }
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        int n = snprintf(text, sizeof text, "a%sb", letters[i]);
        snprintf(expected, sizeof expected, "[a%sb]|", letters[i]);
        assert_items(text, (size_t)n, expected);
    }
}

TEST(bytes_that_are_not_utf8_are_rejected_with_their_line)
{
    static const char *const wrong[] = {"\x80",
                                        "\xc0\x80",
                                        "\xc1\xbf",
                                        "\xe0\x80\x80",
                                        "\xed\xa0\x80",
                                        "\xf0\x80\x80\x80",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xff",
                                        "\xc3",
                                        "\xe2\x82",
                                        "\xc3("};
    char text[32];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int n = snprintf(text, sizeof text, "ok\r\nb %s", wrong[i]);
        assert_refused(text, (size_t)n, "here:2: byte 0x");
        n = snprintf(text, sizeof text, "ok\n\nword%s", wrong[i]);
        assert_refused(text, (size_t)n, "here:3: byte 0x");
    }
    assert_items("\xed\x9f\xbf \xee\x80\x80 \xf4\x8f\xbf\xbf", 12,
                 "[\xed\x9f\xbf][\xee\x80\x80][\xf4\x8f\xbf\xbf]|");
}

TEST(a_zero_byte_is_rejected_with_its_line)
{
    assert_refused("a\n\0", 3, "here:2: zero byte");
    assert_refused("a\0b", 3, "here:1: zero byte");
}

TEST(a_byte_order_mark_stays_part_of_the_first_word)
{
    assert_items("\xef\xbb\xbfthe end", 10, "[\xef\xbb\xbfthe][end]|");
}
