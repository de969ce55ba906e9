/* SPDX-License-Identifier: BSD-2-Clause */
/* The Perfetto sink: made-up events in, the trace as text out (perfetto_reader.h). */
#include "format/perfetto/perfetto.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/perfetto/tracks.h"
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/perfetto_reader.h"
#include "tests/unit/processes_fixture.h"

static struct session *session;
static struct sink *sink;
static int fd;

static void start(void)
{
	fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0 || session_new(&session) || enter_processes(session, 64) ||
	    perfetto_new(session, fd, &sink))
		abort();
}

static char *written(void)
{
	struct stat st;
	if (fstat(fd, &st))
		abort();
	char *data = malloc((size_t)st.st_size + 1);
	if (!data || pread(fd, data, (size_t)st.st_size, 0) != st.st_size)
		abort();
	char *text = trace_text(data, (size_t)st.st_size);
	free(data);
	return text;
}

static void stop(void)
{
	sink_free(sink);
	session_free(session);
	close(fd);
}

/* Ends the trace and compares what is between the line of the clock and the summary. */
static void check(const char *name, const char *want)
{
	session->totals.timed = 1;
	session->totals.last_ns = 100;
	is(sink_end(sink), 0, "the trace is written");
	char *text = written();
	char *from = strchr(text, '\n') + 1;
	char *summary = strstr(from, "100 instant ebtrace summary ");
	if (summary)
		*summary = 0;
	char *track = strstr(from, "track ebtrace\n");
	if (track && !track[strlen("track ebtrace\n")])
		*track = 0;
	if (!ok(!strncmp(text, "clock 3=", 8) && summary && !strcmp(from, want), "%s", name))
		diag("got\n%s# want\n%s", from, want);
	free(text);
	stop();
}

static void push(struct ebt_event ev)
{
	if (!ev.cpu)
		ev.cpu = EBT_NO_CPU;
	if (sink_events(sink, &ev, 1))
		abort();
}
#define PUSH_OF(process, when, what, ...) \
	push((struct ebt_event){.ts = (when), .kind = (what), .pid = (process), __VA_ARGS__})
#define PUSH(...) PUSH_OF(7, __VA_ARGS__)

static void test_basics(void)
{
	start();
	for (unsigned i = 0; i < 3; i++)
		session->timebase.at[i] = moment_at(5 + i);
	strcpy(processes_announce(&session->processes, 7)->comm, "prog");
	PUSH(10, EBT_BEGIN, .id = 6);
	PUSH(11, EBT_BEGIN, .id = 7);
	PUSH(12, EBT_END, .id = 7);
	PUSH(13, EBT_END, .id = 6);
	PUSH(14, EBT_BEGIN, .id = 11, .domain = 3);
	PUSH(15, EBT_END, .id = 11, .domain = 3);
	check("phases nest on the track of their domain",
	      "track 7 prog\ntrack 7/domain_0\n10 begin 7/domain_0 major\n"
	      "11 begin 7/domain_0 major_sweep\n12 end 7/domain_0\n13 end 7/domain_0\n"
	      "track 7/domain_3\n14 begin 7/domain_3 minor\n15 end 7/domain_3\n");

	start();
	for (unsigned i = 0; i < 3; i++)
		session->timebase.at[i] = moment_at(5 + i);
	session->totals = (struct totals){.events = 9, .lost_events = 8, .late = 2};
	session->run_end = moment_at(50);
	is(sink_end(sink), 0, "a trace without an event is one");
	char *text = written();
	is_str(text,
	       "clock 3=5 1=6 6=7 primary=3\ntrack ebtrace\n50 instant ebtrace summary events=9, "
	       "lost_events=8, lost_words=0, history_events=0, history_words=0, late=2, "
	       "damaged=0,\n",
	       "it has the clocks at its beginning and the totals at its end");
	free(text);
	stop();

	start();
	session->totals = (struct totals){.unwatched = 1, .unwatched_ns = 1250};
	is(sink_end(sink), 0, "a trace without an event, of a run that was not watched, is one");
	text = written();
	ok(strstr(text, " history_words=0, unwatched_ns=1250, late=0,"),
	   "it tells for how long that was");
	free(text);
	stop();
}

static void test_user(void)
{
	start();
	processes_set_user_name(&session->processes, 7, 1, "a.span");
	processes_set_user_name(&session->processes, 7, 2, "b.span");
	processes_set_user_name(&session->processes, 7, 3, "an.int");
	PUSH(1, EBT_SPAN_BEGIN, .id = 1);
	PUSH(2, EBT_SPAN_BEGIN, .id = 2);
	PUSH(3, EBT_SPAN_END, .id = 1);
	PUSH(4, EBT_INT, .id = 3, .sarg = {-5});
	PUSH(5, EBT_UNIT, .id = 9);
	PUSH(6, EBT_SPAN_END, .id = 2);
	PUSH(7, EBT_LIFECYCLE, .id = 0, .arg = {7});
	check("each kind of span has a track below its domain; what has no name gets one",
	      "track 7\ntrack 7/domain_0\ntrack 7/domain_0/a.span\n"
	      "1 begin 7/domain_0/a.span a.span\ntrack 7/domain_0/b.span\n"
	      "2 begin 7/domain_0/b.span b.span\n3 end 7/domain_0/a.span\n"
	      "4 instant 7/domain_0 an.int value=-5,\n5 instant 7/domain_0 user_9\n"
	      "6 end 7/domain_0/b.span\n7 instant 7/domain_0 ring_start value=7,\n");

	start();
	PUSH(1, EBT_SPAN_BEGIN, .id = 1);
	processes_set_user_name(&session->processes, 7, 1, "late.name");
	strcpy(processes_announce(&session->processes, 7)->producer, "ocaml 5.3");
	PUSH(2, EBT_SPAN_END, .id = 1);
	PUSH(3, EBT_SPAN_BEGIN, .id = 1);
	strcpy(processes_announce(&session->processes, 7)->comm, "prog");
	PUSH(4, EBT_SPAN_END, .id = 1);
	PUSH(5, EBT_UNIT, .id = 1);
	check("names that become known later are told again",
	      "track 7\ntrack 7/domain_0\ntrack 7/domain_0/user_1\n"
	      "1 begin 7/domain_0/user_1 user_1\n2 end 7/domain_0/user_1\ntrack 7 ocaml 5.3\n"
	      "track 7/domain_0/late.name\n3 begin 7/domain_0/late.name late.name\n"
	      "4 end 7/domain_0/late.name\ntrack 7 prog\n5 instant 7/domain_0 late.name\n");
}

static void test_counters(void)
{
	start();
	PUSH(1, EBT_COUNTER, .id = 4, .arg = {100});
	PUSH(2, EBT_COUNTER, .id = 4, .arg = {90});
	PUSH(3, EBT_COUNTER, .id = 17, .arg = {80});
	PUSH(4, EBT_COUNTER, .id = 4, .arg = {70}, .domain = 1);
	PUSH(5, EBT_COUNTER, .id = 0, .arg = {UINT64_MAX});
	PUSH(6, EBT_COUNTER, .id = EBT_UNKNOWN_ID | 77, .arg = {1});
	check("a counter has a track a domain, with its unit",
	      "track 7\ntrack 7/domain_0\n"
	      "track 7/domain_0/minor_promoted counter unit=3\n"
	      "1 count 7/domain_0/minor_promoted 100\n2 count 7/domain_0/minor_promoted 90\n"
	      "track 7/domain_0/major_heap_words counter words\n"
	      "3 count 7/domain_0/major_heap_words 80\n"
	      "track 7/domain_1\ntrack 7/domain_1/minor_promoted counter unit=3\n"
	      "4 count 7/domain_1/minor_promoted 70\n"
	      "track 7/domain_0/force_minor_alloc_small counter\n"
	      "5 count 7/domain_0/force_minor_alloc_small -1\n"
	      "track 7/domain_0/counter_77 counter\n6 count 7/domain_0/counter_77 1\n");
}

static void push_payload(uint16_t kind, const void *data, size_t len, uint16_t flags)
{
	struct ebt_event ev = {.ts = 1, .kind = kind, .pid = 7, .id = 1, .cpu = EBT_NO_CPU};
	if (session_put_blob(session, &ev, data, len))
		abort();
	ev.flags |= flags;
	if (sink_events(sink, &ev, 1))
		abort();
	session_drop_event(session, &ev);
}

static void test_payloads(void)
{
	uint64_t buckets[] = {3, 0, 500};
	start();
	processes_set_user_name(&session->processes, 7, 1, "c");
	push_payload(EBT_CUSTOM, "h\xc3\xa9", 3, 0);
	push_payload(EBT_CUSTOM, "\0\1\xff", 3, EBT_F_CUT);
	push_payload(EBT_CUSTOM, "", 0, 0);
	push_payload(EBT_ALLOC_SIZES, buckets, sizeof(buckets), 0);
	check("a payload is digits, and text where it is text; what was cut off is said",
	      "track 7\ntrack 7/domain_0\n1 instant 7/domain_0 c data='68c3a9' text='h\xc3\xa9'\n"
	      "1 instant 7/domain_0 c data='0001ff' truncated=true\n"
	      "1 instant 7/domain_0 c data=''\n"
	      "1 instant 7/domain_0 alloc_sizes values=3,0,500,\n");

	start();
	static char large[300000];
	memset(large, 'x', sizeof(large));
	push_payload(EBT_CUSTOM, large, sizeof(large), 0);
	is(sink_end(sink), 0, "a payload larger than all buffers is written");
	char *text = written();
	ok(strlen(text) > 3 * sizeof(large) && !strchr(text, '!'), "and read back whole");
	free(text);
	stop();
}

static void test_losses(void)
{
	start();
	PUSH(5, EBT_BEGIN, .id = 6);
	PUSH(6, EBT_SPAN_BEGIN, .id = 1);
	PUSH(20, EBT_LOST, .pos = 8, .arg = {3, 12});
	PUSH(20, EBT_END, .id = 6);
	PUSH(21, EBT_LOST, .pos = 9, .arg = {EBT_LOST_UNCOUNTED, 4});
	PUSH(30, EBT_LOST, .domain = 1, .arg = {0, 2}, .flags = EBT_F_HISTORY | EBT_F_NO_SINCE);
	check("a loss is a slice from the last moment before the hole, and cuts what is open",
	      "track 7\ntrack 7/domain_0\n5 begin 7/domain_0 major\ntrack 7/domain_0/user_1\n"
	      "6 begin 7/domain_0/user_1 user_1\n"
	      "8 end 7/domain_0/user_1 cut='lost'\n8 end 7/domain_0 cut='lost'\n"
	      "track 7/domain_0/lost_events\n"
	      "8 begin 7/domain_0/lost_events lost events=3, words=12,\n"
	      "20 end 7/domain_0/lost_events\n"
	      "20 begin 7/domain_0/lost_events lost words=4,\n"
	      "21 end 7/domain_0/lost_events\n"
	      "track 7/domain_1\ntrack 7/domain_1/lost_events\n"
	      "30 begin 7/domain_1/lost_events lost events=0, words=2, history=true\n"
	      "30 end 7/domain_1/lost_events\n");

	start();
	PUSH(5, EBT_LOST, .pos = 4, .domain = EBT_NO_DOMAIN, .arg = {9});
	PUSH_OF(0, 6, EBT_LOST, .pos = 4, .domain = EBT_NO_DOMAIN, .arg = {8});
	PUSH(7, EBT_DAMAGE, .arg = {4096, 2}, .domain = 1);
	check("a loss that no domain had is its process', or everybody's; damage, too",
	      "track 7\ntrack 7/lost_events\n4 begin 7/lost_events lost events=9,\n"
	      "5 end 7/lost_events\ntrack ebtrace\ntrack ebtrace/lost_events\n"
	      "4 begin ebtrace/lost_events lost events=8,\n6 end ebtrace/lost_events\n"
	      "7 instant 7 damage offset=4096, words=2, domain=1,\n");
}

static void test_cuts(void)
{
	start();
	PUSH(1, EBT_BEGIN, .id = 6);
	PUSH(2, EBT_BEGIN, .id = 7);
	PUSH(3, EBT_END, .id = 6);
	PUSH(4, EBT_END, .id = 7);
	PUSH(5, EBT_BEGIN, .id = 11);
	check("a slice whose end was not seen says why it ends",
	      "track 7\ntrack 7/domain_0\n1 begin 7/domain_0 major\n"
	      "2 begin 7/domain_0 major_sweep\n"
	      "3 end 7/domain_0 cut='ended with what is around it'\n3 end 7/domain_0\n"
	      "5 begin 7/domain_0 minor\n100 end 7/domain_0 cut='unfinished'\n");

	start();
	PUSH(5, EBT_BEGIN, .id = 6, .tid = 70, .flags = EBT_F_LATE);
	PUSH(6, EBT_END, .id = 6, .tid = 70, .cpu = 1, .flags = EBT_F_LATE);
	PUSH(7, EBT_UNIT, .tid = 71, .cpu = 2);
	PUSH(8, EBT_UNIT, .tid = 71, .cpu = 2);
	check("late events say so; thread and CPU are told when they change",
	      "track 7\ntrack 7/domain_0\n5 begin 7/domain_0 major tid=70, late=true\n"
	      "6 end 7/domain_0 late=true\n7 instant 7/domain_0 user_0 tid=71, cpu=2,\n"
	      "8 instant 7/domain_0 user_0\n");
}

static void test_processes(void)
{
	start();
	strcpy(processes_announce(&session->processes, 7)->comm, "sh");
	PUSH(1, EBT_BEGIN, .id = 6);
	PUSH(2, EBT_PROCESS, .id = EBT_PROCESS_FORK, .arg = {8});
	PUSH_OF(8, 3, EBT_BEGIN, .id = 11, .domain = EBT_NO_DOMAIN, .tid = 80);
	PUSH_OF(8, 4, EBT_BEGIN, .id = 11, .domain = EBT_NO_DOMAIN, .tid = 81);
	PUSH_OF(8, 5, EBT_PROCESS, .id = EBT_PROCESS_EXIT);
	PUSH(6, EBT_PROCESS, .id = EBT_PROCESS_EXEC);
	strcpy(processes_announce(&session->processes, 7)->comm, "ls");
	PUSH(7, EBT_BEGIN, .id = 6);
	PUSH(8, EBT_END, .id = 6);
	check("fork, exec and exit are on the track of the process, and end what is open in it",
	      "track 7 sh\ntrack 7/domain_0\n1 begin 7/domain_0 major\n2 instant 7 fork child=8,\n"
	      "track 8\ntrack 8/thread_80\n3 begin 8/thread_80 minor tid=80,\n"
	      "track 8/thread_81\n4 begin 8/thread_81 minor tid=81,\n"
	      "5 end 8/thread_81 cut='process ended'\n5 end 8/thread_80 cut='process ended'\n"
	      "5 instant 8 exit\n6 end 7/domain_0 cut='process ended'\n6 instant 7 exec\n"
	      "track 7 ls\ntrack 7/domain_0\n7 begin 7/domain_0 major\n8 end 7/domain_0\n");

	start();
	PUSH_OF(0, 1, EBT_UNIT);
	check("a file that does not tell its process has a track all the same",
	      "track process\ntrack process/domain_0\n1 instant process/domain_0 user_0\n");
}

static void test_many_names(void)
{
	unsigned wrong = 0, tracks = 0, seen = 0, phases = 0;
	start();
	for (uint32_t i = 0; i < 2 * PACKETS_NAMES + 10; i++) {
		char name[32];
		snprintf(name, sizeof(name), "name.%u", i);
		processes_set_user_name(&session->processes, 7, i % 5, name);
		PUSH(i + 1, EBT_UNIT, .id = i % 5);
		if (i % 1000 == 0)
			PUSH(i + 1, EBT_COUNTER, .id = 1);
		if (i % 1000)
			continue;
		PUSH(i + 1, EBT_BEGIN, .id = 6);
		PUSH(i + 1, EBT_END, .id = 6);
		phases++;
	}
	is(sink_end(sink), 0, "more names are written than are kept");
	char *text = written();
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned ts, id;
		char last;
		if (sscanf(line, "%u instant 7/domain_0 name.%u", &ts, &id) == 2) {
			wrong += ts != id + 1;
			seen++;
		}
		wrong += strchr(line, '!') != NULL;
		phases -= sscanf(line, "%u begin 7/domain_0 majo%c", &ts, &last) == 2;
		tracks += !strncmp(line, "track ", 6);
	}
	ok(!wrong && seen == 2 * PACKETS_NAMES + 10, "and every event has its own");
	is(phases, 0, "a name that comes again has its own, too");
	is(tracks, 3 + 2, "a counter's track is told anew when the names are");
	free(text);
	stop();
}

static uint64_t rng = 88172645463325252ull;
static uint32_t roll(uint32_t below)
{
	return (uint32_t)(random_next(&rng) >> 33) % below;
}

static void push_random(uint64_t ts)
{
	static const uint16_t kinds[] = {
		EBT_BEGIN,	EBT_BEGIN,    EBT_BEGIN,  EBT_END,	   EBT_END,
		EBT_END,	EBT_COUNTER,  EBT_UNIT,	  EBT_SPAN_BEGIN,  EBT_SPAN_BEGIN,
		EBT_SPAN_END,	EBT_SPAN_END, EBT_CUSTOM, EBT_ALLOC_SIZES, EBT_LIFECYCLE,
		EBT_PAGE_ALLOC, EBT_INT,
	};
	unsigned choice = roll(100);
	struct ebt_event ev = {
		.ts = ts,
		.pos = ts - ts / 10,
		.kind = choice < 2    ? EBT_LOST
			: choice == 2 ? EBT_PROCESS
				      : kinds[roll(sizeof(kinds) / sizeof(*kinds))],
		.pid = roll(3),
		.tid = roll(3),
		.domain = (uint16_t)(roll(4) - 1),
		.id = roll(3),
		.cpu = (uint16_t)(roll(3) - 1),
		.flags = roll(20) ? 0 : EBT_F_LATE,
	};
	push(ev);
}

/* Depth by track: what begins has an end, and never before its begin. */
static unsigned check_nesting(char *text, unsigned *ret_begun)
{
	static struct {
		char path[64];
		int depth;
		unsigned long long ts;
	} open[256];
	unsigned wrong = 0, used = 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long long ts;
		char type[8], path[64];
		wrong += strchr(line, '!') != NULL;
		int n = sscanf(line, "%llu %7s %63s", &ts, type, path);
		if (n != 3 || (strcmp(type, "begin") && strcmp(type, "end")))
			continue;
		unsigned i = 0;
		while (i < used && strcmp(open[i].path, path))
			i++;
		if (i == 256)
			abort();
		if (i == used)
			strcpy(open[used++].path, path);
		wrong += ts < open[i].ts;
		open[i].ts = ts;
		open[i].depth += *type == 'b' ? 1 : -1;
		wrong += open[i].depth < 0;
		*ret_begun += *type == 'b';
	}
	for (unsigned i = 0; i < used; i++)
		wrong += open[i].depth != 0;
	return wrong;
}

static void test_random(void)
{
	unsigned begun = 0;
	start();
	for (uint64_t i = 1; i < 30000; i++)
		push_random(i);
	session->totals.timed = 1;
	session->totals.last_ns = 30000;
	is(sink_end(sink), 0, "events of all kinds in any order are written");
	char *text = written();
	is(check_nesting(text, &begun), 0, "and on every track slices nest, in time");
	ok(begun > 5000, "and there are many");
	free(text);
	stop();
}

/* A run that is killed: what was flushed is there, and nothing else. */
static void test_interrupted(void)
{
	unsigned wrong = 0;
	for (unsigned events = 0; events < 40; events++) {
		start();
		for (unsigned i = 1; i <= events; i++)
			PUSH(i, i & 1 ? EBT_BEGIN : EBT_COUNTER, .id = i % 20,
			     .domain = (uint16_t)(i % 3));
		wrong += sink_flush(sink) != 0;
		sink_free(sink);
		char *text = written(), at[32];
		snprintf(at, sizeof(at), "%u %s", events, events & 1 ? "begin" : "count");
		wrong += strchr(text, '!') || (events && !strstr(text, at));
		free(text);
		session_free(session);
		close(fd);
	}
	is(wrong, 0, "wherever it is flushed, a trace ends behind a packet");

	if (session_new(&session) || enter_processes(session, 64) ||
	    (fd = open("/dev/full", O_WRONLY | O_CLOEXEC)) < 0 || perfetto_new(session, fd, &sink))
		abort();
	PUSH(1, EBT_BEGIN, .id = 6);
	is(sink_end(sink), -ENOSPC, "a full disk is told");
	stop();
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void test_uuids(void)
{
	static uint64_t uuids[500000];
	size_t n = 0, twice = 0, large = 0;
	uuids[n++] = perfetto_tracks_uuid(USE_SESSION, 0, EBT_NO_DOMAIN, 0, 0);
	for (uint32_t pid = 0; pid < 12; pid++) {
		uuids[n++] = perfetto_tracks_uuid(USE_PROCESS, pid, EBT_NO_DOMAIN, 0, 0);
		uuids[n++] = perfetto_tracks_uuid(USE_LOST, pid, EBT_NO_DOMAIN, 0, 0);
		for (uint16_t domain = 0; domain < 128; domain++) {
			uint16_t none = EBT_NO_DOMAIN;
			uuids[n++] = perfetto_tracks_uuid(USE_DOMAIN, pid, domain, 0, 0);
			uuids[n++] = perfetto_tracks_uuid(USE_LOST, pid, domain, 0, 0);
			uuids[n++] = perfetto_tracks_uuid(USE_DOMAIN, pid, none, domain + 1u, 0);
			for (uint32_t id = 0; id < 100; id++) {
				uuids[n++] = perfetto_tracks_uuid(USE_SPANS, pid, domain, 0, id);
				uuids[n++] = perfetto_tracks_uuid(USE_COUNTER, pid, domain, 0, id);
				uuids[n++] =
					perfetto_tracks_uuid(USE_SPANS, pid, none, domain + 1u, id);
			}
		}
	}
	qsort(uuids, n, sizeof(*uuids), by_value);
	for (size_t i = 1; i < n; i++) {
		twice += uuids[i] == uuids[i - 1];
		large += uuids[i] >> 56 != 0;
	}
	is(twice, 0, "no two tracks have one uuid");
	is(large, 0, "a uuid takes at most 8 bytes");
	is(perfetto_tracks_uuid(USE_DOMAIN, 7, 3, 70, 0),
	   perfetto_tracks_uuid(USE_DOMAIN, 7, 3, 71, 0),
	   "a domain is one track, whatever thread runs it");
}

int main(void)
{
	test_basics();
	test_user();
	test_counters();
	test_payloads();
	test_losses();
	test_cuts();
	test_processes();
	test_many_names();
	test_random();
	test_interrupted();
	test_uuids();
	return tap_done();
}
