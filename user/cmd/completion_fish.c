/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/embed.h"
#include "cmd/commands.h"
#include "cmd/completion_words.h"
#include "cmd/opts.h"

EMBED(fish_functions, "user/cmd/completion.fish");

/* Inside single quotes. */
static void put_text(struct buf *b, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\'", *text))
			buf_puts(b, "\\");
		buf_put(b, text, 1);
	}
}

static void put_key(struct buf *b, const char *key)
{
	buf_puts(b, "\t\tcase '");
	buf_puts(b, key);
	buf_puts(b, "'\n\t\t\tprintf '%s\\t%s\\n'");
}

static void put_word(struct buf *b, const char *word, const char *help)
{
	buf_puts(b, " \\\n\t\t\t\t'");
	buf_puts(b, word);
	buf_puts(b, "' '");
	put_text(b, help);
	buf_puts(b, "'");
}

static void put_end(struct buf *b)
{
	buf_puts(b, "\n");
}

static const struct completion_list list = {put_key, put_word, put_end};

static void put_argument(struct buf *b, const struct option_argument *a)
{
	static const char *const kinds[] = {
		[OPTION_VALUE] = "",
		[OPTION_WORDS] = " -a '",
		[OPTION_PID] = " -a '(__ebtrace_pids)'",
		[OPTION_FILE] = " -F",
		[OPTION_DIR] = " -a '(__fish_complete_directories)'",
		[OPTION_EVENT] = " -a '(__ebtrace_events)'",
		[OPTION_RULE] = " -a '(__ebtrace_list_of rules)'",
		[OPTION_FORMAT] = " -a '(__ebtrace_formats (__ebtrace_name))'",
	};
	buf_puts(b, a->is_optional ? "" : " -r");
	buf_puts(b, a->value == OPTION_FILE ? "" : " -f");
	buf_puts(b, kinds[a->value]);
	for (size_t i = 0; a->words && a->words[i]; i++) {
		buf_puts(b, i ? " " : "");
		buf_puts(b, a->words[i]);
	}
	buf_puts(b, a->words ? "'" : "");
}

static bool has_help(const struct option_row *r, const struct command *c, const char *help)
{
	return r->commands & c->options && option_help(r, c->options) == help;
}

/* An option of the commands for which it has this help text. */
static void put_option(struct buf *b, const struct option_row *r, const char *help,
		       const struct option_argument *argument)
{
	const char letter[] = {(char)r->key, 0};
	buf_puts(b, "complete -c ebtrace -n '__ebtrace_is");
	for (const struct command *c = commands; c->full_name; c++) {
		if (!has_help(r, c, help))
			continue;
		buf_puts(b, " \"");
		buf_puts(b, c->full_name);
		buf_puts(b, "\"");
	}
	buf_puts(b, "'");
	if (option_is_letter(r->key)) {
		buf_puts(b, " -s '");
		buf_puts(b, letter);
		buf_puts(b, "'");
	}
	if (r->name) {
		buf_puts(b, " -l ");
		buf_puts(b, r->name);
	}
	if (argument)
		put_argument(b, argument);
	buf_puts(b, " -d '");
	put_text(b, help);
	buf_puts(b, "'\n");
}

/* A line for each help text that the option has. */
static void put_options(struct buf *b, const struct option_row *r)
{
	for (const struct command *c = commands; c->full_name; c++) {
		const char *help = option_help(r, c->options);
		const struct command *first = commands;
		while (first != c && !has_help(r, first, help))
			first++;
		if (first == c && r->commands & c->options)
			put_option(b, r, help, option_argument(r, c->options));
	}
}

static void put_function_begin(struct buf *b, const char *name)
{
	buf_puts(b, "\nfunction ");
	buf_puts(b, name);
	buf_puts(b, "\n\tswitch $argv[1]\n");
}

static void put_function_end(struct buf *b)
{
	buf_puts(b, "\tend\nend\n");
}

void completion_fish(struct buf *b)
{
	buf_puts(b, "# fish completion for ebtrace. Made by: ebtrace completion fish\n");
	put_function_begin(b, "__ebtrace_words");
	completion_put_words(b, &list);
	put_function_end(b);
	put_function_begin(b, "__ebtrace_formats");
	completion_put_formats(b, &list);
	put_function_end(b);
	put_function_begin(b, "__ebtrace_list_of");
	completion_put_events(b, &list);
	put_key(b, "commands");
	for (const struct command *c = commands; c->full_name; c++)
		put_word(b, c->full_name, "");
	put_end(b);
	put_key(b, "files");
	for (const struct command *c = commands; c->full_name; c++)
		if (c->operands == OPERANDS_FILES)
			put_word(b, c->full_name, "");
	put_end(b);
	put_function_end(b);
	buf_puts(b, "\n");
	buf_put(b, fish_functions, (size_t)(fish_functions_end - fish_functions));
	for (const struct option_row *r = option_rows; r->help; r++)
		if (r->commands)
			put_options(b, r);
}
