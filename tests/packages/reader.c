/* SPDX-License-Identifier: BSD-2-Clause */
/* reader FILE: counts the events in a ring file, in C and in C++20. */
#include <ebtrace/cursor.h>
#include <stdio.h>

struct counts {
	unsigned long begin, counter, end, lost;
};

static int count(const struct ebt_event *ev, const void *payload, size_t bytes, void *ctx)
{
	struct counts *n = (struct counts *)ctx;
	(void)payload;
	(void)bytes;
	n->begin += ev->kind == EBT_BEGIN;
	n->counter += ev->kind == EBT_COUNTER;
	n->end += ev->kind == EBT_END;
	n->lost += ev->kind == EBT_LOST;
	return 0;
}

int main(int argc, char **argv)
{
	char reason[EBT_REASON_BYTES];
	struct ebt_cursor *c;
	struct counts n = {0, 0, 0, 0};
	if (argc != 2 || ebt_cursor_open(argv[1], EBT_RELEASE_AUTO, &c, reason)) {
		fprintf(stderr, "%s\n", argc == 2 ? reason : "usage: reader FILE");
		return 1;
	}
	while (ebt_cursor_poll(c, count, &n, 0) > 0)
		;
	ebt_cursor_close(c);
	printf("begin %lu, counter %lu, end %lu, lost %lu\n", n.begin, n.counter, n.end, n.lost);
	return 0;
}
