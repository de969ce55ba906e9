// SPDX-License-Identifier: BSD-2-Clause
/*
 * The lines that are put together from parts made once, beside those written field by field: an
 * event that came late is always of the second kind, and says so in one field more.
 */
#include "format/ndjson/ndjson.h"

#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LATE ",\"late\":true"

struct out {
	struct session *session;
	struct sink *sink;
	FILE *file;
	char line[2][32 * 1024];
};

static void begin(struct out *o)
{
	memset(o, 0, sizeof(*o));
	o->file = tmpfile();
	if (!o->file || session_new(&o->session) || enter_processes(o->session, 4711) ||
	    ndjson_new(o->session, fileno(o->file), &o->sink))
		exit(1);
}

/* Ends the output; true if each two lines between its first and its last are equal but for LATE. */
static bool is_alike(struct out *o, unsigned pairs)
{
	bool alike = !sink_end(o->sink);
	rewind(o->file);
	alike = alike && fgets(o->line[0], sizeof(o->line[0]), o->file);
	for (unsigned i = 0; alike && i < pairs; i++) {
		alike = fgets(o->line[0], sizeof(o->line[0]), o->file) &&
			fgets(o->line[1], sizeof(o->line[1]), o->file);
		char *late = alike ? strstr(o->line[1], LATE) : NULL;
		if (late)
			memmove(late, late + strlen(LATE), strlen(late + strlen(LATE)) + 1);
		alike = late && !strcmp(o->line[0], o->line[1]);
		if (!alike)
			diag("'%s' and '%s'", o->line[0], o->line[1]);
	}
	sink_free(o->sink);
	session_free(o->session);
	fclose(o->file);
	return alike;
}

static void put_twice(struct out *o, struct ebt_event ev)
{
	sink_events(o->sink, &ev, 1);
	ev.flags |= EBT_F_LATE;
	sink_events(o->sink, &ev, 1);
}

static struct ebt_event event(uint16_t kind, uint32_t id, int64_t value)
{
	return (struct ebt_event){.ts = 1234567890123,
				  .pos = 77,
				  .pid = 4711,
				  .kind = kind,
				  .domain = 3,
				  .cpu = EBT_NO_CPU,
				  .id = id,
				  .sarg = {value}};
}

static void test_kinds(void)
{
	static const int64_t values[] = {0, 1, -1, 99, INT64_MAX, INT64_MIN};
	struct out o;
	unsigned pairs = 0;
	begin(&o);
	processes_set_user_name(&o.session->processes, 4711, 5, "a \"name\"\n");
	for (uint16_t kind = 0; kind < EBT_KINDS; kind++)
		for (unsigned v = 0; v < 6; v++, pairs++)
			put_twice(&o, event(kind, 5, values[v]));
	struct ebt_event ev = event(EBT_INT, 5, -5);
	ev.tid = 12;
	ev.cpu = 1;
	put_twice(&o, ev);
	ok(is_alike(&o, pairs + 1), "events of every kind, with values of every length");
}

static void test_names(void)
{
	static const char *const names[] = {NULL, "first", "second", "third, and as long again"};
	char longest[128];
	struct out o;
	begin(&o);
	for (unsigned i = 0; i < 4; i++) {
		if (names[i])
			processes_set_user_name(&o.session->processes, 4711, 9, names[i]);
		put_twice(&o, event(EBT_UNIT, 9, 0));
		put_twice(&o, event(EBT_INT, 9, 8));
	}
	ok(is_alike(&o, 8), "a user event that is named late, and then anew");

	unsigned pairs = 0;
	begin(&o);
	for (size_t len = 40; len < sizeof(longest); len++, pairs += 2) {
		memset(longest, 'x', len);
		longest[len] = '\0';
		processes_set_user_name(&o.session->processes, 4711, 9, longest);
		put_twice(&o, event(EBT_INT, 9, 8));
		put_twice(&o, event(EBT_INT, 9, 9));
	}
	ok(is_alike(&o, pairs), "names of every length, also those that no part has room for");

	begin(&o);
	processes_set_user_name(&o.session->processes, 1, 9, "of one process");
	processes_set_user_name(&o.session->processes, 2, 9, "of the other");
	for (unsigned i = 0; i < 4; i++) {
		struct ebt_event ev = event(EBT_SPAN_BEGIN, 9, 0);
		ev.pid = 1 + i % 2;
		put_twice(&o, ev);
	}
	ok(is_alike(&o, 4), "two processes with names of their own for one id");
}

/* The longest line of parts has half of what a line may have. */
static void test_words(void)
{
	static uint64_t words[900];
	static const size_t counts[] = {0, 1, 20, 48, 49, 200, 770, 779, 780, 781, 790, 900};
	struct out o;
	unsigned pairs = 0;
	begin(&o);
	for (unsigned i = 0; i < 900; i++)
		words[i] = i % 2 ? UINT64_MAX - i : i;
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++, pairs++) {
		struct ebt_event ev = event(EBT_ALLOC_SIZES, 0, 0);
		if (session_put_blob(o.session, &ev, words, 8 * counts[i]))
			exit(1);
		put_twice(&o, ev);
	}
	ok(is_alike(&o, pairs), "arrays of words of every length");
}

int main(void)
{
	test_words();
	test_kinds();
	test_names();
	return tap_done();
}
