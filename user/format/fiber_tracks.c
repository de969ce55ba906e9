/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/fiber_tracks.h"

#include "base/plural.h"
#include "base/ptrarray.h"
#include "base/utf8.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS ((FIBER_TRACKS + 63) / 64)

/* The tracks of one domain. */
struct domain_tracks {
	uint64_t used[WORDS]; /* a bit each */
	struct fiber_track *track[FIBER_TRACKS];
};

struct fiber_tracks {
	const struct session *session;
	const struct fiber_tracks_visitor *visitor;
	void *ctx;
	struct fibers *fibers;
	PTRARRAY(struct domain_tracks) domains; /* by lane */
	struct fiber_track hidden; /* in place of the track of fibers for which there is none */
	uint64_t hidden_count;	   /* of those that have ended */
};

static void free_domain(struct domain_tracks *d)
{
	for (unsigned i = 0; d && i < FIBER_TRACKS; i++)
		free(d->track[i]);
	free(d);
}

void fiber_tracks_free(struct fiber_tracks *t)
{
	if (!t)
		return;
	fibers_free(t->fibers);
	size_t at = 0;
	for (struct domain_tracks *d; (d = ptrarray_next(&t->domains, &at));)
		free_domain(d);
	ptrarray_done(&t->domains);
	free(t);
}

/* The lowest track of the domain that no fiber has; *ret NULL: all are used. 0 or -ENOMEM. */
static int use_track(struct fiber_tracks *t, const struct fiber *f, struct fiber_track **ret)
{
	bool is_new;
	struct domain_tracks *d = ptrarray_make(&t->domains, f->lane, &is_new);
	unsigned word = 0;
	*ret = NULL;
	if (!d)
		return -ENOMEM;
	while (word < WORDS && d->used[word] == UINT64_MAX)
		word++;
	unsigned number =
		word < WORDS ? word * 64 + (unsigned)__builtin_ctzll(~d->used[word]) : FIBER_TRACKS;
	if (number >= FIBER_TRACKS)
		return 0;
	struct fiber_track *track = d->track[number];
	if (!track) {
		track = calloc(1, sizeof(*track));
		if (!track)
			return -ENOMEM;
		*track = (struct fiber_track){.process = f->process,
					      .lane = f->lane,
					      .domain = f->domain,
					      .number = (uint16_t)number};
		d->track[number] = track;
	}
	d->used[word] |= 1ull << number % 64;
	*ret = track;
	return 0;
}

/* NULL: it has none. */
static struct fiber_track *track_of(const struct fiber_tracks *t, const struct fiber *f)
{
	return f->user == &t->hidden ? NULL : f->user;
}

static uint64_t moment(struct fiber_track *track, uint64_t ns)
{
	if (ns > track->last_ns)
		track->last_ns = ns;
	return track->last_ns;
}

static const char *fiber_name(const struct fiber_tracks *t, const struct fiber *f, uint32_t name,
			      char scratch[FIBER_NAME_BYTES])
{
	if (name)
		return fibers_text(t->fibers, name);
	snprintf(scratch, FIBER_NAME_BYTES, "fiber %" PRId64, f->id);
	return scratch;
}

static struct fiber_slice slice_of_fiber(const struct fiber_tracks *t, const struct fiber *f,
					 uint32_t name, char scratch[FIBER_NAME_BYTES])
{
	return (struct fiber_slice){.kind = FIBER_SLICE_FIBER,
				    .name = fiber_name(t, f, name, scratch),
				    .id = f->id,
				    .has_context = f->created,
				    .context = f->context};
}

static struct fiber_slice slice_of_part(const struct fiber_tracks *t, const struct fiber_part *p,
					char scratch[FIBER_NAME_BYTES])
{
	struct fiber_slice s = {.kind = FIBER_SLICE_SPAN,
				.name = p->name ? fibers_text(t->fibers, p->name) : "span"};
	if (!p->is_context)
		return s;
	s.kind = FIBER_SLICE_CONTEXT;
	s.id = p->id;
	s.type = eio_type_name(p->type);
	if (!p->name) {
		snprintf(scratch, FIBER_NAME_BYTES, "%s %" PRId64, s.type ? s.type : "context",
			 p->id);
		s.name = scratch;
	}
	return s;
}

static int begin_part(struct fiber_tracks *t, struct fiber_track *track, const struct fiber_part *p,
		      uint64_t ns)
{
	char scratch[FIBER_NAME_BYTES];
	struct fiber_slice s = slice_of_part(t, p, scratch);
	s.begin_ns = moment(track, ns);
	return t->visitor->begin(t->ctx, track, &s);
}

/* Those that are open already, the outermost first: there are at most FIBERS_DEPTH. */
static int begin_parts(struct fiber_tracks *t, struct fiber_track *track,
		       const struct fiber_part *p, uint64_t ns)
{
	if (!p)
		return 0;
	int err = begin_parts(t, track, p->outer, ns);
	return err ? err : begin_part(t, track, p, ns);
}

/* Shows a fiber from ns on, if there is a track for it. */
static int show(struct fiber_tracks *t, struct fiber *f, uint64_t ns)
{
	struct fiber_track *track;
	char scratch[FIBER_NAME_BYTES];
	int err = use_track(t, f, &track);
	f->user = track ? track : &t->hidden;
	if (err || !track)
		return err;
	track->fiber = f->name;
	fibers_hold_text(t->fibers, track->fiber);
	struct fiber_slice s = slice_of_fiber(t, f, track->fiber, scratch);
	s.begin_ns = moment(track, ns);
	err = t->visitor->begin(t->ctx, track, &s);
	return err ? err : begin_parts(t, track, f->inner, ns);
}

static int on_open(void *ctx, struct fiber *f, const struct fiber_part *p)
{
	struct fiber_track *track = track_of(ctx, f);
	return track ? begin_part(ctx, track, p, p->begin_ns) : 0;
}

static int on_close(void *ctx, struct fiber *f, const struct fiber_part *p, uint64_t end_ns,
		    enum track_end how)
{
	struct fiber_tracks *t = ctx;
	struct fiber_track *track = track_of(t, f);
	char scratch[FIBER_NAME_BYTES];
	if (!track)
		return 0;
	struct fiber_slice s = slice_of_part(t, p, scratch);
	s.begin_ns = p->begin_ns;
	s.end_ns = moment(track, end_ns);
	s.how = how;
	return t->visitor->end(t->ctx, track, &s);
}

/* A fiber that never runs is not shown. */
static int on_spent(void *ctx, struct fiber *f, const struct fiber_interval *i)
{
	static const enum fiber_slice_kind kinds[] = {
		[FIBER_READY] = FIBER_SLICE_READY,
		[FIBER_RUNNING] = FIBER_SLICE_RUNNING,
		[FIBER_SUSPENDED] = FIBER_SLICE_SUSPENDED,
	};
	static const char *const names[] = {
		[FIBER_READY] = "ready",
		[FIBER_RUNNING] = "running",
		[FIBER_SUSPENDED] = "suspended",
	};
	struct fiber_tracks *t = ctx;
	struct fiber_track *track = track_of(t, f);
	int err = track || i->state != FIBER_RUNNING ? 0 : show(t, f, i->begin_ns);
	track = track_of(t, f);
	if (err || !track)
		return err;
	char name[FIBER_NAME_BYTES];
	struct fiber_slice s = {.kind = kinds[i->state],
				.name = names[i->state],
				.id = f->id,
				.operation = fibers_text(t->fibers, i->operation),
				.begin_ns = moment(track, i->begin_ns),
				.end_ns = moment(track, i->end_ns),
				.how = i->how,
				.arrow = i->arrow};
	if (s.operation) {
		snprintf(name, sizeof(name), "suspended: %s", s.operation);
		s.name = name;
	}
	return t->visitor->whole(t->ctx, track, &s);
}

static void release_track(struct fiber_tracks *t, struct fiber *f)
{
	struct fiber_track *track = track_of(t, f);
	struct domain_tracks *d = ptrarray_get(&t->domains, f->lane);
	if (!track)
		return;
	d->used[track->number / 64] &= ~(1ull << track->number % 64);
	fibers_drop_text(t->fibers, track->fiber);
	track->fiber = 0;
	f->user = NULL;
}

static int on_end(void *ctx, struct fiber *f, uint64_t end_ns, enum track_end how)
{
	struct fiber_tracks *t = ctx;
	struct fiber_track *track = track_of(t, f);
	char scratch[FIBER_NAME_BYTES];
	if (!track) {
		t->hidden_count += f->user != NULL;
		return 0;
	}
	struct fiber_slice s = slice_of_fiber(t, f, track->fiber, scratch);
	s.begin_ns = f->begin_ns;
	s.end_ns = moment(track, end_ns);
	s.how = how;
	int err = t->visitor->end(t->ctx, track, &s);
	release_track(t, f);
	return err;
}

/* The track of a fiber that runs, which may do so for the first time. *ret NULL: none. */
static int running_track(struct fiber_tracks *t, struct fiber *f, struct fiber_track **ret)
{
	int err = f && !track_of(t, f) ? show(t, f, f->since_ns) : 0;
	*ret = f ? track_of(t, f) : NULL;
	return err;
}

static int on_note(void *ctx, struct fiber *by, const struct ebt_event *ev,
		   const struct eio_record *r)
{
	struct fiber_tracks *t = ctx;
	struct fiber_track *track;
	char text[FIBERS_TEXT_BYTES + 1];
	bool is_cut;
	int err = running_track(t, by, &track);
	if (err || !track)
		return err;
	size_t len = utf8_copy(text, FIBERS_TEXT_BYTES, r->text, r->text_bytes, &is_cut);
	text[len] = 0;
	return t->visitor->note(t->ctx, track, ev, *text ? text : eio_event_name(r->event));
}

static int on_put(void *ctx, struct fiber *by, const struct ebt_event *ev, uint64_t arrow,
		  unsigned count)
{
	struct fiber_tracks *t = ctx;
	struct fiber_track *track;
	int err = running_track(t, by, &track);
	if (err)
		return err;
	return track ? t->visitor->put(t->ctx, track, ev, arrow, count) : 1;
}

static void on_forget(void *ctx, struct fiber *f)
{
	release_track(ctx, f);
}

static const struct fibers_visitor visitor = {
	.open = on_open,
	.close = on_close,
	.spent = on_spent,
	.end = on_end,
	.note = on_note,
	.put = on_put,
	.forget = on_forget,
};

int fiber_tracks_new(const struct session *s, const struct fiber_tracks_visitor *v, void *ctx,
		     struct fiber_tracks **ret)
{
	struct fiber_tracks *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->session = s;
	t->visitor = v;
	t->ctx = ctx;
	if (fibers_new(s, &visitor, t, &t->fibers)) {
		free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

int fiber_tracks_event(struct fiber_tracks *t, const struct ebt_event *ev)
{
	return fibers_push(t->fibers, ev);
}

int fiber_tracks_forget(struct fiber_tracks *t, uint32_t process, uint64_t end_ns)
{
	const struct processes *ps = &t->session->processes;
	int err = fibers_forget(t->fibers, process, end_ns);
	for (uint32_t l = processes_first_lane(ps, process); l; l = processes_next_lane(ps, l))
		free_domain(ptrarray_remove(&t->domains, l));
	return err;
}

int fiber_tracks_end(struct fiber_tracks *t, uint64_t end_ns)
{
	int err = fibers_end(t->fibers, end_ns);
	struct fibers_limits over = fibers_over_limits(t->fibers);
	if (t->hidden_count)
		messages_at(&t->session->messages, LOG_NORMAL,
			    "%" PRIu64 " fiber%s not shown: a domain has %u tracks of fibers",
			    t->hidden_count, plural_of(t->hidden_count, " is", "s are"),
			    FIBER_TRACKS);
	if (over.fibers)
		messages_at(&t->session->messages, LOG_NORMAL,
			    "fibers were not followed %" PRIu64 " time%s: at most %u are at a time",
			    over.fibers, plural(over.fibers), FIBERS_OPEN);
	if (over.parts)
		messages_at(&t->session->messages, LOG_NORMAL,
			    "%" PRIu64 " context%s or span%s of fibers not followed: there are "
			    "too many at a time",
			    over.parts, plural(over.parts), plural_of(over.parts, " is", "s are"));
	return err;
}
