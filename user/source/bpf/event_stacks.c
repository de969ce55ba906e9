// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/event_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/ring/ids.h"
#include "session/kinds.h"
#include "session/versions.h"
#include "source/bpf/numberings.h"
#include "source/stacks/ocaml_parts.h"
#include "stream/filter.h"

/* Threads that have emitted a stack and not yet its event. Of an event that was dropped the stack
 * stays until it is replaced. */
#define PENDING 256

struct pending {
	uint64_t ts;
	uint32_t slot, tid;
	uint32_t stack; /* held; 0: this entry is free */
};

struct event_stacks {
	struct session *session;
	struct filter *filter; /* NULL: all events */
	struct ebt_stack_choice choice;
	struct pending pending[PENDING];
	unsigned oldest, used; /* entries that may be in use */
};

/* ---- the choice ---- */

/* A pause has the stack of its begin, as it is an event only when it ends. */
static bool is_selected(const struct event_stacks *s, const struct ebt_event *ev)
{
	struct ebt_event pause = {.kind = EBT_PAUSE, .domain = EBT_NO_DOMAIN};
	bool may_begin_pause = ev->kind == EBT_BEGIN && kinds_phase_stops(ev->id);
	return filter_names(s->filter, ev) || (may_begin_pause && filter_names(s->filter, &pause));
}

static bool is_chosen(const struct event_stacks *s, uint16_t kind, uint32_t id)
{
	struct ebt_event ev = {.kind = kind, .id = id, .domain = EBT_NO_DOMAIN};
	return is_selected(s, &ev);
}

static void choose_id(struct event_stacks *s, unsigned numbering, uint16_t kind, uint32_t id,
		      uint32_t number)
{
	if (number < EBT_PHASE_IDS && is_chosen(s, kind, id))
		s->choice.ids[numbering][number] |= kinds_bit(kind);
}

static void choose_phases(struct event_stacks *s, uint16_t kind)
{
	for (unsigned numbering = 0; numbering < RING_NUMBERINGS; numbering++)
		for (uint32_t i = 0, id; i < EBT_PHASE_IDS; i++)
			if (numberings_phase(numbering, i, &id))
				choose_id(s, numbering, kind, id, i);
}

static void choose_numbers(struct event_stacks *s, uint16_t kind, uint32_t count)
{
	for (unsigned numbering = 0; numbering < RING_NUMBERINGS; numbering++)
		for (uint32_t i = 0; i < count; i++)
			choose_id(s, numbering, kind, i, i);
}

static void choose(struct event_stacks *s)
{
	if (!s->filter) {
		s->choice.kinds = UINT64_MAX;
		return;
	}
	for (uint16_t kind = 0; kind < EBT_KINDS; kind++) {
		if (kind == EBT_BEGIN || kind == EBT_END)
			choose_phases(s, kind);
		else if (kind == EBT_COUNTER)
			choose_numbers(s, kind, ring_counters());
		else if (kind == EBT_LIFECYCLE)
			choose_numbers(s, kind, ring_lifecycles());
		else if (kinds_get(kind)->label != KINDS_LABEL_none || is_chosen(s, kind, 0))
			s->choice.kinds |= kinds_bit(kind);
	}
}

int event_stacks_new(struct session *session, const char *const *globs, unsigned count,
		     uint64_t pause_ns, struct event_stacks **ret)
{
	struct event_stacks *s = calloc(1, sizeof(*s));
	int err = s ? 0 : -ENOMEM;
	if (s)
		s->session = session;
	if (!err && count)
		err = filter_new(session, (struct event_handler){0}, &s->filter);
	for (unsigned i = 0; i < count && !err; i++)
		err = filter_add_glob(s->filter, globs[i]);
	if (err) {
		event_stacks_free(s);
		return err;
	}
	choose(s);
	s->choice.pause_ns = pause_ns;
	*ret = s;
	return 0;
}

void event_stacks_free(struct event_stacks *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->used; i++)
		stacks_drop(s->session->stacks, s->pending[i].stack);
	filter_free(s->filter);
	free(s);
}

const struct ebt_stack_choice *event_stacks_choice(const struct event_stacks *s)
{
	return s ? &s->choice : NULL;
}

/* ---- stacks ---- */

static struct pending *find(struct event_stacks *s, uint32_t slot, uint32_t tid)
{
	for (unsigned i = 0; i < s->used; i++)
		if (s->pending[i].stack && s->pending[i].slot == slot && s->pending[i].tid == tid)
			return &s->pending[i];
	return NULL;
}

/* The entry for a thread's new stack, which has none now. */
static struct pending *replace(struct event_stacks *s, uint32_t slot, uint32_t tid)
{
	struct pending *p = find(s, slot, tid);
	for (unsigned i = 0; !p && i < s->used; i++)
		if (!s->pending[i].stack)
			p = &s->pending[i];
	if (!p && s->used < PENDING)
		p = &s->pending[s->used++];
	if (!p)
		p = &s->pending[s->oldest++ % PENDING];
	stacks_drop(s->session->stacks, p->stack);
	p->stack = 0;
	return p;
}

/* C that OCaml calls is deeper than this only if its thread is not that of the OCaml code. */
#define MOST_OF_C (8u << 20)

static int push_ocaml(const struct c_stack_of *of, const struct ebt_stack_record *rec,
		      size_t payload, uint32_t *ret)
{
	struct ocaml_parts parts;
	const struct ebt_stack_memory *m = (const void *)(rec + 1);
	const struct ebt_ocaml_callbacks *callbacks = (const void *)(m + 1);
	size_t fixed = sizeof(*m) + sizeof(*callbacks);
	if (payload < fixed + sizeof(struct ebt_ocaml_frame))
		return 0;
	struct unwind_image image = c_stack_image(m, NULL);
	parts.count = 0;
	parts.has_gap = false;
	if (m->high > m->sp && m->high - m->sp < MOST_OF_C)
		ocaml_parts_add(of, &parts, &image, 0);
	ocaml_parts_add_callbacks(of, &parts, callbacks, 0);
	struct ocaml_stack stack = {
		.frame = (const struct ebt_ocaml_frame *)(callbacks + 1),
		.frames = (payload - fixed) / sizeof(struct ebt_ocaml_frame),
		.c = parts.c,
		.c_count = parts.count,
		.version = versions_by_release(rec->release),
		.outer = rec->head.site == EBT_STACK_OF_OCAML_CUT ? CODE_CUT_NAME : NULL,
	};
	return ocaml_stack_push(of->frames, of->map, of->pid, &stack, ret);
}

int event_stacks_receive(struct event_stacks *s, const struct c_stack_of *of,
			 const struct ebt_stack_record *rec, size_t payload)
{
	uint32_t stack = 0;
	code_map_read(of->frames, of->map, of->pid, false);
	if (!code_frames_has_code(of->frames, of->map))
		return 0;
	int err = rec->head.site == EBT_STACK_OF_C ? c_stack_push(of, rec + 1, payload, &stack)
						   : push_ocaml(of, rec, payload, &stack);
	if (code_frames_waits(of->frames))
		return -EAGAIN;
	if (err || !stack)
		return err;
	stacks_hold(s->session->stacks, stack);
	stacks_reclaim(s->session->stacks);
	*replace(s, rec->head.slot, rec->head.tid) = (struct pending){
		.ts = rec->ts, .slot = rec->head.slot, .tid = rec->head.tid, .stack = stack};
	return 0;
}

void event_stacks_give(struct event_stacks *s, uint32_t slot, struct ebt_event *ev)
{
	struct pending *p = find(s, slot, ev->tid);
	if (!p)
		return;
	bool ends_pause = ev->kind == EBT_END && s->choice.pause_ns;
	if (p->ts == ev->ts && (!s->filter || ends_pause || is_selected(s, ev)))
		session_put_stack(s->session, ev, p->stack);
	stacks_drop(s->session->stacks, p->stack);
	p->stack = 0;
}
