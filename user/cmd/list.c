/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace list: what can be traced, and how; the markers of a binary; ring files left behind.
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

#include "cmd/commands.h"
#include "cmd/open.h"
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

/* Markers of our provider in a file; the others are other people's. */
static int count_markers(int fd)
{
	struct notes *notes;
	if (notes_read(fd, &notes))
		return 0;
	int n = 0;
	for (unsigned i = 0; i < notes_count(notes); i++)
		n += !strcmp(notes_get(notes, i)->provider, "ebtrace");
	notes_free(notes);
	return n;
}

struct facts {
	int rings;
	int markers;
	enum ebt_release ocaml;
};

/* Looks at each file once that the process has mapped as code. */
static void look_at_files(pid_t pid, struct facts *f)
{
	struct maps *maps;
	if (maps_read(pid, &maps))
		return;
	const struct map_entry *last = NULL;
	for (unsigned i = 0; i < maps_count(maps); i++) {
		const struct map_entry *m = maps_get(maps, i);
		if (!m->inode || !m->exec || (last && last->inode == m->inode))
			continue;
		last = m;
		int fd = maps_open(pid, m);
		if (fd < 0)
			continue;
		f->markers += count_markers(fd);
		if (f->ocaml == EBT_RELEASE_AUTO)
			f->ocaml = runtime_ocaml_release(fd);
		close(fd);
	}
	maps_free(maps);
}
