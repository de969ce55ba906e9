/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace mem: reports of sampled allocations, one row each in the table of reports.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/message.h"
#include "cmd/option_help.h"
#include "cmd/opts.h"
#include "cmd/quantity.h"
#include "cmd/report.h"
#include "cmd/reports.h"
#include "cmd/run.h"
#include "engine/input/capture.h"
#include "engine/input/info.h"
#include "engine/input/inputs.h"
#include "engine/input/memtrace.h"
#include "report/mem/diff.h"
#include "report/mem/flame.h"
#include "report/mem/json.h"
#include "report/mem/mem.h"
#include "report/mem/model/filter.h"
#include "report/mem/model/process.h"
#include "report/mem/pprof.h"
#include "report/mem/timeline.h"
#include "report/text.h"

/*
 * The conditions of --filter, as text: KEY OP VALUE, separated by commas; all must hold.
 *   function, file, site   = or !=, a glob
 *   domain                 =, a number
 *   lifetime               < <= > >=, a time
 *   size                   = < <= > >=, bytes (64K)
 */

struct mem_conditions {
	struct mem_filter filter;
	char *text[MEM_FILTER_GLOBS]; /* copies to which the patterns point */
	unsigned texts;
};
#define MEM_CONDITION_WHY 160

/* A condition, in parts. */
struct parts {
	const char *key, *op, *value;
	size_t key_bytes, op_bytes;
};

enum filter_kind { GLOB, DOMAIN, LIFETIME, SIZE };

static const struct {
	const char *key;
	enum filter_kind kind;
	enum mem_filter_what what; /* of a glob */
	const char *ops;	   /* between spaces */
} keys[] = {
	{"function", GLOB, MEM_FILTER_FUNCTION, " = != "},
	{"file", GLOB, MEM_FILTER_FILE, " = != "},
	{"site", GLOB, MEM_FILTER_SITE, " = != "},
	{"domain", DOMAIN, 0, " = "},
	{"lifetime", LIFETIME, 0, " < <= > >= "},
	{"size", SIZE, 0, " = < <= > >= "},
};
#define KEYS (sizeof(keys) / sizeof(*keys))

static void mem_conditions_init(struct mem_conditions *c)
{
	c->texts = 0;
	mem_filter_init(&c->filter);
}

static void mem_conditions_done(struct mem_conditions *c)
{
	while (c->texts)
		free(c->text[--c->texts]);
}

static bool op_is(const struct parts *p, const char *op)
{
	return strlen(op) == p->op_bytes && !strncmp(p->op, op, p->op_bytes);
}

/* Narrows a range. */
static void narrow(struct mem_range *r, const struct parts *p, double v)
{
	double min = 0, max = INFINITY;
	if (*p->op == '>')
		min = op_is(p, ">") ? nextafter(v, INFINITY) : v;
	else if (*p->op == '<')
		max = op_is(p, "<") ? nextafter(v, -INFINITY) : v;
	else
		min = max = v;
	r->min = min > r->min ? min : r->min;
	r->max = max < r->max ? max : r->max;
}

static int add_glob(struct mem_conditions *c, const struct parts *p, enum mem_filter_what what,
		    char *why)
{
	struct mem_filter *f = &c->filter;
	if (f->globs == MEM_FILTER_GLOBS) {
		snprintf(why, MEM_CONDITION_WHY, "more than %d patterns", MEM_FILTER_GLOBS);
		return -EINVAL;
	}
	char *text = strdup(p->value);
	if (!text)
		return -ENOMEM;
	c->text[c->texts++] = text;
	f->glob[f->globs++] = (struct mem_glob){what, op_is(p, "!="), text};
	return 0;
}

static int add_number(struct mem_conditions *c, const struct parts *p, enum filter_kind kind,
		      char *why)
{
	struct mem_filter *f = &c->filter;
	char *end;
	double v = 0;
	bool good;
	if (kind == DOMAIN) {
		f->domain = strtoul(p->value, &end, 10);
		f->has_domain = true;
		good = *p->value >= '0' && *p->value <= '9' && !*end && f->domain < 65535;
	} else {
		good = kind == SIZE ? quantity_size(p->value, &v) : quantity_time(p->value, &v);
	}
	if (!good) {
		static const char *const what[] = {
			[DOMAIN] = "number of a domain",
			[LIFETIME] = "time (like 500us, 10ms, 2s)",
			[SIZE] = "size (like 64, 4K, 1M)",
		};
		snprintf(why, MEM_CONDITION_WHY, "'%.60s' is not a %s", p->value, what[kind]);
		return -EINVAL;
	}
	f->by_lifetime |= kind == LIFETIME;
	if (kind != DOMAIN)
		narrow(kind == SIZE ? &f->size_bytes : &f->lifetime_ns, p, v);
	return 0;
}

static int add_condition(struct mem_conditions *c, const char *text, char *why)
{
	struct parts p = {.key = text, .key_bytes = strcspn(text, "=!<>")};
	p.op = text + p.key_bytes;
	p.op_bytes = strspn(p.op, "=!<>");
	p.value = p.op + p.op_bytes;
	for (size_t i = 0; i < KEYS; i++) {
		char op[8] = "";
		if (strlen(keys[i].key) != p.key_bytes || strncmp(keys[i].key, text, p.key_bytes))
			continue;
		if (p.op_bytes < 4)
			snprintf(op, sizeof(op), " %.*s ", (int)p.op_bytes, p.op);
		if (!p.op_bytes || !*op || !strstr(keys[i].ops, op)) {
			snprintf(why, MEM_CONDITION_WHY, "%s takes one of%s; not '%.20s'",
				 keys[i].key, keys[i].ops, p.op);
			return -EINVAL;
		}
		if (!*p.value) {
			snprintf(why, MEM_CONDITION_WHY, "'%.60s' has no value", text);
			return -EINVAL;
		}
		return keys[i].kind == GLOB ? add_glob(c, &p, keys[i].what, why)
					    : add_number(c, &p, keys[i].kind, why);
	}
	snprintf(why, MEM_CONDITION_WHY,
		 "'%.60s' begins with none of function, file, site, domain, lifetime, size", text);
	return -EINVAL;
}

/* Adds those of an argument of --filter. 0, or -EINVAL with a sentence in why, or -ENOMEM. */
static int mem_conditions_add(struct mem_conditions *c, const char *text,
			      char why[MEM_CONDITION_WHY])
{
	char *copy = strdup(text), *rest = copy;
	int err = copy ? 0 : -ENOMEM;
	*why = 0;
	for (char *one; !err && (one = strsep(&rest, ","));)
		err = add_condition(c, one, why);
	free(copy);
	return err;
}

/* Whether --rate means something with the FILEs of a command line. */

/* Whether all processes have the rate of their samples, without a weight of each. */
static bool all_have_rates(const struct session *s)
{
	const struct process *p = NULL;
	bool has = false;
	while ((p = processes_next(&s->processes, p))) {
		has = mem_process_scale(p, s->strings, 0).rate > 0;
		if (!has)
			break;
	}
	return has;
}

static bool has_rate(const struct engine *e, struct loop *l, struct inputs *ins, const char *path)
{
	bool ready = !inputs_add(ins, path) && !inputs_wait(ins);
	struct input *in = ready ? inputs_at(ins, 0) : NULL;
	struct input_info info = {0};
	if (!in || !in->ready || (in->kind != &input_memtrace && in->kind != &input_capture))
		return false;
	bool has = !in->kind->info(e, l, in, &info) && all_have_rates(e->session);
	free(info.by_domain);
	return has;
}

/* The session drops messages: the run itself reports what is wrong with a file. */
static bool file_has_rate(const struct opts *o, const char *path)
{
	struct engine e = {.options = &o->engine};
	struct loop *l = NULL;
	struct inputs *ins = NULL;
	struct stat st;
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	bool has = !session_new(&e.session) && !loop_new(&l) && !inputs_new(&e, l, &ins) &&
		   has_rate(&e, l, ins, path);
	inputs_free(ins);
	loop_free(l);
	session_free(e.session);
	return has;
}

/* 0, or EXIT_USAGE after a line on stderr: a FILE is a memtrace trace or a capture in which every
 * process has a rate. Pipes are not checked: their rates are known only after they are read. */
static int mem_check_rate(const struct opts *o)
{
	for (unsigned i = 0; o->rate > 0 && i < o->engine.file_count; i++) {
		if (!file_has_rate(o, o->engine.files[i]))
			continue;
		complain("--rate is of samples whose rate is not known; '%s' has its own",
			 o->engine.files[i]);
		return EXIT_USAGE;
	}
	return 0;
}

struct mem_form {
	struct report_form as;
	unsigned needs; /* of enum mem_needs */
	mem_put *put;
};

#define PPROF_FORM                                                     \
	{                                                              \
		{"pprof", ".pb.gz .pprof", true}, MEM_FATES, mem_pprof \
	}

static const struct mem_form summary_forms[] = {
	{{"text", "", false}, MEM_FATES | MEM_TIMELINE, mem_summary_text},
	{{"json", ".json", false}, MEM_FATES | MEM_TIMELINE, mem_summary_json},
	PPROF_FORM,
	{{0}, 0, NULL},
};
static const struct mem_form hotspots_forms[] = {
	{{"text", "", false}, 0, mem_hotspots_text},
	{{"json", ".json", false}, 0, mem_hotspots_json},
	PPROF_FORM,
	{{0}, 0, NULL},
};
static const struct mem_form live_forms[] = {
	{{"text", "", false}, MEM_FATES | MEM_ENDS, mem_live_text},
	{{"json", ".json", false}, MEM_FATES | MEM_ENDS, mem_live_json},
	{{"pprof", ".pb.gz .pprof", true}, MEM_FATES | MEM_ENDS, mem_pprof},
	{{0}, 0, NULL},
};
static const struct mem_form lifetimes_forms[] = {
	{{"text", "", false}, MEM_FATES | MEM_ENDS, mem_lifetimes_text},
	{{"json", ".json", false}, MEM_FATES | MEM_ENDS, mem_lifetimes_json},
	{{0}, 0, NULL},
};
static const struct mem_form flame_forms[] = {
	{{"folded", "", false}, 0, mem_flame_folded},
	{{"svg", ".svg", false}, 0, mem_flame_svg},
	{{0}, 0, NULL},
};
static const struct mem_form timeline_forms[] = {
	{{"text", "", false}, MEM_TIMELINE | MEM_BANDS, mem_timeline_text},
	{{"svg", ".svg", false}, MEM_TIMELINE | MEM_BANDS, mem_timeline_svg},
	{{"json", ".json", false}, MEM_TIMELINE | MEM_BANDS, mem_timeline_json},
	{{0}, 0, NULL},
};
static const struct mem_form diff_forms[] = {
	{{"text", "", false}, 0, mem_diff_text},
	{{"json", ".json", false}, 0, mem_diff_json},
	{{0}, 0, NULL},
};

#define REPORT(name, help)                                                                    \
	{                                                                                     \
#name, "ebtrace mem " #name, help, &name##_forms->as, sizeof(struct mem_form) \
	}

static const struct mem_report {
	struct report_row as;
	mem_put *before; /* of the first of two FILEs; NULL: they are one recording */
} reports[] = {
	{REPORT(summary, "where, what is alive, what churns"), NULL},
	{REPORT(hotspots, "where memory is allocated, by site and by function"), NULL},
	{REPORT(live, "what is alive at the end, or --at a time, by site"), NULL},
	{REPORT(lifetimes, "how long objects live, by site"), NULL},
	{REPORT(flame, "where memory is allocated, by stack"), NULL},
	{REPORT(timeline, "live bytes over time, by site"), NULL},
	{REPORT(diff, "what two FILEs allocated, or have --live, compared by site"),
	 mem_diff_before},
	{{0}, NULL},
};

const struct report_list mem_reports = {&reports->as, sizeof(*reports), "record"};

/* A report, and what it is made with. */
struct mem_run {
	struct report_run base;
	struct mem_conditions conditions;
	struct mem_diff *diff;	   /* NULL: not of this report */
	struct mem_choice *choice; /* of the filter's lifetimes; NULL: they are not known before */
	bool *refused;
};

/* What mem diff needs to compare what is alive. */
#define LIVE_NEEDS (MEM_FATES | MEM_ENDS)

static const struct mem_report *report_of(const struct mem_run *r)
{
	return (const struct mem_report *)r->base.report;
}

static const struct mem_form *form_of(const struct mem_run *r)
{
	return (const struct mem_form *)r->base.form;
}

static struct mem_report_options options_of(const struct mem_run *r)
{
	return (struct mem_report_options){
		.model =
			{
				.needs = form_of(r)->needs | (r->base.opts.live ? LIVE_NEEDS : 0),
				.until = r->base.opts.at,
				.filter = r->base.opts.filter_count ? &r->conditions.filter : NULL,
				.choice = r->choice,
				.rate = r->base.opts.rate,
				.wrappers = r->base.opts.wrappers,
			},
		.top = r->base.opts.top,
		.interval_ns = r->base.opts.interval_ns,
		.refused = r->refused,
		.diff = r->diff,
	};
}

static int make_report(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct mem_run *r = ctx;
	struct mem_report_options mo = options_of(r);
	return mem_new(s, fd, form_of(r)->put, &mo, ret);
}

/* Makes the sink of the first of two recordings. */
static int make_before(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct mem_run *r = ctx;
	struct mem_report_options mo = options_of(r);
	return mem_new(s, fd, report_of(r)->before, &mo, ret);
}

static int put_nothing(struct buf *b, const struct mem_view *v)
{
	(void)b;
	(void)v;
	return 0;
}

static int make_choice(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct mem_run *r = ctx;
	struct mem_report_options mo = options_of(r);
	mo.model.needs = MEM_CHOICE;
	return mem_new(s, fd, put_nothing, &mo, ret);
}

/* 0, or EXIT_USAGE after a line on stderr. */
static int check_rereadable(const struct mem_run *r)
{
	const struct engine_options *e = &r->base.opts.engine;
	struct stat st;
	bool good = e->file_count;
	for (unsigned i = 0; i < e->file_count; i++)
		good &= strcmp(e->files[i], "-") != 0 &&
			(stat(e->files[i], &st) || S_ISREG(st.st_mode));
	if (good)
		return 0;
	complain("mem %s knows the lifetime of an object before it is allocated only if it reads "
		 "the input twice; --filter lifetime needs a FILE, not a pipe or a process",
		 r->base.report->name);
	return EXIT_USAGE;
}

/* Two runs over the same files: the first finds the objects that the filter's lifetimes select. */
static int read_twice(const struct mem_run *r)
{
	struct mem_choice choice = {0};
	struct mem_run one = *r;
	enum log_level level = log_level;
	int status = check_rereadable(r);
	if (status)
		return status;
	one.choice = &choice;
	/* The second run fails as the first one does, and repeats what that reports. */
	log_level = LOG_SILENT;
	report_read(&one.base.opts, make_choice, &one);
	log_level = level;
	status = report_write(&one.base.opts, make_report, &one);
	mem_choice_done(&choice);
	return status;
}

/* A report was refused, as it needs ends of objects. Returns the exit status. */
static int print_refusal(const struct mem_run *r, int status)
{
	complain("mem %s needs to know when objects are collected; periodic samples of a program "
		 "that was not prepared do not have that",
		 r->base.report->name);
	return status ? status : EXIT_ERROR;
}

/* A run for each of the two recordings; the second run writes the report. */
static int compare(const struct mem_run *r)
{
	struct mem_diff diff;
	struct mem_run one = *r;
	struct engine_options *e = &one.base.opts.engine;
	bool refused = false;
	int err = mem_diff_init(&diff, r->base.opts.per);
	if (err) {
		complain("cannot start: %s", strerror(-err));
		return EXIT_ERROR;
	}
	diff.live = r->base.opts.live;
	one.refused = &refused;
	one.diff = &diff;
	e->file_count = 1;
	int first = report_read(&one.base.opts, make_before, &one), status = first;
	if (!refused && (!first || first == EXIT_LOSS)) {
		e->files++;
		status = report_write(&one.base.opts, make_report, &one);
	}
	mem_diff_done(&diff);
	if (refused)
		return print_refusal(r, status);
	return status ? status : first;
}

static const char doc_tail[] =
	"\vBytes are estimates from samples, each with the interval that holds the truth in 95 of "
	"100 "
	"cases. A site is the innermost function that is no wrapper of an allocator, such as those "
	"of the standard libraries of C++ and OCaml.\n"
	"\n"
	"mem record looks names of functions up when it records, and its FILE has them. Those of a "
	"process, a program, or a FILE that a program wrote itself are looked up for the report: "
	"debug files that are not installed come from the servers of DEBUGINFOD_URLS, if it is "
	"set.\n"
	"\n"
	"Examples:\n"
	"  ebtrace mem prog.ctf                       one screen of all\n"
	"  ebtrace mem hotspots --top 5 -             where it is allocated, of a pipe\n"
	"  ebtrace mem hotspots --wrapper 'pool_*' prog.ctf\n"
	"                                             by the callers of these functions\n"
	"  ebtrace mem flame -o x.svg prog.ctf        an interactive picture of it\n"
	"  ebtrace mem timeline -o x.svg prog.ctf     what is alive over time, by site\n"
	"  ebtrace mem timeline --json prog.ctf       the same as numbers\n"
	"  ebtrace mem live --at 10s prog.ctf         what was alive after ten seconds\n"
	"  ebtrace mem live --filter 'lifetime>1s,file=*.ml' prog.ctf\n"
	"  ebtrace mem lifetimes --filter 'function=Map.*,size>=4K' prog.ctf\n"
	"  ebtrace mem -o prog.pb.gz prog.ctf         a profile for pprof\n"
	"  ebtrace mem diff --per time old.ctf new.ctf\n"
	"                                             what grew in a second, and where\n"
	"  ebtrace mem diff --live old.ctf new.ctf    what more is alive at the end\n"
	"  sudo ebtrace mem hotspots -d 10s -p 1234   of a running OCaml 5 program\n"
	"\n" HELP_EXIT_STATUS "; with PROGRAM, the program's own.";

/* Writes argp's text around the options: with the list of reports, and what -f may be of each. */
static int put_doc(struct buf *b)
{
	buf_puts(b, "Where sampled allocations were made. " REPORT_OF_PROGRAM
		    " FILE is a memtrace trace or a capture of "
		    "one. REPORT is one of these, the first if there is none; -f is one of its "
		    "formats, the first by default:\n\n");
	report_put_list(b, &mem_reports);
	for (const struct command *c = commands; c->full_name; c++)
		if (c->options == OPTS_MEM_RECORD)
			report_print(b, "  %-15s%s; see %s --help\n",
				     command_name(c) + strlen("mem "), c->help, c->full_name);
	buf_puts(b, doc_tail);
	return b->err;
}

/* 0, or EXIT_USAGE after a line on stderr. */
static int parse_filters(struct mem_run *r)
{
	char why[MEM_CONDITION_WHY];
	r->conditions.filter.wrappers = r->base.opts.wrappers;
	for (unsigned i = 0; i < r->base.opts.filter_count; i++) {
		int err = mem_conditions_add(&r->conditions, r->base.opts.filters[i], why);
		if (!err)
			continue;
		complain("--filter: %s; 'ebtrace mem --help' shows conditions",
			 err == -EINVAL ? why : strerror(-err));
		return EXIT_USAGE;
	}
	return 0;
}

static void prepare(struct report_run *base)
{
	const struct mem_run *r = (struct mem_run *)base;
	struct engine_options *e = &base->opts.engine;
	e->counts = true;
	/* Their markers are all that is probed; they are in no ring. */
	e->allocs = ALLOCS_ONLY;
	e->mode = MODE_PROBES;
	base->opts.is_private = true; /* names and addresses of the program's code */
	base->opts.compares = report_of(r)->before != NULL;
}

/* 0, or EXIT_USAGE after a line on stderr. */
static int check_interval(const struct mem_run *r)
{
	if (!r->base.opts.interval_ns)
		return 0;
	if (report_of(r)->before || form_of(r)->needs & MEM_BANDS)
		complain("--interval is of reports of one moment; mem %s is of several",
			 r->base.report->name);
	else if (strcmp(r->base.form->name, "json") != 0)
		complain("--interval of mem prints a document a line: --json");
	else if (r->conditions.filter.by_lifetime)
		complain("--interval excludes --filter lifetime: that of what is alive is known "
			 "at the end");
	else
		return 0;
	return EXIT_USAGE;
}

static int check(struct report_run *base)
{
	struct mem_run *r = (struct mem_run *)base;
	int status = parse_filters(r);
	if (!status)
		status = check_interval(r);
	if (!status)
		status = mem_check_rate(&base->opts);
	if (status || !report_of(r)->before || base->opts.engine.file_count == 2)
		return status;
	complain("mem %s compares two FILEs", base->report->name);
	return EXIT_USAGE;
}

static int write_once(struct mem_run *r)
{
	bool refused = false;
	r->refused = &refused;
	int status = report_write(&r->base.opts, make_report, r);
	return refused ? print_refusal(r, status) : status;
}

static int write_report(struct report_run *base)
{
	struct mem_run *r = (struct mem_run *)base;
	unsigned needs = form_of(r)->needs;
	if (needs & MEM_ENDS)
		base->opts.engine.needs_ends = base->report->full_name + strlen("ebtrace ");
	if (report_of(r)->before)
		return compare(r);
	if (needs & MEM_BANDS && r->conditions.filter.by_lifetime)
		return read_twice(r);
	return write_once(r);
}

int cmd_mem(int argc, char **argv)
{
	static const struct report_command command = {
		.command = OPTS_MEM,
		.name = "ebtrace mem",
		.args = "[REPORT] -p PID...\n[REPORT] -a\n[REPORT] -- PROGRAM [ARGS...]\n[REPORT] "
			"FILE...",
		.list = &mem_reports,
		.doc = put_doc,
		.schema = mem_schema,
		.prepare = prepare,
		.check = check,
		.write = write_report,
	};
	struct mem_run r = {0};
	mem_conditions_init(&r.conditions);
	int status = report_command(&command, &r.base, argc, argv);
	mem_conditions_done(&r.conditions);
	return status;
}
