/* SPDX-License-Identifier: BSD-2-Clause */
#include "backtrace.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#ifdef __x86_64__
#define FRAME_POINTER 6 /* its number in DWARF */
#else
#define FRAME_POINTER 29
#endif

#define STACK_MAX (UINT64_C(1) << 30) /* a frame pointer beyond is none */

/* What a frame pointer points at. */
struct frame_record {
	uintptr_t next, return_address;
};

struct walk {
	int64_t *frame;
	size_t count;
	uintptr_t caller;
	bool found;				 /* the caller's frame; those before are our own */
	uintptr_t address, frame_pointer, stack; /* of the last frame */
};

static void add_frame(struct walk *w, uintptr_t return_address)
{
	if (return_address == w->caller)
		w->found = true;
	if (w->found && return_address)
		w->frame[w->count++] = (int64_t)(return_address - 1);
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *c, void *ctx)
{
	struct walk *w = ctx;
	w->address = _Unwind_GetIP(c);
	add_frame(w, w->address);
	w->frame_pointer = _Unwind_GetGR(c, FRAME_POINTER);
	w->stack = _Unwind_GetCFA(c);
	return w->count < EBT_BACKTRACE_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* By the kernel, because a wrong frame pointer may point anywhere. */
static bool read_record(uintptr_t address, struct frame_record *ret)
{
	struct iovec to = {ret, sizeof(*ret)}, from = {(void *)address, sizeof(*ret)};
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(*ret);
}

static void follow_frame_pointers(struct walk *w)
{
	struct frame_record r;
	uintptr_t least = w->stack, fp = w->frame_pointer;
	while (w->count < EBT_BACKTRACE_MAX && fp >= least && fp - w->stack < STACK_MAX &&
	       fp % sizeof(fp) == 0 && read_record(fp, &r)) {
		add_frame(w, r.return_address);
		least = fp + sizeof(r);
		fp = r.next;
	}
}

size_t ebt_backtrace(const void *caller, int64_t ret[EBT_BACKTRACE_MAX])
{
	struct walk w = {.frame = ret, .caller = (uintptr_t)caller};
	int err = errno;
	_Unwind_Backtrace(visit, &w);
	/* An end without an address is that of the stack, any other one a lack of a table. */
	if (w.address)
		follow_frame_pointers(&w);
	errno = err;
	if (!w.count)
		ret[w.count++] = (int64_t)(w.caller - 1);
	for (size_t i = 0; i < w.count / 2; i++) {
		int64_t inner = ret[i];
		ret[i] = ret[w.count - 1 - i];
		ret[w.count - 1 - i] = inner;
	}
	return w.count;
}
