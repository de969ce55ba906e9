/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <unistd.h>

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

int main(int argc, char **argv)
{
	fill_standard_descriptors();
	if (!argc)
		return cmd_trace(argc, argv);
	int words;
	const struct command *c = command_of_words(argv + 1, argc - 1, &words);
	argv[words] = (char *)c->full_name;
	return c->run(argc - words, argv + words);
}
