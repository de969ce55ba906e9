/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/embed.h"
#include "cmd/commands.h"
#include "cmd/completion_words.h"
#include "cmd/opts.h"

EMBED(zsh_functions, "user/cmd/completion.zsh");

/* A text inside single quotes, with backslashes before these characters. */
static void put_text(struct buf *b, const char *text, const char *escaped)
{
	for (; *text; text++) {
		if (strchr(escaped, *text))
			buf_puts(b, "\\");
		if (*text == '\'')
			buf_puts(b, "'\\'");
		buf_put(b, text, 1);
	}
}

static void put_key(struct buf *b, const char *key)
{
	buf_puts(b, "\t('");
	buf_puts(b, key);
	buf_puts(b, "') reply=(\n");
}

static void put_word(struct buf *b, const char *word, const char *help)
{
	buf_puts(b, "\t\t'");
	buf_puts(b, word);
	buf_puts(b, *help ? ":" : "");
	put_text(b, help, "");
	buf_puts(b, "'\n");
}

static void put_end(struct buf *b)
{
	buf_puts(b, "\t);;\n");
}

static const struct completion_list list = {put_key, put_word, put_end};

/* ":NAME:what completes it", as _arguments has it. */
static void put_argument(struct buf *b, const struct option_argument *a)
{
	static const char *const actions[] = {
		[OPTION_VALUE] = " ",
		[OPTION_WORDS] = "(",
		[OPTION_PID] = "_ebtrace_pids",
		[OPTION_FILE] = "_files",
		[OPTION_DIR] = "_files -/",
		[OPTION_EVENT] = "_ebtrace_events",
		[OPTION_RULE] = "_ebtrace_rules",
		[OPTION_FORMAT] = "_ebtrace_formats",
	};
	buf_puts(b, a->is_optional ? "::" : ":");
	buf_puts(b, a->name);
	buf_puts(b, ":");
	buf_puts(b, actions[a->value]);
	for (size_t i = 0; a->words && a->words[i]; i++) {
		buf_puts(b, i ? " " : "");
		buf_puts(b, a->words[i]);
	}
	buf_puts(b, a->words ? ")" : "");
}

static void put_option(struct buf *b, const char *dashes, const char *name, const char *sign,
		       const struct option_argument *argument, const char *help)
{
	buf_puts(b, "\t\t'*");
	buf_puts(b, dashes);
	put_text(b, name, "?");
	buf_puts(b, argument ? sign : "");
	buf_puts(b, "[");
	put_text(b, help, "[]\\");
	buf_puts(b, "]");
	if (argument)
		put_argument(b, argument);
	buf_puts(b, "'\n");
}

static void put_options(struct buf *b, const struct command *c)
{
	put_key(b, c->full_name);
	for (const struct option_row *r = option_rows; r->help; r++) {
		const char letter[] = {(char)r->key, 0};
		bool is_optional = r->argument && r->argument->is_optional;
		if (!(r->commands & c->options))
			continue;
		const char *help = option_help(r, c->options);
		const struct option_argument *argument = option_argument(r, c->options);
		if (option_is_letter(r->key))
			put_option(b, "-", letter, "+", argument, help);
		if (r->name)
			put_option(b, "--", r->name, is_optional ? "=-" : "=", argument, help);
	}
	put_end(b);
}

/* A function that sets `reply` by a key; 1: there is nothing. */
static void put_function_begin(struct buf *b, const char *name)
{
	buf_puts(b, "\n");
	buf_puts(b, name);
	buf_puts(b, "()\n{\n\treply=()\n\tcase $1 in\n");
}

static void put_function_end(struct buf *b)
{
	buf_puts(b, "\t(*) return 1;;\n\tesac\n}\n");
}

void completion_zsh(struct buf *b)
{
	buf_puts(b, "#compdef ebtrace\n# zsh completion for ebtrace. Made by: ebtrace completion "
		    "zsh\n");
	put_function_begin(b, "_ebtrace_words");
	completion_put_words(b, &list);
	put_function_end(b);
	put_function_begin(b, "_ebtrace_options");
	for (const struct command *c = commands; c->full_name; c++)
		put_options(b, c);
	put_function_end(b);
	put_function_begin(b, "_ebtrace_format_words");
	completion_put_formats(b, &list);
	put_function_end(b);
	put_function_begin(b, "_ebtrace_known");
	completion_put_events(b, &list);
	put_key(b, "files");
	for (const struct command *c = commands; c->full_name; c++)
		if (c->operands == OPERANDS_FILES)
			put_word(b, c->full_name, "");
	put_end(b);
	put_function_end(b);
	buf_puts(b, "\n");
	buf_put(b, zsh_functions, (size_t)(zsh_functions_end - zsh_functions));
}
