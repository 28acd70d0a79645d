/* cells.h - from the answer of an artefact to its cells, verdicts, claims, tables and figure. For
 * src/report and its tests. */
#ifndef REPORT_CELLS_H
#define REPORT_CELLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "base/str.h"
#include "report/artefact_folder.h"
#include "report/layout.h"
#include "report/report.h"
#include "report/rows.h"
#include "store/store.h"

/* --- answer.c - the rows of query.sql or of a paper.tsv as a table of other statements. The file's
 * own statement runs once. */

struct report_answer {
    const char *where; /* in messages: the file */
    struct rows rows;  /* its columns have unlike names (report_unique_name) */
};

/* The parameter of a statement over an answer. */
#define REPORT_GIVEN(answer)                                                                       \
    {                                                                                              \
        "report_given", (answer)->rows.columns_n ? &(answer)->rows : NULL, STORE_ROWS              \
    }

/* A statement whose parameters have these values, and what it may take. */
struct report_asked {
    const char *where, *sql;
    const struct store_param *params;
    int32_t params_n;
    double limit_s;
};

/* report_answer_query - runs a statement. Errors: those of store_columns and store_query, with the
 * file. report_answer_rows - makes an answer of rows, whose cells must live as long. */
int report_answer_query(struct report_answer *out, struct arena *a, struct store *s,
                        const struct report_asked *q, struct err *e);
void report_answer_rows(struct report_answer *out, const char *where, const struct rows *rows);
bool report_answer_has(const struct report_answer *r, const char *name);
/* report_answer_regroup - adds a column for each setting of the rows' run_id: a number where its
 * value is one. The texts of the labels lose the words key=value of these settings. */
struct report_regrouping {
    const char *setting[REPORT_MAX_SETTINGS];
    int32_t settings_n;
    struct report_names labels;
    const char *omit;       /* a column whose text the labels lose, too; or NULL */
    const char *lengthened; /* the label that gets the word L_valid=…; or NULL */
};
int report_answer_regroup(struct report_answer *r, struct arena *a, struct store *s,
                          const struct report_regrouping *g, double limit_s, struct err *e);

/* report_answer_begin - "WITH …": the tables report_answer, the rows, and report_numbered, the same
 * with "#row", the number of a row from 1. report_answer_add - one table of this name, whose rows
 * are those of the parameter `table`. */
void report_answer_add(struct strbuf *b, const char *name, const char *table,
                       const struct report_answer *r);
void report_answer_begin(struct strbuf *b, const struct report_answer *r);

/* --- cells.c - the numbers of tables and figures: SQL over the rows of an answer.
 *
 * An answer (the rows of query.sql, or those of a paper.tsv) becomes groups, lines and cells.
 * SQLite groups, averages and joins; C places the cells and writes them.
 *
 * 1. A group is a table or a panel, a line is a row of the table or a curve. All three come in the
 *    order in which the answer first has them; columns, and lines of one key, in the order of their
 *    numbers where they have nothing else.
 * 2. A cell is the mean over its distinct runs that have a number, each counted once and summed in
 *    the order of the run ids.
 * 3. A length NAME whose companion NAME_nominal differs is labelled "8 (64)", and "65 (522–524)"
 *    where several of the paper's lengths became one. */

/* Tells which column of the answer has which role. A name that the answer lacks is an error for
 * group to value, and NULL for the others. */
struct report_keys {
    const struct report_answer *answer;
    const struct report_words *words; /* of tables and figures */
    struct report_names group, line;
    bool protocol; /* rows of different protocols are also groups of their own */
    const char *column, *value;
    const char *style; /* the position method whose style a line has: that of its first row */
    const char *why;   /* why a cell has no number */
    const struct report_extra *extra; /* numbers of a line, each the mean over its trainings */
    int32_t extras_n;
    /* For our numbers: rows are joined with the view comparison, judged by the rules of the layout.
     */
    const struct report_layout *judged; /* NULL: not judged */
    const char *artefact, *scale;
};

/* report_cells_groups - one row a group; all: one row for the whole answer, or none where it has no
 * row. Columns: group, label0.. of its keys, the distinct values of dataset, model, params, split,
 * protocol, stride, precision, machine, seed, source, scale and corpus as "a, b", tokens_low,
 * tokens_high, parameters_low, parameters_high, modified, scaled (some length of a column or of
 * L_train is not the paper's), x_scaled (of the figure's x), all_n and missing_n (runs asked for,
 * and those without a number). report_cells - one row a cell, column by column: group, column_n and
 * line_n (its number there, from 0), label (of the column), x, x_nominal, metric, config_id, noisy,
 * verdict, why, n, mean, std, configs_n, configs, runs, devices, machines, codes, sources; of its
 * line label0.., right0.. (its key is a number), train_run_id, extra0.., each the mean over its
 * trainings. Errors: ERR_DATA a column the answer lacks, with the nearest; unlike configurations in
 * one cell; perplexities or losses of different tokenizers in one group. */
int report_cells_groups(struct rows *out, struct arena *a, struct store *s,
                        const struct report_keys *k, bool all, struct err *e);
int report_cells(struct rows *out, struct arena *a, struct store *s, const struct report_keys *k,
                 struct err *e);

/* report_cells_curves - one row a line, group by group: group, panel (label of its first key),
 * panel_is_number, title, style (of position_methods; 5 of another), shade (0 to 1), points (lines
 * "x y deviation runs x_nominal # run ids"; NULL without), points_n, seeds (most runs of a point),
 * x_low, x_high, y_low, y_high. */
int report_cells_curves(struct rows *out, struct arena *a, struct store *s,
                        const struct report_keys *k, struct err *e);

/* report_is_paper - true for the paper's own scale, at which alone its numbers are beside ours. */
bool report_is_paper(const char *scale);

/* report_cells_judged - one row a cell of the view comparison, with verdict, phrase (its words:
 * "within 5 %", "× 1.20 on …"), cells_n (cells with a number of the paper), reproduced_n and so on
 * (cells by verdict, NULL for 0) and sentence ("Verdicts on 50 numbers of the paper: 48 reproduced,
 * …"; NULL without one). Errors: those of report_rows_query.
 *
 * 1. A number of the paper is judged only where the view holds it: scale paper, unmodified
 *    specification. Everything else has no verdict.
 * 2. The rule is data: the lines verdict: of table.txt. A metric without one is not judged.
 * 3. reproduced: the mean of the seeds differs by no more than `near` of the paper's number;
 *    within: by no more than `far`; not reproduced: by more, or the training diverged, or the
 *    number is not finite; not run: there is no result yet.
 * 4. A number that depends on the device is judged on the paper's device alone (other device: the
 *    ratio is shown), a speed only if its machine was not busy (noisy, in the view benchmarks).
 *
 * report_cells_rows - the rows of the answer with compared, ours_mean, ours_std, seeds, paper,
 * delta and verdict of their cell, then the cells with a number of the paper that none shows. */
int report_cells_judged(struct rows *out, struct arena *a, struct store *s,
                        const struct report_folder *f, const char *scale, struct err *e);
int report_cells_rows(struct rows *out, struct arena *a, struct store *s,
                      const struct report_keys *k, struct err *e);

/* --- words.c - the words by which tables and figures name settings: the labels of table.txt, else
 * key and value, the key by its last part where no other key that is shown ends in it. CSV, JSON
 * and SQL have the full keys. */

struct report_words {
    struct arena *arena;
    const struct report_layout *layout;
    const char **key; /* the settings and columns that the rows show */
    int32_t keys_n, room;
};

/* report_words_read - finds the keys that the rows of `judged` show, in texts of the form "ALiBi
 * train.lr=0.5", too; warns: also of a label that no row shows. Errors: ERR_DATA a label of a key
 * that is neither a setting nor a column; those of report_rows_query. */
int report_words_read(struct report_words *w, struct arena *a, struct store *s,
                      const struct report_keys *k, bool warns, struct err *e);
/* report_words_key - the words of a column or setting. report_words_text - those of a text of this
 * column (NULL: NULL). report_words_title - those of a value that heads a table or panel: its
 * label, or "key = value", or the value alone. "": it is not shown. */
const char *report_words_key(const struct report_words *w, const char *key);
const char *report_words_text(const struct report_words *w, const char *column, const char *text);
const char *report_words_title(const struct report_words *w, const char *key, const char *value,
                               bool alone);
/* report_word_length - length of the first word of text, without the spaces before it.
 * "L=64 (512)" is one word. report_word_is_setting - true if a word is key=value. */
size_t report_word_length(const char *text);
bool report_word_is_setting(const char *word, size_t n);

/* --- claims.c - the verdicts of one folder's claim.sql. */

/* The verdicts of a claim.sql.
 *
 * It returns the cases of its claims: claim, statement, wanted (how many cases the grid asks for),
 * seed (NULL where a case has none), holds (1, or 0 or NULL where it does not), said (the case's
 * numbers in words). A claim without a case yet has one row whose said is NULL. Columns that may
 * follow, NULL where they do not apply:
 *   item            what the case is about, apart from its seed
 *   split           of the evaluations it reads: wanted cases are of each split
 *   run, other      two evaluations; their ratio of perplexities is the effect, and its error that
 *                   of the mean difference over the 64 blocks of their common targets
 *   measured, error the effect where it is another, and its standard error
 *   bound           the case holds if its effect is on this side of it: direction is one of
 *   direction       "at most", "below", "at least", "above"; without a bound `holds` counts
 *   runs            other runs that it reads, with spaces between their ids
 *   counted         0 of a claim about the paper's own numbers, which no run of ours can change
 *   unjudged        why the claim is "not judged", in words that follow these: "at this scale: …"
 *                   or "because the machine was busy"
 *   effect          what a claim denies, as experiments/power/effects.tsv names it
 *   threshold       the share of perplexity from which on it is contradicted
 *   method          of the models that it is about; NULL: any
 *   realised        the share of perplexity that the effect is worth in the case
 *
 * 1. A case holds, or its opposite holds (its effect is on the other side of the bound by more than
 *    three standard errors; without an error, or a bound, it just does not hold), or neither.
 * 2. From five seeds on, the t interval of 95 % of a case's mean over seeds counts too.
 * 3. A claim is "not judged" if it says why not; "not run" with fewer cases than are wanted, or
 * with none wanted; "supported" if every case holds and every interval is on its side of the bound;
 *    "contradicted" if the opposite of every case holds and no interval reaches back; else "mixed".
 * 4. A claim that denies an effect is not supported but "not judged" where models of its method
 *    could not have shown its threshold with each seed, or nothing says what they could.
 * 5. The split "test" decides if it has its numbers; a verdict that another split gives is named.
 * 6. Its evidence is what is missing, how it was judged, and the words of the cases in their order,
 *    joined by "; ".
 *
 * Or it returns verdicts: claim, statement, verdict, evidence, which the same columns may follow.
 */
struct report_claims {
    /* one a claim: artefact, scale, claim, statement, verdict, evidence, threshold, possible (the
     * share of perplexity that the effect can be worth), counted, …; then effect, error, low and
     * high of the case nearest to its bound, seeds, split, runs and codes */
    struct rows rows;
    /* one a case, with the columns of its claim; line is its text or NULL */
    struct rows cases;
};

/* report_claims_judge - runs a claim.sql; without one there are no rows and no error. Errors:
 * ERR_DATA other columns, a verdict or a direction of another word, a claim or a statement that is
 * NULL, wanted is not a number of cases. */
int report_claims_judge(struct report_claims *out, struct arena *a, struct store *s,
                        const struct report_folder *f, const char *scale, struct err *e);

/* report_claims_of - judges n artefacts: all claims, and those of each beside its folder. */
struct report_judged {
    struct report_folder folder;
    struct report_claims claims;
};
int report_claims_of(struct report_claims *all, struct report_judged **judged, struct arena *a,
                     struct store *s, const struct project *p, const struct report_item *items,
                     int32_t n, struct err *e);

/* report_claims_ask - runs a statement over the claims, which begins with "," or SELECT and
 * continues shared_sql of claims.sql; no rows if there are no claims. report_claims_count - one
 * row: sentence ("Shape: 2 of 3 claims supported (P5, P7); P8 contradicted."; away from scale paper
 * claims are about shape), of_paper (the sentence about claims on the paper's own numbers alone,
 * which count apart), sum (of both), share ("2 of 3") and the names mixed, contradicted, not_run,
 * not_judged; each NULL where there is none. A claim that folders share counts once, as supported
 * if some support it and none contradicts it: "C1 in 2 of 3 tables". */
int report_claims_ask(struct rows *out, struct store *s, const struct report_claims *claims,
                      const char *scale, const char *sql, struct err *e);
int report_claims_count(struct rows *out, struct store *s, const struct report_claims *claims,
                        const char *scale, struct err *e);

/* report_claims_begins - true if a claim begins at this row of report_claims.cases. */
bool report_claims_begins(const struct rows *cases, int32_t row);

/* report_claims_heading - the title above the verdicts of these artefacts; the paper's, at other
 * scales than paper, are about shape. */
const char *report_claims_heading(struct arena *a, const struct report_item *items, int32_t n,
                                  const char *scale);

/* report_claims_write - writes three lines a claim as text, a table with one line a claim as
 * Markdown and LaTeX, its evidence too as CSV, and as JSON also effect, runs and cases; placed:
 * with the artefact. */
int report_claims_write(FILE *out, const struct report_claims *claims, bool placed,
                        const struct report_options *o, struct err *e);

/* report_section - writes an artefact whose claims are judged as a section of a page. */
int report_section(FILE *out, struct store *s, const struct project *p,
                   const struct report_item *item, const struct report_claims *judged,
                   const struct report_options *o, struct err *e);

/* --- table.c - the tables of an artefact: the cells of an answer in the layout of table.txt.
 *
 * 1. Rows of different protocols (dataset, model, split, protocol, stride, first window, precision)
 *    never share a table.
 * 2. A cell that was asked for and has no number is "–" (or "diverged"); one that was not asked
 *    for is empty. */

struct report_table_args {
    struct store *store;
    const struct report_keys *keys;
    const struct report_layout *layout;
    enum report_format format;
    bool drawn;                  /* HTML: the page has the figure of these numbers */
    const char *caption, *label; /* not NULL: the tables alone; LaTeX: each a float with these */
    bool no_bold;                /* LaTeX: no cell is bold */
    const char *const *without;  /* as in report_options */
};

/* report_table_write - writes the tables, each with a line of facts. In LaTeX the best of competing
 * perplexities is bold if it is better than each other by more than two standard errors, of the
 * differences between runs of the same seed over seeds or over blocks of their targets, whichever
 * is larger; and what all rows share is in the caption. Errors: those of report_cells; ERR_USAGE a
 * column of `without` is in no table. */
int report_table_write(FILE *out, struct arena *a, const struct report_table_args *t,
                       struct err *e);

/* report_table_facts - "wikitext103, split valid, nonoverlapping windows, …, seeds 1, 2" of a row
 * of report_cells_groups. */
const char *report_table_facts(struct arena *a, const struct rows *groups, int32_t group,
                               bool brief);

/* report_table_size - "0.15M parameters", "0.15M to 0.20M parameters" of two counts; NULL without.
 */
const char *report_table_size(struct arena *a, const char *low, const char *high);

/* report_compare_mean - over pairs of evaluations (columns: the runs A and B) the sentence of
 * `alibi compare` in the column sentence, nats, the mean of ln(A / B), and error, the largest of
 * its standard errors; NULL where a single seed without blocks tells none. No row without a pair
 * that can be compared. */
int report_compare_mean(struct rows *out, struct arena *a, struct store *s,
                        const struct rows *pairs, struct err *e);

/* --- plot.c - the figure of an artefact: curves out of rows, a data file, a script, pictures.
 *
 * NAME.dat (the numbers, with where each came from) and NAME.gp (these settings, preamble.gp and
 * the artefact's plot.gp) are kept beside the pictures, so that `gnuplot NAME.gp` draws the figure
 * again, with -e "FORMAT='pdf'" as PDF. */

struct report_plot {
    const char *folder; /* for the files; created if needed */
    const char *name;   /* <artefact>-<scale> */
    const char *title, *facts, *scale;
    const struct report_folder *artefact; /* its plot.gp */
    struct store *store;
    const struct report_words *words;
    const struct report_answer *ours;
    const struct report_answer *paper; /* NULL: the paper's points are not drawn */
    bool scaled;                       /* lengths are not the paper's */
    const char *preamble; /* the text of preamble.gp, which documents what a plot.gp may use */
    double floor;         /* 0: unknown */
    bool narrow;          /* also NAME.narrow.svg, its panels in a column, for a phone */
    double width_in;      /* inches, for a text: without title and facts; 0: not so */
};

/* report_plot_draw - writes NAME.dat, NAME.gp, NAME.svg, NAME.png and NAME.pdf. *points is how many
 * numbers there were; without any, nothing is written. Errors: ERR_UNAVAILABLE the plot.gp is
 * untrusted, with the remedy; those of report_gnuplot_draw and of the files. */
int report_plot_draw(int32_t *points, struct arena *a, const struct report_plot *plot,
                     struct err *e);

#endif
