/* SPDX-License-Identifier: BSD-2-Clause */
/* The model of mem in a session of its own; what fails here ends the test. */
#ifndef TESTS_MEM_FIXTURE_H
#define TESTS_MEM_FIXTURE_H

#include "report/mem/model/mem.h"
#include "tests/unit/processes_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES 4
#define FUNCTIONS 12

struct mem_fixture {
	struct session *session;
	struct mem_model model;
	uint32_t frame
		[FUNCTIONS]; /* of function f0 …, f5 of file 1, each at the line of its number */
	uint64_t objects;
};

/* The index of a process is its pid, from 1; each word is sampled with chance rate. */
static inline void mem_fixture_begin(struct mem_fixture *x, double rate,
				     const struct mem_options *o)
{
	*x = (struct mem_fixture){0};
	if (session_new(&x->session) || enter_processes(x->session, PROCESSES))
		abort();
	for (uint32_t i = 1; i <= PROCESSES; i++)
		processes_announce(&x->session->processes, i)->alloc_trace =
			(struct alloc_trace){.known = true, .sample_rate = rate, .word_bits = 64};
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char name[16];
		snprintf(name, sizeof(name), "f%u", i);
		struct frame_position at = {
			.function = strings_put(x->session->strings, name, strlen(name)),
			.file = strings_put(x->session->strings, "a.c", 3),
			.line = i,
			.has_line = true,
		};
		x->frame[i] = frames_put(x->session->frames,
					 &(struct frame){.count = 1, .position = &at});
		strings_drop(x->session->strings, at.function);
		strings_drop(x->session->strings, at.file);
	}
	if (mem_model_init(&x->model, x->session, o))
		abort();
}

/* The stack of these functions, the outermost first, a letter each: "abc". */
static inline uint32_t mem_fixture_stack(struct mem_fixture *x, const char *functions)
{
	uint32_t stack = 0;
	for (; *functions; functions++)
		stack = stacks_push(x->session->stacks, stack, x->frame[*functions - 'a']);
	return stack;
}

static inline void mem_fixture_push(struct mem_fixture *x, struct ebt_event ev)
{
	if (mem_model_events(&x->model, &ev, 1))
		abort();
}

static inline struct ebt_event mem_alloc(uint64_t ts, uint32_t process, uint64_t obj,
					 uint32_t stack, uint64_t samples)
{
	return (struct ebt_event){.ts = ts,
				  .kind = EBT_ALLOC,
				  .process = process,
				  .stack = stack,
				  .pos = samples,
				  .arg = {obj, samples}};
}

static inline void mem_fixture_done(struct mem_fixture *x)
{
	mem_model_done(&x->model);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		frames_drop(x->session->frames, x->frame[i]);
	session_free(x->session);
}

#endif
