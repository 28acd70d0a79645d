/* command_watch.c - alibi logs and curves: reports of a running or finished run. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "cli/cli.h"
#include "record/run_folder.h"
#include "report/report.h"

/* --- logs ----------------------------------------------------------------------------------- */

enum { LOG_LINES = 20 }; /* lines of losses or progress, approximately */

/* An attempt whose event records are printed as they arrive. */
struct log {
    const char *run_id, *dir; /* dir: of the attempt */
    int64_t attempt;
    bool is_training, ended;
    int64_t updates; /* of the training */
    double wps,
        next_share; /* last measured; share of the work at which the next progress line is due */
    struct event_reader *reader;
    int fd;       /* its log file; -1: not open yet */
    off_t offset; /* in the log file, printed so far */
};

static void print_step(struct cli *c, const struct log *l, const struct record_step *s)
{
    int64_t every = l->updates > LOG_LINES ? l->updates / LOG_LINES : 1;

    if (s->update != 1 && s->update % every != 0) return;
    cli_print("update %lld of %lld  loss %.4f nats  rate %.4g  gradient norm %.3g",
              (long long)s->update, (long long)l->updates, s->loss_nats, s->lr, s->grad_norm);
    if (l->wps > 0) cli_print("  %s words/s", str_thousands(&c->arena, (int64_t)l->wps));
    cli_print("\n");
}

static void print_progress(struct log *l, const struct record_progress *p)
{
    if (isfinite(p->wps)) l->wps = p->wps;
    if (l->is_training || p->total <= 0 || p->done / p->total < l->next_share) return;
    cli_print("%.0f of %.0f (%.0f %%)\n", p->done, p->total, 100 * p->done / p->total);
    l->next_share = p->done / p->total + 1.0 / LOG_LINES;
}

static void print_start(const struct record_started *r)
{
    cli_print("started on %s (%s)", r->device, r->backend ? r->backend : "unknown backend");
    if (r->ranks > 1) cli_print(", %lld ranks", (long long)r->ranks);
    cli_print("%s%s\n", r->host ? ", host " : "", r->host ? r->host : "");
}

static void print_record(struct cli *c, struct log *l, const struct record *r)
{
    switch (r->type) {
    case EVENT_STARTED:
        print_start(&r->started);
        break;
    case EVENT_PROGRESS:
        print_progress(l, &r->progress);
        break;
    case EVENT_STEP:
        print_step(c, l, &r->step);
        break;
    case EVENT_VALIDATION:
        cli_print("validation after update %lld: loss %.4f nats, perplexity %.2f%s\n",
                  (long long)r->validation.update, r->validation.loss_nats,
                  r->validation.perplexity, r->validation.best ? ", the best so far" : "");
        break;
    case EVENT_CHECKPOINT:
        cli_print("checkpoint after update %lld: %s\n", (long long)r->checkpoint.update,
                  r->checkpoint.path);
        break;
    case EVENT_TRAINED:
        cli_print("trained %lld updates: final loss %.4f nats, %s words/s\n",
                  (long long)r->trained.updates, r->trained.final_loss_nats,
                  str_thousands(&c->arena, isfinite(r->trained.train_wps)
                                               ? (int64_t)r->trained.train_wps
                                               : 0));
        break;
    case EVENT_EVALUATED:
        cli_print("evaluated %s: perplexity %.4f over %lld tokens, %lld not finite\n",
                  r->evaluated.run_id, r->evaluated.perplexity, (long long)r->evaluated.tokens,
                  (long long)r->evaluated.nonfinite);
        break;
    case EVENT_BENCHED:
        cli_print("timed %s: %s words/s\n", r->benched.run_id,
                  str_thousands(&c->arena, (int64_t)r->benched.wps));
        break;
    case EVENT_CONTINUED:
        cli_print("continues run %s after update %lld%s%s%s%s\n", r->continued.parent,
                  (long long)r->continued.update, *r->continued.fresh ? ", fresh: " : "",
                  r->continued.fresh, *r->continued.dropped ? ", dropped: " : "",
                  r->continued.dropped);
        break;
    case EVENT_HEAD: /* too many to print */
    case EVENT_ROLLOUT:
    case EVENT_SOURCE: /* of no attempt, and so without a log */
        break;
    case EVENT_ENDED:
        cli_print("ended: %s%s%s\n", r->ended.state ? r->ended.state : "unknown",
                  r->ended.message && *r->ended.message ? ": " : "",
                  r->ended.message ? r->ended.message : "");
        l->ended = true;
        break;
    }
}

/* Prints what the worker has written to its log file since the last call: warnings and errors. */
static int print_log_file(struct log *l, const char *path, struct err *e)
{
    char buffer[1 << 14], shown[4 * sizeof buffer + 1];
    ssize_t n = 0;

    if (l->fd < 0 && file_exists(path)) {
        l->fd = file_open_read(path, e);
        if (l->fd < 0) return l->fd;
    }
    while (l->fd >= 0 && (n = pread(l->fd, buffer, sizeof buffer, l->offset)) > 0) {
        str_clean_n(shown, sizeof shown, buffer, (size_t)n, "\n\t");
        fputs(shown, stdout);
        TRY(file_check_output(stdout, e));
        l->offset += n;
    }
    return n < 0 ? ERR(e, ERR_IO, "%s: %s", path, strerror(errno)) : 0;
}

/* Reads the attempt's outcome from results.db, in words: "lost: killed by signal 9". */
static int read_outcome(const char **out, struct cli *c, const struct log *l, struct err *e)
{
    static const char sql[] = "SELECT state || coalesce(': ' || nullif(message, ''), '')"
                              " FROM attempts WHERE run_id = :run"
                              " AND attempt = :attempt AND state <> 'running'";
    const struct store_param params[] = {
        {"run", l->run_id, STORE_TEXT},
        {"attempt", arena_printf(&c->arena, "%lld", (long long)l->attempt), STORE_INTEGER}};
    struct rows rows;

    TRY(rows_read(&rows, &c->arena, c->store, sql, params, 2, e));
    *out = rows.rows_n ? rows.row[0][0].text : NULL;
    return 0;
}

/* Prints the records and log; with follow, continues until the attempt has ended. Its last record
 * is missing if the worker was killed or the disk was full: results.db then has the outcome, which
 * is read before the records, so that the last ones are printed. */
static int print_attempt(struct cli *c, struct log *l, bool follow, struct err *e)
{
    const char *log_path = run_folder_path(&c->arena, l->dir, RUN_LOG), *outcome = NULL;
    struct event event;
    struct record record;
    int rc;

    TRY(run_folder_poll(&l->reader, l->dir, e));
    for (;;) {
        if (follow) TRY(read_outcome(&outcome, c, l, e));
        while ((rc = event_read(l->reader, &event, e)) == 1) {
            TRY(record_read(&record, &event, e));
            print_record(c, l, &record);
        }
        TRY(rc);
        TRY(print_log_file(l, log_path, e));
        if (outcome && !l->ended) cli_print("ended: %s (no last record)\n", outcome);
        fflush(stdout);
        TRY(file_check_output(stdout, e));
        if (!follow || l->ended || outcome) return 0;
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    }
}

CLI_COMMAND(logs)
{
    static const char sql[] =
        "SELECT a.dir, r.kind, a.attempt,"
        " (SELECT value FROM settings s WHERE s.run_id = r.run_id AND s.key = 'train.updates')"
        " FROM attempts a JOIN run_list r USING (run_id) WHERE run_id = :run"
        " ORDER BY a.attempt DESC LIMIT 1";
    bool follow = false;
    struct log l = {.fd = -1};
    struct rows rows;
    const struct cli_option options[] = {
        {"follow", 'f', CLI_FLAG, &follow, NULL, "follow until the attempt ends"}, {0}};

    TRY(cli_begin(c, options, e));
    l.run_id = c->rest.item[0];
    const struct store_param run = {"run", l.run_id, STORE_TEXT};
    TRY(rows_read(&rows, &c->arena, c->store, sql, &run, 1, e));
    if (rows.rows_n == 0)
        return ERR(e, ERR_NOINPUT, "run %s has no attempts and therefore no log", l.run_id);
    const struct store_cell *row = rows.row[0];
    l.dir = project_path(&c->project, &c->arena, store_text(&row[0]));
    l.is_training = strcmp(store_text(&row[1]), "train") == 0;
    (void)str_to_int(&l.attempt, store_text(&row[2]));
    if (row[3].text) (void)str_to_int(&l.updates, row[3].text);
    if (!file_exists(l.dir))
        return ERR(e, ERR_NOINPUT, "run %s: its log is gone: %s", l.run_id,
                   run_folder_path(&c->arena, store_text(&row[0]), RUN_LOG));
    int rc = print_attempt(c, &l, follow, e);
    if (l.fd >= 0) close(l.fd);
    event_reader_close(l.reader);
    return rc;
}

/* --- curves --------------------------------------------------------------------------------- */

enum { CURVES_COLUMNS = 79, CURVES_LINES = 24, CURVES_LINES_MAX = 40 };

/* The size of the terminal, minus the line of the prompt. */
static void terminal_size(struct report_curves_args *args)
{
    struct winsize size;

    args->columns = CURVES_COLUMNS;
    args->lines = CURVES_LINES;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20 || size.ws_row < 10) return;
    args->columns = size.ws_col - 1;
    args->lines = size.ws_row - 2 < CURVES_LINES_MAX ? size.ws_row - 2 : CURVES_LINES_MAX;
}

/* The format of a picture by its name. */
static int picture_format(const char **format, const char *path, struct err *e)
{
    static const char *const formats[] = {"svg", "png", "pdf"};
    const char *dot = path ? strrchr(path, '.') : NULL;

    *format = path ? NULL : formats[0];
    for (size_t i = 0; i < sizeof formats / sizeof *formats && dot; i++)
        if (strcmp(dot + 1, formats[i]) == 0) *format = formats[i];
    if (*format) return 0;
    return ERR(e, ERR_USAGE, "--out %s: expected a name that ends in .svg, .png or .pdf", path);
}

CLI_COMMAND(curves)
{
    bool watch = false;
    struct report_curves_args args = {0};
    const struct cli_option options[] = {
        {"watch", 'w', CLI_FLAG, &watch, NULL, "redraw every two seconds until Ctrl-C"},
        {"smooth", 0, CLI_COUNT, &args.smooth, "N",
         "draw the mean training loss of the last N updates"},
        {"out", 'o', CLI_OUTPUT, &args.path, "FILE", "write the picture to FILE.svg, .png or .pdf"},
        {0}};

    TRY(cli_begin(c, options, e));
    TRY(picture_format(&args.format, args.path, e));
    if (watch) args.format = NULL;
    char(*ids)[SPEC_ID_BYTES] = arena_array(&c->arena, (size_t)c->rest.n, sizeof *ids);
    for (int32_t i = 0; i < c->rest.n; i++) memcpy(ids[i], c->rest.item[i], sizeof *ids);
    args.run_id = (const char(*)[SPEC_ID_BYTES])ids;
    args.runs_n = c->rest.n;
    for (;;) {
        terminal_size(&args);
        if (watch && isatty(STDOUT_FILENO)) printf("\033[H\033[2J");
        TRY(report_curves(stdout, c->store, &c->project, &args, e));
        if (!watch) break;
        fflush(stdout);
        nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    }
    return 0;
}
