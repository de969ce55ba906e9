/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/blame_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int blame_sums_init(struct blame_sums *s, struct stacks *stacks, uint32_t longest)
{
	*s = (struct blame_sums){0};
	return longest_pauses_init(&s->longest, stacks, longest);
}

void blame_sums_done(struct blame_sums *s)
{
	longest_pauses_done(&s->longest);
}

static void add(struct blame_sum *s, const struct blame_pause *p)
{
	s->pauses++;
	s->pause_ns += p->ns;
	for (unsigned i = 0; i < BLAME_PARTS; i++)
		s->ns[i] += p->split.ns[i];
	if (!p->has_usage)
		return;
	s->counted++;
	s->never_blocked += pause_usage_never_blocked(&p->usage);
	pause_usage_add(&s->usage, &p->usage);
}

static void add_runner(struct blame_sums *s, const struct blame_cause *c)
{
	struct blame_runner *least = s->runners;
	if (c->part != BLAME_WAIT || !*c->comm)
		return;
	for (unsigned i = 0; i < BLAME_RUNNERS; i++) {
		struct blame_runner *r = &s->runners[i];
		if (r->is_tracer == c->is_tracer && !memcmp(r->comm, c->comm, sizeof(r->comm))) {
			r->ns += c->ns;
			return;
		}
		least = r->ns < least->ns ? r : least;
	}
	*least = (struct blame_runner){.ns = c->ns, .is_tracer = c->is_tracer};
	memcpy(least->comm, c->comm, sizeof(least->comm));
}

void blame_sums_add(struct blame_sums *s, const struct blame_pause *p)
{
	add_runner(s, &p->split.longest);
	add(&s->total, p);
	add(&s->of_row[p->row], p);
	longest_pauses_add(&s->longest, p);
}

int blame_sums_hold(struct blame_sums *s, struct held_pauses *h, const struct blame_pause *p)
{
	if (!array_reserve(h->at, h->cap, h->count))
		return -ENOMEM;
	stacks_hold(s->longest.stacks, p->stack);
	h->at[h->count++] = *p;
	return 0;
}

void blame_sums_settle(struct blame_sums *s, struct held_pauses *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		blame_sums_add(s, &h->at[i]);
	blame_sums_drop(s, h);
}

void blame_sums_drop(struct blame_sums *s, struct held_pauses *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		stacks_drop(s->longest.stacks, h->at[i].stack);
	free(h->at);
	*h = (struct held_pauses){0};
}
