/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events as a forged capture may have them, through the sinks that compute the most of them: times
 * that jump, lengths and addresses without sense, ends without begins, processes that are gone.
 * What they write does not matter here; the sanitizers see how.
 */
#include "codec/eio/eio.h"
#include "format/chrome/chrome.h"
#include "format/ebt/ebt.h"
#include "format/ebt/trigger.h"
#include "format/fxt/fxt.h"
#include "format/memtrace.h"
#include "format/ndjson/ndjson.h"
#include "format/pagetrace.h"
#include "format/perfetto/perfetto.h"
#include "format/text/text.h"
#include "report/mem/flame.h"
#include "report/mem/json.h"
#include "report/mem/mem.h"
#include "report/mem/timeline.h"
#include "report/pages/map.h"
#include "report/pages/model/map.h"
#include "report/pages/pages.h"
#include "report/parts/ids.h"
#include "report/profile/profile.h"
#include "report/spans/spans.h"
#include "report/stat/pause_events.h"
#include "report/stat/stat.h"
#include "report/top/top.h"
#include "session/offcpu.h"
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS	       TAP_ROUNDS(60)
#define CAPTURE_ROUNDS TAP_ROUNDS(20)  /* each takes 0.1 s */
#define REPORT_ROUNDS  TAP_ROUNDS(300) /* of what is quick, and has many forms */
#define EVENTS	       400
#define PROCESSES      3

struct run {
	struct session *session;
	struct sink *sink, *behind; /* behind: NULL, or the one that `sink` passes events on to */
	struct pages_map map;
	int fd;
	uint64_t state, ts;
	bool fibers;  /* events of fibers, too */
	bool samples; /* allocations, samples of CPU time and spans, with stacks */
	uint32_t stack[4];
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static uint32_t below(struct run *r, uint32_t n)
{
	return (uint32_t)(random_next(&r->state) % n);
}

static uint64_t any(struct run *r)
{
	switch (below(r, 6)) {
	case 0:
		return UINT64_MAX - below(r, 3);
	case 1:
		return random_next(&r->state);
	case 2:
		return 1ull << below(r, 64);
	case 3:
		return (1ull << 47) - 8192ull * below(r, 4);
	case 4:
		return 0xc000000000 + 4096ull * below(r, 4000);
	}
	return below(r, 1000);
}

static int open_capture(void *ctx, const struct trigger_capture *c, int *ret_fd)
{
	(void)c;
	*ret_fd = ((struct run *)ctx)->fd;
	return 0;
}

static int close_capture(void *ctx, const struct trigger_capture *c, int err)
{
	(void)ctx;
	(void)c;
	return err;
}

static int make_trigger(struct run *r)
{
	static const struct span_rule rules[] = {{"pause>40ns", "pause", 40},
						 {"m*>90ns", "m*", 90}};
	struct trigger_options o = {
		.rule = rules,
		.rules = 2,
		.before_ns = below(r, 3000),
		.after_ns = below(r, 9) ? below(r, 300) : UINT64_MAX,
		.memory = 1 << 20,
		.open = open_capture,
		.close = close_capture,
		.ctx = r,
	};
	return trigger_new(r->session, &o, &r->sink);
}

static int make_blame(struct run *r)
{
	struct stat_options o = {.blame = true,
				 .longest = 3,
				 .json = below(r, 2),
				 .interval_ns = below(r, 2) ? 1000 : 0};
	return stat_new(r->session, r->fd, &o, &r->sink);
}

static int make_stat(struct run *r)
{
	struct stat_options o = {.json = below(r, 2),
				 .mmu = below(r, 2),
				 .by = (enum stat_by)below(r, STAT_BY_PROCESS + 1),
				 .top = below(r, 3),
				 .verbose = below(r, 2),
				 .interval_ns = below(r, 2) ? 1000 : 0};
	o.svg = o.mmu && !o.json && below(r, 2);
	return stat_new(r->session, r->fd, &o, &r->sink);
}

static int make_pauses(struct run *r)
{
	int err = ndjson_new(r->session, r->fd, &r->behind);
	return err ? err : pause_events_new(r->session, r->behind, below(r, 50), NULL, &r->sink);
}

static int make_pages(struct run *r)
{
	static pages_put *const put[] = {pages_summary_text,	   pages_totals_text,
					 pages_fragmentation_text, pages_churn_text,
					 pages_heat_text,	   pages_occupancy_text,
					 pages_owners_text,	   pages_lifetimes_text};
	struct pages_report_options o = {.model = {.page_bytes = 8192}};
	if (below(r, 3))
		o.model.from = moment_at(below(r, 1000));
	if (below(r, 3))
		o.model.until = moment_at(below(r, 9000));
	return pages_new(r->session, r->fd, put[below(r, COUNT(put))], &o, &r->sink);
}

static int make_map(struct run *r)
{
	struct pages_report_options o = {.model = {.page_bytes = 8192, .map = &r->map}};
	return pages_new(r->session, r->fd, pages_map_text, &o, &r->sink);
}

static int make_pagetrace(struct run *r)
{
	return pagetrace_new(r->session, r->fd, &r->sink);
}

static int make_top(struct run *r)
{
	struct top_options o = {.json = below(r, 2),
				.is_live = below(r, 2),
				.sort = (enum top_column)below(r, TOP_COLUMNS),
				.group = (enum top_group)below(r, TOP_GROUPS),
				.tree = below(r, 2),
				.filter = below(r, 2) ? "" : "1",
				.most = below(r, 3),
				.cols = 1 + below(r, 200),
				.utf8 = below(r, 2),
				.step_ns = below(r, 2) ? 500 : 0};
	return top_new(r->session, r->fd, &o, &r->sink);
}

static int make_ndjson(struct run *r)
{
	r->samples = true;
	return ndjson_new(r->session, r->fd, &r->sink);
}

static int make_memtrace(struct run *r)
{
	r->samples = true;
	return memtrace_new(r->session, r->fd, &r->sink);
}

static int make_ebt(struct run *r)
{
	r->samples = r->fibers = true;
	return ebt_new(r->session, r->fd, &r->sink);
}

static int make_perfetto(struct run *r)
{
	r->fibers = r->samples = true;
	return perfetto_new(r->session, r->fd, &r->sink);
}

static int make_chrome(struct run *r)
{
	r->fibers = r->samples = true;
	return chrome_new(r->session, r->fd, &r->sink);
}

static int make_fxt(struct run *r)
{
	r->fibers = r->samples = true;
	return fxt_new(r->session, r->fd, &r->sink);
}

static int make_text(struct run *r)
{
	r->fibers = r->samples = true;
	return text_new(r->session, r->fd, &r->sink);
}

static int make_mem(struct run *r)
{
	static mem_put *const put[] = {mem_summary_text,   mem_hotspots_text, mem_live_text,
				       mem_lifetimes_text, mem_timeline_text, mem_flame_folded,
				       mem_summary_json,   mem_hotspots_json, mem_live_json,
				       mem_lifetimes_json, mem_timeline_json, mem_flame_svg};
	struct mem_report_options o = {
		.model = {.needs = MEM_FATES | MEM_TIMELINE | MEM_BANDS, .rate = 1e-3},
		.interval_ns = below(r, 2) ? 1000 : 0,
	};
	if (below(r, 3))
		o.model.until = moment_at(below(r, 9000));
	r->samples = true;
	return mem_new(r->session, r->fd, put[below(r, COUNT(put))], &o, &r->sink);
}

static int make_profile(struct run *r)
{
	static profile_put *const put[] = {profile_text, profile_json, profile_folded, profile_svg,
					   profile_pprof};
	static profile_put *const of_time[] = {profile_time_text, profile_time_json};
	struct profile_options o = {
		.time = (enum profile_time)below(r, 3),
		.by = (enum profile_by)below(r, PROFILE_BY_SPAN + 1),
		.min_ns = below(r, 2) ? below(r, 100) : 0,
		.marked = below(r, 2),
	};
	unsigned n = below(r, COUNT(put));
	r->samples = true;
	return profile_new(r->session, r->fd,
			   n < 2 && o.time != PROFILE_ON_CPU ? of_time[n] : put[n], &o, &r->sink);
}

static int make_spans(struct run *r)
{
	struct spans_options o = {
		.form = (enum spans_form)below(r, SPANS_SVG + 1),
		.fibers = below(r, 2),
		.top = below(r, 4),
	};
	r->fibers = below(r, 2);
	r->samples = true;
	if (o.form <= SPANS_JSON && below(r, 2))
		o.interval_ns = 1000;
	return spans_report_new(r->session, r->fd, &o, &r->sink);
}

/* Of a program with fibers: ids that come again, payloads of any length. */
static void make_fiber_event(struct run *r, struct ebt_event *ev)
{
	char data[40];
	ev->kind = (uint16_t)(EBT_UNIT + below(r, 5));
	ev->id = below(r, EIO_EVENTS);
	ev->domain = (uint16_t)below(r, 2);
	ev->arg[0] = below(r, 9) ? below(r, 8) : any(r);
	memset(data, (int)below(r, 9), sizeof(data));
	data[0] = (char)below(r, 8);
	if (ev->kind == EBT_CUSTOM && session_put_blob(r->session, ev, data, below(r, 41)))
		abort();
}

/* Whatever the event was, of one of these kinds, with a stack or without. */
static void make_sample(struct run *r, struct ebt_event *ev)
{
	static const uint16_t kinds[] = {EBT_ALLOC,  EBT_ALLOC,	     EBT_PROMOTE, EBT_COLLECT,
					 EBT_SAMPLE, EBT_SPAN_BEGIN, EBT_SPAN_END};
	ev->kind = kinds[below(r, COUNT(kinds))];
	ev->id = below(r, 9) ? below(r, 3) : below(r, 100);
	if (below(r, 9))
		ev->arg[0] = below(r, 300);
	ev->stack = r->stack[below(r, COUNT(r->stack))];
	stacks_hold(r->session->stacks, ev->stack);
}

static void make_event(struct run *r, struct ebt_event *ret)
{
	static const uint16_t kinds[] = {EBT_BEGIN,	 EBT_BEGIN,	EBT_END,
					 EBT_END,	 EBT_LOST,	EBT_PROCESS,
					 EBT_OFFCPU,	 EBT_OFFCPU,	EBT_PAUSE,
					 EBT_PAGE_ALLOC, EBT_PAGE_FREE, EBT_PAGE_SCAVENGE};
	static const uint32_t phases[] = {PHASE_minor,		 PHASE_major,
					  PHASE_stw_leader,	 PHASE_stw_handler,
					  PHASE_stw_api_barrier, PHASE_minor_leave_barrier};
	r->ts += below(r, 40);
	*ret = (struct ebt_event){
		.ts = below(r, 30) ? r->ts : any(r),
		.kind = kinds[below(r, COUNT(kinds))],
		.process = 1 + below(r, PROCESSES),
		.pos = below(r, 2) ? EBT_NO_POS : any(r),
		.domain = (uint16_t)(below(r, 5) ? below(r, 4) : any(r)),
		.tid = below(r, 5),
		.cpu = EBT_NO_CPU,
		.id = below(r, 9) ? phases[below(r, 6)] : below(r, 100),
		.arg = {any(r), below(r, 3) ? 1 + below(r, 20) : any(r)},
	};
	ret->pid = ret->process;
	if (r->fibers && below(r, 8)) {
		make_fiber_event(r, ret);
		return;
	}
	if (r->samples && below(r, 3)) {
		make_sample(r, ret);
		return;
	}
	struct offcpu o = {.begin_ns = ret->ts - any(r),
			   .end_ns = ret->ts,
			   .wait_ns = any(r),
			   .run_delay_ns = any(r),
			   .syscall = (int32_t)any(r),
			   .open = below(r, 2)};
	if (ret->kind == EBT_OFFCPU && offcpu_put(r->session, ret, &o))
		abort();
}

static int pass(struct run *r)
{
	int err = 0;
	for (unsigned i = 0; i < EVENTS && !err; i++) {
		struct ebt_event ev;
		make_event(r, &ev);
		struct ebt_event copy = ev;
		r->session->totals.events++;
		r->session->totals.timed++;
		err = sink_events(r->sink, &ev, 1);
		if (!err)
			err = sink_advance(r->sink, ev.ts);
		session_drop_event(r->session, &copy);
		if (!err && !below(r, 100))
			err = sink_forget(r->sink, 1 + below(r, PROCESSES));
	}
	if (!err)
		err = sink_end(r->sink);
	return !err && r->behind ? sink_end(r->behind) : err;
}

static int round_of(int (*make)(struct run *r), uint64_t seed)
{
	static const uint32_t pages[] = {0, 4096, 8192, 12345};
	struct run r = {.state = seed, .ts = 100000, .fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
	if (r.fd < 0 || session_new(&r.session) || enter_processes(r.session, PROCESSES + 1))
		abort();
	for (uint32_t i = 1; i <= PROCESSES; i++)
		for (uint32_t e = EIO_NONE + 1; e < EIO_EVENTS; e++)
			processes_set_user_name(&r.session->processes, i, e,
						eio_event_name((enum eio_event)e));
	for (uint32_t i = 1; i <= PROCESSES; i++)
		processes_announce(&r.session->processes, i)->page_bytes = pages[below(&r, 4)];
	for (uint32_t i = 1; i < COUNT(r.stack); i++) {
		uint32_t frame =
			frames_put(r.session->frames,
				   &(struct frame){.address = any(&r), .has_address = true});
		r.stack[i] = stacks_push(r.session->stacks, r.stack[i - 1], frame);
		stacks_hold(r.session->stacks, r.stack[i]);
		frames_drop(r.session->frames, frame);
	}
	int err = make(&r);
	if (!err)
		err = pass(&r);
	sink_free(r.sink);
	sink_free(r.behind);
	pages_map_done(&r.map);
	session_free(r.session);
	close(r.fd);
	return err;
}

static void test(const char *name, unsigned rounds, int (*make)(struct run *r))
{
	unsigned good = 0;
	for (uint64_t seed = 1; seed <= rounds; seed++)
		good += !round_of(make, seed);
	ok(good == rounds, "%s: any events have an output", name);
}

int main(void)
{
	test("trigger", ROUNDS, make_trigger);
	test("stat", REPORT_ROUNDS, make_stat);
	test("stat --blame", ROUNDS, make_blame);
	test("trace --blame", ROUNDS, make_pauses);
	test("pages", ROUNDS, make_pages);
	test("pages map", ROUNDS, make_map);
	test("page trace", ROUNDS, make_pagetrace);
	test("mem", REPORT_ROUNDS, make_mem);
	test("profile", REPORT_ROUNDS, make_profile);
	test("spans", REPORT_ROUNDS, make_spans);
	test("top", REPORT_ROUNDS, make_top);
	test("ndjson", ROUNDS, make_ndjson);
	test("memtrace", ROUNDS, make_memtrace);
	test("capture", CAPTURE_ROUNDS, make_ebt);
	test("perfetto", ROUNDS, make_perfetto);
	test("chrome", ROUNDS, make_chrome);
	test("fxt", ROUNDS, make_fxt);
	test("text", ROUNDS, make_text);
	return tap_done();
}
