/* corpus.c - reads pieces of `base`, and what configs/data/NAME.yaml says beside its settings:
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
#include "base/hash.h"

/* Reads a text or a list of texts. */
static int read_texts(const char **out, int32_t least, int32_t most, const struct yaml_node *list,
                      const char *what, struct err *e)
{
    int32_t n;
    const struct yaml_node *const *item = yaml_each(&list, &n);

    if (n < least || n > most)
        return yaml_error(list, e, "%s: expected %d to %d texts, found %d", what, least, most, n);
    for (int32_t i = 0; i < n; i++) {
        TRY(yaml_want(item[i], YAML_SCALAR, what, e));
        if (!*item[i]->text) return yaml_error(item[i], e, "%s is empty", what);
        out[i] = item[i]->text;
    }
    return 0;
}

static int read_source(struct plan_corpus *c, const struct yaml_node *map, struct err *e)
{
    const struct yaml_node *title, *text, *url, *licence, *sha256, *bytes, *files;
    const struct yaml_field fields[] = {
        {"title", YAML_SCALAR, &title},   {"text", YAML_SCALAR, &text},
        {"url", YAML_ANY, &url},          {"licence", YAML_SCALAR, &licence},
        {"sha256", YAML_SCALAR, &sha256}, {"bytes_max", YAML_SCALAR, &bytes},
        {"files", YAML_LIST, &files}};
    enum { FIELDS_N = sizeof fields / sizeof *fields, FIELD_URL = 2 };

    TRY(yaml_want(map, YAML_MAP, "source", e));
    TRY(yaml_fields(map, fields, FIELDS_N, e));
    if (title) TRY(read_texts(&c->title, 1, 1, title, "title", e));
    if (text) TRY(read_texts(&c->text, 1, 1, text, "text", e));
    if (text && url) return yaml_error(url, e, "source: text and url cannot be combined");
    for (int i = FIELD_URL; i < FIELDS_N; i++)
        if (!*fields[i].value != !url)
            return yaml_error(map, e, "source: %s is missing, which a download needs",
                              url ? fields[i].name : "url");
    if (!url) return 0;
    TRY(read_texts(c->url, 1, PLAN_CORPUS_URLS_MAX, url, "url", e));
    TRY(read_texts(&c->licence, 1, 1, licence, "licence", e));
    TRY(read_texts(c->member, PLAN_CORPUS_FILES, PLAN_CORPUS_FILES, files, "files", e));
    for (int i = 0; c->url[i]; i++)
        if (strncmp(c->url[i], "https://", 8) != 0 && strncmp(c->url[i], "http://", 7) != 0)
            return yaml_error(url, e, "url: expected https:// or http://, found '%.60s'",
                              c->url[i]);
    c->sha256 = sha256->text;
    if (!hash_is_sha256(c->sha256))
        return yaml_error(sha256, e, "sha256: expected 64 lower-case hex digits, found '%.70s'",
                          c->sha256);
    if (!str_to_int(&c->bytes_max, bytes->text) || c->bytes_max < 1)
        return yaml_error(bytes, e, "bytes_max: expected a number from 1, found '%.60s'",
                          bytes->text);
    return 0;
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
