/* planning.c - opens a plan, looks up which runs are done, estimates the remaining time, and
 * explains why a run would run: earlier attempts, and settings that differ from the run that its
 * point needed last. */
#include "workflow/workflow.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "shape/shape.h"

enum { GPUS_MAX = 4096 };

/* --- devices and time ----------------------------------------------------------------------- */

/* Writes the name in lower case, without blanks and hyphens. */
static char *gpu_word(const char *name, struct arena *a)
{
    struct strbuf word;

    strbuf_init(&word, a);
    for (const char *c = name; *c; c++)
        if (*c != ' ' && *c != '-') strbuf_addf(&word, "%c", tolower((unsigned char)*c));
    return word.text;
}

char *planning_gpu_word(int32_t i, struct arena *a)
{
    size_t n;
    const struct shape_gpu *gpus = shape_gpus(&n);

    return (size_t)i < n ? gpu_word(gpus[i].name, a) : NULL;
}

/* Finds the GPU of a word, with or without "rtx"; NULL: there is none. */
static const struct shape_gpu *find_gpu(const char *word, struct arena *a)
{
    size_t n;
    const struct shape_gpu *gpus = shape_gpus(&n);

    for (size_t i = 0; i < n; i++) {
        const char *known = gpu_word(gpus[i].name, a);
        if (strcmp(word, known) == 0) return &gpus[i];
        if (strncmp(known, "rtx", 3) == 0 && strcmp(word, known + 3) == 0) return &gpus[i];
    }
    return NULL;
}

/* True if text names a GPU ("rtx4090") or several ("H100x8"). */
static bool planning_find_hardware(struct planning *p, const char *text, struct arena *a)
{
    int64_t gpus_n = 1;
    const char *word = gpu_word(text, a), *x = strrchr(word, 'x');

    p->gpu = find_gpu(word, a);
    if (!p->gpu && x && str_to_int(&gpus_n, x + 1) && gpus_n >= 1 && gpus_n <= GPUS_MAX)
        p->gpu = find_gpu(arena_strndup(a, word, (size_t)(x - word)), a);
    if (!p->gpu) return false;
    p->device = (struct device){.slots = (int32_t)gpus_n,
                                .memory_bytes = (int64_t)(1e9 * p->gpu->memory_gb)};
    snprintf(p->device.name, sizeof p->device.name, "%s", text);
    snprintf(p->device.description, sizeof p->device.description, "NVIDIA %s", p->gpu->name);
    return true;
}

static int planning_find_device(struct planning *p, const char *devices, struct arena *a,
                                struct err *e)
{
    if (devices && planning_find_hardware(p, devices, a)) return 0;
    int rc = device_select(&p->device, devices, &p->unusable);
    if (rc == ERR_UNAVAILABLE) return device_select(&p->device, "cpu", e);
    return rc < 0 ? ERR(e, rc, "%s", p->unusable.text) : 0;
}

/* Estimates the FLOP/s of a run on one device slot. */
static double planning_rate(const struct planning *p, const struct spec *s)
{
    if (p->basis == PLANNING_MEASURED) return p->rate_measured;
    if (p->basis == PLANNING_GUESSED) return p->device.flops_per_s;
    return PLANNING_PEAK_SHARE * shape_peak_flops(p->device.description, spec_precision(s, NULL));
}

/* Returns the FLOPs from which a training's speed counts: start-up and small products slow a run
 * that is a thousand times shorter than the longest one. */
static double comparable_flops(const struct planning *p)
{
    double longest = 0;

    for (int32_t i = 0; i < p->plan.runs_n; i++)
        if (!p->state[i].done) longest = fmax(longest, p->plan.run[i].cost.flops);
    return longest / 1000;
}

double planning_seconds(const struct planning *p, int32_t run, int32_t ranks_n)
{
    const struct plan_run *r = &p->plan.run[run];
    const struct spec_train *t = &r->spec.train;
    double seconds = r->cost.flops / planning_rate(p, &r->spec);

    if (ranks_n == 1 || !planning_trains(p, run)) return seconds;
    double update_flops =
        3.0 * shape_forward_flops(&r->spec, t->L) * (double)r->cost.tokens_per_update;
    return seconds * shape_rank_shards(t->shards, ranks_n) / t->shards +
           r->cost.flops / update_flops *
               shape_exchange_s(&r->spec, ranks_n, shape_find_gpu(p->device.description));
}

static int planning_estimate(struct planning *p, struct store *store, struct err *e)
{
    double longest = 0;
    bool is_gpu = p->gpu || strncmp(p->device.name, "cuda:", 5) == 0;

    if (store && !p->gpu)
        TRY(store_flops_rate(store, SPEC_TRAIN, p->device.name, comparable_flops(p),
                             &p->rate_measured, e));
    p->basis = p->rate_measured > 0 ? PLANNING_MEASURED
               : is_gpu && shape_peak_flops(p->device.description, SPEC_FP32) > 0
                   ? PLANNING_MODELLED
                   : PLANNING_GUESSED;
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        struct plan_run *r = &p->plan.run[i];
        if (!is_gpu) r->cost.device_bytes += r->cost.host_bytes; /* it is the same memory */
        if (p->state[i].done || !spec_is_defined(&r->spec)) continue;
        p->seconds[i] = planning_seconds(p, i, p->ranks_n);
        p->work_s += p->seconds[i] * (planning_trains(p, i) ? p->ranks_n : 1);
        if (p->seconds[i] > longest) longest = p->seconds[i];
    }
    p->seconds_left = fmax(p->work_s / p->device.slots, longest);
    return 0;
}

/* A training with its evaluations and those that continue it, or a run that waits for none. */
struct piece {
    int32_t run;
    double seconds;
};

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
    return x->run - y->run;
}

bool planning_trains(const struct planning *p, int32_t run)
{
    const struct spec *s = &p->plan.run[run].spec;
    return s->kind == SPEC_TRAIN && !spec_is_source(s) && !p->state[run].done;
}

bool planning_is_too_large(const struct planning *p, int32_t run)
{
    return p->gpu && p->plan.run[run].cost.device_bytes > p->device.memory_bytes;
}

/* Collects the pieces, the shortest first; one that needs too much memory takes for ever. */
static int32_t collect_pieces(struct piece *out, const struct planning *p, struct arena *a)
{
    struct piece *of_run = arena_array(a, (size_t)p->plan.runs_n + 1, sizeof *of_run);
    int32_t *root = arena_array(a, (size_t)p->plan.runs_n + 1, sizeof *root);
    int32_t n = 0;

    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        root[i] = r->train >= 0 ? root[r->train] : i;
        struct piece *piece = &of_run[root[i]];
        piece->seconds += planning_is_too_large(p, i) ? (double)INFINITY : p->seconds[i];
    }
    for (int32_t i = 0; i < p->plan.runs_n; i++)
        if (of_run[i].seconds > 0) out[n++] = (struct piece){i, of_run[i].seconds};
    qsort(out, (size_t)n, sizeof *out, compare_pieces);
    return n;
}

/* The slots of a training are one here. The shortest piece goes to the one that is free first; when
 * one does not fit, no later one does.
 */
void planning_fit(struct planning_fit *out, const struct planning *p, double budget_s,
                  struct arena *a)
{
    size_t runs_n = (size_t)p->plan.runs_n + 1;
    struct piece *piece = arena_array(a, runs_n, sizeof *piece);
    int32_t at_once = p->device.slots > p->ranks_n ? p->device.slots / p->ranks_n : 1;
    double *busy_s = arena_array(a, (size_t)at_once, sizeof *busy_s);

    *out = (struct planning_fit){.fits = arena_array(a, runs_n, sizeof *out->fits), .shortest = -1};
    out->pieces_n = collect_pieces(piece, p, a);
    for (int32_t k = 0; k < out->pieces_n; k++) {
        double *slot_s = &busy_s[k % at_once];
        bool fits = out->shortest < 0 && *slot_s + piece[k].seconds <= budget_s;
        if (!isfinite(piece[k].seconds)) break;
        if (!fits && out->shortest < 0) {
            out->shortest = piece[k].run;
            out->shortest_s = piece[k].seconds;
        }
        if (!fits) {
            out->beyond_n++;
            out->beyond_s += piece[k].seconds;
            continue;
        }
        *slot_s += piece[k].seconds;
        out->seconds = fmax(out->seconds, *slot_s);
        out->fits[piece[k].run] = true;
        out->fitting_n++;
    }
    for (int32_t i = 0; i < p->plan.runs_n; i++)
        if (p->plan.run[i].train >= 0) out->fits[i] = out->fits[p->plan.run[i].train];
}

/* --- settings that distinguish runs ----------------------------------------------------------- */

/* True if the key is part of a run's identity. */
static bool counts(const struct spec_key *key, const struct spec *s)
{
    return key->hashed && (!key->applies || key->applies(s));
}

/* True if a key is a setting of the run without a column in the plan's list. */
static bool is_setting(const struct spec_key *key, const struct spec *s)
{
    static const char *const columns[] = {
        "kind",       "scale",          "model.name",  "model.position", "train.L",
        "train.seed", "data.dataset",   "data.corpus", "bench.mode",     "bench.rows",
        "bench.L",    "eval.train_run", "eval.window", "eval.L",         "eval.stride"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i], key->name) == 0) return false;
    return counts(key, s);
}

/* True if two trainings differ in a setting that both have or in their parents, or two evaluations
 * in any setting: one without the key has its neutral value. */
static bool specs_differ(const struct spec_key *key, const struct spec *s, const struct spec *other,
                         struct arena *scratch)
{
    bool here = is_setting(key, s), there = is_setting(key, other);

    if (!here && !there) return false;
    bool counts_alone = s->kind == SPEC_EVAL || strcmp(key->name, "train.from") == 0;
    if ((!here || !there) && (!counts_alone || !key->neutral)) return false;
    return strcmp(here ? spec_get(s, key, scratch) : key->neutral,
                  there ? spec_get(other, key, scratch) : key->neutral) != 0;
}

/* Marks the keys in which trainings with equal columns differ, or any evaluations: each is compared
 * with the first one. */
static void find_varying(bool *varying, const struct plan *p, struct arena *scratch)
{
    struct map first;
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    bool added;

    map_init(&first, scratch);
    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct spec *s = &p->run[i].spec;
        const char *columns =
            s->kind == SPEC_EVAL
                ? "evaluation"
                : arena_printf(scratch, "%d %s %s %s %d %d", (int)s->kind, s->data.dataset,
                               s->data.corpus, s->model.name, (int)s->model.position, s->train.L);
        int32_t *at = map_put(&first, columns, strlen(columns), &added);
        if (added) *at = i;
        for (size_t k = 0; k < n; k++)
            varying[k] = varying[k] || specs_differ(&keys[k], s, &p->run[*at].spec, scratch);
    }
}

/* Lists the run's settings that vary. An evaluation's neutral ones are left out, because most
 * evaluations of a grid have them. */
static const char *varying_settings(const bool *varying, const struct spec *s, struct arena *a)
{
    struct strbuf text;
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    strbuf_init(&text, a);
    for (size_t k = 0; k < n; k++) {
        if (!varying[k] || !is_setting(&keys[k], s)) continue;
        const char *value = spec_get(s, &keys[k], a);
        if (s->kind != SPEC_EVAL || !str_same(value, keys[k].neutral))
            strbuf_addf(&text, "%s%s=%s", text.n ? " " : "", keys[k].name, value);
    }
    return text.text;
}

static void planning_find_settings(struct planning *p, struct arena *scratch)
{
    struct arena *a = &p->plan.arena;
    size_t n;

    spec_keys(&n);
    bool *varying = arena_array(scratch, n, sizeof *varying);
    find_varying(varying, &p->plan, scratch);
    p->settings = arena_array(a, (size_t)p->plan.runs_n + 1, sizeof *p->settings);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        const char *own = varying_settings(varying, &r->spec, a);
        const char *trained = r->spec.kind == SPEC_EVAL ? p->settings[r->train] : "";
        p->settings[i] = arena_printf(a, "%s%s%s", trained, *trained && *own ? " " : "", own);
    }
}

/* --- pretrained models ------------------------------------------------------------------------ */

static bool is_pretrained(const struct plan_run *r)
{
    return r->spec.train.origin == SPEC_PRETRAINED;
}

static int find_models(struct planning *p, const struct project *project, struct err *e)
{
    struct arena *a = &p->plan.arena;

    p->model = arena_array(a, (size_t)p->plan.runs_n + 1, sizeof *p->model);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        struct plan_model *m;
        if (r->spec.kind != SPEC_TRAIN || !is_pretrained(r)) continue;
        m = arena_array(a, 1, sizeof *m);
        int rc = plan_model_find(m, project, a, r->spec.model.files, e);
        if (rc < 0 && rc != ERR_NOINPUT) return rc;
        if (rc == 0) p->model[i] = m;
    }
    return 0;
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
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    for (size_t i = 0; i < n; i++) {
        const char *name = keys[i].name;
        bool of_model = strncmp(name, "model.", 6) == 0 || strcmp(name, "train.L") == 0 ||
                        strcmp(name, "data.vocab") == 0;
        if (!of_model || !counts(&keys[i], s)) continue;
        const char *own = spec_get(s, &keys[i], a), *theirs = spec_get(&m->spec, &keys[i], a);
        if (strcmp(own, theirs) == 0) continue;
        return ERR(e, ERR_DATA,
                   "%s = %.60s, but %.60s in %s; a pretrained model is evaluated as it is (windows "
                   "and scalings are keys of eval.)",
                   name, own, theirs, m->path);
    }
    return 0;
}

int planning_check_models(const struct planning *p, const struct project *project, struct err *e)
{
    struct arena a;
    int rc = 0;

    arena_init(&a);
    for (int32_t i = 0; rc == 0 && i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        if (p->state[i].done || !is_pretrained(r)) continue;
        int32_t of = r->spec.kind == SPEC_EVAL ? r->train : i;
        const struct plan_model *m = p->model[of];
        if (m) rc = check_tokenizer(m, project, &a, &r->spec, e);
        if (m && rc == 0)
            rc = check_unchanged(m, &a, &p->plan.run[of].spec, e);
        else if (!m)
            rc = ERR(e, ERR_NOINPUT,
                     "%s is not imported: its piece describes a model without its weights; get the "
                     "folder with any download tool, then `alibi import ./%s`, and name "
                     "data/models/%s.yaml in base:",
                     r->spec.model.name, r->spec.model.name, r->spec.model.name);
    }
    arena_fini(&a);
    return rc;
}

/* --- checkpoints that are gone ---------------------------------------------------------------- */

/* Marks done trainings without the checkpoint that a run to do needs. */
static int find_gone(struct planning *p, struct store *store, const struct project *project,
                     struct err *e)
{
    p->gone = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->gone);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        struct err why = {0};
        enum spec_checkpoint which;
        bool gone;
        spec_needs(&r->spec, &which);
        if (r->train < 0 || p->state[i].done || !p->state[r->train].done) continue;
        if (is_pretrained(r)) continue; /* `alibi run` registers it again */
        if (p->gone[r->train] || !spec_is_defined(&r->spec)) continue;
        TRY(scheduler_find_checkpoint(store, project, p->plan.run[r->train].run_id, which, &gone,
                                      &why, e));
        if (gone) p->gone[r->train] = arena_strdup(&p->plan.arena, why.text);
    }
    return 0;
}

/* --- changes since the artefact was last run ------------------------------------------------- */

enum { WHY_SETTINGS_MAX = 3 };

/* Describes a change: "train.lr 2, was 3; model.dropout 0.1, was 0; and 2 more"; NULL: the specs
 * are equal. */
static char *describe_change(const struct spec *now, const struct spec *before, struct arena *a)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    int32_t found = 0;
    struct strbuf b;

    strbuf_init(&b, a);
    for (size_t i = 0; i < n; i++) {
        bool is = counts(&keys[i], now), was = counts(&keys[i], before);
        const char *value = is ? spec_get(now, &keys[i], a) : "not set";
        const char *earlier = was ? spec_get(before, &keys[i], a) : "not set";
        if (strcmp(value, earlier) == 0 || found++ >= WHY_SETTINGS_MAX) continue;
        if (strcmp(keys[i].name, "eval.train_run") == 0)
            strbuf_addf(&b, "%sits training changed", b.n ? "; " : "");
        else if (strcmp(keys[i].name, "train.from") == 0)
            strbuf_addf(&b, "%sits parent changed", b.n ? "; " : "");
        else
            strbuf_addf(&b, "%s%s %s, was %s", b.n ? "; " : "", keys[i].name, value, earlier);
    }
    if (found > WHY_SETTINGS_MAX) strbuf_addf(&b, "; and %d more", found - WHY_SETTINGS_MAX);
    return found ? b.text : NULL;
}

/* Describes why new runs are new: their points, artefact and number, needed another run last. */
static int find_changes(struct planning *p, struct arena *scratch, struct store *store,
                        struct err *e)
{
    static const char sql[] = "SELECT p.artefact || ' ' || p.point, p.scale, r.spec"
                              " FROM artefact_points p JOIN run_list r ON r.run_id = p.run_id"
                              " ORDER BY p.artefact, p.point";
    struct map points; /* index of the run */
    struct rows rows;

    p->changed = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->changed);
    if (!store || p->plan.points_n == 0 || p->done_n == p->runs_n) return 0;
    map_init(&points, scratch);
    for (int32_t i = 0; i < p->plan.points_n; i++) {
        const struct plan_point *t = &p->plan.point[i];
        const char *key = arena_printf(scratch, "%s %d", t->artefact, t->point);
        *map_put(&points, key, strlen(key), NULL) = t->run;
    }
    TRY(rows_read(&rows, scratch, store, sql, NULL, 0, e));
    for (int32_t i = 0; i < rows.rows_n; i++) {
        const char *key = store_text(&rows.row[i][0]);
        struct spec before;
        int32_t k;
        if (!map_get(&points, key, strlen(key), &k)) continue;
        const struct spec *now = &p->plan.run[k].spec;
        if (p->changed[k] || p->state[k].last != STORE_NONE || p->state[k].done ||
            strcmp(now->scale, store_text(&rows.row[i][1])) != 0)
            continue;
        /* Specs written by a program of another meaning cannot be compared. */
        if (spec_parse(&before, store_text(&rows.row[i][2]), NULL) < 0 || before.kind != now->kind)
            continue;
        p->changed[k] = describe_change(now, &before, &p->plan.arena);
    }
    return 0;
}

/* Makes the memory of a training that of one of its processes on the device. One that is done may
 * be redone. */
static int find_memory(struct planning *p, struct err *e)
{
    const struct shape_gpu *gpu = shape_find_gpu(p->device.description);
    for (int32_t i = 0; p->ranks_n > 1 && i < p->plan.runs_n; i++) {
        struct plan_run *r = &p->plan.run[i];
        if (r->spec.kind != SPEC_TRAIN || spec_is_source(&r->spec)) continue;
        int rc = shape_check_ranks(r->spec.train.shards, p->ranks_n, e);
        if (rc < 0) return err_ctx(e, "--ranks: run %s", r->run_id), rc;
        r->cost.device_bytes = shape_rank_bytes(&r->spec, p->ranks_n, gpu);
    }
    return 0;
}

int planning_open(struct planning *p, const struct project *project, const char *const *artefacts,
                  int32_t n, const struct plan_options *o, const char *devices, struct store *store,
                  struct err *e)
{
    struct arena scratch;
    int rc = 0;

    *p = (struct planning){.ranks_n = o->ranks_n > 0 ? o->ranks_n : 1};
    arena_init(&scratch);
    TRY_OUT(rc, plan_open(&p->plan, project, artefacts, n, o, e));
    p->state = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->state);
    p->seconds = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->seconds);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        if (store) TRY_OUT(rc, store_run_state(store, r->run_id, &p->state[i], e));
        if (spec_is_source(&r->spec)) continue; /* no work of this program */
        p->runs_n++;
        p->trainings_n += r->spec.kind == SPEC_TRAIN;
        p->evaluations_n += r->spec.kind == SPEC_EVAL;
        p->benchmarks_n += r->spec.kind == SPEC_BENCH;
        p->done_n += p->state[i].done;
        p->undefined_n += !p->state[i].done && !spec_is_defined(&r->spec);
    }
    TRY_OUT(rc, find_models(p, project, e));
    TRY_OUT(rc, find_gone(p, store, project, e));
    planning_find_settings(p, &scratch);
    TRY_OUT(rc, find_changes(p, &scratch, store, e));
    TRY_OUT(rc, planning_find_device(p, devices, &scratch, e));
    TRY_OUT(rc, find_memory(p, e));
    TRY_OUT(rc, planning_estimate(p, store, e));
out:
    arena_fini(&scratch);
    if (rc < 0) plan_close(&p->plan);
    return rc;
}

int planning_check_precision(const struct planning *p, struct err *e)
{
    for (int32_t i = 0; p->unusable.code == 0 && i < p->plan.runs_n; i++)
        if (!p->state[i].done) TRY(spec_check_device(&p->plan.run[i].spec, p->device.name, e));
    return 0;
}

bool planning_is_published(const struct planning *p, int32_t run)
{
    const struct spec *s = &p->plan.run[run].spec;

    return !p->state[run].done && s->kind == SPEC_TRAIN && s->train.origin == SPEC_AUTHORS;
}

/* Returns the nearest training that this run needs and that diverged, or -1. */
static int32_t needs_diverged(const struct planning *p, int32_t run)
{
    int32_t i = p->plan.run[run].train;

    while (i >= 0 && (p->state[i].done || p->state[i].last != STORE_DIVERGED))
        i = p->plan.run[i].train;
    return i;
}

char *planning_why(const struct planning *p, int32_t run, struct arena *a)
{
    const struct store_run_state *s = &p->state[run];
    int32_t train = p->plan.run[run].train, diverged = needs_diverged(p, run);
    const char *again = s->failures_n > 1 ? arena_printf(a, " %d times", s->failures_n) : "";

    if (s->done) return arena_strdup(a, p->gone[run] ? "done, but its checkpoint is gone" : "done");
    if (train >= 0 && p->gone[train] && spec_is_defined(&p->plan.run[run].spec))
        return arena_printf(a, "cannot run: the checkpoint of its %s is gone",
                            p->plan.run[run].spec.kind == SPEC_EVAL ? "training" : "parent");
    if (diverged >= 0)
        return arena_printf(a, "cannot run: %s diverged", p->plan.run[diverged].run_id);
    if (!spec_is_defined(&p->plan.run[run].spec))
        return arena_strdup(a, "not defined beyond L_train; will not run");
    if (planning_is_published(p, run)) return arena_strdup(a, "to fetch by `alibi run`");
    if (p->plan.run[run].spec.kind == SPEC_TRAIN && is_pretrained(&p->plan.run[run]))
        return arena_strdup(a, p->model[run] ? "imported" : "not imported");
    if (s->last == STORE_NONE)
        return p->changed[run] ? arena_printf(a, "new: %s", p->changed[run])
                               : arena_strdup(a, "new");
    if (s->last == STORE_CANCELLED) return arena_strdup(a, "cancelled; resumes");
    if (s->last == STORE_RUNNING) return arena_strdup(a, "running, or its scheduler died");
    if (s->last == STORE_DONE) return arena_strdup(a, "will be redone");
    return arena_printf(a, "%s%s: %s", store_state_name(s->last), again, s->last_message);
}
