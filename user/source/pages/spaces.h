/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The address spaces of traced processes, page by page: makes events of faults and of system calls
 * that unmap, return or move pages, and reconciles what these do not show by reading the page
 * tables (proc/pagemap.h). A page is in one of three states:
 *
 *	state		-> ALLOC			-> FREE		-> SCAVENGE
 *	mapped		-				unmapped, gone	given back by madvise()
 *	given back	fault, found written again	-		-
 *	neither		fault, found mapped		-		-
 *
 * After MADV_FREE a page is given back, but mapped until the kernel needs it (`lazy`). Each event
 * changes the state, and the times of a space's events never go back.
 *
 * A space belongs to its users: a process, or some of one memory (vfork). Records name the space by
 * `mm`, which changes when a user calls exec. A check reads the page tables, then receives all
 * records up to then, and compares what no record has touched meanwhile. Checks use at most one
 * part in 50 of a CPU, those that cannot wait (a new space, a call that failed) one part in 10.
 *
 * Without records (no privilege), all changes are found by checks. Not thread-safe.
 */
#ifndef SOURCE_PAGES_SPACES_H
#define SOURCE_PAGES_SPACES_H

#include "source/pages/space.h"

#include <sys/types.h>

struct page_spaces {
	struct page_output out; /* set by the owner, but for its counts */
	/* Private. */
	struct page_space *first;
	uint64_t rests_ns, urgent_rests_ns; /* no check before */
};

/* No event of a page is newer than this. */
static inline void page_spaces_until(struct page_spaces *ps, uint64_t until_ns)
{
	ps->out.until_ns = until_ns;
}
/* Frees the spaces; the users' descriptors are closed. */
void page_spaces_done(struct page_spaces *ps);

/* The process has a space of its own; what is mapped is found by its first check, with this cause
 * (SNAPSHOT, FORK). Without the right to read the page tables it has records alone. 0 or
 * -ENOMEM. */
int page_user_begin(struct page_spaces *ps, struct page_user *u, pid_t pid, uint32_t process,
		    enum ebt_page_cause cause);
/* As page_user_begin(), for the child of a vfork: it uses the space of its parent until it calls
 * exec. */
int page_user_share(struct page_spaces *ps, struct page_user *u, pid_t pid, uint32_t process,
		    struct page_user *parent);
/* The process has called exec. mm: see struct ebt_page_record. 0, -ENOMEM or an error of emit(). */
int page_user_exec(struct page_spaces *ps, struct page_user *u, uint64_t mm, uint64_t ts);
/* The process has ended; does nothing if it uses no space. 0 or an error of emit(). */
int page_user_end(struct page_spaces *ps, struct page_user *u, uint64_t ts);
int page_user_receive(struct page_spaces *ps, struct page_user *u,
		      const struct ebt_page_record *rec);
/* Checks a space now; 0 or an error of emit(); -ESRCH, -EACCES, -EPERM, -ETIMEDOUT, -ECANCELED,
 * -ECONNRESET: it could not be read; -EAGAIN: not all records could be received. */
int page_user_check(struct page_spaces *ps, struct page_user *u);
/* Checks the spaces for which it is time; all: each one. 0 or an error of emit(). */
int page_spaces_check(struct page_spaces *ps, uint64_t now_ns, bool all);

#endif
