/* synthetic_text.c - its lowest perplexity, and its end. */
#include "synthetic/synthetic_text.h"

#include <math.h>
#include <stdlib.h>

void synthetic_free(struct synthetic_text *t)
{
    if (!t) return;
    free(t->text);
    *t = (struct synthetic_text){0};
}

double synthetic_floor(const struct synthetic_text *t)
{
    return exp2(t->bits / (double)t->tokens_n);
}
