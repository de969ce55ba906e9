// SPDX-License-Identifier: BSD-2-Clause
/* The model of mem over short children: memory does not grow with their number, sums do. */
#include "tests/tap.h"
#include "tests/unit/mem_fixture.h"

#include <malloc.h>

#define CHILDREN 5000
#define EACH	 100

#define FIRST_NS 1000ull
/* Children in any order of their times: the oldest object is neither the first child's nor the
 * last's. */
#define BEGIN_NS(n) (FIRST_NS + (n)*7919ull % CHILDREN * 1000)

/* A child that allocates at one of two sites, and collects every second object. */
static void push_child(struct mem_fixture *x, uint32_t n)
{
	for (uint64_t i = 0; i < EACH; i++) {
		uint32_t stack = mem_fixture_stack(x, i % 4 < 2 ? "ab" : "ac");
		uint64_t ns = BEGIN_NS(n + 100) + i;
		mem_fixture_push(x, mem_alloc(ns, 2, i, stack, 3));
		if (i % 2)
			mem_fixture_push(x, (struct ebt_event){.ts = ns + 5,
							       .kind = EBT_COLLECT,
							       .process = 2,
							       .arg = {i}});
	}
	if (mem_model_forget(&x->model, 2))
		abort();
}

int main(void)
{
	struct mem_fixture x;
	size_t early = 0;
	mem_fixture_begin(&x, 1, &(struct mem_options){.needs = MEM_FATES});
	mem_fixture_push(&x, mem_alloc(1, 1, 1, mem_fixture_stack(&x, "ab"), 1));
	for (uint32_t n = 0; n < CHILDREN; n++) {
		push_child(&x, n);
		if (n == CHILDREN / 10)
			early = mallinfo2().uordblks;
	}
	size_t grown = mallinfo2().uordblks - early;
	ok(grown < 4096, "following children that end takes no memory for each: %zu bytes", grown);
	mem_model_end(&x.model);
	struct mem_count alloc = {0}, live = {0}, collected = {0};
	uint64_t times = 0, oldest[2] = {UINT64_MAX, 0};
	uint32_t processes = 0;
	for (const struct mem_process *p = x.model.first; p; p = p->next) {
		processes += p->processes;
		for (uint32_t row = 1; row <= p->rows; row++) {
			mem_count_add(&alloc, mem_pick_alloc(p, row));
			mem_count_add(&live, mem_pick_live(p, row));
			mem_count_add(&collected, mem_pick_collected(p, row));
			uint64_t ns = p->processes > 1 ? p->fate[row].oldest_ns : FIRST_NS;
			oldest[0] = ns < oldest[0] ? ns : oldest[0];
			oldest[1] = ns > oldest[1] ? ns : oldest[1];
			times += p->fate[row].lifetime ? p->fate[row].lifetime[3] : 0;
		}
	}
	is(processes, CHILDREN + 1, "each is counted");
	ok(alloc.objects == CHILDREN * EACH + 1 && x.model.alloc.objects == alloc.objects,
	   "and its objects");
	ok(live.objects == CHILDREN * EACH / 2 + 1 && collected.objects == CHILDREN * EACH / 2,
	   "what is alive at a child's end stays alive");
	ok(oldest[0] == FIRST_NS && oldest[1] == FIRST_NS + 2,
	   "the oldest of each site is that of all children");
	is(times, 3 * collected.objects, "lifetimes are those of all");
	mem_fixture_done(&x);
	return tap_done();
}
