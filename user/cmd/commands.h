/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands, one file each, and the table of their names, which main, help and the completion of
 * shells read. A command receives its own argv (argv[0] is its full name) and returns the exit
 * status of the program.
 */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

/* A command, and in a set those that accept an option. */
enum opts_commands {
	OPTS_TRACE = 1,
	OPTS_STAT = 2,
	OPTS_LIST = 4,
	OPTS_INFO = 8,
	OPTS_MEM = 16,
	OPTS_MEM_RECORD = 32,
	OPTS_PAGES = 64,
	OPTS_HELP = 128,
	OPTS_COMPLETION = 256,
	OPTS_VERSION = 512,
	OPTS_TOP = 1024,
	OPTS_SPANS = 2048,
	OPTS_PROFILE = 4096,
};

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

/* What the words behind the options are. */
enum command_operands {
	OPERANDS_NONE,
	OPERANDS_FILES,
	OPERANDS_COMMAND, /* the words of a command */
	OPERANDS_SHELL,	  /* the name of one */
};

struct command {
	const char *full_name; /* "ebtrace stat"; NULL: end of the table */
	enum opts_commands options;
	enum command_operands operands;
	const char *help; /* a line */
};

/* In the order of messages; the last one is "ebtrace", without a command. */
extern const struct command commands[];

/* Its words in a command line: "stat", "mem record"; "" without a command. */
const char *command_name(const struct command *c);
/* The command that a command line begins with, and how many words name it. Never NULL. */
const struct command *command_of_words(char *const *words, int count, int *ret_words);
/* The command that a word was probably meant to be: one letter is wrong, missing or too much, or
 * two are swapped; else NULL. */
const struct command *command_like(const char *word);

int cmd_trace(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_spans(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_mem(int argc, char **argv);
int cmd_mem_record(int argc, char **argv);
int cmd_pages(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_info(int argc, char **argv);
/* run: runs another command, whose help is asked for. */
int cmd_help(int argc, char **argv, int (*run)(const struct command *c, int argc, char **argv));
int cmd_completion(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* Commands of events, of the address space or files of them; the others are about ebtrace
 * itself. */
#define COMMANDS_OF_EVENTS                                                                       \
	(OPTS_TRACE | OPTS_STAT | OPTS_SPANS | OPTS_TOP | OPTS_PROFILE | OPTS_MEM | OPTS_PAGES | \
	 OPTS_LIST | OPTS_INFO)
#define COMMANDS_ALL   (~0u)
#define COMMANDS_BYTES 128
/* "stat, list and info": the commands with these options (enum opts_commands). */
void commands_name(unsigned which, char ret[COMMANDS_BYTES]);

#endif
