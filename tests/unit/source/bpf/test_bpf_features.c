/* SPDX-License-Identifier: BSD-2-Clause */
/* Which features of the BPF programs a run needs, by what it asks for. */
#include "source/bpf/features.h"
#include "tests/tap.h"

#define F(feature) BPF_FEATURE(BPF_##feature)

/* Beside children, which are always followed. */
static unsigned beyond_children(struct probe_plan p)
{
	return bpf_features_wanted(&p) ^ F(CHILDREN);
}

static void test_wanted(void)
{
	const struct marker_requests *markers = (const void *)&markers;
	const unsigned usual = F(MARKERS) | F(RUNTIME_EVENTS);
	const struct probe_plan nothing = {.yield = PROBE_NOTHING};
	struct probe_plan p = {0};
	is(beyond_children(p), usual, "a run has markers and events of runtimes");
	p.stacks = true;
	is(beyond_children(p), usual | F(STACKS), "with stacks that it asks for");
	p.yield = PROBE_NOTHING;
	is(beyond_children(p), 0, "one that wants no events has neither");
	p = nothing;
	p.pages = p.offcpu = p.allocs = true;
	is(beyond_children(p), F(PAGES) | F(PAGE_SIZES), "one of pages has nothing else");
	p = nothing;
	p.markers = markers;
	is(beyond_children(p), F(USDT), "markers of any program need programs of their own");
	p = nothing;
	p.allocs = true;
	is(beyond_children(p), F(ALLOCS), "so do allocations that a program samples,");
	p.allocs_only = true;
	is(beyond_children(p), F(ALLOCS) | F(RUNTIME_ALLOCS), "and those of a runtime");
	p = nothing;
	p.offcpu = true;
	is(beyond_children(p), F(BLAME), "times without a CPU,");
	p = nothing;
	p.sample_ns = 1;
	is(beyond_children(p), F(SAMPLES), "samples of threads,");
	p = nothing;
	p.everyone = true;
	is(beyond_children(p), F(MAPPINGS), "mappings of all processes,");
	p = nothing;
	p.faults = true;
	is(beyond_children(p), F(FAULTS), "and page faults");
}

static void test_rooms(void)
{
	struct probe_plan p = {.offcpu = true};
	is(bpf_features_rooms(&p), 0, "without stacks of threads that wait no room is made");
	p.everyone = true;
	is(bpf_features_rooms(&p), 0, "nor for all processes");
	p = (struct probe_plan){.offcpu_stacks = OFFCPU_STACKS_IN_PAUSES};
	uint32_t pauses = bpf_features_rooms(&p);
	p.offcpu_stacks = OFFCPU_STACKS;
	uint32_t program = bpf_features_rooms(&p);
	ok(pauses && pauses < program, "stacks in pauses need less room than all: %u, %u", pauses,
	   program);
	p.everyone = true;
	ok(bpf_features_rooms(&p) >= program, "those of all processes as much at least");
	p.offcpu_stacks = OFFCPU_STACKS_IN_PAUSES;
	is(bpf_features_rooms(&p), program, "those in pauses of all as much as a program's");
}

int main(void)
{
	test_wanted();
	test_rooms();
	return tap_done();
}
