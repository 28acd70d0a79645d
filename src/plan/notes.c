/* notes.c - what a plan tells besides its runs: merged points, entries that match nothing. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "plan/expand.h"

/* Two nominal lengths of one artefact that a scale maps to the same run. */
enum merge_what { MERGE_L_TRAIN, MERGE_L_VALID, MERGE_STRIDE, MERGE_WHATS_N };
static const char *const merge_names[] = {"L_train", "L_valid", "stride"};

struct merge {
    enum merge_what what;
    int32_t mapped, nominal;
};

void notes_add(struct plan *plan, const char *format, ...)
{
    struct plan_note *grown = arena_array(&plan->arena, (size_t)plan->notes_n + 1, sizeof *grown);
    va_list args;

    if (plan->notes_n) memcpy(grown, plan->note, (size_t)plan->notes_n * sizeof *grown);
    va_start(args, format);
    grown[plan->notes_n].text = arena_vprintf(&plan->arena, format, args);
    va_end(args);
    plan->note = grown;
    plan->notes_n++;
}

static int32_t nominal_of(const struct plan_point *p, enum merge_what what)
{
    const int32_t values[] = {p->L_train_nominal, p->L_valid_nominal, p->stride_nominal};
    return values[what];
}

static int32_t mapped_of(const struct spec *s, enum merge_what what)
{
    const int32_t values[] = {s->train.L, spec_valid_length(s), s->eval.stride};
    return values[what];
}

static int compare_merges(const void *a, const void *b)
{
    const struct merge *x = a, *y = b;

    if (x->what != y->what) return x->what < y->what ? -1 : 1;
    if (x->mapped != y->mapped) return x->mapped < y->mapped ? -1 : 1;
    return (x->nominal > y->nominal) - (x->nominal < y->nominal);
}

/* Both points of a pair, for each length in which they differ; 0 when they differ in none. */
static int32_t add_pair(struct merge *out, const struct plan *plan, const struct plan_point *a,
                        const struct plan_point *b)
{
    int32_t n = 0;

    for (enum merge_what what = 0; what < MERGE_WHATS_N; what++) {
        if (nominal_of(a, what) == nominal_of(b, what)) continue;
        int32_t mapped = mapped_of(&plan->run[a->run].spec, what);
        out[n++] = (struct merge){what, mapped, nominal_of(a, what)};
        out[n++] = (struct merge){what, mapped, nominal_of(b, what)};
    }
    return n;
}

/* One note for each kind of length: "512, 513 are both 64; 1024, 1025 are both 128". */
static void note_what(struct plan *plan, const struct merge *m, int32_t n, const char *artefact,
                      const char *scale)
{
    struct strbuf b;

    strbuf_init(&b, &plan->arena);
    for (int32_t i = 0; i < n;) {
        int32_t values = 0, from = i;
        strbuf_add(&b, from ? "; " : "");
        for (; i < n && m[i].mapped == m[from].mapped; i++) {
            if (i > from && m[i].nominal == m[i - 1].nominal) continue;
            strbuf_addf(&b, "%s%d", values++ ? ", " : "", m[i].nominal);
        }
        strbuf_addf(&b, " are %s %d", values == 2 ? "both" : "all", m[from].mapped);
    }
    notes_add(plan, "%s: %s %s at scale %s", artefact, merge_names[m->what], b.text, scale);
}

void notes_add_merged(struct plan *plan, int32_t first_point, const char *artefact,
                      const char *scale)
{
    int32_t points = plan->points_n - first_point, n = 0, same = 0;
    int32_t *first =
        arena_array(&plan->arena, (size_t)plan->runs_n + 1, sizeof *first); /* point index + 1 */
    struct merge *merge =
        arena_array(&plan->arena, (size_t)points * 2 * MERGE_WHATS_N + 1, sizeof *merge);

    for (int32_t i = 0; i < points; i++) {
        const struct plan_point *p = &plan->point[first_point + i];
        int32_t *known = &first[p->run];
        if (*known == 0) {
            *known = i + 1;
            continue;
        }
        int32_t added = add_pair(&merge[n], plan, &plan->point[first_point + *known - 1], p);
        n += added;
        same += added == 0;
    }
    if (n > 0) qsort(merge, (size_t)n, sizeof *merge, compare_merges);
    for (int32_t i = 0, from = 0; i < n; i++) {
        if (i + 1 < n && merge[i + 1].what == merge[from].what) continue;
        note_what(plan, &merge[from], i + 1 - from, artefact, scale);
        from = i + 1;
    }
    if (same > 0)
        notes_add(
            plan,
            "%s: %d points differ only in keys that scale %s or --set gives, and share runs with "
            "others",
            artefact, same, scale);
}
