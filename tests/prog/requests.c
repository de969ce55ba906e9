/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Spans whose time is known. Prints a line "NAME NS" of each part that it measures itself, by
 * CLOCK_MONOTONIC.
 *
 *     requests WHAT...
 *
 * mixed    10 spans `request`: runs, sleeps, runs in two pauses (major, minor), runs
 * nested   a span `outer` with 3 of `inner` in it, in which a span `outer` is, too
 * lost     a span `query` without an end, 5 with one behind it; one `last` is open at the end
 * inside   a span `finaliser` in a pause
 * threads  4 threads with 50 spans `work` each
 */
#include <ebtrace/probes.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/prog/work.h"

#define MS 1000000

static void spin(uint64_t ns)
{
	uint64_t until = now_ns() + ns;
	while (now_ns() < until)
		;
}

static void nap(long ns)
{
	struct timespec t = {0, ns};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static int span(const char *name)
{
	return ebt_register(name, EBT_USER_SPAN);
}

static uint64_t collect(enum ebt_phase phase, uint64_t ns)
{
	uint64_t begin = now_ns();
	ebt_begin(phase);
	spin(ns);
	ebt_end(phase);
	return now_ns() - begin;
}

static void do_mixed(void)
{
	uint64_t major = 0, minor = 0, all = 0, asleep = 0;
	int request = span("request");
	for (int i = 0; i < 10; i++) {
		uint64_t begin = now_ns();
		ebt_span_begin(request);
		spin(1 * MS);
		uint64_t at = now_ns();
		nap(3 * MS);
		asleep += now_ns() - at;
		major += collect(EBT_PHASE_major, 2 * MS);
		minor += collect(EBT_PHASE_minor, 1 * MS);
		spin((i == 7 ? 20 : 1) * MS);
		ebt_span_end(request);
		all += now_ns() - begin;
	}
	printf("all %" PRIu64 "\nasleep %" PRIu64 "\nmajor %" PRIu64 "\nminor %" PRIu64 "\n", all,
	       asleep, major, minor);
}

static void do_nested(void)
{
	int outer = span("outer"), inner = span("inner");
	ebt_span_begin(outer);
	for (int i = 0; i < 3; i++) {
		ebt_span_begin(inner);
		ebt_span_begin(outer);
		spin(1 * MS);
		ebt_span_end(outer);
		ebt_span_end(inner);
	}
	ebt_span_end(outer);
}

static void do_lost(void)
{
	int query = span("query");
	ebt_span_begin(query);
	for (int i = 0; i < 5; i++) {
		ebt_span_begin(query);
		spin(1 * MS);
		ebt_span_end(query);
	}
	ebt_span_begin(span("last"));
}

static void do_inside(void)
{
	int finaliser = span("finaliser");
	ebt_begin(EBT_PHASE_major);
	spin(1 * MS);
	ebt_span_begin(finaliser);
	spin(1 * MS);
	ebt_span_end(finaliser);
	ebt_end(EBT_PHASE_major);
}

static void *work(void *arg)
{
	int id = span("work");
	for (int i = 0; i < 50; i++) {
		ebt_span_begin(id);
		nap(MS / 4);
		spin(MS / 4);
		ebt_span_end(id);
	}
	return arg;
}

static void do_threads(void)
{
	pthread_t thread[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} steps[] = {
		{"mixed", do_mixed},   {"nested", do_nested},	{"lost", do_lost},
		{"inside", do_inside}, {"threads", do_threads},
	};
	nap(20 * MS); /* a switch, before which nothing is known of threads */
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++)
			if (!strcmp(argv[i], steps[k].name))
				steps[k].fn();
	return 0;
}
