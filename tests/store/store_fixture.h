/* store_fixture.h - shared by the tests of src/store: a temporary folder, small specs, records
 * written as JSON, and answers of one cell. */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include <stdint.h>

#include "harness/test.h"
#include "spec/spec.h"
#include "store/ingest.h"
#include "store/store.h"

struct store_fixture {
    char dir[TEST_PATH_BYTES];
    char path[TEST_PATH_BYTES + 16]; /* of results.db in it */
    struct store *store;
    struct spec train, eval; /* ALiBi at 64 tokens, seed 1; its evaluation at 128 */
    char id[SPEC_ID_BYTES];  /* of the run that fixture_add, _done or _benched added last */
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
/* fixture_add - adds the run of a spec (and, for an evaluation, its training). Its id is in f->id
 * and in run_id, which may be NULL here and below. */
void fixture_add(struct store_fixture *f, const struct spec *s, char run_id[SPEC_ID_BYTES]);
/* fixture_start - a running attempt with the next number. fixture_start_next - of a run that is
 * added first. */
int64_t fixture_start(struct store_fixture *f, const char *run_id);
int64_t fixture_start_next(struct store_fixture *f, const struct spec *s);
int fixture_ingest(struct store_fixture *f, int64_t attempt_id, uint64_t sequence,
                   enum event_type type, const char *json);
/* fixture_record - the same of a format for printf, in whose JSON ' stands for "; asserts that it
 * works. fixture_result - adds a run whose attempt ends as done with this record. */
void fixture_record(struct store_fixture *f, int64_t attempt_id, uint64_t sequence,
                    enum event_type type, const char *format, ...) ERR_PRINTF(5, 6);
void fixture_result(struct store_fixture *f, const struct spec *s, enum event_type type,
                    const char *format, ...) ERR_PRINTF(4, 5);
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

/* FIXTURE_PAPER - the header line of a paper.tsv without `position`. fixture_set_paper -
 * store_set_paper of such a text, its error in f->e. */
#define FIXTURE_PAPER                                                                              \
    "dataset\tpanel\tseries\tmethod\tparams\tL_train\tL_valid\tsplit\tprotocol\tstride\tx_name\tx" \
    "\tmetric\tvalue\tunit\tnote\tsource"
int fixture_set_paper(struct store_fixture *f, const char *artefact, const char *text);

/* fixture_cell - the first cell of the answer as text, "NULL" for NULL, "none" without a row. */
const char *fixture_cell(struct store *s, const char *sql);
/* fixture_rows - the whole answer: cells separated by spaces ("-" for NULL), rows by " ; ". */
const char *fixture_rows(struct store *s, const char *sql);
/* fixture_ask - store_query, its error in f->e; the rows stay until the next query. fixture_query -
 * its code only. */
int fixture_ask(struct store_fixture *f, struct rows *out, const char *sql,
                const struct store_param *params, int32_t params_n, double limit_s);
int fixture_query(struct store_fixture *f, const char *sql);

/* fixture_path - a path in the fixture's folder; overwritten by the next call. */
char *fixture_path(struct store_fixture *f, const char *name);
/* fixture_refuse_open - neither a reader nor a writer opens the file. */
void fixture_refuse_open(struct store_fixture *f, const char *path, int code, const char *word);
/* fixture_race - n processes call this function at once; the sum of the numbers it returns. */
int fixture_race(struct store_fixture *f, int n, int (*racer)(const struct store_fixture *f));

/* fixture_make_folders - the run folder of every attempt, with records that only look like some.
 * fixture_merge - store_merge into the fixture's folder, its error in f->e. */
void fixture_make_folders(struct store_fixture *f);
int fixture_merge(struct store_fixture *f, struct merge_result *out, const char *path);

/* fixture_raw - statements by plain SQLite, as another program would run them on the file, and the
 * first cell of their last row, until the next call. */
enum { FIXTURE_RAW_BYTES = 1 << 16 };
const char *fixture_raw(const char *path, const char *sql);

#define assert_cell(f, sql, expected) assert_string_equal(fixture_cell((f)->store, (sql)), expected)
#define assert_rows(f, sql, expected) assert_string_equal(fixture_rows((f)->store, (sql)), expected)
/* assert_works - a call that sets f->e returns 0. assert_refused - it returns this code, with this
 * word in its message. */
#define assert_works(f, call) fixture_check((f), (call), 0, "", __FILE__, __LINE__)
#define assert_refused(f, code, word, call)                                                        \
    fixture_check((f), (call), (code), (word), __FILE__, __LINE__)
void fixture_check(const struct store_fixture *f, int rc, int code, const char *word,
                   const char *file, int line);

#endif
