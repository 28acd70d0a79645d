/* test_bench.c - a benchmark needs no corpus and records speed and memory. */
#include "harness/test.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "worker/worker_fixture.h"

TEST_EACH(worker_fixture_make, worker_fixture_remove)

TEST_WITH(const struct worker_fixture *f, both_modes_record_speed_and_memory)
{
    log_set_level(LOG_WARN);
    for (int mode = 0; mode < 2; mode++) {
        struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
        s.kind = SPEC_BENCH;
        s.bench_mode = mode;
        memcpy(s.data.corpus, "absent", sizeof "absent");
        if (worker_fixture_run(f, &s, 1, 1, NULL, &e) < 0) fail_msg("%s", e.text);
        json_t *json = worker_fixture_event(f, &s, 1, EVENT_BENCHED, 0);
        assert_non_null(json);
        assert_true(json_number_value(json_object_get(json, "wps")) > 0.0);
        assert_true(json_integer_value(json_object_get(json, "peak_memory_bytes")) > 0);
        assert_int_equal(json_integer_value(json_object_get(json, "batch_tokens")),
                         mode == 0 ? 128 : 64);
        assert_true(json_is_null(json_object_get(json, "mfu"))); /* no CPU's peak is known */
        json_decref(json);
    }
}

TEST_WITH(const struct worker_fixture *f, a_benchmark_reads_the_rows_that_it_names)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    log_set_level(LOG_WARN);
    s.kind = SPEC_BENCH;
    s.bench_mode = 1;
    s.bench_rows = 1;
    s.bench_L = 3 * s.train.L + 1;
    if (worker_fixture_run(f, &s, 1, 1, NULL, &e) < 0) fail_msg("%s", e.text);
    json_t *json = worker_fixture_event(f, &s, 1, EVENT_BENCHED, 0);
    assert_non_null(json);
    assert_int_equal(json_integer_value(json_object_get(json, "batch_tokens")), s.bench_L);
    json_decref(json);
}
