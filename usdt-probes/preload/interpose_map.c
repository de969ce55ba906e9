/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Large anonymous mappings that the program makes itself. libc's malloc makes its own by internal
 * calls, which are not interposed; those of another allocator are recognised by their caller.
 */
#include <stdarg.h>
#include <sys/mman.h>

#include "real.h"
#include "recorder.h"

#define EXPORT	    __attribute__((visibility("default")))
#define CALLER	    __builtin_return_address(0)
#define LARGE_BYTES (128u << 10)

static bool is_large(size_t bytes, int protection, int flags)
{
	return bytes >= LARGE_BYTES && flags & MAP_ANONYMOUS && protection != PROT_NONE;
}

static bool is_due(uint64_t words)
{
	return (ebt_thread.sampler.left -= (int64_t)words) < 0;
}

static void *map(void *p, size_t bytes, int protection, int flags, int fd, off_t offset,
		 const void *caller)
{
	bool due = is_large(bytes, protection, flags) && !ebt_real_is_allocator(caller) &&
		   is_due(ebt_words(bytes));
	if (flags & MAP_FIXED)
		ebt_record_unmap(p, bytes);
	void *mapped = ebt_real.mmap(p, bytes, protection, flags, fd, offset);
	if (due)
		ebt_record_alloc(mapped == MAP_FAILED ? NULL : mapped, ebt_words(bytes),
				 EBT_ALLOC_EXTERNAL, caller);
	return mapped;
}

EXPORT void *mmap(void *p, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return map(p, bytes, protection, flags, fd, offset, CALLER);
}

EXPORT void *mmap64(void *p, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return map(p, bytes, protection, flags, fd, offset, CALLER);
}

EXPORT int munmap(void *p, size_t bytes)
{
	ebt_record_unmap(p, bytes);
	return ebt_real.munmap(p, bytes);
}

/* One that grows is a new one; of no bytes, its pages stay mapped at the old address, too. */
EXPORT void *mremap(void *p, size_t bytes, size_t new_bytes, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	void *new_p = flags & MREMAP_FIXED ? va_arg(ap, void *) : NULL;
	va_end(ap);
	bool due = new_bytes >= LARGE_BYTES && !ebt_real_is_allocator(CALLER) &&
		   is_due(ebt_words(new_bytes));
	bool any = ebt_record_move_begin();
	void *moved = ebt_real.mremap(p, bytes, new_bytes, flags, new_p);
	if (any)
		ebt_record_move_end(p, bytes, moved != MAP_FAILED);
	if (due)
		ebt_record_alloc(moved == MAP_FAILED ? NULL : moved, ebt_words(new_bytes),
				 EBT_ALLOC_EXTERNAL, CALLER);
	return moved;
}
