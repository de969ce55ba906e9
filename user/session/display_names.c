/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/display_names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/demangle.h"
#include "base/map.h"
#include "session/strings.h"

struct display_names {
	struct strings *strings;
	struct map shown; /* string -> string, both held */
};

int display_names_new(struct strings *strings, struct display_names **ret)
{
	struct display_names *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->strings = strings;
	*ret = d;
	return 0;
}

void display_names_free(struct display_names *d)
{
	if (!d)
		return;
	size_t at = 0;
	for (const struct map_slot *s; (s = map_next(&d->shown, &at));) {
		strings_drop(d->strings, (uint32_t)s->key);
		strings_drop(d->strings, (uint32_t)s->value);
	}
	map_done(&d->shown);
	free(d);
}

uint32_t display_name(struct display_names *d, uint32_t name)
{
	const uint64_t *known = map_get(&d->shown, name);
	if (known)
		return (uint32_t)*known;
	char text[DEMANGLE_BYTES];
	size_t len = name ? demangle(strings_text(d->strings, name), text, sizeof(text)) : 0;
	uint32_t shown = len ? strings_put(d->strings, text, len) : 0;
	if (!shown) {
		strings_hold(d->strings, name);
		shown = name;
	}
	uint64_t *value = map_put(&d->shown, name);
	if (!value) {
		strings_drop(d->strings, shown);
		return name;
	}
	strings_hold(d->strings, name);
	*value = shown;
	return shown;
}
