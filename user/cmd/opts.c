/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/opts.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
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

static uint64_t parse_scaled(struct argp_state *st, const char *text, const char *what,
			     const char *const units[], const double scale[], double fallback)
{
	char *end;
	errno = 0;
	double v = strtod(text, &end);
	double factor = -1;
	if (!*end)
		factor = fallback;
	for (unsigned i = 0; units[i]; i++)
		if (!strcmp(end, units[i]))
			factor = scale[i];
	if (end == text || errno || !isfinite(v) || v < 0 || factor < 0 || v * factor > 9e18)
		refuse(st, "'%s' is not a %s", text, what);
	return (uint64_t)(v * factor);
}

static uint64_t parse_time(struct argp_state *st, const char *text)
{
	static const char *const units[] = {"ns", "us", "ms", "s", "m", "h", NULL};
	static const double scale[] = {1, 1e3, 1e6, 1e9, 60e9, 3600e9};
	return parse_scaled(st, text, "time (like 500us, 10ms, 2s)", units, scale, 1e9);
}

static uint64_t parse_size(struct argp_state *st, const char *text)
{
	static const char *const units[] = {"k", "K", "M", "G", NULL};
	static const double scale[] = {1024, 1024, 1048576, 1073741824};
	return parse_scaled(st, text, "size (like 64K, 16M)", units, scale, 1);
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
static int parse_word(struct argp_state *st, int key, const char *text)
{
	const struct option_row *r = option_row_of(key);
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

static void parse_buffer(struct argp_state *st, struct opts *o, const char *arg)
{
	o->engine.bpf_buffer_bytes = parse_size(st, arg);
	if (o->engine.bpf_buffer_bytes < 4096 || o->engine.bpf_buffer_bytes > 1u << 30 ||
	    (o->engine.bpf_buffer_bytes & (o->engine.bpf_buffer_bytes - 1)))
		refuse(st, "--bpf-buffer must be a power of two from 4K to 1G");
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

/* Options of the input. */
static error_t parse_target(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
	case 'p':
		parse_pids(st, &o->engine, arg);
		return 0;
	case 'd':
		o->engine.duration_ns = parse_time(st, arg);
		return 0;
	case OPT_RING_DIR:
		o->engine.ring_dir = arg;
		return 0;
	case OPT_OCAML_VERSION:
		o->engine.release = ring_release_from_version_string(arg);
		if (o->engine.release == EBT_RELEASE_AUTO)
			refuse(st, "'%s' is not an OCaml release from 5.0 to 5.5", arg);
		return 0;
	case OPT_MODE:
		o->engine.mode = (enum engine_mode)parse_word(st, key, arg);
		return 0;
	case OPT_RING_REQUEST:
		o->engine.ring_request = (enum engine_ring_request)parse_word(st, key, arg);
		return 0;
	case OPT_PAGES:
		o->engine.pages = true;
		return 0;
	case OPT_BLAME:
		o->engine.blame = true;
		o->engine.faults |= arg && !parse_word(st, key, arg);
		return 0;
	case OPT_STACK:
		o->engine.stacks = true;
		if (arg)
			o->engine.stack_globs[o->engine.stack_glob_count++] = arg;
		return 0;
	case OPT_SNAPSHOT:
		o->engine.snapshot = true;
		return 0;
	case OPT_WAIT:
		o->engine.wait = true;
		return 0;
	case OPT_NO_FOLLOW:
		o->engine.follow = false;
		return 0;
	case OPT_CHILDREN:
		o->children = true;
		return 0;
	case OPT_NO_REALTIME:
		o->engine.realtime = false;
		return 0;
	case ARGP_KEY_ARG:
		o->engine.files[o->engine.file_count++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct format *parse_format(struct argp_state *st, const char *name)
{
	const struct format *format = format_named(name);
	if (!format)
		refuse(st, "unknown format '%s'; known: %s", name, format_names());
	return format;
}

/* Options of the selection and the output. */
static error_t parse_output(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
	case 'e':
		o->engine.globs[o->engine.glob_count++] = arg;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case 'f':
		if (o->command == OPTS_MEM || o->command == OPTS_PAGES)
			o->report_format = arg;
		else
			o->format = parse_format(st, arg);
		return 0;
	case OPT_DOMAIN:
		o->engine.domains[o->engine.domain_count++] =
			(uint16_t)parse_number(st, arg, 0, 4095);
		return 0;
	case 't':
		o->engine.threads[o->engine.thread_count++] =
			(uint32_t)parse_number(st, arg, 1, INT_MAX);
		return 0;
	case OPT_BY:
		o->by = (enum stat_by)(STAT_BY_PROGRAM + parse_word(st, key, arg));
		return 0;
	case OPT_TOP:
		o->top = (uint32_t)parse_number(st, arg, 1, INT_MAX);
		return 0;
	case OPT_RATE:
		o->rate = parse_rate(st, arg);
		return 0;
	case OPT_TIME:
		o->time = (enum text_time)parse_word(st, key, arg);
		o->has_time_form = true;
		return 0;
	case OPT_MAX_STACK:
		o->max_stack = (uint32_t)parse_number(st, arg, 0, INT_MAX);
		return 0;
	case OPT_MIN_DURATION:
		o->engine.min_duration_ns = parse_time(st, arg);
		return 0;
	case OPT_INTERVAL:
		o->interval_ns = parse_time(st, arg);
		if (o->interval_ns < 1000000)
			refuse(st, "--interval must be 1ms or more");
		return 0;
	case OPT_BUFFER:
		o->engine.buffer_bytes = parse_size(st, arg);
		return 0;
	case OPT_BPF_BUFFER:
		parse_buffer(st, o, arg);
		return 0;
	case OPT_ATTACH:
		o->engine.attach = (enum engine_attach)parse_word(st, key, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
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

static error_t parse_trigger(int key, char *arg, struct argp_state *st)
{
	struct opts_trigger *t = &((struct opts *)st->input)->trigger;
	if (key == OPT_TRIGGER) {
		parse_rule(st, st->input, arg);
		return 0;
	}
	switch (key) {
	case OPT_BEFORE:
		t->before_ns = parse_time(st, arg);
		break;
	case OPT_AFTER:
		t->after_ns = parse_time(st, arg);
		break;
	case OPT_MAX:
		t->max = (unsigned)parse_number(st, arg, 0, 1000000);
		break;
	case OPT_TRIGGER_MEMORY:
		t->memory = parse_size(st, arg);
		if (t->memory < 1u << 20)
			refuse(st, "--trigger-memory must be 1M or more");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	t->has_limits = true;
	return 0;
}

/* Options that limit the files of an output. */
static error_t parse_limit(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
	case OPT_MAX_SIZE:
		o->max_bytes = parse_size(st, arg);
		if (o->max_bytes < 4096)
			argp_error(st, "--max-size must be 4K or more");
		return 0;
	case OPT_ROTATE:
		o->rotate = (unsigned)parse_number(st, arg, 1, 1000);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Options of mem and pages. */
static error_t parse_mem(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
	case OPT_FILTER:
		o->filters[o->filter_count++] = arg;
		return 0;
	case OPT_WRAPPER:
		o->wrapper_globs[o->wrappers.globs++] = arg;
		return 0;
	case OPT_NO_WRAPPERS:
		o->wrappers.only_globs = true;
		return 0;
	case OPT_AT:
		o->at = moment_at(parse_time(st, arg));
		return 0;
	case OPT_FROM:
		o->from = moment_at(parse_time(st, arg));
		return 0;
	case OPT_TO:
		o->to = moment_at(parse_time(st, arg));
		return 0;
	case OPT_PER:
		o->per = (enum mem_per)parse_word(st, key, arg);
		o->has_per = true;
		return 0;
	case OPT_LIVE:
		o->live = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
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
static error_t parse_question(int key, struct argp_state *st)
{
	switch (key) {
	case 'h':
	case '?':
		print_help(st, ARGP_HELP_STD_HELP);
		return 0;
	case OPT_USAGE:
		print_help(st, ARGP_HELP_USAGE);
		return 0;
	case 'V':
		exit(opts_print_version());
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_flag(int key, struct opts *o)
{
	switch (key) {
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_JSON_SCHEMA:
		o->json_schema = true;
		return 0;
	case OPT_FAIL_ON_LOSS:
		o->fail_on_loss = true;
		return 0;
	case OPT_EVENTS:
		o->events = true;
		return 0;
	case OPT_KERNEL:
		o->kernel = true;
		return 0;
	case OPT_PRUNE:
		o->prune = true;
		return 0;
	case 'v':
		log_level = log_level < LOG_VERBOSE ? LOG_VERBOSE : LOG_DEBUG;
		return 0;
	case 'q':
		log_level = LOG_QUIET;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
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

/* What a FILE has been recorded with, or of processes, is not asked for when it is read. */
static void note_live(int key, struct opts *o)
{
	static const int live[] = {
		'd',	       OPT_WAIT,   OPT_MODE,	   OPT_RING_REQUEST, OPT_RING_DIR,
		OPT_NO_FOLLOW, OPT_ATTACH, OPT_BPF_BUFFER, OPT_NO_REALTIME};
	for (size_t i = 0; i < sizeof(live) / sizeof(*live) && !o->live_option; i++)
		if (key == live[i])
			o->live_option = option_row_of(key)->name;
}

static error_t parse_opt(int key, char *arg, struct argp_state *st)
{
	check_command(key, st);
	note_live(key, st->input);
	error_t err = parse_target(key, arg, st);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_output(key, arg, st);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_limit(key, arg, st);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_mem(key, arg, st);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_trigger(key, arg, st);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_flag(key, st->input);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_question(key, st);
	return err;
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
		.max_stack = SESSION_MAX_STACK,
		.filters = list_for(argc, sizeof(char *)),
		.trigger = {.before_ns = 2000000000,
			    .after_ns = 1000000000,
			    .max = 10,
			    .memory = 64 << 20},
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
				.bpf_buffer_bytes = 16 << 20,
				.follow = true,
				.realtime = true,
				.nice = getpriority(PRIO_PROCESS, 0),
				.open_files = open_files(),
			},
	};
	ret->wrapper_globs = list_for(argc, sizeof(char *));
	ret->wrappers.glob = ret->wrapper_globs;
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
