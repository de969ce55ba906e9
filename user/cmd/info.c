/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace info: describes a ring file, a capture, or the ring of a process.
 */
#include <stdlib.h>

#include "cmd/commands.h"
#include "cmd/distinct_files.h"
#include "cmd/info_kernel.h"
#include "cmd/info_print.h"
#include "cmd/message.h"
#include "cmd/opts.h"
#include "cmd/print.h"
#include "engine/input/capture.h"
#include "engine/input/inputs.h"
#include "engine/input/memtrace.h"
#include "engine/input/pagetrace.h"
#include "engine/input/ring.h"

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
	struct engine e = {.options = &o->engine, .report = message_report};
	struct loop *l = NULL;
	struct inputs *ins = NULL;
	int status = EXIT_ERROR;
	if (!session_new(&e.session) && !loop_new(&l) && !inputs_new(&e, l, &ins))
		status = describe_input(&e, l, ins, path, o);
	inputs_free(ins);
	loop_free(l);
	session_free(e.session);
	return status;
}

static int describe_process(pid_t pid, const struct opts *o)
{
	struct input_info info = {0};
	struct engine e = {.options = &o->engine, .report = message_report};
	int status = message_status(&e, input_ring_process_info(&e, pid, &info));
	if (!status)
		status = show(printer_of(&input_ring), &info, NULL, o);
	free(info.by_domain);
	return status;
}

static int describe_kernel(const struct opts *o)
{
	if (o->engine.file_count || o->engine.pid_count) {
		complain("--kernel describes this kernel: it takes neither FILE nor -p");
		return EXIT_USAGE;
	}
	if (o->json_schema)
		info_kernel_schema();
	int status = o->json_schema ? 0 : info_kernel(o->json);
	int missing = print_end();
	return missing ? missing : status;
}

static int obey(struct opts *o)
{
	if (o->kernel)
		return describe_kernel(o);
	if (o->json_schema) {
		info_schema();
		return print_end();
	}
	if (!o->engine.file_count && !o->engine.pid_count) {
		complain("info needs a FILE or -p PID; 'ebtrace info --help' shows examples");
		return EXIT_USAGE;
	}
	if (o->live_option && !o->engine.pid_count) {
		complain("--%s needs a process that runs: -p PID", o->live_option);
		return EXIT_USAGE;
	}
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
