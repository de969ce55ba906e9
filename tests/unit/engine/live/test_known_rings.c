/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings that are known by their files: numbers of files are used again. */
#include "engine/live/known_rings.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/tap.h"

#define SAME 5

static int new_file(void)
{
	char path[] = "/tmp/ebt-known-XXXXXX";
	int fd = mkstemp(path);
	if (fd < 0)
		abort();
	unlink(path);
	return fd;
}

/* Files of one number behind the ring, each born a second later, as the table chains them. */
static void chain(struct known_ring *first, struct known_ring *ret[SAME])
{
	ret[0] = first;
	for (unsigned i = 1; i < SAME; i++) {
		ret[i] = calloc(1, sizeof(*ret[i]));
		if (!ret[i])
			abort();
		ret[i]->id = first->id;
		ret[i]->id.born_s += i;
		ret[i - 1]->next_file = ret[i];
	}
}

static void test_ids(void)
{
	struct ring_id a = {.dev = 1, .ino = 2, .born_s = 3, .born_ns = 4}, b = a;
	b.owner = 7;
	b.regular = true;
	ok(ring_id_is(&a, &b), "owner and type do not tell a file from others");
	for (unsigned i = 0; i < 4; i++) {
		b = a;
		b.dev += i == 0;
		b.ino += i == 1;
		b.born_s += i == 2;
		b.born_ns += i == 3;
		ok(!ring_id_is(&a, &b), "another device, number or moment of birth does");
	}
}

static void test_chain(void)
{
	for (unsigned gone = 0; gone < SAME; gone++) {
		struct known_rings k = {0};
		struct known_ring *ring[SAME];
		int fd = new_file(), other = new_file();
		struct known_ring *first = known_rings_add(&k, fd);
		if (!first)
			abort();
		ok(known_rings_has(&k, fd) && !known_rings_add(&k, fd) &&
			   !known_rings_has(&k, other),
		   "a file is known once");
		chain(first, ring);
		struct ring_id id = ring[gone]->id;
		known_rings_forget(&k, ring[gone]);
		unsigned found = 0;
		for (unsigned i = 0; i < SAME; i++)
			found += i != gone && known_rings_find(&k, &ring[i]->id) == ring[i];
		ok(found == SAME - 1 && !known_rings_find(&k, &id),
		   "of files that have one number after the other only the one is forgotten");
		known_rings_done(&k);
		close(fd);
		close(other);
	}
}

int main(void)
{
	test_ids();
	test_chain();
	return tap_done();
}
