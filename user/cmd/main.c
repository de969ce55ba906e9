/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/opts.h"
#include "cmd/reports.h"

/*
 * The order of a command line. The words that name a command, and a report of it, may come behind
 * options: "ebtrace -v stat -p 1" is "ebtrace stat -v -p 1".
 */

/* The option of a word of len bytes, which may be a unique begin of its name, as for argp; NULL:
 * none. */
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

/* The index of the first word from `from` on that is neither an option nor the argument of one;
 * argc: there is none before "--". */
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

/* Whether the words argv[1..count], all but the last of them for certain, begin the name of a
 * command and of its report. */
static bool is_name(char **argv, int count)
{
	int words;
	const struct command *c = command_of_words(argv + 1, count, &words);
	const struct report_list *reports = words ? reports_of(c) : NULL;
	return words == count ||
	       (reports && words == count - 1 && report_row_named(reports, argv[count]));
}

/*
 * Moves these words to the begin of argv[1..argc), as far as they come before any other word; what
 * follows "--" stays. A word behind an option that is the name of a file remains one.
 */
static void command_line_order(int argc, char **argv)
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

/*
 * A file of ours that got the number of a closed standard descriptor would receive our messages.
 * The descriptor that fills the gap can be neither read nor written, as before, and is closed in a
 * program that we start.
 */
static void fill_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_CLOEXEC) != fd)
			_exit(EXIT_ERROR);
}

static int run(const struct command *c, int argc, char **argv)
{
	switch (c->options) {
	case OPTS_STAT:
		return cmd_stat(argc, argv);
	case OPTS_SPANS:
		return cmd_spans(argc, argv);
	case OPTS_TOP:
		return cmd_top(argc, argv);
	case OPTS_PROFILE:
		return cmd_profile(argc, argv);
	case OPTS_MEM:
		return cmd_mem(argc, argv);
	case OPTS_MEM_RECORD:
		return cmd_mem_record(argc, argv);
	case OPTS_PAGES:
		return cmd_pages(argc, argv);
	case OPTS_LIST:
		return cmd_list(argc, argv);
	case OPTS_INFO:
		return cmd_info(argc, argv);
	case OPTS_HELP:
		return cmd_help(argc, argv, run);
	case OPTS_COMPLETION:
		return cmd_completion(argc, argv);
	case OPTS_VERSION:
		return cmd_version(argc, argv);
	case OPTS_TRACE:
		break;
	}
	return cmd_trace(argc, argv);
}

int main(int argc, char **argv)
{
	fill_standard_descriptors();
	if (!argc)
		return cmd_trace(argc, argv);
	int words;
	command_line_order(argc, argv);
	const struct command *c = command_of_words(argv + 1, argc - 1, &words);
	argv[words] = (char *)c->full_name;
	return run(c, argc - words, argv + words);
}
