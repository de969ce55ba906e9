/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands, one file each. A command receives its own argv (argv[0] is its name) and returns
 * the exit status of the program.
 */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

enum exit_status {
	EXIT_OK = 0,
	EXIT_ERROR = 1,
	EXIT_USAGE = 2,
	EXIT_LOSS = 3,	  /* --fail-on-loss */
	EXIT_NOTHING = 4, /* the process has nothing to trace */
	EXIT_GONE = 5,	  /* no such process */
	EXIT_KERNEL = 6,  /* a kernel thread */
	EXIT_DENIED = 7,  /* no permission for the process or file */
};

int cmd_trace(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_mem(int argc, char **argv);
int cmd_pages(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_info(int argc, char **argv);

#endif
