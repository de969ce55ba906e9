/* SPDX-License-Identifier: BSD-2-Clause */
/* What the text sink says of events that no domain is known of. */
#include "format/text/text.h"
#include "session/offcpu.h"
#include "session/pause_counts.h"
#include "session/session.h"
#include "stream/sink.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_LINE 20480

static struct sink *sink;
static struct session *session;

static void put(uint64_t ts, uint16_t kind, uint16_t id, uint16_t domain)
{
	struct ebt_event ev = {.ts = ts,
			       .pos = ts,
			       .pid = 1,
			       .kind = kind,
			       .domain = domain,
			       .cpu = EBT_NO_CPU,
			       .id = id};
	sink_events(sink, &ev, 1);
}

static void push(uint64_t ts, uint32_t pid, uint32_t tid, uint16_t kind, uint16_t id)
{
	struct ebt_event ev = {
		.ts = ts,
		.pos = kind == EBT_LOST ? ts : EBT_NO_POS,
		.pid = pid,
		.tid = tid,
		.kind = kind,
		.domain = EBT_NO_DOMAIN,
		.cpu = EBT_NO_CPU,
		.flags = EBT_F_BPF,
		.id = id,
		.arg = {1},
	};
	sink_events(sink, &ev, 1);
}

/* The durations that the lines tell, each with a blank behind it. */
static const char *durations(FILE *f)
{
	static char got[256];
	char line[256];
	got[0] = 0;
	rewind(f);
	while (fgets(line, sizeof(line), f)) {
		char *unit = strstr(line, " us");
		if (!unit)
			continue;
		*unit = 0;
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s ",
			 strrchr(line, ' ') + 1);
	}
	return got;
}

/* User spans overlap with phases and with each other; phases nest. */
static void test_overlap(void)
{
	FILE *f = tmpfile();
	if (!f || session_new(&session) || enter_processes(session, 4096) ||
	    text_new(session, fileno(f), &sink))
		abort();
	put(1000, EBT_SPAN_BEGIN, 1, 0);
	put(2000, EBT_BEGIN, 1, 0);
	put(3000, EBT_SPAN_BEGIN, 2, 0);
	put(5000, EBT_SPAN_END, 1, 0);	/* 4 */
	put(8000, EBT_END, 1, 0);	/* 6 */
	put(10000, EBT_SPAN_END, 2, 0); /* 7 */
	put(20000, EBT_BEGIN, 1, 0);
	put(21000, EBT_BEGIN, 2, 0);
	put(22000, EBT_SPAN_BEGIN, 1, 0);
	put(23000, EBT_END, 1, 0); /* 3 */
	put(24000, EBT_END, 2, 0);
	put(30000, EBT_SPAN_END, 1, 0); /* 8 */
	sink_end(sink);
	is_str(durations(f), "4.000 6.000 7.000 3.000 8.000 ",
	       "each end of a user span or a phase tells the duration of its own");
	sink_free(sink);
	session_free(session);
	fclose(f);
}

static void test_times(void)
{
	char line[512] = "";
	FILE *f = tmpfile();
	struct offcpu o = {.begin_ns = 1000,
			   .end_ns = 1001000,
			   .reason = EBT_OFFCPU_PREEMPTED,
			   .syscall = -1,
			   .wait_ns = 900,
			   .run_delay_ns = 77600000,
			   .runner_cpu = EBT_NO_CPU};
	struct ebt_event ev = {.ts = o.end_ns, .kind = EBT_OFFCPU, .domain = EBT_NO_DOMAIN};
	struct pause_counts u = {.count = {[PAUSE_RUN_DELAY] = 2500}};
	struct ebt_event pause = {.ts = 2000000, .kind = EBT_END, .pos = EBT_NO_POS};
	if (!f || session_new(&session) || enter_processes(session, 1) ||
	    text_new(session, fileno(f), &sink) || offcpu_put(session, &ev, &o) ||
	    pause_counts_put(session, &pause, &u))
		abort();
	sink_events(sink, &ev, 1);
	sink_events(sink, &pause, 1);
	sink_end(sink);
	rewind(f);
	ok(fgets(line, sizeof(line), f) &&
		   strstr(line,
			  " duration=1.000 ms reason=preempted wait=900 ns run_delay=77.600 ms"),
	   "times have a unit, and no name that says so") ||
		(diag("%s", line), 1);
	ok(fgets(line, sizeof(line), f) && strstr(line, " run_delay=2.500 us\n"),
	   "also those of a pause, of which what is 0 is left out") ||
		(diag("%s", line), 1);
	sink_free(sink);
	session_free(session);
	fclose(f);
}

/* Each argument that may be missing. */
static void test_offcpu(void)
{
	char line[512] = "", second[512] = "";
	FILE *f = tmpfile();
	struct offcpu o = {.begin_ns = 1000,
			   .end_ns = 2000,
			   .reason = EBT_OFFCPU_PREEMPTED,
			   .syscall = -1,
			   .wait_ns = 900,
			   .run_delay_ns = 100,
			   .waker = 71,
			   .waker_comm = "wakes",
			   .interrupt = true,
			   .runner = 72,
			   .runner_comm = "runs",
			   .runner_cpu = 3,
			   .open = true,
			   .ends = EBT_SAMPLE_CUT};
	struct ebt_event ev = {.ts = o.end_ns, .kind = EBT_OFFCPU, .domain = EBT_NO_DOMAIN};
	struct ebt_event sample = {.ts = 3000, .pos = 1000, .kind = EBT_SAMPLE, .arg = {1}};
	if (!f || session_new(&session) || enter_processes(session, 1) ||
	    text_new(session, fileno(f), &sink) || offcpu_put(session, &ev, &o))
		abort();
	sink_events(sink, &ev, 1);
	sink_events(sink, &sample, 1);
	sink_end(sink);
	rewind(f);
	if (!fgets(line, sizeof(line), f) || !fgets(second, sizeof(second), f))
		abort();
	ok(strstr(line, " waker=71 waker_comm=wakes interrupt runner=72 runner_comm=runs "
			"runner_cpu=3 open ends=cut\n"),
	   "who woke a thread and who ran instead, and flags by their name alone") ||
		(diag("%s", line), 1);
	ok(strstr(second, " kernel\n"), "a sample that interrupted the kernel") ||
		(diag("%s", second), 1);
	sink_free(sink);
	session_free(session);
	fclose(f);
}

/* What is not whole. */
static void test_incomplete(void)
{
	static const char *const want[] = {
		" damaged at byte 4096, 1 word skipped ***\n",
		" damaged at byte 4096, 2 words skipped, 1 allocation lost ***\n",
		" damaged at byte 4096, 0 words skipped, 2 allocations lost ***\n",
		" (cut)\n",
	};
	char line[512];
	FILE *f = tmpfile();
	if (!f || session_new(&session) || enter_processes(session, 1) ||
	    text_new(session, fileno(f), &sink))
		abort();
	struct ebt_event ev[] = {
		{.ts = 1, .kind = EBT_DAMAGE, .arg = {4096, 1}},
		{.ts = 2, .kind = EBT_DAMAGE, .arg = {4096, 2}, .seq = 1},
		{.ts = 3, .kind = EBT_DAMAGE, .arg = {4096, 0}, .seq = 2},
		{.ts = 4, .kind = EBT_MARKER_HIT, .flags = EBT_F_CUT, .domain = EBT_NO_DOMAIN},
	};
	sink_events(sink, ev, sizeof(ev) / sizeof(*ev));
	sink_end(sink);
	rewind(f);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		ok(fgets(line, sizeof(line), f) && strstr(line, want[i]), "a line ends with:%.*s",
		   (int)strlen(want[i]) - 1, want[i]) ||
			(diag("%s", line), 1);
	sink_free(sink);
	session_free(session);
	fclose(f);
}

/* Words are formatted with the line if they are few, and by pieces if it came late. */
static void test_words(void)
{
	static uint64_t words[700];
	static const size_t counts[] = {0, 1, 20, 48, 49, 200, 486, 487, 488, 700};
	static char line[2][TEXT_LINE];
	FILE *f = tmpfile();
	bool same = true;
	if (!f || session_new(&session) || enter_processes(session, 4096) ||
	    text_new(session, fileno(f), &sink))
		abort();
	for (unsigned i = 0; i < 700; i++)
		words[i] = i % 2 ? UINT64_MAX - i : i;
	for (unsigned i = 0; i < 2 * sizeof(counts) / sizeof(*counts); i++) {
		struct ebt_event ev = {.pos = 1,
				       .pid = 1,
				       .kind = EBT_ALLOC_SIZES,
				       .cpu = EBT_NO_CPU,
				       .flags = i % 2 ? EBT_F_LATE : 0};
		if (session_put_blob(session, &ev, words, 8 * counts[i / 2]))
			abort();
		sink_events(sink, &ev, 1);
	}
	sink_end(sink);
	rewind(f);
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts) && same; i++) {
		same = fgets(line[0], TEXT_LINE, f) && fgets(line[1], TEXT_LINE, f);
		char *late = same ? strstr(line[1], " (late)") : NULL;
		if (late)
			strcpy(late, "\n");
		same = late && !strcmp(line[0], line[1]);
	}
	ok(same, "arrays of words of every length");
	sink_free(sink);
	session_free(session);
	fclose(f);
}

int main(void)
{
	FILE *f = tmpfile();
	if (!f || session_new(&session) || enter_processes(session, 4096) ||
	    text_new(session, fileno(f), &sink))
		return 1;
	push(10000, 1, 11, EBT_BEGIN, 1);
	push(11000, 1, 12, EBT_BEGIN, 1);
	push(12000, 2, 11, EBT_BEGIN, 1);
	push(15000, 1, 11, EBT_END, 1);
	push(18000, 2, 11, EBT_END, 1);
	push(18000, 1, 12, EBT_END, 1);
	sink_flush(sink);
	push(20000, 1, 11, EBT_BEGIN, 1);
	push(20000, 1, 12, EBT_BEGIN, 1);
	push(20000, 2, 11, EBT_BEGIN, 1);
	push(21000, 1, 0, EBT_LOST, 0);
	push(22000, 1, 11, EBT_END, 1);
	push(23000, 1, 12, EBT_END, 1);
	push(29000, 2, 11, EBT_END, 1);
	push(30000, 1, 11, EBT_BEGIN, 1);
	push(31000, 1, 11, EBT_PROCESS, EBT_PROCESS_EXIT);
	push(32000, 1, 11, EBT_END, 1);
	push(33000, 1, 11, EBT_BEGIN, 1);
	push(44000, 1, 11, EBT_END, 1);
	sink_end(sink);
	is_str(durations(f), "5.000 6.000 7.000 9.000 11.000 ",
	       "phases end those of their own thread, and none that a loss or an end lies between");
	sink_free(sink);
	session_free(session);
	fclose(f);
	test_overlap();
	test_words();
	test_times();
	test_offcpu();
	test_incomplete();
	return tap_done();
}
