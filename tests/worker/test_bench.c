/* test_bench.c - words per second of trainings; benchmarks need no corpus and record speed and
 * memory. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "worker/bench.h"
#include "worker/worker_fixture.h"

TEST(a_burst_of_other_load_does_not_change_the_speed)
{
    struct arena a;
    struct speed s;

    arena_init(&a);
    speed_init(&s, &a, 1000);
    /* Ten updates of warm-up at a hundredth of the speed, then 50 windows, three of them slow. */
    for (int i = 0; i < 10; i++) speed_add(&s, 100, 10.0);
    for (int i = 0; i < 500; i++) speed_add(&s, 100, i < 30 ? 5.0 : 0.125);
    assert_true(speed_rate(&s) == 800.0);
    arena_fini(&a);
}

TEST(windows_end_when_the_device_is_synchronised)
{
    struct arena a;
    struct speed s;

    arena_init(&a);
    speed_init(&s, &a, 40);
    for (int i = 0; i < 40; i++) {
        /* Two updates of warm-up, then windows of ten. */
        assert_int_equal(speed_window_ends(&s), i == 1 || (i >= 2 && (i - 2) % 10 == 9));
        speed_add(&s, 1, 1.0);
    }
    arena_fini(&a);
}

TEST(an_attempt_shorter_than_a_window_is_measured_by_its_updates)
{
    struct speed s;

    speed_init(&s, NULL, 4);
    assert_true(isnan(speed_rate(&s)));
    for (int i = 0; i < 4; i++) speed_add(&s, 10, 0.5);
    assert_true(speed_rate(&s) == 20.0);
}

TEST(a_median_of_an_even_number_is_the_middle_of_two)
{
    double four[] = {4.0, 1.0, 3.0, 2.0}, three[] = {9.0, 1.0, 5.0};
    assert_true(speed_median(four, 4) == 2.5);
    assert_true(speed_median(three, 3) == 5.0);
    assert_true(isnan(speed_median(three, 0)));
}

TEST_EACH(worker_fixture_make, worker_fixture_remove)

TEST_WITH(struct worker_fixture *f, both_modes_record_speed_and_memory)
{
    for (int mode = 0; mode < 2; mode++) {
        struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
        s.kind = SPEC_BENCH;
        s.bench_mode = mode;
        memcpy(s.data.corpus, "absent", sizeof "absent");
        worker_fixture_must_run(f, &s, 1);
        const struct record_benched r = worker_fixture_record(f, &s, 1, EVENT_BENCHED, 0).benched;
        assert_true(r.wps > 0.0);
        assert_true(r.peak_memory_bytes > 0);
        assert_int_equal(r.batch_tokens, mode == 0 ? 128 : 64);
        assert_true(isnan(r.mfu)); /* no CPU's peak is known */
    }
}

TEST_WITH(struct worker_fixture *f, a_benchmark_reads_the_rows_that_it_names)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    s.kind = SPEC_BENCH;
    s.bench_mode = 1;
    s.bench_rows = 1;
    s.bench_L = 3 * s.train.L + 1;
    worker_fixture_must_run(f, &s, 1);
    assert_int_equal(worker_fixture_record(f, &s, 1, EVENT_BENCHED, 0).benched.batch_tokens,
                     s.bench_L);
}
