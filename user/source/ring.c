/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "proc/process.h"
#include "source/ring_lane.h"

/* A writer that stays inside one event for so long is stopped, not slow. */
#define MAX_HOLD_NS 1000000000ull
/* Stores of the writer may become visible this much after a clock read that follows them. */
#define STORE_SLACK_NS 20000ull

/* Losses of lane 0 that may wait; what comes then is told with the next. */
#define RINGLESS_MAX 64

struct ring_watch {
	uint64_t tail;	  /* at the last look */
	uint64_t look_ns; /* time of the last look */
	uint64_t safe_ns; /* nothing older will be written */
	uint32_t lane;	  /* + 1; 0: none yet */
};

struct ring_file {
	struct ebt_cursor *cursor;
	char *name;
	struct ring_damage damage; /* count 0: none yet */
	uint32_t pid;
	bool live, counted, finished, last_look;
	struct ring_watch *rings;	   /* max_domains */
	uint64_t ringless, ringless_ns;	   /* told so far, and when */
	uint8_t named[EBT_RING_NAMES / 8]; /* user events whose name the session has */
};

struct ring_source {
	struct source base;
	struct session *session;
	ptrdiff_t budget; /* words that the lanes may still take */
	struct ring_file **files;
	uint32_t file_count;
	struct ring_lane **lanes;
	uint32_t lane_cap;
	uint64_t safe_ns;
	double fill_rate, fill; /* of the ring that fills fastest: rings a ns, and at one look */
	bool stopped, follows;	/* follows: has had a live file, more may come */
	bool ringless_seen;
	struct ebt_event ringless[RINGLESS_MAX]; /* lane 0 */
	uint32_t ringless_count;
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
		*ret = s->lanes[w->lane - 1];
		return 0;
	}
	if (s->base.lanes >= s->lane_cap) {
		uint32_t cap = s->lane_cap ? 2 * s->lane_cap : 16;
		struct ring_lane **lanes = realloc(s->lanes, cap * sizeof(struct ring_lane *));
		if (!lanes)
			return -ENOMEM;
		s->lanes = lanes;
		s->lane_cap = cap;
	}
	int err = ring_lane_new(f->cursor, domain, &s->budget, ret);
	if (err)
		return err;
	(*ret)->file = f;
	s->lanes[s->base.lanes++] = *ret;
	w->lane = s->base.lanes;
	return 0;
}

/* Takes what a ring holds up to the look, as far as the lane has room. */
static int take_ring(struct ring_source *s, struct ring_file *f, uint32_t domain)
{
	struct ring_lane *lane;
	int err = lane_of(s, f, domain, &lane);
	if (err)
		return err;
	return ring_lane_take(lane, f->cursor, domain);
}

/*
 * What this look says about the age of what may still come from a ring. A writer found inside an
 * event at the last look, and since then has published, is past that event.
 */
static void watch_ring(struct ring_watch *w, const struct cursor_ring *r, uint64_t look_ns)
{
	if (!r->writing)
		w->safe_ns = look_ns;
	else if (r->tail != w->tail)
		w->safe_ns = w->look_ns;
	if (look_ns - w->safe_ns > MAX_HOLD_NS)
		w->safe_ns = look_ns - MAX_HOLD_NS;
	w->tail = r->tail;
	w->look_ns = look_ns;
}

/* How fast it filled since the last look. */
static void rate_ring(struct ring_source *s, const struct ring_watch *w,
		      const struct cursor_ring *r, uint64_t look_ns, uint64_t ring_words)
{
	if (!w->look_ns || look_ns <= w->look_ns || r->tail <= w->tail)
		return;
	double rings = (double)(r->tail - w->tail) / (double)ring_words;
	double rate = rings / (double)(look_ns - w->look_ns);
	if (rate > s->fill_rate)
		s->fill_rate = rate;
	if (rings > s->fill)
		s->fill = rings;
}

/* The first damage of a file is kept to be told. */
static void note_damage(struct ring_file *f, uint64_t offset, const char *expected,
			const struct ring_fault *fault)
{
	if (f->damage.count++)
		return;
	f->damage.name = f->name;
	f->damage.offset = offset;
	f->damage.expected = expected;
	if (fault)
		f->damage.fault = *fault;
}

/* The events of threads without a ring that were counted since the last look. */
static void tell_ringless(struct ring_source *s, struct ring_file *f, uint64_t look_ns)
{
	uint64_t n = f->counted && !s->ringless_seen ? cursor_ringless(f->cursor) : 0;
	if (n <= f->ringless || s->ringless_count == RINGLESS_MAX)
		return;
	s->ringless[s->ringless_count++] = (struct ebt_event){
		.kind = EBT_LOST,
		.ts = look_ns,
		.pos = f->ringless_ns, /* since */
		.pid = f->pid,
		.domain = EBT_NO_DOMAIN,
		.cpu = EBT_NO_CPU,
		.flags = EBT_F_RING,
		.arg = {n - f->ringless, 0},
	};
	f->ringless = n;
	f->ringless_ns = look_ns;
}

static int poll_file(struct ring_source *s, struct ring_file *f, uint64_t *safe_ns)
{
	uint64_t look_ns = now_ns();
	/* Of a file at rest one look is enough, and the end must not chase a writer. */
	int err = f->last_look ? 0 : cursor_look(f->cursor);
	f->last_look = !f->live;
	if (err) {
		/* Truncated, or gone bad: what was taken is delivered, the rest is not to be had. */
		note_damage(f, cursor_layout(f->cursor)->headers_offset,
			    "the headers of the rings, found the end of the file", NULL);
		f->finished = true;
		return 0;
	}
	uint64_t safe = look_ns;
	uint32_t domains = cursor_layout(f->cursor)->max_domains;
	for (uint32_t d = 0; d < domains; d++) {
		const struct cursor_ring *r = cursor_ring(f->cursor, d);
		rate_ring(s, &f->rings[d], r, look_ns, cursor_layout(f->cursor)->ring_words);
		watch_ring(&f->rings[d], r, look_ns);
		if (f->rings[d].safe_ns < safe)
			safe = f->rings[d].safe_ns;
		if (r->tail != r->pos || r->notice) {
			err = take_ring(s, f, d);
			if (err)
				return err;
		}
	}
	tell_ringless(s, f, look_ns);
	if (f->live && safe < *safe_ns)
		*safe_ns = safe;
	/* A file at rest has been taken once its lanes had room for all of it. */
	if (!f->live) {
		bool whole = true;
		for (uint32_t d = 0; d < domains; d++) {
			const struct cursor_ring *r = cursor_ring(f->cursor, d);
			whole &= r->tail == r->pos && !r->notice;
		}
		f->finished = whole;
	}
	return 0;
}

static int ring_poll(struct source *base)
{
	struct ring_source *s = of(base);
	uint64_t safe = UINT64_MAX;
	bool live = false;
	for (uint32_t i = 0; i < s->file_count; i++) {
		struct ring_file *f = s->files[i];
		if (f->finished)
			continue;
		live |= f->live;
		int err = poll_file(s, f, &safe);
		if (err)
			return err;
	}
	if (s->stopped)
		s->safe_ns = UINT64_MAX;
	else if (live)
		s->safe_ns = safe - STORE_SLACK_NS - RING_SLACK_NS;
	else
		s->safe_ns = s->file_count ? UINT64_MAX : now_ns() - RING_SLACK_NS;
	return 0;
}

/* The session learns the name of a user event when the first one is seen. */
static int learn_name(struct ring_source *s, struct ring_file *f, uint32_t id)
{
	if (id >= EBT_RING_NAMES || (f->named[id / 8] & 1 << id % 8))
		return 0;
	const char *name = ebt_cursor_user_name(f->cursor, id);
	if (!name)
		return 0;
	f->named[id / 8] |= (uint8_t)(1 << id % 8);
	return session_set_user_name(s->session, f->pid, id, name);
}

static int finish_event(struct ring_source *s, struct ring_lane *lane, struct ebt_event *ev,
			const void *payload)
{
	/* Damage of the file's header, which belongs to no domain, was noted as it was found. */
	if (ev->kind == EBT_DAMAGE && ev->domain != EBT_NO_DOMAIN)
		note_damage(lane->file, ev->arg[0],
			    ev->arg[1] ? "a record" : "a head and a tail that fit", NULL);
	if (ev->kind >= EBT_UNIT && ev->kind <= EBT_CUSTOM) {
		int err = learn_name(s, lane->file, ev->id);
		if (err)
			return err;
	}
	if (ev->flags & EBT_F_PAYLOAD)
		return session_put_blob(s->session, ev, payload, ev->arg[1]);
	return 0;
}

static bool may_bring_more(const struct ring_source *s)
{
	if (!s->stopped && (s->follows || !s->file_count))
		return true;
	for (uint32_t i = 0; i < s->file_count; i++)
		if (!s->files[i]->finished)
			return true;
	return false;
}

static int read_ringless(struct ring_source *s, struct ebt_event *ev, size_t cap)
{
	uint32_t n = 0;
	while (n < s->ringless_count && n < cap && s->ringless[n].ts <= s->safe_ns) {
		ev[n] = s->ringless[n];
		n++;
	}
	s->ringless_count -= n;
	memmove(s->ringless, s->ringless + n, s->ringless_count * sizeof(*s->ringless));
	if (n)
		return (int)n;
	return s->ringless_count || may_bring_more(s) ? -EAGAIN : 0;
}

static int ring_read(struct source *base, uint32_t index, struct ebt_event *ev, size_t cap)
{
	struct ring_source *s = of(base);
	if (!index)
		return read_ringless(s, ev, cap);
	struct ring_lane *lane = s->lanes[index];
	size_t n = 0;
	while (n < cap) {
		const void *payload;
		const struct ebt_event *next = ring_lane_peek(lane, lane->file->finished, &payload);
		if (!next && !n && lane->file->finished) {
			ring_lane_empty(lane);
			return 0;
		}
		if (!next)
			return n ? (int)n : -EAGAIN;
		if (next->ts > s->safe_ns)
			return n ? (int)n : -EAGAIN;
		ev[n] = *next;
		int err = finish_event(s, lane, &ev[n], payload);
		if (err)
			return err;
		lane->last_ns = ev[n].ts;
		ring_lane_next(lane);
		n++;
	}
	return (int)n;
}

/* True if a ring at rest holds more than its lane has had room for: that comes with the next poll. */
static bool has_rest(const struct ring_lane *lane)
{
	const struct ring_file *f = lane->file;
	if (f->live || f->finished)
		return false;
	const struct cursor_ring *r = cursor_ring(f->cursor, lane->domain);
	return r->tail != r->pos || r->notice;
}

static uint64_t ring_horizon(struct source *base, uint32_t index)
{
	const struct ring_source *s = of(base);
	const struct ring_lane *lane = index ? s->lanes[index] : NULL;
	bool waits = lane && has_rest(lane) && lane->last_ns < s->safe_ns;
	return waits ? lane->last_ns : s->safe_ns;
}

static int ring_stop(struct source *base)
{
	struct ring_source *s = of(base);
	s->stopped = true;
	for (uint32_t i = 0; i < s->file_count; i++)
		s->files[i]->live = false;
	int err = ring_poll(base);
	s->safe_ns = UINT64_MAX; /* also of a ring that cannot be read any more */
	return err;
}

static void file_free(struct ring_file *f)
{
	if (!f)
		return;
	ebt_cursor_close(f->cursor);
	free(f->name);
	free(f->rings);
	free(f);
}

static void ring_free(struct source *base)
{
	struct ring_source *s = of(base);
	for (uint32_t i = 1; i < s->base.lanes; i++)
		ring_lane_free(s->lanes[i]);
	for (uint32_t i = 0; i < s->file_count; i++)
		file_free(s->files[i]);
	free(s->lanes);
	free(s->files);
	free(s);
}

static const struct source_ops ring_ops = {
	.poll = ring_poll,
	.read = ring_read,
	.horizon = ring_horizon,
	.stop = ring_stop,
	.free = ring_free,
};

int ring_source_new(struct session *session, size_t backlog_bytes, struct ring_source **ret)
{
	struct ring_source *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->base.ops = &ring_ops;
	s->session = session;
	s->budget = (ptrdiff_t)(backlog_bytes / 8);
	s->base.lanes = 1;
	s->safe_ns = now_ns() - RING_SLACK_NS;
	*ret = s;
	return 0;
}

struct source *ring_source_base(struct ring_source *s)
{
	return &s->base;
}

static void describe_process(const struct ring_file *f, struct session_process *p)
{
	struct ebt_cursor_info info;
	ebt_cursor_info(f->cursor, &info);
	memcpy(p->producer, info.producer, sizeof(p->producer));
	memcpy(p->runtime, info.runtime, sizeof(p->runtime));
	p->raw_phase = ring_raw_phases(info.release, &p->raw_phases);
	if (!f->live) /* the pid may be somebody else's by now */
		return;
	struct process now;
	process_look((pid_t)f->pid, &now);
	if (*now.comm)
		memcpy(p->comm, now.comm, sizeof(p->comm));
}

/* Fields of the header that were put right are told as damage before all else. */
static int tell_repairs(struct ring_source *s, struct ring_file *f)
{
	const struct ring_layout *l = cursor_layout(f->cursor);
	for (uint32_t i = 0; i < l->repairs; i++) {
		struct ring_lane *lane;
		int err = lane_of(s, f, 0, &lane);
		if (!err)
			err = ring_lane_tell(lane, cursor_repair_event(f->cursor, i));
		if (err)
			return err;
		note_damage(f, l->repair[i].offset, NULL, &l->repair[i]);
	}
	return 0;
}

int ring_source_add(struct ring_source *s, struct ebt_cursor *c, const char *name, uint32_t pid,
		    bool live)
{
	struct ring_file *f = calloc(1, sizeof(*f));
	if (!f) {
		ebt_cursor_close(c);
		return -ENOMEM;
	}
	f->cursor = c;
	f->pid = pid;
	f->live = live;
	s->follows |= live;
	f->counted = cursor_ext(c) != NULL;
	cursor_set_pid(c, pid);
	f->name = strdup(name);
	f->rings = calloc(cursor_layout(c)->max_domains, sizeof(*f->rings));
	struct ring_file **files =
		realloc(s->files, (s->file_count + 1) * sizeof(struct ring_file *));
	if (files)
		s->files = files;
	struct session_process *p = session_process(s->session, pid);
	if (!f->name || !f->rings || !files || !p) {
		file_free(f);
		return -ENOMEM;
	}
	/* Its first events may be as old as the slack; nothing younger has been handed out yet. */
	uint64_t began = now_ns() - RING_SLACK_NS;
	for (uint32_t d = 0; d < cursor_layout(c)->max_domains; d++)
		f->rings[d].safe_ns = f->rings[d].look_ns = began;
	describe_process(f, p);
	s->files[s->file_count++] = f;
	return tell_repairs(s, f);
}

void ring_source_finish(struct ring_source *s, uint32_t pid)
{
	for (uint32_t i = 0; i < s->file_count; i++)
		if (s->files[i]->pid == pid)
			s->files[i]->live = false;
}

void ring_source_pace(struct ring_source *s, struct ring_pace *ret)
{
	ret->lap_ns = s->fill_rate > 1e-18 ? (uint64_t)(1 / s->fill_rate) : UINT64_MAX;
	ret->fill = s->fill;
	s->fill_rate = s->fill = 0;
}

bool ring_source_damage(const struct ring_source *s, uint32_t *at, struct ring_damage *ret)
{
	while (*at < s->file_count) {
		const struct ring_file *f = s->files[(*at)++];
		if (!f->damage.count)
			continue;
		*ret = f->damage;
		return true;
	}
	return false;
}

void ring_source_ringless_seen(struct ring_source *s)
{
	s->ringless_seen = true;
}
