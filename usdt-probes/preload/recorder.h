/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records the sampled allocations of one process. Each thread has a sampler; a sampled allocation
 * takes a backtrace and the recorder's lock, in a critical section (section.h). What the unwinder
 * or a handler of a signal allocates meanwhile is not sampled. All threads are one domain of the
 * trace: the table of objects needs the lock in any case, and under it the events of an object are
 * written in their order, whichever threads allocate and free it and whenever the program dies.
 *
 * A child of fork() does not record, and neither takes the lock nor writes to the parent's file, or
 * it records its own allocations into a file of its own, as the environment says. A child of
 * vfork() shares the parent's memory and records for it.
 */
#ifndef EBT_RECORDER_H
#define EBT_RECORDER_H

#include <ebtrace/event.h>
#include <ebtrace/recorder.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../shared/sampler.h"
#include "objects.h"

struct ebt_thread {
	struct ebt_sampler sampler;
	bool ready; /* the sampler is initialised */
};

extern __thread struct ebt_thread ebt_thread __attribute__((visibility("hidden")));

/* The words of an allocation in the trace are the bytes that were asked for, without what the
 * allocator adds to them; no bytes are one. Larger objects than there can be fail, whatever is
 * counted of them. */
static inline uint64_t ebt_words(size_t bytes)
{
	return (bytes & (SIZE_MAX >> 2)) + !bytes;
}

/* Starts as the environment says, which it takes our variables out of; without them, nothing is
 * ever sampled. */
void ebt_recorder_start(char **envp, bool own_malloc);
/* NULL: nothing was recorded. A child may use that of its parent. */
struct ebt_recorder_state *ebt_recorder_state(void);
/* True in the recorded process, false in any child of it. */
bool ebt_recorder_is_process(void);
/* True if programs that children run are recorded, too. */
bool ebt_recorder_has_children(void);
/* Before system calls that the process does not make itself: whether a filter forbids them that it
 * set without libc, and the recorder did not see. */
void ebt_recorder_check_filters(void);
/* Before the process becomes another program: writes what is buffered. */
void ebt_recorder_flush(void);
/*
 * Before the process confines itself by seccomp, when a system call of ours may kill it: recording
 * goes on without any, as long as what is reserved now suffices. True: if the kernel then refuses,
 * ebt_confine_cancel() follows.
 */
bool ebt_recorder_confine(void);
/* Writes what is buffered; nothing is recorded from then on. */
void ebt_recorder_end(void);

/*
 * An allocation that made the thread's sampler due; address NULL: it failed. errno does not change.
 * `caller` is the return address of the interposed function.
 */
void ebt_record_alloc(const void *address, uint64_t words, enum ebt_alloc_source source,
		      const void *caller);
/* Before an address is freed that the filter hits. */
void ebt_record_free(const void *address);
/* Before an address may be freed: the object is forgotten. False: it was not sampled. */
bool ebt_record_forget(const void *address, uint64_t *ret_obj);
/* The forgotten object was freed, or it was not. */
void ebt_record_collect(uint64_t obj);
void ebt_record_remember(const void *address, uint64_t obj);

/* Before a range is unmapped: what was mapped from an address in it is released. */
void ebt_record_unmap(const void *address, size_t bytes);
/*
 * Around a call that moves a range: sampled mappings that begin in it are released if `moved`.
 * ebt_record_move_begin() returns false if there are none; then there is no end.
 */
bool ebt_record_move_begin(void);
void ebt_record_move_end(const void *address, size_t bytes, bool moved);

#endif
