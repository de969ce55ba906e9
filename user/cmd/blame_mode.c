/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/blame_mode.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/live/probing.h"
#include "proc/executable.h"
#include "runtime/runtimes.h"

static bool has_threads(const char *path)
{
	int fd = file_open(AT_FDCWD, path, 0);
	bool has = fd >= 0 && runtimes_rings_have_threads(fd);
	if (fd >= 0)
		close(fd);
	return has;
}

bool blame_mode_rings_have_threads(const struct engine_options *e)
{
	char path[PATH_MAX];
	for (unsigned i = 0; i < e->pid_count; i++) {
		snprintf(path, sizeof(path), "/proc/%d/exe", (int)e->pids[i]);
		if (!has_threads(path))
			return false;
	}
	return !e->program ||
	       (executable_find(e->program[0], path, sizeof(path)) && has_threads(path));
}

/* A stack costs some 2 to 5 us. */
#define PAUSE_WITH_STACK_NS 200000

/*
 * Parts of a pause are those of its thread, which the rings of some runtimes do not have. Where BPF
 * is refused only rings can be read. Who asked for a collection is rare enough to be recorded
 * always; who else caused one, where the pause is long enough for that to cost nothing, or on
 * request. In a pause a thread should not block: where it does for long is recorded always.
 */
void blame_mode_prepare(struct engine_options *e)
{
	bool probes = e->stacks || e->faults || !blame_mode_rings_have_threads(e);
	if (e->mode == MODE_AUTO && probes && probing_is_allowed())
		e->mode = MODE_PROBES;
	bool can = !e->file_count && (e->mode == MODE_PROBES || e->mode == MODE_STREAM);
	e->pause_block_stacks = can;
	if (e->stack_glob_count)
		return;
	if (!e->stacks)
		e->stack_pause_ns = PAUSE_WITH_STACK_NS;
	if (e->stacks || can)
		e->stack_globs[e->stack_glob_count++] = e->stacks ? "begin" : "explicit_*";
	e->stacks |= can;
}
