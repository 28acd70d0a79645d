/* test_yaml.c - YAML trees, and rejected files with their positions. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/plan_internal.h"

static struct arena arena;
static struct err err;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static const struct yaml_node *tree_of(const char *text)
{
    const struct yaml_node *root;
    if (yaml_parse(&root, &arena, "f.yaml", text, strlen(text), &err) < 0)
        fail_msg("%s\n%s", err.text, text);
    return root;
}

static const struct yaml_node *value_of(const struct yaml_node *map, const char *key)
{
    return map->item[yaml_find(map, key)];
}

static void refuses_bytes(const char *bytes, size_t n, const char *place, const char *word)
{
    const struct yaml_node *root;
    int rc = yaml_parse(&root, &arena, "f.yaml", bytes, n, &err);

    if (rc != ERR_DATA) fail_msg("code %d for\n%s", rc, bytes);
    if (strncmp(err.text, place, strlen(place)) != 0 || !strstr(err.text, word))
        fail_msg("'%s', expected '%s… %s'", err.text, place, word);
}

static void refuses(const char *text, const char *place, const char *word)
{
    refuses_bytes(text, strlen(text), place, word);
}

TEST_GROUP(setup, teardown)

TEST(every_node_knows_its_line_and_column)
{
    const struct yaml_node *root = tree_of("a: 1\nbc:\n  - x\n  - { y: 2 }\n");
    const struct yaml_node *list = value_of(root, "bc");

    assert_int_equal(root->kind, YAML_MAP);
    assert_int_equal(root->key[1]->line, 2);
    assert_int_equal(root->key[1]->column, 1);
    assert_int_equal(list->kind, YAML_LIST);
    assert_int_equal(list->n, 2);
    const struct yaml_node *two = value_of(list->item[1], "y");
    assert_string_equal(two->text, "2");
    assert_int_equal(two->line, 4);
    assert_int_equal(two->column, 10);
    assert_int_equal(yaml_find(root, "absent"), -1);
}

TEST(scalars_stay_the_text_they_are)
{
    static const char *const texts[] = {"no",    "1e-5", "0x10", "010",  "~",
                                        "12:30", "yes",  "NaN",  "null", "2001-01-01"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[64];
        snprintf(text, sizeof text, "k: %s\n", texts[i]);
        assert_string_equal(value_of(tree_of(text), "k")->text, texts[i]);
    }
    assert_string_equal(value_of(tree_of("k: \"a: b\"\n"), "k")->text, "a: b");
    assert_string_equal(value_of(tree_of("k:\n"), "k")->text, "");
}

TEST(columns_count_characters_not_bytes)
{
    const struct yaml_node *root = tree_of("{ \"h\xC3\xA9\xE2\x82\xAC\": 1, b: 2 }\n");
    assert_int_equal(root->key[1]->column, 13);
}

TEST(a_duplicate_key_names_both_lines)
{
    refuses("a: 1\nb: 2\na: 3\n", "f.yaml:3:1: 'a' is already given at line 1", "column 1");
    refuses("a: 1\nx: { k: 1, l: 2, k: 3 }\n", "f.yaml:2:18:", "line 2, column 6");
    refuses("{ z: 1, z: 2, a: 1, a: 2 }\n", "f.yaml:1:9:", "'z'"); /* the first in the file */
}

TEST(many_keys_are_checked_quickly)
{
    char *text = calloc(1, 250000);
    size_t n = 0;

    for (int i = 0; i < 20000; i++) n += (size_t)snprintf(text + n, 250000 - n, "k%d: 1\n", i);
    assert_int_equal(tree_of(text)->n, 20000);
    snprintf(text + n, 250000 - n, "k77: 1\n");
    refuses(text, "f.yaml:20001:1:", "line 78");
    free(text);
}

TEST(anchors_aliases_and_tags_are_rejected)
{
    refuses("a: &x 1\nb: *x\n", "f.yaml:1:4:", "anchor &x");
    refuses("b: *x\n", "f.yaml:1:4:", "alias *x");
    refuses("a: [1, &y [2]]\n", "f.yaml:1:8:", "anchor &y");
    refuses("a: &z {b: 1}\n", "f.yaml:1:4:", "anchor &z");
    refuses("a: !!str 1\n", "f.yaml:1:4:", "tag");
    refuses("a: !include other.yaml\n", "f.yaml:1:4:", "tag !include");
    refuses("a: !!python/object/apply:os.system [ls]\n", "f.yaml:1:4:", "tag");
    refuses("a: ! 5\n", "f.yaml:1:4:", "tag");
    refuses("<<: *x\n", "f.yaml:1:5:", "alias");
}

TEST(a_billion_laughs_is_rejected_at_the_first_anchor)
{
    refuses("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "f.yaml:1:4:", "anchor");
}

TEST(a_second_document_is_rejected)
{
    refuses("a: 1\n---\nb: 2\n", "f.yaml:2:1:", "second document");
    refuses("---\na: 1\n...\n---\n", "f.yaml:4:1:", "second document");
    assert_int_equal(tree_of("---\na: 1\n...\n")->n, 1); /* one, with its marks, is fine */
}

static char *nested(int depth, const char *open, const char *close)
{
    char *text = calloc(1, 300000);
    strcat(text, "a: ");
    for (int i = 0; i < depth; i++) memcpy(text + strlen(text), open, strlen(open));
    for (int i = 0; close && i < depth; i++) memcpy(text + strlen(text), close, strlen(close));
    return text;
}

TEST(nesting_stops_at_the_limit)
{
    char *fits = nested(PLAN_MAX_DEPTH - 1, "[", "]"), *deep = nested(40, "[", "]");
    char *maps = nested(40, "{ a: ", " }"), *hostile = calloc(1, 250001);

    assert_int_equal(tree_of(fits)->n, 1);
    refuses(deep, "f.yaml:1:35:", "deeper than 32");
    refuses(maps, "f.yaml:1:", "deeper than 32");
    memset(hostile, '[', 250000); /* quadratic in libyaml without the limit of depth */
    refuses(hostile, "f.yaml:1:33:", "deeper than 32");
    free(fits);
    free(deep);
    free(maps);
    free(hostile);
}

TEST(a_file_above_the_limit_is_rejected)
{
    char *text = calloc(1, 300001);

    memset(text, '#', 300000);
    refuses(text, "f.yaml:1:1:", "262144");
    free(text);
}

TEST(invalid_text_is_rejected_with_its_place)
{
    refuses_bytes("a: 1\nb: \0x\n", 11, "f.yaml:2:4:", "0x00");
    refuses("a: \"x\\0y\"\n", "f.yaml:1:4:", "NUL");
    refuses("a: 1\nb: \xFFx\n", "f.yaml:2:4:", "UTF-8");
    refuses("a: \xC0\x80\n", "f.yaml:1:4:", "UTF-8");     /* overlong */
    refuses("a: \xED\xA0\x80\n", "f.yaml:1:4:", "UTF-8"); /* a surrogate */
    refuses("a: \xF5\x80\x80\x80\n", "f.yaml:1:4:", "UTF-8");
    refuses("a: \xE2\x82\n", "f.yaml:1:4:", "UTF-8"); /* cut short */
    refuses("\xFF\xFE"
            "a",
            "f.yaml:1:1:", "UTF-8"); /* UTF-16 */
    refuses("a: x\x07\n", "f.yaml:1:5:", "control character");
    refuses("a: \xC2\x80\n", "f.yaml:1:", "control characters");
}

TEST(a_byte_order_mark_changes_nothing)
{
    const struct yaml_node *root = tree_of("\xEF\xBB\xBF"
                                           "a: 1\n");
    assert_string_equal(root->key[0]->text, "a");
    assert_int_equal(root->key[0]->column, 1);
}

TEST(line_ends_of_other_systems_count_as_lines)
{
    assert_int_equal(tree_of("a: 1\r\nb: 2\r\n")->key[1]->line, 2);
    refuses("a: 1\r\nb: \xFF\r\n", "f.yaml:2:4:", "UTF-8");
}

TEST(broken_yaml_names_its_place)
{
    refuses("a:\n\t- 1\n", "f.yaml:2:1:", "tab");
    refuses("a: [1, 2\n", "f.yaml:2:1:", "");
    refuses("a: 1\n b: 2\n", "f.yaml:2:3:", "");
    refuses("a: 'x\n", "f.yaml:2:1:", "");
    refuses("? [1, 2]\n: 3\n", "f.yaml:1:3:", "key must be a name");
    refuses("", "f.yaml:1:1:", "empty");
    refuses("# only a comment\n", "f.yaml:1:1:", "empty");
    refuses("- a\n- b\n", "f.yaml:1:1:", "mapping");
    refuses("just text\n", "f.yaml:1:1:", "mapping");
}

/* Parses n bytes: a tree or an error with a place. */
static void parse_exactly(const char *text, size_t n)
{
    const struct yaml_node *root;
    char *exact = malloc(n ? n : 1); /* so that a sanitizer sees a read past the end */

    memcpy(exact, text, n);
    int rc = yaml_parse(&root, &arena, "f.yaml", exact, n, &err);
    free(exact);
    if (rc == ERR_DATA)
        assert_memory_equal(err.text, "f.yaml:", 7);
    else
        assert_int_equal(rc, 0);
}

TEST(every_prefix_and_every_flipped_bit_is_an_error_or_a_tree)
{
    char text[] = "artefact: t\ntitle: \"a \\u00e9 b\"\nbase: [a, 'b c']\n"
                  "grid:\n  - { position: alibi, L_train: [64, 128] }\n"
                  "evaluate:\n  - where: { position: alibi }\n    L_valid: |\n"
                  "      x\n";
    for (size_t n = 0; n < sizeof text; n++) parse_exactly(text, n);
    for (size_t i = 0; i < 8 * (sizeof text - 1); i++) {
        text[i / 8] ^= (char)(1 << (i % 8));
        parse_exactly(text, sizeof text - 1);
        text[i / 8] ^= (char)(1 << (i % 8));
    }
    print_message("%zu faults injected\n", sizeof text + 8 * (sizeof text - 1));
}

TEST(an_absent_file_is_no_input)
{
    const struct yaml_node *root;
    assert_int_equal(yaml_read(&root, &arena, "/nowhere/f.yaml", &err), ERR_NOINPUT);
    assert_non_null(strstr(err.text, "/nowhere/f.yaml"));
}
