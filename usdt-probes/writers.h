/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writers of a trace: which thread has which, and who holds it. A thread gets the lowest free
 * writer at its first event and releases it when it ends; threads beyond their number have none.
 * Writers are in static memory, so that one stays valid when its thread has ended.
 */
#ifndef EBT_WRITERS_H
#define EBT_WRITERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins every writer. */
struct ebt_writer {
	uint32_t owner; /* tid; 0: free */
	uint32_t held;
	uint32_t trace; /* the number of the trace that it writes; 0: none */
};

/* All of one kind. The first four are set before ebt_writers_init(). */
struct ebt_writers {
	void *first;
	size_t bytes; /* of one */
	unsigned int count;
	uint32_t *forked; /* a word of the page that a child has zeroed */
	uint32_t process; /* counts forks that have a trace of their own */
	pthread_key_t key;
	bool have_key;
};

/* The calling thread, for one kind; thread-local, initialised by zeroes. */
struct ebt_writer_thread {
	struct ebt_writer *writer; /* NULL: none was looked for, or none was free */
	uint32_t process;	   /* in which `writer` is valid; 0: none was looked for */
	bool inside;
	struct ebt_writer *holds;
};

/* thread_ends is called at the end of a thread that has a writer. */
void ebt_writers_init(struct ebt_writers *ws, void (*thread_ends)(void *unused));
/* After this no thread's end calls into a library that may be unmapped. */
void ebt_writers_done(struct ebt_writers *ws);
/* Forgets every thread if this is a child that has not done so. Under the lock of start and
 * stop. */
void ebt_writers_renew(struct ebt_writers *ws);
static inline struct ebt_writer *ebt_writers_at(const struct ebt_writers *ws, unsigned int i)
{
	return (struct ebt_writer *)((char *)ws->first + i * ws->bytes);
}

/* True if the calling thread is inside an event; until ebt_writer_leave() it then is. */
bool ebt_writer_enter(struct ebt_writer_thread *self);
void ebt_writer_leave(struct ebt_writer_thread *self);
/* The calling thread's own writer, which it may get now. NULL: none is free. */
struct ebt_writer *ebt_writer_own(struct ebt_writers *ws, struct ebt_writer_thread *self);
/* The calling thread's own writer, which it gives up; the caller holds it and then frees it. NULL:
 * it has none. */
struct ebt_writer *ebt_writer_release(struct ebt_writers *ws, struct ebt_writer_thread *self);
void ebt_writer_free(struct ebt_writer *w);

/* False: another thread holds it. */
bool ebt_writer_try_hold(struct ebt_writer *w);
/* Waits up to a second; not at all if the calling thread itself holds it, or if its owner has ended
 * while it held it. */
bool ebt_writer_hold(struct ebt_writer_thread *self, struct ebt_writer *w);
void ebt_writer_unhold(struct ebt_writer_thread *self, struct ebt_writer *w);

#endif
