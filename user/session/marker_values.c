/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/marker_values.h"

#include <string.h>

static uint8_t *put_number(uint8_t *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*p++ = (uint8_t)(v >> 8 * i);
	return p;
}

static uint64_t get_number(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

void *marker_values_put(void *at, const struct marker_value *v)
{
	uint8_t *p = at;
	*p++ = (uint8_t)v->type;
	if (v->type == MARKER_UNSIGNED || v->type == MARKER_SIGNED)
		return put_number(p, v->number, 8);
	if (v->type != MARKER_TEXT)
		return p;
	p = put_number(p, v->bytes, 2);
	if (v->bytes)
		memcpy(p, v->text, v->bytes);
	return p + v->bytes;
}

/* Reads one at p; returns its bytes, 0: it is not whole. */
static size_t get(const uint8_t *p, size_t left, struct marker_value *ret)
{
	*ret = (struct marker_value){.type = left ? p[0] : 0};
	switch (ret->type) {
	case MARKER_UNSIGNED:
	case MARKER_SIGNED:
		if (left < 9)
			return 0;
		ret->number = get_number(p + 1, 8);
		return 9;
	case MARKER_TEXT:
		ret->bytes = left < 3 ? SIZE_MAX : get_number(p + 1, 2);
		if (ret->bytes > MARKER_TEXT_MAX || ret->bytes > left - 3)
			return 0;
		ret->text = (const char *)p + 3;
		return 3 + ret->bytes;
	case MARKER_UNREADABLE:
		return 1;
	}
	return 0;
}

bool marker_values_get(const void *data, size_t bytes, unsigned number, struct marker_value *ret)
{
	const uint8_t *p = data;
	size_t n = 1;
	if (!data)
		return false;
	for (unsigned i = 0; i <= number && n; i++) {
		n = get(p, bytes, ret);
		p += n;
		bytes -= n;
	}
	return n != 0;
}
