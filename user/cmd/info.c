/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace info: describes a ring file, a capture, or the ring of a process.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/distinct_files.h"
#include "cmd/info_print.h"
#include "cmd/message.h"
#include "cmd/option_rules.h"
#include "cmd/opts.h"
#include "cmd/print.h"
#include "engine/input/capture.h"
#include "engine/input/inputs.h"
#include "engine/input/memtrace.h"
#include "engine/input/pagetrace.h"
#include "engine/input/ring.h"
#include "proc/privilege.h"
#include "report/schema.h"
#include "source/bpf/check.h"
#include "source/bpf/other_users.h"

/* ebtrace info --kernel: what this kernel and these privileges allow, feature by feature, and for
 * each feature that is missing the reason and what to do. */

/* limited: the feature works, at a price or with less than it has elsewhere. */
enum state { STATE_YES, STATE_LIMITED, STATE_NO };
static const char *const state_names[] = {"yes", "limited", "no"};

struct row {
	const char *name;  /* in JSON */
	const char *label; /* in text */
	const char *used;  /* for what */
	enum bpf_feature feature;
	bool limits; /* without it there is less, not nothing */
};

static const struct row rows[] = {
	{"markers", "markers", "trace, stat: events with thread and CPU", BPF_MARKERS, false},
	{"ocaml_probes", "OCaml probes", "programs that were not prepared", BPF_RUNTIME_EVENTS,
	 false},
	{"children", "children", "what a traced process starts", BPF_CHILDREN, false},
	{"stacks", "stacks", "--stack, stat --blame", BPF_STACKS, false},
	{"blame", "blame", "--blame: when threads do not run", BPF_BLAME, false},
	{"profile", "profile", "profile: samples of stacks", BPF_SAMPLES, false},
	{"page_faults", "page faults", "--blame=faults: their time", BPF_FAULTS, false},
	{"allocation_markers", "allocation markers", "mem -p, mem record -p", BPF_ALLOCS, false},
	{"allocation_sites", "allocation sites", "mem -p of OCaml that was not prepared",
	 BPF_RUNTIME_ALLOCS, false},
	{"pages", "pages", "pages -p, trace --pages", BPF_PAGES, false},
	{"page_sizes", "page sizes", "pages: faults of huge pages", BPF_PAGE_SIZES, true},
};
#define ROWS (sizeof(rows) / sizeof(*rows))

/* Rows without a BPF program: the links of probes, the rings of processes of others. */
enum { ROW_LINKS = ROWS, ROW_RINGS, ALL_ROWS };

struct answer {
	const char *name, *label, *used;
	enum state state;
	struct bpf_refusal why; /* err 0: nothing is missing */
};

static void answer_links(const struct bpf_check *c, struct answer *ret)
{
	*ret = (struct answer){"probe_links", "probe links", "one for many probes", STATE_YES, {0}};
	if (c->refusal[BPF_MARKERS].err) {
		ret->state = STATE_NO;
		ret->why = c->refusal[BPF_MARKERS];
	} else if (!c->multi) {
		ret->state = STATE_LIMITED;
		ret->why = (struct bpf_refusal){
			.err = -1, .cause = BPF_CAUSE_MISSING, .advice = "use a newer kernel"};
		snprintf(ret->why.why, sizeof(ret->why.why),
			 "this kernel has no usable uprobe_multi links (Linux 6.10): probes are "
			 "removed one by one, some %.2f s each",
			 UPROBE_PERF_LINK_S);
	}
}

/* A ring is found in the process's mappings, and is a file that only its user may read. */
static void answer_rings(struct answer *ret)
{
	*ret = (struct answer){
		"rings_of_others", "rings of other users", "-p PID without BPF", STATE_YES, {0}};
	other_users_check(&ret->why);
	ret->state = ret->why.err ? STATE_NO : STATE_YES;
}

static void find_answers(const struct bpf_check *c, struct answer ret[ALL_ROWS])
{
	for (unsigned i = 0; i < ROWS; i++) {
		/* Where pages are refused there is nothing to be limited. */
		bool limited = rows[i].limits && !c->refusal[BPF_PAGES].err;
		enum bpf_feature f = rows[i].limits && !limited ? BPF_PAGES : rows[i].feature;
		const struct bpf_refusal *why = &c->refusal[f];
		ret[i] = (struct answer){rows[i].name, rows[i].label, rows[i].used,
					 !why->err ? STATE_YES
					 : limited ? STATE_LIMITED
						   : STATE_NO,
					 *why};
	}
	answer_links(c, &ret[ROW_LINKS]);
	answer_rings(&ret[ROW_RINGS]);
}

static const char *lockdown_name(enum privilege_lockdown l)
{
	return l == LOCKDOWN_CONFIDENTIALITY ? "confidentiality"
	       : l == LOCKDOWN_INTEGRITY     ? "integrity"
	       : l == LOCKDOWN_NONE	     ? "none"
					     : NULL;
}

/* The features that are missing for the same reason, once. */
static void put_reason(const struct answer *a, unsigned first)
{
	char labels[256] = "";
	size_t at = 0;
	const struct bpf_refusal *why = &a[first].why;
	for (unsigned i = 0; i < ALL_ROWS; i++) {
		if (!a[i].why.err || strcmp(a[i].why.why, why->why))
			continue;
		if (i < first)
			return;
		at += (size_t)snprintf(labels + at, sizeof(labels) - at, "%s%s", at ? ", " : "",
				       a[i].label);
	}
	print("\n");
	print("%s:\n", labels);
	print("    %s\n", why->why);
	print("    try: %s\n", why->advice);
}

static void put_text(const struct answer *a, const struct privilege *p)
{
	struct utsname name = {0};
	uname(&name);
	const char *lockdown = lockdown_name(p->lockdown);
	print("Linux %s, %s; user %u%s%s%s%s\n", p->release, name.machine, (unsigned)geteuid(),
	      p->initial_userns ? "" : ", in a user namespace of its own",
	      p->filtered ? ", under a seccomp filter" : "", lockdown ? "; lockdown: " : "",
	      lockdown ? lockdown : "");
	print("\n");
	print("%-22s %-8s %s\n", "FEATURE", "HERE", "FOR");
	for (unsigned i = 0; i < ALL_ROWS; i++)
		print("%-22s %-8s %s\n", a[i].label, state_names[a[i].state], a[i].used);
	print("\n");
	print("Rings of processes of the same user need no privilege and no BPF.\n");
	for (unsigned i = 0; i < ALL_ROWS; i++)
		if (a[i].why.err)
			put_reason(a, i);
}

static void put_answer(struct json *j, const struct answer *a)
{
	json_open(j, '{');
	json_key_str(j, "name", a->name);
	json_key_str(j, "state", state_names[a->state]);
	if (a->why.err) {
		json_key_str(j, "cause", bpf_cause_name(a->why.cause));
		json_key_str(j, "reason", a->why.why);
		json_key_str(j, "advice", a->why.advice);
	} else {
		json_key_null(j, "cause");
		json_key_null(j, "reason");
		json_key_null(j, "advice");
	}
	json_close(j, '}');
}

static void put_json(const struct answer *a, const struct privilege *p)
{
	struct json_line line;
	struct json *j = &line.json;
	struct utsname name = {0};
	uname(&name);
	print_json_begin(&line);
	json_open(j, '{');
	json_key_str(j, "kind", "kernel");
	json_key_u64(j, "schema", 1);
	json_key_str(j, "release", p->release);
	json_key_str(j, "machine", name.machine);
	json_key_u64(j, "uid", geteuid());
	json_key_bool(j, "initial_user_namespace", p->initial_userns);
	json_key_bool(j, "seccomp", p->filtered);
	if (lockdown_name(p->lockdown))
		json_key_str(j, "lockdown", lockdown_name(p->lockdown));
	else
		json_key_null(j, "lockdown");
	json_key_open(j, "features", '[');
	for (unsigned i = 0; i < ALL_ROWS; i++)
		put_answer(j, &a[i]);
	json_close(j, ']');
	json_close(j, '}');
	print_json_end(&line);
}

#define SCHEMA_TEXT "{\"type\":[\"string\",\"null\"]}"

static const struct schema_key kernel_keys[] = {{"kind", SCHEMA_CONST("\"kernel\"")},
						{"schema", SCHEMA_CONST("1")},
						{"release", SCHEMA_STRING},
						{"machine", SCHEMA_STRING},
						{"uid", SCHEMA_COUNT},
						{"initial_user_namespace", SCHEMA_TRUTH},
						{"seccomp", SCHEMA_TRUTH},
						{"lockdown", SCHEMA_TEXT},
						{"features", SCHEMA_LIST("feature")},
						{0}};
static const struct schema_key feature_keys[] = {
	{"name", SCHEMA_STRING}, {"state", "{\"enum\":[\"yes\",\"limited\",\"no\"]}"},
	{"cause", SCHEMA_TEXT},	 {"reason", SCHEMA_TEXT},
	{"advice", SCHEMA_TEXT}, {0}};

static void put_kernel_schema(struct json *j)
{
	static const struct schema_part parts[] = {{"kernel", {kernel_keys}},
						   {"feature", {feature_keys}}};
	schema_put(j, "ebtrace info --kernel --json", parts, 2, 1, NULL, NULL);
}

/* Prints the table, or one JSON object. The exit status: 0 also if features are missing. */
static int info_kernel(bool json)
{
	struct bpf_check check;
	struct privilege p;
	struct answer answer[ALL_ROWS];
	privilege_read(&p);
	int err = bpf_check(&check);
	if (err) {
		complain("cannot try what the kernel allows: %s", strerror(-err));
		return EXIT_ERROR;
	}
	find_answers(&check, answer);
	(json ? put_json : put_text)(answer, &p);
	return 0;
}

static const struct opts_command command = {
	OPTS_INFO, "-p PID | FILE... | --kernel",
	"Describes a ring file, a capture, a memtrace trace, a page trace, or the ring of a "
	"process: "
	"format, producer, events, loss, damage. With --kernel: what can be traced on this kernel "
	"with these privileges."
	"\vExamples:\n"
	"  ebtrace info 1234.events\n"
	"  ebtrace info run.ebt\n"
	"  ebtrace info -p 1234 --json\n"
	"  sudo ebtrace info --kernel   which features work here"};

/* The printers of each kind of input. */
static const struct printer {
	const struct input_kind *kind;
	void (*text)(const struct input_info *i, const struct session *s);
	void (*json)(const struct input_info *i, const struct session *s);
	bool (*lossy)(const struct input_info *i, const struct session *s);
} printers[] = {
	{&input_ring, info_ring_text, info_ring_json, info_ring_lossy},
	{&input_capture, info_capture_text, info_capture_json, info_capture_lossy},
	{&input_memtrace, info_memtrace_text, info_memtrace_json, info_memtrace_lossy},
	{&input_pagetrace, info_pagetrace_text, info_pagetrace_json, info_pagetrace_lossy},
};

static const struct printer *printer_of(const struct input_kind *kind)
{
	const struct printer *p = printers;
	while (p->kind != kind)
		p++;
	return p;
}

static int show(const struct printer *p, const struct input_info *info,
		const struct session *session, const struct opts *o)
{
	(o->json ? p->json : p->text)(info, session);
	return o->fail_on_loss && p->lossy(info, session) ? EXIT_LOSS : 0;
}

static int describe_input(const struct engine *e, struct loop *l, struct inputs *ins,
			  const char *path, const struct opts *o)
{
	struct input_info info = {0};
	int status = message_status(e, inputs_add(ins, path));
	if (!status && inputs_wait(ins))
		status = EXIT_ERROR;
	struct input *in = inputs_at(ins, 0);
	if (status || !in->ready)
		return status ? status : EXIT_ERROR;
	status = message_status(e, in->kind->info(e, l, in, &info));
	if (!status)
		status = show(printer_of(in->kind), &info, e->session, o);
	free(info.by_domain);
	return status;
}

static int describe_file(const char *path, const struct opts *o)
{
	struct engine e = {.options = &o->engine};
	struct loop *l = NULL;
	struct inputs *ins = NULL;
	int status = EXIT_ERROR;
	int err = session_new(&e.session);
	if (!err)
		e.session->messages = message_printer;
	if (!err)
		err = loop_new(&l);
	if (!err)
		err = inputs_new(&e, l, &ins);
	if (err)
		complain("cannot start: %s", strerror(-err));
	else
		status = describe_input(&e, l, ins, path, o);
	inputs_free(ins);
	loop_free(l);
	session_free(e.session);
	return status;
}

static int describe_process(pid_t pid, const struct opts *o)
{
	struct input_info info = {0};
	struct engine e = {.options = &o->engine};
	int err = session_new(&e.session);
	if (err) {
		complain("cannot start: %s", strerror(-err));
		return EXIT_ERROR;
	}
	e.session->messages = message_printer;
	int status = message_status(&e, input_ring_process_info(&e, pid, &info));
	if (!status)
		status = show(printer_of(&input_ring), &info, NULL, o);
	session_free(e.session);
	free(info.by_domain);
	return status;
}

static int describe_kernel(const struct opts *o)
{
	int status = info_kernel(o->json);
	int missing = print_end();
	return missing ? missing : status;
}

static int obey(struct opts *o)
{
	if (o->json_schema)
		return print_schema(o->kernel ? put_kernel_schema : info_put_schema);
	int wrong = option_rules_check(o);
	if (wrong)
		return wrong;
	if (o->kernel)
		return describe_kernel(o);
	int worst = distinct_files_keep(&o->engine, true);
	if (worst)
		return worst;
	for (unsigned i = 0; i < o->engine.file_count; i++) {
		int status = describe_file(o->engine.files[i], o);
		if (status)
			worst = status;
	}
	for (unsigned i = 0; i < o->engine.pid_count; i++) {
		int status = describe_process(o->engine.pids[i], o);
		if (status)
			worst = status;
	}
	int missing = print_end();
	return missing ? missing : worst;
}

int cmd_info(int argc, char **argv)
{
	struct opts o;
	opts_parse(&o, &command, argc, argv);
	int status = obey(&o);
	opts_done(&o);
	return status;
}
