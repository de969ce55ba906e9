/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF source of a live run, made by the options, or the reason why there is none. */
#ifndef ENGINE_LIVE_PROBING_H
#define ENGINE_LIVE_PROBING_H

#include "engine/context.h"
#include "engine/live/traced.h"
#include "source/bpf/bpf.h"

struct probing {
	const struct engine *engine;
	const struct inspect *inspect;
	struct source *source;		 /* NULL: rings are read without BPF */
	bool sees;			 /* something of some process can be recorded */
	bool tried;			 /* to attach to a process that the user named */
	uint64_t attach_cpu_ns;		 /* that it has taken to attach to processes found */
	bool found_allocs;		 /* markers of sampled allocations; after probing_end() */
	char missing[EBT_REASON_BYTES];	 /* why there is no source, until it is reported */
	char unprobed[EBT_REASON_BYTES]; /* why not even root would have one; else empty */
};

/* Whether there can be one at all: the kernel and our privileges allow it. */
bool probing_is_allowed(void);
/*
 * Makes the source if the mode requires or allows it: it reports to `traced`, and probes what its
 * processes map. Subscribe readers of rings before: what is missed before the probes are in place
 * is in a ring that is read, or lost. record: the started program switches its own ring on. All
 * pointers outlive the source. ENGINE_OK, or the reason has been reported.
 */
enum engine_end probing_begin(struct probing *p, const struct engine *e, bool record,
			      struct inspect *inspect, struct traced *traced);
/* Frees the source, which detaches; all zero is allowed. */
void probing_end(struct probing *p);

/* Forks up to this time have been reported; UINT64_MAX: no source reports forks. */
uint64_t probing_known_ns(const struct probing *p);

/* Attaches to a process named by the user. ENGINE_FAILED if it cannot and the mode is not auto. */
enum engine_end probing_attach(struct probing *p, struct traced_process *process);
/* After all that are known: ENGINE_MISUSED if the report needs to know when objects end, and
 * nothing that was attached to reports that. The reason has been reported then. */
enum engine_end probing_check_ends(const struct probing *p);
/* The run begins, with processes that ran before: counts and samples are from then on. */
void probing_run_begins(struct probing *p, uint64_t now_ns);
/* Emits the intervals in which threads do not run that are open, if the sink wants them. */
void probing_emit_open(struct probing *p, struct sink *k);
/*
 * Reports once why there is no source, if some process has markers: BPF would add thread and CPU to
 * their events. For reports, which need neither, only with -v where root would have a source.
 */
void probing_report_missing(struct probing *p);

#endif
