/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/report_form.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/destination.h"
#include "cmd/formats.h"
#include "cmd/message.h"

static bool has_suffix(const char *path, const char *suffixes)
{
	size_t len = strlen(path), n;
	for (const char *s = suffixes; *s; s += n + (s[n] == ' ')) {
		n = strcspn(s, " ");
		if (n && len > n && !strncmp(path + len - n, s, n))
			return true;
	}
	return false;
}

/* The suffix promises a format, or none that there is: what would be written is another one. */
static bool is_of_others(const char *path)
{
	const char *suffix = format_suffix(path);
	return suffix &&
	       (!format_has_suffix(suffix) || format_of_path(path) != format_named("text"));
}

const struct report_form *report_form_at(const struct report_row *r, size_t i)
{
	const void *row = (const char *)r->forms + i * r->form_bytes;
	const struct report_form *f = row;
	return f->name ? f : NULL;
}

const struct report_row *report_row_at(const struct report_list *l, size_t i)
{
	const void *row = (const char *)l->reports + i * l->report_bytes;
	const struct report_row *r = row;
	return r->name ? r : NULL;
}

const struct report_row *report_row_named(const struct report_list *l, const char *name)
{
	const struct report_row *r;
	for (size_t i = 0; (r = report_row_at(l, i)); i++)
		if (!strcmp(name, r->name))
			break;
	return r;
}

/* 0, or EXIT_USAGE after a line on stderr. A report beside a PROGRAM goes to stderr, unless -o says
 * where to; messages, and what the PROGRAM prints there, would damage a binary one. */
static int check_stream(const struct opts *o, const struct report_form *f)
{
	if (!f->is_binary || (o->output && strcmp(o->output, "-") != 0))
		return 0;
	if (o->engine.program && !o->output)
		return destination_refuse_mixed(o, "error", f->name);
	if (!isatty(STDOUT_FILENO))
		return 0;
	complain("%s is not for a terminal; try: -o FILE", f->name);
	return EXIT_USAGE;
}

int report_form_choose(const struct opts *o, const struct report_row *r, size_t *ret_row)
{
	const char *name = o->json ? "json" : o->report_format;
	const struct report_form *f;
	char known[64] = "";
	*ret_row = 0;
	if (!name && !o->output)
		return 0;
	for (size_t i = 0; (f = report_form_at(r, i)); i++) {
		if (name ? !strcmp(name, f->name) : has_suffix(o->output, f->suffixes)) {
			*ret_row = i;
			return check_stream(o, f);
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 *known ? ", " : "", f->name);
	}
	if (!name && !is_of_others(o->output))
		return 0;
	complain("%s has no format '%s'; it has: %s", r->full_name + strlen("ebtrace "),
		 name ? name : strrchr(o->output, '.'), known);
	return EXIT_USAGE;
}

/* Whether a name may be a misspelt report: no file has it, and it has no slash or dot, which only
 * names of files have. */
static bool is_neither(const char *name)
{
	return strcmp(name, "-") != 0 && !strpbrk(name, "./") && access(name, F_OK);
}

static void refuse_name(const char *command, const struct report_list *l, const char *name)
{
	char known[256] = "";
	const struct report_row *r;
	for (size_t i = 0; (r = report_row_at(l, i)); i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 i ? ", " : "", r->name);
	complain("no such report or file '%s'; the reports of %s are %s%s%s", name,
		 command + strlen("ebtrace "), known, l->verb ? "; it also has " : "",
		 l->verb ? l->verb : "");
}

static bool is_report(const struct report_list *l, const char *name)
{
	return report_row_named(l, name) || (l->verb && !strcmp(name, l->verb));
}

int report_check_words(const struct opts *o, const char *command, const struct report_list *l)
{
	const char *first = o->engine.file_count ? o->engine.files[0] : "-";
	if (is_neither(first) && !is_report(l, first)) {
		refuse_name(command, l, first);
		return EXIT_USAGE;
	}
	for (unsigned i = 0; i < o->engine.file_count; i++) {
		const char *name = o->engine.files[i];
		if (!is_report(l, name) || !access(name, F_OK))
			continue;
		complain("the name of a report comes first: %s %s [OPTIONS] FILE; there is no file "
			 "'%s'",
			 command, name, name);
		return EXIT_USAGE;
	}
	return 0;
}
