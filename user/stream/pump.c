/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/pump.h"

#include "base/array.h"
#include "base/clock.h"
#include "session/kinds.h"
#include "stream/event_word.h"
#include "stream/join.h"
#include "stream/loss.h"
#include "stream/merge.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define PUMP_STEP_EVENTS 65536
#define PUMP_POLL_NS	 1000000
/* A step that takes longer ends, so that signals are read; and batches that do become smaller: an
 * event may have a stack of megabytes. */
#define PUMP_STEP_NS  50000000
#define PUMP_BATCH_NS 10000000

struct pump {
	struct session *session;
	struct merge *merge;
	struct join *join;
	struct filter *filter;
	struct source **sources;
	size_t source_count;
	struct sink **sinks;
	size_t sink_count;
	uint64_t polled_ns;    /* the end of the last poll, which may have taken long itself */
	size_t batch_max;      /* the least of the sinks'; 0: none has one */
	uint32_t batch_events; /* of one batch of merge, at most */
	bool drained;
	bool stopped, replays;
	/* Processes at the head of the queue of those that are gone, and when they were counted. */
	uint32_t going;
	uint64_t going_ns;
};

static void drop_events(struct session *s, struct ebt_event *ev, size_t n)
{
	if (!session_has_owned(s))
		return;
	session_drop_events(s, ev, n);
	session_reclaim(s);
}

/* True if all are of programs, and none is late: they are counted by their number. */
static bool are_plain(const struct ebt_event *ev, size_t n)
{
	static const struct ebt_event mask = {.kind = EVENT_WORD_NOT_PROGRAM, .flags = EBT_F_LATE};
	uint64_t bits = 0;
	for (size_t i = 0; i < n; i++)
		bits |= event_word(&ev[i]);
	return !(bits & event_word(&mask));
}

/* The kinds that count_apart() is about, a bit each. */
enum { IS_runtime, IS_user = 0, IS_stream = 1, IS_memory = 0, IS_pages = 0, IS_sched = 0 };
static const uint64_t stream_kinds = 0
#define EBT_KIND_DEF(value, KIND, name, family, ...) | (uint64_t)IS_##family << (value)
#include <ebtrace/events.def>
	;

/* True if none is late or of a kind that count_apart() counts. */
static bool are_counted(const struct ebt_event *ev, size_t n)
{
	uint64_t apart = 0;
	for (size_t i = 0; i < n; i++)
		apart |= (kinds_bit(ev[i].kind) & stream_kinds) | (ev[i].flags & EBT_F_LATE);
	return !apart;
}

/* Counts losses, damage and late events up to the next loss, which begins another batch, and, in
 * *ret_own, the events of the tracing itself. Returns the number of events. */
static size_t count_apart(struct totals *t, const struct ebt_event *ev, size_t n, size_t *ret_own)
{
	size_t i = 0, own = 0;
	if (ev->kind == EBT_LOST)
		loss_count(t, ev);
	do {
		unsigned kind = ev[i].kind;
		own += kinds_family((uint16_t)kind) == KINDS_stream;
		t->damaged += kind == EBT_DAMAGE;
		t->lost_allocs += kind == EBT_DAMAGE ? ev[i].seq : 0;
		t->late += ev[i].flags & EBT_F_LATE ? 1 : 0;
	} while (++i < n && ev[i].kind != EBT_LOST);
	*ret_own = own;
	return i;
}

/* Counts the first events of an array: a batch, which another loss does not belong to. */
static size_t count_batch(struct totals *t, const struct ebt_event *ev, size_t n)
{
	size_t own = 0;
	/* Damage and losses found before the first event have no time: each is a batch of its
	 * own. */
	bool has_time = t->timed || ev->ts || (ev->kind != EBT_DAMAGE && ev->kind != EBT_LOST);
	if (!t->timed)
		t->first_ns = ev->ts;
	if (!are_plain(ev, n) && !are_counted(ev, n))
		n = count_apart(t, ev, has_time ? n : 1, &own);
	t->events += n - own;
	t->timed += has_time ? n : 0;
	t->last_ns = ev[n - 1].ts;
	return n;
}

/* A released process has no events any more, or its index is another's. Checked in builds with
 * sanitizers, at each event. */
static void check_processes(const struct processes *ps, const struct ebt_event *ev, size_t n)
{
#ifdef __SANITIZE_ADDRESS__
	for (size_t i = 0; i < n; i++)
		assert(ev[i].process < ps->count && processes_at(ps, ev[i].process));
#else
	(void)ps, (void)ev, (void)n;
#endif
}

static int deliver(void *ctx, struct ebt_event *ev, size_t n)
{
	struct pump *p = ctx;
	int err = 0;
	check_processes(&p->session->processes, ev, n);
	for (size_t batch; n && !err; ev += batch, n -= batch) {
		size_t most = p->batch_max && p->batch_max < n ? p->batch_max : n;
		batch = count_batch(&p->session->totals, ev, most);
		for (size_t i = 0; i < p->sink_count && !err; i++)
			err = sink_events(p->sinks[i], ev, batch);
		drop_events(p->session, ev, batch);
	}
	return err;
}

int pump_new(struct session *s, struct pump **ret)
{
	struct pump *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->session = s;
	p->batch_events = BATCH_EVENTS;
	int err = merge_new(&s->processes, &p->merge);
	if (!err)
		err = filter_new(s, (struct event_handler){deliver, p}, &p->filter);
	if (!err)
		err = join_new(s, (struct event_handler){filter_events, p->filter}, &p->join);
	if (err) {
		pump_free(p);
		return err;
	}
	*ret = p;
	return 0;
}

void pump_free(struct pump *p)
{
	if (!p)
		return;
	join_free(p->join);
	filter_free(p->filter);
	merge_free(p->merge);
	free(p->sources);
	free(p->sinks);
	free(p);
}

int pump_add_source(struct pump *p, struct source *s)
{
	if (!array_more(p->sources, p->source_count))
		return -ENOMEM;
	int err = source_follow(s, &p->session->timebase);
	if (!err)
		err = merge_add(p->merge, s);
	if (!err)
		p->sources[p->source_count++] = s;
	return err;
}

int pump_add_sink(struct pump *p, struct sink *k)
{
	if (!array_more(p->sinks, p->sink_count))
		return -ENOMEM;
	p->sinks[p->sink_count++] = k;
	if (k->batch_max && (!p->batch_max || k->batch_max < p->batch_max))
		p->batch_max = k->batch_max;
	return 0;
}

struct filter *pump_filter(struct pump *p)
{
	return p->filter;
}

void pump_replay(struct pump *p)
{
	p->replays = true;
}

static int advance(struct pump *p, uint64_t horizon_ns)
{
	int err = filter_advance(p->filter, horizon_ns);
	for (size_t i = 0; i < p->sink_count && !err; i++)
		err = sink_advance(p->sinks[i], horizon_ns);
	return err;
}

static bool sinks_ready(const struct pump *p)
{
	for (size_t i = 0; i < p->sink_count; i++)
		if (!sink_ready(p->sinks[i]))
			return false;
	return true;
}

static int poll_sources(struct pump *p, uint64_t now)
{
	int err = merge_poll(p->merge);
	p->polled_ns = now_ns();
	for (size_t i = 0; i < p->sink_count && !err; i++)
		err = sink_tick(p->sinks[i], now);
	return err;
}

static int forget(struct pump *p, uint32_t process)
{
	int err = 0;
	join_forget(p->join, process);
	filter_forget(p->filter, process);
	for (size_t i = 0; i < p->sink_count && !err; i++)
		err = sink_forget(p->sinks[i], process);
	processes_release(&p->session->processes, process);
	return err;
}

/*
 * Releases the processes that were gone before events which have since been emitted: when a process
 * is gone each of its events lies before that, and no source will add one, as its horizon lies
 * before what it may still find. A live source that has stopped has no such horizon. In a recording
 * its events are not newer than the newest that was read; the end of the input lets all go.
 */
static int release_gone(struct pump *p, uint64_t horizon_ns)
{
	struct processes *ps = &p->session->processes;
	int err = 0;
	bool at_end = horizon_ns == UINT64_MAX;
	if (!processes_gone(ps) || p->stopped || (at_end && !p->replays))
		return 0;
	if (!p->going || at_end) {
		uint64_t now = p->replays ? merge_newest(p->merge) : now_ns();
		uint64_t last_ns = p->session->totals.last_ns;
		p->going = processes_gone(ps);
		p->going_ns = now > last_ns ? now : last_ns;
	}
	if (!at_end && horizon_ns <= p->going_ns + filter_delay_ns(p->filter))
		return 0;
	for (; p->going && !err; p->going--) {
		uint32_t process = processes_take_gone(ps);
		if (process)
			err = forget(p, process);
	}
	return err;
}

/* Merge has no event, so the event that is held has no partner. `state`: result of merge. */
static int drain(struct pump *p, int state)
{
	p->drained = true;
	uint64_t horizon = state ? merge_horizon(p->merge) : UINT64_MAX;
	int err = join_flush(p->join);
	if (!err)
		err = advance(p, horizon);
	return err ? err : release_gone(p, horizon);
}

/* Sets the thread of events from rings without thread ids. Thread records older than an emitted
 * event have all been received. */
static void name_threads(const struct processes *ps, struct ebt_event *ev, size_t n)
{
	for (size_t i = 0; ps->any_lone && i < n; i++)
		if (!ev[i].tid && ev[i].domain != EBT_NO_DOMAIN && !(ev[i].flags & EBT_F_BPF) &&
		    kinds_family(ev[i].kind) != KINDS_stream)
			ev[i].tid = processes_lone_thread(ps, ev[i].process, ev[i].ts);
}

/* Adapts the size of batches to the time that the last ones took to write. */
static void limit_batch(struct pump *p, uint64_t ns)
{
	uint32_t events = p->batch_events;
	if (ns > PUMP_BATCH_NS && events > 1)
		events /= 2;
	else if (ns < PUMP_BATCH_NS / 4 && events < BATCH_EVENTS)
		events *= 2;
	if (events == p->batch_events)
		return;
	p->batch_events = events;
	merge_limit_batch(p->merge, events);
}

int pump_step(struct pump *p)
{
	p->drained = false;
	uint64_t begin = now_ns(), before = begin;
	int err = poll_sources(p, begin);
	int moved = 0;
	while (!err && moved < PUMP_STEP_EVENTS) {
		if (!sinks_ready(p))
			return moved ? moved : -EAGAIN;
		/* A slow sink must not keep the rings waiting until they wrap. */
		uint64_t now = now_ns();
		if (moved)
			limit_batch(p, now - before);
		before = now;
		if (moved && now - begin > PUMP_STEP_NS)
			return moved;
		if (now - p->polled_ns > PUMP_POLL_NS)
			err = poll_sources(p, now);
		if (err)
			break;
		struct ebt_event *batch;
		int got = merge_batch(p->merge, &batch);
		if (got > 0) {
			uint64_t first_ns = batch->ts;
			name_threads(&p->session->processes, batch, (size_t)got);
			err = join_events(p->join, batch, (size_t)got);
			if (!err)
				err = release_gone(p, first_ns);
			moved += got;
			continue;
		}
		if (got && got != -EAGAIN)
			return got;
		err = drain(p, got);
		if (!err)
			return moved ? moved : got;
	}
	return err ? err : moved;
}

bool pump_drained(const struct pump *p)
{
	return p->drained;
}

int pump_stop(struct pump *p)
{
	int first = 0;
	p->stopped = true;
	for (size_t i = 0; i < p->source_count; i++) {
		int err = source_stop(p->sources[i]);
		if (err && !first)
			first = err;
	}
	return first;
}

int pump_source_error(const struct pump *p)
{
	return merge_error(p->merge);
}
