// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_source.h"

#include "base/clock.h"
#include "base/log.h"
#include "bpf/abi.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ebtrace.skel.h"

#define DEFAULT_RING_BYTES  (16u << 20)
#define DEFAULT_QUEUE_BYTES (64u << 20)
#define DEFAULT_SLACK_NS    10000000u
#define RESCAN_NS	    100000000u /* a new library is found so late at most */
#define INITIAL_PIDNS_INO   0xeffffffcu

/* libbpf's own messages speak of its insides, and some mislead: they are for our debug log. */
static int log_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	if (log_level < LOG_DEBUG)
		return 0;
	char line[512];
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = 0;
	log_at(LOG_DEBUG, "%s", line);
	return n;
}

static int explain(int err, const char *what, char *reason)
{
	const char *why = strerror(-err);
	if (err == -EPERM)
		why = "needs CAP_BPF and CAP_PERFMON, or root";
	else if (err == -EACCES)
		why = "its files are not ours to read: needs its user, CAP_SYS_PTRACE, or root";
	else if (err == -ESRCH)
		why = "no such process";
	snprintf(reason, BPF_REASON_BYTES, "%s: %s", what, why);
	return err;
}

/* ---- links ---- */

static struct bpf_program *program_of(const struct bpf_source *s, enum bpf_probe which)
{
	return which == BPF_PROBE_OCAML ? s->skel->progs.ebt_ocaml_function
					: s->skel->progs.ebt_marker;
}

static int make_perf_links(struct bpf_program *prog, const char *path, const struct link_spec *spec)
{
	for (uint32_t i = 0; i < spec->sites; i++) {
		const struct uprobe_site *at = &spec->site[i];
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = at->semaphore,
			    .bpf_cookie = at->cookie);
		pid_t pid = spec->pid > 0 ? spec->pid : -1;
		if (!bpf_program__attach_uprobe_opts(prog, pid, path, at->offset, &opts))
			return -errno;
	}
	return 0;
}

/* In a process of its own, whose end closes what is made here. */
static int make_link(void *ctx, const struct link_spec *spec)
{
	struct bpf_source *s = ctx;
	struct bpf_program *prog = program_of(s, (enum bpf_probe)spec->probe);
	char path[32];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", spec->file);
	if (!s->counts.multi)
		return make_perf_links(prog, path, spec);
	int fd = uprobe_multi_attach(bpf_program__fd(prog), path, spec->pid, spec->site,
				     spec->sites);
	return fd < 0 ? fd : 0;
}

static int start_keeper(struct bpf_source *s)
{
	struct link_maker maker = {
		.make = make_link,
		.ctx = s,
		.fds = {bpf_program__fd(program_of(s, BPF_PROBE_MARKER)),
			bpf_program__fd(program_of(s, BPF_PROBE_OCAML)), -1, -1},
	};
	return link_keeper_new(&maker, &s->keeper);
}

/* Waits until no link is left. */
static void stop_keeper(struct bpf_source *s)
{
	link_keeper_free(s->keeper);
	s->keeper = NULL;
}

static int attach_link(void *ctx, enum bpf_probe which, int file, pid_t pid,
		       const struct uprobe_site *site, uint32_t sites)
{
	struct bpf_source *s = ctx;
	struct link_spec spec = {
		.file = file, .probe = which, .pid = pid, .site = site, .sites = sites};
	return link_keeper_attach(s->keeper, &spec);
}

static int set_runtime(void *ctx, uint32_t index, const struct ebt_ocaml_runtime *r)
{
	struct bpf_source *s = ctx;
	int map = bpf_map__fd(s->skel->maps.ebt_ocaml);
	return bpf_map_update_elem(map, &index, r, BPF_ANY) ? -errno : 0;
}

static uint64_t count_foreign(void *ctx, uint32_t index)
{
	struct bpf_source *s = ctx;
	int cpus = libbpf_num_possible_cpus();
	uint64_t *n = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*n)), sum = 0;
	if (n && cpus > 0 &&
	    !bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.ebt_foreign), &index, n))
		for (int i = 0; i < cpus; i++)
			sum += n[i];
	free(n);
	return sum;
}

/* ---- poll ---- */

/* A process lived, and its probes were not in place. */
static void tell_unwatched(void *ctx, uint32_t slot, uint64_t since_ns, uint64_t until_ns)
{
	struct bpf_source *s = ctx;
	struct ebt_event ev = {
		.ts = until_ns,
		.pos = since_ns,
		.pid = (uint32_t)bpf_targets_pid(&s->targets, slot),
		.kind = EBT_LOST,
		.domain = EBT_NO_DOMAIN,
		.cpu = EBT_NO_CPU,
		.flags = EBT_F_BPF | EBT_F_HISTORY,
		.arg = {EBT_LOST_UNCOUNTED, 0},
	};
	log_at(LOG_VERBOSE, "process %u: not watched for %llu us", ev.pid,
	       (unsigned long long)(until_ns - since_ns) / 1000);
	/* Without memory for it the next event will fail too, and say so. */
	if (bpf_lanes_add(&s->lanes, 0, &ev))
		log_at(LOG_VERBOSE, "pid %u: no memory", ev.pid);
}

/* If a record about a process was dropped, the map of traced processes still knows of it. */
static void find_lost_children(struct bpf_source *s)
{
	uint64_t seen = __atomic_load_n(&s->skel->bss->ebt_dropped.control, __ATOMIC_RELAXED);
	if (seen == s->control_seen)
		return;
	s->control_seen = seen;
	int map = bpf_map__fd(s->skel->maps.ebt_traced);
	uint32_t pid, *last = NULL;
	while (!bpf_map_get_next_key(map, last, &pid)) {
		bpf_records_add_child(s, (pid_t)pid, UINT32_MAX, s->started_ns);
		last = &pid;
	}
	for (uint32_t i = 0; i < s->targets.targets; i++) {
		uint8_t one;
		pid = (uint32_t)bpf_targets_pid(&s->targets, i);
		if (s->skel->links.ebt_process_exit && bpf_map_lookup_elem(map, &pid, &one)) {
			bpf_targets_end(&s->targets, i);
			bpf_lanes_end(&s->lanes, i);
		}
	}
}

static int look(struct bpf_source *s)
{
	s->started_ns = now_ns();
	if (!s->stopped && bpf_records_bytes(s) >= s->opt.queue_bytes)
		return 0;
	int n = ring_buffer__consume(s->rb);
	if (n < 0 && n != -ENOBUFS)
		return n;
	uint64_t dropped = __atomic_load_n(&s->skel->bss->ebt_dropped.nowhere, __ATOMIC_RELAXED);
	int err = bpf_records_lost(s, dropped, s->started_ns);
	/* Where the queues were full, what was taken is complete up to its last record. */
	uint64_t to = s->taken_ns < s->started_ns ? s->taken_ns : s->started_ns;
	if (n >= 0)
		s->complete_ns = s->started_ns;
	else if (to > s->complete_ns)
		s->complete_ns = to;
	return err;
}

static int bpf_source_poll(struct source *base)
{
	struct bpf_source *s = (struct bpf_source *)base;
	if (s->stopped)
		return 0;
	int err = look(s);
	find_lost_children(s);
	bpf_targets_scan_pending(&s->targets);
	if (s->started_ns >= s->rescan_ns + RESCAN_NS) {
		bpf_targets_scan_all(&s->targets);
		/* Of many processes with many mappings that takes its time. */
		s->rescan_ns = s->started_ns + 4 * (now_ns() - s->started_ns);
	}
	s->base.lanes = s->lanes.lanes;
	return err;
}

static uint64_t bpf_source_horizon(struct source *base, uint32_t lane)
{
	struct bpf_source *s = (struct bpf_source *)base;
	const struct bpf_lane *q = &s->lanes.lane[lane];
	if (!q->count && (s->stopped || q->ended))
		return UINT64_MAX;
	return s->complete_ns > s->opt.slack_ns ? s->complete_ns - s->opt.slack_ns : 0;
}

static int bpf_source_read(struct source *base, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct bpf_source *s = (struct bpf_source *)base;
	uint64_t until = s->stopped ? UINT64_MAX : bpf_source_horizon(base, lane);
	size_t n = bpf_lanes_take(&s->lanes, lane, until, ev, cap);
	if (n)
		return (int)n;
	return s->stopped || s->lanes.lane[lane].ended ? 0 : -EAGAIN;
}

static int bpf_source_stop(struct source *base)
{
	struct bpf_source *s = (struct bpf_source *)base;
	if (s->stopped)
		return 0;
	s->until_ns = now_ns();
	bpf_targets_detach(&s->targets);
	stop_keeper(s);
	ebtrace_bpf__detach(s->skel);
	s->stopped = true;
	int err = look(s);
	s->base.lanes = s->lanes.lanes;
	return err;
}

static void bpf_source_free(struct source *base)
{
	struct bpf_source *s = (struct bpf_source *)base;
	bpf_targets_done(&s->targets);
	stop_keeper(s);
	bpf_lanes_done(&s->lanes);
	ring_buffer__free(s->rb);
	ebtrace_bpf__destroy(s->skel);
	free(s);
}

static const struct source_ops bpf_source_ops = {
	.poll = bpf_source_poll,
	.read = bpf_source_read,
	.horizon = bpf_source_horizon,
	.stop = bpf_source_stop,
	.free = bpf_source_free,
};

/* ---- set-up ---- */

static void set_pidns(struct ebtrace_bpf *skel)
{
	struct stat st;
	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != INITIAL_PIDNS_INO) {
		skel->rodata->ebt_pidns_dev = st.st_dev;
		skel->rodata->ebt_pidns_ino = st.st_ino;
	}
}

static int load(struct bpf_source *s)
{
	s->skel = ebtrace_bpf__open();
	if (!s->skel)
		return -errno;
	int err = bpf_map__set_max_entries(s->skel->maps.ebt_channel, (uint32_t)s->opt.ring_bytes);
	if (err)
		return err;
	for (enum bpf_probe p = BPF_PROBE_MARKER; s->counts.multi && p <= BPF_PROBE_OCAML; p++)
		bpf_program__set_expected_attach_type(
			program_of(s, p), (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
	s->skel->rodata->ebt_follow = !s->opt.no_follow;
	set_pidns(s->skel);
	/* Without the kernel's BTF the markers can be had still, but no child can be followed. */
	bool btf = !access("/sys/kernel/btf/vmlinux", R_OK);
	bpf_program__set_autoload(s->skel->progs.ebt_process_fork, btf);
	bpf_program__set_autoload(s->skel->progs.ebt_process_exec, btf);
	bpf_program__set_autoload(s->skel->progs.ebt_process_exit, btf);
	bpf_program__set_autoload(s->skel->progs.ebt_ocaml_function, btf);
	bpf_program__set_autoattach(s->skel->progs.ebt_marker, false);
	bpf_program__set_autoattach(s->skel->progs.ebt_ocaml_function, false);
	if (!btf)
		log_at(LOG_NORMAL, "this kernel has no BTF: child processes are not followed, and "
				   "OCaml programs are seen through their rings alone");
	err = ebtrace_bpf__load(s->skel);
	if (!err)
		err = start_keeper(s);
	if (err)
		return err;
	err = ebtrace_bpf__attach(s->skel);
	if (err)
		return err;
	s->rb = ring_buffer__new(bpf_map__fd(s->skel->maps.ebt_channel), bpf_records_take, s, NULL);
	return s->rb ? 0 : -errno;
}

int bpf_source_new(struct session *session, const struct bpf_options *opt, struct source **ret,
		   char *reason)
{
	struct bpf_source *s = calloc(1, sizeof(*s));
	if (!s)
		return explain(-ENOMEM, "bpf", reason);
	s->base.ops = &bpf_source_ops;
	s->session = session;
	s->opt = *opt;
	if (!s->opt.ring_bytes)
		s->opt.ring_bytes = DEFAULT_RING_BYTES;
	if (!s->opt.queue_bytes)
		s->opt.queue_bytes = DEFAULT_QUEUE_BYTES;
	if (!s->opt.slack_ns)
		s->opt.slack_ns = DEFAULT_SLACK_NS;
	s->targets.attach = attach_link;
	s->targets.set_runtime = set_runtime;
	s->targets.unwatched = tell_unwatched;
	s->targets.ctx = s;
	s->targets.inspect = opt->inspect;
	s->targets.watermark_only = opt->watermark_only;
	s->targets.no_ring_request = opt->no_ring_request;
	s->targets.ring_request_always = opt->ring_request_always;
	s->targets.hold = opt->hold;
	s->targets.foreign = count_foreign;
	s->targets.no_ring = opt->no_ring;
	s->targets.ocaml_after_ns = opt->ocaml_after_ns;
	s->targets.release = opt->release;
	libbpf_set_print(log_libbpf);
	s->counts.multi = opt->attach != BPF_ATTACH_PERF &&
			  (opt->attach == BPF_ATTACH_MULTI || uprobe_multi_works());
	s->targets.share = opt->hold && !opt->no_follow && s->counts.multi;
	int err = bpf_lanes_init(&s->lanes);
	if (!err)
		err = load(s);
	if (err) {
		bpf_source_free(&s->base);
		/* What the verifier refuses is refused for want of a capability, too. */
		return explain(err == -EACCES ? -EPERM : err, "cannot load the BPF programs",
			       reason);
	}
	s->base.lanes = s->lanes.lanes;
	s->rescan_ns = s->lost_since_ns = now_ns();
	*ret = &s->base;
	return 0;
}

/* A child may have been found in /proc before the record of its fork was taken, which tells since when
 * it has not been watched. */
static int find_born(struct bpf_source *s, pid_t pid)
{
	if (look(s))
		return -ENOENT;
	s->base.lanes = s->lanes.lanes;
	return bpf_targets_find(&s->targets, pid);
}

int bpf_source_attach(struct source *base, pid_t pid, char *reason)
{
	struct bpf_source *s = (struct bpf_source *)base;
	char what[64];
	snprintf(what, sizeof(what), "cannot attach to pid %d", pid);
	if (pid <= 0 || s->stopped)
		return explain(-EINVAL, what, reason);
	int slot = bpf_targets_find(&s->targets, pid);
	if (slot < 0)
		slot = find_born(s, pid);
	if (slot < 0)
		slot = bpf_targets_add(&s->targets, pid);
	if (slot < 0)
		return explain(slot, what, reason);
	/* First among the traced, so that no child is born unseen while its parent is attached. */
	uint32_t key = (uint32_t)pid;
	uint8_t one = 1;
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.ebt_traced), &key, &one, BPF_ANY))
		log_at(LOG_VERBOSE, "pid %d: children are not followed", pid);
	int n = bpf_targets_scan(&s->targets, (uint32_t)slot);
	if (n >= 0)
		return n;
	bpf_map_delete_elem(bpf_map__fd(s->skel->maps.ebt_traced), &key);
	bpf_targets_end(&s->targets, (uint32_t)slot);
	return explain(n == -ENOENT ? -ESRCH : n, what, reason);
}

int bpf_source_fd(struct source *base)
{
	return ring_buffer__epoll_fd(((struct bpf_source *)base)->rb);
}

void bpf_source_counts(struct source *base, struct bpf_counts *ret)
{
	struct bpf_source *s = (struct bpf_source *)base;
	const struct ebt_dropped *dropped = &s->skel->bss->ebt_dropped;
	*ret = s->counts;
	ret->dropped_in_ring = __atomic_load_n(&dropped->in_ring, __ATOMIC_RELAXED);
	ret->dropped = __atomic_load_n(&dropped->nowhere, __ATOMIC_RELAXED);
	ret->sites = s->targets.sites;
}
