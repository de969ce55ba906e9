// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/usdt_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "session/marker_values.h"

/* A slot in a span's value in the map; above it how many spans with that argument are open. */
#define SLOT_MASK (MARKER_SLOTS - 1)
#define ONE_OPEN  MARKER_SLOTS

/* A slot is used again when so many others are free, too: records of two CPUs may be closer in time
 * than the order in which they come. */
#define SETTLED 64

/* The open spans of one request in one process. */
struct usdt_spans {
	struct map open; /* by the argument */
	uint32_t *spare; /* a queue of slots that were used: [first_spare, spares) */
	uint32_t first_spare, spares, room;
	uint32_t slots; /* the last one that was used */
};

struct usdt_process {
	struct usdt_spans *spans; /* by request; NULL: none so far */
	unsigned requests;
};

void usdt_events_init(struct usdt_events *u, struct session *session,
		      const struct marker_requests *requests)
{
	*u = (struct usdt_events){.session = session, .requests = requests};
}

static void clear(struct usdt_process *p)
{
	for (unsigned i = 0; i < p->requests; i++) {
		map_done(&p->spans[i].open);
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
	if (p && !p->spans) {
		p->spans = calloc(u->requests->count, sizeof(*p->spans));
		p->requests = p->spans ? u->requests->count : 0;
	}
	return p && p->spans ? &p->spans[request] : NULL;
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

/* The slot of a span that begins in *ret; 0: there is none. 0 or -ENOMEM. */
static int begin_span(struct usdt_spans *s, uint64_t key, uint32_t *ret)
{
	uint64_t *open = map_put(&s->open, key);
	if (!open)
		return -ENOMEM;
	if (!*open)
		*open = take_slot(s);
	*ret = (uint32_t)(*open & SLOT_MASK);
	if (*ret)
		*open += ONE_OPEN;
	else
		map_delete(&s->open, key);
	return 0;
}

static int end_span(struct usdt_spans *s, uint64_t key, uint32_t *ret)
{
	uint64_t *open = map_get(&s->open, key);
	*ret = open ? (uint32_t)(*open & SLOT_MASK) : 0;
	if (!open)
		return 0;
	*open -= ONE_OPEN;
	if (*open >= ONE_OPEN)
		return 0;
	map_delete(&s->open, key);
	if (!array_reserve(s->spare, s->room, s->spares))
		return -ENOMEM;
	s->spare[s->spares++] = *ret;
	return 0;
}

/* A begin that no slot is left for, or whose argument could not be read, is an event. */
static int find_slot(struct usdt_events *u, const struct ebt_usdt_record *rec, unsigned key,
		     struct ebt_event *ev, uint32_t *ret)
{
	bool begins = ev->kind == EBT_SPAN_BEGIN;
	bool is_known = key < rec->args && !(rec->missing >> key & 1);
	struct usdt_spans *s = spans_of(u, ev->process, rec->request);
	int err = !s	      ? -ENOMEM
		  : !is_known ? 0
		  : begins    ? begin_span(s, rec->arg[key], ret)
			      : end_span(s, rec->arg[key], ret);
	if (!err && begins && !*ret)
		ev->kind = EBT_MARKER_HIT;
	return err;
}

static int set_name(struct usdt_events *u, const struct ebt_event *ev, const char *label)
{
	struct processes *ps = &u->session->processes;
	return processes_user_string(ps, ev->process, ev->id)
		       ? 0
		       : processes_set_user_name(ps, ev->process, ev->id, label);
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
	if (!u->requests || rec->request >= u->requests->count)
		return -ENOENT;
	const struct marker_request *request = &u->requests->at[rec->request];
	bool ends = rec->head.site == EBT_SPAN_END;
	const struct marker_side *side = &request->side[ends ? MARKER_END : MARKER_BEGIN];
	uint32_t slot = 0;
	int err = 0;
	if (rec->dropped != u->dropped)
		clear_all(u);
	u->dropped = rec->dropped;
	ev->kind = rec->head.site;
	ev->domain = EBT_NO_DOMAIN;
	if (request->is_span && side->key >= 0)
		err = find_slot(u, rec, (unsigned)side->key, ev, &slot);
	ev->id = marker_id(rec->request, slot);
	if (!err)
		err = set_name(u, ev, request->label);
	return err ? err : put_values(u, rec, payload, side, ev);
}
