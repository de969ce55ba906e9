/* SPDX-License-Identifier: BSD-2-Clause */
#include "pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confined.h"

static void *map(size_t bytes, int flags, int fd, uint64_t offset)
{
	int err = errno;
	if (ebt_confined())
		return NULL;
	long p = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, offset);
	errno = err;
	return p == -1 ? NULL : (void *)p;
}

void *ebt_pages_get(size_t bytes)
{
	if (ebt_confined())
		return ebt_confined_take(bytes);
	return map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void ebt_pages_put(void *pages, size_t bytes)
{
	int err = errno;
	if (pages && !ebt_confined())
		syscall(SYS_munmap, pages, bytes);
	errno = err;
}

void *ebt_pages_map(int fd, uint64_t offset, size_t bytes)
{
	return map(bytes, MAP_SHARED, fd, offset);
}
