/* SPDX-License-Identifier: BSD-2-Clause */
/* Backtraces of a trace as stacks of the session, also where frames of them were not read. */
#include "source/file/memtrace_stacks.h"

#include "tests/tap.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* Backtraces with nothing in common, whose codes count up from `n`. */
static uint32_t add_deep(struct domain *d, uint32_t n, uint32_t frames)
{
	int64_t *codes = calloc(frames, sizeof(*codes));
	struct ebt_memtrace_event e = {
		.what = EBT_MEMTRACE_ALLOC, .frame = codes, .frames = frames};
	uint32_t stack = 0;
	for (uint32_t i = 0; i < frames; i++)
		codes[i] = n + i;
	if (memtrace_backtrace_add(&d->last, &d->codes, d->reader, &e, &stack))
		abort();
	free(codes);
	return stack;
}

static void test_many_deep(void)
{
	struct domain d;
	uint32_t whole = 0, n = 0, stack = 0;
	start(&d);
	while (!d.codes.cut && n < 1000) {
		stack = add_deep(&d, ++n, 100000);
		whole += depth(&d, stack) == 100000;
	}
	is(whole, MEMTRACE_DEEP_ALLOWED / 100000, "some deep backtraces have all their frames");
	is(depth(&d, stack), MEMTRACE_DEEP_FRAMES, "many have their innermost frames");
	is(code(&d, stack, 0), n + 99999, "of which the last one is the site");
	is(code(&d, stack, MEMTRACE_DEEP_FRAMES - 1), n + 100000 - MEMTRACE_DEEP_FRAMES,
	   "and the first one is where those begin that are left out");
	stack = add(&d, 99999, 7);
	is(depth(&d, stack), MEMTRACE_DEEP_FRAMES, "the next one shares the frames that there are");
	is(code(&d, stack, 1), n + 99998, "each at its place");
	stack = add(&d, 50, 8);
	is(code(&d, stack, 0), 8, "one that shares none of them has its own");
	is(d.codes.cut, 1, "what was cut is counted");
	stack = add_deep(&d, 5, MEMTRACE_DEEP_FRAMES);
	is(depth(&d, stack), MEMTRACE_DEEP_FRAMES, "one that is not deep is whole");
	struct domain other = {.session = d.session, .reader = d.reader};
	other.codes.session = d.session;
	stack = add_deep(&other, 5, 100000);
	is(depth(&other, stack), MEMTRACE_DEEP_FRAMES,
	   "what one trace has used up, another of the run has not");
	memtrace_backtrace_done(&other.last, d.session);
	memtrace_codes_done(&other.codes);
	end(&d);
}

/* A trace in memory. */
struct trace {
	char *bytes;
	size_t size;
};

static int store(void *ctx, const void *packet, size_t bytes)
{
	struct trace *t = ctx;
	t->bytes = realloc(t->bytes, t->size + bytes);
	memcpy(t->bytes + t->size, packet, bytes);
	t->size += bytes;
	return 0;
}

static size_t locate(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	static struct ebt_memtrace_location at = {.file = "a.c", .function = "f"};
	(void)ctx;
	at.line = (uint32_t)code;
	*ret = &at;
	return 1;
}

#define CALLERS 5000
#define CALLEE	9999999

/* Callers in turn, then back: those that were the last are met first. */
static unsigned caller(unsigned call)
{
	return 1 + (call < CALLERS ? call : 2 * CALLERS - 1 - call);
}

/* Each of many callers calls the same function, and once more. */
static void write_calls(struct trace *ret)
{
	static const struct ebt_memtrace_info info = {.sample_rate = 1,
						      .executable = "",
						      .host = "",
						      .runtime_params = "",
						      .context = ""};
	struct ebt_memtrace_trace t = {.write = store, .locations = locate, .ctx = ret};
	void *memory = calloc(1, ebt_memtrace_writer_bytes());
	ebt_memtrace_write_info(&t, &info);
	struct ebt_memtrace_writer *w = ebt_memtrace_writer_init(memory, &t, 0, 0);
	for (unsigned i = 0; i < 2 * CALLERS; i++) {
		int64_t frame[] = {caller(i), CALLEE};
		struct ebt_memtrace_event e = {.what = EBT_MEMTRACE_ALLOC,
					       .obj = EBT_MEMTRACE_NEW_OBJ,
					       .frame = frame,
					       .frames = 2};
		ebt_memtrace_write(w, &e);
	}
	ebt_memtrace_write_flush(w, 0);
	free(memory);
}

/* Frees the stacks that nobody holds; others get their ids. */
static void reuse_stacks(struct domain *d)
{
	struct stacks *stacks = d->session->stacks;
	uint32_t frame = stacks_frame(stacks, d->last.stack[d->last.depth - 1]), id = 0;
	stacks_free_unheld(stacks);
	for (int i = 0; i < 2 * CALLERS; i++)
		id = stacks_push(stacks, id, frame);
}

/* The number of allocs of which the stack is right. */
static unsigned right_calls(struct domain *d, const struct trace *t, bool reuses)
{
	static uint32_t stack[2 * CALLERS];
	struct ebt_memtrace_event e;
	unsigned n = 0, right = 0;
	for (size_t at = 0;;) {
		ssize_t got = ebt_memtrace_read(d->reader, &e, 1);
		if (got == -EAGAIN) {
			size_t room;
			void *to = ebt_memtrace_room(d->reader, &room);
			size_t bytes = t->size - at < room ? t->size - at : room;
			memcpy(to, t->bytes + at, bytes);
			ebt_memtrace_put(d->reader, bytes);
			at += bytes;
			if (!bytes)
				ebt_memtrace_finish(d->reader);
			continue;
		}
		if (got <= 0 || n == 2 * CALLERS ||
		    memtrace_backtrace_add(&d->last, &d->codes, d->reader, &e, &stack[n]))
			return right;
		right += depth(d, stack[n]) == 2 && code(d, stack[n], 0) == CALLEE &&
			 code(d, stack[n], 1) == caller(n) &&
			 (reuses || n < CALLERS || stack[n] == stack[2 * CALLERS - 1 - n]);
		if (++n == CALLERS && reuses)
			reuse_stacks(d);
	}
}

static void test_calls(const char *name, bool reuses)
{
	struct domain d;
	struct trace t = {0};
	start(&d);
	write_calls(&t);
	is(right_calls(&d, &t, reuses), 2 * CALLERS, name);
	end(&d);
	free(t.bytes);
}

int main(void)
{
	struct domain d;
	test_calls("a function that thousands call has a stack for each of them", false);
	test_calls("also after stacks were freed, and others have their ids", true);
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
	test_many_deep();
	return tap_done();
}
