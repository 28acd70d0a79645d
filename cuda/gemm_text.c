/* gemm_text.c - the choices of products as text, a line each, and back.
 *
 * A class is its sizes and eleven small numbers, an algorithm whether it is apart and its words in
 * base 16. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gemm_choice.h"

enum { TEXT_LINE_BYTES = 320, ALGORITHM_WORDS = sizeof(cublasLtMatmulAlgo_t) / sizeof(uint64_t) };

static int text_print(char *line, size_t bytes, const struct gemm_choice *choice)
{
    const struct gemm_class *c = &choice->of;
    int n = snprintf(
        line, bytes, "%" PRId64 " %" PRId64 " %" PRId64 " %d %d %d %d %d %d %d %d %d %d %d %d",
        c->m, c->n, c->k, c->transpose_a, c->transpose_b, c->from, c->to, c->bias, c->exact,
        c->with, c->alignment_a, c->alignment_b, c->alignment_c, c->rounded, choice->apart);
    for (size_t i = 0; i < ALGORITHM_WORDS; i++)
        n += snprintf(line + n, bytes - (size_t)n, " %" PRIx64, choice->algorithm.data[i]);
    return n + snprintf(line + n, bytes - (size_t)n, "\n");
}

size_t gemm_choices(const struct gemm *g, char *text, size_t bytes)
{
    char line[TEXT_LINE_BYTES];
    size_t n = (size_t)snprintf(text, bytes, "%s\n", g->identity);
    for (int32_t i = 0; i < g->choices_n; i++) {
        size_t line_n = (size_t)text_print(line, sizeof line, &g->choice_own[i]);
        if (n + line_n < bytes) memcpy(text + n, line, line_n + 1);
        n += line_n;
    }
    return n;
}

static int text_scan(struct gemm_choice *choice, const char *line)
{
    struct gemm_class *c = &choice->of;
    int at = 0;
    memset(choice, 0, sizeof *choice);
    if (sscanf(line, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %d %d %d %d %d %d %d %d %d %d %d %d%n",
               &c->m, &c->n, &c->k, &c->transpose_a, &c->transpose_b, &c->from, &c->to, &c->bias,
               &c->exact, &c->with, &c->alignment_a, &c->alignment_b, &c->alignment_c, &c->rounded,
               &choice->apart, &at) < 15)
        return 0;
    for (size_t i = 0; i < ALGORITHM_WORDS; i++) {
        int word_n = 0;
        if (sscanf(line + at, " %" SCNx64 "%n", &choice->algorithm.data[i], &word_n) < 1) return 0;
        at += word_n;
    }
    return line[at] == '\n' || line[at] == '\0';
}

int gemm_adopt(struct gemm *g, const char *text, struct err *e)
{
    size_t identity_n = strlen(g->identity);
    if (strncmp(text, g->identity, identity_n) != 0 || text[identity_n] != '\n')
        return ERR(e, ERR_DATA,
                   "choices of products were made by \"%.*s\", this is %s; they are timed again",
                   (int)strcspn(text, "\n"), text, g->identity);
    for (const char *line = text + identity_n + 1; *line; line += strcspn(line, "\n")) {
        struct gemm_choice choice;
        line += *line == '\n';
        if (*line == '\0') break;
        if (!text_scan(&choice, line))
            return ERR(e, ERR_DATA, "choices of products: \"%.60s\" is no choice", line);
        if (!gemm_find(g, &choice.of)) TRY(gemm_add_choice(g, &choice, e));
    }
    return 0;
}
