/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Events counted in maps, in place of records: begins, ends and counters (counts.h). A lane is one
 * entry of ebt_count_lanes, which one thread at a time writes, so there is no lock: it holds the
 * lane's open spans and its sums, and the lengths of its pauses are in pages of a histogram. An
 * entry is announced by one record. What has no room is dropped, and so counted as lost. The tracer
 * reads the entries while they change, and removes them when the process has ended. Unless the
 * tracer asks for it before it loads the programs, the verifier removes all of this.
 */
#ifndef EBT_COUNTS_BPF_H
#define EBT_COUNTS_BPF_H

#include "channel.bpf.h"
#include "counts.h"
#include "run.bpf.h"

#include "../user/base/buckets.h"

/* Set before load. */
const volatile uint32_t ebt_counting __weak = 0;
/* The histograms are coarse (base/buckets.h): pages have numbers of values. Set before load. */
const volatile uint32_t ebt_count_coarse __weak = 0;
/* The rows of phases, with their bits, by numbering and number. */
const volatile uint16_t ebt_count_rows[EBT_NUMBERINGS][EBT_PHASE_IDS] __weak = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EBT_COUNT_LANES);
	__type(key, struct ebt_count_key);
	__type(value, struct ebt_count_lane);
} ebt_count_lanes __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EBT_COUNT_PAGES);
	__type(key, struct ebt_count_page_key);
	__type(value, struct ebt_count_page);
} ebt_count_pages __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EBT_COUNT_LANES);
	__type(key, struct ebt_count_process_key);
	__type(value, struct ebt_count_process);
} ebt_count_processes __weak SEC(".maps");

/* In .bss: numbers of lanes so far; gaps, in which probes were missing: the tracer's; and how often
 * the ring of any process has stopped or gone on. */
uint32_t ebt_count_numbers __weak = 0;
uint32_t ebt_count_gaps __weak = 0;
uint32_t ebt_count_stops __weak = 0;

static const struct ebt_count_lane count_new_lane;
static const struct ebt_count_page count_new_page;

/* An event of a lane. */
struct count_hit {
	struct ebt_count_key key;
	uint32_t tid; /* in the lane's eyes; 0: it has one thread */
	uint32_t release;
	uint32_t row;
	uint64_t ts;
};

static __always_inline uint32_t count_exec(struct task_struct *task)
{
	return (uint32_t)task->self_exec_id;
}

static __always_inline uint32_t count_row(uint32_t numbering, uint32_t id)
{
	if (id >= EBT_PHASE_IDS || numbering >= EBT_NUMBERINGS)
		return EBT_COUNT_UNKNOWN | EBT_COUNT_STOPS;
	EBT_COUNT_SEEN(id);
	EBT_COUNT_SEEN(numbering);
	return ebt_count_rows[numbering & (EBT_NUMBERINGS - 1)][id & (EBT_PHASE_IDS - 1)];
}

/* The lane's events are counted from now on. */
static __always_inline void count_announce(struct ebt_count_lane *l, const struct count_hit *hit)
{
	struct ebt_lane_record *rec = bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec), 0);
	if (!rec) {
		/* The next event tries again, but this one may be the last. */
		channel_drop_event(EBT_NO_POS);
		return;
	}
	channel_head(&rec->head, EBT_RECORD_LANE, hit->key.slot, 0);
	rec->ts = hit->ts;
	rec->dropped = channel_dropped();
	rec->where = hit->key.where;
	rec->exec = hit->key.exec;
	rec->release = hit->release;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	l->announced = 1;
}

/* NULL: there is no room. */
static __always_inline struct ebt_count_lane *count_add_lane(const struct count_hit *hit)
{
	bpf_map_update_elem(&ebt_count_lanes, &hit->key, &count_new_lane, BPF_NOEXIST);
	struct ebt_count_lane *l = bpf_map_lookup_elem(&ebt_count_lanes, &hit->key);
	if (!l || l->number)
		return l;
	l->number = __sync_fetch_and_add(&ebt_count_numbers, 1) + 1;
	l->gaps = ebt_count_gaps;
	l->stops = ebt_count_stops - 1; /* its process may have stopped */
	l->first_ns = hit->ts;
	ebt_count_unsure(l, 0, hit->ts, 0);
	return l;
}

/* NULL: there is no room, and the event is dropped. */
static __always_inline struct ebt_count_process *count_process(uint32_t slot, uint32_t exec)
{
	struct ebt_count_process_key key = {slot, exec};
	struct ebt_count_process none = {}, *p = bpf_map_lookup_elem(&ebt_count_processes, &key);
	if (p)
		return p;
	bpf_map_update_elem(&ebt_count_processes, &key, &none, BPF_NOEXIST);
	p = bpf_map_lookup_elem(&ebt_count_processes, &key);
	if (!p)
		channel_drop_event(EBT_NO_POS);
	return p;
}

/* Probes were missing: what was open is cut. */
static __noinline int count_gap(struct ebt_count_lane *l, uint64_t now)
{
	if (!l)
		return 0;
	l->gaps = ebt_count_gaps;
	ebt_count_cut(l, l->last_ns, 1);
	ebt_count_unsure(l, now, now, 1);
	return 0;
}

/* The ring of some process has stopped or gone on. A thread outside of domains has none. */
static __noinline int count_follow(struct ebt_count_lane *l, uint32_t slot, uint32_t exec,
				   uint32_t where)
{
	struct ebt_count_process_key key = {slot, exec};
	if (!l)
		return 0;
	l->stops = ebt_count_stops;
	struct ebt_count_process *p = bpf_map_lookup_elem(&ebt_count_processes, &key);
	if (p && !(where & EBT_COUNT_THREAD))
		ebt_count_follow(l, p);
	return 0;
}

/* The lane at the time of an event, which becomes that of the lane if it is later; NULL: the
 * event is dropped, or does not count. */
static __always_inline struct ebt_count_lane *count_lane(struct count_hit *hit)
{
	if (!run_has_begun(hit->ts))
		return NULL;
	struct ebt_count_lane *l = bpf_map_lookup_elem(&ebt_count_lanes, &hit->key);
	if (!l)
		l = count_add_lane(hit);
	if (!l) {
		channel_drop_event(EBT_NO_POS);
		return NULL;
	}
	l->hits++;
	asm volatile("" ::: "memory");
	if (l->gaps != ebt_count_gaps)
		count_gap(l, hit->ts);
	if (l->stops != ebt_count_stops)
		count_follow(l, hit->key.slot, hit->key.exec, hit->key.where);
	ebt_count_switch(l, hit->tid, hit->ts);
	hit->ts = ebt_count_moment(l, hit->ts);
	return l;
}

/* The process learns how many of its lanes are in a collection together; one begins with the first
 * of them. others: how many are in one that this count does not have. */
static __always_inline uint64_t count_together(int32_t *all, int32_t others, uint16_t *known,
					       uint16_t open)
{
	int32_t change = (int32_t)open - (int32_t)*known;
	*known = open;
	int32_t before = __sync_fetch_and_add(all, change);
	return change > 0 && before + others <= 0;
}

static __noinline int count_collections(struct ebt_count_lane *l, uint32_t slot, uint32_t exec,
					uint32_t where)
{
	struct ebt_count_process *p = count_process(slot, exec);
	if (!l || !p)
		return 0;
	struct ebt_count_collections *mine = &p->of[0], *others = &p->of[1];
	if (where & EBT_COUNT_THREAD) {
		mine = &p->of[1];
		others = &p->of[0];
	}
	l->majors +=
		count_together(&mine->majors, others->majors, &l->majors_known, l->majors_open);
	l->compactions += count_together(&mine->compactions, others->compactions,
					 &l->compactions_known, l->compactions_open);
	return 0;
}

/* Behind the event itself, so that a lane that is announced has a time. */
static __always_inline void count_done(struct ebt_count_lane *l, const struct count_hit *hit)
{
	if (l->majors_open != l->majors_known || l->compactions_open != l->compactions_known)
		count_collections(l, hit->key.slot, hit->key.exec, hit->key.where);
	asm volatile("" ::: "memory");
	l->done = l->hits;
	if (!l->announced)
		count_announce(l, hit);
}

static __always_inline void count_pause(struct ebt_count_lane *l, uint64_t ns, uint64_t now)
{
	uint64_t number = ebt_count_coarse ? buckets_coarse_of(ns) : ns;
	uint32_t group = buckets_group_of(number), bucket = buckets_bucket_of(number, group);
	struct ebt_count_page_key key = {
		.lane = l->number,
		.page = (uint16_t)(group * (BUCKETS_COUNT / EBT_COUNT_BUCKETS) +
				   bucket / EBT_COUNT_BUCKETS),
		.epoch = (uint16_t)ebt_count_epoch(l, now),
	};
	struct ebt_count_page *page = bpf_map_lookup_elem(&ebt_count_pages, &key);
	if (!page) {
		bpf_map_update_elem(&ebt_count_pages, &key, &count_new_page, BPF_NOEXIST);
		page = bpf_map_lookup_elem(&ebt_count_pages, &key);
	}
	if (!page) {
		channel_drop_event(EBT_NO_POS);
		return;
	}
	uint32_t word = key.page / 64;
	EBT_COUNT_SEEN(word);
	if (word < EBT_COUNT_PAGE_WORDS)
		l->pages[word] |= 1ull << (key.page & 63);
	EBT_COUNT_SEEN(bucket);
	page->bucket[bucket & (EBT_COUNT_BUCKETS - 1)]++;
	ebt_count_pause(l, ns);
}

static __always_inline int count_begin(struct count_hit *hit)
{
	struct ebt_count_lane *l = count_lane(hit);
	if (!l)
		return 0;
	if (!l->is_stopped && ebt_count_begin(l, hit->row, hit->ts))
		channel_drop_event(EBT_NO_POS);
	count_done(l, hit);
	return 0;
}

/* The rare ends, out of the way. */
static __noinline int count_end_outer(struct ebt_count_lane *l, uint32_t row, uint64_t now)
{
	if (!l)
		return 0;
	return ebt_count_end_outer(l, row, now);
}

static __always_inline int count_end(struct count_hit *hit)
{
	struct ebt_count_lane *l = count_lane(hit);
	if (!l)
		return 0;
	uint32_t ended = 0;
	if (ebt_count_is_top(l, hit->row))
		ended = (uint32_t)ebt_count_pop(l, hit->ts, 0);
	else if (!l->is_stopped)
		ended = (uint32_t)count_end_outer(l, hit->row, hit->ts);
	if (ended)
		count_pause(l, l->now.spent_ns, hit->ts);
	count_done(l, hit);
	return 0;
}

static __always_inline void count_add(struct ebt_count_lane *l, uint32_t counter, uint64_t value)
{
	l->counter[counter] += value;
	l->counters_seen |= 1u << counter;
}

/* By how much the lane's part of the process's heap has changed. */
static __always_inline void count_heap(struct ebt_count_lane *l, const struct count_hit *hit)
{
	struct ebt_count_heap *h = &l->heap;
	struct ebt_count_process *p = count_process(hit->key.slot, hit->key.exec);
	uint64_t words = h->words ? h->words : h->pool_words + h->large_words;
	uint64_t more = words - h->counted;
	h->last = h->counted = words;
	h->last_sum = p ? __sync_fetch_and_add(&p->heap, more) + more : words;
	h->ts = hit->ts;
	if (h->last_sum > h->max_sum)
		h->max_sum = h->last_sum;
	if (words > h->max)
		h->max = words;
}

static __always_inline int count_counter(struct count_hit *hit, uint32_t id, uint64_t value)
{
	struct ebt_count_lane *l = count_lane(hit);
	if (!l)
		return 0;
	switch (id) {
	case EBT_COUNT_minor_allocated:
		count_add(l, EBT_COUNT_MINOR_BYTES, value);
		break;
	case EBT_COUNT_minor_promoted:
		count_add(l, EBT_COUNT_PROMOTED_BYTES, value);
		break;
	case EBT_COUNT_minor_allocated_words:
		count_add(l, EBT_COUNT_MINOR_WORDS, value);
		break;
	case EBT_COUNT_minor_promoted_words:
		count_add(l, EBT_COUNT_PROMOTED_WORDS, value);
		break;
	case EBT_COUNT_major_allocated_words:
		count_add(l, EBT_COUNT_MAJOR_WORDS, value);
		break;
	case EBT_COUNT_major_heap_words:
		l->heap.words = value;
		count_heap(l, hit);
		break;
	case EBT_COUNT_major_heap_pool_words:
		l->heap.pool_words = value;
		count_heap(l, hit);
		break;
	case EBT_COUNT_major_heap_large_words:
		l->heap.large_words = value;
		count_heap(l, hit);
		break;
	}
	count_done(l, hit);
	return 0;
}

/* The lane's domain begins or ends; a record reports that, too. */
static __noinline int count_life(struct ebt_count_lane *l, uint64_t now, int begins)
{
	if (!l)
		return 0;
	ebt_count_cut(l, begins ? l->last_ns : now, 0);
	ebt_count_unsure(l, now, now, 0);
	if (!begins)
		return 0;
	ebt_count_settle(l);
	l->is_stopped = 0;
	return 0;
}

/* The part that an ended domain had of the heap. */
static __noinline int count_leave(struct ebt_count_lane *l, uint32_t slot, uint32_t exec)
{
	if (!l || !l->heap.counted)
		return 0;
	l->heap.words = l->heap.pool_words = l->heap.large_words = 0;
	struct ebt_count_process *p = count_process(slot, exec);
	if (p)
		__sync_fetch_and_add(&p->heap, -l->heap.counted);
	l->heap.counted = 0;
	return 0;
}

/* The ring of the process stops, or goes on. */
static __noinline int count_ring(struct ebt_count_lane *l, const struct count_hit *hit, int stops)
{
	struct ebt_count_process *p = l && hit ? count_process(hit->key.slot, hit->key.exec) : NULL;
	if (!p)
		return 0;
	if (stops)
		ebt_count_stop(p, hit->ts);
	else
		ebt_count_resume(p, hit->ts);
	__sync_fetch_and_add(&ebt_count_stops, 1);
	return count_follow(l, hit->key.slot, hit->key.exec, hit->key.where);
}

static __always_inline int count_lifecycle(struct count_hit *hit, uint32_t id)
{
	int begins = id == EBT_COUNT_domain_spawn, ends = id == EBT_COUNT_domain_terminate;
	int stops = id == EBT_COUNT_ring_stop || id == EBT_COUNT_ring_pause;
	int resumes = id == EBT_COUNT_ring_start || id == EBT_COUNT_ring_resume;
	if (!begins && !ends && !stops && !resumes)
		return 0;
	struct ebt_count_lane *l = count_lane(hit);
	if (!l)
		return 0;
	if (stops || resumes)
		count_ring(l, hit, stops);
	else
		count_life(l, hit->ts, begins);
	if (ends)
		count_leave(l, hit->key.slot, hit->key.exec);
	count_done(l, hit);
	return 0;
}

#endif
