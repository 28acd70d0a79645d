/* evaluate.c - evaluations of one checkpoint: perplexity of a split under one or more protocols.
 *
 * 1. The checkpoint is the best or the last one recorded by the newest attempt of the training that
 *    ended `done`. Its hash is verified, and its spec must be the training's. Nothing is recorded
 *    if the folder of a pretrained model has changed meanwhile.
 * 2. Every evaluation checks that it scored exactly the targets of its protocol. Scores that are
 *    not finite are counted; perplexity and loss are then null.
 * 3. Log-probabilities are summed in double in the order of the text.
 * 4. Sliding evaluations with stride 1 that differ only in length share one pass (struct scores).
 *    Their eval_wps is unknown, their peak memory is that of the pass, and each has an equal share
 *    of its wall_seconds.
 * 5. eval_wps: targets per second of the pass without its first batch, which is warm-up; of the
 *    whole pass if it has only one batch.
 * 6. With a datastore, evaluations that differ only in temperature and lambda share one pass and
 *    one search. Their hits are not known.
 * 7. Losses are also summed by bins of targets, which add up to the evaluation:
 *    - by position in the window, in ranges that do not depend on the window: two per octave. They
 *      end at every power of two and halfway to the next, therefore also at the lengths of the
 *      paper;
 *    - by contiguous parts of the protocol's targets, 64 of them of the same size but for one
 *      target, for paired comparisons of evaluations with the same targets;
 *    - by the classes of the corpus, if it has some (data/classes.h), with the number of hits.
 * 8. The file of losses has a header and a line for each target: its number in the split from 0,
 *    its id and its loss in nats, separated by tabs. It is complete or absent. */
#include "worker/evaluate.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "data/corpus.h"
#include "interchange/interchange.h"
#include "model/model.h"
#include "source/source.h"
#include "worker/datastore.h"
#include "worker/heads.h"
#include "worker/neighbours.h"
#include "worker/score.h"
#include "worker/state.h"
#include "worker/weights.h"

enum binning { BY_POSITION, BY_PART, BY_CLASS, BINNINGS_N };

/* The scores of one evaluation so far. */
struct sums {
    double logp; /* nats, sum of finite scores */
    int64_t scored_n, nonfinite_n;
    bool recorded;
    struct bin_sum {
        double nll; /* nats; not finite if one of them is not */
        int64_t targets_n, hits_n;
    } by[BINNINGS_N][RECORD_BINS_MAX];
};
_Static_assert((int)CLASSES_MAX == (int)RECORD_BINS_MAX, "a record has room for every class");

/* The parts of a pass with a datastore. */
struct mixing {
    struct neighbours search;
    struct model *untrained; /* that computes the keys of targets; NULL: the evaluated one does */
    struct scores keys;      /* of `untrained` */
    double *weight;          /* of a target's neighbours */
};

struct evaluate {
    struct worker *worker;
    struct source weights;
    struct spec trained; /* spec of the training, from the checkpoint */
    struct corpus corpus;
    struct datastore_options options; /* of the datastore of all specs */
    struct datastore datastore;       /* keys_own NULL: none */
    double *unigram;                  /* (V) its share of each word, for SPEC_KNN_UNIGRAM */
    struct sums *sums;                /* of each spec; in the arena, as the next */
    int32_t *member;                  /* specs of the current pass, by rising length */
    int32_t members_n;
    int64_t targets_done, targets_total; /* of all passes, for progress */
    int64_t pass_us, first_batch_us;     /* start of the pass and of its second batch */
    int64_t first_batch_scored;
    struct file_writer *losses; /* NULL: none */
};

_Static_assert((int)SPEC_VALID == CORPUS_VALID && (int)SPEC_TEST == CORPUS_TEST,
               "a spec's split is an index of corpus.split");

static const struct spec_eval *eval_of(const struct evaluate *v, int32_t i)
{
    return &v->worker->spec[i].eval;
}

static int32_t stride_of(const struct spec_eval *s)
{
    return s->window == SPEC_SLIDING ? s->stride : s->L;
}

static int make_windows(struct windows *out, const struct evaluate *v, int32_t i, struct err *e)
{
    const struct spec_eval *s = eval_of(v, i);
    return windows_make(out, &v->corpus.split[s->split],
                        s->window == SPEC_ROLLING ? WINDOWS_ROLLING : WINDOWS_STRIDE, s->L,
                        stride_of(s), s->targets, e);
}

/* --- preparing --- */

static int check_same_weights(const struct evaluate *v, struct err *e)
{
    const struct spec_eval *first = eval_of(v, 0);

    for (int32_t i = 1; i < v->worker->specs_n; i++) {
        const struct spec_eval *s = eval_of(v, i);
        if (strcmp(s->train_run, first->train_run) != 0 || s->checkpoint != first->checkpoint ||
            s->precision != first->precision || !spec_same_datastore(&s->knn, &first->knn))
            return ERR(e, ERR_DATA,
                       "evaluations %s and %s of one attempt differ in training, checkpoint, "
                       "precision or datastore",
                       v->worker->run_id[0], v->worker->run_id[i]);
    }
    return 0;
}

static void count_words(struct evaluate *v)
{
    const struct tokens *text = &v->corpus.split[CORPUS_TRAIN];
    int64_t n = v->options.knn.keys;
    int32_t id;

    v->unigram = arena_array(&v->worker->arena, (size_t)v->corpus.vocab, sizeof *v->unigram);
    for (int64_t i = 0; i < n; i++) {
        tokens_read(text, i, 1, &id);
        v->unigram[id] += 1.0 / (double)n;
    }
}

/* Builds the datastore of the specs, if they have one. */
static int get_datastore(struct evaluate *v, struct err *e)
{
    struct spec s = v->trained;

    s.kind = SPEC_EVAL;
    s.eval = *eval_of(v, 0);
    if (s.eval.knn.neighbours == 0) return 0;
    TRY(spec_check(&s, e)); /* now that the text is known */
    v->options = (struct datastore_options){.worker = v->worker,
                                            .source = &v->weights,
                                            .corpus = &v->corpus,
                                            .knn = spec_datastore(&s.eval, &v->trained),
                                            .more = v->targets_total};
    if (s.eval.knn.control == SPEC_KNN_UNIGRAM) {
        count_words(v);
        return 0;
    }
    TRY(datastore_build(&v->datastore, &v->options, e));
    v->targets_done += v->datastore.n;
    v->targets_total += v->datastore.n;
    return 0;
}

/* Hashing a large folder takes minutes, in which a stop may be requested. */
static int keep_alive(void *context, double share, struct err *e)
{
    struct worker *a = context;

    (void)share;
    if (worker_stop_requested(a))
        return ERR(e, ERR_INTERRUPTED, "stopped while opening the model; rerun the command");
    return worker_progress(a, 0, 1, (double)NAN, (double)NAN, e);
}

/* Refuses a corpus without the ids of the model's tokenizer. A training's spec has the fingerprint
 * of its text. */
static int check_corpus(const struct evaluate *v, struct err *e)
{
    const char *expected = v->weights.tokenizer;

    if (!expected || strcmp(expected, v->corpus.tokenizer_sha256) == 0) return 0;
    return ERR(e, ERR_DATA,
               "data/%s has not the ids of the model's tokenizer (%.12s…); prepare the text with "
               "`alibi data prepare NAME --tokenizer %s --text DIR`",
               v->corpus.name, expected, v->weights.path);
}

static int prepare_pass(struct evaluate *v, struct err *e)
{
    struct worker *a = v->worker;
    const struct spec_eval *s = eval_of(v, 0);
    struct windows w;

    v->sums = arena_array(&a->arena, (size_t)a->specs_n, sizeof *v->sums);
    v->member = arena_array(&a->arena, (size_t)a->specs_n, sizeof *v->member);
    TRY(check_same_weights(v, e));
    TRY(source_open(&v->weights, a->project, s->train_run, s->checkpoint, keep_alive, a, e));
    v->trained = v->weights.spec;
    TRY(corpus_open_for(&v->corpus, a->project, &v->trained, e));
    TRY(check_corpus(v, e));
    for (int32_t i = 0; i < a->specs_n; i++) {
        TRY(make_windows(&w, v, i, e));
        v->targets_total += w.targets_n;
    }
    TRY(worker_progress(a, 0, v->targets_total, (double)NAN, (double)NAN, e));
    return get_datastore(v, e);
}

/* --- a pass --- */

static bool shares_rows(const struct spec *x, const struct spec *y)
{
    static const char *const but[] = {"eval.L", "eval.attention_rows", NULL};

    return stride_of(&x->eval) == 1 && stride_of(&y->eval) == 1 && spec_alike(x, y, but);
}

static bool mixes(const struct evaluate *v)
{
    return eval_of(v, v->member[0])->knn.neighbours > 0;
}

static bool shares_search(const struct spec *x, const struct spec *y)
{
    static const char *const but[] = {"eval.knn_temperature", "eval.knn_lambda",
                                      "eval.attention_rows", NULL};

    return x->eval.knn.neighbours > 0 && spec_alike(x, y, but);
}

/* Sets up the pass of evaluation i and of those that share its search, or its rows, which needs
 * windows that are scored like prefixes of longer ones. */
static void gather_members(struct evaluate *v, int32_t i)
{
    const struct spec s = spec_evaluated(&v->trained, eval_of(v, i)), *all = v->worker->spec;
    const struct position_shape shape = spec_position_shape(&s);
    bool mixed = eval_of(v, i)->knn.neighbours > 0;
    bool prefixes = !mixed && !position_follows_length((int32_t)s.model.position, &shape);

    v->members_n = 0;
    for (int32_t k = i; k < v->worker->specs_n; k++) {
        if (v->sums[k].recorded) continue;
        bool joins = k == i || (prefixes && shares_rows(&all[i], &all[k])) ||
                     shares_search(&all[i], &all[k]);
        if (!joins) continue;
        int32_t at = v->members_n++;
        for (; at > 0 && eval_of(v, v->member[at - 1])->L > eval_of(v, k)->L; at--)
            v->member[at] = v->member[at - 1];
        v->member[at] = k;
    }
}

/* Returns the bin of a position counted from 0. Bins are 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, 16-23
 * and so on. */
static int32_t bin_of(int32_t at)
{
    if (at < 2) return at;
    int32_t octave = 31 - __builtin_clz((unsigned)at);
    return 2 * octave + (at >> (octave - 1) & 1);
}

int32_t evaluate_bin_first(int32_t bin)
{
    return bin < 2 ? bin : (2 + (bin & 1)) << (bin / 2 - 1);
}

/* The first target of a part. */
static int64_t part_first(int64_t part, int64_t targets_n)
{
    return (part * targets_n + RECORD_BINS_MAX - 1) / RECORD_BINS_MAX;
}

static int write_loss(struct evaluate *v, const struct tokens *tokens, const struct score *x,
                      struct err *e)
{
    char line[80];
    int32_t id;

    tokens_read(tokens, x->target, 1, &id);
    int n = snprintf(line, sizeof line, "%" PRId64 "\t%" PRId32 "\t%.17g\n", x->target, id,
                     0.0 - (double)x->logp);
    return file_writer_add(v->losses, line, (size_t)n, e);
}

/* Adds a score to all sums of an evaluation with so many targets. */
static int add_score(struct evaluate *v, const struct score *x, int64_t targets_n, struct err *e)
{
    int32_t i = v->member[x->which];
    struct sums *sum = &v->sums[i];
    const unsigned char *class_of = v->corpus.class_of[eval_of(v, i)->split].data;
    const int32_t number[BINNINGS_N] = {bin_of(x->at),
                                        (int32_t)(x->target * RECORD_BINS_MAX / targets_n),
                                        class_of ? class_of[x->target] : 0};

    for (int k = 0; k < (class_of ? BINNINGS_N : BY_CLASS); k++) {
        struct bin_sum *bin = &sum->by[k][number[k]];
        bin->nll -= (double)x->logp;
        bin->targets_n++;
        bin->hits_n += x->hit;
    }
    sum->scored_n++;
    if (isfinite(x->logp))
        sum->logp += (double)x->logp;
    else
        sum->nonfinite_n++;
    return v->losses ? write_loss(v, &v->corpus.split[eval_of(v, i)->split], x, e) : 0;
}

/* The probability that the datastore gives a target. near: its neighbours, or NULL. */
static double mixed_share(const struct evaluate *v, const struct neighbour *near, double *weight,
                          double temperature, int32_t target)
{
    int32_t k = eval_of(v, v->member[0])->knn.neighbours;
    double p = 0.0;

    if (!near) return v->unigram[target];
    neighbours_weigh(weight, near, k, temperature);
    for (int32_t i = 0; i < k; i++)
        if (isnan(weight[i]) || v->datastore.values_own[near[i].key] == target) p += weight[i];
    return p;
}

/* Searches the keys of a batch's targets, and adds a score of each for every member. */
static int add_mixed(struct evaluate *v, const struct scores *s, struct mixing *x, struct err *e)
{
    const float *queries = x->untrained ? x->keys.keys : s->keys;

    if (!v->unigram) TRY(neighbours_find(&x->search, queries, (int32_t)s->n, e));
    for (int64_t i = 0; i < s->n; i++) {
        const struct neighbour *near = v->unigram ? NULL : neighbours_of(&x->search, (int32_t)i);
        int32_t target = s->target[s->position[s->item[i].index]];
        for (int32_t k = 0; k < v->members_n; k++) {
            const struct spec_knn *knn = &eval_of(v, v->member[k])->knn;
            double p = mixed_share(v, near, x->weight, knn->temperature, target);
            struct score mixed = s->item[i];
            mixed.which = k;
            mixed.logp = (float)neighbours_mix((double)mixed.logp, p, knn->lambda);
            TRY(add_score(v, &mixed, s->options.windows.targets_n, e));
        }
    }
    return 0;
}

/* Reports progress before each batch and in a search, and ends the pass if a stop was requested. */
static int tick_worker(void *context, struct err *e)
{
    struct evaluate *v = context;
    int64_t scored = 0;

    for (int32_t i = 0; i < v->members_n; i++) scored += v->sums[v->member[i]].scored_n;
    if (scored > 0 && v->first_batch_us == 0) {
        v->first_batch_us = clock_monotonic_us();
        v->first_batch_scored = scored;
    }
    TRY(worker_check_stop(v->worker, e));
    double seconds = 1e-6 * (double)(clock_monotonic_us() - v->pass_us);
    return worker_progress(v->worker, v->targets_done + scored, v->targets_total, (double)NAN,
                           scored > 0 ? (double)scored / seconds : (double)NAN, e);
}

static int mixing_open(struct mixing *x, struct evaluate *v, const struct shape_capacity *capacity,
                       struct score_options *o, struct err *e)
{
    const struct spec_knn *knn = &eval_of(v, v->member[0])->knn;
    const struct spec s = spec_evaluated(&v->trained, eval_of(v, v->member[0]));
    const struct neighbours_options search = {.backend = v->worker->backend,
                                              .keys = v->datastore.keys_own,
                                              .keys_n = v->datastore.n,
                                              .width = v->trained.model.dim,
                                              .k = knn->neighbours,
                                              .queries_max = (int32_t)capacity->scored_max,
                                              .tick = tick_worker,
                                              .context = v};
    struct score_options keys = *o;

    *x = (struct mixing){0};
    if (v->unigram) return 0;
    x->weight = arena_array(&v->worker->arena, (size_t)knn->neighbours, sizeof *x->weight);
    TRY(neighbours_open(&x->search, &search, e));
    o->keys = knn->control == SPEC_KNN_UNTRAINED ? SCORE_NO_KEYS : SCORE_AND_KEYS;
    if (o->keys == SCORE_AND_KEYS) return 0;
    keys.keys = SCORE_ONLY_KEYS;
    TRY(datastore_model(&x->untrained, &v->options, &s, capacity, e));
    keys.model = x->untrained;
    scores_open(&x->keys, &keys);
    return 0;
}

static void mixing_close(struct mixing *x)
{
    if (x->search.options.backend) neighbours_close(&x->search);
    if (x->untrained) scores_close(&x->keys);
    model_close(x->untrained);
}

static int score_windows(struct evaluate *v, struct model *m, const struct windows *w,
                         const struct shape_capacity *capacity, struct err *e)
{
    int32_t *L = arena_array(&v->worker->arena, (size_t)v->members_n, sizeof *L);
    bool mixed = mixes(v);
    struct score_options o = {.model = m,
                              .rows = capacity->rows_max,
                              .windows = *w,
                              .L = v->members_n > 1 && !mixed ? L : NULL,
                              .L_n = v->members_n,
                              .width = v->trained.model.dim};
    struct mixing x = {0};
    struct scores scores;
    int rc = 0;

    for (int32_t i = 0; i < v->members_n; i++) L[i] = eval_of(v, v->member[i])->L;
    v->pass_us = clock_monotonic_us();
    v->first_batch_us = v->first_batch_scored = 0;
    if (mixed) rc = mixing_open(&x, v, capacity, &o, e);
    scores_open(&scores, &o);
    while (rc == 0 && scores.rows_left > 0) {
        rc = tick_worker(v, e);
        if (rc == 0) rc = scores_next(&scores, e);
        if (rc == 0 && x.untrained) rc = scores_next(&x.keys, e);
        if (rc == 0 && mixed) rc = add_mixed(v, &scores, &x, e);
        for (int64_t i = 0; rc == 0 && !mixed && i < scores.n; i++)
            rc = add_score(v, &scores.item[i], w->targets_n, e);
    }
    scores_close(&scores);
    mixing_close(&x);
    return rc;
}

/* Targets per second of the pass; NaN if it was shared. */
static double measured_wps(const struct evaluate *v, int64_t targets_n)
{
    int64_t from_us = v->first_batch_us ? v->first_batch_us : v->pass_us;
    int64_t us = clock_monotonic_us() - from_us;

    if (v->members_n > 1 || us <= 0) return (double)NAN;
    return (double)(targets_n - v->first_batch_scored) / (1e-6 * (double)us);
}

/* The bins of evaluation i that have targets. */
static struct record_bins bins_of(const struct evaluate *v, int32_t i, enum binning by)
{
    struct record_bins bins = {0};
    const struct sums *sum = &v->sums[i];
    int32_t L = eval_of(v, i)->L;

    for (int32_t k = 0; k < RECORD_BINS_MAX; k++) {
        const struct bin_sum *bin = &sum->by[by][k];
        struct record_bin *b = &bins.bin[bins.n];
        if (bin->targets_n == 0) continue;
        *b = (struct record_bin){.first = k,
                                 .last = k,
                                 .targets = bin->targets_n,
                                 .nll = bin->nll,
                                 .hits = by == BY_CLASS && eval_of(v, i)->knn.neighbours == 0
                                             ? bin->hits_n
                                             : RECORD_NONE,
                                 .name = by == BY_CLASS ? v->corpus.classes.name[k] : NULL};
        if (by == BY_POSITION) {
            int32_t last = evaluate_bin_first(k + 1);
            b->first = evaluate_bin_first(k) + 1;
            b->last = last < L ? last : L;
        } else if (by == BY_PART) {
            b->first = part_first(k, sum->scored_n) + 1;
            b->last = part_first(k + 1, sum->scored_n);
        }
        bins.n++;
    }
    return bins;
}

static int record_evaluation(struct evaluate *v, int32_t i, int64_t targets_n, double wps,
                             int64_t peak, double seconds, struct err *e)
{
    struct sums *sum = &v->sums[i];
    struct worker *a = v->worker;
    double loss = sum->nonfinite_n ? (double)NAN : -sum->logp / (double)targets_n;

    if (sum->scored_n != targets_n)
        return ERR(e, ERR_INTERNAL,
                   "evaluation %s scored %" PRId64 " targets, but its protocol has %" PRId64,
                   a->run_id[i], sum->scored_n, targets_n);
    enum corpus_split split = (enum corpus_split)eval_of(v, i)->split;
    const struct corpus_text *text = &v->corpus.text[split];
    bool cut = *v->corpus.tokenizer_sha256, whole = cut && targets_n == v->corpus.split[split].n;
    const struct record r = {
        .type = EVENT_EVALUATED,
        .evaluated = {.run_id = a->run_id[i],
                      .peak_memory_bytes = peak,
                      .wall_seconds = seconds,
                      .loss_nats = loss,
                      .perplexity = exp(loss),
                      .tokens = targets_n,
                      .nonfinite = sum->nonfinite_n,
                      .eval_wps = wps,
                      .checkpoint_sha256 = v->weights.sha256,
                      .bins = bins_of(v, i, BY_POSITION),
                      .blocks = bins_of(v, i, BY_PART),
                      .groups = bins_of(v, i, BY_CLASS),
                      .datastore_sha256 = v->datastore.keys_own ? v->datastore.sha256 : NULL,
                      .bytes = whole ? text->bytes : RECORD_NONE,
                      .words = whole ? text->words : RECORD_NONE,
                      .documents = whole ? text->documents : RECORD_NONE,
                      .tokenizer = cut ? v->corpus.tokenizer : NULL,
                      .tokenizer_sha256 = cut ? v->corpus.tokenizer_sha256 : NULL}};
    TRY(record_write(a->events, &r, e));
    sum->recorded = true;
    v->targets_done += targets_n;
    return 0;
}

/* Measures peak memory from here on, or from the start of the process if the system cannot. */
static void reset_peak(void)
{
    /* Linux: writing 5 resets the peak resident size to the current one; GPU memory is not
     * affected. */
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    dprintf(fd, "5");
    close(fd);
}

/* Opens a model for each pass, because the shape of batches differs; this is cheap compared with
 * the pass. */
static int run_pass(struct evaluate *v, int32_t first, struct err *e)
{
    struct worker *a = v->worker;
    struct model *m = NULL;
    struct windows w;
    struct shape_capacity capacity;
    int64_t peak = 0, from_us = clock_monotonic_us();
    int rc = 0;

    gather_members(v, first);
    const struct spec_eval *longest = eval_of(v, v->member[v->members_n - 1]);
    TRY(make_windows(&w, v, v->member[0], e));
    shape_capacity_scores(&capacity, longest->L, w.stride, mixes(v) ? 1 : v->members_n,
                          longest->precision);
    capacity.keys = mixes(v) && !v->unigram;
    capacity.streamed = weights_are_streamed(&v->weights, a);
    capacity.hits = !mixes(v) && v->corpus.class_of[longest->split].data != NULL;
    const struct spec spec = spec_evaluated(&v->trained, longest);
    reset_peak();
    TRY_OUT(rc, model_open(&m, a->backend, &spec, &capacity, e));
    TRY_OUT(rc, weights_of_source(&v->weights, a, m, e));
    TRY_OUT(rc, score_windows(v, m, &w, &capacity, e));
    double wps = measured_wps(v, w.targets_n);
    TRY_OUT(rc, source_check(&v->weights, e));
    TRY_OUT(rc, worker_peak_bytes(a, &peak, e));
    for (int32_t i = 0; i < v->members_n; i++)
        TRY_OUT(rc, heads_record(a, v->member[i], &v->trained, m,
                                 &v->corpus.split[eval_of(v, v->member[i])->split], e));
    double seconds = 1e-6 * (double)(clock_monotonic_us() - from_us) / v->members_n;
    for (int32_t i = 0; i < v->members_n; i++)
        TRY_OUT(rc, record_evaluation(v, v->member[i], w.targets_n, wps, peak, seconds, e));
out:
    model_close(m);
    return rc;
}

static int open_losses(struct evaluate *v, const char *path, struct err *e)
{
    static const char head[] = "position\ttoken\tloss_nats\n";

    TRY(file_writer_open_named(&v->losses, path, e));
    return file_writer_add(v->losses, head, sizeof head - 1, e);
}

int evaluate_run(struct worker *a, struct err *e)
{
    struct evaluate v = {.worker = a};
    int rc = 0;

    TRY_OUT(rc, prepare_pass(&v, e));
    if (a->options->losses) TRY_OUT(rc, open_losses(&v, a->options->losses, e));
    for (int32_t i = 0; i < a->specs_n; i++)
        if (!v.sums[i].recorded) TRY_OUT(rc, run_pass(&v, i, e));
out:
    rc = file_writer_close(v.losses, rc, e);
    datastore_close(&v.datastore);
    source_close(&v.weights);
    corpus_close(&v.corpus);
    return rc;
}
