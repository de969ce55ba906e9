/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/pause_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/stat/model/blame.h"
#include "session/event_args.h"
#include "session/kinds.h"

/* Words of the payload, behind the parts, by their place in events.def. Earlier captures do
 * not have the last ones. */
enum { CAUSE_NS = BLAME_PARTS - 1, CAUSE_TID, LATE_TID, FAULT_CPU_NS, CAUSE_CPU, WORDS };

_Static_assert(BLAME_CPU == 0 && BLAME_FAULT_CPU == 1 && BLAME_UNKNOWN == 11 &&
		       WORDS == EVENT_ARGS_WORDS,
	       "events.def has the other parts in this order");

struct pause_events {
	struct sink base;
	struct session *session;
	struct sink *next;
	struct blame *blame;
	uint64_t min_ns;	/* shorter intervals without a CPU are not passed on */
	struct filter *names;	/* what it does not select is not; NULL: all is */
	struct ebt_event event; /* of the pause that ended */
	bool has_event;
	int err;
};

static void on_pause(void *ctx, const struct blame_pause *p)
{
	struct pause_events *k = ctx;
	const struct blame_cause *c = &p->split.longest;
	struct event_args_payload args = {0};
	struct ebt_event ev = {
		.ts = p->end_ns,
		.pos = p->ns,
		.process = p->process,
		.tid = p->tid,
		.kind = EBT_PAUSE,
		.domain = p->domain,
		.cpu = EBT_NO_CPU,
		.id = p->phase,
	};
	for (unsigned i = 0, word = 0; i < BLAME_PARTS; i++)
		args.word[i == BLAME_FAULT_CPU ? FAULT_CPU_NS : word++] = p->split.ns[i];
	args.word[CAUSE_NS] = c->ns;
	args.word[CAUSE_TID] = c->ns ? c->tid : 0;
	args.word[LATE_TID] = p->culprit.ns ? p->culprit.tid : 0;
	args.word[CAUSE_CPU] = c->ns && c->cpu != EBT_NO_CPU ? c->cpu + 1ull : 0;
	if (c->ns)
		memcpy(args.text[0], c->comm, EVENT_ARGS_TEXT_BYTES);
	k->err = session_put_blob(k->session, &ev, &args, EVENT_ARGS_BYTES(WORDS));
	if (!k->err && p->stack)
		session_put_stack(k->session, &ev, p->stack);
	k->event = ev;
	k->has_event = !k->err;
}

static bool is_wanted(const struct pause_events *k, const struct ebt_event *ev)
{
	bool lasts = ev->kind != EBT_OFFCPU || ev->pos >= k->min_ns;
	bool always = kinds_family(ev->kind) == KINDS_stream;
	return lasts && (!k->names || always || filter_names(k->names, ev));
}

/* As the pump does it: what is counted, delivered, and given back. */
static int deliver(struct pause_events *k)
{
	struct totals *t = &k->session->totals;
	bool wanted = is_wanted(k, &k->event);
	k->has_event = false;
	t->events += wanted;
	t->timed += wanted;
	int err = wanted ? sink_events(k->next, &k->event, 1) : 0;
	session_drop_event(k->session, &k->event);
	return err;
}

static int pause_events_events(struct sink *base, const struct ebt_event *ev, size_t n)
{
	struct pause_events *k = (struct pause_events *)base;
	size_t from = 0;
	for (size_t i = 0; i < n && !k->err; i++) {
		k->err = blame_events(k->blame, &ev[i], 1);
		bool ends = k->has_event, wanted = is_wanted(k, &ev[i]);
		if (k->err || (wanted && !ends))
			continue;
		k->session->totals.events -= !wanted;
		if (i + wanted > from)
			k->err = sink_events(k->next, ev + from, i + wanted - from);
		from = i + 1;
		if (!ends)
			continue;
		int err = deliver(k);
		k->err = k->err ? k->err : err;
	}
	if (!k->err && from < n)
		k->err = sink_events(k->next, ev + from, n - from);
	return k->err;
}

static struct sink *next_of(struct sink *base)
{
	return ((struct pause_events *)base)->next;
}

static int pause_events_advance(struct sink *k, uint64_t horizon_ns)
{
	return sink_advance(next_of(k), horizon_ns);
}

static int pause_events_tick(struct sink *k, uint64_t now_ns)
{
	return sink_tick(next_of(k), now_ns);
}

static int pause_events_forget(struct sink *base, uint32_t process)
{
	struct pause_events *k = (struct pause_events *)base;
	int err = blame_forget(k->blame, process);
	int forgotten = sink_forget(k->next, process);
	return err ? err : forgotten;
}

static int pause_events_flush(struct sink *k)
{
	return sink_flush(next_of(k));
}

static bool pause_events_ready(struct sink *k)
{
	return sink_ready(next_of(k));
}

static uint64_t pause_events_bytes(struct sink *k)
{
	return sink_bytes(next_of(k));
}

static int pause_events_end(struct sink *k)
{
	(void)k;
	return 0;
}

static void pause_events_free(struct sink *base)
{
	struct pause_events *k = (struct pause_events *)base;
	blame_free(k->blame);
	free(k);
}

static const struct sink_ops pause_events_ops = {
	.events = pause_events_events,
	.advance = pause_events_advance,
	.tick = pause_events_tick,
	.forget = pause_events_forget,
	.flush = pause_events_flush,
	.ready = pause_events_ready,
	.bytes = pause_events_bytes,
	.end = pause_events_end,
	.free = pause_events_free,
};

int pause_events_new(struct session *s, struct sink *next, uint64_t min_ns, struct filter *names,
		     struct sink **ret)
{
	struct pause_events *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->base = (struct sink){.ops = &pause_events_ops, .batch_max = next->batch_max};
	k->session = s;
	k->next = next;
	k->min_ns = min_ns;
	k->names = names;
	if (blame_new(s, 0, &k->blame)) {
		free(k);
		return -ENOMEM;
	}
	blame_watch(k->blame, on_pause, k);
	*ret = &k->base;
	return 0;
}
