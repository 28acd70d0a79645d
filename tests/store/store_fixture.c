/* store_fixture.c - see store_fixture.h. */
#include "store/store_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/file.h"
void fixture_check(const struct store_fixture *f, int rc, int code, const char *word,
                   const char *file, int line)
{
    if (rc == code && (rc == 0 || strstr(f->e.text, word))) return;
    print_error("%d: %s; expected %d: %s\n", rc, f->e.text, code, word);
    _fail(file, line);
}

void store_fixture_open(struct store_fixture *f, enum store_mode mode)
{
    f->e = (struct err){0};
    if (store_open(&f->store, f->path, mode, &f->e) < 0) fail_msg("%s", f->e.text);
}

void store_fixture_close(struct store_fixture *f)
{
    store_close(f->store);
    f->store = NULL;
}

int store_fixture_setup(void **state)
{
    struct store_fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    test_folder(f->dir);
    snprintf(f->path, sizeof f->path, "%s/results.db", f->dir);
    store_fixture_open(f, STORE_WRITE);
    f->train = fixture_train(SPEC_ALIBI, 64, 1);
    f->eval = fixture_eval(&f->train, 128);
    *state = f;
    return 0;
}

int store_fixture_teardown(void **state)
{
    struct store_fixture *f = *state;

    store_close(f->store);
    test_folder_remove(f->dir);
    free(f);
    return 0;
}

struct spec fixture_train(enum spec_position position, int32_t L, int64_t seed)
{
    struct spec s;

    spec_init(&s);
    s.kind = SPEC_TRAIN;
    snprintf(s.scale, sizeof s.scale, "mini");
    snprintf(s.model.name, sizeof s.model.name, "tiny");
    snprintf(s.data.dataset, sizeof s.data.dataset, "wikitext103");
    snprintf(s.data.corpus, sizeof s.data.corpus, "mini-wikitext103");
    s.model.position = position;
    s.train.L = L;
    s.train.seed = seed;
    s.train.updates = 20;
    return s;
}

struct spec fixture_eval(const struct spec *train, int32_t L)
{
    struct spec s = *train;

    s.kind = SPEC_EVAL;
    s.eval.split = SPEC_VALID;
    s.eval.window = SPEC_NONOVERLAPPING;
    s.eval.L = L;
    spec_run_id(train, s.eval.train_run);
    return s;
}

void fixture_add(struct store_fixture *f, const struct spec *s, char run_id[SPEC_ID_BYTES])
{
    char config_id[SPEC_ID_BYTES], train_config[SPEC_ID_BYTES], train_id[SPEC_ID_BYTES];
    struct spec train = *s;

    train.kind = SPEC_TRAIN;
    spec_config_id(&train, NULL, train_config);
    if (s->kind == SPEC_EVAL) fixture_add(f, &train, train_id);
    spec_run_id(s, f->id);
    spec_config_id(s, s->kind == SPEC_EVAL ? train_config : NULL, config_id);
    struct store_run r = {.spec = s,
                          .run_id = f->id,
                          .config_id = config_id,
                          .train_run_id = s->kind == SPEC_EVAL ? train_id : NULL,
                          .parameters_n = 1000,
                          .flops = 5e9};
    assert_works(f, store_add_run(f->store, &r, &f->e));
    if (run_id) memcpy(run_id, f->id, sizeof f->id);
}

int64_t fixture_start(struct store_fixture *f, const char *run_id)
{
    struct store_run_state now;
    char dir[64];
    int64_t id = 0;

    assert_works(f, store_run_state(f->store, run_id, &now, &f->e));
    snprintf(dir, sizeof dir, "runs/%s/%d", run_id, now.attempts_n + 1);
    struct store_attempt a = {.run_id = run_id,
                              .attempt = now.attempts_n + 1,
                              .device = "cpu",
                              .host = "here",
                              .boot_id = "boot",
                              .pid = 100,
                              .pid_start = 7,
                              .dir = dir};
    assert_works(f, store_start_attempt(f->store, &a, &id, &f->e));
    return id;
}

int64_t fixture_start_next(struct store_fixture *f, const struct spec *s)
{
    fixture_add(f, s, NULL);
    return fixture_start(f, f->id);
}

int fixture_ingest(struct store_fixture *f, int64_t attempt_id, uint64_t sequence,
                   enum event_type type, const char *json)
{
    json_error_t where;
    json_t *object = json_loads(json, 0, &where);

    if (!object) fail_msg("%s: %s", json, where.text);
    struct event event = {.sequence = sequence, .type = type, .json = object};
    int rc = store_ingest(f->store, attempt_id, &event, &f->e);
    json_decref(object);
    return rc;
}

void fixture_end(struct store_fixture *f, int64_t attempt_id, enum store_state state)
{
    struct store_end end = {.state = state, .exit_code = -1, .signal = -1};
    assert_works(f, store_end_attempt(f->store, attempt_id, &end, &f->e));
}

static void record_event(struct store_fixture *f, int64_t attempt_id, uint64_t sequence,
                         enum event_type type, const char *format, va_list args)
{
    char json[1024];

    vsnprintf(json, sizeof json, format, args);
    for (char *quote = json; (quote = strchr(quote, '\''));) *quote = '"';
    assert_works(f, fixture_ingest(f, attempt_id, sequence, type, json));
}

void fixture_record(struct store_fixture *f, int64_t attempt_id, uint64_t sequence,
                    enum event_type type, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    record_event(f, attempt_id, sequence, type, format, args);
    va_end(args);
}

void fixture_result(struct store_fixture *f, const struct spec *s, enum event_type type,
                    const char *format, ...)
{
    int64_t attempt_id = fixture_start_next(f, s);
    va_list args;

    va_start(args, format);
    record_event(f, attempt_id, 2, type, format, args);
    va_end(args);
    fixture_end(f, attempt_id, STORE_DONE);
}

void fixture_trained(struct store_fixture *f, int64_t attempt_id, const char *run_id,
                     uint64_t sequence, double loss, const char *sha256)
{
    fixture_record(f, attempt_id, sequence, EVENT_TRAINED,
                   "{'run_id':'%s','updates':20,'tokens_per_update':768,"
                   "'parameters':1000,'final_loss_nats':%.17g,'train_wps':1000.5,"
                   "'peak_memory_bytes':4096,'wall_seconds':2.5,"
                   "'best_checkpoint':'best.safetensors','best_sha256':'%s',"
                   "'last_checkpoint':'last.safetensors','last_sha256':'%s-last'}",
                   run_id, loss, sha256, sha256);
}

void fixture_evaluated(struct store_fixture *f, int64_t attempt_id, const char *run_id,
                       uint64_t sequence, double perplexity, const char *sha256)
{
    fixture_record(f, attempt_id, sequence, EVENT_EVALUATED,
                   "{'run_id':'%s','loss_nats':2.5,'perplexity':%.17g,'tokens':100,"
                   "'nonfinite':0,'eval_wps':null,'peak_memory_bytes':2048,"
                   "'wall_seconds':0.5,'checkpoint_sha256':'%s',"
                   "'bins':[[1,1,100,250.0]],"
                   "'blocks':[[1,100,100,250.0]],'groups':[[0,0,100,250.0,40,'all']]}",
                   run_id, perplexity, sha256);
}

/* A running attempt on a device, of a run that is added first, with its worker's first record. */
static int64_t start_on(struct store_fixture *f, const struct spec *s, const char *device)
{
    int64_t id = fixture_start_next(f, s);

    fixture_record(f, id, 1, EVENT_STARTED,
                   "{'pid':1,'host':'here','device':'%s','backend':'cpu',"
                   "'blas':'some','threads':1,'code_id':'c0de','program':'alibi'}",
                   device);
    return id;
}

void fixture_done(struct store_fixture *f, const struct spec *s, double number,
                  char run_id[SPEC_ID_BYTES])
{
    int64_t id = start_on(f, s, "a processor");

    if (s->kind == SPEC_TRAIN)
        fixture_trained(f, id, f->id, 2, number, "abc");
    else
        fixture_evaluated(f, id, f->id, 2, number, "abc");
    fixture_end(f, id, STORE_DONE);
    if (run_id) memcpy(run_id, f->id, sizeof f->id);
}

void fixture_benched(struct store_fixture *f, const struct spec *s, const char *device, double wps,
                     const char *bytes, char run_id[SPEC_ID_BYTES])
{
    int64_t id = start_on(f, s, device);

    fixture_record(f, id, 2, EVENT_BENCHED,
                   "{'run_id':'%s','wps':%.17g,'mfu':null,'peak_memory_bytes':%s,"
                   "'wall_seconds':2,'batch_tokens':9216}",
                   f->id, wps, bytes);
    fixture_end(f, id, STORE_DONE);
    if (run_id) memcpy(run_id, f->id, sizeof f->id);
}

/* Answers stay until the next query. */
static struct arena answers;

int fixture_ask(struct store_fixture *f, struct rows *out, const char *sql,
                const struct store_param *params, int32_t params_n, double limit_s)
{
    f->e = (struct err){0};
    arena_fini(&answers);
    return store_query(f->store, out, &answers, sql, params, params_n, limit_s, &f->e);
}

int fixture_query(struct store_fixture *f, const char *sql)
{
    struct rows rows;
    return fixture_ask(f, &rows, sql, NULL, 0, 60);
}

static struct rows answer(struct store *s, const char *sql)
{
    struct store_fixture f = {.store = s};
    struct rows rows;

    if (fixture_ask(&f, &rows, sql, NULL, 0, 60) < 0) fail_msg("%s: %s", sql, f.e.text);
    return rows;
}

const char *fixture_cell(struct store *s, const char *sql)
{
    struct rows rows = answer(s, sql);

    if (rows.rows_n == 0) return "none";
    return rows.row[0][0].text ? rows.row[0][0].text : "NULL";
}

const char *fixture_rows(struct store *s, const char *sql)
{
    static char text[4096];
    struct rows rows = answer(s, sql);
    size_t n = 0;

    text[0] = '\0';
    for (int32_t i = 0; i < rows.rows_n; i++)
        for (int32_t k = 0; k < rows.columns_n && n < sizeof text; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                                  k   ? " "
                                  : i ? " ; "
                                      : "",
                                  rows.row[i][k].text ? rows.row[i][k].text : "-");
    return text;
}

char *fixture_path(struct store_fixture *f, const char *name)
{
    static char path[TEST_PATH_BYTES + 64];

    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    return path;
}

void fixture_refuse_open(struct store_fixture *f, const char *path, int code, const char *word)
{
    for (int mode = STORE_READ; mode <= STORE_WRITE; mode++) {
        struct store *s = NULL;
        assert_refused(f, code, word, store_open(&s, path, (enum store_mode)mode, &f->e));
        assert_null(s);
    }
}

int fixture_race(struct store_fixture *f, int n, int (*racer)(const struct store_fixture *f))
{
    int gate[2], sum = 0, status;
    char byte;

    assert_int_equal(pipe(gate), 0);
    for (int i = 0; i < n; i++) {
        if (fork() != 0) continue;
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? racer(f) : 99); /* the pipe closes: all start */
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < n; i++) {
        assert_true(wait(&status) > 0 && WIFEXITED(status));
        sum += WEXITSTATUS(status);
    }
    return sum;
}

int fixture_set_paper(struct store_fixture *f, const char *artefact, const char *text)
{
    const char *path = fixture_path(f, "paper.tsv");

    test_write(path, text, strlen(text));
    f->e = (struct err){0};
    return store_set_paper(f->store, artefact, path, &f->e);
}

void fixture_make_folders(struct store_fixture *f)
{
    char *names = strdup(fixture_raw(f->path, "SELECT group_concat(dir,' ') FROM run_attempts"));

    for (char *rest = names, *name; (name = strsep(&rest, " "));) {
        char *path = fixture_path(f, name);
        assert_works(f, file_make_dirs(path, &f->e));
        strcat(path, "/events");
        if (!file_exists(path)) test_write(path, name, strlen(name));
    }
    free(names);
}

int fixture_merge(struct store_fixture *f, struct merge_result *out, const char *path)
{
    const struct project project = {.root = f->dir};

    f->e = (struct err){0};
    return store_merge(f->store, out, &project, path, &f->e);
}

static int keep_cell(void *text, int columns_n, char **cells, char **names)
{
    (void)columns_n, (void)names;
    snprintf(text, FIXTURE_RAW_BYTES, "%s", cells[0] ? cells[0] : "NULL");
    return 0;
}

const char *fixture_raw(const char *path, const char *sql)
{
    static char text[FIXTURE_RAW_BYTES];
    sqlite3 *raw = NULL;

    text[0] = '\0';
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    if (sqlite3_exec(raw, sql, keep_cell, text, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(raw));
    sqlite3_close(raw);
    return text;
}
