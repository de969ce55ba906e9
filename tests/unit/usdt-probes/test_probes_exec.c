/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exec() keeps the pid, and so the name of the ring file. The program runs itself again and again;
 * RINGDUMP_STEP says which part it is.
 */
#include <sys/wait.h>

#include <ebtrace/probes.h>

#include "tests/tap.h"
#include "tests/unit/ringdump.h"

static struct dump_event ev[64];

static void again(const char *step)
{
	setenv("RINGDUMP_STEP", step, 1);
	execl("/proc/self/exe", "exec", (char *)NULL);
	_exit(99);
}

static void file_name(char *path, size_t bytes, pid_t pid, const char *suffix)
{
	snprintf(path, bytes, "%s/%d%s.events", getenv("EBTRACE_DIR"), (int)pid, suffix);
}

/* Whether the only phase in this file is the one told. */
static int holds(const char *path, unsigned int phase)
{
	struct dump d;
	if (!dump_open(&d, path))
		return 0;
	int n = dump_ring(&d, 0, ev, 64);
	int good = n >= 2 && ev[1].type == 2 && ev[1].id == phase;
	dump_close(&d);
	return good;
}

/* One process: record, exec, record. */
static void run_step(const char *step)
{
	if (ebt_start())
		_exit(98);
	if (!strcmp(step, "first")) {
		ebt_begin(EBT_PHASE_minor);
		again("second");
	}
	ebt_begin(EBT_PHASE_major);
	_exit(0); /* both files stay */
}

static pid_t two_images(const char *preserve)
{
	int status = -1;
	pid_t pid = fork();
	if (!pid) {
		if (preserve)
			setenv("EBTRACE_PRESERVE", preserve, 1);
		again("first");
	}
	return waitpid(pid, &status, 0) == pid && !status ? pid : -1;
}

/* A process of another pid namespace with our pid: another process maps a file of our name. */
static void test_live_stranger(void)
{
	char own[256], second[256], theirs[256];
	int go[2], stay[2];
	char c = 0;
	if (pipe(go) || pipe(stay))
		abort();
	pid_t pid = fork();
	if (!pid) {
		c = (char)ebt_start();
		ebt_begin(EBT_PHASE_minor);
		_exit(write(go[1], &c, 1) != 1 || read(stay[0], &c, 1) != 1);
	}
	ok(read(go[0], &c, 1) == 1 && !c, "another process records");
	file_name(theirs, sizeof(theirs), pid, "");
	file_name(own, sizeof(own), getpid(), "");
	file_name(second, sizeof(second), getpid(), "-2");
	is(rename(theirs, own), 0, "into a file that has our name");
	is(ebt_start(), 0, "we start");
	is_str(ebt_ring_path(), second, "beside it");
	ok(holds(own, 11), "and leave it alone");
	ebt_stop();
	int status = -1;
	ok(write(stay[1], &c, 1) == 1 && waitpid(pid, &status, 0) == pid, "the other one ends");
	is(ebt_start(), 0, "we start again");
	is_str(ebt_ring_path(), own, "and take the place of its file, which nobody writes now");
	ebt_stop();
}

/* One that had our pid, in a run that has not read its file yet. */
static void test_preserved_stranger(void)
{
	char own[256], theirs[256], path[256] = "";
	int status = -1;
	pid_t pid = fork();
	if (!pid) {
		if (ebt_start())
			_exit(1);
		ebt_begin(EBT_PHASE_minor);
		_exit(0);
	}
	ok(waitpid(pid, &status, 0) == pid && !status, "another process records and ends");
	file_name(theirs, sizeof(theirs), pid, "");
	pid = fork();
	if (!pid) {
		file_name(own, sizeof(own), getpid(), "");
		if (rename(theirs, own))
			_exit(1);
		setenv("EBTRACE_PRESERVE", "1", 1);
		again("second");
	}
	ok(waitpid(pid, &status, 0) == pid && !status,
	   "one with its pid records, with EBTRACE_PRESERVE");
	file_name(path, sizeof(path), pid, "");
	ok(holds(path, 11), "and leaves the file of the one before it alone");
	file_name(path, sizeof(path), pid, "-2");
	ok(holds(path, 6), "to write beside it");
}

int main(int argc, char **argv)
{
	(void)argc;
	dump_rerun(argv, (const char *[]){"EBTRACE_LOG_WSIZE=9", "EBTRACE_MAX_DOMAINS=2", NULL});
	if (getenv("RINGDUMP_STEP"))
		run_step(getenv("RINGDUMP_STEP"));

	char first[256], second[256];
	pid_t pid = two_images("1");
	ok(pid > 0, "a program records, becomes another, and that records, with EBTRACE_PRESERVE");
	file_name(first, sizeof(first), pid, "");
	file_name(second, sizeof(second), pid, "-2");
	ok(holds(first, 11), "the file of the first is kept");
	ok(holds(second, 6), "the other has a second one");

	pid = two_images(NULL);
	ok(pid > 0, "the same without EBTRACE_PRESERVE");
	file_name(first, sizeof(first), pid, "");
	file_name(second, sizeof(second), pid, "-2");
	ok(!holds(first, 11) && access(first, F_OK) == 0,
	   "the second replaces the first one's file");
	ok(access(second, F_OK) < 0, "and takes no second name");
	test_live_stranger();
	test_preserved_stranger();
	dump_clean();
	tap_keeps(4);
	return tap_done();
}
