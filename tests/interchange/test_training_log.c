/* test_training_log.c - fairseq's logs in both formats, resumed ones, and thousands of changed
 * ones. */
#include "harness/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "interchange/interchange.h"

#define JSON_LOG "tests/fuzz/seeds/log/json"
#define TEXT_LOG "tests/fuzz/seeds/log/simple"

struct scene {
    struct test_place *place;
    const char *path;
};

static int make_scene(void **state)
{
    test_place_make(state);
    struct test_place *place = *state;
    struct scene *s = *state = arena_alloc(&place->arena, sizeof *s);
    *s = (struct scene){place, test_place_path(place, "x.log")};
    return 0;
}

static int remove_scene(void **state)
{
    struct scene *s = *state;
    *state = s->place;
    return test_place_remove(state);
}

static int read_text(struct scene *s, struct training_log *out, const char *text, struct err *e)
{
    test_write(s->path, text, strlen(text));
    return training_log_read(out, &s->place->arena, s->path, e);
}

TEST_EACH(make_scene, remove_scene)

TEST_WITH(struct scene *s, losses_are_converted_from_bits_to_nats)
{
    struct training_log read;

    assert_ok(training_log_read(&read, &s->place->arena, JSON_LOG, &e));
    assert_int_equal(read.L, 32);
    assert_int_equal(read.train.n, 15);
    assert_int_equal(read.valid.n, 3);
    assert_int_equal(read.train.item[0].update, 10);
    assert_true(fabs(read.train.item[0].loss_nats - 7.246 * log(2.0)) < 1e-12);
    assert_true(fabs(read.train.item[0].perplexity - 151.80) < 0.05);
    assert_true(read.train.item[0].lr == 0.005 && read.train.item[0].grad_norm == 1.3);
    assert_int_equal(read.valid.item[2].update, 150);
    assert_int_equal(read.valid.item[2].epoch, 3);
    assert_true(read.valid.item[2].best);
}

TEST_WITH(struct scene *s, text_and_json_say_the_same)
{
    struct training_log a, b;

    assert_ok(training_log_read(&a, &s->place->arena, JSON_LOG, &e));
    assert_ok(training_log_read(&b, &s->place->arena, TEXT_LOG, &e));
    assert_int_equal(a.train.n, b.train.n);
    assert_int_equal(a.valid.n, b.valid.n);
    assert_memory_equal(a.train.item, b.train.item, (size_t)a.train.n * sizeof *a.train.item);
    assert_memory_equal(a.valid.item, b.valid.item, (size_t)a.valid.n * sizeof *a.valid.item);
}

TEST_WITH(struct scene *s, what_a_resumed_training_repeats_replaces_what_came_before)
{
    struct training_log read;

    assert_ok(read_text(s, &read,
                        "| train_inner | epoch 001: loss=5.0, num_updates=10\n"
                        "| train_inner | epoch 001: loss=4.5, num_updates=20\n"
                        "| train_inner | epoch 001: loss=4.0, num_updates=30\n"
                        "| train_inner | epoch 001: loss=4.25, num_updates=20\n",
                        &e));
    assert_int_equal(read.train.n, 2);
    assert_true(fabs(read.train.item[1].loss_nats - 4.25 * log(2.0)) < 1e-12);
}

TEST_WITH(struct scene *s, means_over_an_epoch_count_only_without_finer_losses)
{
    static const char epoch[] = "| train | epoch 001 | loss 6.0 | ppl 64 | num_updates 50\n";
    struct training_log read;

    assert_ok(read_text(s, &read, epoch, &e));
    assert_int_equal(read.train.n, 1);
    assert_int_equal(read.train.item[0].update, 50);
    const char *both = arena_printf(&s->place->arena, "%s%s", epoch,
                                    "| train_inner | epoch 001: loss=5.0, num_updates=10\n");
    assert_ok(read_text(s, &read, both, &e));
    assert_int_equal(read.train.n, 1);
    assert_int_equal(read.train.item[0].update, 10);
}

/* fairseq writes nan, inf or None where a number is not known. */
TEST_WITH(struct scene *s, a_loss_that_is_not_finite_is_not_known)
{
    struct training_log read;

    assert_ok(read_text(s, &read,
                        "| train_inner | {\"loss\": \"nan\", \"ppl\": \"nan\", \"gnorm\": \"inf\", "
                        "\"num_updates\": \"10\"}",
                        &e));
    assert_true(isnan(read.train.item[0].loss_nats) && isnan(read.train.item[0].grad_norm));
}

TEST_WITH(struct scene *s, an_empty_file_is_no_training_log)
{
    struct training_log read;

    assert_fails(ERR_DATA, "not a training log of fairseq", read_text(s, &read, "", &e));
}

TEST_WITH(struct scene *s, changed_logs_never_crash_the_reader)
{
    enum { CHANGES = 4000 };
    static const char *const paths[] = {JSON_LOG, TEXT_LOG};
    uint32_t seed = 11;
    int refused = 0;

    for (int i = 0; i < CHANGES; i++) {
        struct arena a;
        struct training_log read;
        char *text;
        size_t n;
        arena_init(&a);
        assert_ok(file_read(&a, &text, &n, paths[i % 2], 1 << 20, &e));
        n = n / 4; /* a few lines */
        for (int k = 0; k <= i % 5; k++) {
            seed = seed * 1664525u + 1013904223u;
            text[(seed >> 4) % n] = (char)(seed >> 24);
        }
        test_write(s->path, text, n);
        refused += training_log_read(&read, &a, s->path, &e) < 0;
        arena_fini(&a);
    }
    assert_in_range(refused, CHANGES / 100, CHANGES);
    print_message("%d faults injected\n", CHANGES);
}
