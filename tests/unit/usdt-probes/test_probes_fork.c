/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <ebtrace/probes.h>

#include "tests/tap.h"
#include "tests/unit/ringdump.h"

static struct dump_event ev[1000];

/* The child's own file says ring_start, fork_child and the child's events; the parent's is left. */
static int child_checks(const struct dump *parent, uint64_t parent_tail)
{
	struct dump d;
	ebt_begin(EBT_PHASE_compaction);
	if (!ebt_ring_path() || !dump_open(&d, ebt_ring_path()))
		return 1;
	int n = dump_ring(&d, 0, ev, 1000);
	if (n != 3 || ev[0].id != 0 || ev[0].payload[0] != (uint64_t)getpid())
		return 2;
	if (ev[1].type != 1 || ev[1].id != 5 || ev[2].type != 2 || ev[2].id != 44)
		return 3;
	return dump_field(parent, 0, 1) < parent_tail ? 4 : 0;
}

/* The number of files in the directory, of any kind. */
static int files(void)
{
	int n = 0;
	DIR *dir = opendir(getenv("EBTRACE_DIR"));
	for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
		n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	if (dir)
		closedir(dir);
	return n;
}

static int wait_for(pid_t pid)
{
	int status = -1;
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void test_fork(const struct dump *d)
{
	pid_t pid = fork();
	if (!pid)
		exit(child_checks(d, dump_field(d, 0, 1)));
	is(wait_for(pid), 0, "a forked child records into a file of its own");
	int n = dump_ring(d, 0, ev, 1000);
	ok(ev[n - 1].type == 1 && ev[n - 1].id == 4 && ev[n - 1].payload[0] == (uint64_t)pid,
	   "the parent records fork_parent with the child's pid");
	int before = n;
	pid = _Fork();
	if (!pid)
		_exit(child_checks(d, dump_field(d, 0, 1)));
	is(wait_for(pid), 0, "so does a child of _Fork(), which runs no handlers");
	is(dump_ring(d, 0, ev, 1000), before, "which leaves the parent's ring alone");
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		_exit(child_checks(d, dump_field(d, 0, 1)));
	is(wait_for(pid), 0, "and a child of the bare system call");
	is(ebt_pause(), 0, "pause");
	pid = fork();
	if (!pid)
		exit(child_checks(d, dump_field(d, 0, 1)));
	is(wait_for(pid), 0, "a child of a paused parent is not paused");
	is(ebt_resume(), 0, "resume");
}

/* What a child may do before its first probe: none of it makes a file. */
static void test_lazy(const struct dump *d)
{
	int had = files(); /* children that _exit()ed left theirs */
	pid_t pid = fork();
	if (!pid) {
		pid_t grandchild = fork();
		if (!grandchild)
			_exit(ebt_ring_path() || files() != had);
		if (wait_for(grandchild) || ebt_ring_path() || files() != had)
			_exit(1);
		execl("/bin/true", "true", (char *)NULL);
		_exit(2);
	}
	is(wait_for(pid), 0, "a child that does not probe makes no file, its own child neither");
	is(files(), had, "nor is one left when it has become another program");
	pid = fork();
	if (!pid) {
		ebt_stop();
		ebt_begin(EBT_PHASE_minor);
		_exit(ebt_ring_path() || files() != had);
	}
	is(wait_for(pid), 0, "a child that stops before its first probe never records");
	pid = fork();
	if (!pid) {
		int err = ebt_pause();
		ebt_begin(EBT_PHASE_minor);
		struct dump own;
		_exit(err || !dump_open(&own, ebt_ring_path()) ||
		      dump_ring(&own, 0, ev, 1000) != 3 || ev[0].id != 0 || ev[1].id != 5 ||
		      ev[2].id != 2 || ebt_stop());
	}
	is(wait_for(pid), 0, "one that pauses before it says so in its file, and is silent");

	int before = dump_ring(d, 0, ev, 1000);
	pid = _Fork();
	if (!pid) {
		ebt_stop();
		_exit(files() != had);
	}
	is(wait_for(pid), 0, "a child of _Fork() that stops does not remove its parent's file");
	is(dump_ring(d, 0, ev, 1000), before, "nor end its parent's recording");
	pid = _Fork();
	if (!pid)
		exit(0);
	is(wait_for(pid), 0, "one that exits does not either");
	is(dump_ring(d, 0, ev, 1000), before, "nor write into its parent's ring");
	is(files(), had, "nor remove anything");
}

static volatile int fork_status = -1;
static void fork_in_handler(int sig)
{
	(void)sig;
	pid_t pid = fork();
	if (!pid) {
		ebt_begin(EBT_PHASE_minor);
		return;
	}
	fork_status = wait_for(pid);
}

/* vfork() is deprecated for portable programs; programs use it all the same. */
__attribute__((noinline)) static pid_t vfork_true(void)
{
	pid_t pid = vfork();
	if (!pid) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	return pid;
}

int main(int argc, char **argv)
{
	(void)argc;
	dump_rerun(argv, (const char *[]){"EBTRACE_LOG_WSIZE=12", "EBTRACE_START=1", NULL});
	struct dump d;
	if (!ok(dump_open(&d, ebt_ring_path()), "EBTRACE_START records from the first event"))
		return tap_done();
	test_fork(&d);
	test_lazy(&d);
	is(wait_for(vfork_true()), 0, "vfork and exec go through");
	ebt_begin(EBT_PHASE_minor);
	int n = dump_ring(&d, 0, ev, 1000);
	ok(n > 0 && ev[n - 1].id == 11, "and the parent goes on in its ring");

	pid_t self = getpid();
	signal(SIGUSR1, fork_in_handler);
	raise(SIGUSR1);
	ebt_begin(EBT_PHASE_minor);
	if (getpid() != self)
		exit(0);
	is(fork_status, 0, "a child forked in a signal handler lives on");

	char path[256];
	int go[2];
	char c = 0;
	if (pipe(go))
		return 1;
	pid_t pid = fork();
	if (!pid) {
		for (int i = 0; i < 100; i++)
			ebt_begin(EBT_PHASE_minor);
		if (write(go[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	ok(read(go[0], &c, 1) == 1, "a child writes 100 events");
	kill_child(pid, SIGKILL);
	is(WTERMSIG(wait_for(pid)), SIGKILL, "and is killed");
	snprintf(path, sizeof(path), "%s/%d.events", getenv("EBTRACE_DIR"), pid);
	struct dump dead;
	ok(dump_open(&dead, path) && dump_ring(&dead, 0, ev, 1000) == 102,
	   "its file stays and holds them all");
	ebt_stop();
	dump_clean();
	tap_keeps(2);
	return tap_done();
}
