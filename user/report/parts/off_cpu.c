/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/parts/off_cpu.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

void off_cpu_interval_get(const struct session *s, const struct ebt_event *ev,
			  struct off_cpu_interval *ret)
{
	*ret = (struct off_cpu_interval){.stack = ev->stack};
	offcpu_get(s, ev, &ret->of);
	ret->tracer_ran = s->tracer_tid && ret->of.runner == s->tracer_tid;
	ret->tracer_woke = s->tracer_tid && ret->of.waker == s->tracer_tid;
	ret->blocked = (uint8_t)blame_part_of_block(ret->of.reason, ret->of.syscall);
	if (ret->of.reason == EBT_OFFCPU_PREEMPTED)
		ret->of.wait_ns = ret->of.end_ns - ret->of.begin_ns;
}

static void drop(struct off_cpu *o, uint32_t n)
{
	for (uint32_t i = 0; o->stacks && i < n; i++)
		stacks_drop(o->stacks, o->at[o->first + i].stack);
	o->first += n;
	o->count -= n;
	if (o->first >= o->cap / 2) {
		memmove(o->at, o->at + o->first, o->count * sizeof(*o->at));
		o->first = 0;
	}
}

/* An interval that was recorded while it was open, and goes on. */
static bool goes_on(const struct off_cpu *o, const struct off_cpu_interval *i)
{
	const struct off_cpu_interval *last = o->count ? &o->at[o->first + o->count - 1] : NULL;
	return last && last->of.open && last->of.end_ns == i->of.begin_ns &&
	       last->blocked == i->blocked && last->of.reason == i->of.reason;
}

static void append(struct off_cpu_interval *last, const struct off_cpu_interval *i)
{
	struct offcpu whole = i->of;
	whole.begin_ns = last->of.begin_ns;
	whole.wait_ns += last->of.wait_ns;
	whole.run_delay_ns += last->of.run_delay_ns;
	last->of = whole;
}

int off_cpu_add(struct off_cpu *o, const struct off_cpu_interval *i)
{
	if (goes_on(o, i)) {
		append(&o->at[o->first + o->count - 1], i);
		return 0;
	}
	if (o->count == OFF_CPU_KEPT) {
		o->known_from = o->at[o->first].of.end_ns;
		drop(o, 1);
	}
	if (!array_room(o->at, o->cap, o->first + o->count))
		return -ENOMEM;
	struct off_cpu_interval *last = &o->at[o->first + o->count++];
	*last = *i;
	last->stack = o->stacks ? i->stack : 0;
	if (o->stacks)
		stacks_hold(o->stacks, last->stack);
	return 0;
}

void off_cpu_trim(struct off_cpu *o, uint64_t before_ns)
{
	uint32_t n = 0;
	while (n < o->count && o->at[o->first + n].of.end_ns < before_ns)
		n++;
	if (n)
		drop(o, n);
}

const struct offcpu *off_cpu_last(const struct off_cpu *o)
{
	return o->count ? &o->at[o->first + o->count - 1].of : NULL;
}

void off_cpu_done(struct off_cpu *o)
{
	if (o->count)
		drop(o, o->count);
	free(o->at);
	*o = (struct off_cpu){0};
}

static uint64_t overlap(uint64_t from, uint64_t to, uint64_t begin, uint64_t end)
{
	from = from > begin ? from : begin;
	to = to < end ? to : end;
	return to > from ? to - from : 0;
}

static void consider_block(struct stacks *t, struct blame_split *s, uint32_t stack, uint64_t ns)
{
	if (ns <= s->block_ns)
		return;
	s->block_ns = ns;
	if (!t)
		return;
	stacks_hold(t, stack);
	stacks_drop(t, s->block_stack);
	s->block_stack = stack;
}

static void consider(struct blame_split *s, const struct off_cpu_interval *i, enum blame_part part,
		     uint64_t ns)
{
	s->ns[part] += ns;
	if (ns <= s->longest.ns)
		return;
	s->longest = (struct blame_cause){
		.part = part, .ns = ns, .syscall = i->of.syscall, .cpu = EBT_NO_CPU};
	if (part == BLAME_WAIT) {
		s->longest.cpu = i->of.runner_cpu;
		s->longest.tid = i->of.runner;
		memcpy(s->longest.comm, i->of.runner_comm, BLAME_COMM_BYTES);
		s->longest.is_tracer = i->tracer_ran;
	} else if (!i->of.interrupt) {
		s->longest.tid = i->of.waker;
		memcpy(s->longest.comm, i->of.waker_comm, BLAME_COMM_BYTES);
		s->longest.is_tracer = i->tracer_woke;
	}
}

/* The first interval that ends behind a moment. */
static uint32_t first_behind(const struct off_cpu *o, uint64_t ns)
{
	uint32_t low = 0, high = o->count;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (o->at[o->first + mid].of.end_ns <= ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void off_cpu_split(const struct off_cpu *o, uint64_t from, uint64_t to, struct blame_split *ret)
{
	uint64_t unknown = overlap(from, to, 0, o->known_from),
		 cpu = overlap(from, to, 0, UINT64_MAX);
	cpu -= unknown;
	ret->ns[BLAME_UNKNOWN] += unknown;
	from += unknown;
	for (uint32_t k = first_behind(o, from); k < o->count; k++) {
		const struct off_cpu_interval *i = &o->at[o->first + k];
		uint64_t begin = i->of.begin_ns, end = i->of.end_ns, length = end - begin;
		uint64_t wait = i->of.wait_ns, delay = i->of.run_delay_ns;
		if (begin >= to)
			break;
		bool preempted = wait >= length;
		if (!preempted && delay > wait)
			wait = delay;
		wait = wait < length ? wait : length;
		uint64_t waits = overlap(from, to, end - wait, end);
		uint64_t blocked = overlap(from, to, begin, end - wait);
		/* Intervals of a capture may overlap: parts add up nevertheless. */
		waits = waits < cpu ? waits : cpu;
		cpu -= waits;
		blocked = blocked < cpu ? blocked : cpu;
		cpu -= blocked;
		/* What the kernel counts beyond the interval was before it. */
		uint64_t more = preempted && delay > wait ? delay - wait : 0;
		more = begin < from ? 0 : more < cpu ? more : cpu;
		more = begin - from < more ? begin - from : more;
		cpu -= more;
		if (waits + more)
			consider(ret, i, BLAME_WAIT, waits + more);
		if (blocked)
			consider(ret, i, i->blocked, blocked);
		consider_block(o->stacks, ret, i->stack, blocked);
	}
	ret->ns[BLAME_CPU] += cpu;
}

/* The stretches that are left of a walk. */
struct walk {
	uint64_t at, to;
	off_cpu_fn *fn;
	void *ctx;
};

/* The next stretch, up to `end`; what is between was on a CPU. */
static int walk_to(struct walk *w, enum blame_part part, const struct off_cpu_interval *of,
		   uint64_t begin, uint64_t end)
{
	begin = begin > w->at ? begin : w->at;
	end = end < w->to ? end : w->to;
	if (end <= begin)
		return 0;
	int err = begin > w->at ? w->fn(w->ctx, BLAME_CPU, NULL, w->at, begin) : 0;
	w->at = end;
	return err ? err : w->fn(w->ctx, part, of, begin, end);
}

static int walk_interval(struct walk *w, const struct off_cpu_interval *i)
{
	uint64_t begin = i->of.begin_ns, end = i->of.end_ns, length = end - begin;
	uint64_t wait = i->of.wait_ns, delay = i->of.run_delay_ns, more = 0;
	bool preempted = wait >= length;
	if (!preempted && delay > wait)
		wait = delay;
	wait = wait < length ? wait : length;
	/* What the kernel counts beyond the interval was before it. */
	if (preempted && delay > wait && begin >= w->at)
		more = delay - wait < begin - w->at ? delay - wait : begin - w->at;
	int err = walk_to(w, BLAME_WAIT, i, begin - more, begin);
	if (!err)
		err = walk_to(w, i->blocked, i, begin, end - wait);
	return err ? err : walk_to(w, BLAME_WAIT, i, end - wait, end);
}

int off_cpu_walk(const struct off_cpu *o, uint64_t from, uint64_t to, off_cpu_fn *fn, void *ctx)
{
	struct walk w = {from, to, fn, ctx};
	int err = walk_to(&w, BLAME_UNKNOWN, NULL, from, o->known_from);
	for (uint32_t k = first_behind(o, w.at); k < o->count && !err; k++) {
		const struct off_cpu_interval *i = &o->at[o->first + k];
		if (i->of.begin_ns >= to)
			break;
		err = walk_interval(&w, i);
	}
	return err || w.at >= to ? err : fn(ctx, BLAME_CPU, NULL, w.at, to);
}
