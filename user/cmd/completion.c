/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace completion: prints the script with which a shell completes command lines.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/completion_words.h"
#include "cmd/message.h"
#include "cmd/opts.h"

static const struct opts_command command = {
	OPTS_COMPLETION, "bash|zsh|fish",
	"Prints a script with which a shell completes the commands of ebtrace, their options and "
	"what these may be, reports, events and processes."
	"\vExamples:\n"
	"  source <(ebtrace completion bash)\n"
	"  source <(ebtrace completion zsh)   after compinit\n"
	"  ebtrace completion fish | source"};

/* In the order of completion_shells. */
static void (*const put_script[])(struct buf *b) = {completion_bash, completion_zsh,
						    completion_fish};

static int print_script(const struct opts *o)
{
	struct buf b;
	unsigned i = 0;
	while (completion_shells[i] &&
	       (o->engine.file_count != 1 || strcmp(completion_shells[i], o->engine.files[0])))
		i++;
	if (!completion_shells[i]) {
		complain("completion of which shell? bash, zsh or fish; 'ebtrace completion "
			 "--help' shows examples");
		return EXIT_USAGE;
	}
	int err = buf_init(&b, STDOUT_FILENO, 64 << 10);
	if (!err) {
		put_script[i](&b);
		err = buf_finish(&b);
		buf_done(&b);
	}
	if (err)
		complain("cannot write: %s", strerror(-err));
	return err ? EXIT_ERROR : EXIT_OK;
}

int cmd_completion(int argc, char **argv)
{
	struct opts o;
	opts_parse(&o, &command, argc, argv);
	int status = print_script(&o);
	opts_done(&o);
	return status;
}
