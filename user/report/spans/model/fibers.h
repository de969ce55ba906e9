/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What fibers spent their time on, from the intervals of stream/fibers.h: of each fiber how long it
 * ran, was ready and was suspended, in which operations, on which domain, and under which name of
 * its program. Times are those of the events, ns; running + ready + suspended is end - begin.
 *
 * A fiber is reported once, when it has ended; fibers_times_snapshot() reports those that are open
 * as if they ended now. Memory is that of open fibers, bounded as in stream/fibers.h: with the sums
 * less than 64 MiB. It does no output and knows no command.
 */
#ifndef REPORT_SPANS_MODEL_FIBERS_H
#define REPORT_SPANS_MODEL_FIBERS_H

#include "stream/fibers.h"

/* Operations of a fiber that are summed by name, the first ones; the others together. */
#define FIBER_OPERATIONS 8

struct fiber_operation {
	const char *name; /* "" where Eio names none; NULL: those beyond FIBER_OPERATIONS */
	uint64_t ns;	  /* suspended in it, without the time in which the fiber was ready */
	uint64_t count;	  /* suspensions */
};

/* Texts are valid during the call that reports it. */
struct fiber_times {
	int64_t id;
	uint32_t process; /* of the registry */
	uint16_t domain;
	bool created; /* its creation was seen; else begin_ns is when it was seen first */
	uint64_t begin_ns, end_ns;
	enum track_end how; /* TRACK_ENDED, or why it is cut */
	/* Of its first part that has a name and none around it that has one: a span, else a
	 * context; NULL: none has. */
	const char *span, *context;
	const char *name;  /* its own; NULL: none */
	const char *group; /* the name of the context in which it was made; NULL: not known */
	uint64_t running_ns, ready_ns, suspended_ns;
	uint64_t runs;	 /* how often it was run */
	uint64_t arrows; /* how often an eio.put made it ready */
	unsigned operations;
	struct fiber_operation operation[FIBER_OPERATIONS + 1]; /* in order of appearance */
	void *user;						/* of the watcher */
};

/* The name to group a fiber by: of its span, context, itself, or group; NULL: it has none. */
static inline const char *fiber_times_name(const struct fiber_times *t)
{
	return t->span ? t->span : t->context ? t->context : t->name ? t->name : t->group;
}

/* 0 or -errno, which ends the call that reports. */
typedef int fibers_times_fn(void *ctx, const struct fiber_times *t);

struct fibers_times;

/* What else is reported of fibers; user: of the fiber, the watcher's own, NULL at first. */
struct fibers_watch {
	/* 0 or -errno, which ends the call that visits. */
	int (*spent)(void *ctx, void **user, const struct fiber *f, const struct fiber_interval *i);
	/* It was open when the model was freed. */
	void (*forget)(void *ctx, void *user);
};

/* All three are kept. 0 or -ENOMEM. */
int fibers_times_new(const struct session *s, fibers_times_fn *done, void *ctx,
		     struct fibers_times **ret);
void fibers_times_free(struct fibers_times *m); /* NULL is allowed */
/* Before the first event; both are kept. */
void fibers_times_watch(struct fibers_times *m, const struct fibers_watch *w, void *ctx);
/* As fibers_push(), fibers_push_record(), fibers_forget(), fibers_end(); they report the fibers
 * that end. */
int fibers_times_event(struct fibers_times *m, const struct ebt_event *ev);
int fibers_times_record(struct fibers_times *m, const struct ebt_event *ev,
			const struct eio_record *r);
int fibers_times_forget(struct fibers_times *m, uint32_t process, uint64_t end_ns);
int fibers_times_end(struct fibers_times *m, uint64_t end_ns);
/* Reports the open fibers with their open intervals ended at now_ns; nothing ends. */
int fibers_times_snapshot(struct fibers_times *m, uint64_t now_ns, fibers_times_fn *fn, void *ctx);
/* As fibers_text(). */
const char *fibers_times_text(const struct fibers_times *m, uint32_t id);
/* What was too much to be followed. */
struct fibers_limits fibers_times_over_limits(const struct fibers_times *m);

#endif
