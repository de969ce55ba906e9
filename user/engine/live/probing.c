/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/probing.h"
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/plural.h"
#include "codec/ring/ids.h"
#include "engine/live/marker_limits.h"
#include "engine/refusal.h"
#include "proc/memory_reader.h"
#include "runtime/inspect.h"
#include "session/kinds.h"
#include "session/languages.h"
#include "source/bpf/kernel.h"
#include "source/ring/ring.h"
#include "stream/filter.h"

/* The started program switches its ring on when it starts; its functions are probed if it has not
 * by then. */
#define RING_START_NS 150000000ull
#define NS_PER_S      1000000000ull

bool probing_is_allowed(void)
{
	return bpf_kernel_allows();
}

/* Begins without a source, where that is of use. */
static enum engine_end begin_without(struct probing *p, int err, const char *reason)
{
	const struct engine *e = p->engine;
	const struct engine_options *o = e->options;
	char what[64] = "";
	if (o->allocs == ALLOCS_ONLY)
		snprintf(what, sizeof(what), "sampled allocations are read through BPF");
	else if (o->pages)
		snprintf(what, sizeof(what), "pages are watched through BPF");
	else if (engine_profiles(o))
		snprintf(what, sizeof(what), "samples are taken through BPF");
	else if (o->markers.count)
		snprintf(what, sizeof(what), "markers of -U are probed through BPF");
	else if (engine_mode(o) != MODE_AUTO && engine_mode(o) != MODE_RING)
		snprintf(what, sizeof(what), "--mode %s", engine_mode_names[engine_mode(o)]);
	if (*what) {
		messages_error(&e->session->messages, "%s: %s%s", what, reason, REFUSAL_HINT);
		return err == -EPERM || err == -EACCES ? ENGINE_DENIED : ENGINE_FAILED;
	}
	if ((err != -EPERM && err != -EACCES) || !geteuid())
		snprintf(p->unprobed, sizeof(p->unprobed), "%s", reason);
	if (o->blame || o->stacks)
		messages_at(&e->session->messages, LOG_NORMAL,
			    "%s; reading the rings alone: %s%s%s%s", reason,
			    o->blame ? "it is not recorded when threads do not run" : "",
			    o->blame && o->stacks ? ", and " : "",
			    o->stacks ? "events get no stacks" : "", REFUSAL_HINT);
	else
		snprintf(p->missing, sizeof(p->missing), "%s", reason);
	return ENGINE_OK;
}

/* What the kernel refuses of what was asked for, beside the probes: of these it is reported when a
 * process would need them. */
static void report_refused(const struct probing *p)
{
	static const struct {
		enum bpf_feature feature;
		const char *effect;
	} features[] = {
		{BPF_CHILDREN, "children are not followed"},
		{BPF_STACKS, "events get no stacks"},
		{BPF_BLAME, "it is not recorded when threads do not run, the rest is"},
		{BPF_FAULTS, "page faults are not timed"},
		{BPF_SAMPLES, "no samples are taken"},
		{BPF_MAPPINGS, "code that a program loads later is found within a second"},
		{BPF_PAGE_SIZES,
		 "each page fault counts as one small page, also those of huge pages "
		 "and of the page of zeroes"},
	};
	for (unsigned i = 0; i < sizeof(features) / sizeof(*features); i++) {
		const struct bpf_refusal *why = bpf_source_refusal(p->source, features[i].feature);
		/* Its own message says it. */
		bool again = features[i].feature == BPF_FAULTS &&
			     bpf_source_refusal(p->source, BPF_BLAME);
		if (why && !again)
			messages_at(&p->engine->session->messages,
				    features[i].feature == BPF_MAPPINGS ? LOG_VERBOSE : LOG_NORMAL,
				    "%s: %s%s", features[i].effect, why->why, REFUSAL_HINT);
	}
}

/* The probes that a process would need and that the kernel refuses. True if there are some. */
static bool report_missed(const struct probing *p)
{
	static const char *const probes[BPF_FEATURES] = {
		[BPF_MARKERS] = "markers",
		[BPF_RUNTIME_EVENTS] = languages_functions,
		[BPF_ALLOCS] = "markers of sampled allocations",
		[BPF_USDT] = "markers of -U",
		[BPF_RUNTIME_ALLOCS] = languages_allocs,
	};
	enum bpf_feature f;
	const struct bpf_refusal *why;
	bool some = false;
	while ((why = bpf_source_missed(p->source, &f))) {
		messages_at(&p->engine->session->messages, LOG_NORMAL, "%s are not probed: %s%s",
			    probes[f], why->why, REFUSAL_HINT);
		some = true;
	}
	return some;
}

/* A filter of these patterns alone; NULL: no memory. */
static struct filter *names_of(const struct engine *e, const char *const *globs, unsigned count)
{
	struct filter *names;
	int err = filter_new(e->session, (struct event_handler){0}, &names);
	if (err)
		return NULL;
	for (unsigned i = 0; i < count && !err; i++)
		err = filter_add_glob(names, globs[i]);
	if (!err)
		return names;
	filter_free(names);
	return NULL;
}

/* Kinds of events that the filter would drop, of those that a runtime emits in large numbers. */
static uint64_t unwanted_kinds(const struct engine *e)
{
	const struct engine_options *o = e->options;
	const struct {
		uint16_t kind;
		uint32_t ids;
	} kinds[] = {{EBT_COUNTER, ring_counters()}, {EBT_ALLOC_SIZES, 0}};
	uint64_t unwanted = 0;
	if (engine_mode(o) == MODE_COUNTERS)
		return kinds_bit(EBT_ALLOC_SIZES) | kinds_bit(EBT_CUSTOM);
	struct filter *names = o->glob_count ? names_of(e, o->globs, o->glob_count) : NULL;
	for (unsigned i = 0; names && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!filter_can_select(names, kinds[i].kind, kinds[i].ids))
			unwanted |= kinds_bit(kinds[i].kind);
	filter_free(names);
	return unwanted;
}

/* Stacks of blocks: records of these are up to 13 kB. */
#define BLOCK_WITH_STACK_NS	     1000000
#define BLOCK_IN_PAUSE_WITH_STACK_NS 200000

static bool globs_select_offcpu(const struct engine *e)
{
	const struct engine_options *o = e->options;
	struct ebt_event ev = {.kind = EBT_OFFCPU, .domain = EBT_NO_DOMAIN};
	if (!o->stacks || !o->stack_glob_count)
		return o->stacks;
	struct filter *names = names_of(e, o->stack_globs, o->stack_glob_count);
	bool selects = names && filter_names(names, &ev);
	filter_free(names);
	return selects;
}

/* *ret_ns: of blocks that are as long as this. */
static enum offcpu_stacks stacks_of_blocks(const struct engine *e, uint64_t *ret_ns)
{
	const struct engine_options *o = e->options;
	bool of_all = o->off_cpu || (o->blame && (o->block_stacks || globs_select_offcpu(e)));
	*ret_ns = o->off_cpu ? o->off_cpu_min_ns : BLOCK_WITH_STACK_NS;
	if (of_all || !o->blame || !o->pause_block_stacks)
		return of_all ? OFFCPU_STACKS : OFFCPU_NO_STACKS;
	*ret_ns = BLOCK_IN_PAUSE_WITH_STACK_NS;
	return OFFCPU_STACKS_IN_PAUSES;
}

static enum probe_yield yield_of(const struct engine_options *o)
{
	enum engine_mode mode = engine_mode(o);
	return mode == MODE_RING       ? PROBE_NOTHING
	       : mode == MODE_COUNTERS ? PROBE_TALLIES
	       : engine_watermarks(o)  ? PROBE_WATERMARKS
				       : PROBE_EVENTS;
}

static void note_attached(struct probing *p, pid_t pid, int markers)
{
	if (p->engine->options->pages && !p->sees)
		messages_at(
			&p->engine->session->messages, LOG_NORMAL,
			"watching pages: meanwhile each system call of this machine takes 50 to "
			"80 ns more, and mmap, munmap, mremap, brk and madvise some 500 ns more, "
			"also of other programs");
	p->sees = true;
	messages_at(&p->engine->session->messages, LOG_VERBOSE, "attached to %d %s%s of process %d",
		    markers, p->engine->options->pages ? "thread" : "marker",
		    plural((uint64_t)markers), pid);
}

/* The process is traced before its mappings are read, so that no child and no exec is missed. A
 * program of ours is when it has called exec. */
static void trace(struct probing *p, const struct process_event *born)
{
	char reason[EBT_REASON_BYTES] = "";
	if (born->by_bpf || (born->named && p->engine->options->program))
		return;
	int err = bpf_source_trace(p->source, born->pid, born->ts, reason);
	born->process->awaits = !err && !born->named;
	if (err && !born->named)
		messages_at(&p->engine->session->messages, LOG_VERBOSE, "process %d: %s", born->pid,
			    reason);
}

/* Attaches to what is new among what a process has mapped. */
static void attach_mapped(struct probing *p, const struct process_event *change)
{
	struct traced_process *process = change->process;
	char reason[EBT_REASON_BYTES] = "";
	bool is_first = process && !process->probed;
	uint64_t cpu = is_first ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
	int n = is_first ? bpf_source_attach(p->source, change->pid, change->maps, change->ts,
					     reason)
			 : bpf_source_scan(p->source, change->pid, change->maps, change->ts);
	if (is_first) {
		process->probed = n >= 0;
		process->awaits = false;
		p->attach_cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	}
	report_missed(p);
	if (n > 0)
		note_attached(p, change->pid, n);
	else if (*reason)
		messages_at(&p->engine->session->messages, LOG_VERBOSE, "process %d: %s",
			    change->pid, reason);
}

/* To watch pages costs the machine something: it begins with a process that the user named, if it
 * can. */
static bool is_early(const struct probing *p, const struct process_event *mapped)
{
	const struct traced_process *process = mapped->process;
	if (!p->engine->options->pages || p->tried || !process || process->probed)
		return false;
	traced_read_later(process->traced, mapped->pid);
	return true;
}

/* Those that the user named are attached to by probing_attach(). */
static int on_process(void *ctx, const struct process_event *change)
{
	struct probing *p = ctx;
	const struct traced_process *process = change->process;
	if (p->source && change->kind == PROCESS_BORN)
		trace(p, change);
	if (!p->source || change->kind != PROCESS_MAPPED ||
	    (process && !process->probed && !process->awaits) || is_early(p, change))
		return 0;
	if (change->maps)
		attach_mapped(p, change);
	else if (process)
		bpf_source_unchanged(p->source, change->pid, change->ts);
	return 0;
}

/* It is called while the source is polled: what is to be read is read after that, by a scan. */
static void report(void *ctx, const struct process_event *change)
{
	traced_report(ctx, change);
}

static void report_price_of_faults(const struct probing *p)
{
	if (!bpf_source_refusal(p->source, BPF_FAULTS))
		messages_at(&p->engine->session->messages, LOG_NORMAL,
			    "timing page faults: meanwhile each one of the traced processes takes "
			    "300 to 500 ns more, in a pause 200 ns on top, and of other programs "
			    "up to 100 ns");
}

enum engine_end probing_begin(struct probing *p, const struct engine *e, bool record,
			      struct inspect *inspect, struct traced *traced)
{
	const struct engine_options *o = e->options;
	*p = (struct probing){.engine = e, .inspect = inspect};
	enum engine_end refused = marker_limits_check(e, inspect);
	if (refused)
		return refused;
	if (engine_mode(o) == MODE_RING && !o->blame && !engine_profiles(o))
		return ENGINE_OK;
	struct probe_plan plan = {
		.ring_bytes = o->bpf_buffer_bytes,
		.slack_ns = RING_SLACK_NS,
		.attach = o->attach,
		.no_follow = !o->follow,
		.inspect = inspect,
		.memory = e->memory,
		.hold = o->program != NULL && !o->pages,
		.realtime = o->realtime && !o->nice,
		.everyone = o->all,
		.allocs = o->allocs != ALLOCS_NONE && engine_mode(o) != MODE_RING,
		.allocs_only = o->allocs == ALLOCS_ONLY,
		.pages = o->pages,
		.offcpu = o->blame || o->off_cpu,
		.offcpu_min_ns = o->off_cpu_min_ns,
		.profile = engine_profiles(o),
		.sample_ns = o->sample_hz ? NS_PER_S / o->sample_hz : 0,
		.faults = o->faults,
		.kernel_stacks = o->kernel_stacks,
		.yield = yield_of(o),
		.needs_markers = engine_mode(o) == MODE_STREAM || engine_mode(o) == MODE_WATERMARK,
		.stacks = o->stacks,
		.stack_globs = o->stack_globs,
		.stack_glob_count = o->stack_glob_count,
		.stack_pause_ns = o->stack_pause_ns,
		.ring_request =
			engine_probes_alone(o) || o->all ? RING_REQUEST_NEVER : o->ring_request,
		.coarse = o->frugal,
		.budgeted = engine_has_budget(o),
		.no_ring = engine_probes_alone(o),
		.own_ring_ns = record ? RING_START_NS : 0,
		.runtime = o->runtime,
		.unwanted = unwanted_kinds(e),
		.markers = o->markers.count ? &o->markers : NULL,
		.report = report,
		.ctx = traced,
	};
	plan.offcpu_stacks = stacks_of_blocks(e, &plan.offcpu_stack_min_ns);
	char reason[EBT_REASON_BYTES] = "";
	int err = bpf_source_new(e->session, &plan, &p->source, reason);
	if (!err)
		report_refused(p);
	if (!err && o->faults)
		report_price_of_faults(p);
	if (!err && !o->program)
		bpf_source_begin_run(p->source, UINT64_MAX);
	if (err) {
		p->source = NULL;
		return begin_without(p, err, reason);
	}
	traced_subscribe(traced, on_process, p);
	return ENGINE_OK;
}

void probing_run_begins(struct probing *p, uint64_t now_ns)
{
	if (p->source)
		bpf_source_begin_run(p->source, now_ns);
}

/* "12 (populated 2, file 10)" */
static void pages_text(const uint64_t pages[KINDS_PAGE_CAUSES], char *ret, size_t size)
{
	uint64_t sum = 0;
	size_t at = 0;
	char each[KINDS_PAGE_CAUSES * 40] = "";
	for (unsigned i = EBT_PAGE_POPULATED; i < KINDS_PAGE_CAUSES; i++) {
		sum += pages[i];
		if (pages[i])
			at += (size_t)snprintf(each + at, sizeof(each) - at, "%s%s %" PRIu64,
					       at ? ", " : "", kinds_page_cause_name(i), pages[i]);
	}
	snprintf(ret, size, "%" PRIu64 "%s%s%s", sum, sum ? " (" : "", each, sum ? ")" : "");
}

/* What the page tables had beside the events. */
static void report_pages(const struct probing *p)
{
	struct bpf_counts counts;
	char appeared[512], gone[512];
	if (!p->source || !p->engine->options->pages)
		return;
	bpf_source_counts(p->source, &counts);
	pages_text(counts.pages.appeared, appeared, sizeof(appeared));
	pages_text(counts.pages.gone, gone, sizeof(gone));
	/* A report has them itself. */
	messages_at(&p->engine->session->messages,
		    p->engine->options->counts ? LOG_VERBOSE : LOG_NORMAL,
		    "reconciled with the page tables: %s pages appeared without a fault, %s went "
		    "without a system call",
		    appeared, gone);
	messages_at(&p->engine->session->messages, LOG_VERBOSE,
		    "page tables were read %" PRIu64 " time%s, in %" PRIu64
		    " us of CPU time; %" PRIu64 " fault%s of pages that were mapped",
		    counts.pages.checks, plural(counts.pages.checks), counts.pages.check_ns / 1000,
		    counts.pages.known_faults,
		    plural_of(counts.pages.known_faults, " was", "s were"));
}

/* Markers that were asked for and that no file of a traced process has. */
static void report_unfound(const struct probing *p)
{
	const struct messages *m = &p->engine->session->messages;
	const struct marker_request *r;
	enum marker_end end;
	char names[REFUSAL_MARKERS_BYTES];
	unsigned at = 0, n = 0;
	for (; (r = bpf_source_unfound(p->source, &at, &end)); n++)
		if (r->is_pattern)
			messages_at(m, LOG_NORMAL, "%s '%s' in any file of the traced processes",
				    r->is_span ? "no pair of markers matches" : "no marker matches",
				    r->label);
		else
			messages_at(m, LOG_NORMAL,
				    "marker %s:%s is in no file of the traced processes",
				    r->side[end].provider, r->side[end].name);
	if (n && inspect_marker_names(p->inspect, names, sizeof(names)))
		messages_at(m, LOG_NORMAL, "the names of markers that were seen: %s", names);
}

void probing_end(struct probing *p)
{
	struct bpf_counts counts = {0};
	if (p->source && p->engine->session->run_end.known)
		report_unfound(p);
	report_pages(p);
	if (p->source)
		report_missed(p);
	if (p->source)
		bpf_source_counts(p->source, &counts);
	if (counts.dropped_stacks)
		messages_at(
			&p->engine->session->messages, LOG_NORMAL,
			"%" PRIu64 " stack%s lost, as the BPF buffer had no room (--bpf-buffer)",
			counts.dropped_stacks, plural_of(counts.dropped_stacks, " was", "s were"));
	p->found_allocs |= counts.alloc_sites > 0;
	source_free(p->source);
	p->source = NULL;
}

uint64_t probing_known_ns(const struct probing *p)
{
	return p->source ? bpf_source_complete_ns(p->source) : UINT64_MAX;
}

/* A process without markers of allocations has nothing for a run that is for these alone. */
static enum engine_end check_allocs(const struct probing *p, pid_t pid)
{
	const struct engine_options *o = p->engine->options;
	struct bpf_counts counts;
	bpf_source_counts(p->source, &counts);
	/* A program that we start may load a library, or start another, that has some. */
	if (o->allocs != ALLOCS_ONLY || counts.alloc_sites || o->wait || o->program)
		return ENGINE_OK;
	enum engine_end end = refusal_check_ended(p->engine, pid);
	if (end)
		return end;
	messages_error(
		&p->engine->session->messages,
		"process %d has no markers of sampled allocations (ebtrace:alloc or "
		"otel_memory:alloc) and no %s; start it anew with: "
		"ebtrace mem record -o FILE -- PROGRAM; --wait waits until it, or a child of "
		"it, has some",
		pid, languages_sampled);
	return ENGINE_NOTHING;
}

static int attach(struct probing *p, struct traced_process *process, char *reason)
{
	struct maps_list maps;
	int n = bpf_source_trace(p->source, process->pid, 0, reason);
	if (n)
		return n;
	uint64_t read_ns = now_ns();
	memory_reader_list(p->engine->memory, process->pid, MAPS_TRACED, &maps);
	n = bpf_source_attach(p->source, process->pid, &maps, read_ns, reason);
	maps_list_done(&maps);
	process->probed = n >= 0;
	return n;
}

enum engine_end probing_attach(struct probing *p, struct traced_process *process)
{
	if (!p->source)
		return ENGINE_OK;
	pid_t pid = process->pid;
	const struct messages *r = &p->engine->session->messages;
	const struct engine_options *o = p->engine->options;
	char reason[EBT_REASON_BYTES] = "";
	int n = attach(p, process, reason);
	p->tried = true;
	enum engine_end ended =
		n < 0 && !o->program ? refusal_check_ended(p->engine, pid) : ENGINE_OK;
	if (ended)
		return ended;
	bool missed = n >= 0 && report_missed(p);
	p->sees |= n >= 0 && o->blame && !bpf_source_refusal(p->source, BPF_BLAME);
	p->sees |= n >= 0 && engine_profiles(o) && !o->markers.count;
	if (n > 0)
		note_attached(p, pid, n);
	else if (n < 0)
		messages_error(r, "process %d: %s", pid, reason);
	else
		messages_at(r, LOG_VERBOSE, "process %d has no markers", pid);
	bool nothing = n < 0 || (!n && missed && !p->sees);
	if (nothing && engine_mode(o) != MODE_AUTO)
		return ENGINE_FAILED;
	return n >= 0 ? check_allocs(p, pid) : ENGINE_OK;
}

enum engine_end probing_check_ends(const struct probing *p)
{
	const struct engine_options *o = p->engine->options;
	struct bpf_counts counts = {0};
	if (p->source)
		bpf_source_counts(p->source, &counts);
	if (!o->needs_ends || o->wait || o->all || !counts.unprepared_sites ||
	    counts.alloc_sites > counts.unprepared_sites)
		return ENGINE_OK;
	messages_error(&p->engine->session->messages,
		       "%s needs to know when objects are collected; periodic samples of a program "
		       "that was not prepared do not have that: ebtrace mem hotspots -p %d shows "
		       "where it allocates",
		       o->needs_ends, o->pids[0]);
	return ENGINE_MISUSED;
}

void probing_emit_open(struct probing *p, struct sink *k)
{
	if (!k->wants_open)
		return;
	k->wants_open = false;
	uint64_t begin_ns = now_ns();
	if (p->source && engine_mode(p->engine->options) == MODE_COUNTERS) {
		bpf_source_count(p->source); /* an error comes again at the end */
		return;
	}
	int err = p->source ? bpf_source_flush_offcpu(p->source) : -ENOTSUP;
	if (!err) {
		p->engine->session->open_at = moment_at(begin_ns);
		p->engine->session->open_emitted = moment_at(now_ns());
	}
	if (err && p->source)
		messages_at(&p->engine->session->messages, LOG_VERBOSE,
			    "open intervals are not shown: %s", strerror(-err));
}

/* A program without markers is not probed while its ring is on, by anybody. */
static bool has_markers(const struct session *session)
{
	struct process_kind kind;
	for (size_t at = 0; processes_next_kind(&session->processes, &at, &kind);)
		if (kind.traits.runtime.language && kind.traits.runtime.language->has_markers)
			return true;
	return false;
}

void probing_report_missing(struct probing *p)
{
	const struct engine *e = p->engine;
	if (!*p->missing || !has_markers(e->session))
		return;
	/* A report needs neither: that a user lacks privileges is no news for its reader. */
	bool quiet = e->options->counts && !*p->unprobed;
	messages_at(&e->session->messages, quiet ? LOG_VERBOSE : LOG_NORMAL,
		    "%s; reading the rings alone, without thread and CPU%s", p->missing,
		    REFUSAL_HINT);
	*p->missing = 0;
}
