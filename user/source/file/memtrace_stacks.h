/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Enters the frames and backtraces of a memtrace trace into the session. Each backtrace is the last
 * one of its domain up to a common frame, so only its new frames are looked up.
 */
#ifndef SOURCE_FILE_MEMTRACE_STACKS_H
#define SOURCE_FILE_MEMTRACE_STACKS_H

#include "base/map.h"
#include "session/session.h"
#include <ebtrace/memtrace.h>

/* The most frames of a stack in the session; those further in are left out. */
#define MEMTRACE_STACK_FRAMES (1u << 20)
/* The most unknown frames in place of frames that were not read, as after damage; frames further
 * out are left out. A few bytes of a trace may claim 2^24 of them. */
#define MEMTRACE_UNKNOWN_FRAMES 64

/* A backtrace with more than MEMTRACE_DEEP_FRAMES new frames is deep. The deep backtraces of a run
 * may have MEMTRACE_DEEP_ALLOWED frames together; beyond that their outermost frames are left out,
 * as a few bytes of a trace encode hundreds of thousands. */
#define MEMTRACE_DEEP_FRAMES  1024
#define MEMTRACE_DEEP_ALLOWED (1u << 21)

struct mem_modules;

/* Frames by code: common to all domains. Initialised by zeroes and the session. */
#define MEMTRACE_RECENT_BITS 11
struct memtrace_codes {
	struct session *session;
	struct map frames; /* code → frame, held; bit 32: the code has no positions so far */
	/* Stacks that were looked up lately, by a hash of their parent and the code of their
	 * innermost frame, which has positions. */
	struct memtrace_recent {
		int64_t code;
		uint32_t parent, stack; /* 0: none */
	} recent[1u << MEMTRACE_RECENT_BITS];
	uint64_t reclaimed;	     /* of the stacks, when the first of `recent` was put in */
	uint32_t unknown;	     /* the frame of EBT_MEMTRACE_UNKNOWN, held; 0: none yet */
	struct mem_modules *modules; /* NULL: no frame is named as one of a module */
	uint64_t cut; /* backtraces without their outermost frames, since there were too many */
};

/* The last backtrace of a domain. Initialised by zeroes. */
struct memtrace_backtrace {
	uint64_t skipped; /* its outermost frames that are left out */
	uint32_t *stack;  /* of the first ones behind: stack[i] has i + 1; the last one is held */
	uint32_t depth, cap;
};

void memtrace_codes_done(struct memtrace_codes *c);
void memtrace_backtrace_done(struct memtrace_backtrace *b, struct session *session);
/* Its frames are not known any more. */
void memtrace_backtrace_forget(struct memtrace_backtrace *b, struct session *session);
/* Sets *ret to the stack of an ALLOC; 0: it has no frames. 0 or -ENOMEM. */
int memtrace_backtrace_add(struct memtrace_backtrace *b, struct memtrace_codes *codes,
			   const struct ebt_memtrace_reader *r, const struct ebt_memtrace_event *e,
			   uint32_t *ret);

#endif
