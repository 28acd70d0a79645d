/* columns.c - the views of results.db with their columns, and what a row and a column means, for
 * `alibi query --views`. A test compares the names with those of views.sql. */
#include "store/store.h"

#include <string.h>

#include "store/database.h"
#include "store/schema.h"

struct note {
    const char *names, *text; /* names: separated by spaces */
};

/* A row of each view. */
static const struct note views[] = {
    {"evaluations", "an evaluation"},
    {"evaluation_results", "the same without all_settings, faster to join"},
    {"current_evaluations", "the same, with the columns that views of its parts share"},
    {"position_loss", "a range of positions in the windows of an evaluation"},
    {"extrapolation", "an evaluation: the loss beyond L_train beside that within it, same rows"},
    {"attention", "an attention head of an evaluation with eval.attention_rows, for each text"},
    {"attention_rollout", "a distance from the last word, through the first layers of a head"},
    {"target_groups", "a class of the targets of an evaluation, as the corpus names it"},
    {"target_blocks", "one of 64 equal parts of the targets of an evaluation, in order"},
    {"artefact_evaluations", "an evaluation, for each point of a grid that asks for it"},
    {"trainings", "a training, or a model made elsewhere that stands for one"},
    {"benchmarks", "a speed and memory run that had its machine alone"},
    {"curves", "a step of a training (thinned), or a validation during it"},
    {"comparison", "a cell of an artefact: the mean over seeds, and the paper's number"},
    {"wanted_evaluations", "an evaluation that an artefact asks for, with a result or without"},
    {"wanted_benchmarks", "a benchmark that an artefact asks for, with a result or without"},
    {"paper_values", "a number of the paper"},
    {"claims", "a claim's verdict, as of the last `alibi run` of its artefact"},
    {"attempts", "one execution of a run, with any outcome"},
    {"run_list", "a run that some artefact has asked for"},
    {"artefact_points", "a point of a grid, and its run"},
    {"settings", "a setting of a run; an evaluation also has those of its training"},
    {"evaluation_settings", "an evaluation that was asked for, and its own settings"},
    {"training_settings", "a training, and the settings that tell it from similar ones"},
    {"grid_settings", "a run of a grid, and the settings in which its trainings differ"},
    {"run_origins", "a training that some artefact has asked for"},
    {"position_methods", "a position method"},
    {"progress", "a run in progress"},
};

/* Columns that several views have mean the same in all of them. */
static const struct note columns[] = {
    {"artefact", "the artefact; `table5 --set train.lr=2` if its grid ran so; `table5 (earlier)`: "
                 "of points that an edited grid does not ask for"},
    {"point", "number of the point in the grid"},
    {"claim", "name of the claim"},
    {"statement", "the claim in words"},
    {"verdict", "supported, contradicted, mixed, not judged or not run"},
    {"evidence", "the numbers of its cases in words"},
    {"effect", "the effect of the case nearest to its bound"},
    {"error", "standard error of the effect: over seeds, or of its targets with one seed"},
    {"low high", "the 95 % interval of the effect, from five seeds on"},
    {"threshold", "the bound of the effect"},
    {"runs", "ids of the runs that the claim reads, with spaces between them"},
    {"codes", "commits that made them"},
    {"cases", "its cases, a JSON array"},
    {"scale", "a number of one scale is never shown as another's; none: a grid exactly as written"},
    {"modified", "1: changed by --set, or by an axis that replaces a setting of the scale; at "
                 "scale paper, of a shipped artefact: not in paper_configs.txt"},
    {"kind", "train, eval or bench"},
    {"dataset", "name of the text in the paper"},
    {"corpus", "the folder under data/ with the token files"},
    {"model", "label of the model"},
    {"position", "position method"},
    {"method", "name of the position method in the paper's tables"},
    {"display", "name of the method in tables"},
    {"place", "order of the method in the paper's tables"},
    {"style", "colour and point of the method in figures"},
    {"bounded", "1: the method is not defined beyond L_train"},
    {"trained_on", "the training length, such as L=64 (512)"},
    {"L_train", "tokens per row of the training, as run"},
    {"L_valid", "tokens per row of the evaluation, as run; of a benchmark: if it is not L_train"},
    {"L_train_nominal L_valid_nominal stride_nominal", "the paper's, which a scale divides"},
    {"split", "train, valid or test"},
    {"protocol", "nonoverlapping, sliding, or rolling as in lm-eval: the last window of a document "
                 "reaches back to L_valid tokens"},
    {"stride", "targets per sliding window; NULL for other windows"},
    {"first_window", "how sliding begins; NULL for other windows"},
    {"precision", "fp32 or bf16"},
    {"seed", "seed of the training; a model made elsewhere has none (0)"},
    {"seeds", "how many seeds the mean is over"},
    {"checkpoint", "which checkpoint of the training: best or last"},
    {"targets", "how many targets are to be scored (0: all); of a bin or class, those in it"},
    {"targets_asked", "how many targets are to be scored; 0: all"},
    {"tokens", "tokens that were scored"},
    {"nonfinite", "how many of the tokens have a loss that is not finite"},
    {"loss_nats", "mean loss in nats a token; NULL where nonfinite > 0"},
    {"perplexity", "exp(loss_nats)"},
    {"final_loss_nats", "the training's last loss in nats a token"},
    {"bits_per_byte", "loss of the whole split over its bytes, in bits, as lm-eval 0.4; NULL where "
                      "a part was scored, or no tokenizer cut the text"},
    {"byte_perplexity", "exp of the loss over bytes, likewise"},
    {"word_perplexity", "exp of the loss over words, likewise"},
    {"bytes documents", "of the text that was scored, before the tokenizer cut it"},
    {"words", "of the text that was scored: the pieces between runs of white space, with an empty "
              "one at each end of a document that has some"},
    {"tokenizer",
     "the tokenizer that cut the text; NULL: the words of dict.txt. Perplexities a token of "
     "different tokenizers are not comparable, bits per byte of one text are"},
    {"tokenizer_sha256", "hash of the tokenizer"},
    {"first last",
     "range of positions in the window, from 1, two ranges an octave: a prediction at position p "
     "has read p tokens. In target_blocks: of targets in the split, from 1; in extrapolation: the "
     "last position that counts"},
    {"nll", "sum of the losses of these targets in nats; over a run it is loss_nats times tokens"},
    {"near_nats far_nats",
     "mean loss at positions p of the same rows: near L_train / 2 < p <= L_train, "
     "far L_train < p <= 6 L_train"},
    {"near_targets far_targets", "targets at these positions"},
    {"difference_nats",
     "far_nats - near_nats: failing positions raise it; fewer early tokens, which "
     "lower the perplexity of longer rows, do not change it"},
    {"standard_error", "that of difference_nats, rather too large: as of two independent samples"},
    {"number", "number of the class of targets, from 0"},
    {"name", "name of the class of targets"},
    {"hits", "targets that are the most probable word (of equally probable ones the lowest id)"},
    {"accuracy", "share of hits in targets"},
    {"text", "natural: the first rows of the split; random: random words; repeated: one word"},
    {"layer head", "number of the layer and of the head, from 1"},
    {"layers", "the product is of the first so many layers"},
    {"first_weight", "weight of a row's first word, mean over rows and the words that look"},
    {"entropy", "entropy of the weights in nats, mean over rows and the words that look"},
    {"distance", "distance of the word that is looked at; in attention its mean over rows and the "
                 "words that look"},
    {"logit_low logit_high", "extremes of the scores without the bias"},
    {"slope", "m of a bias -m * distance; NULL: another bias"},
    {"bound_excess", "the most, in nats, by which a weight leaves the bounds that follow from "
                     "slope and scores"},
    {"weight", "weight of a word at this distance, in the product of a head's matrices of weights, "
               "mean over rows"},
    {"rows", "rows in a batch, of a benchmark in mode eval: 1 means one window at a time; of "
             "attention: rows that were read"},
    {"train_wps wps", "words (= tokens) a second after warm-up"},
    {"eval_wps",
     "words (= tokens) a second after warm-up; NULL: several evaluations shared the pass"},
    {"alone_wps alone_memory_bytes alone_device",
     "of the training's benchmark in the same artefact, on an otherwise idle machine"},
    {"ranks train_ranks",
     "processes of the training, each on a device of its own; speed, memory and time of different "
     "numbers are not comparable. NULL: not started, or resumed with another number"},
    {"peak_memory_bytes train_memory_bytes", "peak of the run: on a GPU beyond what was in use "
                                             "when its worker opened it, on a CPU of the process"},
    {"noisy alone_noisy", "1: other programs used the machine during the measurement; a report "
                          "marks such a speed and does not judge it"},
    {"mfu", "share of the device's peak FLOP/s, 0 to 1; NULL: the peak is unknown"},
    {"mode", "the measured pass: train or eval"},
    {"batch_tokens", "tokens in a batch"},
    {"tokens_per_update", "tokens in an update"},
    {"updates", "updates of the training"},
    {"parameters", "parameters of the model"},
    {"wall_seconds", "seconds of the run; of a shared pass, an equal share"},
    {"device machine", "the device that it ran on"},
    {"host", "the machine of the attempt"},
    {"backend", "the backend of the attempt: cpu or cuda; none for a model made elsewhere"},
    {"blas", "the BLAS library of the attempt"},
    {"threads", "CPU threads of the attempt"},
    {"slot", "device slot of the worker"},
    {"pid", "process id of the worker"},
    {"started_at ended_at finished_at created_at updated_at judged_at", "UTC, ISO 8601"},
    {"run_id", "hash of the run's spec"},
    {"config_id", "run_id without the seed"},
    {"train_run_id", "the training that the evaluation reads"},
    {"code_id", "the commit that made it"},
    {"program", "the program that made it"},
    {"checkpoint_sha256", "hash of the checkpoint that was read"},
    {"best_sha256 last_sha256", "hash of this checkpoint of the training"},
    {"datastore_sha256", "hash of the values and keys that were searched (kNN-LM); NULL: none"},
    {"origin",
     "of the training: trained here; imported from a checkpoint in its place; authors: published, "
     "another run than one made here; pretrained: a folder that `alibi import` read"},
    {"attempt", "number of the attempt, from 1"},
    {"state", "of a run or attempt: none running done failed diverged lost cancelled; of a number: "
              "why it is missing. A training diverged also if one that it continues did"},
    {"exit_code signal", "how the attempt ended"},
    {"message", "why the attempt ended, in words"},
    {"dir", "folder of the attempt"},
    {"log_path", "log of the attempt"},
    {"merged_from", "the project that the attempt was merged from"},
    {"current_result", "1: views show its result"},
    {"choices", "algorithm choices: GEMM algorithms that the attempt selected by timing"},
    {"result_id attempt_id", "internal numbers, which join views"},
    {"position_scaling position_scaling_factor attention_window attention_sinks",
     "the setting eval.… of this name"},
    {"settings", "of an evaluation: each eval. setting without a column that is not at its "
                 "default; in training_settings those of trainings, in grid_settings both"},
    {"all_settings", "the settings in which trainings differ although their columns agree, then "
                     "those of the evaluation, such as train.lr=0.5 eval.attention_window=64"},
    {"key", "a key of `alibi settings`"},
    {"value",
     "value of the setting; of the paper's number, NULL where the paper ran out of memory"},
    {"spec", "the run's settings, key=value a line"},
    {"ours", "mean over the seeds of one config_id"},
    {"ours_std", "standard deviation over seeds"},
    {"paper", "the paper's number, at scale paper with modified = 0"},
    {"delta", "ours - paper"},
    {"metric", "what is measured"},
    {"unit", "unit of the number"},
    {"panel series params x_name x", "where the paper's number is in its table or figure"},
    {"note", "remark on the paper's number"},
    {"source", "page of the paper"},
    {"line", "line of paper.tsv"},
    {"step", "number of the update"},
    {"epoch", "epoch of the training"},
    {"lr", "learning rate"},
    {"grad_norm", "L2 norm of the gradient before clipping"},
    {"best", "1: the lowest validation loss so far"},
    {"done", "updates or targets so far"},
    {"total", "updates or targets of the whole run"},
};

/* The text about a name, or NULL. */
static const char *note_of(const struct note *note, size_t n, const char *name)
{
    size_t bytes = strlen(name);

    for (size_t i = 0; i < n; i++)
        for (const char *at = note[i].names; *at; at += strspn(at, " ")) {
            size_t word = strcspn(at, " ");
            if (word == bytes && memcmp(at, name, word) == 0) return note[i].text;
            at += word;
        }
    return NULL;
}

static void add_column(struct rows *out, const char *view, int number, const char *column)
{
    struct store_cell *row = arena_array(out->arena, (size_t)out->columns_n, sizeof *row);
    const char *is = note_of(views, sizeof views / sizeof *views, view);
    const char *means = note_of(columns, sizeof columns / sizeof *columns, column);

    row[0] = (struct store_cell){.text = view, .type = 't'};
    row[1] = (struct store_cell){.text = arena_printf(out->arena, "%d", number), .type = 'i'};
    row[2] = (struct store_cell){.text = column, .type = 't'};
    row[3] = (struct store_cell){.text = means, .type = 't'};
    row[4] = (struct store_cell){.text = is, .type = 't'};
    vec_grow(out->arena, &out->row, out->rows_n, &out->room, sizeof *out->row);
    out->row[out->rows_n++] = row;
}

int store_views(struct store *s, struct rows *out, struct arena *a, struct err *e)
{
    static const char prefix[] = "CREATE VIEW ";
    static const char *names[] = {"view", "number", "column", "meaning", "row"};
    struct rows answer;

    *out = (struct rows){.arena = a, .name = names, .columns_n = sizeof names / sizeof *names};
    for (const char *const *sql = schema_views; *sql; sql++) {
        const char *name = *sql + sizeof prefix - 1;
        const char *view = arena_strndup(a, name, strcspn(name, " "));
        TRY(store_columns(s, &answer, a, arena_printf(a, "SELECT * FROM %s", view), NULL, 0, e));
        for (int32_t i = 0; i < answer.columns_n; i++) add_column(out, view, i + 1, answer.name[i]);
    }
    return 0;
}
