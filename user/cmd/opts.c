/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/opts.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/utf8.h"
#include "cmd/commands.h"
#include "cmd/message.h"
#include "cmd/option_rows.h"
#include "cmd/print.h"
#include "cmd/quantity.h"
#include "codec/ring/ids.h"
#include "session/session.h"

/* Ends the program. A command line made of foreign file names may contain any byte. */
static __attribute__((format(printf, 2, 3))) void refuse(const struct argp_state *st,
							 const char *fmt, ...)
{
	char line[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	utf8_disarm(line);
	argp_error(st, "%s", line);
}

static uint64_t parse_time(struct argp_state *st, const char *text)
{
	double ns;
	if (!quantity_time(text, &ns) || ns > 9e18)
		refuse(st, "'%s' is not a time (like 500us, 10ms, 2s)", text);
	return (uint64_t)ns;
}

static uint64_t parse_size(struct argp_state *st, const char *text)
{
	double bytes;
	if (!quantity_size(text, &bytes) || bytes > 9e18)
		refuse(st, "'%s' is not a size (like 64K, 16M)", text);
	return (uint64_t)bytes;
}

static long parse_number(struct argp_state *st, const char *text, long min, long max)
{
	char *end;
	errno = 0;
	long v = strtol(text, &end, 10);
	if (end == text || *end || errno || v < min || v > max)
		refuse(st, "'%s' is not a number from %ld to %ld", text, min, max);
	return v;
}

static double parse_rate(struct argp_state *st, const char *text)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v >= 1e-12 && v <= 1))
		refuse(st, "'%s' is not a rate (like 1e-5, above 0 and at most 1)", text);
	return v;
}

/* The number of a word of the option's row. */
static int parse_word(struct argp_state *st, const struct option_row *r, const char *text)
{
	char known[128];
	size_t at = 0;
	for (int i = 0; r->argument->words[i]; i++) {
		if (!strcmp(text, r->argument->words[i]))
			return i;
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "",
				       r->argument->words[i]);
	}
	refuse(st, "unknown --%s '%s'; known: %s", r->name, text, known);
	return 0;
}

typedef uint64_t parse_fn(struct argp_state *st, const char *text);

/* A time or a size, not less than its row allows. */
static uint64_t parse_least(struct argp_state *st, const struct option_row *r, parse_fn *parse,
			    const char *text)
{
	const char *least = r->field.least;
	uint64_t v = parse(st, text);
	if (least && v < parse(st, least))
		refuse(st, "--%s must be %s or more", r->name, least);
	return v;
}

static uint64_t parse_power(struct argp_state *st, const struct option_row *r, const char *text)
{
	const struct option_field *f = &r->field;
	uint64_t v = parse_size(st, text);
	if (v & (v - 1) || v < parse_size(st, f->least) || v > parse_size(st, f->most))
		refuse(st, "--%s must be a power of two from %s to %s", r->name, f->least, f->most);
	return v;
}

/* What a row says of its argument. */
static void put(struct argp_state *st, const struct option_row *r, const char *arg)
{
	const struct option_field *f = &r->field;
	void *at = (char *)st->input + f->at;
	switch (f->into) {
	case INTO_OWN:
		break;
	case INTO_TRUE:
	case INTO_FALSE:
		*(bool *)at = f->into == INTO_TRUE;
		break;
	case INTO_TEXT:
		*(const char **)at = arg;
		break;
	case INTO_TEXTS:
		(*(const char ***)at)[(*(unsigned *)((char *)st->input + f->count))++] = arg;
		break;
	case INTO_WORD:
		*(unsigned *)at = (unsigned)parse_word(st, r, arg);
		break;
	case INTO_NUMBER:
		*(uint32_t *)at = (uint32_t)parse_number(st, arg, f->min, f->max);
		break;
	case INTO_RATE:
		*(double *)at = parse_rate(st, arg);
		break;
	case INTO_TIME:
		*(uint64_t *)at = parse_least(st, r, parse_time, arg);
		break;
	case INTO_MOMENT:
		*(struct moment *)at = moment_at(parse_time(st, arg));
		break;
	case INTO_SIZE:
		*(uint64_t *)at = parse_least(st, r, parse_size, arg);
		break;
	case INTO_POWER:
		*(uint64_t *)at = parse_power(st, r, arg);
		break;
	}
}

/* Of options that are not given. */
static void put_presets(struct opts *o)
{
	struct argp_state st = {.input = o};
	for (const struct option_row *r = option_rows; r->help; r++) {
		if (r->field.into == INTO_FALSE)
			*(bool *)((char *)o + r->field.at) = true;
		if (r->field.preset)
			put(&st, r, r->field.preset);
	}
}

/* PID or PID,PID...; the same process twice is one. */
static void parse_pids(struct argp_state *st, struct engine_options *e, char *arg)
{
	for (char *one = arg, *next; one; one = next) {
		next = strchr(one, ',');
		if (next)
			*next++ = 0;
		pid_t pid = (pid_t)parse_number(st, one, 1, INT_MAX);
		unsigned i = 0;
		while (i < e->pid_count && e->pids[i] != pid)
			i++;
		e->pids[i] = pid;
		e->pid_count += i == e->pid_count;
	}
}

static const struct format *parse_format(struct argp_state *st, const char *name)
{
	const struct format *format = format_named(name);
	if (!format)
		refuse(st, "unknown format '%s'; known: %s", name, format_names());
	return format;
}

static void parse_rule(struct argp_state *st, struct opts *o, char *arg)
{
	struct opts_trigger *t = &o->trigger;
	const char *over = strrchr(arg, '>');
	if (t->rules == SPAN_WATCH_RULES)
		refuse(st, "there may be %d --trigger", SPAN_WATCH_RULES);
	if (!over || over == arg)
		refuse(st, "'%s' is not SPAN>TIME (like 'pause>5ms', 'minor>2ms', quoted)", arg);
	const char *span = strndup(arg, (size_t)(over - arg));
	if (!span)
		refuse(st, "%s", strerror(ENOMEM));
	t->rule[t->rules++] = (struct span_rule){arg, span, parse_time(st, over + 1)};
	o->engine.span_globs[o->engine.span_glob_count++] = span;
}

/* Options that become more than a field. */
static void parse_own(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	struct engine_options *e = &o->engine;
	switch (key) {
	case 'p':
		parse_pids(st, e, arg);
		break;
	case OPT_OCAML_VERSION:
		e->release = ring_release_from_version_string(arg);
		if (e->release == EBT_RELEASE_AUTO)
			refuse(st, "'%s' is not an OCaml release from 5.0 to 5.5", arg);
		break;
	case OPT_BLAME:
		e->blame = true;
		e->faults |= arg && !parse_word(st, option_row_of(key), arg);
		break;
	case OPT_STACK:
		e->stacks = true;
		if (arg)
			e->stack_globs[e->stack_glob_count++] = arg;
		break;
	case 'f':
		if (o->command == OPTS_MEM || o->command == OPTS_PAGES)
			o->report_format = arg;
		else
			o->format = parse_format(st, arg);
		break;
	case OPT_DOMAIN:
		e->domains[e->domain_count++] = (uint16_t)parse_number(st, arg, 0, 4095);
		break;
	case 't':
		e->threads[e->thread_count++] = (uint32_t)parse_number(st, arg, 1, INT_MAX);
		break;
	case OPT_BY:
		o->by = (enum stat_by)(STAT_BY_PROGRAM + parse_word(st, option_row_of(key), arg));
		break;
	case OPT_TRIGGER:
		parse_rule(st, o, arg);
		break;
	case 'v':
		log_level = log_level < LOG_VERBOSE ? LOG_VERBOSE : LOG_DEBUG;
		break;
	case 'q':
		log_level = LOG_QUIET;
		break;
	}
}

int opts_print_version(void)
{
	print("ebtrace %s\n", EBT_VERSION);
	return print_end();
}

/* Help that cannot be written is an error: argp itself would end the program with status 0. */
static void print_help(struct argp_state *st, unsigned flags)
{
	argp_state_help(st, stdout, flags & ~(unsigned)(ARGP_HELP_EXIT_OK | ARGP_HELP_EXIT_ERR));
	exit(print_end());
}

/* Options that print something and end the program. */
static void answer_question(int key, struct argp_state *st)
{
	switch (key) {
	case 'h':
	case '?':
		print_help(st, ARGP_HELP_STD_HELP);
		break;
	case OPT_USAGE:
		print_help(st, ARGP_HELP_USAGE);
		break;
	case 'V':
		exit(opts_print_version());
	}
}

/* An option of another command must not be ignored silently. */
static void check_command(int key, const struct argp_state *st)
{
	char why[OPTION_REFUSAL_BYTES];
	if (option_refusal(key, ((const struct opts *)st->input)->command, why))
		refuse(st, "%s", why);
}

/* --help lists the command's own options; those of other commands are parsed to be refused. */
static void fill_options(enum opts_commands command, struct argp_option *ret)
{
	for (const struct option_row *r = option_rows; r->help; r++) {
		if (!r->commands && !option_group_has(r, command))
			continue;
		const struct option_argument *a = r->argument;
		bool own = !r->commands || r->commands & command;
		*ret++ = (struct argp_option){
			.name = r->name,
			.key = r->key,
			.arg = a ? a->name : NULL,
			.flags = (own ? 0 : OPTION_HIDDEN) |
				 (a && a->is_optional ? OPTION_ARG_OPTIONAL : 0) |
				 (r->commands && !r->name ? OPTION_ALIAS : 0),
			.doc = r->help,
			.group = r->group,
		};
	}
	*ret = (struct argp_option){0};
}

static error_t parse_opt(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	const struct option_row *r = option_row_of(key);
	if (key == ARGP_KEY_ARG)
		o->engine.files[o->engine.file_count++] = arg;
	if (!r)
		return key == ARGP_KEY_ARG ? 0 : ARGP_ERR_UNKNOWN;
	check_command(key, st);
	o->given |= 1ull << (r - option_rows);
	/* What a FILE has been recorded with, or of processes, is not asked for when it is read. */
	if (r->field.is_live && !o->live_option)
		o->live_option = r->name;
	put(st, r, arg);
	parse_own(key, arg, st);
	answer_question(key, st);
	return 0;
}

bool opts_given(const struct opts *o, int key)
{
	return o->given >> (option_row_of(key) - option_rows) & 1;
}

static rlim_t open_files(void)
{
	struct rlimit files;
	return getrlimit(RLIMIT_NOFILE, &files) ? 1024 : files.rlim_cur;
}

/* How many pids the arguments have at most. */
static int pids_in(int argc, char **argv)
{
	int n = argc;
	for (int i = 0; i < argc; i++)
		for (const char *comma = argv[i]; (comma = strchr(comma, ',')); comma++)
			n++;
	return n;
}

/* An array with room for one element an argument. */
static void *list_for(int argc, size_t size)
{
	void *list = calloc((size_t)argc + 1, size);
	if (list)
		return list;
	complain("%s", strerror(ENOMEM));
	exit(EXIT_ERROR);
}

void opts_parse(struct opts *ret, const struct opts_command *cmd, int argc, char **argv)
{
	*ret = (struct opts){
		.command = cmd->command,
		.filters = list_for(argc, sizeof(char *)),
		.engine =
			{
				.command = cmd->command == OPTS_TRACE ? NULL : argv[0],
				.describes = cmd->command == OPTS_INFO,
				.pids = list_for(pids_in(argc, argv), sizeof(pid_t)),
				.files = list_for(argc, sizeof(char *)),
				.globs = list_for(argc, sizeof(char *)),
				.stack_globs = list_for(argc, sizeof(char *)),
				.span_globs = list_for(argc, sizeof(char *)),
				.domains = list_for(argc, sizeof(uint16_t)),
				.threads = list_for(argc, sizeof(uint32_t)),
				.nice = getpriority(PRIO_PROCESS, 0),
				.open_files = open_files(),
			},
	};
	ret->wrapper_globs = list_for(argc, sizeof(char *));
	ret->wrappers.glob = ret->wrapper_globs;
	put_presets(ret);
	/* What follows "--" belongs to the program, options included. */
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		if (argv[i + 1])
			ret->engine.program = argv + i + 1;
		argc = i;
		argv[i] = NULL;
	}
	struct argp_option options[OPTION_ROWS_MAX];
	fill_options(cmd->command, options);
	struct argp argp = {
		.options = options, .parser = parse_opt, .args_doc = cmd->args, .doc = cmd->doc};
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, ret);
}

void opts_done(struct opts *o)
{
	free(o->engine.pids);
	free(o->engine.files);
	free(o->engine.globs);
	free(o->engine.stack_globs);
	free(o->engine.span_globs);
	free(o->engine.domains);
	free(o->engine.threads);
	free(o->filters);
	free(o->wrapper_globs);
	for (unsigned i = 0; i < o->trigger.rules; i++)
		free((char *)o->trigger.rule[i].span);
}
