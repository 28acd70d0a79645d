/* report_internal.h - what the files of this folder share, in the order of the data: rows of SQL,
 * the files of an artefact, its cells, verdicts and claims, and what writes them. */
#ifndef REPORT_REPORT_INTERNAL_H
#define REPORT_REPORT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "base/str.h"
#include "report/layout.h"
#include "report/report.h"
#include "store/store.h"

/* --- writer.c - tables, headings and paragraphs in every format. Texts are printed as str_clean
 * has them; each format escapes the rest in its own way. */

/* report_subscript - length of the word that is a subscript of the L at p, as in L_valid, or 0.
 * `text` is where p's text begins. */
size_t report_subscript(const char *text, const char *p);

/* --- answer.c - tables in memory: the only form between SQL and the output.
 *
 * Rows come from results.db (report_rows_query), from a paper.tsv (report_rows_tsv) or from C code
 * (report_rows_init); writer.c writes them in every format. The text of a cell is NULL for SQL NULL
 * and for an empty cell. */

enum { REPORT_MAX_FILE_BYTES = 1024 * 1024, REPORT_QUERY_LIMIT_S = 60 };

struct report_cell {
    const char *text;
    char type; /* as in store_cell; t is aligned to the left, everything else to the right */
    const char *verdict;     /* its verdict, or NULL */
    const char *link, *hint; /* HTML: the id of the link target, the tooltip; or NULL */
    /* HTML: its own id, or that of its row in the first column; a text that opens under it;
     * elements in place of its text; not NULL: its lines are broken, however short it is */
    const char *id, *more, *markup, *wide;
    bool best; /* LaTeX: bold */
};

struct report_rows {
    struct arena *arena; /* holds everything below */
    const char **name;   /* columns_n */
    int32_t columns_n;
    struct report_cell **row; /* rows_n, each of columns_n cells */
    int32_t rows_n, room;
};

/* report_rows_init - cells without text, names NULL. report_rows_append - the rows of another with
 * the same columns, whose cells they share; *to may be zeroed. */
void report_rows_init(struct report_rows *r, struct arena *a, int32_t columns_n, int32_t rows_n);
void report_rows_append(struct report_rows *to, const struct report_rows *from);

/* report_rows_join - copies the rows of another, whose columns the table gets if it lacks them; *to
 * has an arena. A cell that is in one of them alone is NULL. */
void report_rows_join(struct report_rows *to, const struct report_rows *from);

/* report_rows_slice - some columns of some rows, which share their cells. */
void report_rows_slice(struct report_rows *out, const struct report_rows *of, int32_t column,
                       int32_t columns_n, int32_t row, int32_t rows_n);

/* report_rows_alike - how many rows from this one on have its text in the column, never NULL. */
int32_t report_rows_alike(const struct report_rows *r, int32_t row, int32_t column);

/* report_rows_query - all rows of one statement. where names its source in messages (a file), or
 * is NULL. Errors: those of store_query. */
int report_rows_query(struct report_rows *r, struct arena *a, struct store *s, const char *where,
                      const char *sql, const struct store_param *params, int32_t params_n,
                      double limit_s, struct err *e);

/* report_rows_tsv - a file of tab-separated cells under a header line; empty cells become NULL.
 * Errors: ERR_NOINPUT absent; ERR_DATA "file:line: …" a row of another width. */
int report_rows_tsv(struct report_rows *r, struct arena *a, const char *path, struct err *e);

/* report_rows_arrange - applies the marks at the start of column names, in statements of this
 * program:
 *   >name, <name   aligned to the right, to the left, regardless of its cells
 *   ?name          left out if all its values are the same; ~name: if it has none
 *   #verdict       and every other field of report_cell: of the cells of the column before */
void report_rows_arrange(struct report_rows *r);

/* report_rows_column - index of the column of this name, or -1. */
int32_t report_rows_column(const struct report_rows *r, const char *name);

/* report_rows_text - the cell's text; NULL for SQL NULL, for column -1 and beyond the rows. */
const char *report_rows_text(const struct report_rows *r, int32_t row, int32_t column);

/* report_rows_get - the same by the column's name. report_rows_real - its number; `otherwise` where
 * it has none. */
const char *report_rows_get(const struct report_rows *r, int32_t row, const char *name);
double report_rows_real(const struct report_rows *r, int32_t row, const char *name,
                        double otherwise);

/* report_rows_right - which columns are aligned to the right: those that hold no text. */
const bool *report_rows_right(const struct report_rows *r);

/* An answer (the rows of query.sql or of a paper.tsv) as a part of a larger statement. */
struct report_answer {
    const char *where; /* in messages: the file */
    const char *sql;   /* a SELECT without its semicolon, or VALUES */
    const char **name; /* columns_n, each once (report_unique_name) */
    int32_t columns_n;
};

/* report_answer_query - of one statement. Errors: those of store_columns, with the file.
 * report_answer_rows - of rows. */
int report_answer_query(struct report_answer *out, struct arena *a, struct store *s,
                        const char *where, const char *sql, struct err *e);
void report_answer_rows(struct report_answer *out, struct arena *a, const char *where,
                        const struct report_rows *rows);
/* report_unique_name - the name of a column; the second column of a name has "_2" after it, and so
 * on. */
const char *report_unique_name(struct arena *a, const char *const *name, int32_t column);
bool report_answer_has(const struct report_answer *r, const char *name);
/* report_answer_regroup - adds a column for each setting of the rows' run_id: a number where its
 * value is one. The texts of the labels lose the words key=value of these settings. */
struct report_regrouping {
    const char *setting[REPORT_MAX_NAMES];
    int32_t settings_n;
    struct report_names labels;
    const char *omit;       /* a column whose text the labels lose, too; or NULL */
    const char *lengthened; /* the label that gets the word L_valid=…; or NULL */
};
void report_answer_regroup(struct report_answer *r, struct arena *a,
                           const struct report_regrouping *g);

/* report_answer_begin - "WITH …": the tables report_answer, the rows, and report_numbered, the same
 * with "#row", the place of a row from 1. */
void report_answer_begin(struct strbuf *b, const struct report_answer *r);

/* --- folder.c - the files of an artefact's folder: query.sql, table.txt, paper.tsv, claim.sql,
 * plot.gp.
 *
 * A folder that holds only a grid.yaml (a user's own) is reported too: experiments/default has the
 * query.sql and the table.txt it lacks, and the plot.gp of a folder without a table.txt. Without
 * paper.tsv or claim.sql that part is missing.
 *
 * A use: line of table.txt puts another artefact's file in the place of one that this folder lacks.
 * The other folder is looked for beside this one, then among the project's experiments, then among
 * the shipped ones. */

struct report_folder {
    const char *artefact, *dir, *command; /* command: what to write after `alibi run` */
    const char
        *points; /* the name of its points in results.db: the artefact's, and its variant's */
    const char *query, *query_path;
    const char *claims, *claims_path; /* NULL without claim.sql */
    const char *plot;                 /* NULL without plot.gp but with table.txt */
    const char *plot_untrusted;       /* path of a plot.gp that is neither, byte for byte, one that
                                         the program ships nor one that the user trusts; else NULL */
    const char *over;                 /* x of report_folder_over, or NULL */
    struct report_layout layout;
    bool laid_out;            /* table.txt is there */
    struct report_rows paper; /* rows of the layout's paper metrics */
    const char *paper_path;   /* NULL without paper.tsv */
};

/* report_folder_open - reads the files of dir. Errors: ERR_USAGE artefact is not a name;
 * ERR_NOINPUT dir is not there; ERR_DATA a file is wrong, or a use: line names a file that is
 * nowhere, that the folder holds itself, or that uses another. */
int report_folder_open(struct report_folder *f, struct arena *a, const struct project *p,
                       const char *artefact, const char *dir, struct err *e);

/* report_folder_over - replaces query, layout and figure by those of experiments/default, with
 * column x along the x axis and at the head of the table; leaves out the paper and the claims. */
int report_folder_over(struct report_folder *f, struct arena *a, const struct project *p,
                       const char *x, struct err *e);

/* report_folder_check - a file of an artefact's folder is not a link that leads out of the folder:
 * a stranger's folder could put any file of the user into a page. report_folder_read - its text, if
 * so. Errors: ERR_DATA; those of file_read. */
int report_folder_check(const char *path, struct err *e);
int report_folder_read(char **text, struct arena *a, const char *path, struct err *e);

/* report_entropy_floor - the perplexity no model can be below on a split, from
 * <root>/data/<corpus>/manifest.yaml: floor_perplexity of valid, floor_perplexity_test of test; 0
 * when the file or the line is not there. Errors: ERR_DATA the line holds no number. */
int report_entropy_floor(double *out, struct arena *a, const char *root, const char *corpus,
                         const char *split, struct err *e);

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

/* The roles of the answer's columns. A name that the answer lacks is an error for group to value,
 * and NULL for the others. */
struct report_keys {
    const struct report_answer *answer;
    struct report_names group, line;
    bool protocol; /* rows of different protocols are also groups of their own */
    const char *column, *value;
    const char *style; /* the position method whose style a line has: that of its first row */
    const char *why;   /* why a cell has no number */
    const struct report_extra *extra; /* numbers of a line, each the mean over its trainings */
    int32_t extras_n;
    /* Ours: rows are joined with the view comparison, judged by the rules of the layout. */
    const struct report_layout *judged; /* NULL: not judged */
    const char *artefact, *scale;
};

/* report_cells_groups - one row a group; all: one row for the whole answer, or none where it has no
 * row. Columns: group, label0.. of its keys, the distinct values of dataset, model, params, split,
 * protocol, stride, precision, machine, seed, source, scale and corpus as "a, b", tokens_low,
 * tokens_high, parameters_low, parameters_high, modified, scaled (some length of a column or of
 * L_train is not the paper's), x_scaled (of the figure's x), all_n and missing_n (runs asked for,
 * and those without a number). report_cells - one row a cell, column by column: group, column_n and
 * line_n (its place there, from 0), label (of the column), x, x_nominal, metric, config_id, noisy,
 * verdict, why, n, mean, std, configs_n, configs, runs, devices, machines, codes, sources; of its
 * line label0.., right0.. (its key is a number), train_run_id, extra0.., each the mean over its
 * trainings. Errors: ERR_DATA a column the answer lacks, with the nearest; unlike configurations in
 * one cell. */
int report_cells_groups(struct report_rows *out, struct arena *a, struct store *s,
                        const struct report_keys *k, bool all, struct err *e);
int report_cells(struct report_rows *out, struct arena *a, struct store *s,
                 const struct report_keys *k, struct err *e);

/* report_cells_curves - one row a line, group by group: group, panel (label of its first key),
 * title, style (of position_methods; 5 of another), shade (0 to 1), points (lines "x y deviation
 * runs x_nominal # run ids"; NULL without), points_n, seeds (most runs of a point), x_low, x_high,
 * y_low, y_high. */
int report_cells_curves(struct report_rows *out, struct arena *a, struct store *s,
                        const struct report_keys *k, struct err *e);

/* report_cells_judged - one row a cell of the view comparison, with verdict, said (its words:
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
int report_cells_judged(struct report_rows *out, struct arena *a, struct store *s,
                        const struct report_folder *f, const char *scale, struct err *e);
int report_cells_rows(struct report_rows *out, struct arena *a, struct store *s,
                      const struct report_keys *k, struct err *e);

/* --- writer.c - a table in every format, and the words around it.
 *
 * The caller determines the text of a cell; this file aligns and escapes it. */

/* report_rows_write - TEXT, MARKDOWN, LATEX (booktabs), HTML (a fragment), and for programs:
 *   CSV    RFC 4180 with a header line, lines ended by LF, full precision, empty for NULL; a text
 *          that a spreadsheet would take for a formula has an apostrophe before it
 *   JSON   an array of objects; numbers stay numbers, NULL is null */
int report_rows_write(FILE *out, const struct report_rows *r, enum report_format format,
                      struct err *e);

/* report_latex_open, report_latex_close - a float around a table, with its caption and label. */
void report_latex_open(FILE *out, const char *caption, const char *label);
void report_latex_close(FILE *out);

/* Headings and paragraphs around the tables, in the formats for people. */
void report_write_heading(FILE *out, const char *text, enum report_format format, int level);
void report_write_paragraph(FILE *out, const char *text, enum report_format format);

/* --- html.c - the parts of an HTML page: texts, tables, a figure.
 *
 * 1. Every text from outside is written by report_html: no name, title, claim or message can open
 *    an element or an attribute.
 * 2. The output is well-formed XML as well as HTML, so that a checker of either accepts it.
 * 3. The page loads nothing and needs no script. */

/* report_html - writes the format. %s: a text of the page, escaped, after str_clean; NULL
 * is empty; L_valid and its like have subscripts. %-s: a text in an attribute, in double quotes, or
 * in code: without subscripts. %d: an int. */
void report_html(FILE *out, const char *format, ...) ERR_PRINTF(2, 3);

/* report_html_open, report_html_close - the page before and after its body. Its content security
 * policy forbids scripts and external resources. */
void report_html_open(FILE *out, const char *title);
void report_html_close(FILE *out);

/* report_html_cell - a cell of a table; of row -1 the column's heading. One with a link leads to
 * the element of that id; a number with a verdict has its sign. The first of a row opens the row.
 */
void report_html_cell(FILE *out, const struct report_rows *r, int32_t row, int32_t column,
                      bool right);

/* report_html_claims - a block for each claim of the rows report_claims.cases: verdict, statement,
 * and its cases in a list. */
void report_html_claims(FILE *out, const struct report_rows *cases);

/* report_html_inline - a text with its **bold** and `code`. */
void report_html_inline(FILE *out, const char *text);

/* report_html_text - a text of a README: paragraphs with **bold** and `code`, headings, and lists,
 * tables and code with their lines. The first paragraph is shown, the rest opens
 * under `more`. */
void report_html_text(FILE *out, struct arena *a, const char *text, const char *more);

/* report_html_figure - the SVG files PATH.svg and PATH.narrow.svg (for a phone) as images of the
 * page, embedded as they are: a browser runs no script of an image and looks up none of its ids. id
 * is a plain name, `title` describes the figure. Errors: those of file_read. */
int report_html_figure(FILE *out, struct arena *a, const char *path, const char *id,
                       const char *title, struct err *e);

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
};

/* report_table_write - the tables, each with a line of facts. Errors: those of report_cells. */
int report_table_write(FILE *out, struct arena *a, const struct report_table_args *t,
                       struct err *e);

/* report_table_facts - "wikitext103, split valid, nonoverlapping windows, …, seeds 1, 2" of a row
 * of report_cells_groups. */
const char *report_table_facts(struct arena *a, const struct report_rows *groups, int32_t group,
                               bool brief);

/* report_table_size - "0.15M parameters", "0.15M to 0.20M parameters" of two counts; NULL without.
 */
const char *report_table_size(struct arena *a, const char *low, const char *high);

/* --- claims.c - the verdicts of one folder's claim.sql. */

/* The verdicts of a claim.sql.
 *
 * It returns the cases of its claims: claim, statement, wanted (how many cases the grid asks
 * for), seed (NULL where a case has none), holds (1, or 0 or NULL where it does not), said (the
 * case's numbers in words). A claim without a case yet has one row whose said is NULL.
 *
 * 1. A claim with fewer cases than are wanted, or with none wanted, is "not run".
 * 2. It is "supported" when every case holds, else "contradicted".
 * 3. Its evidence is the words of the cases, in their order, each with its seed, joined by "; ";
 *    what is missing comes first.
 *
 * Or it returns verdicts: claim, statement, verdict, evidence. In both two columns may follow.
 * counted is 0 of a claim about the paper's own numbers, which no run of ours can change. unjudged
 * is NULL, or why a claim is "not judged", in words that follow these: "at this scale: …" or
 * "because the machine was busy". */
struct report_claims {
    /* one a claim: artefact, scale, claim, statement, verdict, evidence, counted, … */
    struct report_rows rows;
    /* one a case, with the columns of its claim; line is its text or NULL */
    struct report_rows cases;
};

/* report_claims_judge - no rows and no error without a claim.sql. Errors: ERR_DATA other columns, a
 * verdict of another word, a claim or a statement that is NULL, wanted is not a number of cases. */
int report_claims_judge(struct report_claims *out, struct arena *a, struct store *s,
                        const struct report_folder *f, const char *scale, struct err *e);

/* report_claims_of - all claims of n artefacts, and those of each beside its folder. */
struct report_judged {
    struct report_folder folder;
    struct report_claims claims;
};
int report_claims_of(struct report_claims *all, struct report_judged **judged, struct arena *a,
                     struct store *s, const struct project *p, const struct report_item *items,
                     int32_t n, struct err *e);

/* report_claims_ask - a statement over the claims, which begins with "," or SELECT after that of
 * report_answer_begin; no rows where there are no claims. report_claims_count - one row: sentence
 * ("Shape: 2 of 3 claims supported (P5, P7); P8 contradicted."; away from scale paper claims are
 * about shape), of_paper (the same of those about the paper's own numbers alone, which count
 * apart), sum (of both), share ("2 of 3") and the names contradicted, not_run, not_judged; each
 * NULL where there is none. A claim that folders share counts once. */
int report_claims_ask(struct report_rows *out, struct store *s, const struct report_claims *claims,
                      const char *scale, const char *sql, struct err *e);
int report_claims_count(struct report_rows *out, struct store *s,
                        const struct report_claims *claims, const char *scale, struct err *e);

/* report_claims_begins - whether a claim begins at this row of report_claims.cases. */
bool report_claims_begins(const struct report_rows *cases, int32_t row);

/* report_claims_heading - the heading of verdicts; at other scales than paper, about shape. */
const char *report_claims_heading(struct arena *a, const char *scale);

/* report_claims_write - as text three lines a claim, in the other formats a table; placed: with the
 * artefact. */
int report_claims_write(FILE *out, const struct report_claims *claims, bool placed,
                        const struct report_options *o, struct err *e);

/* --- gnuplot.c - runs gnuplot; quotes texts for its scripts.
 *
 * 1. gnuplot is found in PATH and started with arguments, never through a shell, without the user's
 *    gnuplotrc and without variables such as GNUPLOT_LIB.
 * 2. A text enters a script only through report_gnuplot_quote: single quotes, in which gnuplot
 *    substitutes nothing.
 * 3. A picture appears under its name complete or not at all.
 * 4. A script may run any command (system, backquotes, pipes, eval): a filter for that cannot be
 *    complete. Only scripts that are shipped or trusted (trust.c) are run.
 * 5. gnuplot is stopped at its time limit. */

/* report_gnuplot_quote - text as a single-quoted gnuplot string; control characters become spaces.
 */
void report_gnuplot_quote(struct strbuf *b, const char *text);

/* report_script_begin - the first lines of the script of a picture: where it finds itself and its
 * data. report_script_text - sets a variable to a text that enhanced mode shows as it is, except
 * that L_valid and its like have subscripts (plot.c). */
void report_script_begin(struct strbuf *b, const char *name);
void report_script_text(struct strbuf *b, const char *name, const char *text);

/* report_gnuplot_draw - writes NAME.dat and NAME.gp into folder, which it creates if needed, and
 * runs NAME.gp there for each format, with FORMAT and OUTPUT set, into NAME.FORMAT. Errors:
 * ERR_UNAVAILABLE gnuplot is not installed (names the package); ERR_INTERNAL it failed: quotes its
 * message, or did not end in time; those of the files. */
enum { REPORT_GNUPLOT_LIMIT_S = 60 };
struct report_gnuplot {
    const char *folder, *name;
    const struct strbuf *data, *script;
    const char *const *format; /* ended by NULL */
    double limit_s;            /* for each format */
};
int report_gnuplot_draw(struct arena *a, const struct report_gnuplot *g, struct err *e);

/* --- trust.c - the scripts of others that the user has read and trusts.
 *
 * `alibi report --trust` remembers the SHA-256 of a plot.gp in the user's state folder
 * ($XDG_STATE_HOME/alibi, else ~/.local/state/alibi), in the file `trusted`: a line for each, the
 * hash and where the script was. The text decides, not the path: a script that changes must be
 * trusted again. A file that belongs to or can be written by somebody else is ignored. */

/* report_trust_has - whether the script is trusted. report_trust_add - trusts the script that is at
 * path. Errors: ERR_UNAVAILABLE there is no state folder; ERR_DATA the file is somebody else's;
 * those of the files. */
bool report_trust_has(struct arena *a, const char *script);
int report_trust_add(struct arena *a, const char *script, const char *path, struct err *e);

extern const char report_html_style[];

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
