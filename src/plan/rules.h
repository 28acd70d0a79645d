/* rules.h - reads `evaluate` and `where` of a grid. Inside src/plan only. */
#ifndef PLAN_RULES_H
#define PLAN_RULES_H

#include "plan/grid.h"

/* rules_read - fills g->rule; node NULL: none. Errors: ERR_DATA with the place. */
int rules_read(struct grid *g, struct arena *a, const struct yaml_node *node, struct err *e);

/* rules_read_where - adds the conditions of a mapping. Errors: ERR_DATA with the place. */
int rules_read_where(struct axes *out, struct arena *a, const struct yaml_node *map, struct err *e);

#endif
