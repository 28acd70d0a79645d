/* words.c - the words by which tables and figures name settings: the labels of table.txt, else key
 * and value, the key by its last part where no other key that is shown ends in it. */
#include "report/cells.h"

#include <string.h>

#include "base/log.h"
#include "spec/spec.h"

/* The values that the rows show, which labels name, with the full keys. */
struct shown {
    struct shown_pair {
        const char *key, *value;
    } * pair;
    int32_t pairs_n, room;
};

size_t report_word_length(const char *text)
{
    size_t n = strcspn(text, " ");

    if (text[n] && text[n + 1] == '(' && text[n + 2] >= '0' && text[n + 2] <= '9')
        n += 1 + strcspn(text + n + 1, " ");
    return n;
}

bool report_word_is_setting(const char *word, size_t n)
{
    const char *sign = memchr(word, '=', n);
    return sign && sign > word && sign + 1 < word + n;
}

/* --- names ---------------------------------------------------------------------------------- */

/* True if a text is this value, or a length with the paper's length after it. */
static bool text_has_value(const char *text, const char *value)
{
    size_t n = strlen(value);
    return strncmp(text, value, n) == 0 && (!text[n] || strncmp(text + n, " (", 2) == 0);
}

/* Returns the label of a value, or, where value is NULL, of the key; NULL without one. */
static const struct report_label *find_label(const struct report_words *w, const char *key,
                                             const char *value)
{
    for (int32_t i = 0; i < w->layout->labels_n; i++) {
        const struct report_label *label = &w->layout->label[i];
        if (strcmp(label->key, key) == 0 && !label->value == !value &&
            (!value || text_has_value(value, label->value)))
            return label;
    }
    return NULL;
}

static const char *last_part(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

/* Returns the last part of a setting's key; all of it if another key that is shown ends in it. */
static const char *short_name(const struct report_words *w, const char *key)
{
    const char *name = last_part(key);

    if (!spec_key_find(key)) return key;
    for (int32_t i = 0; i < w->keys_n; i++)
        if (strcmp(w->key[i], key) != 0 && strcmp(last_part(w->key[i]), name) == 0) return key;
    return name;
}

/* Returns the words of a value with its key: those of a label, else `otherwise`. */
static const char *pair_words(const struct report_words *w, const char *key, const char *value,
                              const char *otherwise)
{
    const struct report_label *label = find_label(w, key, value);

    if (label) return label->words;
    label = find_label(w, key, NULL);
    if (!label) return otherwise;
    return *label->words ? arena_printf(w->arena, "%s %s", label->words, value) : "";
}

/* Returns the words of key=value. */
static const char *setting_words(const struct report_words *w, const char *word, size_t n)
{
    size_t key_n = strcspn(word, "=");
    const char *key = arena_strndup(w->arena, word, key_n);
    const char *value = arena_strndup(w->arena, word + key_n + 1, n - key_n - 1);

    return pair_words(w, key, value, arena_printf(w->arena, "%s=%s", short_name(w, key), value));
}

const char *report_words_key(const struct report_words *w, const char *key)
{
    const struct report_label *label = find_label(w, key, NULL);
    return label ? label->words : short_name(w, key);
}

const char *report_words_title(const struct report_words *w, const char *key, const char *value,
                               bool alone)
{
    const char *otherwise =
        alone ? value : arena_printf(w->arena, "%s = %s", short_name(w, key), value);
    return pair_words(w, key, value, otherwise);
}

const char *report_words_text(const struct report_words *w, const char *column, const char *text)
{
    const struct report_label *label = text ? find_label(w, column, text) : NULL;
    struct strbuf b;

    if (label) return label->words;
    if (!text || !strchr(text, '=')) return text;
    strbuf_init(&b, w->arena);
    strbuf_add(&b, "");
    for (const char *p = text; *p;) {
        size_t space = strspn(p, " "), n = report_word_length(p + space);
        const char *word = arena_strndup(w->arena, p + space, n);
        if (report_word_is_setting(word, n)) word = setting_words(w, word, n);
        if (*word) strbuf_addf(&b, "%.*s%s", b.n || p == text ? (int)space : 0, p, word);
        p += space + n;
    }
    return b.text;
}

/* --- what is shown -------------------------------------------------------------------------- */

static void add_key(struct report_words *w, const char *key)
{
    for (int32_t i = 0; i < w->keys_n; i++)
        if (strcmp(w->key[i], key) == 0) return;
    vec_grow(w->arena, &w->key, w->keys_n, &w->room, sizeof *w->key);
    w->key[w->keys_n++] = key;
}

static void add_pair(struct report_words *w, struct shown *shown, const char *key,
                     const char *value)
{
    add_key(w, key);
    vec_grow(w->arena, &shown->pair, shown->pairs_n, &shown->room, sizeof *shown->pair);
    shown->pair[shown->pairs_n++] = (struct shown_pair){key, value};
}

/* Adds the value of a column and the words key=value in it. */
static void add_text(struct report_words *w, struct shown *shown, const char *column,
                     const char *text)
{
    add_pair(w, shown, column, text);
    for (const char *p = text + strspn(text, " "); *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " "), key_n = strcspn(p, "=");
        if (report_word_is_setting(p, n))
            add_pair(w, shown, arena_strndup(w->arena, p, key_n),
                     arena_strndup(w->arena, p + key_n + 1, n - key_n - 1));
        p += n;
    }
}

/* Adds the distinct values of a column to a statement. */
static void select_values(struct strbuf *b, const struct report_answer *r, const char *column)
{
    if (report_answer_has(r, column))
        strbuf_addf(b, "UNION ALL SELECT DISTINCT %s, %s FROM report_answer\n",
                    str_quote(b->arena, column, '\''), str_quote(b->arena, column, '"'));
}

static int read_values(struct rows *out, struct arena *a, struct store *s,
                       const struct report_keys *k, struct err *e)
{
    const struct report_layout *l = k->judged;
    const struct report_answer *r = k->answer;
    const char *const single[] = {l->columns, l->panel, l->series, l->x};
    const struct store_param given = REPORT_GIVEN(r);
    struct strbuf b;

    strbuf_init(&b, a);
    report_answer_add(&b, "WITH report_answer", given.name, r);
    strbuf_add(&b, "\nSELECT NULL AS \"column\", NULL AS value WHERE 0\n");
    for (int32_t i = 0; i < l->group.n; i++) select_values(&b, r, l->group.name[i]);
    for (int32_t i = 0; i < l->rows.n; i++) select_values(&b, r, l->rows.name[i]);
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) select_values(&b, r, single[i]);
    return report_rows_query(out, a, s, r->where, b.text, &given, 1, REPORT_QUERY_LIMIT_S, e);
}

/* --- labels --------------------------------------------------------------------------------- */

static int check_key(const struct report_label *label, const struct report_answer *r, struct err *e)
{
    if (spec_key_find(label->key) || report_answer_has(r, label->key)) return 0;
    struct str_hint hint = spec_key_hint(label->key);
    if (!*hint.text) hint = str_hint(label->key, r->rows.name, (size_t)r->rows.columns_n);
    return ERR(e, ERR_DATA, "%s:%d: label: %s is neither a setting nor a column of %s%s",
               label->path, label->line, label->key, r->where, hint.text);
}

/* Warns of a label whose key or value no row has. */
static void check_use(const struct report_words *w, const struct shown *shown,
                      const struct report_label *label)
{
    const char **values = arena_array(w->arena, (size_t)shown->pairs_n + 1, sizeof *values);
    int32_t n = 0;

    for (int32_t i = 0; i < shown->pairs_n; i++) {
        if (strcmp(shown->pair[i].key, label->key) != 0) continue;
        if (!label->value || strcmp(shown->pair[i].value, label->value) == 0) return;
        values[n++] = shown->pair[i].value;
    }
    if (n == 0)
        log_warn("%s:%d: label: no row shows %s%s", label->path, label->line, label->key,
                 str_hint(label->key, w->key, (size_t)w->keys_n).text);
    else
        log_warn("%s:%d: label: no row shows %s=%s%s", label->path, label->line, label->key,
                 label->value, str_hint(label->value, values, (size_t)n).text);
}

int report_words_read(struct report_words *w, struct arena *a, struct store *s,
                      const struct report_keys *k, bool warns, struct err *e)
{
    const struct report_layout *l = k->judged;
    struct shown shown = {.pairs_n = 0};
    struct rows values;

    *w = (struct report_words){.arena = a, .layout = l};
    for (int32_t i = 0; i < l->labels_n; i++) TRY(check_key(&l->label[i], k->answer, e));
    TRY(read_values(&values, a, s, k, e));
    for (int32_t i = 0; i < values.rows_n; i++) {
        const char *text = report_rows_text(&values, i, 1);
        if (text) add_text(w, &shown, report_rows_text(&values, i, 0), text);
    }
    for (int32_t i = 0; i < l->labels_n && warns && values.rows_n; i++)
        check_use(w, &shown, &l->label[i]);
    return 0;
}
