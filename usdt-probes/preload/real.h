/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The allocator that the program has without us: the next definitions behind our own, which are
 * libc's or those of another library. Looked up once, by the first call of any of them, which comes
 * from the dynamic linker or a constructor, before there are threads.
 */
#ifndef EBT_REAL_H
#define EBT_REAL_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct ebt_real {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, void *);
	void (*exit_now)(int); /* _exit() */
	int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
	long (*syscall)(long, long, long, long, long, long, long);
	/* Only by ebt_real_ready(). */
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*execveat)(int, const char *, char *const[], char *const[], int);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			   const posix_spawnattr_t *, char *const[], char *const[]);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			    const posix_spawnattr_t *, char *const[], char *const[]);
	int (*system)(const char *);
	FILE *(*popen)(const char *, const char *);
};

extern struct ebt_real ebt_real __attribute__((visibility("hidden")));

/* All of it, looked up now if it was not before. */
const struct ebt_real *ebt_real_ready(void);

/* True for an address in another allocator than libc's. */
bool ebt_real_is_allocator(const void *address);

#endif
