/* command_pack.c - alibi pack: one zip file with what others need to read artefacts and to repeat
 * them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "cli/cli.h"
#include "fetch/fetch.h"
#include "prepare/prepare.h"
#include "report/report.h"
#include "spec/code_id.h"
#include "workflow/workflow.h"

enum { PACKED_BYTES_MAX = 256 << 20 };

/* The results have this name in the archive, not that of a project's own, so that whoever unpacks
 * it can repeat the runs beside them. */
#define PACKED_RESULTS "published.db"

/* A supplement while it is made. */
struct supplement {
    struct cli *cli;
    const struct plan *plan;
    const char *scale;  /* --scale, or NULL */
    const char *made;   /* a temporary folder with what is made for it */
    const char *folder; /* all names in the archive begin with it */
    struct pack *pack;
    struct store_artefact *artefacts; /* ended by a name NULL */
    struct grid_files grids;
    int32_t files_n;
};

static int pack_file(struct supplement *s, const char *name, const char *path, struct err *e)
{
    struct arena a;
    char *data;
    size_t n;

    arena_init(&a);
    int rc = file_read(&a, &data, &n, path, PACKED_BYTES_MAX, e);
    if (rc == 0) rc = pack_add(s->pack, arena_printf(&a, "%s/%s", s->folder, name), data, n, e);
    s->files_n += rc == 0;
    arena_fini(&a);
    return rc;
}

/* Adds the regular files of a folder, without those below it and hidden ones. */
static int pack_folder(struct supplement *s, const char *name, const char *path, struct err *e)
{
    struct arena *a = &s->cli->arena;
    struct dir d;
    int rc = 0;

    TRY(dir_open(&d, path, e));
    for (int32_t i = 0; i < d.n && rc == 0; i++) {
        const char *file = arena_printf(a, "%s/%s", path, d.name_own[i]);
        if (d.name_own[i][0] == '.' || file_is_folder(file)) continue;
        rc =
            pack_file(s, arena_printf(a, "%s%s%s", name, *name ? "/" : "", d.name_own[i]), file, e);
    }
    dir_close(&d);
    return rc;
}

static int pack_grids(struct supplement *s, struct err *e)
{
    for (int32_t i = 0; i < s->grids.n; i++)
        TRY(pack_file(s, s->grids.item[i].name, s->grids.item[i].path, e));
    return 0;
}

/* --- README.txt ----------------------------------------------------------------------------- */

/* Adds a command with the artefacts as its words, on a line of its own. */
static void add_command(struct strbuf *b, const struct supplement *s, const char *command,
                        const char *options)
{
    struct arena *a = &s->cli->arena;

    strbuf_addf(b, "  alibi %s", command);
    for (int32_t i = 0; i < s->plan->artefacts_n; i++) {
        const struct plan_artefact *k = &s->plan->artefact[i];
        const char *folder = workflow_grid_folder(&s->cli->project, a, k);
        bool named = strcmp(folder, arena_printf(a, "experiments/%s", k->name)) == 0;
        strbuf_addf(b, " %s",
                    named ? k->name : str_shell_word(a, arena_printf(a, "./%s/", folder)));
    }
    if (s->scale) strbuf_addf(b, " --scale %s", s->scale);
    strbuf_addf(b, "%s\n", options);
}

/* Adds how to get a text that a run reads. */
static int add_preparation(struct strbuf *b, struct supplement *s, const char *corpus,
                           struct err *e)
{
    struct plan_corpus known;
    struct manifest counts;

    if (prepare_is_embedded(corpus)) return 0; /* `alibi run` makes it */
    TRY(workflow_corpus(&known, &counts, &s->cli->project, &s->cli->arena, corpus, e));
    if (known.url[0])
        strbuf_addf(b, "  alibi data fetch %s && alibi data prepare %s    # %s\n", corpus, corpus,
                    known.licence ? known.licence : known.url[0]);
    else
        strbuf_addf(b, "  alibi data prepare %s --text DIR    # train.txt, valid.txt, test.txt\n",
                    corpus);
    return 0;
}

/* Adds what the runs read, in a line for each text, and how to get it. */
static int add_texts(struct strbuf *b, struct supplement *s, struct err *e)
{
    static const char sql[] =
        "WITH done AS (SELECT r.*, value AS fingerprint FROM runs r JOIN run_list USING (run_id)"
        "  LEFT JOIN settings s ON s.run_id = r.run_id AND key = 'data.fingerprint'"
        "  WHERE state = 'done' ORDER BY r.scale, r.seed)"
        " SELECT corpus, count(*) FILTER (WHERE kind = 'train'), count(*),"
        " group_concat(DISTINCT scale), group_concat(DISTINCT seed), coalesce(max(fingerprint), '')"
        " FROM done GROUP BY corpus ORDER BY corpus";
    struct rows rows;

    TRY(rows_read(&rows, &s->cli->arena, s->cli->store, sql, NULL, 0, e));
    strbuf_add(b, "Texts that the runs read, which are not in this file:\n\n");
    for (int32_t i = 0; i < rows.rows_n; i++) {
        const struct store_cell *row = rows.row[i];
        strbuf_addf(b, "  %s: %s trainings, %s runs, scale %s, seed %s%s%.16s\n",
                    store_text(&row[0]), store_text(&row[1]), store_text(&row[2]),
                    store_text(&row[3]), store_text(&row[4]),
                    *store_text(&row[5]) ? ", fingerprint " : "", store_text(&row[5]));
    }
    strbuf_add(b, "\nTo repeat the runs, in this folder; the results come into results.db:\n\n");
    for (int32_t i = 0; i < rows.rows_n; i++)
        TRY(add_preparation(b, s, store_text(&rows.row[i][0]), e));
    add_command(b, s, "run", "");
    add_command(b, s, "report", "");
    return 0;
}

/* Adds which programs computed the results, and where. */
static int add_makers(struct strbuf *b, struct supplement *s, struct err *e)
{
    static const char sql[] =
        "SELECT code_id, coalesce(device, 'an unknown device'), count(*) FROM attempts"
        " WHERE current_result AND code_id IS NOT NULL GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2";
    struct rows rows;

    TRY(rows_read(&rows, &s->cli->arena, s->cli->store, sql, NULL, 0, e));
    strbuf_addf(b, "Packed by alibi, code %s. Results:\n\n", code_id());
    for (int32_t i = 0; i < rows.rows_n; i++)
        strbuf_addf(b, "  %s by code %s on %s\n", store_text(&rows.row[i][2]),
                    store_text(&rows.row[i][0]), store_text(&rows.row[i][1]));
    return 0;
}

/* Says what is in the file, how to read it and how to repeat it. */
static int write_readme(struct supplement *s, const char *results, struct err *e)
{
    struct arena *a = &s->cli->arena;
    char sha256[HASH_HEX_BYTES];
    struct strbuf b;

    TRY(hash_file(sha256, results, e));
    strbuf_init(&b, a);
    for (int32_t i = 0; i < s->plan->artefacts_n; i++)
        strbuf_addf(&b, "%s: %s\n", s->plan->artefact[i].name, s->plan->artefact[i].title);
    strbuf_add(&b, "\n");
    TRY(add_makers(&b, s, e));
    strbuf_addf(&b,
                "\n  page.html     every table and figure with the origin of each number\n"
                "  %s  an SQLite file: the results with settings, seed, code, device and\n"
                "                protocol of each run; its SHA-256 is\n"
                "                %s\n"
                "  plots/        the figures, with their data and gnuplot scripts\n",
                PACKED_RESULTS, sha256);
    for (int32_t i = 0; i < s->grids.n; i++) strbuf_addf(&b, "  %s\n", s->grids.item[i].name);
    strbuf_add(&b, "\nTo read them with alibi, in this folder, without a training or a text:\n\n");
    add_command(&b, s, "report", " --db " PACKED_RESULTS);
    strbuf_add(&b, "  alibi query \"SELECT * FROM evaluations\" --db " PACKED_RESULTS "\n"
                   "  alibi query --views    # what the columns mean\n\n");
    TRY(add_texts(&b, s, e));
    return file_write_atomic(arena_printf(a, "%s/README.txt", s->made), b.text, b.n, e);
}

/* Draws the figures and the page from the results that are packed. */
static int write_page(struct supplement *s, struct report_undrawn *undrawn, struct err *e)
{
    struct cli *c = s->cli;
    struct report_options o = {.format = REPORT_HTML,
                               .draw = true,
                               .undrawn = undrawn,
                               .variant = "",
                               .figures = arena_printf(&c->arena, "%s/plots", s->made)};
    size_t bytes;

    TRY(cli_dataset_titles(&o, c, e));
    return cli_write_reports(&bytes, arena_printf(&c->arena, "%s/page.html", s->made), c,
                             cli_report_items(c), s->plan->artefacts_n, &o, e);
}

static int make_parts(struct supplement *s, struct report_undrawn *undrawn, struct err *e)
{
    struct cli *c = s->cli;
    const char *path = arena_printf(&c->arena, "%s/" PACKED_RESULTS, s->made);

    TRY(store_publish(c->store, path, s->artefacts, e));
    store_close(c->store);
    TRY(store_open(&c->store, path, STORE_GIVEN, e));
    TRY(write_readme(s, path, e));
    return write_page(s, undrawn, e);
}

static int write_pack(struct supplement *s, const char *path, struct err *e)
{
    struct arena *a = &s->cli->arena;
    int rc = pack_open(&s->pack, path, e);

    if (rc == 0) rc = pack_folder(s, "", s->made, e);
    const char *plots = arena_printf(a, "%s/plots", s->made);
    if (rc == 0 && file_is_folder(plots)) rc = pack_folder(s, "plots", plots, e);
    if (rc == 0) rc = pack_grids(s, e);
    return pack_close(s->pack, rc, e);
}

/* Reads FILE of FILE.zip. No other ending, so that a mistake replaces no other file. */
static int find_folder(const char **out, struct arena *a, const char *path, struct err *e)
{
    static const char ending[] = ".zip";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name), ending_n = sizeof ending - 1;

    if (n <= ending_n || strcmp(name + n - ending_n, ending) != 0)
        return ERR(e, ERR_USAGE, "--out %s: expected the name of a file that ends with .zip", path);
    *out = arena_strndup(a, name, n - ending_n);
    return 0;
}

static bool has_results(const struct rows *rows, const struct plan_artefact *k)
{
    for (int32_t i = 0; i < rows->rows_n; i++)
        if (strcmp(store_text(&rows->row[i][0]), k->name) == 0 &&
            strcmp(store_text(&rows->row[i][1]), k->scale) == 0)
            return true;
    return false;
}

/* Plans the artefacts that are packed: those named, and of `all` and of a collection those with
 * results. */
static int find_artefacts(struct supplement *s, const struct plan_options *o, struct err *e)
{
    static const char sql[] = "SELECT DISTINCT p.artefact, p.scale FROM artefact_points p"
                              " JOIN run_list r USING (run_id) WHERE r.state = 'done'";
    struct cli *c = s->cli;
    struct plan *p = &c->planning.plan;
    struct rows rows;
    int32_t n = 0;

    TRY(plan_open(p, &c->project, c->rest.item, c->rest.n, o, e));
    TRY(rows_read(&rows, &c->arena, c->store, sql, NULL, 0, e));
    const char **dir = arena_array(&c->arena, (size_t)p->artefacts_n + 1, sizeof *dir);
    s->artefacts = arena_array(&c->arena, (size_t)p->artefacts_n + 1, sizeof *s->artefacts);
    for (int32_t i = 0; i < p->artefacts_n; i++) {
        const struct plan_artefact *k = &p->artefact[i];
        if (has_results(&rows, k)) {
            s->artefacts[n] = (struct store_artefact){arena_strdup(&c->arena, k->name),
                                                      arena_strdup(&c->arena, k->scale)};
            dir[n++] = arena_strdup(&c->arena, k->dir);
        } else if (!k->optional || (i == p->artefacts_n - 1 && n == 0)) {
            return ERR(e, ERR_NOINPUT,
                       "%s has no results of %s at scale %s; run `alibi run` of it first",
                       c->results, k->optional ? c->rest.item[0] : k->name, k->scale);
        }
    }
    plan_close(p);
    return plan_open(p, &c->project, dir, n, o, e);
}

CLI_COMMAND(pack)
{
    struct plan_options selected = {0};
    struct supplement s = {.cli = c, .plan = &c->planning.plan};
    struct report_undrawn undrawn = {0};
    struct file_scratch made = {.lock_fd = -1};
    const char *path = NULL;
    const struct cli_option options[] = {
        {"out", 'o', CLI_OUTPUT, &path, "FILE", "the zip file to write"},
        {"scale", 's', CLI_SCALE, &selected.scale, "NAME",
         "pack results of this scale (default: the grid's, else mini)"},
        {0}};

    TRY(cli_begin(c, options, e));
    if (!path) return ERR(e, ERR_USAGE, "pack: --out FILE.zip is missing");
    TRY(find_folder(&s.folder, &c->arena, path, e));
    s.scale = selected.scale;
    TRY(find_artefacts(&s, &selected, e));
    TRY(workflow_grid_files(&s.grids, &c->arena, &c->project, s.plan, e));
    const char *temporary = getenv("TMPDIR");
    int rc =
        file_scratch_open(&made, temporary && *temporary ? temporary : "/tmp", "alibi-pack", e);
    s.made = made.path;
    if (rc == 0) rc = make_parts(&s, &undrawn, e);
    if (rc == 0) rc = write_pack(&s, path, e);
    file_scratch_close(&made);
    if (rc < 0) return rc;
    cli_print("wrote %s: %d files\n", path, s.files_n);
    if (undrawn.n > 0)
        return ERR(e, undrawn.first.code, "%d figure%s left out, the first: %s", undrawn.n,
                   undrawn.n == 1 ? " was" : "s were", undrawn.first.text);
    return 0;
}
