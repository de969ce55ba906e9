// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/usdt_specs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void usdt_specs_done(struct usdt_specs *s)
{
	free(s->spec);
	map_done(&s->index);
	*s = (struct usdt_specs){0};
}

static uint64_t hash_of(const struct ebt_usdt_spec *spec)
{
	uint64_t h = hash_start(), word;
	_Static_assert(sizeof(*spec) % sizeof(word) == 0, "whole words");
	for (size_t at = 0; at < sizeof(*spec); at += sizeof(word)) {
		memcpy(&word, (const char *)spec + at, sizeof(word));
		h = hash_u64(h, word);
	}
	return h;
}

int usdt_specs_key(struct usdt_specs *s, const struct ebt_usdt_spec *spec, bool *ret_new)
{
	*ret_new = false;
	uint64_t hash = hash_of(spec);
	const uint64_t *known = map_get(&s->index, hash);
	if (known && !memcmp(&s->spec[*known], spec, sizeof(*spec)))
		return (int)*known;
	if (s->count == EBT_USDT_SPECS)
		return -E2BIG;
	uint64_t *at = array_reserve(s->spec, s->room, s->count) ? map_put(&s->index, hash) : NULL;
	if (!at)
		return -ENOMEM;
	*at = s->count;
	s->spec[s->count] = *spec;
	*ret_new = true;
	return (int)s->count++;
}
