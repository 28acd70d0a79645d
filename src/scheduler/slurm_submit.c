/* slurm_submit.c - an attempt becomes a job: the script, sbatch. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "scheduler/command.h"
#include "scheduler/slurm.h"

static const double slurm_submit_limit_s = 60;

/* A text as one word of a shell. */
static void slurm_quote(struct strbuf *out, const char *text)
{
    strbuf_add(out, "'");
    for (; *text; text++) {
        if (*text == '\'')
            strbuf_add(out, "'\\''");
        else
            strbuf_add_n(out, text, 1);
    }
    strbuf_add(out, "'");
}

static int slurm_write_script(struct arena *a, const struct process_options *o, struct err *e)
{
    struct strbuf text;

    strbuf_init(&text, a);
    strbuf_add(&text, "#!/bin/sh\n# One attempt as a job of Slurm; see alibi run --help.\nexec ");
    slurm_quote(&text, o->program);
    strbuf_add(&text, " slurm-job ");
    slurm_quote(&text, o->dir);
    strbuf_add(&text, " --project ");
    slurm_quote(&text, o->root);
    strbuf_add(&text, "\n");
    return file_write_atomic(arena_printf(a, "%s/job.sh", o->attempt_dir), text.text, text.n, e);
}

static const char **slurm_arguments(const struct slurm *s, struct arena *a,
                                    const struct process_options *o)
{
    char name[SLURM_NAME_BYTES];
    int32_t n = 0, words_n = 0;

    while (s->word[words_n]) words_n++;
    const char **argv = arena_array(a, (size_t)words_n + 12, sizeof *argv);
    argv[n++] = "sbatch";
    argv[n++] = "--parsable";
    slurm_name(name, s->machine.host, o->dir);
    argv[n++] = arena_printf(a, "--job-name=%s", name);
    argv[n++] = arena_printf(a, "--chdir=%s", o->root);
    argv[n++] = arena_printf(a, "--output=%s/slurm.log", o->dir);
    argv[n++] = "--no-requeue";
    argv[n++] = "--signal=B:TERM@120";
    if (o->alone) argv[n++] = "--exclusive";
    for (int32_t i = 0; i < words_n; i++) argv[n++] = s->word[i];
    argv[n++] = arena_printf(a, "%s/job.sh", o->attempt_dir);
    return argv;
}

int slurm_submit(struct slurm_job *job, const struct process_options *o, struct err *e)
{
    int rc = 0;
    char *text;
    struct arena a;
    struct slurm_row row = {.state = "PENDING"};

    arena_init(&a);
    const char *path = arena_printf(&a, "%s/%s", o->attempt_dir, SLURM_EXIT_FILE);
    TRY_OUT(rc, file_write_atomic(path, "", 0, e));
    TRY_OUT(rc, slurm_write_script(&a, o, e));
    TRY_OUT(rc, slurm_program_run(&text, &a, slurm_arguments(job->cluster, &a, o),
                                  slurm_submit_limit_s, e));
    text[strcspn(text, ";\n")] = '\0'; /* number;cluster */
    if (!str_to_int(&row.id, text) || row.id <= 0) {
        rc = ERR(e, ERR_UNAVAILABLE, "sbatch: answered '%.80s', not the number of a job", text);
        goto out;
    }
    slurm_watch(job, &row, o->attempt_dir);
out:
    arena_fini(&a);
    return rc;
}
