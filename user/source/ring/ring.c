/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/ring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "session/kinds.h"
#include "session/session.h"
#include "source/ring/damages.h"
#include "source/ring/file.h"
#include "source/ring/lane.h"
#include "source/ring/left.h"
#include "source/ring/live_files.h"
#include "source/ring/losses.h"

/*
 * Enters into the session what the decoded events of a ring refer to: names of user events and
 * payloads; notes damage at their file, and flags the first event of the ring.
 */

enum {
#define EBT_LIFECYCLE_ID(number, name, help) LIFECYCLE_##name = number,
#include <ebtrace/events.def>
};

static int enter_event(struct session *s, struct ring_lane *lane, const struct ebt_event *ev)
{
	/* Damage of the file's header, which belongs to no domain, was noted as it was found. */
	if (ev->kind == EBT_DAMAGE && ev->domain != EBT_NO_DOMAIN)
		ring_file_damage(lane->file, ev->arg[0],
				 ev->arg[1] ? "a record" : "a head and a tail that fit", NULL);
	return kinds_is_named_by_program(ev->kind) ? ring_file_learn(lane->file, s, ev->id) : 0;
}

/* Phases, counters and lifecycles, and the program's own events once their names are known, are
 * most events, and bring nothing but their payload. */
static inline bool is_known(const struct ring_lane *lane, const struct ebt_event *ev)
{
	return ev->kind < EBT_ALLOC_SIZES ||
	       (kinds_is_named_by_program(ev->kind) && ring_file_knows(lane->file, ev->id));
}

/* True for an event or a loss of a ring with ordinals. */
static bool is_counted(const struct ebt_event *ev)
{
	return ev->flags & EBT_F_SEQ || (ev->kind == EBT_LOST && ev->arg[0] != EBT_LOST_UNCOUNTED);
}

static void enter_thread(struct ring_owners *o, struct ebt_event *ev)
{
	bool spawns = ev->kind == EBT_LIFECYCLE && ev->id == LIFECYCLE_domain_spawn;
	if (ev->kind >= EBT_LOST)
		ring_owners_lose(o);
	else
		ev->tid = ring_owners_next(o, ev->pos, spawns);
}

/* n > 0 events that ring_lane_read() returned with these payloads. 0 or -ENOMEM. */
static int ring_enter(struct session *s, struct ring_lane *lane, struct ebt_event *ev, uint32_t n,
		      const void *payloads)
{
	struct ebt_event *first = NULL, *last = NULL; /* with a payload */
	uint32_t payload_count = 0;
	int err = 0;
	for (struct ebt_event *e = ev, *end = ev + n; e < end && !err; e++) {
		if (!is_known(lane, e))
			err = enter_event(s, lane, e);
		if (e->flags & EBT_F_PAYLOAD) {
			first = payload_count++ ? first : e;
			last = e;
		}
	}
	if (first && !err)
		err = session_put_blobs(s, first, (size_t)(last - first) + 1, payload_count,
					payloads);
	for (uint32_t i = 0; i < n && lane->has_owners; i++)
		enter_thread(&lane->owners, &ev[i]);
	for (uint32_t i = 0; i < n && !lane->begun; i++) {
		lane->begun = is_counted(&ev[i]);
		ev[i].flags |= lane->begun ? EBT_F_FIRST : 0;
	}
	lane->last_ns = ev[n - 1].ts;
	return err;
}

/*
 * The numbers of the ring source's lanes. A new lane gets the number of one that has ended, if any,
 * so there are as many numbers as there were lanes at once. Lane 0 is the source's own and is never
 * assigned.
 */

struct ring_lanes {
	struct ring_lane **lane; /* by number; NULL: it has ended, and lane 0 */
	uint32_t count, cap;	 /* numbers that were ever assigned, and 0 */
	uint32_t *ended;	 /* numbers to be assigned again */
	uint32_t ended_count;
	uint32_t *
		/* lanes that began again and were not yet returned by ring_lanes_begins_again() */
		again;
	uint32_t again_count;
};

static void ring_lanes_init(struct ring_lanes *l)
{
	*l = (struct ring_lanes){.count = 1};
}

/* frees the lanes */
static void ring_lanes_done(struct ring_lanes *l)
{
	for (uint32_t i = 1; i < l->count; i++)
		ring_lane_free(l->lane[i]);
	free(l->lane);
	free(l->ended);
	free(l->again);
}

/* Room for one more lane. 0 or -ENOMEM. */
static int ring_lanes_reserve(struct ring_lanes *l)
{
	uint32_t lanes = l->cap, ended = l->cap, again = l->cap;
	if (l->ended_count)
		return 0;
	if (!array_reserve(l->lane, lanes, l->count) || !array_reserve(l->ended, ended, l->count) ||
	    !array_reserve(l->again, again, l->count))
		return -ENOMEM;
	l->cap = lanes;
	return 0;
}

/* Assigns a number to a lane, in the reserved room, and takes ownership of it. */
static uint32_t ring_lanes_put(struct ring_lanes *l, struct ring_lane *lane)
{
	uint32_t number = l->ended_count ? l->ended[--l->ended_count] : l->count;
	if (number == l->count)
		l->count++;
	else
		l->again[l->again_count++] = number;
	l->lane[number] = lane;
	return number;
}

/* Frees a lane after its end was read. */
static void ring_lanes_end(struct ring_lanes *l, uint32_t number)
{
	ring_lane_free(l->lane[number]);
	l->lane[number] = NULL;
	l->ended[l->ended_count++] = number;
}

/* As source_ops.begins_again. */
static bool ring_lanes_begins_again(struct ring_lanes *l, uint32_t *ret)
{
	if (!l->again_count)
		return false;
	*ret = l->again[--l->again_count];
	return true;
}

/* Stores of the writer may become visible this much after a clock read that follows them. */
#define STORE_SLACK_NS 20000ull
/* Period of looks while rings do not fill. Each look costs system calls: all of them get at most
 * 1/IDLE_SHARE of our time, half of that if they are at MANY_FILES, but come after IDLE_MAX_NS, and
 * IDLE_EACH_NS for each file. */
#define IDLE_MIN_NS  1000000ull
#define IDLE_MAX_NS  20000000ull
#define IDLE_EACH_NS 20000ull
#define IDLE_SHARE   16
#define MANY_FILES   256u
/* How often words that are left in the rings are reported as lost. */
#define LEFT_NS 1000000000ull
/* The least budget: a few lanes. */
#define LEAST_BYTES ((size_t)1 << 20)

struct ring_source {
	struct source base;
	struct session *session;
	struct ring_budget budget;
	struct ring_file **files; /* with words to be fetched, or events to be read */
	struct ring_file **open;  /* those with words to be fetched */
	uint32_t file_count, file_cap, open_count;
	uint32_t added;		     /* files, in all */
	struct ring_damages damages; /* of files that were closed */
	struct ring_live live;
	struct ring_lanes lanes; /* without lane 0 */
	uint64_t safe_ns;
	uint64_t scanned_ns; /* all files from before were added; 0: ring_source_scanned() unused */
	struct ring_fill fill;
	uint64_t idle_ns; /* period of looks while rings do not fill */
	uint64_t idle_max_ns, idle_share;
	/* Of the last looks: when the first file is due, what the fastest ring's rate was, and what
	 * no ring brings an older event than; UINT64_MAX: none is live. */
	uint64_t due_ns;
	double rate;
	uint64_t rings_safe_ns;
	bool stirred;	       /* files were added, or end: each is looked at again */
	uint32_t wake_at;      /* the next lane that may have to be woken */
	bool wakes_all;	       /* lanes other than lane 0 may have to be */
	bool stopped, follows; /* follows: has had a live file, more may come */
	bool ringless_seen, knows_threads;
	bool leaves;		   /* ring_source_leave() */
	bool reported_full;	   /* that the budget is used up */
	struct ring_losses losses; /* lane 0 */
};

static struct ring_source *of(struct source *base)
{
	return (struct ring_source *)base;
}

static int lane_of(struct ring_source *s, struct ring_file *f, uint32_t domain,
		   struct ring_lane **ret)
{
	struct ring_watch *w = &f->rings[domain];
	if (w->lane) {
		*ret = s->lanes.lane[w->lane - 1];
		return 0;
	}
	int err = ring_lanes_reserve(&s->lanes);
	if (!err)
		err = ring_lane_new(f->cursor, domain, &s->budget, ret);
	if (err)
		return err;
	(*ret)->file = f;
	(*ret)->clock_ahead_ns = f->clock_ahead_ns;
	(*ret)->has_owners = f->pid;
	(*ret)->in_run = f->in_run;
	f->lanes++;
	uint32_t lane = ring_lanes_put(&s->lanes, *ret);
	s->base.lanes = s->lanes.count;
	w->lane = lane + 1;
	return 0;
}

static void report_full(struct ring_source *s, const char *name)
{
	if (!s->reported_full)
		messages_at(
			&s->session->messages, LOG_NORMAL,
			"'%s' has more rings than there is memory for (--buffer): what cannot be "
			"read is counted as lost",
			name);
	s->reported_full = true;
}

/* Makes lanes for the rings that a look has found in use. 0 or -ENOMEM. */
static int open_lanes(struct ring_source *s, struct ring_file *f)
{
	for (uint32_t d = 0; d < f->used; d++) {
		struct ring_watch *w = &f->rings[d];
		if (w->lane || w->unread || !ring_file_has_news(f, d))
			continue;
		struct ring_lane *lane;
		int err = lane_of(s, f, d, &lane);
		if (err && err != -ENOSPC)
			return err;
		if (!err)
			continue;
		report_full(s, f->name);
		/* While it is live the budget may suffice later; overwritten words are reported
		 * then. */
		if (f->live)
			break;
		const struct cursor_ring *r = cursor_ring(f->cursor, d);
		w->unread = true;
		f->unread_words += r->tail - r->pos;
	}
	return 0;
}

/* False: no memory. The process is referred to until the loss is read. */
static bool add_loss(struct ring_source *s, const struct ring_loss *loss)
{
	if (!ring_losses_add(&s->losses, loss))
		return false;
	processes_ref(&s->session->processes, loss->process);
	return true;
}

/* Losses that belong to no lane: of threads without a ring, and of rings that are not read. */
static void report_losses(struct ring_source *s, struct ring_file *f, uint64_t update_ns)
{
	struct ring_loss loss;
	if (!s->ringless_seen && ring_file_ringless(f, update_ns, &loss) && add_loss(s, &loss)) {
		f->ringless += loss.events;
		f->ringless_ns = update_ns;
	}
	loss = (struct ring_loss){.process = f->process,
				  .since_ns = f->began_ns,
				  .ts = f->began_ns ? update_ns : 0,
				  .events = EBT_LOST_UNCOUNTED,
				  .words = f->unread_words};
	if (f->unread_words && add_loss(s, &loss))
		f->unread_words = 0;
}

/* True once all words of a file at rest are fetched. */
static bool is_taken(const struct ring_source *s, const struct ring_file *f)
{
	bool whole = !f->live && !f->unread_words && !(s->leaves && f->undrained);
	for (uint32_t d = 0; whole && d < f->used; d++)
		whole = f->rings[d].unread || !ring_file_has_news(f, d);
	return whole;
}

static struct ring_lane *lane_at(const struct ring_source *s, const struct ring_file *f, uint32_t d)
{
	return f->rings[d].lane ? s->lanes.lane[f->rings[d].lane - 1] : NULL;
}

static bool is_left(const struct ring_source *s, const struct ring_file *f, uint32_t d)
{
	const struct ring_lane *lane = lane_at(s, f, d);
	return s->leaves && lane && ring_left_applies(f, d, lane);
}

/* 0 or -ENOMEM. */
static int leave_file(struct ring_source *s, struct ring_file *f)
{
	struct ring_loss loss;
	bool any = false, reports = !f->live || f->update_ns - f->left_ns >= LEFT_NS;
	f->undrained = false;
	for (uint32_t d = 0; d < f->used; d++) {
		if (!is_left(s, f, d) || !ring_left_skip(f, d, lane_at(s, f, d), reports, &loss))
			continue;
		any = true;
		s->session->left_words += loss.words;
		if (!add_loss(s, &loss))
			return -ENOMEM;
	}
	f->left_ns = any ? f->update_ns : f->left_ns;
	return 0;
}

/* Fetches the words of the rings up to the look, as far as the lanes have room. */
static int take_file(struct ring_source *s, struct ring_file *f)
{
	int err = s->leaves ? leave_file(s, f) : 0;
	for (uint32_t d = 0; d < f->used && !err; d++) {
		if (!f->rings[d].lane || is_left(s, f, d) || !ring_file_has_news(f, d))
			continue;
		struct ring_lane *lane = lane_at(s, f, d);
		if (lane->has_owners)
			ring_file_look_at_owner(f, d, &lane->owners);
		err = ring_lane_fetch(lane, f->cursor, d, !s->follows);
	}
	if (err)
		return err;
	if (f->whole_ns == f->update_ns || !f->live)
		report_losses(s, f, f->update_ns);
	f->finished = is_taken(s, f);
	return 0;
}

static void close_if_done(struct ring_source *s, struct ring_file *f)
{
	if (!f->finished || f->lanes)
		return;
	ring_live_remove(&s->live, f);
	if (f->damage.count && !ring_damages_keep(&s->damages, f->number, &f->damage))
		f->name = NULL;
	ring_budget_release(&s->budget, f->bytes);
	s->files[f->place] = s->files[--s->file_count];
	s->files[f->place]->place = f->place;
	processes_unref(&s->session->processes, f->process);
	ring_file_free(f);
}

/* Removes the files that have no words to be fetched any more. */
static void drop_finished(struct ring_source *s)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < s->open_count; i++) {
		struct ring_file *f = s->open[i];
		if (f->finished)
			close_if_done(s, f);
		else
			s->open[kept++] = f;
	}
	s->open_count = kept;
}

/* Once interrupted, looks seem to cost more: it grows in steps. */
static void set_idle(struct ring_source *s, uint64_t idle_ns)
{
	uint64_t max_ns = s->idle_max_ns + s->open_count * IDLE_EACH_NS;
	idle_ns = idle_ns < 2 * s->idle_ns ? idle_ns : 2 * s->idle_ns;
	idle_ns = idle_ns < max_ns ? idle_ns : max_ns;
	s->idle_ns = idle_ns > IDLE_MIN_NS ? idle_ns : IDLE_MIN_NS;
}

/* Reads the positions of the files that are due, and makes lanes for rings that are in use. 0 or
 * -ENOMEM. */
static int look_at_files(struct ring_source *s, uint64_t begin_ns)
{
	/* Files that are due soon are looked at, too: one system call is for many. */
	uint64_t idle_ns = s->idle_ns, due_ns = begin_ns + idle_ns / 4;
	uint32_t looks = 0;
	int err = 0;
	s->rate = 0;
	for (uint32_t i = 0; i < s->open_count; i++) {
		struct ring_file *f = s->open[i];
		f->looked = s->stopped || ring_file_due_ns(f, idle_ns) <= due_ns;
		f->rested = false;
		f->leaves = f->looked ? s->leaves : f->leaves;
		looks += f->looked;
	}
	ring_files_rest(s->open, s->open_count);
	for (uint32_t i = 0; !err && i < s->open_count; i++) {
		struct ring_file *f = s->open[i];
		if (f->looked && !f->rested)
			f->finished = !ring_file_update(f, now_ns(), &s->fill);
		if (f->looked && !f->finished)
			err = open_lanes(s, f);
		s->rate = f->rate > s->rate ? f->rate : s->rate;
	}
	uint64_t share = (s->open_count < MANY_FILES ? 1 : 2) * s->idle_share;
	if (looks > s->open_count / 2)
		set_idle(s, share * (now_ns() - begin_ns));
	s->wakes_all |= looks;
	return err;
}

/* Fetches the words of the files that have been looked at. 0 or -errno. */
static int take_files(struct ring_source *s)
{
	int err = 0;
	s->rings_safe_ns = s->due_ns = UINT64_MAX;
	for (uint32_t i = 0; !err && i < s->open_count; i++) {
		struct ring_file *f = s->open[i];
		if (f->live && !f->finished && f->safe_ns < s->rings_safe_ns)
			s->rings_safe_ns = f->safe_ns;
		uint64_t due_ns = ring_file_due_ns(f, s->idle_ns);
		s->due_ns = due_ns < s->due_ns ? due_ns : s->due_ns;
		if (f->looked && !f->finished)
			err = take_file(s, f);
	}
	return err;
}

/* No event older than this time can appear, whatever the rings bring. */
static uint64_t safe_time(const struct ring_source *s, uint64_t now)
{
	uint64_t safe = UINT64_MAX;
	if (s->stopped)
		return safe;
	if (s->rings_safe_ns != UINT64_MAX)
		safe = s->rings_safe_ns - STORE_SLACK_NS - RING_SLACK_NS;
	else if (!s->added)
		safe = now - RING_SLACK_NS;
	return s->scanned_ns && s->scanned_ns < safe ? s->scanned_ns : safe;
}

/* Every ring of every file gets its lane before any lane gets more than its least. */
static int ring_poll(struct source *base)
{
	struct ring_source *s = of(base);
	uint64_t now = now_ns();
	s->wake_at = 0;
	s->wakes_all = s->stopped || s->stirred;
	if (s->wakes_all || now >= s->due_ns) {
		s->stirred = false;
		int err = look_at_files(s, now);
		if (!err)
			err = take_files(s);
		if (err)
			return err;
		drop_finished(s);
	}
	s->fill.rate = s->rate > s->fill.rate ? s->rate : s->fill.rate;
	uint64_t safe_ns = safe_time(s, now);
	s->wakes_all |= safe_ns != s->safe_ns;
	s->safe_ns = safe_ns;
	return 0;
}

/* True if the lane may have something to be read, be it its end. */
static bool is_filled(const struct ring_source *s, const struct ring_lane *lane)
{
	if (!lane->file->live || lane->file->finished)
		return true;
	if (ring_lane_holds(lane))
		return lane->events[lane->next].ts <= s->safe_ns;
	return ring_lane_has_words(lane);
}

/* Lane 0 has few events, and none of a ring. */
static bool ring_wakes(struct source *base, uint32_t *ret)
{
	struct ring_source *s = of(base);
	uint32_t end = s->wakes_all ? s->lanes.count : 1;
	while (s->wake_at < end) {
		uint32_t at = *ret = s->wake_at++;
		if (!at || (s->lanes.lane[at] && is_filled(s, s->lanes.lane[at])))
			return true;
	}
	return false;
}

static bool ring_begins_again(struct source *base, uint32_t *ret)
{
	return ring_lanes_begins_again(&of(base)->lanes, ret);
}

static int read_losses(struct ring_source *s, struct ebt_event *ev, size_t cap)
{
	size_t n = ring_losses_read(&s->losses, s->safe_ns, ev, cap);
	for (size_t i = 0; i < n; i++)
		processes_unref(&s->session->processes, ev[i].process);
	if (n)
		return (int)n;
	bool more_files = !s->stopped && (s->follows || !s->added);
	return s->losses.count || s->open_count || more_files ? -EAGAIN : 0;
}

static int end_lane(struct ring_source *s, uint32_t index)
{
	struct ring_file *f = s->lanes.lane[index]->file;
	ring_lanes_end(&s->lanes, index);
	f->lanes--;
	close_if_done(s, f);
	return 0;
}

static int ring_read(struct source *base, uint32_t index, struct ebt_event *ev, size_t cap)
{
	struct ring_source *s = of(base);
	if (!index)
		return read_losses(s, ev, cap);
	struct ring_lane *lane = s->lanes.lane[index];
	size_t n = 0;
	while (lane && n < cap) {
		const void *payloads;
		bool finished = lane->file->finished;
		uint32_t got =
			ring_lane_read(lane, finished, s->safe_ns, ev + n, cap - n, &payloads);
		if (!got && !n && finished && !ring_lane_holds(lane))
			return end_lane(s, index);
		if (!got)
			return n ? (int)n : -EAGAIN;
		int err = ring_enter(s->session, lane, ev + n, got, payloads);
		if (err)
			return err;
		n += got;
	}
	return (int)n;
}

/* True if a ring at rest holds words that its lane had no room for: the next poll fetches them. */
static bool has_rest(const struct ring_lane *lane)
{
	const struct ring_file *f = lane->file;
	return !f->live && !f->finished && ring_file_has_news(f, lane->domain);
}

static uint64_t ring_horizon(struct source *base, uint32_t index)
{
	const struct ring_source *s = of(base);
	const struct ring_lane *lane =
		index && index != SOURCE_ASLEEP ? s->lanes.lane[index] : NULL;
	bool waits = lane && has_rest(lane) && lane->last_ns < s->safe_ns;
	return waits ? lane->last_ns : s->safe_ns;
}

static int ring_stop(struct source *base)
{
	struct ring_source *s = of(base);
	s->stopped = true;
	ring_live_end_all(&s->live);
	int err = ring_poll(base);
	s->safe_ns = UINT64_MAX; /* also of a ring that cannot be read any more */
	return err;
}

static void ring_free(struct source *base)
{
	struct ring_source *s = of(base);
	ring_lanes_done(&s->lanes);
	for (uint32_t i = 0; i < s->file_count; i++)
		ring_file_free(s->files[i]);
	ring_damages_done(&s->damages);
	ring_losses_done(&s->losses);
	ring_live_done(&s->live);
	free(s->files);
	free(s->open);
	free(s);
}

static const struct source_ops ring_ops = {
	.poll = ring_poll,
	.wakes = ring_wakes,
	.begins_again = ring_begins_again,
	.read = ring_read,
	.horizon = ring_horizon,
	.stop = ring_stop,
	.free = ring_free,
};

int ring_source_new(struct session *session, size_t buffer_bytes, struct ring_source **ret)
{
	struct ring_source *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->base.ops = &ring_ops;
	s->session = session;
	s->budget.left = buffer_bytes > LEAST_BYTES ? buffer_bytes : LEAST_BYTES;
	s->idle_share = IDLE_SHARE;
	s->idle_max_ns = IDLE_MAX_NS;
	s->budget.reserve = s->budget.left / 4;
	ring_lanes_init(&s->lanes);
	s->base.lanes = s->lanes.count;
	s->safe_ns = now_ns() - RING_SLACK_NS;
	*ret = s;
	return 0;
}

struct source *ring_source_base(struct ring_source *s)
{
	return &s->base;
}

struct ring_source *ring_source_of(struct source *base)
{
	return of(base);
}

/* Reports corrected fields of the header as damage, before all other events. */
static int report_repairs(struct ring_source *s, struct ring_file *f)
{
	const struct ring_layout *l = cursor_layout(f->cursor);
	for (uint32_t i = 0; i < l->repairs; i++) {
		struct ring_lane *lane;
		int err = lane_of(s, f, 0, &lane);
		if (!err)
			err = ring_lane_put_event(lane, cursor_repair_event(f->cursor, i));
		if (err && err != -ENOSPC)
			return err;
		ring_file_damage(f, l->repair[i].offset, NULL, &l->repair[i]);
	}
	return 0;
}

/* Reports a file that is not read as a loss of unknown size. */
static int refuse_file(struct ring_source *s, struct ebt_cursor *c, const struct ring_loss *loss)
{
	ebt_cursor_close(c);
	s->follows |= loss->since_ns != 0;
	add_loss(s, loss);
	return -ENOSPC;
}

/* Room for one more file in both lists. */
static bool has_room(struct ring_source *s)
{
	uint32_t files = s->file_cap, open = s->file_cap;
	if (!array_reserve(s->files, files, s->file_count) ||
	    !array_reserve(s->open, open, s->file_count))
		return false;
	s->file_cap = files;
	return true;
}

/* An exec leaves the file of the program before, but not its memory: files are not added up. */
static void measure(struct process *p, const struct ebt_cursor *c)
{
	uint64_t bytes = cursor_touched_bytes(c);
	if (bytes > p->usage.ring_bytes)
		p->usage.ring_bytes = bytes;
}

int ring_source_add(struct ring_source *s, struct ebt_cursor *c, const char *name, uint32_t process,
		    enum ring_use use)
{
	bool live = use & RING_LIVE;
	struct process *p = processes_announce(&s->session->processes, process);
	if (!has_room(s)) {
		ebt_cursor_close(c);
		return -ENOMEM;
	}
	uint64_t now = now_ns();
	struct ring_loss loss = {.process = process,
				 .since_ns = live ? now - RING_SLACK_NS : 0,
				 .ts = live ? now : 0,
				 .events = EBT_LOST_UNCOUNTED};
	size_t bytes = ring_file_bytes(c);
	if (!ring_budget_reserve(&s->budget, bytes)) {
		report_full(s, name);
		return refuse_file(s, c, &loss);
	}
	struct ring_file *f;
	/* Its first events may be as old as the slack; no younger event was returned yet. */
	int err = ring_file_new(c, name, process, live, now_ns() - RING_SLACK_NS, &f);
	if (!err && live && ring_live_add(&s->live, f)) {
		ring_file_free(f);
		err = -ENOMEM;
	}
	if (err)
		return err;
	if (s->knows_threads)
		ring_file_know_threads(f, (pid_t)p->pid);
	f->bytes = bytes;
	f->clock_ahead_ns = p->clock_ahead_ns;
	f->in_run = use & RING_IN_RUN;
	if (use == RING_IN_RUN)
		measure(p, f->cursor);
	s->follows |= live;
	s->stirred = true;
	ring_file_describe(f, p);
	f->number = s->added++;
	f->place = s->file_count;
	processes_ref(&s->session->processes, process);
	s->files[s->file_count++] = f;
	s->open[s->open_count++] = f;
	return report_repairs(s, f);
}

void ring_source_missed(struct ring_source *s, uint32_t process, uint64_t since_ns, uint64_t ts)
{
	struct ring_loss loss = {
		.process = process, .since_ns = since_ns, .ts = ts, .events = EBT_LOST_UNCOUNTED};
	add_loss(s, &loss);
}

uint32_t ring_source_open_files(const struct ring_source *s)
{
	return s->open_count;
}

void ring_source_scanned(struct ring_source *s, uint64_t scanned_ns)
{
	s->scanned_ns = scanned_ns;
}

void ring_source_measure(struct ring_source *s, uint32_t process)
{
	struct process *p = processes_at(&s->session->processes, process);
	for (const struct ring_file *f = ring_live_first(&s->live, process); f; f = f->next_live)
		measure(p, f->cursor);
}

void ring_source_finish(struct ring_source *s, uint32_t process)
{
	ring_source_measure(s, process);
	ring_live_end(&s->live, process);
	s->stirred = true;
}

void ring_source_be_frugal(struct ring_source *s)
{
	s->idle_share = RING_FRUGAL_SHARE;
	s->idle_max_ns = RING_FRUGAL_NS;
}

void ring_source_pace(struct ring_source *s, struct ring_pace *ret)
{
	ret->lap_ns = s->fill.rate > 1e-18 ? (uint64_t)(1 / s->fill.rate) : UINT64_MAX;
	ret->fill = s->fill.fill;
	uint64_t rest_ns = s->open_count && !s->leaves ? s->idle_ns / 2 : RING_FRUGAL_REST_NS;
	ret->rest_ns = s->leaves || s->idle_max_ns > IDLE_MAX_NS ? rest_ns : 0;
	s->fill = (struct ring_fill){.words = s->fill.words};
}

void ring_source_leave(struct ring_source *s, bool leave)
{
	s->leaves = leave;
}

uint64_t ring_source_written(const struct ring_source *s)
{
	return s->fill.words;
}

bool ring_source_damage(const struct ring_source *s, uint32_t *at, struct ring_damage *ret)
{
	struct file_damage best = {0};
	ring_damages_pick_kept(&s->damages, &best, *at);
	for (uint32_t i = 0; i < s->file_count; i++)
		ring_damages_pick(&best, *at, s->files[i]->number, &s->files[i]->damage);
	if (!best.damage.count)
		return false;
	*at = best.number + 1;
	*ret = best.damage;
	return true;
}

void ring_source_know_threads(struct ring_source *s)
{
	s->knows_threads = true;
}

void ring_source_ringless_seen(struct ring_source *s)
{
	s->ringless_seen = true;
}
