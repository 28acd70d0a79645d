/* test_event.c - records survive what happens to files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spec/event.h"

enum { RECORDS_N = 5 };

struct place {
    char dir[64], path[96];
};

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    strcpy(p->dir, "/tmp/alibi-event-XXXXXX");
    if (!mkdtemp(p->dir)) return -1;
    snprintf(p->path, sizeof p->path, "%s/events", p->dir);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    unlink(p->path);
    rmdir(p->dir);
    free(p);
    return 0;
}

static void write_records(const char *path)
{
    struct event_writer *w;
    struct err e = {0};
    assert_int_equal(event_writer_open(&w, path, &e), 0);
    for (int i = 1; i <= RECORDS_N; i++)
        assert_int_equal(event_write(w, EVENT_STEP,
                                     json_pack("{s:i,s:f}", "update", i, "loss_nats", 1.0 / i), &e),
                         0);
    assert_int_equal(event_sync(w, &e), 0);
    event_writer_close(w);
}

/* Reads all there is; each record must be the next one. */
static int read_records(const char *path)
{
    struct event_reader *r;
    struct event ev;
    struct err e = {0};
    int n = 0;
    assert_int_equal(event_reader_open(&r, path, &e), 0);
    while (event_read(r, &ev, &e) == 1) {
        n++;
        assert_int_equal(ev.sequence, n);
        assert_int_equal(ev.type, EVENT_STEP);
        assert_int_equal(json_integer_value(json_object_get(ev.json, "update")), n);
        assert_true(json_real_value(json_object_get(ev.json, "loss_nats")) == 1.0 / n);
    }
    event_reader_close(r);
    return n;
}

static void records_read_back_in_order_with_every_bit(void **state)
{
    struct place *p = *state;
    write_records(p->path);
    assert_int_equal(read_records(p->path), RECORDS_N);
}

static void a_file_that_is_not_there_yet_is_empty(void **state)
{
    struct place *p = *state;
    assert_int_equal(read_records(p->path), 0);
}

static void a_file_cut_anywhere_gives_a_whole_prefix(void **state)
{
    struct place *p = *state;
    write_records(p->path);
    FILE *f = fopen(p->path, "rb");
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long size = ftell(f);
    fclose(f);
    for (long n = size - 1; n >= 0; n--) {
        assert_int_equal(truncate(p->path, n), 0);
        int got = read_records(p->path);
        assert_true(got < RECORDS_N && got >= 0 && got <= n / (size / RECORDS_N - 8));
    }
}

static void a_flipped_bit_ends_the_file_there(void **state)
{
    struct place *p = *state;
    write_records(p->path);
    FILE *f = fopen(p->path, "r+b");
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long size = ftell(f);
    for (long at = 0; at < size; at++) {
        for (int turn = 0; turn < 2; turn++) { /* flip, then back */
            fseek(f, at, SEEK_SET);
            int c = fgetc(f);
            fseek(f, at, SEEK_SET);
            fputc(c ^ 16, f);
            fflush(f);
            if (turn == 0) assert_true(read_records(p->path) < RECORDS_N);
        }
    }
    fclose(f);
    assert_int_equal(read_records(p->path), RECORDS_N);
}

static void a_second_writer_is_refused(void **state)
{
    struct place *p = *state;
    struct event_writer *w;
    struct err e = {0};
    write_records(p->path);
    assert_int_equal(event_writer_open(&w, p->path, &e), ERR_CREATE);
    assert_non_null(strstr(e.text, p->path));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(records_read_back_in_order_with_every_bit),
        CASE(a_file_that_is_not_there_yet_is_empty),
        CASE(a_file_cut_anywhere_gives_a_whole_prefix),
        CASE(a_flipped_bit_ends_the_file_there),
        CASE(a_second_writer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
