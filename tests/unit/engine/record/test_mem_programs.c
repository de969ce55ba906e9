/* SPDX-License-Identifier: BSD-2-Clause */
/* What the states of recorded programs say: of which process each is, and what is not recorded. */
#include "engine/record/programs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static char dir[] = "/tmp/ebtrace-programs-XXXXXX";
static int dir_fd;
static struct mem_programs programs;

static void put_file(unsigned n, const char *suffix, const void *bytes, size_t count)
{
	char name[32];
	snprintf(name, sizeof(name), "%u.%s", n, suffix);
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, bytes, count) != (ssize_t)count)
		abort();
	close(fd);
}

/* Programs with these states, each with a trace. */
static void read_states(const struct ebt_recorder_state *state, unsigned count, bool has_exited)
{
	for (unsigned n = 0; n < count; n++) {
		put_file(n, "state", &state[n], sizeof(state[n]));
		put_file(n, "ctf", "", 0);
	}
	mem_programs_read(dir_fd, has_exited, &programs);
}

static void clean(void)
{
	static const char *const suffixes[] = {"state", "ctf"};
	for (unsigned n = 0; n < EBT_RECORDER_PROGRAMS + 4; n++)
		for (unsigned i = 0; i < 2; i++) {
			char name[32];
			snprintf(name, sizeof(name), "%u.%s", n, suffixes[i]);
			unlinkat(dir_fd, name, 0);
		}
}

static void test_processes(void)
{
	const struct ebt_recorder_state state[] = {
		{.pid = 10, .start = 1, .execs = 1, .ended = 1},
		{.pid = 11, .start = 2, .is_child = 1, .execs = 1},
		{.pid = 11, .start = 2, .is_child = 1, .ended = 1},
		{.pid = 10, .start = 1, .ended = 1},
		{.pid = 11, .start = 3, .is_child = 1, .ended = 1},
		{.pid = 12, .start = 2, .is_child = 1, .ended = 1},
	};
	static const unsigned want[] = {0, 1, 1, 0, 2, 3};
	unsigned wrong = 0;
	read_states(state, 6, true);
	for (unsigned n = 0; n < 6; n++)
		wrong += programs.process[n] != want[n];
	ok(programs.count == 6 && programs.processes == 4 && !wrong,
	   "a program is of the process with its pid and start time");
	ok(mem_programs_pid(&programs, 0) == 10 && mem_programs_pid(&programs, 2) == 11 &&
		   mem_programs_pid(&programs, 3) == 12 && !mem_programs_pid(&programs, 4),
	   "a process has the pid of its programs");
	ok(!programs.cut && !programs.lost_execs && !programs.lost_children,
	   "nothing is missing where each has a state");
	clean();
}

static void test_lost(void)
{
	struct ebt_recorder_state state[] = {
		{.pid = 10, .execs = 2, .children = 3, .ended = 1},
		{.pid = 11, .is_child = 1, .execs = 1, .ended = 1},
		{.pid = 10, .ended = 1},
	};
	read_states(state, 3, true);
	ok(programs.lost_execs == 1, "of two programs that the process ran next one is recorded");
	ok(programs.lost_children == 3, "of four that its children ran one is");
	clean();
	state[0].execs = 1;
	state[2].ended = 0;
	read_states(state, 3, true);
	ok(!programs.lost_execs && programs.cut, "a process that has exited without an end is cut");
	read_states(state, 3, false);
	ok(!programs.cut, "one that runs is not");
	state[2].own_malloc = 1;
	read_states(state, 3, true);
	ok(!programs.cut, "nor is a program of which nothing is recorded");
	clean();
}

static void test_files(void)
{
	const struct ebt_recorder_state state = {.pid = 10, .ended = 1, .execs = 5};
	for (unsigned n = 0; n < EBT_RECORDER_PROGRAMS + 2; n++)
		put_file(n, "ctf", "", 0);
	mem_programs_read(dir_fd, true, &programs);
	is(programs.count, EBT_RECORDER_PROGRAMS, "more traces than there may be are not read");
	clean();
	put_file(0, "ctf", "", 0);
	put_file(0, "state", &state, sizeof(state) - 1);
	put_file(2, "ctf", "", 0);
	mem_programs_read(dir_fd, true, &programs);
	ok(programs.count == 1 && !programs.state[0].pid && !programs.state[0].execs,
	   "a state that is not whole is none");
	clean();
}

int main(void)
{
	if (!mkdtemp(dir) || (dir_fd = open(dir, O_RDONLY | O_DIRECTORY)) < 0)
		return skip_all("needs a temporary directory");
	test_processes();
	test_lost();
	test_files();
	close(dir_fd);
	rmdir(dir);
	return tap_done();
}
