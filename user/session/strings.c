/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/strings.h"

#include "base/hash.h"
#include "session/intern.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct string {
	struct intern_counted head;
	char *text;
	size_t bytes;
};

struct strings {
	struct intern table;
};

int strings_new(struct strings **ret)
{
	struct strings *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	int err = intern_init(&t->table, sizeof(struct string));
	if (err) {
		free(t);
		return err;
	}
	*ret = t;
	return 0;
}

static struct string *string_at(const struct strings *t, uint32_t id)
{
	return (struct string *)t->table.entries + id;
}

void strings_free(struct strings *t)
{
	if (!t)
		return;
	for (uint32_t id = 1; id < t->table.used; id++)
		if (string_at(t, id)->head.refs)
			free(string_at(t, id)->text);
	intern_done(&t->table);
	free(t);
}

uint32_t strings_put(struct strings *t, const char *text, size_t bytes)
{
	uint32_t hash = (uint32_t)hash_bytes(hash_start(), text, bytes);
	uint32_t at = intern_first(&t->table, hash), id;
	while ((id = intern_next(&t->table, hash, &at))) {
		const struct string *s = string_at(t, id);
		if (s->bytes == bytes && !memcmp(s->text, text, bytes)) {
			intern_hold(&t->table, id);
			return id;
		}
	}
	struct string s = {
		.head = {.hash = hash, .refs = 1}, .text = strndup(text, bytes), .bytes = bytes};
	id = s.text ? intern_add(&t->table, hash, &s) : 0;
	if (!id)
		free(s.text);
	return id;
}

void strings_hold(struct strings *t, uint32_t id)
{
	intern_hold(&t->table, id);
}

bool strings_drop(struct strings *t, uint32_t id)
{
	if (!intern_drop(&t->table, id))
		return false;
	free(string_at(t, id)->text);
	intern_remove_counted(&t->table, id);
	return true;
}

const char *strings_text(const struct strings *t, uint32_t id)
{
	return string_at(t, id)->text;
}

uint32_t strings_count(const struct strings *t)
{
	return t->table.live;
}
