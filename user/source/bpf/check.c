// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/check.h"
#include "source/bpf/link_keeper.h"
#include "source/bpf/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "proc/maps.h"

#define RING_BYTES (64u << 10)

/* Is probed, but not called. */
static __attribute__((noinline, used)) void probed(void)
{
	__asm__ volatile("");
}

struct search {
	uint64_t address, offset; /* 0: not found */
};

static int find_offset(const struct maps_entry *e, void *ctx)
{
	struct search *s = ctx;
	if (s->address < e->start || s->address >= e->end)
		return 0;
	s->offset = s->address - e->start + e->offset;
	return 1;
}

static int ignore_record(void *ctx, const void *record, size_t bytes)
{
	(void)ctx;
	(void)record;
	(void)bytes;
	return 0;
}

static int probe_self(struct bpf_kernel *k, enum bpf_probe program)
{
	struct search s = {.address = (uintptr_t)probed};
	maps_each(getpid(), MAPS_TRACED, find_offset, &s);
	int file = file_open(AT_FDCWD, "/proc/self/exe", 0);
	if (file < 0)
		return file;
	struct uprobe_site site = {.offset = s.offset};
	struct link_spec spec = {
		.file = file, .probe = program, .pid = getpid(), .site = &site, .sites = 1};
	int link = s.offset ? bpf_kernel_attach(k, &spec) : -ENOENT;
	close(file);
	if (link >= 0)
		close(link);
	return link < 0 ? link : 0;
}

/* Checks the first kind of probes that is loaded: all kinds are linked in the same way. */
static void check_probes(struct bpf_kernel *k, struct bpf_check *c)
{
	unsigned has = bpf_kernel_features(k);
	for (enum bpf_probe p = 0; p < BPF_PROBES; p++) {
		if (!(has & BPF_FEATURE(bpf_feature_of(p))))
			continue;
		struct bpf_attempt a = {
			.step = BPF_STEP_UPROBE,
			.err = probe_self(k, p),
			.needs = BPF_NEEDS | (c->multi ? 0 : 1ull << CAP_SYS_ADMIN),
		};
		for (enum bpf_feature f = 0; a.err && f < BPF_FEATURES; f++)
			if (has & (BPF_PROBE_FEATURES | BPF_FEATURE(BPF_STACKS)) & BPF_FEATURE(f))
				bpf_refuse(&a, &c->refusal[f]);
		return;
	}
}

int bpf_check(struct bpf_check *ret)
{
	static const struct probe_plan plan = {.ring_bytes = RING_BYTES};
	struct bpf_kernel *k;
	struct bpf_check c = {.multi = uprobe_multi_works()};
	struct bpf_kernel_options opt = {
		.plan = &plan,
		.multi = c.multi,
		.features = BPF_FEATURE(BPF_FEATURES) - 1,
		.receive = ignore_record,
	};
	int err = bpf_kernel_new(&opt, &k);
	if (err)
		return err;
	for (enum bpf_feature f = 0; f < BPF_FEATURES; f++) {
		const struct bpf_refusal *why = bpf_kernel_refusal(k, f);
		if (why)
			c.refusal[f] = *why;
	}
	check_probes(k, &c);
	bpf_kernel_free(k);
	*ret = c;
	return 0;
}
