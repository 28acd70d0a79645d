/* probe.h - is the position method of a run really at work?
 *
 * A run that bears the name of a method must not train without it. One causal block without any
 * position method sees its context as a set: turning the order of the context around leaves the
 * prediction after the last token as it was. With a method it changes. So the probe opens a
 * one-block model with the run's width, heads and method, a few words and random weights, and turns
 * a row's context around. (Deeper models are no test: through the causal mask alone they can tell
 * positions apart.) */
#ifndef WORKER_PROBE_H
#define WORKER_PROBE_H

#include "backend/backend.h"
#include "base/err.h"
#include "spec/spec.h"

/* probe_position - ERR_INTERNAL when the method of s->model changes nothing. Takes milliseconds. */
int probe_position(struct backend *b, const struct spec *s, struct err *e);

#endif
