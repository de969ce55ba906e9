/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cmd/commands.h"

static const struct {
	const char *name;
	const char *full_name; /* as messages call it */
	int (*run)(int argc, char **argv);
} commands[] = {
	{"trace", "ebtrace trace", cmd_trace},
	{"stat", "ebtrace stat", cmd_stat},
	{"list", "ebtrace list", cmd_list},
	{"info", "ebtrace info", cmd_info},
};

int main(int argc, char **argv)
{
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
