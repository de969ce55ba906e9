// SPDX-License-Identifier: BSD-2-Clause
/* How the program that samples the allocations of OCaml runtimes walks a stack, also one that a
 * hostile program has made. */
#include "tests/unit/ocaml_program.h"

/* The stack of a sample as "3 1 0", with a * if it is not whole. */
static const char *walk(void)
{
	static char text[1024];
	size_t n = 0;
	domain = NULL;
	memset(turns, 0, sizeof(turns));
	const struct ebt_alloc_record *rec = allocate(1, 0);
	if (!rec)
		return "none";
	const struct ebt_ocaml_frame *frame = (const struct ebt_ocaml_frame *)(rec + 1);
	*text = 0;
	for (size_t i = 0; i < rec->head.size / sizeof(*frame); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d", n ? " " : "",
				      (int)((frame[i].address - 0x400000) / 8));
	if (rec->arg[4] & EBT_OCAML_CUT)
		snprintf(text + n, sizeof(text) - n, "*");
	return text;
}

#define is_walk(wanted, name) ok(!strcmp(walk(), wanted), "%s: %s", name, walk())

static void test_walks(void)
{
	begin();
	call(&stacks[0], 2);
	call(&stacks[0], 0);
	call(&stacks[0], 3);
	is_walk("3 0 2", "up to the program's start");
	begin();
	call(&stacks[0], 1);
	begin_chunk(&stacks[0]);
	call(&stacks[0], 2);
	state[8] = (uintptr_t)link_words[1];
	link_words[1][2] = (uintptr_t)link_words[0];
	is_walk("2 1", "below a callback from C it goes on");
	const struct ocaml_walk *w =
		(const void *)((const struct ebt_alloc_record *)kernel.rec + 1);
	ok(w->callbacks == 1 && w->callback[0].link == state[8] && w->callback[0].frames == 1 &&
		   w->callback[0].outer == link_words[1][2],
	   "which is noted");
	begin();
	call(&stacks[0], 1);
	begin_stack(&stacks[1], &stacks[0]);
	begin_chunk(&stacks[1]);
	call(&stacks[1], 4);
	state[5] = (uintptr_t)&stacks[1];
	is_walk("4 1", "an effect handler's stack, and that below it");
	stacks[1].word[WORDS - 1] = 0;
	is_walk("4", "without that it ends");
	state[8] = (uintptr_t)link_words[1];
	link_words[1][2] = (uintptr_t)link_words[0];
	is_walk("4*", "but not while C that OCaml has called runs OCaml");
	begin();
	runtime_is.stacks.first_frame = 16;
	call(&stacks[0], 2);
	push(&stacks[0], 0x1234);
	is_walk("2", "with frame pointers");
}

static void test_known(void)
{
	begin();
	call(&stacks[0], 2);
	is_walk("2", "a stack is walked");
	memset(table_slots, 0, sizeof(table_slots));
	is_walk("2", "and again by what is known of its descriptors");
	begin();
	call(&stacks[0], 2);
	for (unsigned i = 0; i < OCAML_KNOWN; i++)
		known[i] = i % 2 ? (uintptr_t)descriptor[1] : 8;
	is_walk("2", "what is known of another's, or cannot be read, is not used");
}

/* Behind the stack nothing can be read. */
static void test_end(void)
{
	static const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	struct stack *s = mmap(NULL, sizeof(*s), prot, flags, -1, 0);
	unsigned whole = 0;
	begin();
	kernel.low = 4096;
	kernel.high = (uintptr_t)(s + 1);
	begin_stack(s, NULL);
	begin_chunk(s);
	state[5] = (uintptr_t)s;
	for (unsigned i = 1; i <= 2 * OCAML_AHEAD; i++) {
		call(s, 0);
		whole += strlen(walk()) == 2 * i - 1;
	}
	is(whole, 2 * OCAML_AHEAD, "a stack is read up to its end");
	kernel.low = kernel.high = 0;
	munmap(s, sizeof(*s));
}

static void test_hostile(void)
{
	begin();
	call(&stacks[0], 2);
	call(&stacks[0], UNKNOWN);
	is_walk("*", "an address without a descriptor ends it");
	begin();
	call(&stacks[0], 1);
	stacks[0].word[0] += 4;
	is_walk("*", "so does a stack that is not aligned");
	begin();
	call(&stacks[0], 1);
	stacks[0].word[2] = at_word(&stacks[0], WORDS - 8);
	is_walk("1*", "one that leaves its bounds");
	begin();
	call(&stacks[0], 1);
	memset(descriptor[1] + 8, 0, 2);
	is_walk("1*", "a frame without words");
	begin();
	call(&stacks[0], 1);
	stacks[0].word[WORDS - 1] = (uintptr_t)&stacks[0];
	walk();
	ok(steps <= OCAML_STEPS && strlen(walk()) >= 2 * EBT_OCAML_FRAMES &&
		   walk()[strlen(walk()) - 1] == '*',
	   "a circle of stacks, in %u steps", steps);
	begin();
	for (int i = 0; i < 200; i++)
		call(&stacks[0], 0);
	ok(strlen(walk()) == 2 * EBT_OCAML_FRAMES, "a stack has %d frames at most",
	   EBT_OCAML_FRAMES);
	begin();
	call(&stacks[0], 1);
	for (unsigned i = 0; i < SLOTS; i++)
		table_slots[i] = (uintptr_t)descriptor[2];
	is_walk("*", "a table that is full of others");
	ok(steps <= OCAML_PROBES, "in %u steps", steps);
	memset(table_slots, 0, sizeof(table_slots));
	begin();
	table.slots = 0;
	is_walk("*", "no table");
	begin();
	table.mask = UINT32_MAX;
	is_walk("*", "a table without an end");
	begin();
	state[5] = 8;
	is_walk("*", "memory that cannot be read");
}

int main(void)
{
	test_walks();
	test_known();
	test_end();
	test_hostile();
	return tap_done();
}
