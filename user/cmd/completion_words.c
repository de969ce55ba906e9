/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/completion_words.h"

#include <stdio.h>
#include <string.h>

#include "cmd/formats.h"
#include "cmd/list_events.h"
#include "cmd/reports.h"
#include "format/ebt/span_watch.h"

const char *const completion_shells[] = {"bash", "zsh", "fish", NULL};

#define KEY_BYTES 64

/* The one word that a command has behind another's; else NULL. */
static const char *word_behind(const struct command *c, const struct command *of)
{
	size_t len = strlen(of->full_name);
	if (strncmp(c->full_name, of->full_name, len) || c->full_name[len] != ' ')
		return NULL;
	const char *word = c->full_name + len + 1;
	return strchr(word, ' ') ? NULL : word;
}

/* The reports of a command and the commands that begin with its name, after the words of
 * `asked`. */
static void put_commands(struct buf *b, const struct completion_list *l, const char *asked,
			 const struct command *c)
{
	const struct report_row *r;
	const char *word;
	char key[KEY_BYTES];
	if (*command_name(c) && !reports_of(c))
		return;
	snprintf(key, sizeof(key), "%s%s", asked, c->full_name + strlen("ebtrace"));
	l->begin(b, key);
	for (size_t i = 0; reports_of(c) && (r = report_row_at(reports_of(c), i)); i++)
		l->word(b, r->name, r->help);
	for (const struct command *d = commands; d->full_name; d++)
		if ((word = word_behind(d, c)))
			l->word(b, word, d->help);
	l->end(b);
}

static void put_shells(struct buf *b, const struct completion_list *l, const struct command *c)
{
	l->begin(b, c->full_name);
	for (unsigned i = 0; completion_shells[i]; i++)
		l->word(b, completion_shells[i], "");
	l->end(b);
}

void completion_put_words(struct buf *b, const struct completion_list *l)
{
	for (const struct command *c = commands; c->full_name; c++) {
		put_commands(b, l, "ebtrace", c);
		if (c->operands == OPERANDS_SHELL)
			put_shells(b, l, c);
		if (c->operands != OPERANDS_COMMAND)
			continue;
		for (const struct command *d = commands; d->full_name; d++)
			put_commands(b, l, c->full_name, d);
	}
}

static void put_forms(struct buf *b, const struct completion_list *l, const char *key,
		      const struct report_row *r)
{
	const struct report_form *f;
	l->begin(b, key);
	for (size_t i = 0; (f = report_form_at(r, i)); i++)
		l->word(b, f->name, "");
	l->end(b);
}

void completion_put_formats(struct buf *b, const struct completion_list *l)
{
	const struct report_row *r;
	const struct format *f;
	for (const struct command *c = commands; c->full_name; c++) {
		/* Without a report it is the first one. */
		if (report_default(c))
			put_forms(b, l, c->full_name, report_default(c));
		for (size_t i = 0; reports_of(c) && (r = report_row_at(reports_of(c), i)); i++)
			put_forms(b, l, r->full_name, r);
		if (report_default(c) || !(option_row_of('f')->commands & c->options))
			continue;
		l->begin(b, c->full_name);
		for (size_t i = 0; (f = format_at(i)); i++)
			l->word(b, f->name, f->suffixes);
		l->end(b);
	}
}

struct events_list {
	struct buf *b;
	const struct completion_list *l;
	char line[128];
};

static void put_event(void *ctx, const char *family, const char *name, const char *help)
{
	struct events_list *e = ctx;
	snprintf(e->line, sizeof(e->line), "%s: %s", family, help);
	e->l->word(e->b, name, e->line);
}

/* With a time that is then changed. */
static void put_rule(void *ctx, const char *family, const char *name, const char *help)
{
	struct events_list *e = ctx;
	if (strcmp(family, "phase") && strcmp(name, SPAN_WATCH_PAUSE))
		return;
	snprintf(e->line, sizeof(e->line), "%s>1ms", name);
	e->l->word(e->b, e->line, help);
}

void completion_put_events(struct buf *b, const struct completion_list *l)
{
	struct events_list e = {b, l, ""};
	l->begin(b, "events");
	list_events_each(put_event, &e);
	l->end(b);
	l->begin(b, "rules");
	list_events_each(put_rule, &e);
	l->end(b);
}
