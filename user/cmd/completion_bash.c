/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/embed.h"
#include "cmd/commands.h"
#include "cmd/completion_words.h"
#include "cmd/opts.h"

EMBED(bash_functions, "user/cmd/completion.bash");

#define KEY_BYTES 32 /* of an option */

static void put_key(struct buf *b, const char *key)
{
	buf_puts(b, "\t['");
	buf_puts(b, key);
	buf_puts(b, "']='");
}

static void put_word(struct buf *b, const char *word, const char *help)
{
	(void)help;
	buf_puts(b, " ");
	buf_puts(b, word);
}

static void put_end(struct buf *b)
{
	buf_puts(b, "'\n");
}

static const struct completion_list list = {put_key, put_word, put_end};

/* An argument that is needed may follow as a word, but is asked for at once. */
static void put_options(struct buf *b, const struct command *c)
{
	put_key(b, c->full_name);
	for (const struct option_row *r = option_rows; r->help; r++) {
		const char letter[] = {'-', (char)r->key, 0};
		const struct option_argument *a = option_argument(r, c->options);
		if (!(r->commands & c->options))
			continue;
		if (option_is_letter(r->key))
			put_word(b, letter, "");
		if (!r->name)
			continue;
		buf_puts(b, " --");
		buf_puts(b, r->name);
		if (a && a->is_optional) {
			buf_puts(b, " --");
			buf_puts(b, r->name);
		}
		if (a)
			buf_puts(b, "=");
	}
	put_end(b);
}

static void put_argument(struct buf *b, const struct option_argument *a)
{
	static const char *const kinds[] = {
		[OPTION_VALUE] = "value",   [OPTION_WORDS] = "words", [OPTION_PID] = "pid",
		[OPTION_FILE] = "file",	    [OPTION_DIR] = "dir",     [OPTION_EVENT] = "event",
		[OPTION_FORMAT] = "format", [OPTION_RULE] = "rule",
	};
	buf_puts(b, kinds[a->value]);
	for (size_t i = 0; a->words && a->words[i]; i++)
		put_word(b, a->words[i], "");
	put_end(b);
}

/* What may follow an option: as a word of its own, or behind '='. */
static void put_arguments(struct buf *b, const struct option_row *r)
{
	char key[KEY_BYTES];
	if (option_is_letter(r->key)) {
		snprintf(key, sizeof(key), "-%c", r->key);
		put_key(b, key);
		put_argument(b, r->argument);
	}
	snprintf(key, sizeof(key), "--%s", r->name);
	if (!r->argument->is_optional) {
		put_key(b, key);
		put_argument(b, r->argument);
	}
	snprintf(key, sizeof(key), "--%s=", r->name);
	put_key(b, key);
	put_argument(b, r->argument);
}

/* Of a command that has words of its own for the option. */
static void put_own_arguments(struct buf *b, const struct option_row *r, const struct command *c)
{
	char key[KEY_BYTES];
	const struct option_argument *a = option_argument(r, c->options);
	if (!a || a == r->argument || !(r->commands & c->options))
		return;
	for (unsigned i = 0; i < 2; i++) {
		snprintf(key, sizeof(key), "%s --%s%s", c->full_name, r->name, i ? "=" : "");
		put_key(b, key);
		put_argument(b, a);
	}
}

void completion_bash(struct buf *b)
{
	buf_puts(b, "# bash completion for ebtrace. Made by: ebtrace completion bash\n\n"
		    "declare -gA _ebtrace_words=(\n");
	completion_put_words(b, &list);
	buf_puts(b, ")\ndeclare -gA _ebtrace_options=(\n");
	for (const struct command *c = commands; c->full_name; c++)
		put_options(b, c);
	buf_puts(b, ")\ndeclare -gA _ebtrace_arguments=(\n");
	for (const struct option_row *r = option_rows; r->help; r++) {
		if (!r->argument)
			continue;
		put_arguments(b, r);
		for (const struct command *c = commands; c->full_name; c++)
			put_own_arguments(b, r, c);
	}
	buf_puts(b, ")\ndeclare -gA _ebtrace_formats=(\n");
	completion_put_formats(b, &list);
	buf_puts(b, ")\ndeclare -gA _ebtrace_known=(\n");
	completion_put_events(b, &list);
	buf_puts(b, ")\ndeclare -gA _ebtrace_files=(\n");
	for (const struct command *c = commands; c->full_name; c++) {
		if (c->operands != OPERANDS_FILES)
			continue;
		put_key(b, c->full_name);
		put_word(b, "yes", "");
		put_end(b);
	}
	buf_puts(b, ")\n\n");
	buf_put(b, bash_functions, (size_t)(bash_functions_end - bash_functions));
}
