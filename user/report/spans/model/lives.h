/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fibers as spans, from their creation to their end, under the names of fiber_times_name(): what
 * their time was made of is that of their intervals (stream/fibers.h), and while a fiber ran what
 * its thread did. And what the domains that run fibers did: a fiber ran, none did and the library's
 * scheduler had the domain, it was in a pause, or waited for the operating system.
 *
 * All time that was watched counts, also of fibers that are open at the begin or the end, or that a
 * loss cut; these are counted besides, and have no length.
 */
#ifndef REPORT_SPANS_MODEL_LIVES_H
#define REPORT_SPANS_MODEL_LIVES_H

#include "report/spans/model/fibers.h"
#include "report/spans/model/grouping.h"
#include "report/spans/model/open.h"
#include "report/spans/model/result.h"

#define LIVES_NO_NAME "(no name)"

struct fiber_lives;

/* Whoever knows threads and names. */
struct fiber_lives_host {
	void *ctx;
	struct span_sums *sums;
	/* Walks a stretch of the time of a domain's thread, as open_span_walk(). */
	int (*walk)(void *ctx, uint32_t process, uint32_t lane, uint64_t from, uint64_t to,
		    open_span_fn *fn, void *fn_ctx);
	/* From this moment on the domain's thread may be asked for. */
	void (*needs)(void *ctx, uint32_t lane, uint64_t from_ns);
	/* Whether fibers of this name are asked for. */
	bool (*wants)(void *ctx, const char *name);
	struct span_grouping by; /* what names have besides; none by an argument */
};

/* The host is copied. 0 or -ENOMEM. */
int fiber_lives_new(const struct session *s, const struct fiber_lives_host *host,
		    struct fiber_lives **ret);
void fiber_lives_free(struct fiber_lives *l); /* NULL is allowed */
/* In order of time: an event of the library, which means this, and any other one. 0 or -ENOMEM, as
 * are the next two. */
int fiber_lives_record(struct fiber_lives *l, const struct ebt_event *ev,
		       const struct eio_record *r);
int fiber_lives_event(struct fiber_lives *l, const struct ebt_event *ev);
int fiber_lives_forget(struct fiber_lives *l, uint32_t process, uint64_t end_ns);
int fiber_lives_end(struct fiber_lives *l, uint64_t end_ns);
struct fibers_limits fiber_lives_over_limits(const struct fiber_lives *l);
/* The domains in the order of their appearance; valid until the lives are freed. */
const struct span_domain *fiber_lives_domains(const struct fiber_lives *l, uint32_t *ret_count);

#endif
