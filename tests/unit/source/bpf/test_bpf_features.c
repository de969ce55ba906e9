/* SPDX-License-Identifier: BSD-2-Clause */
/* Which features of the BPF programs a run needs, by what it asks for. */
#include "source/bpf/features.h"
#include "tests/tap.h"

#define F(feature) BPF_FEATURE(BPF_##feature)

static const int any_markers;

/* Beside children, which are always followed. */
static const struct {
	struct probe_plan plan;
	unsigned want;
	const char *name;
} wanted[] = {
	{{0}, F(MARKERS) | F(RUNTIME_EVENTS), "a run has markers and events of runtimes"},
	{{.stacks = true},
	 F(MARKERS) | F(RUNTIME_EVENTS) | F(STACKS),
	 "with stacks that it asks for"},
	{{.yield = PROBE_NOTHING, .stacks = true}, 0, "one that wants no events has neither"},
	{{.pages = true, .offcpu = true, .allocs = true},
	 F(PAGES) | F(PAGE_SIZES),
	 "one of pages has nothing else"},
	{{.yield = PROBE_NOTHING, .markers = (const void *)&any_markers},
	 F(USDT),
	 "markers of any program need programs of their own"},
	{{.yield = PROBE_NOTHING, .allocs = true},
	 F(ALLOCS),
	 "so do allocations that a program samples,"},
	{{.yield = PROBE_NOTHING, .allocs = true, .allocs_only = true},
	 F(ALLOCS) | F(RUNTIME_ALLOCS),
	 "and those of a runtime,"},
	{{.yield = PROBE_NOTHING, .offcpu = true}, F(BLAME), "times without a CPU,"},
	{{.yield = PROBE_NOTHING, .sample_ns = 1}, F(SAMPLES), "samples of threads,"},
	{{.yield = PROBE_NOTHING, .everyone = true}, F(MAPPINGS), "mappings of all processes,"},
	{{.yield = PROBE_NOTHING, .faults = true}, F(FAULTS), "and page faults"},
};

static void test_wanted(void)
{
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		is(bpf_features_wanted(&wanted[i].plan), wanted[i].want | F(CHILDREN),
		   wanted[i].name);
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
