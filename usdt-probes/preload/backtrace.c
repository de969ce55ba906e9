/* SPDX-License-Identifier: BSD-2-Clause */
#include "backtrace.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unwind.h>

#include "../shared/frame_pointers.h"
#include "../shared/pages.h"

#define SITES  8192u /* a power of two */
#define STACKS 16u

struct frame {
	uintptr_t address;	 /* of the instruction that it continues at */
	uintptr_t slot;		 /* where that is stored */
	uintptr_t frame_pointer; /* the register's contents */
};

/* The last stack, and the inner part of the one that is walked. Threads share some of these, since
 * nothing is called when a thread ends. */
struct stack {
	uint32_t epoch;
	bool cut; /* frames are missing at the outer end */
	size_t count;
	struct frame frame[EBT_BACKTRACE_MAX]; /* outermost first */
	struct frame inner[EBT_BACKTRACE_MAX]; /* innermost first */
};

struct walk {
	struct stack *stack;
	uintptr_t caller;
	bool found;   /* the caller's frame; those before are our own */
	bool known;   /* the next frames are those of the last stack */
	size_t count; /* of inner frames */
	size_t outer; /* frames of the last stack that may be known */
	struct frame last;
};

/* Return addresses whose functions have a frame pointer there; a later one may replace another. */
static uintptr_t sites[SITES];
static struct {
	uint32_t busy;
	struct stack *stack; /* taken when it is needed */
} stacks[STACKS];
static uint32_t epoch; /* how often all was forgotten */

static uintptr_t *site_of(uintptr_t address)
{
	return &sites[address * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (SITES - 1)];
}

static bool is_site(uintptr_t address)
{
	return __atomic_load_n(site_of(address), __ATOMIC_RELAXED) == address;
}

void ebt_backtrace_forget(void)
{
	for (unsigned i = 0; i < SITES; i++)
		__atomic_store_n(&sites[i], 0, __ATOMIC_RELAXED);
	__atomic_add_fetch(&epoch, 1, __ATOMIC_RELAXED);
}

void ebt_backtrace_begin_child(void)
{
	for (unsigned i = 0; i < STACKS; i++) {
		if (stacks[i].busy && stacks[i].stack)
			stacks[i].stack->count = 0;
		stacks[i].busy = 0;
	}
}

/* The unwinder went from a frame to the next one: would its frame pointer have led there, too? */
static void learn_site(const struct frame *f, const struct frame *next)
{
	struct ebt_frame_record r;
	if (f->address && next->slot == f->frame_pointer + sizeof(uintptr_t) &&
	    ebt_stack_record(f->frame_pointer, &r) && r.next == next->frame_pointer &&
	    ebt_return_address(r.return_address) == next->address)
		__atomic_store_n(site_of(f->address), f->address, __ATOMIC_RELAXED);
}

/* What is there may be another variable by now. */
__attribute__((no_sanitize("address"))) static bool is_in_place(const struct frame *f)
{
	return ebt_stack_has(f->slot, sizeof(uintptr_t)) &&
	       ebt_return_address(*(const uintptr_t *)f->slot) == f->address;
}

/*
 * The first frame outward from i of which the next one may be another than it was; 0: all are the
 * same. Frame i is, with its frame pointer. A frame's size depends on the address in it alone, but
 * for those whose caller is found by the frame pointer; that of such a frame must be known. A
 * function without one saves its caller's where only the unwinder finds it.
 */
__attribute__((no_sanitize("address"))) static size_t known_until(const struct stack *s, size_t i,
								  bool *ret_pointer_known)
{
	for (*ret_pointer_known = true; i; i--) {
		const struct frame *f = &s->frame[i], *next = &s->frame[i - 1];
		if (!is_in_place(next))
			return i;
		if (next->slot != f->frame_pointer + sizeof(uintptr_t))
			*ret_pointer_known &= next->frame_pointer == f->frame_pointer;
		else if (!*ret_pointer_known ||
			 *(const uintptr_t *)f->frame_pointer != next->frame_pointer)
			return i;
	}
	return 0;
}

/* True if the frame is one of the last stack, and those around it are still there. */
static bool is_known(struct walk *w, const struct frame *f)
{
	const struct stack *s = w->stack;
	bool pointer_known;
	while (w->outer && s->frame[w->outer - 1].slot < f->slot)
		w->outer--;
	if (!w->outer || memcmp(&s->frame[w->outer - 1], f, sizeof(*f)) != 0)
		return false;
	size_t count = w->outer + w->count;
	if (s->cut ? count != EBT_BACKTRACE_MAX : count > EBT_BACKTRACE_MAX)
		return false;
	size_t until = known_until(s, w->outer - 1, &pointer_known);
	if (until) /* the frame there may be known when it is walked to */
		w->outer = pointer_known ? until : until + 1;
	return !until;
}

/* True if no further frame is needed. */
static bool add_frame(struct walk *w, const struct frame *f)
{
	w->found |= f->address == w->caller;
	if (!w->found || !f->address)
		return false;
	w->known = is_known(w, f);
	if (!w->known)
		w->stack->inner[w->count++] = *f;
	return w->known || w->count == EBT_BACKTRACE_MAX;
}

static void begin(struct walk *w, struct stack *s, const void *caller)
{
	uint32_t now = __atomic_load_n(&epoch, __ATOMIC_RELAXED);
	if (s->epoch != now)
		s->count = 0;
	s->epoch = now;
	*w = (struct walk){.stack = s, .caller = (uintptr_t)caller, .outer = s->count};
}

/* False: the chain comes to a call that is no known site. */
static bool follow_sites(struct walk *w, uintptr_t fp)
{
	struct ebt_frame_record r;
	while (ebt_stack_record(fp, &r)) {
		struct frame f = {ebt_return_address(r.return_address), fp + sizeof(fp), r.next};
		if (add_frame(w, &f))
			return true;
		if (!is_site(f.address) || r.next <= fp)
			return false;
		fp = r.next;
	}
	return false;
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *c, void *ctx)
{
	struct walk *w = ctx;
	struct frame f = {
		.address = _Unwind_GetIP(c),
		.slot = ebt_return_slot(_Unwind_GetCFA(c), w->last.frame_pointer),
		.frame_pointer = _Unwind_GetGR(c, ebt_frame_pointer_register),
	};
	learn_site(&w->last, &f);
	w->last = f;
	return add_frame(w, &f) ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* From where the tables end. */
static void follow_frame_pointers(struct walk *w)
{
	struct ebt_frame_record r;
	uintptr_t fp = w->last.frame_pointer, least = w->last.slot;
	while (fp >= least && ebt_stack_record(fp, &r)) {
		struct frame f = {ebt_return_address(r.return_address), fp + sizeof(fp), r.next};
		if (add_frame(w, &f))
			return;
		least = fp + sizeof(r);
		fp = r.next;
	}
}

static void unwind(struct walk *w)
{
	_Unwind_Backtrace(visit, w);
	/* An end without an address is that of the stack, any other one a lack of a table. */
	if (!w->known && w->count < EBT_BACKTRACE_MAX && w->last.address)
		follow_frame_pointers(w);
}

/* The stack that was walked becomes the last one. */
static void keep(const struct walk *w)
{
	struct stack *s = w->stack;
	size_t outer = w->known ? w->outer : 0;
	for (size_t i = 0; i < w->count; i++)
		s->frame[outer + i] = s->inner[w->count - 1 - i];
	s->count = outer + w->count;
	s->cut = w->known ? s->cut : w->count == EBT_BACKTRACE_MAX;
}

/* One that nobody else uses, the thread's own if possible; NULL: no memory. */
static struct stack *take_stack(unsigned *ret_slot)
{
	unsigned own = (unsigned)((uintptr_t)&errno >> 12); /* one a thread */
	for (unsigned i = 0; i < STACKS; i++) {
		unsigned k = (own + i) % STACKS;
		if (__atomic_exchange_n(&stacks[k].busy, 1, __ATOMIC_ACQUIRE))
			continue;
		*ret_slot = k;
		if (!stacks[k].stack)
			stacks[k].stack = ebt_pages_get(sizeof(struct stack));
		return stacks[k].stack;
	}
	*ret_slot = STACKS;
	return ebt_pages_get(sizeof(struct stack));
}

static void release_stack(struct stack *s, unsigned slot)
{
	if (slot < STACKS)
		__atomic_store_n(&stacks[slot].busy, 0, __ATOMIC_RELEASE);
	else
		ebt_pages_put(s, sizeof(*s));
}

size_t ebt_backtrace(const void *caller, const void *frame, int64_t ret[EBT_BACKTRACE_MAX])
{
	int err = errno;
	struct walk w;
	unsigned slot;
	struct stack *s = take_stack(&slot);
	size_t count = 0;
	if (s) {
		ebt_stack_enter(frame);
		begin(&w, s, caller);
		if (!follow_sites(&w, (uintptr_t)frame)) {
			begin(&w, s, caller);
			unwind(&w);
		}
		keep(&w);
		for (count = 0; count < s->count; count++)
			ret[count] = (int64_t)s->frame[count].address - 1;
	}
	release_stack(s, slot);
	if (!count)
		ret[count++] = (int64_t)(uintptr_t)caller - 1;
	errno = err;
	return count;
}
