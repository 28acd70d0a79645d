/* import_folder.c - see workflow.h. */
#include "pretrained/pretrained.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "source/source.h"
#include "tokenizer/tokenizer.h"
#include "workflow/workflow_internal.h"

enum { SHOWN_BYTES = 64 << 20 };

/* --- checking a folder ------------------------------------------------------------------------ */

/* Reading every weight, then hashing every file. */
struct reading {
    struct workflow_bytes show;
    int64_t bytes; /* of the weight files */
    double passes; /* done */
};

static int report_share(void *context, double share, struct err *e)
{
    struct reading *r = context;

    (void)e;
    if (r->bytes < SHOWN_BYTES) return 0; /* is done at once */
    workflow_show_bytes(&r->show, (int64_t)((r->passes + share) * (double)r->bytes), 2 * r->bytes);
    return 0;
}

/* Reads each tensor, which refuses a weight that is not finite. */
static int read_weights(struct pretrained *p, struct reading *r, struct err *e)
{
    const struct shape_params *params = &pretrained_facts(p)->params;
    int64_t done = 0;
    int rc = 0;

    float *values = malloc((size_t)params->largest_n * sizeof *values);
    if (!values)
        return ERR(e, ERR_NOMEM, "out of memory for a tensor of %lld elements",
                   (long long)params->largest_n);
    for (int32_t i = 0; rc == 0 && i < params->tensors_n; i++) {
        rc = pretrained_read(p, i, values, e);
        done += (int64_t)params->tensor[i].rows * params->tensor[i].cols;
        if (rc == 0) rc = report_share(r, (double)done / (double)params->parameters_n, e);
    }
    free(values);
    return rc;
}

static int read_tokenizer(struct model_result *out, char sha256[HASH_HEX_BYTES],
                          const struct model_options *o, struct err *e)
{
    struct tokenizer *t = NULL;

    int rc = tokenizer_open(&t, out->tokenizer, out->spec.data.vocab, e);
    if (rc == ERR_NOINPUT && !o->tokenizer && e)
        err_set(e, rc, "%s; if it is in another folder, name that with --tokenizer",
                arena_strdup(out->arena, e->text));
    TRY(rc);
    const struct tokenizer_facts *facts = tokenizer_facts(t);
    out->ids_n = facts->ids_n;
    out->prefix = facts->prefix;
    if (*facts->lacks)
        out->tokenizer_note =
            arena_printf(out->arena, "bytes without a symbol, which %s: %s",
                         facts->drops ? "a text loses" : "become unk_token", facts->lacks);
    memcpy(sha256, facts->sha256, HASH_HEX_BYTES);
    tokenizer_close(t);
    return 0;
}

/* --- the piece -------------------------------------------------------------------------------- */

/* Adds "key: value", in quotes where YAML needs them. */
static void add_value(struct strbuf *b, const char *indent, const char *key, const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "._/-";
    size_t n = strspn(value, plain);

    strbuf_addf(b, "%s%s: ", indent, key);
    if (n > 0 && value[n] == '\0' && value[0] != '-') {
        strbuf_addf(b, "%s\n", value);
        return;
    }
    strbuf_add(b, "\"");
    for (const char *c = value; *c; c++) strbuf_addf(b, "%s%c", strchr("\"\\", *c) ? "\\" : "", *c);
    strbuf_add(b, "\"\n");
}

/* Adds the settings that describe the model, section by section. */
static void add_settings(struct strbuf *b, const struct spec *s, struct arena *a)
{
    static const char *const sections[] = {"model", "data", "train"};
    size_t n;
    const struct spec_line *line = spec_lines(s, &n, a);

    for (size_t k = 0; k < sizeof sections / sizeof *sections; k++) {
        const char *begin = arena_printf(a, "%s.", sections[k]);
        strbuf_addf(b, "%s:\n", sections[k]);
        for (size_t i = 0; i < n; i++) {
            if (strncmp(line[i].key, begin, strlen(begin)) != 0) continue;
            if (strcmp(sections[k], "data") == 0 && strcmp(line[i].key, "data.vocab") != 0)
                continue;
            add_value(b, "  ", line[i].key + strlen(begin), line[i].value);
        }
    }
}

static int write_piece(const struct model_result *m, const char *sha256,
                       const struct pretrained_file *file, int32_t n, const char *path,
                       struct arena *a, struct err *e)
{
    struct strbuf b;
    char *bytes = arena_printf(a, "%lld", (long long)m->bytes);

    strbuf_init(&b, a);
    strbuf_addf(&b,
                "# Written by `alibi import`; a grid names it in `base`, with a corpus of its"
                " tokenizer.\n# %s parameters, heads of width %d.\n",
                str_thousands(a, m->parameters_n), spec_head_width(&m->spec.model));
    add_settings(&b, &m->spec, a);
    strbuf_add(&b, "pretrained:\n");
    add_value(&b, "  ", "folder", m->folder);
    add_value(&b, "  ", "family", m->family);
    add_value(&b, "  ", "dtype", m->dtype);
    add_value(&b, "  ", "bytes", bytes);
    add_value(&b, "  ", "tokenizer", sha256);
    strbuf_add(&b, "  files:\n");
    for (int32_t i = 0; i < n; i++) add_value(&b, "    ", file[i].name, file[i].sha256);
    TRY(file_make_dirs(arena_strndup(a, path, (size_t)(strrchr(path, '/') - path)), e));
    return file_write_atomic(path, b.text, b.n, e);
}

/* --- importing -------------------------------------------------------------------------------- */

/* Finds the absolute path of a folder, as a piece can hold it. */
static int resolve_folder(const char **out, struct arena *a, const char *folder, struct err *e)
{
    char path[PATH_MAX];
    struct stat st;

    if (!realpath(folder, path)) return ERR(e, ERR_NOINPUT, "%s: %s", folder, strerror(errno));
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return ERR(e, ERR_USAGE, "%s: not a folder", folder);
    *out = arena_strdup(a, path);
    if (str_clean(a, *out, "") == *out) return 0;
    return ERR(e, ERR_USAGE, "%s: control characters in the path; rename the folder",
               str_clean(a, *out, ""));
}

static int choose_name(struct model_result *out, const struct model_options *o, struct err *e)
{
    out->name = o->as ? o->as : strrchr(out->folder, '/') + 1;
    if (str_is_name(out->name)) return 0;
    return ERR(e, ERR_USAGE,
               "'%.80s' is not a valid name of a model; name it with --as: letters, digits, . _ -",
               out->name);
}

/* Refuses to replace the piece of another model, whose grids would mean this one. */
static int check_replaced(const struct model_result *m, const char *path, struct arena *a,
                          const struct model_options *o, struct err *e)
{
    struct plan_model before;

    if (o->force || !file_exists(path)) return 0;
    if (plan_model_read(&before, a, path, NULL) == 0 &&
        strcmp(before.spec.model.files, m->spec.model.files) == 0)
        return 0;
    return ERR(e, ERR_USAGE,
               "%s is another model; choose a name with --as, or replace it with --force",
               m->piece);
}

static int import_open_folder(struct model_result *out, struct pretrained *p,
                              const struct project *project, struct arena *a,
                              const struct model_options *o, struct err *e)
{
    const struct pretrained_facts *facts = pretrained_facts(p);
    struct reading reading = {.show = {.progress = o->progress, .name = out->name, .first = -1},
                              .bytes = facts->weight_bytes};
    struct pretrained_file *file;
    char sha256[HASH_HEX_BYTES];
    int32_t n;

    out->family = arena_strdup(a, facts->family);
    out->dtype = arena_strdup(a, facts->dtype);
    out->note = facts->note ? arena_strdup(a, facts->note) : NULL;
    out->spec = facts->spec;
    out->bytes = facts->weight_bytes;
    out->parameters_n = facts->params.parameters_n;
    TRY(read_tokenizer(out, sha256, o, e));
    TRY(read_weights(p, &reading, e));
    reading.passes = 1;
    TRY(pretrained_files(&file, &n, a, out->folder, report_share, &reading, e));
    pretrained_fingerprint(out->spec.model.files, file, n);
    snprintf(out->spec.model.name, sizeof out->spec.model.name, "%s", out->name);
    const char *path = project_path(project, a, out->piece);
    TRY(check_replaced(out, path, a, o, e));
    return write_piece(out, sha256, file, n, path, a, e);
}

int workflow_import_model(struct model_result *out, const struct project *project, struct arena *a,
                          const char *folder, const struct model_options *o, struct err *e)
{
    struct pretrained *p = NULL;

    *out = (struct model_result){.arena = a};
    TRY(resolve_folder(&out->folder, a, folder, e));
    out->tokenizer = out->folder;
    if (o->tokenizer) TRY(resolve_folder(&out->tokenizer, a, o->tokenizer, e));
    TRY(choose_name(out, o, e));
    out->piece = arena_printf(a, "data/models/%s.yaml", out->name);
    TRY(pretrained_open(&p, folder, e));
    int rc = import_open_folder(out, p, project, a, o, e);
    pretrained_close(p);
    return rc;
}

/* --- the models of a plan --------------------------------------------------------------------- */

int planning_find_model(struct planning *p, const struct project *project, int32_t run,
                        struct err *e)
{
    const struct spec *s = &p->plan.run[run].spec;
    struct plan_model *m = arena_array(&p->plan.arena, 1, sizeof *m);

    if (s->kind != SPEC_TRAIN) return 0;
    int rc = plan_model_find(m, project, &p->plan.arena, s->model.files, e);
    if (rc == 0) p->model[run] = m;
    return rc == ERR_NOINPUT ? 0 : rc;
}

/* Checks the tokenizer of a corpus that is there; a run says if it is not. */
static int check_tokenizer(const struct plan_model *m, const struct project *project,
                           struct arena *a, const struct spec *s, struct err *e)
{
    struct manifest corpus;
    const char *path = arena_printf(a, "%s/data/%s/manifest.yaml", project->root, s->data.corpus);

    if (!file_exists(path)) return 0;
    TRY(manifest_read(&corpus, a, path, e));
    if (!corpus.tokenizer)
        return ERR(e, ERR_DATA,
                   "data/%s has the words of a dictionary, not the ids of %s's tokenizer; prepare "
                   "the text with `alibi data prepare NAME --tokenizer %s --text DIR`",
                   s->data.corpus, s->model.name, m->folder);
    if (strcmp(corpus.dictionary_sha256, m->tokenizer) == 0) return 0;
    return ERR(
        e, ERR_DATA,
        "data/%s has the ids of another tokenizer (%s, %.12s…) than %s (%.12s…); prepare the "
        "text with `alibi data prepare NAME --tokenizer %s --text DIR`",
        s->data.corpus, corpus.tokenizer, corpus.dictionary_sha256, s->model.name, m->tokenizer,
        m->folder);
}

/* Names a setting of the model that the grid or --set changes. */
static int check_unchanged(const struct plan_model *m, struct arena *a, const struct spec *s,
                           struct err *e)
{
    const struct spec_key *key = spec_model_difference(s, &m->spec);

    if (!key) return 0;
    return ERR(e, ERR_DATA,
               "%s = %.60s, but %.60s in %s; a pretrained model is evaluated as it is (windows "
               "and scalings are keys of eval.)",
               key->name, spec_get(s, key, a), spec_get(&m->spec, key, a), m->path);
}

static int check_imported(const struct plan_model *m, const struct spec *s, struct err *e)
{
    if (m) return 0;
    return ERR(e, ERR_NOINPUT,
               "%s is not imported: its piece describes a model without its weights; get the "
               "folder with any download tool, then `alibi import ./%s`, and name "
               "data/models/%s.yaml in base:",
               s->model.name, s->model.name, s->model.name);
}

int planning_check_models(const struct planning *p, const struct project *project, struct err *e)
{
    struct arena a;
    int rc = 0;

    arena_init(&a);
    for (int32_t i = 0; rc == 0 && i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        if (p->state[i].done || !spec_is_pretrained(&r->spec)) continue;
        int32_t of = r->spec.kind == SPEC_EVAL ? r->train : i;
        const struct plan_model *m = p->model[of];
        rc = check_imported(m, &r->spec, e);
        if (rc == 0) rc = check_tokenizer(m, project, &a, &r->spec, e);
        if (rc == 0) rc = check_unchanged(m, &a, &p->plan.run[of].spec, e);
    }
    arena_fini(&a);
    return rc;
}

/* --- registering ------------------------------------------------------------------------------ */

static int register_model(struct store *store, const struct project *project, struct arena *a,
                          const struct plan_run *r, const struct plan_model *m, struct err *e)
{
    struct registration g = {.store = store, .project = project, .arena = a, .run = r};
    struct strbuf files;

    strbuf_init(&files, a);
    for (int32_t i = 0; i < m->files_n; i++)
        strbuf_addf(&files, "%s  %s\n", m->file[i].sha256, m->file[i].name);
    const struct record_source source = {.name = r->spec.model.name,
                                         .path = m->folder,
                                         .sha256 = r->spec.model.files,
                                         .tokenizer = m->tokenizer,
                                         .files = files.text,
                                         .updates = RECORD_NONE,
                                         .tokens_per_update = RECORD_NONE,
                                         .final_loss_nats = (double)NAN,
                                         .parameters = r->cost.parameters_n};
    TRY(registration_begin(&g, e));
    return registration_end(&g, 0, &source, e);
}

/* True if the model is registered where it is now. */
static bool is_registered(const struct project *project, struct arena *a, const char *run_id,
                          const struct plan_model *m)
{
    struct source_found found;

    return source_find(&found, project, a, run_id, SPEC_BEST, NULL) == 0 &&
           str_same(found.path, m->folder) && str_same(found.source.tokenizer, m->tokenizer);
}

/* True if a run to do is an evaluation of the model. redo: all are to do. */
static bool is_needed(const struct planning *p, int32_t training, bool redo)
{
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        bool of_it = i == training || p->plan.run[i].train == training;
        if (of_it && (redo || !p->state[i].done) && spec_is_defined(&p->plan.run[i].spec))
            return true;
    }
    return false;
}

int workflow_register_models(struct store *store, const struct project *project, struct arena *a,
                             const struct planning *p, bool redo, struct err *e)
{
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        if (!p->model[i] || !is_needed(p, i, redo)) continue;
        if (p->state[i].done && is_registered(project, a, r->run_id, p->model[i])) continue;
        TRY(register_model(store, project, a, r, p->model[i], e));
    }
    return 0;
}
