/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fibers of programs, from the events of their library (codec/eio/eio.h): which fiber ran when
 * on its domain, which operation it was suspended in, and which contexts and spans were open in it.
 * For the formats and reports that show or sum the time of fibers, as stream/tracks.h is for
 * phases. Times are those of the events, ns.
 *
 * A fiber is one of a process and belongs to the domain that runs it. Its time is cut into
 * intervals without a gap, from its creation, or from the first event that names it, to its end:
 *
 *	running     from its eio.fiber until it is suspended, ends, or another fiber's eio.fiber
 *	suspended   from its eio.suspend_fiber on, in an operation
 *	ready       it could run: made and not run yet, displaced by another fiber, after the
 *	            eio.put of the object for which it waits, or after the eio.suspend_domain behind
 *	            which it ran without such a put; elsewhere it is not known when it became ready
 *
 * Contexts and spans are parts of the fiber that runs at their begin, and nest: an end belongs to
 * the innermost open part of its kind, parts inside it end with it, and an end without a begin is
 * dropped. An interval ends where a part begins or ends, so it lies in the same parts as a whole. A
 * name counts where it follows the creation of what it names; therefore visits to a creation are
 * delayed until the next event of its domain. Times of a fiber never go back.
 *
 * Input is not trusted. At most FIBERS_OPEN fibers and FIBERS_PARTS parts are followed at a time,
 * FIBERS_DEPTH parts in a fiber, of a text FIBERS_TEXT_BYTES bytes, and FIBERS_TEXTS_BYTES bytes of
 * all texts: less than 64 MiB. What is beyond is counted. Where events were lost, all fibers of the
 * domain end at the last moment before the hole, and begin again when they are seen; so do fibers
 * that another domain runs, or whose id is given to a new fiber.
 */
#ifndef STREAM_FIBERS_H
#define STREAM_FIBERS_H

#include "codec/eio/eio.h"
#include "session/session.h"
#include "stream/fiber_texts.h"
#include "stream/tracks.h"

#define FIBERS_OPEN  100000
#define FIBERS_PARTS 200000
#define FIBERS_DEPTH 128
/* Fibers to which one put draws an arrow; the others become ready without one. */
#define FIBERS_ARROWS 32

struct fibers;

enum fiber_state { FIBER_READY, FIBER_RUNNING, FIBER_SUSPENDED };

/* A context or a span. */
struct fiber_part {
	struct fiber_part *outer; /* NULL: the outermost */
	uint64_t begin_ns;
	int64_t id;    /* of a context; else 0 */
	uint32_t name; /* a text; 0: none */
	bool is_context;
	uint8_t type;	/* of a context: enum eio_type, or any other number */
	uint16_t depth; /* parts around it */
	struct fiber *fiber;
};

struct fiber {
	int64_t id;
	int64_t context;	/* in which it was made; 0 where that was not seen */
	uint32_t number;	/* from 1, in order of appearance, never used twice */
	uint32_t process, lane; /* of the registry */
	uint16_t domain;
	bool created;  /* its creation was seen */
	uint8_t state; /* enum fiber_state */
	uint32_t name; /* a text; 0: none */
	/* The name of the context in which it was made, or of one around; 0: none. */
	uint32_t group;
	uint32_t operation; /* of the suspension; 0: none, or it has no name */
	uint64_t begin_ns;
	uint64_t since_ns; /* begin of its state, or the last change of its parts behind that */
	struct fiber_part *inner; /* the innermost open part; NULL: none */
	union {			  /* the visitor's own; 0 at first */
		void *user;
		uint64_t user_number;
	};
	/* Private from here on. */
	uint64_t ready_ns;	   /* it is suspended, and became ready then; 0: not known */
	uint64_t arrow;		   /* that ends where it runs next; 0: none */
	int64_t object;		   /* for which it waits */
	bool wants, waits;	   /* object is valid: before and in its suspension */
	uint32_t skipped[2];	   /* parts that are open and not followed: spans, contexts */
	struct fiber *prev, *next; /* of its domain */
	struct fiber *prev_waiting, *next_waiting; /* for the same object */
};

struct fiber_interval {
	enum fiber_state state;
	uint32_t operation;	   /* of a suspended one; 0: none, or it has no name */
	uint64_t begin_ns, end_ns; /* end_ns > begin_ns */
	enum track_end how;	   /* TRACK_ENDED, or why it is cut */
	uint64_t arrow;		   /* of a running one: the arrow that ends at its begin; 0: none */
};

/*
 * All may be NULL. A return value other than 0 ends the call that visits, which returns it. For
 * each fiber: begin, then its intervals in order with the parts that open and close between them,
 * then end. Texts are valid during the call.
 */
struct fibers_visitor {
	int (*begin)(void *ctx, struct fiber *f);
	int (*end)(void *ctx, struct fiber *f, uint64_t end_ns, enum track_end how);
	/* It runs from now on. */
	int (*run)(void *ctx, struct fiber *f);
	int (*open)(void *ctx, struct fiber *f, const struct fiber_part *p);
	int (*close)(void *ctx, struct fiber *f, const struct fiber_part *p, uint64_t end_ns,
		     enum track_end how);
	int (*spent)(void *ctx, struct fiber *f, const struct fiber_interval *i);
	/* `count` arrows, from number `arrow` on, begin at an eio.put; each ends where a fiber that
	 * waited for the object runs next, if it does. by: the fiber that ran; NULL: not known.
	 * Returns 1 if they are not drawn; then none of them ends. */
	int (*put)(void *ctx, struct fiber *by, const struct ebt_event *ev, uint64_t arrow,
		   unsigned count);
	/* An eio.log or eio.error; by: as above. */
	int (*note)(void *ctx, struct fiber *by, const struct ebt_event *ev,
		    const struct eio_record *r);
	/* free() calls this for each fiber that is still open, and nothing else. */
	void (*forget)(void *ctx, struct fiber *f);
};

/* What was too much to be followed. */
struct fibers_limits {
	uint64_t fibers; /* creations, and runs, of fibers for which there was no room */
	uint64_t parts;	 /* contexts and spans */
	uint64_t texts;	 /* names and operations, which are as if there were none */
};

/* All three are kept. 0 or -ENOMEM. */
int fibers_new(const struct session *s, const struct fibers_visitor *v, void *ctx,
	       struct fibers **ret);
void fibers_free(struct fibers *f); /* NULL is allowed */
/* Processes an event of any kind, in order of time, with its payload. 0, -ENOMEM, or the result of
 * a visit. */
int fibers_push(struct fibers *f, const struct ebt_event *ev);
/* As fibers_push(), of a user event that means this. */
int fibers_push_record(struct fibers *f, const struct ebt_event *ev, const struct eio_record *r);
/* Ends the fibers of a process and releases its state. */
int fibers_forget(struct fibers *f, uint32_t process, uint64_t end_ns);
/* Ends all fibers, as unfinished. */
int fibers_end(struct fibers *f, uint64_t end_ns);
/* Calls fn for each open fiber, by process, domain and order of appearance. */
int fibers_each(const struct fibers *f, int (*fn)(void *ctx, struct fiber *fiber), void *ctx);
/* The intervals that are open, as an end at end_ns would visit them: none, one or two. */
#define FIBER_OPEN_INTERVALS 2
unsigned fibers_open_intervals(const struct fiber *f, uint64_t end_ns,
			       struct fiber_interval ret[FIBER_OPEN_INTERVALS]);
/* A text by its id: UTF-8, which may have control characters; NULL for 0. */
const char *fibers_text(const struct fibers *f, uint32_t id);
/* The caller's own number of a text, 0 at first and while the text is held. Valid until the next
 * event. */
uint64_t *fibers_text_user(struct fibers *f, uint32_t id);
/* Refers to a text beyond its visit; each hold takes a drop. */
void fibers_hold_text(struct fibers *f, uint32_t id);
void fibers_drop_text(struct fibers *f, uint32_t id);
/* The number of open fibers. */
uint32_t fibers_count(const struct fibers *f);
struct fibers_limits fibers_over_limits(const struct fibers *f);

#endif
