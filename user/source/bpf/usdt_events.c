// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/usdt_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "session/marker_values.h"

/* A slot is used again when this number of others are free: records of two CPUs may be closer in
 * time than the order in which they come. */
#define SETTLED 64

/* A call of a function that has begun a span. */
struct usdt_frame {
	uint64_t ip, frame, caller; /* as in struct ebt_usdt_record */
	uint32_t tid;
};

/* The open spans of one request with one argument, or in one thread. */
struct usdt_open {
	uint32_t slot; /* 0: they are those of a thread */
	uint32_t depth, room;
	uint32_t beyond;       /* above MARKER_LEVELS, not in `at` */
	bool was_left;	       /* a span of a thread was taken for one that will not end */
	bool nests;	       /* it did: one call site begins several spans that nest */
	struct usdt_frame *at; /* the outermost first */
};

/* Those of one request in one process. */
struct usdt_spans {
	PTRMAP(struct usdt_open) open; /* by the argument, or by the thread */
	uint32_t *spare;	       /* a queue of slots that were used: [first_spare, spares) */
	uint32_t first_spare, spares, room;
	uint32_t slots; /* the last one that was used */
	/* Ends were in the call that the begin was in, or in another one. Of functions that only
	 * pass the markers for their callers it is not known whether these have been left. */
	bool together, apart;
};

struct usdt_process {
	struct usdt_spans *spans; /* by request; those of later ones are added */
	unsigned requests;
};

int usdt_events_init(struct usdt_events *u, struct session *session,
		     const struct marker_requests *asked)
{
	*u = (struct usdt_events){.session = session};
	return asked ? marker_requests_copy(&u->names, asked) : 0;
}

static void free_open(struct usdt_open *o)
{
	free(o->at);
	free(o);
}

static void clear(struct usdt_process *p)
{
	for (unsigned i = 0; i < p->requests; i++) {
		size_t at = 0;
		for (struct usdt_open *o; (o = ptrmap_next(&p->spans[i].open, &at));)
			free_open(o);
		ptrmap_done(&p->spans[i].open);
		free(p->spans[i].spare);
	}
	free(p->spans);
	*p = (struct usdt_process){0};
}

static void clear_all(struct usdt_events *u)
{
	size_t at = 0;
	for (struct usdt_process *p; (p = ptrmap_next(&u->processes, &at));)
		clear(p);
}

void usdt_events_done(struct usdt_events *u)
{
	clear_all(u);
	ptrmap_free(&u->processes);
	marker_requests_done(&u->names);
}

void usdt_events_end(struct usdt_events *u, uint32_t process)
{
	struct usdt_process *p = ptrmap_remove(&u->processes, process);
	if (p)
		clear(p);
	free(p);
}

/* NULL: no memory. */
static struct usdt_spans *spans_of(struct usdt_events *u, uint32_t process, uint32_t request)
{
	bool is_new;
	struct usdt_process *p = ptrmap_make(&u->processes, process, &is_new);
	return p && array_room(p->spans, p->requests, request) ? &p->spans[request] : NULL;
}

/* 0: all are used. */
static uint32_t take_slot(struct usdt_spans *s)
{
	uint32_t spares = s->spares - s->first_spare;
	if (spares <= SETTLED && s->slots + 1 < MARKER_SLOTS)
		return ++s->slots;
	if (!spares)
		return 0;
	uint32_t slot = s->spare[s->first_spare++];
	if (s->first_spare >= SETTLED + spares) {
		memmove(s->spare, s->spare + s->first_spare, (spares - 1) * sizeof(*s->spare));
		s->first_spare = 0;
		s->spares = spares - 1;
	}
	return slot;
}

/*
 * The first of the open spans whose functions had been left when this begin's was entered: they
 * will not end. Where begins and ends are in one function its call is there as long as the span is
 * open, unless an error has left it: then another one is in its place, or above it.
 */
static uint32_t find_left(const struct usdt_spans *s, const struct usdt_open *o,
			  const struct usdt_frame *is)
{
	uint32_t from = o->depth;
	for (uint32_t i = o->depth; i-- > 0 && s->together && !s->apart;) {
		const struct usdt_frame *f = &o->at[i];
		bool is_same = f->frame == is->frame && f->caller == is->caller;
		if (f->tid != is->tid)
			continue;
		if (f->frame > is->frame || (is_same && f->ip != is->ip))
			break;
		from = i;
	}
	return from;
}

/* 0 or -ENOMEM. */
static int begin_span(const struct usdt_spans *s, struct usdt_open *o, const struct usdt_frame *is,
		      uint32_t *ret_level)
{
	uint32_t from = find_left(s, o, is);
	if (from < o->depth) {
		o->was_left |= !o->slot;
		o->depth = from;
		o->beyond = 0;
	}
	*ret_level = MARKER_LEVELS;
	if (o->depth == MARKER_LEVELS) {
		o->beyond++;
		return 0;
	}
	if (!array_reserve(o->at, o->room, o->depth))
		return -ENOMEM;
	o->at[o->depth++] = *is;
	*ret_level = o->depth;
	return 0;
}

/* An end in the call of a begin is of that span; else of the innermost one. 0: there is none. */
static uint32_t end_span(struct usdt_spans *s, struct usdt_open *o, const struct usdt_frame *is)
{
	uint32_t level = o->depth;
	bool is_found = false;
	if (o->beyond) {
		o->beyond--;
		return MARKER_LEVELS;
	}
	for (uint32_t i = o->depth; i-- > 0 && is->caller && !is_found;) {
		const struct usdt_frame *f = &o->at[i];
		is_found = f->tid == is->tid && f->frame == is->frame && f->caller == is->caller;
		level = is_found ? i + 1 : level;
	}
	s->together |= is_found;
	/* One that comes all the same shows that a span had not been left. */
	s->apart |= level ? !is_found : o->was_left;
	o->depth = level ? level - 1 : 0;
	return level;
}

/* No span is open any more. 0 or -ENOMEM. */
static int close_all(struct usdt_spans *s, uint64_t key, struct usdt_open *o)
{
	uint32_t slot = o->slot;
	if (!o->was_left)
		free_open(ptrmap_remove(&s->open, key));
	if (!slot)
		return 0;
	if (!array_reserve(s->spare, s->room, s->spares))
		return -ENOMEM;
	s->spare[s->spares++] = slot;
	return 0;
}

/* A span with this argument, or of this thread, begins or ends: its slot and level; slot 0, of one
 * by argument: there is none. 0 or -ENOMEM. */
static int nest(struct usdt_spans *s, const struct ebt_usdt_record *rec, uint64_t key,
		bool has_slot, uint32_t tid, uint32_t *ret_slot, uint32_t *ret_level)
{
	bool begins = rec->head.site == EBT_SPAN_BEGIN, is_new = false;
	const struct usdt_frame is = {rec->ip, rec->frame, rec->caller, tid};
	struct usdt_open *o =
		begins ? ptrmap_make(&s->open, key, &is_new) : ptrmap_get(&s->open, key);
	if (!o)
		return begins ? -ENOMEM : 0;
	if (is_new && has_slot && !(o->slot = take_slot(s))) {
		free_open(ptrmap_remove(&s->open, key));
		return 0;
	}
	*ret_slot = o->slot;
	if (begins)
		return begin_span(s, o, &is, ret_level);
	*ret_level = end_span(s, o, &is);
	return o->depth ? 0 : close_all(s, key, o);
}

/* Where the span of the record is in others. A begin that no slot is left for, or whose argument
 * could not be read, is an event. */
static int find_span(struct usdt_events *u, const struct ebt_usdt_record *rec, int key,
		     struct ebt_event *ev, uint32_t *ret_slot, uint32_t *ret_level)
{
	bool has_slot = key >= 0;
	unsigned number = has_slot ? (unsigned)key : 0;
	bool is_known = !has_slot || (number < rec->args && number < EBT_USDT_ARGS &&
				      !(rec->missing >> number & 1));
	struct usdt_spans *s = spans_of(u, ev->process, rec->request);
	int err = !s	      ? -ENOMEM
		  : !is_known ? 0
			      : nest(s, rec, has_slot ? rec->arg[number] : ev->tid, has_slot,
				     ev->tid, ret_slot, ret_level);
	if (!err && has_slot && ev->kind == EBT_SPAN_BEGIN && !*ret_slot)
		ev->kind = EBT_MARKER_HIT;
	return err;
}

/* Spans of all levels are called alike, and so is their track. */
static int set_name(struct usdt_events *u, const struct ebt_event *ev, const char *label)
{
	struct processes *ps = &u->session->processes;
	uint32_t base = marker_id_base(ev->id);
	if (processes_user_string(ps, ev->process, ev->id))
		return 0;
	int err = processes_set_user_name(ps, ev->process, ev->id, label);
	return err || base == ev->id ? err : processes_set_user_name(ps, ev->process, base, label);
}

/* The text of an argument that is one. False: it could not be read. */
static bool get_text(const struct ebt_usdt_record *rec, size_t payload, unsigned number,
		     struct marker_value *ret, bool *ret_cut)
{
	size_t at = number * EBT_USDT_TEXT_BYTES, bytes = rec->text[number];
	if (!bytes || bytes > EBT_USDT_TEXT_BYTES || at + bytes > payload)
		return false;
	ret->type = MARKER_TEXT;
	ret->text = (const char *)(rec + 1) + at;
	ret->bytes = strnlen(ret->text, bytes - 1);
	/* Of one that fills its room it is not known whether it ends there. */
	*ret_cut |= bytes == EBT_USDT_TEXT_BYTES;
	return true;
}

static int put_values(struct usdt_events *u, const struct ebt_usdt_record *rec, size_t payload,
		      const struct marker_side *side, struct ebt_event *ev)
{
	uint8_t values[EBT_USDT_ARGS * (3 + EBT_USDT_TEXT_BYTES + 8)], *end = values;
	bool is_cut = false;
	for (unsigned i = 0; i < rec->args && i < EBT_USDT_ARGS; i++) {
		struct marker_value v = {.type = rec->missing >> i & 1	   ? MARKER_UNREADABLE
						 : rec->is_signed >> i & 1 ? MARKER_SIGNED
									   : MARKER_UNSIGNED,
					 .number = rec->arg[i]};
		for (unsigned k = 0; k < side->texts; k++)
			/* A pointer to nothing is a number, 0. */
			if (side->text[k] == i && rec->arg[i] &&
			    !get_text(rec, payload, k, &v, &is_cut))
				v.type = MARKER_UNREADABLE;
		end = marker_values_put(end, &v);
	}
	int err =
		end > values ? session_put_blob(u->session, ev, values, (size_t)(end - values)) : 0;
	if (!err && is_cut)
		ev->flags |= EBT_F_CUT;
	return err;
}

int usdt_events_make(struct usdt_events *u, const struct ebt_usdt_record *rec, size_t payload,
		     struct ebt_event *ev)
{
	if (rec->request >= u->names.count)
		return -ENOENT;
	const struct marker_request *request = &u->names.at[rec->request];
	bool ends = rec->head.site == EBT_SPAN_END;
	const struct marker_side *side = &request->side[ends ? MARKER_END : MARKER_BEGIN];
	uint32_t slot = 0, level = 0;
	int err = 0;
	if (rec->dropped != u->dropped)
		clear_all(u);
	u->dropped = rec->dropped;
	ev->kind = rec->head.site;
	ev->domain = EBT_NO_DOMAIN;
	if (request->is_span)
		err = find_span(u, rec, side->key, ev, &slot, &level);
	ev->id = marker_id_at(marker_id(rec->request, slot), level);
	if (!err)
		err = set_name(u, ev, request->label);
	return err ? err : put_values(u, rec, payload, side, ev);
}
