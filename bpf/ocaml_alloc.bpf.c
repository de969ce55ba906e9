// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * The program of the functions of an OCaml 5 runtime by which its allocations are sampled without
 * any preparation. Native code calls caml_alloc_small_dispatch when half of the minor heap is used
 * up, and when all of it is (5.0: only then): such a call is a sample, which stands for the words
 * that the domain has allocated since its last one. The function is called for signals, ticks and
 * other domains' collections, too; then the trigger is not reached. Allocations outside of the minor
 * heap are sampled by their size, at the same rate.
 *
 * Of a domain that makes more samples than it may, one in so many is taken, at random, which stands for
 * as many: chosen by how many there were before, so that what a site has allocated is estimated without
 * bias. What is beyond that as well is counted, as words that no sample stands for.
 *
 * All addresses come from the traced program: memory is copied, never trusted.
 */
#include "ocaml_stack.bpf.h"

#define COUNTER_BYTES 5 /* minor_allocated */
#define COUNTER_WORDS 26
#define WORD_BYTES    8
#define MAX_WORDS     (1ull << 40) /* of a minor heap, or of an object */
#define MAX_PERIOD    (1u << 30)
#define FROM_CAML     2 /* a flag among the runtime's arguments */

#define NO_ELEMENT 1 /* BPF_NOEXIST */

#define WINDOW_NS     100000000
#define USUAL	      50 /* samples in a window: at each multiple, half as many are taken on */
#define MAX_EVERY     64
#define MAX_IN_WINDOW 800

/* The tracer sets the sizes before it loads these. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, struct ebt_ocaml_allocs);
} ebt_ocaml_allocs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, uint64_t);
	__type(value, struct ebt_ocaml_domain);
} ebt_ocaml_domains SEC(".maps");

/* The state begins with these. */
struct young {
	uint64_t limit, ptr, start, end;
};

struct hit {
	struct ebt_ocaml_allocs *r;
	struct ebt_ocaml_domain *domain;
	uint64_t state;
	struct young young;
	uint16_t number; /* of the domain */
};

static __always_inline struct ebt_ocaml_domain *find_domain(uint32_t key, uint16_t number)
{
	uint64_t id = (uint64_t)key << 32 | number;
	struct ebt_ocaml_domain none = {}, *d = bpf_map_lookup_elem(&ebt_ocaml_domains, &id);
	if (d)
		return d;
	bpf_map_update_elem(&ebt_ocaml_domains, &id, &none, NO_ELEMENT);
	return bpf_map_lookup_elem(&ebt_ocaml_domains, &id);
}

/* Nonzero: not a domain's. */
static __always_inline int look(uint32_t key, uint64_t state, struct hit *ret)
{
	ret->state = state;
	ret->number = ocaml_domain(state, ret->r->state.id_offset);
	if (ret->number == EBT_NO_DOMAIN ||
	    bpf_probe_read_user(&ret->young, sizeof(ret->young), (void *)state))
		return 1;
	uint64_t bytes = ret->young.end - ret->young.start;
	if (!bytes || bytes / WORD_BYTES >= MAX_WORDS || ret->young.ptr > ret->young.end)
		return 1;
	if (!ret->r->period) {
		uint64_t period = bytes / WORD_BYTES / (ret->r->stacks.is_indirect ? 1 : 2);
		ret->r->period = period < 1	       ? 1
				 : period > MAX_PERIOD ? MAX_PERIOD
						       : (uint32_t)period;
	}
	ret->domain = find_domain(key, ret->number);
	if (!ret->domain)
		return 1;
	ret->domain->state = state;
	ret->domain->now = ret->domain->emptied + (ret->young.end - ret->young.ptr) / WORD_BYTES;
	return 0;
}

/* The number of samples of so many words, at random where they are no multiple of the period. */
static __always_inline uint64_t samples_of(uint64_t words, uint32_t period)
{
	if (!period)
		return 0;
	return words / period + (bpf_get_prandom_u32() % period < words % period);
}

/* Whether an allocation that stands for `words` is taken, for how many that do; 0: it is not. `rest`
 * counts the words beyond the limit. */
static __always_inline uint32_t choose(struct ebt_ocaml_domain *d, uint64_t ts, uint64_t words,
				       uint64_t *rest)
{
	uint64_t windows = (ts - d->window_ns) / WINDOW_NS;
	if (windows) {
		d->window_ns = ts;
		d->in_window = 0;
		d->every = windows < 32 ? d->every >> windows : 0;
	}
	uint32_t every = d->every ? d->every : 1;
	if (bpf_get_prandom_u32() % every)
		return 0;
	if (d->in_window >= MAX_IN_WINDOW) {
		*rest += words * every;
		return 0;
	}
	if (++d->in_window % USUAL == 0 && every < MAX_EVERY)
		d->every = 2 * every;
	return every;
}

static __always_inline void emit(const struct hit *h, uint64_t ts, uint16_t site,
				 const uint64_t arg[4])
{
	struct ebt_alloc_record *rec =
		bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec) + sizeof(struct ocaml_walk), 0);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return;
	}
	channel_head(&rec->head, EBT_RECORD_ALLOC, h->r->slot, site);
	rec->ts = ts;
	rec->arg[0] = arg[0];
	rec->arg[1] = h->number + h->r->domain_base;
	rec->arg[2] = arg[1];
	rec->arg[3] = arg[2];
	rec->arg[5] = h->r->period;
	struct ocaml_walk *w = (struct ocaml_walk *)(rec + 1);
	ocaml_stack(w, &h->r->stacks, h->r->stacks.frames, h->state);
	rec->arg[4] = (uint64_t)h->r->release << 16 | arg[3] | (w->whole ? 0 : EBT_OCAML_CUT);
	rec->head.size = (uint16_t)(w->frames * sizeof(struct ebt_ocaml_frame));
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

/* Where collections cannot be counted, as the domain is only found among the arguments here, a heap
 * that is much less used than when it was sampled last has been emptied since. */
static __always_inline void notice_emptied(struct hit *h)
{
	struct ebt_ocaml_domain *d = h->domain;
	uint64_t used = d->now - d->emptied, heap = (h->young.end - h->young.start) / WORD_BYTES;
	if (d->now + heap / 4 >= d->sampled)
		return;
	d->emptied = d->sampled;
	d->now = d->emptied + used;
}

/* The object is counted in young.ptr already. */
static __always_inline int sample_small(struct hit *h, uint64_t words, uint32_t flags)
{
	uint64_t ts = bpf_ktime_get_ns(), trigger = user_word(h->state + h->r->trigger);
	struct ebt_ocaml_domain *d = h->domain;
	notice_emptied(h);
	if (h->young.ptr >= trigger || words >= MAX_WORDS || d->now <= d->sampled)
		return 0;
	uint64_t samples = samples_of(d->now - d->sampled, h->r->period);
	uint64_t free = h->young.ptr + (words + 1) * WORD_BYTES - trigger;
	d->sampled = d->now;
	if (!samples)
		return 0;
	samples *= choose(d, ts, samples * h->r->period, &d->small_rest);
	if (samples)
		emit(h, ts, EBT_ALLOC_SITE_OCAML_MINOR,
		     (uint64_t[4]){samples, words, free / WORD_BYTES,
				   flags & FROM_CAML ? EBT_OCAML_BY_OCAML : 0});
	return 0;
}

static __always_inline int sample_large(struct hit *h, uint64_t words)
{
	uint64_t ts = bpf_ktime_get_ns();
	struct ebt_ocaml_domain *d = h->domain;
	if (words >= MAX_WORDS)
		return 0;
	uint64_t samples = samples_of(words + 1, h->r->period);
	if (!samples)
		return 0;
	samples *= choose(d, ts, samples * h->r->period, &d->large_rest);
	if (samples)
		emit(h, ts, EBT_ALLOC_SITE_OCAML_MAJOR, (uint64_t[4]){samples, words, 0, 0});
	return 0;
}

static __always_inline int count_emptied(struct hit *h, uint32_t counter, uint64_t value)
{
	uint64_t words = counter == COUNTER_BYTES ? value / WORD_BYTES : value;
	/* A release may have both. */
	if (counter == COUNTER_WORDS)
		h->r->has_words = 1;
	else if (h->r->has_words)
		return 0;
	if (words < MAX_WORDS)
		h->domain->now = h->domain->emptied += words;
	return 0;
}

SEC("uprobe")
int ebt_ocaml_alloc(struct pt_regs *regs)
{
	uint64_t cookie = bpf_get_attach_cookie(regs);
	uint64_t first = REGS_CALL_0(regs), second = REGS_CALL_1(regs), third = REGS_CALL_2(regs);
	/* The verifier refuses a load from a register of the context that is chosen at run time. */
	asm volatile("" : "+r"(first), "+r"(second), "+r"(third));
	uint32_t key = (uint32_t)(cookie >> 16), function = cookie & 0xffff;
	struct hit h = {.r = bpf_map_lookup_elem(&ebt_ocaml_allocs, &key)};
	if (!h.r)
		return 0;
	if (function == EBT_OCAML_ALLOC_COUNT && (uint32_t)first != COUNTER_BYTES &&
	    (uint32_t)first != COUNTER_WORDS)
		return 0;
	uint64_t state = first;
	if (function != EBT_OCAML_ALLOC_SMALL)
		state = ocaml_state(h.r->state.tls, h.r->state.tls_offset, h.r->state.tls_module,
				    bpf_get_current_task_btf());
	if (look(key, state, &h))
		return 0;
	switch (function) {
	case EBT_OCAML_ALLOC_SMALL:
		return sample_small(&h, second, (uint32_t)third);
	case EBT_OCAML_ALLOC_LARGE:
		return sample_large(&h, first);
	case EBT_OCAML_ALLOC_COUNT:
		return count_emptied(&h, (uint32_t)first, second);
	}
	return 0;
}
