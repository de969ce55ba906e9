// SPDX-License-Identifier: BSD-2-Clause
#include "frame_pointers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confined.h"

#define PAGE_BYTES  ((uintptr_t)4096)
#define FRAME_LIMIT ((uintptr_t)1 << 20) /* a larger step is no frame */
/* The kernel leaves more than this below the arguments of a program to its first stack alone. */
#define MAIN_BYTES ((uintptr_t)64 << 20)

/* What is read now: [low, high) is mapped, and nothing from `limit` on is tested. */
static __thread uintptr_t low, high, limit;

/*
 * What is mapped once may not be so at the next time: coroutines come and go, and their stacks with
 * them. Two stacks stay: that of the program, below its arguments, which are at main_end, and a
 * thread's own, which ends with the thread's descriptor, which stands above it in glibc. Of the
 * latter [own_low, the descriptor) is known to be mapped, without a hole.
 */
static uintptr_t main_end;
static pthread_t main_thread; /* its descriptor is elsewhere; 0: not known, no thread's is used */
static __thread uintptr_t own_low;

#ifdef __GLIBC__
/* glibc passes the arguments to constructors, too. */
__attribute__((constructor)) static void find_main(int argc, char **argv)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	(void)argc;
	main_end = (uintptr_t)argv;
	/* Without a system call, which the process may be forbidden. */
	if (here < main_end && main_end - here < MAIN_BYTES)
		main_thread = pthread_self();
}
#endif

/* The kernel reads the set, and then refuses the operation. */
static bool is_mapped(uintptr_t page)
{
	return !ebt_confined() && syscall(SYS_rt_sigprocmask, -1, page, NULL, 8) < 0 &&
	       errno == EINVAL;
}

/* The end of what is mapped from a page on, at most `end`. */
static uintptr_t mapped_until(uintptr_t page, uintptr_t end)
{
	while (page < end && is_mapped(page))
		page += PAGE_BYTES;
	return page;
}

/* True if the page is in the thread's own stack, as far as that is known to be whole. */
static bool enter_own(uintptr_t page)
{
	uintptr_t end = (uintptr_t)pthread_self(), known = own_low ? own_low : end & -PAGE_BYTES;
	if (!main_thread || main_thread == pthread_self() || page >= end ||
	    (page < known && known - page > FRAME_LIMIT))
		return false;
	if (page < known && mapped_until(page, known) < known)
		return false;
	own_low = page < known ? page : known;
	low = own_low;
	high = limit = end;
	return true;
}

static bool is_main(uintptr_t at)
{
	return at < main_end && main_end - at < MAIN_BYTES;
}

bool ebt_stack_is_own(const void *frame)
{
	return is_main((uintptr_t)frame) || enter_own((uintptr_t)frame & -PAGE_BYTES);
}

void ebt_stack_enter(const void *frame)
{
	uintptr_t at = (uintptr_t)frame, page = at & -PAGE_BYTES;
	if (is_main(at)) {
		low = page;
		high = limit = main_end;
	} else if (!enter_own(page)) {
		low = page;
		high = page + PAGE_BYTES;
		limit = UINTPTR_MAX;
	}
}

bool ebt_stack_has(uintptr_t address, size_t bytes)
{
	uintptr_t end = address + bytes;
	if (address < low || end < address || end > limit ||
	    (end > high && end - high > FRAME_LIMIT))
		return false;
	if (end > high)
		high = mapped_until(high, end);
	return end <= high;
}

bool ebt_stack_record(uintptr_t fp, struct ebt_frame_record *ret)
{
	if (fp % sizeof(fp) || !ebt_stack_has(fp, sizeof(*ret)))
		return false;
	*ret = *(const struct ebt_frame_record *)fp;
	return ret->return_address;
}

static void reverse(int64_t *a, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		int64_t t = a[i];
		a[i] = a[n - 1 - i];
		a[n - 1 - i] = t;
	}
}

size_t ebt_frame_pointers(const void *from, int64_t *addresses, size_t max)
{
	struct ebt_frame_record r;
	uintptr_t fp = (uintptr_t)from;
	size_t n = 0;
	ebt_stack_enter(from);
	while (n < max && ebt_stack_record(fp, &r)) {
		addresses[n++] = (int64_t)r.return_address;
		if (r.next <= fp || r.next - fp > FRAME_LIMIT)
			break;
		fp = r.next;
	}
	reverse(addresses, n);
	return n;
}
