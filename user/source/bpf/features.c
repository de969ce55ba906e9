// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/features.h"

#include <errno.h>
#include <stdio.h>
#include <sys/sysinfo.h>

/* 13 kB each. A program has few threads that are ever in a pause. */
#define ROOMS_OF_PAUSES 256
#define ROOMS		1024
#define ROOMS_MAX	8192

unsigned bpf_features_wanted(const struct probe_plan *opt)
{
	unsigned set = BPF_FEATURE(BPF_CHILDREN);
	if (opt->pages)
		return set | BPF_FEATURE(BPF_PAGES) | BPF_FEATURE(BPF_PAGE_SIZES);
	if (opt->yield != PROBE_NOTHING)
		set |= BPF_FEATURE(BPF_MARKERS) | BPF_FEATURE(BPF_RUNTIME_EVENTS);
	if (opt->yield != PROBE_NOTHING && opt->stacks)
		set |= BPF_FEATURE(BPF_STACKS);
	if (opt->markers)
		set |= BPF_FEATURE(BPF_USDT);
	if (opt->allocs)
		set |= BPF_FEATURE(BPF_ALLOCS);
	if (opt->allocs_only)
		set |= BPF_FEATURE(BPF_RUNTIME_ALLOCS);
	if (opt->offcpu)
		set |= BPF_FEATURE(BPF_BLAME);
	if (opt->sample_ns)
		set |= BPF_FEATURE(BPF_SAMPLES);
	if (opt->everyone)
		set |= BPF_FEATURE(BPF_MAPPINGS);
	if (opt->faults)
		set |= BPF_FEATURE(BPF_FAULTS);
	return set;
}

/* Of all processes, for as many threads as there are now, and as many more. */
uint32_t bpf_features_rooms(const struct probe_plan *opt)
{
	struct sysinfo of;
	if (!opt->offcpu_stacks)
		return 0;
	if (opt->offcpu_stacks == OFFCPU_STACKS_IN_PAUSES)
		return opt->everyone ? ROOMS : ROOMS_OF_PAUSES;
	uint32_t n = opt->everyone && !sysinfo(&of) ? 2u * of.procs : ROOMS;
	return n < ROOMS ? ROOMS : n > ROOMS_MAX ? ROOMS_MAX : n;
}

/* Without any of these there is nothing to do for the source. */
static unsigned main_features(const struct probe_plan *opt)
{
	if (opt->pages)
		return BPF_FEATURE(BPF_PAGES);
	if (opt->allocs_only)
		return BPF_FEATURE(BPF_ALLOCS) | BPF_FEATURE(BPF_RUNTIME_ALLOCS);
	if (opt->sample_ns)
		return BPF_FEATURE(BPF_SAMPLES);
	if (opt->profile)
		return BPF_FEATURE(BPF_BLAME);
	if (opt->markers)
		return BPF_FEATURE(BPF_USDT);
	if (opt->needs_markers)
		return BPF_FEATURE(BPF_MARKERS);
	return BPF_FEATURE(BPF_MARKERS) | BPF_FEATURE(BPF_RUNTIME_EVENTS) | BPF_FEATURE(BPF_BLAME);
}

int bpf_features_check(const struct bpf_kernel *k, const struct probe_plan *opt, char *reason)
{
	unsigned needs = main_features(opt);
	const struct bpf_refusal *why = NULL;
	if (bpf_kernel_features(k) & needs)
		return 0;
	for (enum bpf_feature f = 0; f < BPF_FEATURES && !why; f++)
		if (needs & BPF_FEATURE(f))
			why = bpf_kernel_refusal(k, f);
	snprintf(reason, BPF_REASON_BYTES, "cannot load the BPF programs: %s",
		 why ? why->why : "nothing is asked of them");
	return why ? why->err : -EINVAL;
}

void bpf_features_report_untimed(const struct messages *messages, pid_t pid, int err)
{
	struct bpf_attempt a = {
		.step = BPF_STEP_EVENT, .err = err, .needs = bpf_feature_needs(BPF_FAULTS)};
	struct bpf_refusal why;
	bpf_refuse(&a, &why);
	messages_at(messages, LOG_NORMAL, "pid %d: page faults are not timed: %s", pid, why.why);
}

struct ebt_hits bpf_features_hits(const struct bpf_kernel *k)
{
	const struct ebt_hits *by_cpu = bpf_kernel_hits(k);
	struct ebt_hits sum = {0};
	for (unsigned cpu = 0; cpu < EBT_HITS_CPUS; cpu++) {
		for (unsigned i = 0; i < EBT_HITS_PROBES; i++)
			sum.hits[i] += __atomic_load_n(&by_cpu[cpu].hits[i], __ATOMIC_RELAXED);
		sum.in_ring += __atomic_load_n(&by_cpu[cpu].in_ring, __ATOMIC_RELAXED);
	}
	return sum;
}
