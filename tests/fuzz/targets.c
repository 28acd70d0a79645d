/* targets.c - the table of fuzz targets. A target reads the bytes as the program would and touches
 * what it got; an error is a right answer, a crash, a leak or a broken promise is not. */
#include "fuzz/targets.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/project.h"
#include "cli/cli.h"
#include "data/corpus.h"
#include "data/tokens.h"
#include "fetch/fetch.h"
#include "interchange/interchange.h"
#include "interchange/safetensors.h"
#include "interchange/torch_file.h"
#include "plan/plan_internal.h"
#include "prepare/dictionary.h"
#include "prepare/subword.h"
#include "prepare/text.h"
#include "pretrained/pretrained.h"
#include "record/event.h"
#include "record/fields.h"
#include "report/layout.h"
#include "report/report.h"
#include "spec/spec.h"
#include "store/ingest.h"
#include "store/store.h"
#include "tokenizer/tokenizer.h"

enum { PATH_BYTES = 256 };

static const double QUERY_LIMIT_S = 0.2;

static void require(int holds, const char *promise)
{
    if (holds) return;
    fprintf(stderr, "fuzz: broken promise: %s\n", promise);
    abort();
}

/* A folder of this process in memory, and a file in it with the bytes. */
static char folder[PATH_BYTES];

static void remove_folder(void)
{
    struct err e = {0};
    (void)dir_remove_tree(AT_FDCWD, folder, NULL, &e);
}

static const char *scratch(struct arena *a, const char *name)
{
    if (!*folder) {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/alibi-fuzz-%ld", base ? base : "/dev/shm",
                 (long)getpid());
        (void)mkdir(folder, 0700);
        atexit(remove_folder);
    }
    return arena_printf(a, "%s/%s", folder, name);
}

static const char *write_scratch(struct arena *a, const char *name, const uint8_t *bytes, size_t n)
{
    const char *path = scratch(a, name);
    FILE *f = fopen(path, "wb");
    require(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0, "the scratch file can be written");
    return path;
}

/* The bytes as text that ends with 0. */
static char *text_of(struct arena *a, const uint8_t *bytes, size_t n)
{
    return arena_strndup(a, (const char *)bytes, n);
}

static void read_yaml(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    const struct yaml_node *root;
    if (yaml_parse(&root, a, "fuzz.yaml", (const char *)bytes, n, e) == 0)
        require(root->line >= 1 && root->column >= 1, "every node has a place");
}

static void read_grid(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct project p;
    struct grid g;
    write_scratch(a, "grid.yaml", bytes, n);
    if (project_open(&p, a, NULL, e) == 0) (void)grid_read(&g, a, &p, "fuzz", scratch(a, ""), 0, e);
}

static void read_spec(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct spec s, again;
    if (spec_parse(&s, text_of(a, bytes, n), e) == 0) {
        char id[SPEC_ID_BYTES], id_again[SPEC_ID_BYTES];
        require(spec_parse(&again, spec_canonical(&s, a), e) == 0, "canonical text can be read");
        spec_run_id(&s, id);
        spec_run_id(&again, id_again);
        require(strcmp(id, id_again) == 0, "canonical text keeps the run id");
    }
}

static void read_events(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct event_reader *r = NULL;
    struct event event;
    struct record record;
    uint64_t last = 0;
    if (event_reader_open(&r, write_scratch(a, "events", bytes, n), e) == 0)
        while (event_read(r, &event, e) == 1) {
            require(event.sequence > last, "sequence numbers rise");
            last = event.sequence;
            (void)record_read(&record, &event, e);
        }
    event_reader_close(r);
}

static void read_safetensors(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct safetensors *s = NULL;
    unsigned sum = 0;
    const char *path = write_scratch(a, "x.safetensors", bytes, n);
    int own = safetensors_open(&s, path, e);
    safetensors_close(s);
    int rc = safetensors_open_foreign(&s, path, e);
    require(own < 0 || rc == 0, "a file of this program can be read as one of another");
    if (rc == 0)
        for (int32_t i = 0; i < safetensors_count(s); i++) {
            const struct safetensors_entry *t = safetensors_at(s, i);
            for (size_t k = 0; k < t->data_bytes; k++) sum += ((const unsigned char *)t->data)[k];
            require(safetensors_find(s, t->name) != NULL, "every tensor can be found");
        }
    safetensors_close(s);
    require(sum != 1u << 31, "the sum is read");
}

static void read_pickle(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct pickle_value *v;
    if (pickle_read(&v, a, bytes, n, "fuzz.pkl", e) == 0) (void)pickle_get(v, "model");
}

static void read_checkpoint(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct import *im = NULL;
    (void)import_open(&im, write_scratch(a, "checkpoint.pt", bytes, n), e);
    import_close(im);
}

static void read_checkpoints(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct plan_checkpoints list;

    if (plan_checkpoints_read(&list, a, write_scratch(a, "checkpoints.yaml", bytes, n), e) < 0)
        return;
    for (int32_t i = 0; i < list.n; i++)
        require(!strchr(list.item[i].file, '/'), "a file's name leads nowhere else");
}

static void read_tokens(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct tokens t;
    int32_t ids[256];
    if (tokens_open(&t, write_scratch(a, "tokens", bytes, n), e)) return;
    for (int64_t i = 0; i < t.n; i += 256) tokens_read(&t, i, t.n - i < 256 ? t.n - i : 256, ids);
    tokens_close(&t);
}

static void read_documents(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct tokens t = {.n = 1000};
    const char *path = write_scratch(a, "documents", bytes, n);
    if (tokens_open_documents(&t, path, (int64_t)(n / sizeof *t.document), e) == 0)
        for (int64_t at = 0, first, end = 0; at < t.n; at = end) {
            tokens_document(&t, at, &first, &end);
            require(first == at && end > at && end <= t.n, "documents follow one another");
        }
    tokens_close(&t);
}

static void read_manifest(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct manifest m;
    (void)manifest_read(&m, a, write_scratch(a, "manifest.yaml", bytes, n), e);
}

static void read_dictionary(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct dictionary d;
    (void)dictionary_load(&d, a, write_scratch(a, "dict.txt", bytes, n), e);
}

static void read_text(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct dictionary d;
    const struct text text = {.bytes = (const char *)bytes, .n = n, .name = "fuzz"};
    (void)dictionary_build(&d, a, &text, 16, e);
}

static void read_wordpiece(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct strbuf out;
    struct wordpiece *w;
    strbuf_init(&out, a);
    if (wordpiece_open(&w, a, write_scratch(a, "vocab.txt", bytes, n), false, e) == 0)
        (void)wordpiece_line(w, &out, (const char *)bytes, n < 512 ? n : 512, e);
}

/* The bytes are vocab.json up to the first zero byte, then merges.txt. */
static void read_bpe(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct strbuf out;
    struct bpe *b;
    size_t vocab_n = strnlen((const char *)bytes, n), merges_n = n - vocab_n - (vocab_n < n);
    const char *merges = (const char *)bytes + n - merges_n;
    strbuf_init(&out, a);
    const char *path = write_scratch(a, "vocab.json", bytes, vocab_n);
    const char *merges_path = write_scratch(a, "merges.txt", (const uint8_t *)merges, merges_n);
    if (bpe_open(&b, a, path, merges_path, e) == 0)
        (void)bpe_line(b, &out, merges, merges_n < 512 ? merges_n : 512, e);
}

/* The bytes are tokenizer.json up to the first zero byte, then tokenizer_config.json. */
static void read_tokenizer(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct tokenizer *t;
    int32_t *ids[2];
    int64_t ids_n[2];
    size_t json_n = strnlen((const char *)bytes, n), config_n = n - json_n - (json_n < n);
    const char text[] = "a  b\n 's 12e\xCC\x81 the \xE2\x96\x81</s>\xF0\x9F\x99\x82 .,";
    write_scratch(a, "tokenizer.json", bytes, json_n);
    write_scratch(a, "tokenizer_config.json", bytes + n - config_n, config_n);
    if (config_n == 0) unlink(scratch(a, "tokenizer_config.json"));
    if (tokenizer_open(&t, scratch(a, "."), 0, e) < 0) return;
    for (int i = 0; i < 2; i++) /* the second time words come from the cache */
        (void)tokenizer_encode(t, text, sizeof text, i == 1, &ids[i], &ids_n[i], NULL, NULL, e);
    require(ids_n[0] <= ids_n[1] || !ids[1], "the template takes no id away");
    for (int i = 0; i < 2; i++) {
        for (int64_t k = 0; k < ids_n[i]; k++)
            require(ids[i][k] >= 0 && ids[i][k] < tokenizer_facts(t)->ids_n, "ids are in range");
        free(ids[i]);
    }
    tokenizer_close(t);
}

static void read_archive(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    static const struct unpack_file files[] = {{"wiki.train.tokens", "train.txt"}};
    (void)unpack_files(write_scratch(a, "archive.zip", bytes, n), scratch(a, ""), files, 1, 1 << 20,
                       e);
}

/* Copies a seed of the target `database`. */
static const char *copy_seed(struct arena *a, const char *name, const char *seed)
{
    char *bytes, *path = arena_printf(a, "tests/fuzz/seeds/database/%s", seed);
    size_t n;

    require(file_read(a, &bytes, &n, path, 1 << 20, NULL) == 0, "the seed can be read");
    return write_scratch(a, name, (const uint8_t *)bytes, n);
}

/* SQL of a claim.sql or the command line on a database that has rows in every view. */
static void read_sql(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    static struct store *s;
    struct rows rows;
    if (!s) {
        const char *path = copy_seed(a, "query.db", "small");
        require(store_open(&s, path, STORE_READ, e) == 0, "the database can be read");
    }
    (void)store_query(s, &rows, a, text_of(a, bytes, n), NULL, 0, QUERY_LIMIT_S, e);
}

static void read_layout(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct report_layout l, other;
    static const char text[] = "title: t\nrows: position\ncolumns: L_valid\nvalue: perplexity\n";
    int rc = report_layout_read(&other, a, "table.txt", text, e);
    require(rc == 0, e->text);
    if (report_layout_read(&l, a, "table.txt", text_of(a, bytes, n), e) == 0) {
        for (int32_t i = 0; i < l.rules_n; i++)
            require(report_layout_rule(&l, l.rule[i].metric) != NULL, "every rule is found");
        (void)report_layout_inherit(&l, &other, "table.txt", e);
    }
}

static int merge(struct arena *a, struct store *s, const char *path, struct err *e)
{
    struct merge_result m;
    const struct project p = {.root = scratch(a, "home")};
    return store_merge(s, &m, &p, path, e);
}

/* A database with results of a grid, open for writing. */
static struct store *store_of_results(struct arena *a)
{
    static struct store *s;
    struct err e = {0};
    if (s) return s;
    require(store_open(&s, copy_seed(a, "results.db", "run"), STORE_WRITE, &e) == 0,
            "a database can be made");
    return s;
}

static void read_paper(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    struct store *s = store_of_results(a);
    require(store_begin(s, e) == 0, "a transaction begins");
    (void)store_set_paper(s, "fuzz", write_scratch(a, "paper.tsv", bytes, n), e);
    store_rollback(s);
}

/* The files of an artefact's folder, each after a line "== NAME": reported and judged. */
static void read_folder(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    static const char *const names[] = {"query.sql", "table.txt", "paper.tsv", "claim.sql",
                                        "README.md"};
    struct store *s = store_of_results(a);
    struct project p;
    const char *dir = scratch(a, "fuzz");
    (void)mkdir(dir, 0700);
    const char *text = text_of(a, bytes, n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *mark = arena_printf(a, "== %s\n", names[i]);
        char *path = arena_printf(a, "%s/%s", dir, names[i]);
        const char *from = strstr(text, mark);
        (void)unlink(path);
        if (!from) continue;
        from += strlen(mark);
        const char *end = strstr(from, "\n== ");
        write_scratch(a, arena_printf(a, "fuzz/%s", names[i]), (const uint8_t *)from,
                      end ? (size_t)(end + 1 - from) : strlen(from));
    }
    FILE *out = fopen("/dev/null", "w");
    require(out && project_open(&p, a, scratch(a, ""), e) == 0, "a project opens");
    const struct report_options o = {.scale = "mini",
                                     .format = (enum report_format)(n % (REPORT_HTML + 1))};
    (void)report_artefact(out, s, &p, "fuzz", dir, &o, e);
    /* The report has judged the claims; this stores the verdicts, at the cost of half a report. */
    if (n % 4 == 0) (void)report_judge(s, &p, "fuzz", dir, "mini", e);
    fclose(out);
}

/* Every view, and what the scheduler and the commands ask with statements of their own. */
static void read_views(const char *path, struct arena *a, struct err *e)
{
    static const char *const runs[] = {"bc004f932c149766", "59f8fba881ee4122", "b0b0b0b0b0b0b0b0"};
    struct store *s = NULL;
    struct rows names, rows;
    struct store_running *running;
    struct store_run_state state;
    char id[SPEC_ID_BYTES], file[256], sha256[65];
    double rate;
    int32_t n;

    if (store_open(&s, path, STORE_READ, e) == 0 &&
        store_query(s, &names, a, "SELECT name FROM sqlite_schema WHERE type='view'", NULL, 0,
                    QUERY_LIMIT_S, e) == 0)
        for (int32_t i = 0; i < names.rows_n; i++)
            (void)store_query(s, &rows, a,
                              arena_printf(a, "SELECT * FROM %s", store_text(names.row[i])), NULL,
                              0, QUERY_LIMIT_S, e);
    for (size_t i = 0; s && i < sizeof runs / sizeof *runs; i++) {
        (void)store_run_state(s, runs[i], &state, e);
        (void)store_find_run(s, id, runs[i], e);
        (void)store_checkpoint(s, runs[i], SPEC_BEST, file, sha256, e);
        (void)store_flops_rate(s, (enum spec_kind)i, NULL, 0, &rate, e);
    }
    if (s) (void)store_running(s, a, &running, &n, e);
    store_close(s);
}

/* Commands that start no other program, on a results.db from elsewhere. */
static const char *const database_commands[][5] = {
    {"status"},
    {"show", "bc00"},
    {"show", "59f8"},
    {"logs", "bc00"},
    {"logs", "b0b0"},
    {"verify"},
    {"gc"},
    {"plan", "table5"},
    {"claims", "table5"},
    {"export", "bc00", "--out", "/nowhere/at/all"},
    {"compare", "position=alibi", "seed=1"},
};
enum { DATABASE_COMMANDS = sizeof database_commands / sizeof *database_commands };
const int32_t fuzz_database_ways = 3 + DATABASE_COMMANDS;

/* Runs a command as main does, without its output. */
static void run_command(const char *const *words, char *project, struct arena *a, struct err *e)
{
    char *argv[8];
    int argc = 0, null = open("/dev/null", O_WRONLY), out = dup(STDOUT_FILENO);
    size_t n;
    const struct cli_command *commands = cli_commands(&n);

    for (int i = 1; i < 5 && words[i]; i++) argv[argc++] = arena_strdup(a, words[i]);
    argv[argc++] = arena_strdup(a, "--project");
    argv[argc++] = project;
    fflush(stdout);
    dup2(null, STDOUT_FILENO);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(commands[i].name, words[0]) != 0) continue;
        struct cli c = {.self = &commands[i], .argc = argc, .argv = argv};
        arena_init(&c.arena);
        (void)commands[i].run(&c, e);
        plan_close(&c.planning.plan);
        store_close(c.store);
        arena_fini(&c.arena);
    }
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    close(null);
}

/* The run folders of the seed, which a merge expects beside a results.db. */
static void make_run_folders(struct arena *a, struct err *e)
{
    static bool made;
    struct store *s = NULL;
    struct rows rows;

    if (made) return;
    made = true;
    require(store_open(&s, copy_seed(a, "seed.db", "small"), STORE_READ, e) == 0 &&
                store_query(s, &rows, a, "SELECT DISTINCT dir FROM attempts", NULL, 0, 0, e) == 0,
            "the seed can be read");
    for (int32_t i = 0; i < rows.rows_n; i++) {
        const char *dir = arena_printf(a, "other/%s", rows.row[i][0].text);
        require(file_make_dirs(scratch(a, dir), e) == 0, "a folder can be made");
        write_scratch(a, arena_printf(a, "%s/events", dir), (const uint8_t *)dir, strlen(dir));
    }
    store_close(s);
}

void fuzz_database(const uint8_t *bytes, size_t n, int32_t way, struct arena *a, struct err *e)
{
    static struct store *into;
    struct store *s = NULL;
    char *project = arena_strdup(a, scratch(a, "other"));

    (void)mkdir(project, 0700);
    const char *other = write_scratch(a, "other/results.db", bytes, n);
    if (way >= 3) {
        run_command(database_commands[way - 3], project, a, e);
    } else if (way == 0) {
        read_views(other, a, e);
    } else if (way == 1) {
        (void)store_open(&s, other, STORE_WRITE, e);
        store_close(s);
    } else {
        require(into || store_open(&into, scratch(a, "into.db"), STORE_WRITE, e) == 0,
                "a database can be made");
        make_run_folders(a, e);
        (void)merge(a, into, other, e);
    }
}

/* A results.db from elsewhere: the bytes choose what reads it. */
static void read_database(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < n; i++) sum = (sum ^ bytes[i]) * 16777619u; /* FNV-1a */
    fuzz_database(bytes, n, (int32_t)(sum % (uint32_t)fuzz_database_ways), a, e);
}

/* Opens a checkpoint folder and reads its tensors. The bytes are its config.json, or the index of
 * its two files, which have the same tensors; the other files are those of a valid folder. */
static void read_open_folder(const uint8_t *bytes, size_t n, struct arena *a, struct err *e,
                             const char *name, const char *other, const char *const *weights)
{
    static const char valid[] = "tests/fixtures/open_valid/";
    enum { WEIGHTS_BYTES_MAX = 1 << 20, VALUES_MAX = 1 << 16 };
    const char *path = scratch(a, name);
    struct pretrained *p = NULL;
    char *copy;
    size_t copy_n;

    (void)mkdir(path, 0700);
    for (; *weights; weights++) {
        const char *to = arena_printf(a, "%s/%s", name, *weights);
        if (file_exists(scratch(a, to))) continue;
        require(file_read(a, &copy, &copy_n, arena_printf(a, "%smodel.safetensors", valid),
                          WEIGHTS_BYTES_MAX, e) == 0 &&
                    file_write_atomic(scratch(a, to), copy, copy_n, e) == 0,
                "the weights can be copied");
    }
    if (other) {
        require(file_read(a, &copy, &copy_n, arena_printf(a, "%s%s", valid, other),
                          WEIGHTS_BYTES_MAX, e) == 0,
                "the valid folder can be read");
        write_scratch(a, arena_printf(a, "%s/%s", name, other), (uint8_t *)copy, copy_n);
    }
    write_scratch(
        a, arena_printf(a, "%s/%s", name, other ? "model.safetensors.index.json" : "config.json"),
        bytes, n);
    if (pretrained_open(&p, path, e) < 0) return;
    const struct shape_params *params = &pretrained_facts(p)->params;
    float *out = arena_array(a, VALUES_MAX, sizeof *out);
    for (int32_t i = 0; i < params->tensors_n; i++) {
        require((int64_t)params->tensor[i].rows * params->tensor[i].cols <= VALUES_MAX,
                "a tensor is as large as that of the file");
        (void)pretrained_read(p, i, out, e);
    }
    pretrained_close(p);
}

static void read_open_config(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    static const char *const weights[] = {"model.safetensors", NULL};
    read_open_folder(bytes, n, a, e, "open_config", NULL, weights);
}

static void read_open_index(const uint8_t *bytes, size_t n, struct arena *a, struct err *e)
{
    static const char *const weights[] = {"a.safetensors", "b.safetensors", NULL};
    read_open_folder(bytes, n, a, e, "open_index", "config.json", weights);
}

const struct fuzz_target fuzz_targets[] = {
    {"yaml", read_yaml},
    {"grid", read_grid},
    {"spec", read_spec},
    {"events", read_events},
    {"safetensors", read_safetensors},
    {"open_config", read_open_config},
    {"open_index", read_open_index},
    {"pickle", read_pickle},
    {"checkpoint", read_checkpoint},
    {"checkpoints", read_checkpoints},
    {"tokens", read_tokens},
    {"documents", read_documents},
    {"manifest", read_manifest},
    {"dictionary", read_dictionary},
    {"text", read_text},
    {"wordpiece", read_wordpiece},
    {"bpe", read_bpe},
    {"tokenizer", read_tokenizer},
    {"archive", read_archive},
    {"sql", read_sql},
    {"layout", read_layout},
    {"paper", read_paper},
    {"folder", read_folder},
    {"database", read_database},
    {"resume", fuzz_resume},
};
const int32_t fuzz_targets_n = sizeof fuzz_targets / sizeof *fuzz_targets;

void fuzz_target_read(const struct fuzz_target *target, const uint8_t *bytes, size_t n)
{
    struct arena a;
    struct err e = {0};
    arena_init(&a);
    target->read(bytes, n, &a, &e);
    arena_fini(&a);
}

const struct fuzz_target *fuzz_target_find(const char *name)
{
    for (int32_t i = 0; i < fuzz_targets_n; i++)
        if (strcmp(fuzz_targets[i].name, name) == 0) return &fuzz_targets[i];
    return NULL;
}
