/* SPDX-License-Identifier: BSD-2-Clause */
/* In what order processes and programs are reported, and how many. */
#include "report/stat/sections.h"

#include <string.h>

#include "tests/tap.h"

#define PROCESSES 6

/* In order of appearance; pids wrap, and are used again. */
static struct stat_process process[PROCESSES] = {
	{.pid = 900, .number = 0, .comm = "b", .numbers.gc_ns = 5},
	{.pid = 20, .number = 1, .comm = "b", .numbers.gc_ns = 5},
	{.pid = 20, .number = 2, .comm = "b", .numbers.gc_ns = 5},
	{.pid = 30, .number = 3, .comm = "a", .numbers.gc_ns = 5},
	{.pid = 40, .number = 4, .comm = "c", .numbers.gc_ns = 6},
	{.pid = 50, .number = 5, .comm = "a", .numbers.gc_ns = 4},
};

/* The order, by number. */
static const char *order(const struct stat_sections *s)
{
	static char text[PROCESSES + 1];
	memset(text, 0, sizeof(text));
	for (uint32_t i = 0; i < s->count && i < PROCESSES; i++)
		text[i] = s->section[i].process ? (char)('0' + s->section[i].process->number) : 'p';
	return text;
}

int main(void)
{
	const struct stat_programs none = {0};
	const struct stat_snapshot m = {
		.first = process, .listed = PROCESSES, .count = PROCESSES, .programs = &none};
	struct stat_sections s;
	for (unsigned i = 0; i + 1 < PROCESSES; i++)
		process[i].next = &process[i + 1];
	ok(!stat_sections_make(&m, STAT_BY_DEFAULT, 0, &s) && s.shown == PROCESSES,
	   "all processes have a section");
	is_str(order(&s), "012345", "in order of appearance");
	stat_sections_done(&s);
	ok(!stat_sections_make(&m, STAT_BY_PROCESS, 2, &s) && s.shown == 2 && s.count == PROCESSES,
	   "with a limit the first ones are shown");
	is_str(order(&s), "431205",
	       "then the most GC time comes first, and equal ones by name, pid and appearance");
	stat_sections_done(&s);
	ok(!stat_sections_make(&m, STAT_BY_PROGRAM, 0, &s) && s.programs && s.count == 3,
	   "processes of one name are a program");
	ok(!strcmp(s.section[0].program->comm, "b") && !strcmp(s.section[1].program->comm, "a") &&
		   !strcmp(s.section[2].program->comm, "c"),
	   "by their GC time together");
	is(s.section[0].numbers->gc_ns, 15, "which is added up");
	stat_sections_done(&s);
	return tap_done();
}
