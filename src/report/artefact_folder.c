/* artefact_folder.c - reads the files of an artefact; experiments/default replaces missing ones. */
#include "report/artefact_folder.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

int report_folder_check(const char *path, struct err *e)
{
    char folder[FILE_PATH_BYTES];

    if ((size_t)snprintf(folder, sizeof folder, "%s", path) >= sizeof folder) return 0;
    char *slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
    char *inside = realpath(path, NULL), *around = realpath(slash ? folder : ".", NULL);
    int rc = 0;
    size_t n = around ? strlen(around) : 0;
    if (inside && around && (strncmp(inside, around, n) != 0 || inside[n] != '/'))
        rc =
            ERR(e, ERR_DATA, "%s: a link that leads out of its folder; replace it by a file", path);
    free(inside);
    free(around);
    return rc;
}

int report_folder_read(char **text, struct arena *a, const char *path, struct err *e)
{
    TRY(report_folder_check(path, e));
    return file_read(a, text, NULL, path, REPORT_MAX_FILE_BYTES, e);
}

/* Finds the file that a use: line names. */
static int folder_find_used(const char **out, struct report_folder *f, struct arena *a,
                            const struct project *p, const struct report_use *use, struct err *e)
{
    const char *dir = f->dir;
    const char *places[] = {arena_printf(a, "%s/..", dir),
                            arena_printf(a, "%s/experiments", p->root),
                            arena_printf(a, "%s/experiments", p->share)};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        *out = arena_printf(a, "%s/%s/%s", places[i], use->folder, use->file);
        if (!file_exists(*out)) continue;
        *vec_push(a, &f->used) = *out;
        return 0;
    }
    return ERR(e, ERR_DATA, "%s/table.txt:%d: use: there is no %s/%s in %s, %s or %s", dir,
               use->line, use->folder, use->file, places[0], places[1], places[2]);
}

/* Reads the folder's file, else the one it uses, else that of experiments/default; without any,
 * text and path are NULL. */
static int folder_read(const char **text, const char **path, struct report_folder *f,
                       struct arena *a, const struct project *p, const char *name, bool has_default,
                       struct err *e)
{
    const struct report_use *use = report_layout_used(&f->layout, name);
    char *read;

    *text = NULL;
    *path = arena_printf(a, "%s/%s", f->dir, name);
    if (use && file_exists(*path))
        return ERR(e, ERR_DATA,
                   "%s/table.txt:%d: use: %s/%s, but %s is there too; keep one of them", f->dir,
                   use->line, use->folder, name, *path);
    if (use) TRY(folder_find_used(path, f, a, p, use, e));
    if (!use && !file_exists(*path)) {
        *path = has_default ? arena_printf(a, "%s/experiments/default/%s", p->share, name) : NULL;
        if (!*path) return 0;
    }
    TRY(report_folder_read(&read, a, *path, e));
    *text = read;
    return 0;
}

/* True if a shipped artefact has this plot.gp: one in a folder at path, or at most `depth` folders
 * below. The text decides, not the path: a use: line may lead to a folder of the user's that is
 * named like a shipped one. */
static bool folder_ships(struct arena *a, const char *path, int depth, const char *plot)
{
    struct dir folder;
    bool found = false;
    char *text;

    if (dir_open(&folder, path, NULL) < 0) return false;
    for (int32_t i = 0; i < folder.n && !found; i++) {
        const char *below = arena_printf(a, "%s/%s", path, folder.name_own[i]);
        const char *shipped = arena_printf(a, "%s/plot.gp", below);
        found = (file_read(a, &text, NULL, shipped, REPORT_MAX_FILE_BYTES, NULL) == 0 &&
                 strcmp(text, plot) == 0) ||
                (depth > 0 && folder_ships(a, below, depth - 1, plot));
    }
    dir_close(&folder);
    return found;
}

/* Reads table.txt and the one it uses. */
static int folder_read_layout(struct report_folder *f, struct arena *a, const struct project *p,
                              struct err *e)
{
    const char *path, *used_path, *text;
    struct report_layout from;

    f->laid_out = file_exists(arena_printf(a, "%s/table.txt", f->dir));
    TRY(folder_read(&text, &path, f, a, p, "table.txt", true, e));
    TRY(report_layout_read(&f->layout, a, path, text, e));
    if (!f->laid_out) f->layout.title = arena_printf(a, "%s: %s", f->artefact, f->layout.title);
    const struct report_use *use = report_layout_used(&f->layout, "table.txt");
    if (!use) return 0;
    TRY(folder_find_used(&used_path, f, a, p, use, e));
    TRY(report_folder_read((char **)&text, a, used_path, e));
    TRY(report_layout_read(&from, a, used_path, text, e));
    const struct report_use *chain = report_layout_used(&from, "table.txt");
    if (chain)
        return ERR(e, ERR_DATA, "%s:%d: use: %s/table.txt itself uses %s/table.txt; name that one",
                   path, use->line, use->folder, chain->folder);
    return report_layout_inherit(&f->layout, &from, path, e);
}

static bool folder_shows(const struct report_layout *l, const char *metric)
{
    for (int32_t i = 0; i < l->paper.n && metric; i++)
        if (strcmp(l->paper.name[i], metric) == 0) return true;
    return false;
}

/* Keeps the rows of paper.tsv that give one of the layout's metrics. */
static int folder_paper(struct report_folder *f, struct arena *a, struct err *e)
{
    const char *path = arena_printf(a, "%s/paper.tsv", f->dir);
    int32_t kept = 0;

    if (!file_exists(path)) return 0;
    f->paper_path = path;
    TRY(report_folder_check(path, e));
    TRY(report_rows_tsv(&f->paper, a, path, e));
    int32_t metric = report_rows_column(&f->paper, "metric");
    if (metric < 0 || report_rows_column(&f->paper, "value") < 0)
        return ERR(e, ERR_DATA, "%s:1: the header line has no metric or no value", path);
    for (int32_t i = 0; i < f->paper.rows_n; i++)
        if (folder_shows(&f->layout, report_rows_text(&f->paper, i, metric)))
            f->paper.row[kept++] = f->paper.row[i];
    f->paper.rows_n = kept;
    return 0;
}

/* Reads what effects are worth; texts stay texts, even if they look like numbers. */
static int folder_effects(struct report_folder *f, struct arena *a, const struct project *p,
                          struct err *e)
{
    static const char *const columns[] = {"scale",  "corpus", "fingerprint", "effect", "share",
                                          "method", "seeds",  "code",        "source"};
    enum { COLUMNS_N = sizeof columns / sizeof *columns };
    char *path;

    report_rows_init(&f->effects, a, COLUMNS_N, 0);
    for (int c = 0; c < COLUMNS_N; c++) f->effects.name[c] = columns[c];
    if (project_find(&path, p, a, "experiments/power/effects.tsv", NULL) < 0) return 0;
    f->effects_path = path;
    TRY(report_folder_check(path, e));
    TRY(report_rows_tsv(&f->effects, a, path, e));
    for (int c = 0; c < COLUMNS_N; c++)
        if (c >= f->effects.columns_n || strcmp(f->effects.name[c], columns[c]) != 0)
            return ERR(e, ERR_DATA, "%s:1: column %d must be %s", path, c + 1, columns[c]);
    for (int32_t i = 0; i < f->effects.rows_n; i++)
        for (int32_t c = 0; c < f->effects.columns_n; c++) {
            struct store_cell *cell = &f->effects.row[i][c];
            bool is_share = strcmp(f->effects.name[c], "share") == 0;
            if (is_share && (!cell->text || cell->type == 't'))
                return ERR(e, ERR_DATA, "%s:%d: the share \"%s\" is not a number", path, i + 2,
                           cell->text ? cell->text : "");
            if (!is_share) cell->type = 't';
        }
    return 0;
}

int report_folder_open(struct report_folder *f, struct arena *a, const struct project *p,
                       const char *artefact, const char *dir, struct err *e)
{
    *f = (struct report_folder){.artefact = artefact, .dir = dir, .points = artefact};
    if (!str_is_name_path(artefact))
        return ERR(e, ERR_USAGE, "\"%s\" is not an artefact: a name has letters, digits, . _ and -",
                   artefact);
    if (!file_exists(dir))
        return ERR(e, ERR_NOINPUT, "%s: the artefact %s has no such folder", dir, artefact);
    const char *path, *shipped = arena_printf(a, "experiments/%s", artefact);
    size_t n = strlen(dir), tail = strlen(shipped), root = strlen(p->root);
    f->command = n >= tail && strcmp(dir + n - tail, shipped) == 0 ? artefact
                 : strncmp(dir, p->root, root) == 0 && dir[root] == '/'
                     ? arena_printf(a, ".%s/", dir + root)
                     : dir;
    TRY(folder_read_layout(f, a, p, e));
    TRY(folder_read(&f->query, &f->query_path, f, a, p, "query.sql", true, e));
    if (!f->laid_out && file_exists(arena_printf(a, "%s/query.sql", dir)))
        f->layout.rows.name[0] = "method";
    TRY(folder_read(&f->claims, &f->claims_path, f, a, p, "claim.sql", false, e));
    if (f->claims) TRY(folder_effects(f, a, p, e));
    TRY(folder_read(&f->plot, &path, f, a, p, "plot.gp", !f->laid_out, e));
    f->plot_untrusted =
        path && !folder_ships(a, arena_printf(a, "%s/experiments", p->share), 1, f->plot) ? path
                                                                                          : NULL;
    return folder_paper(f, a, e);
}

/* Reads a file of experiments/default. */
static int folder_default(const char **text, const char **path, struct arena *a,
                          const struct project *p, const char *name, struct err *e)
{
    *path = arena_printf(a, "%s/experiments/default/%s", p->share, name);
    return file_read(a, (char **)text, NULL, *path, REPORT_MAX_FILE_BYTES, e);
}

int report_folder_over(struct report_folder *f, struct arena *a, const struct project *p,
                       const char *x, struct err *e)
{
    const char *text, *path;
    struct report_layout *l = &f->layout, own = f->layout;

    TRY(folder_default(&text, &path, a, p, "table.txt", e));
    TRY(report_layout_read(l, a, path, text, e));
    memcpy(l->label, own.label, sizeof own.label);
    l->labels_n = own.labels_n;
    TRY(folder_default(&f->query, &f->query_path, a, p, "query.sql", e));
    TRY(folder_default(&f->plot, &path, a, p, "plot.gp", e));
    l->title = arena_printf(a, "%s: %s by %s", f->artefact, l->title, x);
    l->columns = l->x = x;
    l->rows = (struct report_names){.name = {"configuration"}, .n = 1};
    if (strcmp(x, "L_train") != 0) l->rows.name[l->rows.n++] = "L_train";
    if (strcmp(x, "L_valid") != 0) l->rows.name[l->rows.n++] = "L_valid";
    f->plot_untrusted = f->claims = f->paper_path = NULL;
    f->paper.rows_n = 0;
    f->laid_out = false;
    f->over = x;
    return 0;
}

int report_entropy_floor(double *out, struct arena *a, const char *root, const char *corpus,
                         const char *split, struct err *e)
{
    char *text;

    *out = 0;
    if (!corpus || !str_is_name(corpus) || !split) return 0;
    const char *key = strcmp(split, "valid") == 0  ? "floor_perplexity:"
                      : strcmp(split, "test") == 0 ? "floor_perplexity_test:"
                                                   : NULL;
    const char *path = arena_printf(a, "%s/data/%s/manifest.yaml", root, corpus);
    if (!key || !file_exists(path)) return 0;
    TRY(file_read(a, &text, NULL, path, REPORT_MAX_FILE_BYTES, e));
    for (char *line = text; line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, key, strlen(key)) != 0) continue;
        char *value = line + strlen(key);
        value += strspn(value, " ");
        value[strcspn(value, " #\r\n")] = '\0';
        if (str_to_double(out, value) && *out > 0) return 0;
        return ERR(e, ERR_DATA, "%s: %s \"%s\" is not a number above 0", path, key, value);
    }
    return 0;
}
