/* test_corpora.c - the embedded corpora, prepared: tokens, floors and fingerprints that runs depend
 * on. They are apart from the tests of prepare/, which sanitizers check: no byte comes from
 * outside. */
#include "data/data_support.h"
#include "prepare/prepare.h"

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *f, embedded_corpora_have_their_pinned_figures_and_floors)
{
    static const struct {
        const char *name;
        int32_t vocab;
        int64_t train, valid, test;
        double floor;
        const char *fingerprint;
    } pinned[] = {
        {"synthetic-wikitext103", 1032, 2000920, 131204, 131163, 14.177634,
         "e9f4c28858a6c930eba8be68bd8150ae4e7d4bd21a53b58ee077ef2562b35e62"},
        {"synthetic-bookcorpus", 1032, 2004361, 131366, 137767, 12.666253,
         "ca04e3002e234a6c35d3811896a0132b7b6f880fc80674a8f2b4653b9bdca708"},
        {"synthetic-cc100", 2056, 2000281, 131199, 131099, 14.230961,
         "970ec5e07df2475b955427ed3520b848300c475ecfc1a9cfaa3b5488ceee6849"},
        {"synthetic-wikitext103-mini", 408, 2001276, 131546, 132336, 12.443163,
         "892d4d230558e244fbb297d0fad639d69a53c6d5a6fd0e7c4aa2f3e41cdcad35"},
        {"synthetic-wikitext103-mini2", 408, 2000339, 131837, 131345, 10.258958,
         "f271fc165d4c1d9d4481be6f1214f91e4b0d3169047db8801efb5e4548de384f"},
        {"synthetic-wikitext103-mini2-long", 408, 14001186, 131837, 131345, 10.258958,
         "50c8b60293b6ca1c1b4c6f6172306abaa837a5891db5f0fc9fb326c9f4c40d81"},
        {"synthetic-bookcorpus-mini", 408, 2001839, 131967, 131629, 11.575315,
         "5ce3d96daa5307bc2508fcb79f68b42e53844e711d8c03df666c36fa0e2c6198"},
        {"synthetic-cc100-mini", 808, 2000304, 131111, 131194, 12.460711,
         "9e3cbe92e341646e1665f7061eaada897a43ab2b43783b2be2b74c18b54bf120"},
    };
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
        assert_true(prepare_is_embedded(pinned[i].name));
        const struct prepare_options o = {.name = pinned[i].name};
        struct corpus c;
        assert_ok(prepare_corpus(&f->project, &o, &e));
        assert_ok(corpus_open(&c, &f->project, pinned[i].name, &e));
        assert_string_equal(c.fingerprint, pinned[i].fingerprint);
        assert_int_equal(c.vocab, pinned[i].vocab);
        assert_int_equal(c.split[CORPUS_TRAIN].n, pinned[i].train);
        assert_int_equal(c.split[CORPUS_VALID].n, pinned[i].valid);
        assert_int_equal(c.split[CORPUS_TEST].n, pinned[i].test);
        assert_true(c.floor_perplexity > pinned[i].floor - 2e-6);
        assert_true(c.floor_perplexity < pinned[i].floor + 2e-6);
        corpus_close(&c);
    }
}
