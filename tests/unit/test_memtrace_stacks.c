/* SPDX-License-Identifier: BSD-2-Clause */
/* Backtraces of a trace as stacks of the session, also where frames of them were not read. */
#include "source/memtrace_stacks.h"

#include "tests/tap.h"

struct domain {
	struct session *session;
	struct ebt_memtrace_reader *reader;
	struct memtrace_codes codes;
	struct memtrace_backtrace last;
};

static void start(struct domain *d)
{
	*d = (struct domain){0};
	if (session_new(&d->session) || ebt_memtrace_reader_new(0, &d->reader))
		abort();
	d->codes.session = d->session;
}

static void end(struct domain *d)
{
	memtrace_backtrace_done(&d->last, d->session);
	memtrace_codes_done(&d->codes);
	stacks_free_unheld(d->session->stacks);
	is(stacks_count(d->session->stacks), 0, "no backtrace is held any more");
	ebt_memtrace_reader_free(d->reader);
	session_free(d->session);
}

/* An alloc whose backtrace is the last one's first frames and one more. Its stack. */
static uint32_t add(struct domain *d, uint32_t common, int64_t code)
{
	struct ebt_memtrace_event e = {
		.what = EBT_MEMTRACE_ALLOC, .common = common, .frame = &code, .frames = 1};
	uint32_t stack = 0;
	if (memtrace_backtrace_add(&d->last, &d->codes, d->reader, &e, &stack))
		abort();
	return stack;
}

static uint64_t depth(const struct domain *d, uint32_t stack)
{
	return stacks_frames(d->session->stacks, stack, NULL, 0);
}

/* The address of the frame so many frames out from the innermost. */
static uint64_t code(const struct domain *d, uint32_t stack, unsigned out)
{
	for (; out; out--)
		stack = stacks_parent(d->session->stacks, stack);
	return frames_get(d->session->frames, stacks_frame(d->session->stacks, stack))->address;
}

int main(void)
{
	struct domain d;
	start(&d);
	is(depth(&d, add(&d, 3, 7)), 4,
	   "frames that were not read have unknown ones in their place");
	is(depth(&d, add(&d, 4, 8)), 5, "a backtrace continues them");
	memtrace_backtrace_forget(&d.last, d.session);
	uint32_t deep = add(&d, EBT_MEMTRACE_DEPTH, 9);
	is(depth(&d, deep), MEMTRACE_UNKNOWN_FRAMES + 1,
	   "however many a trace claims, few stand for them");
	is(code(&d, deep, 0), 9, "the frames that were read are the innermost");
	uint32_t next = add(&d, EBT_MEMTRACE_DEPTH + 1, 10);
	ok(code(&d, next, 0) == 10 && code(&d, next, 1) == 9, "the next backtrace continues it");
	uint32_t out = add(&d, EBT_MEMTRACE_DEPTH - 2, 11);
	is(depth(&d, out), MEMTRACE_UNKNOWN_FRAMES - 1, "one that shares less has as many fewer");
	is(code(&d, out, 0), 11, "and its own frame");
	out = add(&d, 5, 12);
	is(depth(&d, out), 1, "one that shares only what was left out has its own frames");
	out = add(&d, 6, 13);
	ok(depth(&d, out) == 2 && code(&d, out, 1) == 12, "which the next one continues");
	out = add(&d, 0, 14);
	is(depth(&d, out), 1, "one that shares nothing begins anew");
	is(depth(&d, add(&d, 1, 15)), 2, "with nothing left out");
	end(&d);
	return tap_done();
}
