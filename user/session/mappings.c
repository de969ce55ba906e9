/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

static void set_name(struct mapping *m, const char *path)
{
	/* A device's name says nothing without its directory. */
	const char *slash =
		*path == '/' && strncmp(path, "/dev/", 5) != 0 ? strrchr(path, '/') : NULL;
	const char *name = slash && slash[1] ? slash + 1 : path;
	bool is_cut;
	size_t n = utf8_copy(m->name, sizeof(m->name) - 1, name, strlen(name), &is_cut);
	m->name[n] = 0;
	utf8_disarm(m->name);
}

/* Whether it is known, or now is by a longer one. */
static bool extend(struct mappings *m, const struct mapping *new)
{
	for (uint32_t i = m->count; i--;) {
		struct mapping *old = &m->at[i];
		if (new->start < old->start || new->start > old->end ||
		    strcmp(old->name, new->name) != 0)
			continue;
		old->end = new->end > old->end ? new->end : old->end;
		return true;
	}
	return false;
}

int mappings_add(struct mappings *m, uint64_t start, uint64_t end, const char *path)
{
	struct mapping new = {start, end, ""};
	if (!*path || start >= end)
		return 0;
	set_name(&new, path);
	if (extend(m, &new) || m->count == MAPPINGS_MAX)
		return 0;
	if (!array_reserve(m->at, m->room, m->count))
		return -ENOMEM;
	m->at[m->count++] = new;
	return 0;
}

int mappings_copy(struct mappings *ret, const struct mappings *m)
{
	struct mapping *at = m->count ? malloc(m->count * sizeof(*at)) : NULL;
	*ret = (struct mappings){0};
	if (!at && m->count)
		return -ENOMEM;
	*ret = *m;
	ret->at = at;
	ret->room = m->count;
	if (at)
		memcpy(at, m->at, m->count * sizeof(*at));
	return 0;
}

void mappings_done(struct mappings *m)
{
	free(m->at);
	*m = (struct mappings){0};
}

const struct mapping *mappings_find(const struct mappings *m, uint64_t start, uint64_t end)
{
	const struct mapping *best = NULL;
	uint64_t most = 0;
	for (uint32_t i = m->count; i--;) {
		const struct mapping *k = &m->at[i];
		uint64_t from = k->start > start ? k->start : start;
		uint64_t to = k->end < end ? k->end : end;
		if (from >= to || to - from <= most)
			continue;
		most = to - from;
		best = k;
	}
	return best;
}
