/* run_folder.c - see run_folder.h. */
#include "record/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"

enum { RUN_ATTEMPT_MAX = 1000000, RUN_SPEC_BYTES_MAX = 4 << 20 };

static const char run_spec_separator[] = "---\n";

/* --- names ---------------------------------------------------------------------------------- */

static bool is_run_id(const char *text, size_t n)
{
    return n == SPEC_ID_BYTES - 1 && strspn(text, "0123456789abcdef") >= n;
}

/* Reads a folder's name as a number; 0: it is not one. */
static int32_t attempt_number(const char *name)
{
    int64_t number;
    return str_to_int(&number, name) && number > 0 && number <= INT32_MAX ? (int32_t)number : 0;
}

char *run_folder_name(struct arena *a, const char *run_id, int32_t attempt)
{
    return arena_printf(a, RUN_FOLDERS "/%s/%ld", run_id, (long)attempt);
}

int run_folder_claim(char **dir, int32_t *attempt, struct arena *a, const char *root,
                     const char *run_id, int32_t from, struct err *e)
{
    const char *run = arena_printf(a, "%s/" RUN_FOLDERS "/%s", root, run_id);

    TRY(file_make_dirs(run, e));
    for (*attempt = from; *attempt <= RUN_ATTEMPT_MAX; ++*attempt) {
        const char *path = arena_printf(a, "%s/%ld", run, (long)*attempt);
        if (mkdir(path, 0777) == 0) {
            *dir = run_folder_name(a, run_id, *attempt);
            return file_sync(run, e);
        }
        if (errno != EEXIST)
            return ERR(e, ERR_CREATE, "%s: cannot be created: %s", path, strerror(errno));
    }
    return ERR(e, ERR_CREATE, "%s: holds more than %d attempts", run, RUN_ATTEMPT_MAX);
}

bool run_folder_parse(const char *path, char run_id[SPEC_ID_BYTES], int32_t *attempt)
{
    const char *slash = strrchr(path, '/'), *run = slash;
    int32_t number = slash ? attempt_number(slash + 1) : 0;

    if (number == 0) return false;
    while (run > path && run[-1] != '/') run--;
    if (!is_run_id(run, (size_t)(slash - run))) return false;
    if (run_id) snprintf(run_id, SPEC_ID_BYTES, "%.*s", SPEC_ID_BYTES - 1, run);
    if (attempt) *attempt = number;
    return true;
}

bool run_folder_parse_own(const char *dir, char run_id[SPEC_ID_BYTES], int32_t *attempt)
{
    char id[SPEC_ID_BYTES], own[sizeof RUN_FOLDERS + SPEC_ID_BYTES + 16];
    int32_t number;

    if (!run_folder_parse(dir, id, &number)) return false;
    snprintf(own, sizeof own, RUN_FOLDERS "/%s/%ld", id, (long)number);
    if (strcmp(own, dir) != 0) return false;
    if (run_id) memcpy(run_id, id, sizeof id);
    if (attempt) *attempt = number;
    return true;
}

/* A path that can be opened fits; a longer one is cut and cannot. */
struct path {
    char text[FILE_PATH_BYTES];
};

static struct path path_of(const char *dir, enum run_file file)
{
    static const char *const names[] = {[RUN_SPEC] = "spec",
                                        [RUN_FRESH] = "fresh",
                                        [RUN_EVENTS] = "events",
                                        [RUN_LOG] = "log",
                                        [RUN_MEET] = "meet"};
    struct path path;

    snprintf(path.text, sizeof path.text, "%s/%s", dir, names[file]);
    return path;
}

char *run_folder_path(struct arena *a, const char *dir, enum run_file file)
{
    return arena_strdup(a, path_of(dir, file).text);
}

char *run_folder_sibling(struct arena *a, const char *dir, int32_t attempt)
{
    const char *slash = strrchr(dir, '/');
    int run_n = slash ? (int)(slash - dir) : 0;

    return arena_printf(a, "%.*s%s%ld", run_n, dir, slash ? "/" : "", (long)attempt);
}

/* --- specs ---------------------------------------------------------------------------------- */

int run_folder_write_specs(const char *dir, const struct spec *const *spec, int32_t n,
                           struct err *e)
{
    struct arena a;
    struct strbuf text;

    arena_init(&a);
    strbuf_init(&text, &a);
    for (int32_t i = 0; i < n; i++) {
        if (i > 0) strbuf_add(&text, run_spec_separator);
        strbuf_add(&text, spec_text(spec[i], &a));
    }
    int rc = file_write_new(path_of(dir, RUN_SPEC).text, text.text, text.n, e);
    arena_fini(&a);
    return rc;
}

int run_folder_sync(const char *dir, struct err *e)
{
    TRY(file_sync(path_of(dir, RUN_SPEC).text, e));
    return file_sync(dir, e);
}

int run_folder_read_specs(struct spec **out, int32_t *n, struct arena *a, const char *dir,
                          struct err *e)
{
    char *text = NULL;
    const char *path = run_folder_path(a, dir, RUN_SPEC);

    TRY(file_read(a, &text, NULL, path, RUN_SPEC_BYTES_MAX, e));
    return spec_parse_list(out, n, text, path, a, e);
}

int run_folder_set_fresh(const char *dir, struct err *e)
{
    return file_write_new(path_of(dir, RUN_FRESH).text, "", 0, e);
}

int32_t run_folder_first(const char *dir, int32_t attempt)
{
    struct arena a;

    arena_init(&a);
    while (attempt > 1 &&
           !file_exists(path_of(run_folder_sibling(&a, dir, attempt), RUN_FRESH).text))
        attempt--;
    arena_fini(&a);
    return attempt > 1 ? attempt : 1;
}

/* --- records -------------------------------------------------------------------------------- */

int run_folder_append(struct event_writer **out, const char *dir, struct err *e)
{
    return event_writer_open(out, path_of(dir, RUN_EVENTS).text, e);
}

int run_folder_poll(struct event_reader **out, const char *dir, struct err *e)
{
    return event_reader_open(out, path_of(dir, RUN_EVENTS).text, e);
}

int run_folder_each(const char *dir, run_record_fn fn, void *context, struct err *e)
{
    struct event_reader *reader;
    struct event ev;
    int rc;

    TRY(run_folder_poll(&reader, dir, e));
    while ((rc = event_read(reader, &ev, e)) == 1)
        if ((rc = fn(context, &ev, e)) != 0) break;
    event_reader_close(reader);
    return rc;
}

/* Copies the first record of a type, or, for type 0, the one with a sequence number. */
static int find_record(struct record *out, struct arena *a, const char *dir, enum event_type type,
                       uint64_t sequence, struct err *e)
{
    struct event_reader *reader;
    struct event ev;
    struct record r;
    int rc;

    TRY(run_folder_poll(&reader, dir, e));
    do rc = event_read(reader, &ev, e);
    while (rc == 1 && (type ? ev.type != type : ev.sequence != sequence));
    int wrong = rc == 1 ? record_read(&r, &ev, e) : 0;
    if (rc == 1 && wrong == 0) record_copy(out, &r, a);
    event_reader_close(reader);
    return wrong < 0 ? wrong : rc;
}

int run_folder_find(struct record *out, struct arena *a, const char *dir, enum event_type type,
                    struct err *e)
{
    return find_record(out, a, dir, type, 0, e);
}

int run_folder_record(struct record *out, struct arena *a, const char *dir, uint64_t sequence,
                      struct err *e)
{
    return find_record(out, a, dir, 0, sequence, e);
}

int run_folder_outcome(struct run_outcome *out, struct arena *a, const char *dir,
                       const char *run_id, struct err *e)
{
    struct event_reader *reader;
    struct event ev;
    struct record r;
    struct err wrong;
    int rc;

    *out = (struct run_outcome){0};
    TRY(run_folder_poll(&reader, dir, e));
    while ((rc = event_read(reader, &ev, e)) == 1) {
        if (record_read(&r, &ev, &wrong) < 0) continue;
        const char *of = record_run_id(&r);
        bool is_end = record_is_result(&r) || r.type == EVENT_SOURCE;
        if (is_end && strcmp(of, run_id) == 0) record_copy(&out->result, &r, a);
        if (r.type == EVENT_ENDED) record_copy(&out->ended, &r, a);
    }
    event_reader_close(reader);
    const char *state = out->ended.type ? out->ended.ended.state : NULL;
    out->done = out->result.type == EVENT_SOURCE ||
                (out->result.type && state && strcmp(state, "done") == 0);
    return rc;
}

/* --- all of them ---------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void list_attempts(int32_t **out, int32_t *n, struct arena *a, const struct dir *run)
{
    *n = 0;
    *out = arena_array(a, (size_t)run->n + 1, sizeof **out);
    for (int32_t i = 0; i < run->n; i++) {
        int32_t number = attempt_number(run->name_own[i]);
        if (number > 0) (*out)[(*n)++] = number;
    }
    qsort(*out, (size_t)*n, sizeof **out, compare_numbers);
}

int run_folder_attempts(int32_t **out, int32_t *n, struct arena *a, const char *run_dir,
                        struct err *e)
{
    struct dir d;

    TRY(dir_open(&d, run_dir, e));
    list_attempts(out, n, a, &d);
    dir_close(&d);
    return 0;
}

struct folder_list {
    struct run_folder *item;
    int32_t n, capacity;
};

/* Appends the attempt `number` of a run if it started. */
static void add_attempt(struct folder_list *all, struct arena *a, const char *run, int32_t number)
{
    struct run_folder f = {.attempt = number, .path = arena_printf(a, "%s/%ld", run, (long)number)};
    struct stat st;

    if (lstat(f.path, &st) < 0)
        f.why = arena_strdup(a, strerror(errno));
    else if (!S_ISDIR(st.st_mode))
        f.why = "not a directory";
    else if (stat(path_of(f.path, RUN_EVENTS).text, &st) < 0
                 ? errno == ENOENT
                 : S_ISREG(st.st_mode) && st.st_size == 0)
        return;
    run_folder_parse(f.path, f.run_id, NULL);
    *vec_push(a, all) = f;
}

int run_folder_list(struct run_folder **out, int32_t *n, struct arena *a, const char *runs,
                    struct err *e)
{
    struct folder_list all = {0};
    struct dir d, run;
    int32_t *attempt, attempts_n;

    TRY(dir_open(&d, runs, e));
    for (int32_t i = 0; i < d.n; i++) {
        const char *path = arena_printf(a, "%s/%s", runs, d.name_own[i]);
        struct err why;
        if (!is_run_id(d.name_own[i], strlen(d.name_own[i]))) continue;
        if (dir_open_at(&run, &d, d.name_own[i], &why) < 0) {
            struct run_folder *f = vec_push(a, &all);
            *f = (struct run_folder){.path = path, .why = arena_strdup(a, why.text)};
            snprintf(f->run_id, sizeof f->run_id, "%s", d.name_own[i]);
            continue;
        }
        list_attempts(&attempt, &attempts_n, a, &run);
        dir_close(&run);
        for (int32_t k = 0; k < attempts_n; k++) add_attempt(&all, a, path, attempt[k]);
    }
    dir_close(&d);
    *out = all.item;
    *n = all.n;
    return 0;
}

int run_folder_remove(const char *root, const char *run_id, int32_t attempt, bool *removed,
                      double *bytes, struct err *e)
{
    char name[16];
    struct arena a;
    struct dir runs = {.fd = -1}, run = {.fd = -1};
    struct stat st;
    struct err why = {0};
    int rc = 0;

    *removed = false;
    arena_init(&a);
    snprintf(name, sizeof name, "%ld", (long)attempt);
    rc = dir_open(&runs, arena_printf(&a, "%s/" RUN_FOLDERS, root), &why);
    if (rc == 0) rc = dir_open_at(&run, &runs, run_id, &why);
    if (rc < 0) {
        if (rc != ERR_NOINPUT) log_warn(RUN_FOLDERS "/%s is kept: %s", run_id, why.text);
        rc = 0;
        goto out;
    }
    if (fstatat(run.fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) goto out; /* removed before */
    if (!S_ISDIR(st.st_mode)) {
        log_warn(RUN_FOLDERS "/%s/%s is kept: not a directory", run_id, name);
        goto out;
    }
    rc = dir_remove_tree(run.fd, name, bytes, e);
    if (rc < 0) err_ctx(e, RUN_FOLDERS "/%s", run_id);
    *removed = rc == 0;
out:
    if (rc == 0 && run.fd >= 0) /* only an empty folder is removed */
        (void)unlinkat(runs.fd, run_id, AT_REMOVEDIR);
    dir_close(&run);
    dir_close(&runs);
    arena_fini(&a);
    return rc;
}
