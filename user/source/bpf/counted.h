/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lanes whose events the BPF programs count in maps (bpf/counts.h): reads them, makes tallies
 * (session/tally.h) of what has been counted since the last read, and removes them when their
 * process has ended or runs another program.
 */
#ifndef SOURCE_BPF_COUNTED_H
#define SOURCE_BPF_COUNTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/ptrarray.h"
#include "bpf/counts.h"
#include "session/tally.h"

/* The maps. */
struct bpf_count_access {
	/* 0 or -errno. */
	int (*read_lane)(void *ctx, const struct ebt_count_key *key, struct ebt_count_lane *ret);
	int (*read_page)(void *ctx, const struct ebt_count_page_key *key,
			 struct ebt_count_page *ret);
	int (*read_process)(void *ctx, const struct ebt_count_process_key *key,
			    struct ebt_count_process *ret);
	void (*remove_lane)(void *ctx, const struct ebt_count_key *key);
	void (*remove_page)(void *ctx, const struct ebt_count_page_key *key);
	void (*remove_process)(void *ctx, const struct ebt_count_process_key *key);
	/* Whether a thread that has a lane of its own has ended. */
	bool (*has_ended)(void *ctx, pid_t pid, uint32_t tid);
	void *ctx;
};

struct counted_process;

/* Zeroed memory, with access and reader set: no lanes. */
struct bpf_counted {
	struct bpf_count_access access;
	const struct tally_reader *reader;
	bool coarse; /* the histograms are */
	PTRARRAY(struct counted_process) by_slot;
	uint64_t read_ns; /* when all were read last */
};

void bpf_counted_done(struct bpf_counted *c);
/* A lane of the process in this slot has been announced. 0 or -ENOMEM. */
int bpf_counted_add(struct bpf_counted *c, uint32_t slot, pid_t pid, uint32_t process,
		    const struct ebt_lane_record *rec);
/* Makes tallies of all lanes, of which everything up to now_ns is in the maps. 0 or -ENOMEM. */
int bpf_counted_read(struct bpf_counted *c, uint64_t now_ns);
/* The process in the slot ended, or called exec, at end_ns: makes its last tallies. 0 or
 * -ENOMEM. */
int bpf_counted_end(struct bpf_counted *c, uint32_t slot, uint64_t end_ns);
/* The run ends, and no event comes any more. 0 or -ENOMEM. */
int bpf_counted_stop(struct bpf_counted *c, uint64_t end_ns);

#endif
