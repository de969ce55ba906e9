/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every sink with every single allocation failing in turn, and with all from one on: it does not
 * crash, and either says so or writes what it writes otherwise.
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
#include "report/mem/mem.h"
#include "report/pages/pages.h"
#include "report/parts/ids.h"
#include "report/stat/pause_events.h"
#include "report/stat/stat.h"
#include "session/offcpu.h"
#include "session/session.h"
#include "tests/tap.h"
#include "tests/unit/no_memory.h"
#include "tests/unit/processes_fixture.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ALLOCATIONS 20000

static int open_capture(void *ctx, const struct trigger_capture *c, int *ret)
{
	(void)c;
	*ret = *(int *)ctx;
	return 0;
}

static int close_capture(void *ctx, const struct trigger_capture *c, int err)
{
	(void)ctx;
	(void)c;
	return err;
}

static int make_trigger(struct session *s, int *fd, struct sink **ret)
{
	static const struct span_rule rule = {"pause>60ns", "pause", 60};
	struct trigger_options o = {
		.rule = &rule,
		.rules = 1,
		.before_ns = 500,
		.after_ns = 100,
		.memory = 1 << 20,
		.open = open_capture,
		.close = close_capture,
		.ctx = fd,
	};
	return trigger_new(s, &o, ret);
}

/* A sink behind which a text stands. */
static int make_pauses(struct session *s, int fd, struct sink **ret, struct sink **behind)
{
	int err = text_new(s, fd, behind);
	return err ? err : pause_events_new(s, *behind, 0, NULL, ret);
}

static int make_mem(struct session *s, int fd, struct sink **ret)
{
	struct mem_report_options o = {.model = {.needs = MEM_FATES | MEM_TIMELINE}};
	return mem_new(s, fd, mem_summary_text, &o, ret);
}

static int make(const char *name, struct session *s, int fd, struct sink **ret)
{
	bool json = !strcmp(name, "stat --json"); /* each line of which is a whole report */
	struct stat_options so = {
		.json = json,
		.interval_ns = json ? 2000 : 100,
		.blame = !strcmp(name, "stat --blame"),
		.longest = 3,
	};
	struct pages_report_options po = {.model = {.page_bytes = 8192}};
	if (!strcmp(name, "pages"))
		return pages_new(s, fd, pages_summary_text, &po, ret);
	if (!strcmp(name, "mem"))
		return make_mem(s, fd, ret);
	if (!strcmp(name, "memtrace"))
		return memtrace_new(s, fd, ret);
	if (!strcmp(name, "pagetrace"))
		return pagetrace_new(s, fd, ret);
	if (!strcmp(name, "text"))
		return text_new(s, fd, ret);
	if (!strcmp(name, "ndjson"))
		return ndjson_new(s, fd, ret);
	if (!strcmp(name, "perfetto"))
		return perfetto_new(s, fd, ret);
	if (!strcmp(name, "chrome"))
		return chrome_new(s, fd, ret);
	if (!strcmp(name, "fxt"))
		return fxt_new(s, fd, ret);
	if (!strcmp(name, "ebt"))
		return ebt_new(s, fd, ret);
	return stat_new(s, fd, &so, ret);
}

#define OF_EIO(event) (16 + EIO_##event)

/* Phases in phases, spans that overlap, values of all kinds, fibers, holes, and processes that
 * end. */
static const struct ebt_event story[] = {
	{.kind = EBT_BEGIN, .id = 10},
	{.kind = EBT_BEGIN, .id = 11, .tid = 5, .cpu = 1},
	{.kind = EBT_COUNTER, .id = 3, .arg = {7}},
	{.kind = EBT_LIFECYCLE, .id = 0, .sarg = {8}},
	{.kind = EBT_END, .id = 11},
	{.kind = EBT_UNIT, .id = 1},
	{.kind = EBT_INT, .id = 2, .sarg = {-9}},
	{.kind = EBT_SPAN_BEGIN, .id = 3},
	{.kind = EBT_SPAN_BEGIN, .id = 4},
	{.kind = EBT_SPAN_END, .id = 3},
	{.kind = EBT_CUSTOM, .id = 5, .flags = EBT_F_PAYLOAD},
	{.kind = EBT_ALLOC_SIZES, .flags = EBT_F_PAYLOAD},
	{.kind = EBT_CUSTOM, .id = OF_EIO(CREATE_OBJ), .flags = EBT_F_PAYLOAD},
	{.kind = EBT_CUSTOM, .id = OF_EIO(CREATE_FIBER), .flags = EBT_F_PAYLOAD},
	{.kind = EBT_CUSTOM, .id = OF_EIO(NAME), .flags = EBT_F_PAYLOAD},
	{.kind = EBT_INT, .id = OF_EIO(FIBER), .arg = {1}},
	{.kind = EBT_CUSTOM, .id = OF_EIO(CREATE_CC), .flags = EBT_F_PAYLOAD},
	{.kind = EBT_CUSTOM, .id = OF_EIO(ENTER_SPAN), .flags = EBT_F_PAYLOAD},
	{.kind = EBT_CUSTOM, .id = OF_EIO(SUSPEND_FIBER), .flags = EBT_F_PAYLOAD},
	{.kind = EBT_INT, .id = OF_EIO(TRY_GET), .arg = {9}},
	{.kind = EBT_INT, .id = OF_EIO(FIBER), .arg = {7}},
	{.kind = EBT_INT, .id = OF_EIO(PUT), .arg = {9}},
	{.kind = EBT_CUSTOM, .id = OF_EIO(LOG), .flags = EBT_F_PAYLOAD},
	{.kind = EBT_INT, .id = OF_EIO(FIBER), .arg = {1}},
	{.kind = EBT_UNIT, .id = OF_EIO(EXIT_SPAN)},
	{.kind = EBT_INT, .id = OF_EIO(EXIT_FIBER), .arg = {1}},
	{.kind = EBT_LOST, .arg = {3, 30}},
	{.kind = EBT_INT, .id = OF_EIO(FIBER), .arg = {8}},
	{.kind = EBT_CUSTOM, .id = OF_EIO(ENTER_SPAN), .flags = EBT_F_PAYLOAD},
	{.kind = EBT_DAMAGE, .arg = {64, 2}},
	{.kind = EBT_PROCESS, .id = EBT_PROCESS_FORK, .arg = {9}, .domain = EBT_NO_DOMAIN},
	{.kind = EBT_BEGIN, .id = 60 | EBT_UNKNOWN_ID, .domain = EBT_NO_DOMAIN, .tid = 6},
	{.kind = EBT_LOST, .domain = EBT_NO_DOMAIN, .arg = {EBT_LOST_UNCOUNTED, 30}},
	{.kind = EBT_PROCESS, .id = EBT_PROCESS_EXEC, .domain = EBT_NO_DOMAIN},
	{.kind = EBT_OFFCPU, .tid = 5},
	{.kind = EBT_BEGIN, .id = PHASE_minor, .tid = 5},
	{.kind = EBT_BEGIN, .id = PHASE_stw_api_barrier, .tid = 5},
	{.kind = EBT_OFFCPU, .tid = 5},
	{.kind = EBT_END, .id = PHASE_stw_api_barrier, .tid = 5},
	{.kind = EBT_BEGIN, .id = PHASE_stw_api_barrier, .tid = 5},
	{.kind = EBT_END, .id = PHASE_stw_api_barrier, .tid = 5},
	{.kind = EBT_END, .id = PHASE_minor, .tid = 5},
	{.kind = EBT_ALLOC, .arg = {1, 3}, .pos = 2},
	{.kind = EBT_ALLOC, .arg = {2, 300}, .pos = 1},
	{.kind = EBT_PROMOTE, .arg = {1}},
	{.kind = EBT_COLLECT, .arg = {2}},
	{.kind = EBT_PAGE_ALLOC, .arg = {0xc000000000, 5}},
	{.kind = EBT_PAGE_FREE, .arg = {0xc000000000, 3}},
	{.kind = EBT_PAGE_SCAVENGE, .arg = {0xc000000000, 1}},
	{.kind = EBT_PAGE_ALLOC, .arg = {0xd000000000, 1}},
	{.kind = EBT_BEGIN, .id = 12},
	{.kind = EBT_SPAN_BEGIN, .id = 4},
};
#define STORY (sizeof(story) / sizeof(story[0]))

static int tell(struct session *s, struct sink *k, uint32_t pid, uint64_t *ts)
{
	int err = 0;
	for (unsigned i = 0; !err && i < STORY; i++) {
		static const uint64_t payload[EBT_ALLOC_BUCKETS] = {1, 2, 3};
		struct ebt_event ev = story[i];
		ev.pid = pid;
		ev.ts = *ts += 50;
		ev.pos = ev.kind == EBT_LOST ? *ts - 20 : ev.pos ? ev.pos : EBT_NO_POS;
		ev.domain = ev.domain == EBT_NO_DOMAIN ? EBT_NO_DOMAIN : (uint16_t)(pid % 3);
		if (ev.flags & EBT_F_PAYLOAD) {
			ev.flags &= (uint16_t)~EBT_F_PAYLOAD;
			if (session_put_blob(s, &ev, payload, sizeof(payload)))
				abort();
		}
		struct offcpu off = {.begin_ns = ev.ts - 40, .end_ns = ev.ts, .wait_ns = 10};
		if (ev.kind == EBT_OFFCPU && offcpu_put(s, &ev, &off))
			abort();
		struct ebt_event copy = ev;
		s->totals.events++;
		s->totals.first_ns = s->totals.timed++ ? s->totals.first_ns : ev.ts;
		s->totals.last_ns = ev.ts;
		counting = true;
		err = sink_events(k, &ev, 1);
		if (!err)
			err = sink_advance(k, ev.ts);
		counting = false;
		session_drop_event(s, &copy);
	}
	return err;
}

/* 0 or the first error that the sink gave; what it wrote is in fd. */
static int run(const char *name, int fd)
{
	struct session *s;
	struct sink *k, *behind = NULL;
	uint64_t ts = 1000;
	if (session_new(&s) || enter_processes(s, 46))
		abort();
	s->origins = ORIGIN_RING | ORIGIN_BPF;
	s->run_begin = moment_at(900);
	for (uint32_t pid = 40; pid < 46; pid++) {
		struct process *p = processes_announce(&s->processes, pid);
		snprintf(p->comm, sizeof(p->comm), "program %u", pid);
		snprintf(p->producer, sizeof(p->producer), "ocaml 5.3");
		for (uint32_t id = 1; id < 5; id++)
			processes_set_user_name(&s->processes, pid, id, "a user event");
		for (uint32_t e = EIO_NONE + 1; e < EIO_EVENTS; e++)
			processes_set_user_name(&s->processes, pid, 16 + e,
						eio_event_name((enum eio_event)e));
	}
	counting = true;
	int err = !strcmp(name, "pauses")    ? make_pauses(s, fd, &k, &behind)
		  : !strcmp(name, "trigger") ? make_trigger(s, &fd, &k)
					     : make(name, s, fd, &k);
	counting = false;
	if (!err) {
		for (uint32_t pid = 40; !err && pid < 46; pid++)
			err = tell(s, k, pid, &ts);
		s->run_end = moment_at(ts + 100);
		counting = true;
		int end = sink_end(k), end_behind = behind ? sink_end(behind) : 0;
		end = end ? end : end_behind;
		counting = false;
		err = err ? err : end;
		sink_free(k);
	}
	sink_free(behind);
	session_free(s);
	return err;
}

static int new_file(void)
{
	int fd = memfd_create("out", MFD_CLOEXEC);
	if (fd < 0)
		abort();
	return fd;
}

static bool same_contents(int a, int b)
{
	static char x[1 << 20], y[1 << 20];
	ssize_t n = pread(a, x, sizeof(x), 0), m = pread(b, y, sizeof(y), 0);
	return n > 0 && n == m && !memcmp(x, y, (size_t)n);
}

/* True if every failure is told, or makes no difference. */
static bool survives(const char *name, bool persistent)
{
	int whole = new_file();
	count = fail_at = 0;
	for_ever = persistent;
	if (run(name, whole))
		return false;
	unsigned long allocations = count, silent = 0;
	for (unsigned long n = 1; n <= allocations && n < MAX_ALLOCATIONS; n++) {
		int fd = new_file();
		count = 0;
		fail_at = n;
		int err = run(name, fd);
		if (err ? err != -ENOMEM : !same_contents(whole, fd)) {
			if (!silent++)
				diag("%s: allocation %lu of %lu: error %d", name, n, allocations,
				     err);
		}
		close(fd);
	}
	close(whole);
	return !silent && allocations > 2;
}

int main(void)
{
	static const char *const names[] = {"text",	    "ndjson", "perfetto", "chrome",
					    "fxt",	    "ebt",    "stat",	  "stat --json",
					    "stat --blame", "pauses", "trigger",  "mem",
					    "memtrace",	    "pages",  "pagetrace"};
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (int persistent = 0; persistent < 2; persistent++) {
			fflush(stdout);
			pid_t pid = fork();
			if (!pid) {
				bool good = survives(names[i], persistent);
				fflush(stdout);
				_exit(!good);
			}
			int status;
			ok(waitpid(pid, &status, 0) == pid && !status,
			   "%s: %s is told, or makes no difference", names[i],
			   persistent ? "memory that runs out" : "an allocation that fails");
			if (status)
				diag("status %#x", status);
		}
	return tap_done();
}
