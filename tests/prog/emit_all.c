// SPDX-License-Identifier: BSD-2-Clause
/*
 * Emits every event there is, once or with several values, from two threads, and prints what a
 * reader must find, in order: RING TAB KIND TAB NAME TAB VALUE. Lines of kind lifecycle are the
 * library's own. -p PHASES -c COUNTERS: only ids below these, for readers that know no others.
 * The ring must be on (EBTRACE_START), and is kept with EBTRACE_PRESERVE.
 */
#include <ebtrace/event.h>
#include <ebtrace/probes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const phase_name[] = {
#define EBT_PHASE(id, name, stops) [id] = #name,
#include <ebtrace/events.def>
};
static const char *const counter_name[] = {
#define EBT_COUNTER_ID(id, name, unit, help) [id] = #name,
#include <ebtrace/events.def>
};
#define LEN(a) (sizeof(a) / sizeof((a)[0]))

struct limits {
	unsigned phases, counters;
};

static void said(int ring, const char *kind, const char *name, const char *value)
{
	printf("%d\t%s\t%s\t%s\n", ring, kind, name, value);
}
static void said_number(int ring, const char *kind, const char *name, long long value)
{
	printf("%d\t%s\t%s\t%lld\n", ring, kind, name, value);
}

static void emit_phases(int ring, unsigned phases)
{
	/* Nested: every begin, then every end. */
	for (unsigned i = 0; i < phases; i++) {
		ebt_begin((enum ebt_phase)i);
		said(ring, "begin", phase_name[i], "");
	}
	for (unsigned i = phases; i-- > 0;) {
		ebt_end((enum ebt_phase)i);
		said(ring, "end", phase_name[i], "");
	}
}

static void emit_counters(int ring, unsigned counters)
{
	for (unsigned i = 0; i < counters; i++) {
		uint64_t value = i ? (uint64_t)1 << (2 * i) : 0;
		ebt_counter((enum ebt_counter)i, value);
		said_number(ring, "counter", counter_name[i], (long long)value);
	}
}

static void emit_alloc_sizes(int ring)
{
	unsigned bucket[EBT_ALLOC_BUCKETS] = {0};
	for (unsigned words = 1; words < 130; words += 3) {
		ebt_alloc(words);
		bucket[words < 10 ? words : words < 100 ? words / 10 + 9 : 19]++;
	}
	ebt_alloc_flush();
	printf("%d\talloc_sizes\t\t", ring);
	for (unsigned i = 0; i < EBT_ALLOC_BUCKETS; i++)
		printf("%u%c", bucket[i], i + 1 < EBT_ALLOC_BUCKETS ? ',' : '\n');
}

static void emit_custom(int ring)
{
	static const size_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 100, 1000};
	unsigned char payload[1000];
	int event = ebt_register("all.custom", EBT_USER_CUSTOM);

	for (size_t i = 0; i < LEN(sizes); i++) {
		for (size_t k = 0; k < sizes[i]; k++)
			payload[k] = (unsigned char)(k * 7 + i + 1);
		ebt_custom(event, payload, sizes[i]);
		printf("%d\tcustom\tall.custom\t", ring);
		for (size_t k = 0; k < sizes[i]; k++)
			printf("%02x", payload[k]);
		putchar('\n');
	}
}

static void emit_user(int ring)
{
	static const int64_t values[] = {0, 1, -1, 1000000, -1000000, 0x3fffffff};
	int unit = ebt_register("all.unit", EBT_USER_UNIT);
	int number = ebt_register("all.int", EBT_USER_INT);
	int span = ebt_register("all.span", EBT_USER_SPAN);

	ebt_unit(unit);
	said(ring, "unit", "all.unit", "");
	ebt_span_begin(span);
	said(ring, "span_begin", "all.span", "");
	for (size_t i = 0; i < LEN(values); i++) {
		ebt_int(number, values[i]);
		said_number(ring, "int", "all.int", values[i]);
	}
	ebt_span_end(span);
	said(ring, "span_end", "all.span", "");
	emit_custom(ring);
}

static void emit_all(int ring, const struct limits *l)
{
	emit_phases(ring, l->phases);
	emit_counters(ring, l->counters);
	emit_alloc_sizes(ring);
	emit_user(ring);
}

static void *second_thread(void *arg)
{
	said_number(1, "lifecycle", "domain_spawn", getpid());
	emit_all(1, arg);
	said_number(1, "lifecycle", "domain_terminate", getpid());
	return NULL;
}

int main(int argc, char **argv)
{
	struct limits l = {LEN(phase_name), LEN(counter_name)};
	for (int c; (c = getopt(argc, argv, "p:c:")) != -1;) {
		if (c == '?')
			return 2;
		unsigned n = (unsigned)atoi(optarg);
		unsigned *limit = c == 'p' ? &l.phases : &l.counters;
		*limit = n < *limit ? n : *limit;
	}
	if (!ebt_enabled()) {
		fputs("emit_all: nobody listens\n", stderr);
		return 1;
	}
	said_number(0, "lifecycle", "ring_start", getpid());
	emit_all(0, &l);
	pthread_t t;
	if (pthread_create(&t, NULL, second_thread, &l) || pthread_join(t, NULL))
		return 1;
	said(0, "lifecycle", "ring_stop", "");
	return 0;
}
