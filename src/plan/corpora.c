/* corpora.c - reads pieces of `base`, and what configs/data/NAME.yaml says beside its settings:
 *
 *   source:                                # where the text comes from; changes no run
 *     title: WikiText-2                    # in reports; the rest only if it can be downloaded
 *     licence: CC BY-SA 3.0, Wikipedia
 *     url: https://host/archive.zip        # or a list, tried in this order
 *     sha256: 92675f…                      # of the archive
 *     bytes_max: 50000000                  # of the archive, and of the text in it
 *     files: [wiki.train.tokens, …]        # names in the archive of train, valid and test
 *
 * `text: NAME` in place of url to files: the archive is that of NAME, of whose words data.vocab
 * remain, the most frequent. */
#include "plan/plan_internal.h"

#include <string.h>

#include "base/file.h"

static int read_source(struct plan_corpus *c, const struct yaml_node *map, struct err *e)
{
    struct yaml_field fields[] = {
        {"title", YAML_TEXT, .text = &c->title},
        {"text", YAML_TEXT, .text = &c->text},
        {"url", YAML_URLS, .text = c->url, .least = 1, .most = PLAN_CORPUS_URLS_MAX},
        {"licence", YAML_TEXT, .text = &c->licence},
        {"sha256", YAML_SHA256, .text = &c->sha256},
        {"bytes_max", YAML_NUMBER, .number = &c->bytes_max},
        {"files", YAML_TEXTS, .text = c->member, .least = PLAN_CORPUS_FILES,
         .most = PLAN_CORPUS_FILES}};
    enum { FIELDS_N = sizeof fields / sizeof *fields, FIELD_TEXT = 1, FIELD_URL = 2 };

    TRY(yaml_want(map, YAML_MAP, "source", e));
    TRY(yaml_fields(map, fields, FIELDS_N, e));
    const struct yaml_node *url = fields[FIELD_URL].at;
    if (fields[FIELD_TEXT].at && url)
        return yaml_error(url, e, "source: text and url cannot be combined");
    for (int i = FIELD_URL; i < FIELDS_N; i++)
        if (!fields[i].at != !url)
            return yaml_error(map, e, "source: %s is missing, which a download needs",
                              url ? fields[i].name : "url");
    return yaml_values(fields, FIELDS_N, e);
}

int piece_read(struct piece *out, struct arena *a, const char *path, struct err *e)
{
    const struct yaml_node *root;

    *out = (struct piece){.corpus.path = path};
    TRY(yaml_read(&root, a, path, e));
    for (int32_t i = 0; i < root->n; i++) {
        const char *key = root->key[i]->text;
        if (strcmp(key, "source") == 0)
            TRY(read_source(&out->corpus, root->item[i], e));
        else if (strcmp(key, "pretrained") == 0)
            TRY(model_read_files(&out->model, a, root->item[i], e));
        else
            TRY(settings_read_pair(&out->settings, a, root, i, e));
    }
    return 0;
}

int plan_corpora(char ***out, int32_t *n, const struct project *project, struct arena *a,
                 struct err *e)
{
    return plan_names(out, n, project, a, "configs/data", ".yaml", e);
}

/* Reads configs/data/NAME.yaml. Unlike project_find, it looks for the shipped file first. */
static int read_named(struct piece *out, const struct project *project, struct arena *a,
                      const char *name, struct err *e)
{
    const struct project shipped = {.root = project->share, .share = project->root};
    char *path;

    TRY(project_find(&path, &shipped, a, arena_printf(a, "configs/data/%s.yaml", name), e));
    return piece_read(out, a, path, e);
}

/* Takes the archive from the corpus that source.text names. */
static int use_text_of_other(struct plan_corpus *c, const struct project *project, struct arena *a,
                             struct err *e)
{
    struct piece other;
    int rc = read_named(&other, project, a, c->text, e);

    if (rc == ERR_NOINPUT || (rc == 0 && !other.corpus.url[0]))
        return ERR(e, ERR_DATA, "%s: source: text: %s is not a corpus with a url", c->path,
                   c->text);
    TRY(rc);
    memcpy(c->url, other.corpus.url, sizeof c->url);
    memcpy(c->member, other.corpus.member, sizeof c->member);
    c->licence = other.corpus.licence;
    c->sha256 = other.corpus.sha256;
    c->bytes_max = other.corpus.bytes_max;
    c->vocab_limit = c->data.vocab;
    return 0;
}

int plan_corpus_read(struct plan_corpus *out, const struct project *project, struct arena *a,
                     const char *name, struct err *e)
{
    struct piece piece;
    struct draft d;

    TRY(read_named(&piece, project, a, name, e));
    *out = piece.corpus;
    out->name = name;
    if (!out->title) out->title = name;
    draft_init(&d);
    axes_apply(&piece.settings, 0, &d);
    out->data = d.spec.data;
    if (out->text) return use_text_of_other(out, project, a, e);
    out->text = name;
    return 0;
}
