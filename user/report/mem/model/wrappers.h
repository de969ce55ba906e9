/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wrappers of allocators: functions that allocate for their caller, such as xmalloc, operator new
 * and the standard libraries of languages. A site is the innermost function that is none of them. A
 * function without a name that a wrapper calls is one, too.
 *
 * A glob is compared with the name as the linker has it, and with the plain name: that of the
 * source without a return type, template arguments, parameters and the versions of namespace std,
 * such as "std::vector::push_back".
 */
#ifndef REPORT_MEM_MODEL_WRAPPERS_H
#define REPORT_MEM_MODEL_WRAPPERS_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory: the list that is built in. */
struct mem_wrappers {
	const char *const *glob; /* more of them; the caller's */
	unsigned globs;
	bool only_globs; /* without the list that is built in */
};

/* NULL: an unknown name, which is no wrapper's. */
bool mem_wrappers_has(const struct mem_wrappers *w, const char *name);
/* True if the name is none: NULL, "?", "??", or an offset in a module, "libc.so.6+0x1f". */
bool mem_wrappers_nameless(const char *name);
/* Writes the plain name of one that is shown, with a NUL; what exceeds cap (at least 1) is cut
 * off. */
void mem_wrappers_plain(const char *shown, char *ret, size_t cap);

#endif
