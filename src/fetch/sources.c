/* sources.c - the table of public corpora. A new one needs a row here; the piece data/NAME.yaml
 * that `alibi data prepare` writes, with its counts and fingerprint, becomes
 * configs/data/NAME.yaml. */
#include "fetch/fetch.h"

#include <stddef.h>
#include <string.h>

static const struct unpack_file wikitext_files[SOURCES_FILES_N] = {
    {"wiki.train.tokens", "train.txt"},
    {"wiki.valid.tokens", "valid.txt"},
    {"wiki.test.tokens", "test.txt"},
};

static const struct fetch_source sources_table[] = {
    {.name = "wikitext103",
     .url = {"https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-103-v1.zip",
             "https://wikitext.smerity.com/wikitext-103-v1.zip"},
     .sha256 = "242ba0f20b329cfdf1ccc61e9e9e5b59becf189db7f7a81cd2a0e2fc31539590",
     .archive_bytes_max = 400000000,
     .text_bytes_max = 1000000000,
     .file = wikitext_files,
     .licence = "CC BY-SA 3.0, Wikipedia"},
    {.name = "wikitext2",
     .url = {"https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-2-v1.zip",
             "https://wikitext.smerity.com/wikitext-2-v1.zip"},
     .sha256 = "92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c",
     .archive_bytes_max = 20000000,
     .text_bytes_max = 50000000,
     .file = wikitext_files,
     .licence = "CC BY-SA 3.0, Wikipedia"},
};

const struct fetch_source *fetch_sources(int32_t *n)
{
    *n = sizeof sources_table / sizeof *sources_table;
    return sources_table;
}

const struct fetch_source *fetch_source_find(const char *name)
{
    for (size_t i = 0; i < sizeof sources_table / sizeof *sources_table; i++)
        if (strcmp(sources_table[i].name, name) == 0) return &sources_table[i];
    return NULL;
}
