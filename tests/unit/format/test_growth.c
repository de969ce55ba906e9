/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 100,000 short processes go through merge, join, filter and every sink: memory follows the number
 * of those that live, not of those that ever have.
 */
#include "base/clock.h"
#include "format/chrome/chrome.h"
#include "format/ebt/ebt.h"
#include "format/fxt/fxt.h"
#include "format/ndjson/ndjson.h"
#include "format/perfetto/perfetto.h"
#include "format/text/text.h"
#include "report/stat/stat.h"
#include "stream/pump.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

/* ASan's allocator keeps what is freed: with it faults are what is searched for, not growth. */
#define PROCESSES   TAP_ROUNDS(100000)
#define AT_ONCE	    50
#define EVENTS	    8 /* of a process: begins and ends of a phase, a span, a counter, its end */
#define SPAN_EVENTS 6 /* of those, begins and ends */
#define STORY_NS    10000ull /* more than a process lives */

/* A source of which each lane is one process after the other, AT_ONCE at the same time. Its times
 * are those of the clock, as in a live run: what it has handed out lies in the past. */
struct brood {
	struct source base;
	struct session *session;
	uint64_t ts;	    /* of the generation under way */
	uint64_t polled_ns; /* at the last poll */
	uint32_t process[AT_ONCE];
	uint32_t processes, made, read[AT_ONCE];
	bool stopped;
};

static int brood_poll(struct source *base)
{
	struct brood *b = (struct brood *)base;
	struct processes *ps = &b->session->processes;
	b->polled_ns = now_ns();
	for (unsigned i = 0; i < AT_ONCE; i++)
		if (b->process[i] && b->read[i] < EVENTS)
			return 0;
	if (b->polled_ns < b->ts + 2 * STORY_NS)
		return 0;
	for (unsigned i = 0; i < AT_ONCE; i++) {
		if (b->process[i]) {
			processes_end(ps, b->process[i]);
			processes_unref(ps, b->process[i]);
			b->process[i] = PROCESS_UNKNOWN;
		}
		if (b->made == b->processes)
			continue;
		uint32_t pid = 100 + b->made++ % 30000;
		if (processes_begin(ps, pid, NULL, &b->process[i]))
			return -ENOMEM;
		processes_ref(ps, b->process[i]);
		struct process *p = processes_announce(ps, b->process[i]);
		snprintf(p->comm, sizeof(p->comm), "program %u", b->made % 3);
		if (processes_set_user_name(ps, b->process[i], 1, "a span"))
			return -ENOMEM;
		b->read[i] = 0;
	}
	b->ts = b->polled_ns - STORY_NS;
	b->stopped = !b->process[0];
	return 0;
}

static int brood_read(struct source *base, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	static const struct {
		uint16_t kind;
		uint32_t id;
	} story[EVENTS] = {{EBT_BEGIN, 1},    {EBT_COUNTER, 2}, {EBT_SPAN_BEGIN, 1}, {EBT_BEGIN, 3},
			   {EBT_SPAN_END, 1}, {EBT_END, 3},	{EBT_UNIT, 1},	     {EBT_END, 1}};
	struct brood *b = (struct brood *)base;
	size_t n = 0;
	for (; b->process[lane] && n < cap && b->read[lane] < EVENTS; n++) {
		uint32_t i = b->read[lane]++;
		ev[n] = (struct ebt_event){.ts = b->ts + 1000 * i + lane,
					   .pos = 4 * i,
					   .process = b->process[lane],
					   .kind = story[i].kind,
					   .id = story[i].id,
					   .domain = (uint16_t)(lane % 3),
					   .cpu = EBT_NO_CPU,
					   .seq = i,
					   .size = 4,
					   .flags = EBT_F_RING | EBT_F_SEQ};
	}
	return n ? (int)n : b->stopped ? 0 : -EAGAIN;
}

static uint64_t brood_horizon(struct source *base, uint32_t lane)
{
	struct brood *b = (struct brood *)base;
	if (b->stopped)
		return UINT64_MAX;
	return b->read[lane] < EVENTS ? b->ts : b->polled_ns - STORY_NS;
}

static int brood_stop(struct source *base)
{
	((struct brood *)base)->stopped = true;
	return 0;
}

static const struct source_ops brood_ops = {
	.poll = brood_poll, .read = brood_read, .horizon = brood_horizon, .stop = brood_stop};

static int stat_text_new(const struct session *s, int fd, struct sink **ret)
{
	return stat_new(s, fd, &(struct stat_options){.interval_ns = 10000000}, ret);
}

static int stat_json_new(const struct session *s, int fd, struct sink **ret)
{
	return stat_new(s, fd, &(struct stat_options){.json = true}, ret);
}

static int (*const formats[])(const struct session *s, int fd, struct sink **ret) = {
	text_new,     ndjson_new, chrome_new,	 fxt_new,
	perfetto_new, ebt_new,	  stat_text_new, stat_json_new};
#define FORMATS (sizeof(formats) / sizeof(*formats))

struct most {
	uint32_t entries, lanes;
	size_t bytes;
};

static void note_most(struct most *m, const struct processes *ps, size_t bytes)
{
	m->entries = ps->count > m->entries ? ps->count : m->entries;
	m->lanes = ps->lanes->count > m->lanes ? ps->lanes->count : m->lanes;
	m->bytes = bytes > m->bytes ? bytes : m->bytes;
}

/* So many processes, with a limit of the duration of spans or none; `passing` events of each
 * pass. */
static void run(const char *name, uint32_t processes, uint64_t min_ns, unsigned passing)
{
	struct session *s;
	struct pump *pump;
	struct sink *k[FORMATS];
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC), moved;
	if (session_new(&s) || pump_new(s, &pump) ||
	    filter_set_min_duration(pump_filter(pump), min_ns))
		abort();
	for (unsigned i = 0; i < FORMATS; i++)
		if (formats[i](s, fd, &k[i]) || pump_add_sink(pump, k[i]))
			abort();
	struct brood b = {.base = {.ops = &brood_ops, .lanes = AT_ONCE},
			  .session = s,
			  .processes = processes};
	if (pump_add_source(pump, &b.base))
		abort();
	struct most early = {0}, late = {0};
	for (unsigned n = 0; (moved = pump_step(pump)) > 0 || moved == -EAGAIN; n++)
		note_most(b.made < processes / 10 ? &early : &late, &s->processes,
			  n % 64 ? 0 : mallinfo2().uordblks);
	ok(!moved && b.made == processes && s->totals.events == (uint64_t)passing * processes &&
		   !s->totals.lost_events,
	   "%s: %u processes come and go, and each of their events is delivered", name, processes);
	ok(late.entries < 8 * AT_ONCE && late.lanes < 8 * AT_ONCE,
	   "%s: the registry has entries and lanes for those that live (%u, %u)", name,
	   late.entries, late.lanes);
	/* Output on its way to a thread that has no CPU comes and goes: 250 bytes of each would be
	 * more. */
	ok(late.bytes < early.bytes + 240ull * processes,
	   "%s: and no stage or sink keeps anything of one that is gone (%zu bytes, then %zu)",
	   name, early.bytes, late.bytes);
	for (unsigned i = 0; i < FORMATS; i++) {
		sink_end(k[i]);
		sink_free(k[i]);
	}
	pump_free(pump);
	session_free(s);
	close(fd);
}

#define FEW 2000

/* Lines that `mark` and the number of a process are found in, of each process. */
static bool has_equal_lines(FILE *f, const char *mark, unsigned at_least)
{
	static unsigned lines[FEW];
	char line[4096];
	memset(lines, 0, sizeof(lines));
	rewind(f);
	while (fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, mark);
		unsigned pid = at ? (unsigned)atoi(at + strlen(mark)) : 0;
		if (pid >= 100 && pid < 100 + FEW)
			lines[pid - 100]++;
	}
	/* The first process stands in the header and the end of an output, too. */
	for (unsigned i = 1; i < FEW; i++) {
		if (lines[i] >= at_least && lines[i] == lines[1])
			continue;
		diag("process %u has %u lines, process 1 %u", i, lines[i], lines[1]);
		return false;
	}
	return true;
}

/* Indices and lanes are used again: what was known of those that had them is known of no other. */
static void check_whose(const char *name, int (*make)(const struct session *, int, struct sink **),
			const char *mark, unsigned at_least)
{
	struct session *s;
	struct pump *pump;
	struct sink *k;
	FILE *f = tmpfile();
	int moved;
	if (!f || session_new(&s) || pump_new(s, &pump) || make(s, fileno(f), &k) ||
	    pump_add_sink(pump, k))
		abort();
	struct brood b = {
		.base = {.ops = &brood_ops, .lanes = AT_ONCE}, .session = s, .processes = FEW};
	if (pump_add_source(pump, &b.base))
		abort();
	do
		moved = pump_step(pump);
	while (moved > 0 || moved == -EAGAIN);
	sink_end(k);
	sink_free(k);
	ok(s->processes.count < FEW / 2 && has_equal_lines(f, mark, at_least),
	   "%s: each of %u processes has its own events and names, and as many as any other", name,
	   FEW);
	pump_free(pump);
	session_free(s);
	fclose(f);
}

/* ---- when a process is released ---- */

static uint64_t horizon;
static bool has_event;
static uint32_t forgotten;

static int no_poll(struct source *s)
{
	(void)s;
	return 0;
}

static int read_one(struct source *s, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	(void)s, (void)lane, (void)cap;
	if (!has_event)
		return -EAGAIN;
	has_event = false;
	*ev = (struct ebt_event){.ts = horizon, .kind = EBT_UNIT};
	return 1;
}

static uint64_t get_horizon(struct source *s, uint32_t lane)
{
	(void)s, (void)lane;
	return horizon;
}

static int no_stop(struct source *s)
{
	(void)s;
	return 0;
}

static int no_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	(void)k, (void)ev, (void)n;
	return 0;
}

static int note_forgotten(struct sink *k, uint32_t process)
{
	(void)k;
	forgotten = process;
	return 0;
}

static const struct source_ops quiet_ops = {
	.poll = no_poll, .read = read_one, .horizon = get_horizon, .stop = no_stop};
static const struct sink_ops noting_ops = {.events = no_events, .forget = note_forgotten};

/* True if a step, with the horizon at a time, with or without an event there, releases it. */
static bool releases(struct pump *pump, uint64_t horizon_ns, bool event, uint32_t process)
{
	horizon = horizon_ns;
	has_event = event;
	forgotten = PROCESS_UNKNOWN;
	pump_step(pump);
	return forgotten && forgotten == process;
}

/* A process that has ended, and that nobody refers to. */
static uint32_t gone(struct processes *ps, uint32_t pid)
{
	uint32_t process;
	if (processes_begin(ps, pid, NULL, &process))
		abort();
	processes_announce(ps, process);
	processes_end(ps, process);
	return process;
}

static void check_when(void)
{
	struct session *s;
	struct pump *pump;
	struct source source = {.ops = &quiet_ops, .lanes = 1};
	struct sink sink = {.ops = &noting_ops};
	uint64_t hour = 3600000000000ull, before = now_ns();
	if (session_new(&s) || pump_new(s, &pump) || pump_add_source(pump, &source) ||
	    pump_add_sink(pump, &sink))
		abort();
	struct processes *ps = &s->processes;
	gone(ps, 1); /* the first one stays */
	uint32_t a = gone(ps, 2);
	ok(!releases(pump, before, false, a) && !releases(pump, before, true, a),
	   "a process is not released while events of its time may come");
	ok(releases(pump, now_ns() + 1, false, a), "and is as soon as none can");
	uint32_t b = gone(ps, 3), c = gone(ps, 4);
	ok(!releases(pump, now_ns(), true, c) && releases(pump, now_ns() + 1, true, c) &&
		   !processes_at(ps, b),
	   "also where events never cease to come");
	processes_hold(ps, true);
	uint32_t d = gone(ps, 5);
	ok(!releases(pump, now_ns(), false, d) && !releases(pump, now_ns() + hour, false, d),
	   "none is released while processes are held");
	processes_hold(ps, false);
	ok(!releases(pump, now_ns(), false, d) && releases(pump, now_ns() + 1, false, d),
	   "but afterwards");
	uint32_t e = gone(ps, 6);
	pump_stop(pump);
	ok(!releases(pump, now_ns(), false, e) && !releases(pump, now_ns() + hour, false, e),
	   "nor behind the stop, where horizons no longer say what may come");
	pump_free(pump);
	session_free(s);
}

int main(void)
{
	check_when();
	check_whose("text", text_new, "] ", EVENTS);
	check_whose("ndjson", ndjson_new, "\"pid\":", EVENTS);
	check_whose("chrome", chrome_new, "\"pid\":", EVENTS + 2);
	run("all events", PROCESSES, 0, EVENTS);
	run("long spans", PROCESSES, 1, SPAN_EVENTS);
	return tap_done();
}
