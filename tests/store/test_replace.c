/* test_replace.c - an older copy of results.db is moved over the file at every step of a command
 * that has it open. The copy takes nothing from the log of the file that it replaces, whether the
 * command goes on, ends or is killed, and every other command works.
 *
 * A step is a system call of SQLite. The command runs in a child, which stops there. */
#include "harness/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "store/statements.h"
#include "store/store_fixture.h"

enum { ROWS_EACH = 30, STEPS_MAX = 5000, STRIDE = 20, CLOSING_STEPS = 6, TEXT_BYTES = 64 };

/* --- steps ------------------------------------------------------------------------------------ */

static struct {
    int steps, stop[2]; /* so far; those before which the child stops, 0: never */
    int up, down;       /* pipes: "stopped", "go on" */
} child;
static int *closing; /* shared with the child: the step at which it began to close the file */

static void stop(void)
{
    char byte;

    if (write(child.up, "s", 1) != 1 || read(child.down, &byte, 1) != 1) _exit(90);
}

static void count_step(void)
{
    child.steps++;
    if (child.steps == child.stop[0] || child.steps == child.stop[1]) stop();
}

#define STEP(type, name, parameters, arguments)                                                    \
    static type(*real_##name) parameters;                                                          \
    static type step_##name parameters                                                             \
    {                                                                                              \
        count_step();                                                                              \
        return real_##name arguments;                                                              \
    }

STEP(int, open, (const char *path, int flags, int mode), (path, flags, mode))
STEP(int, close, (int fd), (fd))
STEP(int, access, (const char *path, int mode), (path, mode))
STEP(int, stat, (const char *path, struct stat *st), (path, st))
STEP(int, fstat, (int fd, struct stat *st), (fd, st))
STEP(int, ftruncate, (int fd, off_t n), (fd, n))
STEP(int, fcntl, (int fd, int verb, void *lock), (fd, verb, lock))
STEP(int, unlink, (const char *path), (path))
STEP(ssize_t, pread64, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
STEP(ssize_t, pwrite64, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))
STEP(void *, mmap, (void *p, size_t n, int may, int flags, int fd, off_t at),
     (p, n, may, flags, fd, at))

static void count_steps(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

#define COUNTED(name)                                                                              \
    {                                                                                              \
#name, (sqlite3_syscall_ptr *)&real_##name, (sqlite3_syscall_ptr)step_##name               \
    }
    const struct {
        const char *name;
        sqlite3_syscall_ptr *real, step;
    } calls[] = {COUNTED(open),    COUNTED(close),     COUNTED(access), COUNTED(stat),
                 COUNTED(fstat),   COUNTED(ftruncate), COUNTED(fcntl),  COUNTED(unlink),
                 COUNTED(pread64), COUNTED(pwrite64),  COUNTED(mmap)};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        *calls[i].real = vfs->xGetSystemCall(vfs, calls[i].name);
        if (*calls[i].real) vfs->xSetSystemCall(vfs, calls[i].name, calls[i].step);
    }
}

struct command {
    pid_t pid;
    int up, down;
};

/* Runs a function in a child that stops before these two steps. */
static struct command start_command(struct store_fixture *f,
                                    int (*function)(struct store_fixture *f), int first, int second)
{
    int up[2], down[2];

    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(up[0]);
        close(down[1]);
        child.up = up[1];
        child.down = down[0];
        child.stop[0] = first;
        child.stop[1] = second;
        count_steps();
        int rc = function(f);
        if (rc) fprintf(stderr, "%s\n", f->e.text);
        _exit(rc);
    }
    close(up[1]);
    close(down[0]);
    return (struct command){pid, up[0], down[1]};
}

/* Waits until it stops; false: it has ended. */
static bool stops(const struct command *c)
{
    char byte;
    return read(c->up, &byte, 1) == 1;
}

static void go_on(const struct command *c)
{
    assert_int_equal(write(c->down, "g", 1), 1);
}

/* The status with which it ends, or 0 if it is killed. */
static int ends(const struct command *c, bool killed)
{
    int status = 0;

    if (killed) kill(c->pid, SIGKILL);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    close(c->up);
    close(c->down);
    return killed ? 0 : status;
}

/* --- commands --------------------------------------------------------------------------------- */

static int add_artefact(struct store *s, const char *id, char name, struct err *e)
{
    struct store_point points[ROWS_EACH];
    char artefact[160];

    for (int i = 0; i < ROWS_EACH; i++) points[i] = (struct store_point){i, id, 64, i + 1, 0};
    snprintf(artefact, sizeof artefact, "%c%0100d", name, 0);
    return store_set_points(s, artefact, "mini", points, ROWS_EACH, e);
}

/* Adds artefacts in a transaction each, until it notices that the file was replaced. */
static int add_all(struct store_fixture *f, const char *names)
{
    int rc = store_open(&f->store, f->path, STORE_WRITE, &f->e);
    for (; *names && rc == 0; names++) rc = add_artefact(f->store, f->id, *names, &f->e);
    return rc == ERR_IO && strstr(f->e.text, "deleted or replaced") ? 0 : rc;
}

static int write_bc(struct store_fixture *f)
{
    int rc = add_all(f, "bc");
    *closing = child.steps;
    store_close(f->store);
    return rc;
}

/* As if it were killed. */
static int write_h_unclosed(struct store_fixture *f)
{
    return add_all(f, "h");
}

static int write_h_stop_write_i(struct store_fixture *f)
{
    int rc = add_all(f, "h");
    stop();
    if (rc == 0 && add_artefact(f->store, f->id, 'i', &f->e) != ERR_IO) rc = 1;
    store_close(f->store);
    return rc;
}

/* The artefacts in a file without damage. */
static int list(struct store_fixture *f, enum store_mode mode, char text[TEXT_BYTES])
{
    static const char sql[] = "SELECT group_concat(name,'') FROM (SELECT DISTINCT "
                              "substr(artefact,1,1) name FROM points ORDER BY name)";
    struct store *s = NULL;

    f->e = (struct err){0};
    int rc = store_open(&s, f->path, mode, &f->e);
    if (rc == 0) rc = store_check(s, &f->e);
    struct database_column column = {.type = 't', .to = text, .bytes = TEXT_BYTES};
    if (rc == 0) rc = database_get(s, sql, NULL, 0, &column, 1, &f->e);
    store_close(s);
    return rc < 0 ? rc : 0;
}

static void must_list(struct store_fixture *f, enum store_mode mode, const char *allowed, int k)
{
    char text[TEXT_BYTES], words[TEXT_BYTES];

    if (list(f, mode, text) < 0) fail_msg("step %d: %s", k, f->e.text);
    snprintf(words, sizeof words, "|%s|", text);
    if (!strstr(allowed, words)) fail_msg("step %d: %s, expected %s", k, words, allowed);
}

/* Reads the file that is replaced, with a and h, or the copy. */
static int read_either(struct store_fixture *f)
{
    char text[TEXT_BYTES];
    int rc = list(f, STORE_READ, text);

    if (rc < 0 || !*text || strcmp(text, "ah") == 0) return rc;
    snprintf(f->e.text, sizeof f->e.text, "the reader found %s", text);
    return 1;
}

/* --- files ------------------------------------------------------------------------------------ */

enum origin { CLOSED, KILLED, VACUUMED }; /* the file that is replaced */

struct scene {
    struct store_fixture *f;
    enum origin origin;
    char first[TEST_PATH_BYTES + 64], older[TEST_PATH_BYTES + 64], copy[TEST_PATH_BYTES + 64];
};

static void duplicate(const char *from, const char *to)
{
    static char bytes[1 << 20];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n = read(in, bytes, sizeof bytes);

    assert_true(n > 0 && n < (ssize_t)sizeof bytes);
    assert_int_equal(write(out, bytes, (size_t)n), n);
    close(in);
    close(out);
}

static void vacuum_into(struct store_fixture *f, const char *to)
{
    char sql[TEST_PATH_BYTES + 80];

    snprintf(sql, sizeof sql, "VACUUM INTO '%s'", to);
    fixture_raw(f->path, sql);
}

/* A file that has the artefact a, and a copy of it that is older. */
static struct scene prepare_files(struct store_fixture *f, enum origin origin)
{
    struct scene c = {.f = f, .origin = origin};

    log_set_level(LOG_QUIET);
    snprintf(c.first, sizeof c.first, "%s", fixture_path(f, "first.db"));
    snprintf(c.older, sizeof c.older, "%s", fixture_path(f, "older.db"));
    snprintf(c.copy, sizeof c.copy, "%s", fixture_path(f, "copy.db"));
    fixture_add(f, &f->train, NULL);
    vacuum_into(f, c.older);
    assert_works(f, add_artefact(f->store, f->id, 'a', &f->e));
    store_fixture_close(f);
    if (origin == VACUUMED)
        vacuum_into(f, c.first);
    else
        duplicate(f->path, c.first);
    return c;
}

static void set_scene(const struct scene *c)
{
    static const char *const all[] = {"",      "-journal",         "-wal",         "-shm",
                                      ".open", ".deleted-journal", ".deleted-wal", ".deleted-shm"};
    char path[TEST_PATH_BYTES + 64];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(path, sizeof path, "%s%s", c->f->path, all[i]);
        unlink(path);
    }
    duplicate(c->first, c->f->path);
    duplicate(c->older, c->copy);
    if (c->origin != KILLED) return;
    struct command killed = start_command(c->f, write_h_unclosed, 0, 0);
    assert_int_equal(ends(&killed, false), 0);
}

/* --- cases ------------------------------------------------------------------------------------ */

/* The step after this one to try: with FAULTS=full the next, otherwise every twentieth and each of
 * those with which the file is closed. */
static int next_step(int k)
{
    const char *faults = getenv("FAULTS");
    bool full = faults && strcmp(faults, "full") == 0;

    return full || (k >= *closing && k < *closing + CLOSING_STEPS) ? k + 1
           : k < *closing && k + STRIDE > *closing                 ? *closing
                                                                   : k + STRIDE;
}

/* Moves the copy over the file at the steps of a writer, which goes on (later: 0), is killed so
 * many steps later, or at once (-1). */
static void replace_under_a_writer(struct store_fixture *f, enum origin origin, int later)
{
    const struct scene scene = prepare_files(f, origin);
    int tried = 0;

    set_scene(&scene);
    struct command undisturbed = start_command(f, write_bc, 0, 0);
    assert_int_equal(ends(&undisturbed, false), 0);
    for (int k = 1;; k = next_step(k), tried++) {
        set_scene(&scene);
        struct command writer = start_command(f, write_bc, k, later > 0 ? k + later : 0);
        if (!stops(&writer)) {
            assert_int_equal(ends(&writer, false), 0);
            break;
        }
        assert_int_equal(rename(scene.copy, f->path), 0);
        must_list(f, STORE_READ, "|| |b| |bc|", k);
        if (later >= 0) go_on(&writer);
        bool killed = later < 0 || (later > 0 && stops(&writer));
        if (ends(&writer, killed) != 0) fail_msg("step %d: the writer failed", k);
        must_list(f, tried % 2 ? STORE_READ : STORE_WRITE, "|| |b| |bc|", k);
        must_list(f, STORE_WRITE, "|| |b| |bc|", k);
    }
    assert_in_range(tried, 5, STEPS_MAX);
    print_message("%d faults injected\n", tried);
}

/* The same at the steps of a reader, beside a writer that notices it before the reader goes on, or
 * after. */
static void replace_under_a_reader(struct store_fixture *f, bool noticed)
{
    const struct scene scene = prepare_files(f, CLOSED);
    int tried = 0;

    *closing = STEPS_MAX;
    for (int k = 1;; k = next_step(k), tried++) {
        set_scene(&scene);
        struct command writer = start_command(f, write_h_stop_write_i, 0, 0);
        assert_true(stops(&writer));
        struct command reader = start_command(f, read_either, k, 0);
        bool stopped = stops(&reader);
        assert_int_equal(rename(scene.copy, f->path), 0);
        if (noticed) go_on(&writer);
        if (noticed && ends(&writer, false) != 0) fail_msg("step %d: the writer failed", k);
        if (stopped) go_on(&reader);
        if (ends(&reader, false) != 0) fail_msg("step %d: the reader failed", k);
        if (!noticed) go_on(&writer);
        if (!noticed && ends(&writer, false) != 0) fail_msg("step %d: the writer failed", k);
        must_list(f, STORE_WRITE, "||", k);
        if (!stopped) break;
    }
    assert_in_range(tried, 5, STEPS_MAX);
    print_message("%d faults injected\n", tried);
}

TEST_CONSTRUCTOR(prepare_all)
{
    closing =
        mmap(NULL, sizeof *closing, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

TEST_EACH(store_fixture_setup, store_fixture_teardown)

TEST_WITH(struct store_fixture *f, a_copy_is_whole_though_the_writer_goes_on)
{
    replace_under_a_writer(f, CLOSED, 0);
}

TEST_WITH(struct store_fixture *f, the_same_in_place_of_a_copy)
{
    replace_under_a_writer(f, VACUUMED, 0);
}

TEST_WITH(struct store_fixture *f, the_same_beside_the_log_of_a_killed_writer)
{
    replace_under_a_writer(f, KILLED, 0);
}

TEST_WITH(struct store_fixture *f, a_copy_is_whole_though_the_writer_is_killed)
{
    replace_under_a_writer(f, VACUUMED, -1);
}

TEST_WITH(struct store_fixture *f, the_same_of_writers_killed_one_after_the_other)
{
    replace_under_a_writer(f, KILLED, -1);
}

TEST_WITH(struct store_fixture *f, a_copy_is_whole_though_the_writer_is_killed_later)
{
    replace_under_a_writer(f, CLOSED, 20);
}

TEST_WITH(struct store_fixture *f, a_reader_finds_one_file_or_the_other)
{
    replace_under_a_reader(f, false);
}

TEST_WITH(struct store_fixture *f, also_if_the_writer_notices_first)
{
    replace_under_a_reader(f, true);
}
