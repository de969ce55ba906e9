/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/hung.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "report/spans/model/open.h"

struct search {
	struct span_hungs *to;
	uint64_t now_ns, else_ns;
};

/* As many spans have the same name, its histogram is read once. */
static uint64_t p99_of(struct span_name *n)
{
	if (n->p99_count != n->lengths.count) {
		n->p99_count = n->lengths.count;
		n->p99_ns = histogram_at(&n->lengths, 990000);
	}
	return n->p99_ns;
}

static int check(void *ctx, const struct open_span *o)
{
	const struct search *s = ctx;
	struct span_hungs *to = s->to;
	struct span_name *n = o->of.name;
	bool is_left = o->held_one && !n->recurses;
	if (is_left || o->of.begin_ns >= s->now_ns || (n->is_phase && !n->is_shown))
		return 0;
	uint64_t ns = s->now_ns - o->of.begin_ns, p99_ns = n->lengths.count ? p99_of(n) : 0;
	to->open++;
	if (ns <= (n->lengths.count ? p99_ns : s->else_ns))
		return 0;
	if (!array_reserve(to->at, to->cap, to->count))
		return -ENOMEM;
	to->at[to->count++] = (struct span_hung){.name = n,
						 .pid = o->of.pid,
						 .tid = o->of.tid,
						 .domain = o->of.domain,
						 .fiber = o->of.fiber,
						 .begin_ns = o->of.begin_ns,
						 .ns = ns,
						 .p99_ns = p99_ns};
	return 0;
}

/* The longest first; of the same length by process and thread. */
static int compare(const void *a, const void *b)
{
	const struct span_hung *p = a, *q = b;
	if (p->ns != q->ns)
		return p->ns > q->ns ? -1 : 1;
	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	return p->tid < q->tid ? -1 : p->tid > q->tid;
}

int span_hungs_find(struct span_model *m, uint64_t now_ns, uint64_t else_ns, struct span_hungs *ret)
{
	*ret = (struct span_hungs){0};
	struct search s = {ret, now_ns, else_ns};
	int err = span_model_each_open(m, &(struct span_visit){check, &s});
	if (ret->count)
		qsort(ret->at, ret->count, sizeof(*ret->at), compare);
	return err;
}

void span_hungs_done(struct span_hungs *h)
{
	free(h->at);
	*h = (struct span_hungs){0};
}
