// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_targets.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "bpf/abi.h"
#include "proc/inspect.h"
#include "proc/maps.h"
#include "proc/notes.h"
#include "proc/process.h"
#include "source/bpf_ocaml.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Files of one process that are remembered; what a program maps beyond is not looked at. */
#define MAX_FILES 8192

struct target_file {
	uint64_t dev, inode;
	uint32_t sites;
	int link; /* < 0: a file without markers, or one that cannot be attached to */
	struct bpf_ocaml *ocaml; /* NULL: no OCaml runtime */
	bool moved;		 /* it may be mapped at other addresses now */
};

struct bpf_target {
	pid_t pid;
	bool ended;
	bool filtered; /* by seccomp, when its markers were attached */
	uint64_t since_ns;
	struct target_file *file;
	uint32_t files;
	struct map index; /* of the files, by device and inode */
	struct inspect_budget budget;
	bool told; /* that not everything is looked at */
};

struct marker {
	const char *name;
	uint16_t site;
	bool event;
};

static const struct marker markers[] = {
#define EBT_MARKER(name, KIND, args) {#name, KIND, true},
#include <ebtrace/events.def>
	{"ring_request", EBT_SITE_RING_REQUEST, false},
	{"ring_start", EBT_SITE_RING_START, false},
	{"ring_stop", EBT_SITE_RING_STOP, false},
	{"watermark", EBT_SITE_WATERMARK, false},
};

struct scan {
	struct bpf_targets *t;
	uint32_t slot;
	int sites;
	int err; /* why the last file that failed did */
	uint32_t mappings;
};

int bpf_targets_add(struct bpf_targets *t, pid_t pid)
{
	struct bpf_target *p = realloc(t->target, (t->targets + 1ull) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->target = p;
	p[t->targets] = (struct bpf_target){.pid = pid, .since_ns = now_ns()};
	inspect_budget_init(&p[t->targets].budget);
	return (int)t->targets++;
}

int bpf_targets_find(const struct bpf_targets *t, pid_t pid)
{
	/* From the end: a pid that came back is the younger one. */
	for (uint32_t i = t->targets; i-- > 0;)
		if (t->target[i].pid == pid && !t->target[i].ended)
			return (int)i;
	return -ESRCH;
}

uint64_t bpf_targets_since(const struct bpf_targets *t, uint32_t slot)
{
	return t->target[slot].since_ns;
}

pid_t bpf_targets_pid(const struct bpf_targets *t, uint32_t slot)
{
	return slot < t->targets ? t->target[slot].pid : 0;
}

/*
 * A ring that is asked for makes the program open files, for which a seccomp filter may kill it.
 * Without a ring all its events come through the markers.
 */
static const struct marker *wanted_marker(const struct bpf_targets *t, uint32_t slot,
					  const char *name)
{
	bool spare = t->target[slot].filtered && !t->ring_request_always;
	for (size_t i = 0; i < sizeof(markers) / sizeof(*markers); i++) {
		const struct marker *m = &markers[i];
		if (strcmp(m->name, name))
			continue;
		if (m->event && t->watermark_only && !spare)
			return NULL;
		if (m->site == EBT_SITE_RING_REQUEST && (t->no_ring_request || spare))
			return NULL;
		return m;
	}
	return NULL;
}

/* The wanted sites of the file; *ret is to be freed. Their number or -errno. */
static int read_sites(struct bpf_targets *t, uint32_t slot, int fd, struct uprobe_site **ret)
{
	struct notes notes;
	int err = notes_read(fd, "ebtrace", &notes);
	if (err)
		return err;
	struct uprobe_site *site = calloc(notes.sites + 1u, sizeof(*site));
	int n = 0;
	for (uint32_t i = 0; site && i < notes.sites; i++) {
		const struct notes_site *from = &notes.site[i];
		const struct marker *m = wanted_marker(t, slot, from->name);
		if (m)
			site[n++] = (struct uprobe_site){
				.offset = from->offset,
				.semaphore = from->semaphore,
				.cookie = EBT_COOKIE(slot, m->site),
			};
	}
	notes_done(&notes);
	*ret = site;
	return site ? n : -ENOMEM;
}

static int attach_markers(struct scan *s, int fd, struct target_file *ret)
{
	struct bpf_target *target = &s->t->target[s->slot];
	pid_t pid = target->pid;
	struct uprobe_site *site = NULL;
	target->filtered = process_is_filtered(pid);
	if (target->filtered && !s->t->no_ring_request && !s->t->ring_request_always)
		log_at(LOG_VERBOSE,
		       "process %d runs under a seccomp filter: it is not asked for a ring, which "
		       "it might be killed for; its events come through probes (--ring-request "
		       "always asks all the same)",
		       pid);
	int n = read_sites(s->t, s->slot, fd, &site);
	int err = n < 0 ? n : 0;
	if (n > 0) {
		ret->link = s->t->attach(s->t->ctx, BPF_PROBE_MARKER, fd, pid, site, (uint32_t)n);
		err = ret->link < 0 ? ret->link : 0;
		if (!err)
			ret->sites = (uint32_t)n;
	}
	free(site);
	return err == -ENOEXEC || err == -EBADMSG ? 0 : err;
}

static int attach_file(struct scan *s, const struct maps_entry *e, struct target_file *ret)
{
	struct bpf_target *target = &s->t->target[s->slot];
	struct inspect_file in;
	int fd = maps_open(target->pid, e);
	if (fd < 0)
		return fd;
	int err = inspect_file(fd, &target->budget, &in);
	if (!err && in.markers && ret->link < 0)
		err = attach_markers(s, fd, ret);
	if (!err && !in.ocaml_error)
		return bpf_ocaml_new(s->t, s->slot, e, fd, &in.ocaml, &ret->ocaml);
	close(fd);
	return err || !in.release ? err : in.ocaml_error;
}

static void tell_incomplete(struct bpf_target *target)
{
	if (!target->told)
		log_at(LOG_NORMAL,
		       "process %d maps more than is looked into: markers and runtimes beyond the "
		       "first %u files are not seen",
		       target->pid, target->files);
	target->told = true;
}

/* The file of a mapping; NULL: it was not seen before. */
static struct target_file *find_file(struct bpf_target *target, uint64_t dev, uint64_t inode)
{
	const uint64_t *at = map_get(&target->index, inode + (dev << 40 | dev >> 24));
	struct target_file *f = at ? &target->file[*at] : NULL;
	return f && f->inode == inode && f->dev == dev ? f : NULL;
}

static struct target_file *add_file(struct bpf_target *target, uint64_t dev, uint64_t inode)
{
	struct target_file *p = realloc(target->file, (target->files + 1ull) * sizeof(*p));
	if (!p)
		return NULL;
	target->file = p;
	uint64_t *at = map_put(&target->index, inode + (dev << 40 | dev >> 24));
	if (!at)
		return NULL;
	*at = target->files;
	p[target->files] = (struct target_file){.dev = dev, .inode = inode, .link = -1};
	return &p[target->files++];
}

static int scan_entry(const struct maps_entry *e, void *ctx)
{
	struct scan *s = ctx;
	struct bpf_target *target = &s->t->target[s->slot];
	bool over = ++s->mappings > INSPECT_MAPPINGS || target->files == MAX_FILES;
	if (over)
		tell_incomplete(target);
	if (over || !e->exec || !e->inode)
		return over;
	uint64_t dev = makedev(e->dev_major, e->dev_minor);
	struct target_file *f = find_file(target, dev, e->inode);
	if (f && !f->moved)
		return 0;
	if (!f)
		f = add_file(target, dev, e->inode);
	if (!f)
		return -ENOMEM;
	f->moved = false;
	uint32_t before = f->sites;
	/* Also if it fails the file is remembered: it would fail again at every look. */
	int err = attach_file(s, e, f);
	if (target->budget.spent)
		tell_incomplete(target);
	if (err) {
		log_at(LOG_VERBOSE, "pid %d: cannot attach to %s: %s", target->pid, e->path,
		       strerror(-err));
		s->err = err;
		if (err == -ESRCH)
			return err;
	}
	s->sites += (int)(f->sites - before);
	s->t->sites += f->sites - before;
	return 0;
}

static void update_ocaml(struct scan *s)
{
	struct bpf_target *target = &s->t->target[s->slot];
	for (uint32_t i = 0; i < target->files; i++) {
		struct bpf_ocaml *o = target->file[i].ocaml;
		int n = o ? bpf_ocaml_update(s->t, o, now_ns()) : 0;
		s->sites += n > 0 ? n : 0;
		s->err = n < 0 ? n : s->err;
	}
}

int bpf_targets_scan(struct bpf_targets *t, uint32_t slot)
{
	struct scan s = {.t = t, .slot = slot};
	if (t->target[slot].ended)
		return 0;
	int err = maps_each(t->target[slot].pid, scan_entry, &s);
	if (err < 0)
		return err;
	update_ocaml(&s);
	return s.sites ? s.sites : s.err;
}

static void forget_markers(struct bpf_targets *t, struct target_file *f)
{
	close(f->link);
	t->sites -= f->sites;
	f->link = -1;
	f->sites = 0;
	f->moved = true;
}

int bpf_targets_exec(struct bpf_targets *t, uint32_t slot)
{
	struct bpf_target *target = &t->target[slot];
	target->since_ns = now_ns();
	/* A filter that was installed since the markers were attached. */
	bool attach_again = !target->filtered && process_is_filtered(target->pid);
	for (uint32_t i = 0; i < target->files; i++) {
		struct target_file *f = &target->file[i];
		if (attach_again && f->link >= 0)
			forget_markers(t, f);
		f->moved |= f->ocaml != NULL;
		bpf_ocaml_free(t, f->ocaml);
		f->ocaml = NULL;
	}
	return bpf_targets_scan(t, slot);
}

void bpf_targets_scan_all(struct bpf_targets *t)
{
	for (uint32_t i = 0; i < t->targets; i++)
		bpf_targets_scan(t, i);
}

void bpf_targets_end(struct bpf_targets *t, uint32_t slot)
{
	struct bpf_target *target = &t->target[slot];
	for (uint32_t i = 0; i < target->files; i++) {
		if (target->file[i].link >= 0)
			close(target->file[i].link);
		bpf_ocaml_free(t, target->file[i].ocaml);
		t->sites -= target->file[i].sites;
	}
	free(target->file);
	target->file = NULL;
	target->files = 0;
	map_done(&target->index);
	target->ended = true;
}

void bpf_targets_detach(struct bpf_targets *t)
{
	for (uint32_t i = 0; i < t->targets; i++)
		bpf_targets_end(t, i);
}

void bpf_targets_done(struct bpf_targets *t)
{
	bpf_targets_detach(t);
	free(t->target);
	t->target = NULL;
	t->targets = 0;
	free(t->runtime);
	t->runtime = NULL;
	t->runtimes = 0;
}
