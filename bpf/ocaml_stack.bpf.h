/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Walks the stack of OCaml native code by the runtime's own frame descriptors, from the stack
 * pointer that was saved when it called C: through callbacks from C, and through the stacks of
 * effect handlers to that of the program. A descriptor is found in the runtime's hash table by the
 * return address, and has the size of the frame.
 *
 * While C that a stack calls runs OCaml again, the runtime hides the stack below that one, so that
 * no effect passes C: the walk ends there. Each call of OCaml by C has a link on the C stack, by
 * which it is known that a walk ends too early.
 *
 * The program's memory is not trusted. A stack is walked upwards only, and must stay within its
 * bounds; all steps together are limited. What does not hold ends the walk: the frames so far are
 * right, and the stack is marked as cut.
 */
#ifndef EBT_OCAML_STACK_BPF_H
#define EBT_OCAML_STACK_BPF_H

#include "ocaml_state.bpf.h"

#ifndef OCAML_FRAMES
#define OCAML_FRAMES EBT_OCAML_FRAMES
#endif
#define OCAML_STEPS	   (1024 + 4 * OCAML_FRAMES) /* slots, frames, stacks */
#define OCAML_PROBES	   64			     /* slots for one return address */
#define OCAML_AHEAD	   32			     /* words of a stack that are read at once */
#define OCAML_KNOWN	   4096			     /* descriptors that are remembered */
#define OCAML_CHUNK_HEADER 32 /* between the frames of a callback and the stack below it */
#define OCAML_RETURN_TO_C  0xffff
#define OCAML_LINK_OUTER   16 /* in a link, the address of the next one */
#define OCAML_CALLBACKS	   4  /* noted; a power of 2 */

/* Where the descriptors of return addresses were, of all programs: each has the address, so a wrong
 * one is noticed when it is read. The runtime's table has long chains, and is not in the cache. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OCAML_KNOWN);
	__type(key, uint32_t);
	__type(value, uint64_t);
} ebt_ocaml_descriptors __weak SEC(".maps");

/* Both begin as the runtime has them. */
struct ocaml_stack_info {
	uint64_t sp, exception, handler;
};
struct ocaml_descriptor {
	uint64_t address;
	uint16_t bytes, live;
} __attribute__((packed));

/* Beside the frames, in the record: were it on the stack, the verifier would follow each number in
 * it through each step. */
struct ocaml_walk {
	struct ebt_ocaml_frame frame[OCAML_FRAMES];
	uint64_t table; /* the slots of the hash table */
	uint32_t mask, slot, probes;
	uint32_t frames;
	uint32_t first_frame;
	uint32_t whole;	    /* the end of the last stack was reached */
	uint64_t sp, pc;    /* of the frame to be found */
	uint64_t low, high; /* of the current stack */
	uint64_t link;	    /* of the call of OCaml by C that the frame is in */
	uint64_t from;	    /* address of the words that were read, of which so many bytes hold: */
	uint64_t held, word[OCAML_AHEAD];
	uint32_t callbacks; /* such calls by C that OCaml called */
	struct {
		uint64_t link, outer;
		uint32_t frames;
	} callback[OCAML_CALLBACKS];
	struct ebt_sample_starts starts;
};

/* Reads words of a stack, or the first one alone, where it ends. Nonzero: none. */
static __always_inline long ocaml_read(struct ocaml_walk *w, uint64_t from)
{
	w->from = from;
	w->held = sizeof(w->word);
	if (!bpf_probe_read_user(w->word, sizeof(w->word), (void *)from))
		return 0;
	w->held = sizeof(w->word[0]);
	return bpf_probe_read_user(w->word, sizeof(w->word[0]), (void *)from);
}

/* Goes on with the frame below `sp`. Nonzero: there is none. */
static __always_inline long ocaml_enter(struct ocaml_walk *w, uint64_t sp)
{
	uint64_t at = sp - sizeof(w->pc) - w->from;
	if (sp & 7 || sp <= w->low || sp > w->high)
		return 1;
	if (at >= w->held) {
		if (ocaml_read(w, sp - sizeof(w->pc)))
			return 1;
		at = 0;
	}
	w->low = w->sp = sp;
	w->pc = w->word[at / sizeof(w->pc) % OCAML_AHEAD];
	w->slot = (uint32_t)(w->pc >> 3) & w->mask;
	w->probes = 0;
	return 0;
}

/* Begins with a stack, which is suspended. */
static __always_inline long ocaml_enter_stack(struct ocaml_walk *w, uint64_t stack)
{
	struct ocaml_stack_info info;
	if (bpf_probe_read_user(&info, sizeof(info), (void *)stack))
		return 1;
	w->low = stack;
	w->high = info.handler;
	return ocaml_enter(w, info.sp + w->first_frame);
}

static __always_inline void ocaml_note_callback(struct ocaml_walk *w, uint64_t outer)
{
	uint32_t n = w->callbacks;
	if (n >= OCAML_CALLBACKS)
		return;
	/* The compiler may test the bound in ways that the verifier does not see. */
	asm volatile("" : "+r"(n));
	n &= OCAML_CALLBACKS - 1;
	w->callback[n].link = w->link;
	w->callback[n].outer = outer;
	w->callback[n].frames = w->frames;
	w->callbacks++;
}

/* The frames of a callback, or of a stack, end here. */
static __always_inline long ocaml_end_chunk(struct ocaml_walk *w)
{
	uint64_t sp = w->sp + OCAML_CHUNK_HEADER, parent, outer;
	if (!w->starts.end) {
		w->starts.end = w->sp;
		w->starts.ends = w->frames;
	}
	if (bpf_probe_read_user(&outer, sizeof(outer), (void *)(w->link + OCAML_LINK_OUTER)))
		return 1;
	if (sp != w->high) {
		ocaml_note_callback(w, outer);
		w->link = outer;
		return ocaml_enter(w, sp + w->first_frame);
	}
	/* Of the handler the fourth word. */
	if (bpf_probe_read_user(&parent, sizeof(parent), (void *)(sp + 24)))
		return 1;
	w->whole = !parent && !outer;
	return parent ? ocaml_enter_stack(w, parent) : 1;
}

/* Looks where the descriptor was the last time, or into one slot of the hash table. Nonzero: the
 * walk ends. */
static long ocaml_step(uint32_t step, void *ctx)
{
	struct ocaml_walk *w = *(struct ocaml_walk **)ctx;
	struct ocaml_descriptor d;
	uint32_t place = (uint32_t)(w->pc ^ w->pc >> 12) % OCAML_KNOWN;
	uint64_t *known = bpf_map_lookup_elem(&ebt_ocaml_descriptors, &place);
	uint64_t at = known ? *known : 0;
	(void)step;
	if (!at || w->probes || bpf_probe_read_user(&d, sizeof(d), (void *)at) ||
	    d.address != w->pc) {
		if (bpf_probe_read_user(&at, sizeof(at), (void *)(w->table + 8ull * w->slot)))
			return 1;
		if (!at || bpf_probe_read_user(&d, sizeof(d), (void *)at))
			return 1;
		if (d.address != w->pc) {
			w->slot = (w->slot + 1) & w->mask;
			return ++w->probes == OCAML_PROBES;
		}
		if (known)
			*known = at;
	}
	if (d.bytes == OCAML_RETURN_TO_C)
		return ocaml_end_chunk(w);
	uint32_t n = w->frames;
	if (n >= OCAML_FRAMES)
		return 1;
	w->frame[n].address = w->pc;
	w->frame[n].descriptor = at;
	if (n < EBT_SAMPLE_STARTS)
		w->starts.sp[n & (EBT_SAMPLE_STARTS - 1)] = w->sp;
	w->frames = n + 1;
	return ocaml_enter(w, w->sp + (d.bytes & ~3));
}

/* Reads where the hash table is, of which `frames` is the address in the process. Nonzero: there is
 * none. */
static __always_inline long ocaml_find_table(struct ocaml_walk *w, const struct ebt_ocaml_stacks *r,
					     uint64_t frames)
{
	struct {
		uint32_t count, mask;
		uint64_t slots;
	} newer;
	struct {
		uint64_t slots;
		uint32_t mask, unused;
	} older;
	if (r->is_indirect) {
		if (bpf_probe_read_user(&older, sizeof(older), (void *)user_word(frames)))
			return 1;
		w->table = older.slots;
		w->mask = older.mask;
	} else {
		if (bpf_probe_read_user(&newer, sizeof(newer), (void *)frames))
			return 1;
		w->table = newer.slots;
		w->mask = newer.mask;
	}
	return !w->table || w->mask >> 31;
}

static __always_inline void ocaml_begin(struct ocaml_walk *w, const struct ebt_ocaml_stacks *r,
					uint64_t state)
{
	w->frames = w->whole = w->callbacks = 0;
	w->from = w->held = 0;
	w->starts.end = w->starts.ends = 0;
	w->first_frame = r->first_frame;
	w->link = user_word(state + r->c_stack);
}

/* Walks the stack of the domain with this state: afterwards w has the frames, the innermost first,
 * and whether they are all of them. */
static __always_inline void ocaml_stack(struct ocaml_walk *w, const struct ebt_ocaml_stacks *r,
					uint64_t frames, uint64_t state)
{
	ocaml_begin(w, r, state);
	if (!ocaml_find_table(w, r, frames) &&
	    !ocaml_enter_stack(w, user_word(state + r->current_stack)))
		bpf_loop(OCAML_STEPS, ocaml_step, &w, 0);
}

#endif
