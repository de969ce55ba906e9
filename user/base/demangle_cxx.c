/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/demangle_cxx.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

/*
 * Limits for parts of a name that cost the library time exponential in its length, without output
 * at which it could be stopped. Names of real programs are far below them; a name at a limit costs
 * 2^20 steps at most.
 */
#define CONVERSIONS_MAX 16 /* template arguments in conversion operators, read twice a level */
#define PACKED_REFS_MAX \
	40 /* substitutions in a name with packs: the types of packs are searched as trees */

static bool takes_long(const char *name)
{
	unsigned refs = 0, arguments = 0;
	for (const char *s = name; *s; s++) {
		if (*s != 'S' && *s != 'T')
			continue;
		size_t digits = strspn(s + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		if (s[1 + digits] != '_')
			continue;
		if (*s == 'S')
			refs++;
		else if (s[2 + digits] == 'I')
			arguments++;
	}
	if (arguments > CONVERSIONS_MAX && strstr(name, "cv"))
		return true;
	return refs > PACKED_REFS_MAX &&
	       (strstr(name, "Dp") || strstr(name, "sZ") || strstr(name, "sP"));
}

struct output {
	char *text;
	size_t len, cap;
	jmp_buf full;
};

/* Leaves the library when the output is full: the rest of the name may be endless. The library has
 * no memory allocated then, only its stack. */
static void put(const char *s, size_t len, void *opaque)
{
	struct output *o = opaque;
	size_t room = o->cap - 1 - o->len;
	memcpy(o->text + o->len, s, len < room ? len : room);
	o->len += len < room ? len : room;
	if (len <= room)
		return;
	memcpy(o->text + o->len - 3, "...", 3);
	longjmp(o->full, 1);
}

/* False: it is not such a name. */
static bool write_name(struct output *o, const char *name)
{
	if (setjmp(o->full))
		return true;
	/* First, as its older names are C++ names too, with the hash as a function. */
	if (rust_demangle_callback(name, DMGL_NO_OPTS, put, o))
		return true;
	o->len = 0;
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, put, o);
}

size_t demangle_cxx(const char *name, char *ret, size_t cap)
{
	struct output o = {.text = ret, .cap = cap};
	if (takes_long(name) || !write_name(&o, name))
		return 0;
	ret[o.len] = '\0';
	return o.len;
}
