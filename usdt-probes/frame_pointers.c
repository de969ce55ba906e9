// SPDX-License-Identifier: BSD-2-Clause
#include "frame_pointers.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES  ((uintptr_t)4096)
#define FRAME_LIMIT ((uintptr_t)1 << 20) /* a larger step is no frame */

/* Of a stack, [low, high) was mapped when it was tested, and is as long as the thread is in it. */
static __thread uintptr_t low, high;

/* The kernel reads the set, and then refuses the operation. */
static bool is_mapped(uintptr_t page)
{
	return syscall(SYS_rt_sigprocmask, -1, page, NULL, 8) < 0 && errno == EINVAL;
}

/* The end of what is mapped from a page on, at most `end`. */
static uintptr_t mapped_until(uintptr_t page, uintptr_t end)
{
	while (page < end && is_mapped(page))
		page += PAGE_BYTES;
	return page;
}

void ebt_stack_enter(const void *frame)
{
	uintptr_t page = (uintptr_t)frame & -PAGE_BYTES;
	if (page >= low && page < high)
		return;
	if (page > low || low - page > FRAME_LIMIT || mapped_until(page, low) < low)
		high = page + PAGE_BYTES;
	low = page;
}

bool ebt_stack_has(uintptr_t address, size_t bytes)
{
	uintptr_t end = address + bytes;
	if (address < low || end < address || (end > high && end - high > FRAME_LIMIT))
		return false;
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
