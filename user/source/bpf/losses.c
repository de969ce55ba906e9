// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/losses.h"

#include <errno.h>

#include "base/clock.h"

void bpf_losses_init(struct bpf_losses *l, struct bpf_lanes *lanes, const struct bpf_traced *traced,
		     uint64_t begin_ns)
{
	*l = (struct bpf_losses){
		.lanes = lanes, .traced = traced, .since_ns = begin_ns, .read_ns = begin_ns};
}

static struct ebt_event new_loss(uint32_t process, uint64_t events, uint64_t since_ns, uint64_t ts)
{
	return (struct ebt_event){
		.ts = ts,
		.pos = since_ns < ts ? since_ns : ts,
		.process = process,
		.kind = EBT_LOST,
		.domain = EBT_NO_DOMAIN,
		.cpu = EBT_NO_CPU,
		.flags = EBT_F_BPF,
		.arg = {events, 0},
	};
}

/* Queues a counted loss, in the lane of a domain. */
static int add_counted(struct bpf_losses *l, uint32_t slot, uint16_t domain, uint64_t events,
		       uint64_t since_ns, uint64_t ts)
{
	bool alone = l->traced->last_serial == 1;
	struct ebt_event ev =
		new_loss(alone ? l->traced->first_process : PROCESS_UNKNOWN, events, since_ns, ts);
	processes_none_lone(l->traced->opt.processes, ev.pos);
	l->last_ns = ts;
	return bpf_lanes_put(l->lanes, slot, domain, &ev);
}

int bpf_losses_record(struct bpf_losses *l, uint32_t slot, uint16_t domain, uint64_t ts,
		      uint32_t dropped)
{
	int32_t more = (int32_t)(dropped - (uint32_t)l->seen);
	l->is_here = more > 0;
	if (more > 0) {
		/* The time may be one that the traced program made up. */
		uint64_t now = ts > l->poll_ns ? now_ns() : ts, at = ts < now ? ts : now;
		int err = add_counted(l, slot, domain, (uint64_t)more, l->since_ns, at);
		if (err)
			return err;
		l->seen += (uint64_t)more;
	}
	if (more >= 0 && ts > l->since_ns && ts <= l->poll_ns)
		l->since_ns = ts;
	return 0;
}

int bpf_losses_event(struct bpf_losses *l, uint32_t slot, const struct ebt_event *ev,
		     uint32_t dropped)
{
	struct bpf_last *last = bpf_lanes_last(l->lanes, slot, ev->domain, ev->tid);
	if (!last)
		return -ENOMEM;
	bool misses = last->is_known && (int32_t)(dropped - last->dropped) > 0;
	bool is_cut = l->is_here || (l->last_ns > last->ts && l->last_ns < ev->ts);
	int err = 0;
	if (misses && !is_cut) {
		struct ebt_event cut = new_loss(ev->process, 0, last->ts, ev->ts);
		cut.domain = ev->domain;
		cut.tid = ev->tid;
		err = bpf_lanes_put(l->lanes, slot, ev->domain, &cut);
	}
	*last = (struct bpf_last){.ts = ev->ts, .dropped = dropped, .is_known = true};
	return err;
}

int bpf_losses_count(struct bpf_losses *l, uint64_t dropped, uint64_t from_ns, uint64_t now_ns)
{
	if (now_ns < l->read_ns + l->hold_ns)
		return 0;
	uint64_t strays = l->strays - l->reported, more = dropped > l->seen ? dropped - l->seen : 0;
	uint64_t since = strays && l->read_ns < l->since_ns ? l->read_ns : l->since_ns;
	int err = 0;
	if (strays + more)
		err = add_counted(l, 0, EBT_NO_DOMAIN, strays + more, since, now_ns);
	if (err)
		return err;
	l->seen += more;
	l->reported = l->strays;
	l->read_ns = from_ns;
	if (from_ns > l->since_ns)
		l->since_ns = from_ns;
	return 0;
}

int bpf_losses_children(struct bpf_losses *l, uint64_t since_ns)
{
	struct ebt_event ev = new_loss(PROCESS_UNKNOWN, EBT_LOST_UNCOUNTED, since_ns, l->poll_ns);
	return bpf_lanes_add(l->lanes, 0, &ev);
}

int bpf_losses_cut(struct bpf_losses *l, uint32_t process, uint64_t since_ns, uint64_t until_ns)
{
	struct ebt_event ev = new_loss(process, EBT_LOST_UNCOUNTED, since_ns, until_ns);
	return bpf_lanes_add(l->lanes, 0, &ev);
}

int bpf_losses_unwatched(struct bpf_losses *l, uint32_t process, uint64_t since_ns,
			 uint64_t until_ns)
{
	struct ebt_event ev = new_loss(process, EBT_LOST_UNCOUNTED, since_ns, until_ns);
	ev.flags |= EBT_F_HISTORY;
	return bpf_lanes_add(l->lanes, 0, &ev);
}

void bpf_losses_begin_poll(struct bpf_losses *l, uint64_t now_ns)
{
	l->poll_ns = now_ns;
}

void bpf_losses_stray(struct bpf_losses *l)
{
	l->strays++;
}
