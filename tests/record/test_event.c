/* test_event.c - records survive what happens to files. */
#include "harness/test.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/event.h"

enum { RECORDS_N = 5 };

static const char *path; /* of the events */

static int setup(void **state)
{
    int rc = test_place_make(state);

    path = test_place_path(*state, "events");
    return rc;
}

static void write_records(void)
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
static int read_records(void)
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

TEST_EACH(setup, test_place_remove)

TEST(records_read_back_in_order_with_every_bit)
{
    write_records();
    assert_int_equal(read_records(), RECORDS_N);
}

TEST(no_record_follows_the_end_and_a_writer_without_a_file_drops_all)
{
    struct event_writer *w;
    assert_ok(event_writer_open(&w, path, &e));
    assert_ok(event_write(w, EVENT_ENDED, json_object(), &e));
    assert_fails(ERR_INTERNAL, "after the last", event_write(w, EVENT_STEP, json_object(), &e));
    event_writer_close(w);
    assert_ok(event_writer_open(&w, NULL, &e));
    assert_ok(event_write(w, EVENT_ENDED, json_object(), &e));
    assert_ok(event_write(w, EVENT_STEP, json_object(), &e));
    assert_ok(event_sync(w, &e));
    event_writer_close(w);
}

TEST(a_file_that_is_not_there_yet_is_empty)
{
    assert_int_equal(read_records(), 0);
}

static long file_size(void)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (long)st.st_size;
}

TEST(a_file_cut_anywhere_gives_a_whole_prefix)
{
    write_records();
    long size = file_size();
    for (long n = size - 1; n >= 0; n--) {
        assert_int_equal(truncate(path, n), 0);
        int got = read_records();
        assert_true(got < RECORDS_N && got >= 0 && got <= n / (size / RECORDS_N - 8));
    }
    print_message("%ld faults injected\n", size);
}

static void flip_bit(long at)
{
    FILE *f = fopen(path, "r+b");

    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    int c = fgetc(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fputc(c ^ 16, f), c ^ 16);
    assert_int_equal(fclose(f), 0);
}

TEST(a_flipped_bit_ends_the_file_there)
{
    write_records();
    long size = file_size();
    for (long at = 0; at < size; at++) {
        flip_bit(at);
        assert_true(read_records() < RECORDS_N);
        flip_bit(at);
    }
    assert_int_equal(read_records(), RECORDS_N);
    print_message("%ld faults injected\n", size);
}

TEST(a_second_writer_is_refused)
{
    struct event_writer *w;
    write_records();
    assert_int_equal(event_writer_open(&w, path, &e), ERR_CREATE);
    assert_non_null(strstr(e.text, path));
}

/* A FIFO without a writer would be waited for. */
TEST(what_is_not_a_file_is_refused)
{
    struct event_reader *r;
    struct event ev;
    assert_int_equal(mkfifo(path, 0666), 0);
    assert_int_equal(event_reader_open(&r, path, &e), 0);
    alarm(60);
    assert_int_equal(event_read(r, &ev, &e), ERR_DATA);
    alarm(0);
    assert_non_null(strstr(e.text, "is not a regular file"));
    event_reader_close(r);
}
