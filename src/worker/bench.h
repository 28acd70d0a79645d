/* bench.h - speed and memory of a model on a device, on made-up tokens: no corpus is read.
 *
 * Train mode: whole updates of the spec's shards, forward, backward and step. Eval mode: scoring of
 * every position of one shard's rows, or of so many rows of another length as the spec says
 * (bench.rows, bench.L), such as one window at a time. A few steps warm up, then at least twenty
 * are timed, each synchronised; the figure is the median. Tokens are drawn with the frequencies of
 * Zipf's law, so that the bands of an adaptive softmax get their natural shares. */
#ifndef WORKER_BENCH_H
#define WORKER_BENCH_H

#include "worker/worker_internal.h"

/* bench_run - the attempt's only spec, of kind SPEC_BENCH; records EVENT_BENCHED. */
int bench_run(struct worker *a, struct err *e);

#endif
