/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF source of a live run: made as the options ask, or the reason why there is none. */
#ifndef ENGINE_PROBING_H
#define ENGINE_PROBING_H

#include "engine/context.h"
#include "source/bpf.h"

struct probing {
	const struct engine *engine;
	struct source *source;		/* NULL: the rings alone */
	uint32_t markers;		/* that were attached, of all processes */
	char missing[EBT_REASON_BYTES]; /* what BPF lacks, until it has been reported */
};

/*
 * Makes the source if the mode asks for it or allows it. changed, with ctx, as of struct bpf_options.
 * record: the program that we start will switch its own ring on. All that it is given outlives it.
 * ENGINE_OK, or the reason has been reported.
 */
enum engine_end probing_begin(struct probing *p, const struct engine *e, bool record,
			      struct inspect *inspect,
			      void (*changed)(void *ctx, pid_t pid, enum bpf_change change),
			      void *ctx);
/* Frees the source, which detaches; all zero is allowed. */
void probing_end(struct probing *p);

/* Forks up to this time have been reported; UINT64_MAX: nobody reports any. */
uint64_t probing_known_ns(const struct probing *p);

/* Attaches to a process that was asked for. ENGINE_FAILED if it cannot, and the mode insists. */
enum engine_end probing_attach(struct probing *p, pid_t pid);
/* The same for one that was found; p is a struct probing. */
void probing_attach_found(void *p, pid_t pid);
/*
 * Reports once what is missing, if there is a process to which BPF would have added thread and CPU.
 * Of a report that counts nothing is missing.
 */
void probing_report_missing(struct probing *p);

#endif
