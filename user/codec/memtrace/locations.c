/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/memtrace/locations.h"

#include <stdalign.h>
#include <stdlib.h>

#define CHUNK_BYTES (64u << 10)
#define NEW_NAME    31

struct memtrace_chunk {
	struct memtrace_chunk *next;
	size_t used, cap;
	alignas(16) char data[];
};

struct memtrace_entry {
	uint32_t count;
	struct ebt_memtrace_location location[];
};

void memtrace_locations_done(struct memtrace_locations *l)
{
	for (struct memtrace_chunk *c = l->chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	ptrmap_done(&l->by_code);
	*l = (struct memtrace_locations){0};
}

static void *allocate(struct memtrace_locations *l, size_t bytes)
{
	struct memtrace_chunk *c = l->chunks;
	bytes = (bytes + 7) & ~(size_t)7;
	if (!c || c->cap - c->used < bytes) {
		size_t cap = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
		c = malloc(sizeof(*c) + cap);
		if (!c)
			return NULL;
		*c = (struct memtrace_chunk){.next = l->chunks, .cap = cap};
		l->chunks = c;
	}
	c->used += bytes;
	return c->data + c->used - bytes;
}

void memtrace_files_forget(struct memtrace_files *f)
{
	*f = (struct memtrace_files){.count = MEMTRACE_NAMES};
	for (int i = 0; i < MEMTRACE_NAMES; i++) {
		f->file[i].functions = &f->functions[i];
		f->functions[i].count = MEMTRACE_NAMES;
	}
}

/* A name up to its NUL, kept. Returns the byte behind it. */
static const uint8_t *keep_name(struct memtrace_locations *l, const uint8_t *p, const uint8_t *end,
				const char **ret, const char **why)
{
	const uint8_t *nul = memchr(p, 0, (size_t)(end - p));
	if (!nul) {
		*why = "the end of a name";
		return NULL;
	}
	size_t bytes = (size_t)(nul + 1 - p);
	char *name = allocate(l, bytes);
	if (!name)
		return NULL;
	memcpy(name, p, bytes);
	*ret = name;
	return nul + 1;
}

/* The file with this index moves to the front. */
static bool use_file(struct memtrace_files *f, unsigned index)
{
	if (index >= f->count)
		return false;
	typeof(f->file[0]) used = f->file[index];
	memmove(f->file + 1, f->file, index * sizeof(f->file[0]));
	f->file[0] = used;
	return true;
}

/* Adds a file as the first one. If the list is full, it takes over the functions of the last file,
 * which drops out: emptied, but not in version 1 of memtrace, which left them there. */
static void add_file(struct memtrace_files *f, const char *name, bool before_v2)
{
	struct memtrace_functions *functions = f->count < MEMTRACE_NAMES
						       ? &f->functions[f->count++]
						       : f->file[MEMTRACE_NAMES - 1].functions;
	if (!before_v2)
		functions->count = 0;
	memmove(f->file + 1, f->file, (f->count - 1u) * sizeof(f->file[0]));
	f->file[0].name = name;
	f->file[0].functions = functions;
}

static bool use_function(struct memtrace_functions *t, unsigned index)
{
	if (index >= t->count)
		return false;
	const char *used = t->name[index];
	memmove(t->name + 1, t->name, index * sizeof(t->name[0]));
	t->name[0] = used;
	return true;
}

static void add_function(struct memtrace_functions *t, const char *name)
{
	if (t->count < MEMTRACE_NAMES)
		t->count++;
	memmove(t->name + 1, t->name, (t->count - 1u) * sizeof(t->name[0]));
	t->name[0] = name;
}

static const uint8_t *decode_position(struct memtrace_locations *l, struct memtrace_files *f,
				      bool before_v2, const uint8_t *p, const uint8_t *end,
				      struct ebt_memtrace_location *ret, const char **why)
{
	const char *name;
	*why = "a position of 6 bytes";
	if (end - p < MEMTRACE_POSITION_BYTES)
		return NULL;
	uint64_t bits = memtrace_u32(p) | (uint64_t)memtrace_u16(p + 4) << 32;
	unsigned file = bits >> 38 & 31, function = bits >> 43 & 31;
	*ret = (struct ebt_memtrace_location){
		.line = bits & 0xfffff,
		.first_char = bits >> 20 & 0xff,
		.last_char = bits >> 28 & 0x3ff,
	};
	p += MEMTRACE_POSITION_BYTES;
	*why = NULL;
	if (file == NEW_NAME) {
		p = keep_name(l, p, end, &name, why);
		if (!p)
			return NULL;
		add_file(f, name, before_v2);
	} else if (!use_file(f, file)) {
		*why = "the index of a file in use";
		return NULL;
	}
	if (function == NEW_NAME) {
		p = keep_name(l, p, end, &name, why);
		if (!p)
			return NULL;
		add_function(f->file[0].functions, name);
	} else if (!use_function(f->file[0].functions, function)) {
		*why = "the index of a function in use";
		return NULL;
	}
	ret->file = f->file[0].name;
	ret->function = f->file[0].functions->name[0];
	return p;
}

static bool same_name(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_position(const struct ebt_memtrace_location *a,
			  const struct ebt_memtrace_location *b)
{
	return a->line == b->line && a->first_char == b->first_char &&
	       a->last_char == b->last_char && same_name(a->file, b->file) &&
	       same_name(a->function, b->function);
}

static bool has_unknown(const struct memtrace_entry *e)
{
	for (uint32_t i = 0; i < e->count; i++)
		if (!e->location[i].file || !e->location[i].function)
			return true;
	return false;
}

static bool same_entry(const struct memtrace_entry *a, const struct memtrace_entry *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (!same_position(&a->location[i], &b->location[i]))
			return false;
	return true;
}

/* The first definition of a code stays, unless damage left names of it unknown. */
static bool define(struct memtrace_locations *l, int64_t code, struct memtrace_entry *e,
		   const char **why)
{
	const struct memtrace_entry *old = ptrmap_get(&l->by_code, (uint64_t)code);
	if (!old || has_unknown(old))
		return !ptrmap_set(&l->by_code, (uint64_t)code, e);
	if (same_entry(old, e) || has_unknown(e))
		return true;
	*why = "the same positions as a location code had before";
	return false;
}

const uint8_t *memtrace_location(struct memtrace_locations *l, struct memtrace_files *f,
				 bool before_v2, const uint8_t *p, const uint8_t *end,
				 const char **why)
{
	*why = "a location of 9 bytes or more";
	if (end - p < 9)
		return NULL;
	int64_t code = memtrace_int(p);
	unsigned count = p[8];
	p += 9;
	*why = "as many positions as a location counts";
	if ((size_t)(end - p) < count * (size_t)MEMTRACE_POSITION_BYTES)
		return NULL;
	*why = NULL;
	struct memtrace_entry *e = allocate(l, sizeof(*e) + count * sizeof(e->location[0]));
	if (!e)
		return NULL;
	e->count = count;
	for (unsigned i = 0; i < count; i++) {
		p = decode_position(l, f, before_v2, p, end, &e->location[i], why);
		if (!p)
			return NULL;
	}
	return define(l, code, e, why) ? p : NULL;
}

const uint8_t *memtrace_location_skip(const uint8_t *p, const uint8_t *end)
{
	if (end - p < 9)
		return NULL;
	unsigned count = p[8];
	p += 9;
	for (; count; count--) {
		if (end - p < MEMTRACE_POSITION_BYTES)
			return NULL;
		unsigned names = memtrace_u16(p + 4) >> 6;
		p += MEMTRACE_POSITION_BYTES;
		for (int i = 0; i < 2; i++, names >>= 5) {
			if ((names & 31) != NEW_NAME)
				continue;
			const uint8_t *nul = memchr(p, 0, (size_t)(end - p));
			if (!nul)
				return NULL;
			p = nul + 1;
		}
	}
	return p;
}

size_t memtrace_locations_of(const struct memtrace_locations *l, int64_t code,
			     const struct ebt_memtrace_location **ret)
{
	const struct memtrace_entry *e = ptrmap_get(&l->by_code, (uint64_t)code);
	*ret = e ? e->location : NULL;
	return e ? e->count : 0;
}
