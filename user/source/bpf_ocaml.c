// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_ocaml.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#define WORD_BYTES  8
#define MAX_DOMAINS 4096
#define MAX_ABSENT  128		 /* numbers in a row: the runtime takes the lowest ones */
#define MAX_WORDS   (1ull << 40) /* of a minor heap */

/* Of a process that runs, what was allocated since the domain's last hit is in its state. */
static uint64_t words_now(const struct ebt_ocaml_allocs *r, const struct ebt_ocaml_domain *d,
			  int memory)
{
	uint64_t young[4], emptied; /* limit, pointer, start, end */
	if (memory < 0 ||
	    pread(memory, young, sizeof(young), (off_t)d->state) != (ssize_t)sizeof(young) ||
	    pread(memory, &emptied, sizeof(emptied), (off_t)(d->state + r->minor_words)) !=
		    (ssize_t)sizeof(emptied))
		return d->now;
	uint64_t words = emptied + (young[3] - young[1]) / WORD_BYTES;
	bool is_sane = young[1] <= young[3] && words >= d->now && words - d->now < MAX_WORDS;
	return is_sane ? words : d->now;
}

static void add_rest(struct bpf_records *in, const struct ebt_ocaml_allocs *r,
		     enum ebt_ocaml_rest what, uint64_t words)
{
	struct ebt_alloc_record rec = {
		.head = {.type = EBT_RECORD_ALLOC,
			 .slot = r->slot,
			 .site = EBT_ALLOC_SITE_OCAML_REST},
		.ts = in->until_ns ? in->until_ns : now_ns(),
		.arg = {words, 0, 0, 0, what, r->period},
	};
	if (words)
		bpf_records_receive(in, &rec, sizeof(rec));
}

void bpf_ocaml_rest(struct bpf_kernel *k, struct bpf_records *in, uint32_t key)
{
	struct ebt_ocaml_allocs r;
	struct ebt_ocaml_domain d;
	char path[32];
	if (!bpf_kernel_get_ocaml_allocs(k, key, &r) || !r.period)
		return;
	const struct bpf_target *target = bpf_targets_get(&in->targets, r.slot);
	uint64_t minor = r.small_rest;
	snprintf(path, sizeof(path), "/proc/%d/mem", target ? target->pid : 0);
	int memory = file_open(AT_FDCWD, path, 0);
	for (uint32_t i = 0, absent = 0; i < MAX_DOMAINS && absent < MAX_ABSENT; i++, absent++) {
		if (!bpf_kernel_take_domain(k, key, i, &d))
			continue;
		absent = 0;
		uint64_t words = words_now(&r, &d, memory);
		minor += words > d.sampled ? words - d.sampled : 0;
	}
	if (memory >= 0)
		close(memory);
	log_at(LOG_VERBOSE,
	       "pid %d: no sample stands for %llu words in minor heaps and %llu large ones",
	       target ? target->pid : 0, (unsigned long long)minor,
	       (unsigned long long)r.large_rest);
	add_rest(in, &r, EBT_OCAML_REST_MINOR, minor);
	add_rest(in, &r, EBT_OCAML_REST_MAJOR, r.large_rest);
}
