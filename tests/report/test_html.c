/* test_html.c - the parts of a page: texts, tables, READMEs, colours, pictures. Text from a
 * grid, a README or results.db stays text whatever it contains. */
#include "harness/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/page_check.h"
#include "report/report_fixture.h"
#include "report/rows.h"

/* --- parts ---------------------------------------------------------------------------------- */

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, text_is_escaped_and_invisible_characters_become_hexadecimal)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
        {"5 \xc2\xb1 1 \xe2\x80\x93 \xf0\x9f\x98\x80",
         "5 \xc2\xb1 1 \xe2\x80\x93 \xf0\x9f\x98\x80"},
        {"\x1b[0m\n", "\\x1b[0m\\x0a"},
        {"\xff", "\\xff"},
        {"\xe2\x82", "\\xe2\\x82"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
        {"\xe2\x80\xae", "\\xe2\\x80\\xae"},
        {"\xc2\x85", "\\xc2\\x85"},
        {"at L_valid = 2 L_train", "at L<sub>valid</sub> = 2 L<sub>train</sub>"},
        {"L_train_nominal XL_valid L_", "L_train_nominal XL_valid L_"},
        {NULL, ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(report_text(f, (report_html(out, "%s", cases[i].text), 0)),
                            cases[i].shown);
}

/* Every byte and many sequences of bytes, as an element's text and as an attribute's value. */
TEST_WITH(struct report_fixture *f, no_bytes_make_a_broken_page)
{
    static const char likely[] = "<>&\"'\xe2\x80\xae";
    uint64_t seed = 20221121;
    char text[9];

    FILE *out = report_text_begin(f);
    for (int i = 0; i < 20000; i++) {
        int n = i < 256 ? 1 : 1 + i % 8;
        for (int k = 0; k < n; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            char any = (char)(i < 256 ? i : (int)(seed >> 56));
            text[k] = i >= 256 && (seed >> 40 & 1) ? likely[(seed >> 48) % 8] : any;
            if (!text[k]) text[k] = 1;
        }
        text[n] = '\0';
        report_html(out, "<p title=\"%-s\">%s</p>\n", text, text);
    }
    assert_page(report_text_end(f), false);
}

TEST_WITH(struct report_fixture *f, a_table_of_hostile_cells_is_a_table)
{
    struct rows r;

    report_rows_init(&r, &f->arena, PAGE_HOSTILE_N, 3);
    for (int i = 0; i < PAGE_HOSTILE_N; i++) {
        const char *next = page_hostile[(i + 1) % PAGE_HOSTILE_N];
        const char *third = page_hostile[(i + 2) % PAGE_HOSTILE_N];
        r.name[i] = page_hostile[i];
        const char *const texts[] = {page_hostile[i], next, third};
        const struct cell_marks marks[] = {{.link = next, .hint = third},
                                           {.verdict = page_hostile[i]},
                                           {.more = next, .id = page_hostile[i]}};
        for (int k = 0; k < 3; k++) {
            r.row[k][i] = (struct store_cell){.text = texts[k], .type = 't'};
            *report_marks_of(&f->arena, &r.row[k][i]) = marks[k];
        }
    }
    const char *text = report_text(f, report_rows_write(out, &r, REPORT_HTML, &f->base->e));
    assert_page(text, false);
    assert_contains(text, "<th scope=\"col\">&lt;script&gt;alert(1)&lt;/script&gt;</th>");
    assert_lacks(text, "<script");
    assert_lacks(text, "<img");
}

TEST_WITH(struct report_fixture *f, a_readme_shows_its_claim_and_opens_the_rest)
{
    static const char readme[] =
        "# Title\r\n**Claim.** ALiBi `keeps` it\r\nto the end.\r\n\r\nMore & more.\n\n"
        "- one\n- two\n\n## Heading\nan open ** and an open `\n";

    const char *text = report_text(f, (report_html_text(out, &f->arena, readme, "the rest"), 0));
    assert_page(text, false);
    assert_string_equal(
        text, "<p><strong>Claim.</strong> ALiBi <code>keeps</code> it to the end.</p>\n"
              "<details class=\"readme\"><summary>the rest</summary>\n<p>More &amp; more.</p>\n"
              "<pre>- one\n- two</pre>\n<h4>Heading</h4>\n"
              "<p>an open ** and an open `</p>\n</details>\n");
    FILE *out = report_text_begin(f);
    for (int i = 0; i < PAGE_HOSTILE_N; i++)
        report_html_text(out, &f->arena, page_hostile[i], page_hostile[i]);
    assert_page(report_text_end(f), false);
}

/* --- colours -------------------------------------------------------------------------------- */

/* Relative luminance and contrast as WCAG 2 defines them. */
static double luminance(uint32_t rgb)
{
    static const double weight[] = {0.2126, 0.7152, 0.0722};
    double sum = 0;

    for (int i = 0; i < 3; i++) {
        double c = (rgb >> (16 - 8 * i) & 255) / 255.0;
        sum += weight[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static double contrast(uint32_t a, uint32_t b)
{
    double x = luminance(a), y = luminance(b);
    return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

/* The value of a variable of the style sheet; dark: in the part for dark screens. */
static uint32_t style_color(const char *name, bool dark)
{
    char pattern[24];
    unsigned rgb;
    int digits = 0;

    snprintf(pattern, sizeof pattern, "--%s:#", name);
    const char *from =
        dark ? strstr(report_html_style, "prefers-color-scheme:dark") : report_html_style;
    const char *at = strstr(from, pattern);
    assert_non_null(at);
    at += strlen(pattern);
    assert_int_equal(sscanf(at, "%6x%n", &rgb, &digits), 1);
    if (digits == 3) /* #abc is #aabbcc */
        rgb = (rgb >> 8 & 15) * 0x110000 + (rgb >> 4 & 15) * 0x1100 + (rgb & 15) * 0x11;
    return rgb;
}

TEST(text_has_a_contrast_of_4_5_in_the_light_and_in_the_dark)
{
    static const char *const words[] = {"fg", "soft", "link", "yes", "no", "open"};
    static const char *const grounds[] = {"bg", "box"};

    for (int dark = 0; dark < 2; dark++)
        for (int i = 0; i < 6; i++)
            for (int g = 0; g < 2; g++)
                if (contrast(style_color(words[i], dark), style_color(grounds[g], dark)) < 4.5)
                    fail_msg("--%s on --%s, dark %d", words[i], grounds[g], dark);
    for (int dark = 0; dark < 2; dark++)
        assert_true(contrast(style_color("fg", dark), style_color("mark", dark)) >= 4.5);
}

TEST(curves_are_distinct_from_their_white_ground)
{
    /* The colours of the four methods, of axes, of notes: preamble.gp and plot.gp. */
    static const uint32_t drawn[] = {0xD55E00, 0x00805C, 0xC46FC0, 0x00509E, 0x444444, 0x555555};

    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        if (contrast(drawn[i], 0xFFFFFF) < 3) fail_msg("#%06x", drawn[i]);
}

/* --- the figure ----------------------------------------------------------------------------- */

TEST_WITH(struct report_fixture *f, a_picture_is_embedded_as_it_is)
{
    static const struct {
        const char *file, *base64; /* RFC 4648, section 10 */
    } cases[] = {{"f", "Zg=="},        {"fo", "Zm8="},        {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        report_fixture_write(f, "p.svg", cases[i].file);
        report_fixture_write(f, "p.narrow.svg", cases[i].file);
        const char *path = arena_printf(&f->arena, "%s/p", f->artefact_dir);
        const char *text = report_text(
            f, report_html_figure(out, &f->arena, path, "f-tiny", "A \"title\"", &f->base->e));
        assert_page(text, false);
        assert_contains(text,
                        "<img id=\"f-tiny\" class=\"wide\" alt=\"A &quot;title&quot;\" src=\"");
        assert_contains(text, "\"/><img class=\"narrow\" alt=\"A &quot;title&quot;\" src=\"");
        assert_contains(
            text, arena_printf(&f->arena, "data:image/svg+xml;base64,%s\"/>", cases[i].base64));
    }
}
