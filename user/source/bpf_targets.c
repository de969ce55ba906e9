// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_targets.h"

#include "base/clock.h"
#include "base/log.h"
#include "bpf/abi.h"
#include "proc/maps.h"
#include "proc/notes.h"
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
	void *link; /* NULL: a file without markers, or one that cannot be attached to */
	struct bpf_ocaml *ocaml; /* NULL: no OCaml runtime */
	bool moved;		 /* it may be mapped at other addresses now */
};

struct bpf_target {
	pid_t pid;
	bool ended;
	uint64_t since_ns;
	struct target_file *file;
	uint32_t files;
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
};

int bpf_targets_add(struct bpf_targets *t, pid_t pid)
{
	struct bpf_target *p = realloc(t->target, (t->targets + 1ull) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->target = p;
	p[t->targets] = (struct bpf_target){.pid = pid, .since_ns = now_ns()};
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

static const struct marker *wanted_marker(const struct bpf_targets *t, const char *name)
{
	for (size_t i = 0; i < sizeof(markers) / sizeof(*markers); i++) {
		const struct marker *m = &markers[i];
		if (strcmp(m->name, name))
			continue;
		if (m->event && t->watermark_only)
			return NULL;
		if (m->site == EBT_SITE_RING_REQUEST && t->no_ring_request)
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
		const struct marker *m = wanted_marker(t, from->name);
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
	pid_t pid = s->t->target[s->slot].pid;
	struct uprobe_site *site = NULL;
	int n = read_sites(s->t, s->slot, fd, &site);
	int err = n < 0 ? n : 0;
	if (n > 0) {
		char path[32];
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		err = s->t->attach(s->t->ctx, BPF_PROBE_MARKER, path, pid, site, (uint32_t)n,
				   &ret->link);
		if (!err)
			ret->sites = (uint32_t)n;
	}
	free(site);
	return err == -ENOEXEC || err == -EBADMSG ? 0 : err;
}

static int attach_file(struct scan *s, const struct maps_entry *e, struct target_file *ret)
{
	int fd = maps_open(s->t->target[s->slot].pid, e);
	if (fd < 0)
		return fd;
	int err = attach_markers(s, fd, ret);
	int ocaml = bpf_ocaml_new(s->t, s->slot, e, fd, &ret->ocaml);
	return err ? err : ocaml;
}

static int look_again(struct scan *s, const struct maps_entry *e, struct target_file *f)
{
	int fd = maps_open(s->t->target[s->slot].pid, e);
	f->moved = false;
	return fd < 0 ? fd : bpf_ocaml_new(s->t, s->slot, e, fd, &f->ocaml);
}

static int scan_entry(const struct maps_entry *e, void *ctx)
{
	struct scan *s = ctx;
	struct bpf_target *target = &s->t->target[s->slot];
	if (!e->exec || !e->inode || target->files == MAX_FILES)
		return 0;
	uint64_t dev = makedev(e->dev_major, e->dev_minor);
	for (uint32_t i = 0; i < target->files; i++) {
		struct target_file *f = &target->file[i];
		if (f->inode == e->inode && f->dev == dev)
			return f->moved ? look_again(s, e, f) : 0;
	}
	struct target_file *p = realloc(target->file, (target->files + 1ull) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	target->file = p;
	struct target_file *f = &p[target->files];
	*f = (struct target_file){.dev = dev, .inode = e->inode};
	int err = attach_file(s, e, f);
	if (err) {
		log_at(LOG_VERBOSE, "pid %d: cannot attach to %s: %s", target->pid, e->path,
		       strerror(-err));
		s->err = err;
		if (err == -ESRCH)
			return err;
	}
	/* Also if it failed: it would fail again at every look. */
	target->files++;
	s->sites += (int)f->sites;
	s->t->sites += f->sites;
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
	if (err)
		return err;
	update_ocaml(&s);
	return s.sites ? s.sites : s.err;
}

int bpf_targets_exec(struct bpf_targets *t, uint32_t slot)
{
	struct bpf_target *target = &t->target[slot];
	target->since_ns = now_ns();
	for (uint32_t i = 0; i < target->files; i++) {
		struct target_file *f = &target->file[i];
		f->moved = f->ocaml != NULL;
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
		if (target->file[i].link)
			t->drop(t->ctx, target->file[i].link);
		bpf_ocaml_free(t, target->file[i].ocaml);
		t->sites -= target->file[i].sites;
	}
	free(target->file);
	target->file = NULL;
	target->files = 0;
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
