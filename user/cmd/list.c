/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace list: prints the processes that can be traced, and how; and stale ring files.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/plural.h"
#include "cmd/commands.h"
#include "cmd/distinct_files.h"
#include "cmd/list_events.h"
#include "cmd/message.h"
#include "cmd/option_rules.h"
#include "cmd/opts.h"
#include "cmd/print.h"
#include "codec/ring/ids.h"
#include "elf/machine.h"
#include "elf/notes.h"
#include "engine/foreign_file.h"
#include "engine/live/ring_dirs.h"
#include "engine/program/leftover.h"
#include "engine/program/rundir.h"
#include "proc/memory_reader.h"
#include "proc/process.h"
#include "proc/ringfile.h"
#include "report/schema.h"
#include "runtime/inspect.h"
#include "runtime/runtimes.h"
#include "session/languages.h"
#include "session/versions.h"

/*
 * Stale ring files: those of killed processes, and the directories of killed runs of ebtrace. A
 * file is stale only if all of this holds: it is a regular file of our user, has the name and the
 * header of a ring, is not locked, no visible process maps it, and its process has ended; which is
 * certain only in the machine's own pid namespace or in a directory that is ours alone. Any other
 * file is kept, and the reason is printed.
 */

/* Directories that share a line: a single one, or those of all runs below a base directory. */
struct group {
	char path[PATH_MAX];
	unsigned first, end; /* of leftover.dirs */
	int base_fd;	     /* of the directories of runs; -1 */
	unsigned files, dirs, kept;
	uint64_t bytes;
	const char *reason; /* why the first file was kept, and its name */
	char first_kept[40];
};

/* The probe library's default directory must belong to our user; a directory given by the user may
 * be a link. */
static void add_dir(struct leftover *l, struct group *g, const char *path, bool must_be_ours)
{
	struct stat st;
	*g = (struct group){.first = l->dir_count, .end = l->dir_count, .base_fd = -1};
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (must_be_ours ? O_NOFOLLOW : 0));
	if (fd < 0)
		return;
	if (must_be_ours && (fstat(fd, &st) || st.st_uid != geteuid())) {
		close(fd);
		return;
	}
	snprintf(g->path, sizeof(g->path), "%s", path);
	leftover_add(l, fd, path);
	g->end = l->dir_count;
}

/* Adds the directories of killed runs of this user; they stay locked by us. */
static void add_runs(struct leftover *l, struct group *g, const char *base)
{
	*g = (struct group){.first = l->dir_count, .end = l->dir_count, .base_fd = -1};
	g->base_fd = rundir_open_base(base);
	int list =
		g->base_fd < 0 ? -1 : openat(g->base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = list < 0 ? NULL : fdopendir(list);
	struct dirent *e;
	snprintf(g->path, sizeof(g->path), "%s", base);
	while (d && (e = readdir(d))) {
		char path[PATH_MAX];
		struct stat st;
		if (strncmp(e->d_name, RUNDIR_PREFIX, strlen(RUNDIR_PREFIX)) ||
		    snprintf(path, sizeof(path), "%s/%s", base, e->d_name) >= PATH_MAX)
			continue;
		int fd = openat(g->base_fd, e->d_name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!fstat(fd, &st) && st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB))
			leftover_add(l, fd, path);
		else
			close(fd);
	}
	if (d)
		closedir(d);
	g->end = l->dir_count;
}

/* kept: the reason; NULL: the file is stale. */
static void print_one(const char *path, const char *kept, bool removed, uint64_t bytes,
		      const struct opts *o)
{
	struct json_line line;
	if (!o->json && kept)
		print("kept: %s: %s\n", path, kept);
	else if (!o->json)
		print("stale: %s%s\n", path, removed ? " (removed)" : "");
	if (!o->json)
		return;
	print_json_begin(&line);
	json_open(&line.json, '{');
	json_key_str(&line.json, kept ? "kept" : "stale", path);
	if (kept) {
		json_key_str(&line.json, "reason", kept);
	} else {
		json_key_bool(&line.json, "removed", removed);
		json_key_u64(&line.json, "bytes", bytes);
	}
	json_close(&line.json, '}');
	print_json_end(&line);
}

static void handle_file(struct leftover *l, struct leftover_file *f, struct group *g,
			const struct opts *o)
{
	char path[PATH_MAX + 64];
	bool each = o->json || log_level >= LOG_VERBOSE;
	bool removed = o->prune && leftover_remove(l, f);
	snprintf(path, sizeof(path), "%s/%s", l->dirs[f->dir].path, f->name);
	if (f->verdict == LEFTOVER_STALE) {
		g->files++;
		g->bytes += f->bytes;
		if (each)
			print_one(path, NULL, removed, f->bytes, o);
	} else if (f->verdict == LEFTOVER_DOUBT) {
		if (!g->kept++) {
			g->reason = f->reason;
			memcpy(g->first_kept, f->name, sizeof(f->name));
		}
		if (each && (o->prune || !o->json))
			print_one(path, f->reason, false, 0, o);
	}
}

/* Prints, and with --prune removes, the directory of a run; it remains if a file in it was kept. */
static void handle_run(struct leftover *l, unsigned dir, struct group *g, const struct opts *o)
{
	struct stat st;
	const struct leftover_dir *d = &l->dirs[dir];
	const char *name = strrchr(d->path, '/') + 1;
	if (o->prune)
		rundir_remove_traces(d->fd);
	bool removed = o->prune && !fstatat(g->base_fd, name, &st, AT_SYMLINK_NOFOLLOW) &&
		       st.st_dev == d->dev && st.st_ino == d->ino &&
		       !unlinkat(g->base_fd, name, AT_REMOVEDIR);
	g->dirs++;
	if (o->json || log_level >= LOG_VERBOSE)
		print_one(d->path, NULL, removed, 0, o);
}

/* Prints a line for the stale files of a group, and one for those that were kept. */
static void print_group(struct group *g, const struct opts *o)
{
	if (o->json || log_level >= LOG_VERBOSE)
		return;
	const char *then = o->prune ? " (removed)" : "; --prune removes them";
	unsigned long long kb = (g->bytes + 1023) / 1024;
	if (g->dirs)
		print("stale: %u director%s of runs, %u file%s, %llu kB, in %s%s\n", g->dirs,
		      plural_of(g->dirs, "y", "ies"), g->files, plural(g->files), kb, g->path,
		      then);
	else if (g->files)
		print("stale: %u file%s, %llu kB, in %s%s\n", g->files, plural(g->files), kb,
		      g->path, then);
	if (g->kept && o->prune)
		print("kept: %u file%s in %s: %s%s: %s\n", g->kept, plural(g->kept), g->path,
		      plural_of(g->kept, "", "the first, "), g->first_kept, g->reason);
}

/* Adds the probe library's directories of this user, and those that options and variables name. */
static unsigned add_all(struct leftover *l, struct group *g, const struct opts *o)
{
	char path[PATH_MAX];
	const char *bases[RUNDIR_BASES];
	unsigned n = 0;
	rundir_bases(bases);
	for (unsigned i = 0; i < RUNDIR_BASES; i++)
		if (bases[i])
			add_runs(l, &g[n++], bases[i]);
	for (unsigned i = 0; i < RING_DIRS_DEFAULT; i++)
		if (ring_dirs_default(i, path))
			add_dir(l, &g[n++], path, true);
	const struct language *language;
	const char *given = o->engine.ring_dir;
	for (unsigned at = 0;; given = getenv(language->ring->dir)) {
		if (given && *given)
			add_dir(l, &g[n++], given, false);
		if (!(language = languages_next_ring(&at)))
			break;
	}
	return n;
}

/* Lists stale files, a line for each directory, with -v or --json for each file; removes them with
 * --prune. */
static void stale_list(const struct opts *o)
{
	struct leftover l = {.memory = memory_reader_new()};
	static struct group groups[RUNDIR_BASES + RING_DIRS_DEFAULT + 1 + LANGUAGES_MAX];
	unsigned n = add_all(&l, groups, o);
	leftover_judge(&l);
	for (unsigned i = 0; i < n; i++) {
		struct group *g = &groups[i];
		for (unsigned f = 0; f < l.file_count; f++)
			if (l.files[f].dir >= g->first && l.files[f].dir < g->end)
				handle_file(&l, &l.files[f], g, o);
		for (unsigned d = g->first; g->base_fd >= 0 && d < g->end; d++)
			handle_run(&l, d, g, o);
		print_group(g, o);
		if (g->base_fd >= 0)
			close(g->base_fd);
	}
	if (l.cut && log_level >= LOG_NORMAL)
		log_at(LOG_NORMAL,
		       "more than %u ring files or %u directories of them: the others were not "
		       "inspected",
		       LEFTOVER_FILES_MAX, LEFTOVER_DIRS_MAX);
	memory_reader_free(l.memory);
	leftover_done(&l);
}

/* ebtrace list BINARY. */

/*
 * ebtrace list BINARY: prints the runtime and the markers of a file, or why it has none.
 */

static void print_json(const char *path, const char *runtime, const struct notes *notes)
{
	struct json_line line;
	struct json *j = &line.json;
	print_json_begin(&line);
	json_open(j, '{');
	json_key_str(j, "file", path);
	if (runtime)
		json_key_str(j, "runtime", runtime);
	else
		json_key_null(j, "runtime");
	json_key_open(j, "markers", '[');
	for (uint32_t i = 0; notes && i < notes->sites; i++) {
		json_open(j, '{');
		json_key_str(j, "provider", notes->site[i].provider);
		json_key_str(j, "name", notes->site[i].name);
		json_key_u64(j, "offset", notes->site[i].offset);
		json_key_bool(j, "semaphore", notes->site[i].semaphore);
		json_key_str(j, "args", notes->site[i].args);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
	print_json_end(&line);
}

static void print_text(const char *path, const char *runtime, const struct notes *notes)
{
	if (runtime)
		print("%s: runtime of %s\n", path, runtime);
	for (uint32_t i = 0; i < notes->sites; i++)
		print("%s:%s  at 0x%llx%s  %s\n", notes->site[i].provider, notes->site[i].name,
		      (unsigned long long)notes->site[i].offset,
		      notes->site[i].semaphore ? ", semaphore" : "", notes->site[i].args);
}

static int no_elf_file(int fd, const char *path, bool json)
{
	char text[RUNTIME_TEXT_BYTES];
	bool described = runtimes_describe(fd, text);
	if (described && json) {
		print_json(path, text, NULL);
		return 0;
	}
	if (described) {
		print("%s: %s; to trace it: ebtrace -- %s%s\n", path, text,
		      strchr(path, '/') ? "" : "./", path);
		return 0;
	}
	if (runtimes_explain(fd, text)) {
		complain("'%s' %s", path, text);
		return EXIT_NOTHING;
	}
	uint8_t head[64];
	ssize_t n = file_read_at(fd, head, sizeof(head), 0);
	const char *foreign = n > 0 ? foreign_file(head, (size_t)n) : NULL;
	complain("'%s' %s", path, foreign ? foreign : "is not an ELF file");
	return EXIT_ERROR;
}

static int print_markers(int fd, const char *path, bool json)
{
	char reason[RUNTIME_TEXT_BYTES];
	struct notes notes;
	int err = notes_read(fd, NULL, &notes);
	if (err) {
		complain("'%s': %s", path,
			 err == -EBADMSG ? "its tables are damaged" : file_strerror(err));
		return EXIT_ERROR;
	}
	struct runtime_version version = runtimes_version(fd);
	struct version_text text = versions_text(version);
	const char *runtime = version.language ? text.text : NULL;
	bool nothing = !notes.sites && !runtime;
	if (json && !nothing)
		print_json(path, runtime, &notes);
	else
		print_text(path, runtime, &notes);
	notes_done(&notes);
	if (nothing && runtimes_explain(fd, reason))
		complain("'%s' %s", path, reason);
	else if (nothing)
		complain("'%s' has no markers and no runtime that can be traced", path);
	return nothing ? EXIT_NOTHING : 0;
}

/* Prints the runtime and the markers of a binary. Returns the exit status. */
static int list_binary(const char *path, bool json)
{
	char machine[MACHINE_NAME_BYTES];
	int fd = file_open(AT_FDCWD, path, 0);
	int err = fd < 0 ? fd : machine_check(fd, machine);
	int status = EXIT_ERROR;
	if (!err)
		status = print_markers(fd, path, json);
	else if (err == -ENOEXEC)
		status = no_elf_file(fd, path, json);
	else
		complain("'%s': %s%s", path,
			 err == -ENOTSUP ? "an ELF file of another machine: " : "",
			 err == -ENOTSUP ? machine : file_strerror(err));
	if (fd >= 0)
		close(fd);
	return status;
}

/* ebtrace list -p PID: the same of each file that a process has mapped as code. */

struct process_files {
	pid_t pid;
	bool json;
	bool any; /* some file has something */
	struct memory_reader *memory;
	struct map seen; /* by device and inode */
};

static int list_mapping(const struct maps_entry *m, void *ctx)
{
	struct process_files *p = ctx;
	struct notes notes;
	if (!m->exec || !m->inode)
		return 0;
	uint64_t file = hash_file(makedev(m->dev_major, m->dev_minor), m->inode);
	uint64_t *seen = map_put(&p->seen, file);
	if (!seen || (*seen)++)
		return seen ? 0 : -ENOMEM;
	int fd = memory_reader_open(p->memory, p->pid, m);
	if (fd < 0)
		return 0;
	if (!notes_read(fd, NULL, &notes)) {
		struct runtime_version version = runtimes_version(fd);
		struct version_text text = versions_text(version);
		const char *runtime = version.language ? text.text : NULL;
		bool has = notes.sites || runtime;
		p->any |= has;
		if (has && !p->json)
			print("%s:\n", m->path);
		if (has && p->json)
			print_json(m->path, runtime, &notes);
		else if (has)
			print_text(m->path, runtime, &notes);
		notes_done(&notes);
	}
	close(fd);
	return 0;
}

static int list_files_of(pid_t pid, bool json)
{
	struct process_files p = {.pid = pid, .json = json, .memory = memory_reader_new()};
	int err = memory_reader_maps(p.memory, pid, MAPS_TRACED, list_mapping, &p);
	map_done(&p.seen);
	memory_reader_free(p.memory);
	if (err < 0) {
		complain("process %d: %s", pid, strerror(-err));
		return err == -ESRCH || err == -ENOENT	 ? EXIT_GONE
		       : err == -EACCES || err == -EPERM ? EXIT_DENIED
							 : EXIT_ERROR;
	}
	if (!p.any)
		complain("process %d has no markers and no runtime that can be traced", pid);
	return p.any ? 0 : EXIT_NOTHING;
}

static const struct opts_command command = {
	OPTS_LIST, "[BINARY...]",
	"Lists the processes that can be traced, and how, and ring files of dead processes. "
	"With BINARY or -p PID: its markers. With --events: the events that can be traced."
	"\vExamples:\n"
	"  ebtrace list\n"
	"  ebtrace list ./prog\n"
	"  ebtrace list -p PID                the markers of a process, by file\n"
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
	struct version_text runtime = versions_text(f->files.runtime);
	if (json) {
		struct json_line line;
		print_json_begin(&line);
		json_open(&line.json, '{');
		json_key_i64(&line.json, "pid", p->pid);
		json_key_str(&line.json, "comm", p->comm);
		json_key_bool(&line.json, "ring", ring);
		json_key_u64(&line.json, "markers", f->files.markers);
		if (f->files.runtime.language)
			json_key_str(&line.json, "ocaml", runtime.text);
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
	      f->files.runtime.language ? runtime.text : "-",
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

struct listing {
	struct inspect
		*inspect; /* NULL, without memory: each file is inspected once for each process */
	struct memory_reader *memory;
	bool json;
	unsigned denied;
};

static int list_one(pid_t pid, void *ctx)
{
	struct listing *l = ctx;
	struct process_status p;
	struct facts f;
	process_read_status(pid, &p);
	l->denied += p.state == PROCESS_DENIED;
	if (p.state != PROCESS_OPEN)
		return 0;
	read_facts(l->inspect, l->memory, &p, &f);
	if (f.rings > 0 || f.files.markers || f.files.runtime.language || f.files.incomplete)
		print_process(&p, &f, l->json);
	report_leased(p.pid, &f);
	return 0;
}

static int list_processes(const struct opts *o)
{
	if (!o->json)
		print("%7s  %-15s  %-4s  %-11s  %s\n", "PID", "COMMAND", "RING", "MARKERS",
		      "RUNTIME");
	struct listing l = {inspect_new(), memory_reader_new(), o->json, 0};
	inspect_read_by(l.inspect, l.memory);
	int err = process_each(list_one, &l);
	inspect_free(l.inspect);
	report_given_up(l.memory);
	memory_reader_free(l.memory);
	if (err) {
		complain("/proc: %s", strerror(-err));
		return EXIT_ERROR;
	}
	if (l.denied && geteuid() && log_level >= LOG_NORMAL)
		complain("processes of other users, not inspected: %u; root sees them", l.denied);
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

/* The schema of what print_process(), stale_list(), list_events() and list_binary() write. */
static void put_schema(struct json *j)
{
	static const struct schema_part parts[] = {
		{"process", {process_keys}}, {"stale", {stale_keys}},	{"kept", {kept_keys}},
		{"event", {event_keys}},     {"binary", {binary_keys}}, {"marker", {marker_keys}}};
	schema_put(j,
		   "What 'ebtrace list --json' prints: a line for each process, and for each ring "
		   "file of a dead one; with --prune for those that are kept; with --events for "
		   "each event; with BINARY for each of these",
		   parts, 6, 5, NULL, NULL);
}

static int obey(struct opts *o)
{
	int status = 0;
	if (o->json_schema)
		return print_schema(put_schema);
	status = option_rules_check(o);
	if (!status)
		status = distinct_files_keep(&o->engine, false);
	if (status)
		return status;
	for (unsigned i = 0; i < o->engine.file_count; i++) {
		int one = list_binary(o->engine.files[i], o->json);
		status = one ? one : status;
	}
	for (unsigned i = 0; i < o->engine.pid_count; i++) {
		int one = list_files_of(o->engine.pids[i], o->json);
		status = one ? one : status;
	}
	if (o->events) {
		list_events(o->json);
	} else if (!o->engine.file_count && !o->engine.pid_count) {
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
