/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/pagetrace/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Events of a node's buffer: those of a few lanes stay in the first cache, those of many in the
 * second. */
#define CHUNK_MIN  16
#define CHUNK_MAX  256
#define CHUNKS_SUM 8192
/* So many events are copied at once if all of them come first. */
#define RUN 8

/* A leaf has a lane, an inner node two children. */
struct node {
	struct ebt_pagetrace_event *at, *end; /* its next events */
	uint64_t not_before_ns;		      /* no event of it is earlier */
	struct ebt_pagetrace_event
		*buffer; /* of `chunk` events, and one that is read and not used */
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

int pagetrace_merge_new(const struct pagetrace_trace *t, struct pagetrace_lane *lane,
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

void pagetrace_merge_free(struct pagetrace_merge *m)
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

/* Takes `m` events, of which either child has as many. Equal ones of x come first. */
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

/* The same. Ps take turns in some traces, and in others one of them is alone for long. */
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

/* Next events for a node that has none. At its end *slot is NULL; an inner node with one child left is
 * replaced by that. */
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

ssize_t pagetrace_merge_read(struct pagetrace_merge *m, struct ebt_pagetrace_event *ev, size_t cap)
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
