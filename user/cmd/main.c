/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"

static const struct {
	const char *name;
	const char *full_name; /* in messages */
	int (*run)(int argc, char **argv);
} commands[] = {
	{"trace", "ebtrace trace", cmd_trace}, {"stat", "ebtrace stat", cmd_stat},
	{"mem", "ebtrace mem", cmd_mem},       {"pages", "ebtrace pages", cmd_pages},
	{"list", "ebtrace list", cmd_list},    {"info", "ebtrace info", cmd_info},
};

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
	for (unsigned i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		argv[1] = (char *)commands[i].full_name;
		return commands[i].run(argc - 1, argv + 1);
	}
	if (argc)
		argv[0] = (char *)"ebtrace";
	return cmd_trace(argc, argv);
}
