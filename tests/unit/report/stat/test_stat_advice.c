/* SPDX-License-Identifier: BSD-2-Clause */
/* What the text of stat says of losses, and advises: of pauses that wait for a CPU, and of forced
 * collections. */
#include <ebtrace/cursor.h>

#include "report/parts/ids.h"
#include "report/stat/model/blame.h"
#include "report/stat/stat.h"
#include "session/offcpu.h"
#include "session/phases.h"
#include "session/versions.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define US     1000u
#define TRACER 72u
#define PAUSES 12

struct run {
	struct session *session;
	struct sink *sink;
	int fd;
};

static void push(struct run *r, struct ebt_event ev)
{
	ev.process = 1;
	ev.cpu = EBT_NO_CPU;
	ev.tid = 9;
	if (sink_events(r->sink, &ev, 1))
		abort();
	session_drop_event(r->session, &ev);
}

/* A pause of 100 us, and 80 us of it without a CPU. */
static void pause_without_cpu(struct run *r, uint64_t us, struct offcpu o)
{
	o.begin_ns = (us + 10) * US;
	o.end_ns = (us + 90) * US;
	struct ebt_event off = {.ts = o.end_ns, .kind = EBT_OFFCPU, .domain = EBT_NO_DOMAIN};
	push(r, (struct ebt_event){.ts = us * US, .kind = EBT_BEGIN, .pos = EBT_NO_POS});
	off.process = 1;
	if (offcpu_put(r->session, &off, &o))
		abort();
	push(r, off);
	push(r, (struct ebt_event){.ts = (us + 100) * US, .kind = EBT_END, .pos = EBT_NO_POS});
}

static void begin_on(struct run *r, unsigned cpus)
{
	*r = (struct run){.fd = memfd_create("report", 0)};
	struct stat_options o = {.blame = true, .longest = 1, .cpus = cpus};
	if (r->fd < 0 || session_new(&r->session) || enter_processes(r->session, 2) ||
	    stat_new(r->session, r->fd, &o, &r->sink))
		abort();
	r->session->tracer_tid = TRACER;
	processes_announce(&r->session->processes, 1);
}

static void begin(struct run *r)
{
	begin_on(r, 0);
}

static void end(struct run *r, char *ret, size_t cap)
{
	if (sink_end(r->sink))
		abort();
	ssize_t n = pread(r->fd, ret, cap - 1, 0);
	ret[n > 0 ? n : 0] = 0;
	sink_free(r->sink);
	session_free(r->session);
	close(r->fd);
}

/* Of pauses all of which wait for threads called ebtrace, the first ones for our own. */
static void report(unsigned of_tracer, char *ret, size_t cap)
{
	struct run r;
	begin(&r);
	for (unsigned i = 0; i < PAUSES; i++)
		pause_without_cpu(&r, 1000 + 1000 * i,
				  (struct offcpu){.wait_ns = 80 * US,
						  .reason = EBT_OFFCPU_PREEMPTED,
						  .runner = TRACER + (i >= of_tracer),
						  .runner_cpu = 3,
						  .runner_comm = "ebtrace"});
	end(&r, ret, cap);
}

/* A pause that slept, in this system call, until another thread woke it. */
static void report_sleep(int32_t syscall, char *ret, size_t cap)
{
	struct run r;
	begin(&r);
	pause_without_cpu(&r, 1000,
			  (struct offcpu){.reason = EBT_OFFCPU_SLEEP,
					  .syscall = syscall,
					  .waker = 11,
					  .runner_cpu = EBT_NO_CPU,
					  .waker_comm = "waker"});
	end(&r, ret, cap);
}

static void mark(struct run *r, uint16_t kind, uint32_t id, uint64_t us)
{
	push(r, (struct ebt_event){.ts = us * US, .kind = kind, .id = id, .pos = EBT_NO_POS});
}

/* Short minor collections, and a long major one in each call. */
static void report_forced(unsigned calls, char *ret, size_t cap)
{
	struct run r;
	begin(&r);
	for (unsigned i = 0; i < PAUSES; i++) {
		mark(&r, EBT_BEGIN, PHASE_minor, 1000 + 100 * i);
		mark(&r, EBT_END, PHASE_minor, 1001 + 100 * i);
	}
	for (unsigned i = 0; i < calls; i++) {
		uint64_t us = 10000 + 10000 * i;
		mark(&r, EBT_BEGIN, PHASE_explicit_gc_full_major, us);
		mark(&r, EBT_BEGIN, PHASE_major_mark, us + 1);
		mark(&r, EBT_END, PHASE_major_mark, us + 9000);
		mark(&r, EBT_END, PHASE_explicit_gc_full_major, us + 9001);
	}
	end(&r, ret, cap);
}

static void test_forced(char *text, size_t cap)
{
	report_forced(2, text, cap);
	ok(strstr(text, "because the program forces collections: 2 calls (--blame --mode probes"),
	   "collections that are forced are counted; what shows the calls is named") ||
		(diag("%s", text), 1);
	report_forced(1, text, cap);
	ok(strstr(text, "because the program forces collections: 1 call (--blame --mode probes"),
	   "one is one call") ||
		(diag("%s", text), 1);
}

/* Pauses of 100 us in each domain; the first waits for the last at a barrier, and for a CPU. */
struct scene {
	unsigned pauses, domains, cpus, barrier_us, cpu_us;
	const char *want; /* NULL: no advice */
};

static void put_pause(struct run *r, const struct scene *s, uint64_t us)
{
	for (unsigned d = 0; d < s->domains; d++) {
		struct ebt_event ev = {.kind = EBT_BEGIN, .domain = (uint16_t)d, .pos = EBT_NO_POS};
		ev.id = PHASE_minor;
		ev.ts = us * US;
		push(r, ev);
	}
	struct offcpu o = {.begin_ns = (us + 1) * US,
			   .end_ns = (us + 1 + s->cpu_us) * US,
			   .wait_ns = s->cpu_us * US,
			   .reason = EBT_OFFCPU_PREEMPTED,
			   .runner_cpu = EBT_NO_CPU};
	struct ebt_event off = {.ts = o.end_ns, .kind = EBT_OFFCPU, .domain = EBT_NO_DOMAIN};
	off.process = 1;
	if (s->cpu_us && offcpu_put(r->session, &off, &o))
		abort();
	if (s->cpu_us)
		push(r, off);
	for (unsigned i = 0; s->barrier_us && i < 2 * s->domains; i++) {
		uint16_t d = (uint16_t)(i % s->domains);
		push(r, (struct ebt_event){.kind = i < s->domains ? EBT_BEGIN : EBT_END,
					   .id = PHASE_stw_api_barrier,
					   .domain = d,
					   .pos = EBT_NO_POS,
					   .ts = (us + 1 + (i ? s->barrier_us : 0)) * US});
	}
	for (unsigned d = 0; d < s->domains; d++)
		push(r, (struct ebt_event){.kind = EBT_END,
					   .id = PHASE_minor,
					   .domain = (uint16_t)d,
					   .pos = EBT_NO_POS,
					   .ts = (us + 100) * US});
}

static void test_pauses(char *text, size_t cap)
{
	static const struct scene scenes[] = {
		{10, 1, 2, 0, 10, "[cpu] 10.0 % of the pauses' time waits for a CPU. Give"},
		{10, 1, 2, 0, 9, NULL},
		{9, 1, 2, 0, 90, NULL},
		{10, 2, 2, 40, 0, "[barrier] 20.0 % of the pauses' time waits for the last domain"},
		{10, 2, 2, 39, 0, NULL},
		{10, 3, 2, 0, 0, "[domains] 3 domains on 2 CPUs: "},
		{10, 2, 1, 0, 0, "[domains] 2 domains on 1 CPU: "},
		{10, 2, 2, 0, 0, NULL},
		{4, 2, 1, 0, 0, NULL},
		{10, 3, 0, 0, 0, NULL},
	};
	for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++) {
		const struct scene *s = &scenes[i];
		struct run r;
		begin_on(&r, s->cpus);
		for (unsigned k = 0; k < s->pauses; k++)
			put_pause(&r, s, 1000 + 1000 * k);
		end(&r, text, cap);
		ok(s->want ? strstr(text, s->want) != NULL : !strstr(text, "  ["),
		   "%u pauses of %u domains on %u CPUs, %u us at a barrier, %u us without a CPU: "
		   "%s",
		   s->pauses, s->domains, s->cpus, s->barrier_us, s->cpu_us,
		   s->want ? s->want : "no advice") ||
			(diag("%s", text), 1);
	}
}

/* Minor collections of 1 us, words that they promote of 1000, and time of a major collection. */
static void report_heap(unsigned minors, unsigned promoted, unsigned major_us, char *ret,
			size_t cap)
{
	struct run r;
	begin(&r);
	processes_at(&r.session->processes, 1)->traits =
		versions_traits(versions_by_release(EBT_RELEASE_OCAML_5_3));
	for (unsigned i = 0; i < minors; i++) {
		mark(&r, EBT_BEGIN, PHASE_minor, 1000 + 100 * i);
		mark(&r, EBT_END, PHASE_minor, 1001 + 100 * i);
	}
	push(&r, (struct ebt_event){.ts = 9000 * US,
				    .kind = EBT_COUNTER,
				    .id = COUNTER_minor_allocated,
				    .arg = {8000}});
	push(&r, (struct ebt_event){.ts = 9001 * US,
				    .kind = EBT_COUNTER,
				    .id = COUNTER_minor_promoted,
				    .arg = {8 * promoted}});
	mark(&r, EBT_BEGIN, PHASE_major_slice, 10000);
	mark(&r, EBT_BEGIN, PHASE_major_mark, 10000);
	mark(&r, EBT_END, PHASE_major_mark, 10000 + major_us);
	mark(&r, EBT_END, PHASE_major_slice, 10000 + major_us);
	end(&r, ret, cap);
}

/* What was lost between two collections: events, or an unknown number in 8 words. */
static void report_losses(const uint64_t *events, unsigned losses, char *ret, size_t cap)
{
	struct run r;
	begin(&r);
	mark(&r, EBT_BEGIN, PHASE_minor, 1000);
	mark(&r, EBT_END, PHASE_minor, 1001);
	for (unsigned i = 0; i < losses; i++)
		push(&r, (struct ebt_event){.ts = (2000 + i) * US,
					    .kind = EBT_LOST,
					    .pos = 1900 * US,
					    .arg = {events[i], 8}});
	mark(&r, EBT_BEGIN, PHASE_minor, 3000);
	mark(&r, EBT_END, PHASE_minor, 3001);
	end(&r, ret, cap);
}

static void test_heap(char *text, size_t cap)
{
	static const char *const promotes =
		"[minor-heap] 20.0 % of the words of the minor heap are "
		"promoted. In a larger minor heap (s= of "
		"OCAMLRUNPARAM) more of them die";
	static const char *const marks = "[major] 50.0 % of the GC time marks and sweeps the major "
					 "heap. A slower pace (a larger o= of OCAMLRUNPARAM) does";
	report_heap(10, 200, 10, text, cap);
	ok(strstr(text, promotes) && strstr(text, marks),
	   "a fifth of the words, and half of the time, are much; the settings are the "
	   "language's") ||
		(diag("%s", text), 1);
	report_heap(10, 199, 9, text, cap);
	ok(!strstr(text, "  ["), "less is not") || (diag("%s", text), 1);
	report_heap(9, 900, 900, text, cap);
	ok(!strstr(text, "  ["), "nine collections are too few") || (diag("%s", text), 1);
}

static void test_losses(char *text, size_t cap)
{
	report_losses(NULL, 0, text, cap);
	ok(strstr(text, "nothing lost\n"), "a run without losses says so");
	report_losses((const uint64_t[]){12}, 1, text, cap);
	ok(strstr(text, "lost: 12 events, 8 words\n"), "a loss has its events and words");
	report_losses((const uint64_t[]){1, EBT_LOST_UNCOUNTED}, 2, text, cap);
	ok(strstr(text, "lost: at least 1 events, 16 words\n"), "of some the number is unknown") ||
		(diag("%s", text), 1);
	report_losses((const uint64_t[]){EBT_LOST_UNCOUNTED}, 1, text, cap);
	ok(strstr(text, "lost: an unknown number of events, 8 words\n"), "or of all");
}

int main(void)
{
	static char text[65536];
	test_losses(text, sizeof(text));
	report(PAUSES, text, sizeof(text));
	ok(strstr(text, "[cpu]") && strstr(text, "% behind this tracer. Give"),
	   "the advice calls the tracer so");
	ok(strstr(text, "(longest 80.000 us behind this tracer (72) on CPU 3)"),
	   "and so does the pause");
	ok(!strstr(text, "behind ebtrace"), "it is no other program of its name");
	report(0, text, sizeof(text));
	ok(strstr(text, "% behind ebtrace. Give") && strstr(text, "behind ebtrace (73) on CPU 3") &&
		   !strstr(text, "this tracer"),
	   "another tracer is one by its name");
	report(PAUSES / 2 + 1, text, sizeof(text));
	ok(strstr(text, "80.0 % of the pauses' time waits for a CPU, at least 46.7 % behind this "
			"tracer."),
	   "their times are not added up");
	report(PAUSES / 3, text, sizeof(text));
	ok(strstr(text, "at least 53.3 % behind ebtrace."),
	   "what is named is what most of the time ran");
	report_sleep(BLAME_NO_CALL, text, sizeof(text));
	ok(strstr(text, "of it, woken by waker (11)") && !strstr(text, ",,"),
	   "who woke a thread outside of a system call stands behind one comma") ||
		(diag("%s", text), 1);
	report_sleep(SYS_nanosleep, text, sizeof(text));
	ok(strstr(text, "of it, in nanosleep, woken by waker (11)"),
	   "behind the call if there was one") ||
		(diag("%s", text), 1);
	test_forced(text, sizeof(text));
	test_pauses(text, sizeof(text));
	test_heap(text, sizeof(text));
	return tap_done();
}
