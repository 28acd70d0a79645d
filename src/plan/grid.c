/* grid.c - reads a grid.yaml: top-level keys, pieces, blocks, evaluation rules. */
#include "plan/plan_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/str.h"

static const char *const top_keys[] = {"artefact", "title", "base",  "grid", "evaluate",
                                       "skip",     "seed",  "scale", "set",  "kind"};

/* A piece is in the grid's folder, in configs/ of the user or of the program, or a path in the
 * project such as data/NAME.yaml, which `alibi data prepare` writes. */
static int find_piece(char **out, struct arena *a, const struct project *p, const char *dir,
                      const struct yaml_node *name, struct err *e)
{
    const char *const places[] = {dir, arena_printf(a, "%s/configs", p->root),
                                  arena_printf(a, "%s/configs", p->share), p->root};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        *out = arena_printf(a, "%s/%s", places[i], name->text);
        if (name->text[0] && file_exists(*out)) return 0;
    }
    const char *prepare =
        strncmp(name->text, "data/", 5) == 0 ? "; `alibi data prepare` writes data/NAME.yaml" : "";
    bool own = strcmp(p->root, p->share) != 0;
    return yaml_error(name, e, "'%.100s' not found in %s, %s%s%s or %s%s", name->text, places[0],
                      places[1], own ? ", " : "", own ? places[2] : "", places[3], prepare);
}

static int read_piece(struct grid *g, struct arena *a, const struct project *p,
                      const struct yaml_node *name, struct err *e)
{
    const struct yaml_node *root;
    struct axes settings = {0};
    char *path;

    TRY(yaml_want(name, YAML_SCALAR, "a piece of base", e));
    TRY(find_piece(&path, a, p, g->dir, name, e));
    TRY(yaml_read(&root, a, path, e));
    TRY(settings_read(&settings, a, root, e));
    axes_apply(&settings, 0, &g->base);
    return 0;
}

static int read_base(struct grid *g, struct arena *a, const struct project *p,
                     const struct yaml_node *root, struct err *e)
{
    const struct yaml_node *base = yaml_get(root, "base"), *set = yaml_get(root, "set");

    draft_init(&g->base);
    if (base) {
        int32_t n;
        const struct yaml_node *const *piece = yaml_each(&base, &n);
        if (base->kind == YAML_MAP) TRY(yaml_want(base, YAML_LIST, "base", e));
        for (int32_t i = 0; i < n; i++) TRY(read_piece(g, a, p, piece[i], e));
    }
    if (set) TRY(settings_read(&g->set, a, set, e));
    axes_apply(&g->set, 0, &g->base);
    return 0;
}

static int read_kind(enum spec_kind *out, const struct yaml_node *map, struct err *e)
{
    const struct yaml_node *node;

    TRY(yaml_take(&node, map, "kind", YAML_SCALAR, e));
    if (!node) return 0;
    if (strcmp(node->text, "train") == 0)
        *out = SPEC_TRAIN;
    else if (strcmp(node->text, "bench") == 0)
        *out = SPEC_BENCH;
    else
        return yaml_error(node, e, "kind: expected train or bench, found '%.60s'", node->text);
    return 0;
}

/* Rejects evaluation keys in a block, and benchmark keys unless its kind is bench. */
static int check_block_axis(const struct grid_block *b, const struct axis *x, struct err *e)
{
    if (settings_belongs(x->key, "eval."))
        return yaml_error(x->at, e, "%s is an evaluation key; put it under evaluate:", x->at->text);
    if (settings_belongs(x->key, "bench.") && b->kind != SPEC_BENCH)
        return yaml_error(x->at, e, "%s needs kind: bench", x->at->text);
    return 0;
}

/* Seeds: of the command line, else of the block, else of the top level. */
static int add_seeds(struct grid_block *b, struct arena *a, const struct yaml_node *root,
                     int32_t seeds, struct err *e)
{
    struct axis *axis = axes_find(&b->axes, "train.seed");

    if (seeds > 0) {
        if (!axis) axis = vec_push(a, &b->axes);
        *axis = (struct axis){.key = spec_key_find("train.seed"), .at = b->at};
        for (int32_t s = 1; s <= seeds; s++) *vec_push(a, axis) = arena_printf(a, "%d", s);
        return 0;
    }
    for (int32_t i = 0; i < root->n && !axis; i++)
        if (strcmp(root->key[i]->text, "seed") == 0)
            return axes_read(&b->axes, a, root->key[i], root->item[i], e);
    return 0;
}

static int read_block(struct grid_block *b, struct arena *a, const struct yaml_node *root,
                      const struct yaml_node *map, int32_t seeds, struct err *e)
{
    TRY(yaml_want(map, YAML_MAP, "a block of grid", e));
    *b = (struct grid_block){.at = map, .kind = SPEC_TRAIN};
    TRY(read_kind(&b->kind, root, e));
    TRY(read_kind(&b->kind, map, e));
    for (int32_t i = 0; i < map->n; i++) {
        if (strcmp(map->key[i]->text, "kind") == 0) continue;
        TRY(axes_read(&b->axes, a, map->key[i], map->item[i], e));
        TRY(check_block_axis(b, &b->axes.item[b->axes.n - 1], e));
    }
    return add_seeds(b, a, root, seeds, e);
}

static int read_blocks(struct grid *g, struct arena *a, const struct yaml_node *root, int32_t seeds,
                       struct err *e)
{
    const struct yaml_node *list;

    TRY(yaml_take(&list, root, "grid", YAML_LIST, e));
    if (!list)
        return yaml_error(root, e,
                          "grid is missing: a list of blocks such as "
                          "{ position: alibi, L_train: [64, 128] }");
    if (list->n == 0) return yaml_error(list, e, "grid: the list is empty");
    g->block = arena_array(a, (size_t)list->n, sizeof *g->block);
    for (int32_t i = 0; i < list->n; i++)
        TRY(read_block(&g->block[i], a, root, list->item[i], seeds, e));
    g->blocks_n = list->n;
    return 0;
}

/* --- evaluation rules ------------------------------------------------------------------------- */

/* A number of tokens; an offset may be 0, and what is not an offset may be L_train. */
static int read_length(const char **out, const struct yaml_node *node, bool offset, struct err *e)
{
    TRY(yaml_want(node, YAML_SCALAR, offset ? "an offset" : "a length", e));
    *out = node->text;
    if (strcmp(node->text, offset ? "0" : "L_train") == 0) return 0;
    return yaml_place(node, settings_value(spec_key_find("eval.L"), node->text, e), e);
}

/* One length or a list of them. */
static int read_lengths(struct grid_lengths *l, struct arena *a, const struct yaml_node *node,
                        bool offsets, struct err *e)
{
    int32_t n;
    const struct yaml_node *const *item = yaml_each(&node, &n);

    if (n == 0) return yaml_error(node, e, "L_valid: the list is empty");
    const char **length = arena_array(a, (size_t)n, sizeof *length);
    for (int32_t i = 0; i < n; i++) TRY(read_length(&length[i], item[i], offsets, e));
    l->item = length;
    l->n = n;
    return 0;
}

/* { list: […], at_least: L } or { from: L, add: […] }. */
static int read_length_map(struct grid_lengths *l, struct arena *a, const struct yaml_node *map,
                           struct err *e)
{
    static const char *const names[] = {"list", "at_least", "from", "add"};
    const struct yaml_node *list = yaml_get(map, "list"), *least = yaml_get(map, "at_least");
    const struct yaml_node *from = yaml_get(map, "from"), *add = yaml_get(map, "add");

    TRY(yaml_known(map, names, sizeof names / sizeof *names, e));
    if (list && !from && !add) {
        TRY(read_lengths(l, a, list, false, e));
        return least ? read_length(&l->least, least, false, e) : 0;
    }
    if (from && add && !list && !least) {
        TRY(read_length(&l->from, from, false, e));
        return read_lengths(l, a, add, true, e);
    }
    return yaml_error(map, e,
                      "L_valid: expected a length, a list, { list: [...], at_least: L_train } or { "
                      "from: L_train, add: [...] }");
}

static int64_t length_of(const char *text, int64_t L_train)
{
    int64_t tokens = L_train;

    if (strcmp(text, "L_train") != 0) (void)str_to_int(&tokens, text); /* read_length checked it */
    return tokens;
}

int32_t grid_lengths_list(int64_t **out, const struct grid_lengths *l, int64_t L_train,
                          struct arena *a)
{
    int64_t from = l->from ? length_of(l->from, L_train) : 0;
    int64_t least = l->least ? length_of(l->least, L_train) : 0;
    int32_t n = 0;

    *out = arena_array(a, (size_t)l->n, sizeof **out);
    for (int32_t i = 0; i < l->n; i++) {
        int64_t tokens = from + length_of(l->item[i], L_train);
        if (tokens >= least) (*out)[n++] = tokens;
    }
    return n;
}

static int read_rule_key(struct grid_rule *r, struct arena *a, const struct yaml_node *key,
                         const struct yaml_node *value, struct err *e)
{
    if (strcmp(key->text, "where") == 0) {
        TRY(yaml_want(value, YAML_MAP, "where", e));
        return axes_read_all(&r->where, a, value, NULL, NULL, e);
    }
    if (strcmp(key->text, "L_valid") == 0 || strcmp(key->text, "eval.L") == 0) {
        if (r->lengths.n > 0) return yaml_error(key, e, "eval.L is already given in this rule");
        return value->kind == YAML_MAP ? read_length_map(&r->lengths, a, value, e)
                                       : read_lengths(&r->lengths, a, value, false, e);
    }
    TRY(axes_read(&r->axes, a, key, value, e));
    if (!settings_belongs(r->axes.item[r->axes.n - 1].key, "eval."))
        return yaml_error(key, e,
                          "%s is a training key; put it under where: or under grid:", key->text);
    return 0;
}

static bool axis_has(const struct axis *x, const char *text)
{
    for (int32_t i = 0; x && i < x->n; i++)
        if (strcmp(x->item[i], text) == 0) return true;
    return false;
}

static int read_rule(void *item, struct arena *a, const struct yaml_node *map, struct err *e)
{
    struct grid_rule *r = item;

    r->at = map;
    for (int32_t i = 0; i < map->n; i++) TRY(read_rule_key(r, a, map->key[i], map->item[i], e));
    if (r->lengths.n == 0) { /* default: the training's own length */
        static const char *const own[] = {"L_train"};
        r->lengths = (struct grid_lengths){.item = own, .n = 1};
    }
    const struct axis *misplaced = axes_evaluation(&r->where);
    if (misplaced)
        return yaml_error(misplaced->at, e,
                          "%s is an evaluation key; put it beside where:, not in it",
                          misplaced->at->text);
    const struct axis *stride = axes_find(&r->axes, "eval.stride");
    if (stride && !axis_has(axes_find(&r->axes, "eval.window"), "sliding"))
        return yaml_error(stride->at, e, "stride needs window: sliding in the same rule");
    return 0;
}

/* --- skips and the whole ---------------------------------------------------------------------- */

static int read_skip(void *item, struct arena *a, const struct yaml_node *map, struct err *e)
{
    struct grid_skip *s = item;
    const struct yaml_node *where, *why;

    s->at = map;
    TRY(yaml_take(&why, map, "why", YAML_SCALAR, e));
    TRY(yaml_take(&where, map, "where", YAML_MAP, e));
    if (where) TRY(axes_read_all(&s->where, a, where, NULL, NULL, e));
    TRY(axes_read_all(&s->where, a, map, "why", "where", e));
    if (!why || !why->text[0])
        return yaml_error(map, e, "why is missing: give a sentence, which is displayed");
    if (s->where.n == 0) return yaml_error(map, e, "no key selects what to skip");
    s->why = why->text;
    return 0;
}

/* A top-level text, or the fallback. */
static int read_text(const char **out, const struct yaml_node *root, const char *key,
                     const char *fallback, struct err *e)
{
    const struct yaml_node *node;

    TRY(yaml_take(&node, root, key, YAML_SCALAR, e));
    *out = node ? node->text : fallback;
    return 0;
}

int grid_read(struct grid *g, struct arena *a, const struct project *p, const char *name,
              const char *dir, int32_t seeds, struct err *e)
{
    const struct yaml_node *root;

    *g = (struct grid){.name = name, .dir = dir};
    TRY(yaml_read(&root, a, arena_printf(a, "%s/grid.yaml", dir), e));
    TRY(yaml_known(root, top_keys, sizeof top_keys / sizeof *top_keys, e));
    TRY(read_text(&g->said, root, "artefact", NULL, e));
    TRY(read_text(&g->title, root, "title", name, e));
    TRY(yaml_take(&g->scale, root, "scale", YAML_SCALAR, e));
    TRY(read_base(g, a, p, root, e));
    TRY(read_blocks(g, a, root, seeds, e));
    void *rules = NULL, *skips = NULL;
    TRY(yaml_items(&rules, &g->rules_n, sizeof *g->rule, a, root, "evaluate", read_rule, e));
    TRY(yaml_items(&skips, &g->skips_n, sizeof *g->skip, a, root, "skip", read_skip, e));
    g->rule = rules;
    g->skip = skips;
    return 0;
}
