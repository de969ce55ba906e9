// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/counted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ptrmap.h"

#define PAGE_BUCKETS EBT_COUNT_BUCKETS
#define GROUP_PAGES  (BUCKETS_COUNT / PAGE_BUCKETS)
#define PAGES	     (BUCKETS_GROUPS * GROUP_PAGES)

_Static_assert(PAGES <= 64 * EBT_COUNT_PAGE_WORDS, "a bit for each page");
_Static_assert((int)EBT_COUNT_ROWS == (int)PHASE_ROWS && EBT_COUNT_ORPHANS == TALLY_ORPHANS &&
		       EBT_COUNT_COUNTERS == (int)TALLY_COUNTERS,
	       "tallies have the same rows");

struct counted_page {
	struct ebt_count_page last; /* as it was read last */
	bool counts;		    /* its pauses are not held */
};

struct counted_lane {
	struct ebt_count_key key;
	struct ebt_count_lane last;  /* as it was read last */
	struct ebt_count_sums exact; /* of the pauses in tallies */
	uint64_t at_ns;		     /* of the last tally */
	/* Of the lane, as it was before its pages were read last: they have what it had then. */
	struct {
		uint64_t sure_pauses, unsure_ns;
		uint32_t epoch, certainty;
	} paged;
	PTRMAP(struct counted_page) pages; /* by epoch and page */
};

struct counted_process {
	pid_t pid;
	uint32_t process, exec;
	struct counted_lane **lane;
	uint32_t lanes, cap;
};

/* The first page from `page` on that has been used; PAGES: there is none. */
static uint32_t next_page(const uint64_t bits[EBT_COUNT_PAGE_WORDS], uint32_t page)
{
	for (uint32_t word = page / 64, at = page % 64; word < EBT_COUNT_PAGE_WORDS;
	     word++, at = 0) {
		uint64_t left = bits[word] >> at << at;
		page = 64 * word + (left ? (uint32_t)__builtin_ctzll(left) : 0);
		if (left)
			return page < PAGES ? page : PAGES;
	}
	return PAGES;
}

/* ---- lanes ---- */

static void free_lane(struct counted_lane *l)
{
	ptrmap_free(&l->pages);
	free(l);
}

static void free_process(struct counted_process *p)
{
	for (uint32_t i = 0; i < p->lanes; i++)
		free_lane(p->lane[i]);
	free(p->lane);
	free(p);
}

void bpf_counted_done(struct bpf_counted *c)
{
	size_t at = 0;
	for (struct counted_process *p; (p = ptrarray_next(&c->by_slot, &at));)
		free_process(p);
	ptrarray_done(&c->by_slot);
}

int bpf_counted_add(struct bpf_counted *c, uint32_t slot, pid_t pid, uint32_t process,
		    const struct ebt_lane_record *rec)
{
	bool is_new;
	struct counted_process *p = ptrarray_get(&c->by_slot, slot);
	/* The record of an exec may have been dropped. */
	int err = p && p->exec != rec->exec ? bpf_counted_end(c, slot, rec->ts) : 0;
	if (err)
		return err;
	p = ptrarray_make(&c->by_slot, slot, &is_new);
	if (!p || !array_reserve(p->lane, p->cap, p->lanes))
		return -ENOMEM;
	struct counted_lane *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->key = (struct ebt_count_key){slot, rec->where, rec->exec};
	p->pid = pid;
	p->process = process;
	p->exec = rec->exec;
	p->lane[p->lanes++] = l;
	return 0;
}

/* ---- the difference to the last read ---- */

static uint64_t middle_of(const struct bpf_counted *c, unsigned group, unsigned bucket)
{
	uint64_t number = buckets_middle_of(group, bucket);
	return c->coarse ? buckets_middle_of_coarse(number) : number;
}

static int add_buckets(const struct bpf_counted *c, struct histogram *h, uint32_t page,
		       const struct ebt_count_page *now, const struct ebt_count_page *last)
{
	unsigned group = page / GROUP_PAGES, first = page % GROUP_PAGES * PAGE_BUCKETS;
	int err = 0;
	for (unsigned i = 0; i < PAGE_BUCKETS && !err; i++)
		if (now->bucket[i] != last->bucket[i])
			err = histogram_add_many(h, middle_of(c, group, first + i),
						 now->bucket[i] - last->bucket[i]);
	return err;
}

/* What is in one page, and was not before: in t->pauses once it counts. 0 or -ENOMEM. */
static int read_page(struct bpf_counted *c, struct counted_lane *l,
		     const struct ebt_count_page_key *key, bool counts, bool holds, struct tally *t)
{
	static const struct ebt_count_page none;
	struct ebt_count_page now;
	bool is_new;
	struct counted_page *p = ptrmap_make(&l->pages, key->epoch * PAGES + key->page, &is_new);
	if (!p)
		return -ENOMEM;
	/* No pause comes to what was held. */
	if ((p->counts && key->epoch) || c->access.read_page(c->access.ctx, key, &now))
		return 0;
	int err = add_buckets(c, &t->seen, key->page, &now, &p->last);
	if (!err && !counts && holds)
		err = add_buckets(c, &t->held, key->page, &now, &none);
	if (!err && counts)
		err = add_buckets(c, &t->pauses, key->page, &now, p->counts ? &p->last : &none);
	p->last = now;
	p->counts = counts;
	return err;
}

/* Whether the pauses of an epoch count: they are not held any more, and were not dropped. */
static bool epoch_counts(const struct ebt_count_lane *l, uint32_t epoch)
{
	if (epoch == l->epoch && l->certainty != EBT_COUNT_SURE)
		return false;
	for (uint32_t i = 0; i < l->orphans && i < EBT_COUNT_ORPHANS; i++)
		if (l->orphan[i].dropped && l->orphan[i].dropped == epoch)
			return false;
	return true;
}

/* The buckets are those that were counted; the sum is exact, and so is a new longest or shortest
 * one. */
static void set_exact(struct histogram *h, const struct ebt_count_sums *now,
		      const struct ebt_count_sums *last)
{
	if (!h->count)
		return;
	h->sum = now->ns - last->ns;
	if (!last->pauses || now->max_ns > last->max_ns)
		h->max = now->max_ns;
	if (!last->pauses || now->min_ns < last->min_ns)
		h->min = now->min_ns;
	if (h->max > now->max_ns)
		h->max = now->max_ns;
	if (h->min < now->min_ns)
		h->min = now->min_ns;
}

/* The longest pause is exact where it is in the same bucket as the longest of all. */
static void set_longest(const struct bpf_counted *c, struct histogram *h, uint64_t max_ns)
{
	uint64_t number = c->coarse ? buckets_coarse_of(max_ns) : max_ns;
	unsigned group = buckets_group_of(number);
	if (h->count && h->max == middle_of(c, group, buckets_bucket_of(number, group)))
		h->max = max_ns;
}

/* Whether pauses may have come to the pages of an epoch since they were read last: the present one
 * takes those that are held, 0 those that are sure, and others have been read when they had ended.
 */
static bool epoch_changed(const struct counted_lane *l, const struct ebt_count_lane *now,
			  uint32_t epoch)
{
	if (!epoch)
		return now->sure.pauses != l->paged.sure_pauses;
	bool was_sure = epoch == l->paged.epoch && l->paged.certainty == EBT_COUNT_SURE &&
			now->unsure_ns == l->paged.unsure_ns;
	return epoch >= l->paged.epoch && !was_sure;
}

static int read_pages(struct bpf_counted *c, struct counted_lane *l,
		      const struct ebt_count_lane *now, struct tally *t)
{
	int err = 0;
	histogram_clear(&t->held);
	for (uint32_t page = 0; (page = next_page(now->pages, page)) < PAGES && !err; page++) {
		for (uint32_t e = 0; e <= now->epoch && e <= EBT_COUNT_EPOCHS && !err; e++) {
			if (!epoch_changed(l, now, e))
				continue;
			struct ebt_count_page_key key = {now->number, (uint16_t)page, (uint16_t)e};
			err = read_page(c, l, &key, epoch_counts(now, e), e == now->epoch, t);
		}
	}
	l->paged.sure_pauses = now->sure.pauses;
	l->paged.unsure_ns = now->unsure_ns;
	l->paged.epoch = now->epoch;
	l->paged.certainty = now->certainty;
	return err;
}

/* What pages have more than sums at once, or less, comes to the sums of the next tally with
 * pauses. */
static void set_sums(const struct bpf_counted *c, struct counted_lane *l,
		     const struct ebt_count_lane *now, struct tally *t)
{
	static const struct ebt_count_sums none;
	set_exact(&t->pauses, &now->sure, &l->exact);
	if (t->pauses.count)
		l->exact = now->sure;
	set_exact(&t->held, &now->held, &none);
	set_longest(c, &t->seen, now->sure.max_ns);
	set_longest(c, &t->seen, now->held.max_ns);
}

static void add_phases(struct tally *t, const struct ebt_count_lane *now,
		       const struct ebt_count_lane *last)
{
	for (unsigned i = 0; i < PHASE_ROWS; i++) {
		const struct ebt_count_phase *a = &last->phase[i], *b = &now->phase[i];
		t->phase[i] = (struct tally_phase){
			.begun = b->ended + b->cut + now->open[i] - a->ended - a->cut -
				 last->open[i],
			.ended = b->ended - a->ended,
			.cut = b->cut - a->cut,
			.total_ns = b->total_ns - a->total_ns,
			.self_ns = b->self_ns - a->self_ns,
			.max_ns = b->max_ns,
		};
	}
}

static void add_orphans(struct tally *t, const struct ebt_count_lane *now,
			const struct ebt_count_lane *last)
{
	for (uint32_t i = last->orphans; i < now->orphans && i < EBT_COUNT_ORPHANS; i++) {
		const struct ebt_count_orphan *o = &now->orphan[i];
		t->orphan[t->orphans++] = (struct tally_orphan){
			.ts = o->ts,
			.since_ns = o->since_ns,
			.earlier_ns = o->earlier_ns,
			.earlier_pause_ns = o->earlier_pause_ns,
			.inner_ns = o->inner_ns,
			.row = o->row < PHASE_ROWS ? o->row : PHASES_UNKNOWN,
			.is_first = o->is_first,
			.is_loss = o->is_loss,
		};
	}
}

static void add_counters(struct tally *t, const struct ebt_count_lane *now,
			 const struct ebt_count_lane *last)
{
	const struct ebt_count_heap *h = &now->heap;
	for (unsigned i = 0; i < TALLY_COUNTERS; i++) {
		t->counter[i] = now->counter[i] - last->counter[i];
		t->counter_seen[i] = now->counters_seen >> i & 1;
	}
	t->heap = (struct tally_heap){h->ts, h->last, h->max, h->last_sum, h->max_sum};
}

/* Where threads that are no traced program's own share a lane, no copy may ever be whole. */
#define TRIES 64
/* The pages are read behind the lane, and may have more. */
#define PAGE_TRIES 4

/* The ring may have stopped behind the last event of a domain. */
static void follow_ring(struct bpf_counted *c, const struct counted_lane *l,
			struct ebt_count_lane *now)
{
	struct ebt_count_process_key key = {l->key.slot, l->key.exec};
	struct ebt_count_process p;
	if (!(l->key.where & EBT_COUNT_THREAD) && !c->access.read_process(c->access.ctx, &key, &p))
		ebt_count_follow(now, &p);
}

/* What the maps have of a lane now; as before, if that cannot be read. What is open ends at
 * `over_ns`; 0: it is not over. */
static void copy_lane(struct bpf_counted *c, const struct counted_lane *l, uint64_t over_ns,
		      struct ebt_count_lane *ret)
{
	for (unsigned i = 0; i < TRIES; i++) {
		if (c->access.read_lane(c->access.ctx, &l->key, ret)) {
			*ret = l->last;
			break;
		}
		if (ret->done == ret->hits)
			break;
	}
	if (!over_ns)
		return;
	follow_ring(c, l, ret);
	ebt_count_cut(ret, over_ns > ret->last_ns ? over_ns : ret->last_ns, 0);
	ebt_count_settle(ret);
}

/* *now becomes a copy of the lane from behind its pages. */
static int read_pauses(struct bpf_counted *c, struct counted_lane *l, uint64_t over_ns,
		       struct ebt_count_lane *now, struct tally *t)
{
	bool is_same = false;
	int err = 0;
	for (unsigned i = 0; i < PAGE_TRIES && !is_same && !err; i++) {
		uint64_t hits = now->hits;
		err = read_pages(c, l, now, t);
		copy_lane(c, l, over_ns, now);
		is_same = now->hits == hits;
	}
	set_sums(c, l, now, t);
	return err;
}

static void fill(const struct counted_process *p, const struct counted_lane *l,
		 const struct ebt_count_lane *now, struct tally *t)
{
	const struct ebt_count_lane *last = &l->last;
	bool is_thread = l->key.where & EBT_COUNT_THREAD;
	t->at_ns = l->at_ns;
	t->process = p->process;
	t->domain = is_thread ? EBT_NO_DOMAIN : (uint16_t)l->key.where;
	t->tid = is_thread ? l->key.where & ~EBT_COUNT_THREAD : 0;
	t->last_ns = now->last_ns < t->at_ns ? now->last_ns : t->at_ns;
	t->gc_ns = (int64_t)(now->gc_ns - last->gc_ns);
	t->cut_by_loss = now->cut_by_loss - last->cut_by_loss;
	t->cut_by_end = now->cut_by_end - last->cut_by_end;
	t->cut_max_ns = now->cut_max_ns;
	t->majors = now->majors - last->majors;
	t->compactions = now->compactions - last->compactions;
	t->unmatched = now->unmatched - last->unmatched;
	add_phases(t, now, last);
	add_counters(t, now, last);
	add_orphans(t, now, last);
}

/* Ends what is open, if the lane is over. */
static int read_lane(struct bpf_counted *c, const struct counted_process *p, struct counted_lane *l,
		     uint64_t at_ns, bool is_over)
{
	struct ebt_count_lane now;
	copy_lane(c, l, is_over ? at_ns : 0, &now);
	if (now.hits == l->last.hits && !is_over)
		return 0;
	struct tally *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->pauses.coarse = t->held.coarse = t->seen.coarse = c->coarse;
	/* What is held replaces that of the tally before: they are applied in this order. */
	if (at_ns > l->at_ns)
		l->at_ns = at_ns;
	int err = read_pauses(c, l, is_over ? at_ns : 0, &now, t);
	fill(p, l, &now, t);
	l->last = now;
	if (err || !c->reader->take) {
		tally_free(t);
		return err;
	}
	c->reader->take(c->reader->ctx, t);
	return 0;
}

/* ---- ends ---- */

static void remove_lane(struct bpf_counted *c, struct counted_lane *l)
{
	uint32_t epochs = l->last.epoch < EBT_COUNT_EPOCHS ? l->last.epoch : EBT_COUNT_EPOCHS;
	for (uint32_t page = 0; (page = next_page(l->last.pages, page)) < PAGES; page++) {
		for (uint32_t e = 0; e <= epochs; e++)
			c->access.remove_page(c->access.ctx,
					      &(struct ebt_count_page_key){
						      l->last.number, (uint16_t)page, (uint16_t)e});
	}
	c->access.remove_lane(c->access.ctx, &l->key);
	free_lane(l);
}

/* The last tally of a lane, and its removal. */
static int end_lane(struct bpf_counted *c, struct counted_process *p, uint32_t at, uint64_t end_ns)
{
	struct counted_lane *l = p->lane[at];
	int err = read_lane(c, p, l, end_ns, true);
	remove_lane(c, l);
	p->lane[at] = p->lane[--p->lanes];
	return err;
}

int bpf_counted_end(struct bpf_counted *c, uint32_t slot, uint64_t end_ns)
{
	struct counted_process *p = ptrarray_get(&c->by_slot, slot);
	int err = 0;
	while (p && p->lanes && !err)
		err = end_lane(c, p, p->lanes - 1, end_ns);
	if (err || !p)
		return err;
	c->access.remove_process(c->access.ctx, &(struct ebt_count_process_key){slot, p->exec});
	free_process(ptrarray_remove(&c->by_slot, slot));
	return 0;
}

/* A thread that comes and goes leaves a lane of its own. */
static bool is_over(const struct bpf_counted *c, const struct counted_process *p,
		    const struct counted_lane *l)
{
	return l->key.where & EBT_COUNT_THREAD &&
	       c->access.has_ended(c->access.ctx, p->pid, l->key.where & ~EBT_COUNT_THREAD);
}

int bpf_counted_read(struct bpf_counted *c, uint64_t now_ns)
{
	size_t at = 0;
	int err = 0;
	c->read_ns = now_ns;
	for (struct counted_process *p; !err && (p = ptrarray_next(&c->by_slot, &at));) {
		for (uint32_t i = p->lanes; i-- && !err;)
			err = is_over(c, p, p->lane[i])
				      ? end_lane(c, p, i, now_ns)
				      : read_lane(c, p, p->lane[i], now_ns, false);
	}
	return err;
}

int bpf_counted_stop(struct bpf_counted *c, uint64_t end_ns)
{
	int err = 0;
	for (uint32_t slot = 0; slot < c->by_slot.words.count && !err; slot++)
		err = bpf_counted_end(c, slot, end_ns);
	return err;
}
