/* command_data.c - alibi data list|fetch|prepare|verify: corpora under data/.
 *
 * Fetched files are in data/fetched/: NAME.zip, and NAME/ with train.txt, valid.txt and test.txt,
 * which `prepare` reads for NAME and for each corpus with the text of NAME. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/cli.h"
#include "data/corpus.h"
#include "fetch/fetch.h"
#include "prepare/prepare.h"

enum { NAME_AT = 1 }; /* of the words: the verb, NAME and perhaps texts */

struct data_options {
    struct prepare_options prepare;
    const char *text, *ids, *id_end;
    const char *from, *url, *sha256, *prefix;
};

static void print_corpus(const struct corpus *k)
{
    bool cut = *k->tokenizer;

    cli_print("%-24s %9d %s", k->name, k->vocab, cut ? "ids  " : "words");
    for (int i = 0; i < CORPUS_SPLITS_N; i++) { /* a split without a text leaves its column empty */
        long long n = (long long)k->split[i].n;
        int width = i == CORPUS_TRAIN ? 12 : 9;
        if (n > 0)
            cli_print("  %*lld %s", width, n, corpus_split_name(i));
        else
            cli_print("  %*s", width + 1 + (int)strlen(corpus_split_name(i)), "");
    }
    cli_print("  %.16s%s%s\n", k->fingerprint,
              cut                       ? "  tokenizer "
              : k->floor_perplexity > 0 ? "  synthetic"
                                        : "",
              k->tokenizer);
}

static int list_corpora(struct cli *c, struct err *e)
{
    struct corpus k;
    struct plan_corpus s;
    struct dir d;
    int n = 0;
    int32_t sources_n;
    char **source;

    (void)dir_open(&d, project_path(&c->project, &c->arena, "data"), NULL); /* absent: no names */
    for (int32_t i = 0; i < d.n; i++) {
        if (!str_is_name(d.name_own[i]) || corpus_open(&k, &c->project, d.name_own[i], e) < 0)
            continue;
        print_corpus(&k);
        corpus_close(&k);
        n++;
    }
    dir_close(&d);
    if (n == 0) cli_print("no prepared corpus under %s/data\n", c->project.root);
    for (int32_t i = 0; prepare_embedded(i); i++)
        cli_print("can be generated: %s\n", prepare_embedded(i));
    TRY(plan_corpora(&source, &sources_n, &c->project, &c->arena, e));
    for (int32_t i = 0; i < sources_n; i++) {
        if (plan_corpus_read(&s, &c->project, &c->arena, source[i], e) < 0)
            log_warn("%s", e->text);
        else if (s.url[0])
            cli_print("can be fetched: %s (%s) from %s\n", s.name, s.licence, s.url[0]);
    }
    return 0;
}

/* --- fetch ---------------------------------------------------------------------------------- */

/* Draws the progress of a download, at most every 0.5 MB. */
static void show_download(void *context, int64_t done, int64_t total)
{
    int64_t *shown = context;
    char bar[31];

    if (!isatty(STDERR_FILENO) || (done - *shown < 500000 && done != total)) return;
    *shown = done;
    int filled = total > 0 ? (int)(30 * done / total) : 0;
    for (int i = 0; i < 30; i++) bar[i] = i < filled ? '#' : '.';
    bar[30] = '\0';
    if (total > 0)
        fprintf(stderr, "\r\033[K[%s] %5.1f of %.1f MB%s", bar, (double)done / 1e6,
                (double)total / 1e6, done == total ? "\n" : "");
    else
        fprintf(stderr, "\r\033[K%.1f MB", (double)done / 1e6);
}

/* Downloads from the first URL that responds. */
static int download_archive(const struct plan_corpus *s, const struct data_options *o,
                            const char *path, const char *sha256, struct err *e)
{
    int64_t shown = 0;
    int rc = ERR_UNAVAILABLE;
    struct fetch_options f = {.path = path,
                              .sha256 = sha256,
                              .bytes_max = s->bytes_max,
                              .progress = show_download,
                              .progress_context = &shown};

    for (int i = 0; s->url[i] && rc == ERR_UNAVAILABLE; i++) {
        f.url = o->url ? o->url : s->url[i];
        if (o->url && i > 0) break;
        log_info("fetching %s", f.url);
        rc = fetch_file(&f, e);
        if (rc == ERR_UNAVAILABLE && !o->url) log_warn("%s", e->text);
    }
    if (rc == ERR_UNAVAILABLE)
        err_ctx(e,
                "no URL of %s can be reached; download the archive elsewhere and pass --from FILE",
                s->name);
    return rc;
}

/* The source of a corpus that can be downloaded. */
static int find_source(struct plan_corpus *s, struct cli *c, const char *name, struct err *e)
{
    char **names;
    int32_t n;
    int rc = plan_corpus_read(s, &c->project, &c->arena, name, e);

    if (rc == 0 && !s->url[0])
        return ERR(
            e, ERR_USAGE,
            "%s: %s has no source; prepare your copy with `alibi data prepare %s --text DIR`", name,
            s->path, name);
    if (rc != ERR_NOINPUT) return rc;
    TRY(plan_corpora(&names, &n, &c->project, &c->arena, e));
    return ERR(e, ERR_USAGE, "unknown corpus '%s' (see `alibi data list`)%s", name,
               str_hint(name, (const char *const *)names, (size_t)n).text);
}

static int fetch_corpus(struct cli *c, const char *name, const struct data_options *o,
                        struct err *e)
{
    struct unpack_file files[PLAN_CORPUS_FILES];
    struct plan_corpus s;
    const char *sha256 = o->sha256, *archive = o->from;
    bool there = true;

    TRY(find_source(&s, c, name, e));
    if (!sha256) sha256 = s.sha256;
    if (!hash_is_sha256(sha256))
        return ERR(e, ERR_USAGE, "--sha256: expected 64 lower-case hex digits, found '%.70s'",
                   sha256);
    const char *dir = arena_printf(&c->arena, "%s/data/fetched/%s", c->project.root, s.text);
    for (int i = 0; i < PLAN_CORPUS_FILES; i++) {
        const char *file = arena_printf(&c->arena, "%s.txt", corpus_split_name(i));
        files[i] = (struct unpack_file){s.member[i], file};
        there = there && file_exists(arena_printf(&c->arena, "%s/%s", dir, file));
    }
    if (!there || o->prepare.force) {
        TRY(file_make_dirs(dir, e));
        if (!archive) {
            archive = arena_printf(&c->arena, "%s.zip", dir);
            if (!file_exists(archive) || o->prepare.force)
                TRY(download_archive(&s, o, archive, sha256, e));
        }
        TRY(fetch_check(archive, sha256, e));
        TRY(unpack_files(archive, dir, files, PLAN_CORPUS_FILES, s.bytes_max, e));
    }
    cli_print("%s: train.txt, valid.txt, test.txt in %s%s\nnext: alibi data prepare %s\n", name,
              dir, there && !o->prepare.force ? " already" : "", name);
    return 0;
}

/* --- prepare -------------------------------------------------------------------------------- */

/* The units selected by the options. */
static int read_units(struct data_options *o, struct err *e)
{
    struct encode_options *u = &o->prepare.encode;
    int64_t end = -1;

    if (o->ids && (u->vocab || u->merges))
        return ERR(e, ERR_USAGE, "--vocab-file cannot be combined with --ids");
    if (o->ids && o->text) return ERR(e, ERR_USAGE, "--ids cannot be combined with --text");
    if (u->merges && !u->vocab) return ERR(e, ERR_USAGE, "--merges requires --vocab-file");
    if (o->id_end && (!o->ids || !str_to_int(&end, o->id_end) || end < 0))
        return ERR(e, ERR_USAGE,
                   "--id-end: expected a non-negative id together with --ids, found '%s'",
                   o->id_end);
    u->id_end = end;
    if (!u->id_bytes) u->id_bytes = 2;
    if (u->vocab) u->kind = u->merges ? ENCODE_BPE : ENCODE_WORDPIECE;
    if (o->ids) u->kind = ENCODE_IDS;
    return 0;
}

/* The texts of --tokenizer: the argument of --text and the words after it. */
static int read_documents(struct cli *c, struct data_options *o, struct err *e)
{
    struct prepare_options *p = &o->prepare;

    p->prefix = DOCUMENTS_OWN_PREFIX;
    if (!p->tokenizer && o->prefix) return ERR(e, ERR_USAGE, "--prefix requires --tokenizer");
    if (!p->tokenizer) return 0;
    if (!o->text)
        return ERR(
            e, ERR_USAGE,
            "--tokenizer requires --text FILE..., or --text DIR with train.txt, valid.txt or "
            "test.txt");
    if (o->prefix && (!str_to_int(&p->prefix, o->prefix) || p->prefix < 0))
        return ERR(e, ERR_USAGE, "--prefix: expected an id, found '%s'", o->prefix);
    c->rest.item[NAME_AT] = o->text; /* the words after NAME follow it */
    p->text = c->rest.item + NAME_AT;
    p->text_n = c->rest.n - NAME_AT;
    return 0;
}

static int prepare_text(struct cli *c, struct data_options *o, struct err *e)
{
    struct prepare_options *p = &o->prepare;
    struct plan_corpus file;
    const int64_t started_us = clock_monotonic_us();
    struct corpus k;

    TRY(read_units(o, e));
    TRY(read_documents(c, o, e));
    TRY(workflow_corpus(&file, &p->known, &c->project, &c->arena, p->name, e));
    if (!p->tokenizer) p->text_dir = o->ids ? o->ids : o->text;
    if (!p->vocab_limit && !p->dict && !p->tokenizer) p->vocab_limit = file.vocab_limit;
    const char *fetched = arena_printf(&c->arena, "%s/data/fetched/%s", c->project.root,
                                       file.text ? file.text : p->name);
    bool has_text = p->text_dir || p->tokenizer;
    if (!has_text && file_exists(fetched)) p->text_dir = fetched;
    has_text |= p->text_dir != NULL;
    if (!has_text && file.url[0])
        return ERR(e, ERR_NOINPUT,
                   "%s: no text found; run `alibi data fetch %s` first, or pass --text DIR",
                   p->name, p->name);
    if (!has_text && !prepare_is_embedded(p->name))
        return ERR(
            e, ERR_USAGE,
            "%s is not an embedded corpus; pass --text DIR with train.txt, valid.txt and test.txt",
            p->name);
    p->progress = cli_show_progress;
    if (p->tokenizer) p->progress_context = (void *)&started_us;
    TRY(prepare_corpus(&c->project, p, e));
    TRY(corpus_open(&k, &c->project, p->name, e));
    print_corpus(&k);
    corpus_close(&k);
    cli_print("to use it in a grid: ");
    if (file.url[0] && file.data.vocab == 0)
        cli_print("copy `data:` of %s/data/%s.yaml to %s, then ", c->project.root, p->name,
                  file.path);
    cli_print("`base: [data/%s.yaml]`\n", p->name);
    return 0;
}

CLI_COMMAND(data)
{
    struct data_options o = {0};
    struct plan_corpus file;
    const struct cli_option options[] = {
        {"text", 0, CLI_TEXT, &o.text, "DIR",
         "folder with train.txt, valid.txt, test.txt; with --tokenizer also FILE..."},
        {"tokenizer", 0, CLI_TEXT, &o.prepare.tokenizer, "DIR",
         "cut the text with the tokenizer of this checkpoint folder"},
        {"prefix", 0, CLI_TEXT, &o.prefix, "ID",
         "with --tokenizer: id that predicts the first token (default bos_token, else eos_token)"},
        {"vocab", 0, CLI_NUMBER, &o.prepare.vocab_limit, "N",
         "keep only the N most frequent words (default all)"},
        {"dict", 0, CLI_TEXT, &o.prepare.dict, "FILE",
         "use this dict.txt instead of building one from train.txt"},
        {"vocab-file", 0, CLI_TEXT, &o.prepare.encode.vocab, "FILE",
         "use word pieces of a BERT vocab.txt; with --merges, of a GPT-2 vocab.json"},
        {"cased", 0, CLI_FLAG, &o.prepare.encode.cased, NULL,
         "keep case and accents (for a cased BERT vocabulary)"},
        {"merges", 0, CLI_TEXT, &o.prepare.encode.merges, "FILE",
         "use this merges.txt of byte-level BPE"},
        {"ids", 0, CLI_TEXT, &o.ids, "DIR",
         "prepare train.bin, valid.bin, test.bin of ids from this folder"},
        {"id-bytes", 0, CLI_NUMBER, &o.prepare.encode.id_bytes, "N",
         "with --ids: bytes per id, 2 (default) or 4"},
        {"id-end", 0, CLI_TEXT, &o.id_end, "ID", "with --ids: id of the end of a line or document"},
        {"from", 0, CLI_TEXT, &o.from, "FILE", "fetch: use this archive instead of downloading"},
        {"url", 0, CLI_TEXT, &o.url, "URL", "fetch: download from this address"},
        {"sha256", 0, CLI_TEXT, &o.sha256, "HEX",
         "fetch: expect this hash instead of the published one"},
        {"force", 0, CLI_FLAG, &o.prepare.force, NULL, "overwrite existing output"},
        {0}};

    TRY(cli_begin(c, options, e));
    const char *verb = c->rest.item[0];
    if (strcmp(verb, "list") == 0) return list_corpora(c, e);
    if (strcmp(verb, "prepare") != 0 && strcmp(verb, "verify") != 0 && strcmp(verb, "fetch") != 0)
        return ERR(e, ERR_USAGE,
                   "unknown action 'data %s' (expected list, fetch, prepare or verify)", verb);
    if (c->rest.n < 2)
        return ERR(e, ERR_USAGE, "data %s needs the NAME of a corpus; see alibi data --help", verb);
    if (c->rest.n > 2 && (strcmp(verb, "prepare") != 0 || !o.prepare.tokenizer))
        return ERR(e, ERR_USAGE, "data %s takes one NAME; found also '%.80s'%s", verb,
                   c->rest.item[2], o.text ? " (several texts need --tokenizer)" : "");
    if (!str_is_name(c->rest.item[1]))
        return ERR(e, ERR_USAGE,
                   "'%.80s' is not a corpus name: use letters, digits, dot, dash and underscore",
                   c->rest.item[1]);
    if (strcmp(verb, "fetch") == 0) return fetch_corpus(c, c->rest.item[1], &o, e);
    if (strcmp(verb, "verify") == 0) {
        TRY(workflow_corpus(&file, &o.prepare.known, &c->project, &c->arena, c->rest.item[1], e));
        TRY(corpus_verify(&c->project, c->rest.item[1], &o.prepare.known, e));
        cli_print("data/%s: all files match their hashes\n", c->rest.item[1]);
        return 0;
    }
    o.prepare.name = c->rest.item[1];
    return prepare_text(c, &o, e);
}
