/* powercut.c - what a power cut at a random moment of a traced run leaves of its folder, for
 * run.sh.
 *
 * usage: powercut TRACE ROOT OUT SEED
 * TRACE: of strace -f -y -xx -s 99999999 with the calls of disturb.sh. ROOT: the traced folder.
 *
 * 1. The calls until a random moment count; what follows did not happen.
 * 2. The strictest rules that POSIX allows: of an entry that was made, renamed or deleted in a
 *    folder that was not synced afterwards, either survives. The bytes of a file that were not
 *    synced are lost, kept, or kept in part and torn.
 * 3. Files of shared memory and locks do not survive. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"

enum { STRINGS_MAX = 2, CUT_FIRST = 5 };

enum kind { CREATE, MAKE_DIR, DELETE, RENAME, WRITE, TRUNCATE, SYNC };

struct op {
    enum kind kind;
    const char *path, *to;
    int64_t at; /* WRITE: in the file, -1 its end; TRUNCATE: the new size */
    const char *bytes;
    size_t n;
    bool emptied; /* CREATE: O_TRUNC */
};
struct ops {
    struct op *item;
    int32_t n, capacity;
};

/* A file's content: what was synced, and the writes since. */
struct file {
    char *bytes, *synced;
    size_t n, synced_n;
    struct ops pending;
};

/* A name of a file or, without one, of a folder. */
struct entry {
    const char *path;
    struct file *file;
};
struct entries {
    struct entry *item;
    int32_t n, capacity;
};

/* The log of operations on entries, in order. */
struct change {
    enum kind kind;
    const char *path, *to;
    struct file *file;
    bool synced;
};
struct changes {
    struct change *item;
    int32_t n, capacity;
};

static struct arena arena;
static const char *root;

static bool happens(double probability)
{
    return drand48() < probability;
}

/* --- the trace ------------------------------------------------------------------------------ */

static int digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* The bytes of \x.. digits from p up to `end`. */
static char *decode(const char *p, char end, size_t *n)
{
    char *out = arena_alloc(&arena, strlen(p) / 4 + 1);

    for (*n = 0; *p == '\\' && *p != end; p += 4)
        out[(*n)++] = (char)(digit(p[2]) << 4 | digit(p[3]));
    return out;
}

/* A call: its name, the path of its first descriptor, its strings, its last number, its result. */
struct call {
    char name[16];
    const char *folder, *string[STRINGS_MAX];
    size_t bytes[STRINGS_MAX];
    int strings_n;
    bool creates, truncates;
    int64_t last, result;
};

static bool parse_call(struct call *c, const char *line)
{
    size_t n;
    const char *open = strchr(line, '('), *result = strrchr(line, '=');

    *c = (struct call){0};
    if (!open || !result || (size_t)(open - line) >= sizeof c->name) return false;
    snprintf(c->name, sizeof c->name, "%.*s", (int)(open - line), line);
    c->result = strtoll(result + 1, NULL, 10);
    const char *path = strchr(open, '<'), *quote = strchr(open, '"');
    if (path && (!quote || path < quote)) c->folder = decode(path + 1, '>', &n);
    for (; quote && c->strings_n < STRINGS_MAX; quote = strchr(quote + 1, '"')) {
        c->string[c->strings_n] = decode(quote + 1, '"', &c->bytes[c->strings_n]);
        c->strings_n++;
        quote = strchr(quote + 1, '"');
        if (!quote) return false;
        open = quote;
    }
    c->creates = strstr(open, "O_CREAT") != NULL;
    c->truncates = strstr(open, "O_TRUNC") != NULL;
    const char *comma = strrchr(open, ',');
    if (comma) c->last = strtoll(comma + 1, NULL, 10);
    return c->result >= 0;
}

/* The path of a string, which is relative to the call's folder or else to the project's. */
static const char *path_of(const struct call *c, int i)
{
    if (i < 0) return c->folder ? c->folder : "";
    if (*c->string[i] == '/') return c->string[i];
    return arena_printf(&arena, "%s/%s", c->folder ? c->folder : root, c->string[i]);
}

static bool is_inside(const char *path)
{
    size_t n = strlen(root);
    return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static void add_op(struct ops *all, const struct call *c)
{
    static const struct {
        const char *name;
        enum kind kind;
    } calls[] = {{"openat", CREATE},   {"mkdir", MAKE_DIR},     {"mkdirat", MAKE_DIR},
                 {"unlink", DELETE},   {"unlinkat", DELETE},    {"rename", RENAME},
                 {"renameat", RENAME}, {"renameat2", RENAME},   {"write", WRITE},
                 {"pwrite64", WRITE},  {"ftruncate", TRUNCATE}, {"fsync", SYNC},
                 {"fdatasync", SYNC}};
    size_t i = 0;

    while (i < sizeof calls / sizeof *calls && strcmp(calls[i].name, c->name) != 0) i++;
    if (i == sizeof calls / sizeof *calls) return;
    struct op o = {.kind = calls[i].kind, .at = -1};
    bool of_fd = o.kind == WRITE || o.kind == TRUNCATE || o.kind == SYNC;
    if (o.kind == CREATE && !c->creates && !c->truncates) return;
    if (!of_fd && c->strings_n == 0) return;
    o.path = path_of(c, of_fd ? -1 : 0);
    if (!is_inside(o.path)) return;
    o.emptied = c->truncates;
    if (o.kind == RENAME) o.to = path_of(c, c->strings_n - 1);
    if (o.kind == TRUNCATE || strcmp(c->name, "pwrite64") == 0) o.at = c->last;
    if (o.kind == WRITE) {
        o.bytes = c->string[0];
        o.n = (size_t)c->result;
    }
    *vec_push(&arena, all) = o;
}

/* A call that another process interrupted is in two lines, which are joined. */
static void read_trace(struct ops *all, const char *path)
{
    struct {
        struct {
            long pid;
            const char *text;
        } * item;
        int32_t n, capacity;
    } begun = {0};
    static const char unfinished[] = "<unfinished ...>";
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    FILE *f = fopen(path, "re");

    while (f && (n = getline(&line, &capacity, f)) > 0) {
        struct call c;
        char *text, *at;
        long pid = strtol(line, &text, 10);
        line[n - 1] = '\0';
        text += strspn(text, " ");
        if ((at = strstr(text, unfinished))) {
            *at = '\0';
            *vec_push(&arena, &begun) = (typeof(*begun.item)){pid, arena_strdup(&arena, text)};
            continue;
        }
        if (strncmp(text, "<... ", 5) == 0 && (at = strchr(text, '>'))) {
            int32_t i = begun.n - 1;
            while (i >= 0 && begun.item[i].pid != pid) i--;
            if (i < 0) continue;
            text = arena_printf(&arena, "%s%s", begun.item[i].text, at + 1);
        }
        if (parse_call(&c, text)) add_op(all, &c);
    }
    free(line);
    if (f) fclose(f);
}

/* --- the run until the cut ------------------------------------------------------------------- */

static struct entry *find_entry(const struct entries *all, const char *path)
{
    for (int32_t i = 0; i < all->n; i++)
        if (all->item[i].path && strcmp(all->item[i].path, path) == 0) return &all->item[i];
    return NULL;
}

static void put_entry(struct entries *all, const char *path, struct file *file)
{
    struct entry *e = find_entry(all, path);

    if (!e) e = vec_push(&arena, all);
    *e = (struct entry){path, file};
}

/* The files of a folder move with it. */
static void move_content(struct entries *all, const char *from, const char *to)
{
    size_t n = strlen(from);

    for (int32_t i = 0; i < all->n; i++) {
        const char **path = &all->item[i].path;
        if (*path && strncmp(*path, from, n) == 0 && (*path)[n] == '/')
            *path = arena_printf(&arena, "%s%s", to, *path + n);
    }
}

static void apply_op(char **bytes, size_t *n, const struct op *o)
{
    size_t at = o->kind == TRUNCATE || o->at >= 0 ? (size_t)o->at : *n, end = at + o->n;

    if (o->kind == TRUNCATE || end > *n) {
        char *longer = arena_alloc(&arena, end + 1); /* zeros where there was nothing */
        memcpy(longer, *bytes ? *bytes : "", end < *n ? end : *n);
        *bytes = longer;
        *n = end;
    }
    if (o->n) memcpy(*bytes + at, o->bytes, o->n);
}

static void change_file(struct file *f, const struct op *o)
{
    struct op placed = *o;

    if (o->kind == WRITE && o->at < 0) placed.at = (int64_t)f->n;
    apply_op(&f->bytes, &f->n, &placed);
    *vec_push(&arena, &f->pending) = placed;
}

static bool is_parent(const char *folder, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && strlen(folder) == (size_t)(slash - path) &&
           strncmp(folder, path, strlen(folder)) == 0;
}

static void sync_path(struct changes *changes, const struct entries *now, const char *path)
{
    const struct entry *e = find_entry(now, path);

    if (e && e->file) {
        struct file *f = e->file;
        f->synced = arena_alloc(&arena, f->n + 1);
        memcpy(f->synced, f->bytes ? f->bytes : "", f->n);
        f->synced_n = f->n;
        f->pending.n = 0;
        return;
    }
    for (int32_t i = 0; i < changes->n; i++) {
        struct change *c = &changes->item[i];
        if (is_parent(path, c->to ? c->to : c->path)) c->synced = true;
    }
}

static void happen(struct changes *changes, struct entries *now, const struct op *o)
{
    struct entry *e = find_entry(now, o->path);
    struct file *file = e ? e->file : NULL;

    if (o->kind == SYNC) sync_path(changes, now, o->path);
    if ((o->kind == WRITE || o->kind == TRUNCATE) && file) change_file(file, o);
    if (o->kind == CREATE && file && o->emptied) change_file(file, &(struct op){.kind = TRUNCATE});
    if (o->kind == SYNC || o->kind == WRITE || o->kind == TRUNCATE || (o->kind == CREATE && file))
        return;
    if (o->kind == CREATE) file = arena_alloc(&arena, sizeof *file);
    *vec_push(&arena, changes) = (struct change){o->kind, o->path, o->to, file, false};
    if (e && o->kind != MAKE_DIR) e->path = NULL;
    if (o->kind == RENAME) move_content(now, o->path, o->to);
    if (o->kind != DELETE) put_entry(now, o->to ? o->to : o->path, file);
}

/* --- what is left --------------------------------------------------------------------------- */

static void survive(struct entries *left, const struct changes *changes)
{
    for (int32_t i = 0; i < changes->n; i++) {
        const struct change *c = &changes->item[i];
        if (!c->synced && happens(0.5)) continue;
        struct entry *e = find_entry(left, c->path);
        if (c->kind == RENAME && !e) continue;
        struct file *file = c->kind == RENAME ? e->file : c->file;
        if (e && c->kind != MAKE_DIR) e->path = NULL;
        if (c->kind == RENAME) move_content(left, c->path, c->to);
        if (c->kind != DELETE) put_entry(left, c->to ? c->to : c->path, file);
    }
}

static void tear(struct file *f)
{
    double kept = happens(0.35) ? 0 : happens(0.4) ? 1 : 0.5;

    for (int32_t i = 0; i < f->pending.n; i++) {
        struct op o = f->pending.item[i];
        if (!happens(kept)) continue;
        if (kept < 1 && o.kind == WRITE && happens(0.1)) o.n = (size_t)(drand48() * (double)o.n);
        apply_op(&f->synced, &f->synced_n, &o);
    }
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Writes the folders that survived, then the files whose folder did. */
static int write_left(const struct entries *left, const char *out, struct err *e)
{
    TRY(file_make_dirs(out, e));
    for (int files = 0; files < 2; files++)
        for (int32_t i = 0; i < left->n; i++) {
            const struct entry *x = &left->item[i];
            if (!x->path || (x->file != NULL) != files) continue;
            if (ends_with(x->path, "-shm") || ends_with(x->path, ".lock")) continue;
            const char *path = arena_printf(&arena, "%s%s", out, x->path + strlen(root));
            char *folder = arena_strdup(&arena, path);
            *strrchr(folder, '/') = '\0';
            if (!file_exists(folder)) continue; /* its folder is gone */
            if (!files) {
                TRY(file_make_dirs(path, e));
                continue;
            }
            tear(x->file);
            const char *bytes = x->file->synced ? x->file->synced : "";
            TRY(file_write_new(path, bytes, x->file->synced_n, e));
        }
    return 0;
}

int main(int argc, char **argv)
{
    struct ops ops = {0};
    struct changes changes = {0};
    struct entries now = {0}, left = {0};
    struct err e = {0};
    int64_t seed;

    if (argc != 5 || !str_to_int(&seed, argv[4])) {
        fprintf(stderr, "usage: powercut TRACE ROOT OUT SEED\n");
        return 64;
    }
    root = argv[2];
    srand48(seed);
    arena_init(&arena);
    read_trace(&ops, argv[1]);
    if (ops.n <= CUT_FIRST) {
        ERR(&e, ERR_DATA, "%s: %d calls; the calls of a whole run were expected", argv[1], ops.n);
        goto out;
    }
    int32_t cut = CUT_FIRST + (int32_t)(drand48() * (ops.n - CUT_FIRST));
    for (int32_t i = 0; i < cut; i++) happen(&changes, &now, &ops.item[i]);
    survive(&left, &changes);
    write_left(&left, argv[3], &e);
    printf("cut after %d of %d calls\n", cut, ops.n);
out:
    if (e.code < 0) log_error(&e);
    arena_fini(&arena);
    return err_exit_code(e.code);
}
