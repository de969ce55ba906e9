/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/command_line.h"

#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/option_rows.h"
#include "cmd/reports.h"

/* The option of a word of len bytes, which may be a unique begin of its name, as for argp; NULL: none. */
static const struct option_row *option_named(const char *name, size_t len)
{
	const struct option_row *found = NULL;
	for (const struct option_row *r = option_rows; r->help; r++) {
		if (!r->commands || !r->name || strncmp(r->name, name, len))
			continue;
		if (!r->name[len])
			return r;
		if (found)
			return NULL;
		found = r;
	}
	return found;
}

static bool needs_argument(const struct option_row *r)
{
	return r && r->argument && !r->argument->is_optional;
}

/* Whether the next word is the argument of this option. */
static bool takes_next(const char *word)
{
	if (word[1] == '-') {
		const char *name = word + 2;
		return !strchr(name, '=') && needs_argument(option_named(name, strlen(name)));
	}
	/* Letters in one word: the first one that has an argument has the rest of the word. */
	for (const char *letter = word + 1; *letter; letter++)
		if (needs_argument(option_row_of(*letter)))
			return !letter[1];
	return false;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

/* The index of the first word from `from` on that is neither an option nor the argument of one; argc:
 * there is none before "--". */
static int next_word(int argc, char **argv, int from)
{
	int i = from;
	while (i < argc && is_option(argv[i])) {
		if (!strcmp(argv[i], "--"))
			return argc;
		i += 1 + takes_next(argv[i]);
	}
	return i < argc ? i : argc;
}

/* Whether the words argv[1..count], of which all but the last are known to, begin the name of a command
 * and of its report. */
static bool is_name(char **argv, int count)
{
	int words;
	const struct command *c = command_of_words(argv + 1, count, &words);
	const struct report_list *reports = words ? reports_of(c) : NULL;
	return words == count ||
	       (reports && words == count - 1 && report_row_named(reports, argv[count]));
}

void command_line_order(int argc, char **argv)
{
	for (int count = 1;; count++) {
		int i = next_word(argc, argv, count);
		if (i >= argc)
			return;
		char *word = argv[i], *was = argv[count];
		bool is_file = i > count && !access(word, F_OK);
		argv[count] = word;
		bool is = !is_file && is_name(argv, count);
		argv[count] = was;
		if (!is)
			return;
		memmove(argv + count + 1, argv + count, (size_t)(i - count) * sizeof(*argv));
		argv[count] = word;
	}
}
