/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/model/spans.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ptrmap.h"
#include "session/event_args.h"
#include "session/names.h"
#include "stream/fibers.h"
#include "stream/tracks.h"

#define NO_NAME "(no name)"

enum {
#define EBT_LIFECYCLE_ID(number, name, help) LIFECYCLE_##name = number,
#include <ebtrace/events.def>
};

/* A span that has not ended. */
struct open_span {
	uint64_t begin_ns;
	uint32_t id;
	uint32_t name;	/* its number */
	uint32_t fiber; /* that ran when it began; 0: none */
};

/* A domain, or a thread outside of any. */
struct lane {
	uint32_t process;
	bool is_lost, has_fibers;
	struct fiber *runs; /* the last one that ran, if it has not ended */
	struct open_span *open;
	uint32_t count, room;
};

struct profile_spans {
	const struct session *session;
	struct tracks *tracks;
	struct fibers *fibers; /* NULL: there was no event of a library of fibers */
	PTRMAP(struct lane) lanes;
	struct strings *texts;
	uint32_t *text; /* of a name, by its number */
	uint32_t names, room;
	struct map number_of; /* text → number */
};

static uint64_t key_of(uint32_t process, uint16_t domain, uint32_t tid)
{
	return (uint64_t)process << 32 | (domain == EBT_NO_DOMAIN ? tid : domain | 1u << 31);
}

/* NULL: no memory. */
static struct lane *make_lane(struct profile_spans *p, uint32_t process, uint16_t domain,
			      uint32_t tid)
{
	bool is_new;
	struct lane *l = ptrmap_make(&p->lanes, key_of(process, domain, tid), &is_new);
	if (l)
		l->process = process;
	return l;
}

/* ---- names ---- */

/* The number of a name; UINT32_MAX: no memory. */
static uint32_t number_of(struct profile_spans *p, const char *name)
{
	uint32_t text = strings_put(p->texts, name, strlen(name));
	uint64_t *number = text ? map_put(&p->number_of, text) : NULL;
	if (!number)
		return UINT32_MAX;
	if (!*number) {
		bool is_full = p->names >= PROFILE_SPANS;
		if (!is_full && !array_reserve(p->text, p->room, p->names))
			return UINT32_MAX;
		if (is_full) {
			map_delete(&p->number_of, text);
			strings_drop(p->texts, text);
			return PROFILE_SPAN_OTHERS;
		}
		p->text[p->names++] = text;
		*number = PROFILE_SPAN_OTHERS + p->names;
		return (uint32_t)*number;
	}
	strings_drop(p->texts, text); /* the first one stays */
	return (uint32_t)*number;
}

const char *profile_spans_name(const struct profile_spans *p, uint32_t number)
{
	static const char *const fixed[] = {
		[PROFILE_SPAN_NONE] = "no span",
		[PROFILE_SPAN_UNKNOWN] = "span not known",
		[PROFILE_SPAN_SCHEDULER] = "no fiber",
		[PROFILE_SPAN_OTHERS] = "other spans",
	};
	return number <= PROFILE_SPAN_OTHERS
		       ? fixed[number]
		       : strings_text(p->texts, p->text[number - PROFILE_SPAN_OTHERS - 1]);
}

/* ---- spans of threads ---- */

static const struct fiber *fiber_of(const struct lane *l)
{
	return l->runs && l->runs->state == FIBER_RUNNING ? l->runs : NULL;
}

static int on_begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
		    const struct ebt_event *ev)
{
	struct profile_spans *p = ctx;
	char scratch[NAMES_MADE_BYTES];
	(void)depth;
	if (t->span == TRACK_PHASES || marker_id_slot(ev->id) ||
	    event_args_may_mean(p->session, ev))
		return 0;
	struct lane *l = make_lane(p, ev->process, ev->domain, ev->tid);
	uint32_t name = number_of(p, names_label(p->session, ev, scratch));
	if (!l || name == UINT32_MAX || !array_reserve(l->open, l->room, l->count))
		return -ENOMEM;
	const struct fiber *runs = fiber_of(l);
	l->is_lost = false;
	l->open[l->count++] = (struct open_span){.begin_ns = s->begin_ns,
						 .id = s->id,
						 .name = name,
						 .fiber = runs ? runs->number : 0};
	s->user = key_of(ev->process, ev->domain, ev->tid) + 1;
	return 0;
}

static int on_end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
		  uint64_t end_ns, enum track_end how)
{
	struct profile_spans *p = ctx;
	struct lane *l = s->user ? ptrmap_get(&p->lanes, s->user - 1) : NULL;
	uint32_t at = l ? l->count : 0;
	(void)t, (void)depth, (void)end_ns;
	while (at && (l->open[at - 1].id != s->id || l->open[at - 1].begin_ns != s->begin_ns))
		at--;
	if (!at)
		return 0;
	memmove(l->open + at - 1, l->open + at, (l->count - at) * sizeof(*l->open));
	l->count--;
	l->is_lost = how == TRACK_LOST;
	return 0;
}

static void on_orphan(void *ctx, struct track *t, const struct ebt_event *ev)
{
	struct profile_spans *p = ctx;
	struct lane *l = ptrmap_get(&p->lanes, key_of(ev->process, ev->domain, ev->tid));
	if (t->span != TRACK_PHASES && l)
		l->is_lost = false;
}

static const struct tracks_visitor visitor = {
	.begin = on_begin, .end = on_end, .orphan = on_orphan};

/* ---- fibers ---- */

static int on_run(void *ctx, struct fiber *f)
{
	struct lane *l = make_lane(ctx, f->process, f->domain, 0);
	if (!l)
		return -ENOMEM;
	l->runs = f;
	l->has_fibers = true;
	l->is_lost = false;
	return 0;
}

static int on_fiber_end(void *ctx, struct fiber *f, uint64_t end_ns, enum track_end how)
{
	struct profile_spans *p = ctx;
	struct lane *l = ptrmap_get(&p->lanes, key_of(f->process, f->domain, 0));
	(void)end_ns;
	if (!l || l->runs != f)
		return 0;
	l->runs = NULL;
	l->is_lost = how == TRACK_LOST;
	return 0;
}

static const struct fibers_visitor fibers_visitor = {.run = on_run, .end = on_fiber_end};

/* The innermost span of a fiber; NULL: it is in none that has a name. */
static const struct fiber_part *span_of(const struct fiber *f)
{
	const struct fiber_part *part = f->inner;
	while (part && (part->is_context || !part->name))
		part = part->outer;
	return part;
}

static uint32_t name_of(const struct fiber *f)
{
	uint32_t name = 0;
	for (const struct fiber_part *part = f->inner; part; part = part->outer)
		if (part->is_context && part->name)
			name = part->name;
	return name ? name : f->name ? f->name : f->group;
}

/* ---- all of it ---- */

int profile_spans_new(const struct session *s, struct profile_spans **ret)
{
	struct profile_spans *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->session = s;
	int err = strings_new(&p->texts);
	if (!err)
		err = tracks_new(&s->processes, &visitor, p, &p->tracks);
	if (err) {
		profile_spans_free(p);
		return err;
	}
	*ret = p;
	return 0;
}

static void free_lane(struct lane *l)
{
	free(l->open);
	free(l);
}

void profile_spans_free(struct profile_spans *p)
{
	size_t at = 0;
	if (!p)
		return;
	fibers_free(p->fibers);
	tracks_free(p->tracks);
	for (struct lane *l; (l = ptrmap_next(&p->lanes, &at));)
		free_lane(l);
	ptrmap_done(&p->lanes);
	map_done(&p->number_of);
	strings_free(p->texts);
	free(p->text);
	free(p);
}

/* Events of rings may be among the lost ones, in these lanes. */
static void lose(struct profile_spans *p, const struct ebt_event *ev)
{
	size_t at = 0;
	if (ev->domain != EBT_NO_DOMAIN) {
		struct lane *l = ptrmap_get(&p->lanes, key_of(ev->process, ev->domain, 0));
		if (l)
			l->is_lost = true;
		return;
	}
	for (struct lane *l; EBT_LOST_ANYWHERE(ev) && (l = ptrmap_next(&p->lanes, &at));)
		l->is_lost |= !ev->process || l->process == ev->process;
}

/* A thread begins or ends where a domain was: what another one has begun there is over. */
static void end_lane(struct profile_spans *p, const struct ebt_event *ev)
{
	bool is_other = ev->id == LIFECYCLE_domain_spawn || ev->id == LIFECYCLE_domain_terminate;
	struct lane *l =
		is_other ? ptrmap_get(&p->lanes, key_of(ev->process, ev->domain, ev->tid)) : NULL;
	if (l)
		l->count = 0;
}

int profile_spans_event(struct profile_spans *p, const struct ebt_event *ev)
{
	bool means = event_args_may_mean(p->session, ev);
	int err = means || ev->kind == EBT_BEGIN || ev->kind == EBT_END
			  ? 0
			  : tracks_push(p->tracks, ev);
	if (ev->kind == EBT_LOST)
		lose(p, ev);
	else if (ev->kind == EBT_LIFECYCLE)
		end_lane(p, ev);
	if (!err && means && !p->fibers)
		err = fibers_new(p->session, &fibers_visitor, p, &p->fibers);
	return err || !p->fibers ? err : fibers_push(p->fibers, ev);
}

int profile_spans_forget(struct profile_spans *p, uint32_t process, uint64_t end_ns)
{
	int err = p->fibers ? fibers_forget(p->fibers, process, end_ns) : 0;
	if (!err)
		err = tracks_forget(p->tracks, process, end_ns);
	size_t at = 0;
	for (struct map_slot *s; (s = map_next(&p->lanes.words, &at));) {
		if (s->key >> 32 != process)
			continue;
		free_lane(ptrmap_remove(&p->lanes, s->key));
		at = 0; /* Deleting moves others. */
	}
	return err;
}

/* The last span of those that began in this fiber, or without one; NULL: there is none. */
static const struct open_span *innermost(const struct lane *l, const struct fiber *f)
{
	for (uint32_t i = l->count; i-- > 0;)
		if (l->open[i].fiber == (f ? f->number : 0))
			return &l->open[i];
	return NULL;
}

/* What a lane has for a sample. */
struct found {
	uint32_t number;  /* if there is no text */
	const char *text; /* of a fiber, or of its span */
	const char *prefix;
	uint64_t since_ns; /* when the span began; 0: it is none */
};

static struct found find(const struct profile_spans *p, const struct lane *l)
{
	const struct fiber *f = fiber_of(l);
	const struct fiber_part *part = f ? span_of(f) : NULL;
	const struct open_span *span = innermost(l, f);
	if (l->is_lost)
		return (struct found){.number = PROFILE_SPAN_UNKNOWN, .since_ns = UINT64_MAX};
	if (span && (!part || span->begin_ns > part->begin_ns))
		return (struct found){.number = span->name, .since_ns = span->begin_ns};
	if (part)
		return (struct found){.text = fibers_text(p->fibers, part->name),
				      .prefix = "",
				      .since_ns = part->begin_ns};
	if (!f)
		return (struct found){.number = l->has_fibers ? PROFILE_SPAN_SCHEDULER
							      : PROFILE_SPAN_NONE};
	const char *name = fibers_text(p->fibers, name_of(f));
	return (struct found){.text = name && *name ? name : NO_NAME, .prefix = "fiber "};
}

int profile_spans_find(struct profile_spans *p, const struct ebt_event *sample, uint16_t domain,
		       uint32_t *ret)
{
	const struct lane *l = ptrmap_get(&p->lanes, key_of(sample->process, domain, sample->tid));
	const struct lane *own = /* Markers name no domain. */
		ptrmap_get(&p->lanes, key_of(sample->process, EBT_NO_DOMAIN, sample->tid));
	struct found is = l ? find(p, l) : (struct found){.number = PROFILE_SPAN_NONE};
	struct found marked = own && own != l ? find(p, own) : (struct found){0};
	char whole[FIBERS_TEXT_BYTES + 8];
	if (marked.number && marked.since_ns >= is.since_ns)
		is = marked;
	*ret = is.number;
	if (!is.text)
		return 0;
	snprintf(whole, sizeof(whole), "%s%s", is.prefix, is.text);
	*ret = number_of(p, whole);
	return *ret == UINT32_MAX ? -ENOMEM : 0;
}
