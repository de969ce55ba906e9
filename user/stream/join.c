/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/join.h"

#include "base/array.h"
#include "session/kinds.h"
#include "session/processes.h"
#include "stream/event_word.h"
#include "stream/ordinals.h"
#include <ebtrace/event.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * What join knows of each ring, in an array by lane (session/processes.h). An entry holds what
 * every event of the ring is compared with and changes, and no more: the entries of many rings
 * share few cache lines. The rest, which losses and late events need, is allocated at the ring's
 * first event.
 *
 * A life of a ring is the time in which one program writes to it; its ordinals begin at 0 again in
 * the next one. This module keeps the state; join decides when a life ends.
 */

/* Reported as lost, and not delivered since. */
struct missing {
	uint64_t events, words;
};
#define JOIN_UNREAD 16
/* What only losses and late events need. */
struct ring_past {
	bool has_file; /* events of this life were read from a ring file */
	/* Lives before this one without a file so far, and the number of events of each. */
	uint32_t unread, unread_next[JOIN_UNREAD];
	uint32_t stale_next;  /* with RING_STALE: of the life that the file is of */
	uint32_t history_end; /* ordinals before it are of the history */
	struct ordinals ordinals;
	struct ebt_event lost; /* with RING_HAS_LOSS: to be reported before the next event */
	struct missing missing, history;
	struct join_ring *before; /* with RING_BEHIND: the life that the late file interrupts */
};
enum ring_flag {
	RING_STARTED = 1 << 0,	/* an event was delivered in this life */
	RING_HAS_LOSS = 1 << 1, /* the ring has reported a loss since its last event */
	RING_ENDED = 1 << 2,	/* its process, or that one's program, has ended */
	RING_STALE = 1 << 3,	/* its late events are of an earlier life's file */
	RING_BEHIND = 1 << 4,	/* a file found late is read; past->before goes on behind it */
};
struct join_ring {
	uint64_t next;		    /* ordinal of the next event, not wrapped */
	uint64_t last_ts, last_pos; /* of the last event; as in an event, copied at once */
	uint32_t last_size;
	uint32_t flags;		/* of enum ring_flag */
	struct ring_past *past; /* NULL: the ring had no event yet */
};
struct join_rings {
	struct join_ring *at; /* by lane */
	uint32_t lanes;
};

static struct join_ring *join_rings_add(struct join_rings *rs, uint32_t lane);

/* The entry of a lane; its flags are 0 while the ring had no event. NULL: no entry. */
static inline struct join_ring *join_rings_at(const struct join_rings *rs, uint32_t lane)
{
	return lane < rs->lanes ? &rs->at[lane] : NULL;
}

/* The ring of a lane, added at the first call; NULL: no memory, or the lane is 0. Pointers to
 * others are invalid afterwards. */
static inline struct join_ring *join_rings_get(struct join_rings *rs, uint32_t lane)
{
	struct join_ring *r = join_rings_at(rs, lane);
	return r && r->past ? r : join_rings_add(rs, lane);
}

static void free_before(struct ring_past *past)
{
	if (past->before)
		free(past->before->past);
	free(past->before);
}

static void free_past(struct ring_past *past)
{
	if (past)
		free_before(past);
	free(past);
}

/* Zeroed memory holds no ring. */
static void join_rings_done(struct join_rings *rs)
{
	for (uint32_t i = 0; i < rs->lanes; i++)
		free_past(rs->at[i].past);
	free(rs->at);
	*rs = (struct join_rings){0};
}

/* private */
static struct join_ring *join_rings_add(struct join_rings *rs, uint32_t lane)
{
	if (!lane)
		return NULL;
	if (!array_room(rs->at, rs->lanes, lane))
		return NULL;
	struct join_ring *r = &rs->at[lane];
	r->past = calloc(1, sizeof(*r->past));
	return r->past ? r : NULL;
}

/* Starts another life of the ring. */
static void join_ring_renew(struct join_ring *r)
{
	struct ring_past *past = r->past, next = {.stale_next = past->stale_next};
	/* Of more, the oldest is forgotten. */
	bool is_unread = r->flags & RING_STARTED && !past->has_file;
	uint32_t skipped = is_unread && past->unread == JOIN_UNREAD;
	for (uint32_t i = skipped; i < past->unread; i++)
		next.unread_next[next.unread++] = past->unread_next[i];
	if (is_unread)
		next.unread_next[next.unread++] = (uint32_t)r->next;
	free_before(past);
	*past = next;
	*r = (struct join_ring){.past = past, .flags = r->flags & RING_STALE};
}

/* Starts a life that a file found late has, unless there is no memory: then another life starts. */
static void join_ring_interrupt(struct join_ring *r)
{
	struct ring_past *past = calloc(1, sizeof(*past));
	struct join_ring *before = calloc(1, sizeof(*before));
	if (!past || !before) {
		free(past);
		free(before);
		join_ring_renew(r);
		return;
	}
	*before = *r;
	past->before = before;
	*r = (struct join_ring){.past = past, .flags = RING_BEHIND};
}

/* Goes on with the life that the late files have interrupted. */
static void join_ring_resume(struct join_ring *r)
{
	struct ring_past *past = r->past;
	struct join_ring *before = past->before;
	*r = *before;
	free(before);
	free(past);
}

/* The file of the oldest life that lacks one is read; false: none does. */
static bool join_ring_take_unread(struct join_ring *r)
{
	struct ring_past *past = r->past;
	if (!past->unread)
		return false;
	past->stale_next = past->unread_next[0];
	memmove(past->unread_next, past->unread_next + 1,
		--past->unread * sizeof(*past->unread_next));
	return true;
}

/* Marks the rings of a process as ended: its program has. */
static void join_rings_end(struct join_rings *rs, const struct process *p)
{
	for (uint32_t i = 0; i < p->lanes; i++) {
		struct join_ring *r = join_rings_at(rs, p->lane[i]);
		if (r && r->past)
			r->flags |= RING_ENDED;
	}
}

/* Drops the rings of a process. */
static void join_rings_forget(struct join_rings *rs, const struct process *p)
{
	for (uint32_t i = 0; i < p->lanes; i++) {
		struct join_ring *r = join_rings_at(rs, p->lane[i]);
		if (!r)
			continue;
		free_past(r->past);
		*r = (struct join_ring){0};
	}
}

#define SOURCE_FLAGS (EBT_F_RING | EBT_F_BPF)

struct join {
	struct session *session;
	struct event_handler handler;
	struct join_rings rings;
	struct ebt_event pending; /* held for its partner, between batches */
	bool has_pending;
	/* The batch. out[0..kept-1] will be emitted; events behind these, up to the one that is
	 * being delivered, are done. */
	struct ebt_event *out;
	size_t kept;
};

int join_new(struct session *s, struct event_handler out, struct join **ret)
{
	struct join *j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	*j = (struct join){.session = s, .handler = out};
	*ret = j;
	return 0;
}

void join_free(struct join *j)
{
	if (!j)
		return;
	join_rings_done(&j->rings);
	free(j);
}

static inline struct join_ring *find_ring(struct join *j, const struct ebt_event *ev)
{
	uint32_t lane = processes_lane(&j->session->processes, ev->process, ev->domain);
	return join_rings_get(&j->rings, lane);
}

void join_forget(struct join *j, uint32_t process)
{
	join_rings_forget(&j->rings, processes_at(&j->session->processes, process));
}

/*
 * Another life of the ring begins behind the end of the process, but not with a late event, which
 * may be of the life before. It also begins with another file, which may be found so late that all
 * its events are late: a life has one file. Files come in the order of lives: a late one is of an
 * earlier life as long as such a life, which BPF has seen, lacks its file. Behind the late files
 * the life goes on that they have interrupted.
 */
static __attribute__((noinline)) void change_life(struct join_ring *r, const struct ebt_event *ev)
{
	bool first = ev->flags & EBT_F_FIRST, late = ev->flags & EBT_F_LATE;
	r->flags &= first ? ~(uint32_t)RING_STALE : ~0u;
	if (first && late && join_ring_take_unread(r)) {
		r->flags |= RING_STALE;
		return;
	}
	if (r->flags & RING_BEHIND && !(r->flags & RING_ENDED) && (first || !late))
		join_ring_resume(r);
	bool has_begun = r->flags & RING_STARTED && !(r->flags & RING_ENDED);
	if (first && late && r->past->has_file && has_begun)
		join_ring_interrupt(r);
	else if ((r->flags & RING_ENDED && !late) || (first && r->past->has_file))
		join_ring_renew(r);
	r->past->has_file |= first;
}

/* The ring of the event, in the life that the event belongs to. */
static inline struct join_ring *find_life(struct join *j, const struct ebt_event *ev)
{
	struct join_ring *r = find_ring(j, ev);
	if (!r)
		return NULL;
	if (r->flags & (RING_ENDED | RING_BEHIND) || ev->flags & EBT_F_FIRST)
		change_life(r, ev);
	return r;
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

/* The position behind the ring's last event; EBT_NO_POS: not known. */
static uint64_t next_pos(const struct join_ring *r)
{
	return r->last_pos == EBT_NO_POS || !r->last_size ? EBT_NO_POS : r->last_pos + r->last_size;
}

/* `from`: where the hole begins; EBT_NO_POS: not known. */
static int emit_loss(struct join *j, struct join_ring *r, struct ebt_event *ev, uint32_t missing,
		     uint64_t from)
{
	struct ring_past *past = r->past;
	bool started = r->flags & RING_STARTED, has_loss = r->flags & RING_HAS_LOSS;
	const struct process *p = processes_at(&j->session->processes, ev->process);
	bool history = has_loss ? past->lost.flags & EBT_F_HISTORY : !started && !p->begun_in_run;
	bool has_words = from != EBT_NO_POS && ev->pos != EBT_NO_POS && ev->pos > from;
	uint64_t words = has_words ? ev->pos - from : 0;
	struct missing *m = history ? &past->history : &past->missing;
	m->events += missing;
	m->words += words;
	if (history)
		past->history_end = ev->seq;
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

static void restart(struct join_ring *r, bool has_file)
{
	r->next = 0;
	r->past->ordinals = (struct ordinals){0};
	r->past->missing = r->past->history = (struct missing){0};
	r->past->has_file = has_file;
}

/* An event of a hole was delivered: one less is missing. */
static void give_back(struct session *s, struct ring_past *past, const struct ebt_event *ev)
{
	bool history = past->history.events && (int32_t)(ev->seq - past->history_end) < 0;
	struct missing *m = history ? &past->history : &past->missing;
	if (!m->events)
		return;
	uint64_t words = --m->events && m->words > ev->size ? ev->size : m->words;
	m->words -= words;
	/* It may have been counted in an output that is whole already. */
	struct totals *t = &s->totals;
	if (history) {
		t = !t->history_events && s->past.history_events ? &s->past : t;
		t->history_events--;
		t->history_words -= words;
	} else {
		t = !t->lost_events && s->past.lost_events ? &s->past : t;
		t->lost_events--;
		t->lost_words -= words;
	}
}

/* An ordinal below the next one: a copy of a delivered event, or an event of a reported hole. */
static int deliver_old(struct join *j, struct join_ring *r, struct ebt_event *ev)
{
	if (!ordinals_fill(&r->past->ordinals, r->next, ev->seq)) {
		session_drop_event(j->session, ev);
		return 0;
	}
	/* The loss must have been counted before less is lost. */
	int err = hand_on(j);
	give_back(j->session, r->past, ev);
	ev->flags |= EBT_F_LATE;
	j->out = ev;
	keep(j, ev);
	return err;
}

/* The ring's next event is delivered. */
static inline void advance(struct join_ring *r, const struct ebt_event *ev)
{
	r->next++;
	r->last_ts = ev->ts;
	r->last_pos = ev->pos;
	r->last_size = ev->size;
}

/* An event that is not the next of its ring. */
static __attribute__((noinline)) int deliver_apart(struct join *j, struct join_ring *r,
						   struct ebt_event *ev, bool *ret_next)
{
	uint64_t from = r->flags & RING_STARTED ? next_pos(r) : 0;
	*ret_next = false;
	if (r->flags & RING_STARTED && (int32_t)(ev->seq - (uint32_t)r->next) < 0) {
		/* Times grow with ordinals inside a ring, so a newer moment is a newer ring. A late
		 * event's own time is not known any more: it is never taken for a restart. */
		bool newer = ev->ts > r->last_ts && !(ev->flags & EBT_F_LATE);
		if (!newer || (ev->seq && ev->pos != EBT_NO_POS && ev->pos >= from))
			return deliver_old(j, r, ev);
		restart(r, ev->flags & EBT_F_RING);
		from = 0;
	}
	*ret_next = true;
	uint32_t missing = ev->seq - (uint32_t)r->next;
	if (!missing)
		return 0;
	ordinals_skip(&r->past->ordinals, r->next, missing);
	r->next += missing;
	return emit_loss(j, r, ev, missing, from);
}

/* Keeps a late event from the file of an earlier life. Drops it if it is before stale_next: BPF's
 * record of it was delivered, or it was reported as lost. */
static __attribute__((noinline)) int deliver_stale(struct join *j, const struct join_ring *r,
						   struct ebt_event *ev)
{
	if ((int32_t)(ev->seq - r->past->stale_next) < 0)
		session_drop_event(j->session, ev);
	else
		keep(j, ev);
	return 0;
}

static inline int deliver(struct join *j, struct ebt_event *ev)
{
	if (!(ev->flags & EBT_F_SEQ)) {
		ev->flags &= (uint16_t)~EBT_F_FIRST;
		keep(j, ev);
		return 0;
	}
	struct join_ring *r = find_life(j, ev);
	if (!r)
		return -ENOMEM;
	ev->flags &= (uint16_t)~EBT_F_FIRST;
	bool is_late_copy = ev->flags & EBT_F_LATE && !(ev->flags & EBT_F_BPF);
	if (r->flags & RING_STALE && is_late_copy)
		return deliver_stale(j, r, ev);
	if (ev->seq != (uint32_t)r->next) {
		bool goes_on;
		int err = deliver_apart(j, r, ev, &goes_on);
		if (err || !goes_on)
			return err;
	}
	if (ev->flags & EBT_F_RING) /* else it is of the hole, and BPF has seen it */
		r->flags &= ~RING_HAS_LOSS;
	r->flags |= RING_STARTED;
	advance(r, ev);
	keep(j, ev);
	return 0;
}

/* The first event of a file that is found late may be of an earlier life than what has its time. */
static inline bool begins_late_file(const struct ebt_event *ev)
{
	return (~ev->flags & (EBT_F_FIRST | EBT_F_LATE)) == 0;
}

/* A late event has the time of what was emitted last, and was before it: its partner is as late. */
static inline bool are_partners(const struct ebt_event *a, const struct ebt_event *b)
{
	const unsigned differ = SOURCE_FLAGS | EBT_F_LATE;
	return ((a->flags ^ b->flags) & differ) == SOURCE_FLAGS && a->pos == b->pos &&
	       !begins_late_file(a) && !begins_late_file(b) && a->ts == b->ts &&
	       a->process == b->process && a->domain == b->domain && a->kind == b->kind;
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
	/* A payload that both have may be cut in BPF's. */
	if (ring.flags & EBT_F_PAYLOAD)
		session_drop_event(j->session, &bpf);
	else if (bpf.flags & EBT_F_PAYLOAD)
		memcpy(ring.arg, bpf.arg, sizeof(ring.arg));
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
	struct join_ring *r = find_life(j, lost);
	if (!r)
		return -ENOMEM;
	r->past->lost = *lost;
	r->flags |= RING_HAS_LOSS;
	return 0;
}

/* One whose size is known: up to its ordinal. */
static bool is_sized_loss(const struct ebt_event *ev)
{
	return ev->kind == EBT_LOST && ev->flags & EBT_F_SEQ;
}

/* What was delivered in spite of it does not count. A ring of another life knows nothing of it. */
static int deliver_sized_loss(struct join *j, struct ebt_event *ev)
{
	struct join_ring *r = find_ring(j, ev);
	if (!r)
		return -ENOMEM;
	uint32_t missing = ev->seq - (uint32_t)r->next;
	bool is_of_life = r->flags & RING_STARTED && !(r->flags & (RING_STALE | RING_BEHIND));
	ev->flags &= (uint16_t)~EBT_F_SEQ;
	if (is_of_life && (int32_t)missing <= 0)
		return 0;
	if (is_of_life && missing <= ev->arg[0]) {
		ordinals_skip(&r->past->ordinals, r->next, missing);
		r->next += missing;
		r->last_pos = EBT_NO_POS;
		r->past->missing.events += missing;
		r->past->missing.words += ev->arg[1];
		ev->arg[0] = missing;
	}
	keep(j, ev);
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

/* The program of the process has ended. One that follows it began in the run. */
static void end_program(struct join *j, const struct ebt_event *ev)
{
	struct process *p = processes_at(&j->session->processes, ev->process);
	join_rings_end(&j->rings, p);
	p->begun_in_run = true;
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
	if (is_sized_loss(ev)) {
		int err = settle(j, *held);
		*held = NULL;
		return err ? err : deliver_sized_loss(j, ev);
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
		end_program(j, ev);
	if (!may_have_partner(ev))
		return deliver(j, ev);
	*held = ev;
	return 0;
}

/* What the events of a run have in common: which source sees them, an ordinal, no more. */
#define RUN_FLAGS (SOURCE_FLAGS | EBT_F_SEQ | EBT_F_FINAL | EBT_F_FIRST)

/* The part of event_word() that is the same in all events of a run: these flags, and the kind of an
 * event of a program. */
static inline uint64_t run_word(const struct ebt_event *ev)
{
	static const struct ebt_event mask = {.kind = EVENT_WORD_NOT_PROGRAM, .flags = RUN_FLAGS};
	return event_word(ev) & event_word(&mask);
}

/* The part of event_word() that is the same in all events of a run of one ring: run_word(), and the
 * domain. */
static inline uint64_t ring_word(const struct ebt_event *ev)
{
	static const struct ebt_event mask = {
		.kind = EVENT_WORD_NOT_PROGRAM, .domain = UINT16_MAX, .flags = RUN_FLAGS};
	return event_word(ev) & event_word(&mask);
}

/* True for an event of a program with one source that needs no special treatment. */
static inline bool is_plain(const struct ebt_event *ev)
{
	unsigned is = ev->flags & RUN_FLAGS & ~(unsigned)EBT_F_SEQ;
	return (is == EBT_F_RING || is == EBT_F_BPF) && ev->kind < EBT_LOST;
}

/* True for an event as is_plain() has it, with an ordinal, which must be the next of its ring. */
static inline bool is_counted(const struct ebt_event *ev)
{
	return ev->flags & EBT_F_SEQ && is_plain(ev);
}

/* True if the event, which is counted, is the next of its ring, and the ring has no loss to report,
 * nor a life to begin. */
static inline bool is_next(const struct join_ring *r, const struct ebt_event *ev)
{
	return r->flags == RING_STARTED && ev->seq == (uint32_t)r->next;
}

/* The number of events that pass_run() may pass, of one ring, which is looked up once. */
static size_t pass_ring(const struct join *j, const struct ebt_event *ev, size_t n, uint64_t run)
{
	const struct process *p = processes_at(&j->session->processes, ev->process);
	struct join_ring *r = join_rings_at(&j->rings, process_known_lane(p, ev->domain));
	const uint64_t ring = ring_word(ev);
	size_t i = 1;
	if (!r || !is_next(r, ev))
		return 0;
	while (i < n && ring_word(&ev[i]) == ring && ev[i].process == ev->process &&
	       ev[i].seq == ev->seq + (uint32_t)i)
		i++;
	/* The last of them may have a partner behind it. */
	if (i == n || run_word(&ev[i]) != run)
		i--;
	if (i) {
		r->next += i - 1;
		advance(r, &ev[i - 1]);
	}
	return i;
}

/* The number of events that pass_run() may pass, of any rings. A function of its own: its loop then
 * stays in registers. */
static __attribute__((noinline)) size_t pass_rings(const struct join *j, const struct ebt_event *ev,
						   size_t n, uint64_t run)
{
	const struct ebt_event *e = ev, *last = ev + n - 1;
	const struct join_rings rings = j->rings;
	uint32_t process = e->process;
	const struct process *p = processes_at(&j->session->processes, process);
	for (; e < last && run_word(e + 1) == run; e++) {
		if (e->process != process) {
			process = e->process;
			p = processes_at(&j->session->processes, process);
		}
		struct join_ring *r = join_rings_at(&rings, process_known_lane(p, e->domain));
		if (!r || !is_next(r, e))
			break;
		advance(r, e);
	}
	return (size_t)(e - ev);
}

/* The number of events that pass_run() may pass, without ordinals: no ring counts them. */
static inline size_t pass_uncounted(const struct ebt_event *ev, size_t n, uint64_t run)
{
	size_t i = 0;
	while (i + 1 < n && run_word(&ev[i + 1]) == run)
		i++;
	return i;
}

/* True for an event that needs no join: a final one, or one of a source that is neither a ring nor
 * BPF, without an ordinal. */
static inline bool is_settled(const struct ebt_event *ev)
{
	return ev->flags & EBT_F_FINAL || (!(ev->flags & RUN_FLAGS) && ev->kind != EBT_PROCESS);
}

/*
 * Keeps the first events that need no change: settled ones; and, of those that only one source
 * sees, each that has no ordinal or is the next of its ring, and is followed by another of that
 * source, so by no partner. Returns their number.
 */
static size_t pass_run(struct join *j, struct ebt_event *ev, size_t n)
{
	struct ebt_event *to = &j->out[j->kept];
	bool counted = is_counted(ev);
	size_t i = 0;
	while (i < n && is_settled(&ev[i]))
		i++;
	if (!counted && is_plain(ev))
		i = pass_uncounted(ev, n, run_word(ev));
	/* If the first and the last event of a batch are of one ring, most often all are. */
	if (counted && ev->process == ev[n - 1].process && ev->domain == ev[n - 1].domain)
		i = pass_ring(j, ev, n, run_word(ev));
	if (counted)
		i += pass_rings(j, ev + i, n - i, run_word(ev));
	if (to != ev)
		memmove(to, ev, i * sizeof(*ev));
	j->kept += i;
	return i;
}

/*
 * Keeps the first events that are pairs, each the next event of its ring, as take() would: without
 * a payload of BPF's, which would have to be dropped. Returns their number, an even one.
 */
static size_t pass_pairs(struct join *j, const struct ebt_event *ev, size_t n)
{
	const unsigned flags = RUN_FLAGS | EBT_F_PAYLOAD;
	size_t i = 0;
	for (; i + 1 < n && are_partners(&ev[i], &ev[i + 1]); i += 2) {
		bool second = ev[i].flags & EBT_F_BPF;
		const struct ebt_event *ring = &ev[i + second], bpf = ev[i + !second];
		const struct process *p = processes_at(&j->session->processes, bpf.process);
		struct join_ring *r = join_rings_at(&j->rings, process_known_lane(p, bpf.domain));
		if (!is_counted(ring) || (bpf.flags & flags) != (EBT_F_BPF | EBT_F_SEQ) || !r ||
		    !is_next(r, ring) || bpf.pos == EBT_NO_POS)
			break;
		struct ebt_event *to = &j->out[j->kept++];
		advance(r, ring);
		*to = *ring;
		to->tid = bpf.tid ? bpf.tid : to->tid;
		to->cpu = bpf.cpu;
		to->stack = bpf.stack;
		to->flags |= bpf.flags & (uint16_t)~EBT_F_CUT;
	}
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
		bool has_no_partner = held && is_plain(held) && run_word(held) == run_word(&ev[at]);
		if (has_no_partner) {
			err = settle(j, held);
			held = NULL;
		}
		size_t passed = held || err ? 0 : pass_pairs(j, ev + at, n - at);
		if (!passed && !held && !err)
			passed = pass_run(j, ev + at, n - at);
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
