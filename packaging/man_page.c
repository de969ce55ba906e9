/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills what the tables of the program have into the source of a manual page: stdin, in scdoc's format,
 * to stdout. A list ends with a line `@end`; text behind `@more NAME` is added to an entry of it:
 *
 *	@option NAME		one option, by its long name, and the lines behind it up to @end
 *	@options COMMAND	all options of a command
 *	@commands		all commands
 *	@reports COMMAND	the reports of a command
 *	@formats		the formats of events
 *
 * Text for an entry that a list does not have is an error: a page cannot describe an option that is gone.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/formats.h"
#include "cmd/opts.h"
#include "cmd/reports.h"

#define LINE_BYTES   1024
#define MORE_MAX     64
#define TEXT_BYTES   16384
#define PREFIX(word) (word), sizeof(word) - 1

struct more {
	char name[64];
	char *text; /* of lines */
	bool is_used;
};

struct list {
	struct more more[MORE_MAX];
	size_t count;
};

static __attribute__((noreturn)) void fail(const char *what, const char *name)
{
	fprintf(stderr, "man_page: %s '%s'\n", what, name);
	exit(1);
}

/* A text of a table, of which no character means anything to scdoc. */
static void put_text(const char *text)
{
	for (; *text; text++) {
		if (strchr("*_\\", *text))
			putchar('\\');
		putchar(*text);
	}
}

/* Lines, indented as the text of an entry. */
static void put_lines(const char *text)
{
	for (const char *end; *text; text = end + 1) {
		end = strchr(text, '\n');
		printf("%s%.*s\n", end == text ? "" : "\t", (int)(end - text), text);
	}
}

static void put_more(struct list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->more[i].name, name))
			continue;
		put_lines(l->more[i].text);
		l->more[i].is_used = true;
	}
	putchar('\n');
}

/* "\tThe text of the table.\n" */
static void put_help(const char *help)
{
	putchar('\t');
	if (strchr(help, ',') != strchr(help, ' ') - 1) /* no list of words that are typed */
		putchar(toupper(*help++));
	put_text(help);
	printf("%s\n", help[strlen(help) - 1] == '.' ? "" : ".");
}

/* "_auto_|_ring_", or the name of what the argument is. */
static void put_argument(const struct option_argument *a)
{
	printf("%s_", a->is_optional ? "[=" : " ");
	if (a->words && !a->is_optional)
		for (size_t i = 0; a->words[i]; i++) {
			printf("%s", i ? "_|_" : "");
			put_text(a->words[i]);
		}
	else
		put_text(a->name);
	printf("_%s", a->is_optional ? "]" : "");
}

static void put_option(struct list *l, const struct option_row *r, enum opts_commands command)
{
	printf("*");
	if (option_is_letter(r->key))
		printf("-%c, ", r->key);
	printf("--%s*", r->name);
	if (r->argument)
		put_argument(r->argument);
	putchar('\n');
	put_help(option_help(r, command));
	put_more(l, r->name);
}

static const struct command *command_of(const char *name)
{
	for (const struct command *c = commands; c->full_name; c++)
		if (!strcmp(command_name(c), name))
			return c;
	fail("no such command", name);
}

static void put_options(struct list *l, const char *name)
{
	const struct command *c = command_of(name);
	for (const struct option_row *r = option_rows; r->help; r++) {
		if (!r->commands && option_group_has(r, c->options))
			printf("## %.*s\n\n", (int)strcspn(r->help, ":"), r->help);
		else if (r->commands & c->options && r->name)
			put_option(l, r, c->options);
	}
}

static void put_one_option(struct list *l, const char *name)
{
	for (const struct option_row *r = option_rows; r->help; r++) {
		if (!r->commands || !r->name || strcmp(r->name, name))
			continue;
		put_option(l, r, 0);
		return;
	}
	fail("no such option", name);
}

static void put_commands(struct list *l)
{
	for (const struct command *c = commands; c->full_name; c++) {
		if (!*command_name(c))
			continue;
		printf("*%s*\n", command_name(c));
		put_help(c->help);
		put_more(l, command_name(c));
	}
}

static void put_reports(struct list *l, const char *name)
{
	const struct report_list *reports = reports_of(command_of(name));
	const struct report_row *r;
	const struct report_form *f;
	if (!reports)
		fail("a command without reports", name);
	for (size_t i = 0; (r = report_row_at(reports, i)); i++) {
		printf("*%s*\n", r->name);
		put_help(r->help);
		printf("\tFormats:");
		for (size_t j = 0; (f = report_form_at(r, j)); j++)
			printf("%s _%s_", j ? "," : "", f->name);
		printf(".\n");
		put_more(l, r->name);
	}
}

static void put_formats(struct list *l)
{
	const struct format *f;
	for (size_t i = 0; (f = format_at(i)); i++) {
		printf("*%s* (", f->name);
		for (const char *s = f->suffixes; *s; s++)
			printf(*s == ' ' ? ", " : "%c", *s);
		printf(")\n");
		put_more(l, f->name);
	}
}

static void add_line(struct more *m, const char *line)
{
	if (strlen(m->text) + strlen(line) >= TEXT_BYTES)
		fail("too long is the text of", m->name);
	strcat(m->text, line);
}

/* The text of the entries, up to @end. That of a single option follows it. */
static void read_more(struct list *l, const char *only)
{
	char line[LINE_BYTES];
	*l = (struct list){.count = 0};
	struct more *m = NULL;
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "@end\n")) {
		if (only || !strncmp(line, PREFIX("@more "))) {
			if (l->count == MORE_MAX)
				fail("too many entries before", line);
			m = &l->more[l->count++];
			const char *name = only ? only : line + strlen("@more ");
			if (strlen(name) >= sizeof(m->name))
				fail("too long a name:", name);
			memcpy(m->name, name, strcspn(name, "\n"));
			m->text = calloc(TEXT_BYTES, 1);
			if (!m->text)
				fail("no memory for", m->name);
			if (!only)
				continue;
			only = NULL;
		}
		if (!m)
			fail("text before the first @more:", line);
		add_line(m, line);
	}
}

static void check_used(struct list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		if (!l->more[i].is_used)
			fail("no table has", l->more[i].name);
		free(l->more[i].text);
	}
}

/* A directive and the lines that belong to it. */
static void put_list(char *line)
{
	struct list l;
	line[strcspn(line, "\n")] = 0;
	char *of = strchr(line, ' ');
	if (of)
		*of++ = 0;
	bool is_single = !strcmp(line, "@option") && of;
	read_more(&l, is_single ? of : NULL);
	if (is_single)
		put_one_option(&l, of);
	else if (!strcmp(line, "@options") && of)
		put_options(&l, of);
	else if (!strcmp(line, "@commands"))
		put_commands(&l);
	else if (!strcmp(line, "@reports") && of)
		put_reports(&l, of);
	else if (!strcmp(line, "@formats"))
		put_formats(&l);
	else
		fail("unknown directive", line);
	check_used(&l);
}

int main(void)
{
	char line[LINE_BYTES];
	while (fgets(line, sizeof(line), stdin)) {
		if (*line == '@')
			put_list(line);
		else
			fputs(line, stdout);
	}
	return fflush(stdout) || ferror(stdout) || ferror(stdin);
}
