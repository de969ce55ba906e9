/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of mem as of a moment are those of a model that gets the events up to then alone, and
 * the model goes on as one that was never asked.
 */
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/mem_fixture.h"

#define ROUNDS	100
#define EVENTS	400
#define OBJECTS 40

static bool same_count(const struct mem_count *a, const struct mem_count *b)
{
	return a->objects == b->objects && a->samples == b->samples && a->shares == b->shares &&
	       a->exact == b->exact && a->exact_objects == b->exact_objects;
}

static bool same_fate(const struct mem_fate *a, const struct mem_fate *b)
{
	return same_count(&a->live, &b->live) && same_count(&a->promoted, &b->promoted) &&
	       same_count(&a->collected, &b->collected) && a->oldest_ns == b->oldest_ns &&
	       !a->lifetime == !b->lifetime &&
	       (!a->lifetime ||
		!memcmp(a->lifetime, b->lifetime, MEM_LIFETIME_TIMES * sizeof(*a->lifetime)));
}

static bool same_process(const struct mem_process *p, const struct mem_process *q)
{
	bool same = p->rows == q->rows && p->pid == q->pid && p->is_partial == q->is_partial &&
		    mem_scale_same(&p->scale, &q->scale);
	for (uint32_t i = 1; i <= p->rows && same; i++) {
		struct mem_count a = mem_row_alloc(&p->row[i]), b = mem_row_alloc(&q->row[i]);
		same = same_count(&a, &b) && same_fate(&p->fate[i], &q->fate[i]);
	}
	return same;
}

static bool same(const struct mem_model *a, const struct mem_model *b)
{
	const struct mem_process *p = a->first, *q = b->first;
	bool is_same = same_count(&a->alloc, &b->alloc) && a->unknown == b->unknown &&
		       mem_model_elapsed_ns(a) == mem_model_elapsed_ns(b) &&
		       a->timeline->live == b->timeline->live &&
		       a->timeline->peak_ns == b->timeline->peak_ns;
	for (; p && q && is_same; p = p->next, q = q->next)
		is_same = same_process(p, q);
	return is_same && !p && !q;
}

static struct ebt_event draw(struct mem_fixture *x, uint64_t *state, uint64_t ts)
{
	static const char *const stacks[] = {"ab", "abc", "d", "de", "f"};
	uint64_t what = random_next(state) % 8;
	struct ebt_event ev = {.ts = ts,
			       .process = 1 + (uint32_t)(random_next(state) % 2),
			       .kind = EBT_ALLOC,
			       .cpu = EBT_NO_CPU,
			       .arg = {random_next(state) % OBJECTS, 0}};
	if (what == 0)
		ev.kind = EBT_PROMOTE;
	else if (what < 4)
		ev.kind = EBT_COLLECT;
	if (what == 4 && random_next(state) % 16 == 0) {
		ev.kind = EBT_LOST;
		ev.arg[0] = 1;
		return ev;
	}
	if (ev.kind != EBT_ALLOC)
		return ev;
	ev.arg[1] = 1 + random_next(state) % 100;
	ev.pos = 1 + random_next(state) % 3;
	ev.stack = mem_fixture_stack(x, stacks[random_next(state) % 5]);
	return ev;
}

static void push(struct mem_model *m, const struct ebt_event *ev, size_t n)
{
	if (mem_model_events(m, ev, n))
		abort();
}

static void settle(struct mem_model *m, struct moment at)
{
	if (mem_model_settle(m, at))
		abort();
}

static void begin(struct mem_model *m, const struct session *s, const struct mem_options *o)
{
	if (mem_model_init(m, s, o))
		abort();
}

static bool try(uint64_t seed)
{
	static struct ebt_event ev[EVENTS];
	const struct mem_options o = {.needs = MEM_FATES | MEM_TIMELINE};
	struct mem_fixture x;
	struct mem_model never;
	uint64_t state = seed, ts = 1000000;
	bool right = true;
	mem_fixture_begin(&x, 0.01, &o);
	begin(&never, x.session, &o);
	for (size_t i = 0; i < EVENTS && right; i++) {
		ev[i] = draw(&x, &state, ts += random_next(&state) % 100000);
		push(&x.model, &ev[i], 1);
		push(&never, &ev[i], 1);
		if (random_next(&state) % 16)
			continue;
		struct moment at = moment_at(ts + random_next(&state) % 5000);
		struct mem_model first;
		begin(&first, x.session, &o);
		push(&first, ev, i + 1);
		settle(&first, at);
		settle(&x.model, at);
		right = same(&x.model, &first);
		mem_model_done(&first);
		ts = at.ns;
	}
	settle(&x.model, (struct moment){0});
	settle(&never, (struct moment){0});
	right = right && same(&x.model, &never);
	mem_model_done(&never);
	mem_fixture_done(&x);
	return right;
}

int main(void)
{
	struct mem_fixture x;
	uint64_t seed = 1;
	while (seed <= ROUNDS && try(seed))
		seed++;
	is(seed > ROUNDS ? 0 : seed, 0,
	   "numbers as of a moment are those of the events up to then; seed");
	mem_fixture_begin(&x, 0.01, &(struct mem_options){.needs = MEM_FATES});
	ok(mem_model_goes_on(&x.model), "a model goes on after it");
	mem_fixture_done(&x);
	mem_fixture_begin(&x, 0.01, &(struct mem_options){.needs = MEM_TIMELINE | MEM_BANDS});
	ok(!mem_model_goes_on(&x.model), "but not one with bands");
	mem_fixture_done(&x);
	return tap_done();
}
