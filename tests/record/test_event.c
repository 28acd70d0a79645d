/* test_event.c - records survive what happens to files. */
#include "harness/test.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/event.h"

enum { RECORDS_N = 5 };

struct place {
    char dir[TEST_PATH_BYTES], path[TEST_PATH_BYTES + 8];
};

static int setup(void **state)
{
    static struct place p;
    test_folder(p.dir);
    snprintf(p.path, sizeof p.path, "%s/events", p.dir);
    *state = &p;
    return 0;
}

static int teardown(void **state)
{
    test_folder_remove(((struct place *)*state)->dir);
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

TEST_EACH(setup, teardown)

TEST_WITH(struct place *p, records_read_back_in_order_with_every_bit)
{
    write_records(p->path);
    assert_int_equal(read_records(p->path), RECORDS_N);
}

TEST_WITH(struct place *p, a_file_that_is_not_there_yet_is_empty)
{
    assert_int_equal(read_records(p->path), 0);
}

TEST_WITH(struct place *p, a_file_cut_anywhere_gives_a_whole_prefix)
{
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
    print_message("%ld faults injected\n", size);
}

TEST_WITH(struct place *p, a_flipped_bit_ends_the_file_there)
{
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
    print_message("%ld faults injected\n", size);
}

TEST_WITH(struct place *p, a_second_writer_is_refused)
{
    struct event_writer *w;
    write_records(p->path);
    assert_int_equal(event_writer_open(&w, p->path, &e), ERR_CREATE);
    assert_non_null(strstr(e.text, p->path));
}

/* A FIFO without a writer would be waited for. */
TEST_WITH(struct place *p, what_is_not_a_file_is_refused)
{
    struct event_reader *r;
    struct event ev;
    assert_int_equal(mkfifo(p->path, 0666), 0);
    assert_int_equal(event_reader_open(&r, p->path, &e), 0);
    alarm(60);
    assert_int_equal(event_read(r, &ev, &e), ERR_DATA);
    alarm(0);
    assert_non_null(strstr(e.text, "is not a regular file"));
    event_reader_close(r);
}
