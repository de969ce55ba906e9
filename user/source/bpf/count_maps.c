// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/count_maps.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/* 0 or -errno. */
static int call(enum bpf_cmd cmd, int map, const void *key, void *value)
{
	union bpf_attr attr = {
		.map_fd = (uint32_t)map, .key = (uintptr_t)key, .value = (uintptr_t)value};
	return syscall(SYS_bpf, cmd, &attr, sizeof(attr)) ? -errno : 0;
}

static int read_lane(void *ctx, const struct ebt_count_key *key, struct ebt_count_lane *ret)
{
	const struct bpf_count_maps *maps = ctx;
	return call(BPF_MAP_LOOKUP_ELEM, maps->lanes, key, ret);
}

static int read_page(void *ctx, const struct ebt_count_page_key *key, struct ebt_count_page *ret)
{
	const struct bpf_count_maps *maps = ctx;
	return call(BPF_MAP_LOOKUP_ELEM, maps->pages, key, ret);
}

static int read_process(void *ctx, const struct ebt_count_process_key *key,
			struct ebt_count_process *ret)
{
	const struct bpf_count_maps *maps = ctx;
	return call(BPF_MAP_LOOKUP_ELEM, maps->processes, key, ret);
}

static void remove_lane(void *ctx, const struct ebt_count_key *key)
{
	const struct bpf_count_maps *maps = ctx;
	call(BPF_MAP_DELETE_ELEM, maps->lanes, key, NULL);
}

static void remove_page(void *ctx, const struct ebt_count_page_key *key)
{
	const struct bpf_count_maps *maps = ctx;
	call(BPF_MAP_DELETE_ELEM, maps->pages, key, NULL);
}

static void remove_process(void *ctx, const struct ebt_count_process_key *key)
{
	const struct bpf_count_maps *maps = ctx;
	call(BPF_MAP_DELETE_ELEM, maps->processes, key, NULL);
}

static bool has_ended(void *ctx, pid_t pid, uint32_t tid)
{
	(void)ctx;
	return syscall(SYS_tgkill, pid, tid, 0) && errno == ESRCH;
}

void bpf_count_maps_open(const struct bpf_kernel *k, bool coarse, struct bpf_count_maps *maps,
			 const struct tally_reader *reader, struct bpf_counted *ret)
{
	*maps = bpf_kernel_count_maps(k);
	*ret = (struct bpf_counted){.access = {.read_lane = read_lane,
					       .read_page = read_page,
					       .read_process = read_process,
					       .remove_lane = remove_lane,
					       .remove_page = remove_page,
					       .remove_process = remove_process,
					       .has_ended = has_ended,
					       .ctx = maps},
				    .coarse = coarse,
				    .reader = reader,
				    .read_ns = now_ns()};
}
