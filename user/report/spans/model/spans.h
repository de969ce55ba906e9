/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The spans of programs in a stream of events, and what their time was made of. A span is a user
 * event of type span, a span of a library of fibers (stream/fibers.h), a pair of markers (-U), or,
 * where a pattern matches the name of no such span, a phase.
 *
 * The time of a span is that of the thread that began it: on a CPU, waiting for one, blocked
 * (report/parts/off_cpu.h), and collected, which is all time in pauses, under their outermost
 * phases. Of a span of a fiber it is that of the domain while the fiber ran, else the fiber's own
 * states. A phase is made of what its thread did, pauses included. Parts add up to the span. What
 * was not recorded is SPAN_UNKNOWN: all of a thread's own time before the first interval without a
 * CPU, or before a loss of them, and that of threads that are not known. What threads did between
 * the begin in one and the end in another is SPAN_ACROSS.
 *
 * Spans nest, and each has all of its time. A span is in the sums if both ends were seen and no
 * loss cut it; else it is counted (SPAN_CUTS_LIST):
 *
 *	not_ended      its end did not come: its process ended or executed another program, what
 *	               is around it ended, a span of its level begins (stream/tracks.h); or, of
 *	               those without levels, one of the same name has ended inside it where none
 *	               of this name ever had an end behind such a one
 *	open_at_begin  it began before the run, or only its end was seen
 *	open_at_end    it was open when the run ended
 *	cut_by_loss    events were lost while it was open
 *	not_followed   more than SPANS_OPEN were open
 */
#ifndef REPORT_SPANS_MODEL_SPANS_H
#define REPORT_SPANS_MODEL_SPANS_H

#include "report/spans/model/grouping.h"
#include "report/spans/model/result.h"
#include "session/session.h"

#define SPANS_OPEN 100000

struct span_model_options {
	const char *const *globs; /* of names; none: all spans */
	unsigned glob_count;
	struct span_grouping by; /* what names have besides */
	bool fibers;		 /* in place of spans (lives.h) */
	uint32_t slowest;	 /* that are kept */
};

struct span_model;

/* The session and the globs are kept. 0 or -ENOMEM. */
int span_model_new(const struct session *s, const struct span_model_options *o,
		   struct span_model **ret);
void span_model_free(struct span_model *m); /* NULL is allowed */
/* In order of time, with their payloads. 0 or -ENOMEM. */
int span_model_events(struct span_model *m, const struct ebt_event *ev, size_t n);
/* As forget() of struct sink_ops. 0 or -ENOMEM. */
int span_model_forget(struct span_model *m, uint32_t process);
/* No more events come: what is open is so at this moment (0: at the last event). 0 or -ENOMEM. */
int span_model_end(struct span_model *m, uint64_t end_ns);

struct open_span;
struct span_visit {
	int (*fn)(void *ctx, const struct open_span *o);
	void *ctx;
};
/* Visits each open span of threads and fibers, until fn returns non-zero, which is returned. */
int span_model_each_open(struct span_model *m, struct span_visit *v);

/* What it comes to, of a model that has ended, or so far; the model stays. 0 or -ENOMEM;
 * span_result_done() follows success. */
int span_model_result(struct span_model *m, struct span_result *ret);

#endif
