/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/join.h"

#include "core/kinds.h"
#include "core/ordinals.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_FLAGS (EBT_F_RING | EBT_F_BPF)

/* Reported as lost, and not delivered since. */
struct missing {
	uint64_t events, words;
};

/* The state of a ring; `life` ends with the process that writes to it. */
struct ring_state {
	bool ended; /* its process, or that one's program, has ended */
	struct ring_life {
		uint64_t next_pos; /* EBT_NO_POS: not known */
		uint64_t last_ts;
		bool started;
		bool has_file; /* a ring file has brought events of it */
		bool has_lost;
		uint32_t history_end;	  /* ordinals before it are of the history */
		struct ordinals ordinals; /* each event needs up to its start */
		struct ebt_event lost;	  /* the loss that the ring reports before its next event */
		struct missing missing, history;
	} life;
};

struct join {
	struct session *session;
	struct event_handler handler;
	struct ring_state **ring; /* by lane; NULL: it has brought nothing */
	uint32_t lanes;
	struct ebt_event pending; /* held for its partner, between batches */
	bool has_pending;
	/* Of the batch: out[0..kept-1] is to be emitted; the events behind it are done, up to the
	 * one that is delivered. */
	struct ebt_event *out;
	size_t kept;
};

int join_new(struct session *s, struct event_handler out, struct join **ret)
{
	struct join *j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->session = s;
	j->handler = out;
	*ret = j;
	return 0;
}

void join_free(struct join *j)
{
	if (!j)
		return;
	for (uint32_t i = 0; i < j->lanes; i++)
		free(j->ring[i]);
	free(j->ring);
	free(j);
}

static __attribute__((noinline)) struct ring_state *add_ring(struct join *j, uint32_t lane)
{
	if (lane >= j->lanes) {
		uint32_t lanes = lane + lane / 2 + 16;
		struct ring_state **ring = realloc(j->ring, lanes * sizeof(struct ring_state *));
		if (!ring)
			return NULL;
		memset(ring + j->lanes, 0, (lanes - j->lanes) * sizeof(struct ring_state *));
		j->ring = ring;
		j->lanes = lanes;
	}
	return lane ? j->ring[lane] = calloc(1, sizeof(struct ring_state)) : NULL;
}

/* The ring of a lane; NULL: it has brought no event. */
static inline struct ring_state *ring_at(const struct join *j, uint32_t lane)
{
	return lane < j->lanes ? j->ring[lane] : NULL;
}

static inline struct ring_state *known_ring(const struct join *j, const struct ebt_event *ev)
{
	return ring_at(j, processes_known_lane(&j->session->processes, ev->process, ev->domain));
}

static inline struct ring_state *find_ring(struct join *j, const struct ebt_event *ev)
{
	uint32_t lane = processes_lane(&j->session->processes, ev->process, ev->domain);
	struct ring_state *r = ring_at(j, lane);
	return r ? r : add_ring(j, lane);
}

/* From now on its rings may be those of another program. */
static void end_process(struct join *j, uint32_t process)
{
	const struct process *p = processes_at(&j->session->processes, process);
	for (uint32_t i = 0; i < p->lanes; i++) {
		struct ring_state *r = ring_at(j, p->lane[i]);
		if (r)
			r->ended = true;
	}
}

void join_forget(struct join *j, uint32_t process)
{
	const struct process *p = processes_at(&j->session->processes, process);
	for (uint32_t i = 0; i < p->lanes; i++) {
		free(ring_at(j, p->lane[i]));
		if (p->lane[i] < j->lanes)
			j->ring[p->lane[i]] = NULL;
	}
}

/*
 * Another life of the ring begins behind the end of the process, but not with a late event, which
 * may be of the life before. It also begins with another file, which may be found so late that all
 * its events are late: a life has one file.
 */
static __attribute__((noinline)) void change_life(struct ring_state *r, const struct ebt_event *ev)
{
	bool first = ev->flags & EBT_F_FIRST;
	if ((r->ended && !(ev->flags & EBT_F_LATE)) || (first && r->life.has_file)) {
		r->life = (struct ring_life){0};
		r->ended = false;
	}
	r->life.has_file |= first;
}

/* The life of the ring that the event belongs to. */
static inline struct ring_life *find_life(struct join *j, const struct ebt_event *ev)
{
	struct ring_state *r = find_ring(j, ev);
	if (!r)
		return NULL;
	if (r->ended || ev->flags & EBT_F_FIRST)
		change_life(r, ev);
	return &r->life;
}

/* Emits the gathered events. */
static int hand_on(struct join *j)
{
	struct ebt_event *out = j->out;
	size_t n = j->kept;
	j->out += n;
	j->kept = 0;
	return n ? event_handler_call(&j->handler, out, n) : 0;
}

/* Appends an event of the batch to those that are kept. */
static inline void keep(struct join *j, const struct ebt_event *ev)
{
	if (&j->out[j->kept] != ev)
		j->out[j->kept] = *ev;
	j->kept++;
}

/* Puts a loss in front of the event that is delivered. */
static int put_loss(struct join *j, struct ebt_event *lost, struct ebt_event *ev)
{
	if (&j->out[j->kept] != ev) {
		keep(j, lost);
		return 0;
	}
	int err = hand_on(j);
	j->out = ev;
	return err ? err : event_handler_call(&j->handler, lost, 1);
}

static int emit_loss(struct join *j, struct ring_life *r, struct ebt_event *ev, uint32_t missing)
{
	bool history = !r->started || (r->has_lost && r->lost.flags & EBT_F_HISTORY);
	uint64_t from = r->started ? r->next_pos : 0;
	bool has_words = from != EBT_NO_POS && ev->pos != EBT_NO_POS && ev->pos > from;
	uint64_t words = has_words ? ev->pos - from : 0;
	struct missing *m = history ? &r->history : &r->missing;
	m->events += missing;
	m->words += words;
	if (history)
		r->history_end = ev->seq;
	struct ebt_event lost = {
		.kind = EBT_LOST,
		.ts = ev->ts,
		.pos = r->last_ts, /* since */
		.process = ev->process,
		.domain = ev->domain,
		.cpu = EBT_NO_CPU,
		.flags = (uint16_t)((ev->flags & SOURCE_FLAGS) | (history ? EBT_F_HISTORY : 0) |
				    (r->last_ts ? 0 : EBT_F_NO_SINCE)),
		.arg = {missing, words},
	};
	return put_loss(j, &lost, ev);
}

static void restart(struct ring_life *r)
{
	r->ordinals = (struct ordinals){0};
	r->missing = r->history = (struct missing){0};
	r->next_pos = 0;
	r->has_file = false;
}

/* An event of a hole was delivered: one less is missing. */
static void give_back(struct session *s, struct ring_life *r, const struct ebt_event *ev)
{
	/* It may have been counted in an output that is whole already. */
	struct totals *t = !s->totals.lost_events && s->past.lost_events ? &s->past : &s->totals;
	bool history = r->history.events && (int32_t)(ev->seq - r->history_end) < 0;
	struct missing *m = history ? &r->history : &r->missing;
	if (!m->events)
		return;
	uint64_t words = --m->events && m->words > ev->size ? ev->size : m->words;
	m->words -= words;
	t->lost_events--;
	t->lost_words -= words;
	t->history_events -= history;
	t->history_words -= history ? words : 0;
}

/* An ordinal below the next one: a copy of a delivered event, or an event of a reported hole. */
static int deliver_old(struct join *j, struct ring_life *r, struct ebt_event *ev)
{
	if (!ordinals_fill(&r->ordinals, ev->seq)) {
		session_drop_event(j->session, ev);
		return 0;
	}
	/* The loss must have been counted before less is lost. */
	int err = hand_on(j);
	give_back(j->session, r, ev);
	ev->flags |= EBT_F_LATE;
	j->out = ev;
	keep(j, ev);
	return err;
}

/* The ring's next event is delivered. */
static inline void advance(struct ring_life *r, const struct ebt_event *ev)
{
	if (ev->flags & EBT_F_RING) /* else it is of the hole, and BPF has seen it */
		r->has_lost = false;
	r->started = true;
	r->ordinals.next++;
	r->next_pos = ev->pos != EBT_NO_POS && ev->size ? ev->pos + ev->size : EBT_NO_POS;
	r->last_ts = ev->ts;
}

/* An event that is not the next of its ring. */
static __attribute__((noinline)) int deliver_apart(struct join *j, struct ring_life *r,
						   struct ebt_event *ev, bool *ret_next)
{
	*ret_next = false;
	if (r->started && (int32_t)(ev->seq - (uint32_t)r->ordinals.next) < 0) {
		/* Times grow with ordinals inside a ring, so a newer moment is a newer ring. A late
		 * event's own time is not known any more: it is never taken for a restart. */
		bool newer = ev->ts > r->last_ts && !(ev->flags & EBT_F_LATE);
		if (!newer || (ev->seq && ev->pos != EBT_NO_POS && ev->pos >= r->next_pos))
			return deliver_old(j, r, ev);
		restart(r);
		r->has_file = ev->flags & EBT_F_RING;
	}
	*ret_next = true;
	uint32_t missing = ev->seq - (uint32_t)r->ordinals.next;
	if (!missing)
		return 0;
	ordinals_skip(&r->ordinals, missing);
	return emit_loss(j, r, ev, missing);
}

static inline int deliver(struct join *j, struct ebt_event *ev)
{
	if (!(ev->flags & EBT_F_SEQ)) {
		ev->flags &= (uint16_t)~EBT_F_FIRST;
		keep(j, ev);
		return 0;
	}
	struct ring_life *r = find_life(j, ev);
	if (!r)
		return -ENOMEM;
	ev->flags &= (uint16_t)~EBT_F_FIRST;
	if (ev->seq != (uint32_t)r->ordinals.next) {
		bool goes_on;
		int err = deliver_apart(j, r, ev, &goes_on);
		if (err || !goes_on)
			return err;
	}
	advance(r, ev);
	keep(j, ev);
	return 0;
}

static inline bool are_partners(const struct ebt_event *a, const struct ebt_event *b)
{
	return ((a->flags ^ b->flags) & SOURCE_FLAGS) == SOURCE_FLAGS && a->pos == b->pos &&
	       a->ts == b->ts && a->process == b->process && a->domain == b->domain &&
	       a->kind == b->kind;
}

/* Makes one event, at `ev`, of the ring's record and BPF's. */
static void combine(struct join *j, struct ebt_event *held, struct ebt_event *ev)
{
	struct ebt_event ring = ev->flags & EBT_F_RING ? *ev : *held;
	struct ebt_event bpf = ev->flags & EBT_F_RING ? *held : *ev;
	ring.tid = bpf.tid ? bpf.tid : ring.tid;
	ring.cpu = bpf.cpu;
	ring.stack = bpf.stack;
	bpf.stack = 0;
	session_drop_event(j->session, &bpf);
	/* BPF's payload may be cut; what is kept is the ring's. */
	ring.flags |= bpf.flags & (uint16_t)~EBT_F_CUT;
	*ev = ring;
}

/* A loss that a ring reports of itself; its size is known at the next event. */
static bool is_ring_loss(const struct ebt_event *ev)
{
	return ev->kind == EBT_LOST && ev->flags & EBT_F_RING && ev->domain != EBT_NO_DOMAIN &&
	       ev->arg[0] != EBT_LOST_UNCOUNTED;
}

static int note_loss(struct join *j, const struct ebt_event *lost)
{
	struct ring_life *r = find_life(j, lost);
	if (!r)
		return -ENOMEM;
	r->lost = *lost;
	r->has_lost = true;
	return 0;
}

/* True if the other source may have a record of the same event. */
static inline bool may_have_partner(const struct ebt_event *ev)
{
	uint16_t seen = ev->flags & SOURCE_FLAGS;
	uint64_t pos = ev->flags & EBT_F_SEQ ? ev->pos : kinds_pos(ev);
	return seen && seen != SOURCE_FLAGS && pos != EBT_NO_POS;
}

/* Delivers what waits for its partner. That of the batch before is handed on at once. */
static inline int settle(struct join *j, struct ebt_event *held)
{
	if (held != &j->pending)
		return held ? deliver(j, held) : 0;
	struct ebt_event *out = j->out;
	j->out = held;
	int err = deliver(j, held);
	if (!err)
		err = hand_on(j);
	j->out = out;
	return err;
}

/* An event behind *held, which is NULL if none is held. */
static int take(struct join *j, struct ebt_event *ev, struct ebt_event **held)
{
	if (ev->flags & EBT_F_FINAL) {
		int err = settle(j, *held);
		*held = NULL;
		keep(j, ev);
		return err;
	}
	bool is_loss = is_ring_loss(ev);
	if (is_loss && !(ev->flags & EBT_F_FIRST))
		return note_loss(j, ev);
	if (*held && are_partners(*held, ev)) {
		combine(j, *held, ev);
		*held = NULL;
		return deliver(j, ev);
	}
	int err = settle(j, *held);
	*held = NULL;
	if (err)
		return err;
	if (is_loss)
		return note_loss(j, ev);
	if (ev->kind == EBT_PROCESS && ev->id != EBT_PROCESS_FORK)
		end_process(j, ev->process);
	if (!may_have_partner(ev))
		return deliver(j, ev);
	*held = ev;
	return 0;
}

#define RUN_FLAGS (SOURCE_FLAGS | EBT_F_SEQ | EBT_F_FINAL | EBT_F_FIRST)

/* True for an event of a program with exactly these of RUN_FLAGS. */
static inline bool is_plain(const struct ebt_event *ev, unsigned flags)
{
	return (ev->flags & RUN_FLAGS) == flags && ev->kind < EBT_LOST;
}

/* The flags of an event with an ordinal and one source that needs no special treatment; else 0. */
static inline unsigned plain_source(const struct ebt_event *ev)
{
	unsigned is = ev->flags & RUN_FLAGS;
	bool one = is == (EBT_F_RING | EBT_F_SEQ) || is == (EBT_F_BPF | EBT_F_SEQ);
	return one && is_plain(ev, is) ? is : 0;
}

static inline bool same_ring(const struct ebt_event *a, const struct ebt_event *b)
{
	return a->process == b->process && a->domain == b->domain;
}

/* True if the event, which is plain, is the next of its ring. */
static inline bool is_next(const struct ring_state *r, const struct ebt_event *ev)
{
	return r && !r->ended && ev->seq == (uint32_t)r->life.ordinals.next;
}

/* The number of events that pass_run() may pass, of one ring, which is looked up once. */
static size_t pass_ring(const struct join *j, const struct ebt_event *ev, size_t n, unsigned source)
{
	struct ring_state *r = known_ring(j, ev);
	size_t i = 0;
	if (!is_next(r, ev))
		return 0;
	while (i + 1 < n && ev[i].seq == ev->seq + (uint32_t)i && same_ring(&ev[i], ev) &&
	       is_plain(&ev[i + 1], source))
		i++;
	if (i) {
		r->life.ordinals.next += i - 1;
		advance(&r->life, &ev[i - 1]);
	}
	return i;
}

/* The same for any rings. A function of its own: its loop then stays in registers. */
static __attribute__((noinline)) size_t pass_rings(const struct join *j, const struct ebt_event *ev,
						   size_t n, unsigned source)
{
	const struct ebt_event *e = ev, *last = ev + n - 1;
	for (; e < last && is_plain(e + 1, source); e++) {
		struct ring_state *r = known_ring(j, e);
		if (!is_next(r, e))
			break;
		advance(&r->life, e);
	}
	return (size_t)(e - ev);
}

/*
 * Keeps the first events that need no change: final ones; and, of those that only one source sees,
 * each that is the next of its ring and is followed by another of that source, so by no partner.
 * Returns their number.
 */
static size_t pass_run(struct join *j, struct ebt_event *ev, size_t n)
{
	struct ebt_event *to = &j->out[j->kept];
	unsigned source = plain_source(ev);
	size_t i = 0;
	while (i < n && ev[i].flags & EBT_F_FINAL)
		i++;
	/* Most batches whose first and last events are of one ring hold no other. */
	if (source && same_ring(ev, &ev[n - 1]))
		i = pass_ring(j, ev, n, source);
	if (source)
		i += pass_rings(j, ev + i, n - i, source);
	if (to != ev)
		memmove(to, ev, i * sizeof(*ev));
	j->kept += i;
	return i;
}

int join_events(struct join *j, struct ebt_event *ev, size_t n)
{
	struct ebt_event *held = j->has_pending ? &j->pending : NULL;
	size_t at = 0;
	int err = 0;
	j->out = ev;
	j->kept = 0;
	while (at < n && !err) {
		bool has_no_partner =
			held && plain_source(held) && plain_source(held) == plain_source(&ev[at]);
		if (has_no_partner) {
			err = settle(j, held);
			held = NULL;
		}
		size_t passed = held || err ? 0 : pass_run(j, ev + at, n - at);
		at += passed;
		if (!passed && !err)
			err = take(j, &ev[at++], &held);
	}
	j->has_pending = held != NULL;
	if (held && held != &j->pending)
		j->pending = *held;
	return err ? err : hand_on(j);
}

int join_flush(struct join *j)
{
	struct ebt_event *held = j->has_pending ? &j->pending : NULL;
	j->has_pending = false;
	return settle(j, held);
}
