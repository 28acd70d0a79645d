/* grid.c - reads a grid.yaml: top-level keys, pieces, and rules, also those of a scale. */
#include "plan/plan_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/str.h"

/* Finds a piece: it is in the grid's folder, in configs/ of the user or of the program, a path in
 * the project such as data/NAME.yaml, which `alibi data prepare` writes, or an absolute path. */
static int find_piece(char **out, struct arena *a, const struct project *p, const char *dir,
                      const struct yaml_node *name, struct err *e)
{
    const char *const folders[] = {dir, arena_printf(a, "%s/configs", p->root),
                                   arena_printf(a, "%s/configs", p->share), p->root};

    *out = arena_strdup(a, name->text);
    if (name->text[0] == '/')
        return file_exists(*out) ? 0 : yaml_error(name, e, "'%.200s' not found", name->text);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        *out = arena_printf(a, "%s/%s", folders[i], name->text);
        if (name->text[0] && file_exists(*out)) return 0;
    }
    const char *writer =
        strncmp(name->text, "data/models/", 12) == 0 ? "; `alibi import FOLDER` writes it"
        : strncmp(name->text, "data/", 5) == 0 ? "; `alibi data prepare` writes data/NAME.yaml"
                                               : "";
    bool own = strcmp(p->root, p->share) != 0;
    return yaml_error(name, e, "'%.100s' not found in %s, %s%s%s or %s%s", name->text, folders[0],
                      folders[1], own ? ", " : "", own ? folders[2] : "", folders[3], writer);
}

/* Adds the settings of a piece. */
static int read_piece(struct axes *out, struct arena *a, const char *path, struct err *e)
{
    struct piece piece; /* a plan needs its settings only */

    TRY(piece_read(&piece, a, path, e));
    for (int32_t i = 0; i < piece.settings.n; i++) *vec_push(a, out) = piece.settings.item[i];
    return 0;
}

/* Adds the settings of a list of pieces; of settings of one key the last counts. Sets *missing
 * (may be NULL) to the first that is not here, which is otherwise an error. */
static int read_pieces(struct axes *out, const char **missing, struct grid *g, struct arena *a,
                       const struct project *p, const struct yaml_node *base, struct err *e)
{
    int32_t n;
    const struct yaml_node *const *piece = yaml_each(&base, &n);
    char *path;

    if (base->kind == YAML_MAP) TRY(yaml_want(base, YAML_LIST, "base", e));
    for (int32_t i = 0; i < n; i++) {
        TRY(yaml_want(piece[i], YAML_SCALAR, "a piece of base", e));
        int rc = find_piece(&path, a, p, g->dir, piece[i], e);
        if (rc < 0 && !missing) return rc;
        if (rc == 0) *vec_push(a, &g->pieces) = path;
        if (rc == 0)
            TRY(read_piece(out, a, path, e));
        else if (!*missing)
            *missing = piece[i]->text;
    }
    return 0;
}

static int read_base(struct grid *g, struct arena *a, const struct project *p,
                     const struct yaml_node *base, const struct yaml_node *set, struct err *e)
{
    struct axes pieces = {0};

    if (base) TRY(read_pieces(&pieces, NULL, g, a, p, base, e));
    axes_apply(&pieces, 0, &g->base);
    if (set) TRY(settings_read(&g->set, a, set, e));
    axes_apply(&g->set, 0, &g->base);
    return 0;
}

static int read_kind(enum spec_kind *out, const struct yaml_node *node, struct err *e)
{
    TRY(yaml_want(node, YAML_SCALAR, "kind", e));
    if (strcmp(node->text, "train") != 0 && strcmp(node->text, "bench") != 0)
        return yaml_error(node, e, "kind: expected train or bench, found '%.60s'", node->text);
    *out = strcmp(node->text, "bench") == 0 ? SPEC_BENCH : SPEC_TRAIN;
    return 0;
}

/* --- lengths -------------------------------------------------------------------------------- */

/* Reads a number of tokens. An offset may be 0; any other length may be L_train. */
static int read_length(struct length *out, const struct yaml_node *node, bool offset, struct err *e)
{
    TRY(yaml_want(node, YAML_SCALAR, offset ? "an offset" : "a length", e));
    out->relative = !offset && strcmp(node->text, "L_train") == 0;
    out->tokens = 0;
    if (out->relative || (offset && strcmp(node->text, "0") == 0)) return 0;
    TRY(yaml_place(node, settings_value(spec_key_find("eval.L"), node->text, e), e));
    (void)str_to_int(&out->tokens, node->text); /* cannot fail: it is a value of eval.L */
    return 0;
}

/* Reads multiples of L_train. */
static int read_times(struct rule *r, struct arena *a, const struct yaml_node *node, struct err *e)
{
    const struct yaml_node *const *item = yaml_each(&node, &r->lengths_n);
    struct length *length = arena_array(a, (size_t)r->lengths_n + 1, sizeof *length);

    if (r->lengths_n == 0) return yaml_error(node, e, "L_valid: the list is empty");
    for (int32_t i = 0; i < r->lengths_n; i++) {
        TRY(yaml_want(item[i], YAML_SCALAR, "a multiple of L_train", e));
        if (!str_to_double(&length[i].times, item[i]->text) || length[i].times <= 0 ||
            length[i].times > 1000)
            return yaml_error(item[i], e,
                              "times: expected a number above 0, to 1000, found '%.60s'",
                              item[i]->text);
    }
    r->length = length;
    return 0;
}

/* Reads one length or a list of them; `from`, if given, is added to each. */
static int read_lengths(struct rule *r, struct arena *a, const struct yaml_node *node,
                        const struct length *from, struct err *e)
{
    const struct yaml_node *const *item = yaml_each(&node, &r->lengths_n);
    struct length *length = arena_array(a, (size_t)r->lengths_n + 1, sizeof *length);

    if (r->lengths_n == 0) return yaml_error(node, e, "L_valid: the list is empty");
    for (int32_t i = 0; i < r->lengths_n; i++) {
        TRY(read_length(&length[i], item[i], from != NULL, e));
        if (!from) continue;
        length[i].tokens += from->tokens;
        length[i].relative = from->relative;
    }
    r->length = length;
    return 0;
}

/* Reads a length, a list, { list: […], at_least: L }, { from: L, add: […] } or { times: […] }. */
static int read_valid(struct rule *r, struct arena *a, const struct yaml_node *node, struct err *e)
{
    const struct yaml_node *list, *least, *from, *add, *times;
    struct yaml_field fields[] = {
        YAML_FIELD("times", YAML_ANY, times), YAML_FIELD("list", YAML_ANY, list),
        YAML_FIELD("at_least", YAML_ANY, least), YAML_FIELD("from", YAML_ANY, from),
        YAML_FIELD("add", YAML_ANY, add)};
    struct length start;

    if (node->kind != YAML_MAP) return read_lengths(r, a, node, NULL, e);
    TRY(yaml_fields(node, fields, sizeof fields / sizeof *fields, e));
    if (times && !list && !least && !from && !add) return read_times(r, a, times, e);
    if (list && !from && !add && !times) {
        TRY(read_lengths(r, a, list, NULL, e));
        return least ? read_length(&r->least, least, false, e) : 0;
    }
    if (from && add && !list && !least && !times) {
        TRY(read_length(&start, from, false, e));
        return read_lengths(r, a, add, &start, e);
    }
    return yaml_error(node, e,
                      "L_valid: expected a length, a list, { list: [...], at_least: L_train }, { "
                      "from: L_train, add: [...] } or { times: [0.5, 1, 2] }");
}

/* --- rules ---------------------------------------------------------------------------------- */

static int read_conditions(struct rule *r, struct arena *a, const struct yaml_node *map,
                           struct err *e)
{
    TRY(yaml_want(map, YAML_MAP, "where", e));
    for (int32_t i = 0; i < map->n; i++) TRY(axes_read(&r->where, a, map, i, e));
    return 0;
}

/* Reads the conditions that select the parent of each training of a block. */
static int read_from(struct rule *r, struct arena *a, const struct yaml_node *map, struct err *e)
{
    TRY(yaml_want(map, YAML_MAP, "from", e));
    if (map->n == 0)
        return yaml_error(map, e, "from: no key selects the parent; add one such as L_train");
    r->from_at = map;
    for (int32_t i = 0; i < map->n; i++) {
        TRY(axes_read(&r->from, a, map, i, e));
        if (settings_belongs(r->from.item[i].key, "eval."))
            return yaml_error(map->key[i], e, "%s is an evaluation key; from: selects a training",
                              map->key[i]->text);
    }
    return 0;
}

static int read_how(struct rule *r, const struct yaml_node *node, struct err *e)
{
    TRY(yaml_want(node, YAML_SCALAR, "if_missing", e));
    r->how = node->text;
    return *r->how ? 0 : yaml_error(node, e, "if_missing is empty: say how to get the pieces");
}

static int read_block(struct rule *r, struct arena *a, const struct yaml_node *map, struct err *e)
{
    for (int32_t i = 0; i < map->n; i++) {
        if (strcmp(map->key[i]->text, "kind") == 0)
            TRY(read_kind(&r->kind, map->item[i], e));
        else if (strcmp(map->key[i]->text, "from") == 0)
            TRY(read_from(r, a, map->item[i], e));
        else if (strcmp(map->key[i]->text, "base") == 0)
            r->base_at = map->item[i];
        else if (strcmp(map->key[i]->text, "if_missing") == 0)
            TRY(read_how(r, map->item[i], e));
        else
            TRY(axes_read(&r->axes, a, map, i, e));
    }
    if (r->how && !r->base_at)
        return yaml_error(map, e, "if_missing needs base: in the same block");
    for (int32_t i = 0; i < r->axes.n; i++) {
        const struct axis *x = &r->axes.item[i];
        if (settings_belongs(x->key, "eval."))
            return yaml_error(x->at, e,
                              "%s is an evaluation key; put it under evaluate:", x->at->text);
        if (settings_belongs(x->key, "bench.") && r->kind != SPEC_BENCH)
            return yaml_error(x->at, e, "%s needs kind: bench", x->at->text);
        bool of_child =
            settings_belongs(x->key, "train.from") || strcmp(x->key->name, "train.continues") == 0;
        if (of_child && !r->from_at)
            return yaml_error(x->at, e, "%s needs from: in the same block", x->at->text);
    }
    if (r->from_at && r->kind == SPEC_BENCH)
        return yaml_error(r->from_at, e, "from: a benchmark continues no training");
    return 0;
}

static int read_evaluate(struct rule *r, struct arena *a, const struct yaml_node *map,
                         struct err *e)
{
    static const struct length own = {.relative = true};

    for (int32_t i = 0; i < map->n; i++) {
        const struct yaml_node *key = map->key[i], *value = map->item[i];
        if (strcmp(key->text, "where") == 0) {
            TRY(read_conditions(r, a, value, e));
        } else if (strcmp(key->text, "L_valid") == 0 || strcmp(key->text, "eval.L") == 0) {
            if (r->length) return yaml_error(key, e, "eval.L is already given in this rule");
            TRY(read_valid(r, a, value, e));
        } else {
            TRY(axes_read(&r->axes, a, map, i, e));
            if (!settings_belongs(r->axes.item[r->axes.n - 1].key, "eval."))
                return yaml_error(key, e,
                                  "%s is a training key; put it under where: or under "
                                  "grid:",
                                  key->text);
        }
    }
    if (!r->length) { /* default: the training's own length */
        r->length = &own;
        r->lengths_n = 1;
    }
    for (int32_t i = 0; i < r->where.n; i++) {
        const struct axis *x = &r->where.item[i];
        if (settings_belongs(x->key, "eval."))
            return yaml_error(x->at, e, "%s is an evaluation key; put it beside where:, not in it",
                              x->at->text);
    }
    const struct axis *stride = axes_find(&r->axes, "eval.stride");
    const struct axis *window = axes_find(&r->axes, "eval.window");
    if (stride && !(window && axis_has(window, "sliding")))
        return yaml_error(stride->at, e, "stride needs window: sliding in the same rule");
    return 0;
}

static int read_skip(struct rule *r, struct arena *a, const struct yaml_node *map, struct err *e)
{
    for (int32_t i = 0; i < map->n; i++) {
        const char *key = map->key[i]->text;
        if (strcmp(key, "where") == 0) {
            TRY(read_conditions(r, a, map->item[i], e));
        } else if (strcmp(key, "why") == 0) {
            TRY(yaml_want(map->item[i], YAML_SCALAR, key, e));
            r->why = map->item[i]->text;
        } else {
            TRY(axes_read(&r->where, a, map, i, e));
        }
    }
    if (!r->why || !*r->why)
        return yaml_error(map, e, "why is missing: give a sentence, which is displayed");
    return r->where.n > 0 ? 0 : yaml_error(map, e, "no key selects what to skip");
}

static int read_settings(struct rule *r, struct arena *a, const struct yaml_node *map,
                         struct err *e)
{
    int32_t set = yaml_find(map, "set");

    for (int32_t i = 0; i < map->n; i++)
        if (i != set) TRY(axes_read(&r->where, a, map, i, e));
    if (set < 0) return yaml_error(map, e, "set is missing: give the settings for these runs");
    if (r->where.n == 0)
        return yaml_error(map, e, "no key selects the runs; add a condition such as dataset");
    return settings_read(&r->axes, a, map->item[set], e);
}

int rules_read(struct rules *out, struct arena *a, const struct yaml_node *list,
               enum rule_part part, enum spec_kind kind, struct err *e)
{
    static const struct {
        const char *what;
        int (*read)(struct rule *r, struct arena *a, const struct yaml_node *map, struct err *e);
    } parts[] = {[RULE_GRID] = {"a block of grid", read_block},
                 [RULE_EVALUATE] = {"an entry of evaluate", read_evaluate},
                 [RULE_SKIP] = {"an entry of skip", read_skip},
                 [RULE_SCALE] = {"an entry of where", read_settings}};

    for (int32_t i = 0; list && i < list->n; i++) {
        struct rule *r = vec_push(a, out);
        r->at = list->item[i];
        r->kind = kind;
        TRY(yaml_want(r->at, YAML_MAP, parts[part].what, e));
        TRY(parts[part].read(r, a, r->at, e));
    }
    return 0;
}

/* --- the whole ------------------------------------------------------------------------------ */

/* Seeds of a block: of the command line, else its own, else of the top level. */
static int add_seeds(struct grid *g, struct arena *a, const struct yaml_node *root, int32_t seeds,
                     struct err *e)
{
    struct axis given = {.key = spec_key_find("train.seed")};
    struct axes top = {0};
    int32_t at = yaml_find(root, "seed");

    for (int32_t s = 1; s <= seeds; s++) *vec_push(a, &given) = arena_printf(a, "%d", s);
    if (at >= 0) TRY(axes_read(&top, a, root, at, e));
    for (int32_t i = 0; i < g->blocks.n; i++) {
        struct rule *b = &g->blocks.item[i];
        struct axis *own = axes_find(&b->axes, given.key->name);
        if (seeds == 0 && (own || !top.n)) continue;
        if (!own) own = vec_push(a, &b->axes);
        *own = seeds > 0 ? given : top.item[0];
    }
    return 0;
}

int grid_read(struct grid *g, struct arena *a, const struct project *p, const char *name,
              const char *dir, int32_t seeds, struct err *e)
{
    const struct yaml_node *root, *artefact, *title, *base, *set, *kind, *seed, *blocks, *rules,
        *skips;
    struct yaml_field fields[] = {YAML_FIELD("artefact", YAML_SCALAR, artefact),
                                  YAML_FIELD("title", YAML_SCALAR, title),
                                  YAML_FIELD("base", YAML_ANY, base),
                                  YAML_FIELD("grid", YAML_LIST, blocks),
                                  YAML_FIELD("evaluate", YAML_LIST, rules),
                                  YAML_FIELD("skip", YAML_LIST, skips),
                                  YAML_FIELD("seed", YAML_ANY, seed),
                                  YAML_FIELD("scale", YAML_SCALAR, g->scale),
                                  YAML_FIELD("set", YAML_ANY, set),
                                  YAML_FIELD("kind", YAML_ANY, kind)};
    enum spec_kind usual = SPEC_TRAIN;

    *g = (struct grid){.name = name, .dir = dir};
    draft_init(&g->base);
    TRY(yaml_read(&root, a, arena_printf(a, "%s/grid.yaml", dir), e));
    TRY(yaml_fields(root, fields, sizeof fields / sizeof *fields, e));
    g->name_given = artefact ? artefact->text : NULL;
    g->title = title ? title->text : name;
    TRY(read_base(g, a, p, base, set, e));
    if (kind) TRY(read_kind(&usual, kind, e));
    if (!blocks)
        return yaml_error(root, e,
                          "grid is missing: a list of blocks such as "
                          "{ position: alibi, L_train: [64, 128] }");
    if (blocks->n == 0) return yaml_error(blocks, e, "grid: the list is empty");
    TRY(rules_read(&g->blocks, a, blocks, RULE_GRID, usual, e));
    for (int32_t i = 0; i < g->blocks.n; i++) {
        struct rule *b = &g->blocks.item[i];
        if (b->base_at)
            TRY(read_pieces(&b->base, b->how ? &b->missing : NULL, g, a, p, b->base_at, e));
    }
    TRY(add_seeds(g, a, root, seeds, e));
    TRY(rules_read(&g->evaluate, a, rules, RULE_EVALUATE, SPEC_EVAL, e));
    return rules_read(&g->skip, a, skips, RULE_SKIP, SPEC_EVAL, e);
}
