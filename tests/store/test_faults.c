/* test_faults.c - the disk fails at the k-th write, sync or truncate, once or from then on, for
 * every k, or the power fails there: what was acknowledged is there, every transaction is whole or
 * absent, the file is sound.
 *
 * A shim VFS between SQLite and the real one counts. */
#include "harness/test.h"

#include <string.h>
#include <unistd.h>

#include "store/database.h"
#include "store/statements.h"
#include "store/store_fixture.h"

enum { ROWS_EACH = 30, TRANSACTIONS = 4, FAULTS_MAX = 2000 };

/* Behind SQLite's own file, in the same block: its methods with three of ours, and its own. */
struct fault_file {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *real;
    const char *name; /* SQLite's; NULL: a temporary file */
};

/* What a write or a truncation that was not synced yet has replaced. */
struct unsynced {
    struct unsynced *older;
    char *path_own;
    sqlite3_int64 at, size; /* of the file before */
    int n;
    unsigned char old[];
};

/* The one shim of this program: SQLite hands no context to its file methods. */
static struct {
    sqlite3_vfs vfs, *real;
    int64_t count, at; /* operations so far; the one that fails, 0: none */
    bool for_ever;
    int code;
    int64_t injected;
    bool keeps;    /* what is not synced is remembered for a power cut */
    bool no_index; /* results.db-shm does not grow */
    struct unsynced *newest;
} shim;

static int fault(void)
{
    shim.count++;
    if (shim.at == 0 || shim.count < shim.at || (shim.count > shim.at && !shim.for_ever)) return 0;
    shim.injected++;
    return shim.code;
}

static struct fault_file *fault_of(sqlite3_file *f)
{
    return (struct fault_file *)((char *)f + shim.real->szOsFile);
}

#define PASS(method, ...) fault_of(f)->real->method(f, __VA_ARGS__)

static void remember(sqlite3_file *f, sqlite3_int64 at, sqlite3_int64 n)
{
    const char *name = fault_of(f)->name;
    struct unsynced *u;

    if (!shim.keeps || !name || n <= 0) return;
    u = calloc(1, sizeof *u + (size_t)n);
    *u = (struct unsynced){.older = shim.newest, .path_own = strdup(name), .at = at, .n = (int)n};
    PASS(xFileSize, &u->size);
    if (at < u->size) PASS(xRead, u->old, at + n > u->size ? (int)(u->size - at) : (int)n, at);
    shim.newest = u;
}

/* Forgets what was remembered: of one file, which is synced now, or (NULL) of all. */
static void forget(const char *name)
{
    for (struct unsynced **at = &shim.newest; *at;) {
        struct unsynced *u = *at;
        if (name && strcmp(u->path_own, name) != 0) {
            at = &u->older;
            continue;
        }
        *at = u->older;
        free(u->path_own);
        free(u);
    }
}

/* The power fails: all that was not synced is lost, or each of it by the toss of a coin. */
static void cut_power(bool all, unsigned *seed)
{
    for (const struct unsynced *u = shim.newest; u; u = u->older) {
        FILE *file = all || rand_r(seed) % 2 ? fopen(u->path_own, "r+be") : NULL;
        if (!file) continue;
        assert_int_equal(fseek(file, (long)u->at, SEEK_SET), 0);
        assert_int_equal(fwrite(u->old, 1, (size_t)u->n, file), (size_t)u->n);
        assert_int_equal(fclose(file), 0);
        if (all) assert_int_equal(truncate(u->path_own, u->size), 0);
    }
    forget(NULL);
}

static int shim_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    int code = fault();
    remember(f, at, n);
    if (code && n > 8) PASS(xWrite, from, n / 2, at); /* a torn write */
    return code ? code : PASS(xWrite, from, n, at);
}

static int shim_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    int code = fault();
    sqlite3_int64 before = 0;
    if (PASS(xFileSize, &before) == SQLITE_OK) remember(f, size, before - size);
    return code ? SQLITE_IOERR_TRUNCATE : PASS(xTruncate, size);
}

/* Nobody cuts the power here, so a sync that works need not wait for the disk. */
static int shim_sync(sqlite3_file *f, int flags)
{
    (void)flags;
    if (fault()) return SQLITE_IOERR_FSYNC;
    if (fault_of(f)->name) forget(fault_of(f)->name);
    return SQLITE_OK;
}

static int shim_map_index(sqlite3_file *f, int page, int bytes, int extend, void volatile **out)
{
    if (shim.no_index) return SQLITE_IOERR_SHMSIZE;
    return PASS(xShmMap, page, bytes, extend, out);
}

static int shim_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
                     int *out_flags)
{
    struct fault_file *f = fault_of(file);

    (void)vfs;
    int rc = shim.real->xOpen(shim.real, name, file, flags, out_flags);
    if (!file->pMethods) return rc;
    *f = (struct fault_file){*file->pMethods, file->pMethods, name};
    f->methods.xWrite = shim_write;
    f->methods.xTruncate = shim_truncate;
    f->methods.xSync = shim_sync;
    f->methods.xShmMap = shim_map_index;
    f->methods.iVersion = 2; /* without reading through a map of the file */
    file->pMethods = &f->methods;
    return rc;
}

/* Nothing is deleted any more either. */
static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    (void)vfs;
    if (shim.injected > 0 && shim.for_ever) return SQLITE_IOERR_DELETE;
    return shim.real->xDelete(shim.real, name, sync_folder);
}

static void install_shim(void)
{
    shim.real = sqlite3_vfs_find(NULL);
    shim.vfs = *shim.real;
    shim.vfs.zName = "faults";
    shim.vfs.szOsFile = shim.real->szOsFile + (int)sizeof(struct fault_file);
    shim.vfs.xOpen = shim_open;
    shim.vfs.xDelete = shim_delete;
    sqlite3_vfs_register(&shim.vfs, 1);
}

/* Transactions of ROWS_EACH points, each an artefact of its own; how many were acknowledged. */
static int write_some(struct store *s, const char *run_id)
{
    struct store_point points[ROWS_EACH];
    char artefact[160];
    int acknowledged = 0;

    for (int i = 0; i < ROWS_EACH; i++) points[i] = (struct store_point){i, run_id, 64, i + 1, 0};
    for (int t = 0; t < TRANSACTIONS; t++) {
        snprintf(artefact, sizeof artefact, "%c%0100d", 'a' + t, t);
        if (store_set_points(s, artefact, "mini", points, ROWS_EACH, NULL) < 0) break;
        acknowledged++;
        if (t == 1) sqlite3_wal_checkpoint_v2(s->connection_own, NULL, 1, NULL, NULL);
    }
    return acknowledged;
}

/* Every k until a whole pass meets no fault. */
enum fault_kind { FAULT_ONCE, FAULT_FOR_EVER, FAULT_POWER, FAULT_POWER_BY_CHANCE };

static void fail_at_every_operation(struct store_fixture *f, int code, enum fault_kind kind)
{
    unsigned seed = 20220422;
    char shared[sizeof f->path + 8];
    struct spec train = fixture_train(SPEC_ALIBI, 64, 1);
    int k = 1;

    fixture_add(f, &train, NULL);
    shim.code = code;
    shim.for_ever = kind != FAULT_ONCE;
    snprintf(shared, sizeof shared, "%s-shm", f->path);
    for (; k < FAULTS_MAX; k++) {
        assert_int_equal(database_script(f->store, "DELETE FROM points", &f->e), 0);
        shim.injected = shim.count = 0;
        shim.at = k;
        shim.keeps = kind >= FAULT_POWER;
        forget(NULL);
        int acknowledged = write_some(f->store, f->id);
        store_fixture_close(f); /* under the fault too: the checkpoint at the end may fail */
        shim.at = 0;
        shim.keeps = false;
        if (kind >= FAULT_POWER && shim.injected > 0) {
            cut_power(kind == FAULT_POWER, &seed);
            unlink(shared); /* memory, on a machine that starts again */
        }
        int64_t injected = shim.injected;
        shim.injected = 0;
        store_fixture_open(f, STORE_WRITE);
        assert_int_equal(store_check(f->store, &f->e), 0);
        int64_t rows = strtoll(fixture_cell(f->store, "SELECT count(*) FROM points"), NULL, 10);
        assert_int_equal(rows % ROWS_EACH, 0);
        assert_true(rows >= (int64_t)acknowledged * ROWS_EACH);
        assert_true(rows <= (int64_t)(acknowledged + 1) * ROWS_EACH);
        if (injected == 0) break;
    }
    assert_in_range(k, 10, FAULTS_MAX - 1);
    print_message("%d faults injected, 0 lost\n", k - 1);
}

TEST_CONSTRUCTOR(prepare)
{
    install_shim();
}

TEST_EACH(store_fixture_setup, store_fixture_teardown)

TEST_WITH(struct store_fixture *f, an_error_once_loses_nothing)
{
    fail_at_every_operation(f, SQLITE_IOERR_WRITE, FAULT_ONCE);
}

TEST_WITH(struct store_fixture *f, an_error_from_then_on_loses_nothing)
{
    fail_at_every_operation(f, SQLITE_IOERR_WRITE, FAULT_FOR_EVER);
}

TEST_WITH(struct store_fixture *f, a_disk_that_is_full_for_a_moment_loses_nothing)
{
    fail_at_every_operation(f, SQLITE_FULL, FAULT_ONCE);
}

TEST_WITH(struct store_fixture *f, a_disk_that_stays_full_loses_nothing)
{
    fail_at_every_operation(f, SQLITE_FULL, FAULT_FOR_EVER);
}

TEST_WITH(struct store_fixture *f, a_power_cut_that_loses_all_unsynced_writes_loses_nothing)
{
    fail_at_every_operation(f, SQLITE_IOERR_WRITE, FAULT_POWER);
}

TEST_WITH(struct store_fixture *f, a_power_cut_that_loses_some_of_them_loses_nothing)
{
    fail_at_every_operation(f, SQLITE_IOERR_WRITE, FAULT_POWER_BY_CHANCE);
}

TEST_WITH(struct store_fixture *f, a_disk_without_room_for_the_index_of_the_log_is_full)
{
    struct store *s = NULL;

    store_fixture_close(f);
    shim.no_index = true;
    assert_fails(ERR_IO, "disk is full; free space on that disk and repeat the command",
                 store_open(&s, f->path, STORE_WRITE, &e));
    shim.no_index = false;
}
