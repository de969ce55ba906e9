/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/fiber_texts.h"

#include "base/array.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Memory under a text besides its bytes. */
#define OVERHEAD 64

int fiber_texts_init(struct fiber_texts *t)
{
	*t = (struct fiber_texts){0};
	return strings_new(&t->strings);
}

void fiber_texts_done(struct fiber_texts *t)
{
	strings_free(t->strings);
	free(t->at);
	*t = (struct fiber_texts){0};
}

void fiber_texts_release(struct fiber_texts *t, uint32_t id)
{
	if (strings_drop(t->strings, id))
		t->bytes -= t->at[id].bytes + OVERHEAD;
}

static bool has_room(const struct fiber_texts *t, size_t len)
{
	return t->bytes + len + OVERHEAD <= FIBERS_TEXTS_BYTES;
}

/* The id of a text, held. 0: no memory. */
static uint32_t put(struct fiber_texts *t, const char *text, size_t len)
{
	uint32_t before = strings_count(t->strings), id = strings_put(t->strings, text, len);
	if (!id || strings_count(t->strings) == before)
		return id;
	if (!array_room(t->at, t->count, id)) {
		strings_drop(t->strings, id);
		return 0;
	}
	t->at[id] = (struct fiber_text){.bytes = len};
	t->bytes += len + OVERHEAD;
	return id;
}

/* One that may have to be made valid. */
static __attribute__((noinline)) int make(struct fiber_texts *t, const struct eio_record *r,
					  uint32_t *recent, uint32_t *ret)
{
	char text[FIBERS_TEXT_BYTES];
	bool is_cut;
	size_t len = utf8_copy(text, sizeof(text), r->text, r->text_bytes, &is_cut);
	for (char *p = text; (p = memchr(p, 0, len - (size_t)(p - text)));)
		*p = '?';
	if (!has_room(t, len)) {
		t->over++;
		return 0;
	}
	uint32_t id = put(t, text, len);
	if (!id)
		return -ENOMEM;
	strings_hold(t->strings, id);
	fiber_texts_drop(t, *recent);
	*recent = *ret = id;
	return 0;
}

int fiber_texts_keep(struct fiber_texts *t, const struct eio_record *r, uint32_t *ret)
{
	size_t n = r->text_bytes;
	*ret = 0;
	if (!n)
		return 0;
	const unsigned char *p = (const unsigned char *)r->text;
	size_t place = n + 5u * p[0] + 3u * p[n / 2] + p[n - 1];
	uint32_t *recent = &t->recent[place % FIBERS_TEXTS_RECENT];
	/* Equal to one that is valid, it is valid, too. */
	bool is_recent = *recent && t->at[*recent].bytes == n &&
			 !memcmp(strings_text(t->strings, *recent), p, n) && has_room(t, n);
	if (!is_recent)
		return make(t, r, recent, ret);
	strings_hold(t->strings, *recent);
	*ret = *recent;
	return 0;
}
