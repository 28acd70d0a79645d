/* command_status.c - alibi status and show: running and finished runs; one run. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "data/windows.h"
#include "report/report.h"
#include "store/store.h"

/* A row for each attempt that fits a line: `alibi show` has the rest. Evaluations of one worker
 * share its folder, and are a row; what they do not share is that of the first, and they have no
 * settings. The time left follows the updates of this attempt: those before it was resumed took
 * none of its time. */
static const char running_sql[] =
    "SELECT min(r.run_id) AS run_id, count(*) AS runs, t.kind, t.position, t.L_train, r.attempt,"
    " r.ranks, CAST(p.done AS INTEGER) || ' of ' || CAST(p.total AS INTEGER) AS done,"
    " round(100.0 * p.done / max(p.total, 1), 1) AS percent,"
    " CASE WHEN p.done > resumed_at THEN CAST(round(86400 * (p.total - p.done)"
    "  * (julianday(p.updated_at) - julianday(r.started_at)) / (p.done - resumed_at)) AS INTEGER)"
    " END AS seconds_left,"
    " round(p.loss_nats, 3) AS loss_nats, CAST(p.wps AS INTEGER) AS wps,"
    " substr(r.device, 1, instr(r.device || ',', ',') - 1) AS device,"
    " CASE WHEN count(*) = 1 THEN coalesce((SELECT iif(length(max(g.settings)) > 40,"
    "   substr(max(g.settings), 1, 39) || '…', max(g.settings)) FROM grid_settings g"
    "  WHERE g.run_id = r.run_id), '') ELSE '' END AS settings"
    " FROM (SELECT a.*, coalesce((SELECT min(c.step) - 1 FROM curves c WHERE c.run_id = a.run_id"
    "   AND c.attempt = a.attempt), 0) AS resumed_at FROM attempts a WHERE a.state = 'running') r"
    " JOIN run_list t USING (run_id)"
    " LEFT JOIN progress p ON p.run_id = r.run_id AND p.attempt = r.attempt"
    " GROUP BY r.dir ORDER BY r.started_at";
static const char counts_sql[] =
    "SELECT scale, kind, count(*) AS wanted, sum(state = 'done') AS done,"
    " CAST(100 * sum(state = 'done') / count(*) AS INTEGER) AS percent,"
    " sum(state = 'running') AS running, sum(state IN ('failed', 'lost')) AS failed,"
    " sum(state = 'diverged') AS diverged, sum(state = 'cancelled') AS cancelled,"
    " sum(state = 'none') AS waiting FROM run_list GROUP BY scale, kind ORDER BY scale, kind DESC";
static const char trouble_sql[] = "SELECT run_id, attempt, state, message, log_path FROM attempts a"
                                  " WHERE state IN ('failed', 'lost', 'diverged') AND attempt ="
                                  " (SELECT max(attempt) FROM attempts b WHERE b.run_id = "
                                  "a.run_id) ORDER BY ended_at DESC LIMIT 10";

static int print_status(struct cli *c, struct err *e)
{
    static const struct {
        const char *heading, *sql;
    } parts[] = {{"runs", counts_sql}, {"running", running_sql}, {"in trouble", trouble_sql}};
    struct arena scratch;
    struct rows rows;
    int rc = 0;

    arena_init(&scratch);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        TRY_OUT(rc, rows_read(&rows, &scratch, c->store, parts[i].sql, NULL, 0, e));
        if (rows.rows_n == 0 && i == 0) cli_print("no runs yet; `alibi run table5` makes some\n");
        if (rows.rows_n == 0) continue;
        cli_print("%s%s\n", i ? "\n" : "", parts[i].heading);
        TRY_OUT(rc, report_query(stdout, c->store, parts[i].sql, 30, REPORT_TEXT, e));
    }
out:
    arena_fini(&scratch);
    return rc;
}

CLI_COMMAND(status)
{
    bool watch = false;
    const struct cli_option options[] = {
        {"watch", 'w', CLI_FLAG, &watch, NULL, "repeat every second until Ctrl-C"}, {0}};

    TRY(cli_begin(c, options, e));
    for (;;) {
        if (watch && isatty(STDOUT_FILENO)) printf("\033[H\033[2J");
        TRY(print_status(c, e));
        if (!watch) break;
        fflush(stdout);
        TRY(file_check_output(stdout, e));
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
    return 0;
}

/* Describes how an evaluation's perplexity is computed, from its spec and its training's. */
static int print_protocol(const char *spec, const char *trained, struct err *e)
{
    struct spec s, t;
    struct windows w;

    /* Specs written by a program of another meaning are not described. */
    if (spec_parse(&s, spec, NULL) < 0 || spec_parse(&t, trained, NULL) < 0) return 0;
    const struct spec_eval *v = &s.eval;
    bool sliding = v->window == SPEC_SLIDING;
    int64_t all = spec_split_tokens(&t.data, v->split);
    const struct tokens split = {.n = all};
    bool words = !spec_is_pretrained(&t);
    enum windows_kind kind = v->window == SPEC_ROLLING ? WINDOWS_ROLLING : WINDOWS_STRIDE;
    TRY(windows_make(&w, &split, kind, v->L, sliding ? v->stride : v->L, v->targets, e));
    cli_print("protocol\n  %-23s ", "targets");
    if (w.targets_n < all) cli_print("first %lld of ", (long long)w.targets_n);
    cli_print("%lld tokens of the split%s\n", (long long)all,
              words ? ", </s> of each line included" : "");
    cli_print("  %-23s %lld of at most %d tokens%s", "windows", (long long)w.windows_n, v->L,
              words ? "" : " if the split is one document");
    if (sliding)
        cli_print(", stride %d: each scores its last %d after up to %d tokens of context; "
                  "the first windows have less\n",
                  v->stride, v->stride, v->L - v->stride);
    else if (v->window == SPEC_ROLLING)
        cli_print(", without overlap, but the last reaches back to %d tokens\n", v->L);
    else
        cli_print(", without overlap: each scores all its tokens\n");
    cli_print("  %-23s the token before the window is its first input; of %s\n", "prefix",
              words ? "the text, </s>" : "a document, the tokenizer's prefix");
    cli_print("  %-23s exp(sum of -ln p over the targets / %lld)\n\n", "perplexity",
              (long long)w.targets_n);
    return 0;
}

CLI_COMMAND(show)
{
    /* Sections; a heading is printed above the first row. */
    static const struct {
        const char *heading, *sql;
    } parts[] = {
        {"result", "SELECT * FROM trainings WHERE run_id = :run"},
        {"result", "SELECT * FROM evaluations WHERE run_id = :run"},
        {"result", "SELECT * FROM benchmarks WHERE run_id = :run"},
        {"last recorded",
         "SELECT split, attempt, step, loss_nats, perplexity, lr, grad_norm FROM curves a"
         " WHERE run_id = :run AND step = (SELECT max(step) FROM curves b WHERE b.run_id = :run"
         " AND b.split = a.split) ORDER BY split"},
        {"attempts", "SELECT * FROM attempts WHERE run_id = :run ORDER BY attempt"},
        {"continues",
         "SELECT p.run_id, p.position, p.L_train, p.seed FROM settings s JOIN run_list p"
         " ON p.run_id = s.value WHERE s.run_id = :run AND s.key = 'train.from'"
         " AND (SELECT kind FROM run_list r WHERE r.run_id = :run) = 'train'"},
        {"continued by",
         "SELECT c.run_id, c.position, c.L_train, c.seed FROM settings s JOIN run_list c"
         " ON c.run_id = s.run_id AND c.kind = 'train'"
         " WHERE s.key = 'train.from' AND s.value = :run ORDER BY c.run_id"},
        {"needed by",
         "SELECT artefact, point, L_train_nominal, L_valid_nominal FROM artefact_points"
         " WHERE run_id = :run ORDER BY artefact, point"},
    };
    static const char specs_sql[] =
        "SELECT r.spec, t.spec FROM run_list r LEFT JOIN run_list t ON t.run_id = r.train_run_id"
        " WHERE r.run_id = :run";
    struct rows rows;

    TRY(cli_begin(c, NULL, e));
    const struct store_param run = {"run", c->rest.item[0], STORE_TEXT};
    cli_print("run %s\nspec\n", c->rest.item[0]);
    TRY(rows_read(&rows, &c->arena, c->store, specs_sql, &run, 1, e));
    const struct store_cell *specs = rows.row[0];
    for (const char *line = store_text(&specs[0]); *line;) {
        int length = (int)strcspn(line, "\n");
        cli_print("  %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
    cli_print("\n");
    if (specs[1].text) TRY(print_protocol(store_text(&specs[0]), specs[1].text, e));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        TRY(rows_read(&rows, &c->arena, c->store, parts[i].sql, &run, 1, e));
        for (int32_t r = 0; r < rows.rows_n; r++) {
            if (r == 0) cli_print("%s\n", parts[i].heading);
            for (int k = 0; k < rows.columns_n; k++)
                if (rows.row[r][k].text)
                    cli_print("  %-23s %s\n", rows.name[k], rows.row[r][k].text);
            cli_print("\n");
        }
    }
    return 0;
}
