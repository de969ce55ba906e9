/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts over the tree of stacks against sums over all pairs, and stacks that are deep. */
#include "report/mem/model/tree.h"
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/mem_fixture.h"

#define STACKS 400
#define DEEP   100000

static bool extends(const struct stacks *s, uint32_t stack, uint32_t from)
{
	while (stack && stack != from)
		stack = stacks_parent(s, stack);
	return stack == from;
}

static void test_sums(void)
{
	struct mem_fixture x;
	struct mem_tree t = {0};
	uint32_t stack[STACKS] = {0};
	uint64_t samples[STACKS], state = 3;
	mem_fixture_begin(&x, 1, &(struct mem_options){0});
	const struct stacks *stacks = x.session->stacks;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < STACKS; i++) {
			if (i)
				stack[i] = stacks_push(x.session->stacks,
						       stack[random_next(&state) % (unsigned)i],
						       x.frame[random_next(&state) % FUNCTIONS]);
			samples[i] = random_next(&state) % 100;
			/* Not all: some are only extended. */
			if (i % 3 == 0)
				mem_tree_add(
					&t, stacks, stack[i],
					(struct mem_count){.objects = 1, .samples = samples[i]});
		}
		mem_tree_sum(&t);
		bool same = true, behind = true;
		for (uint32_t n = 0; n < t.nodes; n++) {
			uint64_t own = 0, all = 0;
			for (int i = 0; i < STACKS; i += 3) {
				own += stack[i] == t.node[n].stack ? samples[i] : 0;
				all += extends(stacks, stack[i], t.node[n].stack) ? samples[i] : 0;
			}
			same &= t.node[n].own.samples == own;
			same &= t.node[n].below.samples == all - own;
			behind &= !n || t.node[n].parent < n;
		}
		ok(same, "a node has what its stack and those that extend it were counted");
		ok(behind && t.nodes > STACKS / 3, "parents come first");
		mem_tree_clear(&t);
	}
	mem_tree_done(&t);
	mem_fixture_done(&x);
}

/* A walk of each stack would take 5 * 10^9 steps. */
static void test_deep(void)
{
	struct mem_fixture x;
	struct mem_sites t;
	uint32_t stack = 0;
	mem_fixture_begin(&x, 1, &(struct mem_options){0});
	for (unsigned i = 0; i < DEEP; i++) {
		stack = stacks_push(x.session->stacks, stack, x.frame[i % 4]);
		mem_fixture_push(&x, mem_alloc(i + 1, 1, i, stack, 1));
	}
	mem_model_end(&x.model);
	int err = mem_model_sites(&t, &x.model, mem_pick_alloc);
	if (!err)
		err = mem_sites_callers(&t, x.model.first, mem_pick_alloc, FUNCTIONS);
	ok(!err, "a stack of %u frames, each of which allocates, is counted", DEEP);
	is(t.function[0].total.count.samples, DEEP, "the outermost function has all of it");
	is(t.function[3].total.count.samples, DEEP - 3, "the fourth all but three");
	is(t.function[0].self.count.samples, DEEP / 4, "each a quarter of its own");
	is(t.function[0].callers, 4, "of which all four are callers");
	bool sites = true;
	for (uint32_t at = stack; at; at = stacks_parent(x.session->stacks, at))
		sites &= mem_sites_site(&t, at) < 4;
	ok(sites, "the site of each stack is found");
	mem_sites_done(&t);
	mem_fixture_done(&x);
}

/* An id of a stack or a frame may be another's once it was released. */
static void test_reclaimed(void)
{
	struct mem_fixture x;
	mem_fixture_begin(&x, 1, &(struct mem_options){0});
	struct mem_sites t = {.session = x.session};
	struct stacks *stacks = x.session->stacks;
	uint32_t a = stacks_push(stacks, 0, x.frame[0]);
	uint32_t first = mem_sites_site(&t, a);
	stacks_free_unheld(stacks);
	uint32_t b = stacks_push(stacks, 0, x.frame[1]);
	is(a, b, "the id of a stack that was released is used again");
	ok(mem_sites_site(&t, b) != first, "and has the site of the new one");
	mem_sites_done(&t);
	mem_fixture_done(&x);
}

int main(void)
{
	test_sums();
	test_deep();
	test_reclaimed();
	return tap_done();
}
