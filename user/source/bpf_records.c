// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_source.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "bpf/abi.h"
#include "codec/ring_ids.h"

static void tell(struct bpf_source *s, pid_t pid, enum bpf_change change)
{
	if (s->opt.changed)
		s->opt.changed(s->opt.ctx, pid, change);
}

/* The kernel has put the child among the traced; here it gets a slot and its links. */
void bpf_records_add_child(struct bpf_source *s, pid_t pid, uint32_t parent, uint64_t ts)
{
	if (s->stopped || bpf_targets_find(&s->targets, pid) >= 0)
		return;
	int slot = bpf_targets_add(&s->targets, pid);
	if (slot < 0)
		return;
	if (ts)
		bpf_targets_fork(&s->targets, (uint32_t)slot, parent, ts);
	tell(s, pid, BPF_FORKED);
}

/* As stat() has it. */
static uint64_t device(uint64_t of_kernel)
{
	return makedev((unsigned)(of_kernel >> 20), (unsigned)(of_kernel & 0xfffff));
}

static int take_process(struct bpf_source *s, const struct ebt_event *ev)
{
	pid_t pid = (pid_t)ev->pid;
	int slot = bpf_targets_find(&s->targets, pid);
	struct ebt_event told = *ev;
	told.pos = EBT_NO_POS; /* what it holds is for us alone, and an exec's argument */
	if (ev->id == EBT_PROCESS_EXEC)
		told.arg[0] = 0;
	int err = bpf_lanes_add(&s->lanes, slot < 0 ? 0 : (uint32_t)slot, &told);
	if (ev->id == EBT_PROCESS_FORK) {
		bpf_records_add_child(s, (pid_t)ev->arg[0], (uint32_t)slot,
				      ev->pos == EBT_FORK_SHARES_MEMORY ? 0 : ev->ts);
	} else if (slot >= 0 && ev->id == EBT_PROCESS_EXEC) {
		if (!s->stopped)
			bpf_targets_exec(&s->targets, (uint32_t)slot, ev->ts, device(ev->arg[0]),
					 ev->pos);
		tell(s, pid, BPF_EXECED);
	} else if (slot >= 0 && ev->id == EBT_PROCESS_EXIT) {
		bpf_targets_end(&s->targets, (uint32_t)slot);
		bpf_lanes_end(&s->lanes, (uint32_t)slot);
		tell(s, pid, BPF_EXITED);
	}
	return err;
}

static void take_control(struct bpf_source *s, const struct ebt_event *ev)
{
	pid_t pid = bpf_targets_pid(&s->targets, ev->pid);
	if (ev->kind == EBT_SITE_RING_START) {
		/* The library of the ring may have been loaded just now, with markers of its own. */
		if (!s->stopped)
			bpf_targets_scan(&s->targets, ev->pid);
		tell(s, pid, BPF_RING_STARTED);
	} else if (ev->kind == EBT_SITE_RING_STOP) {
		tell(s, pid, BPF_RING_STOPPED);
	} else if (ev->kind == EBT_SITE_WATERMARK) {
		tell(s, pid, BPF_RING_FILLS);
	}
}

/* Who tells, before its first event is passed on. */
static int name_runtime(struct bpf_source *s, uint32_t pid, struct bpf_runtime *r)
{
	struct session_process *p = session_process(s->session, pid);
	if (!p)
		return -ENOMEM;
	p->raw_phase = ring_raw_phases(r->release, &p->raw_phases);
	if (!*p->producer)
		snprintf(p->producer, sizeof(p->producer), "%s", ring_release_name(r->release));
	return 0;
}

/* What a runtime's own function told: its numbers become ours. */
static int take_ocaml(struct bpf_source *s, uint32_t slot, struct ebt_event *ev, const char *name,
		      size_t room)
{
	uint32_t index = ev->size - 1;
	if (index >= s->targets.runtimes)
		return 0;
	struct bpf_runtime *runtime = &s->targets.runtime[index];
	if (bpf_targets_name(&s->targets, slot) && name_runtime(s, ev->pid, runtime))
		return -ENOMEM;
	uint32_t known = UINT32_MAX;
	const uint16_t *table = NULL;
	if (ev->kind == EBT_BEGIN || ev->kind == EBT_END)
		table = ring_canonical_phases(runtime->release, &known);
	else if (ev->kind == EBT_COUNTER)
		known = ring_counters();
	else if (ev->kind == EBT_LIFECYCLE)
		known = ring_lifecycles();
	else if (ev->kind == EBT_ALLOC_SIZES)
		ev->id = 0;
	if (ev->id >= known)
		ev->id |= EBT_UNKNOWN_ID;
	else if (table)
		ev->id = table[ev->id];
	/* A value of the program's own type, and the sizes that it has not counted, are not there. */
	if (ev->kind == EBT_CUSTOM || ev->kind == EBT_ALLOC_SIZES)
		ev->flags |= EBT_F_CUT;
	char copy[EBT_ROOM_NAME + 1];
	size_t bytes = ev->arg[1] < room ? ev->arg[1] : room;
	bytes = bytes < EBT_ROOM_NAME ? bytes : EBT_ROOM_NAME;
	ev->size = 0;
	ev->arg[1] = 0;
	if (!bytes)
		return 0;
	memcpy(copy, name, bytes);
	copy[bytes] = 0;
	return session_set_user_name(s->session, ev->pid, ev->id, copy);
}

static int take_event(struct bpf_source *s, uint32_t slot, const struct ebt_event *rec, size_t size)
{
	struct ebt_event ev = *rec;
	ev.stack = 0;
	ev.pid = (uint32_t)bpf_targets_pid(&s->targets, slot);
	/* While probes are taken off, one at a time, what comes is not all there was. */
	if (s->until_ns && ev.ts > s->until_ns)
		return 0;
	s->counts.events++;
	/* Whoever has events has an entry, so that he can be named. */
	if (s->known_slot != slot + 1 && !session_process(s->session, ev.pid))
		return -ENOMEM;
	s->known_slot = slot + 1;
	/* Lane 0 holds back what is newer than its horizon: for ever, if the traced program says
	 * that it comes from the future. */
	if (ev.domain == EBT_NO_DOMAIN && ev.ts > s->started_ns) {
		uint64_t now = now_ns();
		if (ev.ts > now)
			ev.ts = now;
	}
	if (ev.flags & EBT_F_PAYLOAD) {
		size_t room = size - sizeof(ev);
		size_t bytes = ev.arg[1] < room ? ev.arg[1] : room;
		ev.flags &= (uint16_t)~EBT_F_PAYLOAD;
		ev.arg[1] = 0;
		int err = session_put_blob(s->session, &ev, rec + 1, bytes);
		if (err)
			return err;
	}
	int err = 0;
	if (ev.size)
		err = take_ocaml(s, slot, &ev, (const char *)(rec + 1), size - sizeof(ev));
	if (!err)
		err = bpf_lanes_add(&s->lanes, slot, &ev);
	if (err)
		session_drop_event(s->session, &ev);
	return err;
}

int bpf_records_lost(struct bpf_source *s, uint64_t dropped, uint64_t now)
{
	bool alone = s->targets.targets == 1;
	int err = 0;
	if (dropped != s->lost_told) {
		struct ebt_event ev = {
			.ts = now,
			.pos = s->lost_since_ns,
			.pid = alone ? (uint32_t)bpf_targets_pid(&s->targets, 0) : 0,
			.kind = EBT_LOST,
			.domain = EBT_NO_DOMAIN,
			.cpu = EBT_NO_CPU,
			.flags = EBT_F_BPF,
			.arg = {dropped - s->lost_told, 0},
		};
		err = bpf_lanes_add(&s->lanes, 0, &ev);
		if (!err)
			s->lost_told = dropped;
	}
	s->lost_since_ns = now;
	return err;
}

size_t bpf_records_bytes(const struct bpf_source *s)
{
	return s->lanes.waiting * sizeof(struct ebt_event) + session_blob_bytes(s->session);
}

int bpf_records_take(void *ctx, void *data, size_t size)
{
	struct bpf_source *s = ctx;
	const struct ebt_event *ev = data;
	int err = 0;
	if (size < sizeof(*ev))
		return 0;
	if (ev->kind >= EBT_SITE_CONTROL) {
		if (bpf_targets_pid(&s->targets, ev->pid))
			take_control(s, ev);
	} else if (ev->kind == EBT_PROCESS) {
		err = take_process(s, ev);
	} else {
		/* The record of a shared runtime tells the pid itself. */
		int slot = ev->stack ? bpf_targets_find(&s->targets, (pid_t)ev->pid) : (int)ev->pid;
		if (slot >= 0 && bpf_targets_pid(&s->targets, (uint32_t)slot))
			err = take_event(s, (uint32_t)slot, ev, size);
	}
	if (err)
		return err;
	bool full = bpf_records_bytes(s) >= s->opt.queue_bytes;
	s->taken_ns = ev->ts;
	return full && !s->stopped ? -ENOBUFS : 0;
}
