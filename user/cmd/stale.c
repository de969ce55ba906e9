/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/stale.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/plural.h"
#include "cmd/print.h"
#include "engine/live/ring_dirs.h"
#include "engine/program/leftover.h"
#include "engine/program/rundir.h"
#include "proc/memory_reader.h"
#include "session/language.h"

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
	for (unsigned i = 0; i <= LANGUAGES; i++) {
		const char *given = i ? getenv(languages[i - 1].dir) : o->engine.ring_dir;
		if (given && *given)
			add_dir(l, &g[n++], given, false);
	}
	return n;
}

void stale_list(const struct opts *o)
{
	struct leftover l = {.memory = memory_reader_new()};
	static struct group groups[RUNDIR_BASES + RING_DIRS_DEFAULT + 1 + LANGUAGES];
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
