// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * The program of the functions of an OCaml 5 runtime by which its allocations are sampled without
 * any preparation. Native code calls caml_alloc_small_dispatch when half of the minor heap is used
 * up, and when all of it is (5.0: only then): such a call is a sample, which stands for the words
 * that the domain has allocated since its last one, as the runtime itself counts them. The function
 * is called for signals, ticks and other domains' collections, too; then the trigger is not
 * reached.
 *
 * A heap that is emptied before half of it is used has no sample. If more than a heap was used
 * since the last sample, the next one represents its own heap alone. The words before it are
 * counted as being in no sample.
 *
 * Where a domain has many such calls, some are drawn at random and read. The others only count
 * down: that is what most hits cost, so it needs one line of memory and nothing of the program's.
 *
 * Allocations outside of the minor heap are records of their own size. Where they are many, those
 * that are smaller than a threshold are chosen at random, each with the chance of its size in that,
 * and stand for the threshold: so what a site has allocated is estimated without bias. The
 * threshold does not exceed what a sample of a minor heap stands for. Words that are too many even
 * then are counted as being in no sample. Objects larger than any threshold have a limit of their
 * own, four times as high.
 *
 * All addresses come from the traced program: memory is copied, never trusted.
 */
#include "ocaml_stack.bpf.h"

#define WORD_BYTES 8
#define MAX_WORDS  (1ull << 40) /* of a minor heap, or of an object */
#define MAX_PERIOD (1u << 30)
#define FROM_CAML  2 /* a flag among the runtime's arguments */
#define TERMINATED 7 /* of its numbers of what happens to a domain */

#define NO_ELEMENT 1 /* BPF_NOEXIST */

#define WINDOW_NS     100000000
#define USUAL	      50 /* samples in a window: at each multiple, half as many are taken on */
#define MAX_EVERY     65536
#define MIN_THRESHOLD 256 /* words, once there is one */
#define MAX_IN_WINDOW 800 /* large ones; four times as many of those that are never thinned */
#define MAX_ABSENT    128 /* numbers of domains in a row: the runtime takes the lowest ones */

/* Which hits are looked at, of a domain, or of the large allocations of a runtime. */
struct ocaml_turn {
	uint64_t state; /* of the domain; OF_LARGE */
	uint64_t window_ns;
	uint32_t key;  /* of the runtime */
	uint32_t left; /* hits that are skipped */
	uint32_t in_window;
	uint32_t every; /* one hit in so many, or the threshold in words; 0: each */
	uint32_t drawn; /* hits that were to be skipped since the last sample */
	uint32_t unused[7];
};

#define TURN_BITS 10
#define OF_LARGE  1 /* no state's address */

/* Found without a search, as a hit that is skipped costs little else. Two that meet in a place take
 * it from each other, and are then looked at more often. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << TURN_BITS);
	__type(key, uint32_t);
	__type(value, struct ocaml_turn);
} ebt_ocaml_turns SEC(".maps");

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
	uint64_t state;
	struct young young;
	uint32_t key;
	uint16_t number; /* of the domain */
};

static __always_inline struct ocaml_turn *find_turn(uint32_t key, uint64_t state)
{
	uint64_t mixed = (state ^ (uint64_t)key << 32) * 0x9e3779b97f4a7c15;
	uint32_t at = (uint32_t)(mixed >> (64 - TURN_BITS));
	struct ocaml_turn *t = bpf_map_lookup_elem(&ebt_ocaml_turns, &at);
	if (t && (t->state != state || t->key != key)) {
		t->left = t->every = t->in_window = t->drawn = 0;
		t->window_ns = 0;
		t->key = key;
		t->state = state;
	}
	return t;
}

/* A hit is taken: where they are many, the next ones are fewer. */
static __always_inline void count_taken(struct ocaml_turn *t, uint64_t ts, uint32_t least,
					uint32_t most)
{
	uint64_t windows = (ts - t->window_ns) / WINDOW_NS;
	if (windows) {
		t->window_ns = ts;
		t->in_window = 0;
		t->every = windows < 32 ? t->every >> windows : 0;
	}
	if (++t->in_window % USUAL || t->every >= most)
		return;
	t->every = 2 * t->every < least ? least : 2 * t->every < most ? 2 * t->every : most;
}

/* Nonzero: not a domain's. */
static __always_inline int look(uint64_t state, struct hit *h)
{
	h->state = state;
	h->number = ocaml_domain(state, h->r->state.id_offset);
	if (h->number == EBT_NO_DOMAIN ||
	    bpf_probe_read_user(&h->young, sizeof(h->young), (void *)state))
		return 1;
	uint64_t bytes = h->young.end - h->young.start;
	if (!bytes || bytes / WORD_BYTES >= MAX_WORDS || h->young.ptr > h->young.end)
		return 1;
	if (!h->r->period) {
		uint64_t period = bytes / WORD_BYTES / (h->r->stacks.is_indirect ? 1 : 2);
		h->r->period = period < 1 ? 1 : period > MAX_PERIOD ? MAX_PERIOD : (uint32_t)period;
	}
	return 0;
}

/* As the runtime counts them. */
struct counted {
	uint64_t minor, promoted, major;
};

static __always_inline uint64_t read_counts(const struct ebt_ocaml_allocs *r, uint64_t state,
					    struct counted *ret)
{
	*ret = (struct counted){0};
	bpf_probe_read_user(ret, sizeof(*ret), (void *)(state + r->minor_words));
	uint64_t large = ret->major + user_word(state + r->allocated_words) - ret->promoted;
	return large < MAX_WORDS ? large : 0;
}

/* The words that a domain has allocated; of them `emptied` in minor heaps that were emptied. */
static __always_inline uint64_t words_of(const struct young *y, uint64_t emptied)
{
	uint64_t used = (y->end - y->ptr) / WORD_BYTES;
	return emptied + (used < MAX_WORDS ? used : 0);
}

/* Brings up to date what is known of the domain. Of one that was not known before, what it had
 * allocated up to its last collection is in no sample. */
static __always_inline struct ebt_ocaml_domain *note(struct hit *h)
{
	uint64_t id = (uint64_t)h->key << 32 | h->number;
	struct counted counted;
	uint64_t large = read_counts(h->r, h->state, &counted), emptied = counted.minor;
	struct ebt_ocaml_domain *d = bpf_map_lookup_elem(&ebt_ocaml_domains, &id);
	if (!d) {
		struct ebt_ocaml_domain made = {.state = h->state, .sampled = emptied};
		made.large_first = h->r->counts_before ? 0 : large;
		if (h->r->counts_before && emptied < MAX_WORDS)
			__sync_fetch_and_add(&h->r->small_rest, emptied);
		bpf_map_update_elem(&ebt_ocaml_domains, &id, &made, NO_ELEMENT);
		d = bpf_map_lookup_elem(&ebt_ocaml_domains, &id);
	}
	if (!d)
		return NULL;
	d->state = h->state;
	d->now = words_of(&h->young, emptied);
	/* Another domain has the number now. */
	if (d->now < d->sampled)
		d->sampled = 0;
	if (large < d->large_now) {
		__sync_fetch_and_add(&h->r->large_ended, d->large_now - d->large_first);
		d->large_first = d->large_read = 0;
	}
	d->large_now = large;
	return d;
}

static __always_inline void emit(const struct hit *h, uint64_t ts, uint16_t site,
				 const uint64_t arg[4])
{
	struct ebt_alloc_record *rec =
		channel_reserve(sizeof(*rec) + sizeof(struct ocaml_walk), EBT_NO_POS);
	if (!rec) {
		channel_drop_event(EBT_NO_POS);
		return;
	}
	channel_head(&rec->head, EBT_RECORD_ALLOC, h->r->slot, site);
	rec->ts = ts;
	rec->dropped = channel_dropped();
	rec->reserved = 0;
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

/* What the domain has allocated since its last sample. */
static __always_inline uint64_t not_sampled(const struct ebt_ocaml_domain *d)
{
	uint64_t words = d->now - d->sampled;
	return words < MAX_WORDS ? words : 0;
}

/*
 * The words that a sample stands for: those since the domain's last sample. If they are more than a
 * heap for each hit since then, some heaps had no sample. The sample then stands for its own heap,
 * and for half a heap for each skipped hit.
 */
static __always_inline uint64_t weigh(const struct hit *h, const struct ocaml_turn *t,
				      uint64_t words)
{
	uint64_t skipped = t ? t->drawn : 0;
	uint64_t heap = (h->young.end - h->young.start) / WORD_BYTES;
	if (words <= (skipped + 1) * heap)
		return words;
	uint64_t used = (h->young.end - h->young.ptr) / WORD_BYTES;
	return used + skipped * (h->r->stacks.is_indirect ? heap : heap / 2);
}

/* The object is counted in young.ptr already. */
static __always_inline void sample_small(struct hit *h, struct ocaml_turn *t, uint64_t words,
					 uint32_t flags)
{
	uint64_t ts = clock_now(), trigger = user_word(h->state + h->r->trigger);
	struct ebt_ocaml_domain *d = note(h);
	if (!d || h->young.ptr >= trigger || words >= MAX_WORDS)
		return;
	uint64_t since = not_sampled(d), weight = weigh(h, t, since);
	uint64_t free = h->young.ptr + (words + 1) * WORD_BYTES - trigger;
	d->sampled = d->now;
	if (!weight)
		return;
	if (since > weight)
		__sync_fetch_and_add(&h->r->small_rest, since - weight);
	if (t) {
		count_taken(t, ts, 2, MAX_EVERY);
		if (t->every > 1)
			t->left = bpf_get_prandom_u32() % (2 * t->every - 1);
		t->drawn = t->left;
	}
	emit(h, ts, EBT_ALLOC_SITE_OCAML_MINOR,
	     (uint64_t[4]){weight, words, free / WORD_BYTES,
			   flags & FROM_CAML ? EBT_OCAML_BY_OCAML : 0});
}

/* With its header; 0: it is not taken. */
static __always_inline uint64_t choose_large(const struct ocaml_turn *t, uint64_t words)
{
	uint32_t threshold = t && t->every ? t->every : 1;
	if (words >= MAX_WORDS)
		return 0;
	if (++words >= threshold)
		return words;
	return bpf_get_prandom_u32() % threshold < words ? threshold : 0;
}

static __always_inline void sample_large(struct hit *h, struct ocaml_turn *t, uint64_t words,
					 uint64_t weight)
{
	uint64_t ts = clock_now();
	if (t)
		count_taken(t, ts, MIN_THRESHOLD, h->r->period);
	if (t && t->in_window > (words >= h->r->period ? 4 : 1) * MAX_IN_WINDOW)
		__sync_fetch_and_add(&h->r->large_rest, weight);
	else
		emit(h, ts, EBT_ALLOC_SITE_OCAML_MAJOR, (uint64_t[4]){weight, words, 0, 0});
}

/*
 * The runtime allocates a marshalled value of more than 256 words object by object, in no function
 * that is probed. Its words are the increase of the domain's own count while it is read. Other
 * threads of the domain may run meanwhile: their large allocations are subtracted.
 */
static __always_inline void begin_input(struct hit *h)
{
	struct ebt_ocaml_domain *d = note(h);
	if (!d)
		return;
	d->large_read = d->large_now;
	d->inputs++;
	__sync_fetch_and_add(&h->r->inputs, 1);
}

static __always_inline void skip_in_input(const struct hit *h, uint64_t words)
{
	uint64_t id = (uint64_t)h->key << 32 | h->number;
	struct ebt_ocaml_domain *d = bpf_map_lookup_elem(&ebt_ocaml_domains, &id);
	if (d && d->inputs)
		d->large_read += words;
}

/* The domain is known from its first one, as the count of these begins with it. */
static __always_inline void allocate_large(struct hit *h, struct ocaml_turn *t, uint64_t words,
					   uint64_t weight)
{
	if (h->r->inputs)
		skip_in_input(h, words + 1);
	if (!weight)
		return;
	note(h);
	sample_large(h, t, words, weight);
}

/* A value that is refused has no end: the domain then seems to read on, which only costs time. */
static __always_inline void end_input(struct hit *h)
{
	struct ocaml_turn *t = find_turn(h->key, OF_LARGE);
	struct ebt_ocaml_domain *d = note(h);
	if (!d || !d->inputs)
		return;
	uint64_t words = d->large_now - d->large_read;
	d->large_read = d->large_now;
	d->inputs--;
	__sync_fetch_and_add(&h->r->inputs, -1);
	if (!words || words >= MAX_WORDS)
		return;
	__sync_fetch_and_add(&h->r->large, words);
	uint64_t weight = choose_large(t, words - 1);
	if (weight)
		sample_large(h, t, words - 1, weight);
}

/* What a domain that ends has allocated since its last sample is in none. */
static __always_inline void forget(struct hit *h)
{
	uint64_t id = (uint64_t)h->key << 32 | h->number;
	struct ebt_ocaml_domain *d = note(h);
	if (!d)
		return;
	__sync_fetch_and_add(&h->r->small_rest, not_sampled(d));
	__sync_fetch_and_add(&h->r->large_ended, d->large_now - d->large_first);
	if (d->inputs)
		__sync_fetch_and_add(&h->r->inputs, -(int)d->inputs);
	bpf_map_delete_elem(&ebt_ocaml_domains, &id);
}

struct last_look {
	struct ebt_ocaml_allocs *r;
	uint32_t key, absent;
};

static long look_last(uint32_t number, void *ctx)
{
	struct last_look *l = ctx;
	uint64_t id = (uint64_t)l->key << 32 | number;
	struct ebt_ocaml_domain *d = bpf_map_lookup_elem(&ebt_ocaml_domains, &id);
	struct young young;
	if (!d)
		return ++l->absent == MAX_ABSENT;
	l->absent = 0;
	if (bpf_probe_read_user(&young, sizeof(young), (void *)d->state) || young.ptr > young.end)
		return 0;
	struct counted counted;
	uint64_t large = read_counts(l->r, d->state, &counted);
	uint64_t words = words_of(&young, counted.minor);
	if (words > d->now)
		d->now = words;
	if (large > d->large_now)
		d->large_now = large;
	return 0;
}

/* After this its memory cannot be read. */
static __always_inline void end_program(struct hit *h)
{
	struct last_look l = {.r = h->r, .key = h->key};
	note(h);
	bpf_loop(OCAML_MAX_DOMAINS, look_last, &l, 0);
}

SEC("uprobe")
int ebt_ocaml_alloc(struct pt_regs *regs)
{
	uint64_t cookie = bpf_get_attach_cookie(regs);
	uint64_t first = REGS_CALL_0(regs), second = REGS_CALL_1(regs), third = REGS_CALL_2(regs);
	/* The verifier refuses a load from a register of the context that is chosen at run time. */
	asm volatile("" : "+r"(first), "+r"(second), "+r"(third));
	budget_hit(EBT_HITS_RUNTIME_ALLOC, 0);
	uint32_t key = (uint32_t)(cookie >> 16), function = cookie & 0xffff;
	struct ocaml_turn *t = NULL;
	uint64_t state = 0, weight = 0;
	if (function == EBT_OCAML_ALLOC_SMALL) {
		state = first;
		t = find_turn(key, state);
		if (t && t->left) {
			t->left--;
			return 0;
		}
	} else if (function == EBT_OCAML_ALLOC_LARGE) {
		t = find_turn(key, OF_LARGE);
		weight = choose_large(t, first);
	}
	struct hit h = {.r = bpf_map_lookup_elem(&ebt_ocaml_allocs, &key), .key = key};
	if (!h.r)
		return 0;
	if (function == EBT_OCAML_ALLOC_LARGE && first < MAX_WORDS) {
		__sync_fetch_and_add(&h.r->large, first + 1);
		if (!weight && !h.r->inputs)
			return 0;
	}
	if (function != EBT_OCAML_ALLOC_SMALL)
		state = ocaml_state(h.r->state.tls, h.r->state.tls_offset, h.r->state.tls_module,
				    bpf_get_current_task_btf());
	if (look(state, &h))
		return 0;
	if (function == EBT_OCAML_ALLOC_SMALL)
		sample_small(&h, t, second, (uint32_t)third);
	else if (function == EBT_OCAML_ALLOC_LARGE)
		allocate_large(&h, t, first, weight);
	else if (function == EBT_OCAML_ALLOC_INPUT)
		begin_input(&h);
	else if (function == EBT_OCAML_ALLOC_READ)
		end_input(&h);
	else if (function == EBT_OCAML_ALLOC_EXIT)
		end_program(&h);
	else if (function == EBT_OCAML_ALLOC_LIFE && (uint32_t)first == TERMINATED)
		forget(&h);
	else
		note(&h);
	return 0;
}
