/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace help: prints the commands, or opens the manual page of one. ebtrace version.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/message.h"
#include "cmd/opts.h"
#include "cmd/print.h"
#include "cmd/reports.h"

static const struct opts_command help_command = {
	OPTS_HELP, "[COMMAND]",
	"Lists the commands. With COMMAND: opens its manual page, if stdout is a terminal and man "
	"finds the page; else prints what COMMAND --help prints."
	"\vExamples:\n"
	"  ebtrace help\n"
	"  ebtrace help stat\n"
	"  ebtrace help mem record"};

static const struct opts_command version_command = {
	OPTS_VERSION, NULL, "Prints the version.\vExamples:\n  ebtrace version"};

static int print_overview(void)
{
	static const char *const examples[] = {
		"sudo ebtrace -p 1234          the events of a running process",
		"sudo ebtrace stat -a -d 10s   GC of all processes of the machine",
		"ebtrace -- ./prog args        of a program from its first event",
		"ebtrace stat -- ./prog args   its GC time and pauses",
		"ebtrace -o run.ebt -- ./prog  a capture, for later",
		"ebtrace stat run.ebt          a report of it",
		"ebtrace mem -- ./prog         where it allocates memory",
		"ebtrace list                  what can be traced",
	};
	print("Usage: ebtrace COMMAND [OPTION...] -p PID | -a | -- PROGRAM [ARGS...] | FILE\n");
	print("Shows what a language runtime does inside a process.\n");
	print("\n");
	print("Commands:\n");
	for (const struct command *c = commands; c->full_name; c++)
		if (*command_name(c))
			print("  %-12s%s\n", command_name(c), c->help);
	print("\n");
	print("Examples:\n");
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++)
		print("  %s\n", examples[i]);
	print("\n");
	print("'ebtrace COMMAND --help' lists the options of a command, 'ebtrace help COMMAND'\n");
	print("opens its manual page. ebtrace(1) is the page of all commands.\n");
	return print_end();
}

static int refuse_command(const char *word)
{
	const struct command *like = command_like(word);
	char names[COMMANDS_BYTES];
	commands_name(COMMANDS_ALL, names);
	if (like)
		complain("no such command '%s'; did you mean '%s'?", word, command_name(like));
	else
		complain("no such command '%s'; the commands are %s", word, names);
	return EXIT_USAGE;
}

typedef int run_fn(const struct command *c, int argc, char **argv);

/* The page of a command: "ebtrace-mem" for "ebtrace mem record" and "ebtrace mem". */
static void name_page(const struct command *c, char *ret, size_t bytes)
{
	const char *name = command_name(c);
	snprintf(ret, bytes, "ebtrace-%.*s", (int)strcspn(name, " "), name);
}

/* Whether man is installed and has the page. It prints where the page is, or an error: neither is
 * shown. */
static bool has_page(const char *page)
{
	char *argv[] = {(char *)"man", (char *)"-w", (char *)page, NULL};
	posix_spawn_file_actions_t quiet;
	pid_t man;
	int status;
	if (posix_spawn_file_actions_init(&quiet))
		return false;
	bool is_started = !posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null",
							    O_WRONLY, 0) &&
			  !posix_spawn_file_actions_adddup2(&quiet, STDOUT_FILENO, STDERR_FILENO) &&
			  !posix_spawnp(&man, argv[0], &quiet, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&quiet);
	return is_started && waitpid(man, &status, 0) == man && !status;
}

/* Becomes man, which shows the page of the command; returns if it cannot. */
static void open_page(const struct command *c)
{
	char page[64];
	name_page(c, page, sizeof(page));
	if (isatty(STDOUT_FILENO) && has_page(page))
		execlp("man", "man", page, NULL);
}

/* The page of a command, else its help, or that of a report of it. */
static int print_help(const struct command *c, char **rest, int count, run_fn *run)
{
	const struct report_list *reports = reports_of(c);
	bool has_report = count && reports && report_row_named(reports, *rest);
	if (count > has_report)
		return refuse_command(rest[has_report]);
	open_page(c);
	char help[] = "--help";
	char *argv[] = {(char *)c->full_name, has_report ? *rest : help, help, NULL};
	return run(c, 2 + has_report, argv);
}

int cmd_help(int argc, char **argv, run_fn *run)
{
	struct opts o;
	opts_parse(&o, &help_command, argc, argv);
	int words, count = (int)o.engine.file_count;
	const struct command *c = command_of_words(o.engine.files, count, &words);
	int status = count ? print_help(c, o.engine.files + words, count - words, run)
			   : print_overview();
	opts_done(&o);
	return status;
}

int cmd_version(int argc, char **argv)
{
	struct opts o;
	opts_parse(&o, &version_command, argc, argv);
	int status = EXIT_USAGE;
	if (o.engine.file_count)
		complain("version takes no words; 'ebtrace version --help' shows examples");
	else
		status = opts_print_version();
	opts_done(&o);
	return status;
}
