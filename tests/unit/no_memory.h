/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations that fail when a test wants them to. The allocators are wrapped by the linker (see
 * the Makefile); those inside of libc are not. A test counts the allocations of a run, and then
 * repeats it with each of them failing.
 */
#ifndef TESTS_NO_MEMORY_H
#define TESTS_NO_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

/* Counts while the code under test is at work. */
static bool counting, for_ever;
static unsigned long count, fail_at;

static bool fails(void)
{
	if (!counting)
		return false;
	count++;
	return for_ever ? fail_at && count >= fail_at : count == fail_at;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

#endif
