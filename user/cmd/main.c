/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <unistd.h>

#include "cmd/command_line.h"
#include "cmd/commands.h"

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
