/* test_containers.c - growing arrays, the hash table. */
#include "harness/test.h"

#include <stdio.h>

#include "base/map.h"

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *p, an_array_in_an_arena_keeps_what_was_pushed)
{
    struct {
        int64_t *item;
        int32_t n, capacity;
    } v = {0};

    for (int i = 0; i < 1000; i++) *vec_push(&p->arena, &v) = (int64_t)i * i;
    assert_int_equal(v.n, 1000);
    assert_true(v.capacity >= 1000);
    for (int i = 0; i < 1000; i++) assert_int_equal(v.item[i], (int64_t)i * i);
}

TEST_WITH(struct test_place *p, a_map_finds_every_key_and_nothing_else)
{
    enum { N = 5000 };
    struct map m;
    char key[32];
    int32_t value;
    bool added;

    map_init(&m, &p->arena);
    for (int i = 0; i < N; i++) {
        int n = snprintf(key, sizeof key, "key %d", i);
        *map_put(&m, key, (size_t)n, &added) = i;
        assert_true(added);
    }
    assert_int_equal(m.n, N);
    for (int i = 0; i < N; i++) {
        int n = snprintf(key, sizeof key, "key %d", i);
        assert_true(map_get(&m, key, (size_t)n, &value));
        assert_int_equal(value, i);
        assert_int_equal(*map_put(&m, key, (size_t)n, &added), i);
        assert_false(added);
    }
    assert_false(map_get(&m, "key", 3, &value));
    assert_false(map_get(&m, "", 0, &value));
}

TEST_WITH(struct test_place *p, keys_are_bytes_with_zeros_and_may_be_empty)
{
    struct map m;
    int32_t value;

    map_init(&m, &p->arena);
    *map_put(&m, "a\0b", 3, NULL) = 1;
    *map_put(&m, "a\0c", 3, NULL) = 2;
    *map_put(&m, "", 0, NULL) = 3;
    assert_true(map_get(&m, "a\0b", 3, &value));
    assert_int_equal(value, 1);
    assert_true(map_get(&m, "a\0c", 3, &value));
    assert_int_equal(value, 2);
    assert_true(map_get(&m, "", 0, &value));
    assert_int_equal(value, 3);
    assert_false(map_get(&m, "a", 1, &value));
}
