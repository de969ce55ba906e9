/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile for pprof and its kin: the message Profile of its profile.proto, compressed by
 * gzip. A sample is a stack of the session with a value of each type. Functions have their names as
 * the source has them, with the linker's beside; inlined ones are lines of their frame's location.
 *
 * The caller keeps the stacks and all they refer to until the profile is freed. It keeps the first
 * error inside, which pprof_finish() returns.
 */
#ifndef REPORT_PPROF_H
#define REPORT_PPROF_H

#include "base/buf.h"
#include "session/session.h"

#define PPROF_VALUES_MAX 8
#define PPROF_FRAMES_MAX \
	2048 /* of a sample; a location for those outside of them has their number */

struct pprof;

/* What a value is: "alloc_space", "bytes". */
struct pprof_type {
	const char *name, *unit;
};

struct pprof_head {
	const struct pprof_type *type; /* of each value */
	unsigned types;		       /* at most PPROF_VALUES_MAX */
	unsigned shown;		       /* the index of the one that readers show first */
	struct pprof_type period_type;
	uint64_t period; /* units of it for a sample; 0: not known, or not one */
	const char *executable;
	struct moment start; /* CLOCK_REALTIME */
	uint64_t duration_ns;
};

/* Keeps the session. 0 or -ENOMEM. */
int pprof_new(const struct session *s, const struct pprof_head *head, struct pprof **ret);
void pprof_free(struct pprof *p); /* NULL is allowed */
/* Adds a comment, a line of text that readers can show. */
void pprof_comment(struct pprof *p, const char *text);
/* pid: shown as a label; 0: none. */
void pprof_sample(struct pprof *p, uint32_t stack, const int64_t *values, uint32_t pid);
/* Appends the profile to `out`. 0 or the first error. */
int pprof_finish(struct pprof *p, struct buf *out);

#endif
