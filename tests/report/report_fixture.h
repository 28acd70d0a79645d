/* report_fixture.h - shared by the tests of src/report: a store with planted results, a project
 * folder around it, a small artefact, and answers as text. */
#ifndef TESTS_REPORT_FIXTURE_H
#define TESTS_REPORT_FIXTURE_H

#include "report/artefact_folder.h"
#include "store/store_fixture.h"

struct report_fixture {
    struct store_fixture *base; /* folder, store, error */
    char artefact_dir[160];     /* experiments/tiny below the folder */
    struct project project;
    struct arena arena; /* until the end of the case */
    char **artefact;    /* names of the shipped ones, after paper_plant_list */
    int32_t artefacts_n;
    char *text; /* that is being written */
    size_t text_n;
    FILE *out;
};

int report_fixture_setup(void **state);
int report_fixture_teardown(void **state);

/* report_fixture_write - a file of the artefact folder. report_fixture_read - a file of the
 * project, in the arena; NULL when it is not there. */
void report_fixture_write(const struct report_fixture *f, const char *name, const char *text);
char *report_fixture_read(struct report_fixture *f, const char *name);

/* report_text - what a call that returns 0 writes to `out`, in the arena:
 * report_text(f, report_page(out, …, &f->base->e)). */
#define report_text(f, call)                                                                       \
    ({                                                                                             \
        FILE *out = report_text_begin(f);                                                          \
        int rc_of_call = (call);                                                                   \
        assert_works((f)->base, rc_of_call);                                                       \
        report_text_end(f);                                                                        \
    })
FILE *report_text_begin(struct report_fixture *f);
char *report_text_end(struct report_fixture *f);

/* One planted evaluation and its point in the artefact. */
struct report_plant {
    const char *scale;
    enum spec_position position;
    int32_t L_train, L_valid;                 /* actual */
    int32_t L_train_nominal, L_valid_nominal; /* the paper's */
    int32_t stride;                           /* 0: nonoverlapping */
    int64_t seed;
    double perplexity; /* 0: asked for, not run */
    bool modified;
};
/* report_fixture_plant - runs, results and the points of an artefact at the scale of the first. */
void report_fixture_plant(const struct report_fixture *f, const char *artefact,
                          const struct report_plant *plants, int32_t n);

/* report_fixture_open - the files of an artefact. */
void report_fixture_open(struct report_fixture *f, struct report_folder *folder, const char *name);

/* report_fixture_dir - the folder of an artefact: tiny is the fixture's own, others are shipped.
 * report_fixture_report - what report_artefact writes, which works. */
const char *report_fixture_dir(struct report_fixture *f, const char *artefact);
char *report_fixture_report(struct report_fixture *f, const char *artefact,
                            const struct report_options *o);

/* report_fixture_check_svg - the texts of a figure of gnuplot's are on its page, and none covers
 * another. A letter is taken to be half as wide as high, which is less than most are. */
void report_fixture_check_svg(struct report_fixture *f, const char *path);

#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        if (!strstr((text), (part))) fail_msg("no \"%s\" in:\n%s", (part), (text));                \
    } while (0)
#define assert_lacks(text, part)                                                                   \
    do {                                                                                           \
        if (strstr((text), (part))) fail_msg("\"%s\" must not be in:\n%s", (part), (text));        \
    } while (0)

#endif
