/* store_fixture.h - shared by the tests of src/store: a temporary folder, small specs, records
 * written as JSON, and answers of one cell. */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include <stdint.h>

#include "spec/spec.h"
#include "store/ingest.h"
#include "store/store.h"

struct store_fixture {
    char dir[64];
    char path[96]; /* of results.db in it */
    struct store *store;
    struct err e;
};

/* cmocka's setup and teardown: a fixture with an empty store open for writing. */
int store_fixture_setup(void **state);
int store_fixture_teardown(void **state);
void store_fixture_close(struct store_fixture *f);
void store_fixture_open(struct store_fixture *f, enum store_mode mode);

/* fixture_train, fixture_eval - a spec of scale mini; L in tokens. */
struct spec fixture_train(enum spec_position position, int32_t L, int64_t seed);
struct spec fixture_eval(const struct spec *train, int32_t L);
/* fixture_add - adds the run of a spec (and, for an evaluation, its training); its id. */
void fixture_add(struct store_fixture *f, const struct spec *s, char run_id[SPEC_ID_BYTES]);
/* fixture_start - a running attempt with the next number. */
int64_t fixture_start(struct store_fixture *f, const char *run_id);
int fixture_ingest(struct store_fixture *f, int64_t attempt_id, uint64_t sequence,
                   enum event_type type, const char *json);
/* fixture_end - ends without an exit code; asserts that it works. */
void fixture_end(struct store_fixture *f, int64_t attempt_id, enum store_state state);
/* The records that a worker would write, with these numbers. */
void fixture_trained(struct store_fixture *f, int64_t attempt_id, const char *run_id,
                     uint64_t sequence, double loss, const char *sha256);
void fixture_evaluated(struct store_fixture *f, int64_t attempt_id, const char *run_id,
                       uint64_t sequence, double perplexity, const char *sha256);
/* fixture_done - adds a run, starts it, and ends it as done with this loss or perplexity. */
void fixture_done(struct store_fixture *f, const struct spec *s, double number,
                  char run_id[SPEC_ID_BYTES]);
/* fixture_benched - the same for a benchmark, on a device; bytes is JSON, such as "null". */
void fixture_benched(struct store_fixture *f, const struct spec *s, const char *device, double wps,
                     const char *bytes, char run_id[SPEC_ID_BYTES]);

/* fixture_cell - the first cell of the answer as text, "NULL" for NULL, "none" without a row. */
const char *fixture_cell(struct store *s, const char *sql);
/* fixture_query - the code of a query, its error in f->e. */
int fixture_query(struct store_fixture *f, const char *sql);

/* fixture_raw - statements by plain SQLite, as another program would run them on the file. */
void fixture_raw(const char *path, const char *sql);

#define assert_cell(f, sql, expected) assert_string_equal(fixture_cell((f)->store, (sql)), expected)

#endif
