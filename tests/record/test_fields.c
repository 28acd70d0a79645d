/* test_fields.c - records keep every value, and wrong ones are named. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "record/run_folder.h"

static struct record_value value_for(const struct record_field *f, int32_t i)
{
    char *const at[] = {"alpha", "beta", "\xc3\xa9t\xc3\xa9"};
    static const struct record_bins bins = {
        .n = 3,
        .bin = {{1, 1, 7, 1.0 / 3, RECORD_NONE, NULL},
                {2, 1LL << 40, 1LL << 52, 0x1p-1000, 7, "a-name"},
                {0, 0, 1, 2.5, RECORD_NONE, "other"}}};

    return (struct record_value){.kind = f->kind,
                                 .known = true,
                                 .integer = f->kind == RECORD_BOOL ? 1 : i - 20,
                                 .real = 1.0 / (3 + i),
                                 .text = at[i % 3],
                                 .bins = &bins};
}

/* Sets a member through its row. */
static void put_value(struct record *r, const struct record_field *f, const struct record_value *v)
{
    char *at = (char *)r + f->offset;

    if (f->kind == RECORD_INT) memcpy(at, &v->integer, sizeof v->integer);
    if (f->kind == RECORD_REAL) memcpy(at, &v->real, sizeof v->real);
    if (f->kind == RECORD_TEXT) memcpy(at, &v->text, sizeof v->text);
    if (f->kind == RECORD_BOOL) *(bool *)at = v->integer != 0;
    if (f->kind == RECORD_BINS) memcpy(at, v->bins, sizeof *v->bins);
}

static struct record whole_record(enum event_type type)
{
    struct record r = {.type = type};

    for (int32_t i = 0; i < record_fields_n; i++) {
        if (record_fields[i].type != type) continue;
        struct record_value v = value_for(&record_fields[i], i);
        put_value(&r, &record_fields[i], &v);
    }
    if (type == EVENT_EVALUATED) r.evaluated.nonfinite = 0;
    return r;
}

static void write_all(struct test_place *p, const struct record *r, int32_t n)
{
    struct event_writer *w;
    struct err e = {0};

    assert_int_equal(run_folder_append(&w, p->path, &e), 0);
    for (int32_t i = 0; i < n; i++)
        if (record_write(w, &r[i], &e) < 0) fail_msg("%s", e.text);
    event_writer_close(w);
}

static int read_json(struct record *r, enum event_type type, const char *text, struct err *e)
{
    static json_t *json;

    json_decref(json);
    json = json_loads(text, 0, NULL);
    assert_non_null(json);
    const struct event ev = {.sequence = 4, .type = type, .json = json};
    return record_read(r, &ev, e);
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *p, every_field_of_every_type_reads_back_with_every_bit)
{
    struct record written[EVENT_SOURCE], in_file[EVENT_SOURCE], read;

    for (int32_t t = EVENT_STARTED; t <= EVENT_SOURCE; t++)
        written[t - 1] = whole_record((enum event_type)t);
    memcpy(in_file, written, sizeof written); /* but the end is the last record */
    in_file[EVENT_ENDED - 1] = written[EVENT_SOURCE - 1];
    in_file[EVENT_SOURCE - 1] = written[EVENT_ENDED - 1];
    write_all(p, in_file, EVENT_SOURCE);
    for (int32_t i = 0; i < record_fields_n; i++) {
        const struct record_field *f = &record_fields[i];
        assert_int_equal(run_folder_find(&read, &p->arena, p->path, f->type, &e), 1);
        struct record_value a = record_get(&written[f->type - 1], f), b = record_get(&read, f);
        assert_true(a.known);
        if (!record_equal(&a, &b)) fail_msg("%s of type %d differs", f->name, (int)f->type);
    }
}

TEST_WITH(struct test_place *p, what_is_not_known_stays_unknown)
{
    const struct record r[] = {
        {EVENT_TRAINED, .trained = {.run_id = "0123456789abcdef",
                                    .updates = 1,
                                    .tokens_per_update = 2,
                                    .final_loss_nats = 3,
                                    .parameters = RECORD_NONE,
                                    .peak_memory_bytes = RECORD_NONE,
                                    .train_wps = (double)NAN,
                                    .wall_seconds = (double)INFINITY}},
    };
    struct record back;

    write_all(p, r, 1);
    assert_int_equal(run_folder_find(&back, &p->arena, p->path, EVENT_TRAINED, &e), 1);
    assert_true(back.trained.parameters == RECORD_NONE);
    assert_true(isnan(back.trained.train_wps) && isnan(back.trained.wall_seconds));
    assert_null(back.trained.best_sha256);
    assert_int_equal(back.trained.tokens_per_update, 2);
}

TEST_WITH(struct test_place *p, a_text_that_is_not_utf8_is_recorded_all_the_same)
{
    const struct record r = {EVENT_ENDED, .ended = {.state = "failed", .message = "/tmp/\xff.bin"}};
    struct record back;

    write_all(p, &r, 1);
    assert_int_equal(run_folder_find(&back, &p->arena, p->path, EVENT_ENDED, &e), 1);
    assert_string_equal(back.ended.message, "/tmp/?.bin");
}

#define EVALUATED "\"run_id\":\"x\",\"tokens\":1,\"nonfinite\":0"

TEST(wrong_fields_are_named)
{
    static const struct {
        enum event_type type;
        const char *json, *word;
    } cases[] = {
        {EVENT_STEP, "{}", "update is missing"},
        {EVENT_STEP, "{\"update\":null}", "update is missing"},
        {EVENT_STEP, "{\"update\":1.5}", "update is of another type"},
        {EVENT_STEP, "{\"update\":\"1\"}", "update is of another type"},
        {EVENT_STEP, "{\"update\":1,\"lr\":\"x\"}", "lr is of another type"},
        {EVENT_STARTED, "{\"device\":\"cpu\",\"code_id\":7}", "code_id is of another type"},
        {EVENT_VALIDATION, "{\"update\":1,\"best\":1}", "best is of another type"},
        {EVENT_EVALUATED, "{" EVALUATED ",\"bins\":7}", "bins is of another type"},
        {EVENT_EVALUATED, "{" EVALUATED ",\"bins\":[[1,2]]}", "bins is of another type"},
        {EVENT_EVALUATED, "{" EVALUATED ",\"bins\":[[1,2,3.5,4]]}", "bins is of another type"},
        {EVENT_EVALUATED, "{\"run_id\":\"x\",\"tokens\":1,\"nonfinite\":0,\"loss_nats\":1}",
         "perplexity is missing"},
        {(enum event_type)99, "{}", "unknown type 99"},
        {(enum event_type)0, "{}", "unknown type 0"},
    };
    struct record r;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_json(&r, cases[i].type, cases[i].json, &e), ERR_DATA);
        if (!strstr(e.text, cases[i].word) || !strstr(e.text, "record 4"))
            fail_msg("%s: %s", cases[i].json, e.text);
    }
    assert_int_equal(read_json(&r, EVENT_STEP, "{\"update\":3.0,\"lr\":1}", &e), 0);
    assert_true(r.step.update == 3 && r.step.lr == 1.0 && isnan(r.step.grad_norm));
}

TEST(targets_that_are_not_finite_leave_no_loss)
{
    struct record r;

    assert_int_equal(read_json(&r, EVENT_EVALUATED,
                               "{\"run_id\":\"x\",\"tokens\":9,\"nonfinite\":2,\"loss_nats\":1,"
                               "\"perplexity\":3}",
                               &e),
                     0);
    assert_true(isnan(r.evaluated.loss_nats) && isnan(r.evaluated.perplexity));
    assert_string_equal(record_run_id(&r), "x");
}

TEST_WITH(struct test_place *p, values_compare_with_cells_of_the_database)
{
    const struct record_value third = {.kind = RECORD_REAL, .known = true, .real = 0.1};
    const struct record_value seven = {.kind = RECORD_INT, .known = true, .integer = 7};
    const struct record_value none = {.kind = RECORD_TEXT};

    assert_true(record_equals_cell(&third, "0.1"));
    assert_false(record_equals_cell(&third, "0.10000000000000002"));
    assert_true(record_equals_cell(&seven, "7"));
    assert_false(record_equals_cell(&seven, NULL));
    assert_true(record_equals_cell(&none, NULL));
    assert_false(record_equals_cell(&none, ""));
    assert_string_equal(record_format(&none, &p->arena), "nothing");
    assert_string_equal(record_format(&seven, &p->arena), "7");
}
