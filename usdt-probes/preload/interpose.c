/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libebtrace-preload.so: malloc and its family, in front of the program's allocator. C++'s new and
 * delete call them. Without a sample an allocation costs a subtraction and a branch, and free() the
 * look at one bit; the rest is the jump to the real function.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "real.h"
#include "recorder.h"

#define EXPORT __attribute__((visibility("default")))
#define COLD   __attribute__((noinline, cold))
#define CALLER __builtin_return_address(0)

/* Declared by headers that we do not need otherwise; the program's calls have these types. */
void *memalign(size_t alignment, size_t bytes);
void *pvalloc(size_t bytes);

/* True if the allocation is to be recorded. */
static inline bool is_due(uint64_t words)
{
	return __builtin_expect((ebt_thread.sampler.left -= (int64_t)words) < 0, 0);
}

static COLD void *record(void *p, size_t bytes, const void *caller)
{
	ebt_record_alloc(p, ebt_words(bytes), EBT_ALLOC_MAJOR, caller);
	return p;
}

EXPORT void *malloc(size_t bytes)
{
	if (!is_due(ebt_words(bytes)))
		return ebt_real.malloc(bytes);
	return record(ebt_real.malloc(bytes), bytes, CALLER);
}

static COLD void free_sampled(void *p)
{
	ebt_record_free(p);
	ebt_real.free(p);
}

EXPORT void free(void *p)
{
	if (__builtin_expect(ebt_filter_hit(p), 0))
		free_sampled(p);
	else
		ebt_real.free(p);
}

/* A function of its own, so that calloc() saves no registers for it. */
static COLD void *calloc_sampled(size_t n, size_t bytes, const void *caller)
{
	return record(ebt_real.calloc(n, bytes), n * bytes, caller);
}

EXPORT void *calloc(size_t n, size_t bytes)
{
	/* If the product is too large it fails. */
	if (!is_due(ebt_words(n * bytes)))
		return ebt_real.calloc(n, bytes);
	return calloc_sampled(n, bytes, CALLER);
}

/* A new object at the old or another address. */
static COLD void *realloc_sampled(void *p, size_t bytes, const void *caller)
{
	uint64_t obj;
	bool sampled = ebt_record_forget(p, &obj);
	void *moved = ebt_real.realloc(p, bytes);
	if (sampled && !moved && bytes)
		ebt_record_remember(p, obj);
	else if (sampled)
		ebt_record_collect(obj);
	if (ebt_thread.sampler.left < 0 && bytes)
		ebt_record_alloc(moved, ebt_words(bytes), EBT_ALLOC_MAJOR, caller);
	return moved;
}

EXPORT void *realloc(void *p, size_t bytes)
{
	/* Of no bytes: it frees. */
	bool due = is_due(bytes || !p ? ebt_words(bytes) : 0);
	if (__builtin_expect(due || ebt_filter_hit(p), 0))
		return realloc_sampled(p, bytes, CALLER);
	return ebt_real.realloc(p, bytes);
}

/* libc's own calls realloc() by its name, which is ours. */
EXPORT void *reallocarray(void *p, size_t n, size_t bytes)
{
	size_t all;
	if (__builtin_mul_overflow(n, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	bool due = is_due(all || !p ? ebt_words(all) : 0);
	if (__builtin_expect(due || ebt_filter_hit(p), 0))
		return realloc_sampled(p, all, CALLER);
	return ebt_real.realloc(p, all);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	if (!is_due(ebt_words(bytes)))
		return ebt_real.aligned_alloc(alignment, bytes);
	return record(ebt_real.aligned_alloc(alignment, bytes), bytes, CALLER);
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
	if (!is_due(ebt_words(bytes)))
		return ebt_real.memalign(alignment, bytes);
	return record(ebt_real.memalign(alignment, bytes), bytes, CALLER);
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	bool due = is_due(ebt_words(bytes));
	int err = ebt_real.posix_memalign(ret, alignment, bytes);
	if (__builtin_expect(due, 0))
		record(err ? NULL : *ret, bytes, CALLER);
	return err;
}

EXPORT void *valloc(size_t bytes)
{
	if (!is_due(ebt_words(bytes)))
		return ebt_real.valloc(bytes);
	return record(ebt_real.valloc(bytes), bytes, CALLER);
}

EXPORT void *pvalloc(size_t bytes)
{
	if (!is_due(ebt_words(bytes)))
		return ebt_real.pvalloc(bytes);
	return record(ebt_real.pvalloc(bytes), bytes, CALLER);
}

EXPORT _Noreturn void _exit(int status)
{
	ebt_recorder_end();
	ebt_real.exit_now(status);
	__builtin_unreachable();
}

EXPORT _Noreturn void _Exit(int status)
{
	_exit(status);
}

/*
 * True if another definition of malloc() is before ours. The function's address may be in a program
 * that does not define it: one that is not position-independent and uses the address has a jump
 * there.
 */
static bool has_own_malloc(void)
{
	Dl_info unused;
	const ElfW(Sym) *symbol = NULL;
	void *first = dlsym(RTLD_DEFAULT, "malloc");
	void *(*ours)(size_t) = malloc;
	if (first == (void *)ours)
		return false;
	return !dladdr1(first, &unused, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
	       symbol->st_shndx != SHN_UNDEF;
}

/* glibc passes the environment to constructors; -z initfirst makes this one the first. */
__attribute__((constructor)) static void start(int argc, char **argv, char **envp)
{
	(void)argc, (void)argv;
	ebt_recorder_start(envp, has_own_malloc());
	at_quick_exit(ebt_recorder_end);
}

__attribute__((destructor)) static void end(void)
{
	ebt_recorder_end();
}
