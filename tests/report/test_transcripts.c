/* test_transcripts.c - report, claims, compare and query as transcripts: every file of golden/
 * holds commands and what they print. A line that begins with "$ " is a command; the lines after
 * it, up to the next, are its output (of `file` its input, each after "> "). TEST_UPDATE=1 writes
 * the output of the commands.
 *
 *   $ # words                                a comment
 *   $ new                                    an empty store and an empty artefact, tiny
 *   $ file NAME                              a file of tiny, or ../OTHER/NAME
 *   $ plant SCALE POSITION L V L' V' STRIDE SEED PERPLEXITY [modified]
 *                                            an evaluation; L' and V' are the paper's lengths, 0 of
 *                                            STRIDE is nonoverlapping, of PERPLEXITY not run. Those
 *                                            in a row become the points of tiny at the scale
 *   $ diverge SCALE POSITION L SEED          ends a training so
 *   $ bench SCALE POSITION L WPS DEVICE      a measured training, the one point of tiny
 *   $ paper SCALE ARTEFACT                   a shipped grid, done with the paper's numbers
 *   $ sql STATEMENT                          changes results.db
 *   $ report ARTEFACT SCALE FORMAT [table-only]
 *   $ claims SCALE FORMAT ARTEFACT           $ judge SCALE ARTEFACT
 *   $ summary FORMAT SCALE ARTEFACT…         $ reports FORMAT SCALE ARTEFACT…
 *   $ pair FORMAT FILTER | FILTER            compare without --all
 *   $ compare FORMAT FILTER | FILTER         {SELECT …} in it is replaced by its answer
 *   $ query FORMAT STATEMENT */
#include "harness/test.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "report/paper_plant.h"
#include "store/statements.h"

enum { PLANTS_MAX = 64, WORDS_MAX = 12 };

struct transcript {
    struct report_fixture *f;
    struct arena arena;
    struct strbuf text; /* commands and their output, as they come out now */
    FILE *out;
    struct report_plant plant[PLANTS_MAX];
    int32_t plants_n; /* not yet in the store */
    const char *command;
    char *word[WORDS_MAX];
    int words_n;
};

static void fixture_open(struct transcript *t)
{
    void *own = NULL;
    assert_int_equal(report_fixture_setup(&own), 0);
    t->f = own;
}

static void fixture_close(struct transcript *t)
{
    void *own = t->f;
    report_fixture_teardown(&own);
}

static void check_command(struct transcript *t, int rc)
{
    if (rc < 0) fail_msg("%s: %s", t->command, t->f->base->e.text);
}

/* Word i of the command, which must be there. */
static const char *word(const struct transcript *t, int i)
{
    if (i >= t->words_n) fail_msg("%s: word %d is missing", t->command, i);
    return t->word[i];
}

static int32_t number(const struct transcript *t, int i)
{
    return (int32_t)strtol(word(t, i), NULL, 10);
}

/* The command from word i on. */
static const char *rest(const struct transcript *t, int i)
{
    return t->command + (word(t, i) - t->word[0]);
}

static enum spec_position position(const struct transcript *t, int i)
{
    enum spec_position p = SPEC_SINUSOIDAL;
    while (strcmp(spec_position_name(p), word(t, i)) != 0) p++;
    return p;
}

static enum report_format format(const struct transcript *t, int i)
{
    enum report_format out;
    assert_int_equal(report_format_find(&out, word(t, i), &t->f->base->e), 0);
    return out;
}

/* Of the fixture, or a shipped one. */
static const char *folder(struct transcript *t, int i)
{
    const char *own = arena_printf(&t->arena, "%s/experiments/%s", t->f->base->dir, word(t, i));
    return file_exists(own) ? own : report_fixture_dir(t->f, word(t, i));
}

static int run_plant(struct transcript *t)
{
    assert_true(t->plants_n < PLANTS_MAX);
    t->plant[t->plants_n++] =
        (struct report_plant){word(t, 1),      position(t, 2), number(t, 3),
                              number(t, 4),    number(t, 5),   number(t, 6),
                              number(t, 7),    number(t, 8),   strtod(word(t, 9), NULL),
                              t->words_n == 11};
    return 0;
}

static void flush_plants(struct transcript *t)
{
    if (t->plants_n) report_fixture_plant(t->f, "tiny", t->plant, t->plants_n);
    t->plants_n = 0;
}

static struct spec training(struct transcript *t)
{
    struct spec s = fixture_train(position(t, 2), number(t, 3), 1);
    snprintf(s.scale, sizeof s.scale, "%s", word(t, 1));
    return s;
}

static int run_diverge(struct transcript *t)
{
    char id[SPEC_ID_BYTES];
    struct spec s = training(t);

    s.train.seed = number(t, 4);
    fixture_add(t->f->base, &s, id);
    fixture_end(t->f->base, fixture_start(t->f->base, id), STORE_DIVERGED);
    return 0;
}

static int run_bench(struct transcript *t)
{
    char id[SPEC_ID_BYTES];
    struct spec s = training(t);
    const struct store_point point = {0, id, number(t, 3), 0, 0};

    s.kind = SPEC_BENCH;
    fixture_benched(t->f->base, &s, rest(t, 5), strtod(word(t, 4), NULL), "null", id);
    return store_set_points(t->f->base->store, "tiny", word(t, 1), &point, 1, &t->f->base->e);
}

static int run_paper(struct transcript *t)
{
    const char *artefact = word(t, 2);

    paper_plant_numbers(t->f);
    paper_plant_runs(t->f, word(t, 1), &artefact, 1);
    return 0;
}

static int run_sql(struct transcript *t)
{
    return database_script(t->f->base->store, rest(t, 1), &t->f->base->e);
}

/* paper.tsv is also what the store knows of the paper. */
static int run_file(struct transcript *t, const char *text)
{
    const char *path = arena_printf(&t->arena, "%s/%s", t->f->artefact_dir, word(t, 1));

    test_write(path, text, strlen(text));
    if (strcmp(word(t, 1), "paper.tsv") != 0) return 0;
    return store_set_paper(t->f->base->store, "tiny", path, &t->f->base->e);
}

static int run_report(struct transcript *t)
{
    static const struct report_title titles[] = {{"cc100", "CC100 + RoBERTa"},
                                                 {"wikitext103", "WikiText-103"}};
    const struct report_options o = {.scale = word(t, 2),
                                     .format = format(t, 3),
                                     .table_only = t->words_n > 4,
                                     .titles = titles,
                                     .titles_n = 2};
    return report_artefact(t->out, t->f->base->store, &t->f->project, word(t, 1), folder(t, 1), &o,
                           &t->f->base->e);
}

static int run_claims(struct transcript *t)
{
    const struct report_options o = {.scale = word(t, 1), .format = format(t, 2)};
    const struct report_item item = {word(t, 3), folder(t, 3), word(t, 1), NULL};
    int32_t contradicted = 0;
    int rc = report_claims(t->out, t->f->base->store, &t->f->project, &item, 1, &o, &contradicted,
                           &t->f->base->e);
    if (rc == 0) fprintf(t->out, "(%d contradicted)\n", contradicted);
    return rc;
}

static int run_judge(struct transcript *t)
{
    return report_judge(t->f->base->store, &t->f->project, word(t, 2), folder(t, 2), word(t, 1),
                        &t->f->base->e);
}

/* Calls `write` for the artefacts from word 3 on, at the scale of word 2. */
static int run_several(struct transcript *t,
                       int (*write)(FILE *, struct store *, const struct project *,
                                    const struct report_item *, int32_t,
                                    const struct report_options *, struct err *))
{
    const struct report_options o = {.format = format(t, 1)};
    struct report_item items[WORDS_MAX];
    int32_t n = 0;

    for (int i = 3; i < t->words_n; i++)
        items[n++] = (struct report_item){word(t, i), folder(t, i), word(t, 2), NULL};
    return write(t->out, t->f->base->store, &t->f->project, items, n, &o, &t->f->base->e);
}

static int run_summary(struct transcript *t)
{
    return run_several(t, report_summary);
}

static int run_reports(struct transcript *t)
{
    return run_several(t, report_artefacts);
}

/* {SELECT …} becomes its answer. */
static const char *replaced(struct transcript *t, const char *text)
{
    const char *from = strchr(text, '{'), *to = from ? strchr(from, '}') : NULL;

    if (!to) return text;
    const char *sql = arena_strndup(&t->arena, from + 1, (size_t)(to - from - 1));
    return replaced(t, arena_printf(&t->arena, "%.*s%s%s", (int)(from - text), text,
                                    fixture_cell(t->f->base->store, sql), to + 1));
}

/* all: with the evaluations that have no partner. */
static int compare_filters(struct transcript *t, bool all)
{
    const char *filters = rest(t, 2), *bar = strstr(filters, " | ");

    if (!bar) fail_msg("%s: write two filters as A | B", t->command);
    const char *a = arena_strndup(&t->arena, filters, (size_t)(bar - filters));
    return report_compare(t->out, t->f->base->store, replaced(t, a), replaced(t, bar + 3), all,
                          format(t, 1), &t->f->base->e);
}

static int run_compare(struct transcript *t)
{
    return compare_filters(t, true);
}

static int run_pair(struct transcript *t)
{
    return compare_filters(t, false);
}

static int run_query(struct transcript *t)
{
    return report_query(t->out, t->f->base->store, rest(t, 2), 5, format(t, 1), &t->f->base->e);
}

static int run_new(struct transcript *t)
{
    fixture_close(t);
    fixture_open(t);
    return 0;
}

static int run_comment(struct transcript *t)
{
    (void)t;
    return 0;
}

static const struct {
    const char *name;
    int (*run)(struct transcript *t);
    bool prints; /* its errors are output, too */
} commands[] = {
    {"#", run_comment, false},       {"new", run_new, false},        {"plant", run_plant, false},
    {"diverge", run_diverge, false}, {"bench", run_bench, false},    {"paper", run_paper, false},
    {"sql", run_sql, false},         {"report", run_report, true},   {"claims", run_claims, true},
    {"judge", run_judge, true},      {"compare", run_compare, true}, {"pair", run_pair, true},
    {"query", run_query, true},      {"summary", run_summary, true}, {"reports", run_reports, true},
};
enum { COMMANDS_N = sizeof commands / sizeof *commands };

/* Puts what was printed into the text; the folder of the fixture and moments are of this run. */
static void add_output(struct transcript *t, const char *text)
{
    static const char moment[] = "0000-00-00T00:00:00Z";
    size_t dir_n = strlen(t->f->base->dir);

    for (const char *p = text; *p;) {
        size_t n = 0;
        while (moment[n] && (moment[n] == '0' ? isdigit((unsigned char)p[n]) : p[n] == moment[n]))
            n++;
        if (!moment[n]) {
            strbuf_add(&t->text, moment);
            p += n;
        } else if (strncmp(p, t->f->base->dir, dir_n) == 0) {
            strbuf_add(&t->text, "DIR");
            p += dir_n;
        } else {
            strbuf_add_n(&t->text, p++, 1);
        }
    }
    if (t->text.text[t->text.n - 1] != '\n') strbuf_add(&t->text, "\n");
}

static void split_words(struct transcript *t)
{
    char *p = arena_strdup(&t->arena, t->command);

    for (t->words_n = 0; *p && t->words_n < WORDS_MAX; t->words_n++) {
        t->word[t->words_n] = p;
        p += strcspn(p, " ");
        if (*p) *p++ = '\0';
    }
}

static void run_command(struct transcript *t)
{
    char *printed = NULL;
    size_t n = 0;
    int known = 0;

    split_words(t);
    if (strcmp(t->word[0], "plant") != 0) flush_plants(t);
    while (known < COMMANDS_N && strcmp(commands[known].name, word(t, 0)) != 0) known++;
    if (known == COMMANDS_N) fail_msg("%s: unknown command", t->command);
    t->out = open_memstream(&printed, &n);
    assert_non_null(t->out);
    t->f->base->e = (struct err){0};
    int rc = commands[known].run(t);
    fclose(t->out);
    add_output(t, printed);
    free(printed);
    if (!commands[known].prints) check_command(t, rc);
    if (rc < 0) add_output(t, arena_printf(&t->arena, "error %d: %s", -rc, t->f->base->e.text));
}

/* The lines "> …" at p, which are the file's; returns what follows them. */
static char *run_file_command(struct transcript *t, char *p)
{
    struct strbuf b;

    strbuf_init(&b, &t->arena);
    split_words(t);
    flush_plants(t);
    while (p[0] == '>') {
        char *end = p + strcspn(p, "\n");
        const char *line = p + 1 + (p[1] == ' ');
        strbuf_add_n(&t->text, p, (size_t)(end - p) + 1);
        strbuf_add_n(&b, line, (size_t)(end - line) + 1);
        p = end + (*end == '\n');
    }
    check_command(t, run_file(t, b.text));
    return p;
}

static void run_transcript(const char *name)
{
    struct transcript t = {0};

    print_message("%s\n", name);
    arena_init(&t.arena);
    char *written = test_read(arena_printf(&t.arena, "tests/report/golden/%s", name));
    strbuf_init(&t.text, &t.arena);
    fixture_open(&t);
    for (char *p = written; *p;) {
        char *end = p + strcspn(p, "\n"), *next = end + (*end == '\n');
        if (strncmp(p, "$ ", 2) == 0) {
            t.command = arena_strndup(&t.arena, p + 2, (size_t)(end - p - 2));
            strbuf_addf(&t.text, "$ %s\n", t.command);
            if (strncmp(t.command, "file ", 5) == 0)
                next = run_file_command(&t, next);
            else
                run_command(&t);
        }
        p = next;
    }
    assert_golden(arena_printf(&t.arena, "report/golden/%s", name), t.text.text);
    fixture_close(&t);
    free(written);
    arena_fini(&t.arena);
}

TEST(every_transcript_comes_out_as_it_is_written)
{
    struct dir d;

    assert_int_equal(dir_open(&d, "tests/report/golden", &e), 0);
    for (int32_t i = 0; i < d.n; i++) run_transcript(d.name_own[i]);
    dir_close(&d);
}
