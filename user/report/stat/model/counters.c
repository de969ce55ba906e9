/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/counters.h"

static void add_words(struct stat_words *w, uint64_t words)
{
	w->seen = true;
	w->words += words;
}

/*
 * OCaml counts each domain's part of the heap; before 5.3, only at the end of a major cycle. With
 * our own probes a domain counts the whole heap.
 */
static uint64_t heap_of(const struct stat_lane *l)
{
	return l->heap_words ? l->heap_words : l->pool_words + l->large_words;
}

static void set_heap(struct stat_lane *l, uint64_t *ret_last, uint64_t words)
{
	struct stat_process *p = l->process;
	struct stat_numbers *n = &p->numbers;
	*ret_last = words;
	p->heap_sum += heap_of(l) - l->heap_counted;
	l->heap_counted = heap_of(l);
	uint64_t sum = p->heap_is_by_domain ? p->heap_sum : l->heap_counted;
	n->heap = (struct stat_words){true, sum};
	n->heap_max.seen = true;
	if (sum > n->heap_max.words)
		n->heap_max.words = sum;
}

void stat_counters_add(struct stat_lane *l, const struct ebt_event *ev)
{
	struct stat_numbers *n = &l->process->numbers;
	switch (ev->id) {
	case COUNTER_minor_allocated:
		add_words(&n->minor_bytes, ev->arg[0]);
		break;
	case COUNTER_minor_promoted:
		add_words(&n->promoted_bytes, ev->arg[0]);
		break;
	case COUNTER_minor_allocated_words:
		add_words(&n->minor_words, ev->arg[0]);
		break;
	case COUNTER_minor_promoted_words:
		add_words(&n->promoted_words, ev->arg[0]);
		break;
	case COUNTER_major_allocated_words:
		add_words(&n->major_words, ev->arg[0]);
		break;
	case COUNTER_major_heap_words:
		set_heap(l, &l->heap_words, ev->arg[0]);
		break;
	case COUNTER_major_heap_pool_words:
		set_heap(l, &l->pool_words, ev->arg[0]);
		break;
	case COUNTER_major_heap_large_words:
		set_heap(l, &l->large_words, ev->arg[0]);
		break;
	default:
		break;
	}
}

void stat_counters_leave(struct stat_lane *l)
{
	l->heap_words = l->pool_words = l->large_words = 0;
	l->process->heap_sum -= l->heap_counted;
	l->heap_counted = 0;
}
