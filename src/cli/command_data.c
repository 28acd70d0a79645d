/* command_data.c - alibi data list|prepare|verify: corpora under data/. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cli.h"
#include "data/corpus.h"
#include "data/prepare.h"

static void show_progress(void *context, const char *what, double share)
{
    (void)context;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s %3.0f %%%s", what, 100 * share, share >= 1 ? "\n" : "");
}

static void print_corpus(const struct corpus *k)
{
    printf("%-24s %9d words  %12lld train  %9lld valid  %9lld test  %.16s%s\n", k->name, k->vocab,
           (long long)k->split[CORPUS_TRAIN].n, (long long)k->split[CORPUS_VALID].n,
           (long long)k->split[CORPUS_TEST].n, k->fingerprint,
           k->floor_perplexity > 0 ? "  synthetic" : "");
}

static int list_corpora(struct cli *c, struct err *e)
{
    static const char *const embedded[] = {"synthetic-wikitext103", "synthetic-bookcorpus",
                                           "synthetic-cc100"};
    struct dirent *entry;
    struct corpus k;
    int n = 0;
    DIR *folder = opendir(project_path(&c->project, &c->arena, "data"));

    while (folder && (entry = readdir(folder))) {
        if (!str_is_name(entry->d_name) || strchr(entry->d_name, '~')) continue;
        if (corpus_open(&k, &c->project, entry->d_name, e) < 0) continue;
        print_corpus(&k);
        corpus_close(&k);
        n++;
    }
    if (folder) closedir(folder);
    if (n == 0) printf("no corpus is prepared under %s/data\n", c->project.root);
    for (size_t i = 0; i < sizeof embedded / sizeof *embedded; i++)
        if (prepare_is_embedded(embedded[i])) printf("can be made here: %s\n", embedded[i]);
    return 0;
}

static int prepare(struct cli *c, struct prepare_options *o, struct err *e)
{
    struct corpus k;

    if (!o->text_dir && !prepare_is_embedded(o->name))
        return ERR(e, ERR_USAGE,
                   "%s: no embedded corpus of this name; give --text DIR with train.txt, valid.txt "
                   "and test.txt",
                   o->name);
    o->progress = show_progress;
    TRY(prepare_corpus(&c->project, o, e));
    TRY(corpus_open(&k, &c->project, o->name, e));
    print_corpus(&k);
    corpus_close(&k);
    printf("a grid names it with `base: [data/%s.yaml]`\n", o->name);
    return 0;
}

int cli_data(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    struct prepare_options o = {0};
    struct cli_list rest;
    const struct cli_option options[] = {
        {"text", 0, CLI_TEXT, &o.text_dir, "DIR", "folder with train.txt, valid.txt, test.txt"},
        {"vocab", 0, CLI_NUMBER, &o.vocab_limit, "N",
         "keep only the N most frequent words (default all)"},
        {"force", 0, CLI_FLAG, &o.force, NULL, "prepare again although it is there"},
        {0}};
    int rc = cli_parse(c, self, options, argc, argv, &rest, 1, 2, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY(cli_open(c, e));
    const char *verb = rest.item[0];
    if (strcmp(verb, "list") == 0) return list_corpora(c, e);
    if (strcmp(verb, "prepare") != 0 && strcmp(verb, "verify") != 0)
        return ERR(e, ERR_USAGE, "data %s: one of list, prepare, verify", verb);
    if (rest.n < 2)
        return ERR(e, ERR_USAGE, "data %s needs the NAME of a corpus; see alibi data --help", verb);
    if (!str_is_name(rest.item[1]))
        return ERR(e, ERR_USAGE,
                   "%.80s: a corpus is named with letters, digits, dot, dash and underscore",
                   rest.item[1]);
    if (strcmp(verb, "verify") == 0) {
        TRY(corpus_verify(&c->project, rest.item[1], e));
        printf("data/%s: every file is as it was prepared\n", rest.item[1]);
        return 0;
    }
    o.name = rest.item[1];
    return prepare(c, &o, e);
}
