/* SPDX-License-Identifier: BSD-2-Clause */
#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

/* What dlsym() allocates while it looks up is not there; it only loses the text of an error. */
static bool looking_up;
static uintptr_t allocator_start, allocator_end; /* equal: it is libc's */

static void look_up(void);

static void *first_malloc(size_t bytes)
{
	if (looking_up)
		return NULL;
	look_up();
	return ebt_real.malloc(bytes);
}

static void first_free(void *p)
{
	if (!p)
		return;
	look_up();
	ebt_real.free(p);
}

static void *first_calloc(size_t n, size_t bytes)
{
	if (looking_up)
		return NULL;
	look_up();
	return ebt_real.calloc(n, bytes);
}

static void *first_realloc(void *p, size_t bytes)
{
	if (looking_up)
		return NULL;
	look_up();
	return ebt_real.realloc(p, bytes);
}

static void *first_aligned_alloc(size_t alignment, size_t bytes)
{
	look_up();
	return ebt_real.aligned_alloc(alignment, bytes);
}

static void *first_memalign(size_t alignment, size_t bytes)
{
	look_up();
	return ebt_real.memalign(alignment, bytes);
}

static int first_posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	look_up();
	return ebt_real.posix_memalign(ret, alignment, bytes);
}

static void *first_valloc(size_t bytes)
{
	look_up();
	return ebt_real.valloc(bytes);
}

static void *first_pvalloc(size_t bytes)
{
	look_up();
	return ebt_real.pvalloc(bytes);
}

static void *first_mmap(void *p, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	look_up();
	return ebt_real.mmap(p, bytes, protection, flags, fd, offset);
}

static int first_munmap(void *p, size_t bytes)
{
	look_up();
	return ebt_real.munmap(p, bytes);
}

static void *first_mremap(void *p, size_t bytes, size_t new_bytes, int flags, void *new_p)
{
	look_up();
	return ebt_real.mremap(p, bytes, new_bytes, flags, new_p);
}

static void first_exit_now(int status)
{
	look_up();
	ebt_real.exit_now(status);
}

static int first_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		       unsigned long d)
{
	look_up();
	return ebt_real.prctl(option, a, b, c, d);
}

static long first_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	look_up();
	return ebt_real.syscall(number, a, b, c, d, e, f);
}

struct ebt_real ebt_real = {
	.malloc = first_malloc,
	.free = first_free,
	.calloc = first_calloc,
	.realloc = first_realloc,
	.aligned_alloc = first_aligned_alloc,
	.memalign = first_memalign,
	.posix_memalign = first_posix_memalign,
	.valloc = first_valloc,
	.pvalloc = first_pvalloc,
	.mmap = first_mmap,
	.munmap = first_munmap,
	.mremap = first_mremap,
	.exit_now = first_exit_now,
	.prctl = first_prctl,
	.syscall = first_syscall,
};

static int match_allocator(struct dl_phdr_info *i, size_t size, void *ctx)
{
	uintptr_t malloc_at = (uintptr_t)ebt_real.malloc, libc_at = (uintptr_t)ctx;
	uintptr_t start = UINTPTR_MAX, end = 0;
	(void)size;
	for (unsigned k = 0; k < i->dlpi_phnum; k++) {
		const ElfW(Phdr) *h = &i->dlpi_phdr[k];
		uintptr_t at = i->dlpi_addr + h->p_vaddr;
		if (h->p_type != PT_LOAD)
			continue;
		start = at < start ? at : start;
		end = at + h->p_memsz > end ? at + h->p_memsz : end;
	}
	if (malloc_at < start || malloc_at >= end)
		return 0;
	if (libc_at < start || libc_at >= end) {
		allocator_start = start;
		allocator_end = end;
	}
	return 1;
}

bool ebt_real_is_allocator(const void *address)
{
	return (uintptr_t)address - allocator_start < allocator_end - allocator_start;
}

static void look_up(void)
{
	/* POSIX: what dlsym() returns can be made a pointer to a function, through its bytes. */
	static const struct {
		const char *name;
		size_t at;
	} rows[] = {
		{"malloc", offsetof(struct ebt_real, malloc)},
		{"free", offsetof(struct ebt_real, free)},
		{"calloc", offsetof(struct ebt_real, calloc)},
		{"realloc", offsetof(struct ebt_real, realloc)},
		{"aligned_alloc", offsetof(struct ebt_real, aligned_alloc)},
		{"memalign", offsetof(struct ebt_real, memalign)},
		{"posix_memalign", offsetof(struct ebt_real, posix_memalign)},
		{"valloc", offsetof(struct ebt_real, valloc)},
		{"pvalloc", offsetof(struct ebt_real, pvalloc)},
		{"mmap", offsetof(struct ebt_real, mmap)},
		{"munmap", offsetof(struct ebt_real, munmap)},
		{"mremap", offsetof(struct ebt_real, mremap)},
		{"_exit", offsetof(struct ebt_real, exit_now)},
		{"prctl", offsetof(struct ebt_real, prctl)},
		{"syscall", offsetof(struct ebt_real, syscall)},
		{"execve", offsetof(struct ebt_real, execve)},
		{"execvpe", offsetof(struct ebt_real, execvpe)},
		{"fexecve", offsetof(struct ebt_real, fexecve)},
		{"execveat", offsetof(struct ebt_real, execveat)},
		{"posix_spawn", offsetof(struct ebt_real, posix_spawn)},
		{"posix_spawnp", offsetof(struct ebt_real, posix_spawnp)},
		{"system", offsetof(struct ebt_real, system)},
		{"popen", offsetof(struct ebt_real, popen)},
	};
	struct ebt_real found = ebt_real;
	int err = errno;
	looking_up = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		void *f = dlsym(RTLD_NEXT, rows[i].name);
		if (f)
			memcpy((char *)&found + rows[i].at, &f, sizeof(f));
	}
	ebt_real = found;
	dl_iterate_phdr(match_allocator, dlsym(RTLD_NEXT, "gnu_get_libc_version"));
	looking_up = false;
	errno = err;
}

const struct ebt_real *ebt_real_ready(void)
{
	if (!ebt_real.execve)
		look_up();
	return &ebt_real;
}
