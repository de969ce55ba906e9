// SPDX-License-Identifier: BSD-2-Clause
/* Stacks of this process, made here, on their way to the events that they are of. */
#include "codec/ring/ids.h"
#include "session/kinds.h"
#include "source/bpf/event_stacks.h"
#include "tests/random.h"
#include "tests/tap.h"
#include <ebtrace/cursor.h>

#include <errno.h>
#include <ucontext.h>
#include <unistd.h>

#define SLOT 3u

static struct session *session;
static struct event_stacks *s;
static struct code_map map;
static struct c_stack_calls calls;
static struct c_stack_of of;

static void begin(const char *const *globs, unsigned count)
{
	of = (struct c_stack_of){.map = &map, .calls = &calls, .pid = getpid()};
	if (session_new(&session) || code_frames_new(session, &of.frames) ||
	    event_stacks_new(session, globs, count, 0, &s))
		abort();
}

static void end(void)
{
	event_stacks_free(s);
	c_stack_calls_done(&calls);
	code_map_done(&map);
	code_frames_free(of.frames);
	session_free(session);
}

#define DEEPEST 100u

struct payload {
	struct ebt_stack_memory memory;
	struct ebt_stack_links links;
};

/* Our stacks, by the number of functions between the first one and here. */
static struct payload own[DEEPEST + 1];
static size_t frames; /* of the first */

/* The registers as they are where getcontext() returns, and the memory behind. */
__attribute__((noinline, no_sanitize("address"))) static void copy_stack(struct payload *p)
{
	ucontext_t at;
	if (getcontext(&at))
		abort();
#if defined(__aarch64__)
	p->memory = (struct ebt_stack_memory){
		.ip = at.uc_mcontext.pc, .sp = at.uc_mcontext.sp, .fp = at.uc_mcontext.regs[29]};
#else
	p->memory = (struct ebt_stack_memory){.ip = (uint64_t)at.uc_mcontext.gregs[REG_RIP],
					      .sp = (uint64_t)at.uc_mcontext.gregs[REG_RSP],
					      .fp = (uint64_t)at.uc_mcontext.gregs[REG_RBP]};
#endif
	const uint64_t *from = (const uint64_t *)p->memory.sp;
	p->memory.words = EBT_STACK_WORDS;
	p->links.tail = p->memory.sp + EBT_STACK_WORDS * 8;
	p->links.tail_words = EBT_TAIL_WORDS;
	for (size_t i = 0; i < EBT_STACK_WORDS; i++)
		p->memory.word[i] = from[i];
	for (size_t i = 0; i < EBT_TAIL_WORDS; i++)
		p->links.tail_word[i] = from[EBT_STACK_WORDS + i];
}

__attribute__((noinline)) static unsigned deeper(struct payload *p, unsigned depth)
{
	if (depth)
		depth = deeper(p, depth - 1) + 1;
	else
		copy_stack(p);
	__asm__ volatile("" : "+r"(depth));
	return depth;
}

static int receive_copy(uint32_t tid, uint64_t ts, const struct payload *p, size_t bytes)
{
	struct {
		struct ebt_stack_record rec;
		struct payload payload;
	} r = {.rec = {.head = {.type = EBT_RECORD_STACK, .slot = SLOT, .tid = tid}, .ts = ts},
	       .payload = *p};
	return event_stacks_receive(s, &of, &r.rec, bytes);
}

/* Our stack with so many functions more than the first. */
static int receive(uint32_t tid, uint64_t ts, size_t more)
{
	return receive_copy(tid, ts, &own[more], sizeof(own[more]));
}

/* The number of frames that an event gets. */
static size_t give(uint32_t slot, uint32_t tid, uint64_t ts, uint16_t kind)
{
	struct ebt_event ev = {.ts = ts, .tid = tid, .kind = kind, .id = 11, .domain = 0};
	event_stacks_give(s, slot, &ev);
	size_t n = stacks_frames(session->stacks, ev.stack, NULL, 0);
	session_drop_event(session, &ev);
	return n;
}

static void test_pairs(void)
{
	begin(NULL, 0);
	receive(7, 99, 0);
	frames = give(SLOT, 7, 99, EBT_BEGIN);
	ok(frames >= 4, "a stack has its functions");
	ok(!receive(7, 100, 3) && !receive(8, 100, 2), "stacks of two threads");
	ok(give(SLOT, 8, 100, EBT_BEGIN) == frames + 2 &&
		   give(SLOT, 7, 100, EBT_BEGIN) == frames + 3,
	   "each is given to the event of its thread");
	ok(give(SLOT, 7, 100, EBT_BEGIN) == 0, "once");
	receive(7, 200, 3);
	ok(give(SLOT, 7, 201, EBT_BEGIN) == 0 && give(SLOT, 7, 200, EBT_BEGIN) == 0,
	   "that of an event that was lost is given to no other");
	receive(7, 300, 3);
	ok(give(SLOT + 1, 7, 300, EBT_BEGIN) == 0, "nor to another process's");
	receive(7, 301, 2);
	ok(give(SLOT, 7, 301, EBT_BEGIN) == frames + 2, "a thread's next one replaces it");
	for (uint32_t tid = 1; tid < 2000; tid++)
		receive(tid, 400, tid % 3);
	ok(give(SLOT, 1999, 400, EBT_BEGIN) == frames + 1, "of many that wait the last ones stay");
	end();
}

static const char *outermost(uint64_t ts)
{
	static char name[64];
	struct ebt_event ev = {.ts = ts, .tid = 7, .kind = EBT_BEGIN, .id = 11, .domain = 0};
	uint32_t frame = 0;
	event_stacks_give(s, SLOT, &ev);
	for (uint32_t at = ev.stack; at; at = stacks_parent(session->stacks, at))
		frame = stacks_frame(session->stacks, at);
	const struct frame *f = frame ? frames_get(session->frames, frame) : NULL;
	snprintf(name, sizeof(name), "%s",
		 f && f->count ? strings_text(session->strings, f->position->function) : "");
	session_drop_event(session, &ev);
	return name;
}

static void test_cuts(void)
{
	struct payload p = own[2];
	begin(NULL, 0);
	receive(7, 1, 2);
	ok(strcmp(outermost(1), CODE_CUT_NAME) != 0,
	   "one that reaches the program's start is whole");
	p.links.tail_words = 0;
	p.memory.words = 30;
	receive_copy(7, 2, &p, sizeof(p));
	ok(!strcmp(outermost(2), CODE_CUT_NAME), "one of which memory is missing is marked");
	p = own[2];
	for (size_t i = 0; i < EBT_STACK_WORDS; i++)
		if (p.memory.word[i] >> 12 == (uint64_t)deeper >> 12)
			p.memory.word[i] = p.memory.word[i] & 1 ? 4096 : (uint64_t)deeper;
	receive_copy(7, 3, &p, sizeof(p));
	size_t n = give(SLOT, 7, 3, EBT_BEGIN);
	ok(n && n < frames, "so is one with an address behind no call, before that");
	p.memory.ip = 4096;
	receive_copy(7, 4, &p, sizeof(p));
	ok(give(SLOT, 7, 4, EBT_BEGIN) == 1, "also at once");
	ok(!receive_copy(7, 5, &p, sizeof(p) - 8) && give(SLOT, 7, 5, EBT_BEGIN) == 0,
	   "a record that is too short is none");
	receive(7, 6, DEEPEST);
	ok(!strcmp(outermost(6), CODE_CUT_NAME),
	   "one that is longer than what is copied is marked");
	end();
}

/* A frame of OCaml, and C whose stack begins so many bytes behind its pointer. */
static size_t give_ocaml(uint64_t ts, uint64_t high)
{
	struct {
		struct ebt_stack_record rec;
		struct ebt_stack_memory memory;
		struct ebt_ocaml_callbacks callbacks;
		struct ebt_ocaml_frame frame;
	} r = {.rec = {.head = {.type = EBT_RECORD_STACK,
				.slot = SLOT,
				.site = EBT_STACK_OF_OCAML,
				.tid = 7},
		       .ts = ts,
		       .release = EBT_RELEASE_OCAML_5_3},
	       .memory = own[0].memory,
	       .frame = {.address = own[0].memory.ip}};
	r.memory.high = high ? r.memory.sp + high : 0;
	event_stacks_receive(s, &of, &r.rec, sizeof(r) - sizeof(r.rec));
	return give(SLOT, 7, ts, EBT_BEGIN);
}

static void test_ocaml(void)
{
	begin(NULL, 0);
	is(give_ocaml(1, 0), 1, "OCaml has its own frames");
	ok(give_ocaml(2, 40) >= 3, "C is on top, with a gap where its stack does not fit");
	is(give_ocaml(3, 64 << 20), 1, "but not if it is elsewhere");
	end();
}

/* Of OCaml, which has its own frames below those of C. */
static void test_hostile(void)
{
	static union {
		struct ebt_stack_record rec;
		uint64_t word[1000];
		struct payload payload;
	} r;
	uint64_t state = 7;
	unsigned given = 0;
	begin(NULL, 0);
	for (unsigned i = 0; i < 3000; i++) {
		const uint64_t *from = (const uint64_t *)&own[i % DEEPEST];
		for (size_t w = 0; w < sizeof(r) / 8; w++) {
			uint64_t n = random_next(&state);
			r.word[w] = n % 8 == 0	 ? n >> n % 64
				    : n % 8 == 1 ? own[n % DEEPEST].memory.ip
						 : from[(w + n % 3) % (sizeof(own[0]) / 8)];
		}
		memcpy(&r.rec + 1, &own[i % DEEPEST].memory, i % 2 ? 64 : 0);
		r.rec.head = (struct ebt_record){.type = EBT_RECORD_STACK,
						 .slot = SLOT,
						 .site = (uint16_t)(i % 3),
						 .tid = 7};
		r.rec.ts = i;
		r.rec.release = i % 2 ? 0 : EBT_RELEASE_OCAML_5_3;
		size_t bytes = random_next(&state) % (sizeof(r) - sizeof(r.rec));
		if (event_stacks_receive(s, &of, &r.rec, bytes))
			abort();
		given += give(SLOT, 7, i, EBT_BEGIN) > 0;
	}
	ok(given > 100, "any record gives a stack or none");
	end();
}

/* Of events that were dropped: each thread keeps its last stack alone. */
static void test_replaced(void)
{
	begin(NULL, 0);
	receive(7, 1, 2);
	stacks_free_unheld(session->stacks);
	uint32_t one = stacks_count(session->stacks);
	for (unsigned i = 0; i < 20; i++)
		receive(7, 2 + i, 3 + i);
	receive(7, 30, 2);
	stacks_free_unheld(session->stacks);
	is(stacks_count(session->stacks), one, "a stack that is replaced is given back");
	for (uint32_t tid = 1; tid <= 1000; tid++)
		receive(tid, 100 + tid, 2 + tid % 50);
	ok(give(SLOT, 1000, 1100, EBT_BEGIN) && !give(SLOT, 1, 101, EBT_BEGIN),
	   "of more threads than are remembered the last ones have theirs");
	event_stacks_free(s);
	s = NULL;
	stacks_free_unheld(session->stacks);
	is(stacks_count(session->stacks), 0, "at the end all are given back");
	end();
}

static void test_choice(void)
{
	begin((const char *const[]){"minor", "!end", "unit"}, 3);
	const struct ebt_stack_choice *c = event_stacks_choice(s);
	ok(c->ids[0][11] == 1ull << EBT_BEGIN && !c->ids[0][10], "by name and kind, of our own");
	ok(c->ids[1][10] == 1ull << EBT_BEGIN && !c->ids[1][11] && c->ids[2][10] == c->ids[1][10],
	   "by the numbers of each numbering");
	ok(!(c->kinds >> EBT_BEGIN & 1) && !(c->kinds >> EBT_END & 1) && c->kinds >> EBT_UNIT & 1,
	   "of user events by kind");
	receive(7, 1, 0);
	ok(give(SLOT, 7, 1, EBT_END) == 0, "what is not selected gets none");
	receive(7, 2, 0);
	ok(give(SLOT, 7, 2, EBT_BEGIN) == frames, "what is selected has one");
	end();
}

/* Each numbering has the same counters and the same events of a ring's life. */
static void test_choice_of_numbers(void)
{
	begin((const char *const[]){"minor_promoted", "fork_child"}, 2);
	const struct ebt_stack_choice *c = event_stacks_choice(s);
	bool right = true;
	for (unsigned numbering = 0; numbering < RING_NUMBERINGS; numbering++)
		for (unsigned id = 0; id < EBT_PHASE_IDS; id++) {
			uint64_t counter = id == 4 ? 1ull << EBT_COUNTER : 0;
			uint64_t fork = id == 5 ? 1ull << EBT_LIFECYCLE : 0;
			right &= c->ids[numbering][id] == (counter | fork);
		}
	ok(right, "counters and events of a ring's life by number, in all numberings");
	end();
}

int main(void)
{
	for (unsigned i = 0; i <= DEEPEST; i++)
		deeper(&own[i], i);
	test_pairs();
	test_cuts();
	test_ocaml();
	test_hostile();
	test_replaced();
	test_choice();
	test_choice_of_numbers();
	return tap_done();
}
