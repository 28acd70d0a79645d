/* command_pack.c - alibi pack: one zip file with what others need to read artefacts and to repeat
 * them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "cli/cli.h"
#include "fetch/fetch.h"
#include "report/report.h"
#include "spec/code_id.h"
#include "workflow/workflow.h"

enum { PACKED_BYTES_MAX = 256 << 20 };

/* A supplement while it is made. */
struct supplement {
    struct cli *cli;
    const struct plan *plan;
    const char *made;   /* a temporary folder with what is made for it */
    const char *folder; /* all names in the archive begin with it */
    struct pack *pack;
    const char **artefacts; /* names, ended by NULL */
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

/* The name in the archive of a file or folder of the project, or of one that is shipped. */
static const char *packed_name(const struct supplement *s, const char *path, const char *otherwise)
{
    const char *const roots[] = {s->cli->project.root, s->cli->project.share};

    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        size_t n = strlen(roots[i]);
        if (strncmp(path, roots[i], n) == 0 && path[n] == '/') return path + n + 1;
    }
    return arena_printf(&s->cli->arena, "%s/%s", otherwise, strrchr(path, '/') + 1);
}

static int pack_grids(struct supplement *s, struct err *e)
{
    const struct plan *p = s->plan;

    for (int32_t i = 0; i < p->artefacts_n; i++)
        TRY(pack_folder(s, packed_name(s, p->artefact[i].dir, "experiments"), p->artefact[i].dir,
                        e));
    for (int32_t i = 0; i < p->pieces.n; i++) {
        bool seen = false;
        for (int32_t k = 0; k < i; k++) seen |= strcmp(p->pieces.item[k], p->pieces.item[i]) == 0;
        if (!seen)
            TRY(pack_file(s, packed_name(s, p->pieces.item[i], "configs"), p->pieces.item[i], e));
    }
    return 0;
}

static void add_words(struct strbuf *b, const struct supplement *s)
{
    for (int32_t i = 0; i < s->plan->artefacts_n; i++) {
        const char *name = packed_name(s, s->plan->artefact[i].dir, "experiments");
        bool shipped = strncmp(name, "experiments/", strlen("experiments/")) == 0;
        strbuf_addf(b, " %s%s%s", shipped ? "" : "./", shipped ? s->plan->artefact[i].name : name,
                    shipped ? "" : "/");
    }
}

/* Says what is in the file, how to read it and how to repeat it. */
static int write_readme(struct supplement *s, struct err *e)
{
    static const char sql[] =
        "SELECT r.corpus, count(DISTINCT coalesce(r.train_run_id, r.run_id)), count(*),"
        " group_concat(DISTINCT r.scale) FROM runs r GROUP BY 1 ORDER BY 1";
    struct cli *c = s->cli;
    struct rows rows;
    struct strbuf b;

    TRY(rows_read(&rows, &c->arena, c->store, sql, NULL, 0, e));
    strbuf_init(&b, &c->arena);
    strbuf_addf(&b, "Packed by alibi, code %s.\n\n", code_id());
    strbuf_add(&b,
               "page.html has every table and figure with the origin of each number.\n"
               "results.db has the results with settings, seed, code and protocol of each run.\n"
               "\nTo read them with alibi, in this folder:\n\n  alibi report");
    add_words(&b, s);
    strbuf_add(&b, " --db results.db\n  alibi query \"SELECT * FROM evaluations\" --db results.db\n"
                   "\nTo repeat the trainings, prepare the texts first; `alibi plan` says how:\n\n"
                   "  alibi plan");
    add_words(&b, s);
    strbuf_add(&b, "\n  alibi run");
    add_words(&b, s);
    strbuf_add(&b, "\n\nTexts that the runs read, which are not in this file:\n\n");
    for (int32_t i = 0; i < rows.rows_n; i++)
        strbuf_addf(&b, "  %s: %s trainings, %s runs, scale %s\n", store_text(&rows.row[i][0]),
                    store_text(&rows.row[i][1]), store_text(&rows.row[i][2]),
                    store_text(&rows.row[i][3]));
    return file_write_atomic(arena_printf(&c->arena, "%s/README.txt", s->made), b.text, b.n, e);
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
    const char *path = arena_printf(&c->arena, "%s/results.db", s->made);
    struct rows rows;

    TRY(store_publish(c->store, path, s->artefacts, e));
    store_close(c->store);
    TRY(store_open(&c->store, path, STORE_GIVEN, e));
    TRY(rows_read(&rows, &c->arena, c->store, "SELECT 1 FROM run_list WHERE state = 'done' LIMIT 1",
                  NULL, 0, e));
    if (rows.rows_n == 0)
        return ERR(e, ERR_NOINPUT, "%s has no results of %s; run `alibi run` first", c->results,
                   s->artefacts[0]);
    TRY(write_readme(s, e));
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

/* FILE of FILE.zip. */
static const char *folder_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name);

    return n > 4 && strcmp(name + n - 4, ".zip") == 0 ? arena_strndup(a, name, n - 4) : name;
}

CLI_COMMAND(pack)
{
    struct plan_options selected = {0};
    struct supplement s = {.cli = c, .plan = &c->planning.plan};
    struct report_undrawn undrawn = {0};
    const char *path = NULL;
    char made[] = "/tmp/alibi-pack-XXXXXX";
    const struct cli_option options[] = {
        {"out", 'o', CLI_TEXT, &path, "FILE", "the zip file to write"},
        {"scale", 's', CLI_SCALE, &selected.scale, "NAME",
         "pack results of this scale (default: the grid's, else mini)"},
        {0}};

    TRY(cli_begin(c, options, e));
    if (!path) return ERR(e, ERR_USAGE, "pack: --out FILE.zip is missing");
    TRY(plan_open(&c->planning.plan, &c->project, c->rest.item, c->rest.n, &selected, e));
    s.artefacts = arena_array(&c->arena, (size_t)s.plan->artefacts_n + 1, sizeof *s.artefacts);
    for (int32_t i = 0; i < s.plan->artefacts_n; i++) s.artefacts[i] = s.plan->artefact[i].name;
    s.folder = folder_of(&c->arena, path);
    if (!mkdtemp(made)) return ERR(e, ERR_CREATE, "%s: cannot be created", made);
    s.made = made;
    int rc = make_parts(&s, &undrawn, e);
    if (rc == 0) rc = write_pack(&s, path, e);
    struct err ignored;
    (void)dir_remove_tree(AT_FDCWD, made, NULL, &ignored);
    if (rc < 0) return rc;
    cli_print("wrote %s: %d files\n", path, s.files_n);
    if (undrawn.n > 0)
        return ERR(e, undrawn.first.code, "%d figure%s left out, the first: %s", undrawn.n,
                   undrawn.n == 1 ? " was" : "s were", undrawn.first.text);
    return 0;
}
