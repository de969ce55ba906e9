/* SPDX-License-Identifier: BSD-2-Clause */
/* Has a malloc of its own, which never frees. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default"))) /* as it is without our -fvisibility */

static _Alignas(16) char memory[1 << 20];
static volatile size_t used;

EXPORT void *malloc(size_t bytes)
{
	bytes = (bytes + 31) & ~(size_t)15;
	if (bytes > sizeof(memory) - used)
		return NULL;
	size_t *p = (size_t *)(memory + used);
	*p = bytes - 16;
	used += bytes;
	return p + 2;
}

EXPORT void free(void *p)
{
	(void)p;
}

EXPORT void *calloc(size_t n, size_t bytes)
{
	return malloc(n * bytes); /* static memory is zeroed */
}

EXPORT void *realloc(void *p, size_t bytes)
{
	void *moved = malloc(bytes);
	if (moved && p) {
		size_t old = ((size_t *)p)[-2];
		memcpy(moved, p, old < bytes ? old : bytes);
	}
	return moved;
}

int main(void)
{
	size_t before = used;
	void *volatile p = malloc(10);
	printf("%s\n", used > before ? "its own" : "another one");
	free(p);
	return 3;
}
