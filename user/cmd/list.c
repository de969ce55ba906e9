/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace list: what can be traced, and how; ring files left behind.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/list.h"
#include "cmd/open.h"
#include "cmd/print.h"
#include "cmd/stale.h"
#include "codec/ring_ids.h"
#include "proc/maps.h"
#include "proc/notes.h"
#include "proc/ringfile.h"
#include "proc/runtime.h"

static const struct opts_command command = {
	"list", "[BINARY...]",
	"Lists the processes that can be traced, and how, and ring files that dead processes left. "
	"With BINARY: its markers."
	"\vExamples:\n"
	"  ebtrace list\n"
	"  ebtrace list ./prog\n"
	"  ebtrace list --prune               remove what dead processes left\n"};

struct facts {
	pid_t pid;
	int rings;
	unsigned markers;
	enum ebt_release ocaml;
	uint64_t last_inode;
};

static unsigned count_markers(int fd)
{
	struct notes notes;
	if (notes_read(fd, "ebtrace", &notes))
		return 0;
	unsigned n = notes.sites;
	notes_done(&notes);
	return n;
}

/* Each file that the process has mapped as code, once. */
static int look_at_mapping(const struct maps_entry *m, void *ctx)
{
	struct facts *f = ctx;
	if (!m->inode || !m->exec || m->inode == f->last_inode)
		return 0;
	f->last_inode = m->inode;
	int fd = maps_open(f->pid, m);
	if (fd < 0)
		return 0;
	f->markers += count_markers(fd);
	if (f->ocaml == EBT_RELEASE_AUTO)
		f->ocaml = runtime_ocaml_release(fd);
	close(fd);
	return 0;
}

static void look_at_process(const struct process *p, struct facts *f)
{
	*f = (struct facts){.pid = p->pid};
	struct ringfile found[RINGFILE_MAX];
	char reason[RINGFILE_REASON_BYTES];
	f->rings = ringfile_find(p->pid, NULL, found, RINGFILE_MAX, reason);
	for (int i = 0; i < f->rings; i++)
		ringfile_close(&found[i]);
	maps_each(p->pid, look_at_mapping, f);
}

static void print_process(const struct process *p, const struct facts *f, bool json)
{
	bool ring = f->rings > 0;
	if (json) {
		struct json_line line;
		print_json_begin(&line);
		json_open(&line.json, '{');
		json_key_i64(&line.json, "pid", p->pid);
		json_key_str(&line.json, "comm", p->comm);
		json_key(&line.json, "ring");
		json_bool(&line.json, ring);
		json_key_u64(&line.json, "markers", f->markers);
		json_key(&line.json, "ocaml");
		if (f->ocaml)
			json_string(&line.json, ring_release_name(f->ocaml),
				    strlen(ring_release_name(f->ocaml)));
		else
			json_raw(&line.json, "null");
		json_close(&line.json, '}');
		print_json_end(&line);
		return;
	}
	char markers[32] = "-";
	if (f->markers)
		snprintf(markers, sizeof(markers), "%3u markers", f->markers);
	print("%7d  %-15s  %-4s  %-11s  %s\n", p->pid, p->comm, ring ? "ring" : "-", markers,
	      f->ocaml ? ring_release_name(f->ocaml) : "-");
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
	unsigned denied = 0;
	struct dirent *e;
	while ((e = readdir(d))) {
		struct process p;
		struct facts f;
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		process_look(atoi(e->d_name), &p);
		denied += p.state == PROCESS_DENIED;
		if (p.state != PROCESS_OPEN)
			continue;
		look_at_process(&p, &f);
		if (f.rings > 0 || f.markers || f.ocaml)
			print_process(&p, &f, o->json);
	}
	closedir(d);
	if (denied && geteuid() && log_level >= LOG_NORMAL)
		complain("processes of other users, not looked at: %u; root sees them", denied);
	return 0;
}

int cmd_list(int argc, char **argv)
{
	struct opts o;
	opts_parse(&o, &command, argc, argv);
	int status = 0;
	for (unsigned i = 0; i < o.file_count; i++) {
		int one = list_binary(o.files[i]);
		status = one ? one : status;
	}
	if (!o.file_count) {
		status = list_processes(&o);
		stale_list(&o);
	}
	int missing = print_end();
	return missing ? missing : status;
}
