/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of page traces in the order of time: its index, its lanes, and their merge. */

#include <ebtrace/pagetrace.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "codec/pagetrace/walk.h"

/*
 * One lane of an indexed page trace, read in order of time, block by block. A block is read when
 * its first event is asked for, so a lane that has not begun or has ended needs no buffer.
 */

#define PAGETRACE_NO_BLOCK UINT32_MAX
/* A block reaches to the next one of the array, whatever lane that is of; the last to the end. */
struct pagetrace_block {
	uint64_t offset;
	uint32_t next; /* of the same lane */
};
/* Beside the lane of the same index that the caller of the public header sees. */
struct pagetrace_chain {
	uint32_t first, last; /* blocks */
	uint32_t older;	      /* lane of the same P, used before this one; or PAGETRACE_NO_LANE */
	uint64_t begin_ns;    /* of the first block */
	uint64_t end_ns;      /* no block that begins before it can be added */
};
struct pagetrace_index {
	struct pagetrace_block *block;
	struct ebt_pagetrace_lane *lane;
	struct pagetrace_chain *chain;
	uint32_t blocks, blocks_cap, lanes, lanes_cap;
	uint32_t *newest; /* by P + 1: the lane used last, plus 1; 0: none */
	uint32_t newest_count;
	uint64_t bytes; /* of the trace */
	struct ebt_pagetrace_counts counts;
	char reason[EBT_PAGETRACE_REASON_BYTES]; /* of the first damage, or the error */
};
/* The offset behind a block. */
static inline uint64_t pagetrace_block_end(const struct pagetrace_index *x, uint32_t block)
{
	return block + 1 < x->blocks ? x->block[block + 1].offset : x->bytes;
}
struct pagetrace_lane {
	struct pagetrace_walk walk;
	bool is_open;	  /* the walk is in a block, */
	bool has_begun;	  /* and has decoded the block's head */
	uint32_t block;	  /* that one, else the next; PAGETRACE_NO_BLOCK: the end */
	uint64_t next_ns; /* no event that follows is earlier */
	uint64_t *buffer;
	size_t buffer_bytes;
};
struct pagetrace_trace {
	struct pagetrace_index index;
	ebt_pagetrace_pread *pread;
	void *ctx;
};

/*
 * Where the blocks of a page trace are, found in one pass over it, and which lane each one is of:
 * those of a P, in order of time. When the blocks of a P go back in time, as of two processes that
 * write to one file, the P has several lanes, and a block joins the one that ends last before it.
 */

#define BUFFER_BYTES (256u << 10)
#define NO_LANE	     UINT32_MAX
/* Lanes of one P that a block is tried in: as many as processes write to one file, and then
 * some. */
#define LANES_TRIED 8

/* The block that the walk is in: it joins a lane at its end, when its last time is known. */
struct scan {
	struct pagetrace_index *index;
	struct pagetrace_walk walk;
	bool in_block;
	int32_t p;
	uint64_t block_at, begin_ns, first_ns, last_ns, events;
};

static int new_lane(struct pagetrace_index *x, int32_t p, uint32_t *ret)
{
	uint32_t lanes = x->lanes_cap, chains = x->lanes_cap;
	if (x->lanes == EBT_PAGETRACE_LANES_MAX) {
		snprintf(x->reason, sizeof(x->reason), "expected no more than %d lanes",
			 EBT_PAGETRACE_LANES_MAX);
		return -EBADMSG;
	}
	if (!array_reserve(x->lane, lanes, x->lanes) || !array_reserve(x->chain, chains, x->lanes))
		return -ENOMEM;
	x->lanes_cap = lanes;
	x->lane[x->lanes] = (struct ebt_pagetrace_lane){.p = p};
	x->chain[x->lanes] = (struct pagetrace_chain){.first = PAGETRACE_NO_BLOCK};
	*ret = x->lanes++;
	return 0;
}

static int has_newest(struct pagetrace_index *x, int32_t p)
{
	return array_room(x->newest, x->newest_count, (uint32_t)(p + 1)) ? 0 : -ENOMEM;
}

/* The lane that ends last before begin_ns, among the last LANES_TRIED lanes of a P that were used:
 * its process wrote the block. *ret_newer is the lane before it in the list. */
static uint32_t best_lane(const struct pagetrace_index *x, uint32_t newest, uint64_t begin_ns,
			  uint32_t *ret_newer)
{
	uint32_t best = NO_LANE, newer = NO_LANE;
	for (int tried = 0; newest != NO_LANE && tried < LANES_TRIED; tried++) {
		const struct pagetrace_chain *c = &x->chain[newest];
		if (c->end_ns <= begin_ns &&
		    (best == NO_LANE || c->end_ns > x->chain[best].end_ns)) {
			best = newest;
			*ret_newer = newer;
		}
		newer = newest;
		newest = c->older;
	}
	return best;
}

/* The lane for a block of p that begins at begin_ns, which becomes the one used last. */
static int find_lane(struct pagetrace_index *x, int32_t p, uint64_t begin_ns, uint32_t *ret)
{
	int err = has_newest(x, p);
	if (err)
		return err;
	uint32_t newest = x->newest[p + 1] - 1, newer = NO_LANE;
	uint32_t lane = best_lane(x, newest, begin_ns, &newer);
	if (lane == NO_LANE) {
		err = new_lane(x, p, &lane);
		if (err)
			return err;
	} else if (newer != NO_LANE) {
		x->chain[newer].older = x->chain[lane].older;
	}
	if (lane != newest)
		x->chain[lane].older = newest;
	x->newest[p + 1] = lane + 1;
	*ret = lane;
	return 0;
}

static int add_block(struct pagetrace_index *x, uint64_t offset, uint32_t lane)
{
	struct pagetrace_chain *c = &x->chain[lane];
	if (x->blocks == PAGETRACE_NO_BLOCK - 1)
		return -EFBIG;
	if (!array_reserve(x->block, x->blocks_cap, x->blocks))
		return -ENOMEM;
	uint32_t block = x->blocks++;
	x->block[block] = (struct pagetrace_block){offset, PAGETRACE_NO_BLOCK};
	if (c->first == PAGETRACE_NO_BLOCK)
		c->first = block;
	else
		x->block[c->last].next = block;
	c->last = block;
	return 0;
}

static int end_block(struct scan *s)
{
	struct pagetrace_index *x = s->index;
	uint32_t lane = 0;
	if (!s->in_block)
		return 0;
	int err = find_lane(x, s->p, s->begin_ns, &lane);
	err = err ? err : add_block(x, s->block_at, lane);
	if (err)
		return err;
	struct ebt_pagetrace_lane *l = &x->lane[lane];
	struct pagetrace_chain *c = &x->chain[lane];
	if (!l->blocks++)
		c->begin_ns = s->begin_ns;
	if (s->events) {
		l->first_ns = l->events ? l->first_ns : s->first_ns;
		l->last_ns = s->last_ns;
	}
	l->events += s->events;
	c->end_ns = s->last_ns;
	return 0;
}

static int next_block(struct scan *s)
{
	int err = end_block(s);
	s->in_block = true;
	s->p = s->walk.p;
	s->block_at = s->walk.offset - EBT_PAGETRACE_HEAD_BYTES;
	s->begin_ns = s->last_ns = s->walk.base_ns;
	s->events = 0;
	return err;
}

static void count_events(struct scan *s)
{
	if (!s->events && pagetrace_walk_events(&s->walk, NULL, 1)) {
		s->first_ns = s->walk.last_ns;
		s->events = 1;
	}
	s->events += pagetrace_walk_events(&s->walk, NULL, SIZE_MAX);
	s->last_ns = s->walk.last_ns;
}

static void set_reason(struct pagetrace_index *x, uint64_t offset, const char *expected)
{
	if (!*x->reason)
		snprintf(x->reason, sizeof(x->reason), "at byte %llu: expected %s",
			 (unsigned long long)offset, expected);
}

/* Scans the words that the walk has. */
static int scan_words(struct scan *s)
{
	struct ebt_pagetrace_event damage;
	for (;;) {
		if (!s->walk.damage_bytes)
			count_events(s);
		enum pagetrace_next next = pagetrace_walk_next(&s->walk, &damage);
		int err = next == PAGETRACE_NEXT_BLOCK ? next_block(s) : 0;
		if (next == PAGETRACE_NEXT_DAMAGE)
			set_reason(s->index, damage.addr, s->walk.expected);
		if (next == PAGETRACE_NEXT_END)
			return end_block(s);
		if (err || next == PAGETRACE_NEXT_MORE)
			return err;
	}
}

static int scan_trace(struct scan *s, char *buffer, ebt_pagetrace_pread *pread, void *ctx)
{
	struct pagetrace_walk *k = &s->walk;
	uint64_t *bytes = &s->index->bytes;
	int err = 0;
	while (!err && !k->whole) {
		size_t kept = k->words * 8;
		memmove(buffer, k->word, kept);
		k->word = (const uint64_t *)buffer;
		size_t room = BUFFER_BYTES - kept;
		ssize_t n = pread(ctx, buffer + kept, room, *bytes);
		if (n < 0 || (size_t)n > room)
			return n < 0 ? (int)n : -EIO;
		if (!*bytes && n && !ebt_pagetrace_is(buffer, (size_t)n)) {
			set_reason(s->index, 0, "a block: a P and a time");
			return -EBADMSG;
		}
		*bytes += (uint64_t)n;
		k->words = (kept + (size_t)n) / 8;
		k->whole = (size_t)n < room;
		k->tail_bytes = k->whole ? (uint64_t)n % 8 : 0;
		err = scan_words(s);
	}
	return err;
}

/* As ebt_pagetrace_open(). The caller calls _done() in any case. */
static int pagetrace_index_init(struct pagetrace_index *x, ebt_pagetrace_pread *pread, void *ctx)
{
	*x = (struct pagetrace_index){0};
	char *buffer = malloc(BUFFER_BYTES);
	if (!buffer)
		return -ENOMEM;
	struct scan s = {.index = x, .walk = {.word = (const uint64_t *)buffer}};
	s.walk.counts = &x->counts;
	int err = scan_trace(&s, buffer, pread, ctx);
	free(buffer);
	return err;
}

static void pagetrace_index_done(struct pagetrace_index *x)
{
	free(x->block);
	free(x->lane);
	free(x->chain);
	free(x->newest);
}

static void pagetrace_lane_init(struct pagetrace_lane *l, const struct pagetrace_index *x,
				uint32_t lane, struct ebt_pagetrace_counts *counts)
{
	*l = (struct pagetrace_lane){
		.block = x->chain[lane].first,
	};
	l->walk.counts = counts;
	l->walk.p = x->lane[lane].p;
}

static void pagetrace_lane_done(struct pagetrace_lane *l)
{
	free(l->buffer);
}

static int reserve(struct pagetrace_lane *l, size_t bytes)
{
	if (bytes <= l->buffer_bytes)
		return 0;
	free(l->buffer);
	l->buffer = malloc(bytes);
	l->buffer_bytes = l->buffer ? bytes : 0;
	return l->buffer ? 0 : -ENOMEM;
}

/* Reads a block. What follows its largest size, or is not there any more, is damage. */
static int open_block(struct pagetrace_lane *l, const struct pagetrace_trace *t)
{
	uint64_t offset = t->index.block[l->block].offset;
	uint64_t bytes = pagetrace_block_end(&t->index, l->block) - offset;
	size_t want = bytes < EBT_PAGETRACE_BLOCK_BYTES ? (size_t)bytes : EBT_PAGETRACE_BLOCK_BYTES;
	int err = reserve(l, want);
	if (err)
		return err;
	ssize_t n = t->pread(t->ctx, l->buffer, want, offset);
	if (n < 0 || (size_t)n > want)
		return n < 0 ? (int)n : -EIO;
	struct pagetrace_walk *k = &l->walk;
	k->word = l->buffer;
	k->words = (size_t)n / 8;
	k->offset = offset;
	k->whole = true;
	k->tail_bytes = bytes - k->words * 8;
	k->left = 0;
	l->is_open = true;
	l->has_begun = false;
	return 0;
}

static void close_block(struct pagetrace_lane *l, const struct pagetrace_trace *t)
{
	l->is_open = false;
	l->block = t->index.block[l->block].next;
	if (l->block != PAGETRACE_NO_BLOCK)
		return;
	free(l->buffer);
	l->buffer = NULL;
	l->buffer_bytes = 0;
}

/* A second block in what was one when the trace was indexed: not of this lane. */
static void skip_block(struct pagetrace_walk *k, int32_t p)
{
	k->p = p;
	k->offset -= EBT_PAGETRACE_HEAD_BYTES;
	k->tail_bytes += k->words * 8 + EBT_PAGETRACE_HEAD_BYTES;
	k->words = 0;
	k->left = 0;
}

/* Reads on in the block until cap events are read or it ends. Returns their number. */
static size_t read_block(struct pagetrace_lane *l, const struct pagetrace_trace *t,
			 struct ebt_pagetrace_event *ev, size_t cap)
{
	struct pagetrace_walk *k = &l->walk;
	size_t n = 0;
	while (l->is_open) {
		int32_t p = k->p;
		n += pagetrace_walk_events(k, ev + n, cap - n);
		if (n == cap)
			break;
		switch (pagetrace_walk_next(k, ev + n)) {
		case PAGETRACE_NEXT_DAMAGE:
			n++;
			break;
		case PAGETRACE_NEXT_BLOCK:
			if (l->has_begun)
				skip_block(k, p);
			l->has_begun = true;
			break;
		case PAGETRACE_NEXT_END:
		case PAGETRACE_NEXT_MORE:
			close_block(l, t);
			break;
		case PAGETRACE_NEXT_EVENTS:
			break;
		}
	}
	return n;
}

/* The next events, up to cap > 0: > 0; 0 at the end; or -errno. */
static ssize_t pagetrace_lane_read(struct pagetrace_lane *l, const struct pagetrace_trace *t,
				   struct ebt_pagetrace_event *ev, size_t cap)
{
	size_t n = 0;
	while (!n && l->block != PAGETRACE_NO_BLOCK) {
		int err = l->is_open ? 0 : open_block(l, t);
		if (err)
			return err;
		n = read_block(l, t, ev, cap);
	}
	return (ssize_t)n;
}

/*
 * The lanes of a page trace merged in order of time, then of P, then of lane: a binary tree with
 * the lanes as leaves, in order of P. Each inner node merges its two children into its own buffer
 * when that is empty, without a branch for which child is next, as processors cannot predict it;
 * the root merges to the caller's events. A lane is not read before its first block's time is
 * reached, and leaves the tree at its end.
 */

struct pagetrace_merge;

/* Events of a node's buffer: those of a few lanes stay in the first cache, those of many in the
 * second. */
#define CHUNK_MIN  16
#define CHUNK_MAX  256
#define CHUNKS_SUM 8192
/* Events of one child that are copied at once if all precede those of the other. */
#define RUN 8

/* A leaf has a lane, an inner node two children. */
struct node {
	struct ebt_pagetrace_event *at, *end; /* its next events */
	uint64_t not_before_ns;		      /* no event of it is earlier */
	/* Of `chunk` events, and one that is read and not used. */
	struct ebt_pagetrace_event *buffer;
	struct node *child[2];
	struct pagetrace_lane *lane;
};

struct pagetrace_merge {
	const struct pagetrace_trace *trace;
	size_t chunk;
	struct node *root; /* NULL: all lanes have ended */
	struct node node[];
};

static int by_p(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	if (x->lane->walk.p != y->lane->walk.p)
		return x->lane->walk.p < y->lane->walk.p ? -1 : 1;
	return x->lane < y->lane ? -1 : 1;
}

/* The tree over the leaves begin to end - 1; *inner is the next unused inner node. */
static struct node *make_tree(struct node *leaf, size_t begin, size_t end, struct node **inner)
{
	if (begin == end)
		return NULL;
	if (begin + 1 == end)
		return &leaf[begin];
	size_t middle = begin + (end - begin) / 2;
	struct node *n = (*inner)++;
	n->child[0] = make_tree(leaf, begin, middle, inner);
	n->child[1] = make_tree(leaf, middle, end, inner);
	uint64_t a = n->child[0]->not_before_ns, b = n->child[1]->not_before_ns;
	n->not_before_ns = a < b ? a : b;
	return n;
}

/* Keeps both pointers; `lane` is an array as the index has it. 0 or -ENOMEM. */
static int pagetrace_merge_new(const struct pagetrace_trace *t, struct pagetrace_lane *lane,
			       struct pagetrace_merge **ret)
{
	size_t lanes = t->index.lanes;
	struct pagetrace_merge *m = calloc(1, sizeof(*m) + 2 * lanes * sizeof(*m->node));
	if (!m)
		return -ENOMEM;
	m->trace = t;
	m->chunk = lanes ? CHUNKS_SUM / lanes : CHUNK_MIN;
	m->chunk = m->chunk < CHUNK_MIN ? CHUNK_MIN : m->chunk;
	m->chunk = m->chunk > CHUNK_MAX ? CHUNK_MAX : m->chunk;
	for (size_t i = 0; i < lanes; i++) {
		m->node[i].lane = &lane[i];
		m->node[i].not_before_ns = t->index.chain[i].begin_ns;
	}
	qsort(m->node, lanes, sizeof(*m->node), by_p);
	struct node *inner = m->node + lanes;
	m->root = make_tree(m->node, 0, lanes, &inner);
	*ret = m;
	return 0;
}

static void pagetrace_merge_free(struct pagetrace_merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < 2 * m->trace->index.lanes; i++)
		free(m->node[i].buffer);
	free(m);
}

static uint64_t head_ns(const struct node *n)
{
	return n->at < n->end ? n->at->time_ns : n->not_before_ns;
}

/* Moves the first `m` events of x and y to ev. Each has at least `m`. At equal times those of x
 * come first. */
static inline void merge_events(struct ebt_pagetrace_event **px, struct ebt_pagetrace_event **py,
				struct ebt_pagetrace_event *ev, size_t m)
{
	struct ebt_pagetrace_event *x = *px, *y = *py;
	uint64_t x_ns = x->time_ns, y_ns = y->time_ns;
	for (size_t i = 0; i < m; i++) {
		/* Both that may be next are loaded before it is known which one is. */
		uint64_t x_next_ns = x[1].time_ns, y_next_ns = y[1].time_ns;
		int64_t second = -(int64_t)(y_ns < x_ns);
		__asm__("" : "+r"(second)); /* or the compiler makes a branch of it */
		uintptr_t from = (uintptr_t)x + (((uintptr_t)y - (uintptr_t)x) & (uintptr_t)second);
		ev[i] = *(const struct ebt_pagetrace_event *)from;
		x_ns = x_next_ns ^ ((x_next_ns ^ x_ns) & (uint64_t)second);
		y_ns = y_ns ^ ((y_next_ns ^ y_ns) & (uint64_t)second);
		x += 1 + second;
		y -= second;
	}
	*px = x;
	*py = y;
}

/* Moves the first `m` events of two nodes to ev. Each has at least `m`. In some traces the Ps
 * alternate, in others one P has a long run of events, which is copied at once. */
static void merge_chunk(struct node *a, struct node *b, struct ebt_pagetrace_event *ev, size_t m)
{
	struct ebt_pagetrace_event *x = a->at, *y = b->at;
	for (; m >= RUN; m -= RUN, ev += RUN) {
		if (x[RUN - 1].time_ns <= y->time_ns) {
			memcpy(ev, x, RUN * sizeof(*ev));
			x += RUN;
		} else if (y[RUN - 1].time_ns < x->time_ns) {
			memcpy(ev, y, RUN * sizeof(*ev));
			y += RUN;
		} else {
			merge_events(&x, &y, ev, RUN);
		}
	}
	merge_events(&x, &y, ev, m);
	a->at = x;
	b->at = y;
}

/* Takes events up to until_ns. */
static size_t copy_run(struct node *n, struct ebt_pagetrace_event *ev, size_t cap,
		       uint64_t until_ns)
{
	size_t i = 0;
	while (i < cap && n->at < n->end && n->at->time_ns <= until_ns)
		ev[i++] = *n->at++;
	return i;
}

static int fill(struct pagetrace_merge *m, struct node **slot);

/* Events of a node, that has children, to ev: > 0, 0 at its end, or -errno. */
static ssize_t merge_children(struct pagetrace_merge *m, struct node *n,
			      struct ebt_pagetrace_event *ev, size_t cap)
{
	size_t got = 0;
	while (got < cap && n->child[0] && n->child[1]) {
		struct node *a = n->child[0], *b = n->child[1];
		bool second = head_ns(b) < head_ns(a);
		struct node *first = second ? b : a, *other = second ? a : b;
		if (first->at == first->end) {
			int err = fill(m, &n->child[second]);
			if (err)
				return got ? (ssize_t)got : err;
			continue;
		}
		size_t most = cap - got;
		if (other->at == other->end) {
			got += copy_run(first, ev + got, most, other->not_before_ns - second);
			continue;
		}
		most = most < (size_t)(a->end - a->at) ? most : (size_t)(a->end - a->at);
		most = most < (size_t)(b->end - b->at) ? most : (size_t)(b->end - b->at);
		merge_chunk(a, b, ev + got, most);
		got += most;
	}
	return (ssize_t)got;
}

/* Next events for a node that has none. At its end *slot is NULL; an inner node with one child left
 * is replaced by that. */
static int fill(struct pagetrace_merge *m, struct node **slot)
{
	for (struct node *n; (n = *slot) && n->at == n->end;) {
		bool is_inner = !n->lane;
		if (is_inner && !(n->child[0] && n->child[1])) {
			*slot = n->child[0] ? n->child[0] : n->child[1];
			continue;
		}
		if (!n->buffer)
			n->buffer = calloc(m->chunk + 1, sizeof(*n->buffer));
		if (!n->buffer)
			return -ENOMEM;
		ssize_t got = is_inner
				      ? merge_children(m, n, n->buffer, m->chunk)
				      : pagetrace_lane_read(n->lane, m->trace, n->buffer, m->chunk);
		if (got < 0)
			return (int)got;
		n->at = n->buffer;
		n->end = n->buffer + got;
		if (!got && !is_inner)
			*slot = NULL;
	}
	return 0;
}

static ssize_t pagetrace_merge_read(struct pagetrace_merge *m, struct ebt_pagetrace_event *ev,
				    size_t cap)
{
	for (struct node *n; (n = m->root);) {
		ssize_t got = (ssize_t)copy_run(n, ev, cap, UINT64_MAX);
		if (!got)
			got = n->lane ? pagetrace_lane_read(n->lane, m->trace, ev, cap)
				      : merge_children(m, n, ev, cap);
		if (got)
			return got;
		/* At its end, or with a child that is. */
		m->root = n->lane ? NULL : n->child[0] ? n->child[0] : n->child[1];
	}
	return 0;
}

struct ebt_pagetrace_file {
	struct pagetrace_trace trace;
	struct pagetrace_lane *lane;
	struct pagetrace_merge *merge;	    /* NULL: not begun */
	struct ebt_pagetrace_counts counts; /* of the lanes */
};

static int new_lanes(struct ebt_pagetrace_file *f)
{
	const struct pagetrace_index *x = &f->trace.index;
	f->lane = calloc(x->lanes + 1, sizeof(*f->lane));
	if (!f->lane)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->lanes; i++)
		pagetrace_lane_init(&f->lane[i], x, i, &f->counts);
	return 0;
}

int ebt_pagetrace_open(ebt_pagetrace_pread *pread, void *ctx, struct ebt_pagetrace_file **ret,
		       char *reason)
{
	struct ebt_pagetrace_file *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->trace.pread = pread;
	f->trace.ctx = ctx;
	int err = pagetrace_index_init(&f->trace.index, pread, ctx);
	err = err ? err : new_lanes(f);
	if (!err) {
		*ret = f;
		return 0;
	}
	if (reason)
		snprintf(reason, EBT_PAGETRACE_REASON_BYTES, "%s",
			 err == -EBADMSG ? f->trace.index.reason : strerror(-err));
	ebt_pagetrace_close(f);
	return err;
}

void ebt_pagetrace_close(struct ebt_pagetrace_file *f)
{
	if (!f)
		return;
	pagetrace_merge_free(f->merge);
	for (uint32_t i = 0; f->lane && i < f->trace.index.lanes; i++)
		pagetrace_lane_done(&f->lane[i]);
	pagetrace_index_done(&f->trace.index);
	free(f->lane);
	free(f);
}

size_t ebt_pagetrace_lanes(const struct ebt_pagetrace_file *f,
			   const struct ebt_pagetrace_lane **ret)
{
	*ret = f->trace.index.lane;
	return f->trace.index.lanes;
}

ssize_t ebt_pagetrace_read_lane(struct ebt_pagetrace_file *f, size_t lane,
				struct ebt_pagetrace_event *ev, size_t cap)
{
	if (lane >= f->trace.index.lanes)
		return -EINVAL;
	return pagetrace_lane_read(&f->lane[lane], &f->trace, ev, cap);
}

ssize_t ebt_pagetrace_read_all(struct ebt_pagetrace_file *f, struct ebt_pagetrace_event *ev,
			       size_t cap)
{
	int err = f->merge ? 0 : pagetrace_merge_new(&f->trace, f->lane, &f->merge);
	return err ? err : pagetrace_merge_read(f->merge, ev, cap);
}

struct ebt_pagetrace_counts ebt_pagetrace_file_counts(const struct ebt_pagetrace_file *f)
{
	struct ebt_pagetrace_counts c = f->counts;
	const struct ebt_pagetrace_counts *whole = &f->trace.index.counts;
	c.blocks = whole->blocks;
	c.syncs = whole->syncs;
	c.has_boot = whole->has_boot;
	return c;
}

const char *ebt_pagetrace_file_reason(const struct ebt_pagetrace_file *f)
{
	return f->trace.index.reason;
}
