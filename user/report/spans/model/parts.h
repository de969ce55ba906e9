/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a span's time went into: parts, each of a kind and with a detail (which phase, which system
 * call, behind which thread). Parts are disjoint, and add up to the span. A sum has few of them:
 * beyond SPAN_PARTS_MAX the details of a kind are one.
 */
#ifndef REPORT_SPANS_MODEL_PARTS_H
#define REPORT_SPANS_MODEL_PARTS_H

#include "report/parts/blame_parts.h"

#include <stdbool.h>
#include <stdint.h>

/* X(CONSTANT, key, text): key of JSON; text of reports, before the detail. */
#define SPAN_PARTS_LIST(X)                                           \
	X(SPAN_RUNNING, running, "running")                          \
	X(SPAN_COLLECTED, collected, "collected")                    \
	X(SPAN_WAITING, run_queue, "waiting for a CPU")              \
	X(SPAN_BLOCKED, blocked, "blocked")                          \
	X(SPAN_FAULTING, page_fault, "faulting")                     \
	X(SPAN_STOPPED, stopped, "stopped")                          \
	X(SPAN_SUSPENDED, suspended, "suspended")                    \
	X(SPAN_READY, ready, "ready, while other fibers ran")        \
	X(SPAN_ACROSS, across_threads, "begun and ended by threads") \
	X(SPAN_UNKNOWN, unknown, "not known")

enum span_part_kind {
#define X(CONSTANT, key, text) CONSTANT,
	SPAN_PARTS_LIST(X)
#undef X
		SPAN_PART_KINDS /* their number */
};

/*
 * The detail, by kind: of SPAN_COLLECTED the phases_row() of the pause; of SPAN_WAITING the name of
 * the thread that ran (a text of the model, 0: not known); of SPAN_BLOCKED span_block(); of
 * SPAN_SUSPENDED the operation (a text, 0: it has no name); else 0.
 */
#define SPAN_DETAIL_OTHER UINT32_MAX /* several */
#define SPAN_PARTS_MAX	  48

struct span_part {
	uint32_t kind; /* enum span_part_kind */
	uint32_t detail;
	uint64_t ns;
};

/* Zeroed memory: none. Those of one kind in any order. */
struct span_parts {
	struct span_part *at;
	uint32_t count, cap;
};

/* What a domain that runs fibers did. X(CONSTANT, key, text) */
#define SPAN_DOMAIN_LIST(X)                              \
	X(SPAN_DOMAIN_FIBERS, fibers, "fibers")          \
	X(SPAN_DOMAIN_SCHEDULER, scheduler, "scheduler") \
	X(SPAN_DOMAIN_COLLECTED, collected, "collected") \
	X(SPAN_DOMAIN_SLEPT, slept, "slept")

enum span_domain_state {
#define X(CONSTANT, key, text) CONSTANT,
	SPAN_DOMAIN_LIST(X)
#undef X
		SPAN_DOMAIN_STATES /* their number */
};

/* Static; NULL beyond the last. */
const char *span_part_key(unsigned kind);
const char *span_part_text(unsigned kind);

/* A blocked thread: why, by enum blame_part, and in which system call (BLAME_NO_CALL: none). */
static inline uint32_t span_block(enum blame_part part, int32_t syscall)
{
	uint32_t call = syscall < 0 ? 0 : (uint32_t)syscall + 1;
	return (uint32_t)part << 16 | (call < UINT16_MAX ? call : UINT16_MAX);
}
static inline enum blame_part span_block_part(uint32_t detail)
{
	return (enum blame_part)(detail >> 16);
}
static inline int32_t span_block_call(uint32_t detail)
{
	return (int32_t)(detail & UINT16_MAX) - 1;
}

/* Adds a part that there is not yet. 0 or -ENOMEM. */
int span_parts_add_new(struct span_parts *p, uint32_t kind, uint32_t detail, uint64_t ns);
/* 0 or -ENOMEM. */
static inline int span_parts_add(struct span_parts *p, uint32_t kind, uint32_t detail, uint64_t ns)
{
	for (struct span_part *at = p->at, *end = at + p->count; at < end; at++)
		if (at->kind == kind && at->detail == detail) {
			at->ns += ns;
			return 0;
		}
	if (!ns)
		return 0;
	/* There is always room for one more of each kind. */
	if (p->count == p->cap || p->count >= SPAN_PARTS_MAX - SPAN_PART_KINDS)
		return span_parts_add_new(p, kind, detail, ns);
	p->at[p->count++] = (struct span_part){kind, detail, ns};
	return 0;
}
int span_parts_merge(struct span_parts *p, const struct span_parts *more);
/* By kind, and within a kind the longest first. */
void span_parts_sort(struct span_parts *p);
uint64_t span_parts_total(const struct span_parts *p);
/* The time of a kind and detail. */
uint64_t span_parts_get(const struct span_parts *p, uint32_t kind, uint32_t detail);
void span_parts_done(struct span_parts *p);

#endif
