/* adopt.h - results.db made from run folders, when it was lost or never came along.
 *
 * What a folder runs/<run>/<attempt>/ holds - spec, records, checkpoints - becomes rows again:
 * runs, attempts, results, curves. What no folder holds does not: which artefact asks for a run and
 * whether a spec was changed by --set. So every run counts as modified until a plan asks for it as
 * it is, which `alibi run ARTEFACT` does without running what is there. */
#ifndef SCHEDULER_ADOPT_H
#define SCHEDULER_ADOPT_H

#include <stdint.h>

#include "base/err.h"
#include "base/project.h"
#include "store/store.h"

struct ingest_summary {
    int32_t folders_n;  /* with records */
    int32_t attempts_n; /* rows added; evaluations of one worker are several */
    int32_t known_n;    /* attempts that results.db had already */
    int32_t skipped_n;  /* folders that cannot be taken */
    char why[512];      /* the first of them */
};

/* ingest_run_folders - takes every attempt of the folders under `runs` (absolute; the project's own
 * or another's) that the store does not know. Trainings in the order of their numbers, evaluations
 * in the order in which they ended; the last one that is done is the current result. The same call
 * again changes nothing. The store must be open for writing. Errors: ERR_NOINPUT no such folder;
 * those of the store. */
int ingest_run_folders(struct store *s, const struct project *p, const char *runs,
                       struct ingest_summary *out, struct err *e);

#endif
