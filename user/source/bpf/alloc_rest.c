// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/alloc_rest.h"

#include "base/clock.h"
#include "base/log.h"
#include "proc/memory_reader.h"

#define WORD_BYTES  8
#define MAX_DOMAINS 4096
#define MAX_ABSENT  128		 /* numbers in a row: the runtime takes the lowest ones */
#define MAX_WORDS   (1ull << 40) /* of a minor heap */

/* How to read the memory of a process. */
struct remote {
	struct memory_reader *reader;
	pid_t pid; /* 0: none */
};

static bool read_words(const struct remote *of, uint64_t address, uint64_t *ret, size_t words)
{
	ssize_t bytes = (ssize_t)(words * sizeof(*ret));
	return of->pid &&
	       memory_reader_read(of->reader, of->pid, "mem", address, ret, (size_t)bytes) == bytes;
}

/* Of a process that runs, what was allocated since the domain's last hit is in its state. */
static void look_last(const struct ebt_ocaml_allocs *r, struct ebt_ocaml_domain *d,
		      const struct remote *of)
{
	uint64_t young[4];   /* limit, pointer, start, end */
	uint64_t counted[3]; /* words: minor, promoted, major */
	uint64_t allocated;
	if (!read_words(of, d->state, young, 4) ||
	    !read_words(of, d->state + r->minor_words, counted, 3) ||
	    !read_words(of, d->state + r->allocated_words, &allocated, 1))
		return;
	uint64_t words = counted[0] + (young[3] - young[1]) / WORD_BYTES;
	uint64_t large = counted[2] + allocated - counted[1];
	if (young[1] <= young[3] && words >= d->now && words - d->now < MAX_WORDS)
		d->now = words;
	if (large >= d->large_now && large - d->large_now < MAX_WORDS)
		d->large_now = large;
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

void bpf_alloc_rest(struct bpf_kernel *k, struct memory_reader *memory, struct bpf_records *in,
		    uint32_t key)
{
	struct ebt_ocaml_allocs r;
	struct ebt_ocaml_domain d;
	if (bpf_kernel_get(k, BPF_TABLE_RUNTIME_ALLOCS, key, &r) || !r.period)
		return;
	const struct bpf_process *proc = bpf_traced_get(in->opt.traced, r.slot);
	struct remote of = {memory, proc ? proc->pid : 0};
	uint64_t minor = r.small_rest, large = r.large_ended;
	for (uint32_t i = 0, absent = 0; i < MAX_DOMAINS && absent < MAX_ABSENT; i++, absent++) {
		uint64_t domain = (uint64_t)key << 32 | i;
		if (bpf_kernel_get(k, BPF_TABLE_DOMAINS, domain, &d) ||
		    bpf_kernel_set(k, BPF_TABLE_DOMAINS, domain, NULL))
			continue;
		absent = 0;
		look_last(&r, &d, &of);
		minor += d.now > d.sampled ? d.now - d.sampled : 0;
		large += d.large_now - d.large_first;
	}
	uint64_t other = large > r.large && large - r.large < MAX_WORDS ? large - r.large : 0;
	messages_at(
		&in->opt.session->messages, LOG_VERBOSE,
		"pid %d: no sample stands for %llu words in minor heaps, %llu large ones and %llu "
		"others of the major heap",
		of.pid, (unsigned long long)minor, (unsigned long long)r.large_rest,
		(unsigned long long)other);
	add_rest(in, &r, EBT_OCAML_REST_MINOR, minor);
	add_rest(in, &r, EBT_OCAML_REST_MAJOR, r.large_rest);
	add_rest(in, &r, EBT_OCAML_REST_OTHER, other);
}
