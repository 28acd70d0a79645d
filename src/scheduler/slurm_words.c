/* slurm_words.c - what the user wants of sbatch, and how a job is named. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "scheduler/slurm.h"

/* Options that would break what is relied on (slurm.h). */
static const char *const slurm_ours[] = {"array",     "chdir",    "clusters", "error",    "gid",
                                         "input",     "job-name", "output",   "parsable", "requeue",
                                         "test-only", "uid",      "wait",     "wrap"};

/* One word: name or name=value, perhaps with the dashes of the command line. */
static int slurm_check_word(const char *word, struct err *e)
{
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-");

    if (!islower((unsigned char)word[0]) || (word[n] != '\0' && word[n] != '='))
        return ERR(e, ERR_USAGE,
                   "--slurm %s: not an option of sbatch; give long names, such as partition=gpu",
                   word);
    /* sbatch takes the beginning of a name for the name. */
    for (size_t i = 0; i < sizeof slurm_ours / sizeof *slurm_ours; i++)
        if (strncmp(slurm_ours[i], word, n) == 0)
            return ERR(e, ERR_USAGE, "--slurm %s: alibi sets --%s itself", word, slurm_ours[i]);
    for (const char *c = word; *c; c++)
        if (iscntrl((unsigned char)*c))
            return ERR(e, ERR_USAGE, "--slurm %.*s: its value holds a control character", (int)n,
                       word);
    return 0;
}

int slurm_parse_options(const char ***out, struct arena *a, const char *text, struct err *e)
{
    char *rest = arena_strdup(a, text ? text : "");
    int32_t n = 0;

    *out = arena_array(a, strlen(rest) / 2 + 2, sizeof **out);
    for (char *word = strsep(&rest, " \t\n"); word; word = strsep(&rest, " \t\n")) {
        word += strspn(word, "-");
        if (!*word) continue;
        TRY(slurm_check_word(word, e));
        (*out)[n++] = arena_printf(a, "--%s", word);
    }
    return 0;
}

void slurm_name(char out[SLURM_NAME_BYTES], const char *host, const char *dir)
{
    snprintf(out, SLURM_NAME_BYTES, "alibi-%s@%s", dir + strlen("runs/"), host);
    char *slash = strchr(out, '/');
    if (slash) *slash = '-';
}
