/* settings.h - binds YAML to the spec keys of src/spec: settings, axes, conditions.
 *
 * 1. The key table is the only list of keys; this file adds short names for some of them.
 * 2. Values are checked when they are read, so that messages can name the place, and stored as
 * text.
 * 3. Keys that the plan determines (kind, scale, the training of an evaluation) cannot be set. */
#ifndef PLAN_SETTINGS_H
#define PLAN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/yaml.h"
#include "spec/spec.h"

enum { SETTINGS_KEYS_MAX = 256 };

/* A spec under construction and which of its keys have been set. */
struct draft {
    struct spec spec;
    bool given[SETTINGS_KEYS_MAX]; /* by index in the key table */
};
void draft_init(struct draft *d);
/* draft_set - sets a key; text must be valid. */
void draft_set(struct draft *d, const struct spec_key *key, const char *text);
/* draft_complete - ERR_DATA names a required key that is not set; no file position. */
int draft_complete(const struct draft *d, struct err *e);

/* settings_key - the key with this name or short name, such as L_train. Errors: ERR_DATA an unknown
 * key, with the nearest name; a key that the plan determines. No file position. */
int settings_key(const struct spec_key **out, const char *name, struct err *e);

/* settings_value - checks that text is a value of the key. Errors: as spec_set. */
int settings_value(const struct spec_key *key, const char *text, struct err *e);

/* spec_key_equals - whether the spec's field equals the value of `text`. */
bool spec_key_equals(const struct spec *s, const struct spec_key *key, const char *text);

/* settings_belongs - whether the key has this prefix, such as "eval.". */
bool settings_belongs(const struct spec_key *key, const char *part);

struct setting {
    const struct spec_key *key;
    const char *text;
    const struct yaml_node *at; /* of the key */
};
struct settings {
    struct setting *item;
    int32_t n, capacity;
};

/* settings_read - adds every setting of a mapping: nested (model: {layers: 16}) or dotted
 * (model.layers: 16). Errors: ERR_DATA with the place; for a key set twice with both lines. */
int settings_read(struct settings *out, struct arena *a, const struct yaml_node *map,
                  struct err *e);
/* settings_add_text - adds a "key=value" of the command line. Errors: ERR_USAGE, prefixed with
 * option. */
int settings_add_text(struct settings *out, struct arena *a, const char *option, const char *text,
                      struct err *e);
void settings_apply(const struct settings *s, struct draft *d);

/* An axis: a key and its values. */
struct axis {
    const struct spec_key *key;
    const char **item; /* values as text */
    int32_t n, capacity;
    const struct yaml_node *at; /* of the key; NULL: from the command line */
};
void axis_add(struct axis *x, struct arena *a, const char *text);

/* A product of axes. */
struct axes {
    struct axis *item;
    int32_t n, capacity;
};
/* axes_read - adds the axis of a key of a mapping: a value or a list of values. A key may appear
 * once, under either of its names. Errors: ERR_DATA with the place. */
int axes_read(struct axes *x, struct arena *a, const struct yaml_node *key,
              const struct yaml_node *value, struct err *e);
struct axis *axes_add(struct axes *x, struct arena *a);
/* axes_read_all - axes_read for all keys of a mapping except two. */
int axes_read_all(struct axes *x, struct arena *a, const struct yaml_node *map,
                  const char *const except[2], struct err *e);

/* axes_find - the axis of a key, or NULL. */
struct axis *axes_find(const struct axes *x, const char *key_name);
/* axes_size - number of points of the product, at most INT64_MAX / 4. */
int64_t axes_size(const struct axes *x);
/* axes_apply - sets the keys of point `index`; the last axis varies fastest. */
void axes_apply(const struct axes *x, int64_t index, struct draft *d);

/* where_matches - whether the spec has one of the values of every axis. Evaluation keys never match
 * a training; ignore_eval leaves them out. */
bool where_matches(const struct axes *where, const struct spec *s, bool ignore_eval);
bool where_has_eval(const struct axes *where);
/* where_text - "position=t5, L_train=512|1024" for notes. */
char *where_text(const struct axes *where, struct arena *a);

/* settings_short - the short name of a key if it has one, else its name. */
const char *settings_short(const struct spec_key *key);

#endif
