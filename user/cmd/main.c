/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cmd/commands.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"trace", cmd_trace},
	{"list", cmd_list},
	{"info", cmd_info},
};

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	return cmd_trace(argc, argv);
}
