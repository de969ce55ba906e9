// SPDX-License-Identifier: BSD-2-Clause
/* Processes that have ended before they were looked at, of files whose functions are probed in all. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/inspect.h"
#include "source/bpf_ocaml.c"
#include "tests/tap.h"

static struct bpf_targets t;
static struct bpf_shared shared = {.link = -1, .since_ns = 100};
static uint64_t told_since;

static void unwatched(void *ctx, uint32_t slot, uint64_t since_ns, uint64_t until_ns)
{
	(void)ctx;
	(void)slot;
	told_since = since_ns < until_ns ? since_ns : 0;
}

/* Since when a process was not watched that called exec at this time and has ended; 0: it was. */
static uint64_t life_from(uint64_t exec_ns)
{
	int slot = bpf_targets_add(&t, getpid());
	if (slot < 0)
		abort();
	told_since = 0;
	bpf_targets_exec(&t, (uint32_t)slot, exec_ns, shared.dev, shared.inode);
	bpf_targets_end(&t, (uint32_t)slot);
	return told_since;
}

int main(void)
{
	struct inspect_budget budget;
	struct inspect_file file;
	struct stat st;
	const char *o = getenv("O");
	char path[256];
	snprintf(path, sizeof(path), "%s/tests/prog/minigc", o ? o : "build");
	int fd = open(path, O_RDONLY);
	t.inspect = inspect_new();
	inspect_budget_init(&budget);
	/* One that ends before anybody has looked into its file. */
	t.unwatched = unwatched;
	is(fstat(fd, &st), 0, "there is a file with something to probe");
	shared.dev = st.st_dev;
	shared.inode = st.st_ino;
	is(life_from(40), 0, "of a process of an unknown file nothing is told");
	bpf_targets_scan_pending(&t);
	is(told_since, 0, "as long as it is unknown");
	ok(t.inspect && !inspect_file(t.inspect, fd, &budget, &file) && file.markers,
	   "a file with something to probe is known");
	bpf_targets_scan_pending(&t);
	is(told_since, 40, "then that the process was not watched is told");
	told_since = 0;
	bpf_targets_scan_pending(&t);
	is(told_since, 0, "once");
	t.shared = &shared;
	t.shareds = 1;
	is(life_from(50), 50, "a process of a file that is not probed was not watched");
	shared.link = dup(fd);
	is(life_from(100), 0, "one that began when the file was probed was");
	is(life_from(99), 99, "one that began before, while probes were put in place, was not");
	close(shared.link);
	close(fd);
	t.shared = NULL;
	t.shareds = 0;
	bpf_targets_done(&t);
	inspect_free(t.inspect);
	return tap_done();
}
