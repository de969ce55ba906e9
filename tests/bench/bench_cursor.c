// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads one full ring with our cursor, by ebt_cursor_read() and by ebt_cursor_poll(); JSON lines.
 * Without an argument it makes the file itself; `-m FILE` only makes it, for OCaml's reader.
 */
#include <ebtrace/cursor.h>
#include <ebtrace/probes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EVENTS 100000 /* more than the default ring holds */
#define ROUNDS 50

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void fill_ring(void)
{
	for (int i = 0; i < EVENTS / 3; i++) {
		ebt_begin(EBT_PHASE_minor);
		ebt_counter(EBT_COUNTER_minor_promoted, (uint64_t)i);
		ebt_end(EBT_PHASE_minor);
	}
}

static int count_event(const struct ebt_event *ev, const void *payload, size_t bytes, void *ctx)
{
	(void)payload;
	(void)bytes;
	*(uint64_t *)ctx += ev->kind != EBT_LOST;
	return 0;
}

/* Returns ns an event, or a negative number; opening the file is not counted. */
static double read_once(const char *path, int by_poll)
{
	static struct ebt_event ev[256];
	struct ebt_cursor *c;
	char reason[EBT_REASON_BYTES];
	uint64_t events = 0;
	ssize_t n;

	if (ebt_cursor_open(path, EBT_RELEASE_AUTO, &c, reason)) {
		fprintf(stderr, "bench_cursor: %s\n", reason);
		return -1;
	}
	double t = now_ns();
	if (by_poll) {
		while ((n = ebt_cursor_poll(c, count_event, &events, 0)) > 0)
			;
	} else {
		while ((n = ebt_cursor_read(c, ev, 256)) > 0)
			events += (uint64_t)n;
	}
	t = now_ns() - t;
	ebt_cursor_close(c);
	return n < 0 || !events ? -1 : t / (double)events;
}

static int bench(const char *path, const char *name, int by_poll)
{
	double best = 0;
	for (int i = 0; i < ROUNDS; i++) {
		double ns = read_once(path, by_poll);
		if (ns < 0)
			return 1;
		best = i && best < ns ? best : ns;
	}
	printf("{\"name\":\"%s\",\"unit\":\"ns\",\"ours\":%.2f,\"goal\":%.1f}\n", name, best,
	       by_poll ? 4.5 : 3.5);
	return 0;
}

int main(int argc, char **argv)
{
	if (ebt_start()) {
		fputs("bench_cursor: cannot start a ring\n", stderr);
		return 1;
	}
	fill_ring();
	const char *path = ebt_ring_path();
	if (argc > 2 && !strcmp(argv[1], "-m")) {
		char command[512];
		snprintf(command, sizeof(command), "cp --sparse=always '%s' '%s'", path, argv[2]);
		return !!system(command);
	}
	return bench(path, "cursor_read", 0) || bench(path, "cursor_poll", 1);
}
