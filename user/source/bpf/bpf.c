// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/bpf.h"

#include "base/clock.h"
#include "base/log.h"
#include "proc/process.h"
#include "proc/timens.h"
#include "source/bpf/alloc_rest.h"
#include "source/bpf/attach_usdt.h"
#include "source/bpf/count_maps.h"
#include "source/bpf/features.h"
#include "source/bpf/kernel.h"
#include "source/bpf/link_keeper.h"
#include "source/bpf/link_price.h"
#include "source/bpf/other_users.h"
#include "source/bpf/records.h"
#include "source/bpf/recover.h"
#include "source/bpf/sampler.h"
#include "source/pages/faults.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_RING_BYTES  (16u << 20)
#define COUNTING_RING_BYTES (1u << 20) /* records are those of processes and lanes */
#define DEFAULT_QUEUE_BYTES (64u << 20)
#define DEFAULT_SLACK_NS    10000000u
#define DRAIN_NS	    1000000u	/* how often the buffer is drained */
#define DISPATCH_NS	    20000000u	/* a poll takes no longer */
#define COUNT_NS	    1000000000u /* how often maps of counts are read unasked */
#define UPDATE_NS	    100000000u	/* the most by which an attachment is late */

struct bpf_source {
	struct source base;
	struct probe_plan opt;
	struct bpf_kernel *kernel;
	struct session *session;
	struct code_frames *code;
	struct event_stacks *stacks; /* NULL: no event gets a stack */
	struct bpf_traced traced;
	struct bpf_lanes lanes;
	struct bpf_losses losses;
	struct bpf_records records;
	bool threads;	 /* records say when processes begin threads */
	unsigned absent; /* programs that are not loaded, a bit for each enum bpf_probe */
	struct bpf_counts counts;
	struct bpf_count_maps count_maps;
	struct bpf_counted counted;
	struct usdt_events usdt;
	uint64_t complete_ns; /* all that was in the ring buffer at this time has been received */
	uint64_t drained_ns;  /* the same, by a poll that began then and left nothing */
	uint64_t update_ns;
	struct link_price price;
	bool reported_cut; /* that probes were gone */
	unsigned reported; /* programs that are missed, a bit for each enum bpf_probe */
	struct bpf_refusal link_refusal; /* the last one of a link; err 0: none */
	struct bpf_recover recover;
	struct page_spaces pages;
	struct page_faults faults;
	struct sampler sampler;
	bool hurries; /* the run was asked to end */
};

/* ---- poll ---- */

/* A process lived, and its probes were not in place. */
static void report_unwatched(void *ctx, uint32_t process, uint64_t since_ns, uint64_t until_ns)
{
	struct bpf_source *s = ctx;
	uint32_t pid = processes_pid(&s->session->processes, process);
	messages_at(&s->session->messages, LOG_VERBOSE, "process %u: not watched for %llu us", pid,
		    (unsigned long long)(until_ns - since_ns) / 1000);
	/* Without memory for it the next event will fail too, and say so. */
	if (bpf_losses_unwatched(&s->losses, process, since_ns, until_ns))
		messages_at(&s->session->messages, LOG_VERBOSE, "pid %u: no memory", pid);
}

/* The process that held its probes was killed. */
static void report_cut(void *ctx, uint32_t process, uint64_t since_ns, uint64_t until_ns)
{
	struct bpf_source *s = ctx;
	if (!s->reported_cut)
		messages_at(&s->session->messages, LOG_NORMAL,
			    "process %u: the process that held its probes was killed; they "
			    "are attached again, and what happened meanwhile is lost",
			    processes_pid(&s->session->processes, process));
	s->reported_cut = true;
	if (bpf_losses_cut(&s->losses, process, since_ns, until_ns))
		messages_at(&s->session->messages, LOG_VERBOSE, "no memory for a loss");
	if (s->opt.yield == PROBE_TALLIES)
		bpf_kernel_count_gap(s->kernel);
}

/* Forks assign their children slots of these. */
static void offer_slots(struct bpf_source *s)
{
	while (!s->opt.no_follow && s->traced.in_kernel < EBT_FREE_SLOTS) {
		int slot = bpf_traced_reserve_slot(&s->traced);
		if (slot < 0)
			return;
		if (bpf_kernel_push_slot(s->kernel, (uint32_t)slot)) {
			bpf_traced_free_slot(&s->traced, (uint32_t)slot);
			return;
		}
		bpf_traced_offer_slot(&s->traced, (uint32_t)slot);
	}
}

static void report(void *ctx, const struct process_event *e)
{
	struct bpf_source *s = ctx;
	if (s->opt.report)
		s->opt.report(s->opt.ctx, e);
}

/* Its records have all been received, and its events read. One that claims to be of the future
 * waits to be merged: its process must not be released. */
static bool may_release(void *ctx, const struct bpf_process *proc)
{
	struct bpf_source *s = ctx;
	bool future;
	if (proc->end_ns >= s->drained_ns ||
	    !bpf_lanes_release(&s->lanes, proc->slot, proc->end_ns, s->complete_ns, &future))
		return false;
	if (future)
		processes_ref(&s->session->processes, proc->process);
	return true;
}

/* Dispatches what was spooled, and drains the buffer meanwhile, as the traced programs fill it. 0:
 * nothing is left; -EAGAIN, -ENOBUFS: something is; or -errno. */
static int dispatch(struct bpf_source *s, bool all)
{
	uint64_t end = all || s->records.stopped ? UINT64_MAX : s->records.started_ns + DISPATCH_NS;
	for (uint64_t now = now_ns(); now < end; now = now_ns()) {
		int n = bpf_records_dispatch(&s->records, now + DRAIN_NS);
		if (n <= 0)
			return n;
		n = bpf_kernel_read(s->kernel, false);
		if (n && n != -ENOBUFS && n != -EAGAIN)
			return n;
	}
	return bpf_spool_bytes(&s->records.spool) ? -EAGAIN : 0;
}

/* all: also a record that is being written, and however long it takes. */
static int look(struct bpf_source *s, bool all)
{
	bpf_records_begin_poll(&s->records, now_ns());
	if (!s->records.stopped && bpf_records_bytes(&s->records) >= s->opt.queue_bytes)
		return 0;
	/* Counted before the records are read, and the time taken behind it: what was dropped up to
	 * then has no record behind it that has not been read. */
	uint64_t dropped = bpf_kernel_dropped(s->kernel).nowhere, counted_ns = now_ns();
	int n = bpf_kernel_read(s->kernel, all), err = 0;
	if (n && n != -ENOBUFS && n != -EAGAIN)
		return n;
	uint64_t last = s->records.spool.put;
	int left = dispatch(s, all);
	if (left && left != -ENOBUFS && left != -EAGAIN)
		return left;
	bool is_drained = !n && s->records.spool.got >= last;
	if (is_drained || s->records.stopped)
		err = bpf_losses_count(&s->losses, dropped, s->records.started_ns, counted_ns);
	/* Where the queues are full, or a record is being written, it is complete up to the last
	 * one. What waits for symbols may say more of the events before it. */
	uint64_t to = s->records.received_ns < s->records.started_ns ? s->records.received_ns
								     : s->records.started_ns;
	if (is_drained)
		s->complete_ns = s->drained_ns = s->records.started_ns;
	else if (to > s->complete_ns && now_ns() >= s->records.retry_ns)
		s->complete_ns = to;
	return err;
}

/* For a check of page tables: everything up to now has been received. */
static int drain(void *ctx, uint32_t *dropped)
{
	struct bpf_source *s = ctx;
	*dropped = (uint32_t)bpf_kernel_dropped(s->kernel).nowhere;
	int err = look(s, true);
	return err || s->drained_ns == s->records.started_ns ? err : -EAGAIN;
}

static int check_pages(struct bpf_source *s, bool all)
{
	if (!s->opt.pages)
		return 0;
	int err = page_spaces_check(&s->pages, now_ns(), all);
	return err ? err : s->traced.error;
}

static int count(struct bpf_source *s)
{
	int err = s->opt.yield == PROBE_TALLIES ? bpf_counted_read(&s->counted, now_ns()) : 0;
	return err ? err : s->traced.error;
}

static int bpf_source_poll(struct source *base)
{
	struct bpf_source *s = (struct bpf_source *)base;
	s->lanes.wake_at = 0;
	if (s->records.stopped)
		return 0;
	code_frames_poll(s->code);
	int err = look(s, false);
	if (!err && s->drained_ns == s->records.started_ns)
		err = bpf_recover(&s->recover, s->kernel, &s->traced, &s->losses,
				  s->records.started_ns);
	bpf_traced_hold_young(&s->traced);
	if (s->records.started_ns >= s->update_ns + UPDATE_NS) {
		bpf_traced_update_all(&s->traced);
		bpf_recover_late(s->kernel, &s->traced, s->records.started_ns);
		/* Of many processes that takes its time. */
		s->update_ns = s->records.started_ns + 4 * (now_ns() - s->records.started_ns);
	}
	bpf_traced_release(&s->traced, may_release, s);
	offer_slots(s);
	if (!err && s->records.started_ns >= s->counted.read_ns + COUNT_NS)
		err = count(s);
	if (!err)
		err = check_pages(s, false);
	s->base.lanes = s->lanes.lanes;
	return err;
}

static bool bpf_source_wakes(struct source *base, uint32_t *ret)
{
	struct bpf_source *s = (struct bpf_source *)base;
	return bpf_lanes_wakes(&s->lanes, s->records.stopped, ret);
}

static uint64_t bpf_source_horizon(struct source *base, uint32_t lane)
{
	struct bpf_source *s = (struct bpf_source *)base;
	bool has_events = lane != SOURCE_ASLEEP && s->lanes.lane[lane].count;
	if (!has_events && s->records.stopped)
		return UINT64_MAX;
	return s->complete_ns > s->opt.slack_ns ? s->complete_ns - s->opt.slack_ns : 0;
}

static int bpf_source_read(struct source *base, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct bpf_source *s = (struct bpf_source *)base;
	uint64_t until = s->records.stopped ? UINT64_MAX : bpf_source_horizon(base, lane);
	size_t n = bpf_lanes_read(&s->lanes, lane, until, ev, cap);
	if (n)
		return (int)n;
	return s->records.stopped ? 0 : -EAGAIN;
}

static int bpf_source_stop(struct source *base)
{
	struct bpf_source *s = (struct bpf_source *)base;
	if (s->records.stopped)
		return 0;
	int err = check_pages(s, true);
	err = err ? err : bpf_source_flush_offcpu(base);
	if (!err && s->opt.yield == PROBE_TALLIES)
		err = look(s, true); /* lanes are announced */
	uint64_t until_ns = now_ns();
	/* Where probes are removed one by one there are ends without begins. */
	bpf_source_begin_run(base, UINT64_MAX);
	if (!err && s->opt.yield == PROBE_TALLIES)
		err = bpf_counted_stop(&s->counted, until_ns);
	bpf_records_until(&s->records, until_ns);
	page_spaces_until(&s->pages, until_ns);
	processes_none_lone(&s->session->processes, until_ns);
	bpf_kernel_stop_offcpu(s->kernel);
	page_faults_detach(&s->faults);
	sampler_stop(&s->sampler);
	bpf_traced_detach(&s->traced);
	bpf_kernel_stop_links(s->kernel);
	bpf_kernel_detach(s->kernel);
	bpf_records_stop(&s->records);
	code_frames_put_off(s->code, false);
	if (!err)
		err = look(s, true);
	if (!err)
		err = bpf_recover(&s->recover, s->kernel, &s->traced, &s->losses,
				  s->records.started_ns);
	if (!err && s->opt.yield == PROBE_TALLIES)
		err = bpf_counted_stop(&s->counted, until_ns);
	s->base.lanes = s->lanes.lanes;
	return err;
}

void bpf_source_hurry(struct source *base)
{
	struct bpf_source *s = (struct bpf_source *)base;
	code_frames_hurry(s->code);
	if (!s->hurries && !s->counts.multi)
		link_price_hurry(&s->session->messages, bpf_traced_sites(&s->traced));
	s->hurries = true;
}

static void bpf_source_free(struct source *base)
{
	struct bpf_source *s = (struct bpf_source *)base;
	sampler_stop(&s->sampler);
	page_faults_detach(&s->faults);
	page_spaces_done(&s->pages);
	bpf_traced_done(&s->traced);
	bpf_kernel_free(s->kernel);
	bpf_lanes_done(&s->lanes);
	bpf_records_done(&s->records);
	event_stacks_free(s->stacks);
	code_frames_free(s->code);
	bpf_counted_done(&s->counted);
	usdt_events_done(&s->usdt);
	free(s);
}

static const struct source_ops bpf_source_ops = {
	.poll = bpf_source_poll,
	.wakes = bpf_source_wakes,
	.read = bpf_source_read,
	.horizon = bpf_source_horizon,
	.stop = bpf_source_stop,
	.free = bpf_source_free,
};

/* ---- set-up ---- */

static void report_price(void *ctx, uint32_t sites)
{
	struct bpf_source *s = ctx;
	link_price_report(&s->price, &s->session->messages, s->opt.attach,
			  sites + bpf_traced_sites(&s->traced));
}

static int attach_link(void *ctx, const struct link_spec *spec)
{
	struct bpf_source *s = ctx;
	int fd = bpf_kernel_attach(s->kernel, spec);
	struct bpf_attempt a = {.step = BPF_STEP_UPROBE,
				.err = fd,
				.needs = BPF_NEEDS | (s->counts.multi ? 0 : 1ull << CAP_SYS_ADMIN)};
	if (fd == -EPERM || fd == -EACCES) {
		bpf_refuse(&a, &s->link_refusal);
		/* It will not be permitted later. */
		bpf_traced_refuse(&s->traced, (enum bpf_probe)spec->probe);
	}
	return fd;
}

static int set_table(void *ctx, enum bpf_table table, uint64_t key, const void *value)
{
	return bpf_kernel_set(((struct bpf_source *)ctx)->kernel, table, key, value);
}

static void report_rest(void *ctx, uint32_t key)
{
	struct bpf_source *s = ctx;
	bpf_alloc_rest(s->kernel, s->opt.memory, &s->records, key);
}

static uint64_t count_foreign(void *ctx, uint32_t key)
{
	return bpf_kernel_foreign(((struct bpf_source *)ctx)->kernel, key);
}

static bool is_ours(void *ctx, uint64_t dev, uint64_t inode)
{
	return bpf_traced_alone(&((struct bpf_source *)ctx)->traced, dev, inode);
}

static int emit_page_event(void *ctx, const struct ebt_event *ev)
{
	return bpf_records_emit(&((struct bpf_source *)ctx)->records, ev);
}

static struct mappings *mappings_of(void *ctx, uint32_t process)
{
	struct bpf_source *s = ctx;
	return &processes_announce(&s->session->processes, process)->mappings;
}

static void set_pages(struct bpf_source *s)
{
	if (!s->opt.pages)
		return;
	s->pages.out = (struct page_output){
		.page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
		.flags = EBT_F_BPF,
		.memory = s->opt.memory,
		.emit = emit_page_event,
		.drain = drain,
		.mappings = mappings_of,
		.ctx = s,
	};
}

/* The environment of the attachers: what the options ask for, of what the kernel has loaded. */
static struct attach_env env_of(struct bpf_source *s)
{
	const struct probe_plan *opt = &s->opt;
	return (struct attach_env){
		.messages = &s->session->messages,
		.set = set_table,
		.report_rest = report_rest,
		.ctx = s,
		.plan = opt,
		.share = !opt->no_follow && s->counts.multi,
		/* What a program of ours starts comes and goes too fast for links of its own. */
		.shares_unasked = opt->hold,
		.is_ours = opt->everyone ? NULL : is_ours,
		.stacks = opt->stacks && (bpf_kernel_features(s->kernel) >> BPF_STACKS & 1),
		.usdt_names = &s->usdt.names,
		.absent = s->absent,
	};
}

static void init_traced(struct bpf_source *s)
{
	const struct probe_plan *opt = &s->opt;
	struct bpf_scanner by = {
		.inspect = opt->inspect,
		.links = {.attach = attach_link,
			  .announce = s->counts.multi ? NULL : report_price,
			  .holds = link_keeper_holds,
			  .foreign = opt->everyone ? NULL : count_foreign,
			  .ctx = s},
		.env = env_of(s),
	};
	bpf_traced_init(&s->traced,
			&(struct bpf_traced_options){
				.processes = &s->session->processes,
				.code = s->code,
				.pages = opt->pages ? &s->pages : NULL,
				.counted = opt->yield == PROBE_TALLIES ? &s->counted : NULL,
				.notices = opt->hold && !opt->pages
						   ? bpf_kernel_exec_notices(s->kernel)
						   : 0,
				.no_files = opt->pages,
				.threads = s->threads,
				.unwatched = opt->pages ? NULL : report_unwatched,
				.cut = report_cut,
				.report = report,
				.ctx = s,
			},
			&by);
}

static int init_records(struct bpf_source *s)
{
	const struct probe_plan *opt = &s->opt;
	return bpf_records_init(&s->records,
				&(struct bpf_records_options){
					.session = s->session,
					.traced = &s->traced,
					.lanes = &s->lanes,
					.losses = &s->losses,
					.code = s->code,
					.stacks = s->stacks,
					.pages = opt->pages ? &s->pages : NULL,
					.counted = opt->yield == PROBE_TALLIES ? &s->counted : NULL,
					.usdt = opt->markers ? &s->usdt : NULL,
					.queue_bytes = opt->queue_bytes,
					.boottime_offset_ns = timens_own().boottime_ns,
					.threads = s->threads,
					.sample_ns = opt->sample_ns,
					.offcpu_domain = opt->profile,
					.stacks_of = opt->kernel_stacks ? s->kernel : NULL,
				});
}

static int new_kernel(struct bpf_source *s)
{
	struct bpf_kernel_options kernel = {.plan = &s->opt,
					    .multi = s->counts.multi,
					    .features = bpf_features_wanted(&s->opt),
					    .rooms = bpf_features_rooms(&s->opt),
					    .messages = &s->session->messages,
					    .receive = bpf_records_take,
					    .stacks = event_stacks_choice(s->stacks),
					    .ctx = &s->records};
	int err = bpf_kernel_new(&kernel, &s->kernel);
	unsigned has = err ? 0 : bpf_kernel_features(s->kernel);
	for (enum bpf_probe p = 0; p < BPF_PROBES; p++)
		if (!(has & BPF_FEATURE(bpf_feature_of(p))))
			s->absent |= 1u << p;
	s->threads = has >> BPF_BLAME & 1;
	return err;
}

static int set_up(struct bpf_source *s)
{
	int err = bpf_lanes_init(&s->lanes);
	if (!err)
		err = code_frames_new(s->session, &s->code);
	if (!err) {
		code_frames_read_by(s->code, s->opt.memory);
		code_frames_put_off(s->code, true);
	}
	if (!err && s->opt.stacks)
		err = event_stacks_new(s->session, s->opt.stack_globs, s->opt.stack_glob_count,
				       s->opt.stack_pause_ns, &s->stacks);
	err = err ? err : usdt_events_init(&s->usdt, s->session, s->opt.markers);
	err = err ? err : new_kernel(s);
	if (err)
		return err;
	set_pages(s);
	init_traced(s);
	return init_records(s);
}

static int start_samples(struct bpf_source *s, char *reason)
{
	int none, program;
	bpf_kernel_event_programs(s->kernel, BPF_SAMPLES, &none, &program);
	int err = sampler_start(&s->sampler, program, s->opt.sample_ns);
	return err ? other_users_explain(err, "cannot take samples", reason) : 0;
}

int bpf_source_new(struct session *session, const struct probe_plan *opt, struct source **ret,
		   char *reason)
{
	struct bpf_source *s = calloc(1, sizeof(*s));
	if (!s)
		return other_users_explain(-ENOMEM, "bpf", reason);
	s->base.ops = &bpf_source_ops;
	s->session = session;
	s->opt = *opt;
	bool small = opt->yield == PROBE_TALLIES && !opt->offcpu;
	if (!s->opt.ring_bytes)
		s->opt.ring_bytes = small ? COUNTING_RING_BYTES : DEFAULT_RING_BYTES;
	if (!s->opt.queue_bytes)
		s->opt.queue_bytes = DEFAULT_QUEUE_BYTES;
	if (!s->opt.slack_ns)
		s->opt.slack_ns = DEFAULT_SLACK_NS;
	s->counts.multi = opt->attach != BPF_ATTACH_PERF &&
			  (opt->attach == BPF_ATTACH_MULTI || uprobe_multi_works());
	int err = set_up(s);
	if (err)
		other_users_explain(err, "cannot load the BPF programs", reason);
	else
		err = bpf_features_check(s->kernel, opt, reason);
	if (!err && opt->sample_ns)
		err = start_samples(s, reason);
	if (!err && opt->yield == PROBE_TALLIES)
		bpf_count_maps_open(s->kernel, opt->coarse, &s->count_maps, &session->tallies,
				    &s->counted);
	if (err) {
		bpf_source_free(&s->base);
		return err;
	}
	s->faults.children = !opt->no_follow;
	bpf_kernel_event_programs(s->kernel, opt->pages ? BPF_PAGES : BPF_FAULTS, &s->faults.begin,
				  &s->faults.end);
	s->base.lanes = s->lanes.lanes;
	offer_slots(s);
	s->update_ns = now_ns();
	bpf_recover_init(&s->recover, s->update_ns);
	bpf_losses_init(&s->losses, &s->lanes, &s->traced, s->update_ns);
	*ret = &s->base;
	return 0;
}

/* A child may have been found in /proc before the record of its fork was received, which has the
 * time since which it has not been watched; without that record the map has its slot. */
static struct bpf_process *find_child(struct bpf_source *s, pid_t pid)
{
	uint32_t slot;
	int err = look(s, true);
	if (!err && !bpf_traced_find(&s->traced, pid) && bpf_kernel_find(s->kernel, pid, &slot))
		bpf_traced_add_child(&s->traced, pid, slot, &(struct bpf_birth){0},
				     s->records.started_ns);
	s->base.lanes = s->lanes.lanes;
	return bpf_traced_find(&s->traced, pid);
}

/* First among the traced, so that no child is born unseen while its parent is attached. */
static struct bpf_process *add_process(struct bpf_source *s, pid_t pid)
{
	struct bpf_process *proc = bpf_traced_find(&s->traced, pid);
	if (!proc)
		proc = find_child(s, pid);
	int slot = proc ? 0 : bpf_traced_reserve_slot(&s->traced);
	if (proc || slot < 0)
		return proc;
	int err = bpf_kernel_add(s->kernel, pid, (uint32_t)slot);
	if (err == -EEXIST)
		proc = find_child(s, pid);
	if (proc) {
		bpf_traced_free_slot(&s->traced, (uint32_t)slot);
		return proc;
	}
	if (err)
		messages_at(&s->session->messages, LOG_VERBOSE,
			    "pid %d: children are not followed: %s", pid, strerror(-err));
	/* Children inherit it. */
	if (s->faults.begin >= 0 && (err = page_faults_attach(&s->faults, pid)) < 0)
		bpf_features_report_untimed(&s->session->messages, pid, err);
	proc = bpf_traced_begin(&s->traced, (uint32_t)slot, pid, NULL);
	if (!proc)
		bpf_traced_free_slot(&s->traced, (uint32_t)slot);
	return proc;
}

/* The number of its threads, or -errno. */
static int attach_pages(struct bpf_source *s, struct bpf_process *proc)
{
	if (proc->pages.space)
		return 1;
	int err = bpf_traced_begin_pages(&s->traced, proc);
	int n = err ? err : page_faults_attach(&s->faults, proc->pid);
	if (n < 0)
		return n;
	err = page_user_check(&s->pages, &proc->pages);
	return err ? err : n;
}

void bpf_source_record_code(struct source *base, pid_t pid)
{
	struct bpf_source *s = (struct bpf_source *)base;
	if (s->opt.stacks || s->opt.allocs || s->opt.sample_ns || s->opt.offcpu_stacks)
		code_frames_record(s->code, pid);
}

int bpf_source_trace(struct source *base, pid_t pid, uint64_t born_ns, char *reason)
{
	struct bpf_source *s = (struct bpf_source *)base;
	char what[64];
	bool can = pid > 0 && !s->records.stopped;
	struct bpf_process *proc = can ? add_process(s, pid) : NULL;
	snprintf(what, sizeof(what), "cannot attach to pid %d", pid);
	if (!proc)
		return other_users_explain(can ? -ENOMEM : -EINVAL, what, reason);
	if (born_ns && !proc->born_ns) {
		proc->born_ns = born_ns;
		proc->found_ns = now_ns();
	}
	return 0;
}

int bpf_source_attach(struct source *base, pid_t pid, const struct maps_list *maps,
		      uint64_t read_ns, char *reason)
{
	struct bpf_source *s = (struct bpf_source *)base;
	struct bpf_process *proc = bpf_traced_find(&s->traced, pid);
	char what[64];
	snprintf(what, sizeof(what), "cannot attach to pid %d", pid);
	if (!proc)
		return other_users_explain(-ESRCH, what, reason);
	int n = s->opt.pages ? attach_pages(s, proc)
			     : bpf_traced_scan(&s->traced, proc, maps, read_ns);
	bool refused = (n == -EPERM || n == -EACCES) && s->link_refusal.err;
	/* Blame needs no link. */
	if (refused && s->threads)
		n = 0;
	int err = s->threads && n >= 0 ? bpf_kernel_begin_offcpu(s->kernel) : 0;
	if (err)
		messages_at(&s->session->messages, LOG_NORMAL,
			    "pid %d: its threads are not all known: %s", pid, strerror(-err));
	s->base.lanes = s->lanes.lanes;
	if (n >= 0)
		return n;
	bpf_kernel_remove(s->kernel, pid);
	page_user_end(&s->pages, &proc->pages, now_ns());
	bpf_traced_end(&s->traced, proc);
	if (!refused)
		return other_users_explain(n == -ENOENT ? -ESRCH : n, what, reason);
	snprintf(reason, BPF_REASON_BYTES, "%.40s: %s", what, s->link_refusal.why);
	return n;
}

int bpf_source_scan(struct source *base, pid_t pid, const struct maps_list *maps, uint64_t read_ns)
{
	struct bpf_source *s = (struct bpf_source *)base;
	/* An exec before read_ns is known first: else its files were taken for the old
	 * program's. */
	int err = s->records.stopped ? 0 : look(s, true);
	struct bpf_process *proc = s->records.stopped ? NULL : bpf_traced_find(&s->traced, pid);
	if (!proc || err)
		return err;
	if (bpf_traced_expect(&s->traced, proc, maps))
		err = look(s, true);
	if (err)
		return err;
	/* They may be the old program's: the exec has them read again, and the new program is
	 * held until then. */
	if (bpf_traced_is_older(proc, read_ns))
		return 0;
	int n = bpf_traced_scan(&s->traced, proc, maps, read_ns);
	if (!proc->pending && proc->young)
		bpf_traced_hold_young(&s->traced);
	s->base.lanes = s->lanes.lanes;
	return n;
}

void bpf_source_unchanged(struct source *base, pid_t pid, uint64_t read_ns)
{
	struct bpf_source *s = (struct bpf_source *)base;
	struct bpf_process *proc = bpf_traced_find(&s->traced, pid);
	if (proc)
		bpf_traced_unchanged(proc, read_ns);
}

const struct bpf_refusal *bpf_source_refusal(struct source *base, enum bpf_feature f)
{
	return bpf_kernel_refusal(((struct bpf_source *)base)->kernel, f);
}

const struct bpf_refusal *bpf_source_missed(struct source *base, enum bpf_feature *ret)
{
	struct bpf_source *s = (struct bpf_source *)base;
	for (enum bpf_probe p = 0; p < BPF_PROBES; p++) {
		unsigned program = 1u << p;
		*ret = bpf_feature_of(p);
		if (!(s->traced.by.env.missed & program & ~s->reported))
			continue;
		s->reported |= program;
		const struct bpf_refusal *why = bpf_kernel_refusal(s->kernel, *ret);
		if (!why && s->link_refusal.err)
			why = &s->link_refusal;
		if (why)
			return why;
	}
	return NULL;
}

const struct marker_request *bpf_source_unfound(struct source *base, unsigned *at,
						enum marker_end *ret_end)
{
	return attach_usdt_unfound(&((struct bpf_source *)base)->traced.by.env, at, ret_end);
}

int bpf_source_flush_offcpu(struct source *base)
{
	struct bpf_source *s = (struct bpf_source *)base;
	if (!s->threads || s->records.stopped)
		return 0;
	/* First, so that there is room. */
	int err = look(s, false);
	if (!err)
		err = bpf_kernel_flush_offcpu(s->kernel);
	if (!err)
		err = look(s, false);
	s->base.lanes = s->lanes.lanes;
	return err;
}

void bpf_source_begin_run(struct source *base, uint64_t ns)
{
	struct bpf_source *s = (struct bpf_source *)base;
	bpf_kernel_begin_run(s->kernel, ns);
}

int bpf_source_count(struct source *base)
{
	struct bpf_source *s = (struct bpf_source *)base;
	return s->records.stopped ? 0 : count(s);
}

void bpf_source_set_level(struct source *base, enum ebt_level level)
{
	struct bpf_source *s = (struct bpf_source *)base;
	bpf_kernel_set_level(s->kernel, level);
	s->traced.by.env.lean = level >= EBT_LEVEL_RINGS;
	s->losses.hold_ns = level == EBT_LEVEL_COUNTS ? 1000000000 : 0;
}

struct ebt_hits bpf_source_hits(struct source *base)
{
	return bpf_features_hits(((struct bpf_source *)base)->kernel);
}

int bpf_source_fd(struct source *base)
{
	return bpf_kernel_fd(((struct bpf_source *)base)->kernel);
}

uint64_t bpf_source_complete_ns(struct source *base)
{
	return ((struct bpf_source *)base)->complete_ns;
}

void bpf_source_counts(struct source *base, struct bpf_counts *ret)
{
	struct bpf_source *s = (struct bpf_source *)base;
	struct ebt_dropped dropped = bpf_kernel_dropped(s->kernel);
	*ret = s->counts;
	ret->events = s->records.events;
	ret->dropped_in_ring = dropped.in_ring;
	ret->dropped = dropped.nowhere;
	ret->dropped_stacks = dropped.stacks;
	ret->samples = bpf_kernel_sample_counts(s->kernel).taken;
	ret->other_samples = bpf_kernel_sample_counts(s->kernel).of_others;
	ret->sites = bpf_traced_sites(&s->traced);
	ret->alloc_sites = s->traced.by.env.alloc_sites;
	ret->unprepared_sites = s->traced.by.env.unprepared_sites;
	ret->pages = s->pages.out.counts;
}
