/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace list: prints the processes that can be traced, and how; and stale ring files.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/plural.h"
#include "cmd/commands.h"
#include "cmd/distinct_files.h"
#include "cmd/list_binary.h"
#include "cmd/list_events.h"
#include "cmd/message.h"
#include "cmd/print.h"
#include "cmd/stale.h"
#include "codec/ring/ids.h"
#include "proc/memory_reader.h"
#include "proc/process.h"
#include "proc/ringfile.h"
#include "report/schema.h"
#include "runtime/inspect.h"

static const struct opts_command command = {
	OPTS_LIST, "[BINARY...]",
	"Lists the processes that can be traced, and how, and ring files of dead processes. "
	"With BINARY: its markers. With --events: the events that can be traced."
	"\vExamples:\n"
	"  ebtrace list\n"
	"  ebtrace list ./prog\n"
	"  ebtrace list --events              the names and kinds that -e can match\n"
	"  ebtrace list --prune               remove the ring files of dead processes\n"};

struct facts {
	int rings;
	char reason[RINGFILE_REASON_BYTES]; /* rings < 0: why it has none that can be read */
	struct inspect_process files;
};

static void read_facts(struct inspect *in, struct memory_reader *memory,
		       const struct process_status *p, struct facts *f)
{
	*f = (struct facts){0};
	struct ringfile found[RINGFILE_MAX];
	f->rings = ringfile_find(memory, p->pid, NULL, found, RINGFILE_MAX, f->reason);
	for (int i = 0; i < f->rings; i++)
		ringfile_close(&found[i]);
	inspect_process(in, p->pid, &f->files);
}

/* Reports files that were not opened: otherwise a row would be missing without a word. */
static void report_leased(pid_t pid, const struct facts *f)
{
	if (log_level < LOG_NORMAL)
		return;
	if (f->rings == -EBUSY)
		complain("%s", f->reason);
	if (f->files.leased)
		complain("process %d: '%s' is not inspected: another program holds a lease on it",
			 pid, f->files.leased_path);
}

static void print_process(const struct process_status *p, const struct facts *f, bool json)
{
	bool ring = f->rings > 0;
	const char *runtime = ring_release_name(f->files.release);
	if (json) {
		struct json_line line;
		print_json_begin(&line);
		json_open(&line.json, '{');
		json_key_i64(&line.json, "pid", p->pid);
		json_key_str(&line.json, "comm", p->comm);
		json_key_bool(&line.json, "ring", ring);
		json_key_u64(&line.json, "markers", f->files.markers);
		if (f->files.release)
			json_key_str(&line.json, "ocaml", runtime);
		else
			json_key_null(&line.json, "ocaml");
		json_key_bool(&line.json, "incomplete", f->files.incomplete);
		json_close(&line.json, '}');
		print_json_end(&line);
		return;
	}
	char markers[32] = "-";
	if (f->files.markers)
		snprintf(markers, sizeof(markers), "%3u marker%s", f->files.markers,
			 plural(f->files.markers));
	print("%7d  %-15s  %-4s  %-11s  %s%s\n", p->pid, p->comm, ring ? "ring" : "-", markers,
	      f->files.release ? runtime : "-",
	      f->files.incomplete ? "  (not all of its files were searched: too many or too large)"
				  : "");
}

static void report_given_up(const struct memory_reader *memory)
{
	pid_t pid;
	unsigned n = memory ? memory_reader_given_up(memory, &pid) : 0;
	if (n && log_level >= LOG_NORMAL)
		complain("mapped files and mappings that are not inspected, as the kernel did not "
			 "answer: "
			 "%u, the first of process %d",
			 n, pid);
}

static int list_processes(const struct opts *o)
{
	DIR *d = opendir("/proc");
	if (!d) {
		complain("/proc: %s", strerror(errno));
		return EXIT_ERROR;
	}
	if (!o->json)
		print("%7s  %-15s  %-4s  %-11s  %s\n", "PID", "COMMAND", "RING", "MARKERS",
		      "RUNTIME");
	/* NULL, without memory: each file is inspected once for each process. */
	struct inspect *in = inspect_new();
	struct memory_reader *memory = memory_reader_new();
	inspect_read_by(in, memory);
	unsigned denied = 0;
	struct dirent *e;
	while ((e = readdir(d))) {
		struct process_status p;
		struct facts f;
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		process_read_status(atoi(e->d_name), &p);
		denied += p.state == PROCESS_DENIED;
		if (p.state != PROCESS_OPEN)
			continue;
		read_facts(in, memory, &p, &f);
		if (f.rings > 0 || f.files.markers || f.files.release || f.files.incomplete)
			print_process(&p, &f, o->json);
		report_leased(p.pid, &f);
	}
	closedir(d);
	inspect_free(in);
	report_given_up(memory);
	memory_reader_free(memory);
	if (denied && geteuid() && log_level >= LOG_NORMAL)
		complain("processes of other users, not inspected: %u; root sees them", denied);
	if (!o->json && log_level >= LOG_NORMAL)
		complain("what this kernel and these privileges allow: ebtrace info --kernel");
	return 0;
}

#define KEYS(variable, ...) static const struct schema_key variable[] = {__VA_ARGS__, {0}}
KEYS(process_keys, {"pid", SCHEMA_COUNT}, {"comm", SCHEMA_STRING}, {"ring", SCHEMA_TRUTH},
     {"markers", SCHEMA_COUNT}, {"ocaml", "{\"type\":[\"string\",\"null\"]}"},
     {"incomplete", SCHEMA_TRUTH});
KEYS(stale_keys, {"stale", SCHEMA_STRING}, {"removed", SCHEMA_TRUTH}, {"bytes", SCHEMA_COUNT});
KEYS(kept_keys, {"kept", SCHEMA_STRING}, {"reason", SCHEMA_STRING});
KEYS(event_keys, {"family", "{\"enum\":[\"kind\",\"phase\",\"counter\",\"lifecycle\"]}"},
     {"name", SCHEMA_STRING}, {"help", SCHEMA_STRING});
KEYS(binary_keys, {"file", SCHEMA_STRING}, {"runtime", "{\"type\":[\"string\",\"null\"]}"},
     {"markers", SCHEMA_LIST("marker")});
KEYS(marker_keys, {"provider", SCHEMA_STRING}, {"name", SCHEMA_STRING}, {"offset", SCHEMA_COUNT},
     {"semaphore", SCHEMA_TRUTH}, {"args", SCHEMA_STRING});

/* Of print_process(), of cmd/stale, of --events, and of cmd/list_binary. */
static void print_schema(void)
{
	static const struct schema_part parts[] = {
		{"process", {process_keys}}, {"stale", {stale_keys}},	{"kept", {kept_keys}},
		{"event", {event_keys}},     {"binary", {binary_keys}}, {"marker", {marker_keys}}};
	struct json_line line;
	print_json_begin(&line);
	schema_put(&line.json,
		   "What 'ebtrace list --json' prints: a line for each process, and for each ring "
		   "file of a dead one; with --prune for those that are kept; with --events for "
		   "each event; with BINARY for each of these",
		   parts, 6, 5, NULL, NULL);
	print_json_end(&line);
}

static int obey(struct opts *o)
{
	int status = 0;
	if (o->json_schema) {
		print_schema();
		return print_end();
	}
	if (o->engine.ring_dir && o->engine.file_count) {
		complain("--ring-dir applies to the list of processes, not to a BINARY");
		return EXIT_USAGE;
	}
	status = distinct_files_keep(&o->engine, false);
	if (status)
		return status;
	for (unsigned i = 0; i < o->engine.file_count; i++) {
		int one = list_binary(o->engine.files[i], o->json);
		status = one ? one : status;
	}
	if (o->events) {
		list_events(o->json);
	} else if (!o->engine.file_count) {
		status = list_processes(o);
		stale_list(o);
	}
	int missing = print_end();
	return missing ? missing : status;
}

int cmd_list(int argc, char **argv)
{
	struct opts o;
	opts_parse(&o, &command, argc, argv);
	int status = obey(&o);
	opts_done(&o);
	return status;
}
