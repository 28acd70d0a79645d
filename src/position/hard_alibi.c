/* hard_alibi.c - Hard-ALiBi (Jelassi et al. 2024): head h of the first heads sees the last h + 1
 * keys, its own included; the other heads see every key, without position. It adds no bias. */
#include "position/position.h"

static const struct position_option options[] = {
    POSITION_NUMBER(POSITION_INT, "model.hard_alibi_heads", hard_alibi_heads, 0, 1024, NULL,
                    "heads of hard_alibi with a window: head h sees h + 1 keys; 0: as none",
                    "Hard-ALiBi, its code: 8 of 16"),
    {.name = NULL},
};

static int hard_alibi_check(const struct position_shape *s, struct err *e)
{
    if (s->options->hard_alibi_heads <= s->heads) return 0;
    return ERR(e, ERR_DATA, "model.hard_alibi_heads: %d of model.heads = %d heads",
               s->options->hard_alibi_heads, s->heads);
}

static int32_t narrow_heads(const struct position_shape *s)
{
    return s->options->hard_alibi_heads;
}

const struct position_functions position_hard_alibi = {
    .options = options,
    .check = hard_alibi_check,
    .narrow_heads = narrow_heads,
};
