// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 8
#define MIN_BYTES  65536u
#define KEEP_BYTES (1u << 20) /* an empty one keeps no more room than this */

void bpf_spool_done(struct bpf_spool *s)
{
	free(s->data);
	*s = (struct bpf_spool){0};
}

static int make_room(struct bpf_spool *s, size_t bytes)
{
	size_t used = bpf_spool_bytes(s), cap = s->cap ? s->cap : MIN_BYTES;
	if (s->end + bytes <= s->cap)
		return 0;
	if (s->first >= used + bytes) {
		memcpy(s->data, s->data + s->first, used);
	} else {
		while (cap < used + bytes)
			cap *= 2;
		cap = cap == s->cap ? 2 * cap : cap;
		uint8_t *data = malloc(cap);
		if (!data)
			return -ENOMEM;
		if (used)
			memcpy(data, s->data + s->first, used);
		free(s->data);
		s->data = data;
		s->cap = cap;
	}
	s->first = 0;
	s->end = used;
	return 0;
}

int bpf_spool_put(struct bpf_spool *s, const void *record, size_t bytes)
{
	size_t room = HEAD_BYTES + ((bytes + 7) & ~(size_t)7);
	uint64_t head = bytes;
	int err = make_room(s, room);
	if (err)
		return err;
	memcpy(s->data + s->end, &head, sizeof(head));
	memcpy(s->data + s->end + HEAD_BYTES, record, bytes);
	s->end += room;
	s->put++;
	return 0;
}

const void *bpf_spool_next(struct bpf_spool *s, size_t *ret_bytes)
{
	uint64_t head;
	if (s->first == s->end) {
		s->first = s->end = 0;
		if (s->cap > KEEP_BYTES) {
			free(s->data);
			s->data = NULL;
			s->cap = 0;
		}
		return NULL;
	}
	const uint8_t *at = s->data + s->first;
	memcpy(&head, at, sizeof(head));
	s->first += HEAD_BYTES + ((head + 7) & ~(size_t)7);
	s->got++;
	*ret_bytes = head;
	return at + HEAD_BYTES;
}

void bpf_spool_return(struct bpf_spool *s, size_t bytes)
{
	s->first -= HEAD_BYTES + ((bytes + 7) & ~(size_t)7);
	s->got--;
}
