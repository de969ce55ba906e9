// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "proc/memory_reader.h"

/* Files of one process that are remembered. One that maps and unmaps ever new files has no other
 * limit; what it maps beyond is not looked into, which is reported. */
#define MAX_FILES INSPECT_MAPPINGS

struct bpf_file {
	uint64_t dev, inode;
	struct attachment at[ATTACHERS];
	bool moved;	       /* it is to be asked about again */
	bool cut;	       /* because its probes were gone */
	bool starved;	       /* because it could not be opened yet */
	uint64_t unwatched_ns; /* it has not been watched since then; 0: it is */
};

struct walk {
	struct bpf_scanner *by;
	struct bpf_files *files;
	struct bpf_scan *scan;
	int err;
};

void bpf_files_init(struct bpf_files *f)
{
	*f = (struct bpf_files){0};
	inspect_budget_init(&f->budget);
}

static void report_incomplete(struct bpf_files *f, pid_t pid)
{
	if (!f->reported)
		log_at(LOG_NORMAL,
		       "process %d maps more than is looked into: markers and runtimes beyond the "
		       "first %u files are not seen",
		       pid, f->files);
	f->reported = true;
}

static void report_leased(struct bpf_files *f, pid_t pid, const char *path)
{
	if (!f->reported_lease)
		log_at(LOG_NORMAL,
		       "process %d: '%s' is not probed before its lease ends, which another "
		       "program holds",
		       pid, path);
	f->reported_lease = true;
}

/* NULL: it was not seen before. */
static struct bpf_file *find_file(struct bpf_files *f, uint64_t dev, uint64_t inode)
{
	const uint64_t *at = map_get(&f->index, hash_file(dev, inode));
	struct bpf_file *file = at ? &f->file[*at] : NULL;
	return file && file->inode == inode && file->dev == dev ? file : NULL;
}

static struct bpf_file *add_file(struct bpf_files *f, uint64_t dev, uint64_t inode)
{
	if (!array_reserve(f->file, f->room, f->files))
		return NULL;
	uint64_t *at = map_put(&f->index, hash_file(dev, inode));
	if (!at)
		return NULL;
	*at = f->files;
	f->file[f->files] = (struct bpf_file){.dev = dev, .inode = inode};
	return &f->file[f->files++];
}

static int begin_attachments(struct walk *w, const struct maps_entry *e, struct bpf_file *file)
{
	struct runtime_file in;
	int fd = inspect_open(w->by->inspect, w->scan->pid, e);
	if (fd < 0)
		return fd;
	struct attach_file of = {.fd = fd, .map = e, .what = &in};
	int err = inspect_file(w->by->inspect, fd, &w->files->budget, &in);
	for (unsigned i = 0; i < ATTACHERS && !err; i++) {
		struct attach_process process = {
			.slot = w->scan->slot,
			.pid = w->scan->pid,
			.since_ns = w->scan->since_ns,
			.before = w->files->attached[i],
			.again = w->files->ever[i],
		};
		if (file->at[i].by || !attachers[i]->match(&in))
			continue;
		unsigned program = 1u << attachers[i]->program;
		w->by->env.missed |= w->by->env.absent & program;
		if (w->by->env.absent & program)
			continue;
		err = attachment_begin(&w->by->links, &w->by->env, attachers[i], &process, &of,
				       &file->at[i]);
		w->files->attached[i] += !err;
		w->files->ever[i] |= !err;
	}
	close(fd);
	return err;
}

static bool is_ring(const struct maps_entry *e)
{
	static const char suffix[] = ".events";
	size_t n = strlen(e->path), tail = sizeof(suffix) - 1;
	return e->shared && e->write && n > tail && !strcmp(e->path + n - tail, suffix);
}

static int walk_entry(const struct maps_entry *e, void *ctx)
{
	struct walk *w = ctx;
	struct bpf_files *f = w->files;
	pid_t pid = w->scan->pid;
	bool over = ++w->scan->mappings > INSPECT_MAPPINGS || f->files == MAX_FILES;
	if (over)
		report_incomplete(f, pid);
	f->has_ring |= is_ring(e);
	if (over || !e->exec || !e->inode)
		return over;
	uint64_t dev = makedev(e->dev_major, e->dev_minor);
	struct bpf_file *file = find_file(f, dev, e->inode);
	if (file && !file->moved)
		return 0;
	if (!file)
		file = add_file(f, dev, e->inode);
	if (!file)
		return -ENOMEM;
	bool was_starved = file->starved;
	if (!was_starved)
		file->unwatched_ns = file->cut ? w->scan->begun_ns : w->scan->unwatched_ns;
	file->cut = false;
	/* Also if it fails the file is remembered: it would fail again at every scan. */
	int err = begin_attachments(w, e, file);
	file->moved = file->starved = attachment_may_retry(err);
	if (f->budget.spent)
		report_incomplete(f, pid);
	if (err == -EBUSY)
		report_leased(f, pid, e->path);
	else if (err && !was_starved)
		log_at(LOG_VERBOSE, "pid %d: cannot attach to %s: %s", pid, e->path,
		       strerror(-err));
	w->err = err ? err : w->err;
	return err == -ESRCH ? err : 0;
}

static void note_missed(struct bpf_scan *scan, uint64_t since)
{
	if (since && (!scan->missed_ns || since < scan->missed_ns))
		scan->missed_ns = since;
}

/* What is missed here is in the process's ring, which is read. */
static bool is_in_ring(const struct bpf_scanner *by, const struct bpf_files *f,
		       const struct attachment *a)
{
	return a->by->in_rings && f->has_ring && !by->env.no_ring;
}

static int find_ring(const struct maps_entry *e, void *ctx)
{
	struct bpf_files *f = ctx;
	f->has_ring |= is_ring(e);
	return f->has_ring;
}

static void update(struct walk *w, struct bpf_file *file)
{
	bool seen = false;
	for (unsigned i = 0; i < ATTACHERS; i++) {
		struct attachment *a = &file->at[i];
		int before = a->err;
		int n = a->by ? attachment_update(&w->by->links, &w->by->env, a, now_ns()) : 0;
		if (n < 0)
			w->err = n;
		if (n < 0 && n != before)
			log_at(LOG_VERBOSE, "pid %d: cannot attach to its %s: %s", w->scan->pid,
			       a->by->name, strerror(-n));
		if (n > 0)
			w->scan->sites += n;
		/* It may have mapped one while it was attached to. */
		if (n && a->by && a->by->in_rings && !w->files->has_ring)
			memory_reader_maps(w->by->env.memory, w->scan->pid, find_ring, w->files);
		bool in_ring = a->by && (a->left_alone || (n && is_in_ring(w->by, w->files, a)));
		w->scan->in_ring |= in_ring && file->unwatched_ns;
		if (n > 0 && !a->by->samples && !is_in_ring(w->by, w->files, a))
			note_missed(w->scan, attachment_missed(a, file->unwatched_ns));
		seen |= n > 0 || (a->by && a->left_alone);
	}
	if (seen)
		file->unwatched_ns = 0;
}

/* Of links that are removed one by one the user reads the sum before the first is made. */
static void announce(struct bpf_scanner *by, struct bpf_files *f)
{
	uint32_t sites = 0;
	for (uint32_t i = 0; by->links.announce && i < f->files; i++)
		for (unsigned k = 0; k < ATTACHERS; k++)
			if (f->file[i].at[k].by)
				sites += attachment_plan(&by->env, &f->file[i].at[k], now_ns());
	if (sites)
		by->links.announce(by->links.ctx, sites);
}

bool bpf_files_check(struct bpf_scanner *by, struct bpf_files *f)
{
	bool loses = false;
	for (uint32_t i = 0; i < f->files; i++)
		for (unsigned k = 0; k < ATTACHERS; k++) {
			struct attachment *a = &f->file[i].at[k];
			if (!attachment_is_cut(&by->links, &by->env, a))
				continue;
			loses |= !is_in_ring(by, f, a);
			attachment_end(&by->links, &by->env, a);
			f->attached[k]--;
			f->file[i].moved = f->file[i].cut = true;
		}
	return loses;
}

int bpf_files_scan(struct bpf_scanner *by, struct bpf_files *f, struct bpf_scan *scan)
{
	struct walk w = {.by = by, .files = f, .scan = scan};
	scan->mappings = 0;
	scan->sites = 0;
	scan->missed_ns = 0;
	scan->in_ring = false;
	f->has_ring = false;
	int err = memory_reader_maps(by->env.memory, scan->pid, walk_entry, &w);
	if (err < 0)
		return err;
	announce(by, f);
	for (uint32_t i = 0; i < f->files; i++)
		update(&w, &f->file[i]);
	if (!scan->sites)
		scan->sites = w.err;
	return 0;
}

void bpf_files_exec(struct bpf_scanner *by, struct bpf_files *f)
{
	for (uint32_t i = 0; i < f->files; i++)
		for (unsigned k = 0; k < ATTACHERS; k++) {
			struct attachment *a = &f->file[i].at[k];
			if (!a->by || (!a->err && a->by->survives_exec(a->state)))
				continue;
			attachment_end(&by->links, &by->env, a);
			f->attached[k]--;
			f->file[i].moved = true;
		}
}

bool bpf_files_probed(const struct bpf_scanner *by, const struct bpf_files *f, uint64_t born_ns)
{
	for (uint32_t i = 0; i < f->files; i++)
		for (unsigned k = 0; k < ATTACHERS; k++) {
			const struct bpf_file *file = &f->file[i];
			const struct attachment *a = &file->at[k];
			bool has = a->by && (a->link.fd >= 0 || a->by->is_shareable);
			if (has && !bpf_links_cover(&by->links, file->dev, file->inode, born_ns))
				return true;
		}
	return false;
}

int bpf_scanner_would_probe(const struct bpf_scanner *by, uint64_t dev, uint64_t inode,
			    uint64_t born_ns)
{
	int has = inspect_has_probes(by->inspect, dev, inode, by->env.allocs);
	return has > 0 ? !bpf_links_cover(&by->links, dev, inode, born_ns) : has;
}

/* Whether a file has something to be probed, or may have, that is not. */
static bool has_failed(const struct bpf_scanner *by, const struct bpf_files *f,
		       const struct bpf_file *file)
{
	bool failed = file->starved &&
		      inspect_has_probes(by->inspect, file->dev, file->inode, by->env.allocs);
	for (unsigned i = 0; i < ATTACHERS; i++) {
		const struct attachment *a = &file->at[i];
		failed |= a->by && a->err && !a->left_alone && !is_in_ring(by, f, a);
	}
	return failed;
}

uint64_t bpf_files_failed(const struct bpf_scanner *by, const struct bpf_files *f,
			  uint64_t since_ns)
{
	uint64_t failed = 0;
	for (uint32_t i = 0; i < f->files; i++) {
		const struct bpf_file *file = &f->file[i];
		uint64_t since = file->unwatched_ns ? file->unwatched_ns : since_ns;
		if (has_failed(by, f, file) && (!failed || since < failed))
			failed = since;
	}
	return failed;
}

void bpf_files_end(struct bpf_scanner *by, struct bpf_files *f)
{
	for (uint32_t i = 0; i < f->files; i++)
		for (unsigned k = 0; k < ATTACHERS; k++)
			attachment_end(&by->links, &by->env, &f->file[i].at[k]);
	free(f->file);
	map_done(&f->index);
	f->file = NULL;
	f->files = f->room = 0;
	memset(f->attached, 0, sizeof(f->attached));
}
