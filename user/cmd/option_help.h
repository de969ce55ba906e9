/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Texts of --help. The table of options has a text for all commands that accept an option; a
 * command for which an option means something of its own has its own text here. opts.h has
 * option_help(), which chooses between them.
 */
#ifndef CMD_OPTION_HELP_H
#define CMD_OPTION_HELP_H

#include "cmd/commands.h"

/* The end of the --help of each command that reads events. */
#define HELP_EXIT_STATUS                                                                           \
	"Exit status: 0; 1 error; 2 usage; 3 loss, with --fail-on-loss; 4 nothing to trace; 5 no " \
	"such process; 6 a kernel thread; 7 no permission"

/* The text of an option, by its long name, that a command has of its own; else NULL. Static. */
const char *option_own_help(const char *name, enum opts_commands command);

#endif
