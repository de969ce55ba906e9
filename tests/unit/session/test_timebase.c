// SPDX-License-Identifier: BSD-2-Clause
/* Clocks of sources and of the output, and the words for what a run is read from. */
#include "session/origin.h"
#include "stream/pump.h"
#include "tests/tap.h"

static void test_origins(void)
{
	char text[ORIGIN_TEXT_BYTES];
	is_str(origin_text(ORIGIN_RING, text), "ring", "a run of one source has its name");
	is_str(origin_text(ORIGIN_BPF | ORIGIN_RING, text), "ring+bpf", "one of two has both");
	unsigned wrong = 0;
	for (unsigned set = 1; set < 32; set++)
		wrong += origin_parse(origin_text(set, text)) != set;
	is(wrong, 0, "every set is read back from its text");
	ok(!origin_parse("") && !origin_parse("rings") && !origin_parse("ring+") &&
		   !origin_parse("ring+tape"),
	   "what names anything else is no set");
}

static struct timebase base(enum timebase_clock clock)
{
	return (struct timebase){.clock = clock};
}

static void test_shift(void)
{
	struct timebase ring = base(TIMEBASE_MONOTONIC), output = ring;
	uint64_t shift = 99;
	ok(timebase_shift(&ring, &output, &shift) && !shift,
	   "two of one clock of the kernel's agree, whatever is known of it");
	struct timebase trace = base(TIMEBASE_REALTIME);
	ok(!timebase_shift(&trace, &output, &shift) && !shift,
	   "clocks of which no moment is known on both cannot be compared");
	output.at[TIMEBASE_MONOTONIC] = moment_at(0);
	output.at[TIMEBASE_REALTIME] = moment_at(1000);
	ok(timebase_shift(&trace, &output, &shift) && shift == -1000ull,
	   "a moment of the output on both clocks is enough, also at 0");
	ok(timebase_shift(&output, &trace, &shift) && shift == 1000, "either way");
	struct timebase pages = base(TIMEBASE_RELATIVE);
	ok(!timebase_shift(&pages, &pages, &shift),
	   "two clocks that count from moments of their own are not the same");
	pages.at[TIMEBASE_RELATIVE] = moment_at(5);
	pages.at[TIMEBASE_REALTIME] = moment_at(1205);
	ok(timebase_shift(&pages, &output, &shift) && shift == 200,
	   "by a third clock that both know they are compared, too");
	struct timebase boot = base(TIMEBASE_RELATIVE), host = base(TIMEBASE_MONOTONIC);
	boot.at[TIMEBASE_RELATIVE] = moment_at(5);
	boot.at[TIMEBASE_BOOTTIME] = moment_at(105);
	host.at[TIMEBASE_MONOTONIC] = moment_at(1000);
	host.at[TIMEBASE_BOOTTIME] = moment_at(1100);
	ok(timebase_shift(&boot, &host, &shift) && shift == 0,
	   "the time since boot is such a clock");
	host.at[TIMEBASE_MONOTONIC] = moment_at(990);
	ok(timebase_shift(&boot, &host, &shift) && shift == -10ull, "with its own difference");
	ok(timebase_parse("realtime") == TIMEBASE_REALTIME &&
		   timebase_parse("sundial") == TIMEBASE_UNKNOWN,
	   "a clock is known by its name");
	struct timebase now = timebase_now();
	ok(now.at[TIMEBASE_MONOTONIC].known && now.at[TIMEBASE_REALTIME].known &&
		   now.at[TIMEBASE_BOOTTIME].known,
	   "the present moment is known on the kernel's clocks");
}

/* A source of two events, and what the sink behind the pump saw. */
struct two {
	struct source base;
	unsigned given;
	uint64_t ts[2];
};

static int two_poll(struct source *s)
{
	(void)s;
	return 0;
}

static int two_read(struct source *s, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct two *t = (struct two *)s;
	(void)lane;
	if (t->given == 2 || !cap)
		return 0;
	*ev = (struct ebt_event){.ts = t->ts[t->given], .kind = EBT_UNIT, .pos = EBT_NO_POS};
	if (t->given++) {
		ev->kind = EBT_LOST;
		EBT_LOST_SINCE(ev) = t->ts[0];
	}
	return 1;
}

static uint64_t two_horizon(struct source *s, uint32_t lane)
{
	(void)lane;
	return ((struct two *)s)->given == 2 ? UINT64_MAX : 0;
}

static void two_free(struct source *s)
{
	(void)s;
}

static const struct source_ops two_ops = {.poll = two_poll,
					  .read = two_read,
					  .horizon = two_horizon,
					  .stop = two_poll,
					  .free = two_free};

static uint64_t seen[8];
static unsigned seen_count;

static int see(struct sink *k, const struct ebt_event *ev, size_t n)
{
	(void)k;
	for (size_t i = 0; i < n && seen_count < 7; i++) {
		seen[seen_count++] = ev[i].ts;
		if (ev[i].kind == EBT_LOST)
			seen[seen_count++] = EBT_LOST_SINCE(&ev[i]);
	}
	return 0;
}

static const struct sink_ops see_ops = {.events = see};

static void test_loss(void)
{
	struct source s = {.shift_ns = 1000};
	struct ebt_event ev[] = {
		{.kind = EBT_LOST, .ts = 20, .pos = 10},
		{.kind = EBT_LOST, .ts = 20, .pos = 0, .flags = EBT_F_NO_SINCE},
	};
	source_shift(&s, ev, 2);
	ok(ev[0].ts == 1020 && EBT_LOST_SINCE(&ev[0]) == 1010, "both ends of a loss are shifted");
	ok(ev[1].ts == 1020 && !EBT_LOST_SINCE(&ev[1]), "but not one that is not known");
}

static void test_sources(void)
{
	struct two ring = {.base = {.ops = &two_ops, .lanes = 1}, .ts = {100, 300}};
	struct two trace = {.base = {.ops = &two_ops, .lanes = 1}, .ts = {1200, 1400}};
	struct two pages = {.base = {.ops = &two_ops, .lanes = 1}};
	struct sink sink = {.ops = &see_ops};
	struct session *session;
	struct pump *pump;
	if (session_new(&session) || pump_new(session, &pump))
		exit(1);
	session->timebase.at[TIMEBASE_MONOTONIC] = moment_at(50);
	session->timebase.at[TIMEBASE_REALTIME] = moment_at(1050);
	trace.base.timebase.clock = TIMEBASE_REALTIME;
	pages.base.timebase.clock = TIMEBASE_RELATIVE;
	ok(!pump_add_source(pump, &ring.base) && !pump_add_source(pump, &trace.base) &&
		   !pump_add_sink(pump, &sink),
	   "a run takes sources of different clocks");
	ok(pump_add_source(pump, &pages.base) < 0,
	   "but none whose clock does not say how it stands to the output's");
	int moved;
	while ((moved = pump_step(pump)) > 0)
		;
	static const uint64_t want[] = {100, 200, 300, 100, 400, 200};
	ok(!moved && seen_count == 6 && !memcmp(seen, want, sizeof(want)),
	   "their events come in order of the output's time, losses with the time since when");
	ok(session->totals.timed == 4 && session->totals.first_ns == 100 &&
		   session->totals.last_ns == 400,
	   "and so do the totals");
	pump_free(pump);
	session_free(session);
}

static void test_zero(void)
{
	struct two ring = {.base = {.ops = &two_ops, .lanes = 1}, .ts = {0, 0}};
	struct sink sink = {.ops = &see_ops};
	struct session *session;
	struct pump *pump;
	seen_count = 0;
	if (session_new(&session) || pump_new(session, &pump) ||
	    pump_add_source(pump, &ring.base) || pump_add_sink(pump, &sink))
		exit(1);
	while (pump_step(pump) > 0)
		;
	ok(session->totals.timed == 2 && !session->totals.first_ns,
	   "an event at moment 0 has a time, and that is the first");
	pump_free(pump);
	session_free(session);
}

int main(void)
{
	test_origins();
	test_shift();
	test_loss();
	test_sources();
	test_zero();
	return tap_done();
}
