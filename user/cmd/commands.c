/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/commands.h"

#include <stdio.h>
#include <string.h>

const struct command commands[] = {
	{"ebtrace trace", OPTS_TRACE, OPERANDS_FILES,
	 "what a runtime does, event by event; the default"},
	{"ebtrace stat", OPTS_STAT, OPERANDS_FILES,
	 "GC time, pause percentiles, collections, memory"},
	{"ebtrace spans", OPTS_SPANS, OPERANDS_FILES,
	 "what requests and other spans of a program were made of"},
	{"ebtrace top", OPTS_TOP, OPERANDS_FILES,
	 "processes by GC time, pauses and allocation, on the screen"},
	{"ebtrace profile", OPTS_PROFILE, OPERANDS_FILES,
	 "where threads run, by samples of their stacks"},
	{"ebtrace mem", OPTS_MEM, OPERANDS_FILES,
	 "where memory is allocated, what is alive, how long objects live"},
	{"ebtrace pages", OPTS_PAGES, OPERANDS_FILES,
	 "how a heap, or an address space, holds its pages"},
	{"ebtrace list", OPTS_LIST, OPERANDS_FILES,
	 "what can be traced, and how; markers of a file; names of events"},
	{"ebtrace info", OPTS_INFO, OPERANDS_FILES,
	 "what a file or a ring is and contains; what this kernel allows"},
	{"ebtrace mem record", OPTS_MEM_RECORD, OPERANDS_NONE, "record a program or a process"},
	{"ebtrace help", OPTS_HELP, OPERANDS_COMMAND, "the commands, or the help of one"},
	{"ebtrace completion", OPTS_COMPLETION, OPERANDS_SHELL,
	 "a script with which a shell completes command lines"},
	{"ebtrace version", OPTS_VERSION, OPERANDS_NONE, "the version"},
	{"ebtrace", OPTS_TRACE, OPERANDS_FILES, ""},
	{0},
};

const char *command_name(const struct command *c)
{
	const char *name = c->full_name + strlen("ebtrace");
	return name + (*name == ' ');
}

/* How many of the words are the name; -1: it is another name. */
static int words_of(const char *name, char *const *words, int count)
{
	int n = 0;
	for (size_t len; *name; name += len + (name[len] == ' ')) {
		len = strcspn(name, " ");
		if (n == count || strlen(words[n]) != len || strncmp(words[n], name, len))
			return -1;
		n++;
	}
	return n;
}

const struct command *command_of_words(char *const *words, int count, int *ret_words)
{
	const struct command *longest = NULL;
	*ret_words = -1;
	for (const struct command *c = commands; c->full_name; c++) {
		int n = words_of(command_name(c), words, count);
		if (n <= *ret_words)
			continue;
		*ret_words = n;
		longest = c;
	}
	return longest;
}

/* Behind what two words have in common at their begin, and before what they have at their end, at
 * most one letter is left of each, or two that are swapped. */
static bool is_like(const char *a, const char *b)
{
	size_t m = strlen(a), n = strlen(b);
	for (; m && n && *a == *b; a++, b++, m--, n--)
		;
	for (; m && n && a[m - 1] == b[n - 1]; m--, n--)
		;
	return (m <= 1 && n <= 1) || (m == 2 && n == 2 && a[0] == b[1] && a[1] == b[0]);
}

const struct command *command_like(const char *word)
{
	for (const struct command *c = commands; c->full_name; c++)
		if (strlen(command_name(c)) > 1 && is_like(word, command_name(c)))
			return c;
	return NULL;
}

void commands_name(unsigned which, char ret[COMMANDS_BYTES])
{
	size_t at = 0;
	unsigned left = 0;
	*ret = 0;
	for (const struct command *c = commands; c->full_name; c++)
		left |= c->options & which;
	for (const struct command *c = commands; left; c++) {
		if (!(left & c->options))
			continue;
		left &= ~(unsigned)c->options;
		at += (size_t)snprintf(ret + at, COMMANDS_BYTES - at, "%s%s",
				       !at    ? ""
				       : left ? ", "
					      : " and ",
				       command_name(c));
	}
}
