/* SPDX-License-Identifier: BSD-2-Clause */
/* totals: sums over outputs, what a capture keeps of them, and one summary in every format. */
#include "session/totals.h"

#include "format/chrome/chrome.h"
#include "format/fxt/fxt.h"
#include "format/ndjson/ndjson.h"
#include "format/perfetto/perfetto.h"
#include "session/offcpu.h"
#include "session/pause_counts.h"
#include "session/session.h"
#include "tests/tap.h"

#include <sys/mman.h>
#include <unistd.h>

static const struct totals full = {
#define X(name, sum, shown, kept) .name = __COUNTER__ + 1001,
	TOTALS(X)
#undef X
};

static void test_sum(void)
{
	struct totals sum = {0}, zero = {0};
	totals_add(&sum, &full);
	ok(!memcmp(&sum, &full, sizeof(sum)), "the sum of nothing and one output is that output's");
	totals_add(&sum, &zero);
	ok(!memcmp(&sum, &full, sizeof(sum)), "an output without events changes nothing");
	struct totals next = {
		.events = 5, .timed = 5, .first_ns = 7000, .last_ns = 8000, .unwatched_ns = 1};
	totals_add(&sum, &next);
	ok(sum.events == full.events + 5 && sum.unwatched_ns == full.unwatched_ns + 1 &&
		   sum.late == full.late,
	   "counts and lengths of time are added");
	ok(sum.first_ns == full.first_ns && sum.last_ns == 8000,
	   "the first time is that of the first output, the last that of the last");
}

static void test_pack(void)
{
	uint64_t kept[TOTALS_KEPT] = {0};
	struct totals back;
	totals_pack(&full, kept);
	const uint64_t want[TOTALS_KEPT] = {full.events,
					    full.lost_events + full.history_events,
					    full.lost_words + full.history_words,
					    full.history_events,
					    full.history_words,
					    full.late,
					    full.damaged,
					    full.first_ns,
					    full.last_ns,
					    full.timed};
	ok(!memcmp(kept, want, sizeof(want)),
	   "a capture keeps them in the order of its format, what is lost with the history");
	memset(&back, 0xff, sizeof(back));
	totals_unpack(kept, &back);
	struct totals without = full;
	without.lost_uncounted = without.history_uncounted = 0;
	without.unwatched = without.unwatched_ns = without.lost_allocs = 0;
	ok(!memcmp(&back, &without, sizeof(back)), "and gives them back, with 0 for the others");

	/* Of a file that says more was lost before than was lost at all. */
	const uint64_t foreign[TOTALS_KEPT] = {[1] = 5, [2] = 50, [3] = 6, [4] = 60};
	totals_unpack(foreign, &back);
	ok(!back.lost_events && back.history_events == 6, "no fewer events are lost than none");
	ok(!back.lost_words && back.history_words == 60, "nor words");
}

static void check_json(const struct totals *t, bool whole, const char *want, const char *name)
{
	struct buf b;
	struct json j = {.out = &b};
	if (buf_init(&b, -1, 64))
		abort();
	json_open(&j, '{');
	totals_put_json(&j, t, whole);
	json_close(&j, '}');
	is_str(buf_str(&b), want, name);
	buf_done(&b);
}

static void test_json(void)
{
	struct totals t = {.events = 9,
			   .lost_events = 8,
			   .lost_words = 7,
			   .history_events = 6,
			   .history_words = 5,
			   .late = 4,
			   .damaged = 3,
			   .first_ns = 2,
			   .last_ns = 1,
			   .timed = 9};
	check_json(&t, false,
		   "{\"events\":9,\"lost_events\":8,\"lost_words\":7,\"history_events\":6,"
		   "\"history_words\":5,\"late\":4,\"damaged\":3}",
		   "a summary has neither times nor a time without probes that was not");
	check_json(&t, true,
		   "{\"events\":9,\"first_ns\":2,\"last_ns\":1,\"lost_events\":8,\"lost_words\":7,"
		   "\"history_events\":6,\"history_words\":5,\"unwatched_ns\":0,\"late\":4,"
		   "\"damaged\":3}",
		   "the whole has both");
	t.timed = 0;
	check_json(&t, true,
		   "{\"events\":9,\"first_ns\":null,\"last_ns\":null,\"lost_events\":8,"
		   "\"lost_words\":7,\"history_events\":6,\"history_words\":5,"
		   "\"unwatched_ns\":0,\"late\":4,\"damaged\":3}",
		   "times are null where no event has one");
	t.lost_uncounted = t.history_uncounted = t.unwatched = 1;
	check_json(&t, false,
		   "{\"events\":9,\"lost_events\":null,\"lost_words\":7,\"history_events\":null,"
		   "\"history_words\":5,\"unwatched_ns\":0,\"late\":4,\"damaged\":3}",
		   "what nobody counted is null, and a time without probes is there");
	t.history_uncounted = t.unwatched = 0;
	check_json(&t, false,
		   "{\"events\":9,\"lost_events\":null,\"lost_words\":7,\"history_events\":6,"
		   "\"history_words\":5,\"late\":4,\"damaged\":3}",
		   "what was overwritten before is known where another loss is not");
}

/* Whether what a sink writes for a session without events holds these bytes. */
static bool writes(int (*make)(const struct session *, int, struct sink **), const struct totals *t,
		   const char *what)
{
	char text[8192];
	struct session *s;
	struct sink *k;
	int fd = memfd_create("output", MFD_CLOEXEC);
	if (fd < 0 || session_new(&s))
		abort();
	s->totals = *t;
	if (make(s, fd, &k) || sink_end(k))
		abort();
	sink_free(k);
	session_free(s);
	ssize_t n = pread(fd, text, sizeof(text), 0);
	close(fd);
	return n > 0 && memmem(text, (size_t)n, what, strlen(what));
}

static void test_summaries(void)
{
	const char *json = "\"lost_words\":1,\"history_events\":0,\"history_words\":0,"
			   "\"unwatched_ns\":1250,\"late\":0,\"damaged\":0}";
	const struct totals t = {
		.events = 9, .lost_words = 1, .unwatched = 1, .unwatched_ns = 1250};
	ok(writes(ndjson_new, &t, json), "NDJSON's summary has the time unwatched");
	ok(writes(chrome_new, &t, json), "Chrome's has it, too, and the same");
	ok(writes(fxt_new, &t, "unwatched_ns"), "so has FXT's");
	ok(writes(perfetto_new, &t, "unwatched_ns"), "so has Perfetto's");
}

/* Counts of pauses: what one does not know the sum does not know, in whatever order. */
static void test_pause_counts(void)
{
	for (unsigned order = 0; order < 2; order++) {
		struct pause_counts known, lacks, *a = order ? &lacks : &known,
						  *b = order ? &known : &lacks;
		for (unsigned i = 0; i < PAUSE_COUNTS; i++) {
			known.count[i] = 10 + i;
			lacks.count[i] = i % 2 ? PAUSE_UNKNOWN : 20;
		}
		pause_counts_add(a, b);
		unsigned wrong = 0;
		for (unsigned i = 0; i < PAUSE_COUNTS; i++)
			wrong += a->count[i] != (i % 2 ? PAUSE_UNKNOWN : 30ull + i);
		is(wrong, 0, "a sum with what is not known is not known");
	}
}

/* The thread that ran instead may have no known number, or no known name. */
static void test_runner(void)
{
	static const struct {
		uint32_t runner;
		const char *comm;
		uint16_t cpu, want;
	} rows[] = {{7, "run", 3, 3},
		    {0, "run", 3, 3},
		    {7, "", 3, 3},
		    {0, "", 3, EBT_NO_CPU},
		    {7, "run", EBT_NO_CPU, EBT_NO_CPU}};
	struct session *s;
	if (session_new(&s))
		abort();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct offcpu o = {
			.end_ns = 9, .runner = rows[i].runner, .runner_cpu = rows[i].cpu};
		struct ebt_event ev = {.ts = 9, .kind = EBT_OFFCPU};
		struct offcpu back;
		snprintf(o.runner_comm, sizeof(o.runner_comm), "%s", rows[i].comm);
		if (offcpu_put(s, &ev, &o))
			abort();
		offcpu_get(s, &ev, &back);
		ok(back.runner == o.runner && !strcmp(back.runner_comm, rows[i].comm) &&
			   back.runner_cpu == rows[i].want,
		   "thread %u '%s' ran on CPU %u", rows[i].runner, rows[i].comm, rows[i].cpu);
		session_drop_event(s, &ev);
	}
	session_free(s);
}

int main(void)
{
	test_pause_counts();
	test_runner();
	test_sum();
	test_pack();
	test_json();
	test_summaries();
	return tap_done();
}
