// SPDX-License-Identifier: BSD-2-Clause
#include "frame_pointers.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
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

static bool is_readable(uintptr_t fp)
{
	for (uintptr_t page = fp & -PAGE_BYTES; page < fp + 2 * sizeof(uintptr_t);
	     page += PAGE_BYTES) {
		if (page >= low && page < high)
			continue;
		if (!is_mapped(page))
			return false;
		if (page == high)
			high += PAGE_BYTES;
	}
	return true;
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
	uintptr_t fp = (uintptr_t)from;
	size_t n = 0;
	if (fp < low || fp >= high) { /* another stack, as a handler or a coroutine has */
		low = fp & -PAGE_BYTES;
		high = low + PAGE_BYTES;
	}
	while (n < max && fp % sizeof(uintptr_t) == 0 && is_readable(fp)) {
		const uintptr_t *frame = (const uintptr_t *)fp;
		if (!frame[1])
			break;
		addresses[n++] = (int64_t)frame[1];
		if (frame[0] <= fp || frame[0] - fp > FRAME_LIMIT)
			break;
		fp = frame[0];
	}
	reverse(addresses, n);
	return n;
}
