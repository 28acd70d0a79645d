/* report_fixture.c - see report_fixture.h. */
#include "report/report_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "harness/test.h"

int report_fixture_setup(void **state)
{
    static const char *const shipped[] = {"preamble.gp", "default/query.sql", "default/table.txt",
                                          "default/plot.gp", "power/effects.tsv"};
    struct report_fixture *f = calloc(1, sizeof *f);
    void *base = NULL;
    char path[256];

    assert_non_null(f);
    assert_int_equal(store_fixture_setup(&base), 0);
    f->base = base;
    f->project = (struct project){.root = f->base->dir, .share = f->base->dir, .program = "alibi"};
    snprintf(f->artefact_dir, sizeof f->artefact_dir, "%s/experiments/tiny", f->base->dir);
    assert_works(f->base, file_make_dirs(f->artefact_dir, &f->base->e));
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++) {
        snprintf(path, sizeof path, "experiments/%s", shipped[i]);
        char *text = test_read(path);
        snprintf(path, sizeof path, "../%s", shipped[i]);
        report_fixture_write(f, path, text);
        free(text);
    }
    arena_init(&f->arena);
    *state = f;
    return 0;
}

int report_fixture_teardown(void **state)
{
    struct report_fixture *f = *state;
    void *base = f->base;
    int rc = store_fixture_teardown(&base);
    arena_fini(&f->arena);
    free(f);
    return rc;
}

void report_fixture_write(const struct report_fixture *f, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", f->artefact_dir, name);
    test_write(path, text, strlen(text));
}

char *report_fixture_read(struct report_fixture *f, const char *name)
{
    char *text = NULL;
    const char *path = arena_printf(&f->arena, "%s/%s", f->base->dir, name);
    file_read(&f->arena, &text, NULL, path, 1 << 22, NULL);
    return text;
}

FILE *report_text_begin(struct report_fixture *f)
{
    f->base->e = (struct err){0};
    f->out = open_memstream(&f->text, &f->text_n);
    assert_non_null(f->out);
    return f->out;
}

char *report_text_end(struct report_fixture *f)
{
    fclose(f->out);
    char *text = arena_strdup(&f->arena, f->text);
    free(f->text);
    return text;
}

static void plant_one(const struct report_fixture *f, const struct report_plant *p,
                      char run_id[SPEC_ID_BYTES])
{
    char train_id[SPEC_ID_BYTES];
    struct store_run_state now;
    struct spec train = fixture_train(p->position, p->L_train, p->seed);

    snprintf(train.scale, sizeof train.scale, "%s", p->scale);
    train.modified = p->modified;
    struct spec eval = fixture_eval(&train, p->L_valid);
    if (p->stride) {
        eval.eval.window = SPEC_SLIDING;
        eval.eval.stride = p->stride;
    }
    fixture_add(f->base, &eval, run_id);
    if (p->perplexity <= 0) return;
    spec_run_id(&train, train_id);
    assert_works(f->base, store_run_state(f->base->store, train_id, &now, &f->base->e));
    if (!now.done) fixture_done(f->base, &train, 2.0, train_id);
    assert_works(f->base, store_run_state(f->base->store, run_id, &now, &f->base->e));
    if (!now.done) fixture_done(f->base, &eval, p->perplexity, run_id);
}

void report_fixture_plant(const struct report_fixture *f, const char *artefact,
                          const struct report_plant *plants, int32_t n)
{
    char(*run_id)[SPEC_ID_BYTES] = calloc((size_t)n, sizeof *run_id);
    struct store_point *points = calloc((size_t)n, sizeof *points);

    assert_true(run_id && points);
    assert_works(f->base, store_begin(f->base->store, &f->base->e));
    for (int32_t i = 0; i < n; i++) {
        plant_one(f, &plants[i], run_id[i]);
        points[i] = (struct store_point){.point = i,
                                         .run_id = run_id[i],
                                         .L_train_nominal = plants[i].L_train_nominal,
                                         .L_valid_nominal = plants[i].L_valid_nominal,
                                         .stride_nominal = plants[i].stride};
    }
    assert_works(f->base, store_set_points(f->base->store, artefact, plants[0].scale, points, n,
                                           &f->base->e));
    assert_works(f->base, store_commit(f->base->store, &f->base->e));
    free(run_id);
    free(points);
}

const char *report_fixture_dir(struct report_fixture *f, const char *artefact)
{
    return strcmp(artefact, "tiny") == 0 ? f->artefact_dir
                                         : arena_printf(&f->arena, "experiments/%s", artefact);
}

void report_fixture_open(struct report_fixture *f, struct report_folder *folder, const char *name)
{
    assert_works(f->base, report_folder_open(folder, &f->arena, &f->project, name,
                                             report_fixture_dir(f, name), &f->base->e));
}

char *report_fixture_report(struct report_fixture *f, const char *artefact,
                            const struct report_options *o)
{
    return report_text(f, report_artefact(out, f->base->store, &f->project, artefact,
                                          report_fixture_dir(f, artefact), o, &f->base->e));
}

/* The box of a text, in pixels of the page. */
struct box {
    const char *text;
    double left, right, top, bottom;
};

static double svg_number(const char *from, const char *key)
{
    const char *at = strstr(from, key);
    return at ? strtod(at + strlen(key), NULL) : 0;
}

/* The letters between the tags of a text element. */
static const char *svg_letters(struct report_fixture *f, const char *text)
{
    struct strbuf b;
    const char *end = strstr(text, "</text>");

    strbuf_init(&b, &f->arena);
    strbuf_add(&b, "");
    for (const char *p = text; p && p < end;) {
        if (*p == '<') {
            p = strchr(p, '>') + 1;
        } else if (*p == '&') {
            p = strchr(p, ';') + 1;
            strbuf_add(&b, "?");
        } else {
            bool begins = (*p & 0xC0) != 0x80;
            strbuf_add_n(&b, begins && *p < 0 ? "?" : p, begins);
            p++;
        }
    }
    return b.text;
}

/* The text of the group at p, which says where it is. */
static struct box svg_box(struct report_fixture *f, const char *p, const char *text)
{
    double x, y, size = svg_number(p, "font-size=\"");
    const char *anchor = strstr(p, "text-anchor=\"") + strlen("text-anchor=\"");
    const char *line = strchr(p, '\n'), *turn = strstr(p, "rotate(270");
    const char *letters = svg_letters(f, text);
    double wide = 0.5 * size * (double)strlen(letters);

    assert_int_equal(sscanf(p, "<g transform=\"translate(%lf,%lf)", &x, &y), 2);
    double before = *anchor == 's' ? 0 : *anchor == 'm' ? wide / 2 : wide;
    if (turn && turn < line)
        return (struct box){letters, x - 0.7 * size, x, y - wide + before, y + before};
    return (struct box){letters, x - before, x - before + wide, y - 0.7 * size, y};
}

void report_fixture_check_svg(struct report_fixture *f, const char *path)
{
    enum { TEXTS_MAX = 400 };
    const char *svg = report_fixture_read(f, path);
    struct box *box = arena_array(&f->arena, TEXTS_MAX, sizeof *box);
    double page_x, page_y;
    int n = 0;

    const char *text = svg, *page = svg ? strstr(svg, "viewBox=") : NULL;
    if (!page) fail_msg("%s is not there", path);
    assert_int_equal(sscanf(page, "viewBox=\"0 0 %lf %lf", &page_x, &page_y), 2);
    while ((text = strstr(text + 1, "<text>"))) {
        const char *group = text;
        while (strncmp(group, "<g transform=", 13) != 0) group--;
        assert_true(n < TEXTS_MAX);
        struct box b = svg_box(f, group, text);
        if (!*b.text) continue;
        if (b.left < 0 || b.right > page_x || b.top < 0 || b.bottom > page_y)
            fail_msg("%s: \"%s\" leaves the page: x %.0f to %.0f of %.0f, y %.0f to %.0f of %.0f",
                     path, b.text, b.left, b.right, page_x, b.top, b.bottom, page_y);
        for (int i = 0; i < n; i++)
            if (b.left < box[i].right && box[i].left < b.right && b.top < box[i].bottom &&
                box[i].top < b.bottom)
                fail_msg("%s: \"%s\" covers \"%s\"", path, b.text, box[i].text);
        box[n++] = b;
    }
    assert_true(n > 0);
}
